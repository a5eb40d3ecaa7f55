//! The highest scores of a stream, in room for twice as many.

/// Keeps the best entries; of equal scores, those with the lowest ids.
pub(super) struct Best {
    wanted: usize,
    /// No entry below this can be among the best any more.
    floor: f32,
    entries: Vec<(u64, f32)>,
}

impl Best {
    /// `wanted` must not be zero.
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, floor: f32::NEG_INFINITY, entries: Vec::with_capacity(2 * wanted) }
    }

    pub(super) fn would_take(&self, score: f32) -> bool {
        score >= self.floor
    }

    pub(super) fn push(&mut self, score: f32, id: u64) {
        if self.entries.len() == 2 * self.wanted {
            self.entries.select_nth_unstable_by(self.wanted - 1, better_first);
            self.entries.truncate(self.wanted);
            self.floor = self.entries[self.wanted - 1].1;
        }
        if self.would_take(score) {
            self.entries.push((id, score));
        }
    }

    /// The best entries, best first.
    pub(super) fn finish(mut self) -> Vec<(u64, f32)> {
        self.entries.sort_unstable_by(better_first);
        self.entries.truncate(self.wanted);
        self.entries
    }
}

fn better_first(left: &(u64, f32), right: &(u64, f32)) -> std::cmp::Ordering {
    right.1.total_cmp(&left.1).then(left.0.cmp(&right.0))
}
