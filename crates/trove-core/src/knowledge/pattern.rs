//! Patterns over paths: `*` within a folder, `**` across, `?`, `[a-z]`, `{a,b}`.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::KnowledgeError;

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 512;

/// Some patterns, ready to match paths.
#[derive(Debug, Clone)]
pub(super) struct Patterns {
    set: GlobSet,
    texts: Vec<String>,
}

impl Patterns {
    /// Compiles patterns; one without an extension also matches with any, e.g. `python` matches
    /// `python.md`.
    pub(super) fn new<'a>(
        patterns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Patterns, KnowledgeError> {
        let mut set = GlobSetBuilder::new();
        let mut texts = Vec::new();
        for pattern in patterns {
            set.add(glob(pattern, pattern)?);
            if !has_extension(pattern) {
                set.add(glob(&format!("{pattern}.*"), pattern)?);
            }
            texts.push(pattern.to_owned());
        }
        let set = set.build().map_err(|error| bad(&texts.join(", "), &error))?;
        Ok(Patterns { set, texts })
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }

    /// As they were written.
    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }
}

fn glob(pattern: &str, written: &str) -> Result<Glob, KnowledgeError> {
    let refuse = |why: &str| {
        let pattern = written.chars().take(MAX_PATTERN).collect();
        Err(KnowledgeError::BadPattern { pattern, why: why.into() })
    };
    if written.len() > MAX_PATTERN {
        return refuse("it is longer than 512 bytes");
    }
    if written.contains(['\\', '\0']) {
        return refuse("it holds a backslash or NUL");
    }
    if written.starts_with('/') || written.split('/').any(|part| part == "..") {
        return refuse("it leads out of the category");
    }
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(false)
        .build()
        .map_err(|error| bad(written, &error))
}

fn bad(pattern: &str, error: &globset::Error) -> KnowledgeError {
    KnowledgeError::BadPattern { pattern: pattern.to_owned(), why: error.kind().to_string() }
}

fn has_extension(pattern: &str) -> bool {
    pattern.rsplit('/').next().is_some_and(|last| last.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expect: bool) {
        let patterns = Patterns::new([pattern]).unwrap();
        assert_eq!(patterns.matches(path), expect, "{pattern} over {path}");
    }

    #[test]
    fn each_sign_matches_what_it_says() {
        check("*.md", "a.md", true);
        check("*.md", "sub/a.md", false);
        check("**/*.md", "a.md", true);
        check("**/*.md", "sub/deep/a.md", true);
        check("sub/**", "sub/deep/a.md", true);
        check("{a,b}.md", "b.md", true);
        check("{a,b}.md", "c.md", false);
        check("{a,sub/{b,c}}.md", "sub/c.md", true);
        check("?.md", "a.md", true);
        check("?.md", "ab.md", false);
        check("[a-c].md", "b.md", true);
        check("[!a-c].md", "b.md", false);
        check("A.md", "a.md", false);
    }

    #[test]
    fn a_pattern_without_an_extension_matches_with_any() {
        check("python", "python.md", true);
        check("python", "python.md.j2", true);
        check("python", "python", true);
        check("python", "pythonic.md", false);
        check("sub/py*", "sub/python.md", true);
        check("python.txt", "python.md", false);
    }

    #[test]
    fn patterns_that_make_no_sense_are_refused() {
        let long = "x".repeat(513);
        for bad in ["[", "{a", "a\\b", "../a", "a/../b", "/a", "a\0", &long] {
            assert!(Patterns::new([bad]).is_err(), "{bad}");
        }
    }
}
