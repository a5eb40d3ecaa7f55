//! One name that is both a category and a collection, URIs in place of expressions, and what
//! the help shows.

use serde_json::{Value, json};
use trove_core::{
    Caller, Json, ProjectName,
    knowledge::{CollectionSettings, ProjectSettings},
    source::Ask,
};
use trove_testkit::gateway_box::text_of;

use super::{failure, value};
use crate::guide::kit::Guide;

/// `shared` is a category with one document and a collection with another.
async fn guide() -> Guide {
    let files = [
        ("guide/lang/rust.md", "# Rust\n"),
        ("guide/shared/intro.md", "# Intro\n"),
        ("guide/lang/intro.md", "# Another intro\n"),
    ];
    Guide::set(&files, |settings| {
        let members = vec!["lang/rust".to_owned(), "shared/intro".to_owned()];
        let shared = CollectionSettings { members, description: None };
        settings.groups.collections.insert("shared".into(), shared);
    })
    .await
}

async fn content(guide: &Guide, expression: &str) -> String {
    let got = value(guide, "guide_get_content", json!({ "expression": expression })).await;
    let documents = got["documents"].as_array().unwrap();
    let paths = documents.iter().map(|one| one["uri"].as_str().unwrap());
    paths.map(|uri| uri.trim_start_matches("guide://document/")).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_context_that_is_both_finds_documents_of_both() {
    let guide = guide().await;
    assert_eq!(content(&guide, "shared").await, "shared/intro.md lang/rust.md");
    assert_eq!(content(&guide, "shared/rust").await, "lang/rust.md");
    assert_eq!(content(&guide, "shared/intro").await, "shared/intro.md");
    assert_eq!(content(&guide, "lang/rust,shared/rust").await, "lang/rust.md");
    let read = async |uri: &str| guide.read(uri).await;
    for (id, text) in [("intro", "# Intro\n"), ("rust", "# Rust\n"), ("rust.md", "# Rust\n")] {
        let uri = format!("guide://document/shared/{id}");
        assert_eq!(read(&uri).await.unwrap(), text, "{id}");
    }
    let error = read("guide://document/shared/ruts").await.unwrap_err().to_string();
    assert!(error.contains("category or the collection") && error.contains("rust.md"), "{error}");
    let (error, told) =
        failure(&guide, "guide_get_content", json!({ "expression": "shared/x" })).await;
    assert_eq!(error, "NotFound", "{told}");
    let ask = json!({
        "ref": { "type": "ref/resource", "uri": "guide://document/{context}/{docId}" },
        "argument": { "name": "docId", "value": "" },
        "context": { "arguments": { "context": "shared" } },
    });
    let (caller, ask) = (Caller::local(), Json::of(&ask));
    let completed = guide.gateway.complete(&caller, &ask, Ask::default()).await.unwrap();
    let completed: Value = completed.body.to().unwrap();
    assert_eq!(completed["completion"]["values"], json!(["intro.md", "rust.md"]));
}

#[tokio::test]
async fn a_uri_of_another_scheme_is_told_as_such_wherever_it_is_given() {
    let guide = guide().await;
    for uri in ["file:///etc/passwd", "https://example.org/a", "lang://rust", "guide+x://y"] {
        let (_, told) = failure(&guide, "guide_get_content", json!({ "expression": uri })).await;
        let message = told["message"].as_str().unwrap();
        assert!(message.starts_with("Invalid URI scheme"), "{message}");
    }
    for uri in ["guide+file:///etc/passwd", "guide:/help", "help://x", "guid://category/lang"] {
        let error = guide.read(uri).await.unwrap_err().to_string();
        assert!(error.contains("Invalid URI scheme"), "{uri}: {error}");
    }
    // Those of the guide are understood in place of an expression.
    assert_eq!(content(&guide, "guide://category/lang/rust").await, "lang/rust.md");
    assert_eq!(content(&guide, "guide://document/shared/rust").await, "lang/rust.md");
}

#[tokio::test]
async fn the_help_shows_common_uses_that_work() {
    let guide = guide().await;
    let help = guide.read("guide://help").await.unwrap();
    let (_, rest) = help.split_once("## Common uses\n").unwrap();
    let table = rest.trim_start().split("\n\n").next().unwrap();
    let mut tried = 0;
    for row in table.lines().skip(2) {
        let code: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        for uri in code.iter().filter(|code| code.starts_with("guide://")) {
            assert!(guide.read(uri).await.is_ok(), "{row}");
            tried += 1;
        }
        match code[..] {
            ["get_content", expression] => {
                assert!(!content(&guide, expression).await.is_empty(), "{row}");
                tried += 1;
            }
            ["category_list_files", name] => {
                value(&guide, "guide_category_list_files", json!({ "name": name })).await;
                tried += 1;
            }
            _ => {}
        }
    }
    assert_eq!(tried, 5, "{table}");
}

#[tokio::test]
async fn a_member_that_is_both_gives_documents_of_both_and_nothing_leads_round() {
    let files = [("guide/lang/rust.md", "# Rust\n"), ("guide/shared/intro.md", "# Intro\n")];
    let collections = [
        ("shared", vec!["lang/rust", "shared/intro"]),
        ("nest", vec!["shared"]),
        ("round", vec!["lang/rust", "nest"]),
    ];
    for hides in [false, true] {
        let guide = Guide::set(&files, |settings| {
            for (name, members) in &collections {
                let members = members.iter().map(|member| (*member).to_owned()).collect();
                let one = CollectionSettings { members, description: None };
                settings.groups.collections.insert((*name).into(), one);
            }
            if hides {
                let desk = ProjectSettings {
                    categories: Some(vec!["lang".into()]),
                    ..ProjectSettings::default()
                };
                settings.groups.projects.insert("desk".into(), desk);
            }
        })
        .await;
        let project = hides.then(|| ProjectName::new("desk").unwrap());
        let caller = Caller { project, ..Caller::local() };
        let read = async |uri: &str| {
            let read = guide.gateway.read(&caller, &uri.into(), Ask::default()).await;
            read.map(|reading| text_of(&reading.reply.body))
        };
        // Where the category is not picked, the collection alone is meant.
        assert_eq!(read("guide://document/shared/rust").await.unwrap(), "# Rust\n");
        if !hides {
            assert_eq!(read("guide://document/nest/rust").await.unwrap(), "# Rust\n");
            assert_eq!(read("guide://document/nest/intro").await.unwrap(), "# Intro\n");
            assert_eq!(content(&guide, "nest").await, "shared/intro.md lang/rust.md");
            assert_eq!(content(&guide, "round").await, "lang/rust.md shared/intro.md");
        }
    }
}

#[tokio::test]
async fn a_uri_of_another_scheme_is_told_apart_from_a_name() {
    let guide = guide().await;
    for uri in ["mailto:x", "urn:isbn:1", "data:text/plain,hi", "docs://x"] {
        let (_, told) = failure(&guide, "guide_get_content", json!({ "expression": uri })).await;
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("Invalid URI scheme"), "{uri}: {message}");
    }
    let (error, told) =
        failure(&guide, "guide_get_content", json!({ "expression": "shared:intro" })).await;
    assert_eq!((error.as_str(), &told["near"]), ("NotFound", &json!(["shared"])), "{told}");
}
