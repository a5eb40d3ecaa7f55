//! The pattern of a rule: literal text and wildcards, e.g. `docs://*/private`.
//!
//! A pattern is spelled in as many ways as a URI is. For that, each of its wildcards stands in
//! the text as one character that no URI has.

use super::spelling;

/// The first of the characters that stand for wildcards; they are for private use.
const FIRST_MARK: u32 = 0xF_0000;
/// The most wildcards in one pattern.
pub(super) const MAX_WILDCARDS: usize = 1000;

/// A pattern, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The literal text, with a mark for each wildcard.
    text: String,
    wildcards: Vec<String>,
}

impl Pattern {
    /// Takes a pattern apart; `None` if it has more than [`MAX_WILDCARDS`].
    pub(super) fn parse(pattern: &str) -> Option<Pattern> {
        let mut text = String::with_capacity(pattern.len());
        let mut wildcards = Vec::new();
        let mut rest = pattern;
        while let Some(c) = rest.chars().next() {
            if let Some(len) = wildcard_len(rest) {
                text.push(mark(wildcards.len())?);
                wildcards.push(rest[..len].to_owned());
                rest = &rest[len..];
                continue;
            }
            rest = &rest[c.len_utf8()..];
            let is_escape = c == '\\';
            let Some(escaped) = rest.chars().next().filter(|_| is_escape) else {
                text.push(c);
                continue;
            };
            text.push(escaped);
            rest = &rest[escaped.len_utf8()..];
        }
        Some(Pattern { text, wildcards })
    }

    /// The literal text, with a mark for each wildcard.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The literal text, with a question mark for each wildcard that is written with one.
    pub(super) fn with_query(&self) -> String {
        let is_query = |c| matches!(self.wildcard(c), Some("?" | "[?]"));
        self.text.chars().map(|c| if is_query(c) { '?' } else { c }).collect()
    }

    /// The literal text, with a blank for each wildcard, e.g. `docs:// /x` of `docs://*/x`.
    pub(super) fn with_blanks(&self) -> String {
        self.text.replace(|c| self.wildcard(c).is_some(), " ")
    }

    /// Whether everything fits it.
    pub(super) fn is_everything(&self) -> bool {
        self.text.chars().count() == 1
            && self.wildcards.iter().any(|w| w.trim_matches('*').is_empty())
    }

    /// Whether it has a bracket, as the numbers of some addresses have.
    pub(super) fn has_brackets(&self) -> bool {
        self.wildcards.iter().any(|wildcard| wildcard == "[[]")
    }

    /// The beginning of one of its texts, up to the first wildcard, e.g. `docs://` of `docs://*/x`.
    pub(super) fn literal<'a>(&self, text: &'a str) -> &'a str {
        let end = text.find(|c| self.wildcard(c).is_some());
        &text[..end.unwrap_or(text.len())]
    }

    /// All texts it can be written in, the own one first.
    pub(super) fn texts(&self) -> Vec<String> {
        spelling::of(&self.text, &[])
    }

    /// One of its texts as a glob.
    pub(super) fn glob(&self, text: &str) -> String {
        let mut glob = String::with_capacity(text.len());
        for c in text.chars() {
            match (self.wildcard(c), c) {
                (Some(wildcard), _) => glob.push_str(wildcard),
                (None, '*' | '?' | '[' | ']' | '{' | '}') => glob.extend(['[', c, ']']),
                (None, '\\') => glob.push_str("\\\\"),
                (None, c) => glob.push(c),
            }
        }
        glob
    }

    fn wildcard(&self, c: char) -> Option<&str> {
        let n = u32::from(c).checked_sub(FIRST_MARK)?;
        self.wildcards.get(usize::try_from(n).ok()?).map(String::as_str)
    }
}

/// The character that stands for a wildcard.
fn mark(n: usize) -> Option<char> {
    let n = u32::try_from(n).ok().filter(|_| n < MAX_WILDCARDS)?;
    char::from_u32(FIRST_MARK + n)
}

/// The length of the wildcard that a text begins with, if it does, e.g. 2 of `**/x`.
fn wildcard_len(text: &str) -> Option<usize> {
    match text.chars().next()? {
        '*' => Some(text.len() - text.trim_start_matches('*').len()),
        '?' => Some(1),
        '[' => Some(class_len(text)),
        '{' => Some(braces_len(text)),
        _ => None,
    }
}

/// The length of a class such as `[!a-z]`, in which the first character may be a bracket.
fn class_len(text: &str) -> usize {
    let start = if text[1..].starts_with(['!', '^']) { 2 } else { 1 };
    let first = text[start..].chars().next().map_or(0, char::len_utf8);
    let end = text[start + first..].find(']');
    end.map_or(text.len(), |end| start + first + end + 1)
}

/// The length of alternatives such as `{a,b{c,d}}`.
fn braces_len(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_put_together_as_it_was() {
        for pattern in
            ["docs://l/*", "a?b**c[!x-z][]]d{e,f{g}}", "*", "[[]::1]*", "", "{a", "[a", "[*]x"]
        {
            let parsed = Pattern::parse(pattern).expect("few wildcards");
            assert_eq!(parsed.glob(parsed.text()).replace("[]]", "]"), pattern.replace("[]]", "]"));
        }
        let escaped = Pattern::parse("a\\*b").expect("few wildcards");
        assert_eq!((escaped.text(), escaped.glob(escaped.text()).as_str()), ("a*b", "a[*]b"));
        assert!(Pattern::parse(&"?".repeat(MAX_WILDCARDS + 1)).is_none());
    }

    #[test]
    fn a_pattern_is_spelled_as_uris_are() {
        let globs = |pattern: &str| -> Vec<String> {
            let parsed = Pattern::parse(pattern).expect("few wildcards");
            parsed.texts().iter().map(|text| parsed.glob(text)).collect()
        };
        assert_eq!(globs("docs://l/vault/*"), ["docs://l/vault/*"]);
        assert!(globs("docs://l/%76ault/*").contains(&"docs://l/vault/*".to_owned()));
        assert!(globs("docs://l/x/../vault/*").contains(&"docs://l/vault/*".to_owned()));
        assert!(globs("https://h.example:443/a*").contains(&"https://h.example/a*".to_owned()));
        assert!(globs("docs://l/RÉSUMÉ/*").contains(&"docs://l/résumé/*".to_owned()));
        assert!(globs("docs://a%2a").contains(&"docs://a[*]".to_owned()));
    }
}
