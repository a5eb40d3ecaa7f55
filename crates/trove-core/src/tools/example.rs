//! An example for those who write tools: the smallest one that shows every part.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Call, Effect, Example, Failure, Outcome, Tool, Toolset};

/// Give back the words that were given.
///
/// It is here to be copied by whoever writes the next tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExampleEcho {
    /// What to give back.
    #[schemars(length(max = 1000))]
    text: String,
    /// How often; default 1
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 10))]
    times: usize,
}

fn once() -> usize {
    1
}

impl Tool for ExampleEcho {
    const NAME: &'static str = "example_echo";
    const TOOLSET: Toolset = Toolset::Example;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] = &[
        Example { says: "Give a word back.", arguments: r#"{"text": "hello"}"# },
        Example { says: "Three times over.", arguments: r#"{"text": "ho", "times": 3}"# },
    ];

    async fn run(self, _call: &Call<'_>) -> Result<Outcome, Failure> {
        let said = vec![self.text.as_str(); self.times].join(" ");
        Ok(Outcome::ok(json!({ "said": said })).message("That is what you said."))
    }
}
