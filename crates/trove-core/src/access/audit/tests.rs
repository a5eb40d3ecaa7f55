//! The log as an auditor finds it: on disk, after everything that can happen to it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::caller::{Caller, Door};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_785_240_000 + seconds)
}

fn read_of(target: impl Into<String>) -> Entry {
    let entry = Entry::new(at(0), "stdio", Via::Native, "read");
    Entry { target: Some(target.into()), ..entry }
}

/// Every line of every file, oldest first; all of them must be JSON.
fn lines(file: &Path) -> Vec<Value> {
    let mut all = Vec::new();
    for number in (0..20).rev() {
        let name = if number == 0 { String::new() } else { format!(".{number}") };
        let path = format!("{}{name}", file.display());
        let Ok(text) = fs::read_to_string(path) else { continue };
        assert!(text.is_empty() || text.ends_with('\n'));
        for line in text.lines() {
            all.push(serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")));
        }
    }
    all
}

/// How many entries are there, and how many are said to be missing.
fn counts(file: &Path) -> (u64, u64) {
    let (mut written, mut dropped) = (0, 0);
    for line in lines(file) {
        match line["event"].as_str() {
            Some("dropped") => dropped += line["entries"].as_u64().unwrap(),
            _ => written += 1,
        }
    }
    (written, dropped)
}

struct Lab {
    _dir: TempDir,
    file: PathBuf,
}

impl Lab {
    fn new() -> Lab {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("state").join("audit.jsonl");
        Lab { _dir: dir, file }
    }

    fn start(&self) -> Audit {
        Audit::start(AuditConfig { has_digests: true, ..AuditConfig::in_file(&self.file) })
    }

    /// With files of two kilobytes.
    fn start_small(&self, kept_files: usize) -> Audit {
        let config = AuditConfig::in_file(&self.file);
        Audit::start(AuditConfig { max_file_bytes: 2000, kept_files, ..config })
    }
}

#[tokio::test]
async fn an_entry_says_who_what_when_and_how_it_ended() {
    let lab = Lab::new();
    let audit = lab.start();
    audit.record(Entry {
        at: at(0) + Duration::from_millis(7),
        door: "http",
        via: Via::Bridge,
        client: Some("cursor".into()),
        principal: Some("ann".into()),
        action: "read",
        target: Some("doc://a".into()),
        source: Some(SourceId::new("docs").unwrap()),
        outcome: Outcome::Done,
        given: Some(Bytes::from_static(b"abc")),
        cache: Some(Cache::Hit),
        took: Some(Duration::from_micros(1500)),
        times: 1,
    });
    let denied = Entry::new(at(61), "stdio", Via::Search, "search");
    audit.record(Entry { outcome: Outcome::Failed(Class::Unauthorized), ..denied });
    audit.close().await;
    let expected = [
        json!({
            "at": "2026-07-28T12:00:00.007Z", "door": "http", "via": "bridge", "client": "cursor",
            "principal": "ann", "action": "read", "target": "doc://a", "source": "docs",
            "outcome": "done", "bytes": 3, "cache": "hit", "ms": 1.5,
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        }),
        json!({
            "at": "2026-07-28T12:01:01.000Z", "door": "stdio", "via": "search", "action": "search",
            "outcome": "refused", "error": "Unauthorized",
        }),
    ];
    assert_eq!(lines(&lab.file), expected);
}

#[tokio::test]
async fn no_contents_are_written_and_no_name_breaks_a_line() {
    let lab = Lab::new();
    let audit = lab.start();
    let given = Some(Bytes::from_static(b"canary-in-the-contents"));
    audit.record(Entry { given, ..read_of("doc://a\n{\"at\":\"forged\"}\u{1b}[2J") });
    audit.record(Entry { client: Some("é".repeat(500).into()), ..read_of("x".repeat(10_000)) });
    audit.close().await;
    let text = fs::read_to_string(&lab.file).unwrap();
    assert!(!text.contains("canary") && !text.contains('\u{1b}'), "{text}");
    let lines = lines(&lab.file);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["target"], "doc://a\n{\"at\":\"forged\"}\u{1b}[2J");
    assert_eq!(lines[1]["target"], "x".repeat(line::MAX_TARGET_BYTES));
    assert_eq!((&lines[1]["target_cut"], &lines[0]["target_cut"]), (&json!(true), &json!(null)));
    assert_eq!(lines[1]["client"], "é".repeat(line::MAX_NAME_BYTES / 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_many_record_at_once_is_all_there_and_for_its_owner_alone() {
    let lab = Lab::new();
    let audit = Arc::new(lab.start());
    let mut recorders = tokio::task::JoinSet::new();
    for who in 0..8 {
        let audit = audit.clone();
        recorders.spawn(async move {
            for n in 0..500 {
                audit.record(read_of(format!("doc://{who}/{n}")));
            }
        });
    }
    recorders.join_all().await;
    audit.close().await;
    let mut targets: Vec<String> =
        lines(&lab.file).iter().map(|line| line["target"].as_str().unwrap().to_owned()).collect();
    targets.sort();
    targets.dedup();
    assert_eq!((targets.len(), audit.dropped()), (4000, 0));
    assert_eq!(fs::metadata(&lab.file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn full_files_are_put_aside_and_only_so_many_are_kept() {
    let lab = Lab::new();
    for n in 0..200 {
        // Closed each time, so that each batch is small.
        let audit = lab.start_small(3);
        audit.record(read_of(format!("doc://{n}")));
        audit.close().await;
    }
    let names = |path: &Path| {
        let mut names: Vec<String> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names(&lab.file),
        ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3", "audit.jsonl.lock"]
    );
    let lines = lines(&lab.file);
    let last = lines.len();
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(line["target"], format!("doc://{}", 200 - last + index));
    }
    assert!(fs::metadata(lab.file.with_extension("jsonl.1")).unwrap().len() < 2200);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_log_and_its_rotation_without_loss() {
    let lab = Lab::new();
    let config = AuditConfig::in_file(&lab.file);
    let config = AuditConfig { max_file_bytes: 20_000, kept_files: 19, ..config };
    let both = [Audit::start(config.clone()), Audit::start(config)];
    for n in 0..1000 {
        for (who, audit) in both.iter().enumerate() {
            audit.record(read_of(format!("doc://{who}/{n}")));
        }
        if n % 50 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    for audit in &both {
        audit.close().await;
    }
    assert_eq!(counts(&lab.file), (2000, 0));
    assert!(fs::exists(lab.file.with_extension("jsonl.2")).unwrap());
}

#[tokio::test]
async fn t59_half_a_line_of_a_crash_is_taken_off() {
    for before in ["", "{\"whole\":true}\n"] {
        let lab = Lab::new();
        fs::create_dir_all(lab.file.parent().unwrap()).unwrap();
        fs::write(&lab.file, format!("{before}{{\"at\":\"2026-07-28T1")).unwrap();
        let audit = lab.start();
        audit.record(read_of("doc://a"));
        audit.close().await;
        let lines = lines(&lab.file);
        assert_eq!(lines.len(), 1 + before.lines().count());
        assert_eq!(lines.last().unwrap()["target"], "doc://a");
    }
}

#[tokio::test]
async fn t58_a_file_taken_away_is_made_anew_and_its_folder_is_not() {
    let lab = Lab::new();
    let audit = lab.start();
    audit.record(read_of("doc://a"));
    while fs::read(&lab.file).unwrap_or_default().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    fs::remove_file(&lab.file).unwrap();
    audit.record(read_of("doc://b"));
    until("it to be made anew", || lab.file.exists() && counts(&lab.file) == (1, 0)).await;
    let folder = lab.file.parent().unwrap();
    let kept = folder.with_file_name("kept");
    fs::rename(folder, &kept).unwrap();
    audit.record(read_of("doc://c"));
    until("it to say that it is gone", || audit.is_failing()).await;
    assert!(!folder.exists());
    fs::rename(&kept, folder).unwrap();
    until("it to be written again", || !audit.is_failing()).await;
    audit.close().await;
    assert_eq!((counts(&lab.file), audit.dropped()), ((2, 0), 0));
}

/// A log on a disk without room: every write to it fails.
fn fill(lab: &Lab) {
    fs::create_dir_all(lab.file.parent().unwrap()).unwrap();
    symlink("/dev/full", &lab.file).unwrap();
}

#[tokio::test]
async fn t60_a_full_disk_delays_nobody_and_one_caller_takes_no_others_place() {
    let lab = Lab::new();
    fill(&lab);
    let audit = lab.start();
    let total = 3 * MAX_WAITING as u64;
    for n in 0..total {
        audit.record(read_of(format!("doc://{n}")));
    }
    // Another caller finds room in the queue.
    let other = |n: u64| Entry { principal: Some("ann".into()), ..read_of(format!("doc://{n}")) };
    for n in 0..100 {
        audit.record(other(n));
    }
    fs::remove_file(&lab.file).unwrap();
    audit.close().await;
    let (mut whole, mut counted, mut of_ann) = (0, 0, 0);
    for line in lines(&lab.file) {
        of_ann += u64::from(line["principal"] == "ann");
        match line["times"].as_u64() {
            Some(times) => counted += times,
            None => whole += 1,
        }
    }
    assert_eq!((of_ann, whole + counted, audit.dropped()), (100, total + 100, 0));
    assert!(whole > MAX_WAITING as u64 / 4, "{whole}");
}

#[tokio::test]
async fn a_short_outage_loses_nothing_and_the_log_goes_on_by_itself() {
    let lab = Lab::new();
    fill(&lab);
    let audit = lab.start();
    for n in 0..100 {
        audit.record(read_of(format!("doc://{n}")));
    }
    fs::remove_file(&lab.file).unwrap();
    // Without being told: the writer tries again by itself.
    while counts(&lab.file).0 < 100 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    audit.record(read_of("doc://after"));
    audit.close().await;
    assert_eq!((counts(&lab.file), audit.dropped()), ((101, 0), 0));
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect(what);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_says_so_before_it_loses_anything() {
    let lab = Lab::new();
    // A file where its folder should be: known before there is anything to write.
    fs::write(lab.file.parent().unwrap(), "").unwrap();
    let audit = lab.start();
    until("the start to say so", || audit.is_failing()).await;
    fs::remove_file(lab.file.parent().unwrap()).unwrap();
    until("it to be well by itself", || !audit.is_failing()).await;
    // And one that is full, which shows when something is written.
    fs::remove_file(&lab.file).unwrap();
    fill(&lab);
    audit.record(read_of("doc://a"));
    until("the first failure to say so", || audit.is_failing()).await;
    assert_eq!(audit.dropped(), 0);
    fs::remove_file(&lab.file).unwrap();
    until("it to be written again", || !audit.is_failing()).await;
    audit.close().await;
    assert_eq!((counts(&lab.file), audit.dropped()), ((1, 0), 0));
}

#[tokio::test]
async fn those_who_were_not_let_in_are_two_lines_whatever_their_number() {
    let lab = Lab::new();
    let audit = lab.start();
    let caller = Caller::behind(Door::Http);
    for _ in 0..1000 {
        audit.turn_away(Knock { caller: &caller, place: "/mcp", class: Class::Unauthenticated });
    }
    audit.close().await;
    let mut lines = lines(&lab.file);
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("at").expect("a time");
    }
    let expected = [
        json!({
            "door": "http", "via": "native", "action": "enter", "target": "/mcp",
            "outcome": "refused", "error": "Unauthenticated",
        }),
        json!({
            "door": "http", "via": "native", "action": "enter", "times": 999,
            "outcome": "refused", "error": "Unauthenticated",
        }),
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_disk_that_stays_full() {
    let lab = Lab::new();
    fill(&lab);
    let audit = lab.start();
    audit.record(read_of("doc://a"));
    audit.close().await;
    audit.record(read_of("doc://b"));
    audit.close().await;
}

#[tokio::test]
async fn more_than_can_be_held_is_written_without_a_digest() {
    let lab = Lab::new();
    let audit = lab.start();
    let large = Bytes::from(vec![0; MAX_WAITING_BYTES + 1]);
    audit.record(Entry { given: Some(large), ..read_of("doc://large") });
    audit.record(Entry { given: Some(Bytes::from_static(b"abc")), ..read_of("doc://small") });
    audit.close().await;
    let lines = lines(&lab.file);
    assert_eq!(lines[0]["bytes"], MAX_WAITING_BYTES + 1);
    assert!(lines[0]["sha256"].is_null() && lines[1]["sha256"].is_string(), "{lines:?}");
}

#[tokio::test]
async fn unless_it_is_asked_for_there_is_no_digest() {
    let lab = Lab::new();
    let audit = Audit::start(AuditConfig::in_file(&lab.file));
    audit.record(Entry { given: Some(Bytes::from_static(b"abc")), ..read_of("doc://small") });
    audit.close().await;
    let line = &lines(&lab.file)[0];
    assert!(line["bytes"] == 3 && line["sha256"].is_null(), "{line}");
}

#[tokio::test]
async fn off_is_off() {
    let audit = Audit::off();
    assert!(!audit.is_on());
    audit.record(read_of("doc://a"));
    assert_eq!(audit.dropped(), 0);
    audit.close().await;
}
