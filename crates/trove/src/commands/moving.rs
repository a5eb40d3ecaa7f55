//! `trove install --move`: Trove in the place of a client's servers, and the way back.
//!
//! The plan is written down first. Of variables and headers only the names are printed.

use std::{fmt::Write as _, path::PathBuf};

use serde_json::{Value, json};
use trove_mcp::upstream::{Reach, UpstreamConfig};

use super::{
    Class, Failed,
    approve::approval,
    install::{Installing, next_of, shown},
    ls::plain,
    say,
};
use crate::{
    approval::{Approval, Approvals, Hand, judge},
    cli::EntryOf,
    clients::{
        ClientError, Dressed, FileChange, Found, Host, Kept, Launch, LeftOut, Original, Record,
        Scope, Wish, config_with, find_movable, kept, relied_on, replace, word,
    },
    config::{
        HostScope, Loaded, Overrides, ProcessEnv, Request, Severity, env::config_folder, load,
        masked_args, masked_url,
    },
};

/// The configuration that gets the servers: the one in force, else the user's own.
pub(super) fn target(loaded: &Loaded, host: &Host<'_>) -> Result<Loaded, Failed> {
    if let (Some(file), Some(client)) = (&loaded.origin, &loaded.client) {
        let message =
            format!("{} belongs to {client}; name a trove.toml with --config", shown(file));
        return Err(Failed::new(Class::Config, message));
    }
    if !loaded.is_usable() {
        let message =
            "the configuration has errors, so nothing is added to it: run `trove config check`";
        return Err(Failed::new(Class::Config, message.to_owned()));
    }
    if loaded.origin.is_some() {
        return Ok(loaded.clone());
    }
    let folder = config_folder(host.env);
    let folder = folder.ok_or_else(|| Failed::from(ClientError::NoHome))?;
    let mut own = loaded.clone();
    own.origin = Some(folder.join("trove.toml"));
    Ok(own)
}

/// The commands of a project must not come into a person's own file unseen.
const OF_A_PROJECT: &str = "the servers of a project's file are not moved: \
     serve the file as it is with --config, once `trove approve --config FILE` has shown it to you";

/// Moves the servers of a client into a configuration.
pub(super) fn move_in(
    host: &Host<'_>,
    installing: &Installing<'_>,
    target: &Loaded,
) -> Result<(), Failed> {
    let Installing { wish, launch, entry } = installing;
    if wish.scope == Scope::Project {
        return Err(Failed::new(Class::Config, OF_A_PROJECT.to_owned()));
    }
    let Some(path) = target.origin.clone() else { return Err(Failed::from(ClientError::NoHome)) };
    let own_url = format!("http://{}/mcp", target.config.http.addr.value);
    let found = find_movable(host, wish, (&target.config.upstreams, own_url))?;
    refuse_lost_variables(launch, &found)?;
    let original = Original::read(&path)?;
    let bytes = original.bytes.as_deref().unwrap_or_default();
    let dressed =
        Dressed::of(bytes).ok_or_else(|| ClientError::NotText { path: original.path.clone() })?;
    let client = word(wish.row.client);
    let text = config_with(&dressed.text, &found, client).map_err(|error| {
        Failed::new(Class::Config, format!("{}: {}", shown(&path), error.message()))
    })?;
    refuse_new_errors(host, &path, &text, &found)?;
    let fresh =
        if found.servers.is_empty() { original.bytes.clone() } else { Some(dressed.dress(&text)) };
    let config = FileChange { original, fresh };
    let changes = found.changes(wish, launch)?;
    if !entry.dry_run && !found.servers.is_empty() {
        let state = &target.config.state_dir.value;
        Record::of(&found, &config, &changes).keep(state, wish)?;
        for change in std::iter::once(&config).chain(&changes).filter(|change| change.is_one()) {
            replace(&change.original, change.fresh.as_deref(), host.now)?;
        }
        approve(host, target, &path, &found)?;
    }
    say(&report(installing, &found, &path));
    Ok(())
}

