//! Puts one entry into a text, or takes it out, in any of the forms that clients use.
//!
//! Every edit is read back and compared before it is given out: our entry says its new words, and
//! all other entries say their old ones.

use std::path::Path;

use serde_json::{Map, Value};

use super::{
    edit_json, edit_toml, edit_yaml,
    entry::Entry,
    error::ClientError,
    table::{Form, Row},
    verify,
};
use crate::config::tree::{self, Node};

/// Where an entry stands: the file, the key that holds the servers, our name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) path: &'a Path,
    pub(super) form: Form,
    pub(super) key: &'a str,
    pub(super) name: &'a str,
}

impl<'a> Spot<'a> {
    pub(super) fn of(row: &'a Row, path: &'a Path, name: &'a str) -> Spot<'a> {
        Spot { path, form: row.form, key: row.key, name }
    }

    /// The text as a tree. A text without a word is one without servers.
    pub(super) fn read(&self, text: &str) -> Result<Node, ClientError> {
        let path = self.path.to_owned();
        let parsed = match self.form {
            Form::Json => tree::parse_json(text),
            Form::Toml => tree::parse_toml(text),
            Form::Yaml | Form::OwnYaml => tree::parse_yaml(text),
        };
        parsed.map_err(|errors| match errors.into_iter().next() {
            Some(tree::SyntaxError { at, message }) => {
                ClientError::Broken { path, line: at.line, column: at.column, message }
            }
            None => ClientError::Broken { path, line: 1, column: 1, message: "unreadable".into() },
        })
    }

    /// Our entry in the tree of a file.
    pub(super) fn find<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        let servers = root.get(self.key)?;
        let has_name = |node: &&Node| node.get("name").and_then(Node::as_str) == Some(self.name);
        match self.form {
            Form::OwnYaml => servers.elements().iter().find(has_name),
            _ => servers.get(self.name),
        }
    }

    /// The text with the entry in it.
    pub(super) fn put(&self, text: &str, entry: &Entry) -> Result<String, ClientError> {
        let before = self.read(text)?;
        let after = match self.form {
            Form::Json => edit_json::put(text, self, entry)?,
            Form::Toml => edit_toml::put(text, self, entry)?,
            Form::Yaml => edit_yaml::put(text, &before, self, entry)?,
            Form::OwnYaml => edit_yaml::own_file(self.name, &entry.whole()),
        };
        let tree = self.read(&after)?;
        let is_there = self.find(&tree).is_some_and(|node| says_all(node, entry));
        if !is_there || !self.leaves_others(&before, &tree) {
            return Err(self.would_not_read_back(&entry.whole()));
        }
        Ok(after)
    }

    /// The text without the entry; `None`: nothing is left that is not ours.
    pub(super) fn take(&self, text: &str) -> Result<Option<String>, ClientError> {
        let before = self.read(text)?;
        let after = match self.form {
            Form::Json => edit_json::take(text, self)?,
            Form::Toml => edit_toml::take(text, self)?,
            Form::Yaml => edit_yaml::take(text, &before, self)?,
            Form::OwnYaml => return self.take_own_file(&before),
        };
        let tree = self.read(&after)?;
        if self.find(&tree).is_some() || !self.leaves_others(&before, &tree) {
            return Err(self.would_not_read_back(&Map::new()));
        }
        Ok(Some(after))
    }

    fn take_own_file(&self, before: &Node) -> Result<Option<String>, ClientError> {
        match before.get(self.key).map_or(0, |servers| servers.elements().len()) {
            0 | 1 => Ok(None),
            _ => Err(self.unfit("it holds other servers too", "remove the entry by hand")),
        }
    }

    fn leaves_others(&self, before: &Node, after: &Node) -> bool {
        self.form == Form::OwnYaml || verify::same_but_at(before, after, &[self.key, self.name])
    }

    pub(super) fn unfit(&self, what: impl Into<String>, hint: impl Into<String>) -> ClientError {
        let path = self.path.to_owned();
        ClientError::Unfit { path, what: what.into(), hint: hint.into() }
    }

    fn would_not_read_back(&self, entry: &Map<String, Value>) -> ClientError {
        let by_hand = format!("`{}.{}` = {}", self.key, self.name, Value::Object(entry.clone()));
        ClientError::WouldNotReadBack { path: self.path.to_owned(), by_hand }
    }
}

/// Whether an entry of the file says all that ours must, and nothing it must not.
pub(super) fn says_all(node: &Node, entry: &Entry) -> bool {
    entry.must.iter().all(|(key, value)| node.get(key).is_some_and(|n| verify::says(n, value)))
        && entry.never.iter().all(|key| node.get(key).is_none())
}
