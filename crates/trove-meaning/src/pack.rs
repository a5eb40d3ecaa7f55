//! The model file that is part of the program: named sections, read where they lie.
//!
//! Only small parts needed as numbers are copied. Tables and matrices stay in the program's own
//! pages, of which the system loads the ones that are touched. The file is made by
//! `cargo xtask repack-model`, which changes together with this. A test holds its checksum. So a
//! section that is missing or of the wrong length is a mistake in the program, not a situation to
//! report.

use crate::kernel::Matrix;
use crate::{MAX_TOKENS, WIDTH};

pub(crate) const LAYERS: usize = 6;
/// The width of the network's inner layers.
pub(crate) const INNER: usize = 1536;
/// Bytes of a row of the word table: twelve scales, then two numbers a byte.
pub(crate) const WORD_BYTES: usize = WORD_SCALES * 2 + WIDTH / 2;
pub(crate) const WORD_SCALES: usize = WIDTH / 32;

const VOCABULARY: usize = 50_265;
const MAGIC: &[u8] = b"TROVEMN1";
const HEADER_ROW: usize = 32;

/// Where a vector register likes its bytes to begin.
#[repr(align(64))]
struct Aligned<T: ?Sized>(T);

static EMBEDDED: &Aligned<[u8]> = &Aligned(*include_bytes!("../model/granite-30m.pack"));

pub(crate) struct Model {
    pub(crate) letters: Vec<[u32; 2]>,
    pub(crate) byte_tokens: Vec<u16>,
    pub(crate) merge_starts: &'static [[u8; 2]],
    pub(crate) merges: &'static [[u8; 6]],
    pub(crate) words: &'static [[u8; WORD_BYTES]],
    pub(crate) places: &'static [[u8; WIDTH * 4]],
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

pub(crate) struct Layer {
    pub(crate) queries_keys_values: Linear,
    pub(crate) mix: Linear,
    pub(crate) mix_norm: Norm,
    pub(crate) up: Linear,
    /// The factors of the inner numbers before they are rounded; `down` holds the opposite.
    /// Without them a few large weights would leave no room for the others.
    pub(crate) inner_factors: Vec<f32>,
    pub(crate) down: Linear,
    pub(crate) down_norm: Norm,
}

pub(crate) struct Norm {
    pub(crate) gain: Vec<f32>,
    pub(crate) shift: Vec<f32>,
}

pub(crate) struct Linear {
    inputs: usize,
    panels: &'static [u8],
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl Linear {
    /// The part of the matrix that gives these outputs.
    pub(crate) fn outputs(&self, range: std::ops::Range<usize>) -> Matrix<'_> {
        Matrix {
            inputs: self.inputs,
            panels: &self.panels[range.start * self.inputs..range.end * self.inputs],
            scales: &self.scales[range.clone()],
            biases: &self.biases[range],
        }
    }

    pub(crate) fn whole(&self) -> Matrix<'_> {
        self.outputs(0..self.scales.len())
    }
}

impl Model {
    pub(crate) fn embedded() -> Self {
        let pack = Pack(&EMBEDDED.0);
        assert!(pack.0.starts_with(MAGIC), "the pack is of another version than its reader");
        let model = Self {
            letters: pack.section("letters").as_chunks().0.iter().map(letter_range).collect(),
            byte_tokens: pack.section("bytes").as_chunks().0.iter().map(short).collect(),
            merge_starts: pack.section("merges.start").as_chunks().0,
            merges: pack.section("merges").as_chunks().0,
            words: pack.section("words").as_chunks().0,
            places: pack.section("places").as_chunks().0,
            norm: pack.norm("norm"),
            layers: (0..LAYERS).map(|layer| pack.layer(layer)).collect(),
        };
        assert_eq!(model.words.len(), VOCABULARY);
        assert_eq!(model.merge_starts.len(), VOCABULARY + 1);
        assert_eq!(model.byte_tokens.len(), 256);
        assert_eq!(model.places.len(), MAX_TOKENS);
        model
    }
}

struct Pack(&'static [u8]);

impl Pack {
    fn section(&self, name: &str) -> &'static [u8] {
        let count = number(&self.0[8..]);
        let mut rows = self.0[16..16 + count * HEADER_ROW].chunks_exact(HEADER_ROW);
        let is_named = |row: &&[u8]| row[..16].iter().copied().eq(padded(name));
        let row = rows.find(is_named).unwrap_or_else(|| panic!("the pack has no section {name}"));
        let (offset, length) = (number(&row[16..]), number(&row[24..]));
        &self.0[offset..offset + length]
    }

    fn floats(&self, name: &str, count: usize) -> Vec<f32> {
        let floats: Vec<f32> = floats(self.section(name).as_chunks().0).collect();
        assert_eq!(floats.len(), count, "the section {name} has another length");
        floats
    }

    fn norm(&self, name: &str) -> Norm {
        Norm {
            gain: self.floats(&format!("{name}.gain"), WIDTH),
            shift: self.floats(&format!("{name}.shift"), WIDTH),
        }
    }

    fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Linear {
        let panels = self.section(name);
        assert_eq!(panels.len(), outputs * inputs, "the section {name} has another length");
        Linear {
            inputs,
            panels,
            scales: self.floats(&format!("{name}.scale"), outputs),
            biases: self.floats(&format!("{name}.bias"), outputs),
        }
    }

    fn layer(&self, layer: usize) -> Layer {
        let name = |part: &str| format!("{layer}.{part}");
        Layer {
            queries_keys_values: self.linear(&name("qkv"), 3 * WIDTH, WIDTH),
            mix: self.linear(&name("mix"), WIDTH, WIDTH),
            mix_norm: self.norm(&name("mix")),
            up: self.linear(&name("up"), INNER, WIDTH),
            inner_factors: self.floats(&name("factor"), INNER),
            down: self.linear(&name("down"), WIDTH, INNER),
            down_norm: self.norm(&name("down")),
        }
    }
}

/// Floats where they lie, without copying them first.
pub(crate) fn floats(bytes: &[[u8; 4]]) -> impl Iterator<Item = f32> {
    bytes.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

pub(crate) fn short(bytes: &[u8; 2]) -> u16 {
    u16::from_le_bytes(*bytes)
}

fn letter_range(bytes: &[u8; 8]) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = *bytes;
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}

fn number(bytes: &[u8]) -> usize {
    let bytes = bytes.first_chunk().expect("the header is whole");
    u64::from_le_bytes(*bytes) as usize
}

fn padded(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().chain(std::iter::repeat(0)).take(16)
}
