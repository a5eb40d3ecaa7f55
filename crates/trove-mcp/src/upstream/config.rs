//! The entry of one upstream server as the user wrote it, with no variable resolved yet.
//!
//! Variables stay unexpanded until the moment of connecting. So a secret lives in memory no longer
//! than it must, and a changed environment is seen at restart.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    time::Duration,
};

use trove_core::{SourceId, source::Indexing};

use super::{
    passing::{Expose, Moved},
    variables::Text,
};
use crate::recipe::Choice;

/// One upstream server as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// The name of the Source, and the prefix of its qualified URIs, e.g. `wiki` in `wiki+doc://a`.
    pub id: SourceId,
    /// How to reach it.
    pub reach: Reach,
    /// Which protocol era to speak.
    pub protocol: Protocol,
    /// Which of its features our clients see.
    pub expose: Expose,
    /// Where it came from, and the clients that have it beside Trove.
    pub moved: Moved,
    /// What of it search may read.
    pub index: Index,
    /// Whether its answers may be kept and shown to every caller who may ask.
    pub is_public: bool,
    /// How changes of a watched resource become known.
    pub watch: Watch,
    /// How long one request may take.
    pub timeout: Duration,
    /// Whether the schemas of its tools are written out for simple clients.
    pub has_flat_schemas: bool,
    /// The word before `_` in its tools' names, e.g. `wiki` in `wiki_search`. `None` stands for the
    /// id, an empty word for no prefix.
    pub tool_prefix: Option<String>,
    /// The recipe that makes resources of its tools.
    pub recipe: Choice,
    /// Whether it is asked too at each search.
    pub is_searched: bool,
}

/// The transport to an upstream server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A child process that speaks on its stdin and stdout.
    Stdio {
        /// The program, e.g. `npx`; never a shell line.
        command: Text,
        /// Its arguments, as they are.
        args: Vec<Text>,
        /// Variables that it gets besides the allow-list of the environment.
        env: BTreeMap<String, Text>,
        /// Its working directory.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http(Remote),
    /// The legacy HTTP+SSE transport of 2024-11-05.
    Sse(Remote),
}

impl Reach {
    /// Tells one server from another by its program or address. It stays equal after a restart, so
    /// its keys are fixed.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Reach::Stdio { command, args, .. } => {
                command.written().hash(&mut hasher);
                args.iter().for_each(|arg| arg.written().hash(&mut hasher));
            }
            Reach::Http(remote) | Reach::Sse(remote) => remote.url.written().hash(&mut hasher),
        }
        hasher.finish()
    }
}

/// Words that tell a program to run another, e.g. `exec` in `npm exec server`.
const LAUNCHING: [&str; 6] = ["run", "exec", "dlx", "x", "tool", "start"];

/// Those of the arguments that say which program is run. Run by another, as by `npx -y`, it is
/// the first word; behind one such as `docker run` it may be any.
fn telling<'a>(args: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<&str> = args.filter(|arg| !arg.starts_with('-')).collect();
    if words.first().is_some_and(|word| !LAUNCHING.contains(word)) {
        words.truncate(1);
    }
    words
}

impl UpstreamConfig {
    /// Tells one server's listing from another's, which depends on the members that are shown too.
    /// A program may list other things with other options. Until it answers, its earlier listing is
    /// better than none.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match &self.reach {
            Reach::Stdio { command, args, .. } => {
                command.written().hash(&mut hasher);
                telling(args.iter().map(Text::written)).hash(&mut hasher);
            }
            Reach::Http(_) | Reach::Sse(_) => self.reach.fingerprint().hash(&mut hasher),
        }
        (self.passes_tools(), self.has_flat_schemas).hash(&mut hasher);
        hasher.finish()
    }
}

/// A server behind a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The endpoint.
    pub url: Text,
    /// Headers sent with each request.
    pub headers: BTreeMap<String, Text>,
    /// Our identity at its issuer of tokens.
    pub oauth: OauthClient,
}

/// Our identity at the issuer that grants tokens for a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OauthClient {
    /// The id that was agreed on; without it we introduce ourselves.
    pub client_id: Option<String>,
    /// The secret that proves the id.
    pub client_secret: Option<Text>,
    /// The scopes to ask for, e.g. `files:read`, instead of those that the server names.
    pub scopes: Vec<String>,
}

/// Which protocol era to speak with an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Ask, and remember the answer.
    #[default]
    Auto,
    /// `initialize`; 2025-11-25 and older.
    Legacy,
    /// Stateless; 2026-07-28.
    Modern,
}

/// What of an upstream search may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Index {
    /// Names, descriptions and contents.
    #[default]
    Content,
    /// Names and descriptions.
    Metadata,
    /// Nothing.
    Off,
}

impl From<Index> for Indexing {
    fn from(index: Index) -> Indexing {
        match index {
            Index::Content => Indexing::Content,
            Index::Metadata => Indexing::Metadata,
            Index::Off => Indexing::Off,
        }
    }
}

/// How changes of a watched resource become known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watch {
    /// The upstream says so.
    #[default]
    Notify,
    /// We read the resource now and then and compare.
    Poll {
        /// The time between two reads.
        every: Duration,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_by_its_name_and_not_by_its_options() {
        let of = |line: &str| telling(line.split(' ')).join(" ");
        assert_eq!(of("-y server-files --deep /a"), of("-y server-files /b"));
        assert_ne!(of("-y server-files"), of("-y server-git"));
        assert_ne!(of("run -i --rm image-a"), of("run -i --rm image-b"));
        assert_eq!(of("run -i --rm image-a"), of("run --rm image-a"));
    }
}
