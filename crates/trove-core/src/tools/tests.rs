//! The one path of every call, with tools made to misbehave.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Call, Class, Consent, Effect, Example, Failure, Outcome, Prefix, Settings, Tool, ToolSpec,
    Tools, Toolset, spec,
};
use crate::{Caller, Gateway, Json, access::Access, caller::Door, source::Ask};

/// Break.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Breaks {}

impl Tool for Breaks {
    const NAME: &'static str = "test_break";
    const TOOLSET: Toolset = Toolset::Resources;
    const EFFECT: Effect = Effect::Reads;
    const ALIASES: &'static [&'static str] = &["test_smash"];
    const EXAMPLES: &'static [Example] = &[];

    async fn run(self, _call: &Call<'_>) -> Result<Outcome, Failure> {
        panic!("broken on purpose")
    }
}

/// Remove everything.
///
/// REQUIRES EXPLICIT USER INSTRUCTION: what is removed is gone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Removes {
    /// The word of consent.
    explicit_action: Word,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Word {
    #[serde(rename = "REMOVE_ALL")]
    RemoveAll,
}

impl Tool for Removes {
    const NAME: &'static str = "test_remove";
    const TOOLSET: Toolset = Toolset::Resources;
    const EFFECT: Effect = Effect::Destroys;
    const PREFIX: Prefix = Prefix::None;
    const CONSENT: Option<Consent> = Some(Consent { word: "REMOVE_ALL", loss: "All is gone." });
    const EXAMPLES: &'static [Example] = &[];

    async fn run(self, _call: &Call<'_>) -> Result<Outcome, Failure> {
        Ok(Outcome::ok(json!({ "removed": format!("{:?}", self.explicit_action) }))
            .instruction("Tell the user."))
    }
}

/// Fail for a reason.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fails {}

impl Tool for Fails {
    const NAME: &'static str = "test_fail";
    const TOOLSET: Toolset = Toolset::Resources;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[];

    async fn run(self, _call: &Call<'_>) -> Result<Outcome, Failure> {
        let error = std::io::Error::other("the disk is full");
        Err(Failure::new(Class::StorageError, "It was not kept.", "Make room.")
            .details("the file is /secret")
            .caused_by(&error))
    }
}

static TABLE: &[ToolSpec] = &[spec::<Breaks>(), spec::<Removes>(), spec::<Fails>()];

async fn call(settings: Settings, name: &str, arguments: Value) -> Option<Value> {
    call_under(Access::default(), settings, name, arguments).await
}

async fn call_under(
    access: Access,
    settings: Settings,
    name: &str,
    arguments: Value,
) -> Option<Value> {
    let gateway = Gateway::new(crate::gateway::Parts::new("test")).await;
    gateway.set_access(access);
    let tools = Arc::new(Tools::of(gateway, settings, TABLE));
    let (caller, arguments) = (Caller::behind(Door::Stdio), Json::of(&arguments));
    let reply = tools.call(&caller, name, Some(&arguments), Ask::default()).await?;
    Some(serde_json::from_str(reply.body.as_str()).unwrap())
}

#[tokio::test]
async fn a_panic_is_one_typed_failure() {
    let answer = call(Settings::default(), "guide_test_break", json!({})).await.unwrap();
    let object = &answer["structuredContent"];
    assert_eq!(answer["isError"], true);
    assert_eq!(
        (&object["error"], &object["error_type"]),
        (&json!("InternalError"), &json!("internal_error"))
    );
    assert!(!object["suggested_actions"].as_array().unwrap().is_empty());
    assert!(!answer.to_string().contains("on purpose"), "{answer}");
}

#[tokio::test]
async fn the_prefix_is_shared_overridden_or_empty_and_aliases_have_it_too() {
    let with = |prefix: &str| Settings { prefix: prefix.to_owned(), ..Settings::default() };
    for (prefix, name, is_there) in [
        ("guide", "guide_test_break", true),
        ("guide", "guide_test_smash", true),
        ("guide", "test_break", false),
        ("guide", "test_remove", true),
        ("guide", "guide_test_remove", false),
        ("", "test_break", true),
        ("", "test_smash", true),
        ("team", "team_test_break", true),
        ("team", "guide_test_break", false),
    ] {
        let found = call(with(prefix), name, json!({})).await.is_some();
        assert_eq!(found, is_there, "{prefix:?} {name}");
    }
}

#[tokio::test]
async fn what_destroys_does_nothing_without_the_exact_word() {
    for arguments in
        [json!({}), json!({"explicit_action": "remove_all"}), json!({"explicit_action": true})]
    {
        let answer = call(Settings::default(), "test_remove", arguments).await.unwrap();
        let object = &answer["structuredContent"];
        assert_eq!(object["error"], "ConsentRequired");
        assert!(object["suggested_actions"][0].as_str().unwrap().contains("Ask the user"));
        assert!(object["instruction"].is_string());
    }
    let answer =
        call(Settings::default(), "test_remove", json!({"explicit_action": "REMOVE_ALL"})).await;
    let answer = answer.unwrap();
    let object = &answer["structuredContent"];
    assert_eq!(
        (&object["success"], &object["value"]["removed"]),
        (&json!(true), &json!("RemoveAll"))
    );
    assert_eq!(object["instruction"], "Tell the user.");
    assert!(object.get("message").is_none(), "what is absent is not null");
}

#[tokio::test]
async fn the_cause_is_told_unless_details_are_masked() {
    let answer = call(Settings::default(), "guide_test_fail", json!({})).await.unwrap();
    let open = &answer["structuredContent"];
    assert_eq!(open["details"], "the file is /secret");
    assert_eq!(open["exception_message"], "the disk is full");
    assert!(open["exception_type"].is_string());
    let masked = Access { withholds_causes: true, ..Access::default() };
    let answer = call_under(masked, Settings::default(), "guide_test_fail", json!({}));
    let answer = answer.await.unwrap();
    let masked = &answer["structuredContent"];
    assert!(!answer.to_string().contains("secret") && !answer.to_string().contains("disk"));
    assert_eq!(masked["message"], "It was not kept.");
    assert!(masked["details"].is_string() && masked.get("exception_type").is_none());
}

#[tokio::test]
async fn the_text_block_is_the_object() {
    let answer = call(Settings::default(), "guide_test_fail", json!({})).await.unwrap();
    let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, answer["structuredContent"]);
}
