//! Which kind of contents some bytes are.
//!
//! The bytes decide whether something is text or an image a model can look at; the
//! declared type decides what it is called, unless the bytes clearly contradict it.

use std::borrow::Cow;

use super::{charset, names};
use crate::json;

/// How much of the beginning is looked at.
const SNIFF_BYTES: usize = 64 * 1024;
/// In fewer bytes than this any may be missing that tell a binary from a text in an older encoding;
/// such a text is taken for one only if few of its bytes are not ASCII.
const LEAST_GUESSED: usize = 64;

/// The character that stands in a decoded text for bytes that made no sense.
const FAULT: char = char::REPLACEMENT_CHARACTER;

const OCTET_STREAM: &str = "application/octet-stream";

/// The kind of some contents, e.g. `image/png` shown as an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The MIME type in lower case, without parameters.
    pub mime: Cow<'static, str>,
    /// How it can be shown.
    pub form: Form,
    /// The name of the encoding that a byte order mark or the declared type tells.
    pub charset: Option<&'static str>,
}

/// How contents can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text that is one JSON value, in a type that says so.
    Json,
    /// Any other text.
    Text,
    /// An image that clients can show.
    Image(ImageFormat),
    /// Anything else.
    Binary,
}

/// The image formats that clients can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl ImageFormat {
    pub fn mime(self) -> &'static str {
        match self {
            ImageFormat::Png => "image/png",
            ImageFormat::Jpeg => "image/jpeg",
            ImageFormat::Gif => "image/gif",
            ImageFormat::Webp => "image/webp",
        }
    }

    fn of(bytes: &[u8]) -> Option<ImageFormat> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(ImageFormat::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(ImageFormat::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
                Some(ImageFormat::Webp)
            }
            _ => None,
        }
    }
}

impl Kind {
    /// Whether it can be shown as text.
    pub fn is_text(&self) -> bool {
        matches!(self.form, Form::Json | Form::Text)
    }

    /// Whether it is an image that clients can show.
    pub fn is_image(&self) -> bool {
        matches!(self.form, Form::Image(_))
    }

    /// Whether it is one JSON value.
    pub fn is_json(&self) -> bool {
        self.form == Form::Json
    }
}

/// Tells what `bytes` are: `declared_mime` is what their Source calls them, and
/// `name_or_uri` may end in an extension.
pub fn sniff(declared_mime: Option<&str>, name_or_uri: &str, bytes: &[u8]) -> Kind {
    let declared = declared_mime.map(Declared::parse).unwrap_or_default();
    let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
    let marked = charset::marked(bytes);
    let charset = marked.or(declared.charset);
    let is_told = declared.charset.is_some()
        || declared.mime.as_deref().is_some_and(is_textual)
        || names::mime_of_name(name_or_uri).is_some_and(is_textual);
    let others = || head.iter().filter(|byte| !byte.is_ascii()).count();
    let may_guess = is_told || head.len() >= LEAST_GUESSED || others() * 4 <= head.len();
    if is_text(head, bytes.len() > head.len(), &declared, marked, may_guess) {
        return text_kind(declared.mime, name_or_uri, bytes, charset);
    }
    if let Some(image) = ImageFormat::of(head) {
        return Kind { mime: image.mime().into(), form: Form::Image(image), charset: None };
    }
    let found = infer::get(head).map(|found| found.mime_type()).filter(|mime| !is_textual(mime));
    let named = names::mime_of_name(name_or_uri).filter(|mime| !is_textual(mime));
    let mime = match (declared.mime, found) {
        (Some(declared), Some(found)) if contradicts(&declared, found) => found.into(),
        (Some(declared), _) if !is_textual(&declared) => declared.into(),
        (_, Some(found)) => {
            named.filter(|named| !contradicts(named, found)).unwrap_or(found).into()
        }
        (_, None) => named.unwrap_or(OCTET_STREAM).into(),
    };
    Kind { mime, form: Form::Binary, charset: None }
}

/// The declaration of the Source; a type that says nothing counts as none.
#[derive(Default)]
struct Declared {
    mime: Option<String>,
    charset: Option<&'static str>,
}

