//! The tools and prompts of local knowledge and of flags, as a client calls them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod contexts;
mod hidden;
mod one_file;
mod prompts;

use std::sync::Arc;

use serde_json::{Value, json};
use trove_core::{
    Caller, Json, ProjectName,
    knowledge::{CollectionSettings, Edit, ProjectSettings, Settings},
    source::Ask,
    tools::{self, Tools},
};

use crate::guide::kit::Guide;

const FILES: [(&str, &str); 6] = [
    ("guide/lang/python.md", "---\ndescription: Snakes\n---\n# Python\n"),
    ("guide/lang/rust.md", "# Rust\n"),
    ("guide/lang/flow.md", "---\nrequires: { workflow: true }\n---\n# Flow\n"),
    ("guide/docs/api.md", "# API\n"),
    ("guide/docs/sub/deep.md", "# Deep\n"),
    ("guide/drafts/old.md", "# Old\n"),
];

async fn guide() -> Guide {
    Guide::furnished(&FILES, |settings: &mut Settings| {
        let members = vec!["lang/rust+python".to_owned(), "docs".to_owned()];
        let review = CollectionSettings { members, description: Some("Before a review".into()) };
        settings.groups.collections.insert("review".into(), review);
        let shop = ProjectSettings {
            categories: Some(vec!["lang".into()]),
            collections: Some(Vec::new()),
            ..ProjectSettings::default()
        };
        settings.groups.projects.insert("shop".into(), shop);
        settings.groups.projects.insert("desk".into(), ProjectSettings::default());
    })
    .await
}

fn tools(guide: &Guide) -> Arc<Tools> {
    let toolsets = tools::Toolset::ALL.to_vec();
    Tools::new(guide.gateway.clone(), tools::Settings { toolsets, ..tools::Settings::default() })
}

async fn called(tools: &Tools, caller: &Caller, tool: &str, arguments: &Value) -> Value {
    let answer = tools.call(caller, tool, Some(&Json::of(arguments)), Ask::default()).await;
    answer.unwrap_or_else(|| panic!("no tool {tool}")).body.to().unwrap()
}

/// The value of a success.
async fn value(guide: &Guide, tool: &str, arguments: Value) -> Value {
    let answer = called(&tools(guide), &Caller::local(), tool, &arguments).await;
    let told = &answer["structuredContent"];
    assert_eq!((&answer["isError"], &told["success"]), (&json!(false), &json!(true)), "{answer}");
    // The text block says the same for whoever reads only that.
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), told);
    told["value"].clone()
}

/// The class and the whole of a failure.
async fn failure(guide: &Guide, tool: &str, arguments: Value) -> (String, Value) {
    let answer = called(&tools(guide), &Caller::local(), tool, &arguments).await;
    assert_eq!(answer["isError"], true, "{tool} {arguments}: {answer}");
    let told = answer["structuredContent"].clone();
    (told["error"].as_str().unwrap_or_default().to_owned(), told)
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect()
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().filter_map(|one| one["path"].as_str()).collect()
}

#[tokio::test]
async fn get_content_gives_no_more_than_one_answer_holds() {
    let large = "x".repeat(600_000);
    let whole = "y".repeat(1_200_000);
    let files = [
        ("guide/big/a.md", large.as_str()),
        ("guide/big/b.md", &large),
        ("guide/one/whole.md", &whole),
    ];
    let guide = Guide::set(&files, |_| {}).await;
    let asked = json!({ "expression": "big" });
    let some = called(&tools(&guide), &Caller::local(), "guide_get_content", &asked).await;
    let some = &some["structuredContent"];
    let value = &some["value"];
    assert_eq!((&value["cut"], value["documents"].as_array().unwrap().len()), (&json!(1), 1));
    assert_eq!(value["documents"][0]["path"], "a.md");
    let message = some["message"].as_str().unwrap();
    assert!(
        message.contains("1048576") && message.contains("guide://document/big/b.md"),
        "{message}"
    );
    let (error, told) = failure(&guide, "guide_get_content", json!({ "expression": "one" })).await;
    assert_eq!(error, "TooLarge");
    assert!(told.to_string().contains("get_resource"), "{told}");
}

