//! What a rule hides is as if it were not there: a guide with it and one without it give
//! the same answers to whoever may not see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use trove_core::{
    Caller, Json, PublicUri,
    access::{Access, Policy, Rule},
    caller::{Door, Roles},
    catalogue::List,
    gateway::Action,
    knowledge::{CollectionSettings, Settings},
    source::Ask,
};
use trove_testkit::gateway_box::Asks as _;

use super::{called, tools};
use crate::guide::kit::Guide;

/// Rules on all names of what is hidden.
const RULES: &[&str] = &[
    "guide://*/lang/secret*",
    "guide://*/drafts*",
    "guide://collection/inner",
    "skill://guide/skills/hush*",
    "skill://guide/skills/tidy/private*",
    "guide://*/skills/hush*",
    "guide://*/skills/tidy/private*",
];

/// The same on one name of each file: as a document of the guide.
const AS_DOCUMENTS: &[&str] = &[
    "guide://*/lang/secret*",
    "guide://*/drafts*",
    "guide://collection/inner",
    "guide://document/skills/hush*",
    "guide://document/skills/tidy/private*",
];

/// The same on one name of each file: as a part of a skill, or as an answer to a pattern.
const AS_OTHERS: &[&str] = &[
    "guide://category/lang/secret*",
    "guide://*/drafts*",
    "guide://collection/inner",
    "skill://guide/skills/hush*",
    "skill://guide/skills/tidy/private*",
];

const OPEN: [(&str, &str); 5] = [
    ("guide/lang/python.md", "# Python\n"),
    ("guide/lang/rust.md", "# Rust\n"),
    ("guide/lang/secret.txt.d/other.md", "# Other\n"),
    ("guide/docs/api.md", "# API\n"),
    ("guide/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies\n---\nDo it.\n"),
];

const HIDDEN: [(&str, &str); 6] = [
    ("guide/lang/secret.md", "---\ntitle: [\n---\n# Secret\n"),
    ("guide/lang/secret.png", "\u{0}PNG"),
    ("guide/drafts/a.md", "# Draft\n"),
    ("guide/skills/tidy/private/keys.txt", "# Secret\n"),
    ("guide/drafts/b.md.j2", "# {{ oops"),
    ("guide/skills/hush/SKILL.md", "---\nname: hush\ndescription: Hushes\n---\nQuiet.\n"),
];

fn nobody() -> Caller {
    Caller::behind(Door::Http)
}

fn admin() -> Caller {
    Caller { roles: Roles::new(["admin".to_owned()]), ..Caller::behind(Door::Http) }
}

async fn guide(rules: &[&str], files: &[(&str, &str)], groups: &[(&str, &[&str])]) -> Guide {
    let set = |settings: &mut Settings| {
        settings.max_documents = 3;
        for (name, members) in groups {
            let members = members.iter().map(|member| (*member).to_owned()).collect();
            let collection = CollectionSettings { members, description: None };
            settings.groups.collections.insert((*name).into(), collection);
        }
    };
    let guide = Guide::set(files, set).await;
    let rule = |pattern: &&str| Rule::new(pattern, vec!["admin".to_owned()], false).unwrap();
    guide.gateway.set_access(Access {
        policy: Policy::new(rules.iter().map(rule).collect()),
        ..Access::default()
    });
    guide
}

