//! How a resource becomes documents of the index, and how they are read back.
//!
//! A resource has one document for all who may see it, and one more for each owner of private
//! content; a long content has several, one for each window. All of them carry the listed words. So
//! a word of the name and a word of the content are found together.

use tantivy::{TantivyDocument, schema::Value as _};

use super::{
    entry::Entry,
    extract::Extracted,
    record::{Record, shown_hash},
    schema::Fields,
};

/// The listed words about a resource that are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
}

impl Shown {
    pub(super) fn of(entry: &Entry) -> Shown {
        Shown {
            name: entry.name.clone(),
            title: entry.title.clone(),
            description: entry.description.clone(),
        }
    }

    /// Differs when anything of it does.
    pub(super) fn hash(&self) -> u64 {
        shown_hash(&self.name, self.title.as_deref(), self.description.as_deref())
    }
}

/// One window of a content.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    pub(super) body: String,
    pub(super) headings: Vec<String>,
    pub(super) symbols: Vec<String>,
    /// Where it begins in the whole text.
    pub(super) base: u64,
    pub(super) is_verbatim: bool,
}

/// A content as it stands in the index, for one owner or for all.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    pub(super) owner: u64,
    pub(super) hash: u64,
    pub(super) windows: Vec<Window>,
}

/// How long one window of a content is at most, in bytes.
pub(super) const WINDOW_BYTES: usize = 256 * 1024;

impl Held {
    /// Cuts a content into windows at the ends of lines.
    pub(super) fn of(extracted: Extracted, owner: u64, hash: u64) -> Held {
        let mut windows = Vec::new();
        let mut rest = extracted.body.as_str();
        let mut base = 0;
        loop {
            let len = window_len(rest);
            let (body, after) = rest.split_at(len);
            windows.push(Window {
                body: body.to_owned(),
                base: base as u64,
                is_verbatim: extracted.is_verbatim,
                ..Window::default()
            });
            base += len;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        if let Some(first) = windows.first_mut() {
            first.headings = extracted.headings;
            first.symbols = extracted.symbols;
        }
        Held { owner, hash, windows }
    }
}

fn window_len(text: &str) -> usize {
    if text.len() <= WINDOW_BYTES {
        return text.len();
    }
    let end = text.floor_char_boundary(WINDOW_BYTES);
    text[..end].rfind('\n').map_or(end, |at| at + 1)
}

/// Makes the documents of a resource for one content; one without content where there is
/// none.
pub(super) fn documents(
    fields: &Fields,
    record: &Record,
    names: Names<'_>,
    held: &Held,
) -> Vec<TantivyDocument> {
    let empty = [Window::default()];
    let windows = if held.windows.is_empty() { &empty[..] } else { &held.windows };
    let mut documents = Vec::with_capacity(windows.len());
    for (part, window) in windows.iter().enumerate() {
        let mut document = TantivyDocument::new();
        add_identity(fields, record, &names, &mut document);
        document.add_u64(fields.owner, held.owner);
        document.add_u64(fields.part, part as u64);
        document.add_u64(fields.content_hash, held.hash);
        add_listed(fields, record, &names, &mut document);
        add_window(fields, window, &mut document);
        documents.push(document);
    }
    documents
}

/// The texts of a resource that its record does not hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) source: &'a str,
    pub(super) mime: Option<&'a str>,
    pub(super) shown: &'a Shown,
}

fn add_identity(
    fields: &Fields,
    record: &Record,
    names: &Names<'_>,
    document: &mut TantivyDocument,
) {
    document.add_u64(fields.id, record.id);
    document.add_text(fields.source, names.source);
    document.add_text(fields.local, &record.local);
    if let Some(public) = &record.public {
        document.add_text(fields.public, public);
    }
    if let Some(mime) = names.mime {
        document.add_text(fields.mime, mime);
    }
    if let Some(modified) = record.modified() {
        document.add_i64(fields.modified, modified);
    }
    if let Some(size) = record.size() {
        document.add_u64(fields.size, size);
    }
    document.add_f64(fields.priority, f64::from(record.priority));
    document.add_u64(fields.listed_hash, record.listed_hash);
    document.add_u64(fields.shown_hash, record.shown_hash);
    document.add_i64(fields.content_at, record.looked_at / 1000);
    document.add_u64(fields.state, record.flags());
}

