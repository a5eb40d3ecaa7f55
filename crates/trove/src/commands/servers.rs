//! `trove list`, `trove add`, `trove remove`: the servers of the configuration. Nothing is
//! started for it; a Trove that runs takes the change over.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value as Json, json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};
use trove_core::{SourceId, content::escape_controls, status::Remedy};
use trove_mcp::upstream::Reach;

use super::{Class, Failed, configure, folders, host, load_as_is, ls::plain, say};
use crate::{
    approval::{Approvals, Calls, judge},
    borrow::borrow,
    cli::{Add, Global, Output, Remove},
    clients::{ClientError, Dressed, Original, mark_beside, replace, unified},
    config::{HostScope, Overrides, ProcessEnv, Request, Severity, load_as_if, masked_url},
    machine::current_folder,
};

pub(super) fn list(global: &Global, output: Output) -> Result<(), Failed> {
    let (mut loaded, cwd) = configure(global, Overrides::default())?;
    let host = host()?;
    mark_beside(&mut loaded, &host);
    borrow(&mut loaded, &host);
    let approvals = Approvals::load(&loaded.config.state_dir.value)?;
    let candidates = judge(&loaded, &approvals, &HostScope::new(ProcessEnv, cwd));
    let mut rows: Vec<Json> = candidates
        .iter()
        .map(|one| {
            let state = one.verdict.as_str();
            let (transport, reach) = match &one.upstream.reach {
                Reach::Stdio { command, .. } => ("stdio", command.written().to_owned()),
                // User and query may be secret.
                Reach::Http(remote) => ("http", masked_url(remote.url.written())),
                Reach::Sse(remote) => ("sse", masked_url(remote.url.written())),
            };
            let file = one.file.display().to_string();
            let id = one.upstream.id.as_str();
            json!({
                "id": id, "transport": transport, "reach": reach, "approval": state, "file": file,
                "passes_tools": one.upstream.passes_tools(), "passing": one.upstream.passing(),
            })
        })
        .collect();
    rows.extend(folders::rows(&loaded, &approvals));
    if output.json {
        say(&format!("{}\n", json!({ "success": true, "servers": rows })));
        return Ok(());
    }
    let mut text = String::new();
    for row in &rows {
        let word = |key: &str| plain(row[key].as_str().unwrap_or_default());
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<20} {:<6} {:<9} {}  ({})",
            word("id"),
            word("transport"),
            word("approval"),
            word("reach"),
            word("file")
        );
        if !word("passing").is_empty() {
            let _ = writeln!(text, "{:<20} its tools are {}", "", word("passing"));
        }
    }
    if rows.is_empty() {
        text.push_str("No servers yet: `trove add FOLDER`, `trove add NAME -- COMMAND`, or `trove import` for those of other clients.\n");
    }
    say(&text);
    Ok(())
}

pub(super) fn add(global: &Global, add: &Add) -> Result<(), Failed> {
    if add.url.is_none() && add.command.is_empty() {
        return folders::add(global, add);
    }
    let id = SourceId::normalise(&add.name);
    let mut server = server(add)?;
    let calls = recipe_for(add);
    if let Some(name) = calls.as_ref().and_then(|calls| calls.name.as_deref()) {
        server.insert("recipe", Item::Value(Value::from(name)));
    }
    let change = Change::of(global)?;
    let is_taken = change.ids.contains(&id);
    let after = change.edited("servers", |servers| {
        if is_taken {
            let message = format!("there is a server `{id}` already; `trove remove {id}` first");
            return Err(usage(message));
        }
        servers.insert(id.as_str(), Item::Table(server));
        Ok(())
    })?;
    change.finish(after, add.dry_run, add.output, &format!("`{id}` added"))?;
    if !add.dry_run && !global.quiet {
        tell_of_recipe(calls.as_ref());
        tell_if_waiting(global, &id)?;
    }
    Ok(())
}

