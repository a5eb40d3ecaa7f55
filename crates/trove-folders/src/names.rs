//! Paths of files and their `file:///…` URIs, byte for byte.
//!
//! A name need not be UTF-8. Each byte that is no letter, digit or `-._~` is written as `%XX`, e.g.
//! a space as `%20`. So a URI leads back to exactly the file it was made of.

use std::{ffi::OsStr, fmt::Write as _, os::unix::ffi::OsStrExt as _, path::Path};

const SCHEME: &str = "file://";
/// This machine, as some clients write it between `file://` and the path.
const THIS_MACHINE: &str = "localhost";

/// Appends a path to a URI, e.g. `a b.md` as `a%20b.md`.
pub(crate) fn encode(path: &[u8], uri: &mut String) {
    for byte in path {
        let stays = byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
        if stays {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

/// The URI of a folder, e.g. `file:///home/ann/` for `/home/ann`.
pub(crate) fn uri_of_root(root: &Path) -> String {
    let mut uri = SCHEME.to_owned();
    encode(root.as_os_str().as_bytes(), &mut uri);
    if !uri.ends_with('/') {
        uri.push('/');
    }
    uri
}

/// The bytes of the absolute path that a URI names; `None` if it names none.
pub(crate) fn path_of(uri: &str) -> Option<Vec<u8>> {
    let rest = uri.strip_prefix(SCHEME)?;
    let rest = rest.strip_prefix(THIS_MACHINE).unwrap_or(rest);
    // A query or a fragment is not part of the path, e.g. `?v=2` or `#top`.
    if !rest.starts_with('/') || rest.contains(['?', '#']) {
        return None;
    }
    let path = decode(rest)?;
    if path.contains(&0) { None } else { Some(path) }
}

/// Decodes percent-encoding once, e.g. `%20` to a space; `None` if a `%` is not followed by two
/// digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = after;
            continue;
        }
        let high = char::from(*after.first()?).to_digit(16)?;
        let low = char::from(*after.get(1)?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
        rest = &after[2..];
    }
    Some(bytes)
}

/// Bytes as a path.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A path that lies in a folder, both relative to the root.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    if !folder.is_empty() {
        path.extend_from_slice(folder);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// The folder a path lies in, and its last name, e.g. `a/b` and `c.md` of `a/b/c.md`.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_leads_back_to_its_bytes() {
        for name in [&b"a b.md"[..], b"100%25.md", b"\xff\xfe.txt", "ü#?&.md".as_bytes(), b"a\nb"]
        {
            let mut uri = uri_of_root(Path::new("/root folder"));
            encode(name, &mut uri);
            assert!(uri.is_ascii(), "{uri}");
            let expected = [b"/root folder/", name].concat();
            assert_eq!(path_of(&uri), Some(expected), "{uri}");
        }
    }

    #[test]
    fn other_spellings_of_a_uri_name_the_file_too() {
        let check = |uri: &str, path: Option<&str>| {
            assert_eq!(path_of(uri).as_deref(), path.map(str::as_bytes), "{uri}");
        };
        check("file:///a%2fb", Some("/a/b"));
        check("file://localhost/a", Some("/a"));
        check("file:///(a) b", Some("/(a) b"));
        for bad in [
            "file://host/a",
            "file:a",
            "file:///a?b",
            "file:///a#b",
            "file:///%+1",
            "http:///a",
            "file:///a%00",
        ] {
            check(bad, None);
        }
    }
}
