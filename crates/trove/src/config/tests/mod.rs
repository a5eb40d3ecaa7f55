//! The configuration as a user meets it: files on disk, an environment, flags.

use std::{collections::BTreeMap, fs, path::Path};

use tempfile::TempDir;

use super::*;

mod errors;
mod places;
mod values;

/// An environment that holds just this.
#[derive(Default)]
pub(super) struct Env(BTreeMap<&'static str, String>);

impl Env {
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Env {
        self.0.insert(name, value.into());
        self
    }
}

impl EnvLookup for Env {
    fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

/// Loads a `trove.toml` from the current folder.
fn load_toml(text: &str) -> Loaded {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("trove.toml"), text).unwrap();
    load_in(folder.path(), Overrides::default())
}

fn load_in(cwd: &Path, flags: Overrides) -> Loaded {
    let env = Env::default().with("HOME", "/home/ann").with("KEY", "k3y");
    load(&Request { explicit: None, cwd: cwd.to_owned(), env: &env, flags })
}

/// All problems, each as the user reads it.
pub(super) fn shown(problems: &[Problem]) -> String {
    let all: Vec<String> = problems.iter().map(Problem::to_string).collect();
    all.join("\n")
}

/// A text without the indentation it has in the source of a test.
pub(super) fn dedent(text: &str) -> String {
    let lines = || text.lines().skip_while(|line| line.trim().is_empty());
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let margin = lines().filter(|line| !line.trim().is_empty()).map(indentation).min();
    let cut: Vec<&str> =
        lines().map(|line| line.get(margin.unwrap_or(0)..).unwrap_or_default()).collect();
    cut.join("\n").trim_end().to_owned()
}

/// The first line of an input names the file, and so the format and the client.
#[test]
fn t50_fuzz_configurations() {
    const NAMES: [&str; 6] =
        ["trove.toml", "mcp.json", "settings.json", "config.yaml", "config.toml", ".claude.json"];
    let folder = TempDir::new().unwrap();
    trove_fuzz::feed("config", |input| {
        let (first, rest) = match input.iter().position(|b| *b == b'\n') {
            Some(end) => (&input[..end], &input[end + 1..]),
            None => (&b""[..], input),
        };
        let name = NAMES.iter().find(|name| name.as_bytes() == first).unwrap_or(&NAMES[0]);
        let file = folder.path().join(name);
        fs::write(&file, rest).unwrap();
        let env = Env::default().with("HOME", "/home/ann");
        let flags = Overrides::default();
        let loaded = load(&Request {
            explicit: Some(file),
            cwd: folder.path().to_owned(),
            env: &env,
            flags,
        });
        let _ = shown(&loaded.problems);
        (name.len(), loaded.config.upstreams.len().min(5), loaded.problems.len().min(5))
    });
}
