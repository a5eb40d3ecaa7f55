//! Every list is complete, and every listed or linked URI can be read from its owner.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{Toy, toy, whole};
use crate::kit::{Trove, is_own};

const SHARED: &str = "common://agreed";

/// Two servers of 35 resources each in pages of ten, with one URI in common.
fn two_paged(first: &str, second: &str) -> [Toy; 2] {
    let args = |scheme: &str| {
        format!(
            "--resources 35 --page-size 10 --uris mixed --bare --shared {SHARED} --scheme {scheme}"
        )
    };
    [toy("one", &args(first)), toy("two", &args(second))]
}

/// The URIs of a list that are not Trove's own.
async fn foreign_uris(client: &Client) -> Vec<String> {
    let all = client.uris().await;
    all.into_iter().filter(|uri| !is_own(uri)).collect()
}

/// Reads a URI under its public name, and checks that its owner answered for the right one.
async fn check_owner(client: &Client, public: &str) -> String {
    let result = client.read(public).await;
    let result = result.unwrap_or_else(|error| panic!("{public} by {:?}: {error}", client.kind));
    let content = &result["contents"][0];
    assert_eq!(content["uri"], public, "{:?}", client.kind);
    let text = content["text"].as_str().expect("the content is text");
    let mut parts = text.splitn(3, '|');
    let (owner, local) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let qualified = format!("{owner}+{local}");
    assert!(public == local || public == qualified, "{public} was answered by {qualified}");
    owner.to_owned()
}

#[tokio::test]
async fn everything_of_two_paged_servers_is_listed_and_readable_by_every_client() {
    let trove = Trove::with(&two_paged("alpha", "beta")).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let listed = foreign_uris(&client).await;
        let distinct: BTreeSet<&String> = listed.iter().collect();
        assert_eq!((listed.len(), distinct.len()), (72, 72), "{kind:?}");
        let mut owners = Vec::new();
        for uri in &listed {
            owners.push(check_owner(&client, uri).await);
        }
        assert_eq!(owners.iter().filter(|owner| *owner == "one").count(), 36, "{kind:?}");
    }
}

#[tokio::test]
async fn two_servers_with_all_names_in_common_are_both_listed_whole() {
    let trove = Trove::with(&two_paged("same", "same")).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let listed = foreign_uris(&client).await;
        assert_eq!(listed.len(), 72, "{kind:?}");
        for uri in &listed {
            let owner = check_owner(&client, uri).await;
            assert!(uri.starts_with(&format!("{owner}+")), "{uri} is contested");
        }
    }
}

#[tokio::test]
async fn t15_a_shared_name_is_listed_twice_and_the_bare_one_names_the_candidates() {
    let trove = Trove::with(&two_paged("alpha", "beta")).await;
    let client = trove.any_client().await;
    let listed = foreign_uris(&client).await;
    let shared: Vec<&String> = listed.iter().filter(|uri| uri.ends_with(SHARED)).collect();
    assert_eq!(shared, ["one+common://agreed", "two+common://agreed"]);
    for kind in Kind::ALL {
        let error = trove.client(kind).await.read(SHARED).await.expect_err("it is ambiguous");
        assert_eq!(error["code"], -32602, "{kind:?}");
        assert_eq!(error["data"]["candidates"], json!(shared), "{kind:?}");
    }
}

#[tokio::test]
async fn the_qualified_name_of_anything_works_and_answers_under_the_public_one() {
    let trove = Trove::with(&two_paged("alpha", "beta")).await;
    let client = trove.any_client().await;
    for (asked, owner) in [
        ("one+alpha://percent/a%2Fb%20c/5", "one"),
        ("two+beta://doc/6?v=1#section-2", "two"),
        ("two+beta://ünï/文書-7", "two"),
        ("one+alpha://with space/item 8", "one"),
    ] {
        let result = client.read(asked).await.expect("a qualified name always works");
        let content = &result["contents"][0];
        let bare = asked.split_once('+').map(|(_, bare)| bare).expect("the name is qualified");
        assert_eq!(content["uri"], bare, "nobody else uses that name");
        assert_eq!(content["text"], format!("{owner}|{bare}|"));
    }
}

