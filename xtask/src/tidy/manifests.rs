//! Rules for manifests: which package may depend on what, how much in all, and nothing
//! that no source of the package names.

use super::tree::TextFile;

/// Dependencies that belong to certain packages only, so that the wire and the
/// command line stay out of the core.
const RESERVED: [(&str, &[&str]); 4] = [
    ("rmcp", &["trove-testkit"]),
    ("axum", &["trove-mcp", "trove", "trove-testkit"]),
    ("clap", &["trove", "xtask", "trove-testkit"]),
    ("anyhow", &["trove", "xtask", "trove-testkit"]),
];

/// How many packages the lock file may hold. Raising it is a decision of its own.
const MAX_PACKAGES: usize = 505;

pub(super) fn check(file: &TextFile, breaches: &mut Vec<String>) {
    let path = &file.path;
    if path == "Cargo.lock" {
        let packages = file.text.lines().filter(|line| *line == "[[package]]").count();
        if packages > MAX_PACKAGES {
            breaches.push(format!("{path}: {packages} packages, more than {MAX_PACKAGES}"));
        }
    }
    let Some(package) =
        path.strip_suffix("/Cargo.toml").and_then(|folder| folder.rsplit('/').next())
    else {
        return;
    };
    for dependency in dependencies(&file.text) {
        let reserved = RESERVED.iter().find(|(name, _)| *name == dependency);
        if let Some((name, allowed)) = reserved.filter(|(_, allowed)| !allowed.contains(&package)) {
            breaches.push(format!("{path}: {name} is for {} only", allowed.join(", ")));
        }
    }
}

/// Reports each dependency that no Rust file beside its manifest names.
pub(super) fn check_use(files: &[TextFile], breaches: &mut Vec<String>) {
    for manifest in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        for dependency in dependencies(&manifest.text) {
            let name = dependency.replace('-', "_");
            let is_used = files
                .iter()
                .filter(|file| file.path.starts_with(folder) && file.path.ends_with(".rs"))
                .any(|file| names_crate(&file.text, &name));
            if !is_used {
                breaches.push(format!("{}: {dependency} is used nowhere", manifest.path));
            }
        }
    }
}

/// Whether a source names a crate: `name::…`, `use name as …`, `use name;`.
fn names_crate(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let is_whole = !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let after = &source[at + name.len()..];
        is_whole && (after.starts_with("::") || after.starts_with(" as ") || after.starts_with(';'))
    })
}

/// The names a manifest depends on, in any of its dependency tables.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_dependency_table = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            is_dependency_table = table.ends_with("dependencies");
            // `[dependencies.name]` is one dependency, written as a table of its own.
            if let Some((_, name)) = table.split_once("dependencies.") {
                names.push(name);
            }
        } else if is_dependency_table && !line.starts_with('#') {
            let end = line.find(['.', '=', ' ']).unwrap_or(0);
            names.extend(Some(&line[..end]).filter(|name| !name.is_empty()));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_no_source_names_is_reported() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let files = [
            file("a/Cargo.toml", "[dependencies]\nb-c = \"1\"\nd = \"1\"\n"),
            file("a/src/lib.rs", "use b_c::E;\nlet and::d = 1;\n"),
            file("other/src/lib.rs", "use d::F;\n"),
        ];
        let mut breaches = Vec::new();
        check_use(&files, &mut breaches);
        assert_eq!(breaches, ["a/Cargo.toml: d is used nowhere"]);
    }

    #[test]
    fn a_dependency_is_found_however_it_is_written() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\nc = \"1\"\n\
                        # d = \"1\"\n[dev-dependencies]\ne={ path = \"e\" }\n[dependencies.f]\nversion = \"1\"\n\
                        [lints]\nworkspace = true\n";
        assert_eq!(dependencies(manifest), ["b", "c", "e", "f"]);
    }
}
