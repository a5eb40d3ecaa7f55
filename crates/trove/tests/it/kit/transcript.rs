//! All lines that came from somewhere, in order, and a way to wait for one of them.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::watch;

use super::LIMIT;

/// One line.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) text: String,
    /// Null where the line is no JSON.
    pub(crate) json: Value,
}

/// Everything heard so far.
#[derive(Debug)]
pub(crate) struct Transcript {
    all: Mutex<Vec<Arc<Heard>>>,
    count: watch::Sender<usize>,
}

impl Transcript {
    pub(crate) fn new() -> Arc<Transcript> {
        Arc::new(Transcript { all: Mutex::default(), count: watch::channel(0).0 })
    }

    /// Writes down every line of a stream, to its end.
    pub(crate) fn of(stream: impl AsyncRead + Unpin + Send + 'static) -> Arc<Transcript> {
        let transcript = Transcript::new();
        let own = transcript.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stream).split(b'\n');
            while let Ok(Some(line)) = lines.next_segment().await {
                own.push(String::from_utf8_lossy(&line).into_owned());
            }
        });
        transcript
    }

    pub(crate) fn push(&self, text: String) {
        let json = serde_json::from_str(&text).unwrap_or_default();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::new(Heard { text, json }));
        self.count.send_replace(all.len());
    }

    /// How much has been heard; the next message has this index.
    pub(crate) fn len(&self) -> usize {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Everything from an index on.
    pub(crate) fn since(&self, from: usize) -> Vec<Arc<Heard>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)[from..].to_vec()
    }

    /// The first line from an index on that is the one, now or later, with its own index.
    pub(crate) async fn first(
        &self,
        from: usize,
        is_it: impl Fn(&Value) -> bool,
        what: &str,
    ) -> (usize, Arc<Heard>) {
        let mut count = self.count.subscribe();
        let mut next = from;
        let find = async {
            loop {
                count.borrow_and_update();
                for heard in self.since(next) {
                    if is_it(&heard.json) {
                        return (next, heard);
                    }
                    next += 1;
                }
                // The sender is ours, so it is there.
                let _ = count.changed().await;
            }
        };
        match tokio::time::timeout(LIMIT, find).await {
            Ok(found) => found,
            Err(_) => panic!("waited {LIMIT:?} for {what}; heard {:#?}", self.tail()),
        }
    }

    /// The end of it, each line cut short, to explain a failure.
    fn tail(&self) -> Vec<String> {
        let all = self.since(self.len().saturating_sub(20));
        all.iter().map(|heard| heard.text.chars().take(300).collect()).collect()
    }
}
