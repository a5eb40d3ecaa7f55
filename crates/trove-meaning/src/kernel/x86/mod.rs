//! The variants for x86-64: registers of 512 bits, and of 256 bits with and without an
//! instruction for products of bytes.

pub(super) mod avx512;
mod narrow;

pub(super) use narrow::{avx_vnni, avx2};

/// Rows of floats from `first` on. Where fewer are left than a tile is high, the last one stands
/// in. Its repeated results are not stored.
#[inline(always)]
fn floats_of<const COUNT: usize>(
    (left, stride): (&[f32], usize),
    first: usize,
    last: usize,
    depth: usize,
) -> [&[f32]; COUNT] {
    let mut rows: [&[f32]; COUNT] = [&[]; COUNT];
    for (row, place) in rows.iter_mut().zip(first..) {
        *row = &left[place.min(last) * stride..][..depth];
    }
    rows
}

/// Four bytes of a row, as the instructions that take them at once want them.
#[inline(always)]
fn joined(step: &[i8; super::STEP]) -> i32 {
    i32::from_ne_bytes([step[0] as u8, step[1] as u8, step[2] as u8, step[3] as u8])
}
