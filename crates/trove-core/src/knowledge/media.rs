//! The MIME type of a file, and its text from any encoding.

use std::borrow::Cow;

/// The type of a file that is no text and has no known type.
pub(super) const BINARY: &str = "application/octet-stream";
/// The type of a text without a known type.
pub(super) const PLAIN: &str = "text/plain";
/// The type of most documents.
pub(super) const MARKDOWN: &str = "text/markdown";

/// How much of a file tells what it holds and what it is called.
pub(super) const HEAD: usize = 8 * 1024;
/// The end of the name of a document that is rendered.
const TEMPLATE_END: &str = ".md.j2";

/// Kinds that clients know better by another name than the general table gives.
const OWN: [(&str, &str); 10] = [
    ("md", MARKDOWN),
    ("markdown", MARKDOWN),
    ("toml", "application/toml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("rs", "text/x-rust"),
    ("py", "text/x-python"),
    ("ts", "text/x-typescript"),
    ("j2", PLAIN),
    ("log", PLAIN),
];

/// Kinds that are text though they do not say so.
const TEXTS: [&str; 9] = [
    "application/json",
    "application/javascript",
    "application/toml",
    "application/yaml",
    "application/xml",
    "application/x-sh",
    "application/sql",
    "application/x-tex",
    "image/svg+xml",
];

/// Whether a document is rendered, e.g. `greeting.md.j2`.
pub(super) fn is_template(path: &str) -> bool {
    path.ends_with(TEMPLATE_END)
}

/// The kind that the name of a file tells, e.g. `text/markdown` for `a.md.j2`.
pub(super) fn of_name(path: &str) -> Option<&'static str> {
    if is_template(path) {
        return Some(MARKDOWN);
    }
    let name = path.rsplit('/').next()?;
    let (_, extension) = name.rsplit_once('.')?;
    let own = OWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    own.map(|(_, media)| *media).or_else(|| mime_guess::from_ext(extension).first_raw())
}

/// The kind that the first bytes of a file tell.
pub(super) fn of_bytes(head: &[u8]) -> &'static str {
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The end of a character may be cut off.
        Err(error) => error.error_len().is_none(),
    };
    if is_text && !head.contains(&0) { PLAIN } else { BINARY }
}

/// The type of bytes that are plainly no text, though their name may tell another. `None` if they
/// may be text in some encoding. Only their head is looked at.
pub(super) fn no_text(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(HEAD)];
    if encoding_rs::Encoding::for_bom(head).is_some() {
        return None;
    }
    // A text may begin like some binary (`BM`, `MZ`), but it holds no zeros.
    if !head.contains(&0) && !head.starts_with(b"%PDF-") {
        return None;
    }
    let found = infer::get(head).map(|found| found.mime_type()).filter(|media| !is_text(media));
    Some(found.unwrap_or(BINARY))
}

/// Whether content of this kind is text.
pub(super) fn is_text(media: &str) -> bool {
    media.starts_with("text/")
        || TEXTS.contains(&media)
        || media.ends_with("+json")
        || media.ends_with("+xml")
}

/// The text of the first bytes of a file: the start of the text that [`text`] gives of the whole.
pub(super) fn head_text(mut head: Vec<u8>) -> (String, Option<String>) {
    // The end of a character may be cut off; that must not look like another encoding.
    if head.len() >= HEAD
        && let Err(error) = std::str::from_utf8(&head)
        && error.error_len().is_none()
    {
        head.truncate(error.valid_up_to());
    }
    text(head)
}

/// The text of bytes, and what was done to get it if they are not UTF-8.
pub(super) fn text(bytes: Vec<u8>) -> (String, Option<String>) {
    if let Some((encoding, mark)) = encoding_rs::Encoding::for_bom(&bytes) {
        let (text, _) = encoding.decode_without_bom_handling(&bytes[mark..]);
        let note =
            (encoding != encoding_rs::UTF_8).then(|| format!("decoded from {}", encoding.name()));
        return (text.into_owned(), note);
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return (text, None),
        Err(error) => error.into_bytes(),
    };
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(&bytes, true);
    let encoding = detector.guess(None, chardetng::Utf8Detection::Allow);
    let (text, _, has_errors): (Cow<'_, str>, _, _) = encoding.decode(&bytes);
    let note = if has_errors {
        format!("decoded from {}; what could not be read shows as \u{fffd}", encoding.name())
    } else {
        format!("decoded from {}", encoding.name())
    };
    (text.into_owned(), Some(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_name_then_by_content() {
        assert_eq!(of_name("a/b.md"), Some(MARKDOWN));
        assert_eq!(of_name("a/b.md.j2"), Some(MARKDOWN));
        assert_eq!(of_name("b.png"), Some("image/png"));
        assert_eq!(of_name("b.JSON"), Some("application/json"));
        assert_eq!(of_name("Makefile"), None);
        assert_eq!(of_bytes(b"plain"), PLAIN);
        assert_eq!(of_bytes(b"caf\xc3"), PLAIN);
        assert_eq!(of_bytes(b"\x7fELF\0\0"), BINARY);
        assert!(is_text("application/json") && !is_text("image/png"));
    }

    #[test]
    fn bytes_that_are_no_text_are_known_by_what_they_begin_with() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        for (bytes, expected) in [
            (&png[..], Some("image/png")),
            (b"PK\x03\x04\x14\0\0\0\x08\0", Some("application/zip")),
            (b"%PDF-1.7\n% all of it in ASCII", Some("application/pdf")),
            (b"# Half a\0text", Some(BINARY)),
            (b"BMW and MZ are letters", None),
            (b"BMW f\xfcr alle", None),
            (b"\xff\xfeh\0i\0", None),
            (b"", None),
        ] {
            assert_eq!(no_text(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn text_in_another_encoding_is_read_and_said_so() {
        assert_eq!(text(b"caf\xc3\xa9".to_vec()), ("café".into(), None));
        assert_eq!(text(b"\xef\xbb\xbfx".to_vec()), ("x".into(), None));
        let (latin, note) = text(b"Le caf\xe9 est tr\xe8s bon".to_vec());
        assert_eq!(latin, "Le café est très bon");
        assert!(note.is_some());
        let (wide, note) = text(b"\xff\xfeh\0i\0".to_vec());
        assert_eq!((wide.as_str(), note.as_deref()), ("hi", Some("decoded from UTF-16LE")));
    }
}
