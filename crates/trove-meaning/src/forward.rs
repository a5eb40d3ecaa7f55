//! The network: six layers in which every token looks at every other of its text.
//!
//! Several texts go through together, row after row, each row a token; nothing is padded
//! and no text sees another. A row's numbers do not depend on what stands beside it.

mod attention;

use std::ops::Range;

use crate::kernel::{Isa, Matrix, Rounded, Rows};
use crate::pack::{INNER, LAYERS, Layer, Model, WORD_SCALES, floats, short};
use crate::{Vector, WIDTH};

/// Rows that go through the wide inner part of a layer together: few enough that their
/// numbers stay in the cache of one core.
const BLOCK: usize = 48;

/// The room a pass needs, kept from one to the next. It grows to the longest batch seen,
/// about 5 MB for 512 tokens.
#[derive(Default)]
pub(crate) struct Room {
    rows: Vec<f32>,
    queries: Vec<f32>,
    keys_values: Vec<f32>,
    contexts: Vec<f32>,
    rounded: Rounded,
    wide: Vec<f32>,
    mixed: Vec<f32>,
    attention: attention::Room,
}

/// The first `length` places of a buffer that never shrinks.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) -> &mut [T] {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
    &mut buffer[..length]
}

/// Appends the vector of each text. `texts` are the ranges of `tokens` that belong
/// together, in order and without gaps.
pub(crate) fn run(
    model: &Model,
    isa: Isa,
    (tokens, texts): (&[u16], &[Range<usize>]),
    buffers: &mut Room,
    out: &mut Vec<Vector>,
) {
    embed(model, isa, tokens, texts, buffers);
    let (last, layers) = model.layers.split_last().expect("a model has layers");
    debug_assert_eq!(layers.len() + 1, LAYERS);
    for layer in layers {
        let rows = room(&mut buffers.rows, tokens.len() * WIDTH);
        let left = isa.quantise(WIDTH, rows, &mut buffers.rounded);
        project(isa, layer.queries(), left, &mut buffers.queries);
        project(isa, layer.keys_values(), left, &mut buffers.keys_values);
        attend(isa, texts, texts.iter().cloned(), buffers);
        finish(isa, layer, tokens.len(), buffers);
    }
    // Only the first token of each text is read in the end, so only it needs the rest of
    // the last layer.
    let rows = room(&mut buffers.rows, tokens.len() * WIDTH);
    let left = isa.quantise(WIDTH, rows, &mut buffers.rounded);
    project(isa, last.keys_values(), left, &mut buffers.keys_values);
    for (place, text) in texts.iter().enumerate() {
        rows.copy_within(text.start * WIDTH..(text.start + 1) * WIDTH, place * WIDTH);
    }
    let left = isa.quantise(WIDTH, &rows[..texts.len() * WIDTH], &mut buffers.rounded);
    project(isa, last.queries(), left, &mut buffers.queries);
    attend(isa, texts, (0..texts.len()).map(|place| place..place + 1), buffers);
    finish(isa, last, texts.len(), buffers);
    out.extend(buffers.rows.as_chunks().0[..texts.len()].iter().map(unit));
}

impl Layer {
    fn queries(&self) -> Matrix<'_> {
        self.queries_keys_values.outputs(0..WIDTH)
    }

    fn keys_values(&self) -> Matrix<'_> {
        self.queries_keys_values.outputs(WIDTH..3 * WIDTH)
    }
}

/// Fills the rows with what each token is, and where it stands in its text.
fn embed(model: &Model, isa: Isa, tokens: &[u16], texts: &[Range<usize>], buffers: &mut Room) {
    let rows = room(&mut buffers.rows, tokens.len() * WIDTH);
    let places = room(&mut buffers.mixed, tokens.len() * WIDTH);
    for (row, token) in rows.as_chunks_mut().0.iter_mut().zip(tokens) {
        read_word(&model.words[usize::from(*token)], row);
    }
    for text in texts {
        let rows = &mut places[text.start * WIDTH..text.end * WIDTH];
        for (row, place) in rows.chunks_exact_mut(WIDTH).zip(model.places) {
            for (number, place) in row.iter_mut().zip(floats(place.as_chunks().0)) {
                *number = place;
            }
        }
    }
    isa.add_and_norm(rows, places, &model.norm.gain, &model.norm.shift);
}

/// Reads a row of the word table. Each group of 32 numbers has a scale, the upper half of a float,
/// and sixteen bytes. Their low halves are the first sixteen numbers.
fn read_word(bytes: &[u8], row: &mut Vector) {
    let (scales, halves) = bytes.split_at(WORD_SCALES * 2);
    let groups = halves.as_chunks::<16>().0.iter().zip(row.as_chunks_mut::<32>().0);
    for (scale, (halves, group)) in scales.as_chunks().0.iter().zip(groups) {
        let scale = f32::from_bits(u32::from(short(scale)) << 16);
        let (low, high) = group.split_at_mut(16);
        for ((byte, low), high) in halves.iter().zip(low).zip(high) {
            *low = (f32::from(byte & 15) - 8.0) * scale;
            *high = (f32::from(byte >> 4) - 8.0) * scale;
        }
    }
}

fn project(isa: Isa, matrix: Matrix<'_>, left: Rows<'_>, out: &mut Vec<f32>) {
    let out = room(out, left.count() * matrix.scales.len());
    isa.multiply(left, matrix, out);
}

/// For each text, lets its `asking` rows look at all its rows.
fn attend(
    isa: Isa,
    texts: &[Range<usize>],
    asking: impl Iterator<Item = Range<usize>>,
    buffers: &mut Room,
) {
    for (text, asking) in texts.iter().zip(asking) {
        let contexts = room(&mut buffers.contexts, asking.end * WIDTH);
        attention::attend(
            isa,
            &buffers.queries[asking.start * WIDTH..asking.end * WIDTH],
            &buffers.keys_values[text.start * 2 * WIDTH..text.end * 2 * WIDTH],
            &mut buffers.attention,
            &mut contexts[asking.start * WIDTH..],
        );
    }
}

/// The steps after attention in a layer, for the first `count` rows.
fn finish(isa: Isa, layer: &Layer, count: usize, buffers: &mut Room) {
    let Room { rows, contexts, rounded, wide, mixed, .. } = buffers;
    let contexts = &contexts[..count * WIDTH];
    let rows = &mut rows[..count * WIDTH];
    for (rows, context) in rows.chunks_mut(BLOCK * WIDTH).zip(contexts.chunks(BLOCK * WIDTH)) {
        let height = rows.len() / WIDTH;
        let mixed = room(mixed, height * WIDTH);
        isa.multiply(isa.quantise(WIDTH, context, rounded), layer.mix.whole(), mixed);
        isa.add_and_norm(rows, mixed, &layer.mix_norm.gain, &layer.mix_norm.shift);
        let wide = room(wide, height * INNER);
        isa.multiply(isa.quantise(WIDTH, rows, rounded), layer.up.whole(), wide);
        isa.gelu(wide, &layer.inner_factors);
        isa.multiply(isa.quantise(INNER, wide, rounded), layer.down.whole(), mixed);
        isa.add_and_norm(rows, mixed, &layer.down_norm.gain, &layer.down_norm.shift);
    }
}

/// A row's direction, of length one.
fn unit(row: &Vector) -> Vector {
    let length = row.iter().map(|number| number * number).sum::<f32>().sqrt();
    row.map(|number| number / length)
}
