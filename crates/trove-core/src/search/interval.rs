//! How long a text is believed before it is read again.
//!
//! A text that stays the same is looked at less and less often, one that changed soon again.
//! This file only decides how long; the gateway reads, and paces what it reads.

use std::time::Duration;

/// No text is read again by the clock sooner than this, unless configured.
pub const MIN_INTERVAL: Duration = Duration::from_secs(60);
/// How long a text is believed that was read for the first time, unless configured.
pub const FIRST_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// How long, for a text with a date in its listing: the listing tells when it changes.
pub const FIRST_DATED_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Every text is read again after this time.
pub const MAX_INTERVAL: Duration = Duration::from_secs(6 * 60 * 60);
/// How many times longer a text is believed that stayed the same.
const GROWTH: u32 = 2;
/// How many times shorter a text is believed that changed.
const SHRINKAGE: u32 = 4;

/// How long a text may be believed, as far as settings and its Source tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Believed {
    /// How long at the least.
    pub at_least: Duration,
    /// How long after the first read.
    pub at_first: Duration,
    /// How long its Source says; `None` if it says nothing.
    pub as_said: Option<Duration>,
}

impl Default for Believed {
    fn default() -> Believed {
        Believed { at_least: MIN_INTERVAL, at_first: FIRST_INTERVAL, as_said: None }
    }
}

/// The result of a look at a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing was known of it before.
    First,
    /// It is as it was.
    Same,
    /// It changed.
    Changed,
}

/// One look at a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) finding: Finding,
    /// How long it was believed before this look.
    pub(super) before: Duration,
    /// The time since the look before.
    pub(super) passed: Duration,
    /// Whether its listing gives a date.
    pub(super) is_dated: bool,
}

/// How long a text is believed after a look at it.
pub(super) fn next(look: Look, believed: &Believed) -> Duration {
    let wanted = match (believed.as_said, look.finding) {
        (Some(said), _) => said,
        (None, Finding::First) if look.is_dated => believed.at_first.max(FIRST_DATED_INTERVAL),
        (None, Finding::First) => believed.at_first,
        (None, Finding::Changed) => look.before / SHRINKAGE,
        // An early look proves little: a text that many people read would seem to last for ever.
        (None, Finding::Same) if look.passed < look.before / 2 => look.before,
        (None, Finding::Same) => look.before * GROWTH,
    };
    wanted.max(believed.at_least).min(MAX_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(finding: Finding, before: Duration, passed: Duration) -> Look {
        Look { finding, before, passed, is_dated: false }
    }

    #[test]
    fn an_interval_grows_while_a_text_stays_the_same_and_shrinks_when_it_changed() {
        let believed = Believed::default();
        let mut interval = next(look(Finding::First, Duration::ZERO, Duration::ZERO), &believed);
        assert_eq!(interval, FIRST_INTERVAL);
        for _ in 0..20 {
            let longer = next(look(Finding::Same, interval, interval), &believed);
            assert!(longer == interval * GROWTH || longer == MAX_INTERVAL, "{longer:?}");
            interval = longer;
        }
        assert_eq!(interval, MAX_INTERVAL, "it has a bound");
        assert_eq!(next(look(Finding::Same, interval, interval / 3), &believed), interval);
        for _ in 0..20 {
            let shorter = next(look(Finding::Changed, interval, interval), &believed);
            assert!(shorter == interval / SHRINKAGE || shorter == MIN_INTERVAL, "{shorter:?}");
            interval = shorter;
        }
        assert_eq!(interval, MIN_INTERVAL, "and another one");
    }

    #[test]
    fn a_source_that_says_how_long_is_taken_at_its_word_within_the_bounds() {
        let said = |time| Believed { as_said: Some(time), ..Believed::default() };
        for (time, expected) in [
            (Duration::from_millis(5), MIN_INTERVAL),
            (Duration::from_secs(1000), Duration::from_secs(1000)),
            (Duration::from_secs(1_000_000), MAX_INTERVAL),
        ] {
            for finding in [Finding::First, Finding::Same, Finding::Changed] {
                let look = look(finding, FIRST_INTERVAL, FIRST_INTERVAL);
                assert_eq!(next(look, &said(time)), expected, "{finding:?}");
            }
        }
    }

    #[test]
    fn a_dated_text_is_first_believed_for_longer() {
        let dated = Look { is_dated: true, ..look(Finding::First, MIN_INTERVAL, MIN_INTERVAL) };
        assert_eq!(next(dated, &Believed::default()), FIRST_DATED_INTERVAL);
    }
}
