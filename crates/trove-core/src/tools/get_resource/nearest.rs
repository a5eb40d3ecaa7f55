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
/// How many letters may be wrong in a name that is almost right.
const MAX_SLIPS: usize = 3;
/// The table of letter pairs, in bits.
const PAIRS: usize = 1 << 12;

/// The public names nearest to `asked`, the nearest first.
pub(super) fn nearest(view: &View, asked: &str) -> Vec<String> {
    let asked = head(asked).to_lowercase();
    let pairs = Pairs::of(asked.as_bytes());
    let resources = view.resources().map(|(entry, _)| entry.public.as_str());
    let templates = view.templates().map(|(entry, _)| entry.public.as_str());
    let mut scored: Vec<(Reverse<u32>, &str)> = resources
        .chain(templates)
        .take(MAX_LOOKED_AT)
        .map(|uri| (Reverse(pairs.likeness(head(uri).as_bytes())), uri))
        .collect();
    if scored.len() > MAX_COMPARED {
        scored.select_nth_unstable(MAX_COMPARED);
        scored.truncate(MAX_COMPARED);
    }
    let mut compared: Vec<(usize, &str)> = scored
        .into_iter()
        .map(|(_, uri)| (strsim::osa_distance(&asked, &head(uri).to_lowercase()), uri))
        .collect();
    compared.sort_unstable();
    compared.into_iter().take(SHOWN).map(|(_, uri)| uri.to_owned()).collect()
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

/// A listed resource that is spelt almost so.
pub(super) fn very_near(view: &View, asked: &str) -> Option<String> {
    let near = nearest(view, asked).into_iter().next()?;
    let distance = strsim::osa_distance(&head(asked).to_lowercase(), &head(&near).to_lowercase());
    let is_resource = view.resource(&near).is_some();
    (is_resource && distance <= MAX_SLIPS).then_some(near)
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
