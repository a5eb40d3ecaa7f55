//! The machine around the program: the port, the state folder, the token, the clients.

use std::{
    fs,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use trove_core::files;
use trove_mcp::{
    seal::Ring,
    upstream::{Reach, Text, UpstreamConfig},
};

use super::{Finding, Level};
use crate::{
    clients::{Host, Scope, Standing, Survey, is_secret, survey},
    config::{HostScope, Loaded, ProcessEnv, masked_args, masked_url},
    keys::{self, BadKeys},
    token,
};

/// Whether HTTP could be served.
pub(crate) fn check_http(address: SocketAddr) -> Option<Finding> {
    // It is let go at once; nothing ever connects to it.
    let error = TcpListener::bind(address).err()?;
    let (level, message, fix) = match error.kind() {
        ErrorKind::AddrInUse => (
            Level::Warning,
            format!("{address} is taken"),
            "stop what listens there, be it a Trove of another configuration or version, or change `addr` in [http]",
        ),
        ErrorKind::PermissionDenied => (
            Level::Error,
            format!("listening on {address} is not allowed"),
            "use a port above 1023 as `addr` in [http]",
        ),
        _ => (
            Level::Error,
            format!("{address} cannot be listened on: {error}"),
            "use an address of this machine, such as 127.0.0.1:7420, as `addr` in [http]",
        ),
    };
    Some(Finding::new(level, ("http", &address.to_string()), message, fix))
}

/// Whether state can be kept.
pub(crate) fn check_state(state: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let shown = state.display().to_string();
    if let Err(error) = try_to_write(state) {
        let message = format!("the state folder cannot be written to: {error}");
        let fix = "let yourself write there, or name another folder with TROVE_HOME";
        findings.push(Finding::new(Level::Error, ("state", &shown), message, fix));
    }
    findings
}

/// Finds files that others on this machine may read or change, and a token that they may guess.
pub(crate) fn check_secrecy(loaded: &Loaded) -> Vec<Finding> {
    let state = &loaded.config.state_dir.value;
    let mut findings = Vec::from_iter(check_folder(state));
    for name in [token::FILE, keys::FILE, "credentials.json"] {
        let file = state.join(name);
        if mode(&file) & OTHERS == 0 {
            continue;
        }
        let shown = file.display().to_string();
        let message = format!("others on this machine can read the {}", kind_of(name));
        let fix = format!(
            "run: chmod 600 '{shown}'; if somebody may have read it, remove it, and a new one is made"
        );
        findings.push(Finding::new(Level::Error, ("state", &shown), message, fix));
    }
    if let Ok(token) = token::read(state)
        && let Some(weakness) = token::weakness(&token)
    {
        let shown = token::path(state).display().to_string();
        let message = format!("the token is weak: {weakness}");
        let fix = format!("remove '{shown}' and start Trove again: it makes a good one");
        findings.push(Finding::new(Level::Warning, ("state", &shown), message, fix));
    }
    findings.extend(check_keys(loaded));
    findings.extend(check_config_file(loaded));
    findings
}

/// Whether the keys of the configuration can be used, and whether they can be guessed.
fn check_keys(loaded: &Loaded) -> Vec<Finding> {
    let written = &loaded.config.keys;
    if written.is_empty() {
        return Vec::new();
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let scope = HostScope::new(ProcessEnv, folder);
    let subject = ("config", "keys");
    let mend = "mend `ring` in [keys]";
    let known = match keys::expand(written, &scope) {
        Ok(known) => known,
        Err(error) => return vec![Finding::new(Level::Error, subject, error.to_string(), mend)],
    };
    if let Err(error) = Ring::new(&known) {
        let message = BadKeys::Bad(error).to_string();
        return vec![Finding::new(Level::Error, subject, message, mend)];
    }
    let mut findings = Vec::new();
    for (at, key) in known.iter().enumerate() {
        if let Some(weakness) = keys::weakness(key) {
            let message = format!("key {} of `ring` in [keys] is weak: {weakness}", at + 1);
            let fix = "put a key of `openssl rand -hex 32` in its place";
            findings.push(Finding::new(Level::Warning, subject, message, fix));
        }
    }
    findings
}

/// The bits that let a group and all others in, and those that let them change something.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
const ALL_WRITE: u32 = 0o002;

/// The permissions of what is there; none of what is not.
fn mode(path: &Path) -> u32 {
    path.metadata().map_or(0, |metadata| metadata.permissions().mode())
}

fn kind_of(name: &str) -> &'static str {
    match name {
        token::FILE => "token",
        keys::FILE => "keys that seal sessions",
        _ => "tokens of servers",
    }
}

fn check_folder(state: &Path) -> Option<Finding> {
    let shown = state.display().to_string();
    let mode = mode(state);
    if mode & OTHERS_WRITE != 0 {
        let message =
            "others on this machine can write to the state folder, and so approve servers";
        let fix = format!("run: chmod go-w '{shown}'");
        return Some(Finding::new(Level::Warning, ("state", &shown), message, fix));
    }
    if mode & OTHERS != 0 {
        let message = "others on this machine can look into the state folder";
        let fix = format!("run: chmod 700 '{shown}', unless they are meant to");
        return Some(Finding::new(Level::Note, ("state", &shown), message, fix));
    }
    None
}

fn check_config_file(loaded: &Loaded) -> Option<Finding> {
    let file = loaded.origin.as_deref()?;
    let shown = file.display().to_string();
    let mode = mode(file);
    if mode & ALL_WRITE != 0 {
        let message = "everybody on this machine can change the configuration, and so what is run";
        let fix = format!("run: chmod o-w '{shown}'");
        return Some(Finding::new(Level::Error, ("config", &shown), message, fix));
    }
    let is_written = |key: &Text| key.needs().is_empty() && !key.reads_file();
    let has_keys = loaded.config.keys.iter().any(is_written);
    let has_secrets = has_keys || loaded.config.upstreams.iter().any(has_secret);
    if mode & OTHERS != 0 && has_secrets {
        let message = "others on this machine can read the secrets in the configuration";
        let fix =
            format!("run: chmod 600 '{shown}', or write them as ${{env:NAME}} or ${{file:PATH}}");
        return Some(Finding::new(Level::Warning, ("config", &shown), message, fix));
    }
    None
}

/// Whether a secret stands in its entry as it is.
fn has_secret(server: &UpstreamConfig) -> bool {
    let is_written = |(name, value): (&String, &Text)| {
        value.needs().is_empty() && !value.reads_file() && is_secret(name, value.written())
    };
    match &server.reach {
        Reach::Stdio { args, env, .. } => {
            let has_masked = masked_args(args).iter().zip(args).any(|(shown, arg)| {
                shown != arg.written() && arg.needs().is_empty() && !arg.reads_file()
            });
            has_masked || env.iter().any(is_written)
        }
        Reach::Http(remote) | Reach::Sse(remote) => {
            let secret = remote.oauth.client_secret.as_ref();
            let is_plain = |text: &Text| text.needs().is_empty() && !text.reads_file();
            let has_masked = masked_url(remote.url.written()) != remote.url.written();
            has_masked && is_plain(&remote.url)
                || secret.is_some_and(is_plain)
                || remote.headers.iter().any(is_written)
        }
    }
}

fn try_to_write(state: &Path) -> io::Result<()> {
    files::make_folder(state)?;
    if state.metadata()?.permissions().readonly() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let probe = state.join(format!(".doctor-{}", std::process::id()));
    files::new(&probe)?;
    fs::remove_file(probe)
}

/// Whether the clients that have Trove can start it.
pub(crate) fn check_clients(host: &Host<'_>) -> Vec<Finding> {
    survey(host, "trove").iter().filter_map(client).collect()
}

fn client(survey: &Survey) -> Option<Finding> {
    let project = if survey.scope == Scope::Project { " --scope project" } else { "" };
    let again = format!("run: trove install --client {}{project}", survey.row.word);
    let (level, message, fix) = match &survey.standing {
        Standing::ProgramGone(program) => {
            let message = format!("its entry starts {}, which is not there", program.display());
            (Level::Error, message, again)
        }
        Standing::ConfigGone(config) => {
            let message = format!("its entry names {}, which is not there", config.display());
            (Level::Error, message, format!("{again} where your trove.toml is"))
        }
        Standing::Unreadable(why) => (
            Level::Warning,
            why.clone(),
            "mend the file; its client cannot read it either".to_owned(),
        ),
        Standing::Absent | Standing::Without | Standing::Installed | Standing::Taken => {
            return None;
        }
    };
    Some(Finding::new(level, ("client", survey.row.word), message, fix))
}
