//! The loops in which nearly all time is spent, once for each kind of processor.
//!
//! The only module with unsafe code, and only for two things. It calls functions that were compiled
//! for features which [`Isa::detect`] has seen. It moves whole arrays into vector registers and
//! back. Integer results are the same in all variants. Fractions differ in their last bits, because
//! some processors round once where others round twice.

#![allow(
    unsafe_code,
    reason = "vector instructions are chosen while running, which the compiler cannot check"
)]

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::math::RowScale;

/// Output channels that lie side by side in a packed matrix.
pub(crate) const PANEL: usize = 64;
/// Inputs multiplied in one step.
pub(crate) const STEP: usize = 4;
/// Columns of the right factor of [`Isa::product`].
pub(crate) const COLUMNS: usize = 32;
/// The most rows of the left factor of [`Isa::product`].
pub(crate) const TILE: usize = 12;

/// Rows that meet a panel together in the product of integers.
const ROWS: usize = 6;
/// Bytes of one step through such rows.
const ROWS_STEP: usize = ROWS * STEP;
/// Bytes of one step through a panel.
const PANEL_STEP: usize = PANEL * STEP;
/// The number that was added to each stored integer to make it positive.
const OFFSET: i32 = 128;

/// The instructions to use. There is no way to name some that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isa(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kind {
    #[cfg(target_arch = "x86_64")]
    fn detected() -> Vec<Self> {
        let has_avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt");
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        let kinds = [
            (has_avx2, Self::Avx2),
            (has_avx2 && is_x86_feature_detected!("avxvnni"), Self::AvxVnni),
            (has_avx2 && has_avx512, Self::Avx512),
        ];
        kinds.into_iter().filter(|(is_there, _)| *is_there).map(|(_, kind)| kind).collect()
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detected() -> Vec<Self> {
        Vec::new()
    }
}

/// Rows in eight bits, as [`Isa::quantise`] lays them: six together, step by step, the
/// last places unused where fewer are left.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    count: usize,
    integers: &'a [i8],
    scales: &'a [RowScale],
}

impl Rows<'_> {
    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

/// The room for rows in eight bits.
#[derive(Default)]
pub(crate) struct Rounded {
    integers: Vec<i8>,
    scales: Vec<RowScale>,
    row: Vec<i8>,
}

/// Some panels of a matrix in eight bits, with the scale and bias of their channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a> {
    pub(crate) inputs: usize,
    pub(crate) panels: &'a [u8],
    pub(crate) scales: &'a [f32],
    pub(crate) biases: &'a [f32],
}

/// Calls a function of the variant in use.
macro_rules! dispatch {
    ($isa:expr, $function:ident($($argument:expr),*)) => {
        match $isa.0 {
            Kind::Portable => portable::$function($($argument),*),
            // SAFETY: `Kind::detected` names this kind only where the processor has the
            // features its functions were compiled for, and no kind is made elsewhere.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { x86::avx2::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::AvxVnni => unsafe { x86::avx_vnni::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { x86::avx512::$function($($argument),*) },
        }
    };
}

impl Isa {
    /// The fastest this processor has.
    pub(crate) fn detect() -> Self {
        Self::all().pop().unwrap_or(Self(Kind::Portable))
    }

