//! Our prompts: the words they take, the documents they give, and what they say of themselves.

use serde_json::{Value, json};
use trove_core::{Caller, Json, source::Ask};
use trove_testkit::gateway_box::text_of;

use super::{guide, tools, value};
use crate::guide::kit::Guide;

async fn prompt(guide: &Guide, arguments: Value) -> Result<String, String> {
    let arguments = Json::of(&arguments);
    let (tools, caller) = (tools(guide), Caller::local());
    let filled = tools.prompt(&caller, "guide", Some(&arguments), Ask::default()).await;
    let filled = filled.unwrap().map_err(|failure| failure.message().to_owned())?;
    let filled: Value = filled.body.to().unwrap();
    assert_eq!(filled["messages"][0]["role"], "user");
    Ok(filled["messages"][0]["content"]["text"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_guide_prompt_gives_contents_and_knows_its_commands() {
    let guide = guide().await;
    assert_eq!(prompt(&guide, json!({ "arg1": "lang/rust" })).await.unwrap(), "# Rust\n");
    assert_eq!(
        prompt(&guide, json!({ "arg1": "@guide", "arg2": "lang/rust" })).await.unwrap(),
        "# Rust\n"
    );
    let expected = prompt(&guide, json!({ "args": "lang/rust,docs/api" })).await.unwrap();
    assert!(expected.contains("# Rust\n") && expected.contains("# API\n"), "{expected}");
    for several in [
        json!({ "args": "lang/rust docs/api" }),
        json!({ "args": "@guide lang/rust, docs/api" }),
        json!({ "args": ["lang/rust", "docs/api"] }),
        json!({ "arg1": "lang/rust", "arg2": "docs/api" }),
        json!({ "arg1": "lang/rust,", "arg2": "docs/api" }),
        json!({ "arg1": "lang/rust", "arg2": ",", "arg3": "docs/api" }),
    ] {
        assert_eq!(prompt(&guide, several.clone()).await.unwrap(), expected, "{several}");
    }
    assert!(prompt(&guide, json!({})).await.unwrap().starts_with("# Guide URIs"));
    assert!(
        prompt(&guide, json!({ "arg1": ":help" })).await.unwrap().contains("`lang` (3 documents)")
    );
    assert!(prompt(&guide, json!({ "arg1": ":status" })).await.unwrap().contains("- guide: ready"));
    let searched = prompt(&guide, json!({ "arg1": ":search", "arg2": "retry", "arg3": "policy" }));
    assert!(searched.await.unwrap().contains("retry policy"));
    let one_word = prompt(&guide, json!({ "args": ":search,retry,policy" }));
    assert!(one_word.await.unwrap().contains("retry policy"));
    assert_eq!(prompt(&guide, json!({ "arg1": ":flags" })).await.unwrap(), "No flag is set.");
    value(&guide, "guide_set_feature_flag", json!({ "name": "workflow", "value": true })).await;
    let flags = prompt(&guide, json!({ "arg1": ":flags" })).await.unwrap();
    assert_eq!(flags, "- workflow = true (global)");
    for (line, words) in [
        (json!({ "arg1": ":search" }), "needs words"),
        (json!({ "arg1": ":nope" }), "`:nope` is no command"),
        (json!({ "arg1": "lang/pyton" }), "python.md"),
        (json!({ "arg1": "nowhere" }), "Context not found"),
    ] {
        let error = prompt(&guide, line.clone()).await.unwrap_err();
        assert!(error.contains(words), "{line}: {error}");
    }
}

#[tokio::test]
async fn a_document_with_a_blank_in_its_name_is_found_by_the_words_of_a_prompt() {
    let guide = Guide::with(&[("guide/docs/release notes.md", "# Notes\n")]).await;
    for line in ["docs/release notes", "docs/release notes.md", "docs/release*"] {
        assert_eq!(prompt(&guide, json!({ "args": line })).await.unwrap(), "# Notes\n", "{line}");
    }
}

#[tokio::test]
async fn a_prompt_shows_one_list_of_words_and_its_document_has_four_parts() {
    let guide = guide().await;
    let tools = tools(&guide);
    let read =
        async |uri: &str| guide.gateway.read(&Caller::local(), &uri.into(), Ask::default()).await;
    for entry in tools.prompts() {
        let entry: Value = entry.to().unwrap();
        let arguments = entry["arguments"].as_array().unwrap();
        assert_eq!(arguments.len(), 1, "{entry}");
        assert_eq!(arguments[0]["name"], "args");
        let name = entry["name"].as_str().unwrap();
        let document = read(&format!("info://prompts/{name}")).await.unwrap();
        let text = text_of(&document.reply.body);
        let parts = ["# ", "## JSON Schema\n\n```json", "## Usage\n\n```", "## Examples\n"];
        let places: Vec<Option<usize>> = parts.iter().map(|part| text.find(part)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
        assert!(!text.contains("arg1") && !entry.to_string().contains("arg1"), "{text}");
        let first = text.lines().nth(2).unwrap();
        assert!(first.chars().count() <= 50, "{first}");
    }
    assert!(read("info://prompts/nothing").await.is_err());
    let ask = r#"{"ref":{"type":"ref/resource","uri":"info://prompts/{name}"},"argument":{"name":"name","value":"gu"}}"#;
    let (caller, ask) = (Caller::local(), Json::parse(ask).unwrap());
    let completed = guide.gateway.complete(&caller, &ask, Ask::default()).await.unwrap();
    let completed: Value = completed.body.to().unwrap();
    assert_eq!(completed["completion"]["values"], json!(["guide"]));
}

/// Every example of a prompt's document, carried out as it stands there.
#[tokio::test]
async fn every_example_of_a_prompt_works() {
    let files = [
        ("guide/lang/rust.md", "# Rust\n"),
        ("guide/lang/python.md", "# Python\n"),
        ("guide/checklists/release.md", "# Release\n"),
    ];
    let guide = Guide::furnished(&files, |_| {}).await;
    let (tools, caller, mut ran) = (tools(&guide), Caller::local(), 0);
    for (_, document) in trove_core::tools::prompt_documents() {
        let examples = document.split("## Examples").nth(1).unwrap();
        for call in examples.lines().filter(|line| line.starts_with('{')) {
            let call: Value = serde_json::from_str(call).unwrap();
            let (name, arguments) = (call["name"].as_str().unwrap(), Json::of(&call["arguments"]));
            let filled = tools.prompt(&caller, name, Some(&arguments), Ask::default()).await;
            let filled = filled.unwrap();
            assert!(filled.is_ok(), "{call}: {filled:?}");
            ran += 1;
        }
    }
    assert_eq!(ran, 7);
}

#[tokio::test]
async fn a_prompt_that_fails_names_tools_as_they_are_offered() {
    let guide = guide().await;
    let (tools, caller) = (tools(&guide), Caller::local());
    let arguments = Json::of(&json!({ "args": "nowhere" }));
    let filled = tools.prompt(&caller, "guide", Some(&arguments), Ask::default()).await.unwrap();
    let Err(failure) = filled else { panic!("there is no such context") };
    let told: Value = failure.to_json(false).to().unwrap();
    let action = told["suggested_actions"][0].as_str().unwrap();
    assert!(action.contains("guide_category_list or guide_collection_list"), "{action}");
}
