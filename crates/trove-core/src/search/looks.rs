//! Remembers across restarts when texts were last looked at, and how long they are believed.
//!
//! A small file beside the index, written whole when the writer rests. The index itself knows when
//! a text was last written; that much survives a kill.

use std::{hash::Hasher as _, io};

use super::{
    record::{Record, urgency},
    roster::Roster,
    store::{Place, Store},
    top::top_by,
};
use crate::state_file::{Damaged, Form, StateFile};

/// How many looks are remembered, the most wanted texts first.
const MAX_KEPT: usize = 200_000;
const FILE: &str = "looks";
/// An id, the hash of its text, a moment and an interval.
const ENTRY_BYTES: usize = 8 + 8 + 8 + 4;
const CHECK_BYTES: usize = 8;

static FORM: Form = Form {
    max_bytes: (MAX_KEPT * ENTRY_BYTES + CHECK_BYTES) as u64,
    version: 1,
    damaged: Damaged::MovedAside,
};

/// Gives texts back when they were looked at.
pub(super) fn restore(store: &Store, roster: &mut Roster, now: i64) {
    let Some(file) = file(store) else { return };
    let Ok(Some(looks)) = file.read(decode) else { return };
    for look in looks {
        // Ids begin anew with a new index; the text tells that this is the same resource.
        let known = roster.get_mut(look.id).filter(|record| text_of(record) == look.text);
        let Some(record) = known else { continue };
        if record.looked_at <= look.at && look.at <= now {
            record.looked_at = look.at;
            record.interval_ms = look.interval_ms;
        }
    }
}

/// Writes down when texts were looked at.
pub(super) fn keep(store: &Store, roster: &Roster) -> io::Result<()> {
    let Some(file) = file(store) else { return Ok(()) };
    let looked = roster.iter().filter(|record| record.looked_at > 0);
    let kept = top_by(looked, MAX_KEPT, |a, b| urgency(a).total_cmp(&urgency(b)));
    let mut bytes = Vec::with_capacity(kept.len() * ENTRY_BYTES + CHECK_BYTES);
    for record in kept {
        write(record, &mut bytes);
    }
    bytes.extend(check(&bytes).to_le_bytes());
    file.write(&bytes)?;
    Ok(())
}

fn decode(bytes: Vec<u8>) -> Result<Vec<Look>, String> {
    let Some((entries, sum)) = bytes.split_last_chunk::<CHECK_BYTES>() else {
        return Err("it is cut off".to_owned());
    };
    if check(entries) != u64::from_le_bytes(*sum) {
        return Err("its checksum is wrong".to_owned());
    }
    Ok(entries.chunks_exact(ENTRY_BYTES).filter_map(Look::read).collect())
}

/// One look as the file has it.
struct Look {
    id: u64,
    text: u64,
    at: i64,
    interval_ms: u32,
}

impl Look {
    fn read(entry: &[u8]) -> Option<Look> {
        let (id, rest) = entry.split_first_chunk()?;
        let (text, rest) = rest.split_first_chunk()?;
        let (at, rest) = rest.split_first_chunk()?;
        let (interval_ms, _) = rest.split_first_chunk()?;
        Some(Look {
            id: u64::from_le_bytes(*id),
            text: u64::from_le_bytes(*text),
            at: i64::from_le_bytes(*at),
            interval_ms: u32::from_le_bytes(*interval_ms),
        })
    }
}

fn write(record: &Record, bytes: &mut Vec<u8>) {
    bytes.extend(record.id.to_le_bytes());
    bytes.extend(text_of(record).to_le_bytes());
    bytes.extend(record.looked_at.to_le_bytes());
    bytes.extend(record.interval_ms.to_le_bytes());
}

/// Tells one text of a resource from another.
fn text_of(record: &Record) -> u64 {
    record.content_hash ^ record.private_hash
}

fn check(bytes: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

fn file(store: &Store) -> Option<StateFile> {
    match &store.place {
        Place::Disk(place) => Some(StateFile::new(place.join(FILE), &FORM)),
        Place::Memory => None,
    }
}
