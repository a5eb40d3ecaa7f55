//! Every answer arrives as its server wrote it, byte for byte.
//!
//! Each answer through Trove is compared with the answer of the same server asked
//! directly. Only what belongs to an era is added or taken away on the way.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::kit::client::{Client, Era, Kind};
use crate::kit::toy::{Remote, Straight, whole};
use crate::kit::wire::{elements, member};
use crate::kit::{LIMIT, Trove, within};

const UPSTREAMS: [(Era, &str); 2] = [(Era::Legacy, "--era legacy"), (Era::Modern, "--era modern")];

/// The entry of one resource in the list, as it is spelled there.
async fn entry(client: &Client, uri: &str) -> String {
    let result = client.ask_text("resources/list", "{}").await;
    let entries = elements(&member(&result, "resources").expect("a list has resources"));
    let is_it = |entry: &String| {
        serde_json::from_str::<Value>(entry).is_ok_and(|entry| entry["uri"] == uri)
    };
    entries.into_iter().find(is_it).unwrap_or_else(|| panic!("{uri} is not listed"))
}

async fn read(client: &Client, uri: &str) -> String {
    client.ask_text("resources/read", &json!({ "uri": uri }).to_string()).await
}

fn keys(result: &str) -> Vec<String> {
    let result: Value = serde_json::from_str(result).expect("a result is JSON");
    result.as_object().expect("a result is an object").keys().cloned().collect()
}

#[tokio::test]
async fn list_entries_and_contents_are_those_of_the_server() {
    for (era, args) in UPSTREAMS {
        let straight = Straight::start("one", args, era).await;
        let trove = Trove::with(&[whole("one", args)]).await;
        for kind in Kind::ALL {
            let client = trove.client(kind).await;
            for uri in ["toy://odd", "toy://parts", "toy://blob", "toy://cancelled"] {
                let expected = entry(&straight.client, uri).await;
                assert_eq!(entry(&client, uri).await, expected, "{kind:?} of {era:?}");
                let expected = member(&read(&straight.client, uri).await, "contents");
                let through = member(&read(&client, uri).await, "contents");
                assert_eq!(through, expected, "{kind:?} of {era:?}");
            }
        }
    }
}

