//! Gateways that have each other as servers: a line of them works, a circle is refused by name.

use serde_json::Value;

use crate::kit::toy::{Toy, config, toy};
use crate::kit::{Folder, Trove, is_ready, until};

fn is_circle(source: &Value) -> bool {
    source["last_error"].as_str().is_some_and(|why| why.contains("a circle; remove this entry"))
}

/// A gateway behind a URL, as another is told of it.
fn gateway(id: &str, url: &str) -> Toy {
    toy(id, "").with_url(url)
}

#[tokio::test]
async fn t45_a_gateway_that_has_itself_as_a_server_says_so() {
    let own = config(&[toy("one", "--bare --resources 3")]);
    let folder = Folder::with(&own);
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    for protocol in ["auto", "legacy"] {
        let me = gateway(protocol, &trove.url).set(&format!("protocol = {protocol:?}"));
        folder.write(&format!("{own}\n{}", config(&[me])));
        let source = trove.source(protocol, is_circle).await;
        assert_eq!((&source["resources"], is_ready(&source)), (&Value::from(0), false), "{source}");
    }
    let client = trove.any_client().await;
    assert_eq!(client.text("toy://item/2").await, "one|toy://item/2|", "the rest is served");
    let mirrored = client.uris().await.into_iter().filter(|uri| uri.contains("legacy+"));
    assert_eq!(mirrored.count(), 0);
}

#[tokio::test]
async fn t45_a_line_of_gateways_works_and_whoever_would_close_the_circle_is_refused() {
    let last = Trove::with(&[toy("one", "--bare --resources 3")]).await;
    let middle = Trove::with(&[gateway("last", &last.url)]).await;
    let first = Trove::with(&[gateway("middle", &middle.url)]).await;
    let client = first.any_client().await;
    assert_eq!(client.text("toy://item/2").await, "one|toy://item/2|", "through two others");
    // The last would lead to the first again.
    let own = config(&[toy("one", "--bare --resources 3"), gateway("first", &first.url)]);
    last.folder.write(&own);
    last.source("first", is_circle).await;
    last.ready(&["one"]).await;
    assert_eq!(client.text("toy://item/2").await, "one|toy://item/2|");
    first.ready(&["middle"]).await;
    middle.ready(&["last"]).await;
    // Two ways to the same are no circle.
    let both = config(&[gateway("middle", &middle.url), gateway("last", &last.url)]);
    first.folder.write(&both);
    first.ready(&["middle", "last"]).await;
    assert_eq!(client.text("last+toy://item/2").await, "one|toy://item/2|");
}

#[tokio::test]
async fn t45_two_gateways_that_meet_at_the_same_moment_do_not_multiply() {
    let one = Trove::with(&[toy("here", "--bare --resources 3 --scheme here")]).await;
    let two = Trove::with(&[toy("there", "--bare --resources 3 --scheme there")]).await;
    let add = |trove: &Trove, toy: Toy, other: &Trove| {
        trove.folder.write(&config(&[toy, gateway("other", &other.url)]));
    };
    add(&one, toy("here", "--bare --resources 3 --scheme here"), &two);
    add(&two, toy("there", "--bare --resources 3 --scheme there"), &one);
    let other = async |trove: &Trove| trove.source("other", |_| true).await;
    until("the circle to be found", async || {
        is_circle(&other(&one).await) || is_circle(&other(&two).await)
    })
    .await;
    for (trove, scheme) in [(&one, "here"), (&two, "there")] {
        let client = trove.any_client().await;
        let own = client.text(&format!("{scheme}://item/2")).await;
        assert!(own.starts_with(scheme), "each serves its own: {own}");
        let uris = client.uris().await;
        assert!(uris.len() < 40, "nothing comes round more than once: {uris:?}");
    }
}
