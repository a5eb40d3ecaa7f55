//! The project a client works on: from the folders it names, else from where Trove is started.

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::{Folder, Trove, until};

const LANG: &str = "guide://document/lang/rust.md";
const DOCS: &str = "guide://document/docs/api.md";
const CONFIG: &str = r#"
[tools]
toolsets = ["resources", "guide", "flags"]
[guide.projects.shop]
root = "shop"
categories = ["lang"]
flags = { workflow = true }
[guide.projects.desk]
root = "desk"
categories = ["docs"]
"#;

fn guide(more: &str) -> std::sync::Arc<Folder> {
    let folder = Folder::with(&CONFIG.replace("[tools]", &format!("{more}\n[tools]")));
    folder.put("guide/lang/rust.md", "# Rust\n");
    folder.put("guide/docs/api.md", "# API\n");
    folder.put("guide/lang/flow.md", "---\nrequires: { workflow: true }\n---\n# Flow\n");
    folder
}

/// Which of the two documents are listed.
async fn listed(client: &Client) -> (bool, bool) {
    let uris = client.uris().await;
    let has = |uri: &str| uris.iter().any(|known| known == uri);
    (has(LANG), has(DOCS))
}

fn roots(folder: &Folder, name: &str) -> Value {
    json!({ "roots": [
        { "uri": "https://example.org/elsewhere" },
        { "uri": format!("file://{}/{name}/src", folder.path().display()), "name": "here" },
    ] })
}

#[tokio::test]
async fn a_client_that_names_its_folder_gets_the_documents_of_that_project() {
    let folder = guide("");
    let trove = Trove::start_in(&folder).await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_LEGACY] {
        let client = trove.client_with(json!({ "roots": { "listChanged": true } }), kind).await;
        let asked = client.hear("roots/list").await;
        client.reply(&asked, roots(&folder, "shop")).await;
        until("the project of the client", async || listed(&client).await == (true, false)).await;
        assert_eq!(client.text("guide://category/lang/flow").await, "# Flow\n");
        assert!(client.read("guide://category/docs").await.is_err(), "{kind:?}");
        let templates =
            client.ask("resources/templates/list", json!({})).await.expect("a list").to_string();
        for template in ["category/{name}", "category/{name}/{docId}", "document/{context}"] {
            assert!(templates.contains(template), "{template} is not in {templates}");
        }
        let got = client.call("guide_get_content", json!({ "expression": "docs" })).await;
        assert_eq!(got["isError"], true, "{got}");
        let flag = json!({ "name": "content-format", "value": "plain" });
        let set = client.call("guide_set_project_flag", flag).await;
        assert_eq!(set["structuredContent"]["value"]["project"], "shop", "{set}");

        client.notify("notifications/roots/list_changed", json!({})).await;
        let asked = client.hear("roots/list").await;
        client.reply(&asked, roots(&folder, "desk")).await;
        client.hear("notifications/resources/list_changed").await;
        assert_eq!(listed(&client).await, (false, true), "{kind:?}");
        assert_eq!(client.text(DOCS).await, "# API\n");
    }
    // A client that names no project sees all of it.
    assert_eq!(listed(&trove.any_client().await).await, (true, true));
}

