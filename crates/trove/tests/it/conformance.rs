//! The official conformance suite, run through Trove onto a server that passes it alone.
//!
//! A check that fails here is therefore lost or changed on the way. Scenarios that must fail are
//! listed with their reason in tests/peers/conformance-expected.json. A listed scenario that passes
//! fails the test too, so that the list stays true.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::peers::drivers::{Client, Era, Target, Until, node, npm_script, scripts, survey};
use crate::peers::processes::{Trove, free_port, printed_by, sibling_program};

/// A whole run takes a quarter of a minute; a scenario that hangs is cut off by the suite.
const SUITE_LIMIT: Duration = Duration::from_secs(280);

#[test]
fn the_modern_revision_through_trove() {
    // The number of scenarios shows that the suite ran whole.
    check("2026-07-28", Era::Modern, 37);
}

#[test]
fn the_last_legacy_revision_through_trove() {
    check("2025-11-25", Era::Legacy, 30);
}

#[test]
fn the_skills_extension_through_trove() {
    check_skills(&Front::start(Era::Modern));
}

#[test]
fn the_skills_extension_of_trove_itself() {
    check_skills(&Front::with_skills());
}

/// Reads every file of every skill and compares what it holds with its digest.
#[test]
fn the_inspector_verifies_the_skills_of_a_guide() {
    let front = Front::with_skills();
    for era in ["modern", "legacy"] {
        let mut command = Command::new(node());
        command
            .arg(npm_script("inspector/clients/launcher/build/index.js"))
            .args(["--cli", &format!("http://127.0.0.1:{}/mcp", front.port)])
            .args(["--transport", "http", "--protocol-era", era, "--format", "json", "-q"])
            .args(["--method", "skills/list", "--verify"])
            // It writes a catalogue into its home.
            .env("HOME", front.folder.path());
        let printed = printed_by(&mut command, SUITE_LIMIT);
        assert!(printed.succeeded, "{era}: {}\n{}", printed.stdout, printed.stderr);
        let verified: Vec<Value> = printed
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("the inspector prints JSON"))
            .collect();
        assert_eq!(verified.len(), 2, "{era}: {}", printed.stdout);
        for skill in verified {
            assert_eq!((&skill["ok"], &skill["outcome"]), (&json!(true), &json!("verified")));
            let files = skill["files"].as_array().expect("a skill has files");
            assert!(files.iter().all(|file| file["status"] == "verified"), "{skill}");
        }
    }
}

#[track_caller]
fn check_skills(front: &Front) {
    for scenario in ["enumeration", "manifest", "directory"] {
        let scenario = format!("sep-2640-skills-{scenario}");
        let printed = front.run_suite(&["--scenario", &scenario]);
        let verdict = printed.lines().find(|line| line.starts_with("Passed:")).unwrap_or_default();
        let is_clean = verdict.ends_with(", 0 failed, 0 warnings") && !verdict.contains(" 0/0");
        assert!(is_clean, "{scenario}: {verdict:?}\n{printed}");
    }
}

/// Folders of a guide that are skills, with files of every kind.
const SKILLS: [(&str, &[u8]); 5] = [
    (
        "tidy-notes/SKILL.md",
        b"---\nname: tidy-notes\ndescription: Sort and shorten a pile of notes.\n---\n\nRead `references/style.md`.\n",
    ),
    ("tidy-notes/references/style.md", b"# Style\n\nOne thought per line.\n"),
    ("tidy-notes/logo.bin", b"\x00\x01\xff\xfe"),
    ("tidy-notes/a name with blanks.txt", b"Caf\xc3\xa9\n"),
    (
        "weigh-words/SKILL.md",
        b"---\nname: weigh-words\ndescription: Another one.\nallowed-tools: [a, b]\n---\nDo it.\n",
    ),
];

/// Trove in front of the conformance server, its fixtures listed.
struct Front {
    folder: tempfile::TempDir,
    port: u16,
    _trove: Trove,
}

impl Front {
    fn start(era: Era) -> Front {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let config = folder.path().join("trove.toml");
        std::fs::write(&config, trove_toml()).expect("the configuration can be written");
        let port = free_port();
        let trove = Trove::serve_http(port, &config, folder.path());
        // The suite would count an upstream that is still starting as missing fixtures.
        survey(Client::TsV2, era, &Target::http(port).once(Until::Tool("test_simple_text")), &[]);
        Front { folder, port, _trove: trove }
    }

    /// Trove with skills in its own guide and no server.
    fn with_skills() -> Front {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let config = folder.path().join("trove.toml");
        std::fs::write(&config, "").expect("the configuration can be written");
        for (path, bytes) in SKILLS {
            let path = folder.path().join("guide/skills").join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            std::fs::write(path, bytes).expect("the file can be written");
        }
        let port = free_port();
        let trove = Trove::serve_http(port, &config, folder.path());
        Front { folder, port, _trove: trove }
    }

    /// Runs the suite and gives what it printed. It exits with 1 whenever a scenario
    /// fails, expected or not, so that its words decide.
    fn run_suite(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(node());
        command
            .arg(npm_script("conformance/dist/index.js"))
            .args(["server", "--url", &format!("http://127.0.0.1:{}/mcp", self.port)])
            .args(arguments);
        printed_by(&mut command, SUITE_LIMIT).stdout
    }
}

