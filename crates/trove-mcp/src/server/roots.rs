//! Where a client works: the folders it names when asked with `roots/list`.
//!
//! The answer is a hint for choosing a project and nothing else: no folder named here is ever
//! opened.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tracing::{debug, warn};
use trove_core::{Json, uri::decode_once};

use crate::wire::{self, RpcError};

/// How long an answer counts.
const ANSWER: Duration = Duration::from_secs(30);
/// How long requests wait for the answer, so that the first one is already about the
/// right project. A client that answers nothing while it waits loses no more than this.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most folders that are kept.
const MAX_ROOTS: usize = 64;
/// The longest answer that is looked at.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The folders a client works in.
pub(crate) struct Roots {
    is_offered: bool,
    /// The owner of the client's stream keeps it open; we do not.
    out: mpsc::WeakSender<Bytes>,
    known: watch::Sender<Known>,
}

#[derive(Default)]
struct Known {
    /// How many times we asked; the number of the question under way.
    asked: u64,
    /// When the question under way was asked, until it is settled.
    since: Option<Instant>,
    folders: Arc<[PathBuf]>,
}

impl Roots {
    /// Whether a client says that it can be asked, in its params of `initialize`.
    pub(crate) fn are_offered(params: Option<&Json>) -> bool {
        let capabilities = params.and_then(|params| params.get("capabilities"));
        let roots = capabilities.and_then(|all| all.get("roots"));
        roots.is_some_and(|roots| roots.as_str().starts_with('{'))
    }

    /// Nothing is known before the first question.
    pub(crate) fn new(is_offered: bool, out: mpsc::WeakSender<Bytes>) -> Roots {
        Roots { is_offered, out, known: watch::Sender::default() }
    }

    /// Asks the client, if it said that it can be asked. An older question is dropped.
    pub(crate) fn ask(&self) {
        if !self.is_offered {
            return;
        }
        let mut number = 0;
        self.known.send_modify(|known| {
            known.asked += 1;
            known.since = Some(Instant::now());
            number = known.asked;
        });
        // No task waits for this to be sent; a client that reads nothing is not asked.
        let question = wire::request(number, "roots/list", "{}");
        let is_sent = self.out.upgrade().is_some_and(|out| out.try_send(question).is_ok());
        if !is_sent {
            self.known.send_modify(|known| known.since = None);
            debug!("the client cannot be asked for its roots");
        }
    }

    /// Takes an answer of the client; true if it changed what is known.
    pub(crate) fn take(&self, id: &Json, outcome: Result<Json, RpcError>) -> bool {
        let is_it = |known: &Known| {
            let in_time = known.since.is_some_and(|since| since.elapsed() < ANSWER);
            in_time && id.as_str() == known.asked.to_string()
        };
        if !is_it(&self.known.borrow()) {
            debug!("an answer of the client to nothing we ask was ignored");
            return false;
        }
        let folders = match outcome.map(|answer| folders(&answer)) {
            Ok(Some(folders)) => Some(folders),
            Ok(None) => {
                warn!("the client's answer to roots/list makes no sense; it was ignored");
                None
            }
            Err(error) => {
                warn!(code = error.code, "the client refused roots/list");
                None
            }
        };
        let mut has_changed = false;
        self.known.send_modify(|known| {
            known.since = None;
            if let Some(folders) = folders.filter(|folders| **folders != *known.folders) {
                known.folders = folders;
                has_changed = true;
            }
        });
        has_changed
    }

    /// Waits until the question under way is settled, but not for long.
    pub(crate) async fn settled(&self) {
        let Some(since) = self.known.borrow().since else { return };
        let mut known = self.known.subscribe();
        let settled = known.wait_for(|known| known.since.is_none());
        let _ = tokio::time::timeout_at(since + PATIENCE, settled).await;
    }

    /// The folders, as last named.
    pub(crate) fn folders(&self) -> Arc<[PathBuf]> {
        self.known.borrow().folders.clone()
    }
}

/// The folders that an answer names; `None` if it is no answer. Other roots are passed over, e.g.
/// `https://a.example`.
fn folders(answer: &Json) -> Option<Arc<[PathBuf]>> {
    if answer.as_bytes().len() > MAX_ANSWER_BYTES {
        return None;
    }
    let roots: Vec<serde_json::Value> = answer.get("roots")?.to().ok()?;
    let named = roots.iter().filter_map(|root| folder(root.get("uri")?.as_str()?));
    Some(named.take(MAX_ROOTS).collect())
}

