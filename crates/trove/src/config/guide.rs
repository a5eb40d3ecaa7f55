//! `[guide]`: categories, collections and projects of local knowledge.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use trove_core::{
    flags::{check_written, defs::KNOWN},
    knowledge::{
        CategorySettings, CollectionSettings, DEFAULT_MAX_DOCUMENTS, Groups, ProjectSettings,
        check_groups,
    },
};
use trove_mcp::upstream::{Dialect, Text};

use super::{
    Config, Setting,
    file::{Guide, GuideCategory, GuideCollection, GuideProject},
    problem::Problems,
    read::{Key, Read, Spot, Table},
    resolve::{Surroundings, pick},
    show::path,
    tree::{self, At, Node},
};

/// The most documents that one answer may be set to hold.
const MAX_MAX_DOCUMENTS: u64 = 100_000;

/// The value of a flag: true or false, a text, a list of texts, or a map to those.
pub(super) struct FlagValue(pub(super) Value);

impl Read for FlagValue {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<FlagValue> {
        match &node.value {
            tree::Value::Bool(flag) => Some(FlagValue(json!(flag))),
            tree::Value::Text(text) => Some(FlagValue(json!(text))),
            tree::Value::List(_) => {
                Some(FlagValue(json!(Vec::<String>::read(node, section, problems)?)))
            }
            tree::Value::Map(_) => {
                let map = Table::<FlagValue>::read(node, section, problems)?.0.into_iter();
                Some(FlagValue(map.map(|(key, value)| (key.value, value.0)).collect()))
            }
            _ => {
                let message = format!("`{section}` must be true, false, a string or a list");
                problems.error(node.at, message, "write it as in `workflow = true`");
                None
            }
        }
    }
}

impl JsonSchema for FlagValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FlagValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "anyOf": [
                { "type": "boolean" },
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
                { "type": "object", "additionalProperties": { "anyOf": [
                    { "type": "boolean" },
                    { "type": "string" },
                    { "type": "array", "items": { "type": "string" } },
                ] } },
            ],
        })
    }
}

pub(super) fn max_documents(key: &Key<u64>, problems: &mut Problems) -> Setting<usize> {
    let written = key.get().and_then(|spot| {
        if !(1..=MAX_MAX_DOCUMENTS).contains(&spot.value) {
            let message = format!("`max_documents` is not from 1 to {MAX_MAX_DOCUMENTS}");
            let hint = format!("write a number, as in `{DEFAULT_MAX_DOCUMENTS}`");
            problems.error(spot.at, message, hint);
            return None;
        }
        usize::try_from(spot.value).ok()
    });
    pick(None, written, DEFAULT_MAX_DOCUMENTS)
}

/// The project that is meant where no folder tells; it must be one of them.
pub(super) fn named_project(guide: &Guide, problems: &mut Problems) -> Setting<Option<String>> {
    let written = guide.project.get().and_then(|spot| {
        let known = || guide.projects.0.iter().map(|(name, _)| name.value.as_str());
        if !known().any(|name| name == spot.value) {
            let message = format!("`project` names {:?}, which is no project", spot.value);
            let all: Vec<&str> = known().collect();
            let hint = match &all[..] {
                [] => format!("add [guide.projects.{}], or leave `project` out", spot.value),
                some => format!("there are: {}", some.join(", ")),
            };
            problems.error(spot.at, message, hint);
            return None;
        }
        Some(Some(spot.value.clone()))
    });
    pick(None, written, None)
}

pub(super) fn groups(guide: Guide, around: &Surroundings<'_>, problems: &mut Problems) -> Groups {
    let mut places: BTreeMap<String, At> = BTreeMap::new();
    let categories = guide.categories.take().map(|table| {
        named(table, "categories", &mut places, |name, category| {
            Some(self::category(name, category))
        })
    });
    let collections = named(guide.collections, "collections", &mut places, |name, collection| {
        self::collection(name, collection, problems)
    });
    let projects = named(guide.projects, "projects", &mut places, |_, project| {
        Some(self::project(project, around, problems))
    });
    let groups = Groups { categories, collections, projects };
    for (key, why) in check_groups(&groups) {
        let at = places.get(&key).copied().unwrap_or(tree::TOP);
        problems.error(at, format!("[guide.{key}]: {why}"), "mend it here");
    }
    groups
}

