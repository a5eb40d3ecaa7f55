//! Cuts text into the tokens that are indexed, asked for and highlighted.
//!
//! A word is a run of letters, digits and `_`. It is cut at `_`, between `camel` and
//! `Case`, before the last capital of `HTTPServer`, and between letters and digits. A
//! word of one part gives its stem, and its own form where that differs, so that a
//! misspelt word can be compared with real ones. A word of several parts gives the
//! whole, then its parts at successive positions. Scripts without spaces give pairs of
//! letters. Nothing here knows the index or a query.

use std::{borrow::Cow, ops::Range};

use frostem::{Algorithm, Stemmer};

/// The longest token; longer ones are keys, hashes or encoded bytes that nobody types.
pub(super) const MAX_TOKEN_BYTES: usize = 64;
/// A word of more parts is a hash or a number with letters in it: only its whole is kept.
const MAX_PARTS: usize = 12;

/// Words so common that finding them says nothing.
const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// One word of a text and where its parts lie; reused from word to word.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// Where the whole lies.
    pub(super) span: Range<usize>,
    /// Where its parts lie: one for a plain word.
    pub(super) parts: Vec<Range<usize>>,
    /// Its script has no spaces, so that it stands for itself and is not stemmed.
    pub(super) is_unspaced: bool,
}

/// The words of a text, one after the other.
#[derive(Debug)]
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
    /// Where the next pair of an unspaced run begins, if within one.
    run_end: usize,
}

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str) -> Words<'t> {
        Words { text, at: 0, run_end: 0 }
    }

    /// Puts the next word into `word`; false when there is none.
    pub(super) fn read(&mut self, word: &mut Word) -> bool {
        word.parts.clear();
        if self.at < self.run_end && self.read_pair(word) {
            return true;
        }
        let rest = &self.text[self.at..];
        let Some(start) = rest.find(is_word_letter) else { return false };
        let start = self.at + start;
        if let Some(len) = plain_word_len(&self.text.as_bytes()[start..]) {
            self.at = start + len;
            word.is_unspaced = false;
            word.span = start..start + len;
            word.parts.push(word.span.clone());
            return true;
        }
        let first = self.text[start..].chars().next().unwrap_or(' ');
        if is_unspaced(first) {
            let run = &self.text[start..];
            let len = run.find(|c: char| !is_unspaced(c)).unwrap_or(run.len());
            self.at = start;
            self.run_end = start + len;
            return self.read_first_pair(word);
        }
        let run = &self.text[start..];
        let len = run.find(|c: char| !is_word_letter(c) || is_unspaced(c)).unwrap_or(run.len());
        self.at = start + len;
        word.is_unspaced = false;
        word.span = start..start + len;
        cut(self.text, word);
        true
    }

    /// The first pair of an unspaced run, or its only letter.
    fn read_first_pair(&mut self, word: &mut Word) -> bool {
        if self.read_pair(word) {
            return true;
        }
        let end = self.run_end;
        set_unspaced(word, self.at..end);
        self.at = end;
        true
    }

    /// The two letters at hand; false at the last letter of the run.
    fn read_pair(&mut self, word: &mut Word) -> bool {
        let run = &self.text[self.at..self.run_end];
        let mut starts = run.char_indices().map(|(at, _)| at);
        let (_, Some(second)) = (starts.next(), starts.next()) else { return false };
        let end = starts.next().unwrap_or(run.len());
        set_unspaced(word, self.at..self.at + end);
        // After the last pair nothing of the run is left to pair.
        self.at = if end == run.len() { self.run_end } else { self.at + second };
        true
    }
}

/// How long a word is of plain small letters, but for the first: most words are, and
/// need no cutting.
fn plain_word_len(bytes: &[u8]) -> Option<usize> {
    let first = usize::from(bytes.first()?.is_ascii_uppercase());
    let len = first + bytes[first..].iter().take_while(|b| b.is_ascii_lowercase()).count();
    let is_plain = len > first
        && bytes.get(len).is_none_or(|b| b.is_ascii() && !b.is_ascii_alphanumeric() && *b != b'_');
    is_plain.then_some(len)
}

fn set_unspaced(word: &mut Word, span: Range<usize>) {
    word.is_unspaced = true;
    word.parts.clear();
    word.parts.push(span.clone());
    word.span = span;
}

fn is_word_letter(c: char) -> bool {
    c == '_' || c.is_alphanumeric() || is_combining(c)
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Letters of scripts that are written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'       // Thai, Lao
        | '\u{1000}'..='\u{109f}'   // Myanmar
        | '\u{1780}'..='\u{17ff}'   // Khmer
        | '\u{3040}'..='\u{30ff}'   // Kana
        | '\u{3400}'..='\u{9fff}'   // Han
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Joint,
}

