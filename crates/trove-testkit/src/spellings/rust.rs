//! The readings of a server in Rust: the crate `url`, then what is done with a path.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization as _;
use url::Url;

use super::{PROTECTED, parsers::Readings};

/// How often a path is decoded by a chain of programs that each decode it.
const MAX_DECODINGS: usize = 4;

pub(super) fn readings(spellings: &[String]) -> Readings {
    let mut known: HashMap<String, &str> = HashMap::new();
    for protected in &PROTECTED {
        known.extend(keys(protected.name).into_iter().map(|key| (key, protected.name)));
    }
    let mut readings = Readings::new();
    for (place, spelling) in spellings.iter().enumerate() {
        let mut names = HashSet::new();
        for key in keys(spelling) {
            if let Some(name) = known.get(&key).filter(|name| names.insert(**name)) {
                readings.entry(place).or_default().push(((*name).to_owned(), key));
            }
        }
    }
    readings
}

/// All that servers may take a URI for, each with the way it was read before it.
fn keys(uri: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let before = [uri.to_owned(), uri.trim().to_owned(), decode(uri), uri.replace('\\', "/")];
    let mut seen = HashSet::new();
    for text in before.iter().filter(|text| seen.insert(text.as_str())) {
        let Ok(url) = Url::parse(text) else { continue };
        let host = url.host_str().unwrap_or_default();
        let place = format!("{}|{host}|", url.scheme());
        let query = url.query().is_some();
        for (name, value) in url.query_pairs() {
            keys.push(format!("query:{place}{}|{name}={value}", url.path()));
            keys.push(format!("query:{place}{}|{}", url.path(), fold(&format!("{name}={value}"))));
        }
        // Of a name with a query the path alone says nothing.
        if query && url.scheme() == "api" {
            continue;
        }
        if let Ok(path) = url.to_file_path() {
            keys.push(format!("file:{}", path.display()));
        }
        let mut path = url.path().to_owned();
        keys.push(format!("path:{place}{path}"));
        for _ in 0..MAX_DECODINGS {
            path = decode(&path);
            keys.push(format!("path:{place}{path}"));
        }
        keys.push(format!("clean:{place}{}", clean(&path)));
        keys.push(format!("fold:{}{}", fold(&place), fold(&clean(&path))));
        let whole = format!("{}/{path}", decode(host));
        keys.push(format!("whole:{}|{}", url.scheme(), fold(clean(&whole).trim_matches('/'))));
    }
    keys
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// A path with its dots resolved, backslashes turned and parameters left out.
fn clean(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        let segment = segment.split(';').next().unwrap_or_default();
        match segment.trim_end_matches(['.', ' ', '\0']) {
            "" if segment.starts_with("..") => drop(kept.pop()),
            "" => {}
            name => kept.push(name),
        }
    }
    format!("/{}", kept.join("/"))
}

fn fold(text: &str) -> String {
    let lower: String =
        text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    lower.replace('ß', "ss").nfkc().collect()
}
