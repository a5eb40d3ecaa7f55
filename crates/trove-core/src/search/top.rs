//! The greatest of many, without sorting all of them.

use std::cmp::Ordering;

/// The greatest few, greatest first.
pub(super) fn top_by<T>(
    values: impl Iterator<Item = T>,
    limit: usize,
    order: impl Fn(&T, &T) -> Ordering,
) -> Vec<T> {
    let mut top = Top::of(limit);
    for value in values {
        top.push(value, &order);
    }
    top.into_sorted(&order)
}

/// The greatest few so far.
pub(super) struct Top<T> {
    limit: usize,
    best: Vec<T>,
    /// Whether some were left out: the list is then no longer than its limit, or was just now.
    is_cut: bool,
}

impl<T> Top<T> {
    /// None yet, and never more than `limit`.
    pub(super) fn of(limit: usize) -> Top<T> {
        Top { limit, best: Vec::new(), is_cut: false }
    }

    /// Takes one in if it is among the greatest; always in the same order.
    pub(super) fn push(&mut self, value: T, order: &impl Fn(&T, &T) -> Ordering) {
        if self.limit == 0 {
            return;
        }
        // Once the list was cut, what is not above its last cannot come in.
        if self.is_cut && order(&value, &self.best[self.limit - 1]).is_le() {
            return;
        }
        self.best.push(value);
        if self.best.len() >= self.limit * 2 + 64 {
            self.cut(order);
            self.is_cut = true;
        }
    }

    /// All of them, greatest first.
    pub(super) fn into_sorted(mut self, order: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
        self.cut(order);
        self.best
    }

    fn cut(&mut self, order: &impl Fn(&T, &T) -> Ordering) {
        self.best.sort_by(|a, b| order(b, a));
        self.best.truncate(self.limit);
    }
}
