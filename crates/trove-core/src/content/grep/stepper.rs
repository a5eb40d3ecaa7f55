//! Goes through a line one byte at a time and counts its work.
//!
//! The automaton is built while it runs. Each byte is one step, and so is each byte of automaton
//! that has to be built for it: a pattern that is dear costs its caller, and is stopped in time.

use std::cell::{Cell, RefCell};

use regex_automata::{
    Anchored, Input, MatchKind,
    hybrid::{
        LazyStateID,
        dfa::{Cache, DFA},
    },
    nfa::thompson,
    util::syntax,
};

use super::{MAX_NESTING, PatternLimits};

/// How many bytes are looked at between two counts.
const COUNTED_AT_ONCE: u64 = 4096;

/// Why it says nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    TooManySteps,
    /// The automaton cannot tell the meaning of the pattern: it does not know which letters beyond
    /// ASCII make up words.
    CannotTell,
}

/// The steps that a search may still take.
pub(super) struct Steps(Cell<u64>);

impl Steps {
    pub(super) fn new(most: u64) -> Steps {
        Steps(Cell::new(most))
    }

    pub(super) fn left(&self) -> u64 {
        self.0.get()
    }

    pub(super) fn take(&self, steps: u64) -> Result<(), Stopped> {
        let Some(left) = self.0.get().checked_sub(steps) else {
            self.0.set(0);
            return Err(Stopped::TooManySteps);
        };
        self.0.set(left);
        Ok(())
    }
}

/// The way in which a line is gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Forward,
    Backward,
}

pub(super) struct Stepper {
    dfa: DFA,
    cache: RefCell<Cache>,
}

impl Stepper {
    /// Finds where matches end; `None` where there is no such automaton for a pattern.
    pub(super) fn forward(pattern: &str, limits: PatternLimits) -> Option<Stepper> {
        Stepper::new(pattern, limits, Way::Forward)
    }

    /// Finds where a match begins whose end is known.
    pub(super) fn backward(pattern: &str, limits: PatternLimits) -> Option<Stepper> {
        Stepper::new(pattern, limits, Way::Backward)
    }

    fn new(pattern: &str, limits: PatternLimits, way: Way) -> Option<Stepper> {
        let is_backward = way == Way::Backward;
        let kind = if is_backward { MatchKind::All } else { MatchKind::LeftmostFirst };
        let dfa = DFA::config()
            .match_kind(kind)
            .cache_capacity(limits.compiled_bytes)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true);
        let nfa = thompson::Config::new()
            .reverse(is_backward)
            .nfa_size_limit(Some(limits.compiled_bytes));
        let dfa = DFA::builder()
            .configure(dfa)
            .thompson(nfa)
            .syntax(syntax::Config::new().nest_limit(MAX_NESTING))
            .build(pattern)
            .ok()?;
        let cache = RefCell::new(dfa.create_cache());
        Some(Stepper { dfa, cache })
    }

    /// How many states the pattern has: no byte costs more than to look at all of them.
    pub(super) fn states(&self) -> usize {
        self.dfa.get_nfa().states().len()
    }

    /// Where the first match that begins at `from` or later is known to be one.
    pub(super) fn after(
        &self,
        line: &str,
        from: usize,
        steps: &Steps,
    ) -> Result<Option<usize>, Stopped> {
        let cache = &mut *self.cache.borrow_mut();
        let input = Input::new(line).range(from..).earliest(true);
        let start = self.dfa.start_state_forward(cache, &input);
        let mut state = start.map_err(|_| Stopped::CannotTell)?;
        let mut counted = Counted::new(steps, cache)?;
        for (index, byte) in line.as_bytes().iter().enumerate().skip(from) {
            state = counted.step(&self.dfa, cache, state, *byte)?;
            if state.is_match() {
                // A match is told one byte behind its end.
                return Ok(Some(line.floor_char_boundary(index)));
            }
            if state.is_dead() {
                return Ok(None);
            }
        }
        let end = self.dfa.next_eoi_state(cache, state).map_err(|_| Stopped::CannotTell)?;
        Ok(end.is_match().then_some(line.len()))
    }

    /// Where the longest match begins that ends at `end`, not before `from`.
    pub(super) fn before(
        &self,
        line: &str,
        from: usize,
        end: usize,
        steps: &Steps,
    ) -> Result<Option<usize>, Stopped> {
        let cache = &mut *self.cache.borrow_mut();
        let input = Input::new(line).range(from..end).anchored(Anchored::Yes);
        let start = self.dfa.start_state_reverse(cache, &input);
        let mut state = start.map_err(|_| Stopped::CannotTell)?;
        let mut counted = Counted::new(steps, cache)?;
        let mut begins = None;
        for (index, byte) in line.as_bytes()[..end].iter().enumerate().skip(from).rev() {
            state = counted.step(&self.dfa, cache, state, *byte)?;
            if state.is_match() {
                begins = Some(line.floor_char_boundary(index + 1));
            } else if state.is_dead() {
                return Ok(begins);
            }
        }
        let last = match from.checked_sub(1) {
            Some(before) => counted.step(&self.dfa, cache, state, line.as_bytes()[before])?,
            None => self.dfa.next_eoi_state(cache, state).map_err(|_| Stopped::CannotTell)?,
        };
        Ok(if last.is_match() { Some(from) } else { begins })
    }
}

/// Steps of one pass, written down many at a time.
struct Counted<'s> {
    steps: &'s Steps,
    open: u64,
    /// How large the automaton was when last looked at.
    size: usize,
}

impl<'s> Counted<'s> {
    /// A pass begins only if there are steps left.
    fn new(steps: &'s Steps, cache: &Cache) -> Result<Counted<'s>, Stopped> {
        steps.take(1)?;
        Ok(Counted { steps, open: 0, size: cache.memory_usage() })
    }

    fn step(
        &mut self,
        dfa: &DFA,
        cache: &mut Cache,
        state: LazyStateID,
        byte: u8,
    ) -> Result<LazyStateID, Stopped> {
        let next = dfa.next_state(cache, state, byte).map_err(|_| Stopped::CannotTell)?;
        if next.is_quit() {
            return Err(Stopped::CannotTell);
        }
        let size = cache.memory_usage();
        // It shrinks when there is no more room for it, and is built again.
        self.open += 1 + size.abs_diff(self.size) as u64;
        self.size = size;
        if self.open >= COUNTED_AT_ONCE {
            self.steps.take(std::mem::take(&mut self.open))?;
        }
        Ok(next)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // The next pass finds that there are none left.
        let _ = self.steps.take(self.open);
    }
}
