//! The descriptions of servers at the time of their approval, to tell when they have changed.
//!
//! A server that was harmless when approved may describe its tools otherwise later, and models act
//! on that. The first listing of a server is kept. A description that changes later is flagged and
//! shown with the difference until it is accepted. Nothing is held back: contents and lists change
//! for good reasons, too.
//!
//! Files are replaced whole, under the lock of the approvals, and read anew each time. So the
//! command line and a Trove that runs do not undo each other.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use trove_core::{
    Gateway, Json, SourceId,
    catalogue::Snapshot,
    files::Home,
    hex,
    resource::{Details, Listing},
    state_file::{Damaged, Form, StateError, StateFile},
    status::StatusBoard,
};
use trove_mcp::upstream::{Reach, Text, UpstreamConfig};

use super::store::lock;

/// The most descriptions of one server that are kept; tools come first.
const MAX_WORDS: usize = 1000;
/// How many resources of a list are looked at for descriptions.
const MAX_LOOKED: usize = 10_000;
/// The longest description that is kept whole; of a longer one, its beginning and a digest.
const MAX_TEXT_BYTES: usize = 4096;
static FORM: Form = Form { max_bytes: 16 << 20, version: 1, damaged: Damaged::MovedAside };
/// Listings that come together are looked at together.
const GATHERING: Duration = Duration::from_millis(200);

/// One server's descriptions by their subject (`tool NAME`, `resource URI`, ...).
type Said = BTreeMap<String, String>;

/// The record of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Server {
    /// A digest of how it is reached: another command or address is another server.
    reached: String,
    /// The descriptions first given, or accepted.
    accepted: Said,
    /// The descriptions that differ now.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    changed: Said,
}

/// One description that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    pub(crate) about: String,
    pub(crate) was: String,
    pub(crate) is: String,
}

/// The descriptions of servers of one configuration, in the state folder: a file for each.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    home: Home,
    folder: PathBuf,
}

impl Words {
    /// Of the configuration with this name.
    pub(crate) fn of(state: &Path, configuration: &str) -> Words {
        let folder = state.join("words").join(configuration);
        Words { home: Home::at(state), folder }
    }

    pub(super) fn state(&self) -> &Path {
        self.home.path()
    }

    fn file(&self, id: &str) -> StateFile {
        StateFile::inside(&self.home, self.folder.join(format!("{id}.json")), &FORM)
    }

    fn load(&self, id: &str) -> Server {
        match self.file(id).read_json() {
            Ok(server) => server.unwrap_or_default(),
            Err(error) => {
                warn!(source = id, %error, "earlier words of the server are not read");
                Server::default()
            }
        }
    }

    /// Descriptions that differ from those accepted, by server.
    pub(crate) fn differences<'a>(
        &self,
        ids: impl Iterator<Item = &'a str>,
    ) -> BTreeMap<String, Vec<Difference>> {
        let all = ids.map(|id| (id.to_owned(), self.load(id).differences()));
        all.filter(|(_, differences)| !differences.is_empty()).collect()
    }

    /// Takes what these servers say now as accepted.
    pub(crate) fn accept<'a>(
        &self,
        ids: impl Iterator<Item = &'a String>,
    ) -> Result<(), StateError> {
        let _lock = lock(&self.home)?;
        for id in ids {
            let mut server = self.load(id);
            server.accepted.append(&mut server.changed);
            self.file(id).write_json(&server)?;
        }
        Ok(())
    }

    /// Compares what a server says now with what was accepted; gives how much differs.
    fn compare(&self, id: &str, now: &Server) -> usize {
        let locked = lock(&self.home);
        let before = self.load(id);
        let mut server = before.clone();
        server.hear(now);
        let kept = match locked {
            Ok(_lock) if server != before => self.file(id).write_json(&server),
            Ok(_lock) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            warn!(source = id, %error, "what the server says of itself is not kept");
        }
        server.changed.len()
    }
}

