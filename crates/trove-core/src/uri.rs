//! The two names of a resource.
//!
//! A [`LocalUri`] is the Source's name for it, a [`PublicUri`] our clients' name. Both are opaque
//! text compared byte for byte: parsers that normalise would turn one server's names into names it
//! does not know.

use std::{fmt, sync::Arc};

/// The longest URI that is listed or routed.
pub const MAX_URI_BYTES: usize = 16 * 1024;

macro_rules! uri_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, shared.
            pub fn shared(&self) -> Arc<str> {
                self.0.clone()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

uri_type! {
    /// The name our clients see.
    PublicUri
}

uri_type! {
    /// The name the Source uses.
    LocalUri
}

/// The scheme of a URI, e.g. `docs` of `docs://x`: the part before the first `:`, if it can be one.
pub fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let mut chars = scheme.chars();
    let first = chars.next()?;
    let valid = first.is_ascii_alphabetic()
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    valid.then_some(scheme)
}

/// Decodes percent-encoding once, e.g. `a%2520b` to `a%20b`. `None` if the result is not UTF-8, or
/// a `%` is not followed by two digits.
pub fn decode_once(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        // `from_str_radix` would also take a sign.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_is_what_stands_before_the_first_colon() {
        let check = |uri: &str, expect: Option<&str>| assert_eq!(scheme(uri), expect, "{uri}");
        check("file:///a:b", Some("file"));
        check("memo:x", Some("memo"));
        check("fs+file:///a", Some("fs+file"));
        check("no scheme", None);
        check("1x:y", None);
        check(":y", None);
        check("a/b:c", None);
    }
}
