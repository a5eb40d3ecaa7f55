//! All that all Sources list, as one immutable value.
//!
//! Built once per change and then only read: an exact lookup is one hash, a template match is
//! linear in the URI, and no reader holds a lock.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    age::Age,
    naming,
    route::{Matching, RouteError},
};
use crate::{
    json::{Json, Object},
    resource::{Details, Freshness, Listing, ListsChanged, Named, OwnTools, Scope, Template},
    source::{Abilities, Source, SourceId},
    uri::{LocalUri, PublicUri, scheme},
};

/// Everything all Sources list, under the names our clients see.
pub struct Snapshot {
    pub(super) revision: u64,
    own_tools: OwnTools,
    pub(super) members: Vec<Member>,
    pub(super) resources: Vec<ResourceEntry>,
    pub(super) templates: Vec<TemplateEntry>,
    pub(super) tools: Vec<NamedEntry>,
    pub(super) prompts: Vec<NamedEntry>,
    pub(super) skills: Vec<NamedEntry>,
    pub(super) by_uri: HashMap<PublicUri, u32>,
    pub(super) contested: HashMap<PublicUri, Vec<u32>>,
    pub(super) matching: Matching,
    /// Which members list anything of a scheme.
    pub(super) by_scheme: HashMap<String, Vec<u32>>,
    pub(super) by_id: HashMap<SourceId, u32>,
    by_tool: HashMap<Arc<str>, u32>,
    by_prompt: HashMap<Arc<str>, u32>,
}

/// One Source with its listing.
#[derive(Clone)]
pub struct Member {
    pub source: Arc<dyn Source>,
    /// The listing that it last gave.
    pub listing: Arc<Listing>,
    /// Whether the listing is only a memory.
    pub is_stale: bool,
    /// How old it is.
    pub age: Arc<Age>,
}

impl Member {
    /// How long its listing may still be believed.
    fn freshness(&self) -> Freshness {
        if self.source.is_builtin() {
            self.listing.freshness
        } else {
            self.age.remaining(self.listing.freshness)
        }
    }

    /// Whether it is to be listed again. Our own Sources tell of every change. One that is down or
    /// failed is listed again for that.
    pub(super) fn is_old(&self) -> bool {
        let is_settled = !self.source.is_builtin() && !self.is_stale;
        is_settled && self.age.is_over(self.listing.freshness, self.source.announces_lists())
    }
}

/// One resource under its public name.
pub struct ResourceEntry {
    /// The index of its member.
    pub member: u32,
    /// Its place in the listing of its member.
    pub place: u32,
    /// The name our clients see.
    pub public: PublicUri,
    /// The name the Source uses.
    pub local: LocalUri,
    /// The entry as our clients see it.
    pub entry: Json,
}

/// One template under its public name.
pub struct TemplateEntry {
    /// The index of its member.
    pub member: u32,
    /// The text our clients see.
    pub public: PublicUri,
    /// As listed by the Source.
    pub template: Template,
    /// The entry as our clients see it.
    pub entry: Json,
}

/// One tool or prompt under its public name.
pub struct NamedEntry {
    /// The index of its member.
    pub member: u32,
    /// The name our clients see.
    pub public: Arc<str>,
    /// The name the Source uses.
    pub local: Arc<str>,
    /// The entry as our clients see it.
    pub entry: Json,
}

impl Snapshot {
    /// Nothing at all.
    pub fn empty() -> Snapshot {
        Snapshot::build(0, Vec::new())
    }

