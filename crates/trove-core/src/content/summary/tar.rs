//! The headers of a tar: names and sizes.

use super::Listing;

const BLOCK: usize = 512;

/// The longest record that may hold the name of the entry after it.
const MAX_LONG_NAME: usize = 64 * 1024;

/// The entries that the headers name; `None` if the first block is no header. Each step goes
/// forward by a whole block.
pub(super) fn list(bytes: &[u8]) -> Option<Listing> {
    let mut listing = Listing::default();
    let mut long_name: Option<Vec<u8>> = None;
    let mut at = 0_usize;
    while let Some(header) = bytes.get(at..at + BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            // The end is marked by a block of zeros.
            return (at > 0).then_some(listing);
        }
        if !is_header(header) {
            if at == 0 {
                return None;
            }
            break;
        }
        let size = number(&header[124..136]);
        let body = bytes.get(at + BLOCK..).unwrap_or_default();
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let body = &body[..body.len().min(length)];
        match header[156] {
            b'L' if body.len() <= MAX_LONG_NAME => long_name = Some(until_zero(body).to_vec()),
            b'x' if body.len() <= MAX_LONG_NAME => long_name = pax_path(body).or(long_name),
            b'L' | b'x' | b'g' | b'K' => {}
            _ => {
                let name = long_name.take().unwrap_or_else(|| name(header));
                listing.add(&name, size);
            }
        }
        at = at.saturating_add(BLOCK).saturating_add(length.div_ceil(BLOCK).saturating_mul(BLOCK));
        if at > bytes.len() {
            break;
        }
    }
    if at == 0 {
        return None;
    }
    listing.is_cut = true;
    Some(listing)
}

/// Every header holds the sum of its bytes, its own field counted as blanks.
fn is_header(header: &[u8]) -> bool {
    let claimed = number(&header[148..156]);
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    claimed == sum(&header[..148]) + 8 * u64::from(b' ') + sum(&header[156..])
}

fn name(header: &[u8]) -> Vec<u8> {
    let name = until_zero(&header[..100]);
    let prefix = until_zero(&header[345..500]);
    let has_prefix = &header[257..263] == b"ustar\0" && !prefix.is_empty();
    if has_prefix { [prefix, b"/", name].concat() } else { name.to_vec() }
}

/// A number in octal digits, e.g. 420 for `644`, or past 8 GiB in binary with the first bit set.
fn number(field: &[u8]) -> u64 {
    if let Some((first, rest)) = field.split_first()
        && first & 0x80 != 0
    {
        let low = u64::from(first & 0x7F);
        return rest
            .iter()
            .fold(low, |n, byte| n.saturating_mul(256).saturating_add(u64::from(*byte)));
    }
    let digits = field.iter().skip_while(|byte| **byte == b' ');
    let digits = digits.take_while(|byte| matches!(byte, b'0'..=b'7'));
    digits.fold(0, |n, digit| n.saturating_mul(8).saturating_add(u64::from(digit - b'0')))
}

fn until_zero(field: &[u8]) -> &[u8] {
    &field[..memchr::memchr(0, field).unwrap_or(field.len())]
}

/// The `path` of a list of `length key=value\n`, e.g. `a/b` of `12 path=a/b\n`.
fn pax_path(mut body: &[u8]) -> Option<Vec<u8>> {
    loop {
        let blank = memchr::memchr(b' ', body)?;
        let length: usize = std::str::from_utf8(&body[..blank]).ok()?.parse().ok()?;
        let record = body.get(blank + 1..length)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            return Some(path.strip_suffix(b"\n").unwrap_or(path).to_vec());
        }
        body = &body[length..];
    }
}
