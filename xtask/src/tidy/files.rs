//! Files are opened in one place: no other code that is shipped opens one by itself.
//!
//! A name may lead to a pipe or a device, which keeps whoever opens it. `trove_core::files`
//! opens regular files only, and never waits.

use super::tree::TextFile;

/// The crates that are shipped.
const SHIPPED: [&str; 7] = [
    "crates/trove/src/",
    "crates/trove-core/src/",
    "crates/trove-mcp/src/",
    "crates/trove-code/src/",
    "crates/trove-folders/src/",
    "crates/trove-pages/src/",
    "crates/trove-papers/src/",
];

/// Those who may: the place itself, and the guide, which looks names up below its root.
const OPENERS: [&str; 3] = [
    "crates/trove-core/src/files.rs",
    "crates/trove-core/src/knowledge/store.rs",
    "crates/trove-core/src/knowledge/write.rs",
];

/// How a file is opened by its name.
const WAYS: [&str; 9] = [
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "fs::copy(",
];

/// Files of the kernel, which are what they are.
const KERNEL: [&str; 2] = ["\"/proc/", "\"environ\""];

pub(super) fn check(file: &TextFile, breaches: &mut Vec<String>) {
    let is_shipped = SHIPPED.iter().any(|folder| file.path.starts_with(folder));
    let is_test = file.path.contains("/tests/") || file.path.ends_with("/tests.rs");
    if !is_shipped || is_test || OPENERS.contains(&file.path.as_str()) {
        return;
    }
    let end = file.text.find("#[cfg(test)]\nmod tests").unwrap_or(file.text.len());
    for (index, line) in file.text[..end].lines().enumerate() {
        if let Some(way) = opens(line) {
            breaches.push(format!(
                "{}:{}: `{way}` may wait for ever; use trove_core::files",
                file.path,
                index + 1
            ));
        }
    }
}

fn opens(line: &str) -> Option<&'static str> {
    let is_code = !line.trim_start().starts_with("//");
    let is_kernel = KERNEL.iter().any(|place| line.contains(place));
    let found = WAYS.iter().find(|way| is_called(line, way));
    found.filter(|_| is_code && !is_kernel).copied()
}

/// Whether it is called here, rather than something whose name ends so.
fn is_called(line: &str, way: &str) -> bool {
    line.match_indices(way).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_opened_elsewhere_is_found() {
        for breach in
            ["let f = fs::File::open(path)?;", "std::fs::read(file).ok()", "  fs::write(a, b)"]
        {
            assert!(opens(breach).is_some(), "{breach}");
        }
        for fine in [
            "VectorFile::open(path)",
            "// fs::read(path) would wait",
            "std::fs::read_to_string(\"/proc/self/stat\")",
            "files::read(path, 9)",
            "fs::read_dir(folder)",
        ] {
            assert!(opens(fine).is_none(), "{fine}");
        }
    }
}