#[tokio::test]
async fn get_content_gives_what_an_expression_means() {
    let guide = guide().await;
    let one = value(&guide, "guide_get_content", json!({ "expression": "lang/rust" })).await;
    assert_eq!((&one["content"], &one["cut"]), (&json!("# Rust\n"), &json!(0)));
    assert_eq!(one["documents"][0]["uri"], "guide://document/lang/rust.md");
    let arguments = json!({ "expression": "lang", "pattern": "rust" });
    let same = value(&guide, "guide_get_content", arguments).await;
    assert_eq!(same["content"], one["content"]);
    let several = json!({ "expression": "docs/api,lang/rust+python,docs" });
    let several = value(&guide, "guide_get_content", several).await;
    assert_eq!(paths(&several["documents"]), ["api.md", "rust.md", "python.md", "sub/deep.md"]);
    let flowing = value(&guide, "guide_get_content", json!({ "expression": "lang" })).await;
    assert_eq!(flowing["left_out"], 1);
    assert!(flowing["content"].as_str().unwrap().contains("1 left out because of flags"));
    let collected =
        value(&guide, "guide_get_content", json!({ "expression": "review/**/deep" })).await;
    assert_eq!(paths(&collected["documents"]), ["sub/deep.md"]);
}

#[tokio::test]
async fn what_is_not_known_is_absent_and_never_null() {
    let guide = guide().await;
    for (tool, arguments) in [
        ("guide_get_content", json!({ "expression": "lang/rust" })),
        ("guide_category_list", json!({})),
        ("guide_collection_list", json!({})),
        ("guide_category_list_files", json!({ "name": "lang" })),
    ] {
        let told = value(&guide, tool, arguments).await;
        assert!(!told.to_string().contains("null"), "{tool}: {told}");
    }
}

#[tokio::test]
async fn what_cannot_be_got_is_told_with_its_class_and_what_to_do() {
    let guide = guide().await;
    let check = async |arguments: Value, class: &str, words: &str| {
        let (error, told) = failure(&guide, "guide_get_content", arguments.clone()).await;
        assert_eq!(error, class, "{told}");
        assert!(told.to_string().contains(words), "{arguments}: {told}");
        assert!(!told["suggested_actions"].as_array().unwrap().is_empty(), "{told}");
    };
    check(json!({ "expression": "lang/pyton" }), "NotFound", "python.md").await;
    check(json!({ "expression": "lng" }), "NotFound", "lang").await;
    check(json!({ "expression": "lang/flow" }), "NotFound", "workflow").await;
    check(json!({ "expression": "lang/" }), "InvalidArguments", "at character 6").await;
    check(json!({ "expression": "lang", "pattern": "[" }), "InvalidArguments", "[").await;
    check(json!({}), "InvalidArguments", "expression").await;
    check(json!({ "expression": "lang", "colour": 1 }), "InvalidArguments", "colour").await;
}

#[tokio::test]
async fn lists_show_what_there_is_and_what_the_project_picks() {
    let guide = guide().await;
    let listed = value(&guide, "guide_category_list", json!({})).await;
    assert_eq!(names(&listed["categories"]), ["docs", "drafts", "lang"]);
    assert_eq!(listed["categories"][0]["documents"], 2);
    let listed = value(&guide, "guide_collection_list", json!({})).await;
    assert_eq!(listed["collections"][0]["members"], json!(["lang/rust+python", "docs"]));
    let files = value(&guide, "guide_category_list_files", json!({ "name": "docs" })).await;
    assert_eq!(paths(&files["documents"]), ["api.md", "sub/deep.md"]);
    let arguments = json!({ "name": "lang", "pattern": "{rust,python}" });
    let files = value(&guide, "guide_category_list_files", arguments).await;
    assert_eq!(paths(&files["documents"]), ["python.md", "rust.md"]);
    assert_eq!(files["documents"][0]["description"], "Snakes");
    let (error, _) = failure(&guide, "guide_category_list_files", json!({ "name": "nope" })).await;
    assert_eq!(error, "NotFound");

    let shop = Caller { project: Some(ProjectName::new("shop").unwrap()), ..Caller::local() };
    let listed = called(&tools(&guide), &shop, "guide_category_list", &json!({})).await;
    assert_eq!(names(&listed["structuredContent"]["value"]["categories"]), ["lang"]);
    let listed = called(&tools(&guide), &shop, "guide_collection_list", &json!({})).await;
    assert_eq!(listed["structuredContent"]["value"]["collections"], json!([]));
    let docs = json!({ "name": "docs" });
    let files = called(&tools(&guide), &shop, "guide_category_list_files", &docs).await;
    assert_eq!(files["isError"], true, "{files}");
}

