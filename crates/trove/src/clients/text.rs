//! The text inside a file's clothing: a byte order mark, and line ends of Windows.
//!
//! Editors work on plain lines; what they give back is dressed as the file was.

/// The mark that some editors of Windows put first.
const MARK: &str = "\u{feff}";

/// A text and how its file wore it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dressed {
    pub(crate) text: String,
    has_mark: bool,
    has_crlf: bool,
}

impl Dressed {
    /// Takes the clothing off. `None`: the bytes are no UTF-8.
    pub(crate) fn of(bytes: &[u8]) -> Option<Dressed> {
        let whole = std::str::from_utf8(bytes).ok()?;
        let text = whole.strip_prefix(MARK).unwrap_or(whole);
        let plain = text.replace("\r\n", "\n");
        // Of mixed line ends each stays as it is: no rule could restore them.
        let has_crlf = plain.contains('\n') && plain.replace('\n', "\r\n") == text;
        let has_mark = text.len() < whole.len();
        let text = if has_crlf { plain } else { text.to_owned() };
        Some(Dressed { text, has_mark, has_crlf })
    }

    /// Another text in the same clothing.
    pub(crate) fn dress(&self, text: &str) -> Vec<u8> {
        let mark = if self.has_mark { MARK } else { "" };
        let lines = if self.has_crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        format!("{mark}{lines}").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dressed_again_is_what_it_was() {
        let all = ["", "a", "a\n", "a\r\nb\r\n", "a\r\nb\n", "\u{feff}a\r\n", "\r\r\n", "\u{feff}"];
        for text in all {
            let dressed = Dressed::of(text.as_bytes()).unwrap();
            assert_eq!(dressed.dress(&dressed.text), text.as_bytes(), "{text:?}");
        }
    }

    #[test]
    fn new_lines_are_dressed_as_the_old_ones() {
        let dressed = Dressed::of(b"\xef\xbb\xbfa\r\n").unwrap();
        assert_eq!(dressed.text, "a\n");
        assert_eq!(dressed.dress("a\nb\n"), b"\xef\xbb\xbfa\r\nb\r\n");
        assert_eq!(Dressed::of(b"\xff\xfe"), None);
    }
}
