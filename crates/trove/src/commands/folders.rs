//! Folders on the command line: `trove add FOLDER`, and how lists and approvals show them.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value as Json, json};
use toml_edit::{Item, Table, Value};
use trove_core::SourceId;

use super::{Failed, host, load_as_is, ls::plain, noted::note_approvals, say, servers};
use crate::{
    approval::{Approval, Approvals, FolderCandidate, Hand, judge_folders},
    cli::{Add, Global, Output},
    config::{Loaded, ProcessEnv, env::home_folder, is_whole},
};

/// How many names are tried for a folder whose own is taken.
const MAX_NAMES: usize = 100;

/// Adds the folder that a person was asked about, wherever it lies.
pub(super) fn add_here(global: &Global, folder: &Path) -> Result<(), Failed> {
    let command = Add {
        no_recipe: false,
        name: folder.display().to_string(),
        command: Vec::new(),
        named: None,
        url: None,
        env: Vec::new(),
        header: Vec::new(),
        dry_run: false,
        output: Output { json: false },
    };
    add_folder(global, &command, real(folder))
}

/// Adds a folder to the configuration.
pub(super) fn add(global: &Global, add: &Add) -> Result<(), Failed> {
    let folder = folder_at(global, &add.name)?;
    add_folder(global, add, folder)
}

fn add_folder(global: &Global, add: &Add, folder: PathBuf) -> Result<(), Failed> {
    if !add.env.is_empty() || !add.header.is_empty() {
        return Err(servers::usage("a folder has neither --env nor --header".to_owned()));
    }
    let loaded = load_as_is(global)?;
    let known = loaded.config.folders.iter().find(|one| real(&one.path) == folder);
    if let Some(known) = known {
        // Added before; once is enough.
        let (id, path) = (known.id.as_str(), plain(&folder.display().to_string()));
        let said = if add.output.json {
            format!("{}\n", json!({ "success": true, "id": id, "unchanged": true }))
        } else {
            format!("`{id}` is served already: {path}\n")
        };
        say(&said);
        return Ok(());
    }
    let change = servers::Change::of(global)?;
    let id = free_id(&change.ids, add.named.as_deref(), &folder)?;
    let mut entry = Table::new();
    let path = written(&folder, change.path());
    entry.insert("path", Item::Value(Value::from(path)));
    let after = change.edited("folders", |folders| {
        folders.insert(id.as_str(), Item::Table(entry));
        Ok(())
    })?;
    change.finish(after, add.dry_run, add.output, &format!("`{id}` added"))?;
    if !add.dry_run {
        approve_added(global, &id)?;
    }
    Ok(())
}

/// The folder that is meant, whole and with links followed.
fn folder_at(global: &Global, name: &str) -> Result<PathBuf, Failed> {
    let home = home_folder(&ProcessEnv);
    // A shell leaves `~` alone in quotes.
    let below_home = name.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = match (below_home, &home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => host()?.cwd.join(name),
    };
    let shown = plain(name);
    let folder = path.canonicalize().map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            let hint =
                "name a folder, a command behind `--` (`trove add NAME -- COMMAND`), or --url";
            return servers::usage(format!("there is no folder `{shown}`; {hint}"));
        }
        servers::usage(format!("the folder `{shown}` cannot be opened: {error}"))
    })?;
    if !folder.is_dir() {
        let above = folder.parent().unwrap_or(Path::new("/")).display().to_string();
        let message = format!(
            "`{shown}` is no folder; add the folder it lies in: trove add {}",
            plain(&above)
        );
        return Err(servers::usage(message));
    }
    folder.read_dir().map_err(|error| {
        servers::usage(format!("the folder `{shown}` cannot be looked into: {error}"))
    })?;
    if is_private(&folder) && !global.yes {
        let message = format!(
            "`{shown}` holds all that is private to you; add a folder in it, or say --yes to serve all of it"
        );
        return Err(servers::usage(message));
    }
    Ok(folder)
}

