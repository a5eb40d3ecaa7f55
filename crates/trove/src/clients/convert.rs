//! A server of a client becomes a server of `trove.toml`.
//!
//! Variables are rewritten from the client's dialect into ours; what has no word in ours
//! is settled now or becomes a variable that the user sets. A secret is never carried
//! along: a reference takes its place, and the user is told.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use trove_core::SourceId;
use trove_mcp::upstream::{ExpandError, Piece, Reach, Remote, Text, UpstreamConfig, Variable};

use super::{
    guard::{Part, Role, guard, snake},
    locate::Scope,
};
use crate::config::{Client, ClientServer, EnvLookup};

/// Where a server was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) client: Client,
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
    pub(crate) line: u32,
    /// The name its client knows it by.
    pub(crate) name: String,
}

/// A server as `trove.toml` will have it.
#[derive(Debug, Clone)]
pub(crate) struct Imported {
    pub(crate) id: SourceId,
    pub(crate) origin: Origin,
    pub(crate) server: Converted,
    /// The entry as its client wrote it, secrets and all; never written anywhere.
    pub(crate) as_found: UpstreamConfig,
    pub(crate) timeout_ms: u128,
    /// Keys of the client that have no meaning here.
    pub(crate) not_followed: Vec<String>,
    pub(crate) needed: Vec<Needed>,
}

/// How it is reached, every value in the dialect of `trove.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Converted {
    Stdio { command: String, args: Vec<String>, env: Vec<(String, String)>, cwd: Option<String> },
    Remote { url: String, is_sse: bool, headers: Vec<(String, String)> },
}

/// A variable that must be set for a server to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) variable: String,
    /// The meaning of its value, and its present place.
    pub(crate) what: String,
    /// Whether it is set here and now, to what it should be if we know that.
    pub(crate) is_set: bool,
    /// The value as the client wrote it, which may be a secret: only for the client's own file.
    pub(crate) written: Option<Written>,
}

/// A value that stands in a client's file.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// The value itself.
    Literal(String),
    /// A variable of the client's own that gives it, e.g. `${input:token}`.
    Reference(String),
}

/// The value does not show.
impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Turns servers of one machine into ours.
pub(super) struct Converter<'a> {
    pub(super) env: &'a dyn EnvLookup,
    /// The project that `${workspaceFolder}` meant.
    pub(super) workspace: &'a Path,
    /// The variables given out for secrets, and what each stands for.
    pub(super) given: BTreeMap<String, String>,
}

/// One conversion, not yet agreed to.
pub(super) struct Draft {
    pub(super) server: Converted,
    pub(super) needed: Vec<Needed>,
    given: BTreeMap<String, String>,
}

impl Converter<'_> {
    /// The server under this id, with every secret replaced.
    pub(super) fn convert(
        &self,
        id: &SourceId,
        found: &ClientServer,
        path: &Path,
    ) -> Result<Draft, ExpandError> {
        let place = format!("{}:{}", path.display(), found.line);
        let mut turn =
            Turn { converter: self, id, place, needed: Vec::new(), given: self.given.clone() };
        let server = turn.reach(&found.server.reach)?;
        let Turn { needed, given, .. } = turn;
        Ok(Draft { server, needed, given })
    }

    /// Keeps what a draft gave out.
    pub(super) fn agree(&mut self, draft: &Draft) {
        self.given.clone_from(&draft.given);
    }

    /// Tells two servers apart, secrets and all; for comparing only.
    pub(super) fn identity(&self, reach: &Reach) -> Option<String> {
        let plain = |text: &Text| -> Option<String> {
            let pieces = text.pieces().ok()?;
            Some(pieces.iter().map(|piece| self.neutral(piece)).collect())
        };
        Some(match reach {
            Reach::Stdio { command, args, cwd, .. } => {
                let args: Option<Vec<String>> = args.iter().map(plain).collect();
                format!("{:?} {:?} {cwd:?}", plain(command)?, args?)
            }
            Reach::Http(Remote { url, .. }) | Reach::Sse(Remote { url, .. }) => {
                plain(url)?.trim_end_matches('/').to_owned()
            }
        })
    }

    fn neutral(&self, piece: &Piece<'_>) -> String {
        match piece {
            Piece::Literal(text) => escaped(text),
            Piece::Variable(Variable::Env { name, default: None }) => format!("${{env:{name}}}"),
            Piece::Variable(Variable::Env { name, default: Some(default) }) => {
                format!("${{env:{name}:-{default}}}")
            }
            Piece::Variable(Variable::Home) => "${home}".to_owned(),
            Piece::Variable(Variable::Workspace) => escaped(&self.workspace.to_string_lossy()),
            Piece::Variable(Variable::WorkspaceName) => {
                escaped(&self.workspace.file_name().unwrap_or_default().to_string_lossy())
            }
            Piece::Variable(Variable::Separator) => std::path::MAIN_SEPARATOR_STR.to_owned(),
            Piece::Variable(Variable::File(path)) => format!("${{file:{path}}}"),
            Piece::Variable(Variable::Input(id)) => format!("${{input:{id}}}"),
        }
    }
}

impl Converted {
    /// Tells two servers apart once their secrets are replaced.
    pub(super) fn identity(&self) -> String {
        match self {
            Converted::Stdio { command, args, cwd, .. } => {
                let cwd = cwd.as_ref().map(PathBuf::from);
                format!("{command:?} {args:?} {cwd:?}")
            }
            Converted::Remote { url, .. } => url.trim_end_matches('/').to_owned(),
        }
    }