#[tokio::test]
async fn the_first_question_over_stdio_is_about_the_right_project_already() {
    let folder = guide("");
    let trove = Trove::start_in(&folder).await;
    let client = trove.client_with(json!({ "roots": {} }), Kind::STDIO_LEGACY).await;
    // Sent before the client has answered what it is asked.
    let listing = client.send("resources/list", "{}", None).await;
    let asked = client.hear("roots/list").await;
    client.reply(&asked, roots(&folder, "desk")).await;
    let listed = client.answer(listing).await.expect("a list").to_string();
    assert!(listed.contains(DOCS) && !listed.contains(LANG), "{listed}");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_changes_nothing_and_is_logged() {
    let folder = guide("");
    let trove = Trove::start_in(&folder).await;
    let client = trove.client_with(json!({ "roots": {} }), Kind::STDIO_LEGACY).await;
    let asked = client.hear("roots/list").await;
    client.reply(&asked, roots(&folder, "shop")).await;
    until("the project of the client", async || listed(&client).await == (true, false)).await;
    for garbage in [json!({ "roots": 7 }), json!({}), json!([1]), json!(null)] {
        let from = trove.log.len();
        client.notify("notifications/roots/list_changed", json!({})).await;
        let asked = client.hear("roots/list").await;
        client.reply(&asked, garbage).await;
        let is_told =
            |line: &Value| line["message"].as_str().is_some_and(|m| m.contains("makes no sense"));
        trove.log.first(from, is_told, "the line about the answer").await;
        assert_eq!(listed(&client).await, (true, false));
    }
    // The wait ends for a client that does not answer at all.
    client.notify("notifications/roots/list_changed", json!({})).await;
    client.hear("roots/list").await;
    assert_eq!(listed(&client).await, (true, false));
}

#[tokio::test]
async fn without_folders_of_the_client_the_working_directory_decides_then_the_settings() {
    let folder = guide("[guide]\nproject = \"desk\"");
    let trove = Trove::start_in(&folder).await;
    for kind in Kind::ALL {
        assert_eq!(listed(&trove.client(kind).await).await, (false, true), "{kind:?}");
    }
    let client = trove.any_client().await;
    let flag = json!({ "name": "content-format" });
    let got = client.call("guide_get_project_flag", flag).await;
    assert_eq!(got["structuredContent"]["value"]["project"], "desk", "{got}");
    // The command line, in a folder of the other project.
    std::fs::create_dir_all(folder.path().join("shop/src")).expect("the folder can be made");
    let mut command = folder.command();
    command.current_dir(folder.path().join("shop/src")).args(["ls"]);
    let output = command.output().await.expect("trove runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(LANG) && !text.contains(DOCS), "{text}");
}

#[tokio::test]
async fn a_root_that_is_written_with_dots_is_the_folder_it_leads_to() {
    let folder = guide("");
    let config = std::fs::read_to_string(folder.config()).expect("the configuration");
    folder.write(&config.replace("root = \"shop\"", "root = \"./guide/../shop/.\""));
    std::fs::create_dir_all(folder.path().join("shop/src")).expect("the folder can be made");
    let mut command = folder.command();
    command
        .current_dir(folder.path().join("shop/src"))
        .args(["read", "guide://document/lang/flow"]);
    let output = command.output().await.expect("trove runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "# Flow\n", "{output:?}");
}

#[tokio::test]
async fn a_root_that_is_a_link_is_the_folder_it_leads_to_and_itself() {
    let folder = guide("");
    let config = std::fs::read_to_string(folder.config()).expect("the configuration");
    folder.write(&config.replace("root = \"shop\"", "root = \"link\""));
    std::fs::create_dir_all(folder.path().join("shop/src")).expect("the folder can be made");
    std::os::unix::fs::symlink("shop", folder.path().join("link")).expect("a link");
    let mut command = folder.command();
    command.current_dir(folder.path().join("link/src"));
    command.args(["read", "guide://document/lang/flow"]);
    let output = command.output().await.expect("trove runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "# Flow\n", "{output:?}");
    // A client names the link.
    let trove = Trove::start_in(&folder).await;
    let client = trove.client_with(json!({ "roots": {} }), Kind::STDIO_LEGACY).await;
    let asked = client.hear("roots/list").await;
    client.reply(&asked, roots(&folder, "link")).await;
    until("the project of the client", async || listed(&client).await == (true, false)).await;
}

#[tokio::test]
async fn flags_of_a_project_in_the_settings_count_before_those_for_all_and_after_its_own() {
    let folder = guide("[guide]\nproject = \"desk\"");
    folder.put("guide/docs/more.md", "# More\n");
    folder.write(&format!(
        "{}\n[guide.projects.desk.flags]\ncontent-format = \"plain\"\n",
        std::fs::read_to_string(folder.config()).expect("the configuration")
    ));
    let trove = Trove::start_in(&folder).await;
    let client = trove.any_client().await;
    let format = async || {
        let read = client.read("guide://category/docs").await.expect("the category");
        let contents = read["contents"].as_array().expect("contents").clone();
        (contents.len(), contents[0]["mimeType"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(format().await, (1, "text/plain".to_owned()));
    // The tools and the prompt show it, and where it is written.
    let told = async || {
        let got = client.call("guide_get_project_flag", json!({ "name": "content-format" })).await;
        let listed = client.call("guide_list_project_flags", json!({})).await;
        let got = got["structuredContent"]["value"].clone();
        let listed = listed["structuredContent"]["value"]["flags"][0].clone();
        assert_eq!(got["value"], listed["value"], "{got} {listed}");
        assert_eq!(got["origin"], listed["origin"], "{got} {listed}");
        (got["value"].clone(), got["origin"].clone())
    };
    assert_eq!(told().await, (json!("plain"), json!("config")));
    let prompt = json!({ "name": "guide", "arguments": { "arg1": ":flags" } });
    let prompt = client.ask("prompts/get", prompt).await.expect("the flags").to_string();
    assert!(prompt.contains(r#"content-format = \"plain\" (config)"#), "{prompt}");
    let typed = folder.run(&["flag", "list", "--project", "desk"]).await;
    assert_eq!(typed.text(), "content-format\tplain\tconfig\n");
    let all = json!({ "name": "content-format", "value": "mime" });
    client.call("guide_set_feature_flag", all).await;
    assert_eq!(format().await, (1, "text/plain".to_owned()));
    assert_eq!(told().await, (json!("plain"), json!("config")));
    let own = json!({ "name": "content-format", "value": "parts" });
    client.call("guide_set_project_flag", own).await;
    assert_eq!(format().await.0, 2);
    assert_eq!(told().await, (json!("parts"), json!("project")));
    let none = json!({ "name": "content-format", "value": null });
    client.call("guide_set_project_flag", none).await;
    assert_eq!(told().await, (json!("plain"), json!("config")));
}