/// Whether a folder holds all that a person has.
pub(super) fn is_private(folder: &Path) -> bool {
    let home = home_folder(&ProcessEnv).map(|home| real(&home));
    is_whole(&real(folder), home.as_deref())
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The name that was asked for; else the folder's own, with a number if that is taken, e.g.
/// `docs-2`.
fn free_id(taken: &[SourceId], named: Option<&str>, folder: &Path) -> Result<SourceId, Failed> {
    if let Some(named) = named {
        let id = SourceId::normalise(named);
        if taken.contains(&id) {
            let message =
                format!("there is a server `{id}` already; choose another name with --as");
            return Err(servers::usage(message));
        }
        return Ok(id);
    }
    let own = folder.file_name().map_or_else(|| "files".into(), |name| name.to_string_lossy());
    let numbered =
        (2..MAX_NAMES).map(|number| format!("{:.26}-{number}", SourceId::normalise(&own).as_str()));
    let names = std::iter::once(own.to_string()).chain(numbered);
    let mut ids = names.map(|name| SourceId::normalise(&name));
    let free = ids.find(|id| !taken.contains(id));
    free.ok_or_else(|| {
        servers::usage("every name for it is taken; choose one with --as".to_owned())
    })
}

/// The path as it is written: from the file's folder, e.g. `./docs`, from `~`, or else whole.
fn written(folder: &Path, file: &Path) -> String {
    let here = file.parent().map(real);
    let home = home_folder(&ProcessEnv).map(|home| real(&home));
    let below = |base: &Option<PathBuf>| {
        let below = folder.strip_prefix(base.as_ref()?).ok()?;
        Some(below.display().to_string())
    };
    // `$` begins a variable.
    let escape = |path: String| path.replace('$', "$$");
    match (below(&here), below(&home)) {
        (Some(path), _) if path.is_empty() => ".".to_owned(),
        (Some(path), _) => format!("./{}", escape(path)),
        (None, Some(path)) if path.is_empty() => "~".to_owned(),
        (None, Some(path)) => format!("~/{}", escape(path)),
        (None, None) => escape(folder.display().to_string()),
    }
}

/// Lets a folder be served that the user has just added by hand, wherever it lies.
fn approve_added(global: &Global, id: &SourceId) -> Result<(), Failed> {
    let loaded = load_as_is(global)?;
    let state = &loaded.config.state_dir.value;
    let approvals = Approvals::load(state)?;
    let candidates = judge_folders(Hand::of(&loaded), &loaded, &approvals);
    let added = candidates.iter().filter(|one| one.folder.id == *id);
    let new: Vec<Approval> = added.filter_map(approval).collect();
    if new.is_empty() {
        return Ok(());
    }
    Approvals::add(state, new)?;
    note_approvals(&loaded.config, &[id.to_string()])?;
    Ok(())
}

/// The approval of a folder that waits for one.
pub(super) fn approval(candidate: &FolderCandidate<'_>) -> Option<Approval> {
    if candidate.verdict.may_run() {
        return None;
    }
    Some(Approval {
        file: candidate.file.display().to_string(),
        server: candidate.folder.id.to_string(),
        sha256: candidate.invocation.sha256(),
        invocation: candidate.invocation.clone(),
        calls: None,
    })
}

/// The folders of a configuration as `trove list` shows them.
pub(super) fn rows(loaded: &Loaded, approvals: &Approvals) -> Vec<Json> {
    let candidates = judge_folders(Hand::of(loaded), loaded, approvals);
    candidates.iter().map(row).collect()
}

fn row(one: &FolderCandidate<'_>) -> Json {
    json!({
        "id": one.folder.id.as_str(),
        "transport": "folder",
        "reach": one.folder.path.display().to_string(),
        "approval": one.verdict.as_str(),
        "file": one.file.display().to_string(),
    })
}

/// One folder as `trove approve` shows it.
pub(super) fn describe(one: &FolderCandidate<'_>, is_listing: bool, text: &mut String) {
    let word = if one.verdict.may_run() {
        "needs no approval, or has it"
    } else if is_listing {
        "waiting for approval"
    } else {
        "now approved"
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\n{}: {word}", one.folder.id);
    let _ = writeln!(text, "  serves   {}", plain(&one.place.display().to_string()));
}

/// One folder as `trove approve --json` shows it.
pub(super) fn as_json(one: &FolderCandidate<'_>, is_listing: bool) -> Json {
    let state = if is_listing { one.verdict.as_str() } else { "approved" };
    json!({
        "id": one.folder.id.as_str(),
        "state": state,
        "folder": one.place.display().to_string(),
        "sha256": one.invocation.sha256(),
    })
}
