//! What happens when the store fails: a clear error, and the old values stand.

use std::process::Command;

use super::*;

#[track_caller]
fn store_error(result: Result<Option<FlagValue>, FlagError>) -> StoreError {
    match result {
        Err(FlagError::Store(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_damaged_file_is_refused_with_the_repair_and_left_as_it_is() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store.db");
    let rubbish = b"this is no database, whatever its name says".repeat(100);
    std::fs::write(&path, &rubbish).unwrap();
    let flags = open(&path);
    let error = store_error(flags.set_global("beta", &json!(true)).await);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("is damaged") && text.contains("damaged-store.db'"), "{text}");
    assert!(matches!(flags.view(None).await, Err(FlagError::Store(StoreError::Damaged { .. }))));
    // What needs no store still works.
    assert_eq!(flags.last_seen(None).get("content-format").unwrap().origin, Origin::Default);
    assert_eq!(std::fs::read(&path).unwrap(), rubbish);

    // The second repair of the message, word for word.
    let repair = text.rsplit('`').nth(1).unwrap();
    let ran = Command::new("sh").args(["-c", repair]).status().unwrap();
    assert!(ran.success(), "{repair}");
    flags.set_global("beta", &json!(true)).await.unwrap();
    assert_eq!(std::fs::read(dir.path().join("damaged-store.db/store.db")).unwrap(), rubbish);
}

#[tokio::test]
async fn a_page_overwritten_in_the_middle_is_found_at_the_start() {
    let lab = Lab::new();
    for n in 0..200 {
        lab.flags.set_global(&format!("flag-{n}"), &json!("x".repeat(500))).await.unwrap();
    }
    lab.flags.close().await;
    let mut bytes = std::fs::read(lab.path()).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xff);
    std::fs::write(lab.path(), &bytes).unwrap();
    let again = lab.opened_again();
    let error = store_error(again.set_global("beta", &json!(true)).await);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(std::fs::read(lab.path()).unwrap(), bytes);

    // The first repair of the message, where the tool for it is at hand.
    let has_tool = Command::new("sqlite3").arg("--version").output().is_ok();
    if has_tool {
        let text = error.to_string();
        let repair = text.split('`').nth(1).unwrap();
        let ran = Command::new("sh").args(["-c", repair]).status().unwrap();
        assert!(ran.success(), "{repair}");
        let saved = again.list_global(None).await.unwrap().len();
        assert!((100..200).contains(&saved), "{saved} were saved");
        again.set_global("beta", &json!(true)).await.unwrap();
    }
}

#[tokio::test]
async fn a_file_of_a_newer_program_is_left_alone() {
    let lab = Lab::new();
    lab.flags.set_global("beta", &json!(true)).await.unwrap();
    lab.flags.close().await;
    let newer = rusqlite::Connection::open(lab.path()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = store_error(lab.opened_again().set_global("beta", &json!(false)).await);
    assert!(error.to_string().contains("version 99"), "{error}");
}

/// A store whose disk can be full.
struct Fillable {
    store: SqliteStore,
    is_full: Arc<AtomicBool>,
}

impl FlagStore for Fillable {
    fn load(&mut self, limit: usize) -> Result<Vec<StoredFlag>, StoreError> {
        self.store.load(limit)
    }

    fn write(&mut self, changes: &[FlagChange]) -> Result<(), StoreError> {
        self.store.set_full(self.is_full.load(Ordering::Relaxed));
        self.store.write(changes)
    }

    fn was_changed_elsewhere(&mut self) -> Result<bool, StoreError> {
        self.store.was_changed_elsewhere()
    }
}

#[tokio::test]
async fn a_full_disk_is_said_the_old_values_stand_and_room_is_used_at_once() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store.db");
    let is_full = Arc::new(AtomicBool::new(false));
    let opener = {
        let (path, is_full) = (path.clone(), is_full.clone());
        Box::new(move || {
            let store = SqliteStore::open(&path)?;
            Ok(Box::new(Fillable { store, is_full: is_full.clone() }) as Box<dyn FlagStore>)
        })
    };
    let flags = Flags::start(opener, KNOWN);
    let long = json!("x".repeat(MAX_TEXT_BYTES));
    flags.set_global("kept", &json!("old")).await.unwrap();
    is_full.store(true, Ordering::Relaxed);
    let error = store_error(flags.set_global("kept", &long).await);
    assert_eq!(error, StoreError::Full { path: path.clone() });
    assert!(error.to_string().contains("the old values stand"), "{error}");
    assert_eq!(flags.get_global("kept").await.unwrap().unwrap().as_str(), Some("old"));
    is_full.store(false, Ordering::Relaxed);
    flags.set_global("kept", &long).await.unwrap();
    assert_eq!(open(&path).get_global("kept").await.unwrap().unwrap().to_json(), long);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let flags = open(&file.join("store.db"));
    let error = store_error(flags.set_global("beta", &json!(true)).await);
    assert!(
        error.to_string().contains("store.db") && error.to_string().contains("check"),
        "{error}"
    );
    // Once the obstacle is gone the same Flags work.
    std::fs::remove_file(&file).unwrap();
    flags.set_global("beta", &json!(true)).await.unwrap();
}

#[tokio::test]
async fn a_writer_that_will_not_end_is_waited_for_only_so_long() {
    let lab = Lab::new();
    lab.flags.set_global("beta", &json!("old")).await.unwrap();
    let hog = rusqlite::Connection::open(lab.path()).unwrap();
    hog.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store_error(lab.flags.set_global("beta", &json!("new")).await);
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    hog.execute_batch("ROLLBACK").unwrap();
    assert_eq!(lab.flags.get_global("beta").await.unwrap().unwrap().as_str(), Some("old"));
    lab.flags.set_global("beta", &json!("new")).await.unwrap();
}

#[tokio::test]
async fn stored_values_that_are_not_allowed_are_left_out() {
    let lab = Lab::new();
    lab.flags.set_global("good", &json!(true)).await.unwrap();
    let other = rusqlite::Connection::open(lab.path()).unwrap();
    other
        .execute_batch(
            "INSERT INTO flags VALUES ('', 'content-format', '\"html\"'), ('', 'bad name', 'true'),
             ('', 'no-json', '{'), ('', 'number', '7'), (' p', 'x', 'true')",
        )
        .unwrap();
    assert_eq!(shown(&lab.flags.list_global(None).await.unwrap()), ["good=true global"]);
    let found = lab
        .flags
        .get_project((&project("p"), &Written::new()), "content-format")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.origin, Origin::Default);
}

#[tokio::test]
async fn only_the_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let lab = Lab::new();
    lab.flags.set_global("beta", &json!(true)).await.unwrap();
    for file in std::fs::read_dir(lab.dir.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}
