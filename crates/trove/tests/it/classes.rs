//! A failure has one class, whichever door tells of it.

use reqwest::Client;
use serde_json::{Value, json};
use trove_core::Class;

use crate::kit::client::Kind;
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

/// Questions that fail at every door, and their class. The server of the last tells its own code.
const QUESTIONS: [(&str, Class); 3] = [
    ("no://such", Class::InvalidUri),
    ("x://y", Class::AmbiguousUri),
    ("b://counter", Class::ResourceExecutionError),
];

#[tokio::test]
async fn every_door_tells_a_failure_in_the_class_of_the_table() {
    let toys =
        [toy("a", "--shared x://y"), toy("b", "--shared x://y --scheme b --fault error:read")];
    let folder = Folder::with(&config(&toys));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["a", "b"]).await;
    let modern = trove.client(Kind::HTTP_MODERN).await;
    let legacy = trove.client(Kind::STDIO_LEGACY).await;
    for (uri, class) in QUESTIONS {
        for (client, is_modern) in [(&modern, true), (&legacy, false)] {
            let error = client.read(uri).await.expect_err("it fails");
            if class != Class::ResourceExecutionError {
                assert_eq!(error["code"], class.rpc(is_modern), "{uri}: {error}");
            }
        }
        let told = modern.call("get_resource", json!({ "uri": uri })).await;
        let told = &told["structuredContent"];
        assert_eq!(told["error"], class.as_str(), "{uri}: {told}");
        assert_eq!(told["error_type"], class.label(), "{uri}: {told}");
        let page = trove.url.replace("/mcp", &format!("/api/contents?uri={uri}"));
        let answer = Client::new().get(page).send().await.expect("Trove answers");
        assert_eq!(answer.status(), class.http(), "{uri}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["error"], class.as_str(), "{uri}: {body}");
        let ran = folder.run(&["read", "--json", uri]).await;
        assert_eq!(ran.code, Some(class.exit().into()), "{ran:?}");
        assert_eq!(ran.json()["error"], class.as_str(), "{ran:?}");
        let file = folder.home().join("audit.jsonl");
        for via in ["native", "bridge", "web", "cli"] {
            until(&format!("{uri} via {via} in the audit log"), async || {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let mut lines = text.lines().filter_map(|it| serde_json::from_str(it).ok());
                lines.any(|line: Value| {
                    line["target"] == uri && line["via"] == via && line["error"] == class.as_str()
                })
            })
            .await;
        }
        let figures = Client::new().get(trove.url.replace("/mcp", "/metrics"));
        let figures = figures.send().await.expect("Trove answers").text().await.expect("a page");
        let counted = format!("trove_failures_total{{class=\"{}\"}} ", class.label());
        assert!(figures.contains(&counted), "{figures}");
    }
}
