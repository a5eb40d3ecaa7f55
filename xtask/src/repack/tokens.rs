//! The tokenizer's sections: letters, the token of each byte, the merges.
//!
//! Tokens are told apart by number only, so their spelling stays behind.

use anyhow::{Context as _, ensure};
use regex_syntax::hir::{Class, HirKind};

use super::layout::Pack;
use super::wheel::Tokenizer;

pub(super) fn write(tokenizer: &Tokenizer, pack: &mut Pack) -> anyhow::Result<()> {
    pack.add("letters", letters()?);
    pack.add("bytes", bytes(tokenizer)?);
    let (starts, merges) = merges(tokenizer)?;
    pack.add("merges.start", starts);
    pack.add("merges", merges);
    Ok(())
}

/// The ranges of Unicode letters, first and last, in order.
fn letters() -> anyhow::Result<Vec<u8>> {
    let class = regex_syntax::parse(r"\p{L}")?;
    let HirKind::Class(Class::Unicode(class)) = class.kind() else {
        anyhow::bail!("letters are not a class of characters");
    };
    let ends = class.ranges().iter().flat_map(|range| [range.start(), range.end()]);
    Ok(ends.flat_map(|letter| u32::from(letter).to_le_bytes()).collect())
}

/// The token of every single byte.
fn bytes(tokenizer: &Tokenizer) -> anyhow::Result<Vec<u8>> {
    let mut section = Vec::new();
    for (byte, letter) in (0..=255_u8).zip(byte_letters()) {
        let token = tokenizer.model.vocab.get(&letter.to_string());
        let token = token.with_context(|| format!("the byte {byte} has no token"))?;
        section.extend(token.to_le_bytes());
    }
    Ok(section)
}

/// The letter that stands for each byte in the vocabulary: itself where it is visible,
/// otherwise the next one from 256 on.
fn byte_letters() -> Vec<char> {
    let mut spare = (256_u32..).filter_map(char::from_u32);
    (0..=255_u8)
        .map(|byte| match byte {
            b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => char::from(byte),
            _ => spare.next().expect("there are more letters than bytes"),
        })
        .collect()
}

/// The merges in order of their left token, and where each left token's begin. A merge is
/// (right, rank, result); the lower rank goes first.
fn merges(tokenizer: &Tokenizer) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
    let vocab = &tokenizer.model.vocab;
    let mut rows = Vec::new();
    for (rank, merge) in tokenizer.model.merges.iter().enumerate() {
        let (left, right) = merge.split_once(' ').context("a merge is no pair")?;
        let token = |text: &str| vocab.get(text).copied().context("a merge of no token");
        rows.push((
            token(left)?,
            token(right)?,
            u16::try_from(rank)?,
            token(&format!("{left}{right}"))?,
        ));
    }
    rows.sort_unstable();
    let mut starts = Vec::new();
    for left in 0..=vocab.len() {
        let start = rows.partition_point(|row| usize::from(row.0) < left);
        starts.extend(u16::try_from(start)?.to_le_bytes());
    }
    ensure!(
        rows.windows(2).all(|two| (two[0].0, two[0].1) != (two[1].0, two[1].1)),
        "two merges of one pair"
    );
    let section = rows.iter().flat_map(|row| [row.1, row.2, row.3]);
    Ok((starts, section.flat_map(u16::to_le_bytes).collect()))
}
