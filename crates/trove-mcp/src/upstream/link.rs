//! A way to one server: requests out, answers back, notifications to the [`Inbox`].

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use trove_core::{
    SourceError, SourceId,
    catalogue::Feed,
    json::{Json, items, string},
    resource::ListsChanged,
    source::{Notice, Outage, SourceEvent, Why},
    uri::LocalUri,
};

use super::{meter::Meter, secrets::Secrets};
use crate::{bounds::MAX_LOG_BYTES, era::meta, repeated::Repeated, wire::RpcError};

/// A connection to one server over any transport.
pub(crate) trait Link: Send + Sync + 'static {
    /// Sends a request and gives its result. Dropping the future cancels the request at
    /// the server.
    fn request<'a>(&'a self, call: Call) -> BoxFuture<'a, Result<Json, LinkError>>;

    /// Sends a notification.
    fn notify<'a>(
        &'a self,
        method: &'static str,
        params: Option<String>,
    ) -> BoxFuture<'a, Result<(), LinkError>>;

    /// Told once what was agreed on, for transports that must repeat it.
    fn agreed(&self, _version: &'static str) {}

    /// Cancelled when the connection is gone.
    fn closed(&self) -> &CancellationToken;

    /// Whether the server does not know us any more; `None` where it cannot forget us.
    fn has_expired(&self) -> Option<bool> {
        None
    }

    /// Whether the server turned out to speak another era by now than was agreed on.
    fn speaks_otherwise(&self) -> bool {
        false
    }

    /// Whether what the server says unasked reaches us now.
    fn hears(&self) -> bool {
        true
    }

    /// The process behind it, if there is one.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// How the process behind it ended, if it did so by itself.
    fn ending(&self) -> Option<String> {
        None
    }

    /// Ends the connection, and the process behind it.
    fn close<'a>(&'a self) -> BoxFuture<'a, ()>;
}

/// One request.
pub(crate) struct Call {
    /// Unique on this connection; also its progress token.
    pub(crate) id: u64,
    pub(crate) method: &'static str,
    /// The params, an object as text.
    pub(crate) params: String,
    /// Arguments that its tool wants repeated in headers, where the transport has headers.
    pub(crate) repeated: Vec<Repeated>,
    /// Where progress and log messages of this request go.
    pub(crate) notices: Option<mpsc::Sender<Notice>>,
}

/// Numbers requests.
#[derive(Debug, Default)]
pub(crate) struct Tickets(AtomicU64);

impl Tickets {
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// The id of one of our requests: a number, which the same digits as a string are not.
pub(crate) fn own_id(id: &Json) -> Option<u64> {
    whole_number(id.as_str())
}

/// Where all numbers are fractions, ours come back with zeros, e.g. `7.0`.
fn whole_number(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    fraction.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok()).flatten()
}

/// Why a request got no result.
#[derive(Debug, Clone)]
pub(crate) enum LinkError {
    /// The server answered with an error.
    Rpc(RpcError),
    /// The connection is gone.
    Lost,
    /// The server does not know us any more, and has done nothing of what it was asked.
    Forgotten,
    /// The transport said no before any JSON-RPC: an HTTP status.
    Status(u16, String),
    /// The server asks for a token.
    Unauthorized(Outage),
    /// Nothing listens there, or it cannot be started.
    Unreachable(Outage),
    TooLarge(usize),
    TimedOut(Duration),
    Busy(usize),
    Malformed(String),
}

impl LinkError {
    /// Nothing answers, for a reason that may pass.
    pub(crate) fn unreachable(told: impl Into<String>) -> LinkError {
        LinkError::Unreachable(Outage::passing(told))
    }

    /// Nothing answers until the configuration is mended.
    pub(crate) fn misconfigured(told: impl Into<String>) -> LinkError {
        LinkError::Unreachable(Outage::misconfigured(told))
    }

    /// The outage of a server that could not be connected to.
    pub(crate) fn into_outage(self) -> Outage {
        match self {
            LinkError::Unreachable(outage) | LinkError::Unauthorized(outage) => outage,
            LinkError::Status(status, _) => Outage::new(Why::of_status(status), self.to_string()),
            _ => Outage::passing(self.to_string()),
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Rpc(error) => write!(f, "{} (code {})", error.message, error.code),
            LinkError::Lost => f.write_str("the connection was lost"),
            LinkError::Forgotten => f.write_str("it does not know us any more; ask again"),
            LinkError::Status(status, text) if text.is_empty() => write!(f, "HTTP status {status}"),
            LinkError::Status(status, text) => write!(f, "HTTP status {status}: {text}"),
            LinkError::Malformed(why) => f.write_str(why),
            LinkError::Unreachable(outage) | LinkError::Unauthorized(outage) => outage.fmt(f),
            LinkError::TooLarge(limit) => write!(f, "a message was longer than {limit} bytes"),
            LinkError::TimedOut(waited) => write!(f, "no answer within {waited:?}"),
            LinkError::Busy(limit) => write!(f, "{limit} requests are already waiting"),
        }
    }
}

impl From<LinkError> for SourceError {
    fn from(error: LinkError) -> SourceError {
        match error {
            LinkError::Rpc(RpcError { code, message, data }) => {
                SourceError::Refused { code, message, data }
            }
            LinkError::Lost => SourceError::Lost,
            LinkError::TooLarge(limit) => SourceError::TooLarge { limit },
            LinkError::TimedOut(waited) => SourceError::TimedOut { waited },
            LinkError::Busy(limit) => SourceError::Busy { limit },
            LinkError::Malformed(what) => SourceError::Malformed { what },
            LinkError::Unreachable(_)
            | LinkError::Unauthorized(_)
            | LinkError::Status(..)
            | LinkError::Forgotten => SourceError::Unavailable(error.into_outage()),
        }
    }
}

