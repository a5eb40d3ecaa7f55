//! A caller's view of the catalogue, as rows to filter, sort and search.
//!
//! The rows are made once for each view, off the threads that serve, and dropped with the next
//! view. The entries themselves are JSON, which is too slow to look into a hundred thousand times
//! for each key that a person types.

use std::{collections::HashMap, sync::Arc};

use memchr::memmem;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use trove_core::{Caller, Gateway, PublicUri, SourceId, content::escape_line, gateway::View};

/// How much of a description a row shows.
const MAX_SHOWN: usize = 240;
/// How much of a description is searched.
const MAX_SEARCHED: usize = 4096;

/// The rows of one view.
pub(super) struct Rows {
    pub(super) view: Arc<View>,
    pub(super) all: Vec<Row>,
    /// The types that occur; a row names one by its place.
    pub(super) types: Vec<String>,
    /// The words of all rows, in lower case.
    text: String,
    /// The orders that were asked for last; see `browse`.
    pub(super) orders: parking_lot::Mutex<Vec<(String, Arc<super::browse::Order>)>>,
}

/// One resource.
pub(super) struct Row {
    pub(super) uri: PublicUri,
    pub(super) member: u32,
    /// Its place in the listing of its member.
    place: u32,
    /// The caller may know of it and not read it.
    pub(super) is_closed: bool,
    pub(super) kind: u32,
    pub(super) size: Option<u64>,
    /// Seconds since 1970.
    pub(super) modified: Option<i64>,
    /// Where its words stand in the text: name, URI, description.
    words: [u32; 4],
}

impl Rows {
    fn of(view: Arc<View>) -> Rows {
        let mut types: Vec<String> = Vec::new();
        let mut by_type: HashMap<String, u32> = HashMap::new();
        let mut text = String::new();
        let mut all = Vec::with_capacity(view.resource_count());
        for (resource, is_closed) in view.resources() {
            let details = view.snapshot().details(resource);
            let mime = details.mime().unwrap_or_default();
            let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            let kind = *by_type.entry(mime).or_insert_with_key(|mime| {
                types.push(mime.clone());
                u32::try_from(types.len() - 1).unwrap_or(u32::MAX)
            });
            let name = details.shown_name().unwrap_or_default();
            let description = details.description().unwrap_or_default();
            let mut words = [place(&text); 4];
            let parts = [&name, resource.public.as_str(), head(&description, MAX_SEARCHED)];
            for (n, part) in parts.into_iter().enumerate() {
                push_lower(&mut text, part);
                words[n + 1] = place(&text);
            }
            all.push(Row {
                uri: resource.public.clone(),
                member: resource.member,
                place: resource.place,
                is_closed,
                kind,
                size: details.size(),
                modified: details.annotations().modified(),
                words,
            });
        }
        Rows { view, all, types, text, orders: parking_lot::Mutex::default() }
    }

    /// The words of a row in lower case: name, URI, description.
    pub(super) fn words(&self, row: &Row) -> [&str; 3] {
        let part = |n: usize| &self.text[row.words[n] as usize..row.words[n + 1] as usize];
        [part(0), part(1), part(2)]
    }

    /// All of them at once.
    pub(super) fn whole(&self, row: &Row) -> &str {
        &self.text[row.words[0] as usize..row.words[3] as usize]
    }

