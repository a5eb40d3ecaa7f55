//! A document: a file of a category, and the facts on it that need no whole read.

use std::{
    os::fd::OwnedFd,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    address,
    content::MAX_DOCUMENT_BYTES,
    matter::{self, FrontMatter},
    media::{self, HEAD},
    store::{Stamp, Store},
};
use crate::{json::Json, resource::Resource};

/// How much is looked at where front matter does not end before.
const LONG_HEAD: usize = matter::MAX_FRONT_MATTER + HEAD;
/// The mark that some editors put before a text.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
/// The file that describes a skill.
pub(super) const SKILL: &str = "SKILL.md";

/// The facts about a file that need no whole read.
#[derive(Debug)]
pub(super) struct FileFacts {
    /// Where it lies, from the root.
    pub(super) path: Arc<str>,
    pub(super) stamp: Stamp,
    pub(super) media: &'static str,
    pub(super) is_template: bool,
    pub(super) title: Option<Box<str>>,
    pub(super) matter: Option<Box<FrontMatter>>,
    /// The front matter as written; kept for skills only.
    pub(super) all: Option<Box<Map<String, Value>>>,
    /// How many bytes stand before the document.
    pub(super) body_at: usize,
    /// Whether it is served in another encoding than it is written in.
    is_decoded: bool,
    /// The fault of the file, in words.
    pub(super) problem: Option<Box<str>>,
    /// Its digest, once it was wanted.
    pub(super) digest: OnceLock<Option<String>>,
}

impl FileFacts {
    /// Looks into a file as far as is needed.
    pub(super) fn of(store: &Store, root: &OwnedFd, path: Arc<str>, stamp: Stamp) -> FileFacts {
        let known = media::of_name(&path);
        let mut facts = FileFacts {
            is_template: media::is_template(&path),
            media: known.unwrap_or(media::BINARY),
            path,
            stamp,
            title: None,
            matter: None,
            all: None,
            body_at: 0,
            is_decoded: false,
            problem: too_large(stamp.size),
            digest: OnceLock::new(),
        };
        if known.is_some_and(|media| media != media::MARKDOWN) {
            return facts;
        }
        let mut head = match store.read_head(root, &facts.path, HEAD) {
            Ok((head, _)) => head,
            Err(error) => {
                facts.problem = Some(format!("it cannot be read: {error}").into());
                return facts;
            }
        };
        facts.media = match known {
            Some(known) => media::no_text(&head).unwrap_or(known),
            None => media::of_bytes(&head),
        };
        if facts.media == media::MARKDOWN {
            if is_cut_short(&head)
                && let Ok((more, _)) = store.read_head(root, &facts.path, LONG_HEAD)
            {
                head = more;
            }
            facts.look_into(head);
        }
        facts
    }

    fn look_into(&mut self, head: Vec<u8>) {
        let mark = if head.starts_with(UTF8_MARK) { UTF8_MARK.len() } else { 0 };
        let (text, note) = media::head_text(head);
        let text = text.as_str();
        self.is_decoded = note.is_some();
        let read = matter::read(text);
        if read.matter.is_none() && read.problem.is_none() && matter::may_begin(text) {
            // A rule at the top of a short document is nothing odd.
            let is_meant = text.len() > matter::MAX_FRONT_MATTER || matter::has_key(text);
            let problem = "its front matter has no end; close it with a line of `---`";
            self.problem = self.problem.take().or_else(|| is_meant.then(|| problem.into()));
        }
        let own = read.matter.as_ref().and_then(|matter| matter.title.clone());
        let title = own.or_else(|| matter::heading(&text[read.length..]));
        // A template expression is no title.
        self.title = title.filter(|t| !t.contains("{{") && !t.contains("{%")).map(Into::into);
        self.body_at = if self.is_skill() { 0 } else { mark + read.length };
        self.problem = self.problem.take().or(read.problem.map(Into::into));
        self.matter = read.matter.map(Box::new);
        let is_skill = self.is_skill();
        self.all = read.all.filter(|_| is_skill).map(Box::new);
    }

    /// Whether it describes a skill. Its front matter is then part of its text, and is served with
    /// it under each of its names.
    pub(super) fn is_skill(&self) -> bool {
        self.path.rsplit('/').next() == Some(SKILL)
    }