/// One guide with what is hidden, one without, otherwise the same in every respect.
async fn both(rules: &[&str]) -> (Guide, Guide) {
    let all: &[&str] = &["lang", "drafts", "inner", "docs"];
    let with: Vec<(&str, &str)> = OPEN.iter().chain(&HIDDEN).copied().collect();
    let (with, without) = (
        guide(rules, &with, &[("all", all), ("inner", &["drafts", "lang/secret"])]).await,
        guide(rules, &OPEN, &[("all", all)]).await,
    );
    for guide in [&with, &without] {
        for (path, _) in OPEN {
            let file = std::fs::File::open(guide.dir.path().join(path)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
        }
        // Looked at again, since files are not what they were.
        let settings = Settings::clone(&guide.knowledge.settings());
        let other = Settings { max_documents: 4, ..settings };
        guide.knowledge.reconfigure(other).await;
        let is_listed = async || {
            let all = format!("{:?}", guide.entries(List::Resources).await);
            all.matches("2001-09-09").count() >= 3
        };
        guide.until("the new look", is_listed).await;
    }
    (with, without)
}

const READS: [&str; 38] = [
    "guide://help",
    "guide://document/lang/secret.md",
    "guide://document/lang/secret",
    "guide://document/lang/SECRET.md",
    "guide://document/Lang/Secret",
    "guide://document/lang/%73ecret.md",
    "guide://document/lang/secre",
    "guide://document/lang/nothing",
    "guide://category/lang",
    "guide://category/lang/secret",
    "guide://category/lang/SECRET",
    "guide://category/lang/secre",
    "guide://category/lang/s*",
    "guide://category/lang/*",
    "guide://category/lang/**",
    "guide://category/lang/*.png",
    "guide://category/drafts",
    "guide://category/Drafts",
    "guide://category/draft",
    "guide://category/drafts/a",
    "guide://category/drafts/zzz",
    "guide://document/drafts/a.md",
    "guide://document/drafts/zzz",
    "guide://document/DRAFTS/a",
    "guide://collection/inner",
    "guide://collection/INNER",
    "guide://collection/iner",
    "guide://collection/all",
    "guide://document/all/a",
    "guide://document/all/secret",
    "guide://document/inner/a",
    "skill://guide/skills/hush/SKILL.md",
    "skill://guide/skills/hus/SKILL.md",
    "skill://guide/skills/hush",
    "skill://guide/skills/tidy/SKILL.md",
    "skill://guide/skills/tidy",
    "skill://guide/skills/tidy/private",
    "skill://guide/skills/tidy/private/keys.txt",
];

const EXPRESSIONS: [(&str, Option<&str>); 12] = [
    ("lang", None),
    ("lang/secret", None),
    ("lang/secret+rust", None),
    ("lang/s*", None),
    ("lang,drafts", None),
    ("drafts", None),
    ("Drafts/a", None),
    ("drafts,lang/rust", None),
    ("inner", None),
    ("all", None),
    ("all", Some("a")),
    ("lang,docs", Some("secret")),
];

/// Everything somebody without the role can find out.
async fn asked(guide: &Guide) -> Vec<(String, String)> {
    let mut told = Vec::new();
    let (gateway, caller) = (&guide.gateway, nobody());
    for list in [List::Resources, List::Templates, List::Skills] {
        let page = gateway.list(&caller, list, None).await.unwrap().page;
        told.push((format!("{list:?}"), page.entries.iter().map(Json::as_str).collect()));
    }
    for uri in READS {
        let read = gateway.read(&caller, &uri.into(), Ask::default()).await;
        let read = read.map(|reading| reading.reply.body.as_str().to_owned());
        told.push((uri.to_owned(), format!("{read:?}")));
        let watched = gateway.watch(&caller, &PublicUri::new(uri)).await;
        told.push((format!("watch {uri}"), format!("{watched:?}")));
        let arguments = Json::of(&json!({ "uri": uri }));
        for action in [Action::GetSkill, Action::ReadDirectory] {
            let done = gateway.act(&caller, action, &arguments, Ask::default()).await;
            let done = done.map(|reply| reply.body.as_str().to_owned());
            told.push((format!("{action:?} {uri}"), format!("{done:?}")));
        }
    }
    for (template, name, known) in [
        ("guide://collection/{id}", "id", json!({})),
        ("guide://category/{name}", "name", json!({})),
        ("guide://category/{name}/{docId}", "docId", json!({ "name": "lang" })),
        ("guide://category/{name}/{docId}", "docId", json!({ "name": "drafts" })),
        ("guide://document/{context}/{docId}", "context", json!({})),
        ("guide://document/{context}/{docId}", "docId", json!({ "context": "all" })),
        ("guide://document/{context}/{docId}", "docId", json!({ "context": "inner" })),
        ("guide://document/{context}/{docId}", "docId", json!({})),
    ] {
        let arguments = Json::of(&json!({
            "ref": { "type": "ref/resource", "uri": template },
            "argument": { "name": name, "value": "" }, "context": { "arguments": known },
        }));
        let done = gateway.complete(&caller, &arguments, Ask::default()).await;
        let done = done.map(|reply| reply.body.as_str().to_owned());
        told.push((format!("complete {template} {name} {known}"), format!("{done:?}")));
    }
    let health = gateway.health(&caller);
    let guide_health = health.sources.iter().find(|source| source.id == "guide").unwrap();
    let counted = (health.resources, guide_health.resources, &guide_health.omissions);
    told.push(("health".to_owned(), format!("{counted:?}")));
    told
}

/// Calls that try to change something that is hidden, or to find out by trying.
fn changes() -> Vec<(&'static str, Value)> {
    vec![
        ("guide_category_list", json!({})),
        ("guide_collection_list", json!({})),
        ("get_resource", json!({})),
        ("resource_summary", json!({ "includeStats": true })),
        ("guide_category_change", json!({ "name": "draft", "description": "x" })),
        ("guide_category_change", json!({ "name": "drafts", "description": "x" })),
        ("guide_category_change", json!({ "name": "docs", "new_name": "drafts" })),
        ("guide_category_add", json!({ "name": "drafts" })),
        (
            "guide_category_remove",
            json!({ "name": "drafts", "explicit_action": "REMOVE_CATEGORY" }),
        ),
        ("guide_collection_add", json!({ "name": "inner", "members": ["lang"] })),
        ("guide_collection_add", json!({ "name": "mine", "members": ["drafts/a"] })),
        ("guide_collection_add", json!({ "name": "mine", "members": ["inner"] })),
        ("guide_collection_change", json!({ "name": "inner", "members": ["lang"] })),
        ("guide_collection_change", json!({ "name": "all", "new_name": "inner" })),
        (
            "guide_collection_remove",
            json!({ "name": "inner", "explicit_action": "REMOVE_COLLECTION" }),
        ),
        ("guide_document_add", json!({ "category": "lang", "path": "secret", "text": "x" })),
        ("guide_document_add", json!({ "category": "drafts", "path": "a", "text": "x" })),
        (
            "guide_document_update",
            json!({ "explicit_action": "REPLACE_DOCUMENT", "category": "lang", "path": "secret.md", "text": "x" }),
        ),
        (
            "guide_document_update",
            json!({ "explicit_action": "REPLACE_DOCUMENT", "category": "Lang", "path": "SECRET", "text": "x" }),
        ),
        (
            "guide_document_update",
            json!({ "explicit_action": "REPLACE_DOCUMENT", "category": "drafts", "path": "a.md", "text": "x" }),
        ),
        (
            "guide_document_remove",
            json!({ "category": "lang", "path": "secret", "explicit_action": "REMOVE_DOCUMENT" }),
        ),
    ]
}

/// What tools and prompts say.
async fn called_all(guide: &Guide) -> Vec<(String, String)> {
    let (tools, caller) = (tools(guide), nobody());
    let mut calls = changes();
    for name in ["lang", "LANG", "drafts", "draft"] {
        calls.push(("guide_category_list_files", json!({ "name": name })));
        calls.push(("guide_category_list_files", json!({ "name": name, "pattern": "s*" })));
    }
    for (expression, pattern) in EXPRESSIONS {
        let mut arguments = json!({ "expression": expression });
        if let Some(pattern) = pattern {
            arguments["pattern"] = json!(pattern);
        }
        calls.push(("guide_get_content", arguments));
    }
    calls.extend(READS.map(|uri| ("get_resource", json!({ "uri": uri }))));
    let mut told = Vec::new();
    for (tool, arguments) in calls {
        let mut answer = called(&tools, &caller, tool, &arguments).await;
        // How long it took, and when, is no answer.
        strip(&mut answer);
        told.push((format!("{tool} {arguments}"), answer.to_string()));
    }
    for line in [":help", "lang", "drafts", "lang/secret,docs", "inner", "all/secret"] {
        let arguments = Json::of(&json!({ "arg1": line }));
        let filled = tools.prompt(&caller, "guide", Some(&arguments), Ask::default()).await;
        let filled = filled.unwrap().map(|reply| reply.body.as_str().to_owned());
        told.push((
            format!("prompt {line}"),
            format!("{:?}", filled.map_err(|f| f.message().to_owned())),
        ));
    }
    told
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| {
                !["fetched_at", "duration_ms", "timestamp", "generated_at", "age_ms", "nonce"]
                    .contains(&key.as_str())
            });
            members.values_mut().for_each(strip);
            // The same again as text.
            if members.contains_key("structuredContent") {
                members.remove("content");
            }
        }
        Value::Array(all) => all.iter_mut().for_each(strip),
        _ => {}
    }
}

