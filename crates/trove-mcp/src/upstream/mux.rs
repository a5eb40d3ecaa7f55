//! Many requests over one pair of streams: stdio, and the legacy SSE transport.
//!
//! A reader calls [`Mux::deliver`] for each message, in order, so that progress keeps
//! its order; a writer drains the outbox.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use trove_core::{SourceId, aside::aside, json::Json, source::Notice};

use super::{
    broken::{BROKEN, broken_answer},
    link::{Call, Inbox, Link, LinkError, notice_of, own_id},
    meter::{CutOff, Meter, Noise},
    process::{Ending, Process},
};
use crate::{
    bounds::MAX_OUTBOX,
    wire::{self, Message, Outcome, RpcError, code},
};

/// The requests under way on one connection.
pub(crate) struct Mux {
    source: SourceId,
    pending: Mutex<HashMap<u64, Pending>>,
    outbox: mpsc::Sender<Bytes>,
    inbox: Arc<Inbox>,
    closed: CancellationToken,
    /// The most requests that wait.
    most: usize,
}

/// The fate of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// A request waits for such notices.
    Wanted,
    /// It belongs to a request that does not want it, or that is over.
    Unwanted,
    /// It belongs to no request.
    OfNone,
}

struct Pending {
    reply: oneshot::Sender<Result<Json, LinkError>>,
    notices: Option<mpsc::Sender<Notice>>,
}

impl Mux {
    /// A connection whose messages out appear on the receiver.
    pub(crate) fn new(
        source: SourceId,
        inbox: Arc<Inbox>,
        most: usize,
    ) -> (Arc<Mux>, mpsc::Receiver<Bytes>) {
        let (outbox, out) = mpsc::channel(MAX_OUTBOX);
        let mux = Mux {
            source,
            pending: Mutex::default(),
            outbox,
            inbox,
            closed: CancellationToken::new(),
            most,
        };
        (Arc::new(mux), out)
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn request(&self, call: Call) -> Result<Json, LinkError> {
        let (reply, answer) = oneshot::channel();
        {
            let mut pending = self.pending();
            if pending.len() >= self.most {
                return Err(LinkError::Busy(self.most));
            }
            pending.insert(call.id, Pending { reply, notices: call.notices });
        }
        let mut guard = CancelOnDrop { mux: self, id: call.id, is_answered: false };
        self.meter().note_request();
        let frame = wire::request(call.id, call.method, &call.params);
        if self.outbox.send(frame).await.is_err() || self.closed.is_cancelled() {
            return Err(LinkError::Lost);
        }
        let outcome = answer.await;
        guard.is_answered = true;
        outcome.unwrap_or(Err(LinkError::Lost))
    }

    async fn notify(&self, method: &'static str, params: Option<String>) -> Result<(), LinkError> {
        let frame = wire::notification(method, params.as_deref());
        self.outbox.send(frame).await.map_err(|_| LinkError::Lost)
    }

    /// Takes a message from the server, or a batch of them; false if it was no message at all.
    /// Comes back once the next may be read.
    pub(crate) async fn deliver(&self, text: Bytes) -> Result<bool, CutOff> {
        let batch = aside(text.len(), || wire::parse_batch(&text));
        let Some(batch) = batch else { return self.deliver_one(&text).await };
        let mut is_message = false;
        for part in batch {
            is_message |= self.deliver_one(&part).await?;
        }
        Ok(is_message)
    }

    async fn deliver_one(&self, text: &Bytes) -> Result<bool, CutOff> {
        let bytes = text.len();
        let noise = match aside(bytes, || wire::parse(text)) {
            Ok(Message::Response { id, outcome }) => {
                if self.answer(&id, outcome) {
                    self.meter().asked(bytes).await;
                    return Ok(true);
                }
                Noise::Answers
            }
            Ok(Message::Notification { method, params }) => {
                self.take_notification(&method, params.as_ref()).await
            }
            Ok(Message::Request(request)) => {
                let reply = refuse_or_pong(&request.method);
                // A full outbox means that the server does not read; it gets no answer.
                let _ = self.outbox.try_send(wire::response(&request.id, &reply));
                Noise::Requests
            }
            Err(_) => {
                self.fail(broken_answer(text), LinkError::Malformed(BROKEN.to_owned()));
                self.meter().message(Noise::NoMessages, bytes).await?;
                return Ok(false);
            }
        };
        self.meter().message(noise, bytes).await?;
        Ok(true)
    }

    /// The budget of the server.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.inbox.meter
    }