    /// When it was last written, as ISO 8601, e.g. `2026-07-28T09:05:00Z`.
    pub(super) fn modified(&self) -> Option<String> {
        OffsetDateTime::from_unix_timestamp(self.stamp.modified.0).ok()?.format(&Rfc3339).ok()
    }

    /// How many bytes are served, where that is known without reading.
    pub(super) fn served_size(&self) -> Option<u64> {
        let is_known = !self.is_template && !self.is_decoded;
        is_known.then(|| self.stamp.size.saturating_sub(self.body_at as u64))
    }
}

/// The fault of a file that is listed and can never be read.
fn too_large(size: u64) -> Option<Box<str>> {
    let is_so = size > MAX_DOCUMENT_BYTES;
    is_so.then(|| {
        format!("it is {size} bytes long, more than the {MAX_DOCUMENT_BYTES} that are served; split it or shorten it").into()
    })
}

fn is_cut_short(head: &[u8]) -> bool {
    if head.len() < HEAD {
        return false;
    }
    let (text, _) = media::head_text(head.to_vec());
    matter::may_begin(&text) && matter::split(&text).is_none()
}

/// A document: a file of a category.
#[derive(Debug)]
pub struct Document {
    pub(super) category: Arc<str>,
    pub(super) path: Arc<str>,
    pub(super) file: Arc<FileFacts>,
    pub(super) resource: Resource,
}

impl Document {
    pub(super) fn new(category: &Arc<str>, path: &str, file: &Arc<FileFacts>) -> Document {
        let uri = address::document(category, path);
        let entry = entry(&uri, category, path, file);
        let resource = Resource::own(uri, entry);
        Document { category: category.clone(), path: path.into(), file: file.clone(), resource }
    }

    /// The category it is in.
    pub fn category(&self) -> &str {
        &self.category
    }

    /// Where it lies in its category.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its own URI.
    pub fn uri(&self) -> &str {
        self.resource.uri.as_str()
    }

    pub fn title(&self) -> Option<&str> {
        self.file.title.as_deref()
    }

    pub fn description(&self) -> Option<&str> {
        self.file.matter.as_ref().and_then(|matter| matter.description.as_deref())
    }

    /// The instruction to its reader, from its front matter.
    pub fn instruction(&self) -> Option<&str> {
        self.file.matter.as_ref().and_then(|matter| matter.instruction.as_deref())
    }

    /// The kind of document, from its front matter.
    pub fn kind(&self) -> Option<&str> {
        self.file.matter.as_ref().and_then(|matter| matter.kind.as_deref())
    }

    /// The MIME type, e.g. `text/markdown`.
    pub fn media(&self) -> &'static str {
        self.file.media
    }

    /// How many bytes are served; of a template, how many it has.
    pub fn size(&self) -> u64 {
        self.file.served_size().unwrap_or(self.file.stamp.size)
    }

    /// When it was last written, as ISO 8601.
    pub fn modified(&self) -> Option<String> {
        self.file.modified()
    }

    /// Its path without the extension, if it has one of those that need not be written.
    pub(super) fn stem(&self) -> Option<&str> {
        stem(&self.path)
    }
}

/// A path without the extension, if it has one, e.g. `lang/python` of `lang/python.md.j2`.
pub(super) fn stem(path: &str) -> Option<&str> {
    let from = path.rfind('/').map_or(0, |slash| slash + 1);
    let dot = path[from..].find('.').filter(|dot| *dot > 0)?;
    Some(&path[..from + dot])
}

