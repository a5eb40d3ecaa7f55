//! PublicUri ⇄ (Source, LocalUri). No name is joined or split anywhere else.
//!
//! The native URI is the public name while exactly one Source owns it. The qualified form `id+uri`
//! always works, e.g. `wiki+docs://x`. It is a pure function of the two, so a link made from it
//! stays good while other servers come and go.

use crate::{
    source::SourceId,
    uri::{LocalUri, PublicUri, scheme},
};

/// Schemes of our own: an upstream that uses one is always shown under its qualified name.
pub const RESERVED_SCHEMES: [&str; 4] = ["guide", "config", "info", "auth"];

/// How often a URI is decoded to find what it may be taken for.
const MAX_DECODINGS: usize = 4;

/// Names of tools of our own that no prefix sets apart: a tool of a server that has one of
/// them is shown under a longer name.
pub const RESERVED_TOOLS: [&str; 12] = [
    "get_resource",
    "read_resource",
    "discover_resources",
    "search_resources",
    "resource_summary",
    "health_check",
    "run_code",
    "find_tool",
    "call_tool",
    "call_read_only_tool",
    "guide",
    "find_information",
];

/// Whether a tool or prompt of that name would stand in the place of ours.
pub fn is_own_tool(name: &str) -> bool {
    RESERVED_TOOLS.contains(&name)
}

/// The name that always works, e.g. `wiki+docs://x`.
pub fn qualify(id: &SourceId, local: &str) -> PublicUri {
    PublicUri::new(format!("{id}+{local}"))
}

/// The id and the rest of a qualified name, e.g. `wiki` and `docs://x` of `wiki+docs://x`. Whether
/// a Source of that id exists is for the caller to say.
pub fn split_qualified(uri: &str) -> Option<(SourceId, LocalUri)> {
    let (id, local) = uri.split_once('+')?;
    let id = SourceId::of_anyone(id)?;
    Some((id, LocalUri::new(local)))
}

/// Whether the scheme of `uri` is one of our own, e.g. of `guide://help`.
pub fn is_reserved(uri: &str) -> bool {
    scheme(uri).is_some_and(|s| RESERVED_SCHEMES.iter().any(|r| r.eq_ignore_ascii_case(s)))
}

/// The usual spelling of a URI of ours, e.g. `guide://help` of `GUIDE://Help`. `None` if it is
/// spelt so already, or not ours. Case does not matter in the scheme and the authority (RFC 3986).
pub fn usual_spelling(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(':')?;
    let authority = rest.strip_prefix("//")?.bytes();
    let authority = authority.take_while(|byte| !matches!(byte, b'/' | b'?' | b'#')).count();
    let (head, rest) = uri.split_at(scheme.len() + "://".len() + authority);
    // That is rare, and sooner seen than whose it is.
    let is_other = head.bytes().any(|byte| byte.is_ascii_uppercase());
    (is_other && is_reserved(uri)).then(|| format!("{}{rest}", head.to_ascii_lowercase()))
}

/// Whether clients may fetch `uri` without us, e.g. `https://h/x`: it means something to them even
/// if no Source lists it.
pub fn is_web(uri: &str) -> bool {
    scheme(uri).is_some_and(|s| s.eq_ignore_ascii_case("http") || s.eq_ignore_ascii_case("https"))
}

/// Whether a URI has a `..` segment in any spelling, e.g. `docs://a/%2e%2e/b`.
pub fn climbs(uri: &str) -> bool {
    // Most have neither two dots nor an escape, and are seen at every read.
    let mut dots = memchr::memchr_iter(b'.', uri.as_bytes());
    let has_two = dots.any(|at| uri.as_bytes().get(at + 1) == Some(&b'.'));
    if !has_two && memchr::memchr(b'%', uri.as_bytes()).is_none() {
        return false;
    }
    let mut path = uri.split_once(':').map_or(uri, |(_, path)| path).to_ascii_lowercase();
    for _ in 0..MAX_DECODINGS {
        if path.split(['/', '\\', '?', '#']).any(|segment| segment == "..") {
            return true;
        }
        path =
            path.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\").replace("%25", "%");
    }
    false
}

