//! Registers of 512 bits, with the instruction for products of bytes.
//!
//! A tile is six rows by 64 channels: 24 sums, four weights and a step fill the 32
//! registers.

use std::arch::x86_64::{
    __m512, __m512i, _mm512_add_epi32, _mm512_cvtepi32_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_reduce_add_epi32, _mm512_set1_epi32,
    _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps,
};

use super::super::{COLUMNS, Matrix, OFFSET, PANEL, PANEL_STEP, ROWS, ROWS_STEP, Rows, TILE};
use super::{floats_of, joined};

const BYTES: usize = 64;
const FLOATS: usize = 16;
/// Registers that hold one number for each channel of a panel.
const WIDE: usize = PANEL / FLOATS;
const HALVES: usize = COLUMNS / FLOATS;

super::super::compile_math!(true, "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,popcnt");

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,popcnt")]
pub(in crate::kernel) fn multiply(left: Rows<'_>, matrix: Matrix<'_>, out: &mut [f32]) {
    let inputs = matrix.inputs;
    let channels = matrix.scales.len();
    for (number, panel) in matrix.panels.chunks_exact(PANEL * inputs).enumerate() {
        let channel = number * PANEL;
        let tiles = left.integers.chunks_exact(ROWS * inputs).zip(left.scales.chunks_exact(ROWS));
        for (tile, (integers, scales)) in tiles.enumerate() {
            let mut sums = [[_mm512_setzero_si512(); WIDE]; ROWS];
            for (sums, scale) in sums.iter_mut().zip(scales) {
                *sums = [_mm512_set1_epi32(-OFFSET * scale.sum); WIDE];
            }
            add_products(integers, panel, &mut sums);
            // The last places of the last tile hold no row, and have none to go to.
            let rows = out[tile * ROWS * channels..].chunks_exact_mut(channels);
            for ((sums, scale), row) in sums.iter().zip(scales).zip(rows) {
                let step = _mm512_set1_ps(scale.step);
                for (wide, sum) in sums.iter().enumerate() {
                    let from = channel + wide * FLOATS;
                    let scale = _mm512_mul_ps(load_floats(&matrix.scales[from..]), step);
                    let bias = load_floats(&matrix.biases[from..]);
                    let sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(*sum), scale, bias);
                    store_floats(&mut row[from..], sum);
                }
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,popcnt")]
fn add_products(integers: &[i8], panel: &[u8], sums: &mut [[__m512i; WIDE]; ROWS]) {
    let steps = integers.as_chunks::<ROWS_STEP>().0.iter();
    for (rows, weights) in steps.zip(panel.as_chunks::<PANEL_STEP>().0) {
        let mut wide = [_mm512_setzero_si512(); WIDE];
        for (wide, weights) in wide.iter_mut().zip(weights.as_chunks().0) {
            *wide = load_bytes(weights);
        }
        for (sums, row) in sums.iter_mut().zip(rows.as_chunks().0) {
            let number = _mm512_set1_epi32(joined(row));
            for (sum, weights) in sums.iter_mut().zip(wide) {
                *sum = _mm512_dpbusd_epi32(*sum, weights, number);
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,popcnt")]
pub(in crate::kernel) fn product(
    rows: usize,
    left: (&[f32], usize),
    right: &[[f32; COLUMNS]],
    (out, out_stride): (&mut [f32], usize),
) {
    let left: [&[f32]; TILE] = floats_of(left, 0, rows - 1, right.len());
    let mut sums = [[_mm512_setzero_ps(); HALVES]; TILE];
    for (depth, others) in right.iter().enumerate() {
        let others = [load_floats(&others[..]), load_floats(&others[FLOATS..])];
        for (sums, row) in sums.iter_mut().zip(left) {
            let number = _mm512_set1_ps(row[depth]);
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = _mm512_fmadd_ps(number, other, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate().take(rows) {
        let out = &mut out[row * out_stride..][..COLUMNS];
        store_floats(out, sums[0]);
        store_floats(&mut out[FLOATS..], sums[1]);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,popcnt")]
pub(in crate::kernel) fn dots<const N: usize>(rows: &[[u8; N]], query: &[i8; N], out: &mut [i32]) {
    let shift = OFFSET * query.iter().map(|number| i32::from(*number)).sum::<i32>();
    let query = query.map(i8::cast_unsigned);
    let query = query.as_chunks::<BYTES>().0;
    for (row, out) in rows.iter().zip(out) {
        let mut sums = [_mm512_setzero_si512(); 2];
        for (place, (stored, query)) in row.as_chunks::<BYTES>().0.iter().zip(query).enumerate() {
            let sum = &mut sums[place % 2];
            *sum = _mm512_dpbusd_epi32(*sum, load_bytes(stored), load_bytes(query));
        }
        *out = _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1])) - shift;
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; BYTES]) -> __m512i {
    // SAFETY: the array is as long as a register, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_floats(floats: &[f32]) -> __m512 {
    let floats: &[f32] = &floats[..FLOATS];
    // SAFETY: the slice was just cut to the length of a register; no alignment is needed.
    unsafe { _mm512_loadu_ps(floats.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_floats(floats: &mut [f32], from: __m512) {
    let floats: &mut [f32] = &mut floats[..FLOATS];
    // SAFETY: the slice was just cut to the length of a register; no alignment is needed.
    unsafe { _mm512_storeu_ps(floats.as_mut_ptr(), from) }
}
