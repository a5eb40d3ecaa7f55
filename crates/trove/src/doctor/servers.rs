//! Checks a server without starting it.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use trove_mcp::upstream::{Expose, Reach, Scope, Text, UpstreamConfig, missing_interpreter};

use super::{Finding, Level};
use crate::config::{Config, EnvLookup, HostScope};

/// Variables, programs and folders of every server, and servers that stand there twice.
pub(crate) fn check_servers(config: &Config, env: &dyn EnvLookup, cwd: &Path) -> Vec<Finding> {
    let scope = HostScope::new(env, cwd.to_owned());
    let path = env.get("PATH").unwrap_or_default();
    let mut findings = Vec::new();
    for (index, server) in config.upstreams.iter().enumerate() {
        let missing = undefined(server, env);
        let has_all = missing.is_empty();
        findings.extend(missing);
        if has_all && let Reach::Stdio { command, cwd: folder, .. } = &server.reach {
            let here = folder.as_deref().unwrap_or(cwd);
            findings.extend(program(server, command, &scope, (here, &path)));
            findings.extend(folder.as_deref().and_then(|folder| lost_folder(server, folder)));
        }
        findings.extend(beside(server));
        let twin = config.upstreams[..index].iter().find(|other| other.reach == server.reach);
        if let Some(twin) = twin {
            let message = format!("`{}` and `{}` are the same server", twin.id, server.id);
            let fix = "remove one of them";
            findings.push(of(server, Level::Warning, message, fix));
        }
    }
    findings
}

/// A finding on a server that was moved into Trove and stands in a client all the same.
fn beside(server: &UpstreamConfig) -> Option<Finding> {
    if server.expose != Expose::Auto || server.moved.beside.is_empty() {
        return None;
    }
    let message = format!("its tools are {}", server.passing());
    let fix = "run `trove install --move --client NAME` for that client, or set `expose`";
    Some(of(server, Level::Note, message, fix))
}

fn of(
    server: &UpstreamConfig,
    level: Level,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Finding {
    Finding::new(level, ("server", server.id.as_str()), message, fix)
}

/// Every value of a server that may hold variables.
pub(super) fn texts(server: &UpstreamConfig) -> Vec<&Text> {
    match &server.reach {
        Reach::Stdio { command, args, env, .. } => {
            let mut texts = vec![command];
            texts.extend(args);
            texts.extend(env.values());
            texts
        }
        Reach::Http(remote) | Reach::Sse(remote) => {
            let mut texts = vec![&remote.url];
            texts.extend(remote.headers.values());
            texts
        }
    }
}

fn undefined(server: &UpstreamConfig, env: &dyn EnvLookup) -> Vec<Finding> {
    let mut names: Vec<&str> = texts(server).iter().flat_map(|text| text.needs()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| env.get(name).is_none());
    let finding = |name: &&str| {
        let message = format!("the environment variable `{name}` is not set");
        let fix =
            format!("set `{name}` where Trove is started; `{}` cannot start without", server.id);
        of(server, Level::Error, message, fix)
    };
    names.iter().map(finding).collect()
}

fn program(
    server: &UpstreamConfig,
    command: &Text,
    scope: &dyn Scope,
    (here, path): (&Path, &str),
) -> Option<Finding> {
    let command = match command.expand(scope) {
        Ok(command) => command,
        Err(error) => return Some(of(server, Level::Error, error.to_string(), error.hint())),
    };
    let candidates: Vec<PathBuf> = if command.contains('/') {
        vec![here.join(&command)]
    } else {
        std::env::split_paths(path).map(|folder| folder.join(&command)).collect()
    };
    if let Some(file) = candidates.iter().find(|file| is_program(file)) {
        let interpreter = missing_interpreter(file)?;
        let message = format!("`{command}` is run by {interpreter:?}, which is not there");
        let fix = "install that, or correct the first line of the file".to_owned();
        return Some(of(server, Level::Error, message, fix));
    }
    if candidates.iter().any(|file| file.is_file()) {
        let message = format!("`{command}` may not be executed");
        return Some(of(server, Level::Error, message, format!("run: chmod +x '{command}'")));
    }
    let message = format!("there is no program `{command}`");
    Some(of(server, Level::Error, message, how_to_get(&command)))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn how_to_get(command: &str) -> String {
    match command {
        "npx" | "node" | "npm" => "install Node.js, or put its folder on PATH".to_owned(),
        "uvx" | "uv" => "install uv, or put its folder on PATH".to_owned(),
        "docker" => "install Docker, or put its folder on PATH".to_owned(),
        _ if command.contains('/') => "correct the path in `command`".to_owned(),
        _ => "install it, put its folder on PATH, or write its whole path".to_owned(),
    }
}

fn lost_folder(server: &UpstreamConfig, folder: &Path) -> Option<Finding> {
    if folder.is_dir() {
        return None;
    }
    let message = format!("its folder {} is not there", folder.display());
    Some(of(server, Level::Error, message, "make the folder, or correct `cwd`"))
}
