//! Ordered rules over URIs: the first that matches decides.
//!
//! A rule is tried on every spelling a server might take for the same thing: as
//! written, percent-decoded, with `..` resolved, without regard to case, and under its
//! qualified name; and its pattern is read percent-decoded too. Where spellings fall under different rules the strictest holds, so
//! that another spelling never opens what a rule closes.

use globset::{GlobBuilder, GlobMatcher};

use super::Standing;

/// The most rules.
pub const MAX_RULES: usize = 1000;
/// The role that everybody has.
pub const ANYBODY: &str = "*";
/// How often a URI is decoded to find what it may be taken for.
const MAX_DECODINGS: usize = 3;

/// One rule on who may read what.
#[derive(Debug, Clone)]
pub struct Rule {
    pattern: String,
    /// The pattern as written and, where that is another one, percent-decoded.
    matchers: Vec<GlobMatcher>,
    /// What everything it matches begins with, in lower case.
    literal: String,
    /// The roles of which a caller needs one; `*` is everybody, none is nobody.
    pub roles: Vec<String>,
    /// Whether callers without the role see that the resource exists.
    pub visible: bool,
}

/// The pattern of a rule cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a pattern: {why}; write one like `admin://*`")]
pub struct BadPattern {
    pattern: String,
    why: String,
}

impl BadPattern {
    /// What was written, and what is wrong with it.
    pub fn new(pattern: &str, why: &str) -> BadPattern {
        BadPattern { pattern: pattern.to_owned(), why: why.to_owned() }
    }
}

/// All rules, in order.
#[derive(Debug, Clone, Default)]
pub struct Policy(Vec<Rule>);

impl Rule {
    /// A rule over the URIs that `pattern` matches; `*` stands for anything.
    pub fn new(pattern: &str, roles: Vec<String>, visible: bool) -> Result<Rule, BadPattern> {
        let compile = |text: &str| {
            let mut glob = GlobBuilder::new(text);
            let glob = glob.case_insensitive(true).literal_separator(false).build();
            let glob = glob.map_err(|e| BadPattern::new(pattern, &e.kind().to_string()))?;
            Ok(glob.compile_matcher())
        };
        let mut matchers = vec![compile(pattern)?];
        if let Some(decoded) = decode_pattern(pattern) {
            matchers.push(compile(&decoded)?);
        }
        let end = pattern.find(['*', '?', '[', ']', '{', '}', '\\', '%']).unwrap_or(pattern.len());
        let literal = plain_start(&pattern[..end]);
        Ok(Rule { pattern: pattern.to_owned(), matchers, literal, roles, visible })
    }

    fn is_on(&self, uri: &str) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(uri))
    }

    /// The URIs it is about, as written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// What it leaves to a caller with these roles.
    pub fn standing(&self, roles: &[String]) -> Standing {
        let is_open = self.roles.iter().any(|needed| needed == ANYBODY || roles.contains(needed));
        match (is_open, self.visible) {
            (true, _) => Standing::Open,
            (false, true) => Standing::Shown,
            (false, false) => Standing::Hidden,
        }
    }
}

impl Policy {
    /// These rules, the first [`MAX_RULES`] of them.
    pub fn new(rules: Vec<Rule>) -> Policy {
        Policy(rules.into_iter().take(MAX_RULES).collect())
    }

    /// Whether there is no rule at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }

    /// The rule that decides about what the Source `id` calls `local`.
    pub fn rule_for(&self, id: &str, local: &str) -> Option<&Rule> {
        self.index_for(id, local).map(|n| &self.0[n])
    }

    /// Its place among the rules.
    pub fn index_for(&self, id: &str, local: &str) -> Option<usize> {
        if self.0.is_empty() {
            return None;
        }
        let mut found: Option<usize> = None;
        for spelling in spellings(local) {
            let qualified = format!("{id}+{spelling}");
            let first =
                self.0.iter().position(|rule| rule.is_on(&spelling) || rule.is_on(&qualified));
            // An exception for one spelling must not open another.
            found = match (found, first) {
                (Some(a), Some(b)) => Some(self.stricter(a, b)),
                (a, b) => a.or(b),
            };
        }
        found
    }