fn kind(c: char) -> Kind {
    if c == '_' {
        Kind::Joint
    } else if c.is_uppercase() {
        Kind::Upper
    } else if c.is_numeric() {
        Kind::Digit
    } else {
        Kind::Lower
    }
}

/// Finds the parts of a word.
fn cut(text: &str, word: &mut Word) {
    let span = word.span.clone();
    let mut start = span.start;
    let mut before = Kind::Joint;
    let mut upper_at = span.start;
    for (at, c) in text[span.clone()].char_indices().map(|(at, c)| (span.start + at, c)) {
        // An accent that stands alone belongs to the letter before it.
        let now = if is_combining(c) { before } else { kind(c) };
        match (before, now) {
            (_, Kind::Joint) => {
                push_part(word, start..at);
                start = at + c.len_utf8();
            }
            (Kind::Lower, Kind::Upper)
            | (Kind::Lower | Kind::Upper, Kind::Digit)
            | (Kind::Digit, Kind::Lower | Kind::Upper) => {
                push_part(word, start..at);
                start = at;
            }
            // The last capital before small letters begins the next word: HTTP|Server.
            (Kind::Upper, Kind::Lower) if upper_at > start => {
                push_part(word, start..upper_at);
                start = upper_at;
            }
            _ => {}
        }
        if now == Kind::Upper {
            upper_at = at;
        }
        before = now;
    }
    push_part(word, start..span.end);
    trim(text, word);
}

fn push_part(word: &mut Word, part: Range<usize>) {
    if !part.is_empty() {
        word.parts.push(part);
    }
}

/// Takes `_` from both ends of the whole.
fn trim(text: &str, word: &mut Word) {
    if let (Some(first), Some(last)) = (word.parts.first(), word.parts.last()) {
        word.span = first.start..last.end;
    } else {
        word.span = word.span.start..word.span.start;
    }
    debug_assert!(text.is_char_boundary(word.span.start) && text.is_char_boundary(word.span.end));
}

/// What a token is to its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A word of several parts, lower-cased.
    Whole,
    /// The stem of a part.
    Stem,
    /// A part as it is written, lower-cased, where its stem differs.
    Form,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) role: Role,
    /// Where it lies in the text.
    pub(super) span: Range<usize>,
    /// Counts parts from the beginning of the text, stop words among them.
    pub(super) position: usize,
}

/// How the tokens begin that somebody is interested in, so that all others need no
/// stem: cutting is fast, stemming is not.
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
        // What is not plain may become anything.
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

    /// The same, to take their texts.
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

fn is_stop_word(form: &str) -> bool {
    form.len() <= 5 && STOP_NUMBERS.binary_search(&number_of(form)).is_ok()
}

/// The bytes of a short word as a number, in the order of the words.
const fn number_of(word: &str) -> u64 {
    let bytes = word.as_bytes();
    let (mut number, mut n) = (0, 0);
    while n < 5 {
        number = number << 8 | if n < bytes.len() { bytes[n] as u64 } else { 0 };
        n += 1;
    }
    number
}

/// Comparing numbers is faster than comparing words, and it is done for every word.
const STOP_NUMBERS: [u64; STOP_WORDS.len()] = {
    let mut numbers = [0; STOP_WORDS.len()];
    let mut n = 0;
    while n < numbers.len() {
        numbers[n] = number_of(STOP_WORDS[n]);
        n += 1;
    }
    numbers
};

/// Small letters without accents, so that `Café` is found as `cafe`.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    let mut normal = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !is_combining(*c)).flat_map(char::to_lowercase) {
        match plain(c) {
            Some(letters) => normal.push_str(letters),
            None if is_combining(c) => {}
            None => normal.push(c),
        }
    }
    Cow::Owned(normal)
}

/// The plain letters for an accented small letter of Latin script.
fn plain(c: char) -> Option<&'static str> {
    let letters = match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' => "a",
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => "e",
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
        'ĥ' | 'ħ' => "h",
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => "i",
        'ĵ' => "j",
        'ķ' => "k",
        'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' => "l",
        'ñ' | 'ń' | 'ņ' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => "o",
        'ŕ' | 'ŗ' | 'ř' => "r",
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
        'ţ' | 'ť' | 'ŧ' | 'ț' => "t",
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => "u",
        'ŵ' => "w",
        'ý' | 'ÿ' | 'ŷ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'æ' => "ae",
        'œ' => "oe",
        'ß' => "ss",
        _ => return None,
    };
    Some(letters)
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
    fn common_words_are_known() {
        assert!(STOP_NUMBERS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("thesis") && !is_stop_word("x") && !is_stop_word(""));
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
