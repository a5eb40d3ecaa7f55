//! Finds words in texts and cuts snippets around them.
//!
//! Every place given is on the boundary of a character and within its text.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    hits::Highlight,
    tokens::{Beginnings, Tokens},
};

/// How many characters a snippet has.
pub(super) const SNIPPET_CHARS: usize = 200;
/// How many bytes of a long content are looked through for words.
const MAX_SCANNED_BYTES: usize = 64 * 1024;
/// How many places with words are taken in.
const MAX_SPANS: usize = 2000;

/// The words that are looked for in texts.
#[derive(Debug)]
pub(super) struct Sought<'a> {
    /// Which unit of the question a token belongs to.
    units: HashMap<&'a str, usize>,
    /// The weight of each unit.
    weights: Vec<f32>,
    beginnings: Beginnings,
}

impl<'a> Sought<'a> {
    /// Takes the tokens that count as each unit, and what it weighs.
    pub(super) fn new(units: impl Iterator<Item = (&'a HashSet<String>, f32)>) -> Sought<'a> {
        let (mut by_token, mut weights) = (HashMap::new(), Vec::new());
        for (unit, (tokens, weight)) in units.enumerate() {
            weights.push(weight);
            for token in tokens {
                by_token.entry(token.as_str()).or_insert(unit);
            }
        }
        let beginnings = Beginnings::of(by_token.keys().copied());
        Sought { units: by_token, weights, beginnings }
    }
}

/// A place where a unit was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) unit: usize,
}

/// Finds where units lie in a text.
pub(super) fn spans(text: &str, sought: &Sought<'_>) -> Vec<Span> {
    let scanned = &text[..text.floor_char_boundary(MAX_SCANNED_BYTES)];
    let found = spans_within(scanned, sought);
    if found.is_empty() && scanned.len() < text.len() {
        return spans_within(text, sought);
    }
    found
}

fn spans_within(text: &str, sought: &Sought<'_>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut tokens = Tokens::like(text, &sought.beginnings);
    while spans.len() < MAX_SPANS && tokens.read_word() {
        for token in tokens.of_word() {
            let Some(&unit) = sought.units.get(token.text.as_str()) else { continue };
            // A whole swallows its parts, and overlapping pairs of letters join.
            match spans.last_mut().filter(|last| last.range.end > token.span.start) {
                Some(last) => last.range.end = last.range.end.max(token.span.end),
                None => spans.push(Span { range: token.span.clone(), unit }),
            }
        }
    }
    spans
}

/// The part of a text, of the length of a snippet, that holds the most of what was
/// sought.
pub(super) fn best_window(text: &str, spans: &[Span], sought: &Sought<'_>) -> Range<usize> {
    let Some(first) = spans.first() else { return window_around(text, 0..0) };
    let mut best = (0.0, first.range.clone());
    for (n, span) in spans.iter().enumerate() {
        let mut value = 0.0;
        let mut seen = 0_u64;
        let mut end = span.range.end;
        for other in &spans[n..] {
            // A byte is at most a character, so that this never takes in too much.
            if other.range.end - span.range.start > SNIPPET_CHARS {
                break;
            }
            let bit = 1 << other.unit.min(63);
            let weight = sought.weights.get(other.unit).copied().unwrap_or(1.0);
            // A second time says less than a first.
            value += if seen & bit == 0 { weight } else { weight * 0.05 };
            seen |= bit;
            end = other.range.end;
        }
        if value > best.0 {
            best = (value, span.range.start..end);
        }
    }
    window_around(text, best.1)
}

/// About as many characters as a snippet has, with `middle` in their middle, from the
/// beginning of a word to the end of one.
pub(super) fn window_around(text: &str, middle: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(middle.start.min(text.len()));
    let end = text.ceil_char_boundary(middle.end.min(text.len())).max(start);
    let chars = text[start..end].chars().count();
    let spare = SNIPPET_CHARS.saturating_sub(chars);
    let before: usize = text[..start].chars().rev().take(spare / 3).map(char::len_utf8).sum();
    let mut from = start - before;
    let taken = text[from..start].chars().count();
    let after: usize = text[end..].chars().take(spare - taken).map(char::len_utf8).sum();
    let mut to = end + after;
    if from > 0 {
        from = text[from..start].find(char::is_whitespace).map_or(from, |at| from + at);
        from += text[from..start].len() - text[from..start].trim_start().len();
    }
    if to < text.len() {
        to = text[end..to].rfind(char::is_whitespace).map_or(to, |at| end + at);
    }
    if chars > SNIPPET_CHARS {
        to = text[from..].char_indices().nth(SNIPPET_CHARS).map_or(to, |(at, _)| from + at);
    }
    from..to
}

/// A snippet of a field where something was found.
pub(super) fn highlight(field: &'static str, text: &str, sought: &Sought<'_>) -> Option<Highlight> {
    let spans = spans(text, sought);
    if spans.is_empty() {
        return None;
    }
    let window = best_window(text, &spans, sought);
    let matches = spans
        .iter()
        .filter(|span| span.range.start >= window.start && span.range.end <= window.end)
        .map(|span| span.range.start - window.start..span.range.end - window.start)
        .collect();
    let snippet = text[window.clone()].to_owned();
    Some(Highlight { field, snippet, offset: Some(window.start), matches })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sought(words: &[&str]) -> Vec<HashSet<String>> {
        words.iter().map(|word| HashSet::from([(*word).to_owned()])).collect()
    }

    fn units(tokens: &[HashSet<String>]) -> Sought<'_> {
        Sought::new(tokens.iter().map(|tokens| (tokens, 1.0)))
    }

    #[test]
    fn a_snippet_shows_the_place_with_the_most_words() {
        let text = format!("alpha {} alpha beta {} beta", "x ".repeat(300), "y ".repeat(300));
        let tokens = sought(&["alpha", "beta"]);
        let found = highlight("content", &text, &units(&tokens)).unwrap();
        assert!(found.snippet.contains("alpha beta"), "{}", found.snippet);
        assert_eq!(found.matches.len(), 2);
        let offset = found.offset.unwrap();
        assert_eq!(&text[offset..offset + found.snippet.len()], found.snippet);
    }

    #[test]
    fn a_text_without_the_words_has_no_highlight() {
        let tokens = sought(&["gamma"]);
        assert!(highlight("content", "alpha beta", &units(&tokens)).is_none());
    }

    proptest! {
        #[test]
        fn highlights_lie_within_the_text(text in "[a-cA-C_ é漢字\\n.0-9]{0,600}") {
            let tokens = sought(&["a", "b", "ab", "漢字", "1"]);
            if let Some(found) = highlight("content", &text, &units(&tokens)) {
                let offset = found.offset.unwrap();
                prop_assert_eq!(&text[offset..offset + found.snippet.len()], &found.snippet);
                prop_assert!(found.snippet.chars().count() <= SNIPPET_CHARS);
                prop_assert!(!found.matches.is_empty());
                for place in found.matches {
                    prop_assert!(found.snippet.get(place.clone()).is_some_and(|s| !s.is_empty()));
                }
                for span in spans(&text, &units(&tokens)) {
                    prop_assert!(text.get(span.range).is_some());
                }
            }
        }

        #[test]
        fn windows_lie_within_the_text(text in "\\PC{0,300}", a in 0_usize..400, len in 0_usize..400) {
            let window = window_around(&text, a..a + len);
            prop_assert!(text.get(window.clone()).is_some());
            prop_assert!(text[window].chars().count() <= SNIPPET_CHARS);
        }
    }
}
