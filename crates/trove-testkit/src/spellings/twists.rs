//! The twists of a spelling: each changes a URI a little, and some parser may not see it.

use crate::numbers::Numbers;

/// Characters to put before, behind or within a URI.
const DROPPED: [&str; 16] = [
    " ", "\t", "\n", "\r", "\r\n", "\0", "\u{1}", "\u{1f}", "\u{b}", "\u{a0}", "\u{feff}",
    "\u{200b}", "\u{ad}", "\u{200d}", "\u{3000}", "\u{2060}",
];
/// Parts of a path that programs resolve.
const RESOLVED: [&str; 18] = [
    "/./",
    "//",
    "/x/../",
    "/%2e/",
    "/x/%2e%2e/",
    "/x/.%2E/",
    "\\",
    "/\\",
    "\\x\\..\\",
    "%2f",
    "%5C",
    "/x/..;/",
    ";a=1/",
    "/.;/",
    "%252f",
    "///",
    "/x%2f..%2f",
    "%2e%2f",
];
/// Marks behind the scheme.
const SLASHES: [&str; 10] =
    [":", ":/", "://", ":///", "::", ":\\\\", ":/\\", ":////", "%3a//", ":%2f%2f"];
/// Marks before a host.
const BEFORE_HOST: [&str; 8] = ["me@", "me:pw@", "@", ":@", "a@b@", "%00@", "%40", "localhost/"];
/// Marks behind a host.
const BEHIND_HOST: [&str; 10] =
    [":", ":80", ":443", ":0443", ".", ".:80", "%2e", "。", ":00000080", ":x"];
/// Marks at the end.
const ENDS: [&str; 20] = [
    "?", "#", "?a=b", "#a", "/", "//", "/.", "/..", ".", "%20", " ", ";", ";a=b", "%00", "%23",
    "%3f", "&", "?a=1&b=2", "/x/..", "::$DATA",
];
/// Other writings of a letter that some programs take for it.
const LETTERS: [(char, &str); 22] = [
    ('s', "ſ"),
    ('k', "\u{212a}"),
    ('i', "ı"),
    ('i', "İ"),
    ('K', "\u{212a}"),
    ('I', "İ"),
    ('I', "ı"),
    ('ß', "ss"),
    ('ß', "ẞ"),
    ('ß', "SS"),
    ('é', "e\u{301}"),
    ('é', "É"),
    ('ü', "u\u{308}"),
    ('ü', "Ü"),
    ('.', "。"),
    ('.', "．"),
    ('/', "／"),
    ('.', "\u{2024}"),
    (':', "："),
    (' ', "+"),
    (' ', "%20"),
    ('é', "%E9"),
];
/// Other writings of the address of this machine.
const ADDRESSES: [&str; 9] = [
    "2130706433",
    "0x7f000001",
    "127.1",
    "0177.0.0.1",
    "127.0.1",
    "0x7f.0.0.1",
    "127.0.0.1.",
    "１２７.0.0.1",
    "017700000001",
];
/// Other writings of the international hosts.
const HOSTS: [(&str, &str); 8] = [
    ("bücher", "xn--bcher-kva"),
    ("bücher", "XN--BCHER-KVA"),
    ("bücher", "BÜCHER"),
    ("bücher", "b%C3%BCcher"),
    ("bücher", "bu\u{308}cher"),
    ("xn--strae-oqa", "straße"),
    ("xn--strae-oqa", "STRASSE"),
    ("xn--strae-oqa", "XN--STRAE-OQA"),
];

/// The spelling with one twist more.
pub(super) fn twist(uri: &str, numbers: &mut Numbers) -> String {
    match numbers.below(18) {
        0 => format!("{}{uri}", pick(&DROPPED, numbers)),
        1 => format!("{uri}{}", pick(&DROPPED, numbers)),
        2 => insert(uri, pick(&DROPPED, numbers), numbers),
        3 => cased(uri, numbers),
        4..=6 => encoded(uri, numbers),
        7 | 8 => resolved(uri, numbers),
        9 => with_slashes(uri, numbers),
        10 => with_authority(uri, numbers),
        11 | 12 => format!("{uri}{}", pick(&ENDS, numbers)),
        13 => with_letters(uri, numbers),
        14 => wide(uri, numbers),
        15 => with_host(uri, numbers),
        16 => wrapped(uri, numbers),
        _ => insert(uri, pick(&RESOLVED, numbers), numbers),
    }
}

fn pick<'a>(all: &[&'a str], numbers: &mut Numbers) -> &'a str {
    all[numbers.below(all.len())]
}

/// A text with another at some place in it.
fn insert(uri: &str, part: &str, numbers: &mut Numbers) -> String {
    let at = place(uri, numbers);
    format!("{}{part}{}", &uri[..at], &uri[at..])
}

