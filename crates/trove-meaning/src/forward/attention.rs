//! Attention: each asking row becomes a mixture of the values of its text, weighed by how
//! well its query fits their keys. Twelve heads do this side by side.

use super::room;
use crate::WIDTH;
use crate::kernel::{COLUMNS, Isa, TILE};

const HEADS: usize = 12;
/// Numbers of a row that one head sees.
const HEAD: usize = WIDTH / HEADS;
/// A score that weighs nothing.
const NEVER: f32 = f32::MIN;

const _: () = assert!(HEAD == COLUMNS);

/// One head's keys and values, and the scores of one tile.
#[derive(Default)]
pub(super) struct Room {
    /// In blocks of `COLUMNS` keys, turned so that a block's row is one number of each.
    keys: Vec<[f32; COLUMNS]>,
    values: Vec<[f32; COLUMNS]>,
    scores: Vec<f32>,
}

/// `keys_values` has a row for each token of the text: its key, then its value.
pub(super) fn attend(
    isa: Isa,
    queries: &[f32],
    keys_values: &[f32],
    buffers: &mut Room,
    contexts: &mut [f32],
) {
    let length = keys_values.len() / (2 * WIDTH);
    let padded = length.next_multiple_of(COLUMNS);
    for head in 0..HEADS {
        let keys = room(&mut buffers.keys, padded / COLUMNS * HEAD);
        let values = room(&mut buffers.values, length);
        let scores = room(&mut buffers.scores, TILE * padded);
        gather(head, keys_values, keys, values);
        let tiles = queries.chunks(TILE * WIDTH).zip(contexts.chunks_mut(TILE * WIDTH));
        for (queries, contexts) in tiles {
            let rows = queries.len() / WIDTH;
            for (block, keys) in keys.chunks_exact(HEAD).enumerate() {
                let out = &mut scores[block * COLUMNS..];
                isa.product(rows, (&queries[head * HEAD..], WIDTH), keys, (out, padded));
            }
            let sums = weigh(isa, scores, length, padded, rows);
            let out = &mut contexts[head * HEAD..];
            isa.product(rows, (scores, padded), values, (out, WIDTH));
            for (row, sum) in out.chunks_mut(WIDTH).zip(&sums[..rows]) {
                let share = 1.0 / sum;
                row[..HEAD].iter_mut().for_each(|number| *number *= share);
            }
        }
    }
}

/// Turns scores into weights and gives the sum of each row's.
fn weigh(isa: Isa, scores: &mut [f32], length: usize, padded: usize, rows: usize) -> [f32; TILE] {
    let scale = 1.0 / (HEAD as f32).sqrt();
    let mut sums = [0.0; TILE];
    for (row, sum) in scores.chunks_exact_mut(padded).zip(&mut sums).take(rows) {
        row[length..].fill(NEVER);
        *sum = isa.soften(row, scale);
    }
    sums
}

/// Copies one head's keys and values out of the rows.
fn gather(
    head: usize,
    keys_values: &[f32],
    keys: &mut [[f32; COLUMNS]],
    values: &mut [[f32; COLUMNS]],
) {
    let blocks = keys_values.chunks(COLUMNS * 2 * WIDTH).zip(keys.chunks_exact_mut(HEAD));
    for (rows, block) in blocks {
        for (column, row) in rows.chunks_exact(2 * WIDTH).enumerate() {
            for (number, turned) in row[head * HEAD..][..HEAD].iter().zip(block.iter_mut()) {
                turned[column] = *number;
            }
        }
    }
    for (row, value) in keys_values.chunks_exact(2 * WIDTH).zip(values) {
        value.copy_from_slice(&row[WIDTH + head * HEAD..][..HEAD]);
    }
}
