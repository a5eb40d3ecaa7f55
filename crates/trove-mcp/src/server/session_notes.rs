//! Changes of legacy sessions that came after their ids were given out.
//!
//! A session id tells who the client is and what was agreed at the start; clients never take a
//! second one. So the end of a session, its log level and the resources it watches are noted here
//! and kept in `sessions.json`, for as long as the id is taken. Most sessions need no note.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;
use trove_core::{
    files::Home,
    state_file::{Damaged, Form, StateError, StateFile},
};

use crate::seal::{Ticket, milliseconds};

static FORM: Form = Form { max_bytes: 32 << 20, version: 1, damaged: Damaged::MovedAside };

/// The most that all notes together weigh. Past it those go whose sessions end first.
pub const MAX_NOTED_BYTES: usize = 4 << 20;
/// The weight of a note, without the names of watched resources.
const NOTE_BYTES: usize = 100;

/// How long a request waits for its note to be on disk.
const PATIENCE: Duration = Duration::from_secs(2);

/// The note of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Note {
    /// Until when the id of the session is taken, in milliseconds of Unix time.
    until: u64,
    /// The client ended it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_ended: bool,
    /// The name of the least grave log message that the client wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) level: Option<String>,
    /// The resources that the client watches, under the names it used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) watched: Vec<String>,
}

impl Note {
    pub(super) fn watch(&mut self, uri: &str) {
        if !self.watched.iter().any(|known| known == uri) {
            self.watched.push(uri.to_owned());
        }
    }

    pub(super) fn unwatch(&mut self, uri: &str) {
        self.watched.retain(|known| known != uri);
    }

    /// The rest is of no use any more.
    pub(super) fn end(&mut self) {
        *self = Note { is_ended: true, ..Note::default() };
    }

    fn says_something(&self) -> bool {
        self.is_ended || self.level.is_some() || !self.watched.is_empty()
    }

    fn weight(&self) -> usize {
        self.watched.iter().map(|uri| uri.len()).sum::<usize>() + NOTE_BYTES
    }
}

/// Notes by the ids of the sessions' tickets.
type Notes = BTreeMap<String, Note>;

/// The file, with a version by which a later Trove can tell it.
#[derive(Default, Serialize, Deserialize)]
struct Contents {
    version: u32,
    sessions: Notes,
}

/// The notes of all sessions.
#[derive(Default)]
pub struct SessionNotes {
    file: Option<StateFile>,
    known: Mutex<Known>,
    /// Held by the one that writes, with the revision that was written.
    written: tokio::sync::Mutex<u64>,
}

#[derive(Default)]
struct Known {
    notes: Notes,
    /// The sessions whose notes are not on disk as they are here.
    unwritten: BTreeSet<String>,
    /// Counts the changes.
    revision: u64,
}

impl SessionNotes {
    /// The notes that `sessions.json` in the state folder holds.
    pub fn in_home(home: &Home) -> SessionNotes {
        let file = StateFile::inside(home, home.path().join("sessions.json"), &FORM);
        let mut known = Known::default();
        match file.read_json::<Contents>() {
            Ok(contents) => known.notes = contents.unwrap_or_default().sessions,
            Err(error) => warn!(%error, "what legacy sessions watched before is not known"),
        }
        SessionNotes { file: Some(file), known: Mutex::new(known), ..SessionNotes::default() }
    }

    /// The note of a session; an empty one if there is none.
    pub(super) fn of(&self, ticket: &Ticket) -> Note {
        self.known.lock().notes.get(&ticket.id).cloned().unwrap_or_default()
    }

    /// Whether the client ended the session.
    pub(super) fn is_ended(&self, ticket: &Ticket) -> bool {
        self.known.lock().notes.get(&ticket.id).is_some_and(|note| note.is_ended)
    }

