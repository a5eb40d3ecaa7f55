//! Spellings of a hidden name at every door of the real program.

use reqwest::Client as Http;
use serde_json::{Value, json};

use crate::kit::client::Kind;
use crate::kit::toy::{config, whole};
use crate::kit::{Folder, Trove};

const RULES: &str = "[code]\nenabled = true\n[bridge]\nmode = \"always\"\n\
                     [[policy]]\nmatch = \"toy://item/1\"\nroles = [\"ops\"]\nvisible = false\n";

/// Spellings that the toy server does not know, though others would.
const SPELLINGS: [&str; 12] = [
    " toy://item/1",
    "\u{1}toy://item/1",
    "toy://item/1\u{7f}",
    "t\toy://item/1",
    "toy://item/x/../1",
    "toy://item/%31",
    "toy://ｉｔｅｍ/1",
    "toy://İtem/1",
    "toy:/item//1",
    "toy:\\\\item\\1",
    "url:toy://item/1",
    "//item/1",
];

/// How often a toy was asked by a method, by what it says of itself.
fn asked(requests: &str, method: &str) -> u64 {
    // Its name stands before the counts.
    let counts = &requests[requests.find('{').expect("an object")..];
    let counts: Value = serde_json::from_str(counts).expect("the toy writes JSON");
    counts[method].as_u64().unwrap_or(0)
}

#[tokio::test]
async fn t53_every_door_of_the_program_refuses_spellings_and_asks_nobody() {
    let toys = [whole("one", "--resources 3")];
    let folder = Folder::with(&(RULES.to_owned() + &config(&toys)));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let page = Http::new();
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let before = client.text("one+toy://requests").await;
        let absent =
            client.read("one+toy://item/1").await.expect_err("it is hidden")["code"].clone();
        for spelling in SPELLINGS {
            let name = format!("one+{spelling}");
            let error = client.read(&name).await.expect_err(spelling);
            assert_eq!(error["code"], absent, "{kind:?} {spelling:?}: {error}");
            let told = client.call("get_resource", json!({ "uri": name })).await;
            assert_eq!(told["isError"], true, "{kind:?} {spelling:?}: {told}");
            let code = format!("read({})", json!(name));
            let ran = client.call("run_code", json!({ "code": code })).await.to_string();
            assert!(ran.contains("LookupError"), "{kind:?} {spelling:?}: {ran}");
            let reference = json!({
                "ref": { "type": "ref/resource", "uri": name },
                "argument": { "name": "id", "value": "" },
            });
            let completed = client.ask("completion/complete", reference).await;
            assert!(completed.is_err(), "{kind:?} {spelling:?}: {completed:?}");
            let escaped: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let path = format!("/api/contents?uri={escaped}");
            let read = page.get(trove.url.replace("/mcp", &path)).send().await;
            let read = read.expect("trove answers");
            assert_eq!(read.status(), 404, "{spelling:?}");
        }
        let after = client.text("one+toy://requests").await;
        // The second look at the counts is a read itself.
        assert_eq!(asked(&after, "resources/read"), asked(&before, "resources/read") + 1);
        let method = "completion/complete";
        assert_eq!(asked(&after, method), asked(&before, method), "{kind:?}");
    }
    for spelling in SPELLINGS {
        let ran = folder.run(&["read", &format!("one+{spelling}")]).await;
        assert_ne!(ran.code, Some(0), "{spelling:?}: {ran:?}");
    }
}
