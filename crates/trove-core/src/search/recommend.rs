//! Resources that are recommended where nothing is asked for: the most used, the newest and the
//! most important, spread over their Sources, each with its reason.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::{hits::Why, record::Record, top::top_by};

/// A resource that is this old is half as new, in seconds.
const HALF_LIFE: f32 = 30.0 * 86_400.0;
/// From this newness on, which is three months, a date alone is a reason.
const NEW: f32 = 0.25;
/// The importance of a resource whose Source does not state it.
const USUAL_PRIORITY: f32 = 0.5;
/// Each resource that was taken from a Source halves what the next one of it counts, which is
/// this much on the scale of [`worth`].
const HALF: i64 = 1_000_000;
/// A smaller standing counts as this one.
const LEAST: f32 = 1e-6;

/// How useful a resource is likely to be, from 0 to 1: by the importance that its Source gives it,
/// by its date in seconds since 1970, and by how often it was read.
pub fn usefulness(priority: f32, modified: Option<i64>, uses: f32, now: i64) -> f32 {
    0.4 * priority + 0.3 * newness(modified, now) + 0.3 * (uses / (uses + 3.0))
}

fn newness(modified: Option<i64>, now: i64) -> f32 {
    let Some(at) = modified else { return 0.0 };
    let age = now.saturating_sub(at).max(0) as f32;
    HALF_LIFE / (HALF_LIFE + age)
}

/// How useful a resource is likely to be.
pub(super) fn standing(record: &Record, now: i64) -> f32 {
    usefulness(record.priority, record.modified(), record.uses, now)
}

/// Why a resource is recommended; never empty.
pub(super) fn reasons(record: &Record, now: i64) -> Vec<Why> {
    let mut reasons = Vec::new();
    if record.uses >= 1.0 {
        reasons.push(Why::Used);
    }
    if newness(record.modified(), now) >= NEW {
        reasons.push(Why::Recent);
    }
    if record.priority > USUAL_PRIORITY {
        reasons.push(Why::Important);
    }
    if reasons.is_empty() {
        reasons.push(Why::Server);
    }
    reasons
}

/// The first `reach` of these resources, and how many there are. The best of each Source come
/// early: each resource that is taken from a Source lowers the rest of it. A Source that `is_last`
/// comes after all others.
pub(super) fn spread<'a>(
    admitted: impl Iterator<Item = &'a Record>,
    reach: usize,
    now: i64,
    is_last: impl Fn(u16) -> bool,
) -> (Vec<(f32, &'a Record)>, usize) {
    let mut by_source: HashMap<u16, Vec<(f32, &Record)>> = HashMap::new();
    let mut total = 0;
    for record in admitted {
        total += 1;
        let group = by_source.entry(record.source).or_default();
        group.push((standing(record, now), record));
        if group.len() >= reach * 2 + 64 {
            *group = best(std::mem::take(group), reach);
        }
    }
    for group in by_source.values_mut() {
        *group = best(std::mem::take(group), reach);
    }
    let turn = |source: u16, taken: usize| {
        let (standing, _) = by_source.get(&source)?.get(taken)?;
        Some((Reverse(is_last(source)), worth(*standing, taken), Reverse(source), taken))
    };
    let mut turns: BinaryHeap<_> = by_source.keys().filter_map(|source| turn(*source, 0)).collect();
    let mut chosen = Vec::new();
    while chosen.len() < reach {
        let Some((_, _, Reverse(source), taken)) = turns.pop() else { break };
        chosen.push(by_source[&source][taken]);
        turns.extend(turn(source, taken + 1));
    }
    (chosen, total)
}

/// The best of a Source first; equals stand as they are listed.
fn best(group: Vec<(f32, &Record)>, reach: usize) -> Vec<(f32, &Record)> {
    let order =
        |a: &(f32, &Record), b: &(f32, &Record)| a.0.total_cmp(&b.0).then(b.1.id.cmp(&a.1.id));
    top_by(group.into_iter(), reach, order)
}

/// The worth of a resource after so many others of its Source, on a scale of logarithms.
fn worth(standing: f32, taken: usize) -> i64 {
    let alone = (standing.max(LEAST).log2() * HALF as f32) as i64;
    alone - HALF.saturating_mul(taken as i64)
}
