//! The contents in the answer to a read, as a Source wrote them.
//!
//! The one place where they are taken apart, for the bridge, the index, the page and the command
//! line. A content that is neither text nor base64 stays as it was written.

use std::borrow::Cow;

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::json::{self, Json, Object};

/// A text that says nothing.
const EMPTY: &str = "\"\"";

/// The contents of a result.
pub fn contents(body: &Json) -> Vec<Content<'_>> {
    let items = body.objects_in("contents").unwrap_or_default();
    items.into_iter().map(|(item, object)| content(body, item, object)).collect()
}

fn content<'a>(body: &Json, item: &'a str, object: Option<Object<'a>>) -> Content<'a> {
    let odd = Content { uri: Cow::Borrowed(""), mime: None, payload: Payload::Odd(item) };
    let Some(object) = object else { return odd };
    let text_of = |key: &str| object.get_original(key).and_then(json::string);
    let text = object.get_original("text").map(str::trim).filter(|text| text.starts_with('"'));
    let blob = || text_of("blob").and_then(|blob| decode_blob(&blob));
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

/// The text of the first of the contents, if that is a text.
pub fn first_text(body: &Json) -> Option<String> {
    let first = contents(body).into_iter().next()?;
    match first.payload {
        Payload::Text(words) => Some(words.text().into_owned()),
        Payload::Blob(_) | Payload::Odd(_) => None,
    }
}

/// One of the contents of a read.
pub struct Content<'a> {
    /// Its URI; empty if it has none.
    pub uri: Cow<'a, str>,
    /// Its type, as its Source says it.
    pub mime: Option<Cow<'a, str>>,
    /// Its text or its bytes.
    pub payload: Payload<'a>,
}

/// The text or the bytes of a content.
pub enum Payload<'a> {
    Text(Words<'a>),
    /// The bytes that base64 held.
    Blob(Vec<u8>),
    /// Neither; the whole content as it was written.
    Odd(&'a str),
}

/// A text, or a JSON string that the text is made from when it is needed.
#[derive(Clone)]
pub enum Words<'a> {
    /// The JSON string, and how long the text is that it says.
    Literal {
        /// The string, quotes included.
        literal: &'a str,
        /// The bytes of the text.
        len: usize,
    },
    /// The text itself.
    Plain(Cow<'a, str>),
}

impl<'a> Words<'a> {
    /// The text that a JSON string says. One that is no Unicode, such as half of a surrogate pair,
    /// has no bytes to cut.
    fn of_literal(body: &Json, literal: &'a str) -> Option<Words<'a>> {
        body.string_len(literal).map(|len| Words::Literal { literal, len })
    }

    /// How long the text is.
    pub(crate) fn len(&self) -> usize {
        match self {
            Words::Literal { len, .. } => *len,
            Words::Plain(text) => text.len(),
        }
    }

    /// The text as a JSON string, where there is one already.
    pub(crate) fn literal(&self) -> Option<&'a str> {
        match self {
            Words::Literal { literal, .. } => Some(*literal),
            Words::Plain(_) => None,
        }
    }

    /// Whether a plain word stands in it.
    pub(crate) fn mention(&self, word: &str) -> bool {
        let written = match self {
            Words::Literal { literal, .. } => literal,
            Words::Plain(text) => text.as_ref(),
        };
        memchr::memmem::find(written.as_bytes(), word.as_bytes()).is_some()
    }

    /// Whether it begins as JSON does, blanks aside, e.g. `{`.
    pub(crate) fn look_like_json(&self) -> bool {
        let begins = |text: &str| text.trim_start().starts_with(['{', '[']);
        match self {
            Words::Literal { literal, .. } => {
                let mut rest = literal.strip_prefix('"').unwrap_or(literal).trim_start();
                while let Some(after) =
                    ["\\n", "\\r", "\\t"].iter().find_map(|it| rest.strip_prefix(it))
                {
                    rest = after.trim_start();
                }
                // A name that is spelt in numbers must be made to be seen.
                if rest.starts_with("\\u") { begins(&self.text()) } else { begins(rest) }
            }
            Words::Plain(text) => begins(text),
        }
    }

    /// A window of the text as [`super::window()`] gives it, as a JSON string.
    pub(crate) fn window(&self, offset: usize, max: usize) -> Pane {
        self.written_window(offset, max).unwrap_or_else(|| {
            let text = self.text();
            let window = super::window(&text, offset, max);
            let (data, len) = (json::quote(window.text), window.text.len());
            Pane { data, len, next_offset: window.next_offset }
        })
    }

    /// A window cut out of the string as it is written, where that can be done.
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
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Words::Literal { literal, .. } => json::string(literal).unwrap_or_default(),
            Words::Plain(text) => Cow::Borrowed(text),
        }
    }
}

/// A window of a text.
pub(crate) struct Pane {
    /// As a JSON string.
    pub(crate) data: String,
    /// How many bytes of the text it shows.
    pub(crate) len: usize,
    /// Where the next one begins.
    pub(crate) next_offset: Option<usize>,
}

/// Base64 as servers write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of a blob, e.g. of `aGk=`; blanks and line ends in it mean nothing.
pub fn decode_blob(blob: &str) -> Option<Vec<u8>> {
    if !blob.contains(char::is_whitespace) {
        return BASE64.decode(blob).ok();
    }
    let compact: String = blob.chars().filter(|c| !c.is_whitespace()).collect();
    BASE64.decode(compact).ok()
}