#[tokio::test]
async fn thousands_of_resources_come_in_pages_without_a_gap() {
    let trove = Trove::with(&[toy("many", "--resources 3500 --bare --page-size 500")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let pages = client.pages("resources/list", "resources").await;
        assert!(pages.len() > 1, "{kind:?}: {} pages", pages.len());
        let listed: BTreeSet<String> = foreign_uris(&client).await.into_iter().collect();
        let expected: BTreeSet<String> = (0..3500).map(|n| format!("toy://item/{n}")).collect();
        assert_eq!(listed, expected, "{kind:?}");
        let again = client.pages("resources/list", "resources").await;
        assert!(pages == again, "{kind:?}: the order of the list changes");
        // A cursor leads nowhere in another list.
        let first = client.ask("resources/list", json!({})).await.expect("the first page");
        let cursor = json!({ "cursor": first["nextCursor"] });
        let refused = client.ask("resources/templates/list", cursor).await;
        assert_eq!(refused.expect_err("it is of another list")["code"], -32602, "{kind:?}");
    }
}

#[tokio::test]
async fn t42_a_cursor_that_was_not_given_out_is_refused() {
    let trove = Trove::with(&[toy("one", "")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        for method in ["resources/list", "resources/templates/list"] {
            let refused = client.ask(method, json!({ "cursor": "nonsense" })).await;
            assert_eq!(refused.expect_err("a foreign cursor")["code"], -32602, "{kind:?} {method}");
            let whole = client.ask(method, json!({ "cursor": "" })).await;
            assert!(whole.is_ok(), "{kind:?}: an empty cursor is a valid one");
        }
    }
}

#[tokio::test]
async fn templates_are_listed_and_what_fills_them_is_readable() {
    let trove = Trove::with(&[toy("one", "--page-size 1")]).await;
    let filled = [
        ("note://{id}", "note://alpha"),
        ("file:///tree/{+path}", "file:///tree/a/b/c.txt"),
        ("search://items{?q,limit}", "search://items?q=x%20y&limit=3"),
        ("toy://slow/{ms}", "toy://slow/0"),
    ];
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let listed = client.list("resources/templates/list", "resourceTemplates").await;
        let texts: Vec<&Value> = listed.iter().map(|entry| &entry["uriTemplate"]).collect();
        for (template, uri) in filled {
            assert!(texts.contains(&&json!(template)), "{kind:?}: {template} in {texts:?}");
            assert_eq!(check_owner(&client, uri).await, "one");
        }
    }
}

#[tokio::test]
async fn templates_of_two_servers_are_listed_qualified_and_fill_to_their_own() {
    let trove = Trove::with(&[toy("one", "--scheme alpha"), toy("two", "--scheme beta")]).await;
    let client = trove.any_client().await;
    let listed = client.list("resources/templates/list", "resourceTemplates").await;
    let texts: BTreeSet<&str> = listed.iter().filter_map(|t| t["uriTemplate"].as_str()).collect();
    for template in ["one+note://{id}", "two+note://{id}", "alpha://slow/{ms}", "beta://slow/{ms}"]
    {
        assert!(texts.contains(template), "{template} in {texts:?}");
    }
    assert_eq!(check_owner(&client, "one+note://beta").await, "one");
    assert_eq!(check_owner(&client, "two+note://beta").await, "two");
    let error = client.read("note://beta").await.expect_err("two servers fill it");
    assert_eq!(error["data"]["candidates"], json!(["one+note://beta", "two+note://beta"]));
}

/// The URIs a tool's result links to or embeds.
fn linked(result: &Value) -> Vec<String> {
    let blocks = result["content"].as_array().expect("a result has content");
    let uri = |block: &Value| match block["type"].as_str() {
        Some("resource_link") => block["uri"].as_str().map(str::to_owned),
        _ => block["resource"]["uri"].as_str().map(str::to_owned),
    };
    blocks.iter().filter_map(uri).collect()
}

#[tokio::test]
async fn every_link_in_a_tools_result_is_readable() {
    let trove = Trove::with(&[whole("one", "")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let links = linked(&client.call("one_link", json!({})).await);
        assert_eq!(links, ["toy://counter", "toy://pid", "toy://unlisted"], "{kind:?}");
        for link in links {
            assert_eq!(check_owner(&client, &link).await, "one");
        }
    }
}

#[tokio::test]
async fn links_of_two_servers_with_the_same_names_lead_to_the_right_one() {
    let trove = Trove::with(&[whole("one", ""), whole("two", "")]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        for owner in ["one", "two"] {
            let links = linked(&client.call(&format!("{owner}_link"), json!({})).await);
            assert_eq!(links.len(), 3);
            for link in links {
                assert_eq!(check_owner(&client, &link).await, owner, "{kind:?} {link}");
            }
        }
    }
}

#[tokio::test]
async fn a_servers_use_of_our_own_schemes_is_listed_qualified_and_ours_stays_ours() {
    let trove =
        Trove::with(&[toy("one", "--bare --shared info://health --shared config://x")]).await;
    let client = trove.any_client().await;
    let listed = client.uris().await;
    for uri in ["info://health", "one+info://health", "one+config://x"] {
        assert!(listed.iter().any(|listed| listed == uri), "{uri} in {listed:?}");
    }
    assert_eq!(check_owner(&client, "one+info://health").await, "one");
    assert!(client.text("info://health").await.contains("\"sources\""));
}

#[tokio::test]
async fn many_reads_at_once_each_get_their_own_answer() {
    let args = |scheme: &str| format!("--bare --resources 100 --scheme {scheme}");
    let trove = Trove::with(&[toy("one", &args("one")), toy("two", &args("two"))]).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let mut calls = Vec::new();
        for n in 0..100 {
            for owner in ["one", "two"] {
                let uri = format!("{owner}://item/{n}");
                let params = json!({ "uri": uri }).to_string();
                let call = client.send("resources/read", &params, None).await;
                calls.push((call, format!("{owner}|{uri}|")));
            }
        }
        for (call, expected) in calls {
            let result = client.answer(call).await.expect("contents");
            assert_eq!(result["contents"][0]["text"], expected, "{kind:?}");
        }
    }
}
