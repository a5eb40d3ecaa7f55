//! The entries that a Source lists, and its word on when they change.

mod details;

use std::{collections::HashSet, sync::Arc};

use details::Beginnings;
pub use details::{Annotations, Details};

use crate::{
    json::Json,
    template::UriTemplate,
    uri::{LocalUri, MAX_URI_BYTES},
};

/// How many entries a list may have that was put together of what was read at different times.
const MAX_PUT_TOGETHER: usize = 100_000;

/// One resource as its Source lists it.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its name at the Source.
    pub uri: LocalUri,
    /// The whole entry as listed.
    pub entry: Json,
    beginnings: Beginnings,
}

/// One template as its Source lists it.
#[derive(Debug, Clone)]
pub struct Template {
    /// The template's text at the Source.
    pub text: LocalUri,
    /// The whole entry as listed.
    pub entry: Json,
    /// Ready to match; `None` if the text is no template of RFC 6570. It is then listed but matches
    /// no URI.
    pub compiled: Option<UriTemplate>,
    beginnings: Beginnings,
}

impl Resource {
    /// Takes an entry that has a `uri`. A missing `name` is made from it, because strict
    /// clients would otherwise refuse the whole list.
    pub fn new(entry: Json) -> Option<Resource> {
        let Identified { id, entry, beginnings } = identified(entry, "uri")?;
        Some(Resource { uri: LocalUri::new(id), entry, beginnings })
    }

    /// An entry that we wrote, under a name that we made.
    pub fn own(uri: impl Into<Arc<str>>, entry: Json) -> Resource {
        let beginnings = match entry.object() {
            Some(object) => Beginnings::of(&entry, &object),
            None => Beginnings::NONE,
        };
        Resource { uri: LocalUri::new(uri), entry, beginnings }
    }

    /// Its members.
    pub fn details(&self) -> Details<'_> {
        Details { entry: &self.entry, beginnings: &self.beginnings }
    }
}

impl Template {
    /// Takes an entry that has a `uriTemplate`.
    pub fn new(entry: Json) -> Option<Template> {
        let Identified { id, entry, beginnings } = identified(entry, "uriTemplate")?;
        let compiled = UriTemplate::parse(&id).ok();
        Some(Template { text: LocalUri::new(id), entry, compiled, beginnings })
    }

    /// Its members.
    pub fn details(&self) -> Details<'_> {
        Details { entry: &self.entry, beginnings: &self.beginnings }
    }

    /// Whether it begins with a variable, so that by its look any URI might be one of its.
    pub fn begins_anyhow(&self) -> bool {
        let prefix = self.compiled.as_ref().map(UriTemplate::literal_prefix);
        prefix.is_some_and(|prefix| !prefix.contains(':'))
    }
}

impl Named {
    /// Takes an entry that has the member `key`.
    pub fn new(entry: Json, key: &str) -> Option<Named> {
        let name = entry.object()?.get_str(key)?.into_owned();
        Some(Named { name: name.into(), entry })
    }
}

/// An entry with the member that names it.
struct Identified {
    id: String,
    entry: Json,
    beginnings: Beginnings,
}

fn identified(entry: Json, key: &str) -> Option<Identified> {
    let mut object = entry.object()?;
    let fits = |id: &str| !id.is_empty() && id.len() <= MAX_URI_BYTES;
    let id = object.get_str(key).filter(|id| fits(id))?.into_owned();
    if object.get_str("name").is_some() {
        let beginnings = Beginnings::of(&entry, &object);
        return Some(Identified { id, entry, beginnings });
    }
    object.set_str("name", id.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&id));
    let named = object.to_json();
    let beginnings = Beginnings::of(&named, &named.object()?);
    Some(Identified { id, entry: named, beginnings })
}

/// A tool, prompt or skill as its Source lists it: known by name.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name at the Source.
    pub name: Arc<str>,
    /// The whole entry as listed.
    pub entry: Json,
}

/// The tools of our own that are offered beside those of Sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnTools {
    /// Every name one of them can be called by.
    pub names: HashSet<String>,
    /// A number that differs for a different list.
    pub print: u64,
}

/// Everything one Source lists.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Its resources, in its order.
    pub resources: Vec<Resource>,
    /// Its templates, in its order.
    pub templates: Vec<Template>,
    /// Its tools, if they are to be shown.
    pub tools: Vec<Named>,
    /// Its prompts, if they are to be shown.
    pub prompts: Vec<Named>,
    pub skills: Vec<Named>,
    /// How long the lists may be believed.
    pub freshness: Freshness,
    /// Each entry that was left out of the lists, and why; empty when the lists are whole.
    pub omissions: Vec<String>,
    /// Lists that could not be read this time, so that the last ones stand.
    pub unread: Unread,
    /// How many resources at the end of their list are made by a recipe, of data that changes.
    pub made: usize,
}

/// Which lists could not be read, or not to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unread {
    pub resources: bool,
    pub templates: bool,
    pub tools: bool,
    pub prompts: bool,
    pub skills: bool,
}

impl Unread {
    /// Whether any list could not be read.
    pub fn any(self) -> bool {
        self.resources || self.templates || self.tools || self.prompts || self.skills
    }
}

