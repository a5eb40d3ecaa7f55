//! Every fault the test kit can make, and what the doctor says of it.
//!
//! A row that says `well` is a fault without harm, or one that shows only at a change. The doctor
//! must then raise no false alarm.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use serde_json::Value;

use super::{doctor, with_free_port};
use crate::kit::toy::{Remote, config, toy};
use crate::kit::until;

/// The fault, further options of the toy, and the finding: its level, a part of the message, a part
/// of the fix.
type Ailment = (&'static str, &'static str, &'static str, &'static str, &'static str);

const ONE: &str = "--bare --resources 1";
const FIVE: &str = "--bare --resources 5";

/// Seen while it starts.
const STARTING: [Ailment; 7] = [
    ("hang:init", "", "warning", "it has not answered yet", "--wait"),
    ("delay:init=6000", ONE, "note", "s until it was listed", "npx"),
    ("crash:init", "", "error", "", "by hand"),
    ("garbage", "", "warning", "lines to stdout that are no messages", "stderr"),
    ("noise", FIVE, "warning", "lines to stdout that are no messages", "stderr"),
    ("stderr=1000000", FIVE, "note", "very much to its stderr", "trove logs"),
    ("ignore-unknown", FIVE, "well", "", ""),
];

/// Seen in its lists.
const LISTING: [Ailment; 9] = [
    ("delay:list=6000", ONE, "note", "s until it was listed", "npx"),
    ("error:list", "", "error", "lists are broken here", "mend what it says"),
    ("error:templates", FIVE, "warning", "templates are broken here", "the rest"),
    ("pages:loop", FIVE, "warning", "the server repeated a cursor", "the rest"),
    ("pages:cycle", FIVE, "warning", "the server repeated a cursor", "the rest"),
    ("pages:empty", FIVE, "warning", "the server repeated a cursor", "the rest"),
    ("pages:endless", FIVE, "warning", "more than 50 pages", "the rest"),
    ("baditems", FIVE, "warning", "7 malformed resources left out", "the rest"),
    ("eviltext", FIVE, "warning", "hide words", "trust"),
];

/// Seen when something is read.
const READING: [Ailment; 9] = [
    ("hang:read", ONE, "error", "1 of 1 resources tried could not be read", "timeout_ms"),
    ("delay:read=6000", ONE, "note", "a read took", "trove bench"),
    ("crash:read", ONE, "error", "", "by hand"),
    ("crash:after=1", FIVE, "error", "", "by hand"),
    ("error:read", FIVE, "error", "3 of 3 resources tried could not be read", "mend what it says"),
    ("hugeline=200000", ONE, "error", "larger than the limit", "message_bytes"),
    ("noline=200000", ONE, "error", "no answer within", "timeout_ms"),
    ("deep=40000", ONE, "well", "", ""),
    ("mangled", "--bare --resources 9", "error", "its answer is no JSON", "update the server"),
];

/// Seen over HTTP only.
const BEHIND_A_URL: [Ailment; 5] = [
    ("redirect=9", ONE, "error", "HTTP status 307", "check its URL"),
    ("gzip", ONE, "well", "", ""),
    ("forget=404", "--resources 1 --bare --era legacy", "well", "", ""),
    ("hangup", "--resources 1 --bare --era legacy", "well", "", ""),
    ("cut:unasked=300", "--resources 1 --bare --era legacy", "well", "", ""),
];

/// Seen at the end, or not at all.
const LIVING: [Ailment; 9] = [
    ("ignore-sigterm", FIVE, "note", "ended by force", "SIGTERM"),
    ("fork", FIVE, "well", "", ""),
    ("fork:setsid", FIVE, "well", "", ""),
    ("wrongid", FIVE, "well", "", ""),
    ("batch", "--resources 5 --era legacy", "well", "", ""),
    ("flood:listchanged=1000", FIVE, "well", "", ""),
    ("pages:changing=5", FIVE, "error", "could not be read", "mend what it says"),
    ("drop:updated", FIVE, "well", "", ""),
    ("drop:listchanged", FIVE, "well", "", ""),
];

#[tokio::test]
async fn faults_of_the_start_are_found() {
    check(&STARTING, &[]).await;
}

#[tokio::test]
async fn faults_of_lists_are_found() {
    check(&LISTING, &[]).await;
}

#[tokio::test]
async fn faults_of_reads_are_found() {
    check(&READING, &[]).await;
}

#[tokio::test]
async fn faults_behind_a_url_are_found() {
    let mut remotes = Vec::new();
    for (n, (fault, args, ..)) in BEHIND_A_URL.iter().enumerate() {
        remotes.push(Remote::http(&id(n), &format!("{args} --fault {fault} --scheme s{n}")).await);
    }
    check(&BEHIND_A_URL, &remotes).await;
}

#[tokio::test]
async fn a_server_that_will_not_go_is_told_and_a_harmless_one_is_not() {
    check(&LIVING, &[]).await;
}

#[tokio::test]
async fn t51_a_server_that_is_slowed_is_found() {
    let limits = "[limits]\nunasked_bytes = 65536\nunasked_bytes_per_second = 1024\n";
    let toys = [toy("loud", &format!("{FIVE} --flood stderr"))];
    let folder = with_free_port(&format!("{}\n{limits}", config(&toys)));
    let is_it = |one: &Value| {
        one["subject"] == "loud" && one["message"].to_string().contains("reads it slowly")
    };
    // On a busy machine the server may have written little when the doctor looks.
    until("it to be found", async || {
        let report = doctor(&folder, &["--json", "--wait", "20"]).await.json();
        let mut findings = report["findings"].as_array().expect("findings").iter();
        let Some(found) = findings.find(|one| is_it(one)) else { return false };
        assert!(found["fix"].to_string().contains("log level"), "{found}");
        true
    })
    .await;
}

#[test]
fn no_fault_of_the_kit_is_forgotten() {
    let bare = |fault: &str| fault.split('=').next().unwrap_or_default().to_owned();
    let tables: [&[Ailment]; 5] = [&STARTING, &LISTING, &READING, &BEHIND_A_URL, &LIVING];
    let here: BTreeSet<String> =
        tables.into_iter().flatten().map(|(fault, ..)| bare(fault)).collect();
    let help =
        trove_testkit::toy::Options::command().get_after_long_help().map(ToString::to_string);
    let help = help.expect("the kit lists its faults");
    let known: BTreeSet<String> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next().map(bare))
        .collect();
    assert_eq!(here, known);
}