    /// Whether one of the first `before` rules may be on a name of the Source `id` that
    /// begins with `start`. No is certain; yes is worth a closer look.
    pub fn may_begin(&self, id: &str, start: &str, before: usize) -> bool {
        self.beginning(id, start).any(|n| n < before)
    }

    /// The places of the rules that may be on such a name.
    pub fn beginning(&self, id: &str, start: &str) -> impl Iterator<Item = usize> {
        let decoded = decode(start);
        let plain = plain_start(decoded.as_deref().unwrap_or(start));
        let qualified = format!("{id}+{plain}");
        let rules = self.0.iter().enumerate().filter(move |(_, rule)| {
            let fits =
                |start: &str| start.starts_with(&rule.literal) || rule.literal.starts_with(start);
            fits(&plain) || fits(&qualified)
        });
        rules.map(|(n, _)| n)
    }

    fn stricter(&self, a: usize, b: usize) -> usize {
        let openness = |n: usize| {
            let rule = &self.0[n];
            (rule.roles.iter().any(|r| r == ANYBODY), rule.visible, rule.roles.len())
        };
        if openness(b) < openness(a) { b } else { a }
    }
}

/// What a server might take `uri` for, as written first.
fn spellings(uri: &str) -> Vec<String> {
    let mut all = vec![uri.to_owned()];
    let mut last = uri.to_owned();
    for _ in 0..MAX_DECODINGS {
        let Some(decoded) = decode(&last) else { break };
        all.push(decoded.clone());
        last = decoded;
    }
    for n in 0..all.len() {
        if let Some(resolved) = resolve_dots(&all[n]) {
            all.push(resolved);
        }
    }
    all
}

/// Percent-decoding, once; nothing when there is nothing to decode.
fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut n = 0;
    while n < bytes.len() {
        let pair = (bytes[n] == b'%')
            .then(|| text.get(n + 1..n + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()))
            .flatten();
        out.push(pair.unwrap_or(bytes[n]));
        n += if pair.is_some() { 3 } else { 1 };
    }
    let decoded = String::from_utf8_lossy(&out).into_owned();
    (decoded != text).then_some(decoded)
}

/// What a text begins with, in lower case, as far as case is a plain thing.
fn plain_start(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii()).unwrap_or(text.len());
    text[..end].to_ascii_lowercase()
}

