//! Local knowledge through the gateway, on a real disk.

mod admin;
pub(crate) mod kit;
mod siege;
mod watching;

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, time::Duration};

use serde_json::{Value, json};
use trove_core::{
    Caller, Class, Json, SourceError,
    catalogue::{Change, List},
    gateway::{Action, AskError},
    knowledge::{
        CategoryChange, CategorySettings, CollectionChange, CollectionSettings, Edit,
        KnowledgeError, ProjectSettings, Settings, Sight,
    },
    source::{Ask, Visible},
};
use trove_testkit::gateway_box::Asks as _;

use kit::{Guide, TestLedger, write};

/// Nothing is hidden.
static ALL: Visible = Visible::ALL;

const LANG: [(&str, &str); 5] = [
    (
        "guide/lang/python.md",
        "---\ntitle: Snakes\npriority: 0.5\naudience: [assistant]\n---\n# Python\nindent\n",
    ),
    ("guide/lang/rust.md", "# Rust\nborrow\n"),
    ("guide/lang/sub/deep.md", "# Deep\n"),
    ("guide/docs/api.md", "# API\n"),
    ("guide/docs/logo.png", "\u{0}PNG"),
];

fn review(settings: &mut Settings) {
    let members = vec!["docs/api".to_owned(), "lang/rust+python".to_owned()];
    let collection = CollectionSettings { members, description: Some("Before a review".into()) };
    settings.groups.collections.insert("review".into(), collection);
}

#[tokio::test]
async fn every_document_is_listed_with_what_is_known_of_it() {
    let guide = Guide::set(&LANG, review).await;
    let all = guide.entries(List::Resources).await;
    let uris = all.iter().filter_map(|entry| entry["uri"].as_str());
    let uris: Vec<&str> = uris.filter(|uri| uri.starts_with("guide://")).collect();
    assert_eq!(
        uris,
        [
            "guide://help",
            "guide://category/docs",
            "guide://category/lang",
            "guide://collection/review",
            "guide://document/docs/api.md",
            "guide://document/docs/logo.png",
            "guide://document/lang/python.md",
            "guide://document/lang/rust.md",
            "guide://document/lang/sub/deep.md",
        ]
    );
    assert_eq!(
        (&all[0]["name"], &all[0]["mimeType"]),
        (&json!("Guide URI Help"), &json!("text/markdown"))
    );
    let python = &all[6];
    assert_eq!((&python["title"], &python["size"]), (&json!("Snakes"), &json!(16)));
    assert_eq!(python["annotations"]["priority"], 0.5);
    assert_eq!(python["annotations"]["audience"], json!(["assistant"]));
    assert!(python["annotations"]["lastModified"].is_string());
    assert_eq!(all[7]["title"], "Rust");
    let templates = guide.entries(List::Templates).await;
    let texts = templates.iter().filter_map(|t| t["uriTemplate"].as_str());
    let texts: Vec<&str> = texts.filter(|text| text.starts_with("guide://")).collect();
    assert_eq!(
        texts,
        [
            "guide://collection/{id}",
            "guide://category/{name}",
            "guide://category/{name}/{docId}",
            "guide://document/{context}/{docId}",
        ]
    );
}

#[tokio::test]
async fn each_pattern_of_the_scheme_gives_what_it_says() {
    let guide = Guide::set(&LANG, review).await;
    let help = guide.read("guide://help").await.unwrap();
    assert!(
        help.contains("guide://collection/review") && help.contains("`docs` (2 documents)"),
        "{help}"
    );
    assert_eq!(
        guide.parts("guide://category/lang").await,
        ["lang/python.md", "lang/rust.md", "lang/sub/deep.md"]
    );
    assert_eq!(
        guide.parts("guide://collection/review").await,
        ["docs/api.md", "lang/rust.md", "lang/python.md"]
    );
    assert_eq!(guide.read("guide://category/lang/python").await.unwrap(), "# Python\nindent\n");
    assert_eq!(guide.read("guide://category/lang/sub%2Fdeep.md").await.unwrap(), "# Deep\n");
    assert_eq!(
        guide.parts("guide://category/lang/{rust,python}.md").await,
        ["lang/python.md", "lang/rust.md"]
    );
    assert_eq!(guide.parts("guide://category/lang/**").await.len(), 3);
    assert_eq!(guide.read("guide://document/lang/rust").await.unwrap(), "# Rust\nborrow\n");
    assert_eq!(guide.read("guide://document/review/rust.md").await.unwrap(), "# Rust\nborrow\n");
    assert_eq!(guide.read("guide://document/review/docs/api").await.unwrap(), "# API\n");
    assert_eq!(guide.content("guide://document/docs/logo.png").await["blob"], "AFBORw==");
    assert_eq!(guide.read("guide://document/LANG/Rust.MD").await.unwrap(), "# Rust\nborrow\n");
    assert_eq!(
        guide.read("guide+guide://document/lang/rust.md").await.unwrap(),
        "# Rust\nborrow\n"
    );
}

