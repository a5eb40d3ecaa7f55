//! One configured server as a [`Source`].

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use trove_core::{
    Json, LocalUri, Source, SourceError, SourceId,
    catalogue::Feed,
    content::escape_controls,
    json::Object,
    resource::Listing,
    source::{Abilities, Ask, Indexing, Operation, Outage, Reply, Told, Why},
    status::{State, StatusBoard},
};

use super::{
    Gate,
    config::{Reach, UpstreamConfig, Watch},
    conversation::Conversation,
    eras::Eras,
    flat,
    guardian::{Guardian, GuardianCommand},
    link::LinkError,
    listing::{self, Listed},
    masked,
    meter::Meter,
    oauth::Credentials,
    process::StderrRing,
    secrets::Secrets,
    variables::Scope,
    watching::{InForce, MAX_WAIT_FOR_ACKNOWLEDGEMENT, Wanted},
};
use crate::{
    bounds::{Bounds, MAX_ERROR_BYTES, MAX_ERROR_DATA_BYTES, MAX_STATE_BYTES, MAX_WAIT_FOR_READY},
    kin::Kin,
    recipe::Shipped,
};

/// How many answers pass between two updates of the latency on the board.
const LATENCY_SAMPLE: u32 = 32;

/// The parts that all servers use together.
pub(crate) struct Shared {
    pub(crate) feed: Feed,
    pub(crate) board: Arc<StatusBoard>,
    pub(crate) scope: Arc<dyn Scope>,
    pub(crate) eras: Eras,
    pub(crate) guardian_command: Option<GuardianCommand>,
    /// Started with the first child.
    pub(crate) guardian: OnceLock<Option<Arc<Guardian>>>,
    /// Made when the first server behind a URL is met: it takes time and memory.
    pub(crate) client: OnceLock<reqwest::Client>,
    pub(crate) bounds: Bounds,
    /// Our identity for other Troves.
    pub(crate) kin: Arc<Kin>,
    /// A place for each server that we start.
    pub(crate) children: Arc<Semaphore>,
    /// Tokens for servers behind a URL.
    pub(crate) credentials: Option<Credentials>,
    /// The gate that is asked before a server is started or reached.
    pub(crate) gate: Option<Arc<dyn Gate>>,
    /// The recipes that are ours.
    pub(crate) recipes: Arc<[Shipped]>,
}

impl Shared {
    /// The guardian of our children; without one they are still ended, but not after a
    /// `kill -9`.
    pub(crate) fn guardian(&self) -> Option<Arc<Guardian>> {
        let start = || {
            let command = self.guardian_command.as_ref()?;
            match Guardian::start(command) {
                Ok(guardian) => Some(Arc::new(guardian)),
                Err(error) => {
                    warn!(%error, "no guardian: children may outlive a killed gateway");
                    None
                }
            }
        };
        self.guardian.get_or_init(start).clone()
    }
}

/// One configured server.
pub(crate) struct Upstream {
    pub(crate) config: UpstreamConfig,
    pub(crate) shared: Arc<Shared>,
    /// The connection of this moment.
    pub(crate) current: watch::Sender<Option<Arc<Conversation>>>,
    pub(crate) wanted: Arc<watch::Sender<Wanted>>,
    pub(crate) in_force: Arc<watch::Sender<InForce>>,
    pub(crate) stderr: Arc<StderrRing>,
    /// Its budget of unasked work, also after a restart.
    pub(crate) meter: Arc<Meter>,
    pub(crate) secrets: Arc<Secrets>,
    /// Its life is over; another may have begun under the same name.
    pub(crate) is_over: CancellationToken,
    /// How much it is to log, also after a restart.
    log_level: Mutex<Option<String>>,
    /// Told whenever a caller wants something of it while it is not connected.
    pub(crate) asked: Notify,
    answers: AtomicU32,
}

impl Upstream {
    pub(crate) fn new(
        config: UpstreamConfig,
        shared: Arc<Shared>,
        wanted: Arc<watch::Sender<Wanted>>,
    ) -> Upstream {
        let secrets = Arc::<Secrets>::default();
        let meter = Arc::new(Meter::new(shared.bounds.unasked));
        Upstream {
            config,
            shared,
            current: watch::channel(None).0,
            wanted,
            in_force: Arc::new(watch::Sender::default()),
            stderr: Arc::new(StderrRing::without(secrets.clone(), meter.clone())),
            meter,
            secrets,
            is_over: CancellationToken::new(),
            log_level: Mutex::default(),
            asked: Notify::new(),
            answers: AtomicU32::new(0),
        }
    }

