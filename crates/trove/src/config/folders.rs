//! One `[folders.ID]` becomes a [`FolderSettings`].

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use trove_core::{SourceId, source::Indexing};
use trove_folders::{BadFolder, FolderSettings};
use trove_mcp::upstream::{Dialect, Text, UpstreamConfig};

use super::{
    env::home_folder,
    file::{Folder, Index},
    problem::Problems,
    read::{Key, Spot, Table, Word as _},
    resolve::Surroundings,
};

/// All folders of a file that can be served.
pub(super) fn folders(
    written: Table<Folder>,
    upstreams: &[UpstreamConfig],
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Vec<FolderSettings> {
    let mut usable: Vec<FolderSettings> = Vec::new();
    for (name, folder) in written.0 {
        let Some(settings) = folder_of(&name, folder, around, problems) else { continue };
        if upstreams.iter().any(|upstream| upstream.id == settings.id) {
            let message = format!("`{}` is a server already", settings.id);
            problems.error(name.at, message, "give the folder or the server another name");
            continue;
        }
        let holder = usable.iter().find(|other| lies_in(&settings.path, &other.path));
        if let Some(holder) = holder {
            let message =
                format!("the folder lies in that of `{}`, so its files have two names", holder.id);
            problems.note(name.at, message, "remove one of the two, unless that is meant");
        }
        usable.push(settings);
    }
    usable
}

fn folder_of(
    name: &Spot<String>,
    folder: Folder,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Option<FolderSettings> {
    let id = match SourceId::new(&name.value) {
        Ok(id) => Some(id),
        Err(error) => {
            let hint = format!("use `{}`", SourceId::normalise(&name.value));
            problems.error(name.at, error.to_string(), hint);
            None
        }
    };
    if folder.path.is_absent() {
        let message = format!("[folders.{}] has no `path`", name.value);
        problems.error(name.at, message, "add the folder: path = \"~/docs\"");
    }
    let at = folder.path.get()?.at;
    let path = path(&folder.path, around, problems);
    if path.as_deref().is_some_and(|path| is_broad(path, around)) {
        let message = "a whole home folder or disk is served, with all that is private in it";
        problems.warning(at, message, "serve a folder in it: path = \"~/docs\"");
    }
    let ignore = folder.ignore.take().unwrap_or_default();
    let include = folder.include.take().unwrap_or_default();
    let index = folder.index.take().unwrap_or(Index::Content);
    let index = indexing(index);
    let settings = FolderSettings { id: id?, path: path?, ignore, include, index };
    if let Err(error) = settings.check() {
        let hint = match error {
            BadFolder::Include { .. } => "write globs, as in include = [\"**/*.md\"]",
            BadFolder::Ignore { .. } => "write lines as in a .gitignore: ignore = [\"*.log\"]",
        };
        problems.error(at, error.to_string(), hint);
        return None;
    }
    Some(settings)
}

/// The path with `~` and variables filled in.
fn path(
    written: &Key<String>,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Option<PathBuf> {
    let spot = written.get()?;
    if spot.value.is_empty() {
        problems.error(spot.at, "`path` is empty", "write the folder: path = \"~/docs\"");
        return None;
    }
    let below_home =
        spot.value.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let text = match below_home {
        Some(rest) => Text::new(format!("${{home}}{rest}"), Dialect::Trove),
        None => Text::new(&spot.value, Dialect::Trove),
    };
    around.path(spot.at, &text, problems)
}

fn lies_in(path: &Path, other: &Path) -> bool {
    path.starts_with(other)
}

fn is_broad(path: &Path, around: &Surroundings<'_>) -> bool {
    let home = home_folder(around.env);
    is_whole(path, home.as_deref())
}

/// Whether a folder holds all that a person has: a home folder, or what holds home folders.
pub(crate) fn is_whole(path: &Path, home: Option<&Path>) -> bool {
    path.parent().is_none() || home.is_some_and(|home| home.starts_with(path))
}

fn indexing(word: Index) -> Indexing {
    match word {
        Index::Content => Indexing::Content,
        Index::Metadata => Indexing::Metadata,
        Index::Off => Indexing::Off,
    }
}

/// Folders as `config show` prints them.
pub(super) fn shown(folders: &[FolderSettings]) -> Value {
    let mut all = Map::new();
    for folder in folders {
        let index = match folder.index {
            Indexing::Content => Index::Content,
            Indexing::Metadata => Index::Metadata,
            Indexing::Off => Index::Off,
        };
        let mut shown = json!({
            "path": super::show::path(&folder.path),
            "index": index.as_str(),
        });
        if !folder.ignore.is_empty() {
            shown["ignore"] = json!(folder.ignore);
        }
        if !folder.include.is_empty() {
            shown["include"] = json!(folder.include);
        }
        all.insert(folder.id.to_string(), shown);
    }
    Value::Object(all)
}