    async fn take_notification(&self, method: &str, params: Option<&Json>) -> Noise {
        let params = params.map(|params| self.inbox.masked(method, params));
        let params = params.as_ref();
        let notice = params.and_then(|params| notice_of(method, params));
        let given = match notice {
            Some((id, notice)) => self.give_notice(id, notice),
            None => Given::OfNone,
        };
        if given == Given::Wanted {
            return Noise::Notices;
        }
        if given == Given::OfNone {
            self.inbox.take(method, params).await;
        }
        Noise::Notifications
    }

    /// Whether a request has no answer yet, and a caller wants it.
    pub(crate) fn waits_for(&self, id: u64) -> bool {
        self.pending().contains_key(&id)
    }

    /// Fails one request, if it can be told which.
    pub(crate) fn fail(&self, id: Option<u64>, error: LinkError) {
        if let Some(pending) = id.and_then(|id| self.pending().remove(&id)) {
            let _ = pending.reply.send(Err(error));
        }
    }

    /// Fails everything that waits: the connection is gone.
    pub(crate) fn close(&self) {
        self.closed.cancel();
        self.pending().clear();
    }

    /// Hands an answer to its request; false if there is none.
    fn answer(&self, id: &Json, outcome: Result<Json, RpcError>) -> bool {
        let Some(pending) = own_id(id).and_then(|id| self.pending().remove(&id)) else {
            debug!(source = %self.source, "answer to a request nobody is waiting for");
            return false;
        };
        // The request may have been given up by now.
        let _ = pending.reply.send(outcome.map_err(LinkError::Rpc));
        true
    }

    /// Hands a notice to its request.
    fn give_notice(&self, id: Option<u64>, notice: Notice) -> Given {
        let pending = self.pending();
        let target = match id {
            Some(id) => pending.get(&id).and_then(|p| p.notices.as_ref()),
            // A log message names no request: it is clear whose it is only when one asked.
            None => {
                let mut asked = pending.values().filter_map(|p| p.notices.as_ref());
                asked.next().filter(|_| asked.next().is_none())
            }
        };
        let Some(target) = target else {
            return if id.is_some() { Given::Unwanted } else { Given::OfNone };
        };
        if target.try_send(notice).is_err() {
            debug!(source = %self.source, "notice dropped: the client does not keep up");
        }
        Given::Wanted
    }

    fn pending(&self) -> parking_lot::MutexGuard<'_, HashMap<u64, Pending>> {
        self.pending.lock()
    }
}

/// A connection over a [`Mux`], with the tasks and the process that belong to it.
pub(crate) struct MuxLink {
    mux: Arc<Mux>,
    pid: Option<u32>,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
    process: tokio::sync::Mutex<Option<Process>>,
    ending: Option<Ending>,
}

impl MuxLink {
    pub(crate) fn new(mux: Arc<Mux>, tasks: JoinSet<()>, process: Option<Process>) -> MuxLink {
        let pid = process.as_ref().and_then(Process::pid);
        let ending = process.as_ref().map(Process::ending);
        MuxLink { mux, pid, ending, tasks: tasks.into(), process: process.into() }
    }
}

impl Link for MuxLink {
    fn request<'a>(&'a self, call: Call) -> BoxFuture<'a, Result<Json, LinkError>> {
        Box::pin(self.mux.request(call))
    }

    fn notify<'a>(
        &'a self,
        method: &'static str,
        params: Option<String>,
    ) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.mux.notify(method, params))
    }

    fn closed(&self) -> &CancellationToken {
        &self.mux.closed
    }

    fn ending(&self) -> Option<String> {
        self.ending.as_ref()?.of_itself().map(str::to_owned)
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.mux.close();
            // Ending the writer closes a child's stdin, the polite way to ask it to end.
            self.tasks.lock().await.shutdown().await;
            if let Some(process) = self.process.lock().await.take() {
                process.end().await;
            }
        })
    }
}

/// Our answer to a server that asks us: we are alive, and we offer no methods.
pub(crate) fn refuse_or_pong(method: &str) -> Outcome {
    match method {
        "ping" => Ok(Json::empty_object().into()),
        _ => Err(RpcError::new(code::METHOD_NOT_FOUND, "this client offers no such method")),
    }
}

/// Tells the server when the caller has gone.
struct CancelOnDrop<'a> {
    mux: &'a Mux,
    id: u64,
    is_answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.mux.pending().remove(&self.id);
        let params = format!("{{\"requestId\":{},\"reason\":\"no longer wanted\"}}", self.id);
        let _ =
            self.mux.outbox.try_send(wire::notification("notifications/cancelled", Some(&params)));
    }
}
