//! What a Source gave for a read, and in which form each part of it can be shown.
//!
//! Nothing is dropped: what is neither text nor base64 is shown as the server wrote it.

use std::borrow::Cow;

use super::Format;
use crate::{
    content::{self, Kind},
    json::{self, Json, Object},
};

const ODD: &str = "neither text nor base64; shown as the server wrote it";
const GARBLED: &str =
    "some bytes are not text and show as \u{fffd}; ask with format \"binary\" for them";

/// A text that says nothing.
const EMPTY: &str = "\"\"";

/// One of the contents of a read.
pub(super) struct Content<'a> {
    pub(super) uri: Cow<'a, str>,
    pub(super) mime: Option<Cow<'a, str>>,
    payload: Payload<'a>,
}

enum Payload<'a> {
    Text(Words<'a>),
    /// What base64 held.
    Blob(Vec<u8>),
    /// Neither; the whole content as it was written.
    Odd(&'a str),
}

/// How a content is shown.
pub(super) enum Form<'a> {
    /// As text.
    Text(Text<'a>),
    /// As base64.
    Bytes(Cow<'a, [u8]>),
    /// In a few words about it.
    Described(&'a [u8], Kind),
}

/// A text, or a JSON string that it is made from when somebody looks at it.
#[derive(Clone)]
pub(super) enum Words<'a> {
    Literal { literal: &'a str, len: usize },
    Plain(Cow<'a, str>),
}

impl<'a> Words<'a> {
    /// What a JSON string says. One that is no Unicode, such as half of a surrogate pair,
    /// has no bytes to cut.
    fn of_literal(body: &Json, literal: &'a str) -> Option<Words<'a>> {
        body.string_len(literal).map(|len| Words::Literal { literal, len })
    }

    /// How long the text is.
    pub(super) fn len(&self) -> usize {
        match self {
            Words::Literal { len, .. } => *len,
            Words::Plain(text) => text.len(),
        }
    }

    /// The text as a JSON string, where there is one already.
    pub(super) fn literal(&self) -> Option<&'a str> {
        match self {
            Words::Literal { literal, .. } => Some(*literal),
            Words::Plain(_) => None,
        }
    }

    /// Whether a plain word stands in it.
    pub(super) fn mention(&self, word: &str) -> bool {
        let written = match self {
            Words::Literal { literal, .. } => literal,
            Words::Plain(text) => text.as_ref(),
        };
        memchr::memmem::find(written.as_bytes(), word.as_bytes()).is_some()
    }

    /// Whether it begins as JSON does, blanks aside.
    pub(super) fn look_like_json(&self) -> bool {
        let begins = |text: &str| text.trim_start().starts_with(['{', '[']);
        match self {
            Words::Literal { literal, .. } => {
                let mut rest = literal.strip_prefix('"').unwrap_or(literal).trim_start();
                while let Some(after) =
                    ["\\n", "\\r", "\\t"].iter().find_map(|it| rest.strip_prefix(it))
                {
                    rest = after.trim_start();
                }
                // What is spelt in numbers must be made to be seen.
                if rest.starts_with("\\u") { begins(&self.text()) } else { begins(rest) }
            }
            Words::Plain(text) => begins(text),
        }
    }

    /// A window of the text as [`content::window`] gives it, as a JSON string.
    pub(super) fn window(&self, offset: usize, max: usize) -> Pane {
        self.written_window(offset, max).unwrap_or_else(|| {
            let text = self.text();
            let window = content::window(&text, offset, max);
            let (data, len) = (json::quote(window.text), window.text.len());
            Pane { data, len, next_offset: window.next_offset }
        })
    }

    /// The same without making the text, where that can be done.
    fn written_window(&self, offset: usize, max: usize) -> Option<Pane> {
        let Words::Literal { literal, len } = self else { return None };
        // Even the longest character fits.
        if max < char::MAX_LEN_UTF8 {
            return None;
        }
        let part = json::string_part(literal, offset..offset.saturating_add(max))?;
        let end = part.meant.end;
        let data = format!("\"{}\"", part.written);
        Some(Pane { data, len: part.meant.len(), next_offset: (end < *len).then_some(end) })
    }

    /// The text; made anew each time.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Words::Literal { literal, .. } => json::string(literal).unwrap_or_default(),
            Words::Plain(text) => Cow::Borrowed(text),
        }
    }
}

/// What a window of a text shows.
pub(super) struct Pane {
    /// As a JSON string.
    pub(super) data: String,
    /// How many bytes of the text it shows.
    pub(super) len: usize,
    /// Where the next one begins.
    pub(super) next_offset: Option<usize>,
}

/// A text to be shown.
pub(super) struct Text<'a> {
    pub(super) words: Words<'a>,
    pub(super) mime: Option<Cow<'a, str>>,
    /// The encoding it was decoded from.
    pub(super) encoding: Option<&'static str>,
    /// What a reader should know of it.
    pub(super) note: Option<&'static str>,
}

/// The contents of a result.
pub(super) fn of(body: &Json) -> Vec<Content<'_>> {
    let items = body.objects_in("contents").unwrap_or_default();
    items.into_iter().map(|(item, object)| content(body, item, object)).collect()
}

