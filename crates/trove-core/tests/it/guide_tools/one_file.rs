//! One file may have several names: a rule on one of them is a rule on the file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::os::unix::fs::symlink;

use serde_json::json;
use trove_core::{
    Caller, Json,
    access::{Access, Policy, Rule},
    caller::{Door, Roles},
    catalogue::List,
    gateway::{Action, AskError},
    knowledge::{CategorySettings, CollectionSettings, ProjectSettings, Settings},
    project::ProjectName,
    source::Ask,
};
use trove_testkit::gateway_box::Asks as _;

use crate::guide::kit::Guide;

const FILES: [(&str, &str); 5] = [
    ("guide/lang/rust.md", "# Rust\n"),
    ("guide/lang/plan.v2.md.j2", "# Plan\n"),
    ("guide/lang/secret.md", "# Secret\n"),
    ("guide/lang/skill/SKILL.md", "---\nname: quiet\ndescription: Hushes\n---\nQuiet.\n"),
    ("guide/lang/skill/notes.md", "# Notes\n"),
];

/// A guide whose folder `lang` is a category, and part of another.
async fn guide() -> Guide {
    let guide = Guide::set(&FILES, |settings: &mut Settings| {
        let at = |dir: &str| CategorySettings { dir: dir.into(), ..CategorySettings::folder(dir) };
        let categories = [("lang", at("lang")), ("whole", at("."))];
        let categories = categories.map(|(name, category)| (name.to_owned(), category));
        settings.groups.categories = Some(categories.into());
        for (name, member) in [("review", "lang/secret+plan*"), ("outer", "review")] {
            let members = vec![member.to_owned()];
            let collection = CollectionSettings { members, description: None };
            settings.groups.collections.insert(name.to_owned(), collection);
        }
        let project = ProjectSettings {
            categories: Some(vec!["nothing".to_owned()]),
            ..ProjectSettings::default()
        };
        settings.groups.projects.insert("elsewhere".into(), project);
    });
    guide.await
}

/// The first that matches decides: a pattern, whom it is open to, and whether others see it.
fn rule(guide: &Guide, rules: &[(&str, &str, bool)]) {
    let of = |(pattern, role, visible): &(&str, &str, bool)| {
        Rule::new(pattern, vec![(*role).to_owned()], *visible).unwrap()
    };
    let policy = Policy::new(rules.iter().map(of).collect());
    guide.gateway.set_access(Access { policy, ..Access::default() });
}

fn somebody(roles: &[&str]) -> Caller {
    let roles = Roles::new(roles.iter().map(|role| (*role).to_owned()));
    Caller { roles, ..Caller::behind(Door::Http) }
}

async fn reads(guide: &Guide, caller: &Caller, uri: &str) -> bool {
    guide.gateway.read(caller, &uri.into(), Ask::default()).await.is_ok()
}

const SECRET: [&str; 19] = [
    "guide://document/lang/secret.md",
    "guide://document/lang/secret",
    "guide://category/lang/secret.md",
    "guide://category/lang/SECRET",
    "guide://document/whole/lang/secret.md",
    "guide://category/whole/lang/secret",
    "guide://document/review/secret.md",
    "guide://document/review/secret",
    "guide://document/review/lang/secret.md",
    "guide://document/REVIEW/SECRET",
    "guide://document/review/Lang/SECRET.md",
    "guide://document/Outer/lang/secret",
    "GUIDE://document/lang/secret.md",
    "Guide://Document/Lang/Secret",
    "guide+guide://document/lang/secret.md",
    "guide+GUIDE://DOCUMENT/review/secret.md",
    "guide://%64ocument/lang/secret.md",
    "guide://document/lang/%73ecret.md",
    "guide://document/%6Cang/secr%65t",
];

const PLAN: [&str; 9] = [
    "guide://document/lang/plan.v2.md.j2",
    "guide://document/lang/plan.v2.md",
    "guide://document/lang/plan.v2",
    "guide://document/lang/plan",
    "guide://category/lang/plan",
    "guide://category/lang/plan.v2",
    "guide://document/review/plan.v2.md.j2",
    "guide://document/outer/lang/plan",
    "GUIDE://CATEGORY/lang/plan",
];

const NOTES: [&str; 4] = [
    "guide://document/lang/skill/notes.md",
    "guide://document/whole/lang/skill/notes.md",
    "skill://guide/lang/quiet/notes.md",
    "guide://category/lang/skill/notes",
];

#[tokio::test]
async fn whatever_name_a_rule_is_on_the_file_is_hidden_under_all() {
    let guide = guide().await;
    let (nobody, admin) = (somebody(&[]), somebody(&["admin"]));
    for names in [&SECRET[..], &PLAN, &NOTES] {
        for on in names.iter().filter(|name| !name.contains("SECRET")) {
            rule(&guide, &[(on, "admin", false)]);
            for name in names {
                assert!(!reads(&guide, &nobody, name).await, "{on} hides {name}");
                assert!(reads(&guide, &admin, name).await, "{name} for whoever may");
            }
            let page = guide.gateway.list(&nobody, List::Resources, None).await.unwrap().page;
            let listed: String = page.entries.iter().map(Json::as_str).collect();
            for name in names {
                assert!(!listed.contains(&format!("\"{name}\"")), "{on} hides {name}: {listed}");
            }
            assert!(listed.contains("guide://document/lang/rust.md"), "{listed}");
        }
    }
}

