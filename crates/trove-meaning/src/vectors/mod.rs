//! Many vectors, kept small, and the nearest of them.
//!
//! [`VectorSet`] is a flat list in eight bits a number. A search looks at every vector, so any
//! filter costs next to nothing and no vector is ever missed. In a large set one bit a number is
//! looked at first, and only the closest are compared whole.

mod best;
mod quantised;

use std::collections::HashMap;

use crate::kernel::Isa;
use crate::{Vector, WIDTH};
use best::Best;
pub use quantised::Quantised;

/// The most vectors a set holds; each takes about 480 bytes.
pub const MAX_VECTORS: usize = 4_000_000;

/// In a larger set the bits are looked at first.
const PREFILTER_ABOVE: usize = 200_000;
/// How many vectors, at least, the bits leave to be compared whole, and how many for each
/// one wanted. Fewer were seen to lose some of the nearest.
const MIN_CANDIDATES: usize = 2_000;
const CANDIDATES_PER_WANTED: usize = 20;

/// Vectors that are allocated together, so that growing never copies what is there.
const SEGMENT: usize = 1024;
const WORDS: usize = WIDTH / 64;

/// Vectors by id.
pub struct VectorSet {
    isa: Isa,
    segments: Vec<Segment>,
    places: HashMap<u64, u32>,
}

/// One more vector would be one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the set holds {MAX_VECTORS} vectors already; remove some, or index less")]
pub struct Full;

/// Rows of the same place belong together.
struct Segment {
    ids: Vec<u64>,
    rows: Vec<[u8; WIDTH]>,
    scales: Vec<f32>,
    bits: Vec<[u64; WORDS]>,
}

impl Default for VectorSet {
    fn default() -> Self {
        Self::new()
    }
}

impl VectorSet {
    /// A set without vectors.
    #[must_use]
    pub fn new() -> Self {
        Self { isa: Isa::detect(), segments: Vec::new(), places: HashMap::new() }
    }

    /// How many vectors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds a vector, or replaces the one with this id.
    pub fn push(&mut self, id: u64, vector: &Vector) -> Result<(), Full> {
        self.push_quantised(id, &Quantised::of(vector))
    }

    /// Adds a vector that was kept in eight bits elsewhere.
    pub fn push_quantised(&mut self, id: u64, vector: &Quantised) -> Result<(), Full> {
        if let Some(place) = self.places.get(&id) {
            let (segment, row) = split(*place);
            self.segments[segment].set(row, vector);
            return Ok(());
        }
        let place = self.len();
        if place >= MAX_VECTORS {
            return Err(Full);
        }
        if place == self.segments.len() * SEGMENT {
            self.segments.push(Segment::new());
        }
        self.segments[place / SEGMENT].push(id, vector);
        self.places.insert(id, place as u32);
        Ok(())
    }

    /// Takes a vector out; says whether there was one.
    pub fn remove(&mut self, id: u64) -> bool {
        let Some(place) = self.places.remove(&id) else {
            return false;
        };
        // The last vector moves into the gap, so that there never is one.
        let last = self.segments.last_mut().and_then(Segment::pop);
        let (moved, vector) = last.expect("a set with places has rows");
        if moved != id {
            let (segment, row) = split(place);
            self.segments[segment].ids[row] = moved;
            self.segments[segment].set(row, &vector);
            self.places.insert(moved, place);
        }
        self.segments.pop_if(|segment| segment.ids.is_empty());
        true
    }

