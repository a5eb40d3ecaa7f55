//! Windows onto contents that are too large to be shown at once.
//!
//! Windows put together in order are the whole, whether a reader follows `next_offset`
//! or counts for itself.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<'a> {
    /// The part.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where the next one begins; `None` at the end.
    pub next_offset: Option<usize>,
}

/// A part of some bytes, in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base64Window {
    /// The part. Only the last one is padded, so that parts can be put together as text.
    pub base64: String,
    /// Where it begins, in bytes before encoding.
    pub start: usize,
    /// Where the next one begins, in bytes before encoding; `None` at the end.
    pub next_offset: Option<usize>,
}

/// The `max_bytes` of a text from `offset` on. Both ends move back to the beginning of
/// the character they fall into. A window is empty only at the end: where `max_bytes`
/// is less than one character, it holds that character.
pub fn window(text: &str, offset: usize, max_bytes: usize) -> Window<'_> {
    let start = text.floor_char_boundary(offset);
    let mut end = text.floor_char_boundary(offset.saturating_add(max_bytes));
    if end <= start {
        end = text.ceil_char_boundary(start.saturating_add(1));
    }
    Window { text: &text[start..end], start, next_offset: next(end, text.len()) }
}

/// Bytes from `offset` on, as at most `max_chars` characters of base64, but at least four. Both
/// ends move back to a multiple of three, e.g. an offset of 4 to 3.
pub fn base64_window(bytes: &[u8], offset: usize, max_chars: usize) -> Base64Window {
    let offset = offset.min(bytes.len());
    let start = if offset == bytes.len() { offset } else { offset - offset % 3 };
    let most = (max_chars / 4).max(1).saturating_mul(3);
    let end = start.saturating_add(most).min(bytes.len());
    let base64 = STANDARD.encode(&bytes[start..end]);
    Base64Window { base64, start, next_offset: next(end, bytes.len()) }
}

fn next(end: usize, whole: usize) -> Option<usize> {
    (end < whole).then_some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_offset_inside_a_character_moves_back() {
        let whole = Window { text: "é", start: 1, next_offset: Some(3) };
        assert_eq!(window("aéb", 2, 2), Window { text: "éb", next_offset: None, ..whole });
        assert_eq!(window("aéb", 1, 2), whole);
        assert_eq!(window("aéb", 1, 1), whole);
        assert_eq!(window("aéb", 9, 5), Window { text: "", start: 4, next_offset: None });
        assert_eq!(window("", 0, 0), Window { text: "", start: 0, next_offset: None });
    }

    #[test]
    fn base64_stays_within_its_limit() {
        let window = base64_window(b"hello", 0, 7);
        assert_eq!((window.base64.as_str(), window.next_offset), ("aGVs", Some(3)));
        let window = base64_window(b"hello", 4, 100);
        assert_eq!((window.base64.as_str(), window.start, window.next_offset), ("bG8=", 3, None));
        assert_eq!(base64_window(b"hello", 77, 4).base64, "");
    }

    proptest! {
        #[test]
        fn windows_put_together_are_the_whole(text in any::<String>(), max in 0_usize..40) {
            let (mut joined, mut at) = (String::new(), Some(0));
            while let Some(offset) = at {
                let window = window(&text, offset, max);
                prop_assert_eq!(window.start, offset);
                prop_assert!(window.text.len() <= max.max(4));
                joined.push_str(window.text);
                at = window.next_offset;
            }
            prop_assert_eq!(joined, text);
        }

        #[test]
        fn a_reader_who_counts_for_itself_misses_nothing(text in any::<String>(), max in 4_usize..40) {
            let offsets = (0..=text.len()).step_by(max);
            let joined: String = offsets.map(|offset| {
                // At the last offset a window may begin in the character before.
                let window = window(&text, offset, max);
                window.text
            }).collect();
            prop_assert_eq!(joined, text);
        }

        #[test]
        fn base64_windows_put_together_are_the_whole(bytes: Vec<u8>, max in 0_usize..40) {
            let (mut joined, mut at) = (String::new(), Some(0));
            while let Some(offset) = at {
                let window = base64_window(&bytes, offset, max);
                prop_assert!(window.base64.len() <= max.max(4));
                joined.push_str(&window.base64);
                at = window.next_offset;
            }
            prop_assert_eq!(joined, STANDARD.encode(&bytes));
        }
    }
}
