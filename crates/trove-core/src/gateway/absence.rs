//! The third way to say "not found": a success whose text is an error. The others are told by
//! [`crate::source::meaning`].

use super::Reading;
use crate::{
    catalogue::{RoutedBy, Snapshot},
    json::{Object, items},
    source::meaning::says_not_found,
};

/// The longest text that is taken for an error and not for a document.
const MAX_SAID: usize = 400;
/// How a sentence begins that says that something is missing.
const DENIALS: [&str; 6] =
    ["no ", "not found", "unknown ", "could not ", "cannot ", "there is no "];
/// How it goes on behind the kind of thing that is missing.
const LACKS: [&str; 2] = [" not found: ", " does not exist: "];
/// The shortest value without quotes by which such a text is known to speak of what was asked for.
const LEAST_VALUE: usize = 2;

/// The error that a success is in truth. Only what nobody lists is doubted, since the
/// text of a listed resource is data whatever it says; and only a short line that says
/// of what was asked for that it is not there.
pub(super) fn reported_as_text(snapshot: &Snapshot, reading: &Reading) -> Option<String> {
    let body = &reading.reply.body;
    if reading.by == RoutedBy::Listing || body.as_bytes().len() > 4 * MAX_SAID {
        return None;
    }
    let local = reading.local.as_str();
    if snapshot.listed(&reading.source, local).is_some() {
        return None;
    }
    let contents = body.get("contents")?;
    let [one] = items(contents.as_str())?[..] else { return None };
    let content = Object::parse(one)?;
    let is_plain = content.get_str("mimeType").is_none_or(|mime| mime.starts_with("text/plain"));
    let text = content.get_str("text")?;
    let said = text.trim();
    if !is_plain || said.len() > MAX_SAID || said.contains('\n') {
        return None;
    }
    let lower = said.to_ascii_lowercase();
    let begins = ["error: resource not found", "resource not found", "unknown resource"];
    let is_plain_word = begins.iter().any(|words| lower.starts_with(words));
    let speaks_of_it = || {
        let values = snapshot.template_of(&reading.source, local).map(|(_, values)| values);
        let values: Vec<String> =
            values.iter().flat_map(|all| all.iter()).map(|(_, value)| value.to_string()).collect();
        said.contains(local) || values.iter().any(|value| names(said, value))
    };
    (says_not_found(said) && (is_plain_word || speaks_of_it())).then(|| said.to_owned())
}

/// Whether a sentence names a value: between quotes, or as its last word if it begins by saying
/// that something is missing.
fn names(said: &str, value: &str) -> bool {
    let quoted = |quote: char| said.contains(&format!("{quote}{value}{quote}"));
    let lower = said.to_ascii_lowercase();
    let lower = lower.strip_prefix("error: ").unwrap_or(&lower);
    // `note not found: 5`, and nothing longer before it: a log has many words.
    let is_named_kind = || {
        let kind = LACKS.iter().find_map(|words| lower.split_once(words)).map(|(kind, _)| kind);
        kind.is_some_and(|kind| {
            let is_word = |word: &str| word.chars().all(char::is_alphabetic);
            kind.split_whitespace().count() <= 2 && kind.split_whitespace().all(is_word)
        })
    };
    let is_missing = || DENIALS.iter().any(|words| lower.starts_with(words)) || is_named_kind();
    let is_last = || said.trim_end_matches('.').ends_with(&format!(" {value}"));
    !value.is_empty() && ['\'', '"', '`'].into_iter().any(quoted)
        || value.len() >= LEAST_VALUE && is_missing() && is_last()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_sentence_names_what_it_quotes_or_denies() {
        for (said, value, is_it) in [
            ("Category 'x' not found", "x", true),
            ("Error: Note \"5\" not found", "5", true),
            ("No matching content found for docs.", "docs", true),
            ("Not found: docs", "docs", true),
            ("Category not found: docs", "docs", true),
            ("Error: User does not exist: bob", "bob", true),
            ("the file of users was not found: bob", "bob", false),
            ("2026-11-19 ERROR dependency does not exist: auth", "auth", false),
            ("The lost ark was not found", "found", false),
            ("404 not found is a common error", "error", false),
            ("Category '' not found", "", false),
        ] {
            assert_eq!(names(said, value), is_it, "{said}: {value}");
        }
    }
}
