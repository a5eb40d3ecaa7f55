//! The names that several claim: which they are, and how each claimant is reached.

use std::collections::{BTreeMap, HashMap};

use super::{
    naming,
    snapshot::{NamedEntry, Snapshot},
};
use crate::source::SourceId;

/// A name that several claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contest {
    /// The kind of thing that has the name.
    pub kind: Contested,
    pub name: String,
    /// Who claims it, in the order of the catalogue.
    pub claims: Vec<Claim>,
}

/// A kind of thing that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contested {
    Resource,
    Template,
    Tool,
    Prompt,
}

impl Contested {
    /// Its name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Contested::Resource => "resource",
            Contested::Template => "template",
            Contested::Tool => "tool",
            Contested::Prompt => "prompt",
        }
    }
}

/// One claim to a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Who claims it.
    pub source: SourceId,
    /// Its name for it.
    pub local: String,
    /// The name that leads there.
    pub public: String,
}

impl Snapshot {
    /// Every name that several claim, those of our own included.
    pub fn contests(&self) -> Vec<Contest> {
        let mut all = self.contested_resources();
        all.extend(self.contested_templates());
        all.extend(self.contested_names(Contested::Tool, &self.tools));
        all.extend(self.contested_names(Contested::Prompt, &self.prompts));
        all
    }

    fn contested_resources(&self) -> Vec<Contest> {
        let mut first: HashMap<&str, u32> = HashMap::with_capacity(self.resources.len());
        let mut several: BTreeMap<&str, Vec<Claim>> = BTreeMap::new();
        for (entry, n) in self.resources.iter().zip(0u32..) {
            let local = entry.local.as_str();
            let Some(&other) = first.get(local) else {
                first.insert(local, n);
                continue;
            };
            let other = &self.resources[other as usize];
            let claims = several
                .entry(local)
                .or_insert_with(|| vec![self.claim(other.member, local, other.public.as_str())]);
            claims.push(self.claim(entry.member, local, entry.public.as_str()));
        }
        // A template of ours also claims what a server lists under one of our schemes.
        let foreign =
            self.resources.iter().filter(|entry| naming::is_reserved(entry.local.as_str()));
        for entry in foreign.filter(|entry| !self.owner(entry.member).is_builtin()) {
            let local = entry.local.as_str();
            let Ok(route) = self.route(local) else { continue };
            if route.source.is_builtin() && !several.contains_key(local) {
                let ours = Claim {
                    source: route.source.id().clone(),
                    local: local.to_owned(),
                    public: local.to_owned(),
                };
                let theirs = self.claim(entry.member, local, entry.public.as_str());
                several.insert(local, vec![ours, theirs]);
            }
        }
        contests(Contested::Resource, several)
    }

    /// Templates that differ in the names of their variables only fit the same URIs.
    fn contested_templates(&self) -> Vec<Contest> {
        let mut by_shape: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
        for entry in &self.templates {
            let local = entry.template.text.as_str();
            let owner = self.owner(entry.member);
            // A URI that fits several templates is asked for by its qualified name.
            let qualified = naming::qualify(owner.id(), local);
            let public = if owner.is_builtin() { local } else { qualified.as_str() };
            let claim = self.claim(entry.member, local, public);
            by_shape.entry(shape(local)).or_default().push(claim);
        }
        let mut several: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
        for claims in by_shape.into_values() {
            let Some(first) = claims.first() else { continue };
            several.insert(first.local.clone(), claims);
        }
        contests(Contested::Template, several)
    }

    fn contested_names(&self, kind: Contested, entries: &[NamedEntry]) -> Vec<Contest> {
        let mut wanted: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
        for entry in entries {
            let prefix = self.owner(entry.member).tool_prefix();
            let name = naming::prefixed(prefix, &entry.local);
            let claim = self.claim(entry.member, &entry.local, &entry.public);
            wanted.entry(name).or_default().push(claim);
        }
        for (name, claims) in &mut wanted {
            let is_ours = naming::is_own_tool(name) || self.own_tools().names.contains(name);
            if is_ours {
                let source = SourceId::own();
                claims.insert(0, Claim { source, local: name.clone(), public: name.clone() });
            }
        }
        contests(kind, wanted)
    }

    fn claim(&self, member: u32, local: &str, public: &str) -> Claim {
        let source = self.owner(member).id().clone();
        Claim { source, local: local.to_owned(), public: public.to_owned() }
    }
}

fn contests<N: Into<String>>(kind: Contested, several: BTreeMap<N, Vec<Claim>>) -> Vec<Contest> {
    let mut all = Vec::new();
    for (name, claims) in several {
        let first = claims.first().map(|claim| &claim.source);
        if claims.iter().any(|claim| Some(&claim.source) != first) {
            all.push(Contest { kind, name: name.into(), claims });
        }
    }
    all
}

/// A template without the names of its variables, e.g. `x://{}/{+}` of `x://{a}/{+b}`.
fn shape(template: &str) -> String {
    let mut shape = String::with_capacity(template.len());
    let mut is_inside = false;
    for c in template.chars() {
        match c {
            '{' => is_inside = true,
            '}' => is_inside = false,
            _ if is_inside && (c.is_alphanumeric() || c == '_' || c == '.') => continue,
            _ => {}
        }
        shape.push(c);
    }
    shape
}
