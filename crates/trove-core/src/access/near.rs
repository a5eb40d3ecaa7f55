//! Whether a URI that no two parsers read alike may be one that a rule is on.
//!
//! The answer errs on one side. A parser may drop, turn or decode parts of a name, but its words
//! stay. So a URI without the words of a rule is not one of its names. A URI that has them all may
//! be one.

use super::{
    fold::{letters, visible, with_decoded_hosts, words},
    pattern::Pattern,
    spelling::unescape,
};

/// How often a URI is decoded before it may mean anything.
const MAX_DECODINGS: usize = 16;
/// The host of files, which is left out as well.
const THIS_MACHINE: &str = "localhost";

/// The words of the names that a rule is on.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    /// Of the server, if the rule names one.
    server: Vec<String>,
    scheme: Vec<String>,
    rest: Vec<String>,
}

/// A URI as far as it can be known.
pub(super) struct Blurred {
    /// Its letters, with those of its server before them.
    letters: String,
    /// It has a scheme, as far as the usual parsers see.
    has_scheme: bool,
    /// It has escapes that are decoded in several ways.
    is_unclear: bool,
}

impl Words {
    pub(super) fn of(pattern: &Pattern) -> Words {
        let (text, _) = decode_all(&pattern.with_blanks());
        let (head, rest) = text.split_once(':').unwrap_or(("", &text));
        let (server, scheme) = head.rsplit_once('+').unwrap_or(("", head));
        // A fragment is not sent to servers, and these parts are resolved or left out.
        let rest = rest.split('#').next().unwrap_or_default();
        let is_resolved = ["..", "@", ";", "\\"].iter().any(|part| rest.contains(part));
        let mut rest = if is_resolved {
            Vec::new()
        } else {
            words(&with_decoded_hosts(rest).unwrap_or_else(|| rest.to_owned()))
        };
        // Numbers of addresses have many spellings, and the usual port is left out.
        let is_address = pattern.has_brackets();
        rest.retain(|word| {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
            let varies = is_number || (is_address && is_hex) || word == THIS_MACHINE;
            !varies
        });
        Words { server: words(server), scheme: words(scheme), rest }
    }

    /// Whether a URI may be one of the names.
    pub(super) fn may_be_in(&self, uri: &Blurred) -> bool {
        let has = |words: &[String]| words.iter().all(|word| uri.letters.contains(word.as_str()));
        let has_scheme = !uri.has_scheme || has(&self.scheme);
        has(&self.server) && has_scheme && (uri.is_unclear || has(&self.rest))
    }
}

impl Blurred {
    pub(super) fn of(id: &str, local: &str) -> Blurred {
        let (decoded, is_unclear) = decode_all(local);
        let letters =
            letters(id) + &letters(with_decoded_hosts(&decoded).as_ref().unwrap_or(&decoded));
        Blurred { letters, has_scheme: has_scheme(local), is_unclear }
    }
}

/// Whether the usual parsers see a scheme, e.g. in ` do\tcs:x`: they drop blanks before it, and
/// tabs and ends of lines anywhere.
fn has_scheme(uri: &str) -> bool {
    let Some((scheme, _)) = uri.split_once(':') else { return false };
    let scheme: String = scheme.chars().filter(|c| !"\t\r\n".contains(*c)).collect();
    let scheme = scheme.trim_start_matches(|c: char| c <= ' ');
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(is_part)
}

/// A text without escapes, and whether some of them mean different things to different
/// programs.
fn decode_all(text: &str) -> (String, bool) {
    let mut text = text.to_owned();
    for _ in 0..MAX_DECODINGS {
        // A percent sign has a wide form, too, and what is not seen may stand behind one.
        let Some(decoded) = decode(&visible(&text)) else { return (text, true) };
        if decoded == text {
            let is_unclear = text.contains("%u") || text.contains("%U");
            return (text, is_unclear);
        }
        text = decoded;
    }
    (text, true)
}

/// A text with its escapes decoded once, e.g. `a b` of `a%20b`; `None` if some are no UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_escape = rest.len() > 2 && rest.as_bytes()[1..3].iter().all(u8::is_ascii_hexdigit);
        if is_escape {
            let (text, after) = unescape(rest)?;
            decoded.push_str(&text);
            rest = after;
        } else {
            decoded.push('%');
            rest = &rest[1..];
        }
    }
    decoded.push_str(rest);
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, uris: &[&str], expect: bool) {
        let words = Words::of(&Pattern::parse(pattern).expect("few wildcards"));
        for uri in uris {
            assert_eq!(words.may_be_in(&Blurred::of("low", uri)), expect, "{pattern} {uri:?}");
        }
    }

    #[test]
    fn a_uri_with_the_words_of_a_rule_may_be_one_of_its_names() {
        let spellings = [
            " docs://l/vault/key",
            "docs://l/x/../va\tult/key",
            "//l/vault/key",
            "url:docs://l/vault/key",
            "d%6fcs://l/v%2561ult/key",
            "docs://l/%FF/key",
            "docs://l/%u0076ault/key",
            "docs://l/ＶＡＵＬＴ/key",
            "docs://l/％76ault/key",
            "docs://l/%\u{feff}76ault/key",
        ];
        check("docs://l/vault/*", &spellings, true);
        let others = ["docs://l/my notes", "file:///l/vault key", "https://l/%FF", "x y", "//l/a"];
        check("docs://l/vault/*", &others, false);
    }

    #[test]
    fn what_programs_resolve_is_not_looked_for() {
        check("http://127.0.0.1/admin/*", &["http://2130706433/admin/k"], true);
        check("http://[[]fe80::1]/admin/*", &["http://[FE80:0:0::1]/admin/k"], true);
        check("https://me@h.example:443/k*", &["https://h.example/ k"], true);
        check("file://localhost/srv/*", &["file:/srv/k"], true);
        check("docs://a/../vault/*", &["docs://vault/ k"], true);
    }

    #[test]
    fn hosts_in_other_alphabets_are_known_in_both_spellings() {
        for pattern in ["https://bücher.example/*", "https://xn--bcher-kva.example/*"] {
            let uris = [
                "https://BÜCHER.example/ k",
                "https://xn--bcher-kva.example/ k",
                "https://xn-\u{ad}-bcher－kva.example/k",
                "https://x\tn--bcher-kva.example/k",
                "https://xn--bcher-kva。example/k",
            ];
            check(pattern, &uris, true);
            check(pattern, &["https://other.example/ k"], false);
        }
    }

    #[test]
    fn a_rule_for_one_server_is_near_no_other() {
        check("low+docs://l/*", &[" docs://l/k"], true);
        check("high+docs://l/*", &[" docs://l/k"], false);
    }
}
