//! The other URIs that a server might take a URI for.
//!
//! Servers read URIs with parsers of many kinds. Some drop tabs, turn backslashes, know default
//! ports, resolve `..` with or without the host, or ignore how many slashes stand behind the
//! scheme. A rule on any such reading of a URI is on the URI.

use url::Url;

use super::fold::{fold, is_foldable, with_decoded_hosts};

/// How often a URI is decoded to find what it may be taken for.
const MAX_DECODINGS: usize = 3;

/// The most qualifiers in front of a scheme that are looked behind one by one.
const MAX_QUALIFIERS: usize = 8;

/// A name, then each name behind a `server+` in front of its scheme, with what stands before it.
/// A server that is a gateway itself takes the first for the others.
///
/// Example: `a+b+docs://x` is `b+docs://x` behind `a+`, and `docs://x` behind `a+b+`.
pub(super) fn behind_qualifiers(name: &str) -> Vec<(&str, &str)> {
    let mut names = vec![("", name)];
    let head = name.split(':').next().unwrap_or_default();
    let Some(last) = head.rfind('+') else { return names };
    let firsts = head.match_indices('+').map(|(at, _)| at).take(MAX_QUALIFIERS);
    names.extend(firsts.filter(|at| *at < last).map(|at| name.split_at(at + 1)));
    names.push(name.split_at(last + 1));
    names
}

/// How many slashes stand behind the scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slashes {
    None,
    One,
    Two,
    Three,
}

impl Slashes {
    const ALL: [Slashes; 4] = [Slashes::Three, Slashes::Two, Slashes::One, Slashes::None];

    fn as_str(self) -> &'static str {
        match self {
            Slashes::None => ":",
            Slashes::One => ":/",
            Slashes::Two => "://",
            Slashes::Three => ":///",
        }
    }

    /// Those in what a pattern begins with, if that has a scheme.
    pub(super) fn behind_scheme(literal: &str) -> Option<Slashes> {
        let (_, rest) = split(literal)?;
        Slashes::ALL.into_iter().find(|slashes| rest.starts_with(slashes.as_str()))
    }
}

/// All spellings, as written first. `slashes` are the kinds that any rule has behind a scheme.
pub(super) fn of(uri: &str, slashes: &[Slashes]) -> Vec<String> {
    let mut all = vec![uri.to_owned()];
    for n in 0..MAX_DECODINGS {
        match all.get(n).and_then(|last| decode(last)) {
            Some(decoded) => all.push(decoded),
            None => break,
        }
    }
    for n in 0..all.len() {
        let (keeping, leaving) = (resolve_dots(&all[n], true), resolve_dots(&all[n], false));
        let more = [keeping, leaving, normal(&all[n])];
        all.extend(more.into_iter().flatten());
    }
    for n in 0..all.len() {
        // Most are written as the rules are.
        let own = Slashes::behind_scheme(&all[n]);
        if slashes.iter().all(|form| Some(*form) == own) {
            continue;
        }
        let Some((scheme, rest)) = split(&all[n]) else { continue };
        let (scheme, rest) =
            (scheme.to_owned(), rest[1..].trim_start_matches(['/', '\\']).to_owned());
        all.extend(slashes.iter().map(|form| format!("{scheme}{}{rest}", form.as_str())));
    }
    for n in 0..all.len() {
        all.extend(with_decoded_hosts(&all[n]));
    }
    for n in 0..all.len() {
        if is_foldable(&all[n]) {
            all.push(fold(&all[n]));
        }
    }
    if all.len() > 1 {
        let mut seen = std::collections::HashSet::new();
        all.retain(|spelling| seen.insert(spelling.clone()));
    }
    all
}

/// A name without parts that servers often leave aside, e.g. `api://h/a` of `api://me@h:80/a/?x#y`.
/// The parts are who asks and the port, the last slash, a fragment, and a query with it.
pub(super) fn parts_of(uri: &str) -> Vec<String> {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    if !rest.contains(['?', '#', '@', ':']) && !rest.ends_with('/') {
        return Vec::new();
    }
    let pieces = Pieces::of(uri);
    let bare = pieces.path.strip_suffix('/').unwrap_or(pieces.path);
    let mut parts = pieces.with_path(pieces.path);
    parts.extend(pieces.with_path(bare));
    parts.retain(|part| part != uri);
    parts.dedup();
    parts
}

