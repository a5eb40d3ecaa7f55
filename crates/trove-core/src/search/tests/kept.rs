//! What is indexed outlives the program, and what is damaged is built anew.

use super::*;

fn on_disk(dir: &Path) -> Search {
    Search::open(Some(dir.to_owned()), Config::default(), None).unwrap()
}

#[tokio::test]
async fn a_restart_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut described = entry("a:1", "one", "described");
    described.public = PublicUri::from("docs+a:1");
    described.modified = Some(7);
    described.size = Some(9);
    {
        let search = on_disk(dir.path());
        assert_eq!(search.status().opened, Opened::New);
        fed(&search, vec![(described.clone(), "the words of it"), (entry("a:2", "two", ""), "")])
            .await;
        search.skip_content(entry("a:2", "", "").key(), Skip::TooLarge).await;
        search.note_use(&entry("a:2", "", "").key());
        search.shutdown();
    }
    let search = on_disk(dir.path());
    assert_eq!(search.status().opened, Opened::Resumed);
    let later = Query { now: 1_000_000_000, ..Query::everything() };
    let first = search.find(&later, &Everything).unwrap();
    assert_eq!(uris(&first)[0], "a:2", "what was used is remembered");
    assert_eq!(search.pending(10), []);
    let hits = search.find(&Query::terms(["words"]), &Everything).unwrap();
    assert_eq!(uris(&hits), ["docs+a:1"]);
    assert_eq!((hits.hits[0].modified, hits.hits[0].size), (Some(7), Some(9)));
    assert_eq!(hits.coverage.skipped[&Skip::TooLarge], 1);
    // The same listing changes nothing; the content is not wanted again.
    search.replace_source(SourceListing { source: source("docs"), entries: vec![described] }).await;
    search.flush().await;
    assert_eq!(search.pending(10), []);
    assert_eq!(search.status().entries, 1);
    check_terms(&search, &["words"], &["docs+a:1"]);
}

#[tokio::test]
async fn a_type_that_was_found_outlives_a_restart_and_yields_to_a_listed_one() {
    let dir = tempfile::tempdir().unwrap();
    let html = Query { content_types: vec!["text/html".to_owned()], ..Query::everything() };
    let found = |search: &Search| search.find(&html, &Everything).unwrap().total;
    {
        let search = on_disk(dir.path());
        fed(&search, vec![(entry("a:1", "one", ""), "")]).await;
        let content = Content { mime: Some("text/html".to_owned()), ..content("<p>x") };
        search.put_content(entry("a:1", "", "").key(), content).await;
        search.flush().await;
        assert_eq!(found(&search), 1);
        search.shutdown();
    }
    let search = on_disk(dir.path());
    assert_eq!(found(&search), 1);
    fed(&search, vec![(entry("a:1", "renamed", ""), "")]).await;
    assert_eq!(found(&search), 1, "another name is no other type");
    let mut listed = entry("a:1", "renamed", "");
    listed.mime = Some("text/plain".to_owned());
    fed(&search, vec![(listed, "")]).await;
    assert_eq!(found(&search), 0);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            copy_folder(&file.path(), &target);
        } else {
            fs::copy(file.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn what_was_committed_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let search = on_disk(&dir.path().join("running"));
    fed(&search, vec![(entry("a:1", "one", ""), "committed words")]).await;
    search.apply(Change { put: vec![entry("a:2", "two", "")], removed: vec![] }).await;
    // A copy of the folder is what a killed process leaves.
    copy_folder(&dir.path().join("running"), &dir.path().join("killed"));
    let after = on_disk(&dir.path().join("killed"));
    assert_eq!(after.status().opened, Opened::Resumed);
    check_terms(&after, &["committed"], &["a:1"]);
    fed(&after, vec![(entry("a:2", "two", ""), "later words")]).await;
    check_terms(&after, &["words"], &["a:1", "a:2"]);
}

#[tokio::test]
async fn two_processes_do_not_share_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (on_disk(dir.path()), on_disk(dir.path()));
    fed(&first, vec![(entry("a:1", "mine", ""), "")]).await;
    fed(&second, vec![(entry("a:2", "yours", ""), "")]).await;
    assert_ne!(first.status().place, second.status().place);
    check_terms(&first, &["yours"], &[]);
    check_terms(&second, &["yours"], &["a:2"]);
}

#[tokio::test]
async fn a_damaged_index_is_built_anew_and_that_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let damage = |what: &dyn Fn(&Path)| {
        let index = dir.path().join("0").join("index");
        for file in fs::read_dir(index).unwrap() {
            what(&file.unwrap().path());
        }
        // As after a kill: nobody has said that all is well.
        let _ = fs::remove_file(dir.path().join("0").join("clean"));
    };
    let ways: [&dyn Fn(&Path); 3] = [
        &|path| fs::write(path, b"").unwrap(),
        &|path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 0x5a;
            }
            fs::write(path, bytes).unwrap();
        },
        &|path| {
            if path.file_name().is_some_and(|name| name == "meta.json") {
                fs::write(path, b"{").unwrap();
            }
        },
    ];
    for way in ways {
        let search = on_disk(dir.path());
        fed(&search, vec![(entry("a:1", "one", ""), "some words")]).await;
        search.shutdown();
        drop(search);
        damage(way);
        let search = on_disk(dir.path());
        assert!(matches!(search.status().opened, Opened::Rebuilt { .. }), "{:?}", search.status());
        check_terms(&search, &["words"], &[]);
        fed(&search, vec![(entry("a:1", "one", ""), "some words")]).await;
        check_terms(&search, &["words"], &["a:1"]);
        search.shutdown();
    }
}

#[tokio::test]
async fn a_full_index_takes_no_more_contents_but_finds_names() {
    let config = Config { max_index_bytes: 1, ..Config::default() };
    let search = Search::open(None, config, None).unwrap();
    fed(&search, vec![(entry("a:1", "one", ""), "")]).await;
    fed(&search, vec![(entry("a:2", "two", ""), "words")]).await;
    check_terms(&search, &["words"], &[]);
    check_terms(&search, &["two"], &["a:2"]);
    let coverage = search.coverage(&Everything);
    assert_eq!(coverage.skipped[&Skip::IndexFull], 1);
    assert!(coverage.indexed < coverage.indexable, "what there is no room for is missing");
}

#[test]
fn t07_a_long_list_does_not_hold_up_a_stop() {
    let search = memory();
    let entries = (0..20_000).map(|n| entry(&format!("x:{n}"), "one of many", "")).collect();
    let list = SourceListing { source: source("docs"), entries };
    {
        // The writer cannot get far while others look.
        let _roster = search.shared.roster();
        search.orders.send((Order::Listing(list), None)).unwrap();
        search.tell_to_stop();
    }
    search.shutdown();
    let taken = search.status().entries;
    assert!(taken < 6_000, "{taken} of a list are noted when all else has ended");
}