fn add_listed(fields: &Fields, record: &Record, names: &Names<'_>, document: &mut TantivyDocument) {
    let shown = names.shown;
    document.add_text(fields.name, &shown.name);
    document.add_text(fields.shown_name, &shown.name);
    if let Some(title) = &shown.title {
        document.add_text(fields.name, title);
        document.add_text(fields.shown_title, title);
    }
    if let Some(description) = &shown.description {
        document.add_text(fields.description, description);
        document.add_text(fields.shown_description, description);
    }
    // The Source is named too: `github issues` means issues of that server.
    document.add_text(fields.uri, names.source);
    document.add_text(fields.uri, &*record.local);
    for exact in exact_forms(record, shown) {
        document.add_text(fields.exact, exact);
    }
}

fn add_window(fields: &Fields, window: &Window, document: &mut TantivyDocument) {
    if !window.body.is_empty() {
        document.add_text(fields.body, &window.body);
        document.add_u64(fields.base, window.base);
        document.add_bool(fields.is_verbatim, window.is_verbatim);
    }
    for heading in &window.headings {
        document.add_text(fields.headings, heading);
    }
    for symbol in &window.symbols {
        document.add_text(fields.symbol, symbol);
    }
}

/// The longest text that is looked up as a whole.
const MAX_EXACT_BYTES: usize = 512;

/// The form in which whole questions are compared: small letters, no space around, e.g. `read me`.
pub(super) fn exact_form(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text.len() <= MAX_EXACT_BYTES).then(|| text.to_lowercase())
}

fn exact_forms(record: &Record, shown: &Shown) -> Vec<String> {
    let last = record.local.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    // A file is also asked for without its extension.
    let without_extension = last.rsplit_once('.').map(|(stem, _)| stem).unwrap_or_default();
    let texts = [
        &*record.local,
        record.public.as_deref().unwrap_or_default(),
        &shown.name,
        shown.title.as_deref().unwrap_or_default(),
        last,
        without_extension,
    ];
    let mut forms: Vec<String> = texts.into_iter().filter_map(exact_form).collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// A document read back.
#[derive(Debug, Clone, Default)]
pub(super) struct Read {
    pub(super) owner: u64,
    pub(super) part: u64,
    pub(super) hash: u64,
    pub(super) shown: Shown,
    pub(super) window: Window,
}

/// Reads a document back.
pub(super) fn read(fields: &Fields, document: &TantivyDocument) -> Read {
    let mut read = Read::default();
    let (shown, window) = (&mut read.shown, &mut read.window);
    for (field, value) in document.field_values() {
        if let Some(number) = value.as_u64() {
            match field {
                _ if field == fields.owner => read.owner = number,
                _ if field == fields.part => read.part = number,
                _ if field == fields.content_hash => read.hash = number,
                _ if field == fields.base => window.base = number,
                _ => {}
            }
        } else if let Some(is_so) = value.as_bool() {
            window.is_verbatim = is_so;
        } else if let Some(text) = value.as_str().map(str::to_owned) {
            match field {
                _ if field == fields.shown_name => shown.name = text,
                _ if field == fields.shown_title => shown.title = Some(text),
                _ if field == fields.shown_description => shown.description = Some(text),
                _ if field == fields.body => window.body = text,
                _ if field == fields.headings => window.headings.push(text),
                _ if field == fields.symbol => window.symbols.push(text),
                _ => {}
            }
        }
    }
    read
}
