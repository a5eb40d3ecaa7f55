//! Every variant this processor has gives what the portable one gives.

use proptest::prelude::*;

use super::*;

/// A small generator, so that a failing case is named by one number.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn signed(&mut self) -> i8 {
        (self.next() % 255) as i8 - 127
    }

    fn float(&mut self) -> f32 {
        (self.next() % 20_001) as f32 / 10_000.0 - 1.0
    }
}

fn close(left: &[f32], right: &[f32]) -> bool {
    left.iter().zip(right).all(|(left, right)| (left - right).abs() <= 1e-4 * (1.0 + right.abs()))
}

/// One number of rows as they are laid.
fn integer(rows: Rows<'_>, row: usize, place: usize) -> i64 {
    let inputs = rows.integers.len() / rows.scales.len();
    let tile = &rows.integers[row / ROWS * ROWS * inputs..];
    i64::from(tile[place / STEP * ROWS_STEP + row % ROWS * STEP + place % STEP])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn products_of_integers_are_exact(seed: u64, rows in 1_usize..20, steps in 1_usize..400) {
        let mut numbers = Numbers(seed);
        let inputs = steps * STEP;
        let channels = 2 * PANEL;
        // Extremes are common, to show that nothing overflows on the way.
        // A row with 127 in it has a step of one, so the result is the sum itself.
        let rows: Vec<f32> = (0..rows * inputs)
            .map(|n| if n % inputs == 0 || numbers.next().is_multiple_of(3) { 127.0 } else { f32::from(numbers.signed()) })
            .collect();
        let panels: Vec<u8> = (0..channels * inputs)
            .map(|_| if numbers.next().is_multiple_of(3) { 255 } else { (numbers.next() % 255 + 1) as u8 })
            .collect();
        let mut rounded = Rounded::default();
        let left = Isa(Kind::Portable).quantise(inputs, &rows, &mut rounded);
        let height = left.count();
        let (ones, zeros) = (vec![1.0; channels], vec![0.0; channels]);
        let matrix = Matrix { inputs, panels: &panels, scales: &ones, biases: &zeros };
        let mut expected = vec![0.0; height * channels];
        portable::multiply(left, matrix, &mut expected);
        for isa in Isa::all() {
            let mut found = vec![0.0; height * channels];
            isa.multiply(left, matrix, &mut found);
            prop_assert_eq!(&found, &expected, "{:?}", isa);
        }
        let row: i64 = (0..inputs).map(|n| integer(left, height - 1, n)
            * (i64::from(panels[n / STEP * PANEL_STEP + 5 * STEP + n % STEP]) - 128)).sum();
        let expected = expected[(height - 1) * channels + 5];
        prop_assert_eq!(expected, row as f32);
    }

    #[test]
    fn products_of_floats_agree(seed: u64, rows in 1_usize..=TILE, depth in 0_usize..70) {
        let mut numbers = Numbers(seed);
        let left: Vec<f32> = (0..rows * (depth + 3)).map(|_| numbers.float()).collect();
        let right: Vec<[f32; COLUMNS]> =
            (0..depth).map(|_| std::array::from_fn(|_| numbers.float())).collect();
        let mut expected = vec![0.0; rows * 40];
        portable::product(rows, (&left, depth + 3), &right, (&mut expected, 40));
        for isa in Isa::all() {
            let mut found = vec![0.0; rows * 40];
            isa.product(rows, (&left, depth + 3), &right, (&mut found, 40));
            prop_assert!(close(&found, &expected), "{:?}", isa);
        }
    }

    #[test]
    fn rows_are_scanned_alike(seed: u64, rows in 0_usize..9) {
        let mut numbers = Numbers(seed);
        let stored: Vec<[u8; 384]> =
            (0..rows).map(|_| std::array::from_fn(|_| (numbers.next() % 255 + 1) as u8)).collect();
        let query: [i8; 384] = std::array::from_fn(|_| numbers.signed());
        let bits: Vec<[u64; 6]> =
            (0..rows).map(|_| std::array::from_fn(|_| numbers.next() * numbers.next())).collect();
        let asked: [u64; 6] = std::array::from_fn(|_| numbers.next() * numbers.next());
        let (mut dots, mut distances) = (vec![0; rows], vec![0; rows]);
        portable::dots(&stored, &query, &mut dots);
        portable::distances(&bits, &asked, &mut distances);
        for isa in Isa::all() {
            let (mut found, mut apart) = (vec![0; rows], vec![0; rows]);
            isa.dots(&stored, &query, &mut found);
            isa.distances(&bits, &asked, &mut apart);
            prop_assert_eq!(&found, &dots, "{:?}", isa);
            prop_assert_eq!(&apart, &distances, "{:?}", isa);
        }
    }

    #[test]
    fn rounding_is_the_same_everywhere(seed: u64, steps in 1_usize..30, height in 1_usize..9) {
        let mut numbers = Numbers(seed);
        let width = steps * STEP;
        let rows: Vec<f32> = (0..height * width).map(|_| numbers.float() * 40.0).collect();
        let mut expected = Rounded::default();
        let expected = Isa(Kind::Portable).quantise(width, &rows, &mut expected);
        for isa in Isa::all() {
            let mut found = Rounded::default();
            let found = isa.quantise(width, &rows, &mut found);
            prop_assert_eq!(found.integers, expected.integers, "{:?}", isa);
            prop_assert_eq!(found.scales, expected.scales, "{:?}", isa);
        }
        for (place, number) in rows.iter().enumerate() {
            let step = expected.scales[place / width].step;
            let rounded = integer(expected, place / width, place % width);
            prop_assert!((number - rounded as f32 * step).abs() <= step * 0.501);
        }
    }
}

