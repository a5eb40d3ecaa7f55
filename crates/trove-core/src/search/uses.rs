//! Remembers across restarts how often resources were read.
//!
//! A small file beside the index, written whole when the writer rests: a kill loses only the order
//! of equals.

use std::{fmt::Write as _, io};

use super::{
    roster::Roster,
    store::{Place, Store},
    top::top_by,
};
use crate::{
    source_id::SourceId,
    state_file::{Damaged, Form, StateFile},
};

/// How many of the most used resources are remembered.
const MAX_KEPT: usize = 10_000;
/// The largest file that is read back.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
const FILE: &str = "uses";
static FORM: Form = Form { max_bytes: MAX_FILE_BYTES, version: 1, damaged: Damaged::MovedAside };

/// Gives resources back how often they were used.
pub(super) fn restore(store: &Store, roster: &mut Roster) {
    let Some(file) = file(store) else { return };
    let decode = |bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned());
    let Ok(Some(text)) = file.read(decode) else { return };
    for line in text.lines().take(MAX_KEPT) {
        let mut parts = line.splitn(3, '\t');
        let (Some(uses), Some(source), Some(local)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (Ok(uses), Some(source)) = (uses.parse::<f32>(), SourceId::of_anyone(source)) else {
            continue;
        };
        let id = roster.find(&source, local).map(|record| record.id);
        if let Some(record) = id.and_then(|id| roster.get_mut(id)) {
            record.uses = if uses.is_finite() { uses.clamp(0.0, super::MAX_USES) } else { 0.0 };
        }
    }
}

/// Writes down how often resources were used.
pub(super) fn keep(store: &Store, roster: &Roster) -> io::Result<()> {
    let Some(file) = file(store) else { return Ok(()) };
    let used = roster.iter().filter(|record| record.uses > 0.0);
    let used = used.filter(|record| !record.local.contains(['\n', '\r']));
    let most = top_by(used, MAX_KEPT, |a, b| a.uses.total_cmp(&b.uses));
    let mut text = String::new();
    for record in most {
        let source = roster.source_of(record);
        // Writing to a text cannot go wrong.
        let _ = writeln!(text, "{}\t{source}\t{}", record.uses, record.local);
    }
    file.write(text.as_bytes())?;
    Ok(())
}

fn file(store: &Store) -> Option<StateFile> {
    match &store.place {
        Place::Disk(place) => Some(StateFile::new(place.join(FILE), &FORM)),
        Place::Memory => None,
    }
}