/// The public name of a tool or prompt, e.g. `wiki_find`.
pub fn prefixed(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_id() -> impl Strategy<Value = SourceId> {
        "[a-z][a-z0-9-]{0,30}".prop_map(|text| SourceId::new(&text).unwrap())
    }

    fn any_uri() -> impl Strategy<Value = String> {
        prop_oneof![
            "file:///[a-zA-Z0-9 _./%éü#?&=-]{0,40}",
            "memo:[^\u{0}]{0,20}",
            "urn:[a-z]{2,8}:[a-z0-9:+]{1,20}",
            "ui://[a-z]{1,8}/[a-z./]{0,20}",
            "skill://[a-z-]{1,8}/SKILL.md",
            "[a-z]{1,6}\\+[a-z]{1,6}://[a-z]{0,10}",
            "x://%[0-9a-f]{2}%2[fF]\\.\\./#frag\\{id\\}",
            "\\PC{0,30}",
        ]
    }

    proptest! {
        #[test]
        fn a_qualified_name_leads_back_to_its_source_and_uri(id in any_id(), uri in any_uri()) {
            let public = qualify(&id, &uri);
            let (back, local) = split_qualified(public.as_str()).unwrap();
            prop_assert_eq!(back, id);
            prop_assert_eq!(local.as_str(), uri);
        }

        #[test]
        fn different_things_have_different_qualified_names(
            a in (any_id(), any_uri()), b in (any_id(), any_uri()),
        ) {
            prop_assert_eq!(qualify(&a.0, &a.1) == qualify(&b.0, &b.1), a == b);
        }

        #[test]
        fn a_qualified_name_of_a_uri_has_a_scheme(id in any_id(), uri in "[a-z][a-z0-9.-]{0,8}:.{0,10}") {
            let expect = format!("{id}+{}", scheme(&uri).unwrap());
            let public = qualify(&id, &uri);
            prop_assert_eq!(scheme(public.as_str()).unwrap(), expect);
        }
    }

    #[test]
    fn a_parent_segment_is_found_however_it_is_spelt() {
        for uri in
            ["x://a/../b", "x:..", "x://a/..%2fb", "x://%2E%2e/b", "x://a/%252e./b", "x://a\\..\\b"]
        {
            assert!(climbs(uri), "{uri}");
        }
        for uri in ["x://a/b", "x://a..b/c", "x://a/...", "x://50%25", "x://a/%20.b"] {
            assert!(!climbs(uri), "{uri}");
        }
    }

    #[test]
    fn our_own_schemes_are_known_in_any_case() {
        for uri in ["info://x", "INFO://x", "config:y", "Guide://z", "auth://status"] {
            assert!(is_reserved(uri), "{uri}");
        }
        for uri in ["file:///info", "information://x", "skill://x", "info", "x+info://y"] {
            assert!(!is_reserved(uri), "{uri}");
        }
    }

    #[test]
    fn our_own_names_have_one_usual_spelling() {
        let check = |uri: &str, expect: Option<&str>| {
            assert_eq!(usual_spelling(uri).as_deref(), expect, "{uri}");
        };
        check("GUIDE://help", Some("guide://help"));
        check("Guide://Document/Lang/A.md", Some("guide://document/Lang/A.md"));
        check("info://HEALTH?X", Some("info://health?X"));
        for uri in ["guide://document/Lang", "config:Y", "File:///A", "Skill://x", "x+INFO://Y", ""]
        {
            check(uri, None);
        }
    }

    #[test]
    fn t50_fuzz_names_are_split_as_they_were_joined() {
        let id = SourceId::new("srv").unwrap();
        trove_fuzz::feed("uri", |input| {
            let text = String::from_utf8_lossy(input);
            let (found, local) =
                split_qualified(qualify(&id, &text).as_str()).expect("we joined it");
            assert_eq!((found.as_str(), local.as_str()), ("srv", text.as_ref()));
            (is_reserved(&text), is_web(&text), climbs(&text), split_qualified(&text).is_some())
        });
    }
}
