//! Questions to a client with a session, while a request of its own waits for the answer.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tracing::debug;
use trove_core::{Json, tools};

use crate::wire::{self, RpcError};

/// How long a person may think. Silence after that is no consent.
const PATIENCE: Duration = Duration::from_secs(300);
/// The number of the first question; those about roots are counted from one.
const FIRST: u64 = 1 << 32;

/// The questions to one client.
pub(crate) struct Questions {
    is_offered: bool,
    /// The owner of the client's stream keeps it open; we do not.
    out: mpsc::WeakSender<Bytes>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    asked: u64,
    /// One for each request that waits, which are bounded.
    waiting: HashMap<u64, oneshot::Sender<Result<Json, RpcError>>>,
}

impl Questions {
    /// Whether a client says that a person can be asked, in its params of `initialize`.
    pub(crate) fn are_offered(params: Option<&Json>) -> bool {
        let capabilities = params.and_then(|params| params.get("capabilities"));
        capabilities.as_ref().is_some_and(tools::can_be_asked)
    }

    /// None yet.
    pub(crate) fn new(is_offered: bool, out: mpsc::WeakSender<Bytes>) -> Questions {
        Questions { is_offered, out, open: Mutex::default() }
    }

    /// Whether the client said that a person can be asked.
    pub(crate) fn is_offered(&self) -> bool {
        self.is_offered
    }

    /// The person's answer to a form; `None` if there is none in time.
    pub(crate) async fn ask(&self, params: &Json) -> Option<Json> {
        let (tell, told) = oneshot::channel();
        let number = {
            let mut open = self.lock();
            open.asked += 1;
            let number = FIRST + open.asked;
            open.waiting.insert(number, tell);
            number
        };
        // Forgotten also where the request is taken back meanwhile.
        let _asked = Asked { questions: self, number };
        let question = wire::request(number, "elicitation/create", params.as_str());
        if self.out.upgrade()?.try_send(question).is_err() {
            debug!("the client cannot be asked");
            return None;
        }
        tokio::time::timeout(PATIENCE, told).await.ok()?.ok()?.ok()
    }

    /// Takes an answer of the client; gives it back if it is to no question here.
    pub(crate) fn take(
        &self,
        id: &Json,
        outcome: Result<Json, RpcError>,
    ) -> Option<Result<Json, RpcError>> {
        let number = id.as_str().parse().ok();
        match number.and_then(|number| self.lock().waiting.remove(&number)) {
            // The waiting request is gone.
            Some(waiting) => waiting.send(outcome).err().and(None),
            None => Some(outcome),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question under way.
struct Asked<'a> {
    questions: &'a Questions,
    number: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.questions.lock().waiting.remove(&self.number);
    }
}