#[track_caller]
fn check(revision: &str, era: Era, scenarios: usize) {
    let front = Front::start(era);
    let results = front.folder.path().join("results");
    let folder = results.to_str().expect("temporary paths are UTF-8");
    let printed = front.run_suite(&["--requirements", revision, "-o", folder]);
    let summary = printed.split_once("=== SUMMARY ===").map(|(_, summary)| summary.to_owned());
    let summary = summary.unwrap_or_else(|| panic!("the suite printed no summary\n{printed}"));
    let verdicts = scored(&summary);
    assert_eq!(verdicts.len(), scenarios, "scored scenarios of {revision}\n{summary}");
    let complaints =
        complaints(&verdicts, &expected_failures(revision), |scenario| reasons(&results, scenario));
    assert!(complaints.is_empty(), "{revision} through Trove:\n{}", complaints.join("\n"));
}

fn trove_toml() -> String {
    let upstream = sibling_program("conformance-upstream");
    let upstream = upstream.to_str().expect("the target folder is UTF-8");
    // No prefix: the suite looks for its fixtures under their own names.
    format!(
        "[servers.conf]\ncommand = {}\nargs = [\"--stdio\"]\nexpose = \"all\"\ntool_prefix = \"\"\n",
        json!(upstream)
    )
}

/// Every scored scenario of a summary, and whether all its checks passed.
fn scored(summary: &str) -> BTreeMap<String, bool> {
    let mut verdicts = BTreeMap::new();
    let mut is_unscored = false;
    for line in summary.lines() {
        is_unscored |= line.starts_with("Not scored");
        let Some((mark, rest)) =
            line.trim().split_once(' ').filter(|(mark, _)| ["✓", "✗"].contains(mark))
        else {
            continue;
        };
        let name = rest.split([':', ' ']).next().unwrap_or(rest);
        // Scenarios that do not count stand among the others first and are named again below.
        if is_unscored {
            verdicts.remove(name);
        } else {
            // The suite ticks a scenario too in which nothing at all was checked.
            verdicts.insert(name.to_owned(), mark == "✓" && !rest.contains(": 0 passed"));
        }
    }
    verdicts
}

fn expected_failures(revision: &str) -> BTreeMap<String, String> {
    let path = scripts().join("conformance-expected.json");
    let text = std::fs::read_to_string(&path).expect("the list of expected failures can be read");
    let lists: Value = serde_json::from_str(&text).expect("the list of expected failures is JSON");
    let list = lists[revision].as_object().expect("the list has an object for every revision");
    let entry = |(scenario, reason): (&String, &Value)| {
        let reason = reason.as_str().filter(|reason| !reason.is_empty());
        (scenario.clone(), reason.unwrap_or_else(|| panic!("{scenario} has no reason")).to_owned())
    };
    list.iter().map(entry).collect()
}

/// Unexpected failures, and expectations that no longer hold.
fn complaints(
    verdicts: &BTreeMap<String, bool>,
    expected: &BTreeMap<String, String>,
    reasons: impl Fn(&str) -> String,
) -> Vec<String> {
    let failed =
        verdicts.iter().filter(|(name, passed)| !**passed && !expected.contains_key(*name));
    let failed = failed.map(|(name, _)| format!("{name} fails: {}", reasons(name)));
    let stale = expected.keys().filter_map(|name| match verdicts.get(name) {
        Some(true) => Some(format!("{name} passes, but is listed as an expected failure")),
        Some(false) => None,
        None => Some(format!("{name} is listed as an expected failure, but is not scored")),
    });
    failed.chain(stale).collect()
}

/// The failed checks of a scenario, from the folder the suite wrote for it.
fn reasons(results: &Path, scenario: &str) -> String {
    let prefix = format!("server-{scenario}-");
    let folders = std::fs::read_dir(results).into_iter().flatten().filter_map(Result::ok);
    let mut said = Vec::new();
    for folder in folders {
        let name = folder.file_name().to_string_lossy().into_owned();
        // The rest of the name is a time, or this is a scenario with a longer name.
        if !name.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with("20")) {
            continue;
        }
        let text = std::fs::read_to_string(folder.path().join("checks.json")).unwrap_or_default();
        let checks: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        for check in checks.iter().filter(|check| check["status"] == "FAILURE") {
            said.push(format!("{}: {} {}", check["id"], check["errorMessage"], check["details"]));
        }
    }
    said.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\n✓ ping: 2 passed, 0 failed\n✗ tools-list: 1 passed, 1 failed\n\
        ✗ json-schema-2020-12: 1 passed, 1 failed\n\nTotal: 4 passed, 2 failed\n\n\
        Not scored for 2025-11-25: 1 scenario(s) run, 1 failing. These do not affect conformance.\n\
        \u{20} ✗ json-schema-2020-12 (pending)\n";

    #[track_caller]
    fn check_complaints(expected: &[&str], wanted: &[&str]) {
        let expected =
            expected.iter().map(|&name| (name.to_owned(), "a reason".to_owned())).collect();
        assert_eq!(complaints(&scored(SUMMARY), &expected, |_| "why".to_owned()), wanted);
    }

    #[test]
    fn a_failure_is_a_complaint_unless_it_is_expected() {
        check_complaints(&[], &["tools-list fails: why"]);
        check_complaints(&["tools-list"], &[]);
    }

    #[test]
    fn an_expectation_that_no_longer_holds_is_a_complaint() {
        let stale = "ping passes, but is listed as an expected failure";
        let unknown = "json-schema-2020-12 is listed as an expected failure, but is not scored";
        check_complaints(&["tools-list", "ping"], &[stale]);
        check_complaints(&["tools-list", "json-schema-2020-12"], &[unknown]);
    }
}
