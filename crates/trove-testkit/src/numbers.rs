//! Numbers that look like chance and are the same in every run. Figures that are compared
//! across runs depend on the sequence: it must not change.

/// The state; the caller chooses the first one.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number, of 31 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// The next number, below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_one_that_figures_were_made_with() {
        let mut numbers = Numbers(1);
        assert_eq!(FIRST.map(|_| numbers.next()), FIRST);
        assert_eq!(Numbers(1).below(1000) as u64, FIRST[0] % 1000);
    }

    const FIRST: [u64; 4] = [908834774, 1093944153, 1392341196, 822192870];
}
