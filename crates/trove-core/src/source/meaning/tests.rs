//! The rules one by one, and all of them against the corpus of real texts.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use super::*;
use crate::json::Json;

fn refused(code: i64, message: &str, data: Option<&str>) -> Meaning {
    let data = data.map(|text| Json::parse(text.to_owned()).unwrap());
    SourceError::Refused { code, message: message.to_owned(), data }.meaning(None)
}

#[test]
fn every_way_to_say_not_found_is_understood() {
    for (code, message) in [
        (-32002, "Resource not found"),
        (-32002, "x"),
        (-32602, "Unknown resource: a://b"),
        (0, "Unknown resource: a://b"),
        (-32603, "ENOENT: no such file or directory"),
    ] {
        assert_eq!(refused(code, message, None), Meaning::NotFound, "{code} {message}");
    }
    assert_eq!(refused(-32602, "bad", Some(r#"{"uri":"a://b"}"#)), Meaning::NotFound);
}

#[test]
fn words_count_where_they_speak_of_what_was_asked_for() {
    let means = |message: &str| {
        let message = message.to_owned();
        let refused = SourceError::Refused { code: -32603, message, data: None };
        refused.meaning(Some("file:///notes/Plan.md"))
    };
    for message in [
        "Resource not found",
        "Not found.",
        "MCP error -32603: Resource not found: 17",
        "The requested resource was not found",
        "Document abc does not exist",
        "ENOENT: no such file or directory, open '/srv/notes/plan.md'",
        "[Errno 2] No such file or directory: '/srv/notes/Plan.md'",
        "cannot read file:///notes/Plan.md: it does not exist",
    ] {
        assert_eq!(means(message), Meaning::NotFound, "{message}");
    }
    for message in [
        "Get \"https://api.example/plan.md\": dial tcp: lookup api.example: no such host",
        "OperationalError: no such column: owner",
        "config file /etc/x not found",
        "ENOENT: no such file or directory, open '/etc/server.json'",
        "file not found: /etc/server.json",
        "role \"reader\" does not exist",
    ] {
        assert_ne!(means(message), Meaning::NotFound, "{message}");
    }
}

#[test]
fn a_name_is_known_by_its_number_and_without_its_escapes() {
    for (uri, message, is_it) in [
        ("user://5", "User 5 not found", true),
        ("user://5", "column 55 does not exist", false),
        ("user://a", "a host does not exist", false),
        ("file:///My%20Plan.md", "cannot open '/srv/my plan.md': it does not exist", true),
        ("user://5", "User not found", true),
        ("app://notes/5", "Error: Note was not found.", true),
        ("app://notes/5", "config not found", false),
        ("gh://o/r/issues/5", "GitHub API error: 404 Not Found", true),
        ("gh://o/r/issues/5", "HTTP 404: Not Found", true),
        ("s3://bucket/x", "The specified key does not exist.", true),
        ("sqlite://db/ghosts", "no such table: ghosts", true),
        ("sqlite://db/owner", "no such table: x_owner", false),
        ("http://api/plan", "lookup plan: no such host", false),
        (
            "docs://a/report",
            "Error reading resource docs://a/report: [Errno 2] No such file or directory: '/srv/report.md'",
            true,
        ),
        (
            "docs://report",
            "Error reading resource docs://report: [Errno 2] No such file or directory: '/etc/creds.json'",
            false,
        ),
        (
            "docs://t/5",
            "Error reading resource docs://t/5: HTTPConnectionPool: host not found",
            false,
        ),
        ("notes://5", "Failed to read notes://5: config.json not found", false),
        ("notes://5", "Failed to read 'notes://5': not found", true),
        ("notes://5", "read notes://5: database \"app\" does not exist", false),
        ("notes://5", "error 5: library libfoo.so.5 not found", false),
        ("notes://5", "Internal error at line 5: module 'x' does not exist", false),
        ("notes://5", "Note '5' not found", true),
        ("docs://guide", r"[Errno 2] No such file or directory: 'C:\srv\guide.md'", true),
        ("docs://t/home", "ENOENT: no such file or directory, open '/home/app/config.json'", false),
        ("docs://t/forbidden", "Unknown resource: docs://t/forbidden", true),
        ("docs://t/access%20denied", "Unknown resource: docs://t/access denied", true),
        ("docs://t/eacces", "Resource not found: docs://t/eacces", true),
        ("db:///a/no module.md", "Unknown resource: db:///a/no module.md", true),
    ] {
        let refused = SourceError::Refused { code: 0, message: message.into(), data: None };
        assert_eq!(refused.means_absence_of(uri), is_it, "{uri}: {message}");
    }
}

#[test]
fn the_name_of_a_resource_says_nothing_of_how_its_read_went() {
    for (uri, message, meaning) in [
        ("docs://t/timeout", "cannot parse docs://t/timeout", Meaning::Unknown),
        ("docs://t/forbidden", "cannot parse forbidden", Meaning::Unknown),
        ("notes://forbidden", "Note forbidden not found", Meaning::NotFound),
        ("notes://rate%20limit%20exceeded", "broken: rate limit exceeded", Meaning::Unknown),
        ("notes://timeout", "timeout", Meaning::Passing),
        ("notes://5", "cannot parse 'forbidden'", Meaning::Unknown),
        ("notes://5", "Category 'access denied' not found", Meaning::NotFound),
        ("notes://5", "boom at https://api.example/unauthorized/404", Meaning::Unknown),
    ] {
        let message = message.to_owned();
        let refused = SourceError::Refused { code: -32603, message, data: None };
        assert_eq!(refused.meaning(Some(uri)), meaning, "{uri}: {refused}");
    }
}

#[test]
fn a_command_that_a_sentence_asks_for_speaks_for_the_server() {
    for (message, meaning) in [
        ("Please run `gh auth login` first", Meaning::WhoAreYou),
        ("Please run 'az login' to setup account.", Meaning::WhoAreYou),
        ("no session yet. You can use \"vault login\", then ask again", Meaning::WhoAreYou),
        ("`gcloud auth login` must be run before this works", Meaning::WhoAreYou),
        ("cannot parse the report of `gh auth login`", Meaning::Unknown),
        ("could not use `access denied report`", Meaning::Unknown),
        ("Note `please log in` not found", Meaning::NotFound),
    ] {
        assert_eq!(refused(-32603, message, None), meaning, "{message}");
    }
}

#[test]
fn words_that_tell_no_reason_tell_none() {
    for message in [
        "Internal error",
        "MCP error -32603: Internal error",
        "Unhandled error",
        "Failed to load resource",
        "Could not load notes.md",
        "error: exit status 1",
    ] {
        assert_eq!(refused(-32603, message, None), Meaning::Unknown, "{message}");
    }
    for message in [
        "net/http: TLS handshake timeout",
        "remote error: tls: handshake timeout",
        "EMFILE: too many open files, open a.md",
        "OSError: [Errno 23] Too many open files in system",
    ] {
        assert_eq!(refused(-32603, message, None), Meaning::Passing, "{message}");
    }
    let login = "Could not load the default credentials. Browse to https://cloud.example/docs";
    assert_eq!(refused(-32603, login, None), Meaning::WhoAreYou);
    // So Trove words an error that is none.
    assert_eq!(refused(-32603, "the error itself was malformed", None), Meaning::OwnFault);
    let library = "Could not load the native library sqlite3";
    assert_eq!(refused(-32603, library, None), Meaning::OwnFault);
}

#[test]
fn evidence_counts_in_its_order() {
    for (code, message, data, meaning) in [
        // A number of JSON-RPC before words.
        (-32002, "permission denied", None, Meaning::NotFound),
        (-32602, "boom", None, Meaning::BadArgument),
        (-32602, "Access denied", None, Meaning::Forbidden),
        (-32603, "MCP error -32602: boom", None, Meaning::BadArgument),
        (429, "boom", None, Meaning::Passing),
        // A status before words, unless it is a vague one.
        (-32603, "HTTP 404: permission denied", None, Meaning::NotFound),
        (-32603, "HTTP 500: connection refused", None, Meaning::Passing),
        (-32603, "403: API rate limit exceeded", None, Meaning::Passing),
        // `data` before words.
        (-32603, "boom", Some(r#"{"status":503}"#), Meaning::Passing),
        (-32603, "boom", Some(r#"{"retryable":true}"#), Meaning::Passing),
        (-32603, "boom", Some(r#"{"code":"ACCESS_DENIED"}"#), Meaning::Forbidden),
        (-32603, "boom", Some(r#"{"path":"forbidden"}"#), Meaning::Unknown),
        // As axios, GraphQL and Google nest it.
        (-32603, "boom", Some(r#"{"data":{"response":{"status":403}}}"#), Meaning::Forbidden),
        (
            -32603,
            "boom",
            Some(r#"{"errors":[{"extensions":{"code":"UNAUTHENTICATED"}}]}"#),
            Meaning::WhoAreYou,
        ),
        (-32603, "boom", Some(r#"{"error":{"details":[{"code":429}]}}"#), Meaning::Passing),
        // Names before words.
        (-32603, "ThrottlingException: no access", None, Meaning::Passing),
        (-32603, "PermissionError: note not found", None, Meaning::Forbidden),
    ] {
        assert_eq!(refused(code, message, data), meaning, "{code} {message} {data:?}");
    }
}

#[test]
fn a_text_that_tells_nothing_is_not_guessed_at() {
    for message in [
        "boom",
        "",
        "Error",
        "E1234",
        "The sky fell",
        "Failed to read resource",
        "17",
        "Something went wrong",
        "Oops! Something went wrong.",
        "An unexpected error occurred",
        "Unknown error",
    ] {
        assert_eq!(refused(-32603, message, None), Meaning::Unknown, "{message}");
        assert!(Meaning::Unknown.may_pass(), "worth one more try");
    }
}

#[test]
fn a_method_that_is_missing_stays_missing() {
    assert_eq!(refused(-32601, "Method not found", None), Meaning::Hopeless);
    assert_eq!(refused(-32800, "cancelled", None), Meaning::Cancelled);
}

#[test]
fn the_reason_of_an_outage_tells_who_must_act_whatever_its_words() {
    for (why, meaning) in [
        (Why::Passing, Meaning::Passing),
        (Why::AsksWho, Meaning::WhoAreYou),
        (Why::NotBelieved, Meaning::WhoAreYou),
        (Why::of_status(401), Meaning::WhoAreYou),
        (Why::of_status(403), Meaning::Forbidden),
        (Why::of_status(502), Meaning::Passing),
        (Why::Unapproved, Meaning::Hopeless),
        (Why::Misconfigured, Meaning::Hopeless),
        (Why::Gone, Meaning::Hopeless),
    ] {
        // Words of a server, which say something else.
        let told = "HTTP status 401: `npx` is not on the PATH; try again in a minute";
        let error = SourceError::Unavailable(Outage::new(why, told));
        assert_eq!(error.meaning(None), meaning, "{why:?}");
        let masked = error.without_cause(None).expect("it has words");
        assert_eq!(masked.meaning(None), meaning, "masked: {why:?}");
        assert!(!masked.to_string().contains("npx"), "{masked}");
    }
}

#[test]
fn a_hostile_text_is_read_in_bounded_work() {
    for text in [
        "(".repeat(100_000),
        "'a ".repeat(50_000),
        "\u{130}a://".repeat(20_000),
        "\"".repeat(9_000),
    ] {
        let _ = refused(-32603, &text, None);
    }
    let deep = format!("{}1{}", r#"{"error":"#.repeat(100), "}".repeat(100));
    assert_eq!(refused(-32603, "boom", Some(&deep)), Meaning::Unknown);
}

const LABELS: [&str; 6] =
    ["absent", "passing", "who-are-you", "not-allowed", "bad-argument", "own-fault"];
const LEAST_PRECISION: f64 = 0.95;
const LEAST_RECALL: f64 = 0.85;
const LEAST_ROWS: usize = 400;

/// One text of the corpus.
struct Row {
    label: String,
    said: String,
    code: i64,
    uri: Option<String>,
    is_judge: bool,
}

/// The corpus, in files of one JSON object a line.
fn corpus() -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/failures/rows");
    let mut rows = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        rows.extend(text.lines().map(row_of));
    }
    rows
}

fn row_of(line: &str) -> Row {
    let row: Value = serde_json::from_str(line).unwrap();
    let said = row["said"].as_str().unwrap().to_owned();
    // Rows of one group are near duplicates and fall into one half.
    let group = row["group"].as_str().unwrap_or(&said);
    Row {
        label: row["class"].as_str().unwrap().to_owned(),
        code: row["code"].as_i64().unwrap_or(-32603),
        uri: row["uri"].as_str().map(ToOwned::to_owned),
        is_judge: fnv(&gist(group)) >> 63 == 1,
        said,
    }
}

static URIS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"[a-z]+://[^\s'"]+"#).unwrap());
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]+").unwrap());
static OTHERS: LazyLock<Regex> = LazyLock::new(|| Regex::new("[^a-z0]+").unwrap());

/// A text without its numbers and URIs, as `record/half.py` has it.
fn gist(said: &str) -> String {
    let lower = said.to_lowercase();
    let text = URIS.replace_all(&lower, "u");
    let text = NUMBERS.replace_all(&text, "0");
    OTHERS.replace_all(&text, " ").trim().to_owned()
}

fn fnv(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    text.bytes().fold(0xCBF2_9CE4_8422_2325, step)
}

fn label_of(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::NotFound => "absent",
        Meaning::Passing => "passing",
        Meaning::WhoAreYou => "who-are-you",
        Meaning::Forbidden => "not-allowed",
        Meaning::BadArgument => "bad-argument",
        Meaning::OwnFault | Meaning::Hopeless => "own-fault",
        _ => "unknown",
    }
}

/// Rules are written with one half in view, and judged on the other.
#[test]
fn the_judging_half_of_the_corpus_is_told_apart() {
    let rows = corpus();
    assert!(rows.len() >= LEAST_ROWS, "{} rows", rows.len());
    let mut told: BTreeMap<(bool, String, &str), usize> = BTreeMap::new();
    for row in rows {
        let error = SourceError::Refused { code: row.code, message: row.said, data: None };
        let got = label_of(error.meaning(row.uri.as_deref()));
        *told.entry((row.is_judge, row.label, got)).or_default() += 1;
    }
    let mut figures = String::new();
    let mut misses = Vec::new();
    for (is_judge, half) in [(false, "built"), (true, "judged")] {
        for label in LABELS {
            let count = |is_counted: &dyn Fn(&str, &str) -> bool| -> f64 {
                let counted = told
                    .iter()
                    .filter(|((of, want, got), _)| *of == is_judge && is_counted(want, got));
                counted.map(|(_, count)| *count as f64).sum()
            };
            let right = count(&|want, got| want == label && got == label);
            let all = count(&|want, _| want == label);
            let precision = right / count(&|_, got| got == label);
            let recall = right / all;
            let _ = writeln!(
                figures,
                "{half:6} {label:12} {all:4} rows  precision {precision:.3}  recall {recall:.3}"
            );
            if is_judge && (precision < LEAST_PRECISION || recall < LEAST_RECALL) {
                misses.push(label);
            }
        }
    }
    println!("{figures}");
    assert!(misses.is_empty(), "{misses:?} miss the bar:\n{figures}");
}
