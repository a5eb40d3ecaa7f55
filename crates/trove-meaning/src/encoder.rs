//! The encoder: a text in, its vector out.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::forward::{self, Room};
use crate::kernel::Isa;
use crate::pack::Model;
use crate::tokenizer::{self, Workspace};
use crate::{MAX_TOKENS, Vector, WIDTH};

/// Short texts go through the network together until they have about this many tokens:
/// its weights are then read once for all of them.
const BATCH_TOKENS: usize = 256;
/// English has about four bytes a token, code about three.
const BYTES_PER_TOKEN: usize = 3;

/// Turns texts into vectors. Cheap to make and to share; it holds the model, not the room
/// to work in.
pub struct Encoder {
    model: Model,
    isa: Isa,
}

/// The room to encode in, kept from text to text so that nothing is allocated for each.
/// Grows to the longest text seen, at most a few megabytes.
#[derive(Default)]
pub struct Scratch {
    workspace: Workspace,
    tokens: Vec<u16>,
    texts: Vec<Range<usize>>,
    room: Room,
    vectors: Vec<Vector>,
}

impl Encoder {
    /// The encoder whose model is part of this program.
    #[must_use]
    pub fn embedded() -> Self {
        Self { model: Model::embedded(), isa: Isa::detect() }
    }

    /// The meaning of a text as a vector. The empty text has a vector too.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vector {
        self.encode_with(text, &mut Scratch::default())
    }

    /// Encodes a text in room that is kept for the next one.
    #[must_use]
    pub fn encode_with(&self, text: &str, scratch: &mut Scratch) -> Vector {
        self.encode_together(&[text], scratch)[0]
    }

    /// The meaning of each text, in their order, computed on up to `threads` threads. A vector
    /// equals, to the bit, that of its text encoded alone.
    #[must_use]
    pub fn encode_batch(&self, texts: &[&str], threads: usize) -> Vec<Vector> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        // The longest first, so that no thread is left with a long one at the end.
        order.sort_by_key(|place| std::cmp::Reverse(texts[*place].len()));
        let batches = batches(texts, &order);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut scratch = Scratch::default();
            let mut done = Vec::new();
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let together: Vec<&str> = batch.iter().map(|place| texts[*place]).collect();
                let vectors = self.encode_together(&together, &mut scratch);
                done.extend(batch.iter().copied().zip(vectors.iter().copied()));
            }
            done
        };
        let mut vectors = vec![[0.0; WIDTH]; texts.len()];
        std::thread::scope(|scope| {
            let helpers = threads.min(batches.len()).saturating_sub(1);
            let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for helper in helpers {
                done.extend(helper.join().expect("encoding does not panic"));
            }
            for (place, vector) in done {
                vectors[place] = vector;
            }
        });
        vectors
    }

    /// The tokens of a text as the model sees it, at most [`MAX_TOKENS`].
    #[must_use]
    pub fn tokens(&self, text: &str) -> Vec<u16> {
        let mut tokens = Vec::new();
        tokenizer::tokens(&self.model, text, &mut Workspace::default(), &mut tokens);
        tokens
    }

    fn encode_together<'s>(&self, texts: &[&str], scratch: &'s mut Scratch) -> &'s [Vector] {
        let Scratch { workspace, tokens, texts: ranges, room, vectors } = scratch;
        tokens.clear();
        ranges.clear();
        vectors.clear();
        for text in texts {
            let start = tokens.len();
            tokenizer::tokens(&self.model, text, workspace, tokens);
            ranges.push(start..tokens.len());
        }
        forward::run(&self.model, self.isa, (tokens, ranges), room, vectors);
        vectors
    }
}

/// Neighbours in the order, in runs that are worth one pass through the network.
fn batches<'o>(texts: &[&str], order: &'o [usize]) -> Vec<&'o [usize]> {
    let mut batches = Vec::new();
    let mut rest = order;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fitting = rest.iter().take_while(|place| {
            tokens += (texts[**place].len() / BYTES_PER_TOKEN + 2).min(MAX_TOKENS);
            tokens <= BATCH_TOKENS
        });
        let (batch, after) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = after;
    }
    batches
}

#[cfg(test)]
mod tests;
