//! Sentences on servers that were not looked through.

use super::{Call, find::some_of};
use crate::{gateway::Found, source::SourceId};

/// The most servers of which it is told how many tools they have.
const MAX_TOLD: usize = 5;

/// The servers with tools and no resources, where nothing relevant was found.
pub(super) fn without_resources(call: &Call<'_>, found: &Found) -> Option<String> {
    if found.hits.hits.iter().any(|hit| !hit.is_near_miss) {
        return None;
    }
    let all = call.gateway.board().all();
    let named = all.iter().filter(|(_, status)| {
        let is_empty = status.counts.resources == 0 && status.counts.templates == 0;
        is_empty && status.tools.is_some_and(|count| count > 0)
    });
    let mut told = Vec::new();
    let mut others = Vec::new();
    for (id, status) in named {
        match status.from_tools() {
            Some(said) if told.len() < MAX_TOLD => told.push(format!("`{id}` has {said}")),
            _ => others.push(id.as_str()),
        }
    }
    if !others.is_empty() {
        told.push(format!("nor have {}", some_of(&others)));
    }
    let told = told.join("; ");
    (!told.is_empty()).then(|| format!("Not looked through: {told}."))
}

/// That servers are still being started or listed, and when to ask again.
pub(super) fn still_starting(starting: &[SourceId]) -> Option<String> {
    let names: Vec<&str> = starting.iter().map(SourceId::as_str).collect();
    if names.is_empty() {
        return None;
    }
    let names = some_of(&names);
    Some(format!(
        "Not looked through yet, because still starting: {names}. Ask again in a few seconds."
    ))
}