    /// The rows that hold this word, and their places. A few more may come whose text ends with the
    /// beginning of the word. One pass over the text, however many rows there are.
    pub(super) fn holding<'a>(&'a self, word: &'a str) -> impl Iterator<Item = (&'a Row, u32)> {
        let finder = memmem::Finder::new(word).into_owned();
        let (mut from, mut nth) = (0, 0);
        std::iter::from_fn(move || {
            let at = from + finder.find(&self.text.as_bytes()[from..])?;
            while (self.all.get(nth)?.words[3] as usize) <= at {
                nth += 1;
            }
            let row = self.all.get(nth)?;
            from = row.words[3] as usize;
            Some((row, u32::try_from(nth).ok()?))
        })
    }

    pub(super) fn server(&self, row: &Row) -> &str {
        self.view.snapshot().owner(row.member).id().as_str()
    }

    /// Whether Trove tells of itself in it. Documents of the guide are somebody's own.
    pub(super) fn is_of_trove(&self, row: &Row) -> bool {
        let is_help = row.uri.as_str() == "guide://help";
        self.server(row) == SourceId::own().as_str() || is_help
    }

    /// A row as the page shows it.
    pub(super) fn shown(&self, row: &Row) -> Value {
        let details = self.view.snapshot().details_at(row.member, row.place);
        let description = details.description().unwrap_or_default();
        json!({
            "uri": row.uri.as_str(),
            "name": details.shown_name().map(|name| escape_line(&name).into_owned()),
            "description": escape_line(head(&description, MAX_SHOWN)),
            "type": self.types[row.kind as usize],
            "size": row.size,
            "modified": row.modified,
            "server": self.server(row),
            "closed": row.is_closed,
        })
    }
}

/// Adds a text in lower case; most are ASCII, which is done at once.
fn push_lower(text: &mut String, part: &str) {
    let from = text.len();
    if part.is_ascii() {
        text.push_str(part);
        text[from..].make_ascii_lowercase();
    } else {
        text.extend(part.chars().flat_map(char::to_lowercase));
    }
}

/// Positions are counted in 32 bits: four gigabytes of words are more than any catalogue has.
fn place(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

/// The beginning of a text, whole characters only.
fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The rows that were made last.
#[derive(Default)]
pub(super) struct Shelf(Mutex<Option<Arc<Rows>>>);

impl Shelf {
    /// The rows of the caller's present view. A second request waits while they are made.
    pub(super) async fn rows(&self, gateway: &Gateway, caller: &Caller) -> Arc<Rows> {
        let view = gateway.view(caller).await;
        let mut kept = self.0.lock().await;
        if let Some(rows) = kept.as_ref().filter(|rows| Arc::ptr_eq(&rows.view, &view)) {
            return rows.clone();
        }
        let made = tokio::task::spawn_blocking(move || Arc::new(Rows::of(view))).await;
        let rows = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        *kept = Some(rows.clone());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn rows(all: &[[&str; 3]]) -> Rows {
        let mut text = String::new();
        let row = |parts: &[&str; 3]| {
            let mut words = [place(&text); 4];
            for (n, part) in parts.iter().enumerate() {
                push_lower(&mut text, part);
                words[n + 1] = place(&text);
            }
            let uri = PublicUri::new(parts[1]);
            let (member, kind) = (0, 0);
            Row { uri, place: 0, member, is_closed: false, kind, size: None, modified: None, words }
        };
        let all = all.iter().map(row).collect();
        let gateway = Gateway::new(trove_core::gateway::Parts::new("0")).await;
        let view = gateway.view(&Caller::local()).await;
        Rows { view, all, types: vec![String::new()], text, orders: parking_lot::Mutex::default() }
    }

    async fn holding(all: &[[&str; 3]], word: &str) -> Vec<u32> {
        rows(all).await.holding(word).map(|(_, n)| n).collect()
    }

    #[tokio::test]
    async fn every_row_that_holds_a_word_is_named_once() {
        let all = [["Log LOG", "a:log", ""], ["", "b:x", "no"], ["", "c:x", "a catalog"]];
        assert_eq!(holding(&all, "log").await, [0, 2]);
        assert_eq!(holding(&all, "zzz").await, [0u32; 0]);
    }

    #[tokio::test]
    async fn a_word_across_two_rows_hides_none_of_them() {
        // `ab` stands across the first two, and in the second and third.
        let all = [["", "x", "a"], ["b", "y", "ab"], ["ab", "z", ""]];
        assert_eq!(holding(&all, "ab").await, [0, 1, 2]);
    }
}
