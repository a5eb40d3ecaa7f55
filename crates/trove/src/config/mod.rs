//! Makes files, environment and flags of the user into one [`Config`].
//!
//! [`load`] finds the file, reads it in any known format, e.g. TOML or JSON, and reports every
//! problem at once. It starts nothing, changes nothing and expands no secret.

use std::path::{Path, PathBuf};

use trove_core::status::naming;

pub use env::{EnvLookup, EnvVar, HostScope, ProcessEnv, VARIABLES};
use file::ConfigFile;
pub(crate) use folders::is_whole;
pub use import::Client;
pub(crate) use import::{ClientFile, ClientServer, read_client_file};
use problem::Problems;
pub use problem::{Problem, Severity};
use read::Read as _;
pub use read::Word;
pub(crate) use recipe::shipped as shipped_recipes;
use resolve::{Surroundings, resolve};
pub use schema::schema;
pub(crate) use server::DEFAULT_TIMEOUT;
pub(crate) use server::launches_trove;
pub use settings::{
    BridgeMode, Config, Descriptions, Discovery, Http, HttpAuth, IndexSetting, Origin, Overrides,
    PolicyRule, Setting, Share, Tokens, ToolSearch, Toolset,
};
pub(crate) use show::{masked_args, masked_url};
pub use show::{show, show_origins, show_text};

mod auth;
mod discovery;
pub mod env;
mod file;
mod folders;
mod guide;
mod import;
mod limits;
mod problem;
mod read;
mod recipe;
mod report;
mod resolve;
mod schema;
mod server;
mod settings;
mod show;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

/// The most a configuration file may hold. Claude Code keeps whole histories in its own.
const MAX_FILE: u64 = 64 << 20;

/// The configuration to load, and the places to look for it.
pub struct Request<'a> {
    /// `--config FILE`.
    pub explicit: Option<PathBuf>,
    /// Where the program was started, absolute.
    pub cwd: PathBuf,
    /// The environment.
    pub env: &'a dyn EnvLookup,
    /// The settings that the command line decides.
    pub flags: Overrides,
}

/// A configuration and all there is to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The configuration as far as it was understood, even if the file has errors.
    pub config: Config,
    /// The problems, in the order of the file.
    pub problems: Vec<Problem>,
    /// The file, absolute; `None`: there is none.
    pub origin: Option<PathBuf>,
    /// The client whose file it is, if it is not ours.
    pub client: Option<Client>,
    /// How the file was found.
    pub found: Found,
    /// Servers of other clients that are served because there are none of our own.
    pub borrowed: Vec<Borrowed>,
    is_usable: bool,
    /// The file says which servers there are, be it none.
    tells_servers: bool,
}

/// A server in a file of another client, which was found, not named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Borrowed {
    /// The server, under the id it has with us.
    pub upstream: trove_mcp::upstream::UpstreamConfig,
    /// The file.
    pub file: PathBuf,
    /// The client that owns the file.
    pub client: Client,
}

/// How a configuration file was found. Its author is trusted accordingly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The user named it, with `--config` or `TROVE_CONFIG`.
    Named,
    /// It lay where Trove was started.
    Here,
    /// It lay in the user's own folder.
    Home,
    /// There is none.
    Nowhere,
}

impl Loaded {
    /// Whether to go on with it. An error in `trove.toml` says no; in another client's
    /// file it costs only the entry it stands in.
    pub fn is_usable(&self) -> bool {
        self.is_usable
    }

    /// Whether it has no servers, and does not say so: an empty file, or a part of one.
    pub(crate) fn is_emptied(&self) -> bool {
        self.origin.is_some() && !self.config.has_servers() && !self.tells_servers
    }

    /// The file that a command must name with `--config`, unless every command finds it.
    pub(crate) fn file_to_name(&self) -> Option<&Path> {
        match self.found {
            Found::Named | Found::Here => self.origin.as_deref(),
            Found::Home | Found::Nowhere => None,
        }
    }

    /// The words that name the file on a command line, a blank before them; often none.
    pub(crate) fn naming(&self) -> String {
        self.file_to_name().map(naming).unwrap_or_default()
    }

    /// Whether there is nothing in it that has to be mended.
    pub fn is_sound(&self) -> bool {
        self.is_usable && self.problems.iter().all(|problem| problem.severity != Severity::Error)
    }
}

/// Finds and reads the configuration.
pub fn load(request: &Request<'_>) -> Loaded {
    understand(request, locate(request), read)
}

