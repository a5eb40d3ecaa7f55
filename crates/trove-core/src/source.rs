//! The seam: an owner of resources is a [`Source`].
//!
//! An upstream MCP server is one, local knowledge is one, the gateway's word about itself is one.
//! A Source knows its own names only; it never sees a public one.

pub mod meaning;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::{sync::mpsc, time::Instant};

pub use crate::failure::{Outage, SourceError, Why};
pub use crate::source_id::{BadSourceId, MAX_SOURCE_ID, SourceId};
use crate::{
    caller::{Caller, Door},
    json::{Json, Object},
    resource::{Freshness, Listing, ListsChanged},
    uri::LocalUri,
};

/// Owns resources: lists them, reads them, says when they change.
pub trait Source: Send + Sync + 'static {
    /// Its name.
    fn id(&self) -> &SourceId;

    /// Whether it is part of the gateway, so that its names stay bare.
    fn is_builtin(&self) -> bool {
        false
    }

    /// Whether what it has lies on this machine, so that listing and reading cost no message.
    fn is_local(&self) -> bool {
        self.is_builtin()
    }

    /// Whether it may have resources that it does not list.
    fn accepts_unlisted(&self) -> bool {
        true
    }

    /// How much of it search may look into.
    fn indexing(&self) -> Indexing {
        Indexing::Content
    }

    /// Whether its answers may be shown to every caller who may ask, by configuration.
    fn is_public(&self) -> bool {
        false
    }

    /// The part before `_` in the public names of its tools and prompts.
    fn tool_prefix(&self) -> &str {
        self.id().as_str()
    }

    /// A number that tells it from others that had its name before, so that a memory of those is
    /// not taken for its own. It stays equal across restarts.
    fn fingerprint(&self) -> u64 {
        0
    }

    /// Whether it tells when what it lists has changed.
    fn announces_lists(&self) -> bool {
        true
    }

    /// Its abilities beyond listing and reading.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Everything it has, bounded in size and time by the Source itself.
    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>>;

    /// Does one thing and gives the result object as the Source wrote it. Dropping the
    /// future cancels the work.
    fn perform<'a>(
        &'a self,
        operation: Operation,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>>;

    /// Begins to report changes of one resource as [`SourceEvent::Updated`]. It may be asked
    /// to again for one that it reports on already, and then says how that is doing.
    fn watch<'a>(&'a self, _uri: &'a LocalUri) -> BoxFuture<'a, Result<(), SourceError>> {
        Box::pin(async { Err(SourceError::NotOffered { what: "notice of changes" }) })
    }

    /// Since when it is sure to report changes of a resource: the promise is acknowledged, or the
    /// resource is read and compared now and then. `None` as long as it is not. A value that
    /// differs from an earlier one says that changes between the two may have been missed.
    fn told(&self, _uri: &LocalUri) -> Option<Told> {
        None
    }

    /// Ends a watch that [`Source::watch`] began. It only takes note and never waits, because it
    /// is called under a lock.
    fn unwatch(&self, _uri: &LocalUri) {}

    /// Whether it can be asked to search by itself, now.
    fn searches(&self) -> bool {
        false
    }

    /// Asks it to search for a text by itself, and gives at most about `max` hits.
    fn search<'a>(
        &'a self,
        _query: &'a str,
        _max: usize,
        _ask: Ask,
    ) -> BoxFuture<'a, Result<Vec<LiveHit>, SourceError>> {
        Box::pin(async { Err(SourceError::NotOffered { what: "a search" }) })
    }

    /// Asks it to log at `level` and above, where it can.
    fn set_log_level<'a>(&'a self, _level: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// A hit of a Source's own search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveHit {
    /// The name by which the Source reads it.
    pub uri: LocalUri,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// The Source's words about it.
    pub description: Option<String>,
    pub mime: Option<String>,
    /// When it last changed, in seconds since 1970.
    pub modified: Option<i64>,
    /// The piece of it in which the Source found the words.
    pub snippet: Option<String>,
}

/// A time in which every change of one resource is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// The number of the wish to be told.
    pub wish: u64,
    /// When the Source began to be heard.
    pub since: Instant,
}

/// How much of a Source search may look into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexing {
    /// Names, descriptions and contents.
    Content,
    /// Names and descriptions.
    Metadata,
    /// Nothing.
    Off,
}

/// The abilities of a Source beyond listing and reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// It reports changes of watched resources.
    pub watch: bool,
    /// It completes arguments.
    pub complete: bool,
    /// It sends log messages.
    pub log: bool,
    /// It has skills and directories.
    pub skills: bool,
    /// Its tools and prompts are shown to our clients.
    pub tools: bool,
    /// Its prompts are shown to our clients.
    pub prompts: bool,
}