#[tokio::test]
async fn what_is_changed_is_seen_at_once_and_written_down() {
    let guide = guide().await;
    let arguments = json!({ "name": "runbooks", "description": "When it burns" });
    value(&guide, "guide_category_add", arguments).await;
    let arguments = json!({ "category": "runbooks", "path": "disk", "text": "# Disk\n" });
    let added = value(&guide, "guide_document_add", arguments.clone()).await;
    assert_eq!(added["path"], "disk.md");
    let (error, _) = failure(&guide, "guide_document_add", arguments).await;
    assert_eq!(error, "Conflict");
    let mut arguments = json!({ "category": "runbooks", "path": "disk", "text": "# Full\n" });
    let (error, _) = failure(&guide, "guide_document_update", arguments.clone()).await;
    assert_eq!(error, "ConsentRequired");
    arguments["explicit_action"] = json!("REPLACE_DOCUMENT");
    let updated = value(&guide, "guide_document_update", arguments).await;
    let kept = guide.dir.path().join("guide").join(updated["replaced"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "# Disk\n");
    let got = value(&guide, "guide_get_content", json!({ "expression": "runbooks" })).await;
    assert_eq!(got["content"], "# Full\n");
    let arguments = json!({ "name": "night", "members": ["runbooks/disk", "review"] });
    value(&guide, "guide_collection_add", arguments).await;
    let arguments = json!({ "name": "runbooks", "new_name": "ops" });
    value(&guide, "guide_category_change", arguments).await;
    let listed = value(&guide, "guide_collection_list", json!({})).await;
    assert_eq!(listed["collections"][0]["members"], json!(["ops/disk", "review"]));
    let edits = guide.ledger.edits.lock().unwrap().clone();
    assert!(edits.contains(&Edit::RenameCategory("runbooks".into(), "ops".into())), "{edits:?}");

    for (tool, arguments, class) in [
        ("guide_category_add", json!({ "name": "a b" }), "InvalidArguments"),
        ("guide_category_add", json!({ "name": "_x" }), "InvalidArguments"),
        ("guide_category_add", json!({ "name": "x".repeat(31) }), "InvalidArguments"),
        ("guide_category_add", json!({ "name": "x", "dir": "../out" }), "InvalidArguments"),
        ("guide_collection_add", json!({ "name": "c", "members": [] }), "InvalidArguments"),
        (
            "guide_collection_change",
            json!({ "name": "review", "members": ["night"] }),
            "InvalidArguments",
        ),
        (
            "guide_document_add",
            json!({ "category": "lang", "path": "../../x", "text": "" }),
            "InvalidArguments",
        ),
    ] {
        let (error, told) = failure(&guide, tool, arguments).await;
        assert_eq!(error, class, "{told}");
    }
}

#[tokio::test]
async fn nothing_is_removed_without_the_exact_word() {
    let guide = guide().await;
    let file = guide.root().join("drafts/old.md");
    for (tool, mut arguments, word) in [
        (
            "guide_document_remove",
            json!({ "category": "drafts", "path": "old" }),
            "REMOVE_DOCUMENT",
        ),
        ("guide_collection_remove", json!({ "name": "review" }), "REMOVE_COLLECTION"),
        ("guide_category_remove", json!({ "name": "drafts" }), "REMOVE_CATEGORY"),
    ] {
        for wrong in [None, Some("yes"), Some("remove_document"), Some("REMOVE_ALL")] {
            if let Some(wrong) = wrong {
                arguments["explicit_action"] = json!(wrong);
            }
            let (error, told) = failure(&guide, tool, arguments.clone()).await;
            assert_eq!(error, "ConsentRequired", "{told}");
            assert!(told.to_string().contains(word) && told.to_string().contains("Ask the user"));
        }
    }
    assert!(file.exists());
    let listed = value(&guide, "guide_collection_list", json!({})).await;
    assert_eq!(names(&listed["collections"]), ["review"]);

    let arguments =
        json!({ "category": "drafts", "path": "old", "explicit_action": "REMOVE_DOCUMENT" });
    value(&guide, "guide_document_remove", arguments).await;
    assert!(!file.exists());
    let arguments = json!({ "name": "review", "explicit_action": "REMOVE_COLLECTION" });
    value(&guide, "guide_collection_remove", arguments).await;
    let arguments = json!({ "name": "drafts", "explicit_action": "REMOVE_CATEGORY" });
    value(&guide, "guide_category_remove", arguments).await;
    let listed = value(&guide, "guide_category_list", json!({})).await;
    assert_eq!(names(&listed["categories"]), ["docs", "lang"]);
}

#[tokio::test]
async fn a_client_that_can_ask_its_person_is_made_to() {
    let guide = guide().await;
    let tools = tools(&guide);
    let file = guide.root().join("drafts/old.md");
    let arguments =
        json!({ "category": "drafts", "path": "old", "explicit_action": "REMOVE_DOCUMENT" });
    let call = async |arguments: &Value, answers: Option<Value>| {
        let ask = Ask {
            capabilities: Some(Json::of(&json!({ "elicitation": {} }))),
            answers: answers.map(|answers| Json::of(&answers)),
            ..Ask::default()
        };
        let arguments = Json::of(arguments);
        let tool = "guide_document_remove";
        tools.call(&Caller::local(), tool, Some(&arguments), ask).await.unwrap()
    };
    // Nobody is asked about a call that is refused anyway.
    let mut misspelt = arguments.clone();
    misspelt["pth"] = json!("old");
    let refused: Value = call(&misspelt, None).await.body.to().unwrap();
    assert_eq!(refused["structuredContent"]["error"], "InvalidArguments", "{refused}");
    assert!(tools.question("guide_document_remove", Some(&Json::of(&misspelt))).is_none());
    let asked = call(&arguments, None).await;
    assert!(asked.needs_input && file.exists());
    let question: Value = asked.body.to().unwrap();
    let state = question["requestState"].clone();
    assert_eq!(question["inputRequests"]["consent"]["method"], "elicitation/create");
    let answer = |state: &Value, action: &str, confirm: bool| {
        let response = json!({ "action": action, "content": { "confirm": confirm } });
        Some(json!({ "inputResponses": { "consent": response }, "requestState": state }))
    };
    let forged = json!("forged");
    for answers in [
        answer(&state, "decline", true),
        answer(&state, "cancel", true),
        answer(&state, "accept", false),
        answer(&forged, "accept", true),
        Some(json!({ "requestState": state })),
    ] {
        let refused: Value = call(&arguments, answers).await.body.to().unwrap();
        assert_eq!(refused["structuredContent"]["error"], "ConsentRequired", "{refused}");
        assert!(file.exists());
    }
    // A yes to one thing is no yes to another.
    let other = json!({ "category": "lang", "path": "rust", "explicit_action": "REMOVE_DOCUMENT" });
    let refused: Value = call(&other, answer(&state, "accept", true)).await.body.to().unwrap();
    assert_eq!(refused["isError"], true);
    let done: Value = call(&arguments, answer(&state, "accept", true)).await.body.to().unwrap();
    assert_eq!(done["structuredContent"]["value"]["removed"], true, "{done}");
    assert!(!file.exists() && guide.root().join("lang/rust.md").exists());
}

#[tokio::test]
async fn flags_are_set_read_and_listed_each_in_its_scope() {
    let guide = guide().await;
    let set = json!({ "name": "content-format", "value": "plain" });
    let set = value(&guide, "guide_set_feature_flag", set).await;
    assert_eq!((&set["scope"], set.get("previous")), (&json!("global"), None));
    let shop = json!({ "name": "content-format", "value": "parts", "project": "shop" });
    value(&guide, "guide_set_project_flag", shop).await;
    let got = value(&guide, "guide_get_feature_flag", json!({ "name": "content-format" })).await;
    assert_eq!(got["value"], "plain", "globals are not merged");
    let resolved = async |project: &str| {
        let asked = json!({ "name": "content-format", "project": project });
        let got = value(&guide, "guide_get_project_flag", asked).await;
        (got["value"].clone(), got["origin"].clone())
    };
    assert_eq!(resolved("shop").await, (json!("parts"), json!("project")));
    assert_eq!(resolved("desk").await, (json!("plain"), json!("global")));
    let removed = json!({ "name": "content-format", "value": null });
    let removed = value(&guide, "guide_set_feature_flag", removed).await;
    assert_eq!((&removed["removed"], &removed["previous"]), (&json!(true), &json!("plain")));
    assert_eq!(resolved("desk").await, (json!("mime"), json!("default")));
    let listed = value(&guide, "guide_list_feature_flags", json!({})).await;
    assert_eq!(listed["flags"], json!([]));
    for (name, value_) in
        [("team-a", json!(true)), ("team-b", json!(["x"])), ("other", json!({ "k": "v" }))]
    {
        value(&guide, "guide_set_feature_flag", json!({ "name": name, "value": value_ })).await;
    }
    let listed = value(&guide, "guide_list_feature_flags", json!({ "pattern": "team-*" })).await;
    assert_eq!(names(&listed["flags"]), ["team-a", "team-b"]);
    let listed = json!({ "project": "shop", "pattern": "content-*" });
    let listed = value(&guide, "guide_list_project_flags", listed).await;
    assert_eq!(
        listed["flags"][0],
        json!({ "name": "content-format", "value": "parts", "origin": "project" })
    );

    for arguments in [
        json!({ "name": "content-format", "value": 7 }),
        json!({ "name": "content-format", "value": "pdf" }),
        json!({ "name": "a b", "value": true }),
        json!({ "name": "x".repeat(65), "value": true }),
        json!({ "name": "x" }),
    ] {
        let (error, told) = failure(&guide, "guide_set_feature_flag", arguments).await;
        assert_eq!(error, "InvalidArguments", "{told}");
    }
}

#[tokio::test]
async fn without_a_project_flags_are_those_for_all_and_an_unknown_one_is_reported() {
    let guide = guide().await;
    let global = json!({ "name": "content-format", "value": "plain" });
    value(&guide, "guide_set_feature_flag", global).await;
    let got = value(&guide, "guide_get_project_flag", json!({ "name": "content-format" })).await;
    assert_eq!((&got["value"], &got["origin"]), (&json!("plain"), &json!("global")));
    assert!(got.get("project").is_none(), "{got}");
    let listed = value(&guide, "guide_list_project_flags", json!({})).await;
    assert_eq!(
        listed["flags"],
        json!([{ "name": "content-format", "value": "plain", "origin": "global" }])
    );
    // To set it takes a project: all of them are meant by another tool.
    let set = json!({ "name": "content-format", "value": "parts" });
    let (error, told) = failure(&guide, "guide_set_project_flag", set).await;
    assert_eq!(error, "InvalidArguments", "{told}");
    assert!(told["suggested_actions"].to_string().contains("guide_set_feature_flag"), "{told}");

    for (tool, arguments) in [
        ("guide_get_project_flag", json!({ "name": "content-format", "project": "shpo" })),
        ("guide_list_project_flags", json!({ "project": "shpo" })),
        ("guide_set_project_flag", json!({ "name": "x", "value": null, "project": "shpo" })),
    ] {
        let (error, told) = failure(&guide, tool, arguments).await;
        assert_eq!((error.as_str(), &told["field"]), ("NotFound", &json!("project")), "{told}");
        assert_eq!(told["known_projects"], json!(["desk", "shop"]), "{told}");
    }
    // A new one may be begun, and it is said that it is new.
    let set = json!({ "name": "x", "value": true, "project": "shpo" });
    let answer = called(&tools(&guide), &Caller::local(), "guide_set_project_flag", &set).await;
    let message = answer["structuredContent"]["message"].as_str().unwrap();
    assert!(message.contains("`shpo`") && message.contains("`shop`"), "{message}");
    let got = json!({ "name": "x", "project": "shpo" });
    assert_eq!(value(&guide, "guide_get_project_flag", got).await["origin"], "project");
}

#[tokio::test]
async fn the_project_of_the_settings_is_meant_where_none_is_named() {
    let guide = guide().await;
    let mut settings = Settings::clone(&guide.knowledge.settings());
    settings.project = Some("shop".into());
    guide.knowledge.reconfigure(settings).await;
    let set = json!({ "name": "workflow", "value": true });
    let set = value(&guide, "guide_set_project_flag", set).await;
    assert_eq!(set["project"], "shop");
    let got = value(&guide, "guide_get_project_flag", json!({ "name": "workflow" })).await;
    assert_eq!((&got["origin"], &got["project"]), (&json!("project"), &json!("shop")));
    let (error, _) = failure(&guide, "guide_get_content", json!({ "expression": "docs" })).await;
    assert_eq!(error, "NotFound");
}

#[tokio::test]
async fn what_documents_say_about_themselves_comes_with_them() {
    let files = [
        ("guide/a/one.md", "---\ntype: agent/instruction\ninstruction: Follow it\n---\n1"),
        ("guide/a/two.md", "---\ninstruction: Follow it\n---\n2"),
        ("guide/a/three.md", "---\ninstruction: Ask first\n---\n3"),
        ("guide/a/plain.md", "4"),
    ];
    let guide = Guide::with(&files).await;
    let got = async |expression: &str| {
        let asked = json!({ "expression": expression });
        let got = called(&tools(&guide), &Caller::local(), "guide_get_content", &asked).await;
        got["structuredContent"].clone()
    };
    let all = got("a/one+two+three").await;
    assert_eq!(all["instruction"], "Follow it\nAsk first", "{all}");
    let one = &all["value"]["documents"][0];
    assert_eq!(
        (&one["type"], &one["instruction"]),
        (&json!("agent/instruction"), &json!("Follow it"))
    );
    let plain = got("a/plain").await;
    assert!(plain.get("instruction").is_none(), "{plain}");
    assert!(plain["value"]["documents"][0].get("type").is_none(), "{plain}");
}
