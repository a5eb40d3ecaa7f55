//! Finds what matters in a JSON string, many bytes at a time.

use wide::u8x16;

/// How many bytes are compared at a time.
const PART: usize = 16;
/// How many are looked at together: few enough that a short string costs little.
const BLOCK: usize = 2 * PART;
/// After so many looks at nothing, so many bytes are passed over together.
const PATIENCE: usize = 3;
const STRETCH: usize = 8 * PART;

/// The places of the bytes that may not stand in a JSON string as they are, in order: quotes,
/// backslashes and control characters.
pub(crate) struct Marks<'a> {
    bytes: &'a [u8],
    /// Where the bytes begin that were not looked at.
    next: usize,
    /// Where those begin that were looked at last.
    base: usize,
    /// One bit for each of those that is such a byte and was not given yet.
    found: u32,
}

impl Marks<'_> {
    /// Those from `start` on.
    pub(crate) fn from(bytes: &[u8], start: usize) -> Marks<'_> {
        Marks { bytes, next: start, base: start, found: 0 }
    }

    /// Looks at the bytes that come next; false when there are no more.
    fn look(&mut self) -> bool {
        let mut rest = self.bytes.get(self.next..).unwrap_or_default();
        for _ in 0..PATIENCE {
            self.base = self.next;
            let Some((block, after)) = rest.split_first_chunk::<BLOCK>() else {
                self.found = marks_in(&padded(rest));
                self.next += rest.len();
                return !rest.is_empty();
            };
            self.found = marks_in(block);
            self.next += BLOCK;
            rest = after;
            if self.found != 0 {
                return true;
            }
        }
        self.skip();
        true
    }

    /// Passes over what has none: where some blocks have none, the next ones often have none
    /// either, as in base64.
    fn skip(&mut self) {
        let rest = self.bytes.get(self.next..).unwrap_or_default();
        let (stretches, _) = rest.as_chunks::<STRETCH>();
        let without = stretches.iter().take_while(|stretch| !has_marks(stretch));
        self.next += STRETCH * without.count();
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            if !self.look() {
                return None;
            }
        }
        let at = self.base + self.found.trailing_zeros() as usize;
        self.found &= self.found - 1;
        Some(at)
    }
}

/// Where the quote stands that ends a string, if it comes soon and nothing else is to be marked
/// before it.
pub(super) fn short_end(bytes: &[u8]) -> Option<usize> {
    let block = bytes.first_chunk::<BLOCK>()?;
    let first = marks_in(block).trailing_zeros() as usize;
    (block.get(first) == Some(&b'"')).then_some(first)
}

/// The last few bytes as a block.
fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// One bit for each byte that is to be marked. In a function of its own: where the bits are
/// used at once, the compiler takes the comparisons apart again, byte by byte.
#[inline(never)]
fn marks_in(block: &[u8; BLOCK]) -> u32 {
    let (parts, _) = block.as_chunks::<PART>();
    marked(parts[0]).to_bitmask() | marked(parts[1]).to_bitmask() << PART
}

fn has_marks(stretch: &[u8; STRETCH]) -> bool {
    let (parts, _) = stretch.as_chunks::<PART>();
    parts.iter().fold(u8x16::ZERO, |any, part| any | marked(*part)).any()
}

/// All bits of the bytes that are to be marked, and none of the others.
fn marked(part: [u8; PART]) -> u8x16 {
    let bytes = u8x16::new(part);
    let is_control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    let is_quote = bytes.simd_eq(u8x16::splat(b'"'));
    let is_backslash = bytes.simd_eq(u8x16::splat(b'\\'));
    is_control | is_quote | is_backslash
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_mark_is_found_and_nothing_else(
            bytes in proptest::collection::vec(prop_oneof![20 => Just(b'a'), 1 => any::<u8>()], 0..400),
            start in 0usize..410,
        ) {
            let is_mark = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
            let expect: Vec<usize> =
                (start.min(bytes.len())..bytes.len()).filter(|at| is_mark(&bytes[*at])).collect();
            prop_assert_eq!(Marks::from(&bytes, start).collect::<Vec<_>>(), expect);
        }
    }
}
