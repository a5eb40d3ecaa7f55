//! Flags as a tool or a command uses them, on real files.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;
use tempfile::TempDir;

use super::{
    defs::{DefaultValue, KNOWN, Kind},
    store::{FlagStore, StoredFlag},
    *,
};

mod failing;
mod processes;

/// A table with a flag of each scope.
const SCOPED: &[FlagDef] = &[
    FlagDef {
        name: "everywhere",
        kind: Kind::Bool,
        default: DefaultValue::Bool(false),
        scope: Scope::Both,
        meaning: "A test.",
    },
    FlagDef {
        name: "only-global",
        kind: Kind::List,
        default: DefaultValue::List(&["a"]),
        scope: Scope::Global,
        meaning: "A test.",
    },
    FlagDef {
        name: "only-project",
        kind: Kind::Map,
        default: DefaultValue::EmptyMap,
        scope: Scope::Project,
        meaning: "A test.",
    },
];

struct Lab {
    dir: TempDir,
    flags: Arc<Flags>,
}

impl Lab {
    fn new() -> Lab {
        Lab::with(KNOWN)
    }

    fn with(known: &'static [FlagDef]) -> Lab {
        let dir = TempDir::new().unwrap();
        let flags = Arc::new(Flags::start(SqliteStore::opener(dir.path().join("store.db")), known));
        Lab { dir, flags }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("store.db")
    }

    /// What another Trove would see.
    fn opened_again(&self) -> Flags {
        open(&self.path())
    }
}

fn open(path: &Path) -> Flags {
    Flags::start(SqliteStore::opener(path), KNOWN)
}

fn project(name: &str) -> ProjectName {
    ProjectName::new(name).unwrap()
}

fn shown(listed: &[Listed]) -> Vec<String> {
    let show =
        |one: &Listed| format!("{}={} {}", one.name, one.value.to_json(), one.origin.as_str());
    listed.iter().map(show).collect()
}

#[tokio::test]
async fn a_value_comes_from_the_nearest_level_and_says_so() {
    let Lab { flags, dir: _dir } = &Lab::new();
    let here = project("here");
    let resolved = async || {
        let found =
            flags.get_project((&here, &Written::new()), "content-format").await.unwrap().unwrap();
        (found.value.as_str().unwrap().to_owned(), found.origin)
    };
    assert_eq!(resolved().await, ("mime".to_owned(), Origin::Default));
    flags.set_global("content-format", &json!("plain")).await.unwrap();
    assert_eq!(resolved().await, ("plain".to_owned(), Origin::Global));
    flags.set_project(&here, "content-format", &json!("parts")).await.unwrap();
    assert_eq!(resolved().await, ("parts".to_owned(), Origin::Project));
    let asked = flags.view(Some(&here)).await.unwrap();
    let asked = asked.with_request("content-format", &json!("mime")).unwrap();
    assert_eq!(asked.get("content-format").unwrap().origin, Origin::Request);

    // Others are not touched.
    let there = flags
        .get_project((&project("there"), &Written::new()), "content-format")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(there.origin, Origin::Global);
    // Null removes, level by level.
    let before = flags.set_project(&here, "content-format", &json!(null)).await.unwrap();
    assert_eq!(before.unwrap().as_str(), Some("parts"));
    assert_eq!(resolved().await, ("plain".to_owned(), Origin::Global));
    flags.set_global("content-format", &json!(null)).await.unwrap();
    assert_eq!(resolved().await, ("mime".to_owned(), Origin::Default));
    assert_eq!(flags.set_global("content-format", &json!(null)).await.unwrap(), None);
}

#[tokio::test]
async fn what_the_settings_give_to_a_project_counts_after_its_own_and_before_those_for_all() {
    let Lab { flags, dir: _dir } = &Lab::new();
    let here = project("here");
    let written = [("content-format", json!("plain")), ("team", json!(["a"])), ("a b", json!(7))];
    let written: Written = written.map(|(name, value)| (name.to_owned(), value)).into();
    let list = async || shown(&flags.list_project((&here, &written), None).await.unwrap());
    assert_eq!(list().await, ["content-format=\"plain\" config", "team=[\"a\"] config"]);
    flags.set_global("team", &json!(["b"])).await.unwrap();
    assert_eq!(list().await[1], "team=[\"a\"] config");
    flags.set_project(&here, "team", &json!(["c"])).await.unwrap();
    assert_eq!(list().await[1], "team=[\"c\"] project");
    let found = flags.get_project((&here, &written), "content-format").await.unwrap().unwrap();
    assert_eq!(found.origin, Origin::Config);
    // Another project has nothing of it.
    let there = flags.get_project((&project("there"), &Written::new()), "team").await.unwrap();
    assert_eq!(there.unwrap().origin, Origin::Global);
}

#[test]
fn what_the_settings_may_not_give_to_a_project_is_refused() {
    let check = |name: &str, value| check_written(SCOPED, name, &value);
    assert_eq!(check("everywhere", json!(true)), Ok(()));
    assert_eq!(check("unknown", json!({ "a": "b" })), Ok(()));
    for (name, value) in
        [("everywhere", json!("x")), ("only-global", json!(["x"])), ("a b", json!(1))]
    {
        assert!(check(name, value).is_err(), "{name}");
    }
}

