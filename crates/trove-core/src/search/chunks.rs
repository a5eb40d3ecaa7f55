//! Cuts contents into pieces for the encoder: by heading, or about two hundred words.

use std::ops::Range;

/// How long a piece is, in bytes.
const PIECE_BYTES: usize = 1200;
/// A piece before a heading is at least so long.
const LEAST_BYTES: usize = 300;
/// How many pieces of one content get a vector.
pub(super) const MAX_PIECES: usize = 64;

/// Where the pieces of a text lie.
pub(super) fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() && pieces.len() < MAX_PIECES {
        let end = piece_end(text, start);
        if !text[start..end].trim().is_empty() {
            pieces.push(start..end);
        }
        start = end;
    }
    pieces
}

fn piece_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let heading = rest.match_indices("\n#").map(|(at, _)| at + 1);
    if let Some(at) = heading.take_while(|at| *at <= PIECE_BYTES).find(|at| *at >= LEAST_BYTES) {
        return start + at;
    }
    if rest.len() <= PIECE_BYTES {
        return text.len();
    }
    let most = rest.floor_char_boundary(PIECE_BYTES);
    let least = rest.floor_char_boundary(PIECE_BYTES / 2);
    // At the end of a paragraph, a line or a word, whichever comes late enough.
    let cut = ["\n\n", "\n", " "]
        .iter()
        .find_map(|end| rest[least..most].rfind(end).map(|at| least + at + end.len()));
    start + cut.unwrap_or(most).max(1)
}

/// The text of a piece for the encoder: the name first, so that a piece from the middle of a
/// content still says what it belongs to.
pub(super) fn input(name: &str, description: Option<&str>, piece: &str) -> String {
    let mut input = String::with_capacity(name.len() + piece.len() + 2);
    input.push_str(name);
    for part in description.into_iter().chain([piece]).filter(|part| !part.trim().is_empty()) {
        input.push('\n');
        input.push_str(part);
    }
    input
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_piece_ends_before_a_heading() {
        let text = format!("# One\n{}\n# Two\nmore", "word ".repeat(80));
        let pieces = pieces(&text);
        assert_eq!(pieces.len(), 2);
        assert!(text[pieces[1].clone()].starts_with("# Two"));
    }

    proptest! {
        #[test]
        fn pieces_cover_the_text_in_order(text in "([a-z é]{0,40}\n){0,120}") {
            let mut at = 0;
            for piece in pieces(&text) {
                prop_assert!(piece.start >= at && piece.end - piece.start <= PIECE_BYTES);
                prop_assert!(text[at..piece.start].trim().is_empty());
                at = piece.end;
            }
        }
    }
}
