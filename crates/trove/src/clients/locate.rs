//! Where a client's file is on this machine.
//!
//! Looks at the disk to see what is there; reads and changes nothing.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{error::ClientError, table::Row};
use crate::config::EnvLookup;

/// The most files of one folder that are looked at.
const MAX_FOLDER_FILES: usize = 200;

/// The machine as a command found it.
pub(crate) struct Host<'a> {
    pub(crate) os: Os,
    pub(crate) env: &'a dyn EnvLookup,
    /// Where the program was started: the project.
    pub(crate) cwd: PathBuf,
    /// This program.
    pub(crate) program: PathBuf,
    pub(crate) now: SystemTime,
}

/// The systems whose folders we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Os {
    Linux,
    Mac,
    Windows,
}

/// The owner of the servers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// Yours, in every project
    User,
    /// Those of the project in the current folder
    Project,
}

/// A folder that depends on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    Config,
    /// `~/.config`, even if the variables name another folder.
    DotConfig,
    /// `~/Library/Application Support`.
    AppSupport,
    /// `%APPDATA%`.
    AppData,
    /// The folder that this variable names, if it is set.
    EnvFolder(&'static str),
    /// The file that this variable names, if it is set.
    EnvFile(&'static str),
}

/// A file below such a folder. `{name}` stands for the name of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) Base, pub(crate) &'static str);

impl Os {
    /// The one we were built for.
    pub(crate) fn this() -> Os {
        if cfg!(target_os = "macos") {
            Os::Mac
        } else if cfg!(windows) {
            Os::Windows
        } else {
            Os::Linux
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::User => "user",
            Scope::Project => "project",
        })
    }
}

impl Host<'_> {
    fn folder(&self, variable: &str) -> Option<PathBuf> {
        // A relative folder would move with the current one.
        self.env.get(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The user's home folder.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        match self.os {
            Os::Windows => self.folder("USERPROFILE").or_else(|| self.folder("HOME")),
            Os::Linux | Os::Mac => self.folder("HOME"),
        }
    }

    fn base(&self, base: Base) -> Option<PathBuf> {
        match base {
            Base::Home => self.home(),
            Base::Config => {
                self.folder("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
            }
            Base::DotConfig => Some(self.home()?.join(".config")),
            Base::AppSupport => Some(self.home()?.join("Library/Application Support")),
            Base::AppData => {
                self.folder("APPDATA").or_else(|| Some(self.home()?.join("AppData/Roaming")))
            }
            Base::EnvFolder(name) | Base::EnvFile(name) => self.folder(name),
        }
    }

    fn place(&self, place: &Place, name: &str) -> Option<PathBuf> {
        let base = self.base(place.0)?;
        // Joining nothing would leave a slash behind the file's name.
        let below = place.1.replace("{name}", name);
        Some(if below.is_empty() { base } else { base.join(below) })
    }

    fn places(&self, row: &Row) -> &'static [Place] {
        match self.os {
            Os::Linux => row.linux,
            Os::Mac => row.mac,
            Os::Windows => row.windows,
        }
    }

    /// Every file the client may have for its user, the likeliest first.
    fn user_files(&self, row: &Row, name: &str) -> Vec<Candidate> {
        let mut files = Vec::new();
        for place in self.places(row) {
            let Some(file) = self.place(place, name) else { continue };
            let is_named = matches!(place.0, Base::EnvFolder(_) | Base::EnvFile(_));
            // A file right in a shared folder, such as `~/.claude.json`, has no folder
            // that would tell of its client.
            let has_own_folder = is_named || place.1.contains('/');
            files.push(Candidate { file, has_own_folder });
            // Who sets such a variable wants that file and no other.
            if is_named {
                break;
            }
        }
        files
    }

    fn project_files(&self, row: &Row, name: &str) -> Vec<Candidate> {
        let file = |file: &&str| self.cwd.join(file.replace("{name}", name));
        row.project.iter().map(|f| Candidate { file: file(f), has_own_folder: false }).collect()
    }

    /// The file to put an entry into: the one that is there, else where its folder is.
    pub(crate) fn file(&self, row: &Row, scope: Scope, name: &str) -> Result<PathBuf, ClientError> {
        let files = match scope {
            Scope::User => self.user_files(row, name),
            Scope::Project if row.project.is_empty() => {
                return Err(ClientError::NoProjectScope { client: row.client });
            }
            Scope::Project => self.project_files(row, name),
        };
        let found = files.iter().find(|file| file.is_there());
        let found = found.or_else(|| files.iter().find(|file| file.is_likely()));
        let found = found.or(files.first()).ok_or(ClientError::NoHome)?;
        Ok(found.file.clone())
    }

    /// Whether the client seems to be here at all.
    pub(crate) fn has(&self, row: &Row) -> bool {
        let files = self.user_files(row, "trove");
        files.iter().any(|file| file.is_there() || file.is_likely())
            || self.further_files(row).iter().any(|file| file.is_file())
    }

    fn further_files(&self, row: &Row) -> Vec<PathBuf> {
        let patterns = row.also_reads.iter().filter_map(|place| self.place(place, ""));
        patterns.flat_map(matching).collect()
    }

    /// Every file of a client that may hold servers and is there.
    pub(crate) fn readable_files(&self, row: &Row) -> Vec<(Scope, PathBuf)> {
        let mut files: Vec<(Scope, PathBuf)> = Vec::new();
        files.extend(self.further_files(row).into_iter().map(|file| (Scope::User, file)));
        let of_user = self.user_files(row, "trove");
        files.extend(of_user.into_iter().map(|candidate| (Scope::User, candidate.file)));
        for file in row.project {
            let pattern = self.cwd.join(file.replace("{name}.yaml", "*"));
            files.extend(matching(pattern).into_iter().map(|file| (Scope::Project, file)));
        }
        // In the home folder, the user's file and the project's are one.
        let mut found: Vec<(Scope, PathBuf)> = Vec::new();
        for (scope, file) in files {
            if file.is_file() && !found.iter().any(|(_, known)| *known == file) {
                found.push((scope, file));
            }
        }
        found
    }
}

