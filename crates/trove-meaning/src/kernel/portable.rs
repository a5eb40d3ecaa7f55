//! The variant that runs everywhere, and says what the others must give.

use super::{COLUMNS, Matrix, OFFSET, PANEL, PANEL_STEP, ROWS, ROWS_STEP, Rows, STEP};

// Wherever this is more than a fallback, a processor multiplies and adds in one step.
#[cfg(target_arch = "aarch64")]
super::compile_math!(true);
#[cfg(not(target_arch = "aarch64"))]
super::compile_math!(false);

pub(super) fn multiply(left: Rows<'_>, matrix: Matrix<'_>, out: &mut [f32]) {
    let inputs = matrix.inputs;
    let channels = matrix.scales.len();
    for (number, panel) in matrix.panels.chunks_exact(PANEL * inputs).enumerate() {
        let first = number * PANEL;
        let scales = &matrix.scales[first..][..PANEL];
        let biases = &matrix.biases[first..][..PANEL];
        for row in 0..left.count {
            let tile = &left.integers[row / ROWS * ROWS * inputs..][..ROWS * inputs];
            let mut sums = [-OFFSET * left.scales[row].sum; PANEL];
            for (step, weights) in tile.as_chunks::<ROWS_STEP>().0.iter().zip(panel.as_chunks().0) {
                add_step(&mut sums, step.as_chunks().0[row % ROWS], weights);
            }
            let out = &mut out[row * channels + first..][..PANEL];
            for (((out, sum), scale), bias) in out.iter_mut().zip(sums).zip(scales).zip(biases) {
                *out = sum as f32 * (left.scales[row].step * scale) + bias;
            }
        }
    }
}

#[inline(always)]
fn add_step(sums: &mut [i32; PANEL], step: [i8; STEP], weights: &[u8; PANEL_STEP]) {
    for (sum, weights) in sums.iter_mut().zip(weights.as_chunks::<STEP>().0) {
        for (number, weight) in step.iter().zip(weights) {
            *sum += i32::from(*number) * i32::from(*weight);
        }
    }
}

pub(super) fn product(
    rows: usize,
    (left, left_stride): (&[f32], usize),
    right: &[[f32; COLUMNS]],
    (out, out_stride): (&mut [f32], usize),
) {
    for row in 0..rows {
        let left = &left[row * left_stride..][..right.len()];
        let mut sums = [0.0; COLUMNS];
        for (number, right) in left.iter().zip(right) {
            for (sum, other) in sums.iter_mut().zip(right) {
                *sum += number * other;
            }
        }
        out[row * out_stride..][..COLUMNS].copy_from_slice(&sums);
    }
}

pub(super) fn dots<const N: usize>(rows: &[[u8; N]], query: &[i8; N], out: &mut [i32]) {
    let shift = OFFSET * query.iter().map(|number| i32::from(*number)).sum::<i32>();
    for (row, out) in rows.iter().zip(out) {
        let products = row.iter().zip(query);
        *out =
            products.map(|(row, query)| i32::from(*row) * i32::from(*query)).sum::<i32>() - shift;
    }
}
