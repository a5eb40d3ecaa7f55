//! The places of the long values of a text, kept from the first walk over it.
//!
//! A message is mostly one long string in an array. Several readers need its end: one checks the
//! message, one takes the result apart, one shows a part of it. Only the first walks over it.

use std::ops::Range;

/// A shorter value is walked over again.
const LONG: usize = 512;
/// So many are noted; a result has one or a few.
const MAX_NOTED: usize = 16;

/// The long values of a text, inner ones before those around them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LongValues(Vec<LongValue>);

#[derive(Debug, Clone)]
pub(crate) struct LongValue {
    /// Where it stands, quotes and brackets included.
    pub(crate) place: Range<usize>,
    /// Of a string, how many bytes it means, as in [`super::Literal`].
    pub(crate) meant: Option<usize>,
}

impl LongValues {
    pub(crate) fn note(&mut self, place: Range<usize>, meant: Option<usize>) {
        if place.len() >= LONG && self.0.len() < MAX_NOTED {
            self.0.push(LongValue { place, meant });
        }
    }

    /// The one that begins at `start`.
    pub(crate) fn at(&self, start: usize) -> Option<&LongValue> {
        self.0.iter().find(|value| value.place.start == start)
    }

    /// Those of a part of the text, as they stand in that part.
    pub(crate) fn within(&self, part: &Range<usize>) -> LongValues {
        let inside = self
            .0
            .iter()
            .filter(|value| value.place.start >= part.start && value.place.end <= part.end);
        let moved = inside.map(|value| LongValue {
            place: value.place.start - part.start..value.place.end - part.start,
            meant: value.meant,
        });
        LongValues(moved.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