    /// The members of a listed entry.
    pub fn details(&self, entry: &ResourceEntry) -> Details<'_> {
        self.details_at(entry.member, entry.place)
    }

    /// The members of the entry at a place of a member's listing.
    pub fn details_at(&self, member: u32, place: u32) -> Details<'_> {
        self.members[member as usize].listing.resources[place as usize].details()
    }

    /// Puts the members' listings together. The same members always give the same names.
    pub fn build(revision: u64, members: Vec<Member>) -> Snapshot {
        Snapshot::beside(OwnTools::default(), revision, members)
    }

    /// As [`Snapshot::build`], beside tools of our own, whose names no server is given.
    pub(super) fn beside(own: OwnTools, revision: u64, mut members: Vec<Member>) -> Snapshot {
        members.sort_by(|a, b| {
            (!a.source.is_builtin(), a.source.id()).cmp(&(!b.source.is_builtin(), b.source.id()))
        });
        let by_id = members.iter().zip(0u32..).map(|(m, n)| (m.source.id().clone(), n)).collect();
        let mut snapshot = Snapshot {
            revision,
            own_tools: own,
            members,
            resources: Vec::new(),
            templates: Vec::new(),
            tools: Vec::new(),
            prompts: Vec::new(),
            skills: Vec::new(),
            by_uri: HashMap::new(),
            contested: HashMap::new(),
            matching: Matching::default(),
            by_scheme: HashMap::new(),
            by_id,
            by_tool: HashMap::new(),
            by_prompt: HashMap::new(),
        };
        snapshot.name_resources();
        snapshot.name_templates();
        let is_taken = |name: &str| snapshot.own_tools.names.contains(name);
        (snapshot.tools, snapshot.by_tool) = snapshot.name_all(|listing| &listing.tools, is_taken);
        (snapshot.prompts, snapshot.by_prompt) =
            snapshot.name_all(|listing| &listing.prompts, |_| false);
        snapshot.skills = snapshot.gather_skills();
        snapshot
    }

    /// A number that grows with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The Sources, built-in ones first, then by id.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A Source by its id.
    pub fn member(&self, id: &SourceId) -> Option<&Member> {
        self.by_id.get(id).map(|&n| &self.members[n as usize])
    }

    /// All resources, in listing order.
    pub fn resources(&self) -> &[ResourceEntry] {
        &self.resources
    }

    /// All templates, in listing order.
    pub fn templates(&self) -> &[TemplateEntry] {
        &self.templates
    }

    /// All tools of Sources that show theirs.
    pub fn tools(&self) -> &[NamedEntry] {
        &self.tools
    }

    /// All prompts of Sources that show theirs.
    pub fn prompts(&self) -> &[NamedEntry] {
        &self.prompts
    }

    /// All skills, their URIs public.
    pub fn skills(&self) -> &[NamedEntry] {
        &self.skills
    }

    /// A listed resource by the name our clients see.
    pub fn resource(&self, uri: &str) -> Option<&ResourceEntry> {
        self.by_uri.get(uri).map(|&n| &self.resources[n as usize])
    }

    /// The Source of an entry.
    pub fn owner(&self, member: u32) -> &Arc<dyn Source> {
        &self.members[member as usize].source
    }

    /// The abilities that at least one Source has.
    pub fn abilities(&self) -> Abilities {
        self.members.iter().fold(Abilities::default(), |all, m| all.or(m.source.abilities()))
    }

    /// How long the merged lists may be believed.
    pub fn freshness(&self) -> Freshness {
        let whole = Freshness { ttl_ms: u64::MAX, scope: Scope::Public };
        let merged = self.members.iter().fold(whole, |all, m| all.and(m.freshness()));
        if self.members.is_empty() { Freshness::default() } else { merged }
    }

    /// The tools of our own it was put together beside.
    pub(super) fn own_tools(&self) -> &OwnTools {
        &self.own_tools
    }

    /// The ids of Sources whose listing is only a memory.
    pub fn stale(&self) -> Vec<&SourceId> {
        self.members.iter().filter(|m| m.is_stale).map(|m| m.source.id()).collect()
    }

    /// A tool by the name our clients see.
    pub fn tool(&self, name: &str) -> Option<&NamedEntry> {
        self.by_tool.get(name).map(|&n| &self.tools[n as usize])
    }

    /// The owner of a tool and its name there.
    pub fn route_tool(&self, name: &str) -> Option<(&Arc<dyn Source>, &str)> {
        let entry = self.tool(name)?;
        Some((self.owner(entry.member), &entry.local))
    }

    /// The owner of a prompt and its name there.
    pub fn route_prompt(&self, name: &str) -> Option<(&Arc<dyn Source>, &str)> {
        let entry = &self.prompts[*self.by_prompt.get(name)? as usize];
        Some((self.owner(entry.member), &entry.local))
    }

    /// The name our clients use for `local` of `source`; `None` if they are the same.
    pub fn public_name(&self, source: &SourceId, local: &str) -> Option<PublicUri> {
        match self.route(local) {
            Ok(route) if route.source.id() == source && route.local.as_str() == local => None,
            Err(RouteError::Unknown) if naming::is_web(local) => None,
            Err(RouteError::TooLong { .. }) => None,
            Ok(_) | Err(_) => Some(naming::qualify(source, local)),
        }
    }

    /// Which lists differ from those of an older Snapshot.
    pub fn differs_from(&self, old: &Snapshot) -> ListsChanged {
        let named = |a: &[NamedEntry], b: &[NamedEntry]| {
            a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.entry != b.entry)
        };
        let resources = self.resources.len() != old.resources.len()
            || self.templates.len() != old.templates.len()
            || self.resources.iter().zip(&old.resources).any(|(a, b)| a.entry != b.entry)
            || self.templates.iter().zip(&old.templates).any(|(a, b)| a.entry != b.entry);
        ListsChanged {
            resources,
            tools: named(&self.tools, &old.tools) || self.own_tools != old.own_tools,
            prompts: named(&self.prompts, &old.prompts),
        }
    }

    /// Whether a name of this member may stand bare if no other Source claims it.
    fn may_stand_bare(&self, member: &Member, local: &str) -> bool {
        if member.source.is_builtin() {
            return true;
        }
        let looks_qualified =
            naming::split_qualified(local).is_some_and(|(id, _)| self.by_id.contains_key(&id));
        !naming::is_reserved(local) && !looks_qualified
    }

    fn name_resources(&mut self) {
        let total = self.members.iter().map(|m| m.listing.resources.len()).sum();
        let mut owners: HashMap<&str, u32> = HashMap::with_capacity(total);
        for resource in self.members.iter().flat_map(|m| &m.listing.resources) {
            *owners.entry(resource.uri.as_str()).or_default() += 1;
        }
        let mut resources = Vec::with_capacity(total);
        let mut contested: HashMap<PublicUri, Vec<u32>> = HashMap::new();
        let mut by_scheme: HashMap<String, Vec<u32>> = HashMap::new();
        for (member, n) in self.members.iter().zip(0u32..) {
            for (resource, place) in member.listing.resources.iter().zip(0u32..) {
                let local = resource.uri.as_str();
                note_scheme(&mut by_scheme, local, n);
                let bare = self.may_stand_bare(member, local);
                let alone = owners[local] == 1 || member.source.is_builtin();
                let (public, entry) = if bare && alone {
                    (PublicUri::new(resource.uri.shared()), resource.entry.clone())
                } else {
                    let public = naming::qualify(member.source.id(), local);
                    (public.clone(), renamed(&resource.entry, "uri", public.as_str()))
                };
                if bare && !alone {
                    contested.entry(PublicUri::new(resource.uri.shared())).or_default().push(n);
                }
                resources.push(ResourceEntry {
                    member: n,
                    place,
                    public,
                    local: resource.uri.clone(),
                    entry,
                });
            }
        }
        let by_uri: HashMap<PublicUri, u32> =
            resources.iter().zip(0u32..).map(|(r, n)| (r.public.clone(), n)).collect();
        // A built-in keeps its bare name, so nothing is contested there.
        contested.retain(|bare, _| !by_uri.contains_key(bare));
        (self.resources, self.by_uri) = (resources, by_uri);
        (self.contested, self.by_scheme) = (contested, by_scheme);
    }

    fn name_templates(&mut self) {
        let mut owners: HashMap<&str, u32> = HashMap::new();
        for template in self.members.iter().flat_map(|m| &m.listing.templates) {
            *owners.entry(template.text.as_str()).or_default() += 1;
        }
        let mut templates = Vec::new();
        let mut by_scheme = std::mem::take(&mut self.by_scheme);
        for (member, n) in self.members.iter().zip(0u32..) {
            for template in &member.listing.templates {
                let local = template.text.as_str();
                note_scheme(&mut by_scheme, local, n);
                let alone = owners[local] == 1 || member.source.is_builtin();
                let may_be_alone = alone && !template.begins_anyhow();
                let is_bare = may_be_alone && self.may_stand_bare(member, local);
                let (public, entry) = if is_bare {
                    (PublicUri::new(template.text.shared()), template.entry.clone())
                } else {
                    let public = naming::qualify(member.source.id(), local);
                    (public.clone(), renamed(&template.entry, "uriTemplate", public.as_str()))
                };
                templates.push(TemplateEntry {
                    member: n,
                    public,
                    template: template.clone(),
                    entry,
                });
            }
        }
        let may_match = |t: &TemplateEntry| {
            self.may_stand_bare(&self.members[t.member as usize], t.template.text.as_str())
        };
        self.matching = Matching::new(&templates, may_match);
        (self.templates, self.by_scheme) = (templates, by_scheme);
    }

    fn name_all(
        &self,
        pick: impl Fn(&Listing) -> &Vec<Named>,
        is_taken: impl Fn(&str) -> bool,
    ) -> (Vec<NamedEntry>, HashMap<Arc<str>, u32>) {
        let mut entries: Vec<NamedEntry> = Vec::new();
        let mut by_name: HashMap<Arc<str>, u32> = HashMap::new();
        let mut claims: HashMap<String, HashSet<u32>> = HashMap::new();
        for (member, n) in self.members.iter().zip(0u32..) {
            for named in pick(&member.listing) {
                let name = naming::prefixed(member.source.tool_prefix(), &named.name);
                claims.entry(name).or_default().insert(n);
            }
        }
        for (member, n) in self.members.iter().zip(0u32..) {
            for named in pick(&member.listing) {
                let mut public = naming::prefixed(member.source.tool_prefix(), &named.name);
                // No owner is picked silently: a name that several claim goes to none of them.
                if claims.get(&public).is_some_and(|claims| claims.len() > 1) {
                    public = naming::prefixed(member.source.id().as_str(), &public);
                }
                // Nothing is dropped: a taken name is lengthened until it is free.
                let is_taken = |name: &str| naming::is_own_tool(name) || is_taken(name);
                while is_taken(&public) || by_name.contains_key(public.as_str()) {
                    public = naming::prefixed(member.source.id().as_str(), &public);
                }
                let public: Arc<str> = public.into();
                by_name.insert(public.clone(), u32::try_from(entries.len()).unwrap_or(u32::MAX));
                let entry = self.tool_entry(member.source.id(), named, &public);
                entries.push(NamedEntry { member: n, public, local: named.name.clone(), entry });
            }
        }
        (entries, by_name)
    }

    /// A tool's or prompt's entry under its public name, the page it points to renamed too.
    fn tool_entry(&self, id: &SourceId, named: &Named, public: &str) -> Json {
        let Some(mut object) = named.entry.object() else {
            return named.entry.clone();
        };
        if *named.name != *public {
            object.set_str("name", public);
        }
        if let Some(meta) = object.get("_meta").and_then(|meta| self.rename_page(id, meta)) {
            object.set("_meta", meta);
        }
        if object.is_edited() { object.to_json() } else { named.entry.clone() }
    }

    /// `_meta.ui.resourceUri`, and its older flat spelling, name a `ui://` resource.
    fn rename_page(&self, id: &SourceId, meta: &str) -> Option<String> {
        let mut object = Object::parse(meta)?;
        let flat = object.get_str("ui/resourceUri").and_then(|uri| self.public_name(id, &uri));
        if let Some(public) = flat {
            object.set_str("ui/resourceUri", public.as_str());
        }
        let nested = object.get("ui").and_then(|ui| {
            let mut ui = Object::parse(ui)?;
            let public = self.public_name(id, &ui.get_str("resourceUri")?)?;
            ui.set_str("resourceUri", public.as_str());
            Some(ui.to_text())
        });
        if let Some(ui) = nested {
            object.set("ui", ui);
        }
        object.is_edited().then(|| object.to_text())
    }

    fn gather_skills(&self) -> Vec<NamedEntry> {
        let mut skills = Vec::new();
        for (member, n) in self.members.iter().zip(0u32..) {
            for skill in &member.listing.skills {
                let entry = super::rewrite::skill(self, member.source.id(), &skill.entry);
                let (public, local) = (skill.name.clone(), skill.name.clone());
                skills.push(NamedEntry { member: n, public, local, entry });
            }
        }
        skills
    }
}

fn note_scheme(by_scheme: &mut HashMap<String, Vec<u32>>, uri: &str, member: u32) {
    let Some(scheme) = scheme(uri) else { return };
    match by_scheme.get_mut(scheme) {
        Some(members) if members.last() == Some(&member) => {}
        Some(members) if members.contains(&member) => {}
        Some(members) => members.push(member),
        None => {
            by_scheme.insert(scheme.to_owned(), vec![member]);
        }
    }
}

fn renamed(entry: &Json, key: &'static str, public: &str) -> Json {
    let Some(mut object) = entry.object() else { return entry.clone() };
    object.set_str(key, public);
    object.to_json()
}
