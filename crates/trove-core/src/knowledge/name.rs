//! Names of categories, collections and documents: which may be given, which are alike.

/// The longest name of a category or collection, in characters.
pub const MAX_NAME: usize = 30;
/// The longest name of a file or folder that is written, in bytes: the file system's.
const MAX_SEGMENT_BYTES: usize = 200;
/// How many names are offered in place of one that was not found.
const MAX_NEAR: usize = 5;
/// How alike a name must be to be offered.
const ALIKE: f64 = 0.75;

/// The name cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be a name: {why}")]
pub struct BadName {
    /// The name that was wanted.
    pub name: String,
    pub why: &'static str,
}

/// Checks what a category or collection is to be called.
pub fn check_name(name: &str) -> Result<(), BadName> {
    let bad = |why| Err(BadName { name: name.chars().take(60).collect(), why });
    if name.is_empty() {
        return bad("it is empty");
    }
    if name.chars().count() > MAX_NAME {
        return bad("it is longer than 30 characters");
    }
    if name.starts_with(['_', '.']) {
        return bad("what begins with `_` or `.` is hidden");
    }
    // `,` and `+` part an expression, `*?[]{}` are patterns.
    if name.contains(['/', '\\', '!', ',', '+', '*', '?', '[', ']', '{', '}']) {
        return bad("it holds one of / \\ ! , + * ? [ ] { }");
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return bad("it holds a blank");
    }
    Ok(())
}

/// Checks the path under which a document is to be kept in its category.
pub fn check_path(path: &str) -> Result<(), BadName> {
    let bad = |why| Err(BadName { name: path.chars().take(120).collect(), why });
    if let Err(why) = safe(path) {
        return bad(why);
    }
    for segment in path.split('/') {
        if segment.len() > MAX_SEGMENT_BYTES {
            return bad("a part of it is longer than 200 bytes");
        }
        if is_hidden(segment) {
            return bad("what begins with `_` or `.` is hidden");
        }
        if segment.contains(['!', '*', '?', '[', ']', '{', '}', ',', '+']) {
            return bad("it holds one of ! , + * ? [ ] { }");
        }
        if segment.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return bad("it holds a blank");
        }
    }
    Ok(())
}

/// Whether a path stays below the folder it starts from; if not, why, e.g. for `../a`.
pub(super) fn safe(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("the path is empty");
    }
    if path.contains('\0') {
        return Err("the path holds a NUL");
    }
    if path.contains('\\') {
        return Err("the path holds a backslash; folders are parted by `/`");
    }
    if path.starts_with('/') {
        return Err("the path is absolute; it starts at the folder of its category");
    }
    for segment in path.split('/') {
        match segment {
            "" => return Err("the path holds an empty part"),
            "." | ".." => return Err("the path holds `.` or `..`, which lead elsewhere"),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a file or folder of that name is left out, e.g. `.git` or `_partials`.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

/// The names that are most like the one that was not found, e.g. `python` for `pyth`.
pub(super) fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let is_part =
                !wanted.is_empty() && (lower.contains(&wanted) || wanted.contains(lower.as_str()));
            let score = strsim::jaro_winkler(&wanted, &lower) + if is_part { 0.5 } else { 0.0 };
            (score >= ALIKE).then_some((score, name))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    // A category and a collection may share a name.
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(MAX_NEAR).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_not_be_asked_for_are_refused() {
        for good in ["lang", "code-review", "v1.2", "日本語", &"x".repeat(30)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(31);
        for bad in ["", "_a", ".a", "a/b", "a\\b", "a!", "a b", "a\tb", "a,b", "a+b", "a*", &long] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_or_hide_are_refused() {
        for good in ["a.md", "sub/a.md", "sub/deep/a"] {
            assert!(check_path(good).is_ok(), "{good}");
        }
        for bad in ["", "/a", "../a", "a/../b", "a//b", "./a", "a\\b", "a\0", "_a/b", "a/.b", "a b"]
        {
            assert!(check_path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_likest_name_comes_first() {
        assert_eq!(near("pyton", ["rust.md", "python.md", "java.md"]), ["python.md"]);
        assert_eq!(near("zzz", ["rust", "python"]), Vec::<String>::new());
    }
}
