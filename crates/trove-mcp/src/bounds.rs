//! Bounds on the memory and work that a peer may cost us, each by name.

use std::{num::NonZeroU32, time::Duration};

use trove_core::{content::PatternLimits, gateway::Limits};

/// The longest message from an upstream. 16 MiB of binary, as base64, must fit.
pub const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// The longest message from a client.
pub const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;
/// The most memory that the bodies of requests over HTTP take together.
pub const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// The beginning of each body that does not count there.
pub const FREE_BODY_BYTES: usize = 16 * 1024;
/// The longest URI, listed or asked for.
pub use trove_core::uri::MAX_URI_BYTES;
/// The most templates of one server that are matched.
pub const MAX_TEMPLATES: usize = 1000;
/// The longest template of a server that is matched.
pub use trove_core::template::MAX_TEMPLATE_BYTES;
/// The deepest nesting of a message from a client.
pub const MAX_DEPTH: usize = 256;
/// The most messages in one batch.
pub const MAX_BATCH: usize = 50;
/// The longest log message from a server that is passed on.
pub const MAX_LOG_BYTES: usize = 64 * 1024;
/// The most streams of changes one stdio client may have open.
pub const MAX_LISTENS: usize = 64;
/// How long the body of a request may take to arrive.
pub const MAX_BODY_TIME: Duration = Duration::from_secs(30);
/// The most pages of one list.
pub const MAX_LIST_PAGES: usize = 10_000;
/// The most entries of one list.
pub const MAX_LIST_ENTRIES: usize = 1_000_000;
/// The most bytes of one list.
pub const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;
/// The longest time one list may take, all pages together.
pub const MAX_LIST_TIME: Duration = Duration::from_secs(120);
/// The most requests waiting for one upstream.
pub const MAX_PENDING: usize = 1024;
/// The most messages waiting to be written to one peer.
pub const MAX_OUTBOX: usize = 1024;
/// The most notices about one request that wait for a slow client.
pub const MAX_NOTICES: usize = 256;
/// The most requests one connection may have under way.
pub const MAX_CONCURRENT_REQUESTS: usize = 1024;
/// The most legacy sessions over HTTP that are held in memory.
pub const MAX_SESSIONS: usize = 10_000;
/// The most of them of one caller who is known by name.
pub const MAX_SESSIONS_PER_CALLER: usize = 100;
/// How long an idle one is held: messages wait in it for a client whose stream broke.
pub const SESSION_IDLE: Duration = Duration::from_secs(60);
/// How long the id of a legacy session is taken.
pub const MAX_SESSION_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a cursor is taken.
pub const MAX_CURSOR_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long what a server gave a client to bring back with its answer is taken back. A person
/// may have to be asked meanwhile.
pub const MAX_STATE_AGE: Duration = Duration::from_secs(3600);
/// The most resources one client may watch.
pub const MAX_WATCHES_PER_CLIENT: usize = 1000;
/// The most connections of the HTTP door.
pub const MAX_CONNECTIONS: usize = 10_240;
/// The longest head of a request.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How long the head of a request may take to arrive, from its first byte on.
pub const MAX_HEADER_TIME: Duration = Duration::from_secs(10);
/// The most requests a second of one caller who is known by name, unless configured.
pub const MAX_REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(200).expect("not zero");
/// The most requests of one named caller that are under way over HTTP, unless configured.
pub const MAX_CONCURRENT_PER_CALLER: usize = 64;
/// The most such requests of all callers without names together, unless configured.
pub const MAX_CONCURRENT_UNNAMED: usize = 4096;
/// The most streams of changes of one named caller over HTTP, unless configured.
pub const MAX_STREAMS_PER_CALLER: usize = 100;
/// The most servers that we start.
pub const MAX_CHILDREN: usize = 500;
/// How long a server may take from its start to its first answer.
pub const MAX_STARTUP: Duration = Duration::from_secs(60);
/// How long a request waits for an upstream that is being connected.
pub const MAX_WAIT_FOR_READY: Duration = Duration::from_secs(10);
/// How much work a server may make at once that no request asked for: about a byte of a message
/// is one unit of it.
pub const MAX_UNASKED_BYTES: u64 = 32 * 1024 * 1024;
/// How much of that it may make in the long run, each second.
pub const UNASKED_BYTES_PER_SECOND: u64 = 512 * 1024;
/// How much is shown of the words of an error of a server.
pub const MAX_ERROR_BYTES: usize = 16 * 1024;
/// How many letters are told of a page with a status that is no success.
pub const MAX_STATUS_LETTERS: usize = 200;
/// How much of an error is kept on the board.
pub const MAX_STATE_BYTES: usize = 2 * 1024;
/// The longest data of an error that is passed on.
pub const MAX_ERROR_DATA_BYTES: usize = 64 * 1024;
/// How much is shown of the name and the version of a server.
pub const MAX_SERVER_NAME_BYTES: usize = 256;
/// How many lines of a child's stderr are kept.
pub const MAX_STDERR_LINES: usize = 200;
/// How much of one line of a child's stderr is kept.
pub const MAX_STDERR_LINE: usize = 2048;
/// How long a child may take to end once asked.
pub const CHILD_GRACE: Duration = Duration::from_secs(2);

