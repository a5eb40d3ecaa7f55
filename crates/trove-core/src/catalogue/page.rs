//! A part of a list, and the cursor to the next part.
//!
//! A cursor remembers the last entry given and some before it, ever farther apart. So a list that
//! changes between two pages goes on after the last of them that is still there. It may then repeat
//! entries; it loses none that was there all along.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::json::Json;

/// The most entries of one page.
pub const PAGE_ENTRIES: usize = 1000;
/// The most bytes of one page, so that no client's message limit is met.
pub const PAGE_BYTES: usize = 2 * 1024 * 1024;

/// The most entries that a cursor remembers: the last, and those 1, 3, 7 … before it.
const MAX_ANCHORS: usize = 20;

/// A part of a list.
#[derive(Debug)]
pub struct Page {
    pub entries: Vec<Json>,
    /// Where to go on; `None` at the end.
    pub next: Option<String>,
}

/// The cursor is not one of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not one that was given out here; list again without it")]
pub struct BadCursor;

/// Cuts the page that follows `cursor` out of a list. `of` gives the key and the entry
/// of an element; the page holds at most `most` of them.
pub(crate) fn cut<'a, T>(
    list: &'a [T],
    cursor: Option<&str>,
    most: usize,
    of: impl Fn(&'a T) -> (&'a str, &'a Json),
) -> Result<Page, BadCursor> {
    let start = match cursor {
        None | Some("") => 0,
        Some(cursor) => resume(list, cursor, &|element| of(element).0)?,
    };
    let mut entries = Vec::new();
    let mut bytes = 0;
    for element in &list[start..] {
        let (_, entry) = of(element);
        bytes += entry.as_bytes().len();
        let full = entries.len() == most || (bytes > PAGE_BYTES && !entries.is_empty());
        if full {
            break;
        }
        entries.push(entry.clone());
    }
    let end = start + entries.len();
    let next = cursor_after(list, end, |element| of(element).0);
    Ok(Page { entries, next })
}

/// The part of a list that follows `cursor`, at most `most` long, and the cursor to the
/// next part.
pub(crate) fn span<'a, T>(
    list: &'a [T],
    cursor: Option<&str>,
    most: usize,
    key: impl Fn(&'a T) -> &'a str,
) -> Result<(std::ops::Range<usize>, Option<String>), BadCursor> {
    let start = match cursor {
        None | Some("") => 0,
        Some(cursor) => resume(list, cursor, &key)?,
    };
    let end = start.saturating_add(most).min(list.len());
    Ok((start..end, cursor_after(list, end, key)))
}

/// The cursor to the elements behind the first `end`; `None` at the end.
pub(crate) fn cursor_after<'a, T>(
    list: &'a [T],
    end: usize,
    key: impl Fn(&'a T) -> &'a str,
) -> Option<String> {
    if end == 0 || end >= list.len() {
        return None;
    }
    let anchors = (0..MAX_ANCHORS).map_while(|n| end.checked_sub(1 << n)).map(|at| &list[at]);
    let anchors: Vec<String> = anchors.map(|one| format!("{:016x}", digest(key(one)))).collect();
    Some(format!("{end}-{}", anchors.join(".")))
}

/// Where the list goes on: after the last of the remembered entries that is still there, or from
/// its beginning.
fn resume<'a, T>(
    list: &'a [T],
    cursor: &str,
    key: &impl Fn(&'a T) -> &'a str,
) -> Result<usize, BadCursor> {
    let (end, anchors) = cursor.split_once('-').ok_or(BadCursor)?;
    let end: usize = end.parse().map_err(|_| BadCursor)?;
    let anchors = anchors.split('.').take(MAX_ANCHORS).map(|one| u64::from_str_radix(one, 16));
    let anchors: Vec<u64> = anchors.collect::<Result<_, _>>().map_err(|_| BadCursor)?;
    if end == 0 {
        return Err(BadCursor);
    }
    // Almost always nothing has changed.
    if list.get(end - 1).is_some_and(|last| digest(key(last)) == anchors[0]) {
        return Ok(end);
    }
    let found = list.iter().enumerate().filter_map(|(at, one)| {
        let digest = digest(key(one));
        Some((anchors.iter().position(|anchor| *anchor == digest)?, at + 1))
    });
    Ok(found.min().map_or(0, |(_, start)| start))
}

fn digest(key: &str) -> u64 {
    // Fixed keys: a cursor must still be good after a restart.
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(keys: std::ops::Range<usize>) -> Vec<(String, Json)> {
        keys.map(|n| (format!("k{n}"), Json::of(&n))).collect()
    }

    fn page(list: &[(String, Json)], cursor: Option<&str>) -> Page {
        cut(list, cursor, PAGE_ENTRIES, |(key, entry)| (key, entry)).unwrap()
    }

    #[test]
    fn pages_put_together_are_the_list() {
        let all = list(0..2500);
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = page(&all, cursor.as_deref());
            seen.extend(page.entries.iter().map(|e| e.as_str().to_owned()));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..2500).map(|n| n.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn an_entry_added_before_the_cursor_repeats_nothing_and_loses_nothing() {
        let cursor = page(&list(100..2100), None).next;
        let next = page(&list(0..2100), cursor.as_deref());
        assert_eq!(next.entries[0].as_str(), "1100");
    }

    #[test]
    fn a_list_that_shrinks_before_the_cursor_loses_nothing_that_stays() {
        let cursor = page(&list(0..2500), None).next;
        for gone in [0..999, 990..1000, 0..1000, 500..1100, 0..2400] {
            let left: Vec<_> = list(0..2500)
                .into_iter()
                .enumerate()
                .filter(|(n, _)| !gone.contains(n))
                .map(|(_, one)| one)
                .collect();
            let next = page(&left, cursor.as_deref());
            let first: usize = next.entries[0].as_str().parse().unwrap();
            let due = (1000..2500).find(|n| !gone.contains(n)).unwrap();
            assert!(first <= due, "{gone:?}: {first}");
        }
    }

    #[test]
    fn a_page_is_cut_at_its_bytes_too_but_never_empty() {
        let big = "x".repeat(PAGE_BYTES);
        let all: Vec<_> = (0..3).map(|n| (format!("k{n}"), Json::of(&big))).collect();
        let first = page(&all, None);
        assert_eq!((first.entries.len(), first.next.is_some()), (1, true));
    }

    #[test]
    fn t42_a_cursor_that_is_not_ours_is_refused() {
        for bad in ["x", "1", "0-00", "-", "1-zz", "99999999999999999999999-1"] {
            assert!(cut(&list(0..5), Some(bad), PAGE_ENTRIES, |(k, e)| (k, e)).is_err(), "{bad}");
        }
        // One of which nothing is left begins anew.
        assert_eq!(page(&list(0..5), Some("4000-0000000000000001")).entries.len(), 5);
    }

    #[test]
    fn t50_fuzz_cursors() {
        let all = list(0..50);
        trove_fuzz::feed("cursor", |input| {
            let text = String::from_utf8_lossy(input);
            let page = cut(&all, Some(&text), 7, |(key, entry)| (key, entry));
            page.map(|page| page.entries.len()).ok()
        });
    }
}
