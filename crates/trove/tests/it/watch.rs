//! A client that watches a resource or a list hears of its changes, through everything between.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::kit::client::{Client, Era, Kind, SUBSCRIPTION};
use crate::kit::toy::{Remote, Toy, body, config, count, toy, whole};
use crate::kit::{Trove, until};

const UPDATED: &str = "notifications/resources/updated";
const LISTS: &str = "notifications/resources/list_changed";
const ERAS: [&str; 2] = ["legacy", "modern"];

/// Follows the counter, changes it, and expects to hear of it under the same name.
async fn check_update(client: &Client, uri: &str, bump: &str) {
    let following = client.follow(&[uri]).await;
    client.call(bump, json!({})).await;
    let updated = client.hear(UPDATED).await;
    assert_eq!(updated["params"]["uri"], uri, "{:?}", client.kind);
    client.unfollow(following, &[uri]).await;
}

#[tokio::test]
async fn a_change_is_heard_by_every_client_from_a_server_of_either_era() {
    for era in ERAS {
        let trove = Trove::with(&[whole("one", &format!("--era {era}"))]).await;
        for kind in Kind::ALL {
            check_update(&trove.client(kind).await, "toy://counter", "one_bump").await;
        }
    }
}

#[tokio::test]
async fn a_change_is_heard_from_a_server_behind_a_url() {
    let remotes = [
        Remote::http("http-legacy", "--era legacy").await,
        Remote::http("http-modern", "--era modern").await,
        Remote::sse("sse", "--era legacy").await,
    ];
    let toys = remotes.each_ref().map(|remote| remote.toy().set("expose = \"all\""));
    let trove = Trove::with(&toys).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        for toy in &toys {
            let id = toy.id();
            check_update(&client, &format!("{id}+toy://counter"), &format!("{id}_bump")).await;
        }
    }
}

#[tokio::test]
async fn what_is_watched_is_answered_from_the_cache_until_a_change_is_told() {
    let remote = Remote::http("far", "--era legacy").await;
    let toys = [whole("near", "--era legacy"), remote.toy().set("expose = \"all\"")];
    let trove = Trove::with(&toys).await;
    let client = trove.client(Kind::STDIO_MODERN).await;
    for toy in &toys {
        let (uri, bump) = (format!("{}+toy://counter", toy.id()), format!("{}_bump", toy.id()));
        let read = async || {
            let answer = client.call("get_resource", json!({ "uri": uri, "format": "text" })).await;
            let object = answer["structuredContent"].clone();
            let text = object["data"].as_str().map(str::to_owned).unwrap_or_default();
            (body(&text).to_owned(), object["metadata"]["cached"] == true)
        };
        let count = |n: u64, is_cached| (n.to_string(), is_cached);
        assert_eq!(read().await, count(0, false), "{uri}");
        assert_eq!(read().await, count(0, false), "{uri}: nobody tells of changes");
        let following = client.follow(&[&uri]).await;
        // An earlier copy could have changed before it was watched.
        until("it to be kept", async || read().await == count(0, true)).await;
        client.call(&bump, json!({})).await;
        client.hear(UPDATED).await;
        assert_eq!(read().await.0, "1", "{uri}: what was told is not missed");
        until("it to be kept again", async || read().await == count(1, true)).await;
        client.unfollow(following, &[&uri]).await;
        until("it to be asked for again", async || !read().await.1).await;
    }
}

#[tokio::test]
async fn a_contested_resource_is_watched_under_its_qualified_name() {
    let trove = Trove::with(&[whole("one", "--era legacy"), whole("two", "--era modern")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let from = client.transcript.len();
        let uris = ["one+toy://counter"];
        let following = client.follow(&uris).await;
        client.call("two_bump", json!({})).await;
        client.call("one_bump", json!({})).await;
        client.hear(UPDATED).await;
        let heard = client.heard_since(from, UPDATED);
        assert_eq!(heard.len(), 1, "{kind:?}: {heard:?}");
        assert_eq!(heard[0]["params"]["uri"], "one+toy://counter", "{kind:?}");
        client.unfollow(following, &uris).await;
    }
}

#[tokio::test]
async fn a_resource_that_is_watched_under_two_names_is_heard_of_under_both() {
    let trove = Trove::with(&[whole("one", "")]).await;
    let uris = ["toy://counter", "one+toy://counter"];
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let following = client.follow(&uris).await;
        client.call("one_bump", json!({})).await;
        let heard = [client.hear(UPDATED).await, client.hear(UPDATED).await];
        let heard = heard.map(|message| message["params"]["uri"].as_str().map(str::to_owned));
        assert_eq!(heard, uris.map(|uri| Some(uri.to_owned())), "{kind:?}");
        if following.is_none() {
            // Under the other name it is still watched.
            client.unfollow(None, &uris[..1]).await;
            client.call("one_bump", json!({})).await;
            assert_eq!(client.hear(UPDATED).await["params"]["uri"], uris[1], "{kind:?}");
        }
        client.unfollow(following, &uris[1..]).await;
    }
}

