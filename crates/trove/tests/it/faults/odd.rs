//! Servers that flood, drip, crash again and again, or write what is hardly JSON.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{peak_memory, processor_time};
use crate::kit::client::Kind;
use crate::kit::toy::{Remote, config, toy};
use crate::kit::{Trove, is_ready, until};

const MIB: u64 = 1024 * 1024;
/// How long nothing may be done before nothing is going on.
const SETTLED: Duration = Duration::from_millis(500);
/// How long a server that is tried rarely is watched.
const WATCHED: Duration = Duration::from_secs(5);

#[tokio::test]
async fn t03_a_server_that_crashes_again_and_again_is_tried_rarely_and_said_to_be() {
    let toys = [toy("crashing", "--fault crash:init"), toy("well", "--scheme well")];
    let trove = Trove::start(&config(&toys)).await;
    let open = trove.source("crashing", |source| source["state"] == "circuit-open").await;
    assert_eq!(open["failures"], 6);
    assert!(trove.any_client().await.text("well://pid").await.starts_with("well|"));
    let doctor = trove.folder.run(&["doctor", "--json"]).await;
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let findings = doctor.json()["findings"].to_string();
    assert!(findings.contains("\"crashing\"") && findings.contains("crashed, as told"));
}

#[tokio::test]
async fn t03_a_server_that_is_tried_rarely_takes_next_to_no_processor_time() {
    let trove = Trove::start(&config(&[toy("crashing", "--fault crash:init")])).await;
    trove.source("crashing", |source| source["state"] == "circuit-open").await;
    // Earlier questions and listings are still being put in order.
    until("the start to be over", async || {
        let before = processor_time(trove.pid());
        tokio::time::sleep(SETTLED).await;
        processor_time(trove.pid()) == before
    })
    .await;
    let (before, began) = (processor_time(trove.pid()), Instant::now());
    tokio::time::sleep(WATCHED).await;
    let used = processor_time(trove.pid()) - before;
    let share = used.as_secs_f64() / began.elapsed().as_secs_f64();
    assert!(share < 0.02, "{used:?} of processor time, {:.1} %", share * 100.0);
}

#[tokio::test]
async fn t05_a_line_without_end_costs_its_read_and_little_memory() {
    let flood = format!("--fault noline={}", 1024 * MIB);
    let trove = Trove::with(&[toy("flood", &flood), toy("well", "--scheme well")]).await;
    let client = trove.any_client().await;
    let error = client.read("toy://pid").await.expect_err("no message comes");
    assert_eq!(error["data"]["source"], "flood", "{error}");
    assert!(client.text("well://pid").await.starts_with("well|"));
    let peak = peak_memory(trove.pid());
    assert!(peak < 256 * MIB, "{} MiB held", peak / MIB);
}

#[tokio::test]
async fn t06_a_body_without_end_is_refused_at_the_limit() {
    let flood = Remote::http("flood", &format!("--fault noline={}", 10 * 1024 * MIB)).await;
    let trove = Trove::with(&[flood.toy()]).await;
    let client = trove.any_client().await;
    let error = client.read("toy://pid").await.expect_err("the body is too large");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("larger than the limit"), "{error}");
    let peak = peak_memory(trove.pid());
    assert!(peak < 256 * MIB, "{} MiB held", peak / MIB);
}

#[tokio::test]
async fn t06_nothing_is_ever_decompressed() {
    let packed = Remote::http("packed", "--fault gzip").await;
    let trove = Trove::with(&[packed.toy()]).await;
    let client = trove.any_client().await;
    // It says gzip and is not: a client that unpacked it would fail.
    let text = client.text("toy://headers").await;
    assert!(text.starts_with("packed|toy://headers|"), "{text}");
    assert!(!text.to_lowercase().contains("accept-encoding"), "{text}");
}

#[tokio::test]
async fn t07_cursors_that_are_empty_and_lists_that_are_too_long_are_cut_and_said_to_be() {
    let toys = [
        toy("empty", "--scheme empty --bare --resources 3 --fault pages:empty"),
        toy("million", "--scheme million --bare --resources 1000000"),
    ];
    let trove = Trove::start(&config(&toys)).await;
    let empty = trove.source("empty", is_ready).await;
    assert_eq!(empty["resources"], 3);
    assert!(empty["omissions"].to_string().contains("repeated a cursor"), "{empty}");
    // So many entries in one message are more than one message may hold.
    let million = trove.source("million", |source| !source["last_error"].is_null()).await;
    assert!(million["last_error"].to_string().contains("larger than the limit"), "{million}");
    assert!(trove.any_client().await.read("empty://item/1").await.is_ok());
}

