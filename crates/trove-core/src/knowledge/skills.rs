//! Skills: every folder with a `SKILL.md` is also served as one.
//!
//! A skill's URI is `skill://guide/` and its folder. The last part of the folder is the skill's own
//! name, as the extension asks for. If a folder beside it has that name already, its own folder's
//! name stays. Each file is listed with its digest.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::{
    address,
    content::MAX_DOCUMENT_BYTES,
    document::{FileFacts, SKILL},
    store::Store,
};
use crate::{hex::hex, json::Json, source::Visible, uri::decode_once};

/// The start of the URIs of all skills of the guide.
pub(super) const PREFIX: &str = "skill://guide/";
/// The most files that one skill lists.
const MAX_FILES: usize = 1000;

#[derive(Debug)]
pub(super) struct Skill {
    /// The URI of its folder, without a slash at the end.
    pub(super) root: String,
    /// Where that lies, from the root of the guide.
    pub(super) folder: String,
    pub(super) name: String,
    pub(super) description: String,
    /// As `skills/list` shows it.
    pub(super) entry: Json,
    /// Its files: path below its folder.
    pub(super) files: BTreeMap<String, Arc<FileFacts>>,
}

/// The target of a URI below [`PREFIX`].
pub(super) enum Place<'a> {
    File(&'a Arc<FileFacts>),
    /// A folder, by the paths right below it: name and, if it is one, the file.
    Folder(&'a Skill, String),
}

/// All skills of the guide by the URI of their `SKILL.md`, and what is odd about them.
pub(super) fn find(
    store: &Store,
    files: &HashMap<Arc<str>, Arc<FileFacts>>,
    paths: &[&Arc<str>],
) -> (BTreeMap<String, Skill>, Vec<String>) {
    let (mut skills, mut problems) = (BTreeMap::new(), Vec::new());
    let folders: HashSet<&str> = paths.iter().filter_map(|path| folder_of(path)).collect();
    for path in paths {
        let Some(folder) = folder_of(path) else { continue };
        let Some(main) = files.get(&***path) else { continue };
        let prefix = format!("{folder}/");
        let first = paths.partition_point(|path| &***path < prefix.as_str());
        let below = paths[first..].iter().take_while(|path| path.starts_with(&prefix));
        let mut own = BTreeMap::new();
        for path in below {
            if let Some(file) = files.get(&***path) {
                own.insert(path[prefix.len()..].to_owned(), file.clone());
            }
        }
        if own.len() > MAX_FILES {
            problems.push(format!("{folder}: a skill of more than {MAX_FILES} files"));
            continue;
        }
        let name = name_of(folder, main);
        let named = beside(folder, &name);
        let is_free =
            |named: &str| !folders.contains(named) && !skills.contains_key(&main_uri(named));
        let place = if named == folder || is_free(&named) { named.as_str() } else { folder };
        if place != named {
            problems
                .push(format!("{path}: another skill is called `{name}`, so this is `{place}`"));
        }
        let skill = skill(store, (folder, place), main, own);
        if skill.description.is_empty() {
            problems.push(format!("{path}: a skill needs a `description` in its front matter"));
        }
        skills.insert(main_uri(place), skill);
    }
    (skills, problems)
}

/// The folder that a `SKILL.md` makes a skill, e.g. `pdf` for `pdf/SKILL.md`.
fn folder_of(path: &str) -> Option<&str> {
    path.strip_suffix(SKILL)?.strip_suffix('/')
}

/// The name that a skill gives itself, else the name of its folder.
fn name_of(folder: &str, main: &FileFacts) -> String {
    let own = main.all.as_ref().and_then(|all| all.get("name")).and_then(Value::as_str);
    let own = own.filter(|name| !matches!(*name, "" | "." | "..") && !name.contains('/'));
    let last = || folder.rsplit('/').next().unwrap_or(folder);
    own.unwrap_or_else(last).to_owned()
}

/// The folder of another name in the same one, e.g. `a/c` for `a/b` and `c`.
fn beside(folder: &str, name: &str) -> String {
    folder.rsplit_once('/').map_or_else(|| name.to_owned(), |(above, _)| format!("{above}/{name}"))
}

/// The URI of the skill at a place, e.g. `skill://guide/pdf/SKILL.md`.
fn main_uri(place: &str) -> String {
    format!("{PREFIX}{}/{SKILL}", address::encode(place, true))
}

/// The skill of a folder, which its URI calls `place`.
fn skill(
    store: &Store,
    (folder, place): (&str, &str),
    main: &FileFacts,
    files: BTreeMap<String, Arc<FileFacts>>,
) -> Skill {
    let name = name_of(folder, main);
    let mut front: Map<String, Value> = main.all.as_deref().cloned().unwrap_or_default();
    let written = front.get("description").and_then(Value::as_str).map(str::to_owned);
    let description = written.or_else(|| main.title.as_deref().map(str::to_owned));
    let description = description.unwrap_or_default();
    // The extension asks for both; a missing one is made up.
    front.insert("name".into(), json!(name));
    front.insert("description".into(), json!(description));
    let root = format!("{PREFIX}{}", address::encode(place, true));
    let resources: Vec<Value> = files
        .iter()
        .map(|(path, file)| {
            let mut entry = json!({
                "uri": format!("{root}/{}", address::encode(path, true)),
                "size": file.stamp.size,
                "mimeType": file.media,
            });
            if let Some(digest) = digest_of(store, file) {
                entry["digest"] = json!(digest);
            }
            entry
        })
        .collect();
    let entry = Json::of(&json!({
        "uri": format!("{root}/{SKILL}"), "frontmatter": front, "resources": resources,
    }));
    Skill { root, folder: folder.to_owned(), name, description, entry, files }
}

/// Read once for each state of the file.
fn digest_of(store: &Store, file: &FileFacts) -> Option<String> {
    let make = || {
        let (bytes, _) = store.read(&file.path, MAX_DOCUMENT_BYTES).ok()?;
        Some(format!("sha256:{}", hex(digest(&SHA256, &bytes).as_ref())))
    };
    file.digest.get_or_init(make).clone()
}

/// The target of a skill:// URI, decoded once.
pub(super) fn place<'a>(
    skills: &'a BTreeMap<String, Skill>,
    uri: &str,
    visible: &Visible,
) -> Option<Place<'a>> {
    let skill = owner(skills, uri)?;
    let rest = uri[skill.root.len()..].trim_matches('/');
    let path = decode_once(rest)?;
    let is_shown = |path: &str| visible.allows(&skill.uri(path));
    if let Some(file) = skill.files.get(&path).filter(|_| is_shown(&path)) {
        return Some(Place::File(file));
    }
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let is_folder = skill.files.keys().any(|file| file.starts_with(&prefix) && is_shown(file));
    is_folder.then_some(Place::Folder(skill, prefix))
}

