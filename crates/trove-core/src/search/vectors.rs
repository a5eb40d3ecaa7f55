//! Vectors of meaning, eight bits a number, compared one by one.
//!
//! No graph and no tree: a scan of some hundred thousand takes milliseconds, and a filter
//! is then nearly free. Above that, one bit a number chooses the few that are compared
//! in full. Each resource's vectors lie together.

use std::collections::HashMap;

use super::top::top_by;

/// Up to this many vectors every one is compared in full.
const MAX_EXACT: usize = 200_000;
/// How many are compared in full when one bit a number has chosen them.
const PREFILTERED: usize = 2000;
/// From how many vectors the spread of a question is estimated.
const SAMPLE: usize = 2048;

/// A piece of a content and its vector.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Embedded {
    pub(super) owner: u64,
    /// Where the piece lies in the text.
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) scale: f32,
    pub(super) codes: Vec<i8>,
}

/// Makes a vector eight bits a number.
pub(super) fn quantise(vector: &[f32]) -> (f32, Vec<i8>) {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    if !norm.is_finite() || norm <= f32::EPSILON {
        return (0.0, vec![0; vector.len()]);
    }
    let codes = vector.iter().map(|x| (x / largest * 127.0).round() as i8).collect();
    (largest / 127.0 / norm, codes)
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    id: u64,
    owner: u64,
    start: u32,
    len: u32,
}

/// Where the vectors of a resource lie.
#[derive(Debug, Clone, Copy)]
struct Group {
    first: usize,
    len: usize,
    version: u64,
}

/// A resource near a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Near {
    pub(super) id: u64,
    pub(super) cosine: f32,
    /// Where the nearest piece lies in the text.
    pub(super) start: u32,
    pub(super) len: u32,
}

/// How near everything is to a question.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f32,
    pub(super) deviation: f32,
}

impl Spread {
    /// How far a cosine is above the rest, in standard deviations.
    pub(super) fn distance(&self, cosine: f32) -> f32 {
        if self.deviation > 1e-6 { (cosine - self.mean) / self.deviation } else { 0.0 }
    }
}

/// A question as the vectors see it.
pub(super) struct Probe {
    scale: f32,
    codes: Vec<i8>,
    signs: Vec<u64>,
}

impl Probe {
    pub(super) fn of(vector: &[f32]) -> Probe {
        let (scale, codes) = quantise(vector);
        let signs = signs(&codes);
        Probe { scale, codes, signs }
    }
}

/// All vectors.
#[derive(Debug, Default)]
pub(super) struct VectorSet {
    dimension: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
    signs: Vec<u64>,
    pieces: Vec<Piece>,
    groups: HashMap<u64, Group>,
    /// Vectors that belong to no group any more.
    dead: usize,
}

impl VectorSet {
    pub(super) fn new(dimension: usize) -> VectorSet {
        VectorSet { dimension, ..VectorSet::default() }
    }

    /// How many vectors there are.
    pub(super) fn len(&self) -> usize {
        self.pieces.len() - self.dead
    }

    /// How many resources have vectors.
    pub(super) fn resources(&self) -> usize {
        self.groups.len()
    }

    /// Of which version of a resource the vectors are.
    pub(super) fn version(&self, id: u64) -> Option<u64> {
        self.groups.get(&id).map(|group| group.version)
    }

    /// Replaces the vectors of a resource.
    pub(super) fn put(&mut self, id: u64, version: u64, vectors: &[Embedded]) {
        self.remove(id);
        let first = self.pieces.len();
        for vector in vectors.iter().filter(|vector| vector.codes.len() == self.dimension) {
            self.codes.extend_from_slice(&vector.codes);
            self.scales.push(vector.scale);
            self.signs.extend(signs(&vector.codes));
            let Embedded { owner, start, len, .. } = *vector;
            self.pieces.push(Piece { id, owner, start, len });
        }
        self.groups.insert(id, Group { first, len: self.pieces.len() - first, version });
    }

