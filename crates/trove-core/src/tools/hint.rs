//! Names of servers that lead nowhere: said, with the nearest that exist, and no error.

use super::{Call, find::some_of};
use crate::{catalogue::Snapshot, content::escape_line, source::SourceId};

/// How many near names are told for each wrong one.
const NEAR: usize = 3;
/// How alike a name must be to be offered, from 0 to 1.
const ALIKE: f64 = 0.75;
/// How many wrong names are spoken of.
const MAX_NAMED: usize = 10;
/// How much of a wrong name is repeated.
const MAX_SHOWN: usize = 60;

/// The hint on names that no server in use has; `known` were named beside them and are.
pub(super) fn of(call: &Call<'_>, unknown: &[&str], known: &[SourceId]) -> Option<String> {
    if unknown.is_empty() {
        return None;
    }
    let instead = if known.is_empty() {
        "All servers were searched".to_owned()
    } else {
        let known: Vec<&str> = known.iter().map(SourceId::as_str).collect();
        format!("Only these were searched: {}", some_of(&known))
    };
    Some(format!("{} {}.", absent(call, unknown), instead))
}

/// That these names are those of no server in use, and what they may have meant.
pub(super) fn absent(call: &Call<'_>, unknown: &[&str]) -> String {
    let down = call.gateway.down(call.caller);
    let why_of = |name: &str| down.iter().find(|(id, _)| id.as_str() == name).map(|(_, why)| why);
    let mut said = Vec::new();
    let mut wrong = Vec::new();
    for name in unknown.iter().take(MAX_NAMED) {
        match why_of(name) {
            Some(why) => {
                said.push(format!("The server `{name}` is not in use yet: {}.", escape_line(why)));
            }
            None => wrong.push(*name),
        }
    }
    if !wrong.is_empty() {
        let shown: Vec<String> = wrong.iter().map(|name| shown(name)).collect();
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let snapshot = call.gateway.current();
        let near = near(&snapshot, &wrong);
        let there_is = if near.is_empty() {
            let all = snapshot.members().iter().map(|member| member.source.id().as_str());
            format!("there are {}", some_of(&all.collect::<Vec<_>>()))
        } else {
            format!("near: {}", some_of(&near.iter().map(String::as_str).collect::<Vec<_>>()))
        };
        said.push(format!("There is no server {}; {there_is}.", some_of(&shown)));
    }
    said.join(" ")
}

/// The servers whose names are nearest to any of these, the nearest first.
fn near(snapshot: &Snapshot, unknown: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in unknown {
        let name = head(name).to_lowercase();
        let members = snapshot.members().iter().map(|member| member.source.id().as_str());
        let mut alike: Vec<(f64, &str)> =
            members.map(|id| (strsim::jaro_winkler(&name, id), id)).collect();
        alike.retain(|(likeness, id)| *likeness >= ALIKE || id.contains(&name));
        alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        for (_, id) in alike.into_iter().take(NEAR) {
            if !all.iter().any(|known| known == id) {
                all.push(id.to_owned());
            }
        }
    }
    all
}

fn head(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_SHOWN)]
}

fn shown(name: &str) -> String {
    escape_line(head(name)).into_owned()
}
