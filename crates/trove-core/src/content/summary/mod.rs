//! Facts about a binary without opening it: size, digest, and its headers.

mod image;
mod pdf;
mod tar;
mod zip;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::{
    escape::escape_line,
    kind::{Form, ImageFormat, Kind},
};
use crate::hex::hex;

/// The most entries of an archive that are listed.
pub const MAX_ARCHIVE_ENTRIES: usize = 100;

/// The most bytes of an entry's name that are shown.
const MAX_ENTRY_NAME: usize = 256;

/// Width and height of an image in pixels, as far as its head tells.
pub fn image_size(format: ImageFormat, bytes: &[u8]) -> Option<(u32, u32)> {
    image::size(format, bytes)
}

/// Describes contents as `{kind, mimeType, size, sha256}` and members of their headers, e.g.
/// `width`. Takes linear time and decompresses nothing.
pub fn summarise(bytes: &[u8], kind: &Kind) -> Value {
    let mut told = Map::new();
    told.insert("kind".into(), word(kind, bytes).into());
    told.insert("mimeType".into(), kind.mime.as_ref().into());
    told.insert("size".into(), bytes.len().into());
    told.insert("sha256".into(), hex(digest(&SHA256, bytes).as_ref()).into());
    if let Form::Image(format) = kind.form
        && let Some((width, height)) = image::size(format, bytes)
    {
        told.insert("width".into(), width.into());
        told.insert("height".into(), height.into());
    } else if kind.mime == "application/pdf" {
        if let Some(pages) = pdf::page_count(bytes) {
            told.insert("pages".into(), pages.into());
        }
    } else if is_gzip(bytes) {
        told.extend(gzip(bytes));
    } else if let Some(listing) = listing(bytes) {
        told.extend(listing.into_members());
    }
    Value::Object(told)
}

/// One word for what it is, e.g. `archive`.
fn word(kind: &Kind, bytes: &[u8]) -> &'static str {
    let top = kind.mime.split('/').next().unwrap_or_default();
    match (kind.form, top) {
        (Form::Json, _) => "json",
        (Form::Text, _) => "text",
        (Form::Image(_), _) | (_, "image") => "image",
        (_, "audio") => "audio",
        (_, "video") => "video",
        (_, "font") => "font",
        _ if kind.mime == "application/pdf" => "pdf",
        _ if is_archive(&kind.mime) || is_gzip(bytes) => "archive",
        // Office documents, books and programs are zips too, but not to their users.
        _ if zip::is_zip(bytes) => "document",
        _ => "binary",
    }
}

fn is_archive(mime: &str) -> bool {
    const ARCHIVES: [&str; 10] = [
        "application/zip",
        "application/x-zip-compressed",
        "application/java-archive",
        "application/x-tar",
        "application/gzip",
        "application/x-7z-compressed",
        "application/vnd.rar",
        "application/x-bzip2",
        "application/x-xz",
        "application/zstd",
    ];
    ARCHIVES.contains(&mime)
}

/// The entries that an archive claims to hold.
#[derive(Debug, Default, PartialEq)]
struct Listing {
    entries: Vec<Entry>,
    /// How many entries there are, listed or not.
    count: u64,
    /// Their sizes together, as the archive claims them.
    total: u64,
    /// The archive ends before its last entry does.
    is_cut: bool,
}

/// One entry of an archive.
#[derive(Debug, PartialEq)]
struct Entry {
    name: String,
    size: u64,
}

impl Listing {
    /// Counts an entry, and lists it while there is room.
    fn add(&mut self, name: &[u8], size: u64) {
        self.count += 1;
        self.total = self.total.saturating_add(size);
        if self.entries.len() < MAX_ARCHIVE_ENTRIES {
            let name = &name[..name.len().min(MAX_ENTRY_NAME)];
            let name = escape_line(&String::from_utf8_lossy(name)).into_owned();
            self.entries.push(Entry { name, size });
        }
    }

    fn into_members(self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("entryCount".into(), self.count.into());
        members.insert("totalSize".into(), self.total.into());
        let is_whole = self.entries.len() as u64 == self.count && !self.is_cut;
        let entry = |entry: Entry| json!({ "name": entry.name, "size": entry.size });
        members.insert("entries".into(), self.entries.into_iter().map(entry).collect());
        if !is_whole {
            members.insert("truncated".into(), true.into());
        }
        members
    }
}

fn listing(bytes: &[u8]) -> Option<Listing> {
    if zip::is_zip(bytes) { zip::list(bytes) } else { tar::list(bytes) }
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1F, 0x8B, 8])
}

/// Facts from the first header and the last bytes of a gzip. The size is modulo 4 GiB, and that of
/// the last member if there are several.
fn gzip(bytes: &[u8]) -> Map<String, Value> {
    const HAS_EXTRA: u8 = 4;
    const HAS_NAME: u8 = 8;
    const SHORTEST: usize = 18;
    let mut members = Map::new();
    if bytes.len() < SHORTEST {
        return members;
    }
    if let Some(size) = u32_le(bytes, bytes.len() - 4) {
        members.insert("originalSize".into(), size.into());
    }
    let extra = match bytes[3] & HAS_EXTRA {
        0 => 0,
        _ => u16_le(bytes, 10).map_or(0, |length| usize::from(length) + 2),
    };
    let rest = bytes.get(10 + extra..).unwrap_or_default();
    let name = &rest[..rest.len().min(MAX_ENTRY_NAME)];
    if bytes[3] & HAS_NAME != 0
        && let Some(end) = memchr::memchr(0, name)
    {
        let name = escape_line(&String::from_utf8_lossy(&name[..end])).into_owned();
        members.insert("originalName".into(), name.into());
    }
    members
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}
