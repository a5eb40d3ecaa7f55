//! The model's sections: the word table in four bits, the matrices in eight.

use super::layout::Pack;
use super::wheel::Published;

const WIDTH: usize = 384;
const INNER: usize = 1536;
const LAYERS: usize = 6;
const VOCABULARY: usize = 50_265;
/// Positions 0 and 1 are never used: the first token stands at 2.
const PLACES: usize = 514;
const FIRST_PLACE: usize = 2;

/// Numbers of the word table that share one scale.
const GROUP: usize = 32;
/// Output channels that lie side by side in a matrix, and inputs taken in one step.
const PANEL: usize = 64;
const STEP: usize = 4;

pub(super) fn write(published: &Published, pack: &mut Pack) -> anyhow::Result<()> {
    let words = published.tensor("word_emb", &[VOCABULARY, WIDTH])?;
    pack.add("words", words.chunks_exact(GROUP * 12).flat_map(word_row).collect());
    pack.add_floats("places", &places(published)?);
    add_norm(published, pack, "emb_ln", "norm")?;
    for layer in 0..LAYERS {
        let of = |part: &str| format!("l{layer}.{part}");
        let to = |part: &str| format!("{layer}.{part}");
        let matrix = |part, shape: [usize; 2]| {
            let weights = published.tensor(&of(&format!("{part}.w")), &shape)?;
            let biases = published.tensor(&of(&format!("{part}.b")), &shape[..1])?;
            anyhow::Ok(Matrix { inputs: shape[1], weights, biases })
        };
        matrix("qkv", [3 * WIDTH, WIDTH])?.write(pack, &to("qkv"));
        matrix("ao", [WIDTH, WIDTH])?.write(pack, &to("mix"));
        add_norm(published, pack, &of("aln"), &to("mix"))?;
        matrix("f1", [INNER, WIDTH])?.write(pack, &to("up"));
        let mut down = matrix("f2", [WIDTH, INNER])?;
        pack.add_floats(to("factor"), &down.even_out());
        down.write(pack, &to("down"));
        add_norm(published, pack, &of("fln"), &to("down"))?;
    }
    Ok(())
}

/// The vectors that a token's place adds to it; all tokens are of the first type.
fn places(published: &Published) -> anyhow::Result<Vec<f32>> {
    let places = published.tensor("pos_emb", &[PLACES, WIDTH])?;
    let types = published.tensor("type_emb", &[2, WIDTH])?;
    let used = &places[FIRST_PLACE * WIDTH..];
    Ok(used.iter().zip(types[..WIDTH].iter().cycle()).map(|(place, kind)| place + kind).collect())
}

fn add_norm(published: &Published, pack: &mut Pack, of: &str, to: &str) -> anyhow::Result<()> {
    pack.add_floats(format!("{to}.gain"), &published.tensor(&format!("{of}.w"), &[WIDTH])?);
    pack.add_floats(format!("{to}.shift"), &published.tensor(&format!("{of}.b"), &[WIDTH])?);
    Ok(())
}

struct Matrix {
    inputs: usize,
    /// A row for each output.
    weights: Vec<f32>,
    biases: Vec<f32>,
}

impl Matrix {
    /// Moves part of the size of each input's weights into a factor for the input. So inputs with
    /// huge weights, of which `f2` has a few, do not coarsen all the others.
    ///
    /// Half of the size, in powers, was best against the unrounded model; for the other
    /// matrices, which have no such inputs, it gained nothing.
    fn even_out(&mut self) -> Vec<f32> {
        let mut peaks = vec![0.0_f32; self.inputs];
        for row in self.weights.chunks_exact(self.inputs) {
            for (peak, weight) in peaks.iter_mut().zip(row) {
                *peak = peak.max(weight.abs());
            }
        }
        let least = peaks.iter().sum::<f32>() / self.inputs as f32 * 0.05;
        let factors: Vec<f32> = peaks.iter().map(|peak| peak.max(least).sqrt()).collect();
        for row in self.weights.chunks_exact_mut(self.inputs) {
            for (weight, factor) in row.iter_mut().zip(&factors) {
                *weight /= factor;
            }
        }
        factors
    }

    /// Writes the matrix in eight bits with one scale per output.
    fn write(&self, pack: &mut Pack, name: &str) {
        let mut scales = Vec::with_capacity(self.biases.len());
        let mut rows = Vec::with_capacity(self.weights.len());
        for row in self.weights.chunks_exact(self.inputs) {
            let scale = largest(row) / 127.0;
            scales.push(scale);
            // Kept with 128 added: the fastest instructions multiply unsigned by signed.
            rows.extend(
                row.iter().map(|weight| ((weight / scale).round_ties_even() + 128.0) as u8),
            );
        }
        pack.add_floats(format!("{name}.scale"), &scales);
        pack.add_floats(format!("{name}.bias"), &self.biases);
        pack.add(name, panels(&rows, self.inputs));
    }
}

/// Reorders rows so that one step through the inputs meets `PANEL` outputs side by side.
fn panels(rows: &[u8], inputs: usize) -> Vec<u8> {
    let mut panels = Vec::with_capacity(rows.len());
    for panel in rows.chunks_exact(PANEL * inputs) {
        for step in (0..inputs).step_by(STEP) {
            for row in panel.chunks_exact(inputs) {
                panels.extend(&row[step..step + STEP]);
            }
        }
    }
    panels
}

/// A row of the word table: a scale for each group, then two numbers in each byte. The
/// low halves of a group's sixteen bytes are its first sixteen numbers.
fn word_row(row: &[f32]) -> Vec<u8> {
    let groups: Vec<_> = row.chunks_exact(GROUP).map(four_bits).collect();
    let mut bytes: Vec<u8> = groups.iter().flat_map(|(scale, _)| scale.to_le_bytes()).collect();
    for (_, numbers) in &groups {
        let (low, high) = numbers.split_at(GROUP / 2);
        bytes.extend(low.iter().zip(high).map(|(low, high)| low | (high << 4)));
    }
    bytes
}

/// A group in four bits: the upper half of its scale as f32, and each number plus eight.
///
/// Several scales are tried, of both signs because the range of -8 to 7 is lopsided. The one with
/// the least squared error is kept.
fn four_bits(group: &[f32]) -> (u16, Vec<u8>) {
    let peak = largest(group);
    let mut best = (f32::INFINITY, 0, vec![8; group.len()]);
    for tenth in (62..=86).step_by(2) {
        for sign in [1.0, -1.0] {
            let short = short_float(sign * peak / (tenth as f32 / 10.0));
            let scale = f32::from_bits(u32::from(short) << 16);
            if scale == 0.0 {
                continue;
            }
            let rounded = |number: &f32| (number / scale).round_ties_even().clamp(-8.0, 7.0);
            let error = group.iter().map(|n| (rounded(n) * scale - n).powi(2)).sum();
            if error < best.0 {
                let numbers = group.iter().map(|n| (rounded(n) + 8.0) as u8).collect();
                best = (error, short, numbers);
            }
        }
    }
    (best.1, best.2)
}

/// The upper sixteen bits of the nearest float that has no others.
fn short_float(float: f32) -> u16 {
    (float.to_bits().wrapping_add(0x8000) >> 16) as u16
}

fn largest(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0.0, |peak, number| peak.max(number.abs()))
}
