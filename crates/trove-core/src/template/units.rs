//! Reads a URI as units: each becomes one character of a decoded value.
//!
//! A unit is an ASCII character, a plain non-ASCII one, or the percent-escapes of one
//! character. Values are split only between units, so that `{a}{b}` never cuts `%C3%A9`.

use super::parse::is_escape;

/// The longest unit: four escapes.
const MAX_UNIT_BYTES: usize = 12;

/// A set of characters, as one bit of [`Unit::fits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// Unreserved characters.
    Simple = 1,
    /// The characters of path segments, and `/` between them.
    Segments = 2,
    /// Unreserved and reserved characters.
    Reserved = 4,
    /// The characters of a query, without `&`.
    Query = 8,
    /// Anything except `/`: a simple variable was perhaps meant to be this.
    NotSlash = 16,
    /// Anything except `#` and `&`: a value in a query was perhaps meant to be this.
    NotAmpersand = 32,
    /// Anything except `/` and `;`: likewise in a path parameter.
    NotSemicolon = 64,
    Any = 128,
}

impl Class {
    /// The class to look for when asking what the writer of a bad URI meant.
    pub(super) fn loosened(self) -> Class {
        match self {
            Class::Simple => Class::NotSlash,
            Class::Query => Class::NotAmpersand,
            _ => Class::Any,
        }
    }
}

/// The unit that starts at one byte of the URI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    length: u8,
    fits: u8,
}

const ALL: u8 = u8::MAX;
/// The classes that only a loose reading looks for.
const LOOSE: u8 = Class::NotSlash as u8
    | Class::NotAmpersand as u8
    | Class::NotSemicolon as u8
    | Class::Any as u8;

impl Unit {
    /// The end of the unit that starts at `at`, if it is in the class.
    pub(super) fn end(self, at: usize, class: Class) -> Option<usize> {
        (self.fits & class as u8 != 0).then_some(at + usize::from(self.length))
    }
}

/// The units that start at each byte, and one that fits nothing for the end.
pub(super) fn units(uri: &str) -> Vec<Unit> {
    let bytes = uri.as_bytes();
    let mut units = Vec::with_capacity(bytes.len() + 1);
    units.extend((0..bytes.len()).map(|at| unit(&bytes[at..])));
    units.push(Unit { length: 0, fits: 0 });
    units
}

fn unit(bytes: &[u8]) -> Unit {
    match bytes[0] {
        b'%' => match escaped_length(bytes) {
            Some(length) => Unit { length, fits: ALL },
            None => Unit { length: 1, fits: LOOSE },
        },
        byte if byte.is_ascii() => Unit { length: 1, fits: ascii_fits(byte) },
        byte => match utf8_length(byte) {
            Some(length) => Unit { length, fits: ALL },
            None => Unit { length: 1, fits: 0 },
        },
    }
}

fn ascii_fits(byte: u8) -> u8 {
    let loose = match byte {
        b'/' => LOOSE & !(Class::NotSlash as u8 | Class::NotSemicolon as u8),
        b'#' | b'&' => LOOSE & !(Class::NotAmpersand as u8),
        b';' => LOOSE & !(Class::NotSemicolon as u8),
        _ => LOOSE,
    };
    let (segments, reserved, query) =
        (Class::Segments as u8, Class::Reserved as u8, Class::Query as u8);
    loose
        | match byte {
            b'-' | b'.' | b'_' | b'~' => ALL,
            _ if byte.is_ascii_alphanumeric() => ALL,
            b'&' => segments | reserved,
            b'/' | b':' | b'@' | b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';'
            | b'=' => segments | reserved | query,
            b'?' | b'[' | b']' => reserved | query,
            b'#' => reserved,
            _ => 0,
        }
}

/// How many bytes a character has that begins with this one, e.g. 2 for `é`.
fn utf8_length(first: u8) -> Option<u8> {
    match first {
        0x00..=0x7f => Some(1),
        0xc2..=0xdf => Some(2),
        0xe0..=0xef => Some(3),
        0xf0..=0xf4 => Some(4),
        _ => None,
    }
}

/// The length of the escapes for one character at the start of the text, e.g. 6 for `%C3%A9`.
fn escaped_length(bytes: &[u8]) -> Option<u8> {
    let near = &bytes[..bytes.len().min(MAX_UNIT_BYTES)];
    let first = escaped_byte(near)?;
    let count = utf8_length(first)?;
    let mut character = [first, 0, 0, 0];
    for (nth, byte) in character.iter_mut().enumerate().take(usize::from(count)).skip(1) {
        *byte = escaped_byte(near.get(3 * nth..)?)?;
    }
    std::str::from_utf8(&character[..usize::from(count)]).ok()?;
    Some(3 * count)
}

fn escaped_byte(bytes: &[u8]) -> Option<u8> {
    if !is_escape(bytes) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(bytes[1])? * 16 + digit(bytes[2])?)
}

/// The text with its escapes decoded, e.g. `é` for `%C3%A9`; `None` if one is broken or no UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            decoded.push(escaped_byte(&bytes[at..])?);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}
