//! Reads the published pack: a JSON header, the tokenizer, the tensors.

use anyhow::{Context as _, ensure};
use serde::Deserialize;

const MAGIC: &[u8] = b"HMSEMB01";

pub(super) struct Published {
    bytes: Vec<u8>,
    header: Header,
    body: usize,
}

#[derive(Deserialize)]
struct Header {
    tokenizer_len: usize,
    tensors: Vec<Tensor>,
}

#[derive(Deserialize)]
struct Tensor {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    len: usize,
    group: usize,
}

/// The parts of a `tokenizer.json` that byte-pair encoding needs.
#[derive(Deserialize)]
pub(super) struct Tokenizer {
    pub(super) model: Model,
}

#[derive(Deserialize)]
pub(super) struct Model {
    pub(super) vocab: std::collections::HashMap<String, u16>,
    pub(super) merges: Vec<String>,
}

impl Published {
    pub(super) fn parse(bytes: Vec<u8>) -> anyhow::Result<Self> {
        ensure!(bytes.starts_with(MAGIC), "this is no pack");
        let length = bytes.get(8..16).context("the pack ends early")?;
        let length = u64::from_le_bytes(length.try_into()?) as usize;
        let body = 16 + length;
        let header = bytes.get(16..body).context("the header ends early")?;
        let header = serde_json::from_slice(header)?;
        Ok(Self { bytes, header, body })
    }

    pub(super) fn tokenizer(&self) -> anyhow::Result<Tokenizer> {
        let end = self.body + self.header.tokenizer_len;
        Ok(serde_json::from_slice(&self.bytes[self.body..end])?)
    }

    /// The numbers of a tensor, whose shape must be this one.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> anyhow::Result<Vec<f32>> {
        let mut start = self.body + self.header.tokenizer_len;
        for tensor in &self.header.tensors {
            let end = start + tensor.len;
            if tensor.name == name {
                ensure!(tensor.shape == shape, "{name} has shape {:?}", tensor.shape);
                let bytes = self.bytes.get(start..end).context("the tensors end early")?;
                return Ok(tensor.numbers(bytes));
            }
            start = end;
        }
        anyhow::bail!("the pack has no tensor {name}")
    }
}

impl Tensor {
    fn numbers(&self, bytes: &[u8]) -> Vec<f32> {
        if self.dtype == "f32" {
            return floats(bytes);
        }
        let count = self.shape.iter().product();
        let (numbers, scales) = bytes.split_at(count);
        let groups = numbers.chunks_exact(self.group).zip(floats(scales));
        groups
            .flat_map(|(group, scale)| {
                group.iter().map(move |number| f32::from(number.cast_signed()) * scale)
            })
            .collect()
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.as_chunks::<4>().0;
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}
