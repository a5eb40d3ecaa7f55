//! guide:// URIs: their targets, and how a document's own is written.
//!
//! Percent-encoding is decoded once, before any check, so that nothing can hide in it.

use super::{KnowledgeError, name};
use crate::uri::decode_once;

/// The scheme of all that is served here.
pub(super) const SCHEME: &str = "guide://";
/// The help.
pub(super) const HELP: &str = "guide://help";

/// The target of a guide:// URI, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// How to use the scheme.
    Help,
    /// All documents of a collection.
    Collection(String),
    /// A category by its default patterns.
    Category(String),
    /// A document of a category, and what matches its name as a pattern.
    Matching(String, String),
    /// One document of a category or collection.
    Document(String, String),
}

impl Address {
    pub(super) fn parse(uri: &str) -> Result<Address, KnowledgeError> {
        let bad = |why| KnowledgeError::BadAddress { uri: short(uri), why };
        let Some(rest) = strip_scheme(uri) else {
            return Err(KnowledgeError::BadScheme { uri: short(uri) });
        };
        let (kind, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (first, second) = match rest.split_once('/') {
            Some((first, second)) => (first, Some(second)),
            None => (rest, None),
        };
        let decoded =
            |text: &str| decode_once(text).ok_or_else(|| bad("its percent-encoding is broken"));
        // An authority is alike in every case, and decoded like the rest.
        let kind = decoded(kind)?.to_ascii_lowercase();
        let (first, second) = (decoded(first)?, second.map(decoded).transpose()?);
        if first.contains(['/', '\\', '\0']) {
            return Err(bad("a name of a category or collection holds no slash or NUL"));
        }
        // A trailing slash after the name says nothing more.
        let second = second.filter(|second| !second.is_empty());
        if let Some(path) = &second {
            name::safe(path).map_err(bad)?;
        }
        match (kind.as_str(), first.is_empty(), second) {
            ("help", true, None) => Ok(Address::Help),
            ("collection", false, None) => Ok(Address::Collection(first)),
            ("category", false, None) => Ok(Address::Category(first)),
            ("category", false, Some(document)) => Ok(Address::Matching(first, document)),
            ("document", false, Some(document)) => Ok(Address::Document(first, document)),
            ("collection", false, Some(_)) => Err(bad("a collection is read whole")),
            ("document", false, None) => Err(bad("it names no document")),
            ("collection" | "category" | "document", true, _) => Err(bad("it names nothing")),
            _ => Err(bad("it begins with none of help, category, collection, document")),
        }
    }
}

/// The URI of one document, e.g. `guide://document/lang/python.md`.
pub fn document(category: &str, path: &str) -> String {
    format!("{SCHEME}document/{}/{}", encode(category, false), encode(path, true))
}

/// The URI of a category, e.g. `guide://category/lang`.
pub(super) fn category(name: &str) -> String {
    format!("{SCHEME}category/{}", encode(name, false))
}

/// The URI of a collection, e.g. `guide://collection/review`.
pub(super) fn collection(name: &str) -> String {
    format!("{SCHEME}collection/{}", encode(name, false))
}

/// Everything but letters, digits and `-._~` as `%XX`, e.g. `a%20b`; `keeps_slash` leaves slashes.
pub(super) fn encode(text: &str, keeps_slash: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let stays = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'.' | b'_' | b'~')
            || (byte == b'/' && keeps_slash);
        if stays {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn strip_scheme(uri: &str) -> Option<&str> {
    let head = uri.get(..SCHEME.len())?;
    head.eq_ignore_ascii_case(SCHEME).then(|| &uri[SCHEME.len()..])
}

fn short(uri: &str) -> String {
    uri.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_five_patterns_are_told_apart() {
        let check =
            |uri: &str, expect: Address| assert_eq!(Address::parse(uri), Ok(expect), "{uri}");
        check("guide://help", Address::Help);
        check("GUIDE://help/", Address::Help);
        check("Guide://HELP", Address::Help);
        check("guide://Category/Lang", Address::Category("Lang".into()));
        check("guide://%64ocument/a/B.md", Address::Document("a".into(), "B.md".into()));
        check("guide://collection/review", Address::Collection("review".into()));
        check("guide://category/lang", Address::Category("lang".into()));
        check("guide://category/lang/", Address::Category("lang".into()));
        check("guide://category/lang/py*", Address::Matching("lang".into(), "py*".into()));
        check("guide://category/a%20b/c%2Fd", Address::Matching("a b".into(), "c/d".into()));
        check(
            "guide://document/lang/sub/x.md",
            Address::Document("lang".into(), "sub/x.md".into()),
        );
    }

    #[test]
    fn every_way_out_is_refused_before_anything_is_looked_up() {
        for path in [
            "../x",
            "a/../x",
            "%2e%2e/x",
            "..%2fx",
            "%2e%2e%2fx",
            "a/..%2f..%2fx",
            "%2Fetc/passwd",
            "/etc/passwd",
            "a//b",
            "./a",
            "a%5Cb",
            "a\\b",
            "a%00b",
            "a\0b",
            "%5c..%5cx",
            "%zz",
            "%2",
            "%+1",
            "%ff",
        ] {
            for kind in ["category", "document"] {
                let uri = format!("guide://{kind}/lang/{path}");
                assert!(Address::parse(&uri).is_err(), "{uri}");
            }
        }
        for uri in [
            "guide://category/..%2f..%2fetc",
            "guide://category/a%00",
            "guide://nonsense/x",
            "guide://",
            "guide://document/lang",
            "guide://help/x",
            "guide:/help",
            "file:///etc/passwd",
            "",
        ] {
            assert!(Address::parse(uri).is_err(), "{uri}");
        }
    }

    #[test]
    fn decoding_happens_once() {
        let twice = Address::parse("guide://document/lang/%252e%252e%252fx").unwrap();
        assert_eq!(twice, Address::Document("lang".into(), "%2e%2e%2fx".into()));
    }

    proptest! {
        #[test]
        fn a_documents_own_uri_names_it_again(category in "[^/\\\\\0]{1,10}", path in "[^/\\\\\0.]{1,8}(/[^/\\\\\0.]{1,8}){0,2}") {
            let uri = document(&category, &path);
            prop_assert_eq!(Address::parse(&uri), Ok(Address::Document(category, path)));
        }

        #[test]
        fn no_address_holds_a_way_out(uri in "guide://(category|document)/[a.%25fF/\\\\]{0,20}") {
            if let Ok(Address::Matching(_, path) | Address::Document(_, path)) = Address::parse(&uri) {
                prop_assert!(!path.starts_with('/') && !path.split('/').any(|s| s == ".."));
            }
        }
    }
}