impl Server {
    /// Takes in what the server says now.
    fn hear(&mut self, now: &Server) {
        if self.reached != now.reached {
            *self = now.clone();
            return;
        }
        self.changed.clear();
        for (about, text) in &now.accepted {
            match self.accepted.get(about) {
                Some(accepted) if accepted == text => {}
                Some(_) => {
                    self.changed.insert(about.clone(), text.clone());
                }
                // A new description replaces no accepted one.
                None if self.accepted.len() < MAX_WORDS => {
                    self.accepted.insert(about.clone(), text.clone());
                }
                None => {}
            }
        }
    }

    fn differences(&self) -> Vec<Difference> {
        let one = |(about, is): (&String, &String)| Difference {
            about: about.clone(),
            was: self.accepted.get(about).cloned().unwrap_or_default(),
            is: is.clone(),
        };
        self.changed.iter().map(one).collect()
    }
}

/// Everything a listing describes, by what it is about.
fn said(listing: &Listing) -> Said {
    let tools = listing.tools.iter().map(|tool| {
        let schema = tool.entry.get("inputSchema");
        let schema = schema.as_ref().map_or("", Json::as_str);
        let description = tool.entry.get_str("description").unwrap_or_default();
        (format!("tool {}", tool.name), format!("{description}\n{schema}"))
    });
    let prompts = listing.prompts.iter().map(|one| {
        (format!("prompt {}", one.name), one.entry.get_str("description").unwrap_or_default())
    });
    let templates = listing
        .templates
        .iter()
        .map(|one| (format!("template {}", one.text.as_str()), described(one.details())));
    // The descriptions that a recipe makes are data, and change as data does.
    let own = listing.resources.len().saturating_sub(listing.made);
    let resources = listing.resources[..own]
        .iter()
        .take(MAX_LOOKED)
        .map(|one| (format!("resource {}", one.uri.as_str()), described(one.details())));
    // Most resources are described by their names alone.
    let resources = resources.filter(|(_, text)| !text.is_empty());
    let all = tools.chain(prompts).chain(templates).chain(resources).take(MAX_WORDS);
    all.map(|(about, text)| (about, shortened(text))).collect()
}

fn described(details: Details<'_>) -> String {
    details.description().unwrap_or_default().into_owned()
}

fn shortened(text: String) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text;
    }
    let start = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    format!("{start}… (sha256 {})", hex(digest(&SHA256, text.as_bytes()).as_ref()))
}

/// A digest of how a server is reached, as written.
fn reached(upstream: &UpstreamConfig) -> String {
    let parts: Vec<&str> = match &upstream.reach {
        Reach::Stdio { command, args, .. } => {
            std::iter::once(command).chain(args).map(Text::written).collect()
        }
        Reach::Http(remote) | Reach::Sse(remote) => vec![remote.url.written()],
    };
    hex(digest(&SHA256, parts.join("\0").as_bytes()).as_ref())
}

/// Hears what the running servers say.
pub(crate) struct Listener {
    words: Words,
    board: Arc<StatusBoard>,
    /// How each server that runs is reached.
    running: Mutex<BTreeMap<SourceId, String>>,
    /// The listing of each server that was compared last.
    compared: Mutex<HashMap<SourceId, Arc<Listing>>>,
    /// Said when all are to be compared again.
    again: Notify,
}

impl Listener {
    pub(crate) fn new(words: Words, board: Arc<StatusBoard>) -> Listener {
        let (running, compared) = (Mutex::default(), Mutex::default());
        Listener { words, board, running, compared, again: Notify::new() }
    }

    /// Says which servers run. The accepted ones may have changed with it, so all are compared
    /// again.
    pub(crate) fn set_running(&self, run: &[UpstreamConfig]) {
        let running = run.iter().map(|one| (one.id.clone(), reached(one))).collect();
        *self.running.lock() = running;
        self.compared.lock().clear();
        self.again.notify_one();
    }