/// A file a client may have.
struct Candidate {
    file: PathBuf,
    /// Whether only this client makes the folder it lies in.
    has_own_folder: bool,
}

impl Candidate {
    /// A link to nothing counts: the client would follow it.
    fn is_there(&self) -> bool {
        self.file.symlink_metadata().is_ok()
    }

    fn is_likely(&self) -> bool {
        self.has_own_folder && self.file.parent().is_some_and(Path::is_dir)
    }
}

/// The file itself, or for a name of `*` all configuration files in that folder.
fn matching(pattern: PathBuf) -> Vec<PathBuf> {
    if pattern.file_name().is_none_or(|name| name != "*") {
        return vec![pattern];
    }
    let Some(Ok(entries)) = pattern.parent().map(std::fs::read_dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .take(MAX_FOLDER_FILES)
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json"))
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::clients::table::TABLE;

    struct Env(BTreeMap<&'static str, &'static str>);

    impl EnvLookup for Env {
        fn get(&self, name: &str) -> Option<String> {
            self.0.get(name).map(|value| (*value).to_owned())
        }
    }

    /// Where each client's file would be made on a system where nothing is there yet.
    fn files(os: Os, env: &[(&'static str, &'static str)]) -> Vec<String> {
        let env = Env(env.iter().copied().collect());
        let host = Host {
            os,
            env: &env,
            cwd: "/nowhere/project".into(),
            program: "/nowhere/trove".into(),
            now: SystemTime::UNIX_EPOCH,
        };
        let file = |row: &Row| host.file(row, Scope::User, "trove").unwrap().display().to_string();
        TABLE.iter().map(|row| format!("{} {}", row.word, file(row))).collect()
    }

    #[test]
    fn every_client_has_its_place_on_linux() {
        assert_eq!(
            files(Os::Linux, &[("HOME", "/nowhere/h")]),
            [
                "claude-desktop /nowhere/h/.config/Claude/claude_desktop_config.json",
                "claude-code /nowhere/h/.claude.json",
                "cursor /nowhere/h/.cursor/mcp.json",
                "vscode /nowhere/h/.config/Code/User/mcp.json",
                "windsurf /nowhere/h/.codeium/windsurf/mcp_config.json",
                "zed /nowhere/h/.config/zed/settings.json",
                "codex /nowhere/h/.codex/config.toml",
                "gemini /nowhere/h/.gemini/settings.json",
                "cline /nowhere/h/.cline/data/settings/cline_mcp_settings.json",
                "continue /nowhere/h/.continue/mcpServers/trove.yaml",
                "goose /nowhere/h/.config/goose/config.yaml",
                "opencode /nowhere/h/.config/opencode/opencode.json",
            ]
        );
    }

    #[test]
    fn macs_and_windows_keep_some_elsewhere() {
        let support = "/nowhere/h/Library/Application Support";
        let mac = files(Os::Mac, &[("HOME", "/nowhere/h"), ("XDG_CONFIG_HOME", "/nowhere/x")]);
        assert_eq!(mac[0], format!("claude-desktop {support}/Claude/claude_desktop_config.json"));
        assert_eq!(mac[3], format!("vscode {support}/Code/User/mcp.json"));
        assert_eq!(mac[5], "zed /nowhere/h/.config/zed/settings.json");
        assert_eq!(mac[10], "goose /nowhere/h/.config/goose/config.yaml");
        assert_eq!(mac[11], "opencode /nowhere/x/opencode/opencode.json");
        let windows =
            files(Os::Windows, &[("USERPROFILE", "/nowhere/u"), ("APPDATA", "/nowhere/a")]);
        assert_eq!(windows[0], "claude-desktop /nowhere/a/Claude/claude_desktop_config.json");
        assert_eq!(windows[2], "cursor /nowhere/u/.cursor/mcp.json");
        assert_eq!(windows[5], "zed /nowhere/a/Zed/settings.json");
        assert_eq!(windows[10], "goose /nowhere/a/Block/goose/config/config.yaml");
    }

    #[test]
    fn a_variable_of_the_client_settles_it_and_a_relative_one_does_not_count() {
        let env =
            [("HOME", "/nowhere/h"), ("CODEX_HOME", "/nowhere/c"), ("CLAUDE_CONFIG_DIR", "x")];
        let files = files(Os::Linux, &env);
        assert_eq!(files[6], "codex /nowhere/c/config.toml");
        assert_eq!(files[1], "claude-code /nowhere/h/.claude.json");
    }

    #[test]
    fn no_two_clients_have_the_same_word() {
        let mut words: Vec<&str> = Vec::new();
        for row in TABLE {
            words.push(row.word);
            words.extend(row.aliases);
        }
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
