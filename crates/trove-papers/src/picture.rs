//! Pictures: what is written beside the pixels, such as a description, a date and a camera.

use std::io::Cursor;

use exif::{Exif, In, Tag, Value};

use crate::{
    Parts,
    markup::{Step, walk},
};

/// The most text of one entry.
const MAX_ENTRY: usize = 2000;
/// The entries of Exif that people ask for.
const TAGS: [(Tag, &str); 10] = [
    (Tag::ImageDescription, "Description"),
    (Tag::UserComment, "Comment"),
    (Tag::Artist, "Artist"),
    (Tag::Copyright, "Copyright"),
    (Tag::DateTimeOriginal, "Taken"),
    (Tag::Make, "Camera made by"),
    (Tag::Model, "Camera"),
    (Tag::LensModel, "Lens"),
    (Tag::GPSLatitude, "Latitude"),
    (Tag::GPSLongitude, "Longitude"),
];
/// The entries of XMP that people ask for.
const WORDS: [(&str, &str); 5] = [
    ("title", "Title"),
    ("description", "Description"),
    ("subject", "Keywords"),
    ("creator", "Creator"),
    ("Headline", "Headline"),
];

pub(crate) fn parts(bytes: &[u8]) -> Result<Parts, String> {
    let mut lines: Vec<String> = Vec::new();
    let read =
        exif::Reader::new().continue_on_error(true).read_from_container(&mut Cursor::new(bytes));
    match read {
        Ok(exif) => from_exif(&exif, &mut lines),
        // Much of it may be sound.
        Err(exif::Error::PartialResult(partial)) => from_exif(&partial.into_inner().0, &mut lines),
        Err(_) => {}
    }
    from_xmp(bytes, &mut lines);
    from_png(bytes, &mut lines);
    let mut unique: Vec<String> = Vec::new();
    for line in lines {
        if !unique.contains(&line) {
            unique.push(line);
        }
    }
    if unique.is_empty() {
        return Err("nothing is written beside its pixels".to_owned());
    }
    let mut parts = Parts::of("section");
    parts.add("", &unique.join("\n"), "");
    Ok(parts)
}

fn push(lines: &mut Vec<String>, name: &str, value: &str) {
    let value = value.split_whitespace().collect::<Vec<&str>>().join(" ");
    let value = value.trim_matches(['\0', '"', ' ']);
    if !value.is_empty() && !value.starts_with('\u{fffd}') {
        let end = value.floor_char_boundary(MAX_ENTRY);
        lines.push(format!("{name}: {}", &value[..end]));
    }
}

fn from_exif(exif: &Exif, lines: &mut Vec<String>) {
    for (tag, name) in TAGS {
        let Some(field) = exif.get_field(tag, In::PRIMARY) else { continue };
        let value = match &field.value {
            Value::Ascii(texts) => texts.iter().map(|text| String::from_utf8_lossy(text)).collect(),
            // Eight bytes tell how the rest is written.
            Value::Undefined(bytes, _) if tag == Tag::UserComment => {
                String::from_utf8_lossy(bytes.get(8..).unwrap_or_default()).into_owned()
            }
            _ => field.display_value().with_unit(exif).to_string(),
        };
        push(lines, name, &value);
    }
}

/// XMP is XML in the middle of a file of any format.
fn from_xmp(bytes: &[u8], lines: &mut Vec<String>) {
    let Some(begin) = find(bytes, b"<x:xmpmeta") else { return };
    let Some(end) = find(&bytes[begin..], b"</x:xmpmeta>") else { return };
    let xml = String::from_utf8_lossy(&bytes[begin..begin + end]);
    let (mut name, mut text) = (None, String::new());
    // The lines before damage are kept.
    let _ = walk(&xml, |step| match step {
        Step::Begin(element) => {
            if let Some((_, shown)) = WORDS.iter().find(|(known, _)| *known == element.name) {
                name = Some(*shown);
                text.clear();
            }
        }
        Step::Text(words) if name.is_some() && text.len() < MAX_ENTRY => {
            if !text.is_empty() && !words.trim().is_empty() {
                text.push_str(", ");
            }
            text.push_str(words.trim());
        }
        Step::End(ended) if WORDS.iter().any(|(known, _)| *known == ended) => {
            if let Some(name) = name.take() {
                push(lines, name, &text);
            }
        }
        Step::End(_) | Step::Text(_) => {}
    });
}

/// The plain texts of a PNG: a name, a zero byte, a text.
fn from_png(bytes: &[u8], lines: &mut Vec<String>) {
    let Some(mut rest) = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n") else { return };
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(content) = after.get(..length) else { return };
        if &head[4..] == b"tEXt"
            && let Some(at) = content.iter().position(|byte| *byte == 0)
        {
            let (name, _, _) = encoding_rs::WINDOWS_1252.decode(&content[..at]);
            let (text, _, _) = encoding_rs::WINDOWS_1252.decode(&content[at + 1..]);
            push(lines, &name, &text);
        }
        // A checksum of four bytes follows.
        rest = after.get(length + 4..).unwrap_or_default();
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
