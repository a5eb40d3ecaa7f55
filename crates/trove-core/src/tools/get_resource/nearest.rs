//! The names nearest to one that leads nowhere.
//!
//! Two passes, so that a large catalogue costs time linear in its size: the pairs of
//! letters two names share first, then their spelling, for the best of those only.

use std::cmp::Reverse;

use crate::{gateway::View, uri::PublicUri};

/// How many names are given.
pub(super) const SHOWN: usize = 10;
/// The most names that are looked at.
const MAX_LOOKED_AT: usize = 200_000;
/// How many go into the second pass.
const MAX_COMPARED: usize = 100;
/// How much of a name is looked at.
const MAX_BYTES: usize = 256;
/// How many letters may be wrong in a name that is almost right: one in so many of what stands
/// behind the scheme, and no more than this.
const LETTERS_PER_SLIP: usize = 3;
const MAX_SLIPS: usize = 3;
/// The table of letter pairs, in bits.
const PAIRS: usize = 1 << 12;

/// The public names nearest to `asked` of those the caller may read, the nearest first.
pub(super) fn nearest(view: &View, asked: &str) -> Vec<String> {
    compared(view, asked).into_iter().map(|(_, name)| name.public.to_owned()).collect()
}

/// The nearest names, and how many letters are wrong in each.
fn compared<'a>(view: &'a View, asked: &str) -> Vec<(usize, Name<'a>)> {
    let (server, asked) = view.split(asked);
    let asked = spelt(asked);
    let pairs = Pairs::of(asked.as_bytes());
    let is_other =
        |member| server.as_ref().is_some_and(|id| view.snapshot().owner(member).id() != id);
    let resources = view.resources().filter(|(_, is_closed)| !is_closed);
    let templates = view.templates().filter(|(_, is_closed)| !is_closed);
    let resources = resources.map(|(entry, _)| Name {
        is_other: is_other(entry.member),
        public: entry.public.as_str(),
        spelt: entry.local.as_str(),
    });
    let templates = templates.map(|(entry, _)| Name {
        is_other: is_other(entry.member),
        public: entry.public.as_str(),
        spelt: entry.template.text.as_str(),
    });
    let mut scored: Vec<(Reverse<u32>, Name<'_>)> = resources
        .chain(templates)
        .take(MAX_LOOKED_AT)
        .map(|name| (Reverse(pairs.likeness(head(name.spelt).as_bytes())), name))
        .collect();
    if scored.len() > MAX_COMPARED {
        scored.select_nth_unstable(MAX_COMPARED);
        scored.truncate(MAX_COMPARED);
    }
    let mut compared: Vec<(usize, Name<'_>)> = scored
        .into_iter()
        .map(|(_, name)| (strsim::osa_distance(&asked, &head(name.spelt).to_lowercase()), name))
        .collect();
    compared.sort_unstable();
    compared.truncate(SHOWN);
    compared
}

/// A name that might have been meant: of equals first that of the server that was named.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a> {
    is_other: bool,
    public: &'a str,
    /// The name to compare: that of its server stands only before a name that several have.
    spelt: &'a str,
}

/// The nearest by spelling, and those that mean the same: one in turn of each, the nearest by
/// spelling first.
pub(super) fn joined(spelt: Vec<String>, alike: &[PublicUri]) -> Vec<String> {
    let (mut all, mut meant) = (Vec::with_capacity(SHOWN), alike.iter().map(PublicUri::as_str));
    for near in spelt {
        for name in [Some(near.as_str()), meant.next()].into_iter().flatten() {
            if all.len() < SHOWN && !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
    }
    all
}

/// The listed resource that is spelt almost so, and that the caller may read.
pub(super) fn meant(view: &View, asked: &str) -> Option<String> {
    let spelt = spelt(view.split(asked).1);
    for (slips, near) in compared(view, asked) {
        let is_almost_right = slips <= allowed(&spelt).max(allowed(near.spelt));
        if is_almost_right && view.resource(near.public).is_some() {
            return Some(near.public.to_owned());
        }
    }
    None
}

/// How many letters of a URI may be wrong.
fn allowed(uri: &str) -> usize {
    let rest = uri.split_once(':').map_or(uri, |(_, rest)| rest.trim_start_matches('/'));
    (head(rest).chars().count() / LETTERS_PER_SLIP).clamp(1, MAX_SLIPS)
}

/// A name as it is compared, e.g. `docs://intro` for `docs/intro`, as some models write it.
fn spelt(asked: &str) -> String {
    let asked = head(asked).to_lowercase();
    if asked.contains(':') { asked } else { asked.replacen('/', "://", 1) }
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

/// Which pairs of letters a name has.
struct Pairs {
    bits: Vec<bool>,
    count: u32,
}

impl Pairs {
    fn of(text: &[u8]) -> Pairs {
        let mut bits = vec![false; PAIRS];
        for pair in text.windows(2) {
            bits[slot(pair)] = true;
        }
        let count = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Pairs { bits, count }
    }

    /// How alike another name is, from 0 to 1000.
    fn likeness(&self, other: &[u8]) -> u32 {
        let shared = other.windows(2).filter(|pair| self.bits[slot(pair)]).count();
        let shared = u32::try_from(shared).unwrap_or(u32::MAX);
        let length = u32::try_from(other.len()).unwrap_or(u32::MAX);
        shared.saturating_mul(2000) / (self.count.saturating_add(length)).max(1)
    }
}

fn slot(pair: &[u8]) -> usize {
    let [a, b] = [0, 1].map(|n| usize::from(pair[n].to_ascii_lowercase()));
    (a * 31 + b) % PAIRS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_and_meaning_take_turns_and_nothing_is_told_twice() {
        let spelt = (0..10).map(|n| format!("a://{n}")).collect();
        let alike = ["m://x", "a://1", "m://y"].map(PublicUri::from);
        let joined = joined(spelt, &alike);
        assert_eq!(joined[..5], ["a://0", "m://x", "a://1", "a://2", "m://y"]);
        assert_eq!(joined.len(), SHOWN);
    }
}
