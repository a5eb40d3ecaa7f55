//! Registers of 256 bits, with and without the instruction for products of bytes.
//!
//! Both variants are one text. They differ in how four products of bytes are added to a sum, and in
//! how many rows fit into sixteen registers.

macro_rules! narrow {
    ($name:ident, $features:literal, $rows:literal, $offset:expr, $dot:item) => {
        pub(in crate::kernel) mod $name {
            use std::arch::x86_64::*;

            use super::super::super::{
                COLUMNS, Matrix, OFFSET, PANEL, PANEL_STEP, ROWS, ROWS_STEP, Rows, TILE,
            };
            use super::super::{floats_of, joined};

            const BYTES: usize = 32;
            const FLOATS: usize = 8;
            /// Registers side by side: as many bytes as come into the cache together.
            const WIDE: usize = 2;
            /// Channels and rows whose sums are in registers at one time.
            const CHANNELS: usize = WIDE * FLOATS;
            const HEIGHT: usize = $rows;
            /// The surplus that [`dot`] leaves in for each integer of a row, to be taken out.
            const LEFT_IN: i32 = $offset;

            super::super::super::compile_math!(true, $features);

            /// Adds to each sum four products of a stored byte and a signed one.
            #[inline]
            #[target_feature(enable = $features)]
            $dot

            #[target_feature(enable = $features)]
            pub(in crate::kernel) fn multiply(left: Rows<'_>, matrix: Matrix<'_>, out: &mut [f32]) {
                for (number, panel) in matrix.panels.chunks_exact(PANEL * matrix.inputs).enumerate() {
                    for inside in (0..PANEL).step_by(CHANNELS) {
                        let channel = number * PANEL + inside;
                        multiply_part(left, matrix, (panel, inside), channel, out);
                    }
                }
            }

            /// Fills the outputs from `channel` on, which lie `inside` their panel.
            #[inline]
            #[target_feature(enable = $features)]
            fn multiply_part(
                left: Rows<'_>,
                matrix: Matrix<'_>,
                (panel, inside): (&[u8], usize),
                channel: usize,
                out: &mut [f32],
            ) {
                let channels = matrix.scales.len();
                let tiles = left.integers.chunks_exact(ROWS * matrix.inputs);
                for (tile, (integers, scales)) in
                    tiles.zip(left.scales.chunks_exact(ROWS)).enumerate()
                {
                    let mut sums = [[_mm256_setzero_si256(); WIDE]; ROWS];
                    for (sums, scale) in sums.iter_mut().zip(scales) {
                        *sums = [_mm256_set1_epi32(-LEFT_IN * scale.sum); WIDE];
                    }
                    for (part, sums) in sums.as_chunks_mut().0.iter_mut().enumerate() {
                        add_products((integers, part), (panel, inside), sums);
                    }
                    // The last places of the last tile hold no row, and have none to go to.
                    let rows = out[tile * ROWS * channels..].chunks_exact_mut(channels);
                    for ((sums, scale), row) in sums.iter().zip(scales).zip(rows) {
                        let step = _mm256_set1_ps(scale.step);
                        for (wide, sum) in sums.iter().enumerate() {
                            let from = channel + wide * FLOATS;
                            let scale = _mm256_mul_ps(load_floats(&matrix.scales[from..]), step);
                            let bias = load_floats(&matrix.biases[from..]);
                            let sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(*sum), scale, bias);
                            store_floats(&mut row[from..], sum);
                        }
                    }
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn add_products(
                (integers, part): (&[i8], usize),
                (panel, inside): (&[u8], usize),
                sums: &mut [[__m256i; WIDE]; HEIGHT],
            ) {
                let steps = integers.as_chunks::<ROWS_STEP>().0.iter();
                for (rows, weights) in steps.zip(panel.as_chunks::<PANEL_STEP>().0) {
                    let rows = &rows.as_chunks().0[part * HEIGHT..][..HEIGHT];
                    let weights = &weights.as_chunks::<BYTES>().0[inside / FLOATS..][..WIDE];
                    let weights = [load_bytes(&weights[0]), load_bytes(&weights[1])];
                    for (sums, row) in sums.iter_mut().zip(rows) {
                        let number = _mm256_set1_epi32(joined(row));
                        sums[0] = dot(sums[0], weights[0], number);
                        sums[1] = dot(sums[1], weights[1], number);
                    }
                }
            }

            #[target_feature(enable = $features)]
            pub(in crate::kernel) fn product(
                rows: usize,
                left: (&[f32], usize),
                right: &[[f32; COLUMNS]],
                (out, out_stride): (&mut [f32], usize),
            ) {
                for first in (0..rows).step_by(TILE / 2) {
                    let left: [&[f32]; TILE / 2] = floats_of(left, first, rows - 1, right.len());
                    for column in (0..COLUMNS).step_by(2 * FLOATS) {
                        let mut sums = [[_mm256_setzero_ps(); 2]; TILE / 2];
                        for (depth, others) in right.iter().enumerate() {
                            let others = &others[column..][..2 * FLOATS];
                            let others = [load_floats(others), load_floats(&others[FLOATS..])];
                            for (sums, row) in sums.iter_mut().zip(left) {
                                let number = _mm256_set1_ps(row[depth]);
                                sums[0] = _mm256_fmadd_ps(number, others[0], sums[0]);
                                sums[1] = _mm256_fmadd_ps(number, others[1], sums[1]);
                            }
                        }
                        for (row, sums) in sums.iter().enumerate().take(rows - first) {
                            let place = (first + row) * out_stride + column;
                            let out = &mut out[place..][..2 * FLOATS];
                            store_floats(out, sums[0]);
                            store_floats(&mut out[FLOATS..], sums[1]);
                        }
                    }
                }
            }

            #[target_feature(enable = $features)]
            pub(in crate::kernel) fn dots<const N: usize>(
                rows: &[[u8; N]],
                query: &[i8; N],
                out: &mut [i32],
            ) {
                let shift = LEFT_IN * query.iter().map(|number| i32::from(*number)).sum::<i32>();
                let query = query.map(i8::cast_unsigned);
                let query = query.as_chunks::<BYTES>().0;
                for (row, out) in rows.iter().zip(out) {
                    let mut sums = [_mm256_setzero_si256(); 2];
                    let row = row.as_chunks::<BYTES>().0;
                    for (place, (stored, query)) in row.iter().zip(query).enumerate() {
                        let sum = &mut sums[place % 2];
                        *sum = dot(*sum, load_bytes(stored), load_bytes(query));
                    }
                    *out = total(_mm256_add_epi32(sums[0], sums[1])) - shift;
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn total(sums: __m256i) -> i32 {
                let four = _mm_add_epi32(
                    _mm256_castsi256_si128(sums),
                    _mm256_extracti128_si256::<1>(sums),
                );
                let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b00_00_11_10>(four));
                let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b00_00_00_01>(two));
                _mm_cvtsi128_si32(one)
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn load_bytes(bytes: &[u8; BYTES]) -> __m256i {
                // SAFETY: the array is as long as a register, and the load needs no alignment.
                unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn load_floats(floats: &[f32]) -> __m256 {
                let floats: &[f32] = &floats[..FLOATS];
                // SAFETY: the slice was just cut to the length of a register; no alignment is
                // needed.
                unsafe { _mm256_loadu_ps(floats.as_ptr()) }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn store_floats(floats: &mut [f32], from: __m256) {
                let floats: &mut [f32] = &mut floats[..FLOATS];
                // SAFETY: the slice was just cut to the length of a register; no alignment is
                // needed.
                unsafe { _mm256_storeu_ps(floats.as_mut_ptr(), from) }
            }
        }
    };
}

narrow!(
    avx2,
    "avx2,fma,popcnt",
    3,
    0,
    // Two products of a byte and a magnitude fit sixteen bits only if both are signed. So the 128
    // comes off first.
    fn dot(sums: __m256i, stored: __m256i, signed: __m256i) -> __m256i {
        debug_assert_eq!(OFFSET, 128);
        let weights = _mm256_xor_si256(stored, _mm256_set1_epi8(i8::MIN));
        let signed = _mm256_sign_epi8(signed, weights);
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), signed);
        _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }
);

narrow!(
    avx_vnni,
    "avx2,fma,popcnt,avxvnni",
    6,
    OFFSET,
    fn dot(sums: __m256i, stored: __m256i, signed: __m256i) -> __m256i {
        _mm256_dpbusd_avx_epi32(sums, stored, signed)
    }
);