#[tokio::test]
async fn skills_and_their_folders_are_without_what_a_rule_on_documents_hides() {
    let guide = guide().await;
    let nobody = somebody(&[]);
    let act = async |action, uri: &str| {
        let arguments = Json::of(&json!({ "uri": uri }));
        let done = guide.gateway.act(&nobody, action, &arguments, Ask::default()).await;
        done.map(|reply| reply.body.as_str().to_owned())
    };
    rule(&guide, &[("guide://document/whole/lang/skill/notes*", "admin", false)]);
    let skill = "skill://guide/lang/quiet/SKILL.md";
    let skills = guide.gateway.list(&nobody, List::Skills, None).await.unwrap().page.entries;
    for told in [
        act(Action::GetSkill, skill).await.unwrap(),
        act(Action::ReadDirectory, "skill://guide/lang/quiet").await.unwrap(),
        skills.iter().map(Json::as_str).collect(),
    ] {
        assert!(told.contains("SKILL.md") && !told.contains("notes"), "{told}");
    }
    rule(&guide, &[("guide://document/lang/skill/SKILL.md", "admin", false)]);
    assert!(act(Action::GetSkill, skill).await.is_err());
    let page = guide.gateway.list(&nobody, List::Skills, None).await.unwrap().page;
    assert!(page.entries.is_empty(), "{:?}", page.entries);
}

#[tokio::test]
async fn a_link_is_one_more_name() {
    let guide = guide().await;
    symlink("../lang/secret.md", guide.root().join("lang/harmless.md")).unwrap();
    std::fs::hard_link(guide.root().join("lang/secret.md"), guide.root().join("lang/hard.md"))
        .unwrap();
    let settings = Settings::clone(&guide.knowledge.settings());
    guide.knowledge.reconfigure(Settings { max_documents: 7, ..settings }).await;
    let links = ["guide://document/lang/harmless.md", "guide://document/lang/hard.md"];
    for link in links {
        assert!(reads(&guide, &somebody(&[]), link).await, "{link} without a rule");
    }
    rule(&guide, &[("guide://document/lang/secret.md", "admin", false)]);
    for link in links {
        assert!(!reads(&guide, &somebody(&[]), link).await, "{link}");
        assert!(reads(&guide, &somebody(&["admin"]), link).await, "{link}");
    }
}

#[tokio::test]
async fn a_rule_on_the_documents_of_a_collection_leaves_others_alone() {
    let guide = guide().await;
    rule(&guide, &[("guide://document/review/*", "admin", false)]);
    for name in SECRET.iter().chain(&PLAN) {
        assert!(!reads(&guide, &somebody(&[]), name).await, "{name}");
        assert!(reads(&guide, &somebody(&["admin"]), name).await, "{name}");
    }
    for name in ["guide://document/lang/rust.md", "guide://category/lang", NOTES[0], NOTES[2]] {
        assert!(reads(&guide, &somebody(&[]), name).await, "{name}");
    }
    // An exception that stands before it opens the document under that name and the others.
    let open = |name: &'static str| (name, "*", false);
    rule(
        &guide,
        &[
            open("guide://document/lang/secret.md"),
            open("guide://document/whole/lang/secret.md"),
            ("guide://document/review/*", "admin", false),
        ],
    );
    assert!(reads(&guide, &somebody(&[]), "guide://document/lang/secret.md").await);
    assert!(!reads(&guide, &somebody(&[]), "guide://document/lang/plan").await);
}

#[tokio::test]
async fn every_rule_on_a_name_must_be_met() {
    let guide = guide().await;
    rule(
        &guide,
        &[("guide://document/lang/secret*", "staff", false), ("guide://*/whole/*", "boss", false)],
    );
    for name in SECRET {
        assert!(!reads(&guide, &somebody(&["staff"]), name).await, "{name}");
        assert!(!reads(&guide, &somebody(&["boss"]), name).await, "{name}");
        assert!(reads(&guide, &somebody(&["staff", "boss"]), name).await, "{name}");
    }
}

#[tokio::test]
async fn an_exception_for_the_listed_name_is_one() {
    let guide = guide().await;
    rule(
        &guide,
        &[
            ("guide://document/lang/rust.md", "*", false),
            ("guide://document/whole/lang/rust.md", "*", false),
            ("guide://*", "admin", false),
        ],
    );
    assert!(reads(&guide, &somebody(&[]), "guide://document/lang/rust.md").await);
    assert!(!reads(&guide, &somebody(&[]), "guide://document/lang/secret.md").await);
    // An answer to a pattern may not be asked for, yet opens nothing by itself.
    rule(
        &guide,
        &[("guide://category/*", "*", false), ("guide://document/lang/secret.md", "admin", false)],
    );
    for name in SECRET {
        assert!(!reads(&guide, &somebody(&[]), name).await, "{name}");
    }
}

#[tokio::test]
async fn what_is_only_shown_is_shown_under_every_name() {
    let guide = guide().await;
    rule(&guide, &[("guide://document/lang/skill/notes.md", "admin", true)]);
    let uri = "skill://guide/lang/quiet/notes.md";
    let read = guide.gateway.read(&somebody(&[]), &uri.into(), Ask::default()).await;
    let error = read.map(|_| ()).unwrap_err();
    assert!(matches!(&error, AskError::Forbidden { roles, .. } if roles == &["admin"]), "{error}");
}

#[tokio::test]
async fn a_project_that_picks_no_category_with_a_skill_has_no_such_skill() {
    let guide = guide().await;
    let own = Caller { project: ProjectName::new("elsewhere").ok(), ..Caller::local() };
    let uri = "skill://guide/lang/quiet/SKILL.md";
    assert!(reads(&guide, &Caller::local(), uri).await);
    assert!(!reads(&guide, &own, uri).await);
    let skills = guide.gateway.list(&own, List::Skills, None).await.unwrap().page.entries;
    assert!(skills.is_empty(), "{skills:?}");
    let arguments = Json::of(&json!({ "uri": uri }));
    let got = guide.gateway.act(&own, Action::GetSkill, &arguments, Ask::default()).await;
    assert!(got.is_err());
}