impl Abilities {
    /// The abilities that at least one of two has.
    pub fn or(self, other: Abilities) -> Abilities {
        Abilities {
            watch: self.watch || other.watch,
            complete: self.complete || other.complete,
            log: self.log || other.log,
            skills: self.skills || other.skills,
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
        }
    }
}

/// One thing a Source can be asked to do. Names and URIs in it are the Source's own.
#[derive(Debug, Clone)]
pub enum Operation {
    Read {
        /// Which.
        uri: LocalUri,
    },
    /// List the members of a directory resource.
    ReadDirectory {
        /// The arguments, `uri` among them.
        arguments: Json,
    },
    /// Offer values for an argument of a template or prompt.
    Complete {
        /// The arguments, `ref` among them.
        arguments: Json,
    },
    CallTool {
        /// The arguments, `name` among them.
        arguments: Json,
    },
    GetPrompt {
        /// The arguments, `name` among them.
        arguments: Json,
    },
    GetSkill {
        /// The arguments, `name` or `uri` among them.
        arguments: Json,
    },
}

/// Which of its resources a Source may put into an answer that joins several.
#[derive(Clone, Default)]
pub struct Visible(Option<Arc<Passes>>);

type Passes = dyn Fn(&str) -> bool + Send + Sync;

impl Visible {
    pub const ALL: Visible = Visible(None);

    /// Those whose LocalUri passes.
    pub fn when(passes: impl Fn(&str) -> bool + Send + Sync + 'static) -> Visible {
        Visible(Some(Arc::new(passes)))
    }

    /// Whether this one may be among them.
    pub fn allows(&self, local: &str) -> bool {
        self.0.as_ref().is_none_or(|passes| passes(local))
    }
}

impl std::fmt::Debug for Visible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Visible(some)" } else { "Visible(all)" })
    }
}

/// The companions of an operation: everything that is not its arguments.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Who asks; put there by the Gateway.
    pub caller: Caller,
    /// Which resources may be part of the answer; put there by the Gateway.
    pub visible: Visible,
    /// The caller's own metadata, to be passed on; an object.
    pub meta: Option<Json>,
    /// The capabilities of the caller's client, where the Source may ask back; an object.
    pub capabilities: Option<Json>,
    /// The caller's answers to what the Source asked before: members to add to the arguments.
    pub answers: Option<Json>,
    /// The receiver of notices about the work; absent when the caller wants none.
    pub notices: Option<mpsc::Sender<Notice>>,
    /// Whether the caller wants progress.
    pub wants_progress: bool,
    /// The level of log messages the caller wants, if any.
    pub log_level: Option<String>,
}

impl Default for Ask {
    /// Nothing beside the operation.
    fn default() -> Ask {
        Ask {
            caller: Caller::behind(Door::CommandLine),
            visible: Visible::default(),
            meta: None,
            capabilities: None,
            answers: None,
            notices: None,
            wants_progress: false,
            log_level: None,
        }
    }
}

/// An answer of a Source.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The result object as the Source wrote it.
    pub body: Json,
    /// How long it may be believed, if the Source said so.
    pub freshness: Option<Freshness>,
    /// The Source wants something from the caller before it can answer.
    pub needs_input: bool,
    /// The body itself carries members about the exchange, not only the answer.
    pub is_annotated: bool,
}

impl Reply {
    /// An answer about which nothing more is said.
    pub fn plain(body: Json) -> Reply {
        Reply { body, freshness: None, needs_input: false, is_annotated: false }
    }

    /// An answer that says something about itself, which `read` reads from it.
    pub fn annotated(
        body: Json,
        read: impl FnOnce(&Object<'_>) -> (Option<Freshness>, bool),
    ) -> Reply {
        let (freshness, needs_input) = body.object().as_ref().map(read).unwrap_or_default();
        Reply { body, freshness, needs_input, is_annotated: true }
    }

    /// A copy that shares memory with nothing larger than itself.
    #[must_use]
    pub fn compact(&self) -> Reply {
        Reply { body: self.body.compact(), ..self.clone() }
    }
}

/// A notice of a Source while it works.
#[derive(Debug, Clone)]
pub enum Notice {
    /// How far it is: `progress`, `total`, `message`; an object without a token.
    Progress(Json),
    /// A log message; an object.
    Log(Json),
}

/// An event at a Source.
#[derive(Debug, Clone)]
pub enum SourceEvent {
    /// It can be listed now: it connected, or connected again.
    Ready,
    /// It says that some of its lists changed.
    ListsChanged(ListsChanged),
    /// A watched resource changed.
    Updated(LocalUri),
    /// It cannot be reached now; its last listing stands.
    Down,
    /// It wrote a log message that belongs to no request; an object.
    Log(Json),
}
