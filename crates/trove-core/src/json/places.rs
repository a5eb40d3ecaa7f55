//! Places of values in the text of a JSON value.

use std::ops::Range;

use super::Json;
use crate::scan::Scanner;

impl Json {
    /// Where a part of the text begins: `part` must point into it.
    pub(crate) fn start_of(&self, part: &str) -> Option<usize> {
        place_in(&self.text, part).map(|place| place.start)
    }

    /// The text of the value that begins at a place.
    pub(crate) fn value_at(&self, start: usize) -> Option<&str> {
        Scanner::new(self.text.get(start..)?).value().ok()
    }
}

/// Where a part of a text begins and ends in it.
pub(super) fn place_in(text: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start + part.len();
    (end <= text.len()).then_some(start..end)
}