    /// Changes the note of a session, and waits until that would survive the process.
    pub(super) async fn change(&self, ticket: &Ticket, change: impl FnOnce(&mut Note)) {
        let revision = self.known.lock().change(ticket, change);
        let Some(revision) = revision else { return };
        if tokio::time::timeout(PATIENCE, self.keep(revision)).await.is_err() {
            warn!("the disk is slow; a change of a session may not outlive this run");
        }
    }

    /// Writes what is not written yet, unless another writer took this change along.
    async fn keep(&self, revision: u64) {
        let Some(file) = self.file.clone() else { return };
        let mut written = self.written.lock().await;
        if *written >= revision {
            return;
        }
        let (now, changed) = self.known.lock().take_unwritten();
        let ids: Vec<String> = changed.keys().cloned().collect();
        match tokio::task::spawn_blocking(move || merge(&file, changed)).await {
            Ok(Ok(notes)) => self.known.lock().adopt(notes),
            Ok(Err(error)) => {
                warn!(%error, "a change of a session will not outlive this run");
                // The next change tries again.
                self.known.lock().unwritten.extend(ids);
            }
            // The program stops.
            Err(_) => return,
        }
        *written = now;
    }
}

/// Puts changes into the file, and gives all that it holds then. Another Trove may have the same
/// state folder and write there too.
fn merge(file: &StateFile, changed: BTreeMap<String, Option<Note>>) -> Result<Notes, StateError> {
    let _lock = file.lock(PATIENCE)?;
    let mut notes = file.read_json::<Contents>()?.unwrap_or_default().sessions;
    for (id, note) in changed {
        put(&mut notes, id, note);
    }
    trim(&mut notes, milliseconds(SystemTime::now()));
    let contents = Contents { version: FORM.version, sessions: notes };
    file.write_json(&contents)?;
    Ok(contents.sessions)
}

fn put(notes: &mut Notes, id: String, note: Option<Note>) {
    match note {
        Some(note) => notes.insert(id, note),
        None => notes.remove(&id),
    };
}

/// Forgets the sessions that are over by themselves. If the rest weighs too much, those go that
/// end first.
fn trim(notes: &mut Notes, now: u64) {
    notes.retain(|_, note| note.until >= now);
    let mut bytes: usize = notes.values().map(Note::weight).sum();
    while bytes > MAX_NOTED_BYTES {
        let first = notes.iter().min_by_key(|(_, note)| note.until);
        let Some(id) = first.map(|(id, _)| id.clone()) else { return };
        if let Some(gone) = notes.remove(&id) {
            bytes -= gone.weight();
        }
    }
}

impl Known {
    /// Gives the number of the change; `None` if nothing is another.
    fn change(&mut self, ticket: &Ticket, change: impl FnOnce(&mut Note)) -> Option<u64> {
        let before = self.notes.get(&ticket.id);
        let mut note = before.cloned().unwrap_or_default();
        change(&mut note);
        let is_same = before.map_or(!note.says_something(), |before| *before == note);
        if is_same {
            return None;
        }
        note.until = ticket.expires;
        let note = note.says_something().then_some(note);
        put(&mut self.notes, ticket.id.clone(), note);
        trim(&mut self.notes, milliseconds(SystemTime::now()));
        self.unwritten.insert(ticket.id.clone());
        self.revision += 1;
        Some(self.revision)
    }

    fn take_unwritten(&mut self) -> (u64, BTreeMap<String, Option<Note>>) {
        let ids = std::mem::take(&mut self.unwritten);
        let changed = ids.into_iter().map(|id| {
            let note = self.notes.get(&id).cloned();
            (id, note)
        });
        (self.revision, changed.collect())
    }

