//! An encoder that looks words up in a table, fast and simple. It is good enough to measure how
//! words and meaning are put together without the large one.
//!
//! The folder holds `vocab.txt` (one piece a line, `##` continues a word), `vectors.i8`
//! (a row for each piece) and `scales.f32` (a number for each row).

use std::{collections::HashMap, fs, path::Path};

use anyhow::Context as _;
use trove_core::search::Encode;

/// The table.
pub struct StaticEncoder {
    pieces: HashMap<String, usize>,
    vectors: Vec<i8>,
    scales: Vec<f32>,
    dimension: usize,
}

impl StaticEncoder {
    /// Reads the table from its folder.
    pub fn read(folder: &Path) -> anyhow::Result<StaticEncoder> {
        let vocabulary = fs::read_to_string(folder.join("vocab.txt"))?;
        let pieces: HashMap<String, usize> =
            vocabulary.lines().enumerate().map(|(n, piece)| (piece.to_owned(), n)).collect();
        let vectors = fs::read(folder.join("vectors.i8"))?;
        let vectors: Vec<i8> = vectors.into_iter().map(u8::cast_signed).collect();
        let scales = fs::read(folder.join("scales.f32"))?;
        let scales = scales.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let scales: Vec<f32> = scales.collect();
        let dimension = vectors.len().checked_div(scales.len()).context("an empty table")?;
        Ok(StaticEncoder { pieces, vectors, scales, dimension })
    }

    fn add_word(&self, word: &str, sum: &mut [f32]) {
        let mut start = 0;
        while start < word.len() {
            let ends = (start + 1..=word.len()).rev().filter(|end| word.is_char_boundary(*end));
            let found = ends.into_iter().find_map(|end| {
                let piece = &word[start..end];
                let row = match start {
                    0 => self.pieces.get(piece),
                    _ => self.pieces.get(&format!("##{piece}")),
                };
                row.map(|row| (end, *row))
            });
            let Some((end, row)) = found else { return };
            let codes = &self.vectors[row * self.dimension..(row + 1) * self.dimension];
            for (sum, code) in sum.iter_mut().zip(codes) {
                *sum += f32::from(*code) * self.scales[row];
            }
            start = end;
        }
    }
}

impl Encode for StaticEncoder {
    fn name(&self) -> &str {
        "static"
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let encode = |text: &&str| {
            let mut sum = vec![0.0; self.dimension];
            for word in words(text) {
                self.add_word(&word, &mut sum);
            }
            sum
        };
        texts.iter().map(encode).collect()
    }
}

/// Words in small letters, cut at capitals and digits.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        let is_cut = !c.is_alphanumeric()
            || (before.is_lowercase() && c.is_uppercase())
            || before.is_numeric() != c.is_numeric();
        if is_cut {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}