/// The folder of a `file:` URI, e.g. `/home/ann` of `file:///home/ann`: absolute, without detours.
fn folder(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = PathBuf::from(decode_once(path)?);
    let is_plain = path.components().all(|part| !matches!(part, std::path::Component::ParentDir))
        && !path.as_os_str().as_encoded_bytes().contains(&0);
    (path.is_absolute() && is_plain).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.to_owned()).unwrap()
    }

    type Ends = (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>);

    fn asked(capabilities: &str) -> (Roots, Ends) {
        let (out, sent) = mpsc::channel(4);
        let params = json(&format!("{{\"capabilities\":{capabilities}}}"));
        let roots = Roots::new(Roots::are_offered(Some(&params)), out.downgrade());
        roots.ask();
        (roots, (out, sent))
    }

    fn named(roots: &Roots) -> Vec<String> {
        roots.folders().iter().map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn only_absolute_folders_of_the_file_system_count() {
        for (uri, expect) in [
            ("file:///src/shop", Some("/src/shop")),
            ("file:///src/a%20shop", Some("/src/a shop")),
            ("file://localhost/src", Some("/src")),
            ("file:///src/../etc", None),
            ("file:///src/%2e%2e/etc", None),
            ("file:///src/%00", None),
            ("file:///src/%zz", None),
            ("file:///src/%ff", None),
            ("file://other/src", None),
            ("file:src", None),
            ("https://example.org/src", None),
            ("/src", None),
            ("", None),
        ] {
            assert_eq!(folder(uri), expect.map(PathBuf::from), "{uri}");
        }
    }

    #[tokio::test]
    async fn a_client_is_asked_only_if_it_can_answer() {
        let (_, (_out, mut sent)) = asked("{}");
        assert!(sent.try_recv().is_err());
        let (_, (_out, mut sent)) = asked("{\"roots\":true}");
        assert!(sent.try_recv().is_err());
        let (_, (_out, mut sent)) = asked("{\"roots\":{}}");
        assert!(sent.try_recv().unwrap().ends_with(b"\"method\":\"roots/list\",\"params\":{}}"));
    }

    #[tokio::test]
    async fn only_the_answer_to_the_last_question_counts() {
        let (roots, _sent) = asked("{\"roots\":{}}");
        roots.ask();
        let one = || Ok(json("{\"roots\":[{\"uri\":\"file:///one\"},{\"uri\":\"x\"},7]}"));
        assert!(!roots.take(&json("1"), one()));
        assert!(named(&roots).is_empty());
        assert!(roots.take(&json("2"), one()));
        assert_eq!(named(&roots), ["/one"]);
        assert!(!roots.take(&json("2"), Ok(json("{\"roots\":[]}"))), "it was answered already");
        assert_eq!(named(&roots), ["/one"]);
    }

    #[tokio::test]
    async fn garbage_and_refusals_change_nothing() {
        for answer in ["{}", "{\"roots\":7}", "[]", "\"x\"", "null"] {
            let (roots, _sent) = asked("{\"roots\":{}}");
            assert!(!roots.take(&json("1"), Ok(json(answer))), "{answer}");
            roots.settled().await;
        }
        let (roots, _sent) = asked("{\"roots\":{}}");
        assert!(!roots.take(&json("1"), Err(RpcError::new(-32601, "no"))));
        roots.settled().await;
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_client_that_does_not_answer() {
        let (roots, _sent) = asked("{\"roots\":{}}");
        let begun = Instant::now();
        roots.settled().await;
        assert_eq!(begun.elapsed(), PATIENCE);
        roots.settled().await;
        assert_eq!(begun.elapsed(), PATIENCE);
        // A late answer counts, one that comes much too late does not.
        tokio::time::advance(ANSWER).await;
        assert!(!roots.take(&json("1"), Ok(json("{\"roots\":[{\"uri\":\"file:///one\"}]}"))));
    }

    #[tokio::test]
    async fn no_more_folders_are_kept_than_allowed() {
        let (roots, _sent) = asked("{\"roots\":{}}");
        let all: Vec<String> = (0..1000).map(|n| format!("{{\"uri\":\"file:///{n}\"}}")).collect();
        let answer = json(&format!("{{\"roots\":[{}]}}", all.join(",")));
        assert!(roots.take(&json("1"), Ok(answer)));
        assert_eq!(roots.folders().len(), MAX_ROOTS);
    }
}