/// The recipe for what is added, unless none is wanted.
fn recipe_for(add: &Add) -> Option<Calls> {
    if add.no_recipe {
        return None;
    }
    let words = add.command.iter().chain(&add.url).map(String::as_str);
    Calls::for_words(words)
}

#[expect(clippy::print_stderr, reason = "a note for whoever sits at the terminal")]
fn tell_of_recipe(calls: Option<&Calls>) {
    if let Some(calls) = calls {
        let calls = plain(&calls.shown());
        eprintln!(
            "note: resources are made of its tools by recipe {calls}; --no-recipe leaves it out"
        );
    }
}

/// A file that was only found came with the project, even if this user wrote into it last.
#[expect(clippy::print_stderr, reason = "a note for whoever sits at the terminal")]
fn tell_if_waiting(global: &Global, id: &SourceId) -> Result<(), Failed> {
    let loaded = load_as_is(global)?;
    let approvals = Approvals::load(&loaded.config.state_dir.value)?;
    let candidates = judge(&loaded, &approvals, &HostScope::new(ProcessEnv, current_folder()?));
    let added = candidates.iter().find(|one| one.upstream.id == *id);
    if added.is_some_and(|one| !one.verdict.may_run()) {
        let command = Remedy::Approve.command(id, &loaded.naming());
        eprintln!("note: it waits for approval: run `{command}`");
    }
    Ok(())
}

pub(super) fn remove(global: &Global, remove: &Remove) -> Result<(), Failed> {
    let id = SourceId::normalise(&remove.name);
    let change = Change::of(global)?;
    let section = if change.folders.contains(&id) { "folders" } else { "servers" };
    let after = change.edited(section, |entries| {
        // The key as written may be another spelling of the id.
        let keys = entries.iter().map(|(key, _)| key.to_owned());
        let keys: Vec<String> = keys.filter(|key| SourceId::normalise(key) == id).collect();
        if keys.is_empty() {
            return Err(usage(format!("there is no server `{id}`; `trove list` shows all")));
        }
        for key in keys {
            entries.remove(&key);
        }
        Ok(())
    })?;
    change.finish(after, remove.dry_run, remove.output, &format!("`{id}` removed"))
}

pub(super) fn usage(message: String) -> Failed {
    Failed::new(Class::InvalidArguments, message)
}

/// The entry as written.
fn server(add: &Add) -> Result<Table, Failed> {
    let mut table = Table::new();
    let mut put = |key: &str, value: Value| drop(table.insert(key, Item::Value(value)));
    if let Some(url) = &add.url {
        put("url", Value::from(url.as_str()));
    }
    if let Some((program, args)) = add.command.split_first() {
        put("command", Value::from(program.as_str()));
        if !args.is_empty() {
            put("args", Value::Array(args.iter().map(String::as_str).collect::<Array>()));
        }
    }
    for (key, given, divider) in [("env", &add.env, '='), ("headers", &add.header, ':')] {
        let mut pairs = InlineTable::new();
        for one in given {
            let (name, value) = one.split_once(divider).ok_or_else(|| {
                usage(format!("`{one}` must have a `{divider}` between name and value"))
            })?;
            pairs.insert(name.trim(), Value::from(value.trim()));
        }
        if !pairs.is_empty() {
            put(key, Value::InlineTable(pairs));
        }
    }
    Ok(table)
}

/// The configuration file, and what becomes of it.
pub(super) struct Change {
    original: Original,
    dressed: Dressed,
    /// The ids that are taken.
    pub(super) ids: Vec<SourceId>,
    /// Those of them that folders have.
    folders: Vec<SourceId>,
}

impl Change {
    /// Of the `trove.toml` in force; where there is none, of a new one here.
    pub(super) fn of(global: &Global) -> Result<Change, Failed> {
        let loaded = load_as_is(global)?;
        let path = match (&loaded.origin, &loaded.client) {
            (Some(file), Some(client)) => {
                let message = format!(
                    "{} belongs to {client}; name a trove.toml with --config",
                    file.display()
                );
                return Err(Failed::new(Class::Config, message));
            }
            (Some(file), None) => file.clone(),
            (None, _) => host()?.cwd.join("trove.toml"),
        };
        let original = Original::read(&path)?;
        let bytes = original.bytes.as_deref().unwrap_or_default();
        let dressed = Dressed::of(bytes)
            .ok_or_else(|| ClientError::NotText { path: original.path.clone() })?;
        let ids = loaded.config.server_ids().cloned().collect();
        let folders = loaded.config.folders.iter().map(|folder| folder.id.clone()).collect();
        Ok(Change { original, dressed, ids, folders })
    }