    /// The vector with this id, as it is kept.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<Quantised> {
        let (segment, row) = split(*self.places.get(&id)?);
        Some(self.segments[segment].get(row))
    }

    /// The `wanted` vectors nearest to the query among those the filter lets pass, best
    /// first, each with its cosine. The filter is asked only about vectors that would be
    /// among the best, perhaps more than once.
    #[must_use]
    pub fn scan(
        &self,
        query: &Vector,
        filter: impl FnMut(u64) -> bool,
        wanted: usize,
    ) -> Vec<(u64, f32)> {
        let wanted = wanted.min(self.len());
        if wanted == 0 {
            return Vec::new();
        }
        let query = Quantised::of(query);
        if self.len() > PREFILTER_ABOVE {
            self.scan_bits(&query, filter, wanted)
        } else {
            self.scan_rows(&query, filter, wanted)
        }
    }

    fn scan_rows(
        &self,
        query: &Quantised,
        mut filter: impl FnMut(u64) -> bool,
        wanted: usize,
    ) -> Vec<(u64, f32)> {
        let mut best = Best::new(wanted);
        let mut dots = [0; SEGMENT];
        for segment in &self.segments {
            let dots = &mut dots[..segment.ids.len()];
            self.isa.dots(&segment.rows, query.integers(), dots);
            for ((dot, scale), id) in dots.iter().zip(&segment.scales).zip(&segment.ids) {
                let score = *dot as f32 * scale;
                if best.would_take(score) && filter(*id) {
                    best.push(score, *id);
                }
            }
        }
        finished(best, query)
    }

    /// Finds candidates by their bits alone, then compares those whole.
    fn scan_bits(
        &self,
        query: &Quantised,
        mut filter: impl FnMut(u64) -> bool,
        wanted: usize,
    ) -> Vec<(u64, f32)> {
        let bits = query.bits();
        let candidates = (wanted * CANDIDATES_PER_WANTED).max(MIN_CANDIDATES);
        let mut near = Best::new(candidates);
        let mut distances = [0; SEGMENT];
        for (number, segment) in self.segments.iter().enumerate() {
            let distances = &mut distances[..segment.ids.len()];
            self.isa.distances(&segment.bits, &bits, distances);
            for (row, distance) in distances.iter().enumerate() {
                let closeness = -f32::from(*distance);
                if near.would_take(closeness) && filter(segment.ids[row]) {
                    near.push(closeness, (number * SEGMENT + row) as u64);
                }
            }
        }
        let mut best = Best::new(wanted);
        for (place, _) in near.finish() {
            let (segment, row) = split(place as u32);
            let segment = &self.segments[segment];
            let mut dot = [0];
            self.isa.dots(&segment.rows[row..=row], query.integers(), &mut dot);
            best.push(dot[0] as f32 * segment.scales[row], segment.ids[row]);
        }
        finished(best, query)
    }
}

fn finished(best: Best, query: &Quantised) -> Vec<(u64, f32)> {
    let mut found = best.finish();
    for (_, score) in &mut found {
        *score *= query.scale();
    }
    found
}

fn split(place: u32) -> (usize, usize) {
    (place as usize / SEGMENT, place as usize % SEGMENT)
}

impl Segment {
    fn new() -> Self {
        Self {
            ids: Vec::with_capacity(SEGMENT),
            rows: Vec::with_capacity(SEGMENT),
            scales: Vec::with_capacity(SEGMENT),
            bits: Vec::with_capacity(SEGMENT),
        }
    }

    fn push(&mut self, id: u64, vector: &Quantised) {
        self.ids.push(id);
        self.rows.push(vector.offset());
        self.scales.push(vector.scale());
        self.bits.push(vector.bits());
    }

    fn set(&mut self, row: usize, vector: &Quantised) {
        self.rows[row] = vector.offset();
        self.scales[row] = vector.scale();
        self.bits[row] = vector.bits();
    }

    fn get(&self, row: usize) -> Quantised {
        Quantised::from_offset(&self.rows[row], self.scales[row])
    }

    fn pop(&mut self) -> Option<(u64, Quantised)> {
        let vector = self.get(self.ids.len().checked_sub(1)?);
        self.rows.pop();
        self.scales.pop();
        self.bits.pop();
        Some((self.ids.pop()?, vector))
    }
}

#[cfg(test)]
mod tests;
