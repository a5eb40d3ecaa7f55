//! Local knowledge as a client of either era sees it.

use serde_json::{Value, json};

use crate::kit::client::{Era, Kind};
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

const UPDATED: &str = "notifications/resources/updated";
const SKILL: &str = "---\nname: tidy\ndescription: Tidies\n---\nDo it.\n";

fn guide() -> std::sync::Arc<Folder> {
    let folder = Folder::with("[guide.collections.both]\nmembers = [\"lang\", \"docs/api\"]\n");
    folder.put("guide/lang/python.md", "# Python\n");
    folder.put("guide/lang/rust.md", "# Rust\n");
    folder.put("guide/docs/api.md", "# API\n");
    folder.put("guide/skills/tidy/SKILL.md", SKILL);
    folder
}

#[tokio::test]
async fn every_client_lists_and_reads_the_guide() {
    let trove = Trove::start_in(&guide()).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let uris = client.uris().await;
        for uri in ["guide://help", "guide://document/lang/python.md", "guide://collection/both"] {
            assert!(uris.iter().any(|known| known == uri), "{kind:?}: {uri} in {uris:?}");
        }
        let templates = client.list("resources/templates/list", "resourceTemplates").await;
        assert!(templates.iter().any(|t| t["uriTemplate"] == "guide://category/{name}/{docId}"));
        assert_eq!(client.text("guide://category/lang/py*").await, "# Python\n");
        let both = client.read("guide://collection/both").await.expect("the collection");
        let content = &both["contents"][0];
        assert_eq!(content["mimeType"], "multipart/mixed; boundary=\"guide-boundary\"");
        assert!(client.text("guide://help").await.contains("`lang` (2 documents)"));
        let completed = client
            .ask(
                "completion/complete",
                json!({
                    "ref": { "type": "ref/resource", "uri": "guide://category/{name}/{docId}" },
                    "argument": { "name": "docId", "value": "r" },
                    "context": { "arguments": { "name": "lang" } },
                }),
            )
            .await
            .expect("a completion");
        assert_eq!(completed["completion"]["values"], json!(["rust.md"]));
    }
}

#[tokio::test]
async fn what_is_not_there_is_an_error_in_the_clients_own_words() {
    let trove = Trove::start_in(&guide()).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        for uri in ["guide://document/lang/pyton", "guide://category/nope", "guide://document/x/y"]
        {
            let error = client.read(uri).await.expect_err("no such thing");
            let code = if kind.era == Era::Legacy { -32002 } else { -32602 };
            assert_eq!(
                (&error["code"], &error["data"]["uri"]),
                (&json!(code), &json!(uri)),
                "{error}"
            );
        }
        let error = client.read("guide://document/lang/pyton").await.expect_err("no such thing");
        assert!(error["message"].as_str().is_some_and(|m| m.contains("python.md")), "{error}");
    }
}

#[tokio::test]
async fn a_change_on_disk_is_heard_by_whoever_watches() {
    let folder = guide();
    let trove = Trove::start_in(&folder).await;
    for kind in Kind::ALL {
        let client = trove.client(kind).await;
        let uris = ["guide://document/lang/rust.md"];
        let following = client.follow(&uris).await;
        folder.put("guide/lang/rust.md", &format!("# Rust of {kind:?}\n"));
        assert_eq!(client.hear(UPDATED).await["params"]["uri"], uris[0], "{kind:?}");
        assert_eq!(client.text(uris[0]).await, format!("# Rust of {kind:?}\n"));
        client.unfollow(following, &uris).await;
    }
    folder.put("guide/new/one.md", "# One\n");
    let client = trove.any_client().await;
    let is_listed =
        async || client.uris().await.iter().any(|uri| uri == "guide://document/new/one.md");
    until("the new document", is_listed).await;
}

#[tokio::test]
async fn a_changed_configuration_changes_the_guide() {
    let folder = guide();
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    assert!(client.read("guide://category/manual").await.is_err());
    folder.write("[guide.categories.manual]\ndir = \"docs\"\n");
    until("the new category", async || client.read("guide://category/manual").await.is_ok()).await;
    assert!(client.read("guide://category/lang").await.is_err());
    // One with mistakes changes nothing.
    folder.write("[guide.categories.manual]\ndir = \"../..\"\n");
    trove
        .log
        .first(
            0,
            |line: &Value| line["message"].as_str().is_some_and(|m| m.contains("has errors")),
            "the refusal",
        )
        .await;
    assert_eq!(client.text("guide://category/manual").await, "# API\n");
}

#[tokio::test]
async fn skills_of_the_guide_are_served_beside_those_of_servers() {
    let folder = guide();
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    let skills = client.list("skills/list", "skills").await;
    assert_eq!(skills[0]["uri"], "skill://guide/skills/tidy/SKILL.md");
    let got =
        client.ask("skills/get", json!({ "uri": skills[0]["uri"] })).await.expect("the skill");
    assert_eq!(got["skill"], skills[0]);
    let folder = client
        .ask("resources/directory/read", json!({ "uri": "skill://guide/skills/tidy" }))
        .await
        .expect("the folder");
    assert_eq!(folder["resources"][0]["name"], "SKILL.md");
    assert_eq!(client.text("skill://guide/skills/tidy/SKILL.md").await, SKILL);
}

#[tokio::test]
async fn t16_no_server_can_speak_as_the_guide() {
    let folder = guide();
    folder.write(&config(&[toy(
        "evil",
        "--bare --shared guide://help --shared guide://document/lang/rust.md",
    )]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["evil"]).await;
    let client = trove.any_client().await;
    assert!(client.text("guide://help").await.starts_with("# Guide URIs"));
    assert_eq!(client.text("guide://document/lang/rust.md").await, "# Rust\n");
    assert!(client.uris().await.iter().any(|uri| uri == "evil+guide://help"));
    let ran = Folder::with("[servers.guide]\ncommand = \"x\"\n").run(&["config", "check"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[tokio::test]
async fn init_writes_a_guide_worth_reading_and_replaces_nothing() {
    let folder = Folder::empty();
    folder.put("guide/trove/find-and-read.md", "mine");
    let ran = folder.run(&["init"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.text().contains("kept  guide/trove/find-and-read.md"), "{ran:?}");
    let checked = folder.run(&["config", "check"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let read = folder.run(&["read", "guide://document/trove/find-and-read"]).await;
    assert_eq!(read.text(), "mine");
    let started = folder.run(&["read", "guide://collection/start"]).await;
    assert!(started.text().contains("# Connect a server"), "{started:?}");
    let written = std::fs::read_to_string(folder.config()).expect("the configuration is there");
    let again = folder.run(&["init"]).await;
    assert!(!again.text().contains("wrote"), "{again:?}");
    assert_eq!(std::fs::read_to_string(folder.config()).expect("still there"), written);
    // Every document of the starter is sound.
    let health = folder.run(&["read", "info://health"]).await.json();
    let guide =
        health["sources"].as_array().and_then(|all| all.iter().find(|s| s["id"] == "guide"));
    assert!(guide.is_some_and(|guide| guide["omissions"].is_null()), "{health}");
    assert!(folder.path().join("guide/skills/use-trove/SKILL.md").is_file());
}