impl Listing {
    /// Whether it says nothing else than another.
    pub fn is_same(&self, other: &Listing) -> bool {
        fn entries(all: &[Named]) -> impl Iterator<Item = &Json> {
            all.iter().map(|named| &named.entry)
        }
        self.resources.iter().map(|r| &r.entry).eq(other.resources.iter().map(|r| &r.entry))
            && self.templates.iter().map(|t| &t.entry).eq(other.templates.iter().map(|t| &t.entry))
            && entries(&self.tools).eq(entries(&other.tools))
            && entries(&self.prompts).eq(entries(&other.prompts))
            && entries(&self.skills).eq(entries(&other.skills))
            && (self.freshness, &self.omissions, self.unread)
                == (other.freshness, &other.omissions, other.unread)
    }

    /// Whether it tells no more than that tools, prompts or skills differ from another's.
    pub fn leaves_resources(&self, other: &Listing) -> bool {
        let own = self.resources.iter().map(|resource| &resource.entry);
        let others = other.resources.iter().map(|resource| &resource.entry);
        own.eq(others) && !self.is_same(other)
    }

    /// Adds what was listed before to the lists that could not be read to their end.
    pub fn complete_from(&mut self, before: &Listing) {
        fn keep<T: Clone>(
            is_unread: bool,
            now: &mut Vec<T>,
            before: &[T],
            key: impl Fn(&T) -> &str,
        ) {
            if !is_unread {
                return;
            }
            let most = now.len().max(before.len()).max(MAX_PUT_TOGETHER);
            let listed: HashSet<&str> = now.iter().map(&key).collect();
            let others: Vec<T> =
                before.iter().filter(|one| !listed.contains(key(one))).cloned().collect();
            now.extend(others);
            now.truncate(most);
        }
        let Unread { resources, templates, tools, prompts, skills } = self.unread;
        let read = self.resources.len();
        keep(resources, &mut self.resources, &before.resources, |one| one.uri.as_str());
        if before.made > 0 {
            self.made += self.resources.len() - read;
        }
        keep(templates, &mut self.templates, &before.templates, |one| one.text.as_str());
        keep(tools, &mut self.tools, &before.tools, |one| &one.name);
        keep(prompts, &mut self.prompts, &before.prompts, |one| &one.name);
        keep(skills, &mut self.skills, &before.skills, |one| &one.name);
    }
}

/// How long an answer may be believed, and by which callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// Milliseconds from the moment it was given.
    pub ttl_ms: u64,
    /// Whether it may be shown to others than the one who asked.
    pub scope: Scope,
}

impl Default for Freshness {
    /// The default for a Source that gives no time: believe it once, show it to no other caller.
    fn default() -> Self {
        Freshness { ttl_ms: 0, scope: Scope::Private }
    }
}

impl Freshness {
    /// The freshness of two answers put together: the shorter time, the narrower scope.
    pub fn and(self, other: Freshness) -> Freshness {
        let scope = match (self.scope, other.scope) {
            (Scope::Public, Scope::Public) => Scope::Public,
            (Scope::Private, _) | (_, Scope::Private) => Scope::Private,
        };
        Freshness { ttl_ms: self.ttl_ms.min(other.ttl_ms), scope }
    }
}

/// Who may be shown a kept answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every caller who may ask.
    Public,
    /// Only the caller for whom it was fetched.
    Private,
}

/// Which of the lists differ between two Snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListsChanged {
    /// Resources or templates.
    pub resources: bool,
    pub tools: bool,
    pub prompts: bool,
}

impl ListsChanged {
    /// Whether any list differs.
    pub fn any(self) -> bool {
        self.resources || self.tools || self.prompts
    }

    /// The lists that changed in either.
    pub fn or(self, other: ListsChanged) -> ListsChanged {
        ListsChanged {
            resources: self.resources || other.resources,
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
        }
    }

    /// Every list.
    pub const ALL: ListsChanged = ListsChanged { resources: true, tools: true, prompts: true };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_answers_are_as_fresh_as_the_stalest_and_as_private_as_the_most_private() {
        let public = Freshness { ttl_ms: 500, scope: Scope::Public };
        let private = Freshness { ttl_ms: 900, scope: Scope::Private };
        assert_eq!(public.and(private), Freshness { ttl_ms: 500, scope: Scope::Private });
        assert_eq!(public.and(public), public);
    }

    fn listed(names: &[&str], is_cut: bool) -> Listing {
        let entry = |name: &&str| Json::parse(format!(r#"{{"uri":"x:{name}"}}"#)).ok();
        let resources = names.iter().filter_map(entry).filter_map(Resource::new).collect();
        let unread = Unread { resources: is_cut, ..Unread::default() };
        Listing { resources, unread, ..Listing::default() }
    }

    #[test]
    fn a_list_that_broke_off_shows_what_is_new_and_what_was_known() {
        let after = |now: &[&str], is_cut, before: &[&str]| {
            let mut now = listed(now, is_cut);
            now.complete_from(&listed(before, false));
            now.resources.iter().map(|one| one.uri.as_str()[2..].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(after(&["new", "a"], true, &["a", "b", "c"]), ["new", "a", "b", "c"]);
        assert_eq!(after(&[], true, &["a"]), ["a"]);
        assert_eq!(after(&["new"], false, &["a"]), ["new"]);
        let many: Vec<String> = (0..MAX_PUT_TOGETHER).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(after(&["new"], true, &many).len(), MAX_PUT_TOGETHER);
    }
}
