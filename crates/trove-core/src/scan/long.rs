//! What is known of the long strings of a text once somebody walked over it.
//!
//! A message is mostly one long string, and several of us want to know where it ends: whoever
//! checks the message, whoever takes the result apart, whoever shows a part of it. Only the first
//! walks over it.

use std::ops::Range;

/// A shorter string is walked over again.
const LONG: usize = 512;
/// So many are noted; a result has one or a few.
const MAX_NOTED: usize = 16;

/// The long strings of a text, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct LongStrings(Vec<LongString>);

#[derive(Debug, Clone)]
pub(crate) struct LongString {
    /// Where it stands, quotes included.
    pub(crate) place: Range<usize>,
    /// How many bytes it means, as in [`super::Literal`].
    pub(crate) meant: Option<usize>,
}

impl LongStrings {
    pub(crate) fn note(&mut self, string: &LongString) {
        if string.place.len() >= LONG && self.0.len() < MAX_NOTED {
            self.0.push(string.clone());
        }
    }

    /// The one that begins at `start`.
    pub(crate) fn at(&self, start: usize) -> Option<&LongString> {
        self.0.iter().find(|string| string.place.start == start)
    }

    /// Those of a part of the text, as they stand in that part.
    pub(crate) fn within(&self, part: &Range<usize>) -> LongStrings {
        let inside = self
            .0
            .iter()
            .filter(|string| string.place.start >= part.start && string.place.end <= part.end);
        let moved = inside.map(|string| LongString {
            place: string.place.start - part.start..string.place.end - part.start,
            meant: string.meant,
        });
        LongStrings(moved.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
