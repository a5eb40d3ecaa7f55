//! The forms in which each part of a read can be shown.
//!
//! Nothing is dropped: a content that is neither text nor base64 is shown as the server wrote it.

use std::borrow::Cow;

use super::Format;
use crate::content::{self, Content, Kind, Payload, Words};

const ODD: &str = "neither text nor base64; shown as the server wrote it";
const GARBLED: &str =
    "some bytes are not text and show as \u{fffd}; ask with format \"binary\" for them";

/// How a content is shown.
pub(super) enum Form<'a> {
    /// As text.
    Text(Text<'a>),
    /// As base64.
    Bytes(Cow<'a, [u8]>),
    /// In a few words about it.
    Described(&'a [u8], Kind),
}

/// A text to be shown.
pub(super) struct Text<'a> {
    pub(super) words: Words<'a>,
    pub(super) mime: Option<Cow<'a, str>>,
    /// The encoding it was decoded from.
    pub(super) encoding: Option<&'static str>,
    /// A note for its reader.
    pub(super) note: Option<&'static str>,
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
