//! Progress reaches its caller, in order; a request taken back is taken back at the server too.

use std::time::Instant;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{Remote, Toy, body, count, whole};
use crate::kit::{LIMIT, Trove, until};

const STEPS: u64 = 200;

/// Servers of both eras on every transport, in their own schemes.
struct Servers {
    toys: Vec<Toy>,
    _remotes: Vec<Remote>,
}

impl Servers {
    async fn start(args: &str) -> Servers {
        let with = |id: &str, era: &str| format!("--era {era} --scheme {id} {args}");
        let remotes = vec![
            Remote::http("http-legacy", &with("http-legacy", "legacy")).await,
            Remote::http("http-modern", &with("http-modern", "modern")).await,
            Remote::sse("sse", &with("sse", "legacy")).await,
        ];
        let mut toys = vec![
            whole("stdio-legacy", &with("stdio-legacy", "legacy")),
            whole("stdio-modern", &with("stdio-modern", "modern")),
        ];
        toys.extend(remotes.iter().map(|remote| remote.toy().set("expose = \"all\"")));
        Servers { toys, _remotes: remotes }
    }

    fn ids(&self) -> Vec<&str> {
        self.toys.iter().map(Toy::id).collect()
    }
}

/// The progress in a transcript: its place, its token, and how far it says the work is.
fn progress(client: &Client, from: usize) -> Vec<(usize, Value, u64)> {
    let all = client.transcript.since(from);
    let of = |(at, message): (usize, &Value)| {
        let params = &message["params"];
        let is_progress = message["method"] == "notifications/progress";
        is_progress.then(|| {
            (at, params["progressToken"].clone(), params["progress"].as_u64().unwrap_or_default())
        })
    };
    all.iter().map(|heard| &heard.json).enumerate().filter_map(of).collect()
}

/// Asks for something slow and checks every word of progress about it.
async fn check_progress(client: &Client, method: &str, params: &Value, token: Value) {
    let from = client.transcript.len();
    let call = client.send(method, &params.to_string(), Some(token.clone())).await;
    let id = call.id;
    client.answer(call).await.unwrap_or_else(|error| panic!("{params}: {error}"));
    // Another question, so that anything late has had its time.
    client.uris().await;
    let heard = progress(client, from);
    let expected: Vec<(Value, u64)> = (1..=STEPS).map(|step| (token.clone(), step)).collect();
    let found: Vec<(Value, u64)> =
        heard.iter().map(|(_, token, step)| (token.clone(), *step)).collect();
    assert_eq!(found, expected, "{params} by {:?}", client.kind);
    let all = client.transcript.since(from);
    let answer = all.iter().position(|heard| heard.json["id"] == id);
    let last = heard.last().map(|(at, ..)| *at);
    assert!(last < answer, "progress after the answer: {params} by {:?}", client.kind);
}

#[tokio::test]
async fn progress_comes_whole_and_in_order_with_the_clients_token() {
    let servers = Servers::start(&format!("--steps {STEPS}")).await;
    let trove = Trove::with(&servers.toys).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let call = json!({ "name": "stdio-legacy_slow", "arguments": { "ms": 100 } });
        check_progress(&client, "tools/call", &call, json!(7)).await;
        for id in servers.ids() {
            let read = json!({ "uri": format!("{id}://slow/100") });
            check_progress(&client, "resources/read", &read, json!("my token")).await;
        }
    }
}

#[tokio::test]
async fn progress_of_two_requests_is_not_mixed_up() {
    let trove = Trove::with(&[whole("one", "--steps 50")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let from = client.transcript.len();
        let mut calls = Vec::new();
        for token in 0..8 {
            let params = json!({ "uri": format!("toy://slow/{}", 100 + token) }).to_string();
            calls.push(client.send("resources/read", &params, Some(json!(token))).await);
        }
        for call in calls {
            client.answer(call).await.expect("a slow answer");
        }
        for token in 0..8 {
            let heard = progress(&client, from).into_iter();
            let steps: Vec<u64> =
                heard.filter(|(_, of, _)| *of == token).map(|(_, _, step)| step).collect();
            assert_eq!(steps, (1..=50).collect::<Vec<_>>(), "{kind:?} {token}");
        }
    }
}

#[tokio::test]
async fn nobody_hears_progress_who_did_not_ask_for_it() {
    let trove = Trove::with(&[whole("one", "")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let from = client.transcript.len();
        client.text("toy://slow/10").await;
        assert!(progress(&client, from).is_empty(), "{kind:?}");
    }
}

#[tokio::test]
async fn t14_a_request_taken_back_is_taken_back_at_the_server() {
    let servers = Servers::start("").await;
    let trove = Trove::with(&servers.toys).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        for id in servers.ids() {
            check_cancelled(&client, id, None).await;
            // Over HTTP an answer with progress comes by another way.
            check_cancelled(&client, id, Some(json!("my token"))).await;
        }
    }
}

/// Takes back a request once the server is at work on it, and waits until it hears of it.
async fn check_cancelled(client: &Client, id: &str, token: Option<Value>) {
    let cancelled = async || {
        let text = client.text(&format!("{id}://cancelled")).await;
        body(&text).parse::<u64>().expect("a number")
    };
    let (before, known) = (cancelled().await, reads_of(client, id).await);
    let from = client.transcript.len();
    let params = json!({ "uri": format!("{id}://slow/600000") }).to_string();
    let call = client.send("resources/read", &params, token).await;
    let request = call.id;
    // Each look is a read too; one more than those is the slow one.
    let mut looks = 0;
    let deadline = Instant::now() + LIMIT;
    loop {
        looks += 1;
        if reads_of(client, id).await > known + looks {
            break;
        }
        assert!(Instant::now() < deadline, "the request never reached {id}");
    }
    client.cancel(call).await;
    until("the server to hear of it", async || cancelled().await == before + 1).await;
    if client.kind != Kind::HTTP_LEGACY {
        let all = client.transcript.since(from);
        let answered = all.iter().any(|heard| heard.json["id"] == request);
        assert!(!answered, "{:?} of {id}: what was taken back was answered", client.kind);
    }
}

/// How many reads a server has received; asking adds one.
async fn reads_of(client: &Client, id: &str) -> u64 {
    count(&client.text(&format!("{id}://requests")).await, "resources/read")
}
