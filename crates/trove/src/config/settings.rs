//! The configuration in force: every value typed, checked and filled in.
//!
//! Made by `resolve` alone. Servers keep their variables unexpanded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::SocketAddr,
    ops::Deref,
    path::{Path, PathBuf},
    time::Duration,
};

use trove_core::{SourceId, knowledge};
use trove_folders::FolderSettings;
use trove_mcp::{
    bounds::Bounds,
    upstream::{Index, Text, UpstreamConfig},
};

pub use super::file::{BridgeMode, Descriptions, ToolSearch, Toolset};

/// Everything the program was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The servers, in the order of the file.
    pub upstreams: Vec<UpstreamConfig>,
    /// The folders that are served, in the order of the file.
    pub folders: Vec<FolderSettings>,
    /// How Trove is served over HTTP.
    pub http: Http,
    /// The folder of local knowledge, absolute.
    pub guide_root: Setting<PathBuf>,
    /// How many documents of it one answer may hold.
    pub guide_max_documents: Setting<usize>,
    /// Its categories, collections and projects.
    pub guide_groups: knowledge::Groups,
    /// The project that is meant where no folder tells.
    pub guide_project: Setting<Option<String>>,
    /// How resources are found and kept.
    pub discovery: Discovery,
    /// The rules on reading, by URI and role.
    pub policy: Vec<PolicyRule>,
    /// The roles of the user who starts us over stdio or on the command line.
    pub local_roles: Setting<Vec<String>>,
    /// The issuer whose signed tokens HTTP clients may show.
    pub tokens: Tokens,
    /// The keys that seal what clients carry, unexpanded; none: our own.
    pub keys: Setting<Vec<Text>>,
    /// When clients get the bridge tools.
    pub bridge: Setting<BridgeMode>,
    /// The groups of tools that are offered.
    pub toolsets: Setting<Vec<Toolset>>,
    /// How much a tool says about itself.
    pub descriptions: Setting<Descriptions>,
    /// When tools of servers are found instead of listed.
    pub tool_search: Setting<ToolSearch>,
    /// How many tokens their list may take before.
    pub tool_budget: Setting<usize>,
    /// The part before the names of tools that share a prefix.
    pub tool_prefix: Setting<String>,
    /// Whether failures leave out details that only the operator should see.
    pub mask_error_details: Setting<bool>,
    /// The most bytes of a resource that one answer may be asked to hold.
    pub max_answer_bytes: Setting<usize>,
    /// Whether requests are recorded by caller, and how much of the record is kept.
    pub audit: Audit,
    /// How much may be asked, sent and held.
    pub bounds: Bounds,
    /// Which of those the file decides, by key.
    pub written_limits: BTreeSet<&'static str>,
    /// Whether programs may be run.
    pub code_enabled: Setting<bool>,
    /// Where everything is kept that outlives the process, absolute.
    pub state_dir: Setting<PathBuf>,
}

/// How Trove is served over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// The address to listen on.
    pub addr: Setting<SocketAddr>,
    /// How a client proves who it is.
    pub auth: Setting<HttpAuth>,
    /// Under which address clients reach it, if another.
    pub public_url: Setting<Option<String>>,
    /// The pages beside those of this machine whose scripts may ask.
    pub allowed_origins: Setting<Vec<String>>,
    /// Whether there is a door at `/sse`.
    pub has_sse: Setting<bool>,
}

/// The issuer whose signed tokens HTTP clients may show, and the roles that follow from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// The issuer that signs them.
    pub issuer: Setting<Option<String>>,
    /// For whom they must be made; the address of `/mcp` unless written.
    pub audience: Setting<Option<String>>,
    /// Where the issuer's keys are, if it does not say.
    pub jwks_url: Setting<Option<String>>,
    /// The scopes that each needs.
    pub required_scopes: Setting<Vec<String>>,
    /// The roles that follow from a scope.
    pub scope_roles: BTreeMap<String, Vec<String>>,
    /// The claim that lists roles.
    pub roles_claim: Setting<Option<String>>,
    /// How far clocks may differ.
    pub leeway: Setting<Duration>,
}

