//! Counts and times what clients ask.

use std::{panic::AssertUnwindSafe, pin::Pin};

use futures_util::FutureExt as _;
use tracing::error;
use trove_core::metrics::{Ending, OTHER, Timer};

use super::Server;
use crate::{
    payload::Payload,
    wire::{Outcome, RpcError, code},
};

/// The methods that are counted apart. Methods that clients make up are counted together, so that
/// they cannot fill the table.
const METHODS: [&str; 17] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "skills/get",
    "skills/list",
    "tools/call",
    "tools/list",
];

/// The longest result of a tool that is looked at for a failure.
const MAX_FAILURE: usize = 64 * 1024;

impl Server {
    /// Begins to time a request.
    pub(super) fn begin(&self, method: &str) -> Timer {
        let known = METHODS.iter().find(|known| **known == method);
        self.gateway.metrics().requests.begin(known.unwrap_or(&OTHER))
    }

    /// Begins to time the call of a tool, of ours or of a Source.
    pub(super) fn begin_call(&self, tool: &str, is_ours: bool) -> Timer {
        let is_listed = is_ours || self.gateway.current().tool(tool).is_some();
        self.gateway.metrics().tools.begin(if is_listed { tool } else { OTHER })
    }
}

/// Does the work and tells the timer how it ended. A panic is one failure that only its caller
/// hears of. The caller holds the work: handed over, it would take its room twice, and every
/// request is moved once.
pub(super) async fn timed(timer: Timer, work: Pin<&mut impl Future<Output = Outcome>>) -> Outcome {
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        error!("a request failed by a fault of our own");
        let message = "this failed by a fault of Trove's own; report it with the log of this \
                       moment; other requests work on";
        Err(RpcError::new(code::INTERNAL_ERROR, message))
    });
    timer.end(if outcome.is_ok() { Ending::Ok } else { Ending::Error });
    outcome
}

/// Times the call of a tool, whose failures are answers that say so.
pub(super) async fn timed_call(
    timer: Timer,
    work: Pin<&mut impl Future<Output = Outcome>>,
) -> Outcome {
    let outcome = work.await;
    let has_failed = outcome.as_ref().map_or(true, is_failure);
    timer.end(if has_failed { Ending::Error } else { Ending::Ok });
    outcome
}

/// Whether the result of a tool tells of a failure. Such results are short, so the long
/// ones are not searched; of the others few say `true` after this key anywhere.
fn is_failure(result: &Payload) -> bool {
    const KEY: &[u8] = b"\"isError\"";
    let Payload::Whole(result) = result else { return false };
    let text = result.as_bytes();
    let may_say_so = |at: usize| {
        let value = text[at + KEY.len()..].trim_ascii_start().strip_prefix(b":");
        value.is_some_and(|value| value.trim_ascii_start().starts_with(b"true"))
    };
    // As most answers end, ours among them.
    !text.ends_with(b"\"isError\":false}")
        && text.len() <= MAX_FAILURE
        && memchr::memmem::find_iter(text, KEY).any(may_say_so)
        && result.get("isError").is_some_and(|is_error| is_error.as_str() == "true")
}

#[cfg(test)]
mod tests {
    use trove_core::Json;

    use super::*;

    #[test]
    fn a_failure_is_what_the_result_itself_says() {
        let is_failure =
            |text: &str| is_failure(&Json::parse(text.to_owned()).expect("JSON").into());
        assert!(is_failure(r#"{"content":[],"isError":true}"#));
        assert!(is_failure("{ \"isError\" :\n true, \"content\": [] }"));
        assert!(!is_failure(r#"{"content":[],"isError":false}"#));
        assert!(!is_failure(r#"{"content":[]}"#));
        assert!(!is_failure(r#"{"structuredContent":{"isError":true}}"#));
        assert!(!is_failure(r#"{"content":[{"type":"text","text":"\"isError\":true"}]}"#));
    }

    #[test]
    fn every_method_is_named_once() {
        assert!(METHODS.is_sorted());
    }
}
