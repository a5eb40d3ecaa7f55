//! Papers among the contents of a read, as text for a model, the index and the page.
//!
//! A native read never comes here: it gives the bytes that its Source gave.

use std::borrow::Cow;

use memchr::memmem;

use super::Gateway;
use crate::{
    aside::aside,
    content::{self, Content, Payload, escape_controls},
    json::{Json, Writer},
    papers::{Haste, PaperFault, PaperForm, PaperText},
};

/// The type of the text that stands for a paper.
pub(super) const TEXT_TYPE: &str = "text/markdown";
/// The most papers of one answer that become text.
const MAX_PAPERS: usize = 16;

/// Which papers become text, and how much of each.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// One page, sheet or chapter, counted from one; all of them if `None`.
    pub part: Option<usize>,
    /// Also of papers that are text as they stand: HTML, notebooks, mail.
    pub written: bool,
    /// In the place of pictures too, and not only beside them.
    pub pictures: bool,
    /// Who waits.
    pub haste: Haste,
}

/// The contents of a read with text in the place of papers.
#[derive(Debug)]
pub struct Texts {
    /// The result object.
    pub body: Json,
    /// How many papers became text.
    pub count: usize,
    /// Of what the texts were made, and why others have none.
    pub notes: Vec<String>,
    /// Some have no text now, and may have one later.
    pub is_passing: bool,
}

/// A part of a paper that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPart {
    /// How many parts it has.
    pub total: usize,
    /// How many of them can be read.
    pub readable: usize,
    /// The word for one.
    pub place: &'static str,
}

impl Wanted {
    /// Everything for a caller.
    pub fn for_caller() -> Wanted {
        Wanted { part: None, written: true, pictures: false, haste: Haste::Caller }
    }

    /// Everything that the index cannot read by itself.
    pub fn for_index() -> Wanted {
        Wanted { part: None, written: true, pictures: true, haste: Haste::Index }
    }

    fn wants(&self, form: PaperForm) -> bool {
        match form {
            // The index reduces HTML by itself, and faster.
            PaperForm::Html => self.written && self.haste == Haste::Caller,
            PaperForm::Notebook | PaperForm::Mail => self.written,
            PaperForm::Pdf | PaperForm::Package | PaperForm::Picture => true,
        }
    }
}

/// A paper among contents.
struct Paper<'a> {
    form: PaperForm,
    uri: String,
    mime: String,
    bytes: Cow<'a, [u8]>,
}

impl Gateway {
    /// Puts text in the place of papers; `None` if there is none of those that are wanted.
    pub async fn with_texts(&self, body: &Json, wanted: &Wanted) -> Result<Option<Texts>, NoPart> {
        let Some(papers) = self.papers.as_ref().filter(|_| may_hold_papers(body)) else {
            return Ok(None);
        };
        let Some(items) = body.objects_in("contents") else { return Ok(None) };
        let contents = content::contents(body);
        let found: Vec<Option<Paper<'_>>> = aside(body.as_str().len(), || {
            contents.iter().map(|content| paper(content, wanted)).collect()
        });
        if found.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut texts =
            Texts { body: body.clone(), count: 0, notes: Vec::new(), is_passing: false };
        let mut written: Vec<String> = Vec::with_capacity(items.len());
        for ((item, _), paper) in items.into_iter().zip(found) {
            let Some(paper) = paper.filter(|_| written.len() < MAX_PAPERS) else {
                written.push(item.to_owned());
                continue;
            };
            let read = if paper.bytes.is_empty() {
                Err(PaperFault::Unreadable { why: "it is empty: it has no bytes".to_owned() })
            } else {
                papers.text(paper.form, &paper.bytes, wanted.haste).await
            };
            match read {
                Ok(text) if paper.form == PaperForm::Picture && !wanted.pictures => {
                    texts.notes.push(format!("written in the picture: {}", beside(&text)));
                    written.push(item.to_owned());
                }
                Ok(text) => {
                    written.push(paper.as_text(&shown(&text, wanted.part)?));
                    texts.count += 1;
                    texts.notes.push(paper.made(&text));
                }
                Err(fault) => {
                    texts.is_passing |= fault.is_passing();
                    // Most pictures have nothing to say.
                    if paper.form != PaperForm::Picture {
                        texts.notes.push(in_words(&fault));
                    }
                    written.push(item.to_owned());
                }
            }
        }
        if texts.count > 0
            && let Some(mut object) = body.object()
        {
            object.set("contents", format!("[{}]", written.join(",")));
            texts.body = object.to_json();
        }
        Ok(Some(texts))
    }

    /// The form of a resource of which the index has text made, by its type and its name.
    pub(super) fn form_for_index(&self, mime: Option<&str>, name: &str) -> Option<PaperForm> {
        self.papers.as_ref()?;
        let told = mime.and_then(PaperForm::of_mime);
        let form = told.or_else(|| PaperForm::of_mime(content::mime_of_name(name)?))?;
        Wanted::for_index().wants(form).then_some(form)
    }
}

