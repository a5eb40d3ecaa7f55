//! Cuts logs to the lines that differ: of lines that are the same but for numbers, the
//! first few and none of the thousands that follow.

use std::collections::HashMap;

use super::Extracted;

/// Shorter logs are kept as they are.
const SHORT_LOG_BYTES: usize = 64 * 1024;
/// How many lines of one shape are kept.
const LINES_OF_A_SHAPE: u32 = 5;
/// How many shapes are told apart; lines of later ones are kept.
const MAX_SHAPES: usize = 20_000;

pub(super) fn extract(text: &str) -> Extracted {
    if text.len() <= SHORT_LOG_BYTES {
        return Extracted { body: text.to_owned(), is_verbatim: true, ..Extracted::default() };
    }
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let mut body = String::new();
    for line in text.lines() {
        let shape = shape_of(line);
        let is_known = seen.contains_key(&shape);
        if is_known || seen.len() < MAX_SHAPES {
            let count = seen.entry(shape).or_default();
            *count += 1;
            if *count > LINES_OF_A_SHAPE {
                continue;
            }
        }
        body.push_str(line);
        body.push('\n');
    }
    Extracted { body, ..Extracted::default() }
}

/// A number shared by lines that differ only in words with digits, e.g. in `took 5ms` the `5ms`.
fn shape_of(line: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    for word in line.split(|c: char| c.is_whitespace() || "=:,;[]()\"'/".contains(c)) {
        if !word.bytes().any(|b| b.is_ascii_digit()) {
            word.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Whether most of the first lines begin with a time.
pub(super) fn looks_like_log(text: &str) -> bool {
    let lines = || text.lines().filter(|line| !line.is_empty()).take(20);
    let timed = lines().filter(|line| begins_with_time(line)).count();
    timed >= 3 && timed * 2 > lines().count()
}

fn begins_with_time(line: &str) -> bool {
    let head = line.trim_start_matches(['[', '<']);
    let head: Vec<u8> = head.bytes().take(32).collect();
    let digits = head.iter().filter(|b| b.is_ascii_digit()).count();
    // `12:34:56` and dates alike: many digits and a colon between them, early.
    let is_timed = |at: usize| {
        head.get(at).is_some_and(u8::is_ascii_digit)
            && head.get(at + 2).is_some_and(u8::is_ascii_digit)
    };
    digits >= 6 && (1..head.len()).any(|at| head[at] == b':' && is_timed(at - 1))
}