    /// A place among those that we start, for as long as it is held; those that only run
    /// elsewhere need none.
    pub(crate) fn child_place(&self) -> Result<Option<OwnedSemaphorePermit>, LinkError> {
        if !matches!(self.config.reach, Reach::Stdio { .. }) {
            return Ok(None);
        }
        let place = self.shared.children.clone().try_acquire_owned();
        place.map(Some).map_err(|_| {
            let most = self.shared.bounds.children;
            LinkError::misconfigured(format!(
                "{most} servers run already, which is the most; raise limits.children or remove one"
            ))
        })
    }

    /// The connection, unless it is known to be gone: that is seen a moment before there
    /// is none.
    pub(super) fn conversation(&self) -> Option<Arc<Conversation>> {
        self.current.borrow().clone().filter(|conversation| conversation.is_open())
    }

    /// The connection, after a wait if it is just being made.
    pub(super) async fn ready(&self) -> Result<Arc<Conversation>, SourceError> {
        if let Some(conversation) = self.conversation() {
            return Ok(conversation);
        }
        self.asked.notify_one();
        let status = self.shared.board.of(&self.config.id);
        let worth_waiting = status.as_ref().is_some_and(|status| match status.state {
            State::Connecting | State::Ready => true,
            // It was there a moment ago and will be tried again at once.
            State::Backoff => status.connects > 0,
            State::Idle | State::CircuitOpen | State::CutOff | State::Stopped => false,
        });
        if worth_waiting {
            let mut current = self.current.subscribe();
            let connected = async {
                let is_open =
                    |c: &Option<Arc<Conversation>>| c.as_ref().is_some_and(|c| c.is_open());
                current.wait_for(is_open).await.ok()?.clone()
            };
            tokio::select! {
                found = tokio::time::timeout(MAX_WAIT_FOR_READY, connected) => {
                    if let Ok(Some(conversation)) = found {
                        return Ok(conversation);
                    }
                }
                () = self.is_over.cancelled() => {
                    let outage = Outage::passing("its configuration was just changed; ask again");
                    return Err(SourceError::Unavailable(outage));
                }
            }
        }
        let status = self.shared.board.of(&self.config.id);
        Err(SourceError::Unavailable(describe(status.as_ref())))
    }

    fn note_latency(&self, began: Instant) {
        if self.answers.fetch_add(1, Ordering::Relaxed).is_multiple_of(LATENCY_SAMPLE) {
            let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.shared.board.update(&self.config.id, |status| status.latency_us = Some(took));
        }
    }

    /// An outage without secrets, with the command that ends it as it must be typed here.
    pub(crate) fn shown(&self, outage: Outage) -> Outage {
        let command = |remedy| self.shared.board.command(remedy, &self.config.id);
        Outage {
            why: outage.why,
            told: self.secrets.hide_in_beginning(&outage.told, MAX_STATE_BYTES),
            command: outage.why.remedy().map(command),
        }
    }

    /// An error may quote what we sent, and may be as long as a message.
    pub(super) fn without_secrets(&self, error: SourceError) -> SourceError {
        let hide = |text: String| {
            let hidden = self.secrets.hide_in_beginning(&text, MAX_ERROR_BYTES);
            escape_controls(&hidden).into_owned()
        };
        match error {
            SourceError::Refused { code, message, data } => {
                let data = data.filter(|data| data.as_bytes().len() <= MAX_ERROR_DATA_BYTES);
                let data = data.map(|data| masked::data(data, &self.secrets));
                SourceError::Refused { code, message: hide(message), data }
            }
            SourceError::Unavailable(outage) => SourceError::Unavailable(self.shown(outage)),
            SourceError::Malformed { what } => SourceError::Malformed { what: hide(what) },
            other => other,
        }
    }

    async fn ask(&self, operation: Operation, ask: Ask) -> Result<Reply, SourceError> {
        let conversation = self.ready().await?;
        let spare = conversation.link.has_expired().map(|_| ask.clone());
        match (self.ask_in(&conversation, &operation, ask).await?, spare) {
            (Err(error), Some(ask))
                if is_harmless(&operation, &error, conversation.link.has_expired()) =>
            {
                let anew = self.ready().await?;
                Ok(self.ask_in(&anew, &operation, ask).await??)
            }
            (outcome, _) => Ok(outcome?),
        }
    }

