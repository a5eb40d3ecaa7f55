//! When to try again, and when to stop trying often.

use std::time::Duration;

use rand::Rng as _;

/// After this many failures in a row attempts become rare.
pub const CIRCUIT_OPENS_AFTER: u32 = 6;
/// The time between attempts then.
pub const CIRCUIT_INTERVAL: Duration = Duration::from_secs(60);
/// A connection that held this long was a good one: its end starts the count anew.
pub const STABLE_AFTER: Duration = Duration::from_secs(10);

const FIRST: Duration = Duration::from_millis(200);

/// How long to wait after so many failures in a row, e.g. 400 ms after two. A quarter is given or
/// taken, so that servers which fell together do not rise together.
pub(crate) fn delay(failures: u32) -> Duration {
    let base = if is_open(failures) {
        CIRCUIT_INTERVAL
    } else {
        FIRST * 2u32.saturating_pow(failures.saturating_sub(1))
    };
    base.mul_f64(rand::rng().random_range(0.75..1.25))
}

/// Whether attempts have become rare.
pub(crate) fn is_open(failures: u32) -> bool {
    failures >= CIRCUIT_OPENS_AFTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_until_the_circuit_opens() {
        for (failures, base) in [(1, 0.2), (2, 0.4), (5, 3.2), (6, 60.0), (100, 60.0)] {
            let waited = delay(failures).as_secs_f64();
            assert!((base * 0.74..base * 1.26).contains(&waited), "{failures}: {waited}");
        }
    }
}
