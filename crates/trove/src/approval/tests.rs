//! Changes that an approval survives or not, and how approvals are kept.

use std::{fs, os::unix::fs::PermissionsExt as _};

use tempfile::TempDir;
use trove_core::state_file::StateError;

use super::*;
use crate::config::{EnvLookup, HostScope, Overrides, Request, load};

/// An environment with a `PATH` and nothing else.
struct Env(String);

impl EnvLookup for &Env {
    fn get(&self, name: &str) -> Option<String> {
        (name == "PATH").then(|| self.0.clone())
    }
}

/// A project in a folder, with a program of its own and one on the `PATH`.
struct Lab {
    dir: TempDir,
    env: Env,
}

impl Lab {
    fn new() -> Lab {
        let dir = TempDir::new().unwrap();
        let lab = Lab { env: Env(dir.path().join("bin").display().to_string()), dir };
        for program in ["bin/tool", "project/serve.sh"] {
            lab.program(program, "#!/bin/sh\n");
        }
        lab
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn load(&self, toml: &str) -> Loaded {
        fs::write(self.project().join("trove.toml"), toml).unwrap();
        let (cwd, env) = (self.project(), &&self.env);
        let loaded = load(&Request { explicit: None, cwd, env, flags: Overrides::default() });
        assert!(loaded.is_usable(), "{:?}", loaded.problems);
        loaded
    }

    fn verdict(&self, toml: &str) -> Verdict {
        let loaded = self.load(toml);
        let approvals = Approvals::load(self.dir.path()).unwrap();
        let scope = HostScope::new(&self.env, self.project());
        let [candidate] = &judge(&loaded, &approvals, &scope)[..] else { panic!("one server") };
        candidate.verdict.clone()
    }

    fn approve(&self, toml: &str) {
        let loaded = self.load(toml);
        let scope = HostScope::new(&self.env, self.project());
        let candidates = judge(&loaded, &Approvals::default(), &scope);
        let new = candidates.iter().map(|candidate| {
            let invocation = candidate.invocation.clone().unwrap();
            let server = candidate.upstream.id.to_string();
            let file = loaded.origin.as_ref().unwrap().display().to_string();
            Approval { file, server, sha256: invocation.sha256(), invocation, calls: None }
        });
        Approvals::add(self.dir.path(), new.collect()).unwrap();
    }
}

const BASE: &str =
    "[servers.one]\ncommand = 'tool'\nargs = ['a', 'b']\nenv = { KEY = 'k' }\ncwd = '.'\n";

#[test]
fn what_was_approved_may_run_as_long_as_it_is_the_same() {
    let lab = Lab::new();
    assert_eq!(lab.verdict(BASE), Verdict::New);
    lab.approve(BASE);
    assert_eq!(lab.verdict(BASE), Verdict::Approved);
    // Settings that decide nothing about the command may change.
    assert_eq!(lab.verdict(&format!("{BASE}timeout_ms = 5\n")), Verdict::Approved);
}

#[track_caller]
fn check_change(from: &str, to: &str, says: &[&str]) {
    let lab = Lab::new();
    lab.program("bin/other", "");
    lab.approve(BASE);
    let Verdict::Changed(lines) = lab.verdict(&BASE.replace(from, to)) else {
        panic!("{from} -> {to} may run")
    };
    for line in says {
        assert!(lines.iter().any(|have| have.contains(line)), "{line} in {lines:?}");
    }
}

#[test]
fn t17_any_change_of_what_is_run_waits_again_and_is_shown() {
    check_change("'tool'", "'other'", &["- command: tool", "+ command: other", "+ program: "]);
    check_change(
        "'b'",
        "'b', '--evil'",
        &[r#"- args: ["a","b"]"#, r#"+ args: ["a","b","--evil"]"#],
    );
    check_change("'a', 'b'", "'a b'", &[r#"+ args: ["a b"]"#]);
    check_change("KEY =", "LD_PRELOAD =", &["- env: KEY", "+ env: LD_PRELOAD"]);
    check_change("'k'", "'other'", &["~ env: KEY has another value"]);
    check_change("cwd = '.'", "cwd = '..'", &["- cwd: ", "+ cwd: "]);
    check_change("'tool'", "'gone'", &["+ program: none"]);
}

#[test]
fn another_program_of_the_name_waits_again() {
    let lab = Lab::new();
    lab.approve(BASE);
    lab.program("elsewhere/tool", "");
    let path = format!("{}:{}", lab.dir.path().join("elsewhere").display(), lab.env.0);
    let lab = Lab { env: Env(path), ..lab };
    assert!(matches!(lab.verdict(BASE), Verdict::Changed(_)));
}

#[test]
fn t30_a_program_of_the_project_is_bound_by_its_contents_and_others_by_their_place() {
    let lab = Lab::new();
    let own = BASE.replace("'tool'", "'./serve.sh'");
    lab.approve(&own);
    assert_eq!(lab.verdict(&own), Verdict::Approved);
    lab.program("project/serve.sh", "#!/bin/sh\necho evil\n");
    assert_eq!(
        lab.verdict(&own),
        Verdict::Changed(vec!["~ program: what is in the file changed".to_owned()])
    );
    lab.approve(BASE);
    lab.program("bin/tool", "#!/bin/sh\n# a new version\n");
    assert_eq!(lab.verdict(BASE), Verdict::Approved);
}

#[test]
fn an_approval_is_for_one_file_only() {
    let lab = Lab::new();
    lab.approve(BASE);
    let approvals = Approvals::load(lab.dir.path()).unwrap();
    let id = SourceId::new("one").unwrap();
    assert!(approvals.of(&lab.project().join("trove.toml"), &id).is_some());
    assert!(approvals.of(&lab.project().join("other/trove.toml"), &id).is_none());
}

#[test]
fn t30_what_is_started_is_the_program_that_was_approved() {
    let lab = Lab::new();
    lab.approve(BASE);
    let loaded = lab.load(BASE);
    let approvals = Approvals::load(lab.dir.path()).unwrap();
    let scope = HostScope::new(&lab.env, lab.project());
    let upstream = pinned(&judge(&loaded, &approvals, &scope)[0]);
    let Reach::Stdio { command, .. } = &upstream.reach else { panic!() };
    assert_eq!(command.written(), lab.dir.path().join("bin/tool").display().to_string());
}

#[test]
fn servers_behind_a_url_run_without_approval() {
    assert_eq!(Lab::new().verdict("[servers.one]\nurl = 'https://x.example/mcp'\n"), Verdict::Free);
}

#[test]
fn the_file_is_for_its_owner_alone_and_a_damaged_one_is_refused() {
    let lab = Lab::new();
    lab.approve(BASE);
    let file = lab.dir.path().join(FILE_NAME);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("\"k\""), "{text}");
    for damaged in [&text[..text.len() / 2], "", "{\"version\":2,\"approvals\":[]}"] {
        fs::write(&file, damaged).unwrap();
        assert!(matches!(Approvals::load(lab.dir.path()), Err(StateError::Damaged { .. })));
        Approvals::add(lab.dir.path(), Vec::new()).unwrap_err();
        assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
    }
}

#[test]
fn two_who_approve_at_once_do_not_undo_each_other() {
    let lab = Lab::new();
    std::thread::scope(|threads| {
        for n in 0..16 {
            let state = lab.dir.path();
            threads.spawn(move || {
                let invocation = Invocation {
                    command: n.to_string(),
                    args: Vec::new(),
                    env: Default::default(),
                    cwd: None,
                    program: None,
                    from_files: Vec::new(),
                    calls: None,
                };
                let (file, server) = ("/p/trove.toml".to_owned(), format!("s{n}"));
                let sha256 = invocation.sha256();
                let new = vec![Approval { file, server, sha256, invocation, calls: None }];
                Approvals::add(state, new).unwrap();
            });
        }
    });
    let approvals = Approvals::load(lab.dir.path()).unwrap();
    for n in 0..16 {
        let id = SourceId::new(&format!("s{n}")).unwrap();
        assert!(approvals.of(Path::new("/p/trove.toml"), &id).is_some(), "{n}");
    }
}
