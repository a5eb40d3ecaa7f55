//! Looks through texts with a caller's pattern, beside the threads that others wait for.

use std::time::Duration;

use tokio::sync::Semaphore;

use crate::{
    aside::apart,
    tools::{Class, Failure},
};

/// How many do so at a time: each takes a processor while it does.
const AT_ONCE: usize = 2;
/// How long one waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Gives searches their turns.
pub(in crate::tools) struct Turns(Semaphore);

impl Default for Turns {
    fn default() -> Turns {
        Turns(Semaphore::new(AT_ONCE))
    }
}

impl Turns {
    /// Does the work once there is room for it.
    pub(super) async fn take<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Ok(Ok(_turn)) = tokio::time::timeout(MAX_WAIT, self.0.acquire()).await else {
            let message = format!("{AT_ONCE} long searches by `grep` are under way already");
            let busy = Failure::new(Class::Busy, message, "Try again in a few seconds.");
            return Err(busy.retryable(true));
        };
        // Doors go along with a request to where it first waits; they must not wait for this.
        tokio::task::yield_now().await;
        apart(work)
    }
}