fn entry(uri: &str, category: &str, path: &str, file: &FileFacts) -> Json {
    let mut entry = Map::new();
    entry.insert("uri".into(), json!(uri));
    let skill = file.all.as_ref().and_then(|all| all.get("name")).and_then(Value::as_str);
    let name = skill.map_or_else(|| format!("{category}/{path}"), str::to_owned);
    entry.insert("name".into(), json!(name));
    if let Some(title) = &file.title {
        entry.insert("title".into(), json!(title));
    }
    let matter = file.matter.as_deref();
    if let Some(description) = matter.and_then(|matter| matter.description.as_ref()) {
        entry.insert("description".into(), json!(description));
    }
    entry.insert("mimeType".into(), json!(file.media));
    if let Some(size) = file.served_size() {
        entry.insert("size".into(), json!(size));
    }
    let mut annotations = Map::new();
    if let Some(matter) = matter {
        if !matter.audience.is_empty() {
            annotations.insert("audience".into(), json!(matter.audience));
        }
        if let Some(priority) = matter.priority {
            annotations.insert("priority".into(), json!(priority));
        }
    }
    if let Some(modified) = file.modified() {
        annotations.insert("lastModified".into(), json!(modified));
    }
    entry.insert("annotations".into(), Value::Object(annotations));
    Json::of(&Value::Object(entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(path: &str, text: impl AsRef<[u8]>) -> Document {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(dir.path().join(path), text).unwrap();
        let store = Store::new(dir.path());
        let root = store.open_root().unwrap();
        let (_, stamp) = store.read_head(&root, path, 0).unwrap();
        let facts = FileFacts::of(&store, &root, path.into(), stamp);
        Document::new(&"lang".into(), path, &Arc::new(facts))
    }

    #[test]
    fn a_document_is_listed_with_all_that_is_known_of_it() {
        let d = document(
            "sub/a b.md",
            "---\ntitle: Own\npriority: 1\naudience: user\ndescription: About\n---\n# Heading\n",
        );
        let entry = &d.resource.entry;
        assert_eq!(entry.get_str("uri").unwrap(), "guide://document/lang/sub/a%20b.md");
        assert_eq!(entry.get_str("title").unwrap(), "Own");
        assert_eq!(entry.get_str("description").unwrap(), "About");
        assert_eq!(entry.get("size").unwrap().as_str(), "10");
        let annotations = entry.get("annotations").unwrap();
        assert!(annotations.get_str("lastModified").unwrap().ends_with('Z'));
        assert_eq!(annotations.get("audience").unwrap().as_str(), "[\"user\"]");
        assert_eq!(d.stem(), Some("sub/a b"));
    }

    #[test]
    fn a_title_is_read_in_the_encoding_of_its_document() {
        let utf16 = |text: &str| {
            let units = "\u{feff}".encode_utf16().chain(text.encode_utf16().collect::<Vec<_>>());
            units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
        };
        let shift_jis =
            encoding_rs::SHIFT_JIS.encode("# 日本語の手引き\n本文はここから始まります\n").0;
        let long = format!("# Début\n{}", "é".repeat(HEAD));
        for (bytes, expected) in [
            (b"# Caf\xe9 cr\xe8me br\xfbl\xe9e".to_vec(), "Café crème brûlée"),
            (shift_jis.into_owned(), "日本語の手引き"),
            (utf16("---\ntitle: Größe\n---\n# Anders\n"), "Größe"),
            ("\u{feff}# Märchen\n".into(), "Märchen"),
            (long.into_bytes(), "Début"),
        ] {
            assert_eq!(document("a.md", bytes).title(), Some(expected));
        }
        let sizes = |text: &[u8]| {
            document("a.md", text).resource.entry.get("size").map(|s| s.as_str().to_owned())
        };
        assert_eq!(sizes("\u{feff}# M\n".as_bytes()).as_deref(), Some("4"), "as it is served");
        assert_eq!(sizes(b"# Caf\xe9 cr\xe8me"), None, "not known before it is decoded");
    }

    #[test]
    fn front_matter_without_an_end_is_told_and_a_rule_is_not() {
        let problem = |text: &str| document("a.md", text).file.problem.clone();
        let cut = problem("---\ntitle: Cut\n# Heading\n");
        assert!(cut.as_deref().is_some_and(|told| told.contains("has no end")), "{cut:?}");
        for text in ["---\nA rule, then text: like this\n", "---\n", "---\n\n# Heading\n"] {
            assert_eq!(problem(text), None, "{text}");
        }
    }

    #[test]
    fn long_front_matter_is_read_to_its_end() {
        let long = format!("---\ntitle: Far\nnote: {}\n---\nbody", "x".repeat(20_000));
        assert_eq!(document("a.md", &long).title(), Some("Far"));
    }

    #[test]
    fn a_templates_size_and_unrendered_heading_are_not_told() {
        let d = document("a.md.j2", "# {{ project.name }}\n");
        assert_eq!(d.title(), None);
        assert!(d.resource.entry.get("size").is_none());
        assert_eq!(d.media(), "text/markdown");
    }
}
