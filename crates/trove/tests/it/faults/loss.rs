//! A network that is slow, silent or broken, and clients that go in the middle.

use std::time::Duration;

use serde_json::json;
use trove_testkit::proxy::{Network, Proxy};

use super::descriptors;
use crate::kit::client::Kind;
use crate::kit::toy::{Remote, count, toy, whole};
use crate::kit::{Trove, until};

/// A toy behind a network of this kind, and Trove in front of both.
async fn behind(network: Network) -> (Remote, Proxy, Trove) {
    let remote = Remote::http("far", "--scheme far --resources 5").await;
    let proxy = Proxy::before(remote.address(), Network::Good).await.expect("a proxy");
    let far = remote.toy_at(proxy.address()).set("timeout_ms = 1500");
    let trove = Trove::with(&[far, toy("near", "--scheme near")]).await;
    proxy.set(network);
    (remote, proxy, trove)
}

async fn check_failing(network: Network, says: &[&str]) {
    let (_remote, proxy, trove) = behind(network).await;
    let client = trove.any_client().await;
    let error = client.read("far://item/1").await.expect_err("the network is bad");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(says.iter().any(|words| message.contains(words)), "{network:?}: {error}");
    assert_eq!(error["data"]["source"], "far");
    assert!(client.text("near://pid").await.starts_with("near|"));
    proxy.set(Network::Good);
    proxy.cut();
    until("the server to be read again", async || client.read("far://item/1").await.is_ok()).await;
}

#[tokio::test]
async fn t04_an_answer_that_drips_is_given_up_after_its_time() {
    check_failing(Network::Drip(Duration::from_secs(1)), &["no answer within"]).await;
}

#[tokio::test]
async fn t04_a_connection_that_is_open_and_silent_is_given_up_after_its_time() {
    check_failing(Network::Silent, &["no answer within"]).await;
}

#[tokio::test]
async fn t02_a_connection_cut_in_the_middle_of_an_answer_is_told_at_once() {
    check_failing(Network::CutAfter(40), &["lost", "the request failed"]).await;
}

#[tokio::test]
async fn t02_a_server_that_cannot_be_reached_is_said_to_be() {
    let says = ["lost", "cannot connect", "not connected", "the request failed"];
    let (_remote, proxy, trove) = behind(Network::Refusing).await;
    proxy.cut();
    let error = trove.any_client().await.read("far://item/1").await.expect_err("nobody is there");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(says.iter().any(|words| message.contains(words)), "{error}");
}

#[tokio::test]
async fn a_slow_network_is_only_slow() {
    let (_remote, _proxy, trove) = behind(Network::Slow(Duration::from_millis(100))).await;
    let text = trove.any_client().await.text("far://item/1").await;
    assert_eq!(text, "far|far://item/1|");
}

#[tokio::test]
async fn t02_a_server_that_crashes_now_and_then_answers_each_read_once_or_not_at_all() {
    let trove = Trove::with(&[toy("frail", "--fault crash:after=20")]).await;
    let client = trove.any_client().await;
    let (mut served, mut lost) = (0, 0);
    while lost < 2 {
        match client.read("toy://requests").await {
            Ok(result) => {
                let text = result["contents"][0]["text"].as_str().unwrap_or_default();
                let reads = count(text, "resources/read");
                // Never more than we asked since it started: nothing was tried twice.
                assert!(reads <= 20, "{text}");
                served += 1;
            }
            Err(error) => {
                assert_eq!(error["data"]["retryable"], true, "{error}");
                lost += 1;
            }
        }
    }
    assert!(served >= 20, "{served} served");
}

#[tokio::test]
async fn t14_clients_that_go_in_the_middle_leave_nothing_behind() {
    let trove = Trove::with(&[whole("one", "")]).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let cycle = async |times: u64| {
        for _ in 0..times {
            let params = json!({ "uri": "toy://slow/60000" }).to_string();
            let call = client.send("resources/read", &params, None).await;
            tokio::task::yield_now().await;
            client.cancel(call).await;
        }
    };
    cycle(50).await;
    let before = descriptors(trove.pid());
    cycle(10_000).await;
    assert!(client.text("toy://pid").await.starts_with("one|"));
    until("descriptors to be let go", async || descriptors(trove.pid()) <= before + 8).await;
}
