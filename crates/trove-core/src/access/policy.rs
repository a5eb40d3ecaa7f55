//! Ordered rules over URIs: the first that matches decides.
//!
//! A rule is tried on every spelling a server might take for the same thing (see `spelling`), in
//! any case. It is also tried on the qualified name, and behind each qualifier of a scheme. Its
//! pattern is spelled in the same ways. If two rules match different spellings, the stricter one
//! wins.
//!
//! A list of spellings cannot be complete. So a URI that is not `canonical`, and not listed as it
//! stands, is also under each rule that it is `near`.

use globset::{GlobBuilder, GlobMatcher};

use super::{
    Standing,
    canonical::is_canonical,
    near::{Blurred, Words},
    pattern::{MAX_WILDCARDS, Pattern},
    spelling::{self, Slashes, decode},
};

pub const MAX_RULES: usize = 1000;
/// The role that every caller has.
pub const ANYBODY: &str = "*";

/// One rule on who may read what.
#[derive(Debug, Clone)]
pub struct Rule {
    pattern: String,
    /// One for each spelling of the pattern, the written one first.
    matchers: Vec<GlobMatcher>,
    /// The part it is on, without the port, the query or the fragment that it names.
    without_named: Vec<GlobMatcher>,
    /// The start of each URI it matches, in lower case, e.g. `admin://` of `admin://*`.
    literal: String,
    /// The kind of slashes behind its scheme.
    slashes: Option<Slashes>,
    /// The words of the names it is on.
    words: Words,
    is_on_everything: bool,
    /// The roles of which a caller needs one; `*` admits every caller.
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
    /// Names the pattern and its fault.
    pub fn new(pattern: &str, why: &str) -> BadPattern {
        BadPattern { pattern: pattern.to_owned(), why: why.to_owned() }
    }
}

