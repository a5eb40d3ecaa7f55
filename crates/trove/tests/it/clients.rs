//! Trove in other clients' files, and their servers in ours.
//!
//! Every test has a home folder of its own; no file of the person who runs it is looked at.

mod golden;
mod import;
mod install;
mod moved;
mod refusals;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// A home with a project in it.
struct Home {
    dir: tempfile::TempDir,
}

/// The result of one command.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Where each client keeps its servers below the home, on the system the tests run on.
const FILES: [(&str, &str); 12] = [
    ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("zed", ".config/zed/settings.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json"),
    ("continue", ".continue/mcpServers/trove.yaml"),
    ("goose", ".config/goose/config.yaml"),
    ("opencode", ".config/opencode/opencode.json"),
];

fn file_of(client: &str) -> &'static str {
    FILES.iter().find(|(word, _)| *word == client).expect("a client of the table").1
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let home = Home { dir };
        fs::create_dir(home.project()).expect("a project can be made");
        home
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("the home is there")
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// Writes a file below the home.
    fn write(&self, below: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(below);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(&path, text).expect("a file can be written");
        path
    }

    fn read(&self, below: &str) -> String {
        let bytes = fs::read(self.path().join(below)).expect("the file is there");
        String::from_utf8(bytes).expect("the file is text")
    }

    /// Trove in the project, with nothing of our own environment that it would heed.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trove"));
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(args);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("no JSON: {e}: {ran:?}"))
    }

    /// Every file below the home, its state folder aside.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        collect(&self.path(), &self.path(), &mut files);
        files.sort();
        files
    }
}

fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("trove can be started");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the command prints UTF-8"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, files);
        } else {
            let below = path.strip_prefix(root).expect("it is below");
            files.push(below.display().to_string());
        }
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("modes can be set");
}
