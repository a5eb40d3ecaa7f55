//! `config://`: the settings and limits in force, and `auth://`: who the caller is to us.
//!
//! The published settings are those in force: the program fills them from the constants and the
//! configuration it enforces. No secret, no path and no environment value is among them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// `config://server`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ServerSettings {
    /// The program's version.
    pub version: &'static str,
    /// How long a server may take for one answer unless its entry says otherwise.
    pub default_timeout_seconds: u64,
    /// Whether failures leave out what only those who run the gateway should see.
    pub mask_error_details: bool,
    /// The doors, and whether each is open.
    pub transport: Vec<Transport>,
    /// The protocol versions spoken.
    pub protocol_versions: Vec<&'static str>,
    /// How contents are kept.
    pub cache: CacheSettings,
    /// How resources are found.
    pub search: SearchSettings,
    /// The groups of tools that are offered.
    pub toolsets: Vec<&'static str>,
}

/// A door.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Transport {
    /// `stdio` or `http`.
    pub kind: &'static str,
    /// How a client proves who it is: `none`, `token`, `jwt` or `oauth`.
    pub auth: &'static str,
    /// Whether clients come in by it in this run.
    pub open: bool,
}

/// How contents are kept.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct CacheSettings {
    /// How long, where their Source does not say and they are public by configuration.
    pub default_ttl_ms: u64,
    /// The most bytes of all.
    pub max_bytes: u64,
    /// The most bytes of one.
    pub max_entry_bytes: usize,
}

/// How resources are found.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SearchSettings {
    /// Whether there is an index.
    pub enabled: bool,
    /// Whether meaning joins the ranking.
    pub semantic: bool,
}

/// `config://security`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SecuritySettings {
    /// The modules that programs may import.
    pub allowed_modules: Vec<&'static str>,
    /// The modules that they must not import.
    pub blocked_modules: Vec<&'static str>,
    /// The built-in functions that they lack.
    pub dangerous_builtins: Vec<&'static str>,
    /// How much memory they may take.
    pub memory_limit_mb: u64,
    /// How long they may be.
    pub code_size_bytes: u64,
    /// How many calls one may make.
    pub program_calls: usize,
    /// How many bytes those may read, shown to it or not.
    pub program_read_bytes: usize,
    /// How much it may give back.
    pub program_output_bytes: usize,
    /// How long it may take altogether.
    pub program_seconds: u64,
    /// How long of that it may compute.
    pub program_compute_seconds: u64,
    /// Search calls itself complete from this share of indexable resources on, in percent.
    pub coverage_threshold: u8,
    /// The longest message taken from a server.
    pub max_resource_bytes: usize,
    /// The most bytes of a resource that one tool answer holds.
    pub max_response_bytes: usize,
    /// How long a server may take for one answer unless its entry says otherwise.
    pub request_timeout_seconds: u64,
    /// How often a caller may ask.
    pub rate_limits: RateLimits,
    /// Whether HTTP asks who the caller is.
    pub auth_required: bool,
    /// The pages whose scripts may ask.
    pub allowed_origins: Vec<String>,
    /// Who may read what; rules that hide are told to those they hide nothing from.
    pub policy_rules: Vec<RuleShown>,
    /// Every other bound, by name.
    pub limits: BTreeMap<&'static str, u64>,
}

/// How often a caller may ask.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct RateLimits {
    /// Requests one caller may send over HTTP each second, in the long run; none: as many as it likes.
    pub requests_per_second: Option<u32>,
    /// Requests one caller may send at once after a pause.
    pub burst: Option<u32>,
    /// Requests one caller may have under way over HTTP.
    pub concurrent_requests_per_caller: usize,
    /// Streams of changes one caller may have open over HTTP.
    pub streams_per_caller: usize,
    /// Requests that one connection on stdio may have under way.
    pub concurrent_requests_per_connection: usize,
    /// Requests that may wait for one server.
    pub waiting_requests_per_source: usize,
    /// Legacy sessions at once.
    pub sessions: usize,
    /// Those of one caller who has a name.
    pub sessions_per_caller: usize,
    /// Resources one client may watch.
    pub subscriptions_per_client: usize,
}

/// One rule on who may read what.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuleShown {
    /// The resources it is about.
    pub pattern: String,
    /// The roles of which a caller needs one.
    pub roles: Vec<String>,
}

/// `auth://status`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CallerStatus {
    /// The door: `stdio`, `http` or `command line`.
    pub door: &'static str,
    /// Whether the caller has proved to be allowed in: by having started the program, by
    /// its token, or by one that an issuer signed.
    pub authenticated: bool,
    /// Who, where the door told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The roles.
    pub roles: Vec<String>,
    /// How they were established.
    pub roles_from: &'static str,
    /// The rules that keep resources out of reach for want of a role.
    pub out_of_reach: Vec<RuleShown>,
    /// The servers that have an `auth://status` of their own: it tells who Trove is to them.
    pub servers: Vec<OwnStanding>,
}

/// The `auth://status` of a server.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnStanding {
    /// The server.
    pub server: String,
    /// The name that leads there, such as `wiki+auth://status`.
    pub uri: String,
}

/// `info://collisions`: one name that several use, Trove itself among them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Collision {
    /// The name: a URI, the text of a template, or the name of a tool or prompt.
    pub uri: String,
    /// `resource`, `template`, `tool` or `prompt`.
    pub kind: &'static str,
    /// The names that settle it, one for each who uses it; what is Trove's own keeps its name.
    pub reached_as: Vec<String>,
}
