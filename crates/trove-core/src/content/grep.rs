//! The lines of a text that match, with their neighbours.

mod stepper;

use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
    fmt::Write as _,
};

use regex::{Regex, RegexBuilder};
use stepper::{Stepper, Steps, Stopped};

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

/// Room for the line number, the ellipses and the line end, in bytes.
const SPARE_BYTES: usize = 32;

/// Where a line can only be looked through in pieces: how long one is.
const PIECE_BYTES: usize = 64 * 1024;
/// How much of each piece is looked at once more with the next. A match that is longer than that
/// may be missed, which is said.
const OVERLAP_BYTES: usize = 4 * 1024;

/// How many steps a search may take: one for each byte of text, and one for each byte of
/// automaton that the pattern needs for it. The longest text takes a fourth of them.
pub const MAX_SEARCH_STEPS: u64 = 128 * 1024 * 1024;
/// Where steps cannot be counted a byte costs the square of a pattern's states in this unit: each
/// state of the automaton is larger, and fewer of them can be kept.
const MANY_STATES: usize = 256;
/// The steps that a byte takes there if the number of states is not known.
const UNKNOWN_WEIGHT: u64 = 4096;

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
    /// How many steps the search may take.
    pub steps: u64,
}

impl GrepLimits {
    /// Two lines around each match, at most `max_bytes` of output, and the usual steps.
    pub fn within(max_bytes: usize) -> GrepLimits {
        let pattern = PatternLimits::default();
        GrepLimits { context: 2, max_bytes, pattern, steps: MAX_SEARCH_STEPS }
    }
}

/// The lines that matched.
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
    /// Whether a long line that is shown has matches that are not, or any may have been missed.
    pub is_partial: bool,
    /// How many steps of the limit are left.
    pub steps_left: u64,
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
    /// The text is too much for it.
    #[error(
        "the search was given up after {limit} steps, before the end of the text; use a simpler pattern, such as one without large counted repetitions"
    )]
    TooManySteps {
        /// How many steps it had.
        limit: u64,
    },
    /// It is no pattern.
    #[error(
        "the pattern is not a regular expression of RE2 syntax: {why}; escape special characters with \\"
    )]
    Syntax {
        /// The fault.
        why: String,
    },
}

/// Finds the lines that match `pattern`, in time linear in the text. How long that is depends on
/// the pattern too, so steps are counted; it is not for threads that others wait for.
pub fn grep(text: &str, pattern: &str, limits: GrepLimits) -> Result<GrepResult, BadPattern> {
    let finder = Finder::new(pattern, limits.pattern, limits.steps)?;
    let mut output =
        Output { finder: &finder, limits, result: GrepResult::default(), last: 0, is_full: false };
    // Lines are found once and read again only around a match, so memory is bounded by
    // the context and not by the text.
    let mut before: Vec<(usize, &str)> = Vec::new();
    let mut after = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        output.result.lines = number;
        if finder.after(line, 0)?.is_some() {
            output.result.matched += 1;
            output.show_match(&before, number, line)?;
            before.clear();
            after = limits.context;
        } else if after > 0 {
            after -= 1;
            output.show(number, '-', line)?;
        } else if limits.context > 0 {
            if before.len() == limits.context {
                before.remove(0);
            }
            before.push((number, line));
        }
    }
    output.result.is_partial |= finder.may_have_missed.get();
    output.result.steps_left = finder.steps.left();
    Ok(output.result)
}