    pub(super) fn path(&self) -> &PathBuf {
        &self.original.path
    }

    /// The text with a section changed: its servers or its folders.
    pub(super) fn edited(
        &self,
        section: &str,
        change: impl FnOnce(&mut dyn toml_edit::TableLike) -> Result<(), Failed>,
    ) -> Result<String, Failed> {
        let broken = |why: &dyn std::fmt::Display| {
            let message = format!("{}: {why}; run `trove config check`", self.path().display());
            Failed::new(Class::Config, message)
        };
        let mut document: DocumentMut = self
            .dressed
            .text
            .parse()
            .map_err(|error: toml_edit::TomlError| broken(&error.message()))?;
        let entries = document.entry(section).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let entries = entries.as_table_like_mut();
        change(entries.ok_or_else(|| broken(&format!("`{section}` is no table")))?)?;
        // A running Trove keeps its servers unless the file says that there are none.
        if let Some(table) = document.get_mut(section).and_then(Item::as_table_mut)
            && table.is_empty()
        {
            table.set_implicit(false);
        }
        Ok(document.to_string())
    }

    /// Writes it, keeping the old file beside, unless that would bring a new error. An earlier
    /// error is none of its business, and only told.
    pub(super) fn finish(
        &self,
        after: String,
        is_dry_run: bool,
        output: Output,
        done: &str,
    ) -> Result<(), Failed> {
        let host = host()?;
        let old = self.errors(&self.dressed.text, &host.cwd);
        let now = self.errors(&after, &host.cwd);
        let new = brought(&old, &now);
        if !new.is_empty() {
            return Err(Failed::new(Class::Config, new.join("; ")));
        }
        if is_dry_run {
            let diff = unified(self.path(), &self.dressed.text, &after);
            say(&if output.json {
                format!("{}\n", json!({ "success": true, "dry_run": true, "diff": diff }))
            } else {
                diff
            });
            return Ok(());
        }
        let backup = replace(&self.original, Some(&self.dressed.dress(&after)), host.now)?;
        let path = self.path().display();
        if output.json {
            let backup = backup.as_ref().map(|backup| backup.display().to_string());
            let file = path.to_string();
            let report =
                json!({ "success": true, "file": file, "backup": backup, "problems": now });
            say(&format!("{report}\n"));
        } else {
            say(&format!("{done} in {path}\n"));
        }
        warn_of(&now);
        Ok(())
    }

    /// The errors that the configuration would have if the file held this text.
    fn errors(&self, text: &str, cwd: &Path) -> Vec<String> {
        let (explicit, cwd) = (Some(self.path().clone()), cwd.to_owned());
        let request = Request { explicit, cwd, env: &ProcessEnv, flags: Overrides::default() };
        let problems = load_as_if(&request, text).problems;
        let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
        // Lines move with every change; the messages about them do not.
        errors.map(|problem| format!("{}; {}", problem.message, problem.hint)).collect()
    }
}

/// The errors that were not there before.
fn brought(old: &[String], now: &[String]) -> Vec<String> {
    let mut old = old.to_vec();
    let mut new = Vec::new();
    for error in now {
        match old.iter().position(|known| known == error) {
            Some(at) => drop(old.swap_remove(at)),
            None => new.push(error.clone()),
        }
    }
    new
}

#[expect(clippy::print_stderr, reason = "a warning for whoever sits at the terminal")]
fn warn_of(errors: &[String]) {
    for error in errors {
        eprintln!("warning: the configuration has an error: {}", escape_controls(error));
    }
}
