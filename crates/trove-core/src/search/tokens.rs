//! Cuts text into the tokens that are indexed, asked for and highlighted.
//!
//! A word is a run of letters, digits and `_`. It is cut at `_`, between `camel` and `Case`, before
//! the last capital of `HTTPServer`, and between letters and digits. A word of one part gives its
//! stem, and its own form if that differs: a misspelt word is compared with real ones. A word of
//! several parts gives the whole, then its parts at successive positions. Scripts without spaces
//! give pairs of letters. Nothing here knows the index or a query.

use std::{borrow::Cow, ops::Range};

use frostem::{Algorithm, Stemmer};

use super::{
    letters::{is_stop_word, normal},
    words::{Word, Words},
};

/// The longest token; longer ones are keys, hashes or encoded bytes that users do not type.
pub(super) const MAX_TOKEN_BYTES: usize = 64;
/// A word of more parts is a hash or a number with letters in it: only its whole is kept.
const MAX_PARTS: usize = 12;

/// The relation of a token to its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A word of several parts, lower-cased.
    Whole,
    /// The stem of a part.
    Stem,
    /// A part as it is written, lower-cased, where its stem differs.
    Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) role: Role,
    /// Where it lies in the text.
    pub(super) span: Range<usize>,
    /// Counts parts from the beginning of the text, stop words among them.
    pub(super) position: usize,
}

/// The beginnings of the wanted tokens, so that all others need no stem: cutting is fast, stemming
/// is not.
#[derive(Debug)]
pub(super) struct Beginnings {
    /// A bit for each pair of first bytes.
    bits: Vec<u64>,
}

impl Beginnings {
    pub(super) fn of<'a>(tokens: impl Iterator<Item = &'a str>) -> Beginnings {
        let mut bits = vec![0; 1024];
        for token in tokens {
            let at = Beginnings::number(token.as_bytes());
            bits[at / 64] |= 1 << (at % 64);
        }
        Beginnings { bits }
    }

    /// Whether the token of a written word may be one of them. A stem begins like its
    /// word, but for a few words such as `dying`.
    fn may_begin(&self, written: &str) -> bool {
        let bytes = written.as_bytes();
        let start = &bytes[..bytes.len().min(2)];
        // A letter beyond ASCII may become any other.
        if !start.is_ascii() {
            return true;
        }
        let byte = |n: usize| start.get(n).map_or(0, u8::to_ascii_lowercase);
        let at = Beginnings::number(&[byte(0), byte(1)]);
        self.bits[at / 64] & 1 << (at % 64) != 0
    }

    fn number(bytes: &[u8]) -> usize {
        let byte = |n: usize| bytes.get(n).map_or(0, |b| usize::from(*b));
        byte(0) << 8 | byte(1)
    }
}