/// The lines that match, with their numbers; whole, and within as many steps.
pub fn matching<'a>(
    text: &'a str,
    pattern: &str,
    limits: PatternLimits,
) -> Result<impl Iterator<Item = Result<(usize, &'a str), BadPattern>> + use<'a>, BadPattern> {
    let finder = Finder::new(pattern, limits, MAX_SEARCH_STEPS)?;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    Ok(lines.filter_map(move |(number, line)| match finder.after(line, 0) {
        Ok(found) => found.map(|_| Ok((number, line))),
        Err(error) => Some(Err(error)),
    }))
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

/// Looks for matches for as many steps as it has.
struct Finder {
    /// For what the steppers cannot tell.
    regex: Regex,
    limits: PatternLimits,
    forward: Option<Stepper>,
    /// Made for the first long line that is shown.
    backward: OnceCell<Option<Stepper>>,
    steps: Steps,
    most: u64,
    may_have_missed: Cell<bool>,
}

impl Finder {
    fn new(pattern: &str, limits: PatternLimits, most: u64) -> Result<Finder, BadPattern> {
        let regex = compile(pattern, limits)?;
        let forward = Stepper::forward(pattern, limits);
        let (backward, may_have_missed) = <_>::default();
        let steps = Steps::new(most);
        Ok(Finder { regex, limits, forward, backward, steps, most, may_have_missed })
    }

    /// Where the first match that begins at `from` or later is known to be one, which is at its
    /// end or before. Asked again from there on, it goes over a line once.
    fn after(&self, line: &str, from: usize) -> Result<Option<usize>, BadPattern> {
        if let Some(forward) = &self.forward {
            match forward.after(line, from, &self.steps) {
                Ok(found) => return Ok(found),
                Err(Stopped::TooManySteps) => return Err(self.given_up()),
                Err(Stopped::CannotTell) => {}
            }
        }
        if line.len() - from > PIECE_BYTES {
            self.may_have_missed.set(true);
        }
        self.after_in_pieces(line, from)
    }

    fn after_in_pieces(&self, line: &str, from: usize) -> Result<Option<usize>, BadPattern> {
        let mut start = from;
        loop {
            let end = line.floor_char_boundary(start + PIECE_BYTES);
            self.pay_for(end - start)?;
            let found = self.regex.shortest_match_at(&line[..end], start);
            let is_last = end == line.len();
            // A match that ends with the piece may only seem to be at the end of the line.
            if let Some(found) = found.filter(|found| is_last || *found < end) {
                return Ok(Some(found));
            }
            if is_last {
                return Ok(None);
            }
            start = line.floor_char_boundary(end - OVERLAP_BYTES);
        }
    }

    /// Where a match begins that is known at `found`, not before `from`. Of a very long one not
    /// the beginning is looked for but some place in it.
    fn start_of(&self, line: &str, from: usize, found: usize) -> Result<usize, BadPattern> {
        let from = line.ceil_char_boundary(from.max(found.saturating_sub(PIECE_BYTES)));
        if from >= found {
            return Ok(found);
        }
        let make = || Stepper::backward(self.regex.as_str(), self.limits);
        if let Some(backward) = self.backward.get_or_init(make) {
            match backward.before(line, from, found, &self.steps) {
                Ok(begins) => return Ok(begins.unwrap_or(found)),
                Err(Stopped::TooManySteps) => return Err(self.given_up()),
                Err(Stopped::CannotTell) => {}
            }
        }
        // Whether it is one may depend on the letter behind it.
        let end = line.ceil_char_boundary(found + 1);
        self.pay_for(end - from)?;
        let begins = self.regex.find_at(&line[..end], from).map(|one| one.start());
        Ok(begins.unwrap_or(found).min(found))
    }

    /// Takes beforehand what so many bytes cost at the most where steps cannot be counted.
    fn pay_for(&self, bytes: usize) -> Result<(), BadPattern> {
        let weight = match &self.forward {
            Some(forward) => 1 + (forward.states() / MANY_STATES).pow(2) as u64,
            None => UNKNOWN_WEIGHT,
        };
        let steps = (bytes as u64).saturating_mul(weight);
        self.steps.take(steps).map_err(|_| self.given_up())
    }

    fn given_up(&self) -> BadPattern {
        BadPattern::TooManySteps { limit: self.most }
    }
}

struct Output<'r> {
    finder: &'r Finder,
    limits: GrepLimits,
    result: GrepResult,
    /// The number of the last line shown.
    last: usize,
    /// Nothing more fits; matches are only counted from here on.
    is_full: bool,
}

impl Output<'_> {
    fn show_match(
        &mut self,
        before: &[(usize, &str)],
        number: usize,
        line: &str,
    ) -> Result<(), BadPattern> {
        let (length, last) = (self.result.text.len(), self.last);
        for (number, line) in before {
            self.show(*number, '-', line)?;
        }
        self.show(number, ':', line)?;
        if self.is_full {
            // Neighbours of a match that does not fit say nothing.
            self.result.text.truncate(length);
            self.last = last;
        } else {
            self.result.shown += 1;
        }
        Ok(())
    }

    /// Shows a line if it fits; nothing more is shown after one that does not.
    fn show(&mut self, number: usize, mark: char, line: &str) -> Result<(), BadPattern> {
        if self.is_full {
            return Ok(());
        }
        let text = &mut self.result.text;
        let length = text.len();
        if self.last > 0 && number > self.last + 1 {
            text.push_str("--\n");
        }
        let room = self.limits.max_bytes.saturating_sub(text.len());
        let (excerpt, is_partial) = excerpt(self.finder, line, room)?;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{number}{mark}{excerpt}");
        if text.len() > self.limits.max_bytes {
            text.truncate(length);
            self.is_full = true;
        } else {
            self.result.is_partial |= is_partial;
        }
        self.last = number;
        Ok(())
    }
}

