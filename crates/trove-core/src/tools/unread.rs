//! Sentences on servers that were not looked through.

use super::{Call, find::some_of};
use crate::{gateway::Found, source::SourceId};

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
    let names: Vec<&str> = named.map(|(id, _)| id.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let names = some_of(&names);
    Some(format!("Not looked through, because they offer tools and no resources: {names}."))
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
