//! Many clients, many servers, many resources: each answer is its owner's.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::kit::Trove;
use crate::kit::client::Kind;
use crate::kit::toy::{Toy, toy};

const SERVERS: usize = 50;
const CLIENTS: usize = 1000;
const READS: usize = 3;
/// Of each server.
const RESOURCES: usize = 120;

/// Each client has a connection, here and there; some systems give a program few unless it asks.
fn ask_for_descriptors() {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).expect("ours to raise");
}

#[tokio::test]
async fn t37_many_clients_of_many_servers_each_get_their_own_answers() {
    ask_for_descriptors();
    let make =
        |n: usize| toy(&format!("s{n}"), &format!("--bare --resources {RESOURCES} --scheme s{n}"));
    let toys: Vec<Toy> = (0..SERVERS).map(make).collect();
    let trove = Trove::with(&toys).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let kind = Kind::ALL[2 + number % 2];
        let client = trove.client(kind).await;
        tasks.spawn(async move {
            for turn in 0..READS {
                let (server, item) =
                    ((number + turn) % SERVERS, (number * 31 + turn * 7) % RESOURCES);
                let uri = format!("s{server}://item/{item}");
                let text = if (number / 2 + turn) % 2 == 0 {
                    client.text(&uri).await
                } else {
                    let got = client.call("get_resource", json!({ "uri": uri })).await;
                    got["structuredContent"]["data"].as_str().unwrap_or_default().to_owned()
                };
                assert_eq!(text, format!("s{server}|{uri}|"), "client {number}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("every client has its answers");
    }
    let health = trove.health().await;
    assert_eq!(health["status"], "ok", "{health}");
}
