//! Runs the tests of the matrix and reads how each ended, from the report that nextest writes.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context as _;

use crate::steps;

/// The profile of `.config/nextest.toml` that writes the report, and where it does.
const PROFILE: &str = "faults";
const REPORT: &str = "target/nextest/faults/report.xml";

/// Runs every test that is named like a row. One that fails is a result too.
pub(super) fn run() -> anyhow::Result<()> {
    steps::run("build", &mut steps::cargo(&["build", "--workspace"]))?;
    let _ = fs::remove_file(steps::root().join(REPORT));
    let filter = "test(/(^|::)t[0-9][0-9]_/)";
    let arguments = ["nextest", "run", "--workspace", "--profile", PROFILE, "-E", filter];
    let status = steps::cargo(&arguments).status().context("cargo nextest cannot be started")?;
    anyhow::ensure!(
        status.success() || steps::root().join(REPORT).exists(),
        "the tests could not be run"
    );
    Ok(())
}

/// Whether each test passed, by its own name without the modules.
pub(super) fn read() -> anyhow::Result<BTreeMap<String, bool>> {
    let report = fs::read_to_string(steps::root().join(REPORT)).with_context(|| {
        format!("{REPORT} is not there; run `cargo xtask faults` without --last")
    })?;
    Ok(parse(&report))
}

/// The report is ours alone, so only the form of nextest is understood. It has one element for a
/// test, with a `failure` or an `error` in it if it did not pass.
fn parse(report: &str) -> BTreeMap<String, bool> {
    let mut results = BTreeMap::new();
    for case in report.split("<testcase ").skip(1) {
        let Some(name) = case.split("name=\"").nth(1).and_then(|rest| rest.split('"').next())
        else {
            continue;
        };
        let name = name.rsplit("::").next().unwrap_or(name);
        let case = case.split("</testcase>").next().unwrap_or(case);
        let has_passed = !case.contains("<failure") && !case.contains("<error");
        results.insert(name.to_owned(), has_passed);
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_from_what_passed() {
        let report = r#"<testsuites name="x"><testsuite name="trove::it">
            <testcase name="faults::odd::t01_a" classname="trove::it" time="1"></testcase>
            <testcase name="t02_b" classname="c"><failure message="no"/><system-out>"t"</system-out></testcase>
            <testcase name="m::t03_c" classname="c" time="1"/>
        </testsuite></testsuites>"#;
        let results: Vec<(String, bool)> = parse(report).into_iter().collect();
        let expected = [("t01_a", true), ("t02_b", false), ("t03_c", true)];
        assert_eq!(results, expected.map(|(name, passed)| (name.to_owned(), passed)));
    }
}
