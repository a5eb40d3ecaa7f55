//! One form for texts that programs take for the same.
//!
//! Some compare without regard to case, some normalise Unicode, some read a plus as a blank.
//! Works on characters only: it knows nothing of URIs but where the scheme ends.

use std::ops::RangeInclusive;

use unicode_normalization::UnicodeNormalization as _;

/// How often a text is put into upper and lower case: `ẞ` is `ß`, and `ß` is `SS`.
const ROUNDS: usize = 2;

/// The mark before a label of a host name in another alphabet, as in `xn--mnchen-3ya`.
const CODED: &str = "xn--";

/// A dot above: the lower case of `İ` is an `i` with it, of others there is one letter.
const DOT_ABOVE: char = '\u{307}';

/// The characters that Unicode lets programs leave aside, letters among them.
const UNSEEN: [RangeInclusive<char>; 17] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fff8}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// A URI in one case and one normal form, with blanks for plus signs, e.g. `a+b://c d` of
/// `A+b://C+d`.
pub(super) fn fold(uri: &str) -> String {
    let start = uri.find(':').unwrap_or(0);
    let (scheme, rest) = uri.split_at(start);
    fold_letters(scheme) + &fold_letters(rest).replace('+', " ")
}

/// Whether folding may change more than the case of ASCII letters.
pub(super) fn is_foldable(uri: &str) -> bool {
    !uri.is_ascii() || uri.contains('+')
}

/// A text in one normal form, without characters that are not seen.
pub(super) fn visible(text: &str) -> String {
    text.nfkc().filter(|c| is_seen(*c)).collect()
}

/// A text with its `xn--` labels decoded, e.g. `bücher.example` of `xn--bcher-kva.example`; `None`
/// if it has no such label.
pub(super) fn with_decoded_hosts(text: &str) -> Option<String> {
    // Few have two hyphens, and many are looked at.
    let lower = if text.contains("--") { text.to_lowercase() } else { return None };
    if !lower.contains(CODED) {
        return None;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut decoded = String::with_capacity(lower.len());
    for part in lower.split_inclusive(|c| !is_part(c)) {
        let label = part.trim_end_matches(|c| !is_part(c));
        let letters = label.strip_prefix(CODED).and_then(idna::punycode::decode_to_string);
        decoded.push_str(letters.as_deref().unwrap_or(label));
        decoded.push_str(&part[label.len()..]);
    }
    Some(decoded)
}

/// The letters and digits of a text, in a row and without accents, e.g. `cafe2` of `Café 2`.
pub(super) fn letters(text: &str) -> String {
    let decomposed: String = fold_letters(text).nfkd().collect();
    decomposed.chars().filter(|c| is_letter(*c)).collect()
}

/// The runs of letters and digits in a text, each as [`letters`] has it, e.g. `cafe` and `2`.
pub(super) fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !is_letter(c) && !is_mark(c));
    parts.map(letters).filter(|word| !word.is_empty()).collect()
}

/// Whether a character is a letter or a digit that is seen.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && is_seen(c)
}

fn is_seen(c: char) -> bool {
    !c.is_control() && (c.is_ascii() || !UNSEEN.iter().any(|range| range.contains(&c)))
}

/// Whether a character belongs to the one before it.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn fold_letters(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = text.to_owned();
    for _ in 0..ROUNDS {
        let upper = folded.nfkc().flat_map(char::to_uppercase);
        // Letter by letter: of whole words a last sigma would stay another.
        let lower: String = upper.flat_map(char::to_lowercase).collect();
        folded = lower.nfkc().filter(|c| *c != DOT_ABOVE).collect();
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_and_form_of_a_letter_folds_to_one() {
        // The rest is ideographs, syllables and signs without case or other forms.
        let (letters, signs, forms) = (0..0x3400, 0xa000..0xac00, 0xf900..0x1_3000);
        let (last, more) = (0x1_6e00..0x1_6f00, 0x1_d000..0x1_f200);
        let all = letters.chain(signs).chain(forms).chain(last).chain(more);
        for c in all.filter_map(char::from_u32) {
            let text = c.to_string();
            let folded = fold_letters(&text);
            assert_eq!(fold_letters(&folded), folded, "{c:?} folds twice");
            let others: [String; 6] = [
                text.to_uppercase(),
                text.to_lowercase(),
                text.nfc().collect(),
                text.nfd().collect(),
                text.nfkc().collect(),
                text.nfkd().collect(),
            ];
            for other in others.into_iter().filter(|other| *other != text) {
                assert_eq!(fold_letters(&other), folded, "{c:?} and {other:?}");
            }
        }
    }

    #[test]
    fn words_have_neither_case_nor_accents_nor_what_is_not_seen() {
        assert_eq!(words("L/Vault-key_2"), ["l", "vault", "key", "2"]);
        assert_eq!(words("RÉSUMÉ re\u{301}sume\u{301}"), ["resume", "resume"]);
        assert_eq!(letters("v\u{200b}a\u{ad}u\tl/t"), "vault");
        assert_eq!(letters("Straße ＶＡＵＬＴ ﬁ"), "strassevaultfi");
    }
}
