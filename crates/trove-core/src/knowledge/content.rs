//! Reads the documents that were selected.
//!
//! Contents are never kept: each answer is read from disk, within bounds. An answer always tells
//! which documents are left out of it.

use std::{os::fd::OwnedFd, sync::Arc};

use serde_json::Value;

use super::{
    Document, Flags, KnowledgeError,
    further::{self, Bound},
    matter, media,
    render::{Scene, render},
    select::Selection,
    store::OpenError,
};

/// The largest document that is served, in bytes.
pub const MAX_DOCUMENT_BYTES: u64 = 16 << 20;
/// The largest answer, in bytes.
pub const MAX_ANSWER_BYTES: u64 = 32 << 20;
/// The most that is said beside the documents.
const MAX_NOTES: usize = 20;

/// The name that was asked for.
#[derive(Debug)]
pub struct Content {
    /// The documents, in order.
    pub pieces: Vec<Piece>,
    /// How many were left out because of flags.
    pub left_out: usize,
    /// How many there are that did not fit.
    pub cut: usize,
    /// The notes to show beside them.
    pub notes: Vec<String>,
}

/// One document with what it holds.
#[derive(Debug)]
pub struct Piece {
    pub document: Arc<Document>,
    /// The kind of what it holds; another than it is listed with if its name misleads.
    pub media: &'static str,
    /// The contents.
    pub body: Body,
    /// A note on changes to the contents.
    pub note: Option<String>,
}

/// The contents of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Text(String),
    /// Anything else.
    Blob(Vec<u8>),
}

