//! The state that all clients of one server share: the mutable list, the counters, and the clients
//! that hear of changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::content::{self, Entry};
use super::options::{Fault, Options};
use super::peer::{Peer, lock};
use super::played;
use super::wire::{Frame, META_SUBSCRIPTION, notification, quote, with_members};

/// One server.
#[derive(Debug)]
pub(super) struct Toy {
    pub options: Options,
    /// The tools of another server that are played.
    pub played: Option<Value>,
    pub entries: Mutex<Vec<Entry>>,
    pub counter: AtomicU64,
    /// How often a list that changes was looked at.
    pub looks: AtomicU64,
    pub cancelled: AtomicU64,
    /// How often each method was received.
    pub received: Mutex<BTreeMap<String, u64>>,
    /// The headers of the last message over HTTP, as JSON.
    pub headers: Mutex<String>,
    /// Every task the server starts, so that it can finish them before it leaves.
    pub tasks: TaskTracker,
    peers: Mutex<Vec<Weak<Peer>>>,
    listeners: Mutex<Vec<Listener>>,
}

/// One open `subscriptions/listen`.
#[derive(Debug, Clone)]
pub(super) struct Listener {
    pub id: String,
    pub out: mpsc::Sender<Frame>,
    pub lists: bool,
    pub uris: Vec<String>,
}

/// Something clients may want to hear of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change<'a> {
    ResourceList,
    Resource(&'a str),
}

impl Toy {
    pub(super) fn new(options: Options) -> Self {
        Self {
            played: options.play.as_deref().map(played::read),
            entries: Mutex::new(content::entries(&options)),
            options,
            counter: AtomicU64::default(),
            looks: AtomicU64::default(),
            cancelled: AtomicU64::default(),
            received: Mutex::default(),
            headers: Mutex::default(),
            tasks: TaskTracker::new(),
            peers: Mutex::default(),
            listeners: Mutex::default(),
        }
    }

    /// Remembers a client that finished `initialize`, and floods it if told to.
    pub(super) fn welcome(self: &Arc<Self>, peer: &Arc<Peer>) {
        let mut peers = lock(&self.peers);
        peers.retain(|known| known.strong_count() > 0);
        peers.push(Arc::downgrade(peer));
        drop(peers);
        if let Some(times) = self.options.amount(Fault::FloodListChanged) {
            let (toy, peer) = (Arc::clone(self), Arc::clone(peer));
            self.tasks.spawn(async move {
                let message = toy.announcement(Change::ResourceList, None);
                peer.opened().await;
                for _ in 0..times {
                    tokio::select! {
                        () = peer.closed.cancelled() => break,
                        () = peer.tell(&message) => {}
                    }
                }
            });
        }
    }

    /// Remembers an open listener.
    pub(super) fn add_listener(&self, listener: Listener) {
        lock(&self.listeners).push(listener);
    }

    /// Forgets the listeners whose stream is the one given or has ended.
    pub(super) fn drop_listener(&self, id: &str, out: &mpsc::Sender<Frame>) {
        let has_ended =
            |open: &Listener| open.out.is_closed() || (open.id == id && open.out.same_channel(out));
        lock(&self.listeners).retain(|open| !has_ended(open));
    }

    /// Tells every client that wants to know.
    pub(super) async fn announce(&self, change: Change<'_>) {
        let dropped = match change {
            Change::ResourceList => Fault::DropListChanged,
            Change::Resource(_) => Fault::DropUpdated,
        };
        if self.options.has(dropped) {
            return;
        }
        let peers: Vec<Arc<Peer>> = lock(&self.peers).iter().filter_map(Weak::upgrade).collect();
        for peer in peers {
            let wanted = match change {
                Change::ResourceList => true,
                Change::Resource(uri) => lock(&peer.subscribed).contains(uri),
            };
            if wanted {
                peer.tell(&self.announcement(change, None)).await;
            }
        }
        let listeners = lock(&self.listeners).clone();
        for listener in listeners {
            let wanted = match change {
                Change::ResourceList => listener.lists,
                Change::Resource(uri) => listener.uris.iter().any(|followed| followed == uri),
            };
            if wanted {
                let message = self.announcement(change, Some(&listener.id));
                let _client_gone = listener.out.send(Frame::message(message)).await;
            }
        }
    }

    /// The notification of a change, tagged with the listen request it answers to.
    pub(super) fn announcement(&self, change: Change<'_>, listener: Option<&str>) -> String {
        let (method, params) = match change {
            Change::ResourceList => ("notifications/resources/list_changed", "{}".to_owned()),
            Change::Resource(uri) => {
                ("notifications/resources/updated", format!(r#"{{"uri":{}}}"#, quote(uri)))
            }
        };
        let tag = |id| with_members(&params, &format!(r#""_meta":{{"{META_SUBSCRIPTION}":{id}}}"#));
        notification(method, &listener.map_or_else(|| params.clone(), tag))
    }

    /// The `contents` of a resource, or `None` when there is no such resource.
    pub(super) fn read(&self, uri: &str) -> Option<String> {
        let listed = lock(&self.entries).iter().find(|entry| entry.uri == uri).cloned();
        if listed.is_none() && !content::is_unlisted(&self.options, uri) {
            return None;
        }
        let entry: Value =
            listed.and_then(|entry| serde_json::from_str(&entry.json).ok()).unwrap_or_default();
        let mime = entry["mimeType"].as_str().unwrap_or("text/plain");
        let body = match uri.strip_prefix(&content::own(&self.options, "")) {
            Some("counter") => self.counter.load(Ordering::Relaxed).to_string(),
            Some("cancelled") => self.cancelled.load(Ordering::Relaxed).to_string(),
            Some("headers") => lock(&self.headers).clone(),
            Some("pid") => std::process::id().to_string(),
            Some("requests") => serde_json::to_string(&*lock(&self.received)).unwrap_or_default(),
            _ => String::new(),
        };
        Some(content::contents(&self.options, uri, mime, &body))
    }
}