#[tokio::test]
async fn between_legacy_peers_a_result_is_not_touched_at_all() {
    let straight = Straight::start("one", "--era legacy", Era::Legacy).await;
    let trove = Trove::with(&[whole("one", "--era legacy")]).await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_LEGACY] {
        let client = trove.client(kind).await;
        for uri in ["toy://odd", "toy://parts"] {
            assert_eq!(read(&client, uri).await, read(&straight.client, uri).await, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_result_has_the_members_of_the_clients_era_and_no_others() {
    for (era, args) in UPSTREAMS {
        let trove = Trove::with(&[whole("one", args)]).await;
        for kind in Kind::ALL {
            let result = read(&trove.client(kind).await, "toy://odd").await;
            let mut found = keys(&result);
            found.sort();
            if kind.era == Era::Legacy {
                assert_eq!(found, ["contents"], "{kind:?} of {era:?}");
                continue;
            }
            assert_eq!(found, ["_meta", "cacheScope", "contents", "resultType", "ttlMs"]);
            let result: Value = serde_json::from_str(&result).expect("a result is JSON");
            assert_eq!(result["resultType"], "complete");
            let meta = &result["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "trove");
            let named = if era == Era::Modern { json!("one") } else { Value::Null };
            assert_eq!(meta["trove/serverInfo"]["name"], named);
        }
    }
}

#[tokio::test]
async fn how_long_an_answer_may_be_believed_is_passed_on() {
    let toys = [
        whole("one", "--scheme one --ttl-ms 90000"),
        whole("two", "--scheme two --ttl-ms 60000 --cache-scope private"),
    ];
    let trove = Trove::with(&toys).await;
    let client = trove.any_client().await;
    let believed = |result: &Value| (result["ttlMs"].clone(), result["cacheScope"].clone());
    let list = client.ask("resources/list", json!({})).await.expect("a list");
    let left = list["ttlMs"].as_u64().expect("a number");
    assert!((1..=60_000).contains(&left), "what is left of the least of all: {left}");
    assert_eq!(list["cacheScope"], "private");
    let one = client.read("one://pid").await.expect("contents");
    assert_eq!(believed(&one), (json!(90_000), json!("public")));
    let two = client.read("two://pid").await.expect("contents");
    assert_eq!(believed(&two), (json!(60_000), json!("private")));
}

#[tokio::test]
async fn structured_content_is_as_the_tool_spelled_it() {
    // Numbers, escapes, spaces and the order of members would not survive a parser.
    let arguments = r#"{ "text":"x" ,"n":1.0,"big":12345678901234567890123,"e":1E+2,"none":null,"z":{ },"a":[-0.0, 1e3],"esc":"\u00e9\/\u0001" }"#;
    for (era, args) in UPSTREAMS {
        let trove = Trove::with(&[whole("one", args)]).await;
        for kind in Kind::ALL {
            let client = trove.client(kind).await;
            let params = format!(r#"{{"name":"one_echo","arguments":{arguments}}}"#);
            let result = client.ask_text("tools/call", &params).await;
            let structured = member(&result, "structuredContent");
            assert_eq!(structured.as_deref(), Some(arguments), "{kind:?} of {era:?}");
        }
    }
}

#[tokio::test]
async fn a_blob_decodes_to_the_bytes_it_was_made_of() {
    let trove = Trove::with(&[whole("one", "")]).await;
    let expected: Vec<u8> = b"one|toy://blob|".iter().copied().chain(0..=u8::MAX).collect();
    for kind in Kind::ALL {
        let result = trove.client(kind).await.read("toy://blob").await.expect("contents");
        let blob = result["contents"][0]["blob"].as_str().expect("the content is a blob");
        let bytes = base64::engine::general_purpose::STANDARD.decode(blob).expect("base64");
        assert_eq!(bytes, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn several_contents_stay_several_and_in_order() {
    let trove = Trove::with(&[whole("one", "")]).await;
    for kind in Kind::ALL {
        let result = trove.client(kind).await.read("toy://parts").await.expect("contents");
        let contents = result["contents"].as_array().expect("contents are an array");
        let uris: Vec<&Value> = contents.iter().map(|content| &content["uri"]).collect();
        assert_eq!(uris, ["toy://parts/1", "toy://parts/2", "toy://parts/3"], "{kind:?}");
    }
}

/// So long that it goes out in pieces, with what an era says of a result around it.
#[tokio::test]
async fn a_long_result_is_the_same_through_every_door() {
    const URI: &str = "toy://item/0";
    for (era, args) in UPSTREAMS {
        let args = format!("{args} --size 200000 --bare --resources 1");
        let straight = Straight::start("one", &args, era).await;
        let trove = Trove::with(&[whole("one", &args)]).await;
        let expected = member(&read(&straight.client, URI).await, "contents");
        for kind in Kind::ALL {
            let through = read(&trove.client(kind).await, URI).await;
            assert_eq!(member(&through, "contents"), expected, "{kind:?} of {era:?}");
            let short = read(&trove.client(kind).await, "info://health").await;
            assert_eq!(
                member(&through, "ttlMs").is_some(),
                member(&short, "ttlMs").is_some(),
                "{kind:?} of {era:?}"
            );
        }
    }
}

#[tokio::test]
async fn twenty_mebibytes_arrive_whole() {
    const SIZE: usize = 20 * 1024 * 1024;
    let args = format!("--size {SIZE} --bare --resources 1");
    let trove = Trove::with(&[whole("one", &args)]).await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_MODERN] {
        let text = trove.client(kind).await.text("toy://item/0").await;
        assert_eq!(text.len(), SIZE, "{kind:?}");
        assert!(text.starts_with("one|toy://item/0|\nline 00000001 the quick"), "{kind:?}");
    }
}

#[tokio::test]
async fn t05_a_message_over_the_limit_is_refused_at_once_and_the_server_goes_on() {
    let args = "--fault hugeline=40000000";
    let remotes = [Remote::http("http", args).await, Remote::sse("sse", args).await];
    let [http, sse] = remotes.each_ref().map(|remote| remote.toy().set("expose = \"all\""));
    let trove = Trove::with(&[whole("stdio", args), http, sse]).await;
    let client = trove.any_client().await;
    for id in ["stdio", "http", "sse"] {
        for _ in 0..2 {
            let uri = format!("{id}+toy://pid");
            let answer = within(LIMIT, "the refusal", client.read(&uri)).await;
            let error = answer.expect_err("the message is too large");
            assert_eq!((&error["code"], &error["data"]["source"]), (&json!(-32603), &json!(id)));
            // The older transport may lose its one stream with the message.
            assert!(id == "sse" || error["data"]["retryable"] == false, "{id}: {error}");
            let message = error["message"].as_str().expect("words");
            assert!(id == "sse" || message.contains("larger than the limit"), "{id}: {error}");
            let echoed = client.call(&format!("{id}_echo"), json!({ "text": "still here" })).await;
            assert_eq!(echoed["content"][0]["text"], "still here", "{id}");
        }
    }
}

/// Checks that an object differs from another in nothing but its URI.
#[track_caller]
fn assert_same_but_uri(renamed: &str, original: &str) {
    assert_eq!(keys(renamed), keys(original));
    for key in keys(original) {
        let expected = member(original, &key).unwrap_or_default();
        let expected = if key == "uri" { expected.replacen('"', "\"one+", 1) } else { expected };
        assert_eq!(member(renamed, &key).as_ref(), Some(&expected), "{key}");
    }
}

#[tokio::test]
async fn a_name_that_differs_is_changed_and_nothing_else_is() {
    let straight = Straight::start("one", "", Era::Legacy).await;
    let trove = Trove::with(&[whole("one", ""), whole("two", "")]).await;
    let contents = async |client: &Client, uri: &str| {
        elements(&member(&read(client, uri).await, "contents").expect("contents")).remove(0)
    };
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let original = entry(&straight.client, "toy://odd").await;
        assert_same_but_uri(&entry(&client, "one+toy://odd").await, &original);
        let original = contents(&straight.client, "toy://odd").await;
        assert_same_but_uri(&contents(&client, "one+toy://odd").await, &original);
    }
}
