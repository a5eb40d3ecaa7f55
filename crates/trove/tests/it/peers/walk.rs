//! The first steps of a new user with a tool-only client: the inspector's command line.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::drivers::{self, node, npm_script};
use super::processes::printed_by;
use super::servers::{SERVER_ID, Server};
use crate::kit::Trove;

const LIMIT: Duration = Duration::from_secs(120);

/// Asks Trove with one run of the inspector, as a person would, and gives the result.
fn inspect(url: &str, arguments: &[&str]) -> Value {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let mut command = Command::new(node());
    command
        .arg(npm_script("inspector/clients/launcher/build/index.js"))
        .args(["--cli", url, "--transport", "http", "--format", "json", "-q"])
        .args(arguments)
        .env("HOME", home.path())
        .env("TROVE_PEERS", drivers::environment());
    let printed = printed_by(&mut command, LIMIT);
    let text = if printed.stdout.trim().is_empty() { &printed.stderr } else { &printed.stdout };
    let last = text.trim().lines().last().unwrap_or_default();
    let whole: Result<Value, _> = serde_json::from_str(text.trim());
    whole.or_else(|_| serde_json::from_str(last)).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn get_resource(url: &str, uri: &str) -> Value {
    let argument = format!("uri={uri}");
    let mut arguments = vec!["--method", "tools/call", "--tool-name", "get_resource"];
    if !uri.is_empty() {
        arguments.extend(["--tool-arg", &argument]);
    }
    inspect(url, &arguments)["result"]["structuredContent"].clone()
}

/// The first of the words that begin so in a text.
fn word<'a>(text: &'a str, beginning: &str) -> &'a str {
    let found = text.split_whitespace().find(|word| word.starts_with(beginning));
    found.unwrap_or_else(|| panic!("no {beginning} in {text}")).trim_end_matches(['?', '.'])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_user_finds_the_way_from_one_answer_to_the_next() {
    let trove = Trove::start(&Server::everything_stdio().trove_toml()).await;
    trove.ready(&[SERVER_ID]).await;
    let url = trove.url.clone();
    let walked = tokio::task::spawn_blocking(move || {
        // The tools pass the inspector's own check of what clients take.
        let tools = inspect(&url, &["--method", "tools/list", "--strict"]);
        let names = tools["result"]["tools"].as_array().expect("tools are listed");
        assert!(names.iter().any(|tool| tool["name"] == "get_resource"), "{tools}");

        let found = get_resource(&url, "");
        let entries = found["data"]["demo"].as_array().expect("the server's resources are there");
        let listed = entries.iter().find(|entry| entry["is_template"] != true);
        let uri = listed.and_then(|entry| entry["uri"].as_str()).expect("one is listed");
        assert_eq!(get_resource(&url, uri)["success"], true, "{uri}");

        let template = entries.iter().find(|entry| entry["is_template"] == true);
        let template = template.and_then(|entry| entry["uri"].as_str()).expect("one is a template");
        let variable = template.split(['{', '}']).nth(1).expect("a template has a variable");
        let filled = template.replace(&format!("{{{variable}}}"), "1");
        assert_eq!(get_resource(&url, &filled)["success"], true, "{filled}");

        let wrong = uri.replacen("demo", "dmeo", 1);
        let failure = get_resource(&url, &wrong);
        assert_eq!(failure["error"], "InvalidURI", "{failure}");
        let advice = failure["suggested_actions"][0].as_str().expect("advice is given");
        assert_eq!(word(advice, "demo:"), uri, "{advice}");
        assert_eq!(get_resource(&url, word(advice, "demo:"))["success"], true);
    });
    walked.await.expect("the walk ends well");
}