/// The configuration as it would be if the file named in the request held this text.
pub(crate) fn load_as_if(request: &Request<'_>, text: &str) -> Loaded {
    understand(request, locate(request), |_, _| Some(text.to_owned()))
}

fn understand(
    request: &Request<'_>,
    (origin, found): (Option<PathBuf>, Found),
    text_of: impl FnOnce(&Path, &mut Problems) -> Option<String>,
) -> Loaded {
    let shown = origin.as_deref().map(|path| path.strip_prefix(&request.cwd).unwrap_or(path));
    let mut problems = Problems::of(shown.map(Path::to_owned));
    let text = origin.as_deref().and_then(|path| text_of(path, &mut problems));
    let folder = origin.as_deref().and_then(Path::parent).unwrap_or(&request.cwd);
    let around =
        Surroundings { folder, cwd: &request.cwd, env: request.env, flags: &request.flags };
    let Contents { file, upstreams, client, entry_errors, tells_servers } = match (&origin, &text) {
        (Some(path), Some(text)) => contents(text, path, &around, &mut problems),
        _ => Contents::default(),
    };
    // Paths that a client's file leaves open start where the user is, not where it lies.
    let folder = if client.is_some() { &request.cwd } else { folder };
    let config = resolve(file, upstreams, &Surroundings { folder, ..around }, &mut problems);
    let is_usable = problems.errors() == entry_errors;
    let (problems, borrowed) = (problems.into_sorted(), Vec::new());
    Loaded { config, problems, origin, client, found, borrowed, is_usable, tells_servers }
}

/// The first file that is named or there.
fn locate(request: &Request<'_>) -> (Option<PathBuf>, Found) {
    let from_env = || env::non_empty(request.env, env::TROVE_CONFIG).map(PathBuf::from);
    if let Some(named) = request.explicit.clone().or_else(from_env) {
        return (Some(request.cwd.join(named)), Found::Named);
    }
    let own = env::config_folder(request.env).map(|folder| folder.join("trove.toml"));
    let here = request.cwd.join("trove.toml");
    // A file there is always meant. If it cannot be read as one, that is reported.
    if here.symlink_metadata().is_ok() {
        let is_own = own.is_some_and(|own| own == here);
        return (Some(here), if is_own { Found::Home } else { Found::Here });
    }
    match own.filter(|own| own.symlink_metadata().is_ok()) {
        Some(own) => (Some(own), Found::Home),
        None => (None, Found::Nowhere),
    }
}

fn read(path: &Path, problems: &mut Problems) -> Option<String> {
    match trove_core::files::read_text(path, MAX_FILE) {
        Ok(text) => Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => {
            let message = format!("the file cannot be read: {error}");
            problems
                .unreadable(message, "name a file Trove may read, with --config or TROVE_CONFIG");
            None
        }
    }
}

/// The contents of a file.
#[derive(Default)]
struct Contents {
    file: ConfigFile,
    upstreams: Vec<trove_mcp::upstream::UpstreamConfig>,
    client: Option<Client>,
    /// Errors that cost an entry, not the file.
    entry_errors: usize,
    tells_servers: bool,
}

fn contents(
    text: &str,
    path: &Path,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Contents {
    let (format, root) = match tree::parse(text, path) {
        Ok(parsed) => parsed,
        Err(errors) => {
            for error in errors {
                problems.error(error.at, error.message, "mend the syntax here");
            }
            return Contents::default();
        }
    };
    if let Some(found) = import::recognise(format, &root, path, around.cwd) {
        let here = Surroundings { folder: around.cwd, ..*around };
        let upstreams = import::upstreams(&found, around.folder, &here, problems);
        let discovery = root.get("resourceDiscovery");
        let discovery = discovery.and_then(|node| discovery::of_client(node, problems));
        let file = ConfigFile { discovery: discovery.unwrap_or_default(), ..ConfigFile::default() };
        let (client, entry_errors) = (Some(found.client), problems.errors());
        return Contents { file, upstreams, client, entry_errors, tells_servers: true };
    }
    if format != tree::Format::Toml {
        let hint = format!("servers are sought under {}", import::KNOWN_KEYS);
        problems.error(tree::TOP, "no client Trove knows writes such a file", hint);
        return Contents::default();
    }
    let tells_servers = root.get("servers").is_some() || root.get("folders").is_some();
    let mut file = ConfigFile::read(&root, "", problems).unwrap_or_default();
    let upstreams = server::upstreams(std::mem::take(&mut file.servers), around, problems);
    Contents { file, upstreams, tells_servers, ..Contents::default() }
}
