//! A vector in eight bits a number, as it is kept in memory and on disk.

use super::WORDS;
use crate::{Vector, WIDTH, math};

/// A vector whose numbers are integers of -127 to 127 times one scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    integers: [i8; WIDTH],
    scale: f32,
}

impl Quantised {
    /// How many bytes [`Quantised::to_bytes`] gives.
    pub const BYTES: usize = WIDTH + 4;

    /// The nearest there is to a vector.
    #[must_use]
    pub fn of(vector: &Vector) -> Self {
        let mut integers = [0; WIDTH];
        let scale = math::quantise(vector, &mut integers).step;
        Self { integers, scale }
    }

    /// The integers, then the scale.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (integers, scale) = bytes.split_at_mut(WIDTH);
        integers.copy_from_slice(&self.integers.map(i8::cast_unsigned));
        scale.copy_from_slice(&self.scale.to_le_bytes());
        bytes
    }

    /// Reads the bytes that [`Quantised::to_bytes`] wrote; `None` if they cannot be such.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (integers, scale) = bytes.split_first_chunk::<WIDTH>()?;
        let scale = f32::from_le_bytes(scale.try_into().ok()?);
        let is_sound = scale.is_finite() && scale >= 0.0;
        is_sound.then(|| Self { integers: integers.map(u8::cast_signed), scale })
    }

    /// The vector this stands for.
    #[must_use]
    pub fn to_vector(&self) -> Vector {
        self.integers.map(|integer| f32::from(integer) * self.scale)
    }

    pub(super) fn integers(&self) -> &[i8; WIDTH] {
        &self.integers
    }

    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// The integers with 128 added, as the scan wants them.
    pub(super) fn offset(&self) -> [u8; WIDTH] {
        self.integers.map(|integer| integer.cast_unsigned() ^ 0x80)
    }

    pub(super) fn from_offset(offset: &[u8; WIDTH], scale: f32) -> Self {
        Self { integers: offset.map(|byte| (byte ^ 0x80).cast_signed()), scale }
    }

    /// Which numbers are positive.
    pub(super) fn bits(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for (word, integers) in words.iter_mut().zip(self.integers.as_chunks::<64>().0) {
            for (place, integer) in integers.iter().enumerate() {
                *word |= u64::from(*integer > 0) << place;
            }
        }
        words
    }
}