impl Declared {
    fn parse(declared: &str) -> Declared {
        let mut parts = declared.split(';');
        let mime = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_type = mime.split_once('/').is_some_and(|(top, sub)| is_token(top) && is_token(sub));
        let says_nothing = matches!(mime.as_str(), OCTET_STREAM | "binary/octet-stream");
        let charset = parts.find_map(|part| {
            let (key, value) = part.split_once('=')?;
            let is_charset = key.trim().eq_ignore_ascii_case("charset");
            is_charset.then(|| charset::named(value.trim().trim_matches(['"', '\''])))?
        });
        Declared { mime: (is_type && !says_nothing).then_some(mime), charset }
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 127
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+*%".contains(&b))
}

/// Whether bytes are text in any encoding. `is_cut` says that more follow, and `may_guess` that it
/// may be an encoding without a name.
fn is_text(
    head: &[u8],
    is_cut: bool,
    declared: &Declared,
    marked: Option<&str>,
    may_guess: bool,
) -> bool {
    if head.starts_with(b"%PDF-") {
        return false;
    }
    if declared.charset.is_some_and(charset::is_utf16) || marked.is_some_and(charset::is_utf16) {
        // Both kinds of UTF-16 are full of zeros, so only decoding can tell.
        let decoded = charset::decode_text(head, declared.charset);
        let end = if is_cut { decoded.text.trim_end_matches(FAULT) } else { &decoded.text };
        let has_fault = decoded.had_errors && end.contains(FAULT);
        return !has_fault && !end.bytes().any(is_binary_byte);
    }
    if head.iter().copied().any(is_binary_byte) {
        return false;
    }
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) if is_cut && error.error_len().is_none() => true,
        // Some older encoding, unless it begins like a known binary.
        Err(_) => may_guess && infer::get(head).is_none_or(|found| is_textual(found.mime_type())),
    }
}

/// Bytes that no text holds, in any encoding but UTF-16: the WHATWG's list.
fn is_binary_byte(byte: u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F)
}

fn text_kind(
    declared: Option<String>,
    name: &str,
    bytes: &[u8],
    charset: Option<&'static str>,
) -> Kind {
    let may_be_text = |mime: &str| !is_surely_binary(mime);
    let mime: Cow<'static, str> = match declared.filter(|mime| may_be_text(mime)) {
        Some(declared) => declared.into(),
        None => match names::mime_of_name(name).filter(|mime| may_be_text(mime)) {
            Some(named) => named.into(),
            None => text_mime(bytes).into(),
        },
    };
    let is_json = is_json_type(&mime) && holds_json(bytes);
    Kind { mime, form: if is_json { Form::Json } else { Form::Text }, charset }
}

/// The type of a text without a declared one and an extension, e.g. `application/json` for `{}`.
fn text_mime(bytes: &[u8]) -> &'static str {
    let first = bytes.trim_ascii_start().first();
    if matches!(first, Some(b'{' | b'[')) && holds_json(bytes) {
        return "application/json";
    }
    let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
    match infer::get(head).map(|found| found.mime_type()) {
        Some(found @ ("text/html" | "text/xml" | "text/x-shellscript")) => found,
        _ => "text/plain",
    }
}

fn holds_json(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes).is_ok_and(json::is_json)
}

/// Whether a type means one JSON value, e.g. `application/ld+json`.
fn is_json_type(mime: &str) -> bool {
    mime.ends_with("+json") || matches!(mime, "application/json" | "text/json" | "text/x-json")
}

/// Whether a type is text by its name, e.g. `image/svg+xml`.
fn is_textual(mime: &str) -> bool {
    const APPLICATIONS: [&str; 14] = [
        "application/json5",
        "application/x-ndjson",
        "application/jsonl",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/x-javascript",
        "application/sql",
        "application/x-sql",
        "application/x-sh",
        "application/rtf",
        "application/postscript",
    ];
    mime.starts_with("text/")
        || mime.ends_with("+xml")
        || is_json_type(mime)
        || APPLICATIONS.contains(&mime)
}

/// Whether something of this type cannot be text, e.g. `application/pdf`.
fn is_surely_binary(mime: &str) -> bool {
    let top = mime.split('/').next().unwrap_or_default();
    let is_media = matches!(top, "image" | "audio" | "video" | "font");
    let is_container = matches!(
        mime,
        OCTET_STREAM
            | "application/zip"
            | "application/gzip"
            | "application/x-tar"
            | "application/pdf"
    );
    (is_media && !is_textual(mime)) || is_container
}

/// Whether the bytes, which are `found`, cannot be what they are declared to be.
fn contradicts(declared: &str, found: &str) -> bool {
    let top = |mime: &str| mime.split('/').next().unwrap_or_default().to_owned();
    if is_textual(declared) {
        return true;
    }
    if top(declared) == "application" && top(found) == "application" {
        // A document may be a zip or a gzip inside, and types have several names; only
        // what is itself common and plain is taken at its word.
        let is_plain = |mime: &str| {
            matches!(
                mime,
                "application/pdf" | "application/zip" | "application/gzip" | "application/x-tar"
            )
        };
        return is_plain(declared) && is_plain(found) && declared != found;
    }
    // Sound and moving pictures share their containers.
    let is_stream = |mime: &str| matches!(top(mime).as_str(), "audio" | "video");
    let is_ogg = declared == "application/ogg" && is_stream(found);
    top(declared) != top(found) && !(is_stream(declared) && is_stream(found)) && !is_ogg
}