#[tokio::test]
async fn what_a_server_leaves_out_of_its_acknowledgement_is_not_promised() {
    let trove = Trove::with(&[whole("one", "--era modern")]).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let filter = json!({ "resourceSubscriptions": ["toy://counter", "toy://nothing"] });
    let (call, first) = client.listen(filter).await;
    let kept = &first["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(kept, &json!(["toy://counter"]), "{first}");
    client.call("one_bump", json!({})).await;
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "toy://counter");
    client.cancel(call).await;
    let legacy = trove.client(Kind::HTTP_LEGACY).await;
    let refused = legacy.ask("resources/subscribe", json!({ "uri": "toy://nothing" })).await;
    assert!(refused.expect_err("it is not there").to_string().contains("changes"));
}

#[tokio::test]
async fn a_stream_that_ends_with_us_is_answered_and_one_that_is_taken_back_is_not() {
    for kind in [Kind::STDIO_MODERN, Kind::HTTP_MODERN] {
        let mut trove = Trove::with(&[whole("one", "")]).await;
        let client = trove.client(kind).await;
        let filter = json!({ "resourceSubscriptions": ["toy://counter"] });
        let (taken_back, _) = client.listen(filter.clone()).await;
        let (unwanted, from) = (taken_back.id, client.transcript.len());
        client.cancel(taken_back).await;
        let (stream, _) = client.listen(filter).await;
        let id = stream.id;
        trove.signal(Signal::TERM);
        let end = client.answer(stream).await.expect("it ends well");
        assert_eq!(end["resultType"], "complete", "{kind:?}: {end}");
        assert_eq!(end["_meta"][SUBSCRIPTION], id, "{kind:?}: {end}");
        assert!(trove.ended().await.success(), "{kind:?}");
        let all = client.transcript.since(from);
        assert!(all.iter().all(|heard| heard.json["id"] != unwanted), "{kind:?}: it was answered");
    }
}

#[tokio::test]
async fn one_stream_hears_of_many_resources_in_the_order_they_were_named() {
    let trove = Trove::with(&[whole("one", "--era legacy"), whole("two", "--era modern")]).await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let uris = ["two+toy://counter", "nobody:knows", "one+toy://counter"];
    let (call, first) = client.listen(json!({ "resourceSubscriptions": uris })).await;
    let kept = &first["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(kept, &json!(["two+toy://counter", "one+toy://counter"]), "{first}");
    for id in ["one", "two"] {
        client.call(&format!("{id}_bump"), json!({})).await;
        let updated = client.hear(UPDATED).await;
        assert_eq!(updated["params"]["uri"], format!("{id}+toy://counter"));
    }
    client.cancel(call).await;
}

#[tokio::test]
async fn what_changes_while_a_server_cannot_be_heard_is_told_afterwards() {
    // It never says so itself, and its stream ends now and then.
    let args = "--era legacy --fault cut:unasked=300 --fault drop:updated --fault drop:listchanged";
    let remote = Remote::http("one", args).await;
    let trove = Trove::with(&[remote.toy().set("expose = \"all\"")]).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    client.follow(&["toy://counter"]).await;
    client.call("one_add_resource", json!({ "uri": "toy://added" })).await;
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "toy://counter");
    until("the new list", async || client.uris().await.contains(&"toy://added".to_owned())).await;
}

#[tokio::test]
async fn nothing_is_heard_after_unsubscribing() {
    for era in ERAS {
        let trove = Trove::with(&[whole("one", &format!("--era {era}"))]).await;
        for kind in Kind::ALL {
            let client = trove.client(kind).await;
            check_update(&client, "toy://counter", "one_bump").await;
            // The stream may still be closing; its end is only seen by what it no longer says.
            let from = client.transcript.len();
            let lists = client.follow(&[]).await;
            client.call("one_bump", json!({})).await;
            let uri = format!("toy://added-{}", client.transcript.len());
            client.call("one_add_resource", json!({ "uri": uri })).await;
            client.hear(LISTS).await;
            let heard = client.heard_since(from, UPDATED);
            assert!(heard.is_empty(), "{kind:?} of {era}: {heard:?}");
            client.unfollow(lists, &[]).await;
        }
    }
}

