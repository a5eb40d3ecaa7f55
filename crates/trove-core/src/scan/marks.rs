//! Finds what matters in a JSON string, many bytes at a time.

use std::borrow::Cow;

use wide::u8x16;

/// How many bytes are compared at a time.
const PART: usize = 16;
/// How many are looked at first: few enough that a short string costs little.
const FEW: usize = 2 * PART;
/// How many are looked at together, with a bit for each in a number.
const BLOCK: usize = 4 * PART;
/// So many are passed over together where nothing is to be marked.
const STRETCH: usize = 8 * PART;

/// The blocks of a text, the last one filled up with blanks.
pub(crate) struct Blocks<'a> {
    rest: &'a [u8],
}

impl<'a> Blocks<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Blocks<'a> {
        Blocks { rest: bytes }
    }

    /// Passes over what has no mark, as far as that goes quickly; how many bytes that were.
    pub(crate) fn pass_plain(&mut self) -> usize {
        let (stretches, _) = self.rest.as_chunks::<STRETCH>();
        let len = STRETCH * stretches.iter().take_while(|stretch| !has_marks(stretch)).count();
        self.rest = &self.rest[len..];
        len
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Cow<'a, [u8; BLOCK]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some((block, rest)) = self.rest.split_first_chunk() {
            self.rest = rest;
            return Some(Cow::Borrowed(block));
        }
        let last = std::mem::take(&mut self.rest);
        (!last.is_empty()).then(|| {
            let mut block = [b' '; BLOCK];
            block[..last.len()].copy_from_slice(last);
            Cow::Owned(block)
        })
    }
}

/// The marks of a block, one bit for each byte.
pub(super) struct Seen {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    pub(super) has_controls: bool,
}

impl Seen {
    /// In a function of its own, as all here: where the bits are used at once, the compiler takes
    /// the comparisons apart again, byte by byte.
    #[inline(never)]
    pub(super) fn in_block(block: &[u8; BLOCK]) -> Seen {
        let equal = |byte| bits(block, |part| part.simd_eq(u8x16::splat(byte)));
        let (quotes, backslashes) = (equal(b'"'), equal(b'\\'));
        let (parts, _) = block.as_chunks::<PART>();
        let controls =
            parts.iter().fold(u8x16::ZERO, |all, part| all | is_control(u8x16::new(*part)));
        Seen { quotes, backslashes, has_controls: controls.any() }
    }
}

/// One bit for each byte that is this one.
#[inline(never)]
pub(crate) fn places(block: &[u8; BLOCK], byte: u8) -> u64 {
    bits(block, |part| part.simd_eq(u8x16::splat(byte)))
}

/// One bit for each byte of which `test` gives all.
#[inline(always)]
fn bits(bytes: &[u8], test: impl Fn(u8x16) -> u8x16) -> u64 {
    let (parts, _) = bytes.as_chunks::<PART>();
    let tested = parts.iter().map(|part| test(u8x16::new(*part)).to_bitmask());
    tested.rev().fold(0, |bits, part| bits << PART | u64::from(part))
}

/// Tells in block after block which bytes a backslash before them escapes.
#[derive(Default)]
pub(crate) struct Escapes {
    /// The next block begins with such a byte.
    pub(crate) is_begun: bool,
}

impl Escapes {
    /// One bit for each such byte of the next block, given those of its backslashes.
    #[inline]
    pub(crate) fn next(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let begun = u64::from(self.is_begun);
        if backslashes | begun == 0 {
            return 0;
        }
        // Of a run of backslashes every second one is escaped, and what follows it if it is odd.
        // Where a run ends is told by adding it to itself: the carry goes on to its end.
        let runs = backslashes & !begun;
        let follow = runs << 1 | begun;
        let from_odd = runs & ODD & !follow;
        let (ends, is_begun) = runs.overflowing_add(from_odd);
        self.is_begun = is_begun;
        (!ODD ^ ends << 1) & follow
    }
}

