//! The input of search: resources, their contents, and who may see them.
//!
//! Plain values. Search knows a resource by its Source and the name it has there; the
//! public name is carried along, because it may change when another Source comes.

use std::{collections::HashSet, sync::Arc};

use super::{doubt::Reason, interval::Believed};
use crate::{
    source_id::SourceId,
    uri::{LocalUri, PublicUri},
};

/// One resource as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub source: SourceId,
    /// Its name there.
    pub local: LocalUri,
    /// Its name for our clients.
    pub public: PublicUri,
    /// Its name, for programs.
    pub name: String,
    /// Its name, for people.
    pub title: Option<String>,
    pub description: Option<String>,
    /// Its type, as listed.
    pub mime: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// When it last changed, in seconds since 1970.
    pub modified: Option<i64>,
    /// How important its Source says it is, from 0 to 1.
    pub priority: f32,
    /// Whether its content is to be indexed, or only what is listed of it.
    pub depth: Depth,
}

/// How much of a resource is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The listed words.
    Metadata,
    /// The listed words and the contents.
    Content,
}

/// The identity of a resource in search.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub source: SourceId,
    /// Its name there.
    pub local: LocalUri,
}

impl Entry {
    /// A resource of which only names are known.
    pub fn new(source: SourceId, local: &str, name: &str) -> Entry {
        Entry {
            source,
            local: LocalUri::from(local),
            public: PublicUri::from(local),
            name: name.to_owned(),
            title: None,
            description: None,
            mime: None,
            size: None,
            modified: None,
            priority: 0.5,
            depth: Depth::Content,
        }
    }

    pub fn key(&self) -> Key {
        Key { source: self.source.clone(), local: self.local.clone() }
    }
}

/// The changes among resources.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Resources that are new or listed differently; those that are listed as before cost little.
    pub put: Vec<Entry>,
    /// Resources that are gone.
    pub removed: Vec<Key>,
}

/// The content of a resource as text.
#[derive(Debug, Clone)]
pub struct Content {
    /// The text, decoded.
    pub text: String,
    /// Its type, as found; the listed one where absent.
    pub mime: Option<String>,
    /// When its Source was asked for it, in milliseconds since 1970.
    pub read_at: i64,
    /// How long it may be believed.
    pub believed: Believed,
    /// The only caller it may be shown to; `None`: every caller who may see the resource.
    pub owner: Option<Arc<str>>,
}

impl Content {
    /// A text of a type that is not known, for all callers.
    pub fn new(text: impl Into<String>, read_at: i64) -> Content {
        let (mime, owner) = (None, None);
        Content { text: text.into(), mime, read_at, believed: Believed::default(), owner }
    }
}

/// Why the content of a resource is not indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    /// It is larger than the limit.
    TooLarge,
    /// It is no text.
    Binary,
    /// It could not be read.
    Unreadable,
    /// A rule forbids to read it unasked.
    Forbidden,
    /// Only its owner may see it.
    Private,
    /// The index is as large as it may be.
    IndexFull,
}

impl Skip {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Skip; 6] = [
        Skip::TooLarge,
        Skip::Binary,
        Skip::Unreadable,
        Skip::Forbidden,
        Skip::Private,
        Skip::IndexFull,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Skip::TooLarge => "too_large",
            Skip::Binary => "binary",
            Skip::Unreadable => "unreadable",
            Skip::Forbidden => "forbidden",
            Skip::Private => "private",
            Skip::IndexFull => "index_full",
        }
    }
}

/// A resource in the index, as a rule about seeing it needs it.
#[derive(Debug, Clone, Copy)]
pub struct EntryRef<'a> {
    pub source: &'a SourceId,
    /// Its name there.
    pub local: &'a str,
    /// Its name for our clients.
    pub public: &'a str,
    /// Its type, as listed.
    pub mime: Option<&'a str>,
}

/// How much of a Source a caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Every resource.
    All,
    Nothing,
    /// Those for which [`Sight::sees`] says so.
    Some,
}

/// The rights of an asker. Asked for each Source first, so that a caller without limits costs
/// nothing. Then asked for each resource that matches, before any limit or count.
pub trait Sight: Sync {
    /// Who asks, where contents may be private to them.
    fn owner(&self) -> Option<&str> {
        None
    }

    /// How much of a Source they see.
    fn of_source(&self, _source: &SourceId) -> Seen {
        Seen::Some
    }

    /// Whether they see a resource.
    fn sees(&self, entry: EntryRef<'_>) -> bool;
}

/// Sees everything that is not private to one caller.
#[derive(Debug, Clone, Copy)]
pub struct Everything;

impl Sight for Everything {
    fn of_source(&self, _source: &SourceId) -> Seen {
        Seen::All
    }

    fn sees(&self, _entry: EntryRef<'_>) -> bool {
        true
    }
}

/// A resource whose content should be read for the index.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    pub key: Key,
    pub public: PublicUri,
    /// Its type, as listed.
    pub mime: Option<String>,
    /// Its size, as listed.
    pub size: Option<u64>,
    /// Whether a text of it is indexed.
    pub has_text: bool,
    /// Why it should be read.
    pub reason: Reason,
}

/// The resources of one Source that should be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanting {
    pub source: SourceId,
    /// Those that were never read, the most wanted first.
    pub unread: Vec<Pending>,
    /// Those to be looked at again, the most wanted first.
    pub again: Vec<Pending>,
    /// The one of those that was looked at longest ago.
    pub oldest: Option<Pending>,
}

/// How much of what could be indexed is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Resources whose content is indexed.
    pub indexed: usize,
    /// Resources whose content is to be indexed.
    pub indexable: usize,
    /// Resources whose content is left out, by reason.
    pub skipped: std::collections::BTreeMap<Skip, usize>,
}

/// The whole list of one Source: a resource that is not in it is gone.
#[derive(Debug, Clone)]
pub struct SourceListing {
    pub source: SourceId,
    /// All of it.
    pub entries: Vec<Entry>,
}

impl SourceListing {
    /// The names in it.
    pub(super) fn names(&self) -> HashSet<&str> {
        self.entries.iter().map(|entry| entry.local.as_str()).collect()
    }
}