fn content<'a>(body: &Json, item: &'a str, object: Option<Object<'a>>) -> Content<'a> {
    let odd = Content { uri: Cow::Borrowed(""), mime: None, payload: Payload::Odd(item) };
    let Some(object) = object else { return odd };
    let text_of = |key: &str| object.get_original(key).and_then(json::string);
    let text = object.get_original("text").map(str::trim).filter(|text| text.starts_with('"'));
    let blob = || text_of("blob").and_then(|blob| content::decode_blob(&blob));
    let payload = match text {
        // Some servers fill in every member.
        Some(EMPTY) if let Some(bytes) = blob().filter(|bytes| !bytes.is_empty()) => {
            Some(Payload::Blob(bytes))
        }
        Some(literal) => Words::of_literal(body, literal).map(Payload::Text),
        None => blob().map(Payload::Blob),
    };
    let payload = payload.unwrap_or(Payload::Odd(item));
    Content { uri: text_of("uri").unwrap_or_default(), mime: text_of("mimeType"), payload }
}

impl Content<'_> {
    /// How it is shown when asked for in `format`; a search always looks at text.
    pub(super) fn form(&self, format: Format, searches: bool) -> Form<'_> {
        let as_bytes = format == Format::Binary && !searches;
        let text = |words, note| Text { words, mime: self.mime.clone(), encoding: None, note };
        match &self.payload {
            Payload::Text(words) if as_bytes => Form::Bytes(match words.text() {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            }),
            Payload::Text(words) => Form::Text(text(words.clone(), None)),
            Payload::Odd(item) => Form::Text(text(Words::Plain(Cow::Borrowed(*item)), Some(ODD))),
            Payload::Blob(bytes) if as_bytes => Form::Bytes(Cow::Borrowed(bytes.as_slice())),
            Payload::Blob(bytes) => {
                let kind = content::sniff(self.mime.as_deref(), &self.uri, bytes);
                if !kind.is_text() {
                    return Form::Described(bytes, kind);
                }
                let decoded = content::decode_text(bytes, kind.charset);
                Form::Text(Text {
                    mime: Some(kind.mime),
                    encoding: Some(decoded.encoding),
                    ..text(Words::Plain(decoded.text), decoded.had_errors.then_some(GARBLED))
                })
            }
        }
    }

    /// Its type, as far as it can be told.
    pub(super) fn type_in(&self, format: Format) -> Option<String> {
        match &self.payload {
            Payload::Blob(bytes) if format == Format::Binary => {
                let kind = content::sniff(self.mime.as_deref(), &self.uri, bytes);
                Some(kind.mime.into_owned())
            }
            _ => self.mime.as_ref().map(|mime| mime.clone().into_owned()),
        }
    }
}

impl Form<'_> {
    /// Its size in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Form::Text(text) => text.words.len(),
            Form::Bytes(bytes) => bytes.len(),
            Form::Described(bytes, _) => bytes.len(),
        }
    }

    /// How many offsets it takes up among several: at least one, so that following
    /// `next_offset` passes everything once and always gets on.
    pub(super) fn places(&self) -> usize {
        match self {
            Form::Text(_) | Form::Bytes(_) => self.size().max(1),
            Form::Described(..) => 1,
        }
    }
}