/// The beginning of one of the characters.
fn place(uri: &str, numbers: &mut Numbers) -> usize {
    let places: Vec<usize> = uri.char_indices().map(|(at, _)| at).collect();
    places.get(numbers.below(places.len().max(1))).copied().unwrap_or(0)
}

/// The URI with some letters in the other case.
fn cased(uri: &str, numbers: &mut Numbers) -> String {
    match numbers.below(4) {
        0 => uri.to_uppercase(),
        1 => uri.to_lowercase(),
        _ => each(uri, numbers, |c, out| {
            if c.is_uppercase() {
                out.extend(c.to_lowercase())
            } else {
                out.extend(c.to_uppercase())
            }
        }),
    }
}

/// Some characters changed.
fn each(uri: &str, numbers: &mut Numbers, change: impl Fn(char, &mut String)) -> String {
    let rarity = 1 + numbers.below(4);
    let mut out = String::new();
    for c in uri.chars() {
        if numbers.below(rarity) == 0 { change(c, &mut out) } else { out.push(c) }
    }
    out
}

/// Some characters as escapes, perhaps of escapes, perhaps of kinds that few programs know.
fn encoded(uri: &str, numbers: &mut Numbers) -> String {
    let (kind, keeps) = (numbers.below(8), numbers.below(4) != 0);
    each(uri, numbers, |c, out| {
        // Most leave alone what holds a URI together.
        if keeps && ":/?#".contains(c) {
            return out.push(c);
        }
        let mut buffer = [0; 4];
        for byte in c.encode_utf8(&mut buffer).bytes() {
            match kind {
                0 => out.push_str(&format!("%25{byte:02x}")),
                1 => out.push_str(&format!("%{byte:02x}")),
                2 if c.is_ascii() => out.push_str(&format!("%u{:04X}", u32::from(c))),
                3 if c.is_ascii() => {
                    out.push_str(&format!(
                        "%{:02X}%{:02X}",
                        0xc0 | (byte >> 6),
                        0x80 | (byte & 0x3f)
                    ));
                }
                4 => out.push_str(&format!("%2525{byte:02X}")),
                _ => out.push_str(&format!("%{byte:02X}")),
            }
        }
    })
}

/// One slash in a way that is resolved to it.
fn resolved(uri: &str, numbers: &mut Numbers) -> String {
    let slashes: Vec<usize> = uri.match_indices('/').map(|(at, _)| at).collect();
    match slashes.get(numbers.below(slashes.len().max(1))) {
        Some(&at) => format!("{}{}{}", &uri[..at], pick(&RESOLVED, numbers), &uri[at + 1..]),
        None => insert(uri, pick(&RESOLVED, numbers), numbers),
    }
}

fn with_slashes(uri: &str, numbers: &mut Numbers) -> String {
    let Some((scheme, rest)) = uri.split_once(':') else { return uri.to_owned() };
    let rest = rest.trim_start_matches('/');
    format!("{scheme}{}{rest}", pick(&SLASHES, numbers))
}

fn with_authority(uri: &str, numbers: &mut Numbers) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.to_owned() };
    if numbers.below(2) == 0 {
        return format!("{scheme}://{}{rest}", pick(&BEFORE_HOST, numbers));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    format!("{scheme}://{}{}{}", &rest[..end], pick(&BEHIND_HOST, numbers), &rest[end..])
}

/// One kind of letter in another writing.
fn with_letters(uri: &str, numbers: &mut Numbers) -> String {
    let known: Vec<&(char, &str)> = LETTERS.iter().filter(|(c, _)| uri.contains(*c)).collect();
    let Some((from, to)) = known.get(numbers.below(known.len().max(1))) else {
        return uri.to_owned();
    };
    each(uri, numbers, |c, out| if c == *from { out.push_str(to) } else { out.push(c) })
}

/// Some letters in their wide forms.
fn wide(uri: &str, numbers: &mut Numbers) -> String {
    each(uri, numbers, |c, out| {
        let code = u32::from(c);
        let wide = if c.is_ascii_graphic() { char::from_u32(code - 0x21 + 0xff01) } else { None };
        out.push(wide.unwrap_or(c));
    })
}

fn with_host(uri: &str, numbers: &mut Numbers) -> String {
    if uri.contains("127.0.0.1") {
        return uri.replacen("127.0.0.1", pick(&ADDRESSES, numbers), 1);
    }
    if let Some(rest) = uri.strip_prefix("file:///") {
        let hosts = ["localhost", "LOCALHOST", "127.0.0.1", "", "h", "."];
        return format!("file://{}/{rest}", pick(&hosts, numbers));
    }
    let (from, to) = HOSTS[numbers.below(HOSTS.len())];
    uri.replacen(from, to, 1)
}

fn wrapped(uri: &str, numbers: &mut Numbers) -> String {
    match numbers.below(5) {
        0 => format!("url:{uri}"),
        1 => format!("<{uri}>"),
        2 => format!("URL:{uri}"),
        3 => format!("<URL:{uri}>"),
        _ => format!("\"{uri}\""),
    }
}