    /// Compares each listing as it comes, until told to stop.
    pub(crate) async fn follow(self: Arc<Self>, gateway: Arc<Gateway>, stop: CancellationToken) {
        let mut changes = gateway.changes();
        loop {
            let (listener, snapshot) = (self.clone(), gateway.current());
            // It reads and writes files, and may have much to compare.
            let _ = tokio::task::spawn_blocking(move || listener.hear(&snapshot)).await;
            let more = async {
                let change = changes.recv().await;
                tokio::time::sleep(GATHERING).await;
                change
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.again.notified() => {}
                change = more => {
                    if change.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Compares those listings that are new.
    pub(crate) fn hear(&self, snapshot: &Snapshot) {
        let running = self.running.lock().clone();
        let mut compared = self.compared.lock();
        for member in snapshot.members().iter().filter(|member| !member.is_stale) {
            let id = member.source.id();
            let Some(reached) = running.get(id) else { continue };
            let is_known = compared.get(id).is_some_and(|last| Arc::ptr_eq(last, &member.listing));
            if is_known || is_empty(&member.listing) {
                continue;
            }
            compared.insert(id.clone(), member.listing.clone());
            let (reached, accepted) = (reached.clone(), said(&member.listing));
            let now = Server { reached, accepted, changed: Said::new() };
            let count = self.words.compare(id.as_str(), &now);
            self.board.update(id, |status| status.changed = count);
        }
    }
}

fn is_empty(listing: &Listing) -> bool {
    listing.resources.is_empty()
        && listing.templates.is_empty()
        && listing.tools.is_empty()
        && listing.prompts.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(words: &Words, reached: &str, said: &[(&str, &str)]) -> usize {
        let accepted = said.iter().map(|(about, text)| ((*about).into(), (*text).into())).collect();
        let now = Server { reached: reached.into(), accepted, changed: Said::new() };
        words.compare("one", &now)
    }

    fn differences(words: &Words) -> BTreeMap<String, Vec<Difference>> {
        words.differences(["one", "two"].into_iter())
    }

    #[test]
    fn t17_what_is_described_otherwise_is_flagged_until_it_is_accepted_or_taken_back() {
        let dir = tempfile::TempDir::new().unwrap();
        let words = Words::of(dir.path(), "x");
        assert_eq!(count(&words, "a", &[("tool t", "adds"), ("resource r", "a log")]), 0);
        assert_eq!(count(&words, "a", &[("tool t", "adds"), ("tool new", "sends")]), 0);
        assert_eq!(count(&words, "a", &[("tool t", "sends it all"), ("resource r", "a log")]), 1);
        let expected =
            Difference { about: "tool t".into(), was: "adds".into(), is: "sends it all".into() };
        assert_eq!(differences(&words), BTreeMap::from([("one".to_owned(), vec![expected])]));
        assert_eq!(count(&words, "a", &[("tool t", "adds")]), 0, "it was taken back");
        assert_eq!(count(&words, "a", &[("tool t", "sends it all")]), 1);
        words.accept([&"one".to_owned()].into_iter()).unwrap();
        assert!(differences(&words).is_empty());
        assert_eq!(count(&words, "a", &[("tool t", "sends it all")]), 0);
        assert_eq!(count(&words, "a", &[("tool t", "adds")]), 1, "now that is the change");
        assert_eq!(count(&words, "b", &[("tool t", "anything")]), 0, "it is another server");
    }

    #[test]
    fn t17_long_descriptions_are_compared_whole() {
        let long = |end: &str| shortened(format!("{}{end}", "x".repeat(MAX_TEXT_BYTES)));
        assert_ne!(long("a"), long("b"));
        assert!(long("a").len() < MAX_TEXT_BYTES + 100);
    }

    #[test]
    fn a_damaged_file_begins_anew() {
        let dir = tempfile::TempDir::new().unwrap();
        let words = Words::of(dir.path(), "x");
        count(&words, "a", &[("tool t", "adds")]);
        std::fs::write(words.file("one").path(), "{").unwrap();
        assert!(differences(&words).is_empty());
        assert_eq!(count(&words, "a", &[("tool t", "other")]), 0);
        assert_eq!(count(&words, "a", &[("tool t", "adds")]), 1);
    }
}