/// Refuses to take values out of a client's file that only a Trove which it starts could be given.
fn refuse_lost_variables(launch: &Launch, found: &Found) -> Result<(), Failed> {
    let variables: Vec<&str> = found.variables().collect();
    if matches!(launch, Launch::Stdio { .. }) || variables.is_empty() {
        return Ok(());
    }
    let message = format!(
        "over HTTP the client cannot give Trove {}; leave --http out, or `trove import` and set them \
         where Trove is started",
        variables.join(", ")
    );
    Err(Failed::new(Class::InvalidArguments, message))
}

/// Refuses if the configuration would have an error, or lack one of the servers.
fn refuse_new_errors(
    host: &Host<'_>,
    path: &std::path::Path,
    text: &str,
    found: &Found,
) -> Result<(), Failed> {
    let (cwd, flags) = (host.cwd.clone(), Overrides::default());
    let request = Request { explicit: Some(path.to_owned()), cwd, env: &ProcessEnv, flags };
    let now = crate::config::load_as_if(&request, text);
    let has = |one: &UpstreamConfig| found.servers.iter().any(|server| server.id == one.id);
    let there = now.config.upstreams.iter().filter(|one| has(one)).count();
    if now.is_usable() && there == found.servers.len() {
        return Ok(());
    }
    let errors = now.problems.iter().filter(|problem| problem.severity == Severity::Error);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    let message = format!("{} would not read as meant: {}", shown(path), errors.join("; "));
    Err(Failed::new(Class::Config, message))
}

/// Approves what was moved, if the file is one that only came with a project: whoever moves a
/// server has it run in the client already.
fn approve(
    host: &Host<'_>,
    target: &Loaded,
    path: &std::path::Path,
    found: &Found,
) -> Result<(), Failed> {
    if Hand::of(target) != Hand::Project {
        return Ok(());
    }
    let (cwd, flags) = (host.cwd.clone(), Overrides::default());
    let explicit = Some(path.to_owned());
    let mut loaded = load(&Request { explicit, cwd, env: &ProcessEnv, flags });
    loaded.found = target.found;
    let state = &loaded.config.state_dir.value;
    let approvals = Approvals::load(state)?;
    let candidates = judge(&loaded, &approvals, &HostScope::new(ProcessEnv, host.cwd.clone()));
    let is_moved = |id: &trove_core::SourceId| found.servers.iter().any(|one| one.id == *id);
    let moved = candidates.iter().filter(|one| is_moved(&one.upstream.id));
    let new: Vec<Approval> = moved.filter_map(approval).collect();
    Ok(Approvals::add(state, new)?)
}

fn report(installing: &Installing<'_>, found: &Found, config: &std::path::Path) -> String {
    let Installing { wish, entry, .. } = installing;
    let (client, name) = (wish.row.client, wish.name);
    let undo = undo_command(installing);
    if entry.output.json {
        let moved: Vec<Value> = found
            .servers
            .iter()
            .map(|one| json!({ "name": one.name, "id": one.id.as_str(), "file": shown(&one.file) }))
            .collect();
        let left: Vec<Value> = found
            .left_out
            .iter()
            .map(|LeftOut { origin, why, .. }| json!({ "name": origin.name, "why": why }))
            .collect();
        let unset: Vec<&str> = found.unset.iter().map(|one| one.variable.as_str()).collect();
        let report = json!({
            "client": wish.row.word, "scope": wish.scope.to_string(), "name": name,
            "file": shown(&found.path), "config": shown(config), "dry_run": entry.dry_run,
            "moved": moved, "left": left, "variables": found.variables().collect::<Vec<_>>(),
            "unset": unset, "next": next_of(wish.row), "undo": undo,
        });
        return format!("{report}\n");
    }
    let mut text = String::new();
    for one in &found.servers {
        let line = one.imported.as_ref().map(|imported| reach(&imported.as_found));
        let line = line.unwrap_or_else(|| "is there already".to_owned());
        let _ = writeln!(text, "{}  (`{}` of {client})\n    {line}", one.id, plain(&one.name));
    }
    for LeftOut { origin, why, .. } in &found.left_out {
        let _ = writeln!(text, "stays in {client}: `{}`: {}", plain(&origin.name), plain(why));
    }
    if found.servers.is_empty() {
        let _ = writeln!(text, "{client} has no server to move in {}.", shown(&found.path));
        return text;
    }
    let variables: Vec<&str> = found.variables().collect();
    let would = if entry.dry_run { "would be " } else { "" };
    let count = found.servers.len();
    let _ = writeln!(text, "{count} servers {would}moved to {}", shown(config));
    let _ = writeln!(text, "`{name}` {would}put in their place in {}", shown(&found.path));
    if !variables.is_empty() {
        let _ = writeln!(
            text,
            "  their secrets stay in that file, as variables: {}",
            variables.join(", ")
        );
    }
    for one in &found.unset {
        let _ =
            writeln!(text, "  set {} where Trove is started: {}", one.variable, plain(&one.what));
    }
    if !entry.dry_run {
        let _ = writeln!(text, "  next: {}", next_of(wish.row));
        let _ = writeln!(text, "  to take it back: `{undo}`");
    }
    text
}

