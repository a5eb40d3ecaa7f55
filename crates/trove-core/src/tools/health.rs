//! `health_check`: the state of the gateway, from memory; no server is asked.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answers, Call, Effect, Example, Failure, Outcome, Prefix, Tool, Toolset};
use crate::json::{Json, Object};

/// Tell which servers work.
///
/// # Details
///
/// Answers at once from memory. For each server: its state, what went wrong last, how
/// many resources it lists.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HealthCheck {}

impl Tool for HealthCheck {
    const NAME: &'static str = "health_check";
    const TOOLSET: Toolset = Toolset::Health;
    const EFFECT: Effect = Effect::Reads;
    const PREFIX: Prefix = Prefix::None;
    const ANSWERS: Answers = Answers::Members;
    const EXAMPLES: &'static [Example] =
        &[Example { says: "See which servers answer.", arguments: "{}" }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let health = call.gateway.health(call.caller);
        let mut object = Object::new();
        object.set("success", "true");
        object.set_str("status", health.status);
        object.set_str("version", health.version);
        object.set("uptime_seconds", health.uptime_seconds.to_string());
        object.set_str("platform", &format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH));
        if let Some(bytes) = resident_bytes() {
            object.set("memory_bytes", bytes.to_string());
        }
        object.set("resources", health.resources.to_string());
        object.set("templates", health.templates.to_string());
        if call.tools.searches_tools() {
            object.set("tools_found_by_meaning", call.tools.finder.meanings().to_string());
        }
        object.set("index", Json::of(&health.index).as_str().to_owned());
        object.set("stores", Json::of(&health.stores).as_str().to_owned());
        object.set("sources", Json::of(&health.sources).as_str().to_owned());
        Ok(Outcome::flat(object))
    }
}

/// How much memory the process holds, where the system says so.
fn resident_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