#[tokio::test]
async fn globals_are_read_without_projects_and_defaults() {
    let Lab { flags, dir: _dir } = &Lab::new();
    assert_eq!(flags.get_global("content-format").await.unwrap(), None);
    flags.set_project(&project("p"), "beta", &json!(true)).await.unwrap();
    assert_eq!(flags.get_global("beta").await.unwrap(), None);
    flags.set_global("beta", &json!(false)).await.unwrap();
    assert_eq!(flags.get_global("beta").await.unwrap().unwrap().as_bool(), Some(false));
    assert_eq!(shown(&flags.list_global(None).await.unwrap()), ["beta=false global"]);
}

#[tokio::test]
async fn a_listing_takes_a_glob_and_tells_where_each_value_is_from() {
    let Lab { flags, dir: _dir } = &Lab::new();
    let here = project("here");
    flags.set_global("content-width", &json!("80")).await.unwrap();
    flags.set_global("other", &json!(["x"])).await.unwrap();
    flags.set_project(&here, "other", &json!({"a": true})).await.unwrap();
    let list =
        async |glob| shown(&flags.list_project((&here, &Written::new()), glob).await.unwrap());
    let all = [
        "content-format=\"mime\" default",
        "content-width=\"80\" global",
        "other={\"a\":true} project",
    ];
    assert_eq!(list(None).await, all);
    assert_eq!(list(Some("content-*")).await, all[..2]);
    assert_eq!(list(Some("{other,x}")).await, all[2..]);
    assert!(list(Some("none*")).await.is_empty());
    let globals = flags.list_global(Some("content-*")).await.unwrap();
    assert_eq!(shown(&globals), all[1..2]);
    let error =
        flags.list_project((&here, &Written::new()), Some("[")).await.unwrap_err().to_string();
    assert!(error.contains("`[` is no pattern") && error.contains("content-*"), "{error}");
    flags.list_global(Some(&"*".repeat(300))).await.unwrap_err();
}

#[tokio::test]
async fn what_a_known_flag_may_not_be_is_refused_with_what_it_may() {
    let Lab { flags, dir: _dir } = &Lab::new();
    let error = |result: Result<_, FlagError>| result.unwrap_err().to_string();
    let wrong = error(flags.set_global("content-format", &json!("html")).await);
    assert!(wrong.contains("one of `mime`, `plain`, `parts`"), "{wrong}");
    let wrong = error(flags.set_global("content-format", &json!(true)).await);
    assert!(wrong.contains("what came is true or false"), "{wrong}");
    let wrong = error(flags.set_global("con tent", &json!(true)).await);
    assert!(wrong.contains("no name of a flag"), "{wrong}");
    let wrong = error(flags.set_global("mine", &json!(7)).await);
    assert!(wrong.contains("a number is no value"), "{wrong}");
    assert!(flags.list_global(None).await.unwrap().is_empty());
    let view = flags.last_seen(None);
    view.with_request("content-format", &json!("html")).unwrap_err();
}

#[tokio::test]
async fn a_flag_is_set_only_where_it_may_be() {
    let Lab { flags, dir: _dir } = &Lab::with(SCOPED);
    let here = project("here");
    let refused = flags.set_project(&here, "only-global", &json!(["x"])).await.unwrap_err();
    assert!(refused.to_string().contains("set it globally"), "{refused}");
    let refused = flags.set_global("only-project", &json!({})).await.unwrap_err();
    assert!(refused.to_string().contains("of a project"), "{refused}");
    flags.set_global("only-global", &json!(["x"])).await.unwrap();
    flags.set_project(&here, "only-project", &json!({"k": "v"})).await.unwrap();
    flags.set_global("everywhere", &json!(true)).await.unwrap();
    flags.set_project(&here, "everywhere", &json!(true)).await.unwrap();
}

#[tokio::test]
async fn a_thousand_sets_at_once_are_all_kept() {
    let lab = Lab::new();
    let mut sets = tokio::task::JoinSet::new();
    for n in 0..1000 {
        let flags = lab.flags.clone();
        sets.spawn(
            async move { flags.set_global(&format!("flag-{n}"), &json!(n.to_string())).await },
        );
    }
    while let Some(set) = sets.join_next().await {
        set.unwrap().unwrap();
    }
    let again = lab.opened_again();
    for flags in [&*lab.flags, &again] {
        let listed = flags.list_global(None).await.unwrap();
        assert_eq!(listed.len(), 1000);
        for n in [0, 500, 999] {
            let found = flags.get_global(&format!("flag-{n}")).await.unwrap().unwrap();
            assert_eq!(found.as_str(), Some(n.to_string().as_str()));
        }
    }
}

#[tokio::test]
async fn a_change_wakes_who_waits_for_it_and_an_old_view_stays_as_it_was() {
    let Lab { flags, dir: _dir } = &Lab::new();
    let old = flags.view(None).await.unwrap();
    let mut changes = flags.changes();
    flags.set_global("beta", &json!(true)).await.unwrap();
    assert!(changes.next().await);
    assert_eq!(old.get("beta"), None);
    assert!(flags.last_seen(None).get("beta").is_some());
}

#[tokio::test]
async fn after_the_end_nothing_is_set_and_that_is_said() {
    let lab = Lab::new();
    lab.flags.set_global("beta", &json!(true)).await.unwrap();
    lab.flags.close().await;
    let refused = lab.flags.set_global("beta", &json!(false)).await.unwrap_err();
    assert_eq!(refused, FlagError::Store(StoreError::Closed));
    assert!(lab.flags.last_seen(None).get("beta").is_some());
    lab.flags.close().await;
}
