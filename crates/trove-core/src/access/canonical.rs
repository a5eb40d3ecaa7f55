//! Whether a URI is written the one way that every parser reads alike.
//!
//! Says nothing of what a URI means. A URI that is not canonical may still be a good name: many
//! servers list such names. It is only not one that can be judged by looking at it.

use std::net::Ipv4Addr;

use unicode_normalization::is_nfkc;

use super::{fold::is_letter, spelling::unescape};

/// The punctuation that stands for itself in a segment of a path.
const IN_SEGMENT: &str = "-._~!$&'()*+,=@";
/// The punctuation that a path has in escapes.
const ESCAPED: &str = " \"<>^`{}[]:@!$&'()*+,=";
/// The punctuation that stands for itself in a query or fragment.
const IN_TAIL: &str = "-._~!$'()*+,=@:/?";

/// Whether `uri` is canonical, e.g. `docs://a/b%20c`, unlike `docs://a//b`.
pub(super) fn is_canonical(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else { return false };
    if !is_plain_scheme(scheme) {
        return false;
    }
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (place, tail) = rest.split_at(end);
    // A gateway behind us takes `s+file` for the scheme `file` of its server `s`.
    let innermost = scheme.rsplit('+').next().unwrap_or(scheme);
    let is_plain = is_plain_place(scheme, place) && is_plain_place(innermost, place);
    is_plain && is_plain_tail(tail)
}

fn is_plain_scheme(scheme: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_lowercase()) && scheme.chars().all(is_part)
}

/// Whether the part between the scheme and a query or fragment is plain.
fn is_plain_place(scheme: &str, place: &str) -> bool {
    let Some(place) = place.strip_prefix("//") else {
        // One slash alone is read in many ways, and so is a user's name before an `@`.
        let first = place.split('/').next().unwrap_or_default();
        return !first.contains('@') && is_plain_path(place);
    };
    let (authority, path) = match place.find('/') {
        Some(at) => (&place[..at], Some(&place[at + 1..])),
        None => (place, None),
    };
    // A file is on this machine, and only a file has no host.
    if scheme == "file" {
        return authority.is_empty() && path.is_some_and(|path| is_plain_path(without_drive(path)));
    }
    let is_plain = path.is_none_or(|path| path.is_empty() || is_plain_path(path));
    is_plain && is_plain_authority(authority)
}

/// A path without its drive, e.g. `Users/me` of `C:/Users/me`.
fn without_drive(path: &str) -> &str {
    let Some((drive, rest)) = path.split_once('/') else { return path };
    let is_colon = |text: &str| text == ":" || text.eq_ignore_ascii_case("%3a");
    let is_drive = drive.starts_with(|c: char| c.is_ascii_alphabetic()) && is_colon(&drive[1..]);
    if is_drive { rest } else { path }
}

fn is_plain_authority(authority: &str) -> bool {
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_port = |port: &str| {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        is_number && (1..=5).contains(&port.len()) && !port.starts_with('0')
    };
    port.is_none_or(is_port) && is_plain_host(host)
}

fn is_plain_host(host: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_plain = |label: &str| {
        let is_coded = label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--"));
        !label.is_empty() && !is_coded && label.chars().all(is_part)
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|c: char| c.is_ascii_digit());
    // Numbers have many spellings as addresses.
    let is_address = host.parse::<Ipv4Addr>().is_ok();
    host.split('.').all(is_plain) && (is_address || !is_number)
}

fn is_plain_path(path: &str) -> bool {
    // A slash at the end is left aside by many.
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').all(is_plain_segment)
}

fn is_plain_segment(segment: &str) -> bool {
    let Some(text) = plain_text(segment, IN_SEGMENT) else { return false };
    // Windows ignores dots and blanks at the end, has short names (`VAULT~1`), and reads `a:b` as the
    // stream `b` of the file `a`.
    let has_odd_end = text.is_empty() || text.ends_with(['.', ' ']) || text.starts_with(' ');
    let has_short_name =
        text.split('~').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    !has_odd_end && !has_short_name && !text.contains(':')
}

