//! Texts as vectors, offline.
//!
//! [`Encoder`] turns a text into a vector of [`WIDTH`] numbers, such that texts of like meaning lie
//! close together. The model is part of the program. [`vectors`] keeps many vectors small and finds
//! the nearest ones.
//!
//! From the bottom: `kernel` (vector instructions, the only unsafe code), `math`, `pack`
//! (the model file), `tokenizer`, `forward` (the network), `encoder`. Nothing here waits,
//! reads a file, or remembers what it was asked.

mod encoder;
mod forward;
mod kernel;
mod math;
mod pack;
mod tokenizer;
pub mod vectors;

pub use encoder::{Encoder, Scratch};

/// How many numbers make a vector.
pub const WIDTH: usize = 384;

/// The meaning of a text: a direction, of length one.
pub type Vector = [f32; WIDTH];

/// The most tokens of a text the model reads, its two marks included. Later tokens are not looked
/// at.
pub const MAX_TOKENS: usize = 512;
