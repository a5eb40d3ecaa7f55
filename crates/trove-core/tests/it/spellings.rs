//! No spelling that some parser reads as a protected name passes a rule, at any door.
//!
//! `TROVE_PARSERS` names the parsers and `TROVE_SPELLINGS` says how many spellings they read;
//! `cargo xtask spellings` runs all parsers.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, atomic::Ordering::SeqCst},
};

use trove_core::{
    Caller, Json,
    access::{Access, Policy, Rule},
    caller::Door,
    gateway::{Action, AskError},
    source::Ask,
};
use trove_testkit::{
    fake_source::FakeSource,
    gateway_box::GatewayBox,
    spellings::{PROTECTED, Parser, read_with, spellings},
};

/// How many spellings are read, unless `TROVE_SPELLINGS` says so.
const SPELLINGS: usize = 200_000;
/// Every run tries the same ones.
const SEED: u64 = 20_260_728;
/// The parsers that every run has.
const PARSERS: &str = "rust,node,python";
/// So many spellings must be read as a protected name by each parser: fewer would prove little.
const LEAST_READ: usize = 10_000;

/// A server that has names of all kinds, and rules that hide the protected ones.
async fn guarded() -> (GatewayBox, Arc<FakeSource>) {
    let names: Vec<&str> = PROTECTED.iter().map(|one| one.name).collect();
    let low = Arc::new(FakeSource::new("low", &names));
    let gateway = GatewayBox::with(&[&low]).await;
    let rule = |pattern| Rule::new(pattern, vec!["admin".to_owned()], false).expect("a pattern");
    let rules = PROTECTED.iter().map(|one| rule(one.pattern)).collect();
    gateway.gateway.set_access(Access { policy: Policy::new(rules), ..Access::default() });
    (gateway, low)
}

fn peers() -> PathBuf {
    let folder = std::env::var_os("TROVE_PEERS");
    folder.map(PathBuf::from).expect("run `cargo xtask test`, which installs Node and Python")
}

fn parsers() -> Vec<Parser> {
    let names = std::env::var("TROVE_PARSERS").unwrap_or_else(|_| PARSERS.to_owned());
    names.split(',').map(|name| Parser::named(name).unwrap_or_else(|| panic!("{name}?"))).collect()
}

fn count() -> usize {
    let count = std::env::var("TROVE_SPELLINGS").ok();
    count.map_or(SPELLINGS, |count| count.parse().expect("a number"))
}

/// The spellings that some parser reads as a protected name, each with a reading of it.
fn read_as_protected() -> Vec<(String, String)> {
    let all = spellings(SEED, count());
    let mut read: BTreeMap<usize, String> = BTreeMap::new();
    let read_by = |parser: Parser| (parser, read_with(parser, &all, &peers()).expect("readings"));
    let readings = std::thread::scope(|scope| {
        let threads: Vec<_> =
            parsers().into_iter().map(|parser| scope.spawn(move || read_by(parser))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("it reads"));
        joined.collect::<Vec<_>>()
    });
    for (parser, readings) in readings {
        println!("{parser:?} reads {} of {} as protected names", readings.len(), all.len());
        assert!(readings.len() * SPELLINGS >= LEAST_READ * all.len(), "{parser:?} reads too few");
        for (place, names) in readings {
            let (name, reading) = &names[0];
            read.entry(place).or_insert_with(|| format!("{name} by {parser:?}: {reading}"));
        }
    }
    read.into_iter().map(|(place, reading)| (all[place].clone(), reading)).collect()
}

fn is_absent<T>(answer: Result<T, AskError>) -> bool {
    matches!(answer, Err(AskError::NotFound { .. }))
}

#[tokio::test]
async fn t61_no_spelling_that_a_parser_reads_as_a_protected_name_passes_a_rule() {
    let (gateway, low) = guarded().await;
    let nobody = Caller::behind(Door::Http);
    let gateway = &gateway.gateway;
    let read = read_as_protected();
    let before = low.reads.load(SEQ);
    let mut passed = Vec::new();
    for (spelling, reading) in &read {
        let name = format!("low+{spelling}").as_str().into();
        if !is_absent(gateway.read(&nobody, &name, Ask::default()).await) {
            passed.push(format!("{spelling:?} is {reading}"));
        }
    }
    println!("{} spellings asked for", read.len());
    assert!(passed.is_empty(), "{} passed:\n{}", passed.len(), passed.join("\n"));
    assert_eq!(low.reads.load(SEQ), before, "the server was asked");
}

/// So many of the spellings are tried at each of the other doors, which ask the same judge.
const AT_EACH_DOOR: usize = 5_000;
const SEQ: std::sync::atomic::Ordering = SeqCst;

#[tokio::test]
async fn t61_nor_does_one_at_any_other_door() {
    let (gateway, low) = guarded().await;
    let gateway = &gateway.gateway;
    let nobody = Caller::behind(Door::Http);
    let all = spellings(SEED, AT_EACH_DOOR);
    let readings = read_with(Parser::Rust, &all, &peers()).expect("readings");
    let before = low.reads.load(SEQ);
    for place in readings.into_keys() {
        let spelling = &all[place];
        let name = format!("low+{spelling}");
        let watched = gateway.watch(&nobody, &name.as_str().into()).await;
        assert!(is_absent(watched), "watched: {spelling:?}");
        let arguments = serde_json::json!({
            "ref": { "type": "ref/resource", "uri": name },
            "argument": { "name": "id", "value": "" },
        });
        let completed = gateway.complete(&nobody, &Json::of(&arguments), Ask::default()).await;
        assert!(is_absent(completed), "completed: {spelling:?}");
        let arguments = Json::of(&serde_json::json!({ "uri": name }));
        for action in [Action::ReadDirectory, Action::GetSkill] {
            let done = gateway.act(&nobody, action, &arguments, Ask::default()).await;
            assert!(is_absent(done), "{action:?}: {spelling:?}");
        }
    }
    assert_eq!(low.reads.load(SEQ), before, "the server was asked");
    assert!(low.watches.lock().expect("whole").is_empty(), "the server was told to watch");
}
