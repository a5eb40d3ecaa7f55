//! The name of a Source: short, and valid in front of a URI scheme.

use std::{fmt, sync::Arc};

/// The longest id a Source may have.
pub const MAX_SOURCE_ID: usize = 31;

/// The name of a Source, `^[a-z][a-z0-9-]{0,30}$`, so that `id+scheme` is a valid
/// URI scheme for every parser.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(Arc<str>);

/// The id of what the gateway says about itself.
const OWN: &str = "trove";
/// The id of local knowledge.
pub(crate) const GUIDE: &str = "guide";

/// Whether the gateway itself is called so, e.g. `guide`; no server can be.
pub(crate) fn is_ours(text: &str) -> bool {
    matches!(text, OWN | GUIDE)
}

/// The text cannot name a Source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSourceId {
    /// It has the wrong shape.
    #[error(
        "`{0}` is no server id: start with a lower-case letter, then up to 30 of a-z, 0-9 and -"
    )]
    Shape(String),
    /// It is the gateway's own.
    #[error("`{0}` is a part of the gateway itself, so no server can have that id")]
    Reserved(String),
}

impl SourceId {
    /// Checks the text.
    pub fn new(text: &str) -> Result<SourceId, BadSourceId> {
        match SourceId::of_anyone(text) {
            Some(_) if is_ours(text) => Err(BadSourceId::Reserved(text.into())),
            Some(id) => Ok(id),
            None => Err(BadSourceId::Shape(text.into())),
        }
    }

    /// The id that the text is, our own included.
    pub fn of_anyone(text: &str) -> Option<SourceId> {
        let mut bytes = text.bytes();
        let is_valid = text.len() <= MAX_SOURCE_ID
            && bytes.next().is_some_and(|b| b.is_ascii_lowercase())
            && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        is_valid.then(|| SourceId(text.into()))
    }

    /// The nearest valid id, e.g. `my-server` for `My Server!`. Equal texts give equal ids.
    pub fn normalise(text: &str) -> SourceId {
        let mut id = String::new();
        for c in text.to_lowercase().chars() {
            match c {
                'a'..='z' | '0'..='9' => id.push(c),
                _ if !id.is_empty() && !id.ends_with('-') => id.push('-'),
                _ => {}
            }
        }
        if !id.starts_with(|c: char| c.is_ascii_lowercase()) {
            id.insert(0, 's');
        }
        id.truncate(MAX_SOURCE_ID);
        match id.trim_end_matches('-') {
            ours if is_ours(ours) => SourceId(format!("{ours}-server").into()),
            id => SourceId(id.into()),
        }
    }

    /// The id of what is the gateway's own.
    pub fn own() -> SourceId {
        SourceId(OWN.into())
    }

    /// The id of local knowledge.
    pub fn guide() -> SourceId {
        SourceId(GUIDE.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_stand_before_a_plus_in_a_scheme() {
        for good in ["a", "fs", "my-server-2", "a234567890123456789012345678901"] {
            assert!(SourceId::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "A",
            "1a",
            "-a",
            "a_b",
            "a.b",
            "trove",
            "guide",
            "é",
            "a2345678901234567890123456789012",
        ] {
            assert!(SourceId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn any_text_has_a_nearest_id() {
        let check = |text: &str, id: &str| {
            let normal = SourceId::normalise(text);
            assert_eq!(normal.as_str(), id, "{text}");
            assert_eq!(SourceId::new(id), Ok(normal));
        };
        check("fs", "fs");
        check("My Server", "my-server");
        check("@scope/thing_v2", "scope-thing-v2");
        check("3d", "s3d");
        check("Trove", "trove-server");
        check("guide", "guide-server");
        check("  --  ", "s");
        check("Ünïcode", "n-code");
        check(&"x".repeat(50), &"x".repeat(31));
    }
}