    /// Forgets the vectors of a resource.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(group) = self.groups.remove(&id) else { return };
        for piece in &mut self.pieces[group.first..group.first + group.len] {
            piece.id = 0;
        }
        self.dead += group.len;
        if self.dead > 1024 && self.dead * 4 > self.pieces.len() {
            self.compact();
        }
    }

    /// Forgets the resources that are not kept.
    pub(super) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let gone: Vec<u64> = self.groups.keys().copied().filter(|id| !keep(*id)).collect();
        for id in gone {
            self.remove(id);
        }
    }

    /// The vectors of every resource, and of which version they are.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u64, u64, Vec<Embedded>)> {
        self.groups.iter().map(|(id, group)| {
            let pieces = group.first..group.first + group.len;
            let embedded = |n: usize| {
                let Piece { owner, start, len, .. } = self.pieces[n];
                Embedded { owner, start, len, scale: self.scales[n], codes: self.code(n).to_vec() }
            };
            (*id, group.version, pieces.map(embedded).collect())
        })
    }

    fn compact(&mut self) {
        let mut kept = VectorSet::new(self.dimension);
        let words = self.words();
        for (n, piece) in self.pieces.iter().enumerate().filter(|(_, piece)| piece.id != 0) {
            let version = self.groups.get(&piece.id).map_or(0, |group| group.version);
            let first = kept.pieces.len();
            kept.groups.entry(piece.id).or_insert(Group { first, len: 0, version }).len += 1;
            kept.codes.extend_from_slice(self.code(n));
            kept.scales.push(self.scales[n]);
            kept.signs.extend_from_slice(&self.signs[n * words..(n + 1) * words]);
            kept.pieces.push(*piece);
        }
        *self = kept;
    }

    fn words(&self) -> usize {
        self.dimension.div_ceil(64)
    }

    fn code(&self, n: usize) -> &[i8] {
        &self.codes[n * self.dimension..(n + 1) * self.dimension]
    }

    fn cosine(&self, probe: &Probe, n: usize) -> f32 {
        dot(&probe.codes, self.code(n)) as f32 * probe.scale * self.scales[n]
    }

    /// How near everything is, seen or not.
    pub(super) fn spread(&self, probe: &Probe) -> Spread {
        let step = self.pieces.len().div_ceil(SAMPLE).max(1);
        let alive = (0..self.pieces.len()).step_by(step).filter(|&n| self.pieces[n].id != 0);
        let cosines: Vec<f32> = alive.map(|n| self.cosine(probe, n)).collect();
        let count = cosines.len().max(1) as f32;
        let mean = cosines.iter().sum::<f32>() / count;
        let variance = cosines.iter().map(|c| (c - mean) * (c - mean)).sum::<f32>() / count;
        Spread { mean, deviation: variance.sqrt() }
    }

    /// The nearest resources that are admitted, nearest first.
    pub(super) fn nearest(
        &self,
        probe: &Probe,
        limit: usize,
        admit: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Vec<Near> {
        if probe.codes.len() != self.dimension {
            return Vec::new();
        }
        let mut admitted = Vec::with_capacity(self.pieces.len());
        for (n, piece) in self.pieces.iter().enumerate() {
            if piece.id != 0 && admit(piece.id, piece.owner) {
                admitted.push(n);
            }
        }
        if admitted.len() > MAX_EXACT {
            admitted = self.prefilter(probe, &admitted);
        }
        self.best_pieces(probe, admitted.into_iter(), limit)
    }

    /// How near one resource is.
    pub(super) fn near(
        &self,
        probe: &Probe,
        id: u64,
        is_owner: impl Fn(u64) -> bool,
    ) -> Option<Near> {
        let group = self.groups.get(&id)?;
        let pieces = group.first..group.first + group.len;
        let own = pieces.filter(|&n| is_owner(self.pieces[n].owner));
        self.best_pieces(probe, own, 1).pop()
    }

    fn best_pieces(
        &self,
        probe: &Probe,
        pieces: impl Iterator<Item = usize>,
        limit: usize,
    ) -> Vec<Near> {
        let mut best: Vec<Near> = Vec::new();
        for n in pieces {
            let (piece, cosine) = (self.pieces[n], self.cosine(probe, n));
            let near = Near { id: piece.id, cosine, start: piece.start, len: piece.len };
            // The pieces of a resource follow each other.
            match best.last_mut().filter(|last| last.id == piece.id) {
                Some(last) if last.cosine >= cosine => {}
                Some(last) => *last = near,
                None => best.push(near),
            }
        }
        top_by(best.into_iter(), limit, |a, b| a.cosine.total_cmp(&b.cosine))
    }

    /// Those whose signs differ least from the question's, in their order.
    fn prefilter(&self, probe: &Probe, admitted: &[usize]) -> Vec<usize> {
        let words = self.words();
        let differing = |n: usize| {
            let signs = &self.signs[n * words..(n + 1) * words];
            signs.iter().zip(&probe.signs).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
        };
        // Counting first gives the bound that lets just enough through.
        let mut counts = vec![0_usize; self.dimension + 1];
        let distances: Vec<u32> = admitted.iter().map(|&n| differing(n)).collect();
        for &distance in &distances {
            counts[distance as usize] += 1;
        }
        let mut taken = 0;
        let bound = counts.iter().position(|count| {
            taken += count;
            taken >= PREFILTERED
        });
        let bound = bound.unwrap_or(self.dimension) as u32;
        let near = admitted.iter().zip(&distances).filter(|(_, distance)| **distance <= bound);
        near.map(|(n, _)| *n).collect()
    }
}

