//! Changes by those who keep the guide: whole or not at all, and names stay true.

use super::*;

#[tokio::test]
async fn renaming_a_category_rewrites_whatever_names_it() {
    let guide = Guide::set(&LANG, |settings| {
        review(settings);
        let project =
            ProjectSettings { categories: Some(vec!["lang".into()]), ..Default::default() };
        settings.groups.projects.insert("p".into(), project);
    })
    .await;
    let change = CategoryChange { name: Some("code".into()), ..Default::default() };
    guide.knowledge.change_category(&ALL, "lang", change).await.unwrap();
    assert_eq!(
        guide.parts("guide://collection/review").await,
        ["docs/api.md", "code/rust.md", "code/python.md"]
    );
    assert_eq!(guide.read("guide://document/code/rust").await.unwrap(), "# Rust\nborrow\n");
    let edits = guide.ledger.edits.lock().unwrap().clone();
    assert!(edits.contains(&Edit::RenameCategory("lang".into(), "code".into())));
    // What was only a folder so far is written down with it.
    assert!(edits.contains(&Edit::SetCategory("docs".into(), CategorySettings::folder("docs"))));
    assert!(edits.contains(&Edit::SetProjectCategories("p".into(), vec!["code".into()])));
    assert!(edits.iter().any(|e| matches!(e, Edit::SetCollection(n, c) if n == "review" && c.members[1] == "code/rust+python")));
}

#[tokio::test]
async fn a_rename_leaves_every_collection_what_it_was() {
    let guide = Guide::set(&LANG, |settings| {
        review(settings);
        for (name, members) in [("other", "LANG/rust,Review"), ("one", "other/rust")] {
            let members = vec![members.to_owned()];
            let collection = CollectionSettings { members, description: None };
            settings.groups.collections.insert(name.into(), collection);
        }
    })
    .await;
    let knowledge = &guide.knowledge;
    // Names in another case are names too.
    let named = |name: &str| CategoryChange { name: Some(name.into()), ..Default::default() };
    knowledge.change_category(&ALL, "lang", named("code")).await.unwrap();
    let renamed = |name: &str| CollectionChange { name: Some(name.into()), ..Default::default() };
    knowledge.change_collection(&ALL, "review", renamed("check")).await.unwrap();
    let all = ["code/rust.md", "docs/api.md", "code/python.md"];
    assert_eq!(guide.parts("guide://collection/other").await, all);
    assert!(matches!(
        knowledge.remove_category(&ALL, "code").await,
        Err(KnowledgeError::InUse { .. })
    ));
    // A name under which members would mean something else is refused.
    for (done, by) in [
        (knowledge.change_category(&ALL, "docs", named("other")).await, "one"),
        (knowledge.add_category(&ALL, "other", CategoryChange::default()).await, "one"),
        (knowledge.change_collection(&ALL, "other", renamed("docs")).await, "one"),
        (knowledge.change_collection(&ALL, "check", renamed("Code")).await, "other"),
    ] {
        let Err(KnowledgeError::InUse { by: named_by, .. }) = done else { panic!("{done:?}") };
        assert_eq!(named_by, [format!("the collection `{by}`")]);
    }
    assert_eq!(guide.parts("guide://collection/other").await, all);
}

#[tokio::test]
async fn changes_are_checked_first_and_are_whole_or_nothing() {
    let guide = Guide::set(&LANG, review).await;
    let knowledge = &guide.knowledge;
    let named = |name: &str| CategoryChange { name: Some(name.into()), ..Default::default() };
    assert!(matches!(
        knowledge.add_category(&ALL, "a b", CategoryChange::default()).await,
        Err(KnowledgeError::BadName(_))
    ));
    assert!(matches!(
        knowledge.add_category(&ALL, "lang", CategoryChange::default()).await,
        Err(KnowledgeError::Exists { .. })
    ));
    assert!(matches!(
        knowledge.change_category(&ALL, "lang", named("docs")).await,
        Err(KnowledgeError::Exists { .. })
    ));
    let outside = CategoryChange { dir: Some("../x".into()), ..Default::default() };
    assert!(matches!(
        knowledge.add_category(&ALL, "x", outside).await,
        Err(KnowledgeError::BadName(_))
    ));
    assert!(matches!(
        knowledge.remove_category(&ALL, "lang").await,
        Err(KnowledgeError::InUse { .. })
    ));
    assert!(matches!(
        knowledge.add_collection(&ALL, "c", vec!["nothing".into()], None).await,
        Err(KnowledgeError::ContextNotFound { .. })
    ));
    assert!(matches!(
        knowledge.add_collection(&ALL, "c", vec!["lang/".into()], None).await,
        Err(KnowledgeError::BadExpression(_))
    ));
    let itself = CollectionChange { members: Some(vec!["review".into()]), ..Default::default() };
    assert!(matches!(
        knowledge.change_collection(&ALL, "review", itself).await,
        Err(KnowledgeError::BadChange { .. })
    ));
    assert!(guide.ledger.edits.lock().unwrap().is_empty());

    knowledge
        .add_category(
            &ALL,
            "new",
            CategoryChange { description: Some("New".into()), ..Default::default() },
        )
        .await
        .unwrap();
    assert!(guide.root().join("new").is_dir());
    knowledge.add_collection(&ALL, "all", vec!["review,new/**".into()], None).await.unwrap();
    assert_eq!(guide.parts("guide://collection/all").await.len(), 3);
    knowledge.remove_collection(&ALL, "all").await.unwrap();
    knowledge.remove_category(&ALL, "new").await.unwrap();
    assert_eq!(knowledge.categories(Sight::default()).await.len(), 2);
    assert!(guide.root().join("new").is_dir());
}

#[tokio::test]
async fn a_change_that_cannot_be_written_down_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "guide/lang/a.md", "a");
    let guide =
        Guide::in_folder(dir, |_| {}, TestLedger { refuses: true, ..Default::default() }).await;
    let error =
        guide.knowledge.add_collection(&ALL, "c", vec!["lang".into()], None).await.unwrap_err();
    assert!(error.to_string().contains("the disk is full"));
    assert!(guide.knowledge.collections(Sight::default()).await.is_empty());
}

#[tokio::test]
async fn documents_are_added_changed_and_removed() {
    let guide = Guide::with(&LANG).await;
    let knowledge = &guide.knowledge;
    let added = knowledge.add_document(&ALL, "lang", "more/go", "# Go\n").await.unwrap();
    assert_eq!((added.uri(), added.title()), ("guide://document/lang/more/go.md", Some("Go")));
    assert!(matches!(
        knowledge.add_document(&ALL, "lang", "more/go", "x").await,
        Err(KnowledgeError::Exists { .. })
    ));
    knowledge.update_document(&ALL, "lang", "more/go", "# Gone\n").await.unwrap();
    assert_eq!(guide.read("guide://document/lang/more/go").await.unwrap(), "# Gone\n");
    knowledge.remove_document(&ALL, "lang", "more/go").await.unwrap();
    assert_eq!(guide.refused("guide://document/lang/more/go").await.0, Class::NotFound);
    for path in ["../x", "/x", "_x", ".x", "a\\b", "", "a b", "a//b"] {
        assert!(knowledge.add_document(&ALL, "lang", path, "x").await.is_err(), "{path}");
    }
    assert!(knowledge.remove_document(&ALL, "lang", "../docs/api.md").await.is_err());
    assert!(knowledge.update_document(&ALL, "lang", "nothing", "x").await.is_err());
}