#[tokio::test]
async fn t08_json_of_any_depth_overflows_no_stack() {
    let trove = Trove::with(&[toy("deep", "--fault deep=100000"), toy("well", "--scheme w")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        // Passed on or refused, but answered; a reader of ours could not hold it either.
        let params = json!({ "uri": "toy://pid" }).to_string();
        let call = client.send("resources/read", &params, None).await;
        let id = call.id;
        let is_answer = move |heard: &Value| heard["id"] == id || heard.is_null();
        let heard = client.transcript.first(0, is_answer, "an answer").await;
        assert!(!heard.1.text.is_empty());
        let bridged = client.call("get_resource", json!({ "uri": "toy://pid" })).await;
        assert!(bridged["structuredContent"]["success"].is_boolean(), "{bridged}");
        assert!(client.text("w://pid").await.starts_with("well|"), "{kind:?}");
    }
}

#[tokio::test]
async fn t08_a_client_that_nests_without_end_is_refused() {
    let trove = Trove::start("").await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{deep}}}}}"#);
    let client = trove.client(Kind::STDIO_LEGACY).await;
    let from = client.transcript.len();
    trove.write(&line).await;
    let is_error = |message: &Value| message["error"].is_object();
    let (_, answer) = client.transcript.first(from, is_error, "the refusal").await;
    assert!(answer.text.contains("nested deeper than 256 levels"), "{}", answer.text);
    client.ask("ping", json!({})).await.expect("the next line is read as ever");
}

#[tokio::test]
async fn t08_odd_json_is_read_or_refused_and_never_mixed_up() {
    let args = "--resources 13 --fault mangled";
    let remote = Remote::http("far", &format!("{args} --scheme far")).await;
    let near = toy("near", &format!("{args} --scheme near")).set("timeout_ms = 4000");
    let far = remote.toy().set("timeout_ms = 20000");
    let trove = Trove::with(&[near, far]).await;
    let client = trove.any_client().await;
    for id in ["near", "far"] {
        for way in 0..13 {
            let uri = format!("{id}://item/{way}");
            let from = client.transcript.len();
            let params = json!({ "uri": uri }).to_string();
            let call = client.send("resources/read", &params, None).await;
            // Half a character is passed on as it was written, which our own reader refuses.
            let number = call.id;
            let is_answer = move |heard: &Value| heard["id"] == number || heard.is_null();
            let (_, heard) = client.transcript.first(from, is_answer, "an answer").await;
            // Of a text that is there twice every client gets the first.
            let text = if way == 2 { "the first of two" } else { &format!("{id}|{uri}|") };
            let is_served = heard.text.contains(text);
            let is_refused = heard.json["error"]["data"]["source"] == id;
            assert!(is_served != is_refused, "{uri}: {}", heard.text);
            assert_eq!(is_served, way < 4, "{uri}: {}", heard.text);
            // An answer that has come ends the wait, such as it was.
            assert!(way < 9 || !heard.text.contains("no answer within"), "{uri}: {}", heard.text);
        }
        assert!(client.text(&format!("{id}://pid")).await.starts_with(id));
    }
}

#[tokio::test]
async fn t11_a_flood_on_stderr_is_drained_and_only_its_end_kept() {
    let flood = format!("--fault stderr={}", 64 * MIB);
    let trove = Trove::with(&[toy("verbose", &flood)]).await;
    assert!(trove.any_client().await.text("toy://pid").await.starts_with("verbose|"));
    let peak = peak_memory(trove.pid());
    assert!(peak < 160 * MIB, "{} MiB held", peak / MIB);
}

#[tokio::test]
async fn t12_noise_on_stdout_is_skipped_and_said() {
    let trove = Trove::with(&[toy("noisy", "--fault noise")]).await;
    assert!(trove.any_client().await.text("toy://pid").await.starts_with("noisy|"));
    let source = trove.source("noisy", |source| !source["warning"].is_null()).await;
    assert!(source["warning"].to_string().contains("no messages"), "{source}");
}