/// Cuts texts into tokens.
pub(super) struct Tokens<'t> {
    text: &'t str,
    words: Words<'t>,
    word: Word,
    stemmer: Stemmer,
    position: usize,
    /// The tokens of the word at hand.
    ready: Vec<Token>,
    /// Only these are made.
    wanted: Option<&'t Beginnings>,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Tokens<'t> {
        Tokens {
            text,
            words: Words::of(text),
            word: Word::default(),
            stemmer: Stemmer::new(Algorithm::English),
            position: 0,
            ready: Vec::new(),
            wanted: None,
        }
    }

    /// Only tokens that begin like those wanted.
    pub(super) fn like(text: &'t str, wanted: &'t Beginnings) -> Tokens<'t> {
        Tokens { wanted: Some(wanted), ..Tokens::of(text) }
    }

    /// The tokens of the word last read, in order; none for a word that is not indexed.
    pub(super) fn of_word(&self) -> &[Token] {
        &self.ready
    }

    /// The tokens of the word, to take their texts.
    pub(super) fn of_word_mut(&mut self) -> &mut [Token] {
        &mut self.ready
    }

    /// Reads the next word; false at the end of the text.
    pub(super) fn read_word(&mut self) -> bool {
        self.ready.clear();
        if !self.words.read(&mut self.word) {
            return false;
        }
        let (text, span) = (self.text, self.word.span.clone());
        let is_compound = self.word.parts.len() > 1;
        if is_compound && span.len() <= MAX_TOKEN_BYTES {
            let position = self.position;
            if self.wanted.is_none_or(|wanted| wanted.may_begin(&text[span.clone()])) {
                let whole = normal(&text[span.clone()]).into_owned();
                self.ready.push(Token { text: whole, role: Role::Whole, span, position });
            }
        }
        if self.word.parts.len() > MAX_PARTS {
            self.position += 1;
            return true;
        }
        for part in &self.word.parts {
            let position = self.position;
            self.position += 1;
            if self.wanted.is_some_and(|wanted| !wanted.may_begin(&text[part.clone()])) {
                continue;
            }
            let form = normal(&text[part.clone()]);
            if form.is_empty() || form.len() > MAX_TOKEN_BYTES || is_stop_word(&form) {
                continue;
            }
            let span = part.clone();
            let stem = if self.word.is_unspaced {
                Cow::Borrowed(&*form)
            } else {
                self.stemmer.stem(&form)
            };
            let differs = *stem != *form;
            let stem = stem.into_owned();
            self.ready.push(Token { text: stem, role: Role::Stem, span: span.clone(), position });
            if differs {
                let form = form.into_owned();
                self.ready.push(Token { text: form, role: Role::Form, span, position });
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let mut tokens = Tokens::of(text);
        let mut all = Vec::new();
        while tokens.read_word() {
            all.extend_from_slice(tokens.of_word());
        }
        all
    }

    /// Wholes in brackets, forms in parentheses, each with its position.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown: Vec<String> = tokens(text)
            .into_iter()
            .map(|token| match token.role {
                Role::Whole => format!("[{}]{}", token.text, token.position),
                Role::Stem => format!("{}{}", token.text, token.position),
                Role::Form => format!("({}){}", token.text, token.position),
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn words_are_cut_where_people_see_them() {
        check("camelCase", "[camelcase]0 camel0 case1");
        check("snake_case_", "[snake_case]0 snake0 case1");
        check("HTTPServer", "[httpserver]0 http0 server1");
        check("utf8", "[utf8]0 utf0 81");
        check("file:///a-b/c.rs", "file0 b2 c3 rs4");
        check("__init__", "init0");
        check("___", "");
        check("getURLFor2FA", "[geturlfor2fa]0 get0 url1 23 fa4");
    }

    #[test]
    fn stems_stand_beside_their_forms() {
        check("indexing documents", "index0 (indexing)0 document1 (documents)1");
        check("the index of it", "index1");
    }

    #[test]
    fn accents_and_scripts_do_no_harm() {
        check("Élève", "elev0 (eleve)0");
        check("e\u{301}te\u{301}", "ete0");
        check("東京都", "東京0 京都1");
        check("x東", "x0 東1");
        check("Straße", "strass0 (strasse)0");
    }

    #[test]
    fn keys_and_hashes_do_not_fill_the_index() {
        assert_eq!(tokens(&"x".repeat(100)), []);
        assert_eq!(tokens("a1b2c3d4e5f6a7b8").len(), 1, "only the whole");
    }

    proptest! {
        #[test]
        fn tokens_lie_within_the_text_in_order(text in "\\PC{0,200}") {
            let mut position = 0;
            for token in tokens(&text) {
                prop_assert!(text.get(token.span.clone()).is_some_and(|part| !part.is_empty()));
                prop_assert!(token.position >= position || token.role == Role::Form);
                prop_assert!(!token.text.is_empty());
                position = position.max(token.position);
            }
        }

        #[test]
        fn a_word_is_cut_the_same_wherever_it_stands(word in "[a-zA-Z0-9_]{1,30}") {
            let texts = |text: &str| -> Vec<String> {
                tokens(text).into_iter().map(|token| token.text).collect()
            };
            let alone = texts(&word);
            prop_assert_eq!(&texts(&format!("({word})")), &alone);
            prop_assert_eq!(&texts(&format!(" {word}/")), &alone);
        }
    }
}