    async fn ask_in(
        &self,
        conversation: &Conversation,
        operation: &Operation,
        ask: Ask,
    ) -> Result<Result<Reply, LinkError>, SourceError> {
        let began = Instant::now();
        let offers = conversation.hello.offers;
        match operation {
            Operation::Complete { .. } if !offers.completions => {
                return Err(SourceError::NotOffered { what: "completions" });
            }
            Operation::GetSkill { .. } | Operation::ReadDirectory { .. } if !offers.skills => {
                return Err(SourceError::NotOffered { what: "skills" });
            }
            _ => {}
        }
        let (method, params) = spell(operation);
        let params = params
            .ok_or_else(|| SourceError::Malformed { what: "the arguments are no object".into() })?;
        let body = match conversation.exchange(method, params, ask, self.config.timeout).await {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        self.note_latency(began);
        if !conversation.hello.version.is_modern() {
            return Ok(Ok(Reply::plain(body)));
        }
        Ok(Ok(annotated(body)))
    }

    /// Tells the server how much it is to log, if a client has said so.
    pub(crate) async fn tell_level(&self, conversation: &Conversation) {
        let level = self.log_level.lock().clone();
        let hello = &conversation.hello;
        let Some(level) = level.filter(|_| hello.offers.logging && !hello.version.is_modern())
        else {
            return;
        };
        let mut params = Object::new();
        params.set_str("level", &level);
        let timeout = self.config.timeout.min(Duration::from_secs(5));
        // A server that does not obey still serves.
        let _ = conversation.ask("logging/setLevel", params, Ask::default(), timeout).await;
    }

    async fn watch_one(&self, uri: &LocalUri) -> Result<(), SourceError> {
        if let Some(conversation) = self.conversation() {
            let can_notify = conversation.hello.offers.subscribe;
            if !can_notify && self.config.watch == Watch::Notify {
                return Err(SourceError::NotOffered {
                    what: "notice of changes; set watch = \"poll\" for it to be read now and then",
                });
            }
        }
        let mut in_force = self.in_force.subscribe();
        let mut revision = 0;
        self.wanted.send_modify(|wanted| revision = wanted.insert(uri.clone()));
        if self.conversation().is_some() {
            // The client may change the resource right after our answer, so the server
            // must know first. One that never confirms is believed all the same.
            let known = in_force.wait_for(|known| known.outcome(uri, revision).is_some());
            let known = tokio::time::timeout(MAX_WAIT_FOR_ACKNOWLEDGEMENT, known).await;
            let outcome = known.ok().and_then(|known| known.ok()?.outcome(uri, revision));
            return outcome.unwrap_or(Ok(()));
        }
        Ok(())
    }
}

impl Source for Upstream {
    fn id(&self) -> &SourceId {
        &self.config.id
    }

    fn indexing(&self) -> Indexing {
        self.config.index.into()
    }

    fn is_public(&self) -> bool {
        self.config.is_public
    }

    fn tool_prefix(&self) -> &str {
        self.config.tool_prefix.as_deref().unwrap_or(self.config.id.as_str())
    }

    fn fingerprint(&self) -> u64 {
        self.config.fingerprint()
    }

    fn announces_lists(&self) -> bool {
        self.conversation().is_none_or(|conversation| conversation.hello.offers.announces_all)
    }

    fn abilities(&self) -> Abilities {
        let shows_all = self.config.passes_tools();
        let offers = self.conversation().map(|c| c.hello.offers).unwrap_or_default();
        Abilities {
            watch: offers.subscribe || self.config.watch != Watch::Notify,
            complete: offers.completions,
            log: offers.logging,
            skills: offers.skills,
            tools: shows_all,
            prompts: shows_all,
        }
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            let conversation = self.ready().await?;
            let (config, bounds) = (&self.config, &self.shared.bounds);
            let passes_tools = config.passes_tools();
            let listed = listing::list(&conversation, passes_tools, config.timeout, bounds).await;
            let Listed { mut listing, is_cut } =
                listed.map_err(|error| self.without_secrets(error))?;
            self.shared.board.update(&config.id, |status| status.is_cut = is_cut);
            for omission in &mut listing.omissions {
                *omission = self.secrets.hide_in_beginning(omission, MAX_STATE_BYTES);
            }
            masked::mask(&mut listing, &self.secrets);
            if config.has_flat_schemas {
                flat::flatten(&mut listing.tools).await;
            }
            Ok(listing)
        })
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        Box::pin(async {
            let is_call = matches!(operation, Operation::CallTool { .. });
            let asked = self.ask(operation, ask).await;
            let reply = asked.map_err(|error| self.without_secrets(error))?;
            Ok(if is_call { masked::failure(reply, &self.secrets) } else { reply })
        })
    }

    fn watch<'a>(&'a self, uri: &'a LocalUri) -> BoxFuture<'a, Result<(), SourceError>> {
        Box::pin(async {
            let watched = self.watch_one(uri).await;
            watched.map_err(|error| self.without_secrets(error))
        })
    }

    fn told(&self, uri: &LocalUri) -> Option<Told> {
        let conversation = self.conversation()?;
        let is_polled = self.config.watch != Watch::Notify || !conversation.hello.offers.subscribe;
        let is_heard = is_polled || conversation.link.hears();
        if !conversation.is_open() || !is_heard {
            return None;
        }
        let wish = *self.wanted.borrow().uris.get(uri)?;
        let in_force = self.in_force.borrow();
        let since = in_force.heard_since?;
        match in_force.outcome(uri, wish) {
            Some(Ok(())) => Some(Told { wish, since }),
            Some(Err(_)) | None => None,
        }
    }

    fn unwatch(&self, uri: &LocalUri) {
        self.wanted.send_modify(|wanted| wanted.remove(uri));
    }

    fn set_log_level<'a>(&'a self, level: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            *self.log_level.lock() = Some(level.to_owned());
            if let Some(conversation) = self.conversation() {
                self.tell_level(&conversation).await;
            }
        })
    }
}

