//! The command of a server, in every respect that an approval covers.
//!
//! Values are kept as written, so a secret in the environment is not in here. Those of `env` are
//! kept as digests only. Any of them may decide what code is run, so a changed one must ask again,
//! but none need be told.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use aws_lc_rs::digest::{Context, SHA256, digest};
use serde::{Deserialize, Serialize};
use trove_core::{files, hex};
use trove_mcp::upstream::{Piece, Reach, Remote, Scope, Text, UpstreamConfig};

use super::Calls;
use crate::config::masked_url;

/// Where programs are sought if there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The command that would be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Invocation {
    /// As written.
    pub(crate) command: String,
    /// As written.
    pub(crate) args: Vec<String>,
    /// The names, and a digest of each value as written.
    pub(crate) env: BTreeMap<String, String>,
    /// The folder it is run in, where that is declared.
    pub(crate) cwd: Option<String>,
    /// The program that was found, with its real path; `None`: there is none.
    pub(crate) program: Option<Program>,
    /// Digests of what is taken from files, in order: the text that names them stays the
    /// same when they change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) from_files: Vec<String>,
    /// The tools that the recipe of its entry would call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<Calls>,
}

/// The program behind a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    /// Where it was found.
    pub(crate) path: String,
    /// Where that leads, links followed.
    pub(crate) real: String,
    /// A digest of its bytes, if it lies in the project. The author of the configuration could
    /// change such a file too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) contents: Option<String>,
}

impl Invocation {
    /// Of a server as it is now. `project` is the folder of the file it stands in.
    pub(crate) fn of(
        upstream: &UpstreamConfig,
        project: Option<&Path>,
        scope: &dyn Scope,
    ) -> Invocation {
        let (command, args, env, cwd) = match &upstream.reach {
            Reach::Stdio { command, args, env, cwd } => (command, args, env, cwd.as_deref()),
            Reach::Http(remote) | Reach::Sse(remote) => {
                let calls = Calls::asked_for(upstream);
                return Invocation { calls, ..Invocation::reaching(remote, scope) };
            }
        };
        let texts = [command].into_iter().chain(args).chain(env.values());
        let from_files = texts.filter(|text| text.reads_file()).map(|text| read(text, scope));
        Invocation {
            command: command.written().to_owned(),
            args: args.iter().map(|arg| arg.written().to_owned()).collect(),
            env: env.iter().map(|(name, value)| (name.clone(), hash(value.written()))).collect(),
            cwd: cwd.map(shown),
            program: program(command, env, cwd, scope).map(|path| Program::at(&path, project)),
            from_files: from_files.collect(),
            calls: Calls::asked_for(upstream),
        }
    }

    /// Of a folder: nothing is run, its files are served.
    pub(super) fn serving(folder: &Path) -> Invocation {
        Invocation {
            command: "serve".to_owned(),
            args: vec![shown(folder)],
            env: BTreeMap::new(),
            cwd: None,
            program: None,
            from_files: Vec::new(),
            calls: None,
        }
    }

    /// Of a server behind a URL: the address, and the values that would be sent there.
    fn reaching(remote: &Remote, scope: &dyn Scope) -> Invocation {
        let Remote { url, headers, oauth } = remote;
        let texts = [url].into_iter().chain(headers.values()).chain(&oauth.client_secret);
        let from_files = texts.filter(|text| text.reads_file()).map(|text| read(text, scope));
        Invocation {
            command: url.written().to_owned(),
            args: Vec::new(),
            env: headers
                .iter()
                .map(|(name, value)| (name.clone(), hash(value.written())))
                .collect(),
            cwd: None,
            program: None,
            from_files: from_files.collect(),
            calls: None,
        }
    }

    /// Whether values of this machine would be sent to a server behind a URL.
    pub(crate) fn sends_ours(remote: &Remote) -> bool {
        let refers = |text: &Text| {
            let pieces = text.pieces().unwrap_or_default();
            pieces.iter().any(|piece| matches!(piece, Piece::Variable(_)))
        };
        let Remote { url, headers, oauth } = remote;
        let mut texts = [url].into_iter().chain(headers.values()).chain(&oauth.client_secret);
        texts.any(refers)
    }

    /// Whether it is a server behind a URL.
    fn is_remote(&self) -> bool {
        self.program.is_none() && self.command.contains("://")
    }

    /// The digest an approval is bound to.
    pub(crate) fn sha256(&self) -> String {
        // Strings, lists and maps with string keys always become JSON.
        hex(digest(&SHA256, &serde_json::to_vec(self).unwrap_or_default()).as_ref())
    }