/// Whether a look at each of the contents is worth it: all papers are blobs, or named in such words.
fn may_hold_papers(body: &Json) -> bool {
    const WORDS: [&str; 6] = ["\"blob\"", "html", "ipynb", "rfc822", ".eml", "\"\""];
    WORDS.iter().any(|word| memmem::find(body.as_str().as_bytes(), word.as_bytes()).is_some())
}

fn paper<'a>(content: &'a Content<'_>, wanted: &Wanted) -> Option<Paper<'a>> {
    // Such a page is a program for a client's screen.
    if content.uri.starts_with("ui://") {
        return None;
    }
    let told = told_type(content);
    let (form, mime, bytes) = match &content.payload {
        Payload::Odd(_) => return None,
        Payload::Text(words) => {
            let form = PaperForm::of_mime(&told)?;
            // A text that calls itself an office file is the text it is, unless it is empty.
            if form.is_written() == (words.len() == 0) || !wanted.wants(form) {
                return None;
            }
            (form, told, owned(words.text()))
        }
        Payload::Blob(bytes) if bytes.is_empty() => {
            (PaperForm::of_mime(&told)?, told, Cow::Borrowed(bytes.as_slice()))
        }
        Payload::Blob(bytes) => {
            let kind = content::sniff(content.mime.as_deref(), &content.uri, bytes);
            let form = PaperForm::of(&kind, &content.uri, bytes)?;
            (form, kind.mime.into_owned(), Cow::Borrowed(bytes.as_slice()))
        }
    };
    let uri = content.uri.clone().into_owned();
    wanted.wants(form).then_some(Paper { form, uri, mime, bytes })
}

/// The type that a content calls itself, by its name if its own type is none of a paper.
fn told_type(content: &Content<'_>) -> String {
    let mime = content.mime.as_deref().unwrap_or_default();
    let mime = mime.split(';').next().unwrap_or(mime).trim().to_ascii_lowercase();
    if PaperForm::of_mime(&mime).is_some() {
        return mime;
    }
    match content::mime_of_name(&content.uri) {
        Some(named) if PaperForm::of_mime(named).is_some() => named.to_owned(),
        _ => mime,
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// The text, or the part of it that is wanted.
fn shown(text: &PaperText, part: Option<usize>) -> Result<String, NoPart> {
    let Some(number) = part else { return Ok(text.markdown()) };
    let no_part = NoPart { total: text.total, readable: text.parts.len(), place: text.place };
    text.part(number).ok_or(no_part)
}

/// The lines of a picture in one.
fn beside(text: &PaperText) -> String {
    let lines: Vec<&str> = text.parts.iter().flat_map(|part| part.text.lines()).collect();
    escape_controls(&lines.join("; ")).into_owned()
}

/// The sentence about a paper that has no text; a paper may word its fault.
fn in_words(fault: &PaperFault) -> String {
    let said = fault.to_string();
    format!("its text cannot be read: {}", escape_controls(&said))
}

impl Paper<'_> {
    /// The content that stands for it.
    fn as_text(&self, text: &str) -> String {
        let mut content = Writer::with_capacity(text.len() + self.uri.len() + 64);
        content.text("uri", &self.uri);
        content.text("mimeType", TEXT_TYPE);
        content.text("text", text);
        content.finish()
    }

    /// The sentence about the text that was made of it.
    fn made(&self, text: &PaperText) -> String {
        let mime = content::one_line(&self.mime);
        let plural = if text.total == 1 { "" } else { "s" };
        let rest = if self.form.is_written() {
            "`format` \"text\" gives the source"
        } else {
            "`format` \"binary\" gives its bytes"
        };
        format!(
            "text made of {mime}: {} {}{plural}; `page` gives one; {rest}",
            text.total, text.place
        )
    }
}
