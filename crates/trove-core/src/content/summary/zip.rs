//! The central directory of a zip: names and sizes, nothing decompressed.

use memchr::memmem;

use super::{Listing, u16_le, u32_le, u64_le};

/// A comment at the end can be as long as this, and the end record before it.
const MAX_END: usize = 0xFFFF + END_BYTES;
const END_BYTES: usize = 22;
const ENTRY_BYTES: usize = 46;

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const ENTRY: &[u8] = b"PK\x01\x02";

/// Whether bytes begin like a zip.
pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(END)
}

/// The entries of the central directory. Each step goes forward by a whole record, so the walk is
/// linear even if the sizes lie.
pub(super) fn list(bytes: &[u8]) -> Option<Listing> {
    let (start, end) = directory(bytes)?;
    let mut listing = Listing::default();
    let mut at = start;
    while at < end && bytes.get(at..at + ENTRY.len()) == Some(ENTRY) {
        let (Some(size), Some(name), Some(extra), Some(comment)) = (
            u32_le(bytes, at + 24),
            u16_le(bytes, at + 28),
            u16_le(bytes, at + 30),
            u16_le(bytes, at + 32),
        ) else {
            break;
        };
        let name_end = at + ENTRY_BYTES + usize::from(name);
        let extra_end = name_end + usize::from(extra);
        let (Some(name), Some(extra)) =
            (bytes.get(at + ENTRY_BYTES..name_end), bytes.get(name_end..extra_end))
        else {
            break;
        };
        let size = match size {
            u32::MAX => size_64(extra).unwrap_or(size.into()),
            _ => size.into(),
        };
        listing.add(name, size);
        at = extra_end + usize::from(comment);
    }
    listing.is_cut = at < end;
    Some(listing)
}

/// Where the central directory begins and ends. Its size is believed before its offset,
/// because something may stand before the archive, such as a program that unpacks it.
fn directory(bytes: &[u8]) -> Option<(usize, usize)> {
    let tail = bytes.len().saturating_sub(MAX_END);
    let mut end = tail + memmem::rfind(&bytes[tail..], END)?;
    let (mut size, mut offset) =
        (u64::from(u32_le(bytes, end + 12)?), u64::from(u32_le(bytes, end + 16)?));
    if let Some(locator) = end.checked_sub(20)
        && bytes[locator..].starts_with(LOCATOR_64)
    {
        let at = usize::try_from(u64_le(bytes, locator + 8)?).ok()?;
        if bytes.get(at..at.checked_add(4)?)? == END_64 {
            (size, offset, end) = (u64_le(bytes, at + 40)?, u64_le(bytes, at + 48)?, at);
        }
    }
    let size = usize::try_from(size).ok()?;
    let offset = usize::try_from(offset).ok()?;
    let is_start = |at: usize| size == 0 || bytes.get(at..at.saturating_add(4)) == Some(ENTRY);
    let by_size = end.checked_sub(size).filter(|at| is_start(*at));
    let start = by_size.or(Some(offset).filter(|at| *at <= end && is_start(*at)))?;
    Some((start, end.min(start.saturating_add(size))))
}

/// The true size, where it stands among the extra fields.
fn size_64(extra: &[u8]) -> Option<u64> {
    let mut at = 0;
    loop {
        let (id, length) = (u16_le(extra, at)?, u16_le(extra, at + 2)?);
        if id == 1 {
            return u64_le(extra, at + 4);
        }
        at += 4 + usize::from(length);
    }
}