/// How often one caller may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// In the long run.
    pub per_second: NonZeroU32,
    /// At once, after a pause.
    pub burst: NonZeroU32,
}

/// How much work one server may make that no request asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unasked {
    /// At once, after a pause.
    pub bytes: u64,
    /// In the long run.
    pub bytes_per_second: u64,
}

impl Default for Unasked {
    fn default() -> Unasked {
        Unasked { bytes: MAX_UNASKED_BYTES, bytes_per_second: UNASKED_BYTES_PER_SECOND }
    }
}

/// The bounds that a configuration may move; the constants are where they stand otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The longest message from an upstream.
    pub message_bytes: usize,
    /// How much work a server may make unasked, before it is slowed and then cut off.
    pub unasked: Unasked,
    /// The longest message from a client.
    pub request_bytes: usize,
    /// The most that the bodies of all requests over HTTP take together, without the first
    /// [`FREE_BODY_BYTES`] of each.
    pub body_bytes: usize,
    /// The most pages of one list.
    pub list_pages: usize,
    /// The most entries of one list.
    pub list_entries: usize,
    /// The longest time one list may take.
    pub list_time: Duration,
    /// The most bytes of one list.
    pub list_bytes: usize,
    /// The most templates of one server that are matched.
    pub templates: usize,
    /// The longest template that is matched; never more than [`MAX_TEMPLATE_BYTES`].
    pub template_bytes: usize,
    /// The deepest nesting of a message from a client.
    pub json_depth: usize,
    /// The most servers that we start.
    pub children: usize,
    /// How long a server may take from its start to its first answer.
    pub startup_time: Duration,
    /// The most requests waiting for one upstream.
    pub waiting: usize,
    /// The most requests that the client on stdio may have under way.
    pub stdio_requests: usize,
    /// The most connections of the HTTP door.
    pub connections: usize,
    /// How long the head of a request may take to arrive.
    pub header_time: Duration,
    /// How long its body may take.
    pub body_time: Duration,
    /// The most legacy sessions over HTTP that are held in memory.
    pub sessions: usize,
    /// The most of them of one named caller.
    pub sessions_per_caller: usize,
    /// How long an idle one is held.
    pub session_idle: Duration,
    /// How long the id of one is taken.
    pub session_age: Duration,
    /// How long the state of an unfinished request is taken back from a client.
    pub state_age: Duration,
    /// The most resources one client may watch.
    pub watches_per_client: usize,
    /// How often one caller may ask over HTTP; without it, as often as it likes.
    pub rate: Option<Rate>,
    /// The most requests of one caller under way over HTTP.
    pub concurrent_requests: usize,
    /// The most streams of changes of one caller over HTTP.
    pub streams: usize,
    /// Bounds of the gateway behind the doors.
    pub gateway: Limits,
    /// How large the pattern of a search in a content may be.
    pub patterns: PatternLimits,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            message_bytes: MAX_MESSAGE_BYTES,
            unasked: Unasked::default(),
            request_bytes: MAX_REQUEST_BYTES,
            body_bytes: MAX_BODY_BYTES,
            list_pages: MAX_LIST_PAGES,
            list_entries: MAX_LIST_ENTRIES,
            list_time: MAX_LIST_TIME,
            list_bytes: MAX_LIST_BYTES,
            templates: MAX_TEMPLATES,
            template_bytes: MAX_TEMPLATE_BYTES,
            json_depth: MAX_DEPTH,
            children: MAX_CHILDREN,
            startup_time: MAX_STARTUP,
            stdio_requests: MAX_CONCURRENT_REQUESTS,
            waiting: MAX_PENDING,
            connections: MAX_CONNECTIONS,
            header_time: MAX_HEADER_TIME,
            body_time: MAX_BODY_TIME,
            sessions: MAX_SESSIONS,
            sessions_per_caller: MAX_SESSIONS_PER_CALLER,
            session_idle: SESSION_IDLE,
            session_age: MAX_SESSION_AGE,
            state_age: MAX_STATE_AGE,
            watches_per_client: MAX_WATCHES_PER_CLIENT,
            rate: None,
            concurrent_requests: MAX_CONCURRENT_UNNAMED,
            streams: MAX_CONNECTIONS,
            gateway: Limits::default(),
            patterns: PatternLimits::default(),
        }
    }
}