fn signs(codes: &[i8]) -> Vec<u64> {
    let word = |codes: &[i8]| {
        codes.iter().enumerate().fold(0, |bits, (n, code)| bits | u64::from(*code >= 0) << n)
    };
    codes.chunks(64).map(word).collect()
}

fn dot(a: &[i8], b: &[i8]) -> i32 {
    // Sixteen sums side by side, which the compiler turns into vector instructions.
    let mut sums = [0_i32; 16];
    let (a_chunks, b_chunks) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: i32 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(x, y)| i32::from(*x) * i32::from(*y))
        .sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for n in 0..16 {
            sums[n] += i32::from(a[n]) * i32::from(b[n]);
        }
    }
    rest + sums.iter().sum::<i32>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn embedded(vector: &[f32]) -> Embedded {
        let (scale, codes) = quantise(vector);
        Embedded { owner: 0, start: 0, len: 0, scale, codes }
    }

    fn id(n: u64) -> u64 {
        (n + 1) << 32
    }

    /// Vectors that differ, the same in every run.
    fn made(n: u64, dimension: usize) -> Vec<f32> {
        let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % 2000) as f32 / 1000.0 - 1.0
        };
        (0..dimension).map(|_| next()).collect()
    }

    fn set(count: u64, dimension: usize) -> VectorSet {
        let mut set = VectorSet::new(dimension);
        for n in 0..count {
            set.put(id(n), 0, &[embedded(&made(n, dimension))]);
        }
        set
    }

    #[test]
    fn the_nearest_comes_first_and_a_filter_holds() {
        let set = set(500, 96);
        let probe = Probe::of(&made(42, 96));
        let nearest = set.nearest(&probe, 3, &mut |_, _| true);
        assert_eq!(nearest[0].id, id(42));
        assert!((nearest[0].cosine - 1.0).abs() < 0.01);
        let others = set.nearest(&probe, 3, &mut |it, _| it != id(42));
        assert!(others.iter().all(|near| near.id != id(42)));
        assert_eq!(set.near(&probe, id(42), |_| true).unwrap().id, id(42));
        assert_eq!(set.near(&probe, id(42), |_| false), None);
    }

    #[test]
    fn what_is_removed_is_not_found_and_the_rest_is() {
        let mut set = set(5000, 64);
        for n in 0..4000 {
            set.remove(id(n));
        }
        assert_eq!(set.len(), 1000);
        let found = |n: u64| set.nearest(&Probe::of(&made(n, 64)), 1, &mut |_, _| true)[0].id;
        assert_eq!(found(4999), id(4999));
        assert_ne!(found(17), id(17));
    }

    #[test]
    fn one_bit_a_number_finds_nearly_the_same() {
        let set = set(4000, 128);
        let everything: Vec<usize> = (0..4000).collect();
        let mut agreed = 0;
        for n in 0..20 {
            let mut near = made(n, 128);
            for (x, noise) in near.iter_mut().zip(made(n + 77_777, 128)) {
                *x += noise * 0.5;
            }
            let probe = Probe::of(&near);
            agreed += usize::from(set.prefilter(&probe, &everything).contains(&(n as usize)));
        }
        assert_eq!(agreed, 20);
    }

    proptest! {
        #[test]
        fn eight_bits_are_enough(a in proptest::collection::vec(-1.0_f32..1.0, 70), b in proptest::collection::vec(-1.0_f32..1.0, 70)) {
            let norm = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
            prop_assume!(norm(&a) > 0.5 && norm(&b) > 0.5);
            let exact = a.iter().zip(&b).map(|(x, y)| x * y).sum::<f32>() / norm(&a) / norm(&b);
            let mut set = VectorSet::new(70);
            set.put(id(0), 0, &[embedded(&a)]);
            let near = set.near(&Probe::of(&b), id(0), |_| true).unwrap();
            prop_assert!((near.cosine - exact).abs() < 0.03, "{} {}", near.cosine, exact);
        }
    }
}
