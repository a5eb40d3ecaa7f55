//! Letters, and the words that say nothing: tokens are made of them.

use std::borrow::Cow;

/// Words so common that finding them says nothing.
const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

pub(super) fn is_word_letter(c: char) -> bool {
    c == '_' || c.is_alphanumeric() || is_combining(c)
}

pub(super) fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Letters of scripts that are written without spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
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
pub(super) enum Kind {
    Lower,
    Upper,
    Digit,
    Joint,
}

pub(super) fn kind(c: char) -> Kind {
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

/// Whether a word says nothing.
pub(super) fn is_stop_word(form: &str) -> bool {
    form.len() <= 5 && STOP_NUMBERS.binary_search(&number_of(form)).is_ok()
}

/// The words of a query that are too common to be looked for, each once, e.g. `the`.
pub fn common_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text.split(|c| !is_word_letter(c)).map(normal) {
        if is_stop_word(&word) && !found.iter().any(|known| *known == word) {
            found.push(word.into_owned());
        }
    }
    found
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

/// The plain letters for an accented small letter of Latin script, e.g. `ss` for `ß`.
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
    use super::*;

    #[test]
    fn common_words_are_known() {
        assert!(STOP_NUMBERS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("thesis") && !is_stop_word("x") && !is_stop_word(""));
    }
}