    /// Where the program was found.
    pub(crate) fn program(&self) -> Option<&str> {
        self.program.as_ref().map(|program| program.path.as_str())
    }

    /// The differences from then to now, a line each, old before new, e.g. `- cwd: /old` and
    /// `+ cwd: /new`.
    pub(crate) fn differences(&self, now: &Invocation) -> Vec<String> {
        let mut lines = Vec::new();
        let mut compare = |what: &str, before: String, after: String| {
            if before != after {
                lines.push(format!("- {what}: {before}"));
                lines.push(format!("+ {what}: {after}"));
            }
        };
        let (what, part) = if now.is_remote() { ("url", "header") } else { ("command", "env") };
        let shown = |one: &Invocation| {
            if one.is_remote() { masked_url(&one.command) } else { one.command.clone() }
        };
        compare(what, shown(self), shown(now));
        compare("args", listed(&self.args), listed(&now.args));
        compare("cwd", or_none(self.cwd.as_deref()), or_none(now.cwd.as_deref()));
        compare("program", or_none(self.program()), or_none(now.program()));
        let real = |one: &Invocation| or_none(one.program.as_ref().map(|p| p.real.as_str()));
        compare("program, links followed", real(self), real(now));
        for name in self.env.keys().filter(|name| !now.env.contains_key(*name)) {
            lines.push(format!("- {part}: {name}"));
        }
        for (name, value) in &now.env {
            match self.env.get(name) {
                None => lines.push(format!("+ {part}: {name}")),
                Some(before) if before != value => {
                    lines.push(format!("~ {part}: {name} has another value"))
                }
                Some(_) => {}
            }
        }
        if shown(self) == shown(now) && self.command != now.command {
            lines.push("~ url: what is masked of it changed".to_owned());
        }
        let contents = |one: &Invocation| one.program.as_ref().and_then(|p| p.contents.clone());
        if contents(self) != contents(now) {
            lines.push("~ program: what is in the file changed".to_owned());
        }
        let calls = |one: &Invocation| one.calls.as_ref().map(Calls::shown);
        if calls(self) != calls(now) {
            lines.extend(calls(self).map(|before| format!("- recipe: {before}")));
            lines.extend(calls(now).map(|after| format!("+ recipe: {after}")));
        } else if self.calls != now.calls {
            lines.push("~ recipe: how it calls its tools changed".to_owned());
        }
        if self.from_files != now.from_files {
            lines.push("~ a file that a value is taken from changed".to_owned());
        }
        lines
    }
}

impl Program {
    fn at(path: &Path, project: Option<&Path>) -> Program {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let project = project.and_then(|folder| fs::canonicalize(folder).ok());
        let is_inside = project.is_some_and(|folder| {
            folder.parent().is_some() && (real.starts_with(&folder) || path.starts_with(&folder))
        });
        // An unreadable program cannot be run either, or will differ once it can.
        let contents = is_inside.then(|| hash_file(&real).unwrap_or_else(|e| e.to_string()));
        Program { path: shown(path), real: shown(&real), contents }
    }
}

/// The program that starting the command would run.
fn program(
    command: &Text,
    env: &BTreeMap<String, Text>,
    cwd: Option<&Path>,
    scope: &dyn Scope,
) -> Option<PathBuf> {
    let command = command.expand(scope).ok()?;
    let folder = cwd.map(Path::to_owned).or_else(|| scope.workspace())?;
    if command.contains('/') {
        let path: PathBuf = folder.join(command).components().collect();
        return is_program(&path).then_some(path);
    }
    let path = match env.get("PATH") {
        Some(path) => path.expand(scope).ok()?,
        None => scope.env("PATH").unwrap_or_else(|| DEFAULT_PATH.to_owned()),
    };
    std::env::split_paths(&path)
        .map(|entry| folder.join(entry).join(&command).components().collect())
        .find(|path: &PathBuf| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// A digest of the value as it is at this moment.
fn read(text: &Text, scope: &dyn Scope) -> String {
    text.expand(scope).map_or_else(|error| error.to_string(), |value| hash(&value))
}

fn hash(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

fn hash_file(path: &Path) -> io::Result<String> {
    struct Digest(Context);
    impl io::Write for Digest {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut digest = Digest(Context::new(&SHA256));
    io::copy(&mut files::open(path)?, &mut digest)?;
    Ok(hex(digest.0.finish().as_ref()))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn or_none(text: Option<&str>) -> String {
    text.unwrap_or("none").to_owned()
}

fn listed(args: &[String]) -> String {
    serde_json::to_string(args).unwrap_or_default()
}