#[tokio::test]
async fn two_clients_of_one_resource_are_one_subscription_upstream() {
    for (era, method, already) in
        [("legacy", "resources/subscribe", 0), ("modern", "subscriptions/listen", 1)]
    {
        let trove = Trove::with(&[whole("one", &format!("--era {era}"))]).await;
        let clients = [
            trove.client(Kind::HTTP_LEGACY).await,
            trove.client(Kind::HTTP_MODERN).await,
            trove.client(Kind::STDIO_LEGACY).await,
        ];
        let asked = async || count(&clients[0].text("toy://requests").await, method);
        until("the lists to be followed", async || asked().await >= already).await;
        let mut following = Vec::new();
        for client in &clients {
            following.push(client.follow(&["toy://counter"]).await);
        }
        clients[0].call("one_bump", json!({})).await;
        for client in &clients {
            assert_eq!(client.hear(UPDATED).await["params"]["uri"], "toy://counter");
        }
        assert_eq!(asked().await, already + 1, "{era}");

        // One goes and the others still hear; .
        clients[0].unfollow(following.remove(0), &["toy://counter"]).await;
        clients[1].call("one_bump", json!({})).await;
        for client in &clients[1..] {
            client.hear(UPDATED).await;
        }
    }
}

#[tokio::test]
async fn what_nobody_watches_any_more_is_no_longer_watched_upstream() {
    let trove = Trove::with(&[whole("one", "--era legacy")]).await;
    let witness = trove.any_client().await;
    let ended = async || count(&witness.text("toy://requests").await, "resources/unsubscribe");
    for (n, kind) in (1..).zip(Kind::ALL) {
        let client = trove.client(kind).await;
        let following = client.follow(&["toy://counter"]).await;
        assert_eq!(ended().await, n - 1, "{kind:?}");
        client.unfollow(following, &["toy://counter"]).await;
        until(&format!("the watch of {kind:?} to end"), async || ended().await == n).await;
    }
    // A session that is ended lets go of all it watched.
    let client = trove.client(Kind::HTTP_LEGACY).await;
    client.follow(&["toy://counter"]).await;
    let session = client.session().expect("a legacy client has a session");
    let delete = reqwest::Client::new().delete(&trove.url).header("Mcp-Session-Id", session);
    delete.send().await.expect("trove answers");
    until("the watch of the session to end", async || ended().await == 5).await;
}

#[tokio::test]
async fn a_restarted_server_is_watched_again_and_what_was_missed_is_said() {
    for era in ERAS {
        let trove = Trove::with(&[whole("one", &format!("--era {era}"))]).await;
        for kind in Kind::ALL {
            let client = trove.client(kind).await;
            let following = client.follow(&["toy://counter"]).await;
            let pid = body(&client.text("toy://pid").await).parse().ok().and_then(Pid::from_raw);
            kill_process(pid.expect("a toy tells its pid"), Signal::KILL).expect("it is there");
            let missed = client.hear(UPDATED).await;
            assert_eq!(missed["params"]["uri"], "toy://counter", "{kind:?} of {era}");
            client.call("one_bump", json!({})).await;
            client.hear(UPDATED).await;
            client.unfollow(following, &["toy://counter"]).await;
        }
    }
}

#[tokio::test]
async fn a_restarted_server_behind_a_url_is_watched_again_and_what_was_missed_is_said() {
    let remotes = [
        Remote::http("one", "--era legacy").await,
        Remote::http("one", "--era modern").await,
        Remote::sse("one", "--era legacy").await,
    ];
    for mut remote in remotes {
        let trove = Trove::with(&[remote.toy().set("expose = \"all\"")]).await;
        let client = trove.any_client().await;
        let _following = client.follow(&["toy://counter"]).await;
        remote.restart().await;
        let missed = client.hear(UPDATED).await;
        assert_eq!(missed["params"]["uri"], "toy://counter", "{:?}", remote.toy());
        trove.ready(&["one"]).await;
        client.call("one_bump", json!({})).await;
        client.hear(UPDATED).await;
    }
}

/// A server that says nothing of changes, and whose tools are shown.
fn mute(era: &str) -> Toy {
    whole("one", &format!("--no-subscribe --era {era}"))
}

#[tokio::test]
async fn a_server_that_says_nothing_is_read_now_and_then_if_told_so() {
    for era in ERAS {
        let polled = mute(era).set("watch = \"poll\"\npoll_interval_ms = 100");
        let trove = Trove::with(&[polled]).await;
        for kind in Kind::ALL {
            check_update(&trove.client(kind).await, "toy://counter", "one_bump").await;
        }
    }
}

#[tokio::test]
async fn what_such_a_server_changed_before_it_was_restarted_is_said() {
    let polled = mute("legacy").set("watch = \"poll\"\npoll_interval_ms = 100");
    let trove = Trove::with(&[polled]).await;
    let client = trove.any_client().await;
    let _following = client.follow(&["toy://counter"]).await;
    let pid = body(&client.text("toy://pid").await).parse().ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a toy tells its pid"), Signal::KILL).expect("it is there");
    assert_eq!(client.hear(UPDATED).await["params"]["uri"], "toy://counter");
}

