//! The arithmetic between the matrix products, written so that the compiler can use any vector
//! instructions that the caller was compiled for.
//!
//! Every function is inlined into the variants in `kernel`. `FUSED` says whether a multiplication
//! and an addition are one instruction there; where they are not, `mul_add` would be a slow
//! library call.

/// Numbers summed or compared side by side. Sums are taken in this order on every
/// processor, so that results do not depend on the width of its registers.
const LANES: usize = 16;

/// 1.5 · 2²³: added to a small number it leaves the nearest integer in the low bits.
const ROUNDER: f32 = 12_582_912.0;

/// A row in eight bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RowScale {
    /// The worth of one step.
    pub(crate) step: f32,
    /// The sum of the row's integers, which undoes the 128 added to the other factor.
    pub(crate) sum: i32,
}

#[inline(always)]
pub(crate) fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Rounds a row to integers of -127 to 127, scaled by its largest number, e.g. `[2.0, -2.0]` to
/// `[127, -127]`.
#[inline(always)]
pub(crate) fn quantise(row: &[f32], rounded: &mut [i8]) -> RowScale {
    let mut peaks = [0.0; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (peak, number) in peaks.iter_mut().zip(chunk) {
            *peak = larger(number.abs(), *peak);
        }
    }
    let peak = peaks.into_iter().chain(rest.iter().map(|n| n.abs())).fold(0.0, larger);
    let factor = if peak > 0.0 { 127.0 / peak } else { 0.0 };
    let mut sum = 0_i32;
    for (number, rounded) in row.iter().zip(rounded) {
        *rounded = (number * factor + ROUNDER).to_bits() as i8;
        sum += i32::from(*rounded);
    }
    RowScale { step: peak / 127.0, sum }
}

/// Adds `other` to `row`, then brings the row to mean 0 and variance 1, times `gain`,
/// plus `shift`.
#[inline(always)]
pub(crate) fn add_and_norm<const FUSED: bool>(
    row: &mut [f32],
    other: &[f32],
    gain: &[f32],
    shift: &[f32],
) {
    const EPSILON: f32 = 1e-12;
    let width = row.len() as f32;
    for (number, other) in row.iter_mut().zip(other) {
        *number += other;
    }
    let mean = sum_of(row, |number| number) / width;
    let variance = sum_of(row, |number| (number - mean) * (number - mean)) / width;
    let factor = 1.0 / (variance + EPSILON).sqrt();
    for ((number, gain), shift) in row.iter_mut().zip(gain).zip(shift) {
        *number = fma::<FUSED>((*number - mean) * factor, *gain, *shift);
    }
}

#[inline(always)]
fn sum_of(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += of(*number);
        }
    }
    sums.into_iter().chain(rest.iter().map(|number| of(*number))).sum()
}

/// Turns a row of scores into weights, not yet divided by their sum, which is returned.
#[inline(always)]
pub(crate) fn soften<const FUSED: bool>(row: &mut [f32], scale: f32) -> f32 {
    let mut peaks = [f32::MIN; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (peak, number) in peaks.iter_mut().zip(chunk) {
            *peak = larger(*number, *peak);
        }
    }
    let peak = peaks.into_iter().chain(rest.iter().copied()).fold(f32::MIN, larger);
    for number in row.iter_mut() {
        *number = exp::<FUSED>((*number - peak) * scale);
    }
    sum_of(row, |number| number)
}

/// e to the power of a number that is not positive, to about one part in ten million.
#[inline(always)]
fn exp<const FUSED: bool>(number: f32) -> f32 {
    // 2^f on [-½, ½], fitted for the least relative error.
    const POWERS: [f32; 6] =
        [1.000_000_1, 0.693_146_94, 0.240_221_2, 0.055_507_13, 0.009_675_541, 0.001_327_646_4];
    // Below this the result would be a number too small to write.
    let number = larger(number, -87.0);
    let exponent = number * std::f32::consts::LOG2_E;
    let shifted = exponent + ROUNDER;
    let whole = shifted - ROUNDER;
    let part = exponent - whole;
    let mut power = POWERS[5];
    for factor in POWERS[..5].iter().rev() {
        power = fma::<FUSED>(power, part, *factor);
    }
    f32::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// x · Φ(x) for each number, Φ being the normal distribution, to about 4 · 10⁻⁵; then
/// times its factor.
#[inline(always)]
pub(crate) fn gelu<const FUSED: bool>(row: &mut [f32], factors: &[f32]) {
    for (number, factor) in row.iter_mut().zip(factors) {
        *number *= normal::<FUSED>(*number) * factor;
    }
}

#[inline(always)]
fn normal<const FUSED: bool>(number: f32) -> f32 {
    // (Φ(x) - ½) / x as a polynomial of x², fitted for the least error of x · Φ(x) up to END.
    const END: f32 = 4.25;
    const FACTORS: [f32; 9] = [
        0.3988192,
        -0.066190265,
        0.009718768,
        -0.0010790748,
        8.848862e-05,
        -5.1474635e-06,
        1.9861311e-07,
        -4.51522e-09,
        4.546969e-11,
    ];
    let near = if number > END { END } else { larger(number, -END) };
    let square = near * near;
    let mut sum = FACTORS[8];
    for factor in FACTORS[..8].iter().rev() {
        sum = fma::<FUSED>(sum, square, *factor);
    }
    fma::<FUSED>(near, sum, 0.5)
}