/// A line, or the parts of a long one around its matches, as many as fit into `room`; and
/// whether there are more.
fn excerpt<'a>(
    finder: &Finder,
    line: &'a str,
    room: usize,
) -> Result<(Cow<'a, str>, bool), BadPattern> {
    if line.len() <= MAX_LINE_BYTES {
        return Ok((line.into(), false));
    }
    let (mut text, mut end) = (String::new(), 0);
    let mut next = Some(finder.after(line, 0)?.unwrap_or(0));
    while let Some(found) = next {
        let begins = finder.start_of(line, end, found)?;
        let start = line.floor_char_boundary(begins.saturating_sub(LEAD_BYTES)).max(end);
        let part_end = line.floor_char_boundary(start + MAX_LINE_BYTES);
        // The number before it and the line's end take some room too.
        if !text.is_empty() && text.len() + (part_end - start) + SPARE_BYTES > room {
            break;
        }
        text.push_str(if start > end { "…" } else { "" });
        text.push_str(&line[start..part_end]);
        end = part_end;
        // Behind the last letter is no more to show; an empty match there does not count.
        next = if end < line.len() { finder.after(line, end)? } else { None };
    }
    text.push_str(if end < line.len() { "…" } else { "" });
    Ok((text.into(), next.is_some()))
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
    fn a_match_is_found_wherever_it_is_in_a_very_long_line() {
        for at in
            [0, PIECE_BYTES - 3, PIECE_BYTES + 1, 2 * PIECE_BYTES - OVERLAP_BYTES - 3, 300_000]
        {
            let text = format!("{}needle{}", "x".repeat(at), "x".repeat(300_000 - at));
            let found = grep(&text, "n[de]+le", GrepLimits::within(10_000)).unwrap();
            assert!(found.text.contains("needle") && found.text.len() < 600, "{at}: {found:?}");
            // The end of a piece is no end of a line.
            let ends = grep(&text, "x$|q", GrepLimits::within(10_000)).unwrap();
            assert_eq!(ends.matched, usize::from(at < 300_000), "{at}");
        }
    }

    #[test]
    fn a_match_is_found_however_long_it_is() {
        let line = format!("{{alpha{}omega{}}}", "é,".repeat(50_000), "x".repeat(100_000));
        let limits = GrepLimits::within(10_000);
        for pattern in [r"^\{.*\}$", "alpha.*omega", r"^[^#]*$", r"omegax*\}$"] {
            let found = grep(&line, pattern, limits).unwrap();
            assert_eq!((found.matched, found.is_partial), (1, false), "{pattern}");
        }
        for pattern in ["alpha.*omega$", r"^\{.*#", "omega.*alpha", "^alpha"] {
            let found = grep(&line, pattern, limits).unwrap();
            assert_eq!((found.matched, found.is_partial), (0, false), "{pattern}");
        }
        // Which letters make up words is not known to what looks through so long a line.
        let found = grep(&line, r"\balpha.*omega\b", limits).unwrap();
        assert_eq!((found.matched, found.is_truncated()), (0, true));
        assert_eq!(grep(&line, r"\balpha", limits).unwrap().matched, 1);
    }

    #[test]
    fn a_pattern_that_matches_nothing_at_all_is_no_trouble() {
        for length in [600, 200_000] {
            let line = "x".repeat(length);
            for pattern in [".*", "$", "(error)?", ",?$", r"\b", r"\z", "x*", ""] {
                let found = grep(&line, pattern, GrepLimits::within(10_000)).unwrap();
                assert_eq!((found.matched, found.shown), (1, 1), "{pattern}");
            }
        }
    }

    #[test]
    fn of_a_long_match_the_beginning_is_shown() {
        let line = format!("{}start{}stop{}", ".".repeat(9000), "-".repeat(300), ".".repeat(9000));
        for line in [line.clone(), format!("{line}{}", ".".repeat(100_000))] {
            let found = grep(&line, "start-+stop", GrepLimits::within(10_000)).unwrap();
            assert!(found.text.contains(".start-") && found.text.contains("-stop."), "{found:?}");
        }
        // What follows it says whether it is one.
        let line = format!("{}aab{}", "é".repeat(900), "c".repeat(900));
        let found = grep(&line, r"a\B", GrepLimits::within(10_000)).unwrap();
        assert!(found.text.contains("éaab"), "{found:?}");
    }

    /// It takes long for every byte, and needs a large automaton.
    const DEAR: &str = "(?:[ab]{0,50}[ac]{0,50}){50}[0-9]{2}";

    fn within(steps: u64) -> GrepLimits {
        GrepLimits { steps, ..GrepLimits::within(1_000) }
    }

    #[test]
    fn every_byte_of_text_is_a_step_and_so_is_every_byte_of_automaton() {
        let text = "one two three\n".repeat(10_000);
        let found = grep(&text, "three$", GrepLimits::within(1_000)).unwrap();
        let used = MAX_SEARCH_STEPS - found.steps_left;
        assert!((text.len() as u64 - 10_000..3 * text.len() as u64).contains(&used), "{used}");
        let limits = within(text.len() as u64 / 2);
        let given_up = grep(&text, "three$", limits);
        assert_eq!(given_up, Err(BadPattern::TooManySteps { limit: limits.steps }));
    }

    #[test]
    fn a_dear_pattern_is_given_up_within_one_line() {
        // Just as long as would be looked through in one piece, and much longer.
        for length in [PIECE_BYTES - 1, 1_000_000] {
            let line = "ab".repeat(length / 2);
            let limits = within(8 * 1024 * 1024);
            let slow = grep(&line, DEAR, limits);
            assert_eq!(slow, Err(BadPattern::TooManySteps { limit: limits.steps }), "{length}");
        }
        let many = format!("{}\n", "ab".repeat(200)).repeat(25_000);
        assert!(matches!(grep(&many, DEAR, within(1 << 20)), Err(BadPattern::TooManySteps { .. })));
    }

    #[test]
    fn a_dear_pattern_is_given_up_where_steps_cannot_be_counted() {
        let line = format!("é {}", "ab".repeat(PIECE_BYTES));
        let dear = grep(&line, &format!(r"\b{DEAR}"), GrepLimits::within(1_000));
        assert!(matches!(dear, Err(BadPattern::TooManySteps { .. })), "{dear:?}");
        let cheap = grep(&line, r"\bab", GrepLimits::within(1_000)).unwrap();
        assert_eq!(cheap.matched, 1);
    }

    #[test]
    fn the_beginning_of_a_match_costs_steps_as_well() {
        let line = format!("{}b", "a".repeat(10_000));
        let whole = grep(&line, "^a*b", GrepLimits::within(1_000)).unwrap();
        let used = MAX_SEARCH_STEPS - whole.steps_left;
        // Once to see that it matches, once to show it, and once back to its beginning.
        assert!(used > 3 * line.len() as u64, "{used}");
    }

    #[test]
    fn a_line_full_of_matches_is_gone_through_once() {
        // Every letter is a match, and each could go on to the end of the line.
        let line = "a".repeat(1_000_000);
        let found = grep(&line, "a.*b|a", GrepLimits::within(1_000_000)).unwrap();
        assert_eq!((found.matched, found.shown), (1, 1));
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