/// Whether a failed request may be sent once more. A server that has forgotten our session did
/// nothing for us. A request that was under way meanwhile may have been done, which harms only one
/// that changes something.
fn is_harmless(operation: &Operation, error: &LinkError, has_expired: Option<bool>) -> bool {
    let is_gone = matches!(
        error,
        LinkError::Unreachable(_) | LinkError::Unauthorized(_) | LinkError::Status(..)
    );
    let may_change = matches!(operation, Operation::CallTool { .. });
    matches!(error, LinkError::Forgotten) || (is_gone && !may_change && has_expired == Some(true))
}

/// The method and the arguments of an operation, in the protocol's words, e.g. `tools/call`.
fn spell(operation: &Operation) -> (&'static str, Option<Object<'_>>) {
    let (method, arguments) = match operation {
        Operation::Read { uri } => {
            let mut arguments = Object::new();
            arguments.set_str("uri", uri.as_str());
            return ("resources/read", Some(arguments));
        }
        Operation::ReadDirectory { arguments } => ("resources/directory/read", arguments),
        Operation::Complete { arguments } => ("completion/complete", arguments),
        Operation::CallTool { arguments } => ("tools/call", arguments),
        Operation::GetPrompt { arguments } => ("prompts/get", arguments),
        Operation::GetSkill { arguments } => ("skills/get", arguments),
    };
    (method, arguments.object())
}

/// A modern result, with what it says about itself read out.
fn annotated(body: Json) -> Reply {
    Reply::annotated(body, |object| {
        let kind = object.get_str("resultType");
        (listing::freshness(object), kind.as_deref() == Some("input_required"))
    })
}

/// Why a server is not connected, with where it is in its life.
fn describe(status: Option<&trove_core::status::SourceStatus>) -> Outage {
    let Some(status) = status else { return Outage::new(Why::Gone, "it was removed") };
    let cause = status.last_error.clone();
    let cause = cause.unwrap_or_else(|| Outage::passing("it has not answered yet"));
    let words = &cause.told;
    let told = match status.state {
        State::Idle | State::Connecting => format!("still connecting; {words}"),
        State::Ready => return Outage::passing("it is just ready; ask again"),
        State::Backoff => format!("waiting to try again; {words}"),
        State::CircuitOpen => format!(
            "it failed {} times in a row and is tried once a minute, and soon after it is asked for; {words}",
            status.failures
        ),
        // The cause says that it was cut off, and what to do.
        State::CutOff => return cause,
        State::Stopped => return Outage::new(Why::Gone, "stopped"),
    };
    cause.told(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_done_is_asked_for_once() {
        let call = Operation::CallTool { arguments: Json::empty_object() };
        let read = Operation::Read { uri: "x:1".into() };
        let lost = || LinkError::unreachable("the connection was closed");
        let status = LinkError::Status(502, String::new());
        assert!(is_harmless(&call, &LinkError::Forgotten, Some(true)));
        assert!(
            !is_harmless(&call, &lost(), Some(true)) && !is_harmless(&call, &status, Some(true))
        );
        assert!(
            is_harmless(&read, &lost(), Some(true)) && !is_harmless(&read, &lost(), Some(false))
        );
        assert!(!is_harmless(&read, &LinkError::Lost, Some(true)));
    }
}