#[track_caller]
fn check_same(with: Vec<(String, String)>, without: Vec<(String, String)>) {
    for ((asked, with), (_, without)) in with.into_iter().zip(without) {
        assert_eq!(with, without, "{asked}");
        for word in ["# Secret", "# Draft", "Quiet"] {
            assert!(!with.contains(word), "{asked}: {with}");
        }
    }
}

#[tokio::test]
async fn what_is_hidden_is_as_if_it_were_absent() {
    for rules in [RULES, AS_DOCUMENTS, AS_OTHERS] {
        let (with, without) = both(rules).await;
        check_same(asked(&with).await, asked(&without).await);
    }
}

#[tokio::test]
async fn tools_and_prompts_tell_nothing_of_what_is_hidden_and_change_nothing_of_it() {
    for rules in [RULES, AS_DOCUMENTS, AS_OTHERS] {
        let (with, without) = both(rules).await;
        check_same(called_all(&with).await, called_all(&without).await);
        // Nothing hidden was written or removed on the way.
        for (path, text) in HIDDEN {
            let path = with.dir.path().join(path);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{}", path.display());
        }
        assert!(!without.dir.path().join("guide/lang/secret.md").exists());
        assert!(!without.dir.path().join("guide/drafts").exists());
    }
}

#[tokio::test]
async fn whoever_has_the_role_finds_all_of_it() {
    let (with, _) = both(RULES).await;
    let read = async |uri: &str| {
        let read = with.gateway.read(&admin(), &uri.into(), Ask::default()).await;
        read.unwrap().reply.body.as_str().to_owned()
    };
    assert!(read("guide://document/lang/SECRET.md").await.contains("# Secret"));
    assert!(read("guide://category/drafts/a").await.contains("# Draft"));
    assert!(read("guide://help").await.contains("`drafts` (2 documents)"));
    let listed = called(&tools(&with), &admin(), "guide_category_list", &json!({})).await;
    let drafts = listed["structuredContent"]["value"]["categories"].as_array().unwrap();
    assert!(drafts.iter().any(|c| c["name"] == "drafts" && c["documents"] == 2), "{listed}");
}