#[tokio::test]
async fn without_polling_the_refusal_says_what_would_help() {
    for era in ERAS {
        let trove = Trove::with(&[mute(era)]).await;
        for kind in Kind::ALL {
            let client = trove.client(kind).await;
            if kind.era == Era::Modern {
                let filter = json!({ "resourceSubscriptions": ["toy://counter"] });
                let (_call, first) = client.listen(filter).await;
                let honoured = &first["params"]["notifications"]["resourceSubscriptions"];
                assert_eq!(honoured, &json!([]), "{kind:?}");
                continue;
            }
            let refused =
                client.ask("resources/subscribe", json!({ "uri": "toy://counter" })).await;
            let error = refused.expect_err("the server cannot say");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains("watch = \"poll\""), "{kind:?}: {message}");
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_cannot_be_watched() {
    let trove = Trove::with(&[toy("one", "")]).await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_LEGACY] {
        let client = trove.client(kind).await;
        let refused = client.ask("resources/subscribe", json!({ "uri": "nowhere://x" })).await;
        let error = refused.expect_err("nobody serves it");
        assert_eq!(
            (&error["code"], &error["data"]["uri"]),
            (&json!(-32002), &json!("nowhere://x"))
        );
    }
}

#[tokio::test]
async fn every_client_hears_when_a_list_grows_and_when_it_shrinks() {
    for era in ERAS {
        let trove = Trove::with(&[whole("one", &format!("--era {era}"))]).await;
        for kind in Kind::ALL {
            let client = trove.client(kind).await;
            let following = client.follow(&[]).await;
            let added = json!({ "uri": "toy://added" });
            client.call("one_add_resource", added.clone()).await;
            client.hear(LISTS).await;
            assert!(client.uris().await.contains(&"toy://added".to_owned()), "{kind:?} of {era}");
            assert!(client.text("toy://added").await.starts_with("one|toy://added|"));
            client.call("one_remove_resource", added).await;
            client.hear(LISTS).await;
            assert!(!client.uris().await.contains(&"toy://added".to_owned()), "{kind:?} of {era}");
            client.unfollow(following, &[]).await;
        }
    }
}

#[tokio::test]
async fn a_stream_begins_with_its_acknowledgement_and_says_only_what_it_was_asked_for() {
    let trove = Trove::with(&[whole("one", "")]).await;
    for kind in [Kind::STDIO_MODERN, Kind::HTTP_MODERN] {
        let client = trove.client(kind).await;
        let from = client.transcript.len();
        let (tools, first) = client.listen(json!({ "toolsListChanged": true })).await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{kind:?}");
        assert_eq!(first["params"]["notifications"], json!({ "toolsListChanged": true }));
        let filter =
            json!({ "resourcesListChanged": true, "resourceSubscriptions": ["toy://counter"] });
        let (all, second) = client.listen(filter.clone()).await;
        assert_eq!(second["params"]["notifications"], filter);

        client.call("one_bump", json!({})).await;
        let uri = format!("toy://added-{from}");
        client.call("one_add_resource", json!({ "uri": uri })).await;
        client.hear(LISTS).await;
        let tag = |message: &Value| message["params"]["_meta"][SUBSCRIPTION].clone();
        for method in [UPDATED, LISTS] {
            let tags: Vec<Value> = client.heard_since(from, method).iter().map(tag).collect();
            assert_eq!(tags, [json!(all.id)], "{kind:?} {method}; the other is {}", tools.id);
        }
        client.cancel(tools).await;
        client.cancel(all).await;
    }
}

#[tokio::test]
async fn a_client_hears_of_a_server_that_comes_up_late() {
    let late = toy("late", "--resources 1 --bare --fault delay:init=1500");
    let trove = Trove::start(&config(&[late])).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let following = client.follow(&[]).await;
        if kind == Kind::STDIO_LEGACY {
            client.hear(LISTS).await;
        }
        until("the list", async || client.uris().await.contains(&"toy://item/0".to_owned())).await;
        client.unfollow(following, &[]).await;
    }
}

#[tokio::test]
async fn a_server_that_is_still_coming_up_can_be_watched_already() {
    for era in ERAS {
        let late = whole("late", &format!("--era {era} --fault delay:init=1500"));
        let trove = Trove::start(&config(&[late])).await;
        for kind in [Kind::STDIO_LEGACY, Kind::HTTP_MODERN] {
            let client = trove.client(kind).await;
            let following = client.follow(&["late+toy://counter"]).await;
            trove.ready(&["late"]).await;
            client.call("late_bump", json!({})).await;
            let updated = client.hear(UPDATED).await;
            assert_eq!(updated["params"]["uri"], "late+toy://counter", "{kind:?} of {era}");
            client.unfollow(following, &["late+toy://counter"]).await;
        }
    }
}