#[tokio::test]
async fn the_exact_document_comes_before_what_its_name_matches() {
    let files = [
        ("guide/a/[xy].md", "exact"),
        ("guide/a/x.md", "x"),
        ("guide/a/y.md", "y"),
        ("guide/a/b", "bare"),
        ("guide/a/b.md", "with"),
    ];
    let guide = Guide::with(&files).await;
    let parts = guide.parts("guide://category/a/[xy].md").await;
    assert_eq!(parts, ["a/%5Bxy%5D.md", "a/x.md", "a/y.md"]);
    assert_eq!(guide.parts("guide://category/a/b").await, ["a/b", "a/b.md"]);
    assert_eq!(guide.read("guide://document/a/b").await.unwrap(), "bare");
    assert_eq!(guide.read("guide://document/a/[xy].md").await.unwrap(), "exact");
}

#[tokio::test]
async fn several_documents_are_framed_as_mime() {
    let files = [("guide/a/one.md", "1 --guide-boundary\r\n"), ("guide/a/two.md", "zwei é")];
    let guide = Guide::with(&files).await;
    let content = guide.content("guide://category/a").await;
    let media = content["mimeType"].as_str().unwrap();
    let boundary =
        media.strip_prefix("multipart/mixed; boundary=\"").unwrap().trim_end_matches('"');
    assert!(boundary.starts_with("guide-boundary-"), "{boundary}");
    let text = content["text"].as_str().unwrap();
    let parts: Vec<&str> = text.split(&format!("--{boundary}")).collect();
    assert_eq!((parts.len(), parts[0], parts[3]), (4, "", "--\r\n"));
    let (head, body) = parts[2].split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "zwei é\r\n");
    for line in [
        "Content-Type: text/markdown",
        "Content-Location: guide://document/a/two.md",
        "Content-Length: 7",
        "Last-Modified: ",
    ] {
        assert!(head.contains(line), "{line} in {head}");
    }
    assert_eq!(content["uri"], "guide://category/a");
}

#[tokio::test]
async fn the_flag_decides_the_form_of_several() {
    let guide = Guide::with(&[("guide/a/one.md", "1"), ("guide/a/two.md", "2")]).await;
    guide.flags.0.lock().unwrap().insert("content-format".into(), json!("plain"));
    assert_eq!(
        guide.read("guide://category/a").await.unwrap(),
        "--- a/one.md ---\n\n1\n\n--- a/two.md ---\n\n2\n\n"
    );
    guide.flags.0.lock().unwrap().insert("content-format".into(), json!("parts"));
    let result = guide.result("guide://category/a").await.unwrap();
    let uris: Vec<&str> =
        result["contents"].as_array().unwrap().iter().filter_map(|c| c["uri"].as_str()).collect();
    assert_eq!(uris, ["guide://document/a/one.md", "guide://document/a/two.md"]);
}

