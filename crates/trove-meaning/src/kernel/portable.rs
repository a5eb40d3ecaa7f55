//! The variant that runs everywhere, and says what the others must give.

use super::{COLUMNS, Matrix, OFFSET, PANEL, PANEL_STEP, ROWS, ROWS_STEP, Rows, STEP};
use crate::math::fma;

/// Wherever this is more than a fallback, a processor multiplies and adds in one step.
const FUSED: bool = cfg!(target_arch = "aarch64");

super::compile_math!(FUSED);

/// Integers multiplied as floats, which hold the sum of so many products exactly. The compiler may
/// not reorder sums of floats, and so adds channel by channel. With integers it adds across inputs
/// instead, which took four times as long.
const EXACT: usize = (1 << 24) / (127 * 128);

pub(super) fn multiply(left: Rows<'_>, matrix: Matrix<'_>, out: &mut [f32]) {
    let inputs = matrix.inputs;
    let channels = matrix.scales.len();
    let numbers = widen_rows(left, inputs);
    let mut columns = vec![[0.0; COLUMNS]; inputs];
    for (number, panel) in matrix.panels.chunks_exact(PANEL * inputs).enumerate() {
        for inside in (0..PANEL).step_by(COLUMNS) {
            widen_panel(panel, inside, &mut columns);
            let first = number * PANEL + inside;
            let scales = &matrix.scales[first..][..COLUMNS];
            let biases = &matrix.biases[first..][..COLUMNS];
            for (row, numbers) in numbers.chunks_exact(inputs).enumerate() {
                let sums = exact_sums(numbers, &columns);
                let out = &mut out[row * channels + first..][..COLUMNS];
                for (((out, sum), scale), bias) in out.iter_mut().zip(sums).zip(scales).zip(biases)
                {
                    *out = sum as f32 * (left.scales[row].step * scale) + bias;
                }
            }
        }
    }
}

/// The rows one after another again.
fn widen_rows(left: Rows<'_>, inputs: usize) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(left.count * inputs);
    for row in 0..left.count {
        let tile = &left.integers[row / ROWS * ROWS * inputs..][..ROWS * inputs];
        let steps = tile.as_chunks::<ROWS_STEP>().0.iter();
        let steps = steps.map(|step| step.as_chunks::<STEP>().0[row % ROWS]);
        numbers.extend(steps.flatten().map(f32::from));
    }
    numbers
}

/// Takes the 128 off the weights of some channels of a panel, and sorts them by input.
fn widen_panel(panel: &[u8], inside: usize, columns: &mut [[f32; COLUMNS]]) {
    let steps = panel.as_chunks::<PANEL_STEP>().0.iter();
    for (weights, columns) in steps.zip(columns.as_chunks_mut::<STEP>().0) {
        let weights = &weights.as_chunks::<STEP>().0[inside..][..COLUMNS];
        for (place, column) in columns.iter_mut().enumerate() {
            for (wide, weights) in column.iter_mut().zip(weights) {
                *wide = f32::from(weights[place]) - OFFSET as f32;
            }
        }
    }
}

fn exact_sums(numbers: &[f32], columns: &[[f32; COLUMNS]]) -> [i32; COLUMNS] {
    let mut sums = [0; COLUMNS];
    for (numbers, columns) in numbers.chunks(EXACT).zip(columns.chunks(EXACT)) {
        for (sum, part) in sums.iter_mut().zip(sums_of(numbers, columns)) {
            *sum += part as i32;
        }
    }
    sums
}

#[inline(always)]
fn sums_of(numbers: &[f32], columns: &[[f32; COLUMNS]]) -> [f32; COLUMNS] {
    let mut sums = [0.0; COLUMNS];
    for (number, column) in numbers.iter().zip(columns) {
        for (sum, other) in sums.iter_mut().zip(column) {
            *sum = fma::<FUSED>(*number, *other, *sum);
        }
    }
    sums
}

pub(super) fn product(
    rows: usize,
    (left, left_stride): (&[f32], usize),
    right: &[[f32; COLUMNS]],
    (out, out_stride): (&mut [f32], usize),
) {
    for row in 0..rows {
        let left = &left[row * left_stride..][..right.len()];
        out[row * out_stride..][..COLUMNS].copy_from_slice(&sums_of(left, right));
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
