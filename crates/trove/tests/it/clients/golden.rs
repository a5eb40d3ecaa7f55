//! Each client's file before, with Trove, and without it again, byte for byte.
//!
//! `golden/CLIENT/CASE` holds `before`, `installed` and `uninstalled`; a file that is not
//! there is told by a name ending in `.absent`. The path of the program stands as `TROVE`.
//! With `TROVE_BLESS=1` set, the last two are written anew; look at them before you commit.

use std::{fs, path::Path};

use super::{FILES, Home, file_of};

#[test]
fn every_client_has_golden_files() {
    for (client, _) in FILES {
        assert!(golden().join(client).is_dir(), "{client}");
    }
}

macro_rules! clients {
    ($($test:ident = $client:literal,)*) => {
        $(#[test] fn $test() { check($client); })*
    };
}

clients! {
    claude_desktop = "claude-desktop",
    claude_code = "claude-code",
    cursor = "cursor",
    vs_code = "vscode",
    windsurf = "windsurf",
    zed = "zed",
    codex = "codex",
    gemini = "gemini",
    cline = "cline",
    of_continue = "continue",
    goose = "goose",
    opencode = "opencode",
}

fn golden() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/golden")
}

fn check(client: &str) {
    let mut cases = 0;
    for case in fs::read_dir(golden().join(client)).expect("there are cases") {
        check_case(client, &case.expect("a case").path());
        cases += 1;
    }
    assert!(cases > 0, "{client} has no case");
}

fn check_case(client: &str, case: &Path) {
    let home = Home::new();
    let file = home.path().join(file_of(client));
    let before = fs::read(case.join("before")).ok();
    if let Some(before) = &before {
        home.write(file_of(client), before);
    }
    let shown = case.display();
    let install = ["install", "--client", client];
    let first = home.run(&install);
    assert_eq!(first.code, Some(0), "{shown}: {first:?}");
    let installed = fs::read(&file).ok();
    compare(case, "installed", &installed);

    let again = home.run(&install);
    assert!(again.stdout.contains("already there"), "{shown}: {again:?}");
    assert_eq!(fs::read(&file).ok(), installed, "{shown}: a second time changes nothing");

    let out = home.run(&["uninstall", "--client", client]);
    assert_eq!(out.code, Some(0), "{shown}: {out:?}");
    let uninstalled = fs::read(&file).ok();
    compare(case, "uninstalled", &uninstalled);
    let again = home.run(&["uninstall", "--client", client]);
    assert!(again.stdout.contains("nothing to do"), "{shown}: {again:?}");
    assert_eq!(fs::read(&file).ok(), uninstalled, "{shown}: a second time changes nothing");
}

fn compare(case: &Path, name: &str, found: &Option<Vec<u8>>) {
    let program = env!("CARGO_BIN_EXE_trove");
    let found = found.as_ref().map(|bytes| {
        String::from_utf8(bytes.clone()).expect("clients' files are text").replace(program, "TROVE")
    });
    let (there, absent) = (case.join(name), case.join(format!("{name}.absent")));
    if std::env::var_os("TROVE_BLESS").is_some() {
        let _ = (fs::remove_file(&there), fs::remove_file(&absent));
        match &found {
            Some(text) => fs::write(&there, text),
            None => fs::write(&absent, ""),
        }
        .expect("a golden file can be written");
    }
    assert!(there.exists() || absent.exists(), "{}: no golden {name}", case.display());
    assert_eq!(found, fs::read_to_string(&there).ok(), "{}: {name}", case.display());
}
