//! Rules for single files: an opening comment, a bounded length, no words that tie the
//! tree to one machine.

use super::tree::TextFile;

const MAX_LINES: usize = 600;

/// Files that are one long table, which splitting would only make harder to read.
const LONG_TABLES: [&str; 1] = ["crates/trove/src/config/file.rs"];

/// Folders in which code moves with the machine it was written on, spelled so that
/// this file does not break its own rule.
const MACHINE_FOLDERS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Where packages come from is decided by the machine that installs them.
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("py", "pi.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
];

pub(super) fn check(file: &TextFile, breaches: &mut Vec<String>) {
    let path = &file.path;
    if path.ends_with(".rs") {
        if !file.text.starts_with("//!") {
            breaches.push(format!("{path}: does not open with a `//!` comment on what it is for"));
        }
        let lines = file.text.lines().count();
        if lines > MAX_LINES && !may_be_long(path) {
            breaches.push(format!("{path}: {lines} lines, more than {MAX_LINES}"));
        }
    }
    for (index, line) in file.text.lines().enumerate() {
        if let Some(word) = tied_to_a_machine(line) {
            breaches.push(format!("{path}:{}: names {word}", index + 1));
        }
    }
}

fn may_be_long(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || LONG_TABLES.contains(&path)
}

fn tied_to_a_machine(line: &str) -> Option<&'static str> {
    let folder = MACHINE_FOLDERS.iter().find(|folder| starts_a_path(line, folder));
    let host = REGISTRY_HOSTS.iter().find(|host| line.contains(*host));
    folder.or(host).copied()
}

/// Whether the folder begins a path here, rather than being the middle of a longer one.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "/._-*}>)]".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(line: &str, is_tied: bool) {
        assert_eq!(tied_to_a_machine(line).is_some(), is_tied, "{line}");
    }

    #[test]
    fn a_path_of_this_machine_is_found_only_where_it_begins() {
        check_line(concat!("open(\"/wo", "rk/main\")"), true);
        check_line(concat!("/ro", "ot/.cache"), true);
        check_line("guide/work/notes", false);
        check_line("https://example.org/work/a", false);
        check_line(concat!("from ", "py", "pi.org"), true);
    }
}