    /// Takes over what the file holds, but for what has changed here meanwhile.
    fn adopt(&mut self, mut notes: Notes) {
        for id in &self.unwritten {
            put(&mut notes, id.clone(), self.notes.get(id).cloned());
        }
        self.notes = notes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: u64 = u64::MAX;

    fn ticket(id: usize, expires: u64) -> Ticket {
        Ticket { id: format!("{id:032x}"), expires }
    }

    fn watches(uri: &str) -> impl FnOnce(&mut Note) {
        let uri = uri.to_owned();
        move |note| note.watch(&uri)
    }

    #[tokio::test]
    async fn notes_are_there_for_the_next_process() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let notes = SessionNotes::in_home(&home);
        notes.change(&ticket(1, FAR), Note::end).await;
        notes.change(&ticket(2, FAR), watches("a:1")).await;
        notes.change(&ticket(2, FAR), |note| note.level = Some("info".into())).await;
        let next = SessionNotes::in_home(&home);
        assert!(next.is_ended(&ticket(1, FAR)) && !next.is_ended(&ticket(2, FAR)));
        let note = next.of(&ticket(2, FAR));
        assert_eq!((note.watched, note.level.as_deref()), (vec!["a:1".to_owned()], Some("info")));
        assert_eq!(next.of(&ticket(3, FAR)), Note::default());
    }

    #[tokio::test]
    async fn many_changes_at_once_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let notes = SessionNotes::in_home(&home);
        let one = ticket(1, FAR);
        let uris: Vec<String> = (0..50).map(|n| format!("a:{n}")).collect();
        let changes = uris.iter().map(|uri| notes.change(&one, watches(uri)));
        futures_util::future::join_all(changes).await;
        assert_eq!(SessionNotes::in_home(&home).of(&one).watched.len(), 50);
    }

    #[tokio::test]
    async fn a_note_goes_with_its_session_and_when_it_says_nothing() {
        let notes = SessionNotes::default();
        notes.change(&ticket(1, 5), Note::end).await;
        notes.change(&ticket(2, FAR), watches("a:1")).await;
        assert!(!notes.is_ended(&ticket(1, 5)), "it has expired");
        notes.change(&ticket(2, FAR), |note| note.watched.clear()).await;
        assert!(notes.known.lock().notes.is_empty());
    }

    #[tokio::test]
    async fn notes_stay_within_their_bytes() {
        let notes = SessionNotes::default();
        let long = "x".repeat(MAX_NOTED_BYTES / 4);
        for id in 0..10 {
            notes.change(&ticket(id, FAR - 100 + id as u64), watches(&long)).await;
            let bytes: usize = notes.known.lock().notes.values().map(Note::weight).sum();
            assert!(bytes <= MAX_NOTED_BYTES, "{bytes}");
        }
        let is_noted = |id| notes.known.lock().notes.contains_key(&ticket(id, FAR).id);
        assert!(is_noted(9) && !is_noted(0), "those that end first make room");
    }

    #[tokio::test]
    async fn two_that_share_a_folder_lose_nothing_of_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let (one, two) = (SessionNotes::in_home(&home), SessionNotes::in_home(&home));
        one.change(&ticket(1, FAR), watches("a:1")).await;
        two.change(&ticket(2, FAR), Note::end).await;
        one.change(&ticket(3, FAR), watches("a:3")).await;
        assert!(one.is_ended(&ticket(2, FAR)), "what another ended is known by the next write");
        let next = SessionNotes::in_home(&home);
        assert_eq!(next.known.lock().notes.len(), 3);
        two.change(&ticket(1, FAR), |note| note.unwatch("a:1")).await;
        assert_eq!(SessionNotes::in_home(&home).known.lock().notes.len(), 2);
    }

    #[tokio::test]
    async fn a_disk_that_takes_nothing_loses_nothing_of_this_run() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let notes = SessionNotes::in_home(&home);
        std::fs::write(home.path(), "no folder").unwrap();
        notes.change(&ticket(1, FAR), watches("a:1")).await;
        assert_eq!(notes.of(&ticket(1, FAR)).watched, ["a:1"]);
        std::fs::remove_file(home.path()).unwrap();
        notes.change(&ticket(2, FAR), watches("a:2")).await;
        assert_eq!(SessionNotes::in_home(&home).known.lock().notes.len(), 2, "both are kept now");
    }
}
