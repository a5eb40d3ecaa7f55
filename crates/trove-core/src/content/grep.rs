//! The lines of a text that match, with their neighbours.

use std::{borrow::Cow, fmt::Write as _};

use regex::{Regex, RegexBuilder};

/// The longest pattern that is tried, unless configured.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// How much memory a compiled pattern may take, and its lazily built automaton again, unless
/// configured.
pub const MAX_COMPILED_BYTES: usize = 1024 * 1024;

/// How many groups may stand inside one another in a pattern.
const MAX_NESTING: u32 = 50;

/// The most of one line that is shown whole, and of it around a match.
const MAX_LINE_BYTES: usize = 500;

/// How much of a long line is shown before a match.
const LEAD_BYTES: usize = 100;

/// What stands around the parts of a long line.
const SPARE_BYTES: usize = 32;

/// How large a pattern may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternLimits {
    /// As text.
    pub bytes: usize,
    /// Compiled.
    pub compiled_bytes: usize,
}

impl Default for PatternLimits {
    fn default() -> PatternLimits {
        PatternLimits { bytes: MAX_PATTERN_BYTES, compiled_bytes: MAX_COMPILED_BYTES }
    }
}

/// How much a search may show.
#[derive(Debug, Clone, Copy)]
pub struct GrepLimits {
    /// How many lines are shown before and after each match.
    pub context: usize,
    /// The most bytes of output.
    pub max_bytes: usize,
    /// How large the pattern may be.
    pub pattern: PatternLimits,
}

impl GrepLimits {
    /// Two lines around each match, and at most `max_bytes` of output.
    pub fn within(max_bytes: usize) -> GrepLimits {
        GrepLimits { context: 2, max_bytes, pattern: PatternLimits::default() }
    }
}

/// What matched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrepResult {
    /// Lines as `12:matched` and `13-beside`, with `--` where lines are left out.
    pub text: String,
    /// How many lines matched in the whole text.
    pub matched: usize,
    /// How many of those are shown.
    pub shown: usize,
    /// How many lines the text has.
    pub lines: usize,
    /// Whether a long line that is shown has matches that are not.
    pub is_partial: bool,
}

impl GrepResult {
    /// Whether some matches are not shown.
    pub fn is_truncated(&self) -> bool {
        self.shown < self.matched || self.is_partial
    }
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// It is too long as text.
    #[error("the pattern has more than {limit} bytes; search for less at a time")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// It grows too large when it is compiled.
    #[error("the pattern is too large when compiled; use smaller counted repetitions")]
    TooLarge,
    /// It is no pattern.
    #[error(
        "the pattern is not a regular expression of RE2 syntax: {why}; escape special characters with \\"
    )]
    Syntax {
        /// What is wrong.
        why: String,
    },
}

/// Finds the lines that match `pattern`, in time linear in the text.
pub fn grep(text: &str, pattern: &str, limits: GrepLimits) -> Result<GrepResult, BadPattern> {
    let regex = compile(pattern, limits.pattern)?;
    let mut output =
        Output { regex: &regex, limits, result: GrepResult::default(), last: 0, is_full: false };
    // Lines are found once and read again only around a match, so memory is bounded by
    // the context and not by the text.
    let mut before: Vec<(usize, &str)> = Vec::new();
    let mut after = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        output.result.lines = number;
        if regex.is_match(line) {
            output.result.matched += 1;
            output.show_match(&before, number, line);
            before.clear();
            after = limits.context;
        } else if after > 0 {
            after -= 1;
            output.show(number, '-', line);
        } else if limits.context > 0 {
            if before.len() == limits.context {
                before.remove(0);
            }
            before.push((number, line));
        }
    }
    Ok(output.result)
}

/// The lines that match, with their numbers; whole, in time linear in the text.
pub fn matching<'a>(
    text: &'a str,
    pattern: &str,
    limits: PatternLimits,
) -> Result<impl Iterator<Item = (usize, &'a str)> + use<'a>, BadPattern> {
    let regex = compile(pattern, limits)?;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    Ok(lines.filter(move |(_, line)| regex.is_match(line)))
}

fn compile(pattern: &str, limits: PatternLimits) -> Result<Regex, BadPattern> {
    if pattern.len() > limits.bytes {
        return Err(BadPattern::TooLong { limit: limits.bytes });
    }
    let regex = RegexBuilder::new(pattern)
        .size_limit(limits.compiled_bytes)
        .dfa_size_limit(limits.compiled_bytes)
        .nest_limit(MAX_NESTING)
        .build();
    regex.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => BadPattern::TooLarge,
        other => {
            // The message draws the pattern over several lines; its last says what is wrong.
            let text = other.to_string();
            let last = text.lines().next_back().unwrap_or_default();
            BadPattern::Syntax { why: last.trim_start_matches("error: ").to_owned() }
        }
    })
}

struct Output<'r> {
    regex: &'r Regex,
    limits: GrepLimits,
    result: GrepResult,
    /// The number of the last line shown.
    last: usize,
    /// Nothing more fits; matches are only counted from here on.
    is_full: bool,
}