fn id(n: usize) -> String {
    format!("s{n}")
}

/// Asks the doctor about one server for each row.
async fn check(rows: &[Ailment], remotes: &[Remote]) {
    let toys: Vec<_> = match remotes {
        [] => rows
            .iter()
            .enumerate()
            .map(|(n, (fault, args, ..))| {
                toy(&id(n), &format!("{args} --fault {fault} --scheme s{n}"))
            })
            .collect(),
        remotes => remotes.iter().map(Remote::toy).collect(),
    };
    let limits = "[limits]\nlist_pages = 50\nmessage_bytes = 100000\n";
    let folder = with_free_port(&format!("{}\n{limits}", config(&toys)));
    let ran = doctor(&folder, &["--json", "--wait", "20"]).await;
    let report = ran.json();
    let findings = report["findings"].as_array().expect("findings");
    for (n, (fault, _, level, says, fix)) in rows.iter().enumerate() {
        let of: Vec<&Value> = findings.iter().filter(|one| one["subject"] == id(n)).collect();
        let word = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        assert!(of.iter().all(|one| !word(one, "fix").is_empty()), "{fault}: {of:?}");
        if *level == "well" {
            // A busy machine may make it slow, which is no more than a note.
            assert!(of.iter().all(|one| one["level"] == "note"), "{fault}: {of:?}");
            continue;
        }
        let is_it = |one: &&&Value| {
            word(one, "level") == *level
                && word(one, "message").contains(says)
                && word(one, "fix").contains(fix)
        };
        assert_eq!(of.iter().filter(is_it).count(), 1, "{fault}: {of:?}");
    }
}
