//! From bytes to text: by their mark, by the declared encoding, or by their look.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How many bytes are looked at to guess an encoding, from the first that is not ASCII.
const DETECT_BYTES: usize = 64 * 1024;

/// How many good characters must stand beside one bad for a text to be UTF-8 with
/// faults rather than something else.
const GOOD_FOR_ONE_BAD: usize = 4;

/// Bytes read as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// The encoding it was in, as the WHATWG calls it.
    pub encoding: &'static str,
    /// Some bytes made no sense, and U+FFFD stands in their place.
    pub had_errors: bool,
}

/// Reads bytes as text. A byte order mark is believed first, then the declared charset,
/// then what the bytes look like.
pub fn decode_text<'a>(bytes: &'a [u8], declared_charset: Option<&str>) -> Decoded<'a> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode(&bytes[mark..], encoding);
    }
    let declared = declared_charset.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    match declared {
        Some(encoding) => decode(bytes, encoding),
        None => decode(bytes, detect(bytes)),
    }
}

/// The encoding that a byte order mark tells.
pub(super) fn marked(bytes: &[u8]) -> Option<&'static str> {
    Encoding::for_bom(bytes).map(|(encoding, _)| encoding.name())
}

/// The name of the encoding that a label stands for, e.g. `windows-1252` for `latin1`.
pub(super) fn named(label: &str) -> Option<&'static str> {
    Encoding::for_label(label.as_bytes()).map(Encoding::name)
}

/// Whether a name means either kind of UTF-16.
pub(super) fn is_utf16(name: &str) -> bool {
    name == UTF_16LE.name() || name == UTF_16BE.name()
}

fn decode<'a>(bytes: &'a [u8], encoding: &'static Encoding) -> Decoded<'a> {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    Decoded { text, encoding: encoding.name(), had_errors }
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(bytes).is_ok() || is_damaged_utf8(bytes) {
        return UTF_8;
    }
    let start = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    let end = bytes.len().min(start.saturating_add(DETECT_BYTES));
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[start..end], end == bytes.len());
    detector.guess(None, Utf8Detection::Deny)
}

/// Whether bytes are UTF-8 with a few faults, such as a character cut at the end: older
/// encodings hardly ever form longer characters of UTF-8 by accident.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let mut good = 0_usize;
    let mut bad = 0_usize;
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good / GOOD_FOR_ONE_BAD >= bad && good > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], declared: Option<&str>, text: &str, encoding: &str, had_errors: bool) {
        let decoded = decode_text(bytes, declared);
        assert_eq!(
            (&*decoded.text, decoded.encoding, decoded.had_errors),
            (text, encoding, had_errors)
        );
    }

    #[test]
    fn a_mark_is_believed_before_what_is_declared() {
        check(b"\xEF\xBB\xBFh\xC3\xA9", Some("latin1"), "hé", "UTF-8", false);
        check(b"\xFF\xFEh\0i\0", Some("utf-8"), "hi", "UTF-16LE", false);
        check(b"\xFE\xFF\0h\0i", None, "hi", "UTF-16BE", false);
    }

    #[test]
    fn a_declared_charset_is_believed() {
        check(b"caf\xE9", Some("ISO-8859-1"), "café", "windows-1252", false);
        check(b"\x83\x65\x83\x58\x83\x67", Some("shift_jis"), "テスト", "Shift_JIS", false);
        check(b"h\0i\0", Some(" UTF-16LE "), "hi", "UTF-16LE", false);
        check(b"caf\xE9", Some("utf-8"), "caf\u{fffd}", "UTF-8", true);
    }

    #[test]
    fn without_a_word_the_bytes_tell() {
        check("plain".as_bytes(), None, "plain", "UTF-8", false);
        check("naïve".as_bytes(), Some("no such charset"), "naïve", "UTF-8", false);
        check(b"caf\xE9 au lait", None, "café au lait", "windows-1252", false);
        let (russian, ..) =
            encoding_rs::KOI8_R.encode("Привет, это обычный текст на русском языке");
        assert_eq!(decode_text(&russian, None).text, "Привет, это обычный текст на русском языке");
    }

    #[test]
    fn a_cut_in_the_middle_of_a_character_does_not_change_the_rest() {
        let whole = "größer, weißer, süßer, öfter".as_bytes();
        let mut cut = whole.to_vec();
        cut.extend_from_slice(b" \xE2\x82");
        check(&cut, None, "größer, weißer, süßer, öfter \u{fffd}", "UTF-8", true);
    }
}
