//! Rules for documents: every link to a file of ours leads to one, and the README stays
//! short enough to be read.

use std::{collections::BTreeSet, path::Path};

use super::tree::TextFile;
use crate::steps;

const MAX_README_LINES: usize = 150;

pub(super) fn check(files: &[TextFile], breaches: &mut Vec<String>) {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    // Pictures are no text, and are looked for on the disk.
    let is_there = |path: &str| paths.contains(path) || steps::root().join(path).exists();
    for file in files.iter().filter(|file| is_document(&file.path)) {
        for (line, target) in links(&file.text) {
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !is_there(&joined(&file.path, target)) {
                breaches
                    .push(format!("{}:{line}: leads to {target}, which is not there", file.path));
            }
        }
        let lines = file.text.lines().count();
        if file.path == "README.md" && lines > MAX_README_LINES {
            breaches.push(format!("README.md: {lines} lines, more than {MAX_README_LINES}"));
        }
    }
}

/// Those at the top and in `docs`; documents of tests may be broken on purpose.
fn is_document(path: &str) -> bool {
    let is_ours = path.starts_with("docs/") || !path.contains('/');
    is_ours && (path.ends_with(".md") || path == "llms.txt")
}

/// Links to files, with the lines they stand in. A link quoted as code is none.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let is_quoted = line[..at].matches('`').count() % 2 == 1;
            let rest = &line[at + 2..];
            let target = rest.find(')').map(|end| &rest[..end]).unwrap_or_default();
            if !is_quoted && !target.contains("://") {
                found.push((index + 1, target));
            }
        }
    }
    found
}

/// A path as written in a file of some folder, from the root.
fn joined(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = Path::new(from)
        .parent()
        .and_then(Path::to_str)
        .map(|folder| folder.split('/').filter(|part| !part.is_empty()).collect())
        .unwrap_or_default();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found_and_those_elsewhere_left_alone() {
        let text = "see [a](b.md#c), ![d](e/f.png)\n```\n[no](link)\n```\n`[nor](this)` [far](https://x.example)\n";
        assert_eq!(links(text), [(1, "b.md#c"), (1, "e/f.png")]);
    }

    #[test]
    fn a_path_is_taken_from_where_it_is_written() {
        assert_eq!(joined("docs/a.md", "b.md"), "docs/b.md");
        assert_eq!(joined("docs/a.md", "../README.md"), "README.md");
        assert_eq!(joined("README.md", "docs/images/x.png"), "docs/images/x.png");
    }
}
