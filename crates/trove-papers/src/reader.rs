//! The gateway's side: a worker for each file, few at once, with the latest texts at hand.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::Semaphore,
    time::timeout,
};
use trove_code::boxed::{Child, Death, framed};
use trove_core::{
    aside::aside,
    papers::{Haste, PaperFault, PaperForm, PaperText, Papers},
};

use crate::worker::{BOUNDS, Given, MAX_BYTES, Said};

/// How many files are read at once for callers, and for the index.
const MAX_FOR_CALLERS: usize = 2;
const MAX_FOR_INDEX: usize = 1;
/// How long one may take altogether; its processor time is bounded by less.
const MAX_TIME: Duration = Duration::from_secs(60);
/// How long a caller waits for its turn, and how long the index does.
const MAX_WAIT: Duration = Duration::from_secs(30);
const MAX_INDEX_WAIT: Duration = Duration::from_secs(600);
/// The longest answer of a worker: its text, of which each byte may take six in JSON.
const MAX_ANSWER: usize = 6 * crate::MAX_TEXT + 1024 * crate::MAX_PARTS;
/// How many texts are held, and how many bytes of them.
const MAX_HELD: usize = 64;
const MAX_HELD_BYTES: usize = 16 * 1024 * 1024;

type Key = (PaperForm, [u8; 32]);
type Outcome = Result<Arc<PaperText>, PaperFault>;

/// Reads files, each in a worker of its own.
#[derive(Debug)]
pub struct Reader {
    program: PathBuf,
    args: Vec<String>,
    for_callers: Semaphore,
    for_index: Semaphore,
    /// The latest texts, oldest first.
    held: Mutex<VecDeque<(Key, Outcome)>>,
}

impl Reader {
    /// Workers that this command starts: a program that calls [`crate::work`].
    pub fn new(program: PathBuf, args: Vec<String>) -> Reader {
        Reader {
            program,
            args,
            for_callers: Semaphore::new(MAX_FOR_CALLERS),
            for_index: Semaphore::new(MAX_FOR_INDEX),
            held: Mutex::default(),
        }
    }

    async fn read(&self, form: PaperForm, bytes: &[u8], haste: Haste) -> Outcome {
        if bytes.len() > MAX_BYTES {
            return Err(PaperFault::TooMuch { what: "bytes", most: megabytes(MAX_BYTES) });
        }
        let mut print = [0; 32];
        let sum = aside(bytes.len(), || digest(&SHA256, bytes));
        print.copy_from_slice(sum.as_ref());
        let key = (form, print);
        if let Some(known) = self.known(&key) {
            return known;
        }
        let (turns, wait) = match haste {
            Haste::Caller => (&self.for_callers, MAX_WAIT),
            Haste::Index => (&self.for_index, MAX_INDEX_WAIT),
        };
        let Ok(Ok(_turn)) = timeout(wait, turns.acquire()).await else {
            return Err(PaperFault::Busy);
        };
        // Another may have read it meanwhile.
        if let Some(known) = self.known(&key) {
            return known;
        }
        let outcome = match timeout(MAX_TIME, self.read_now(form, bytes)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(PaperFault::TooMuch { what: "time", most: seconds(MAX_TIME.as_secs()) }),
        };
        // A worker that could not start says nothing of the file.
        if !matches!(outcome, Err(PaperFault::Broke { .. })) {
            self.keep(key, &outcome);
        }
        outcome
    }

    async fn read_now(&self, form: PaperForm, bytes: &[u8]) -> Outcome {
        let child = Child::start(&self.program, &self.args);
        let mut child = child.map_err(|error| broke(&error.to_string()))?;
        let given = Given { form: form.number(), length: bytes.len() };
        let head = framed(&given).map_err(|error| broke(&error.to_string()))?;
        let written = async {
            child.input.write_all(&head).await?;
            child.input.write_all(bytes).await
        };
        // A worker that dies while it is written to tells why by its end.
        let _ = written.await;
        let mut length = [0; 4];
        if child.output.read_exact(&mut length).await.is_err() {
            return Err(fault(child.death().await));
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_ANSWER {
            return Err(broke("it said more than it may"));
        }
        let mut answer = vec![0; length];
        if child.output.read_exact(&mut answer).await.is_err() {
            return Err(fault(child.death().await));
        }
        aside(length, || understood(&answer))
    }

    fn known(&self, key: &Key) -> Option<Outcome> {
        let held = self.held.lock();
        let found = held.iter().find(|(own, _)| own == key)?;
        Some(found.1.clone())
    }

    fn keep(&self, key: Key, outcome: &Outcome) {
        let mut held = self.held.lock();
        held.push_back((key, outcome.clone()));
        let mut bytes: usize = held.iter().map(|(_, one)| size(one)).sum();
        while held.len() > MAX_HELD || (held.len() > 1 && bytes > MAX_HELD_BYTES) {
            let Some((_, oldest)) = held.pop_front() else { return };
            bytes -= size(&oldest);
        }
    }
}

/// The answer of a worker, of which no word is believed further than it must be.
fn understood(answer: &[u8]) -> Outcome {
    let said: Said =
        serde_json::from_slice(answer).map_err(|_| broke("its answer makes no sense"))?;
    match said {
        Said::Text { place, parts, total } => {
            let text = Said::text(&place, parts, total);
            Ok(Arc::new(text.ok_or_else(|| broke("its answer makes no sense"))?))
        }
        Said::Unreadable(why) => Err(PaperFault::Unreadable { why }),
        Said::Unready(why) => Err(broke(&why)),
    }
}

fn size(outcome: &Outcome) -> usize {
    let Ok(text) = outcome else { return 0 };
    text.parts.iter().map(|part| part.title.len() + part.text.len() + part.note.len()).sum()
}

fn fault(death: Death) -> PaperFault {
    match death {
        Death::OutOfMemory => {
            PaperFault::TooMuch { what: "memory", most: megabytes(BOUNDS.memory_bytes) }
        }
        Death::OutOfTime => {
            PaperFault::TooMuch { what: "time", most: seconds(BOUNDS.compute_seconds) }
        }
        Death::Broke(how) => broke(&how),
    }
}

fn broke(how: &str) -> PaperFault {
    PaperFault::Broke { how: how.to_owned() }
}

fn megabytes(bytes: usize) -> String {
    format!("{} MiB", bytes / 1024 / 1024)
}

fn seconds(count: u64) -> String {
    format!("{count} seconds")
}

impl Papers for Reader {
    fn text<'a>(
        &'a self,
        form: PaperForm,
        bytes: &'a [u8],
        haste: Haste,
    ) -> BoxFuture<'a, Result<Arc<PaperText>, PaperFault>> {
        Box::pin(self.read(form, bytes, haste))
    }
}