/// Where a server's notifications go that belong to no request.
pub(crate) struct Inbox {
    source: SourceId,
    feed: Feed,
    secrets: Arc<Secrets>,
    /// Pays for all that comes.
    pub(crate) meter: Arc<Meter>,
    acknowledged: watch::Sender<Acknowledged>,
    /// How often there was a time in which nothing could be heard.
    gaps: watch::Sender<u64>,
}

/// The newest subscription that the server acknowledged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Acknowledged {
    pub(crate) id: u64,
    /// The notifications that it will send; `None` where it does not say.
    honoured: Option<Json>,
}

impl Acknowledged {
    /// Those of the wanted URIs that the server left out.
    pub(crate) fn left_out(&self, wanted: &BTreeSet<LocalUri>) -> BTreeSet<LocalUri> {
        let Some(honoured) = &self.honoured else { return BTreeSet::new() };
        let list = honoured.get("resourceSubscriptions");
        let list = list.as_ref().and_then(|list| items(list.as_str())).unwrap_or_default();
        // A server may write URIs in another way than we do; as many as were asked for are those.
        if list.len() >= wanted.len() {
            return BTreeSet::new();
        }
        let kept: BTreeSet<LocalUri> =
            list.into_iter().filter_map(string).map(LocalUri::new).collect();
        wanted.difference(&kept).cloned().collect()
    }
}

impl Inbox {
    #[cfg(test)]
    pub(crate) fn new(source: SourceId, feed: Feed, meter: Arc<Meter>) -> Arc<Inbox> {
        Inbox::without(Arc::default(), source, feed, meter)
    }

    /// One that lets no secret of the server in.
    pub(crate) fn without(
        secrets: Arc<Secrets>,
        source: SourceId,
        feed: Feed,
        meter: Arc<Meter>,
    ) -> Arc<Inbox> {
        let (acknowledged, gaps) = <_>::default();
        Arc::new(Inbox { source, feed, secrets, meter, acknowledged, gaps })
    }

    /// The params of a notification. In those that people read, secrets are masked.
    pub(crate) fn masked(&self, method: &str, params: &Json) -> Json {
        let is_read = ["notifications/message", "notifications/progress"].contains(&method);
        if !is_read || params.as_bytes().len() > MAX_LOG_BYTES {
            return params.clone();
        }
        self.secrets.hide_in_json(params).unwrap_or_else(|| params.clone())
    }

    pub(crate) fn gaps(&self) -> watch::Receiver<u64> {
        self.gaps.subscribe()
    }

    /// Takes note that something may have been missed: lists, too, are read anew.
    pub(crate) async fn note_gap(&self) {
        self.gaps.send_modify(|gaps| *gaps += 1);
        self.feed.report(&self.source, SourceEvent::Ready).await;
    }

    pub(crate) fn acknowledged(&self) -> watch::Receiver<Acknowledged> {
        self.acknowledged.subscribe()
    }

    /// Takes one notification. Waits when the catalogue is behind, which slows the sender alone.
    pub(crate) async fn take(&self, method: &str, params: Option<&Json>) {
        let event = match method {
            "notifications/resources/list_changed" => lists_changed(|lists| lists.resources = true),
            "notifications/tools/list_changed" => lists_changed(|lists| lists.tools = true),
            "notifications/prompts/list_changed" => lists_changed(|lists| lists.prompts = true),
            "notifications/resources/updated" => {
                let Some(uri) = params.and_then(|p| p.get_str("uri")) else { return };
                SourceEvent::Updated(LocalUri::new(uri))
            }
            "notifications/message" => match params {
                Some(params) if params.as_bytes().len() <= MAX_LOG_BYTES => {
                    SourceEvent::Log(params.clone())
                }
                Some(_) | None => return,
            },
            "notifications/subscriptions/acknowledged" => {
                if let Some(id) = params.and_then(subscription_id) {
                    let honoured = params.and_then(|params| params.get("notifications"));
                    self.acknowledged.send_if_modified(|newest| {
                        let is_newer = id > newest.id;
                        if is_newer {
                            *newest = Acknowledged { id, honoured };
                        }
                        is_newer
                    });
                }
                return;
            }
            _ => {
                debug!(source = %self.source, method, "notification without a meaning here");
                return;
            }
        };
        self.feed.report(&self.source, event).await;
    }
}

fn lists_changed(which: impl FnOnce(&mut ListsChanged)) -> SourceEvent {
    let mut lists = ListsChanged::default();
    which(&mut lists);
    SourceEvent::ListsChanged(lists)
}

fn subscription_id(params: &Json) -> Option<u64> {
    let id = params.get("_meta")?.get(meta::SUBSCRIPTION_ID)?;
    whole_number(id.as_str().trim_matches('"'))
}

/// A notice about one request: the id it belongs to, and what it says.
pub(crate) fn notice_of(method: &str, params: &Json) -> Option<(Option<u64>, Notice)> {
    // A longer one is nothing that a person reads.
    if params.as_bytes().len() > MAX_LOG_BYTES {
        return None;
    }
    match method {
        "notifications/progress" => {
            let mut object = params.object()?;
            let token = object.remove("progressToken")?;
            let id = whole_number(token.trim_matches('"'))?;
            Some((Some(id), Notice::Progress(object.to_json())))
        }
        "notifications/message" => Some((None, Notice::Log(params.clone()))),
        _ => None,
    }
}
