//! Counts comments, and those that a tired reader stumbles over.

/// Words that name no one and no thing, and are therefore no subject of a sentence.
const PRONOUNS: [&str; 9] = [
    "whoever",
    "whatever",
    "whichever",
    "nobody",
    "whomever",
    "whose",
    "anybody",
    "somebody",
    "what",
];

/// Words that announce an example.
const EXAMPLES: [&str; 6] =
    ["e.g.", "for example", "such as", "for instance", "example:", "as in `"];

#[derive(Default)]
pub(super) struct Comments {
    pub(super) lines: usize,
    pub(super) pronouns: usize,
    pub(super) what: usize,
    pub(super) the_same: usize,
    pub(super) examples: usize,
}

impl Comments {
    pub(super) fn add(&mut self, source: &str) {
        let mut is_first = true;
        for line in source.lines() {
            let Some((mark, words)) = comment(line) else {
                is_first = true;
                continue;
            };
            self.lines += 1;
            let lower = words.to_lowercase();
            if has_pronoun(&lower) {
                self.pronouns += 1;
            }
            if EXAMPLES.iter().any(|example| lower.contains(example)) {
                self.examples += 1;
            }
            if is_first && lower.starts_with("what ") {
                self.what += 1;
            }
            if is_first && mark != "//" && lower.starts_with("the same") {
                self.the_same += 1;
            }
            is_first = false;
        }
    }
}

/// The mark and the words of a line that is a comment.
fn comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    ["///", "//!", "//"].into_iter().find_map(|mark| {
        let words = line.strip_prefix(mark)?;
        Some((mark, words.trim()))
    })
}

/// Whether a pronoun opens a sentence, or any of the vaguest stands anywhere.
fn has_pronoun(lower: &str) -> bool {
    let is_vague = lower
        .split(|letter: char| !letter.is_alphanumeric())
        .any(|word| matches!(word, "whoever" | "whatever" | "whomever" | "nobody"));
    is_vague || lower.split(". ").any(opens_with_pronoun)
}

fn opens_with_pronoun(sentence: &str) -> bool {
    let first = sentence.split_whitespace().next().unwrap_or_default();
    first != "what" && PRONOUNS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_apart_by_how_they_open() {
        let mut comments = Comments::default();
        comments.add(
            "/// What it holds.\n/// The rest.\nfn a() {}\n/// The same of one.\nfn b() {}\n\
             // Whoever asks.\nlet c;\n// Cuts a name, e.g. `wiki`.\n",
        );
        let Comments { lines, pronouns, what, the_same, examples } = comments;
        assert_eq!((lines, pronouns, what, the_same, examples), (5, 1, 1, 1, 1));
    }
}
