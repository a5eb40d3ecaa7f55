//! Changes on the disk: seen, and told once.

use super::*;

#[tokio::test]
async fn changes_on_disk_are_seen_and_told_once() {
    let guide = Guide::with(&LANG).await;
    guide.follow().await;
    let caller = Caller::local();
    let watched =
        guide.gateway.watch(&caller, &"guide://document/lang/rust.md".into()).await.unwrap();
    let group = guide.gateway.watch(&caller, &"guide://category/docs".into()).await.unwrap();
    let mut changes = guide.gateway.changes();
    let mut updated = async || loop {
        let change = tokio::time::timeout(Duration::from_secs(20), changes.recv()).await;
        if let Change::Updated { uri, .. } = change.expect("an update in time").unwrap() {
            return uri.to_string();
        }
    };
    // An edit, also one of the same length.
    fs::write(guide.root().join("lang/rust.md"), "# Rost\nborrow\n").unwrap();
    assert_eq!(updated().await, "guide://document/lang/rust.md");
    assert_eq!(guide.read("guide://document/lang/rust.md").await.unwrap(), "# Rost\nborrow\n");
    // A rename.
    fs::rename(guide.root().join("docs/api.md"), guide.root().join("docs/rest.md")).unwrap();
    assert_eq!(updated().await, "guide://category/docs");
    let listed =
        async |uri: &str| guide.entries(List::Resources).await.iter().any(|e| e["uri"] == uri);
    guide.until("the new name", async || listed("guide://document/docs/rest.md").await).await;
    assert!(!listed("guide://document/docs/api.md").await);
    // A folder that goes, with what is watched in it.
    guide.gateway.unwatch(&group);
    fs::remove_dir_all(guide.root().join("lang")).unwrap();
    assert_eq!(updated().await, "guide://document/lang/rust.md");
    guide.until("the folder to go", async || !listed("guide://category/lang").await).await;
    guide.gateway.unwatch(&watched);
}

#[tokio::test]
async fn a_thousand_files_changed_at_once_are_one_change() {
    let guide = Guide::with(&LANG).await;
    fs::create_dir(guide.root().join("many")).unwrap();
    guide.follow().await;
    let caller = Caller::local();
    for uri in ["guide://category/lang", "guide://category/docs"] {
        guide.gateway.watch(&caller, &uri.into()).await.unwrap();
    }
    let mut changes = guide.gateway.changes();
    let mut next = async || {
        let change = tokio::time::timeout(Duration::from_secs(20), changes.recv()).await;
        match change.expect("a change in time").unwrap() {
            Change::Updated { uri, .. } => uri.to_string(),
            Change::Lists(lists) if lists.resources => "lists".to_owned(),
            other => panic!("{other:?}"),
        }
    };
    for text in ["# New\n", "# Changed\n"] {
        // Prepared elsewhere, so that they change at once however slow the disk is.
        for n in 0..1000 {
            write(guide.dir.path(), &format!("prepared/{n}.md"), text);
        }
        for n in 0..1000 {
            let prepared = guide.dir.path().join(format!("prepared/{n}.md"));
            fs::rename(prepared, guide.root().join(format!("lang/{n}.md"))).unwrap();
        }
        let size = json!(text.len());
        let is_whole = async || {
            let all = guide.entries(List::Resources).await;
            all.iter().filter(|entry| entry["size"] == size).count() >= 1000
        };
        guide.until("all of them", is_whole).await;
        let mut told = [next().await, next().await];
        told.sort();
        assert_eq!(told, ["guide://category/lang", "lists"]);
    }
    // Had there been more to say, it would come before this.
    write(guide.dir.path(), "guide/docs/api.md", "# Last\n");
    let mut told = [next().await, next().await];
    told.sort();
    assert_eq!(told, ["guide://category/docs", "lists"]);
}

#[tokio::test]
async fn a_guide_that_appears_goes_and_moves_is_followed() {
    let guide = Guide::with(&[]).await;
    assert!(guide.read("guide://help").await.unwrap().contains("There is no guide yet"));
    tokio::spawn(guide.knowledge.clone().follow(guide.stop.clone()));
    let has = async |uri: &str| guide.read(uri).await.is_ok();
    write(guide.dir.path(), "guide/a/one.md", "1");
    guide.until("the guide", async || has("guide://document/a/one.md").await).await;
    fs::remove_dir_all(guide.root()).unwrap();
    guide.until("it to go", async || !has("guide://document/a/one.md").await).await;
    write(guide.dir.path(), "guide/a/two.md", "2");
    guide.until("it to be back", async || has("guide://document/a/two.md").await).await;
    write(guide.dir.path(), "other/b/three.md", "3");
    let settings = Settings {
        root: guide.dir.path().join("other"),
        ..Settings::clone(&guide.knowledge.settings())
    };
    guide.knowledge.reconfigure(settings).await;
    assert!(has("guide://document/b/three.md").await && !has("guide://document/a/two.md").await);
    write(guide.dir.path(), "other/b/four.md", "4");
    guide.until("the other folder", async || has("guide://document/b/four.md").await).await;
}