#[test]
fn a_row_of_zeros_stays_zero() {
    for isa in Isa::all() {
        let mut rounded = Rounded::default();
        let rows = isa.quantise(20, &[0.0; 20], &mut rounded);
        assert!(rows.integers.iter().all(|integer| *integer == 0));
        assert_eq!(rows.scales[0], RowScale::default());
    }
}

#[test]
fn weights_of_scores_are_powers_of_e() {
    for isa in Isa::all() {
        let scores: Vec<f32> = (0..300).map(|n| -(n as f32) * 0.37 + 12.0).collect();
        let mut weights = scores.clone();
        let sum = isa.soften(&mut weights, 0.5);
        let expected: Vec<f64> =
            scores.iter().map(|s| ((f64::from(*s) - 12.0) * 0.5).exp()).collect();
        assert!((f64::from(sum) / expected.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        for (weight, expected) in weights.iter().zip(expected) {
            assert!((f64::from(*weight) - expected).abs() < 1e-5 * expected + 1e-30, "{isa:?}");
        }
    }
}

#[test]
fn the_bend_of_the_network_is_close_to_its_definition() {
    // x · Φ(x) at some points, from a table of the normal distribution.
    let table = [
        (-3.0, -0.004_050),
        (-1.0, -0.158_655),
        (-0.5, -0.154_269),
        (0.0, 0.0),
        (0.5, 0.345_731),
        (1.0, 0.841_345),
        (2.0, 1.9545),
        (5.0, 5.0),
        (30.0, 30.0),
    ];
    for isa in Isa::all() {
        for (number, expected) in table {
            let mut found = [number];
            isa.gelu(&mut found, &[1.0]);
            assert!((found[0] - expected).abs() < 1e-4 * (1.0 + expected), "{number}: {found:?}");
        }
    }
}

#[test]
fn a_normed_row_has_mean_zero_and_variance_one() {
    for isa in Isa::all() {
        let mut row: Vec<f32> = (0..384).map(|n| (n % 17) as f32).collect();
        let others = vec![2.0; 384];
        isa.add_and_norm(&mut row, &others, &vec![1.0; 384], &vec![0.0; 384]);
        let mean = row.iter().sum::<f32>() / 384.0;
        let variance = row.iter().map(|n| n * n).sum::<f32>() / 384.0;
        assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4, "{isa:?}");
    }
}
