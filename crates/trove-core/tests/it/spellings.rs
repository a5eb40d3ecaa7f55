//! No spelling that some parser reads as a protected name passes a rule, at any door.
//!
//! `TROVE_PARSERS` names the parsers and `TROVE_SPELLINGS` says how many spellings they read;
//! `cargo xtask spellings` runs all parsers.

#![allow(clippy::print_stdout, reason = "how many spellings were read is what a run is for")]

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
    gateway_box::{Asks as _, GatewayBox},
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
    // What these open are other names: no tail of a protected name makes it one of them.
    let open = |pattern| Rule::new(pattern, vec!["*".to_owned()], true).expect("a pattern");
    let opened = ["*a", "*=b", "*b=2", "*/", "*."].into_iter().map(open);
    let rules = opened.chain(PROTECTED.iter().map(|one| rule(one.pattern))).collect();
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
async fn t53_no_spelling_that_a_parser_reads_as_a_protected_name_passes_a_rule() {
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
async fn t53_nor_does_one_at_any_other_door() {
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

/// A server that answers to every name, with a rule on some of them.
async fn with_rules(listed: &[&str], rules: &[(&str, bool)]) -> GatewayBox {
    let low = Arc::new(FakeSource::new("low", listed));
    let gateway = GatewayBox::with(&[&low]).await;
    let rule = |(pattern, visible): &(&str, bool)| {
        Rule::new(pattern, vec!["admin".to_owned()], *visible).expect("a pattern")
    };
    let policy = Policy::new(rules.iter().map(rule).collect());
    gateway.gateway.set_access(Access { policy, ..Access::default() });
    gateway
}

async fn read(gateway: &GatewayBox, uri: &str) -> Result<(), AskError> {
    let nobody = Caller::behind(Door::Http);
    let name = format!("low+{uri}");
    let read = gateway.gateway.read(&nobody, &name.as_str().into(), Ask::default()).await;
    read.map(drop)
}

#[tokio::test]
async fn t53_blanks_controls_hosts_and_case_pass_no_rule() {
    let rules = [
        ("docs://l/vault/*", false),
        ("docs://l/résumé*", false),
        ("https://bücher.example/*", false),
    ];
    let gateway = with_rules(&["docs://l/vault/key"], &rules).await;
    let absent = read(&gateway, "docs://l/vault/key").await.expect_err("it is hidden").to_string();
    for uri in [
        " docs://l/vault/key",
        "\u{1}docs://l/vault/key",
        "docs://l/vault/key\u{7f}",
        "docs://l/RÉSUMÉ.pdf",
        "docs://l/re\u{301}sume\u{301}.pdf",
        "docs://l/r%C3%89sum%C3%A9.pdf",
        "docs://l/r%E9sum%E9.pdf",
        "https://BÜCHER.example/x",
        "https://xn--bcher-kva.example/x",
        "https://bücher。example/x",
    ] {
        let refused = read(&gateway, uri).await.expect_err(uri);
        assert!(matches!(refused, AskError::NotFound { .. }), "{uri:?}: {refused}");
        let told = refused.to_string().replace(&format!("low+{uri}"), "low+docs://l/vault/key");
        assert_eq!(told, absent, "{uri:?} is told in other words");
    }
}

#[tokio::test]
async fn t53_ordinary_names_that_are_near_no_rule_stay_readable() {
    let rules = [
        ("docs://l/vault/*", false),
        ("file:///srv/secret/*", false),
        ("https://h.example/admin/*", true),
    ];
    let gateway = with_rules(&["docs://l/vault/key"], &rules).await;
    for uri in [
        "docs://l/notes",
        "docs://l/My Notes (draft).md",
        "docs://L/Über uns/«Straße» – 2024",
        "docs://l/100% sure",
        "docs://l/a//b/./c",
        "docs://me@l:80/x;y=1/z?a=1&b=2#c",
        "file:///home/User/My%20File.txt",
        "file:///home/User/My File.txt",
        "file:///srv/public/Report%202024 (final).pdf",
        "file:///C:/Users/Ann/Documents/Plan B.docx",
        "file:///C:\\Users\\Ann\\plan.txt",
        "C:\\Users\\Ann\\plan.txt",
        "file:///srv/públic/文書 一覧.md",
        "https://h.example/search?q=a+b&page=2",
        "https://H.Example/a%2Fb?x=%26",
        "https://例え.example/",
        "urn:isbn:0-486-27557-4",
        "note with blanks",
        "git+ssh://host/repo.git",
    ] {
        read(&gateway, uri).await.unwrap_or_else(|error| panic!("{uri}: {error}"));
    }
}

#[tokio::test]
async fn t53_what_a_server_lists_is_read_however_it_is_spelled() {
    let listed =
        ["docs://l/The Vault (overview).md", "DOCS://l/a/../vault notes", " docs://l/vault"];
    let gateway = with_rules(&listed, &[("docs://l/vault/*", false)]).await;
    for uri in listed {
        read(&gateway, uri).await.unwrap_or_else(|error| panic!("{uri}: {error}"));
    }
    for uri in ["docs://l/The Vault (other).md", "DOCS://l/a/../vault plans", "\tdocs://l/vault"] {
        assert!(is_absent(read(&gateway, uri).await), "{uri}");
    }
}

#[tokio::test]
async fn t53_a_spelling_of_what_is_shown_is_refused_with_the_role() {
    let gateway = with_rules(&["docs://l/vault/key"], &[("docs://l/vault/*", true)]).await;
    for uri in ["docs://l/vault/key", " docs://l/vault/key", "docs://l/v%61ult/key"] {
        let refused = read(&gateway, uri).await.expect_err(uri);
        let AskError::Forbidden { roles, .. } = &refused else { panic!("{uri}: {refused}") };
        assert_eq!(roles, &["admin".to_owned()]);
    }
}

#[tokio::test]
async fn t53_what_a_server_puts_into_answers_is_judged_by_every_spelling() {
    let low = Arc::new(FakeSource::new("low", &["docs://l/open"]));
    let gateway = GatewayBox::with(&[&low]).await;
    let rule = Rule::new("docs://l/vault/*", vec!["admin".to_owned()], false).expect("a pattern");
    let policy = Policy::new(vec![rule]);
    gateway.gateway.set_access(Access { policy, ..Access::default() });
    let part = |uri: &str| serde_json::json!({ "uri": uri, "text": "secret" });
    let parts = ["docs://l/open", " docs://l/vault/key", "docs://l/V%41ULT/key", "//l/vault/key"];
    let contents = serde_json::json!({ "contents": parts.map(part) });
    low.give("docs://l/open", contents.to_string());
    let nobody = Caller::behind(Door::Http);
    let given = gateway.gateway.read(&nobody, &"docs://l/open".into(), Ask::default()).await;
    let given = given.expect("it is open").reply.body.as_str().to_owned();
    assert_eq!(given.matches("secret").count(), 1, "{given}");
}

#[tokio::test]
async fn t53_a_name_that_passes_through_further_gateways_passes_no_rule() {
    let rules = [("docs://l/vault/*", false), ("low+memo:*", false), ("file:///srv/*", false)];
    let gateway = with_rules(&["docs://l/open"], &rules).await;
    for name in ["docs://l/vault/key", "memo:inner", "file:///srv/plan"] {
        for qualifiers in ["s+", "S+", "a+s+", "a+b+c+d+e+f+g+h+i+j+", "low+", "s%2B"] {
            let uri = format!("{qualifiers}{name}");
            let refused = read(&gateway, &uri).await.expect_err(&uri);
            assert!(matches!(refused, AskError::NotFound { .. }), "{uri:?}: {refused}");
        }
    }
    for open in ["s+docs://l/open", "a+s+docs://l/open"] {
        assert!(read(&gateway, open).await.is_ok(), "{open}");
    }
}
