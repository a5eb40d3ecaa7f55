//! The parts of each resource that wait to be written, and those that the index holds already.

use tantivy::TantivyDocument;

use super::{
    document::{self, Held, Names, Shown},
    record::{Record, State},
    roster::Roster,
    store::Store,
};

/// The parts of one resource that are to be committed.
#[derive(Default)]
pub(super) struct Staged {
    /// Nothing of it is in the index yet.
    pub(super) is_new: bool,
    /// Its listed words, if they changed.
    pub(super) shown: Option<Shown>,
    /// Its new contents.
    pub(super) contents: Vec<Held>,
}

/// The parts of a resource that is written anew which the index holds.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) shown: Shown,
    pub(super) contents: Vec<Held>,
}

impl Kept {
    /// Takes in a document.
    pub(super) fn take(&mut self, read: document::Read) {
        self.shown = read.shown;
        let at = self.contents.iter().position(|held| held.owner == read.owner);
        let at = at.unwrap_or_else(|| {
            self.contents.push(Held { owner: read.owner, hash: read.hash, windows: Vec::new() });
            self.contents.len() - 1
        });
        if !read.window.body.is_empty() {
            let windows = &mut self.contents[at].windows;
            windows.push(read.window);
            windows.sort_by_key(|window| window.base);
        }
    }

    /// Takes away the contents that are not to be indexed any more.
    pub(super) fn clear_unless_held(&mut self, state: State) {
        if !state.has_content() {
            self.contents.retain(|held| held.owner != 0);
            self.contents.push(Held::default());
        }
        if state == State::MetadataOnly {
            self.contents.retain(|held| held.owner == 0);
        }
    }

    /// Puts new contents in the place of old ones.
    pub(super) fn replace(&mut self, contents: Vec<Held>) {
        for content in contents {
            self.contents.retain(|held| held.owner != content.owner);
            self.contents.push(content);
        }
        // One document is for all callers, even if no content is.
        if !self.contents.iter().any(|held| held.owner == 0) {
            self.contents.push(Held::default());
        }
    }
}

/// All documents of a resource.
pub(super) fn documents(
    store: &Store,
    roster: &Roster,
    record: &Record,
    shown: &Shown,
    contents: &[Held],
) -> Vec<TantivyDocument> {
    let source = roster.source_of(record).as_str();
    let names = Names { source, mime: roster.type_of(record), shown };
    contents
        .iter()
        .flat_map(|held| document::documents(&store.fields, record, names, held))
        .collect()
}