/// The bits of the first `len` bytes of a block.
pub(super) fn below(len: usize) -> u64 {
    u64::MAX.checked_shr((BLOCK - len) as u32).unwrap_or_default()
}

/// The places of the bits that are set.
pub(crate) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.checked_sub(1)?;
        Some(place)
    })
}

/// Where the quote stands that ends a string, if it comes soon and nothing else is to be marked
/// before it.
pub(super) fn short_end(bytes: &[u8]) -> Option<usize> {
    let few = bytes.first_chunk()?;
    let first = marks_in_few(few).trailing_zeros() as usize;
    (few.get(first) == Some(&b'"')).then_some(first)
}

/// Whether every byte may stand in a JSON string as it is.
pub(crate) fn is_plain(bytes: &[u8]) -> bool {
    let mut blocks = Blocks::of(bytes);
    blocks.pass_plain();
    blocks.all(|block| marks_in(&block) == 0)
}

/// One bit for each byte that may not stand in a JSON string as it is: quotes, backslashes and
/// control characters.
#[inline(never)]
pub(crate) fn marks_in(block: &[u8; BLOCK]) -> u64 {
    bits(block, marked)
}

#[inline(never)]
fn marks_in_few(few: &[u8; FEW]) -> u64 {
    bits(few, marked)
}

fn has_marks(stretch: &[u8; STRETCH]) -> bool {
    let (parts, _) = stretch.as_chunks::<PART>();
    parts.iter().fold(u8x16::ZERO, |any, part| any | marked(u8x16::new(*part))).any()
}

/// All bits of the bytes that are to be marked, and none of the others.
fn marked(bytes: u8x16) -> u8x16 {
    let is_quote = bytes.simd_eq(u8x16::splat(b'"'));
    let is_backslash = bytes.simd_eq(u8x16::splat(b'\\'));
    is_control(bytes) | is_quote | is_backslash
}

fn is_control(bytes: u8x16) -> u8x16 {
    bytes.min(u8x16::splat(0x1f)).simd_eq(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_mark(byte: u8) -> bool {
        byte < 0x20 || matches!(byte, b'"' | b'\\')
    }

    proptest! {
        #[test]
        fn every_mark_is_found_and_nothing_else(
            bytes in proptest::collection::vec(prop_oneof![200 => Just(b'a'), 1 => any::<u8>()], 0..400),
        ) {
            prop_assert_eq!(is_plain(&bytes), !bytes.iter().any(|byte| is_mark(*byte)));
            for block in Blocks::of(&bytes) {
                let expect = (0..BLOCK).filter(|at| is_mark(block[*at])).fold(0, |bits, at| bits | 1 << at);
                prop_assert_eq!(marks_in(&block), expect);
            }
        }

        #[test]
        fn what_a_backslash_escapes_is_told_across_blocks(
            text in r#"([a-z]{0,70}|\\{1,9}|["\n\\]){0,40}"#,
        ) {
            let bytes = text.as_bytes();
            let mut is_escaped = vec![false; bytes.len() + 1];
            for at in 0..bytes.len() {
                is_escaped[at + 1] = bytes[at] == b'\\' && !is_escaped[at];
            }
            let mut escapes = Escapes::default();
            for (number, block) in Blocks::of(bytes).enumerate() {
                let seen = Seen::in_block(&block);
                let escaped = escapes.next(seen.backslashes);
                for bit in 0..BLOCK {
                    let at = number * BLOCK + bit;
                    let byte = bytes.get(at).copied().unwrap_or(b' ');
                    let has = |bits: u64| bits >> bit & 1 == 1;
                    prop_assert_eq!(has(seen.quotes), byte == b'"');
                    prop_assert_eq!(has(places(&block, b'x')), byte == b'x');
                    prop_assert_eq!(has(escaped), is_escaped.get(at) == Some(&true));
                }
                prop_assert_eq!(seen.has_controls, block.iter().any(|byte| *byte < 0x20));
            }
        }
    }
}
