//! Makes new inputs of old ones, from a seed and nothing else.

/// Bytes on which parsers trip, e.g. a quote or half of an escape.
const SPICE: [&[u8]; 34] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"{{",
    b"}}",
    b"\n",
    b"\r\n",
    b"\n\n",
    b":",
    b",",
    b"/",
    b"..",
    b"%",
    b"%2",
    b"%00",
    b"+",
    b"*",
    b"?",
    b"#",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xf0\x9f\x98\x80",
    b"\\ud800",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"---\n",
    b"data: ",
    b"null",
    b"true",
];
/// How often something is repeated at the most.
const MAX_REPEATS: usize = 300;

/// A small generator (xorshift); good enough to make a mess.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed.max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a limit, or nought.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }

    /// The first input, changed in a few places, with parts of the second.
    pub(crate) fn mutate(&mut self, first: &[u8], second: &[u8]) -> Vec<u8> {
        let mut input = first.to_vec();
        for _ in 0..=self.below(6) {
            let at = self.below(input.len() + 1);
            let end = (at + self.below(24)).min(input.len());
            match self.below(8) {
                0 if at < input.len() => input[at] ^= 1 << self.below(8),
                1 if at < input.len() => input[at] = self.next() as u8,
                2 => drop(input.drain(at..end)),
                3 | 4 => {
                    let spice = SPICE[self.below(SPICE.len())];
                    input.splice(at..at, spice.iter().copied());
                }
                5 => {
                    let piece = input[at..end].to_vec();
                    let many = piece.repeat(self.below(MAX_REPEATS));
                    input.splice(at..at, many);
                }
                6 => {
                    let from = self.below(second.len() + 1);
                    let to = (from + self.below(64)).min(second.len());
                    input.splice(at..end, second[from..to].iter().copied());
                }
                _ => input.truncate(at.max(1)),
            }
        }
        input
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_inputs() {
        let make = |seed| {
            let mut chance = Chance::new(seed);
            (0..50).map(|_| chance.mutate(b"hello, world", b"[1,2]")).collect::<Vec<_>>()
        };
        assert_eq!(make(7), make(7));
        assert_ne!(make(7), make(8));
    }
}