/// The part that the text of a pattern is on, without its port, query and fragment.
pub(super) fn without_named(text: &str) -> Vec<String> {
    let pieces = Pieces::of(text);
    let mut parts = pieces.with_path(pieces.path);
    parts.retain(|part| part != text);
    parts
}

/// A URI, taken apart, e.g. into `docs://`, `me@l:80`, `/a`, `?x`, `#y`.
struct Pieces<'a> {
    scheme: &'a str,
    authority: &'a str,
    path: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> Pieces<'a> {
    fn of(uri: &'a str) -> Pieces<'a> {
        let (rest, fragment) = uri.split_at(uri.find('#').unwrap_or(uri.len()));
        let (rest, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let start = rest.find("://").map_or(0, |at| at + "://".len());
        let (scheme, rest) = rest.split_at(start);
        let has_authority = !scheme.is_empty();
        let end = if has_authority { rest.find(['/', '\\']).unwrap_or(rest.len()) } else { 0 };
        let (authority, path) = rest.split_at(end);
        Pieces { scheme, authority, path, query, fragment }
    }

    /// The URI with this path, with and without each of the other pieces.
    fn with_path(&self, path: &str) -> Vec<String> {
        let Pieces { scheme, authority, query, fragment, .. } = self;
        let mut all = Vec::new();
        for authority in [authority, host_of(authority)] {
            let whole = format!("{scheme}{authority}{path}");
            all.push(format!("{whole}{query}{fragment}"));
            all.push(format!("{whole}{query}"));
            all.push(whole);
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn host_of(authority: &str) -> &str {
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}

/// The text of the escapes that `rest` begins with, and the rest behind them; `None` if it
/// begins with none, or if they are no UTF-8.
pub(super) fn unescape(rest: &str) -> Option<(String, &str)> {
    let escape = |at: usize| {
        let digits = rest.get(at..)?.strip_prefix('%')?.get(..2)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    let bytes: Vec<u8> = (0..).step_by("%41".len()).map_while(escape).collect();
    let after = &rest[bytes.len() * "%41".len()..];
    let text = String::from_utf8(bytes).ok().filter(|text| !text.is_empty())?;
    Some((text, after))
}

/// Percent-decoding, once, e.g. `a b` of `a%20b`; `None` if there is nothing to decode.
pub(super) fn decode(text: &str) -> Option<String> {
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

/// The scheme, and the rest from its colon on, e.g. `docs` and `://x`.
fn split(uri: &str) -> Option<(&str, &str)> {
    let at = uri.find(':')?;
    // Parsers take a scheme that blanks stand before or that is broken by a tab.
    let is_part =
        |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c) || c.is_ascii_whitespace();
    uri[..at].chars().all(is_part).then(|| uri.split_at(at))
}

/// The spelling of browsers and many servers; `None` if it is the spelling given.
fn normal(uri: &str) -> Option<String> {
    if is_plain(uri) {
        return None;
    }
    let normal = Url::parse(uri).ok()?.to_string();
    let decoded = decode(&normal);
    let normal = decoded.unwrap_or(normal);
    (normal != uri).then_some(normal)
}

/// Whether a URI is surely normal. Most are, and they are many.
fn is_plain(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once("://") else { return false };
    let is_web = ["http", "https", "ws", "wss", "ftp"].contains(&scheme);
    let end = rest.find('/').unwrap_or(rest.len());
    let is_simple = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+,;=&!$'()*".contains(&byte);
    // Only a file has no host.
    !is_web && rest.bytes().all(is_simple) && (scheme == "file") == (end == 0)
}

/// The path with `.`, `..` and doubled slashes resolved, e.g. `docs://h/b` of `docs://h/a/../b`.
/// `None` if it has none. `has_host` says that the part behind `://` is a host.
fn resolve_dots(uri: &str, has_host: bool) -> Option<String> {
    let start = match uri.find("://") {
        Some(at) => at + "://".len(),
        None => uri.find(':')? + 1,
    };
    let (head, rest) = uri.split_at(start);
    let is_odd = rest.starts_with('.') || rest.contains("/.") || rest.contains("//");
    let is_odd = is_odd || rest.ends_with('/');
    if !is_odd && !rest.contains('\\') {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in rest.split(['/', '\\']) {
        match segment {
            "." | "" if !kept.is_empty() => {}
            ".." if kept.len() > usize::from(has_host) => drop(kept.pop()),
            ".." => {}
            other => kept.push(other),
        }
    }
    let resolved = format!("{head}{}", kept.join("/"));
    (resolved != uri).then_some(resolved)
}