/// The skill whose folder a URI lies in.
fn owner<'a>(skills: &'a BTreeMap<String, Skill>, uri: &str) -> Option<&'a Skill> {
    let mut root = uri.trim_end_matches('/');
    while root.len() > PREFIX.len() {
        if let Some(skill) = skills.get(&format!("{root}/{SKILL}")) {
            return Some(skill);
        }
        root = &root[..root.rfind('/')?];
    }
    None
}

impl Skill {
    /// The URI of one of its files or folders, e.g. `skill://guide/pdf/forms.md`.
    pub(super) fn uri(&self, path: &str) -> String {
        format!("{}/{}", self.root, address::encode(path, true))
    }

    /// Its `SKILL.md` as a resource.
    pub(super) fn resource(&self, uri: &str) -> Json {
        let size = self.files.get(SKILL).map_or(0, |file| file.stamp.size);
        Json::of(&json!({
            "uri": uri, "name": self.name, "description": self.description,
            "mimeType": super::media::MARKDOWN, "size": size,
        }))
    }

    /// The entries right in a folder of it, as resources; `prefix` ends in a slash or is empty.
    pub(super) fn members(&self, prefix: &str, visible: &Visible) -> Vec<Value> {
        let mut folders = BTreeSet::new();
        let mut members = Vec::new();
        let uri = |path: &str| self.uri(path);
        for (path, file) in self.files.iter().filter(|(path, _)| visible.allows(&uri(path))) {
            let Some(rest) = path.strip_prefix(prefix) else { continue };
            match rest.split_once('/') {
                None => members.push(json!({
                    "uri": uri(path), "name": rest, "mimeType": file.media, "size": file.stamp.size,
                })),
                Some((folder, _)) => {
                    if folders.insert(folder) {
                        members.push(json!({
                            "uri": uri(&format!("{prefix}{folder}")), "name": folder,
                            "mimeType": "inode/directory",
                        }));
                    }
                }
            }
        }
        members
    }
}
