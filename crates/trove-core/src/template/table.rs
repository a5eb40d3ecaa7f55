//! Which steps of a template can consume the rest of a URI from which byte.

#[cfg(test)]
use std::cell::Cell;

use super::matcher::Step;
use super::parse::{NO_LIMIT, Parsed};
use super::units::{Class, Unit, units};

/// How strictly to read a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// By the rules.
    Exact,
    /// As its writer may have meant it: values may be empty or hold wrong characters,
    /// and the URI may stop where a value should be.
    Loose,
}

/// Marks a byte from which a value cannot go on.
const NEVER: u16 = u16::MAX;

pub(super) struct Table<'a> {
    pub(super) parsed: &'a Parsed,
    pub(super) steps: &'a [Step],
    pub(super) uri: &'a str,
    pub(super) units: Vec<Unit>,
    pub(super) reading: Reading,
    /// The first step after the literal prefix, which is compared beforehand.
    pub(super) first: usize,
    /// The first byte after the literal prefix.
    pub(super) start: usize,
    /// One row of bits per step and one for the end; one bit per byte of the URI and
    /// one for its end.
    bits: Vec<u64>,
    words_per_row: usize,
}

impl<'a> Table<'a> {
    /// The table, if the template fits at all.
    pub(super) fn fill(
        parsed: &'a Parsed,
        steps: &'a [Step],
        uri: &'a str,
        reading: Reading,
    ) -> Option<Table<'a>> {
        let (first, start) = match steps.first() {
            Some(Step::Literal(prefix)) => {
                let prefix = parsed.slice(*prefix);
                (1, uri.strip_prefix(prefix).map(|_| prefix.len())?)
            }
            _ => (0, 0),
        };
        let words_per_row = uri.len() / 64 + 1;
        let bits = vec![0; words_per_row * (steps.len() + 1)];
        let units = units(uri);
        let mut table =
            Table { parsed, steps, uri, units, reading, first, start, bits, words_per_row };
        table.allow(steps.len(), uri.len());
        // How many more units a value needs from each byte until it may end.
        let mut distance = vec![NEVER; uri.len() + 1];
        for nth in (first..steps.len()).rev() {
            match steps[nth] {
                Step::Value { .. } => table.fill_value(nth, &mut distance),
                Step::Pairs { .. } => table.fill_pairs(nth, &mut distance),
                Step::Literal(_) | Step::Lead { .. } => table.fill_fixed(nth),
            }
        }
        table.can(first, start).then_some(table)
    }

    /// Whether the steps from this one on can consume the URI from this byte on.
    pub(super) fn can(&self, nth: usize, at: usize) -> bool {
        at <= self.uri.len() && self.bits[nth * self.words_per_row + at / 64] >> (at % 64) & 1 == 1
    }

    fn allow(&mut self, nth: usize, at: usize) {
        self.bits[nth * self.words_per_row + at / 64] |= 1 << (at % 64);
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.uri.as_bytes().get(at).copied()
    }

    /// The end of the unit at this byte, if it is in the class.
    pub(super) fn unit_end(&self, at: usize, class: Class) -> Option<usize> {
        count_visits(1);
        self.units[at].end(at, class)
    }

    fn starts_with(&self, at: usize, text: &str) -> bool {
        self.uri.as_bytes()[at..].starts_with(text.as_bytes())
    }

    /// The class of the value of this step, whether it may be empty, and how many characters are
    /// too many.
    pub(super) fn extent(&self, nth: usize) -> (Class, bool, u16) {
        match (self.steps[nth], self.reading) {
            (Step::Value { variable, class, shape }, Reading::Exact) => {
                (class, shape.may_be_empty, self.parsed.variables[usize::from(variable)].max)
            }
            (Step::Value { class, .. }, Reading::Loose) => (class.loosened(), true, NO_LIMIT),
            (Step::Pairs { class, .. }, Reading::Exact) => (class, true, NO_LIMIT),
            // Even a loose reading ends the value of a pair at the next separator.
            (Step::Pairs { separator: b';', .. }, Reading::Loose) => {
                (Class::NotSemicolon, true, NO_LIMIT)
            }
            (Step::Pairs { class, .. }, Reading::Loose) => (class.loosened(), true, NO_LIMIT),
            (Step::Literal(_) | Step::Lead { .. }, _) => (Class::Any, true, NO_LIMIT),
        }
    }

    fn fill_fixed(&mut self, nth: usize) {
        for at in self.start..=self.uri.len() {
            count_visits(1);
            let fits = match self.steps[nth] {
                Step::Literal(span) => {
                    let literal = self.parsed.slice(span);
                    self.can(nth + 1, at + span.len()) && self.starts_with(at, literal)
                        || nth + 1 < self.steps.len() && self.stops_within(at, literal)
                }
                Step::Lead { byte, skip_to } => {
                    let skips = skip_to.is_some_and(|to| self.can(usize::from(to), at));
                    let stops = skip_to.is_none() && self.stops_short(at);
                    skips || stops || self.byte(at) == Some(byte) && self.can(nth + 1, at + 1)
                }
                Step::Value { .. } | Step::Pairs { .. } => false,
            };
            if fits {
                self.allow(nth, at);
            }
        }
    }

    /// Whether a loose reading may forgive that the URI ends before the literal does.
    fn stops_within(&self, at: usize, literal: &str) -> bool {
        self.reading == Reading::Loose && literal.as_bytes().starts_with(&self.uri.as_bytes()[at..])
    }

    /// Whether a loose reading may forgive that the URI ends here.
    fn stops_short(&self, at: usize) -> bool {
        self.reading == Reading::Loose && at == self.uri.len()
    }

    fn fill_value(&mut self, nth: usize, distance: &mut [u16]) {
        let (class, may_be_empty, max) = self.extent(nth);
        for at in (self.start..=self.uri.len()).rev() {
            let longer = match self.unit_end(at, class) {
                Some(end) if distance[end] != NEVER => (distance[end] + 1).min(NO_LIMIT),
                _ => NEVER,
            };
            distance[at] = if self.can(nth + 1, at) { 0 } else { longer };
            let needed = if may_be_empty { distance[at] } else { longer };
            if needed <= max || self.stops_short(at) {
                self.allow(nth, at);
            }
        }
    }

    fn fill_pairs(&mut self, nth: usize, distance: &mut [u16]) {
        let Step::Pairs { variables, .. } = self.steps[nth] else { return };
        let (class, ..) = self.extent(nth);
        for at in (self.start..=self.uri.len()).rev() {
            let ends = self.pair_ends(nth, at);
            let goes_on = self.unit_end(at, class).is_some_and(|end| distance[end] == 0);
            distance[at] = if ends || goes_on { 0 } else { NEVER };
            let fits = ends
                || self.reading == Reading::Loose && goes_on
                || variables.range().any(|variable| match self.name_end(at, variable) {
                    Some(end) if self.byte(end) == Some(b'=') => distance[end + 1] == 0,
                    Some(end) => self.pair_ends(nth, end),
                    None => false,
                });
            if fits {
                self.allow(nth, at);
            }
        }
    }

    /// Whether the pair before this byte may end here.
    pub(super) fn pair_ends(&self, nth: usize, at: usize) -> bool {
        let Step::Pairs { separator, .. } = self.steps[nth] else { return false };
        self.can(nth + 1, at) || self.byte(at) == Some(separator) && self.can(nth, at + 1)
    }

    /// The end of the name of the variable, if a pair with this name can start here.
    pub(super) fn name_end(&self, at: usize, variable: usize) -> Option<usize> {
        // Only after a sign: elsewhere it would be the middle of a value.
        let is_start = matches!(self.byte(at.checked_sub(1)?), Some(b'?' | b'&' | b';'));
        let name = self.parsed.name(variable);
        (is_start && self.starts_with(at, name)).then_some(at + name.len())
    }

    /// The last byte at which the value of a pair that starts at `from` may end.
    pub(super) fn pair_value_end(&self, nth: usize, from: usize) -> Option<usize> {
        let (class, ..) = self.extent(nth);
        let mut at = from;
        let mut best = self.pair_ends(nth, at).then_some(at);
        while let Some(end) = self.unit_end(at, class) {
            at = end;
            if self.pair_ends(nth, at) {
                best = Some(at);
            }
        }
        best
    }
}

#[cfg(test)]
thread_local! {
    /// The tests' measure of work.
    pub(super) static VISITS: Cell<usize> = const { Cell::new(0) };
}

/// Tells the tests how many bytes or cells are about to be looked at.
pub(super) fn count_visits(count: usize) {
    #[cfg(test)]
    VISITS.set(VISITS.get() + count);
    #[cfg(not(test))]
    let _ = count;
}