/// All rules, in order.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    /// The kinds of slashes behind a scheme that rules are written with.
    slashes: Vec<Slashes>,
}

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
        let Some(parsed) = Pattern::parse(pattern) else {
            let why = format!("it has more than {MAX_WILDCARDS} wildcards");
            return Err(BadPattern::new(pattern, &why));
        };
        let texts = parsed.texts();
        for text in &texts[1..] {
            matchers.push(compile(&parsed.glob(text))?);
        }
        let mut without_named = Vec::new();
        for part in spelling::without_named(&parsed.with_query()) {
            without_named.push(compile(&parsed.glob(&part))?);
        }
        let literals = texts.iter().map(|text| plain_start(parsed.literal(text)));
        let literal = literals.reduce(|all, one| common_start(&all, &one)).unwrap_or_default();
        Ok(Rule {
            pattern: pattern.to_owned(),
            matchers,
            without_named,
            literal,
            slashes: Slashes::behind_scheme(&plain_start(parsed.literal(parsed.text()))),
            words: Words::of(&parsed),
            is_on_everything: parsed.is_everything(),
            roles,
            visible,
        })
    }

    fn is_on(&self, uri: &str) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(uri))
    }

    /// Whether its pattern names a query or a port beside `part`. Such a rule is an exception to
    /// those behind it. Example: `api://item?id=1` is one for the part `api://item`.
    fn names_more_than(&self, part: &str) -> bool {
        self.without_named.iter().any(|matcher| matcher.is_match(part))
    }

    /// The URIs it is about, as written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The rights it leaves to a caller with these roles.
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
        let rules: Vec<Rule> = rules.into_iter().take(MAX_RULES).collect();
        let mut slashes: Vec<Slashes> = rules.iter().filter_map(|rule| rule.slashes).collect();
        slashes.sort_unstable();
        slashes.dedup();
        Policy { rules, slashes }
    }

    /// Whether there is no rule at all.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// All rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The places of the rules that decide about `local` of the Source `id`, in order: the first
    /// rule on each of its spellings. The strictest of them holds.
    pub fn places_for(&self, id: &str, local: &str) -> Vec<usize> {
        if self.rules.is_empty() {
            return Vec::new();
        }
        let names = spelling::behind_qualifiers(local);
        if let [(_, whole)] = names[..] {
            return self.places_behind(id, "", whole);
        }
        let places = names.iter().flat_map(|(before, name)| self.places_behind(id, before, name));
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The places of the rules that decide about the name behind these qualifiers: with and
    /// without them, and with and without the Source before them.
    fn places_behind(&self, id: &str, qualifiers: &str, name: &str) -> Vec<usize> {
        let mut before = vec![String::new(), format!("{id}+")];
        if !qualifiers.is_empty() {
            before.push(qualifiers.to_owned());
            before.push(format!("{id}+{qualifiers}"));
        }
        let first = |spelling: &String| {
            let names: Vec<String> = before.iter().map(|it| format!("{it}{spelling}")).collect();
            self.rules.iter().position(|rule| names.iter().any(|name| rule.is_on(name)))
        };
        let mut places = Vec::new();
        for whole in spelling::of(name, &self.slashes) {
            let on_whole = first(&whole);
            places.extend(on_whole);
            for part in spelling::parts_of(&whole) {
                let names = before.iter().map(|it| format!("{it}{part}"));
                let is_exception =
                    |n: usize| names.clone().any(|name| self.rules[n].names_more_than(&name));
                let on_part = first(&part);
                let stands_first = on_whole.is_some_and(|n| on_part.is_none_or(|m| n < m));
                if !(stands_first && on_whole.is_some_and(is_exception)) {
                    places.extend(on_part);
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The places of the rules that may be on what the Source `id` was asked for as `local`,
    /// though none of its spellings says so. None if `local` is written as every parser reads
    /// it: then its spellings are known.
    pub fn places_near(&self, id: &str, local: &str) -> Vec<usize> {
        if self.rules.is_empty() || is_canonical(local) {
            return Vec::new();
        }
        let uri = Blurred::of(id, local);
        // No rule behind one on everything ever decides.
        let last = self.rules.iter().position(|rule| rule.is_on_everything);
        let before = last.map_or(self.rules.len(), |last| last + 1);
        let rules = self.rules[..before].iter().enumerate();
        rules.filter(|(_, rule)| rule.words.may_be_in(&uri)).map(|(n, _)| n).collect()
    }

    /// The worst of what these rules leave, and the first that leaves no more.
    pub fn worst(
        places: &[usize],
        leaves: impl Fn(usize) -> Standing,
    ) -> Option<(Standing, usize)> {
        // Of two that leave the same the last compared is taken.
        places.iter().rev().map(|n| (leaves(*n), *n)).max_by_key(|(left, _)| *left)
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
        let names = spelling::behind_qualifiers(&plain).into_iter();
        let starts: Vec<String> =
            names.flat_map(|(_, name)| [name.to_owned(), format!("{id}+{name}")]).collect();
        let rules = self.rules.iter().enumerate().filter(move |(_, rule)| {
            let fits = |start: &String| {
                start.starts_with(&rule.literal) || rule.literal.starts_with(start)
            };
            starts.iter().any(fits)
        });
        rules.map(|(n, _)| n)
    }
}

/// The beginning that both texts share, e.g. `docs:/` of `docs://a` and `docs:/b`.
fn common_start(a: &str, b: &str) -> String {
    let both = a.chars().zip(b.chars());
    both.take_while(|(a, b)| a == b).map(|(c, _)| c).collect()
}

/// The start of a text in lower case, up to its first letter beyond ASCII.
fn plain_start(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii()).unwrap_or(text.len());
    text[..end].to_ascii_lowercase()
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

    /// The place of the rule that decides about somebody without roles.
    fn decides(policy: &Policy, id: &str, uri: &str) -> Option<usize> {
        let leaves = |n: usize| policy.rules()[n].standing(&[]);
        Policy::worst(&policy.places_for(id, uri), leaves).map(|(_, n)| n)
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let policy = policy(&[("admin://public/*", &["*"]), ("admin://*", &["admin"])]);
        assert_eq!(decides(&policy, "a", "admin://public/x"), Some(0));
        assert_eq!(decides(&policy, "a", "admin://users/1"), Some(1));
        assert_eq!(decides(&policy, "a", "docs://x"), None);
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
            assert_eq!(decides(&policy, "a", uri), Some(1), "{uri}");
        }
        assert_eq!(decides(&policy, "a", "docs://public/a"), Some(0));
    }

    #[test]
    fn nor_is_what_a_parser_of_some_server_takes_for_it() {
        let policy = policy(&[
            ("file:///secret/*", &["admin"]),
            ("docs://ops/admin/*", &["admin"]),
            ("https://h.example/admin/*", &["admin"]),
            ("memo:inner", &["admin"]),
        ]);
        for (place, uris) in [
            (
                0,
                "file:/secret/x file:secret/x file:\\secret\\x file://localhost/secret/x file://secret/x file:////secret/x",
            ),
            (
                1,
                "docs://ops:/admin/k docs://ops/../admin/k docs://ops/..%2fadmin/k docs:ops/admin/k docs:////ops/admin/k",
            ),
            (
                1,
                "docs:///ops/admin/k docs://o\tps/admin/k docs://o\nps/admin/k docs://me@ops:80/admin/k",
            ),
            (2, "https:h.example/admin/k https:/h.example/admin/k https://h.example:443/admin/k"),
            (
                2,
                "https://H.EXAMPLE/x/../admin/k https:\\\\h.example\\admin\\k https://h.example/admin/k?x#y",
            ),
            (3, "memo://inner memo:/inner memo:inner?x memo:inner#y memo:inner/ MEMO:%69nner"),
        ] {
            for uri in uris.split(' ') {
                assert_eq!(decides(&policy, "a", uri), Some(place), "{uri:?}");
            }
        }
        for open in ["file:///open/x", "docs://ops/x", "https://h.example/x", "memo:other"] {
            assert_eq!(decides(&policy, "a", open), None, "{open}");
        }
    }

    #[test]
    fn a_rule_on_a_name_with_its_query_comes_before_one_on_the_name() {
        let policy = policy(&[
            ("api://item?id=public*", &["*"]),
            ("api://item", &["admin"]),
            ("api://*", &["user"]),
        ]);
        assert_eq!(decides(&policy, "a", "api://item?id=public1"), Some(0));
        assert_eq!(decides(&policy, "a", "api://item?id=2"), Some(1));
        assert_eq!(decides(&policy, "a", "api://other?id=2"), Some(2));
    }

    #[test]
    fn a_query_or_fragment_takes_no_name_out_of_its_rule() {
        let opened = policy(&[
            ("docs://*.md", &["*"]),
            ("docs://*public*", &["*"]),
            ("docs://l/vault/*", &["admin"]),
            ("docs://l/doc[?]id=secret", &["admin"]),
        ]);
        for name in ["docs://l/vault/key", "docs://l/doc?id=secret"] {
            let tails = ["#x.md", "#public", "#", "#a/"];
            let tails: &[&str] = if name.contains('?') {
                &tails
            } else {
                &["?x.md", "?v=1.md", "?.md", "?public", "/", "#a/", "#x.md"]
            };
            for tail in tails {
                let uri = format!("{name}{tail}");
                let left = opened.places_for("low", &uri).into_iter().max();
                assert!(left >= Some(2), "{uri}: {left:?}");
            }
        }
        for uri in
            ["docs://l:80/doc?id=secret#x", "docs://l/doc/?id=secret", "docs://l/doc/?id=secret#x"]
        {
            assert_eq!(decides(&opened, "low", uri), Some(3), "{uri}");
        }
        for open in ["docs://l/a.md?x", "docs://l/vault/key.md", "docs://l/public?x=1"] {
            assert!(opened.places_for("low", open).iter().all(|place| *place < 2), "{open}");
        }
        let ports = policy(&[("http://h:8080/*", &["*"]), ("http://h/*", &["admin"])]);
        assert_eq!(ports.places_for("web", "http://h:8080/x"), [0]);
        assert_eq!(decides(&ports, "web", "http://h:80/x"), Some(1));
    }

    #[test]
    fn of_several_rules_that_holds_which_leaves_the_caller_least() {
        for admins in [&["admin"][..], &["admin", "root", "boss"]] {
            let policy = policy(&[("docs://ops/*", &["ops"]), ("docs://admin/*", admins)]);
            for roles in [&["ops"][..], &["admin"], &[]] {
                let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
                for uri in ["docs://ops/../admin/x", "docs://ops/..%2fadmin/x"] {
                    let places = policy.places_for("a", uri);
                    let left = Policy::worst(&places, |n| policy.rules()[n].standing(&roles));
                    assert_eq!(
                        left.map(|(left, _)| left),
                        Some(Standing::Shown),
                        "{uri} {roles:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_rule_that_is_written_encoded_is_on_the_plain_name_too() {
        let policy = policy(&[
            ("docs://%73ecret/*", &["admin"]),
            ("docs://a%20b%2a%c3%A9", &["admin"]),
            ("docs://50%/*", &["admin"]),
        ]);
        assert_eq!(decides(&policy, "a", "docs://secret/a"), Some(0));
        assert_eq!(decides(&policy, "a", "docs://%73ecret/a"), Some(0));
        for uri in ["docs://a b*é", "docs://a%20b*%C3%A9", "docs://a%20b%2a%c3%A9"] {
            assert_eq!(decides(&policy, "a", uri), Some(1), "{uri}");
        }
        assert_eq!(decides(&policy, "a", "docs://a bxé"), None);
        assert_eq!(decides(&policy, "a", "docs://50%/x"), Some(2));
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
        assert_eq!(decides(&policy, "fs", "file:///a/b"), Some(0));
        assert_eq!(decides(&policy, "other", "file:///a/b"), None);
    }

    #[test]
    fn a_name_that_passes_through_further_gateways_is_under_the_rules_on_it() {
        let rules = policy(&[
            ("up+s+docs://l/vault/shown", &["*"]),
            ("docs://l/vault/*", &["admin"]),
            ("up+memo:*", &["admin"]),
            ("file:///srv/*", &["admin"]),
        ]);
        for (uri, place) in [
            ("s+docs://l/vault/key", 1),
            ("a+s+docs://l/vault/key", 1),
            ("S+DOCS://L/V%61ult/key?x", 1),
            ("s+docs:/l/x/../vault/key", 1),
            ("a+b+c+d+e+f+g+h+i+j+k+docs://l/vault/key", 1),
            ("s+memo:one", 2),
            ("s+file:/srv/x", 3),
            ("s+docs://l/vault/shown", 0),
        ] {
            assert_eq!(decides(&rules, "up", uri), Some(place), "{uri}");
        }
        for open in ["s+docs://l/open", "a+s+docs://l/open", "c++:docs://l/vault/key"] {
            assert_eq!(decides(&rules, "up", open), None, "{open}");
        }
        assert_eq!(decides(&rules, "high", "s+memo:one"), None);
        assert!(rules.beginning("up", "s+docs:").any(|place| place == 1));
        assert!(!rules.beginning("up", "s+web:").any(|place| place == 1));
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
            policy(&[("*secret*", &["admin"])]).places_for("a", &uri);
        }
    }
}