/// A pattern with its percent-encoding decoded; what is decoded stands for itself. Nothing
/// when there is nothing to decode.
fn decode_pattern(pattern: &str) -> Option<String> {
    let mut decoded = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut is_other = false;
    while let Some(at) = rest.find('%') {
        decoded.push_str(&rest[..at]);
        // A letter may be several bytes, each encoded.
        let end = (at..rest.len()).step_by(3).find(|n| !is_encoded(&rest.as_bytes()[*n..]));
        let end = end.unwrap_or(rest.len());
        match decode(&rest[at..end]).filter(|_| end > at) {
            Some(text) => {
                is_other = true;
                text.chars().for_each(|c| push_literal(&mut decoded, c));
                rest = &rest[end..];
            }
            None => {
                decoded.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    decoded.push_str(rest);
    is_other.then_some(decoded)
}

fn is_encoded(bytes: &[u8]) -> bool {
    matches!(bytes, [b'%', a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

fn push_literal(pattern: &mut String, c: char) {
    match c {
        '*' | '?' | '[' | ']' | '{' | '}' => pattern.extend(['[', c, ']']),
        '\\' => pattern.push_str("\\\\"),
        c => pattern.push(c),
    }
}

/// The path with `.`, `..` and doubled slashes resolved; nothing when it has none.
fn resolve_dots(uri: &str) -> Option<String> {
    let (head, rest) = match uri.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => uri.split_once(':').map(|(scheme, rest)| (format!("{scheme}:"), rest))?,
    };
    let mut kept: Vec<&str> = Vec::new();
    for segment in rest.split(['/', '\\']) {
        match segment {
            "." | "" if !kept.is_empty() => {}
            ".." => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    let resolved = format!("{head}{}", kept.join("/"));
    (resolved != uri).then_some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rules: &[(&str, &[&str])]) -> Policy {
        let rule = |(pattern, roles): &(&str, &[&str])| {
            Rule::new(pattern, roles.iter().map(|r| (*r).to_owned()).collect(), true).unwrap()
        };
        Policy::new(rules.iter().map(rule).collect())
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let policy = policy(&[("admin://public/*", &["*"]), ("admin://*", &["admin"])]);
        assert_eq!(policy.index_for("a", "admin://public/x"), Some(0));
        assert_eq!(policy.index_for("a", "admin://users/1"), Some(1));
        assert_eq!(policy.index_for("a", "docs://x"), None);
    }

    #[test]
    fn no_spelling_of_a_closed_resource_is_open() {
        let policy = policy(&[("docs://public/*", &["*"]), ("docs://secret/*", &["admin"])]);
        for uri in [
            "docs://secret/a",
            "DOCS://Secret/a",
            "docs://%73ecret/a",
            "docs://%2573ecret/a",
            "docs://public/../secret/a",
            "docs://public/%2e%2e/secret/a",
            "docs://public/..%2fsecret/a",
            "docs://public\\..\\secret\\a",
            "docs://x/./../secret//a",
        ] {
            assert_eq!(policy.index_for("a", uri), Some(1), "{uri}");
        }
        assert_eq!(policy.index_for("a", "docs://public/a"), Some(0));
    }

    #[test]
    fn a_rule_that_is_written_encoded_is_on_the_plain_name_too() {
        let policy = policy(&[
            ("docs://%73ecret/*", &["admin"]),
            ("docs://a%20b%2a%c3%A9", &["admin"]),
            ("docs://50%/*", &["admin"]),
        ]);
        assert_eq!(policy.index_for("a", "docs://secret/a"), Some(0));
        assert_eq!(policy.index_for("a", "docs://%73ecret/a"), Some(0));
        for uri in ["docs://a b*é", "docs://a%20b*%C3%A9", "docs://a%20b%2a%c3%A9"] {
            assert_eq!(policy.index_for("a", uri), Some(1), "{uri}");
        }
        assert_eq!(policy.index_for("a", "docs://a bxé"), None);
        assert_eq!(policy.index_for("a", "docs://50%/x"), Some(2));
    }

    #[test]
    fn rules_that_cannot_be_on_a_name_are_known_by_its_beginning() {
        let policy = policy(&[("guide://Document/review/x*", &["a"]), ("docs://*", &["a"])]);
        assert!(policy.may_begin("guide", "guide://document/review/", 2));
        assert!(!policy.may_begin("guide", "guide://document/review/", 0));
        assert!(!policy.may_begin("guide", "guide://document/other/", 2));
        assert!(policy.may_begin("guide", "docs://x", 2));
        for broad in ["*", "guide+guide://*", "g*", "guide://*/review/*", "guide://document/%72*"] {
            let policy = super::tests::policy(&[(broad, &["a"])]);
            assert!(policy.may_begin("guide", "guide://document/review/", 1), "{broad}");
        }
    }

    #[test]
    fn a_rule_may_name_one_server() {
        let policy = policy(&[("fs+file://*", &["admin"])]);
        assert_eq!(policy.index_for("fs", "file:///a/b"), Some(0));
        assert_eq!(policy.index_for("other", "file:///a/b"), None);
    }

    #[test]
    fn roles_open_and_no_role_opens_to_nobody() {
        let rule = |roles: &[&str], visible| {
            Rule::new("x:*", roles.iter().map(|r| (*r).to_owned()).collect(), visible).unwrap()
        };
        let admin = ["admin".to_owned()];
        assert_eq!(rule(&["admin"], false).standing(&admin), Standing::Open);
        assert_eq!(rule(&["admin"], true).standing(&[]), Standing::Shown);
        assert_eq!(rule(&[], false).standing(&admin), Standing::Hidden);
        assert_eq!(rule(&[ANYBODY], false).standing(&[]), Standing::Open);
    }

    #[test]
    fn a_broken_pattern_says_what_is_wrong() {
        let error = Rule::new("admin://[", vec![], true).unwrap_err().to_string();
        assert!(error.contains("admin://[") && error.contains("admin://*"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_uri_can_be_judged(uri in "\\PC{0,60}") {
            policy(&[("*secret*", &["admin"])]).index_for("a", &uri);
        }
    }
}
