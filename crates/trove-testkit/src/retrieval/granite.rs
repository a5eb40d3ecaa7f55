//! The encoder of the program, for measuring: the same model and the same name, on as many
//! threads as the machine has.

use std::sync::OnceLock;

use trove_core::search::Encode;
use trove_meaning::{Encoder, WIDTH};

/// Made when it is first needed.
#[derive(Default)]
pub struct Granite(OnceLock<Encoder>);

impl Encode for Granite {
    fn name(&self) -> &str {
        "granite-30m"
    }

    fn dimension(&self) -> usize {
        WIDTH
    }

    fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let encoder = self.0.get_or_init(Encoder::embedded);
        encoder.encode_batch(texts, threads).into_iter().map(|vector| vector.to_vec()).collect()
    }
}
