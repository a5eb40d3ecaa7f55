//! Skills: every folder with a `SKILL.md` is also served as one.
//!
//! A skill is known by the URI of its `SKILL.md`. Each of its files is listed with its digest.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Bound,
    sync::Arc,
};

use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use trove_core::{hex, json::Json, knowledge::front_matter, resource::Named};

use crate::{
    entry,
    look::Ground,
    names::{as_path, join},
    read::{Stamp, read_file},
    tree::Tree,
};

/// The file that makes a folder a skill.
const SKILL: &[u8] = b"SKILL.md";
/// The most skills of one folder of the configuration.
const MAX_SKILLS: usize = 1000;
/// The most files that one skill lists.
const MAX_FILES: usize = 200;
/// The longest file whose digest is told.
const MAX_DIGESTED: u64 = 1024 * 1024;

/// The skills that were last found, by path, so that only those that changed are read again.
#[derive(Debug, Default)]
pub(crate) struct Skills(Mutex<HashMap<Vec<u8>, Known>>);

#[derive(Debug, Clone)]
struct Known {
    /// Tells one state of its files from another.
    print: u64,
    entry: Json,
}

impl Skills {
    /// All skills of a folder.
    pub(crate) fn of(&self, ground: &Ground, tree: &Tree) -> Vec<Named> {
        let mut before = self.0.lock();
        let mut now = HashMap::new();
        let mut named = Vec::new();
        let folders = tree.folders.iter().filter(|(_, looked)| {
            looked.files.binary_search_by(|file| (*file.name).cmp(SKILL)).is_ok()
        });
        for (folder, _) in folders.take(MAX_SKILLS) {
            let files = files_below(tree, folder);
            let mut hasher = DefaultHasher::new();
            files.hash(&mut hasher);
            let print = hasher.finish();
            let known = before.remove(&**folder).filter(|known| known.print == print);
            let known = match known {
                Some(known) => known,
                None => Known { print, entry: entry_of(ground, folder, &files) },
            };
            named.extend(Named::new(known.entry.clone(), "uri"));
            now.insert(folder.to_vec(), known);
        }
        *before = now;
        named
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        !self.0.lock().is_empty()
    }

    /// The skill of the folder at `path`.
    pub(crate) fn at(&self, path: &[u8]) -> Option<Json> {
        let known = self.0.lock();
        known.get(path).map(|known| known.entry.clone())
    }
}

/// The folder of a skill, given its main file or itself, e.g. `skills/review` for
/// `skills/review/SKILL.md`.
pub(crate) fn folder_of(path: &[u8]) -> &[u8] {
    match path.strip_suffix(SKILL) {
        Some(folder) => folder.strip_suffix(b"/").unwrap_or(folder),
        None => path,
    }
}

/// The files of a skill, by path from the root.
fn files_below(tree: &Tree, folder: &Arc<[u8]>) -> BTreeMap<Vec<u8>, Stamp> {
    let below = if folder.is_empty() { Vec::new() } else { [&**folder, b"/"].concat() };
    let is_below = |path: &[u8]| path == &**folder || path.starts_with(&below);
    let later = tree.folders.range::<[u8], _>((Bound::Included(&**folder), Bound::Unbounded));
    let mut files = BTreeMap::new();
    for (path, looked) in later {
        // A folder such as `a-b` sorts between `a` and `a/b`.
        if !path.starts_with(folder) || files.len() >= MAX_FILES {
            break;
        }
        if is_below(path) {
            files.extend(looked.files.iter().map(|file| (join(path, &file.name), file.stamp)));
        }
    }
    while files.len() > MAX_FILES {
        files.pop_last();
    }
    files
}

fn entry_of(ground: &Ground, folder: &[u8], files: &BTreeMap<Vec<u8>, Stamp>) -> Json {
    let main = join(folder, SKILL);
    let text = read_file(&ground.root, as_path(&main), MAX_DIGESTED);
    let text = text.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
    let mut front: Map<String, Value> = front_matter(&text.unwrap_or_default());
    // The extension asks for both.
    let own_name = crate::names::split(folder).1;
    let name = String::from_utf8_lossy(own_name).into_owned();
    front.entry("name").or_insert_with(|| json!(name));
    front.entry("description").or_insert_with(|| json!(""));
    let resources: Vec<Value> =
        files.iter().map(|(path, stamp)| resource(ground, path, stamp)).collect();
    Json::of(&json!({
        "uri": entry::uri_of(&ground.uri, &main),
        "frontmatter": front,
        "resources": resources,
    }))
}

fn resource(ground: &Ground, path: &[u8], stamp: &Stamp) -> Value {
    let mut resource = json!({ "uri": entry::uri_of(&ground.uri, path), "size": stamp.size });
    if let Some(mime) = entry::mime_of(path) {
        resource["mimeType"] = json!(mime);
    }
    if let Ok((bytes, _)) = read_file(&ground.root, as_path(path), MAX_DIGESTED) {
        let digest = digest(&SHA256, &bytes);
        resource["digest"] = json!(format!("sha256:{}", hex(digest.as_ref())));
    }
    resource
}
