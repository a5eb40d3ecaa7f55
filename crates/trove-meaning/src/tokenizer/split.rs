//! Cuts a text into words, each with the space before it.
//!
//! A word is a run of letters, of digits, or of other signs; a space before it belongs to
//! it. `'s`, `'t` and the like stand alone. Other white space is a word of its own, but
//! leaves its last character to what follows.

const SHORT_ENDINGS: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Space,
    Sign,
}

/// The words of a text, which together are the text, e.g. `don`, `'t` and ` stop`. `letters` are
/// the ranges of letters.
pub(super) fn words<'t>(text: &'t str, letters: &[[u32; 2]]) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (word, after) = rest.split_at(word_length(rest, letters));
        rest = after;
        Some(word)
    })
}

fn word_length(text: &str, letters: &[[u32; 2]]) -> usize {
    if let Some(ending) = SHORT_ENDINGS.iter().find(|ending| text.starts_with(**ending)) {
        return ending.len();
    }
    let run = |from: usize, class: Class| {
        let end = text[from..].find(|letter| class_of(letter, letters) != class);
        end.map_or(text.len(), |end| from + end)
    };
    let class_at = |at: usize| text[at..].chars().next().map(|letter| class_of(letter, letters));
    if text.starts_with(' ')
        && let Some(class) = class_at(1)
        && class != Class::Space
    {
        return run(1, class);
    }
    match class_at(0) {
        Some(Class::Space) | None => space_length(text, run(0, Class::Space)),
        Some(class) => run(0, class),
    }
}

/// How much of a run of white space is one word.
fn space_length(text: &str, run: usize) -> usize {
    let last = text[..run].char_indices().next_back().map_or(0, |(at, _)| at);
    if run == text.len() || last == 0 { run } else { last }
}

fn class_of(letter: char, letters: &[[u32; 2]]) -> Class {
    if letter.is_ascii_alphabetic() {
        Class::Letter
    } else if letter.is_whitespace() {
        Class::Space
    } else if letter.is_numeric() {
        Class::Digit
    } else if is_letter(letter, letters) {
        Class::Letter
    } else {
        Class::Sign
    }
}

/// Not `char::is_alphabetic`, which counts many marks of Indic and other scripts as well.
fn is_letter(letter: char, letters: &[[u32; 2]]) -> bool {
    let code = u32::from(letter);
    let after = letters.partition_point(|[first, _]| *first <= code);
    after > 0 && code <= letters[after - 1][1]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pack::Model;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let letters = Model::embedded().letters;
        assert_eq!(words(text, &letters).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_space_belongs_to_the_word_after_it() {
        check("a big-cat 12x", &["a", " big", "-", "cat", " 12", "x"]);
        check("we're don't o'clock", &["we", "'re", " don", "'t", " o", "'", "clock"]);
    }

    #[test]
    fn white_space_leaves_its_last_character_to_what_follows() {
        check("a   b\n\n  c\nd \n", &["a", "  ", " b", "\n\n ", " c", "\n", "d", " \n"]);
    }

    #[test]
    fn marks_are_no_letters_but_letters_of_all_scripts_are() {
        check("né 日本 का १२", &["né", " 日本", " क", "ा", " १२"]);
    }

    proptest! {
        #[test]
        fn the_words_are_the_text(text in "\\PC{0,60}|[ \\n\\t'a-zA-Z0-9.é]{0,60}") {
            let letters = [[0xC0, 0x24F]];
            prop_assert_eq!(words(&text, &letters).collect::<String>(), text);
        }
    }
}