/// A query, a fragment, or both.
fn is_plain_tail(tail: &str) -> bool {
    let (query, fragment) = match tail.split_once('#') {
        Some((query, fragment)) => (query, Some(fragment)),
        None => (tail, None),
    };
    let is_plain = |part: &str| {
        let text = plain_text(part, IN_TAIL);
        // A server that does not know of queries resolves dots in them too.
        text.is_some_and(|text| !text.split(['/', '?', '=']).any(|it| it == "." || it == ".."))
    };
    is_plain(query) && fragment.is_none_or(is_plain)
}

/// The decoded text, if each character is what it seems and stands as it must: `a b` of `a%20b`.
fn plain_text(written: &str, punctuation: &str) -> Option<String> {
    let is_tail = punctuation == IN_TAIL;
    let is_raw = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || punctuation.contains(c);
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('%') {
        let (raw, escaped) = rest.split_at(at);
        let (decoded, after) = unescape(escaped)?;
        let is_usual =
            |c: char| !c.is_ascii() || ESCAPED.contains(c) || (is_tail && "/?".contains(c));
        if !raw.chars().all(is_raw) || !decoded.chars().all(is_usual) {
            return None;
        }
        text.push_str(raw);
        text.push_str(&decoded);
        rest = after;
    }
    if !rest.chars().all(is_raw) {
        return None;
    }
    text.push_str(rest);
    let has_more = |c: char| c == '&' || c == '%';
    // Parameters can be turned round or repeated, and the rules speak of texts.
    if is_tail && text.contains(has_more) {
        return None;
    }
    let is_seen =
        text.is_ascii() || (text.chars().all(|c| c.is_ascii() || is_letter(c)) && is_nfkc(&text));
    is_seen.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_uris_are_canonical() {
        for uri in [
            "file:///home/User/My%20File.txt",
            "file:///C:/Users/Me/a%20b.docx",
            "file:///c%3A/Users/me/x.rs",
            "file:///home/jos%C3%A9/R%c3%a9sum%C3%A9.pdf",
            "file:///home/josé/Übersicht/文書.md",
            "https://h.example/a/b?q=a%20b#part-2",
            "https://h.example:8443/Docs/",
            "http://127.0.0.1:80/x",
            "weather://London/today",
            "docs://l/vault/key",
            "git+ssh://host/repo",
            "a+s+docs://l/vault/key",
            "memo:inner",
            "npm:left-pad/1.0.0",
            "web://page?url=https%3A%2F%2Fa.example/x",
            "github://owner/repo/@scope/name(1)+x",
            "docs://l",
            "docs://l/",
        ] {
            assert!(is_canonical(uri), "{uri}");
        }
    }

    #[test]
    fn odd_spellings_are_not() {
        for uri in [
            "",
            "docs",
            " docs://l/vault/key",
            "\u{1}docs://l/k",
            "docs://l/k ",
            "docs://l/k\n",
            "do\tcs://l/k",
            "Docs://l/k",
            "1docs://l/k",
            "docs:/l/k",
            "docs:///l/k",
            "docs://",
            "docs://l//k",
            "docs://l/./k",
            "docs://l/../k",
            "docs://l/%2e%2e/k",
            "docs://l/k.",
            "docs://l/k%20",
            "docs://l/%6bey",
            "docs://l/k%2",
            "docs://l/k%zz",
            "docs://l/a%2Fk",
            "docs://l/a%5ck",
            "docs://l\\k",
            "docs://l/a;b/k",
            "docs://l/a%00",
            "docs://l/%ff",
            "docs://l/k%250",
            "docs://l/a:b",
            "docs://me@l/k",
            "docs:me@l/k",
            "docs://l:/k",
            "docs://l:080/k",
            "docs://l./k",
            "docs://xn--l-1/k",
            "docs://bücher.example/k",
            "http://0x7f.1/k",
            "http://2130706433/k",
            "http://127.1/k",
            "http://[::1]/k",
            "file://localhost/k",
            "file:/k",
            "file:///C|/k",
            "file:///VAULT~1/k",
            "docs://l/k?a=1&b=2",
            "docs://l/k?a/../b",
            "docs://l/k#a#b",
            "docs://l/r\u{65}\u{301}",
            "docs://l/ｋ",
            "docs://l/k\u{200b}",
            "docs://l/\u{3164}",
            "url:docs://l/k",
            "s+file://l/k",
            "a+s+file:///k",
        ] {
            assert!(!is_canonical(uri), "{uri:?}");
        }
    }
}