impl Bounds {
    /// Those of a door where callers have names.
    pub fn for_named() -> Bounds {
        let per_second = MAX_REQUESTS_PER_SECOND;
        Bounds {
            rate: Some(Rate { per_second, burst: per_second.saturating_mul(BURST_SECONDS) }),
            concurrent_requests: MAX_CONCURRENT_PER_CALLER,
            streams: MAX_STREAMS_PER_CALLER,
            ..Bounds::default()
        }
    }

    /// Those that `config://security` names beside the rest.
    pub fn published(&self) -> Vec<(&'static str, u64)> {
        let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let mut all = FIXED.to_vec();
        all.extend([
            ("max_message_bytes", number(self.message_bytes)),
            ("max_unasked_bytes", self.unasked.bytes),
            ("max_unasked_bytes_per_second", self.unasked.bytes_per_second),
            ("max_request_bytes", number(self.request_bytes)),
            ("max_body_bytes", number(self.body_bytes)),
            ("max_list_pages", number(self.list_pages)),
            ("max_list_entries", number(self.list_entries)),
            ("max_list_seconds", self.list_time.as_secs()),
            ("max_header_seconds", self.header_time.as_secs()),
            ("max_body_seconds", self.body_time.as_secs()),
            ("session_idle_seconds", self.session_idle.as_secs()),
            ("max_session_seconds", self.session_age.as_secs()),
            ("max_request_state_seconds", self.state_age.as_secs()),
            ("max_connections", number(self.connections)),
            ("max_list_bytes", number(self.list_bytes)),
            ("max_templates_per_source", number(self.templates)),
            ("max_template_bytes", number(self.template_bytes)),
            ("max_json_depth", number(self.json_depth)),
            ("max_children", number(self.children)),
            ("max_startup_seconds", self.startup_time.as_secs()),
            ("max_uri_bytes", number(self.gateway.uri_bytes)),
            ("max_watches", number(self.gateway.watches)),
            ("max_cache_bytes", self.gateway.cache_bytes),
            ("max_cached_answer_bytes", number(self.gateway.cached_answer_bytes)),
            ("max_index_bytes", self.gateway.index_bytes),
            ("max_pattern_bytes", number(self.patterns.bytes)),
            ("max_compiled_pattern_bytes", number(self.patterns.compiled_bytes)),
        ]);
        all
    }
}

/// How many seconds' worth of requests may come at once, unless configured.
pub const BURST_SECONDS: NonZeroU32 = NonZeroU32::new(2).expect("not zero");

/// The bounds that stand where they are, as `config://security` names them.
const FIXED: &[(&str, u64)] = &[
    ("max_batch", MAX_BATCH as u64),
    ("max_cursor_seconds", MAX_CURSOR_AGE.as_secs()),
    ("max_session_notes_bytes", crate::server::MAX_NOTED_BYTES as u64),
    ("max_vectors", trove_core::search::MAX_VECTORS as u64),
    ("max_head_bytes", MAX_HEAD_BYTES as u64),
    ("max_streams_on_stdio", MAX_LISTENS as u64),
    ("max_policy_rules", trove_core::access::MAX_RULES as u64),
    ("max_audit_waiting", trove_core::access::audit::MAX_WAITING as u64),
];