fn named<T, S>(
    table: Table<T>,
    kind: &str,
    places: &mut BTreeMap<String, At>,
    mut resolve: impl FnMut(&Spot<String>, T) -> Option<S>,
) -> BTreeMap<String, S> {
    let mut all = BTreeMap::new();
    for (name, entry) in table.0 {
        places.insert(format!("{kind}.{}", name.value), name.at);
        if let Some(entry) = resolve(&name, entry) {
            all.insert(name.value, entry);
        }
    }
    all
}

fn category(name: &Spot<String>, written: GuideCategory) -> CategorySettings {
    let folder = CategorySettings::folder(&name.value);
    CategorySettings {
        dir: written.dir.take().unwrap_or(folder.dir),
        patterns: written.patterns.take().unwrap_or(folder.patterns),
        description: written.description.take(),
    }
}

fn collection(
    name: &Spot<String>,
    written: GuideCollection,
    problems: &mut Problems,
) -> Option<CollectionSettings> {
    if written.members.is_absent() {
        let message = format!("[guide.collections.{}] has no `members`", name.value);
        problems.error(name.at, message, "add them: members = [\"lang/rust\", \"checklists\"]");
    }
    let members = written.members.take()?;
    Some(CollectionSettings { members, description: written.description.take() })
}

fn project(
    written: GuideProject,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> ProjectSettings {
    let root = written
        .root
        .get()
        .and_then(|root| around.path(root.at, &Text::new(&root.value, Dialect::Trove), problems))
        .map(|root| without_parents(&root));
    let flags = written.flags.0.into_iter();
    let flags = flags.filter_map(|(name, value)| {
        if let Err(error) = check_written(KNOWN, &name.value, &value.value.0) {
            problems.error(value.at, error.to_string(), "docs/flags.md says what flags there are");
            return None;
        }
        Some((name.value, value.value.0))
    });
    // A working directory is told without links, and a client tells what it was given.
    let real_root = root.as_ref().and_then(|root| root.canonicalize().ok());
    let real_root = real_root.filter(|real| Some(real) != root.as_ref());
    ProjectSettings {
        root,
        real_root,
        categories: written.categories.take(),
        collections: written.collections.take(),
        flags: flags.collect(),
        description: written.description.take(),
    }
}

/// The path without `..`, e.g. `/a/c` for `/a/b/../c`. A project's folder is compared with it by
/// name, and has none.
fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            // Above the top there is only the top.
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// `[guide]` as it is in force.
pub(super) fn shown(config: &Config) -> Value {
    let mut guide = Map::new();
    guide.insert("root".into(), json!(path(&config.guide_root)));
    guide.insert("max_documents".into(), json!(config.guide_max_documents.value));
    if let Some(project) = &config.guide_project.value {
        guide.insert("project".into(), json!(project));
    }
    let groups = &config.guide_groups;
    if let Some(categories) = &groups.categories {
        let of = |c: &CategorySettings| {
            described(json!({ "dir": c.dir, "patterns": c.patterns }), c.description.as_ref())
        };
        guide.insert("categories".into(), table(categories, of));
    }
    if !groups.collections.is_empty() {
        let of = |c: &CollectionSettings| {
            described(json!({ "members": c.members }), c.description.as_ref())
        };
        guide.insert("collections".into(), table(&groups.collections, of));
    }
    if !groups.projects.is_empty() {
        guide.insert("projects".into(), table(&groups.projects, shown_project));
    }
    Value::Object(guide)
}

fn shown_project(project: &ProjectSettings) -> Value {
    let mut shown = Map::new();
    if let Some(root) = &project.root {
        shown.insert("root".into(), json!(path(root)));
    }
    for (key, picked) in
        [("categories", &project.categories), ("collections", &project.collections)]
    {
        if let Some(picked) = picked {
            shown.insert(key.into(), json!(picked));
        }
    }
    if !project.flags.is_empty() {
        shown.insert("flags".into(), json!(project.flags));
    }
    described(Value::Object(shown), project.description.as_ref())
}

fn table<T>(all: &BTreeMap<String, T>, of: impl Fn(&T) -> Value) -> Value {
    Value::Object(all.iter().map(|(name, entry)| (name.clone(), of(entry))).collect())
}

fn described(mut shown: Value, description: Option<&String>) -> Value {
    if let Some(description) = description {
        shown["description"] = json!(description);
    }
    shown
}