#[tokio::test]
async fn what_is_left_out_is_said_first_in_every_form() {
    let files = [("guide/a/one.md", "1"), ("guide/a/two.md", "---\nrequires: x\n---\n2")];
    let guide = Guide::with(&files).await;
    for (format, says) in [
        ("mime", "1 left out because of flags"),
        ("plain", "--- note: 1 left out because of flags"),
        ("parts", "1 left out because of flags"),
    ] {
        guide.flags.0.lock().unwrap().insert("content-format".into(), json!(format));
        let text = guide.read("guide://category/a").await.unwrap();
        assert!(text.starts_with(says), "{format}: {text}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is_near() {
    let guide = Guide::set(&LANG, review).await;
    let check = async |uri: &str, part: &str| {
        let (class, message) = guide.refused(uri).await;
        assert_eq!(class, Class::NotFound, "{message}");
        assert!(message.contains(part), "{message}");
    };
    check("guide://category/lagn", "did you mean `lang`?").await;
    check("guide://collection/reviews", "did you mean `review`?").await;
    check("guide://document/lang/pyhton", "python.md").await;
    check("guide://category/lang/nothing*", "python.md").await;
    check("guide://document/elsewhere/x", "Context not found").await;
    let (class, message) = guide.refused("guide+other://x").await;
    assert_eq!(class, Class::InvalidUri);
    assert!(message.contains("Invalid URI scheme"));
    assert_eq!(guide.refused("guide://nonsense").await.0, Class::InvalidUri);
}

#[tokio::test]
async fn every_variable_is_completed() {
    let guide = Guide::set(&LANG, review).await;
    let values = async |template: &str, name: &str, value: &str, known: Value| {
        guide.complete(template, name, value, known).await["values"].clone()
    };
    assert_eq!(values("guide://collection/{id}", "id", "", json!({})).await, json!(["review"]));
    assert_eq!(values("guide://category/{name}", "name", "L", json!({})).await, json!(["lang"]));
    let by_document = "guide://document/{context}/{docId}";
    assert_eq!(
        values(by_document, "context", "", json!({})).await,
        json!(["docs", "lang", "review"])
    );
    assert_eq!(
        values(by_document, "docId", "r", json!({ "context": "review" })).await,
        json!(["rust.md"])
    );
    let by_category = "guide://category/{name}/{docId}";
    assert_eq!(
        values(by_category, "docId", "py", json!({ "name": "lang" })).await,
        json!(["python.md"])
    );
    assert_eq!(guide.complete(by_category, "docId", "", json!({})).await["total"], 5);
}

#[tokio::test]
async fn documents_that_need_flags_are_left_out_and_counted() {
    let files = [
        ("guide/a/always.md", "always"),
        ("guide/a/flagged.md", "---\nrequires: { workflow: true }\n---\nflagged"),
    ];
    let guide = Guide::with(&files).await;
    let text = guide.read("guide://category/a").await.unwrap();
    assert!(
        text.starts_with("1 left out because of flags") && !text.contains("flagged\r\n"),
        "{text}"
    );
    let (class, message) = guide.refused("guide://document/a/flagged").await;
    assert_eq!(class, Class::NotFound);
    assert!(message.contains("`workflow` to be true"), "{message}");
    guide.flags.0.lock().unwrap().insert("workflow".into(), json!(true));
    assert_eq!(guide.read("guide://document/a/flagged").await.unwrap(), "flagged");
    assert_eq!(guide.parts("guide://category/a").await.len(), 2);
}

#[tokio::test]
async fn templates_are_rendered_and_their_partials_are_not_served() {
    let files = [
        ("guide/_partials/foot.md", "foot {{ date }}"),
        (
            "guide/a/t.md.j2",
            "---\ntitle: T\n---\n{{ document.path }} {% if flags.x %}x{% endif %}{% include 'foot.md' %}",
        ),
        (
            "guide/a/loop.md.j2",
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        ),
    ];
    let guide = Guide::with(&files).await;
    assert_eq!(guide.read("guide://document/a/t").await.unwrap(), "t.md.j2 foot 1970-01-01");
    let (class, message) = guide.refused("guide://document/a/loop").await;
    assert_eq!(class, Class::ResourceExecutionError);
    assert!(message.contains("fuel"), "{message}");
    // One that cannot be rendered does not spoil the others.
    let text = guide.read("guide://category/a").await.unwrap();
    assert!(text.contains("loop.md.j2") && text.contains("foot 1970"), "{text}");
    assert!(
        guide
            .entries(List::Resources)
            .await
            .iter()
            .all(|entry| !entry.to_string().contains("_partials"))
    );
}

#[tokio::test]
async fn past_the_limit_the_answer_says_so_and_how_to_go_on() {
    let files: Vec<(String, &str)> = (0..30).map(|n| (format!("guide/a/{n:02}.md"), "x")).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let guide = Guide::set(&files, |settings| settings.max_documents = 10).await;
    let text = guide.read("guide://category/a").await.unwrap();
    let says = "cut after 10 documents, 20 more follow, since an answer holds 10 documents \
                (`guide.max_documents`); go on with guide://category/a/1*, ";
    assert!(text.starts_with(says), "{text}");
    assert_eq!(guide.parts("guide://category/a").await.len(), 10);
    let next = guide.parts("guide://category/a/1*").await;
    assert_eq!((next.len(), next[0].as_str()), (10, "a/10.md"));
    assert!(guide.read("guide://category/a/1*").await.unwrap().starts_with("--guide-boundary"));
}

#[tokio::test]
async fn an_answer_that_is_cut_for_its_size_says_so() {
    let text = "x".repeat(9 << 20);
    let paths = ["guide/a/one/1.md", "guide/a/one/2.md", "guide/a/one/3.md", "guide/a/two/1.md"];
    let more = ["guide/a/two/2.md", "guide/a/two/3.md"];
    let files: Vec<(&str, &str)> =
        paths.into_iter().chain(more).map(|path| (path, text.as_str())).collect();
    let guide = Guide::with(&files).await;
    let text = guide.read("guide://category/a").await.unwrap();
    let (note, _) = text.split_once("\r\n").expect("a note");
    let says = "cut after 4 documents, 2 more follow, since an answer holds 32 MiB; \
                go on with guide://category/a/two/**, ";
    assert!(note.starts_with(says), "{note}");
    assert_eq!(guide.parts("guide://category/a/two/**").await.len(), 3);
}

#[tokio::test]
async fn expressions_give_each_document_once_in_the_order_named() {
    let guide = Guide::set(&LANG, review).await;
    let found = async |expression: &str, pattern: Option<&str>| {
        let content =
            guide.knowledge.get_content(Sight::default(), expression, pattern).await.unwrap();
        content.pieces.iter().map(|p| p.document.path().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("lang/python", None).await, found("lang", Some("python")).await);
    assert_eq!(
        found("lang/rust+python,docs/api,lang", None).await,
        ["rust.md", "python.md", "api.md", "sub/deep.md"]
    );
    assert_eq!(found("review/r*", None).await, ["rust.md"]);
    assert_eq!(found("review,docs", None).await, ["api.md", "rust.md", "python.md"]);
    let nothing =
        guide.knowledge.get_content(Sight::default(), "lang/nothing", None).await.unwrap_err();
    assert!(nothing.is_not_found() && nothing.to_string().contains("nothing"), "{nothing}");
    let unknown = guide.knowledge.get_content(Sight::default(), "lng", None).await.unwrap_err();
    assert!(unknown.is_not_found() && unknown.to_string().contains("`lang`"), "{unknown}");
    let half = guide
        .knowledge
        .get_content(Sight::default(), "lang/rust,docs/nothing", None)
        .await
        .unwrap();
    assert_eq!((half.pieces.len(), half.notes.len()), (1, 1));
}

#[tokio::test]
async fn collections_that_name_each_other_stay_cheap_and_cycles_are_told() {
    let guide = Guide::set(&LANG, |settings| {
        // Followed naively this would be 2^40 steps.
        for n in 0..40 {
            let below = if n == 0 { "lang".into() } else { format!("c{}", n - 1) };
            let members = vec![below.clone(), below];
            let collection = CollectionSettings { members, description: None };
            settings.groups.collections.insert(format!("c{n}"), collection);
        }
        for (name, below) in [("x", "y"), ("y", "x")] {
            let collection = CollectionSettings { members: vec![below.into()], description: None };
            settings.groups.collections.insert(name.into(), collection);
        }
    })
    .await;
    assert_eq!(guide.parts("guide://collection/c39").await.len(), 3);
    let (_, message) = guide.refused("guide://collection/x").await;
    assert!(message.contains("x → y → x"), "{message}");
}

#[tokio::test]
async fn a_project_sees_what_it_picked() {
    let guide = Guide::set(&LANG, |settings| {
        review(settings);
        let flags = BTreeMap::from([("content-format".to_owned(), json!("plain"))]);
        let project = ProjectSettings {
            categories: Some(vec!["docs".into()]),
            collections: Some(vec![]),
            flags,
            ..Default::default()
        };
        settings.groups.projects.insert("site".into(), project);
        settings.project = Some("site".into());
    })
    .await;
    let uris: Vec<Value> =
        guide.entries(List::Resources).await.into_iter().map(|e| e["uri"].clone()).collect();
    assert!(
        uris.contains(&json!("guide://category/docs"))
            && !uris.contains(&json!("guide://category/lang"))
    );
    assert_eq!(guide.refused("guide://category/lang").await.0, Class::NotFound);
    assert!(
        guide.read("guide://category/docs/*").await.unwrap().starts_with("--- docs/api.md ---")
    );
    assert_eq!(
        guide
            .knowledge
            .categories(Sight { project: Some("other".into()), ..Sight::default() })
            .await
            .len(),
        2
    );
}

#[tokio::test]
async fn skills_of_one_name_are_all_served_each_in_its_own_place() {
    let files = [
        ("guide/skills/four/SKILL.md", "---\nname: one\ndescription: Fourth\n---\n4\n"),
        ("guide/skills/one/SKILL.md", "---\nname: one\ndescription: First\n---\n1\n"),
        ("guide/skills/three/SKILL.md", "---\nname: two\ndescription: Third\n---\n3\n"),
        ("guide/skills/zwei/SKILL.md", "---\nname: two\ndescription: Second\n---\n2\n"),
    ];
    let guide = Guide::with(&files).await;
    for (place, name, text) in [
        ("one", "one", "1\n"),
        ("four", "one", "4\n"),
        ("two", "two", "3\n"),
        ("zwei", "two", "2\n"),
    ] {
        let uri = format!("skill://guide/skills/{place}/SKILL.md");
        let read = guide.read(&uri).await.unwrap();
        assert!(read.ends_with(text), "{place}: {read}");
        let listed = guide.entries(List::Skills).await;
        let skill = listed.iter().find(|skill| skill["uri"] == uri.as_str()).expect(place);
        assert_eq!(skill["frontmatter"]["name"], name);
    }
    let told = guide.knowledge.problems().await;
    for folder in ["four", "zwei"] {
        let is_told = |told: &String| told.starts_with(&format!("skills/{folder}/"));
        assert!(told.iter().any(is_told), "{folder}: {told:?}");
    }
}

#[tokio::test]
async fn skills_are_listed_read_and_walked() {
    let skill = "---\nname: tidy\ndescription: Tidies\n---\nDo it.\n";
    let files = [
        ("guide/skills/tidy/SKILL.md", skill),
        ("guide/skills/tidy/refs/style.md", "# Style\n"),
        ("guide/skills/bare/SKILL.md", "# Bare\n"),
    ];
    let guide = Guide::with(&files).await;
    let skills = guide.entries(List::Skills).await;
    assert_eq!(skills.len(), 2);
    let tidy = &skills[1];
    assert_eq!(tidy["uri"], "skill://guide/skills/tidy/SKILL.md");
    assert_eq!(tidy["frontmatter"], json!({ "name": "tidy", "description": "Tidies" }));
    // sha256 of "# Style\n"
    assert_eq!(
        tidy["resources"][1]["digest"],
        "sha256:3717c3c8027c526d5bc5af9adf27c8ecde05ce3cb7de2ad9058fcd54ca3212db"
    );
    assert_eq!(guide.read("skill://guide/skills/tidy/SKILL.md").await.unwrap(), skill);
    assert_eq!(guide.read("skill://guide/skills/tidy/refs/style.md").await.unwrap(), "# Style\n");
    let act = async |action, uri: &str| {
        let arguments = Json::of(&json!({ "uri": uri }));
        let reply = guide.gateway.act(&Caller::local(), action, &arguments, Ask::default()).await?;
        Ok::<Value, AskError>(reply.body.to().unwrap())
    };
    let got = act(Action::GetSkill, "skill://guide/skills/tidy/SKILL.md").await.unwrap();
    assert_eq!(&got["skill"], tidy);
    let root = act(Action::ReadDirectory, "skill://guide/skills/tidy").await.unwrap();
    assert_eq!(root["resources"][1]["mimeType"], "inode/directory");
    let refs = act(Action::ReadDirectory, "skill://guide/skills/tidy/refs/").await.unwrap();
    assert_eq!(refs["resources"][0]["uri"], "skill://guide/skills/tidy/refs/style.md");
    assert!(act(Action::ReadDirectory, "skill://guide/skills/tidy/none").await.is_err());
    assert!(act(Action::GetSkill, "skill://guide/skills/none/SKILL.md").await.is_err());
    assert!(guide.result("skill://guide/skills/tidy/..%2fbare%2fSKILL.md").await.is_err());
}
