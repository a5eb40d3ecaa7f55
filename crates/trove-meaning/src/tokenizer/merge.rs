//! Joins the bytes of one word into tokens: again and again the two neighbours whose
//! merge ranks first, until no two neighbours have one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pack::{Model, short};

/// The buffers of a merge, kept from word to word.
#[derive(Default)]
pub(crate) struct Workspace {
    parts: Vec<Part>,
    /// By rank, then by place: of equal merges the leftmost goes first.
    open: BinaryHeap<Reverse<Candidate>>,
}

/// A token so far. `NOWHERE` ends the chain on either side.
#[derive(Clone, Copy)]
struct Part {
    token: u16,
    before: u16,
    after: u16,
    is_joined: bool,
}

const NOWHERE: u16 = u16::MAX;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u16,
    place: u16,
    left: u16,
    right: u16,
    result: u16,
}

/// Appends the tokens of a word, which is at most 16 KiB long.
pub(super) fn merge(model: &Model, word: &[u8], workspace: &mut Workspace, out: &mut Vec<u16>) {
    let Workspace { parts, open } = workspace;
    parts.clear();
    open.clear();
    let last = word.len().saturating_sub(1);
    parts.extend(word.iter().enumerate().map(|(place, byte)| Part {
        token: model.byte_tokens[usize::from(*byte)],
        before: if place == 0 { NOWHERE } else { place as u16 - 1 },
        after: if place == last { NOWHERE } else { place as u16 + 1 },
        is_joined: false,
    }));
    for place in 0..last {
        open.extend(candidate(model, parts, place as u16).map(Reverse));
    }
    while let Some(Reverse(next)) = open.pop() {
        if !is_current(parts, next) {
            continue;
        }
        join(parts, next);
        let before = parts[usize::from(next.place)].before;
        for place in [before, next.place] {
            open.extend(candidate(model, parts, place).map(Reverse));
        }
    }
    out.extend(parts.iter().filter(|part| !part.is_joined).map(|part| part.token));
}

/// The part that this place and the one after it would make.
fn candidate(model: &Model, parts: &[Part], place: u16) -> Option<Candidate> {
    let part = parts.get(usize::from(place))?;
    let after = parts.get(usize::from(part.after))?;
    let (rank, result) = find(model, part.token, after.token)?;
    Some(Candidate { rank, place, left: part.token, right: after.token, result })
}

/// Whether both parts are still what they were when the merge was found.
fn is_current(parts: &[Part], candidate: Candidate) -> bool {
    let part = parts[usize::from(candidate.place)];
    let after = parts.get(usize::from(part.after));
    !part.is_joined
        && part.token == candidate.left
        && after.is_some_and(|after| after.token == candidate.right)
}

fn join(parts: &mut [Part], candidate: Candidate) {
    let place = usize::from(candidate.place);
    let joined = parts[place].after;
    let after = parts[usize::from(joined)].after;
    parts[usize::from(joined)].is_joined = true;
    parts[place].token = candidate.result;
    parts[place].after = after;
    if let Some(part) = parts.get_mut(usize::from(after)) {
        part.before = candidate.place;
    }
}

/// The rank and result of a merge. The rows of one left token are sorted by the right one.
fn find(model: &Model, left: u16, right: u16) -> Option<(u16, u16)> {
    let start = |token: usize| usize::from(short(&model.merge_starts[token]));
    let rows = &model.merges[start(usize::from(left))..start(usize::from(left) + 1)];
    let found = rows.binary_search_by_key(&right, |row| u16::from_le_bytes([row[0], row[1]]));
    let [_, _, a, b, c, d] = rows[found.ok()?];
    Some((u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])))
}
