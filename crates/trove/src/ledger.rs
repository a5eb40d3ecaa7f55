//! Writes categories and collections into `trove.toml`, keeping comments and order.
//!
//! All changes of one call become one new file in place of the old. A reader sees one or the other.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};
use trove_core::files::{self, Draft, Readers};
use trove_core::knowledge::{CategorySettings, CollectionSettings, Edit, Ledger};

use crate::config::Loaded;

/// The most a configuration file may hold.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The first lines of a file that did not exist.
const HEADING: &str = "# The configuration of Trove; `trove config check` reads it.\n\n";

/// The configuration file as a place to write to.
#[derive(Debug)]
pub(crate) struct ConfigLedger {
    /// The file, or why there is none to write to.
    file: Result<PathBuf, String>,
}

impl ConfigLedger {
    /// The file of a configuration; where there is none, one in `folder`.
    pub(crate) fn of(loaded: &Loaded, folder: &Path) -> ConfigLedger {
        let file = match (&loaded.origin, &loaded.client) {
            (Some(file), Some(_)) => Err(format!(
                "{} belongs to another program; run `trove init` for a file of Trove's own",
                file.display()
            )),
            (Some(file), None) => Ok(file.clone()),
            (None, _) => Ok(folder.join("trove.toml")),
        };
        ConfigLedger { file }
    }
}

impl Ledger for ConfigLedger {
    fn keep(&self, edits: &[Edit]) -> Result<(), String> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let told = |error: io::Error| format!("{}: {error}", file.display());
        // A user who made the file a link wants the link to stay.
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
        let folder = file.parent().ok_or("the configuration file has no folder")?;
        // Held until the end: two programs that write must not lose each other's changes.
        let lock = files::open_folder(folder).map_err(told)?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| told(error.into()))?;
        let text = match files::read_text(&file, MAX_FILE_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => HEADING.to_owned(),
            Err(error) => return Err(told(error)),
        };
        let edited = edited(&text, edits).map_err(|why| format!("{}: {why}", file.display()))?;
        replace(&file, edited.as_bytes()).map_err(told)
    }
}

/// Puts a new file in place of the old one, with the same permissions.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::new(file, Readers::Usual)?;
    draft.write_all(bytes)?;
    if let Ok(old) = fs::metadata(file) {
        draft.set_permissions(old.permissions())?;
    }
    draft.finish()
}

/// The text with the changes in it.
fn edited(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    for edit in edits {
        apply(document.as_table_mut(), edit)?;
    }
    Ok(document.to_string())
}

fn apply(root: &mut Table, edit: &Edit) -> Result<(), String> {
    let guide = section(root, "guide")?;
    match edit {
        Edit::SetCategory(name, category) => {
            set_category(entry(section(guide, "categories")?, name)?, name, category);
        }
        Edit::SetCollection(name, collection) => {
            set_collection(entry(section(guide, "collections")?, name)?, collection);
        }
        Edit::RenameCategory(from, to) => rename(section(guide, "categories")?, from, to),
        Edit::RenameCollection(from, to) => rename(section(guide, "collections")?, from, to),
        Edit::RemoveCategory(name) => {
            section(guide, "categories")?.remove(name);
            // Without this line no category would read as none written down.
            if section(guide, "categories")?.is_empty()
                && let Some(table) = guide.get_mut("categories").and_then(Item::as_table_mut)
            {
                table.set_implicit(false);
            }
        }
        Edit::RemoveCollection(name) => {
            section(guide, "collections")?.remove(name);
        }
        Edit::SetProjectCategories(name, all) => {
            set(entry(section(guide, "projects")?, name)?, "categories", list(all));
        }
        Edit::SetProjectCollections(name, all) => {
            set(entry(section(guide, "projects")?, name)?, "collections", list(all));
        }
    }
    Ok(())
}

/// A table of tables, which needs no line of its own.
fn section<'a>(table: &'a mut dyn TableLike, key: &str) -> Result<&'a mut dyn TableLike, String> {
    let mut made = Table::new();
    made.set_implicit(true);
    below(table, key, made)
}

/// A table with keys, or without any.
fn entry<'a>(table: &'a mut dyn TableLike, key: &str) -> Result<&'a mut dyn TableLike, String> {
    below(table, key, Table::new())
}

fn below<'a>(
    table: &'a mut dyn TableLike,
    key: &str,
    made: Table,
) -> Result<&'a mut dyn TableLike, String> {
    let item = table.entry(key).or_insert(Item::Table(made));
    item.as_table_like_mut().ok_or_else(|| format!("`{key}` is no table"))
}

