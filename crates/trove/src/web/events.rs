//! Tells the page of changes as they happen.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use trove_core::{
    Caller, PublicUri,
    changes::{Change, NoChange, Reader},
    content::escape_controls,
    gateway::{Call, Watched},
};

use super::{
    Web,
    answer::{Answer, refuse},
    query::Query,
};

/// How often the state of the servers is compared with what was told last.
const LOOK: Duration = Duration::from_secs(1);
/// How often something is said on a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many events wait for a page that does not listen.
const MAX_WAITING: usize = 64;
/// How much of a log message is told.
const MAX_LOG: usize = 4096;

/// `GET /api/events?watch=…`: lists, health, logs, and changes of what is watched.
pub(super) async fn listen(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let Ok(place) = web.listeners.clone().try_acquire_owned() else {
        let next = ["Close some of the pages that are open."];
        let message = "too many pages are listening";
        return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, message, &next));
    };
    let watch = Query::of(request.uri()).get("watch").map(PublicUri::new);
    let (out, events) = mpsc::channel(MAX_WAITING);
    // The task ends when the page hangs up, which closes the channel, or with us.
    tokio::spawn(tell(web, watch, out, place));
    let events = stream::unfold(events, |mut events| async move {
        Some((Ok::<Bytes, Infallible>(events.recv().await?), events))
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

async fn tell(
    web: Arc<Web>,
    watch: Option<PublicUri>,
    out: mpsc::Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let caller = web.caller();
    // It is never refused; this writes it down.
    let _ = web.gateway.run(&caller, Call::Listen).await;
    let changes = web.gateway.changes();
    // A resource that cannot be watched is simply not reported.
    let watched = match &watch {
        Some(uri) => web.gateway.watch(&caller, uri).await.ok(),
        None => None,
    };
    let listener = Listener { web: &web, caller: &caller, watch, watched: watched.clone(), out };
    tokio::select! {
        () = listener.run(changes) => {}
        () = listener.out.closed() => {}
        () = web.stop.cancelled() => {}
    }
    if let Some(watched) = watched {
        web.gateway.unwatch(&watched);
    }
}

struct Listener<'a> {
    web: &'a Arc<Web>,
    caller: &'a Caller,
    watch: Option<PublicUri>,
    watched: Option<Watched>,
    out: mpsc::Sender<Bytes>,
}

impl Listener<'_> {
    async fn run(&self, mut changes: Reader) {
        // So that the first search need not wait for the rows.
        let (web, caller) = (self.web.clone(), self.caller.clone());
        tokio::spawn(async move { web.rows.rows(&web.gateway, &caller).await });
        let revision = self.web.gateway.current().revision();
        self.send("hello", json!({ "revision": revision, "watching": self.watched.is_some() }))
            .await;
        let mut told = Value::Null;
        let mut seen = self.web.gateway.current_view(self.caller).print();
        if let Some((name, data)) = self.of_health(&mut told) {
            self.send(name, data).await;
        }
        let mut silent = Duration::ZERO;
        loop {
            let event = tokio::select! {
                change = changes.recv() => self.of_change(change, &mut seen),
                () = tokio::time::sleep(LOOK) => {
                    silent += LOOK;
                    self.of_health(&mut told)
                }
            };
            match event {
                Some((name, data)) => {
                    silent = Duration::ZERO;
                    self.send(name, data).await;
                }
                None if silent >= KEEP_ALIVE => {
                    silent = Duration::ZERO;
                    let _ = self.out.send(Bytes::from_static(b": still here\n\n")).await;
                }
                None => {}
            }
        }
    }

    fn of_change(
        &self,
        change: Result<Change, NoChange>,
        seen: &mut Option<u64>,
    ) -> Option<(&'static str, Value)> {
        let revision = || self.web.gateway.current().revision();
        match change {
            Ok(Change::Lists(lists)) => {
                // Changes of hidden resources are news for other callers only.
                let now = self.web.gateway.current_view(self.caller).print();
                let is_other = std::mem::replace(seen, now) != now || now.is_none();
                let resources = lists.resources && is_other;
                let data =
                    json!({ "revision": revision(), "resources": resources, "tools": lists.tools });
                (resources || lists.tools || lists.prompts).then_some(("lists", data))
            }
            Ok(Change::Rules) => {
                let now = self.web.gateway.current_view(self.caller).print();
                let is_other = std::mem::replace(seen, now) != now;
                let data = json!({ "revision": revision(), "resources": true, "tools": false });
                is_other.then_some(("lists", data))
            }
            Ok(Change::Updated { source, uri }) => {
                let is_watched = self.watched.as_ref() == Some(&(source, uri));
                let uri = self.watch.as_ref().filter(|_| is_watched)?;
                Some(("updated", json!({ "uri": uri.as_str() })))
            }
            Ok(Change::Log { source, message }) => {
                let text = escape_controls(message.as_str()).into_owned();
                let text = &text[..text.floor_char_boundary(MAX_LOG)];
                Some(("log", json!({ "server": source.as_str(), "message": text })))
            }
            Ok(Change::Doubted(_) | Change::Listed) => None,
            // The lists may be among the missed events.
            Ok(Change::Missed) | Err(_) => {
                Some(("lists", json!({ "revision": revision(), "resources": true })))
            }
        }
    }

    /// The state of the servers, if it is another than the one told last. Times that
    /// only pass are no change.
    fn of_health(&self, told: &mut Value) -> Option<(&'static str, Value)> {
        let mut health = json!(self.web.gateway.health(self.caller));
        health["uptime_seconds"] = Value::Null;
        for source in health["sources"].as_array_mut().into_iter().flatten() {
            if !source["stale_seconds"].is_null() {
                source["stale_seconds"] = json!(0);
            }
        }
        if *told == health {
            return None;
        }
        told.clone_from(&health);
        Some(("health", health))
    }

    async fn send(&self, name: &str, data: Value) {
        // The caller of this function notices a page that has gone.
        let _ = self.out.send(format!("event: {name}\ndata: {data}\n\n").into()).await;
    }
}