    /// All this processor has, slowest first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self(Kind::Portable)];
        all.extend(Kind::detected().into_iter().map(Self));
        all
    }

    /// Multiplies rows by a matrix and adds the biases.
    pub(crate) fn multiply(self, left: Rows<'_>, matrix: Matrix<'_>, out: &mut [f32]) {
        let channels = matrix.scales.len();
        assert_eq!(matrix.panels.len(), channels * matrix.inputs);
        assert_eq!(matrix.biases.len(), channels);
        assert!(channels.is_multiple_of(PANEL) && matrix.inputs.is_multiple_of(STEP));
        assert_eq!(left.integers.len(), left.scales.len() * matrix.inputs);
        assert_eq!(out.len(), left.count * channels);
        dispatch!(self, multiply(left, matrix, out));
    }

    /// Multiplies at most [`TILE`] rows, `left_stride` apart and as long as `right`, by
    /// `right`, into rows `out_stride` apart.
    pub(crate) fn product(
        self,
        rows: usize,
        (left, left_stride): (&[f32], usize),
        right: &[[f32; COLUMNS]],
        (out, out_stride): (&mut [f32], usize),
    ) {
        assert!((1..=TILE).contains(&rows));
        dispatch!(self, product(rows, (left, left_stride), right, (out, out_stride)));
    }

    /// Rounds each row of `width` numbers to eight bits.
    pub(crate) fn quantise<'r>(
        self,
        width: usize,
        rows: &[f32],
        rounded: &'r mut Rounded,
    ) -> Rows<'r> {
        assert!(width.is_multiple_of(STEP));
        let count = rows.len() / width;
        let padded = count.next_multiple_of(ROWS);
        let Rounded { integers, scales, row } = rounded;
        integers.resize(integers.len().max(padded * width), 0);
        scales.clear();
        scales.resize(padded, RowScale::default());
        row.resize(width, 0);
        let integers = &mut integers[..padded * width];
        dispatch!(self, quantise(rows, integers, &mut scales[..count], row));
        Rows { count, integers, scales }
    }

    /// See [`crate::math::gelu`].
    pub(crate) fn gelu(self, rows: &mut [f32], factors: &[f32]) {
        dispatch!(self, gelu(rows, factors));
    }

    /// Adds `others` to `rows`, then norms each row; see [`crate::math::add_and_norm`].
    pub(crate) fn add_and_norm(
        self,
        rows: &mut [f32],
        others: &[f32],
        gain: &[f32],
        shift: &[f32],
    ) {
        dispatch!(self, add_and_norm(rows, others, gain, shift));
    }

    /// See [`crate::math::soften`].
    pub(crate) fn soften(self, row: &mut [f32], scale: f32) -> f32 {
        dispatch!(self, soften(row, scale))
    }

    /// The product of each stored row, which has 128 added, with the query.
    pub(crate) fn dots<const N: usize>(self, rows: &[[u8; N]], query: &[i8; N], out: &mut [i32]) {
        const { assert!(N.is_multiple_of(64)) };
        assert_eq!(rows.len(), out.len());
        dispatch!(self, dots(rows, query, out));
    }

    /// In how many bits each row differs from the query.
    pub(crate) fn distances<const N: usize>(
        self,
        rows: &[[u64; N]],
        query: &[u64; N],
        out: &mut [u16],
    ) {
        assert_eq!(rows.len(), out.len());
        dispatch!(self, distances(rows, query, out));
    }
}

/// The functions that need no instruction by name: those of `math`, compiled for the features of
/// one variant.
macro_rules! compile_math {
    ($fused:expr $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        pub(in crate::kernel) fn quantise(
            rows: &[f32],
            integers: &mut [i8],
            scales: &mut [crate::math::RowScale],
            row: &mut [i8],
        ) {
            let width = row.len();
            let tiles = integers.chunks_exact_mut(width * $crate::kernel::ROWS);
            let tiles = tiles.zip(scales.chunks_mut($crate::kernel::ROWS));
            for ((tile, scales), numbers) in tiles.zip(rows.chunks(width * $crate::kernel::ROWS)) {
                for (place, scale) in scales.iter_mut().enumerate() {
                    *scale = crate::math::quantise(&numbers[place * width..][..width], row);
                    $crate::kernel::lay(row, place, tile);
                }
            }
        }

        $(#[target_feature(enable = $features)])?
        pub(in crate::kernel) fn gelu(rows: &mut [f32], factors: &[f32]) {
            for row in rows.chunks_exact_mut(factors.len()) {
                crate::math::gelu::<{ $fused }>(row, factors);
            }
        }

        $(#[target_feature(enable = $features)])?
        pub(in crate::kernel) fn add_and_norm(
            rows: &mut [f32],
            others: &[f32],
            gain: &[f32],
            shift: &[f32],
        ) {
            let width = gain.len();
            for (row, other) in rows.chunks_exact_mut(width).zip(others.chunks_exact(width)) {
                crate::math::add_and_norm::<{ $fused }>(row, other, gain, shift);
            }
        }

        $(#[target_feature(enable = $features)])?
        pub(in crate::kernel) fn soften(row: &mut [f32], scale: f32) -> f32 {
            crate::math::soften::<{ $fused }>(row, scale)
        }

        $(#[target_feature(enable = $features)])?
        pub(in crate::kernel) fn distances<const N: usize>(
            rows: &[[u64; N]],
            query: &[u64; N],
            out: &mut [u16],
        ) {
            for (row, out) in rows.iter().zip(out) {
                let bits = row.iter().zip(query).map(|(row, query)| (row ^ query).count_ones());
                *out = bits.sum::<u32>() as u16;
            }
        }
    };
}
use compile_math;

/// Lays a row at its place in each step of its tile.
#[inline(always)]
fn lay(row: &[i8], place: usize, tile: &mut [i8]) {
    for (step, out) in row.as_chunks::<STEP>().0.iter().zip(tile.as_chunks_mut::<ROWS_STEP>().0) {
        out.as_chunks_mut::<STEP>().0[place] = *step;
    }
}

#[cfg(test)]
mod tests;