fn set_category(table: &mut dyn TableLike, name: &str, category: &CategorySettings) {
    let default = CategorySettings::folder(name);
    if category.dir != default.dir || table.contains_key("dir") {
        set(table, "dir", category.dir.as_str().into());
    }
    if category.patterns != default.patterns || table.contains_key("patterns") {
        set(table, "patterns", list(&category.patterns));
    }
    describe(table, category.description.as_deref());
}

fn set_collection(table: &mut dyn TableLike, collection: &CollectionSettings) {
    set(table, "members", list(&collection.members));
    describe(table, collection.description.as_deref());
}

fn describe(table: &mut dyn TableLike, description: Option<&str>) {
    match description {
        Some(description) => set(table, "description", description.into()),
        None => drop(table.remove("description")),
    }
}

/// Sets a value; the comment behind it and an unchanged value stay as they are.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    if let Some(old) = table.get_mut(key).and_then(Item::as_value_mut) {
        let is_same = plain(old) == plain(&value);
        if !is_same {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        return;
    }
    table.insert(key, Item::Value(value));
}

/// A value without blanks and comments around it, to compare.
fn plain(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.value().clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn list(items: &[String]) -> Value {
    Value::Array(items.iter().map(String::as_str).collect::<Array>())
}

fn rename(table: &mut dyn TableLike, from: &str, to: &str) {
    if let Some(mut item) = table.remove(from) {
        // The folder of a category goes by its old name unless it says otherwise.
        let folder = item.as_table_like_mut().filter(|inner| !inner.contains_key("dir"));
        let is_category = folder.as_ref().is_some_and(|inner| !inner.contains_key("members"));
        if let Some(folder) = folder.filter(|_| is_category) {
            set(folder, "dir", from.into());
        }
        table.insert(to, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = r#"# mine
[http] # the door
addr = "127.0.0.1:1"

# languages
[guide.categories.lang]
dir = "lang" # here
patterns = ["*.md",  "*.txt"] # these

[guide.collections.review]
# before a review
members = ["lang/rust+python"]

[servers.a] # last
command = "x"
"#;

    fn category(dir: &str) -> CategorySettings {
        let patterns = vec!["*.md".to_owned(), "*.txt".to_owned()];
        CategorySettings { dir: dir.into(), patterns, description: None }
    }

    #[test]
    fn what_is_not_changed_stays_as_it_was_written() {
        let same = Edit::SetCategory("lang".into(), category("lang"));
        assert_eq!(edited(WRITTEN, &[same]).unwrap(), WRITTEN);
        let moved = Edit::SetCategory("lang".into(), category("other"));
        let expect = WRITTEN.replace("dir = \"lang\" # here", "dir = \"other\" # here");
        assert_eq!(edited(WRITTEN, &[moved]).unwrap(), expect);
    }

    #[test]
    fn a_renamed_category_keeps_its_place_comments_and_folder() {
        let renamed = Edit::RenameCategory("lang".into(), "code".into());
        let expect = WRITTEN.replace("[guide.categories.lang]", "[guide.categories.code]");
        assert_eq!(edited(WRITTEN, &[renamed]).unwrap(), expect);
        let folder = edited(
            "[guide.categories.lang]\n",
            &[Edit::RenameCategory("lang".into(), "code".into())],
        );
        assert_eq!(folder.unwrap(), "[guide.categories.code]\ndir = \"lang\"\n");
    }

    #[test]
    fn new_entries_are_written_and_old_ones_go() {
        let folder = Edit::SetCategory("docs".into(), CategorySettings::folder("docs"));
        assert_eq!(edited("", &[folder]).unwrap(), "[guide.categories.docs]\n");
        let members = vec!["docs".to_owned(), "lang/a".to_owned()];
        let all = CollectionSettings { members, description: Some("All".into()) };
        let added = edited("", &[Edit::SetCollection("all".into(), all)]).unwrap();
        assert_eq!(
            added,
            "[guide.collections.all]\nmembers = [\"docs\", \"lang/a\"]\ndescription = \"All\"\n"
        );
        let gone = edited(WRITTEN, &[Edit::RemoveCategory("lang".into())]).unwrap();
        assert!(gone.contains("[guide.categories]\n") && !gone.contains("lang\"]"), "{gone}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("trove.toml");
        fs::write(&file, "[broken").unwrap();
        let ledger = ConfigLedger { file: Ok(file.clone()) };
        assert!(ledger.keep(&[Edit::RemoveCategory("a".into())]).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "[broken");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