impl Body {
    pub fn len(&self) -> usize {
        match self {
            Body::Text(text) => text.len(),
            Body::Blob(bytes) => bytes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Reads what was selected, at most `max_documents`; `dir_of` gives the folder of a category.
pub(super) fn gather(
    scene: &Scene<'_>,
    selection: Selection,
    max_documents: usize,
    dir_of: impl Fn(&str) -> String,
) -> Result<Content, KnowledgeError> {
    let mut content = Content { pieces: Vec::new(), left_out: 0, cut: 0, notes: selection.notes };
    let root = scene.store.open_root().map_err(|error| KnowledgeError::Unreadable {
        what: "the folder of the guide".into(),
        why: error.to_string(),
    })?;
    let is_alone = selection.documents.len() == 1;
    let (mut bytes, mut unmet) = (0, None);
    for (n, document) in selection.documents.iter().enumerate() {
        if let Some(needs) = needs(scene, document) {
            unmet.get_or_insert(needs);
            content.left_out += 1;
            continue;
        }
        let is_full = content.pieces.len() >= max_documents;
        if is_full || bytes > MAX_ANSWER_BYTES {
            let bound = if is_full { Bound::Documents(max_documents) } else { Bound::Bytes };
            content.cut = selection.documents.len() - n;
            let note = further::note(&content, bound, &selection.documents, document);
            content.notes.insert(0, note);
            break;
        }
        match piece(scene, &root, document, &dir_of(&document.category)) {
            Ok(piece) => {
                bytes += piece.body.len() as u64;
                content.pieces.push(piece);
            }
            Err(error) if is_alone => return Err(error),
            Err(error) => content.notes.push(error.to_string()),
        }
    }
    if content.left_out > 0 {
        let left_out = content.left_out;
        let note = format!(
            "{left_out} left out because of flags, as {}",
            unmet.clone().unwrap_or_default()
        );
        content.notes.insert(0, note);
    }
    content.notes.truncate(MAX_NOTES);
    if content.pieces.is_empty() {
        return Err(nothing(&selection.documents, unmet, content.notes));
    }
    Ok(content)
}

fn nothing(
    documents: &[Arc<Document>],
    unmet: Option<String>,
    notes: Vec<String>,
) -> KnowledgeError {
    let what = match documents {
        [one] => format!("{}/{}", one.category, one.path),
        several => format!("every one of {} documents", several.len()),
    };
    match (unmet, notes.into_iter().next()) {
        (Some(needs), _) => KnowledgeError::FlagsUnmet { what, needs },
        (None, Some(note)) => KnowledgeError::Unreadable { what, why: note },
        (None, None) => KnowledgeError::not_found("any document", Vec::new()),
    }
}

/// The flag that a document needs and does not have, in words.
fn needs(scene: &Scene<'_>, document: &Document) -> Option<String> {
    let matter = document.file.matter.as_deref()?;
    let project = scene.project.map(|(name, _)| name);
    let unmet = matter.requires.iter().find(|(name, wanted)| {
        let own = scene.project.and_then(|(_, project)| project.flags.get(name));
        let value = scene.flags.flag(project, name, own);
        !is_met(wanted, value.as_ref())
    });
    unmet.map(|(name, wanted)| format!("the flag `{name}` to be {wanted}"))
}

/// Equal, one of those wanted, or one of those it has, e.g. `a` and `["a", "b"]`. A flag that is
/// not set is false.
fn is_met(wanted: &Value, value: Option<&Value>) -> bool {
    let value = value.unwrap_or(&Value::Bool(false));
    match (wanted, value) {
        (Value::Array(any), Value::Array(has)) => any.iter().any(|wanted| has.contains(wanted)),
        (Value::Array(any), value) => any.contains(value),
        (wanted, Value::Array(has)) => has.contains(wanted),
        // Any value but false is as good as true.
        (Value::Bool(true), value) => !matches!(value, Value::Bool(false) | Value::Null),
        (wanted, value) => wanted == value,
    }
}

fn piece(
    scene: &Scene<'_>,
    root: &OwnedFd,
    document: &Arc<Document>,
    dir: &str,
) -> Result<Piece, KnowledgeError> {
    let file = &document.file;
    let what = || format!("{}/{}", document.category, document.path);
    let read = scene.store.read_below(root, &file.path, MAX_DOCUMENT_BYTES);
    let (bytes, stamp) = read.map_err(|error| match error {
        OpenError::TooLarge(size) => {
            KnowledgeError::TooLarge { what: what(), size, limit: MAX_DOCUMENT_BYTES }
        }
        OpenError::Missing => {
            KnowledgeError::not_found(format!("{}: it is gone", what()), Vec::new())
        }
        other => KnowledgeError::Unreadable { what: what(), why: other.to_string() },
    })?;
    let piece = |media, body, note| Piece { document: document.clone(), media, body, note };
    if !media::is_text(file.media) {
        return Ok(piece(file.media, Body::Blob(bytes), None));
    }
    if let Some(media) = media::no_text(&bytes) {
        return Ok(piece(media, Body::Blob(bytes), None));
    }
    let (mut text, note) = media::text(bytes);
    // A file that changed since it was looked at is asked itself where it begins.
    let front = match stamp == file.stamp {
        _ if file.is_skill() => 0,
        true if file.matter.is_none() => 0,
        true => matter::split(&text).map_or(0, |(_, length)| length),
        false if file.media == media::MARKDOWN => matter::read(&text).length,
        false => 0,
    };
    text.drain(..front);
    if file.is_template {
        text = render(scene, (&document.category, dir, &document.path), &text)?;
    }
    Ok(piece(file.media, Body::Text(text), note))
}

/// The flags of a gateway that has none.
pub(super) fn no_flags() -> Arc<dyn Flags> {
    Arc::new(NoFlags)
}

#[derive(Debug)]
struct NoFlags;

impl Flags for NoFlags {
    fn flag(&self, _: Option<&str>, _: &str, own: Option<&Value>) -> Option<Value> {
        own.cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_requirement_is_met_by_its_value_one_of_them_or_any_for_true() {
        let check = |wanted: Value, value: Option<Value>, expect: bool| {
            assert_eq!(is_met(&wanted, value.as_ref()), expect, "{wanted} {value:?}");
        };
        check(json!(true), None, false);
        check(json!(false), None, true);
        check(json!(true), Some(json!("x")), true);
        check(json!("x"), Some(json!("x")), true);
        check(json!("x"), Some(json!("y")), false);
        check(json!(["x", "y"]), Some(json!("y")), true);
        check(json!("x"), Some(json!(["w", "x"])), true);
        check(json!(["a"]), Some(json!(["b"])), false);
    }
}
