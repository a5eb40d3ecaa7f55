//! Looks through a line that is too long to be looked through in one go.
//!
//! The automaton goes on from byte to byte, so that the clock can be looked at in between and no
//! match is missed, however long it is.

use std::{cell::RefCell, time::Instant};

use regex_automata::{
    Input,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson,
    util::syntax,
};

use super::{MAX_NESTING, PatternLimits};

/// How many bytes are looked at between two looks at the clock.
const STEPS: usize = 4096;

/// Why it says nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    TooSlow,
    /// What such a pattern means here the automaton cannot tell: it does not know which letters
    /// beyond ASCII make up words.
    CannotTell,
}

pub(super) struct Stepper {
    dfa: DFA,
    cache: RefCell<Cache>,
}

impl Stepper {
    /// Nothing where there is no such automaton for a pattern.
    pub(super) fn new(pattern: &str, limits: PatternLimits) -> Option<Stepper> {
        let dfa = DFA::config()
            .cache_capacity(limits.compiled_bytes)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true);
        let nfa = thompson::Config::new().nfa_size_limit(Some(limits.compiled_bytes));
        let dfa = DFA::builder()
            .configure(dfa)
            .thompson(nfa)
            .syntax(syntax::Config::new().nest_limit(MAX_NESTING))
            .build(pattern)
            .ok()?;
        let cache = RefCell::new(dfa.create_cache());
        Some(Stepper { dfa, cache })
    }

    /// Where the first match that begins at `from` or later is known to be one.
    pub(super) fn after(
        &self,
        line: &str,
        from: usize,
        until: Instant,
    ) -> Result<Option<usize>, Stopped> {
        let cache = &mut *self.cache.borrow_mut();
        let input = Input::new(line).range(from..).earliest(true);
        let start = self.dfa.start_state_forward(cache, &input);
        let mut state = start.map_err(|_| Stopped::CannotTell)?;
        for (steps, byte) in line.as_bytes()[from..].iter().enumerate() {
            if steps % STEPS == 0 && Instant::now() >= until {
                return Err(Stopped::TooSlow);
            }
            let next = self.dfa.next_state(cache, state, *byte);
            state = next.map_err(|_| Stopped::CannotTell)?;
            if state.is_match() {
                // A match is told one byte behind its end.
                return Ok(Some(line.floor_char_boundary(from + steps)));
            }
            if state.is_dead() {
                return Ok(None);
            }
            if state.is_quit() {
                return Err(Stopped::CannotTell);
            }
        }
        let end = self.dfa.next_eoi_state(cache, state).map_err(|_| Stopped::CannotTell)?;
        Ok(end.is_match().then_some(line.len()))
    }
}
