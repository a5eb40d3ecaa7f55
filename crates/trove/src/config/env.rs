//! Every environment variable the configuration reads, and the folders that follow.
//!
//! Nothing else in the program looks at the environment for settings. Variables that servers refer
//! to by `${env:NAME}` are the user's choice and not listed here.

use std::{
    io,
    path::{Path, PathBuf},
};

use trove_core::files;
use trove_mcp::upstream::Scope;

/// A variable we read, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvVar {
    /// Its name.
    pub name: &'static str,
    /// Its effect, in a sentence.
    pub meaning: &'static str,
}

/// The configuration file, unless `--config` names one.
pub const TROVE_CONFIG: &str = "TROVE_CONFIG";
/// The folder of everything Trove keeps.
pub const TROVE_HOME: &str = "TROVE_HOME";
/// The user's home folder.
pub const HOME: &str = "HOME";
/// The folder of the user's configuration files.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The folder of what programs keep between runs.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";

/// The prefix of the names of the guide's and the flags' tools.
pub const MCP_TOOL_PREFIX: &str = "MCP_TOOL_PREFIX";
/// Whether the example tools are offered.
pub const MCP_INCLUDE_EXAMPLE_TOOLS: &str = "MCP_INCLUDE_EXAMPLE_TOOLS";
/// How long contents are believed where their server does not say, in milliseconds.
pub const RESOURCE_DISCOVERY_CACHE_TTL: &str = "RESOURCE_DISCOVERY_CACHE_TTL";
/// Contents with more bytes are not indexed.
pub const RESOURCE_DISCOVERY_MAX_CONTENT_SIZE: &str = "RESOURCE_DISCOVERY_MAX_CONTENT_SIZE";
/// How many contents are read for the index at a time.
pub const RESOURCE_DISCOVERY_PARALLEL_REQUESTS: &str = "RESOURCE_DISCOVERY_PARALLEL_REQUESTS";

/// All of them.
pub const VARIABLES: &[EnvVar] = &[
    EnvVar { name: TROVE_CONFIG, meaning: "The configuration file, unless --config names one." },
    EnvVar {
        name: TROVE_HOME,
        meaning: "Where Trove keeps its snapshot, index, token, keys and audit; \
                  else $XDG_STATE_HOME/trove.",
    },
    EnvVar { name: HOME, meaning: "The home folder, for ${home} and for the folders below." },
    EnvVar {
        name: XDG_CONFIG_HOME,
        meaning: "Where trove/trove.toml is sought last; else ~/.config.",
    },
    EnvVar {
        name: XDG_STATE_HOME,
        meaning: "Where the folder trove is made; else ~/.local/state.",
    },
    EnvVar {
        name: MCP_TOOL_PREFIX,
        meaning: "What stands before the names of guide and flag tools: `guide` unless set, \
                  nothing if set to nothing.",
    },
    EnvVar { name: MCP_INCLUDE_EXAMPLE_TOOLS, meaning: "`true` offers the example tools too." },
    EnvVar { name: RESOURCE_DISCOVERY_CACHE_TTL, meaning: "`discovery.cache_ttl_ms`." },
    EnvVar { name: RESOURCE_DISCOVERY_MAX_CONTENT_SIZE, meaning: "`discovery.max_content_size`." },
    EnvVar {
        name: RESOURCE_DISCOVERY_PARALLEL_REQUESTS,
        meaning: "`discovery.parallel_requests`.",
    },
];

/// The most a file named by a variable may hold.
const MAX_VALUE_FILE: u64 = 1 << 20;

/// Looks up environment variables.
pub trait EnvLookup: Send + Sync {
    /// The value, unless it is unset or no text.
    fn get(&self, name: &str) -> Option<String>;
}

/// The environment of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnv;

impl EnvLookup for ProcessEnv {
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

impl<E: EnvLookup + ?Sized> EnvLookup for &E {
    fn get(&self, name: &str) -> Option<String> {
        (**self).get(name)
    }
}

/// The meaning of variables on this machine, in one project, e.g. of `${workspaceFolder}`.
#[derive(Debug, Clone)]
pub struct HostScope<E> {
    env: E,
    workspace: PathBuf,
}

impl<E: EnvLookup> HostScope<E> {
    /// For a gateway started in the folder `workspace`.
    pub fn new(env: E, workspace: PathBuf) -> HostScope<E> {
        HostScope { env, workspace }
    }
}

impl<E: EnvLookup> Scope for HostScope<E> {
    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name)
    }

    fn home(&self) -> Option<PathBuf> {
        folder(&self.env, HOME)
    }

    fn workspace(&self) -> Option<PathBuf> {
        Some(self.workspace.clone())
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        files::read_text(&self.workspace.join(path), MAX_VALUE_FILE)
    }
}

/// The home folder of the user.
pub(crate) fn home_folder(env: &dyn EnvLookup) -> Option<PathBuf> {
    folder(&env, HOME)
}

/// Where `trove.toml` is sought last.
pub(crate) fn config_folder(env: &dyn EnvLookup) -> Option<PathBuf> {
    let base =
        folder(&env, XDG_CONFIG_HOME).or_else(|| Some(folder(&env, HOME)?.join(".config")))?;
    Some(base.join("trove"))
}

/// Where state is kept if `TROVE_HOME` does not say.
pub(super) fn state_folder(env: &dyn EnvLookup) -> Option<PathBuf> {
    let of_home = || Some(folder(&env, HOME)?.join(".local/state"));
    Some(folder(&env, XDG_STATE_HOME).or_else(of_home)?.join("trove"))
}

/// A value that says something.
pub(super) fn non_empty(env: &dyn EnvLookup, name: &str) -> Option<String> {
    env.get(name).filter(|value| !value.is_empty())
}

/// Whether a variable switches something on, e.g. with `1` or `yes`.
pub(super) fn says_yes(word: &str) -> bool {
    ["1", "true", "yes"].iter().any(|yes| yes.eq_ignore_ascii_case(word.trim()))
}

/// The XDG rules: a relative path counts as unset.
fn folder(env: &dyn EnvLookup, name: &str) -> Option<PathBuf> {
    non_empty(env, name).map(PathBuf::from).filter(|path| path.is_absolute())
}