/// How a server is reached, without a value that may be secret.
fn reach(upstream: &UpstreamConfig) -> String {
    let (line, names) = match &upstream.reach {
        Reach::Stdio { command, args, env, .. } => {
            let words = std::iter::once(command.written().to_owned()).chain(masked_args(args));
            (words.collect::<Vec<_>>().join(" "), env.keys().cloned().collect::<Vec<_>>())
        }
        Reach::Http(remote) | Reach::Sse(remote) => {
            (masked_url(remote.url.written()), remote.headers.keys().cloned().collect())
        }
    };
    if names.is_empty() {
        plain(&line)
    } else {
        plain(&format!("{line}  with {}", names.join(", ")))
    }
}

fn undo_command(installing: &Installing<'_>) -> String {
    let Wish { row, scope, name, .. } = installing.wish;
    let mut command = format!("trove uninstall --client {}", row.word);
    if *scope != crate::clients::Scope::User {
        command.push_str(" --scope project");
    }
    if *name != "trove" {
        let _ = write!(command, " --name {name}");
    }
    command
}

/// Takes back every move of a client; `false` if there was none.
pub(super) fn take_back(
    host: &Host<'_>,
    wish: &Wish<'_>,
    (entry, state): (&EntryOf, &PathBuf),
) -> Result<bool, Failed> {
    let moves = kept(state, wish)?;
    if moves.is_empty() {
        return Ok(false);
    }
    let others = relied_on(state, wish)?;
    let mut notes = Vec::new();
    let mut names = Vec::new();
    let mut configs = Vec::new();
    // The last first: each leads back to what the one before had left.
    for one in moves.iter().rev() {
        let undo = one.undo(wish, &host.program, &others)?;
        notes.extend(undo.notes.clone());
        names.extend(one.record.servers().iter().map(|server| server.name.clone()));
        configs.push(one.record.config().to_owned());
        if entry.dry_run {
            continue;
        }
        one.take_back(&undo, host.now)?;
    }
    configs.dedup();
    say(&told_back(wish, entry, (&names, &configs, &notes), &moves));
    Ok(true)
}

fn told_back(
    wish: &Wish<'_>,
    entry: &EntryOf,
    (names, configs, notes): (&[String], &[String], &[String]),
    moves: &[Kept],
) -> String {
    let client = wish.row.client;
    if entry.output.json {
        let report = json!({
            "client": wish.row.word, "scope": wish.scope.to_string(), "name": wish.name,
            "outcome": "taken_back", "dry_run": entry.dry_run, "servers": names,
            "configs": configs, "moves": moves.len(), "notes": notes,
        });
        return format!("{report}\n");
    }
    let would = if entry.dry_run { "would be " } else { "" };
    let mut text = format!(
        "{client}: {} servers {would}put back: {}\n",
        names.len(),
        plain(&names.join(", "))
    );
    let _ = writeln!(text, "  {would}taken out of {}", plain(&configs.join(", ")));
    for note in notes {
        let _ = writeln!(text, "  note: {}", plain(note));
    }
    text
}