/// How resources are found and kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// How long contents are believed where their Source does not say.
    pub cache_ttl: Setting<Duration>,
    /// Contents with more bytes are not indexed.
    pub max_content_bytes: Setting<usize>,
    /// How many contents are read for the index at a time.
    pub parallel: Setting<usize>,
    /// Whether answers may show a piece of a content.
    pub has_previews: Setting<bool>,
    /// How relevant a resource must be to be found.
    pub relevance_threshold: Setting<Share>,
    /// Whether meaning joins the ranking.
    pub is_semantic: Setting<bool>,
    /// Whether logs tell what was asked for.
    pub logs_queries: Setting<bool>,
    /// The resources that search may read, by URI; the first rule that matches decides.
    pub index: Vec<IndexSetting>,
}

/// One rule on what search may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSetting {
    /// The resources it is about, as in `wiki://drafts/*`.
    pub pattern: String,
    /// The part of them that search may read.
    pub index: Index,
}

/// A share from 0 to 1, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u16);

impl Share {
    /// Of so many thousandths, at most all.
    pub const fn of_thousandths(thousandths: u16) -> Share {
        Share(if thousandths > 1000 { 1000 } else { thousandths })
    }

    /// From 0 to 1, and nothing else.
    pub fn new(share: f64) -> Option<Share> {
        (0.0..=1.0).contains(&share).then(|| Share((share * 1000.0).round() as u16))
    }

    /// From 0 to 1.
    pub fn get(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// The record of requests by caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Whether it is kept.
    pub enabled: Setting<bool>,
    /// How large a file grows before the next is begun.
    pub max_file_bytes: Setting<u64>,
    /// How many full files are kept.
    pub kept_files: Setting<usize>,
    /// Whether lines tell a digest of what was given.
    pub digests: Setting<bool>,
}

/// How an HTTP client proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpAuth {
    /// It need not. The address is then a loopback one.
    None,
    /// By the token in the state folder.
    Token,
    /// By a token that the issuer signed.
    Jwt,
    /// Signed tokens, and clients are told where to get one.
    Oauth,
}

/// One rule on reading, by URI and role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// The resources it is about, as in `admin://*`.
    pub pattern: String,
    /// The roles of which a caller needs one.
    pub roles: Vec<String>,
    /// Whether callers without the role see that the resource exists.
    pub visible: bool,
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The origin of the value.
    pub origin: Origin,
}

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The documented default.
    Default,
    /// The configuration file.
    File,
    /// An environment variable.
    Env,
    /// The command line.
    Flag,
}

/// The settings of the command line, above file and environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--http ADDR`
    pub http_addr: Option<SocketAddr>,
    /// `--no-auth`
    pub no_auth: bool,
    /// `--bridge MODE`
    pub bridge: Option<BridgeMode>,
    /// `--toolsets LIST`
    pub toolsets: Option<Vec<Toolset>>,
}

impl Config {
    /// Whether it names a server or a folder.
    pub fn has_servers(&self) -> bool {
        self.server_ids().next().is_some()
    }

    /// The ids of its servers, then of its folders.
    pub fn server_ids(&self) -> impl Iterator<Item = &SourceId> {
        let servers = self.upstreams.iter().map(|upstream| &upstream.id);
        servers.chain(self.folders.iter().map(|folder| &folder.id))
    }

    /// Local knowledge as it is configured, for a user who works in `folder`.
    pub fn guide(&self, folder: &Path) -> knowledge::Settings {
        let of_folder = self.guide_groups.project_at(folder).map(str::to_owned);
        knowledge::Settings {
            root: self.guide_root.value.clone(),
            max_documents: self.guide_max_documents.value,
            groups: self.guide_groups.clone(),
            project: of_folder.or_else(|| self.guide_project.value.clone()),
        }
    }
}

impl HttpAuth {
    /// The word for it in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            HttpAuth::None => "none",
            HttpAuth::Token => "token",
            HttpAuth::Jwt => "jwt",
            HttpAuth::Oauth => "oauth",
        }
    }
}

impl<T> Deref for Setting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Default => "default",
            Origin::File => "file",
            Origin::Env => "env",
            Origin::Flag => "flag",
        })
    }
}
