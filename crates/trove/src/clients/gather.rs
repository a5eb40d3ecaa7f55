//! Collects the servers of every client into one list without doubles.
//!
//! Reads files and nothing else; what they name is not run.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use trove_core::SourceId;
use trove_mcp::upstream::{Reach, UpstreamConfig};

use super::{
    convert::{Converter, Imported, Needed, Origin},
    locate::{Host, Scope},
    table::Row,
};
use crate::config::{Client, ClientFile, ClientServer, Problem, read_client_file};

/// The most servers one import takes.
const MAX_SERVERS: usize = 1_000;

/// The servers to collect.
pub(crate) struct Request<'a> {
    /// The clients to look at, unless one file is named.
    pub(crate) rows: Vec<&'static Row>,
    pub(crate) from: Option<&'a Path>,
    /// The files to look at, if not all of those clients.
    pub(crate) only: Option<Vec<(Scope, PathBuf)>>,
    /// The servers that `trove.toml` has already.
    pub(crate) existing: &'a [UpstreamConfig],
    /// Where this Trove is served.
    pub(crate) own_url: String,
}

/// The servers that were found.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) servers: Vec<Imported>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) problems: Vec<Problem>,
    /// Every file that held servers, with their number.
    pub(crate) files: Vec<(Client, Scope, PathBuf, usize)>,
    /// Whether the one file that was named is no client's.
    pub(crate) is_unknown_file: bool,
}

/// A server that is not taken over, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) origin: Origin,
    pub(crate) why: String,
    /// The server of `trove.toml` that is the same.
    pub(crate) twin: Option<Twin>,
}

/// A server of `trove.toml` that stands in a client's file too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Twin {
    pub(crate) id: SourceId,
    /// Whether it is given the same variables or headers.
    pub(crate) is_whole: bool,
    /// The variables that it takes, with their values in that file.
    pub(crate) needed: Vec<Needed>,
}

/// Why a server is not taken over.
struct Refusal {
    why: String,
    twin: Option<Twin>,
}

impl Refusal {
    fn of(why: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), twin: None }
    }
}

/// Reads all files and settles what each server becomes.
pub(crate) fn gather(host: &Host<'_>, request: &Request<'_>) -> Gathered {
    let mut gathered = Gathered::default();
    let mut state = State {
        host,
        own_url: &request.own_url,
        converter: Converter { env: host.env, workspace: &host.cwd, given: Default::default() },
        seen: Vec::new(),
        ids: request.existing.iter().map(|server| server.id.clone()).collect(),
    };
    for server in request.existing {
        if let Some(identity) = state.converter.identity(&server.reach) {
            let name = format!("`{}` in trove.toml", server.id);
            let extras = extras(&server.reach);
            let id = Some(server.id.clone());
            state.seen.push(Seen { identity, name, extras, id });
        }
    }
    for (scope, path) in files(host, request) {
        match read_client_file(&path, &host.cwd, host.env) {
            Ok(Some(file)) => state.take(file, scope, &path, &mut gathered),
            Ok(None) => gathered.is_unknown_file |= request.from.is_some(),
            Err(problems) => gathered.problems.extend(problems),
        }
    }
    gathered
}

fn files(host: &Host<'_>, request: &Request<'_>) -> Vec<(Scope, PathBuf)> {
    if let Some(from) = request.from {
        return vec![(Scope::User, host.cwd.join(from))];
    }
    if let Some(only) = &request.only {
        return only.clone();
    }
    let mut files: Vec<(Scope, PathBuf)> = Vec::new();
    for row in &request.rows {
        for (scope, file) in host.readable_files(row) {
            if !files.iter().any(|(_, known)| *known == file) {
                files.push((scope, file));
            }
        }
    }
    files
}

/// A server that is taken.
struct Seen {
    /// The identity that tells it from others.
    identity: String,
    /// The name to give it.
    name: String,
    /// The names of its variables or headers.
    extras: Vec<String>,
    /// Its id, if it stands in `trove.toml`.
    id: Option<SourceId>,
}

/// The variables that a server would take, as far as it can be converted.
fn convert_needed(
    converter: &Converter<'_>,
    id: &SourceId,
    found: &ClientServer,
    path: &Path,
) -> Vec<Needed> {
    match converter.convert(id, found, path) {
        Ok(draft) => draft.needed,
        Err(_) => Vec::new(),
    }
}

fn extras(reach: &Reach) -> Vec<String> {
    match reach {
        Reach::Stdio { env, .. } => env.keys().cloned().collect(),
        Reach::Http(remote) | Reach::Sse(remote) => remote.headers.keys().cloned().collect(),
    }
}

