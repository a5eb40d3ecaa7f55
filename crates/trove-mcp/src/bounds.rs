//! What a peer may make us hold: every bound by name.

use std::time::Duration;

/// The longest message from an upstream. 16 MiB of binary, as base64, must fit.
pub const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// The longest message from a client.
pub const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;
/// The longest URI, listed or asked for.
pub use trove_core::uri::MAX_URI_BYTES;
/// The most templates of one server that are matched.
pub const MAX_TEMPLATES: usize = 1000;
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
pub const MAX_LIST_BYTES: usize = 1024 * 1024 * 1024;
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
/// The most legacy sessions.
pub const MAX_SESSIONS: usize = 10_000;
/// The most legacy sessions of one caller who is known by name.
pub const MAX_SESSIONS_PER_CALLER: usize = 100;
/// How long an idle legacy session is kept.
pub const SESSION_IDLE: Duration = Duration::from_secs(3600);
/// The most resources one client may watch.
pub const MAX_WATCHES_PER_CLIENT: usize = 1000;
/// How long a server may take from its start to its first answer.
pub const MAX_STARTUP: Duration = Duration::from_secs(60);
/// How long a request waits for an upstream that is being connected.
pub const MAX_WAIT_FOR_READY: Duration = Duration::from_secs(10);
/// How many lines of a child's stderr are kept.
pub const MAX_STDERR_LINES: usize = 200;
/// How much of one line of a child's stderr is kept.
pub const MAX_STDERR_LINE: usize = 2048;
/// How long a child may take to end once asked.
pub const CHILD_GRACE: Duration = Duration::from_secs(2);

/// The bounds that `config://security` names.
pub const PUBLISHED: &[(&str, u64)] = &[
    ("max_message_bytes", MAX_MESSAGE_BYTES as u64),
    ("max_request_bytes", MAX_REQUEST_BYTES as u64),
    ("max_uri_bytes", MAX_URI_BYTES as u64),
    ("max_templates_per_source", MAX_TEMPLATES as u64),
    ("max_json_depth", MAX_DEPTH as u64),
    ("max_batch", MAX_BATCH as u64),
    ("max_list_pages", MAX_LIST_PAGES as u64),
    ("max_list_entries", MAX_LIST_ENTRIES as u64),
    ("max_list_bytes", MAX_LIST_BYTES as u64),
    ("max_list_seconds", MAX_LIST_TIME.as_secs()),
    ("max_body_seconds", MAX_BODY_TIME.as_secs()),
    ("max_startup_seconds", MAX_STARTUP.as_secs()),
    ("session_idle_seconds", SESSION_IDLE.as_secs()),
    ("max_watches", trove_core::gateway::MAX_WATCHES as u64),
];