    /// The command or the URL on one line, whole.
    pub(crate) fn line(&self) -> String {
        match self {
            Converted::Stdio { command, args, .. } => {
                let words: Vec<String> =
                    [command].into_iter().chain(args).map(|w| quoted(w)).collect();
                words.join(" ")
            }
            Converted::Remote { url, .. } => url.clone(),
        }
    }
}

/// A word as a shell would need it, so that two words never look like one.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The conversion of one server.
struct Turn<'a> {
    converter: &'a Converter<'a>,
    id: &'a SourceId,
    place: String,
    needed: Vec<Needed>,
    given: BTreeMap<String, String>,
}

impl Turn<'_> {
    fn reach(&mut self, reach: &Reach) -> Result<Converted, ExpandError> {
        Ok(match reach {
            Reach::Stdio { command, args, env, cwd } => {
                let command = self.value(&Role::Command, command)?;
                let mut converted = Vec::new();
                let mut flag = None;
                for arg in args {
                    converted.push(self.value(&Role::Arg { after: flag }, arg)?);
                    let written = arg.written();
                    let is_flag = written.starts_with('-') && !written.contains(['=', ':']);
                    flag = is_flag.then_some(written);
                }
                let env = self.values(env, |name| Role::Env { name })?;
                let cwd = cwd.as_ref().map(|cwd| escaped(&cwd.to_string_lossy()));
                Converted::Stdio { command, args: converted, env, cwd }
            }
            Reach::Http(remote) => self.remote(remote, false)?,
            Reach::Sse(remote) => self.remote(remote, true)?,
        })
    }

    fn remote(&mut self, remote: &Remote, is_sse: bool) -> Result<Converted, ExpandError> {
        let url = self.value(&Role::Url, &remote.url)?;
        let headers = self.values(&remote.headers, |name| Role::Header { name })?;
        Ok(Converted::Remote { url, is_sse, headers })
    }

    fn values<'v>(
        &mut self,
        values: &'v BTreeMap<String, Text>,
        role: impl Fn(&'v str) -> Role<'v>,
    ) -> Result<Vec<(String, String)>, ExpandError> {
        let mut all = Vec::new();
        for (name, text) in values {
            all.push((name.clone(), self.value(&role(name), text)?));
        }
        Ok(all)
    }

    /// One value in our dialect.
    fn value(&mut self, role: &Role<'_>, text: &Text) -> Result<String, ExpandError> {
        let mut value = String::new();
        for piece in text.pieces()? {
            match piece {
                Piece::Literal(literal) => {
                    for part in guard(role, literal) {
                        match part {
                            Part::Plain(text) => value.push_str(&escaped(&text)),
                            Part::Secret { text, hint } => {
                                value.push_str(&self.secret(role, &text, &hint));
                            }
                        }
                    }
                }
                Piece::Variable(Variable::Env { name, default }) => {
                    // A default may be a secret as well as any other text.
                    let default = default.filter(|d| !super::is_secret(name, d));
                    value.push_str(
                        &self.converter.neutral(&Piece::Variable(Variable::Env { name, default })),
                    );
                    if default.is_none() {
                        self.need(name, "a variable that the client had too", None);
                    }
                }
                Piece::Variable(Variable::File(path)) => {
                    let variable = self.name_for(role, "value", &format!("${{file:{path}}}"));
                    let written = Written::Reference(format!("${{file:{path}}}"));
                    self.need(&variable, &format!("what the file {path} holds"), Some(written));
                    value.push_str(&format!("${{env:{variable}}}"));
                }
                Piece::Variable(Variable::Input(id)) => {
                    let variable = self.name_for(role, id, &format!("${{input:{id}}}"));
                    let written = Written::Reference(format!("${{input:{id}}}"));
                    let what = format!("what the client asked for as `{id}`");
                    self.need(&variable, &what, Some(written));
                    value.push_str(&format!("${{env:{variable}}}"));
                }
                other @ Piece::Variable(_) => value.push_str(&self.converter.neutral(&other)),
            }
        }
        Ok(value)
    }

    /// The reference that takes a secret's place.
    fn secret(&mut self, role: &Role<'_>, secret: &str, hint: &str) -> String {
        let variable = self.name_for(role, hint, secret);
        let what = match role {
            Role::Env { name } => format!("the value of `{name}`"),
            Role::Header { name } => format!("the secret in the header `{name}`"),
            Role::Arg { .. } => "the secret in its arguments".to_owned(),
            Role::Url | Role::Command => "the secret in its URL".to_owned(),
        };
        self.need(&variable, &what, Some(Written::Literal(secret.to_owned())));
        format!("${{env:{variable}}}")
    }

    /// A variable that stands for this value and no other.
    fn name_for(&mut self, role: &Role<'_>, hint: &str, value: &str) -> String {
        let id = snake(self.id.as_str());
        let own = match role {
            Role::Env { name } => snake(name),
            _ => format!("{id}_{}", snake(hint)),
        };
        let mut candidates = vec![own.clone(), format!("{id}_{own}")];
        candidates.extend((2..100).map(|n| format!("{id}_{own}_{n}")));
        for candidate in candidates {
            match self.given.get(&candidate) {
                Some(other) if other != value => continue,
                _ => {
                    self.given.insert(candidate.clone(), value.to_owned());
                    return candidate;
                }
            }
        }
        own
    }

    fn need(&mut self, variable: &str, what: &str, written: Option<Written>) {
        let set = self.converter.env.get(variable);
        let is_set = set.is_some_and(|set| match &written {
            Some(Written::Literal(value)) => *value == set,
            Some(Written::Reference(_)) | None => true,
        });
        let what = format!("{what}, {}", self.place);
        let needed = Needed { variable: variable.to_owned(), what, is_set, written };
        if !self.needed.contains(&needed) {
            self.needed.push(needed);
        }
    }
}

/// A text that means itself in our dialect.
fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}