struct State<'a> {
    host: &'a Host<'a>,
    own_url: &'a str,
    converter: Converter<'a>,
    seen: Vec<Seen>,
    ids: BTreeSet<SourceId>,
}

impl State<'_> {
    fn take(&mut self, file: ClientFile, scope: Scope, path: &Path, gathered: &mut Gathered) {
        let count = file.servers.len();
        gathered.files.push((file.client, scope, path.to_owned(), count));
        gathered.problems.extend(file.problems);
        for found in file.servers {
            let (client, line, name) = (file.client, found.line, found.name.clone());
            let origin = Origin { client, scope, path: path.to_owned(), line, name };
            if gathered.servers.len() >= MAX_SERVERS {
                let why = format!("more than {MAX_SERVERS} servers are not taken at once");
                gathered.left_out.push(LeftOut { origin, why, twin: None });
                continue;
            }
            match self.server(&found, &origin) {
                Ok(imported) => gathered.servers.push(imported),
                Err(Refusal { why, twin }) => {
                    gathered.left_out.push(LeftOut { origin, why, twin });
                }
            }
        }
    }

    /// The server as ours, or why it is left out.
    fn server(&mut self, found: &ClientServer, origin: &Origin) -> Result<Imported, Refusal> {
        if self.is_trove(&found.server.reach) {
            return Err(Refusal::of("it is Trove itself"));
        }
        let identity = self.converter.identity(&found.server.reach).unwrap_or_default();
        let extras = extras(&found.server.reach);
        let mut id = SourceId::normalise(&found.name);
        // A double may still be moved, with the values of its variables.
        let needed = convert_needed(&self.converter, &id, found, &origin.path);
        self.refuse_double(&identity, &extras, &needed)?;
        let convert = |id: &SourceId| {
            let converted = self.converter.convert(id, found, &origin.path);
            converted.map_err(|error| Refusal::of(error.to_string()))
        };
        let mut draft = convert(&id)?;
        // A server that was imported before is found again, though its secrets are references
        // there.
        let converted = draft.server.identity();
        self.refuse_double(&converted, &extras, &needed)?;
        if self.ids.contains(&id) {
            id = self.free_id(&id, origin.client);
            draft = convert(&id)?;
        }
        self.converter.agree(&draft);
        let name = format!("`{}` of {}", origin.name, origin.client);
        for identity in [identity, draft.server.identity()] {
            let (name, extras) = (name.clone(), extras.clone());
            self.seen.push(Seen { identity, name, extras, id: None });
        }
        self.ids.insert(id.clone());
        Ok(Imported {
            as_found: UpstreamConfig { id: id.clone(), ..found.server.clone() },
            id,
            origin: origin.clone(),
            server: draft.server,
            timeout_ms: found.server.timeout.as_millis(),
            not_followed: found.not_followed.clone(),
            needed: draft.needed,
        })
    }

    fn refuse_double(
        &self,
        identity: &str,
        extras: &[String],
        needed: &[Needed],
    ) -> Result<(), Refusal> {
        let Some(known) = self.seen.iter().find(|seen| seen.identity == identity) else {
            return Ok(());
        };
        let is_whole = known.extras == extras;
        let differs = if is_whole {
            ""
        } else {
            ", though with other variables or headers; add it by hand if you need both"
        };
        let why = format!("it is the same as {}{differs}", known.name);
        let needed = needed.to_vec();
        let twin = known.id.clone().map(|id| Twin { id, is_whole, needed });
        Err(Refusal { why, twin })
    }

    /// Another id for another server of the same name.
    fn free_id(&self, id: &SourceId, client: Client) -> SourceId {
        let word = super::table::row(client).map_or("other", |row| row.word);
        let with = |suffix: &str| {
            let room = trove_core::source_id::MAX_SOURCE_ID.saturating_sub(suffix.len() + 1);
            let start = &id.as_str()[..id.as_str().len().min(room)];
            SourceId::normalise(&format!("{start}-{suffix}"))
        };
        let numbered = (2..).map(|number| with(&number.to_string()));
        let mut candidates = std::iter::once(with(word)).chain(numbered);
        candidates.find(|id| !self.ids.contains(id)).unwrap_or_else(|| id.clone())
    }

    /// Whether a server would lead back to us, however it is dressed.
    fn is_trove(&self, reach: &Reach) -> bool {
        let is_own_url = |text: &str| text.trim_end_matches('/') == self.own_url;
        match reach {
            Reach::Stdio { command, args, .. } => {
                let is_program = Path::new(command.written()) == self.host.program;
                is_program || args.iter().any(|arg| is_own_url(arg.written()))
            }
            Reach::Http(remote) | Reach::Sse(remote) => {
                let url = remote.url.written().replace("://localhost:", "://127.0.0.1:");
                is_own_url(&url)
            }
        }
    }
}