impl Output<'_> {
    fn show_match(&mut self, before: &[(usize, &str)], number: usize, line: &str) {
        let (length, last) = (self.result.text.len(), self.last);
        for (number, line) in before {
            self.show(*number, '-', line);
        }
        self.show(number, ':', line);
        if self.is_full {
            // Neighbours of a match that does not fit say nothing.
            self.result.text.truncate(length);
            self.last = last;
        } else {
            self.result.shown += 1;
        }
    }

    /// Shows a line if it fits; nothing more is shown after one that does not.
    fn show(&mut self, number: usize, mark: char, line: &str) {
        if self.is_full {
            return;
        }
        let text = &mut self.result.text;
        let length = text.len();
        if self.last > 0 && number > self.last + 1 {
            text.push_str("--\n");
        }
        let room = self.limits.max_bytes.saturating_sub(text.len());
        let (excerpt, is_partial) = excerpt(self.regex, line, room);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{number}{mark}{excerpt}");
        if text.len() > self.limits.max_bytes {
            text.truncate(length);
            self.is_full = true;
        } else {
            self.result.is_partial |= is_partial;
        }
        self.last = number;
    }
}

/// A line, or the parts of a long one around its matches, as many as fit into `room`; and
/// whether there are more.
fn excerpt<'a>(regex: &Regex, line: &'a str, room: usize) -> (Cow<'a, str>, bool) {
    if line.len() <= MAX_LINE_BYTES {
        return (line.into(), false);
    }
    let (mut text, mut end) = (String::new(), 0);
    let mut matches = regex.find_iter(line).map(|found| found.start());
    let mut next = Some(matches.next().unwrap_or(0));
    while let Some(found) = next {
        let start = line.floor_char_boundary(found.saturating_sub(LEAD_BYTES)).max(end);
        let part_end = line.floor_char_boundary(start + MAX_LINE_BYTES);
        // The number before it and the line's end take some room too.
        if !text.is_empty() && text.len() + (part_end - start) + SPARE_BYTES > room {
            break;
        }
        text.push_str(if start > end { "…" } else { "" });
        text.push_str(&line[start..part_end]);
        end = part_end;
        next = matches.find(|found| *found >= end);
    }
    text.push_str(if end < line.len() { "…" } else { "" });
    (text.into(), next.is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

    #[track_caller]
    fn check(pattern: &str, expect: &str) {
        let found = grep(LINES, pattern, GrepLimits::within(1000)).unwrap();
        assert_eq!(found.text, expect);
    }

    #[test]
    fn matches_come_with_their_neighbours() {
        check("^three$", "1-one\n2-two\n3:three\n4-four\n5-five\n");
        check("one|ten", "1:one\n2-two\n3-three\n--\n8-eight\n9-nine\n10:ten\n");
        check("two|five", "1-one\n2:two\n3-three\n4-four\n5:five\n6-six\n7-seven\n");
        check("eleven", "");
    }

    #[test]
    fn everything_is_counted_though_not_everything_is_shown() {
        let text = "match\n".repeat(1000);
        let found = grep(&text, "match", GrepLimits::within(100)).unwrap();
        assert!(found.text.len() <= 100 && found.text.starts_with("1:match\n2:match\n"));
        assert!(found.is_truncated());
        assert_eq!((found.matched, found.lines), (1000, 1000));
        assert_eq!(found.shown, found.text.lines().count());
    }

    #[test]
    fn a_long_line_is_shown_around_its_match() {
        let text = format!("{}needle{}", "é".repeat(5000), "x".repeat(5000));
        let found = grep(&text, "needle", GrepLimits::within(10_000)).unwrap();
        assert!(found.text.len() < 600 && found.text.contains("éneedlex"), "{}", found.text);
        assert!(found.text.starts_with("1:…") && found.text.ends_with("…\n"));
    }

    #[test]
    fn of_a_long_line_every_match_is_shown_or_said_to_be_left_out() {
        let text = format!("{}needle", "x".repeat(3000)).repeat(20);
        let found = grep(&text, "needle", GrepLimits::within(20_000)).unwrap();
        assert_eq!((found.text.matches("needle").count(), found.is_truncated()), (20, false));
        let found = grep(&text, "needle", GrepLimits::within(2_000)).unwrap();
        assert!(found.text.len() <= 2_000 && found.is_truncated(), "{}", found.text.len());
        assert!(found.text.matches("needle").count() > 2, "{}", found.text);
        // Matches side by side are shown once.
        let close = format!("{}{}", "needle ".repeat(200), "x".repeat(2000));
        let found = grep(&close, "needle", GrepLimits::within(20_000)).unwrap();
        assert_eq!((found.text.matches("needle").count(), found.is_truncated()), (200, false));
    }

    #[test]
    fn a_pattern_that_cannot_be_used_says_why() {
        let why =
            |pattern: &str| grep("", pattern, GrepLimits::within(10)).unwrap_err().to_string();
        assert!(why("(").contains("unclosed group"), "{}", why("("));
        assert!(why("(?=a)").contains("look-around"), "{}", why("(?=a)"));
        assert!(why("(a{1000}){1000}").contains("too large when compiled"));
        assert!(why(&"a".repeat(2000)).contains("1024 bytes"));
        assert!(!why("a\n(").contains('\n'));
    }

    #[test]
    fn the_ends_of_lines_do_not_matter() {
        let found = grep("a\r\nb\r\nc", "^b$", GrepLimits::within(100)).unwrap();
        assert_eq!(found.text, "1-a\n2:b\n3-c\n");
    }

    proptest! {
        #[test]
        fn any_pattern_and_any_text_are_survived(
            text in "[ab\n\u{e9}]{0,200}", pattern in any::<String>(), max in 0_usize..200,
        ) {
            if let Ok(found) = grep(&text, &pattern, GrepLimits::within(max)) {
                prop_assert!(found.text.len() <= max && found.shown <= found.matched);
            }
        }
    }
}
