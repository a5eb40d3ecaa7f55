//! The fault matrix: which tests show which row, and the page that publishes how they ended.
//!
//! A test belongs to the row with whose number its name begins. The texts of the rows stand in
//! `matrix.toml`. The tests are found in the sources, so a row without tests is noticed without
//! running anything.

mod results;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, bail};
use clap::Args;
use serde::Deserialize;

use crate::steps;

const MATRIX: &str = "crates/trove/tests/it/faults/matrix.toml";
const PAGE: &str = "docs/faults.md";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run nothing: read the results of the last run
    #[arg(long)]
    last: bool,
}

/// One row, in our own words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The fault that is made.
    fault: String,
    /// The promise that holds all the same.
    holds: String,
    /// The part of it that no test shows yet.
    lacks: Option<String>,
}

type Matrix = BTreeMap<String, Row>;
/// The names of the tests of each row.
type Tests = BTreeMap<String, Vec<String>>;

/// Runs the tests of the matrix and writes the page from their results.
pub(crate) fn faults(options: &Options) -> anyhow::Result<()> {
    let (matrix, tests) = (read_matrix()?, find_tests()?);
    check_rows(&matrix, &tests)?;
    if !options.last {
        results::run()?;
    }
    let results = results::read()?;
    let missing: Vec<&str> = all(&tests).filter(|name| !results.contains_key(*name)).collect();
    if !missing.is_empty() {
        bail!("these tests have no result: {}", missing.join(", "));
    }
    let page = page(&matrix, &tests, &results);
    fs::write(steps::root().join(PAGE), page).with_context(|| format!("cannot write {PAGE}"))?;
    eprintln!("wrote {PAGE}");
    let failed: Vec<&str> = all(&tests).filter(|name| !results[*name]).collect();
    if !failed.is_empty() {
        bail!("{} tests of the matrix failed: {}", failed.len(), failed.join(", "));
    }
    Ok(())
}

/// Fails unless every row is shown and the page is that of these tests, all of which passed.
pub(crate) fn check() -> anyhow::Result<()> {
    let (matrix, tests) = (read_matrix()?, find_tests()?);
    check_rows(&matrix, &tests)?;
    let passed = all(&tests).map(|name| (name.to_owned(), true)).collect();
    let found = fs::read_to_string(steps::root().join(PAGE)).unwrap_or_default();
    if found != page(&matrix, &tests, &passed) {
        bail!("{PAGE} is not what the tests of today give; run `cargo xtask faults`");
    }
    Ok(())
}

fn all(tests: &Tests) -> impl Iterator<Item = &str> {
    tests.values().flatten().map(String::as_str)
}

fn read_matrix() -> anyhow::Result<Matrix> {
    let text = fs::read_to_string(steps::root().join(MATRIX)).context(MATRIX)?;
    toml::from_str(&text).context(MATRIX)
}

/// Every test in the sources whose name begins with the number of a row.
fn find_tests() -> anyhow::Result<Tests> {
    let mut tests = Tests::new();
    for file in crate::tidy::sources_of_crates()? {
        for name in names_in(&file) {
            let row = name.split('_').next().unwrap_or_default().to_owned();
            tests.entry(row).or_default().push(name);
        }
    }
    for names in tests.values_mut() {
        names.sort();
    }
    Ok(tests)
}

/// The functions of a source that are named like a row.
fn names_in(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in source.match_indices("fn t") {
        let name: String = source[at + 3..]
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_')
            .collect();
        let number = name.as_bytes().get(1..4);
        let is_row =
            number.is_some_and(|n| n[0].is_ascii_digit() && n[1].is_ascii_digit() && n[2] == b'_');
        if is_row {
            names.push(name);
        }
    }
    names
}

fn check_rows(matrix: &Matrix, tests: &Tests) -> anyhow::Result<()> {
    let mut faults = Vec::new();
    let rows = matrix.len();
    for number in 1..=rows {
        let id = format!("t{number:02}");
        if !matrix.contains_key(&id) {
            faults.push(format!("{id} is missing in {MATRIX}"));
        }
    }
    for (id, row) in matrix {
        if row.lacks.is_none() && !tests.contains_key(id) {
            faults.push(format!("{id} has no test"));
        }
    }
    for id in tests.keys().filter(|id| !matrix.contains_key(*id)) {
        faults.push(format!("there is no row {id}"));
    }
    let mut names: Vec<&str> = all(tests).collect();
    names.sort_unstable();
    for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
        faults.push(format!("two tests are called {}", pair[0]));
    }
    if !faults.is_empty() {
        bail!("the fault matrix is not whole:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

fn page(matrix: &Matrix, tests: &Tests, results: &BTreeMap<String, bool>) -> String {
    let mut text = String::from(
        "# What was done to Trove, and what it did\n\n\
         Made by `cargo xtask faults` from the results of the tests; not edited by hand. Each test\n\
         does what the row says to the real program, or to the part the row is about.\n",
    );
    let shown = matrix.keys().filter(|id| tests.contains_key(*id)).count();
    let open = matrix.values().filter(|row| row.lacks.is_some()).count();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "\n{shown} of {} rows are shown by {} tests; {open} say what is not shown yet.",
        matrix.len(),
        all(tests).count()
    );
    for (id, row) in matrix {
        let _ = write!(
            text,
            "\n## {} {}\n\n{}.\n",
            id.to_uppercase(),
            capital(&row.fault),
            capital(&row.holds)
        );
        if let Some(lacks) = &row.lacks {
            let _ = writeln!(text, "\nNot shown yet: {lacks}.");
        }
        let names = tests.get(id).map(Vec::as_slice).unwrap_or_default();
        if !names.is_empty() {
            text.push('\n');
        }
        for name in names {
            let mark =
                if results.get(name).copied().unwrap_or(false) { "passed" } else { "FAILED" };
            let _ = writeln!(text, "- {mark}: `{name}`");
        }
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_number_are_rows() {
        // Spelt so that this text is no test itself.
        let source = "fn @01_a() {} async fn @50_b_c() {} fn @1_x() {} fn @ake() fn @012_y()";
        let source = &source.replace('@', "t");
        assert_eq!(names_in(source), ["t01_a", "t50_b_c"]);
    }

    #[test]
    fn a_row_without_a_test_is_noticed_unless_it_says_why() {
        let matrix = read_matrix().unwrap();
        let error = check_rows(&matrix, &Tests::new()).unwrap_err().to_string();
        assert!(error.contains("t04 has no test") && !error.contains("t43"), "{error}");
    }

    #[test]
    fn t46_every_package_is_from_the_registry_and_pinned() {
        let lock = fs::read_to_string(steps::root().join("Cargo.lock")).unwrap();
        for package in lock.split("[[package]]").skip(1) {
            let name = package.lines().find(|line| line.starts_with("name")).unwrap_or_default();
            let source = package.lines().find(|line| line.starts_with("source = "));
            let Some(source) = source else {
                let is_ours = name.contains("\"trove") || name.contains("\"xtask\"");
                assert!(is_ours, "{name} comes from nowhere");
                continue;
            };
            assert!(
                source.contains("registry+https://github.com/rust-lang/crates.io-index"),
                "{name}: {source}"
            );
            assert!(package.contains("\nchecksum = "), "{name} is not pinned");
        }
    }
}
