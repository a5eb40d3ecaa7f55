//! The width and height that the header of an image claims.

use super::{array, u16_le};
use crate::content::kind::ImageFormat;

/// Width and height in pixels.
pub(super) fn size(format: ImageFormat, bytes: &[u8]) -> Option<(u32, u32)> {
    match format {
        ImageFormat::Png => png(bytes),
        ImageFormat::Jpeg => jpeg(bytes),
        ImageFormat::Gif => Some((u16_le(bytes, 6)?.into(), u16_le(bytes, 8)?.into())),
        ImageFormat::Webp => webp(bytes),
    }
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    let number = |at| array(bytes, at).map(u32::from_be_bytes);
    Some((number(16)?, number(20)?))
}

/// Steps from segment to segment; each step goes forward, so the walk ends.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at| array(bytes, at).map(u16::from_be_bytes);
    let mut at = 2_usize;
    loop {
        if *bytes.get(at)? != 0xFF {
            return None;
        }
        match *bytes.get(at + 1)? {
            // A byte of filling.
            0xFF => at += 1,
            // Marks without a segment.
            0x01 | 0xD0..=0xD8 => at += 2,
            // Start of frame, of any kind.
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                return Some((number(at + 7)?.into(), number(at + 5)?.into()));
            }
            // The image data begins, or all ends, before any frame was announced.
            0xDA | 0xD9 => return None,
            _ => at += 2 + usize::from(number(at + 2)?).max(2),
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => {
            let is_key_frame = bytes.get(23..26)? == [0x9D, 0x01, 0x2A];
            let side = |at| u16_le(bytes, at).map(|side| u32::from(side & 0x3FFF));
            is_key_frame.then_some((side(26)?, side(28)?))
        }
        b"VP8L" => {
            let bits = u32::from_le_bytes(array(bytes, 21)?);
            let is_lossless = bytes.get(20) == Some(&0x2F);
            is_lossless.then_some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        b"VP8X" => {
            let side = |at| {
                let [a, b, c] = array(bytes, at)?;
                Some(u32::from_le_bytes([a, b, c, 0]) + 1)
            };
            Some((side(24)?, side(27)?))
        }
        _ => None,
    }
}
