//! Refuses programs before anything of them runs, e.g. one that is nested too deep.

use trove_core::programs::Fault;

use crate::policy::{MAX_NESTED, RULES};

/// Whether a program may be tried at all.
pub(crate) fn check(source: &str) -> Result<(), Fault> {
    if source.len() > RULES.source_bytes {
        return Err(Fault::TooLong { bytes: source.len(), limit: RULES.source_bytes });
    }
    // The indents of the functions that the current line may stand in.
    let mut open: Vec<usize> = Vec::new();
    for (number, line) in statements(source) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        open.retain(|outer| *outer < indent);
        let mut words = text.split_ascii_whitespace();
        let first = words.next();
        if first == Some("def") || (first == Some("async") && words.next() == Some("def")) {
            open.push(indent);
        }
        if open.len() > MAX_NESTED {
            return Err(Fault::TooNested { line: number, limit: MAX_NESTED });
        }
    }
    Ok(())
}

/// The lines with which something begins, by number: not those inside of texts and brackets,
/// no blank ones and no comments.
fn statements(source: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut state = State::default();
    for (index, line) in source.lines().enumerate() {
        let text = line.trim_start();
        if state.is_outside() && !text.is_empty() && !text.starts_with('#') {
            found.push((index + 1, line));
        }
        state.pass(line);
    }
    found
}

/// Where a line ends: in which kind of text, in how many brackets.
#[derive(Default)]
struct State {
    /// The quote that ends a text of several lines.
    quote: Option<&'static str>,
    brackets: usize,
    is_continued: bool,
}

impl State {
    fn is_outside(&self) -> bool {
        self.quote.is_none() && self.brackets == 0 && !self.is_continued
    }

    fn pass(&mut self, line: &str) {
        let mut rest = line;
        self.is_continued = false;
        while let Some(c) = rest.chars().next() {
            if let Some(quote) = self.quote {
                let after = rest.strip_prefix(quote);
                self.quote = self.quote.filter(|_| after.is_none());
                rest = after.unwrap_or_else(|| skip(rest, if c == '\\' { 2 } else { 1 }));
                continue;
            }
            let quotes = ["\"\"\"", "'''", "\"", "'"];
            if let Some(quote) = quotes.into_iter().find(|quote| rest.starts_with(quote)) {
                self.quote = Some(quote);
                rest = &rest[quote.len()..];
                continue;
            }
            match c {
                '#' => return,
                '(' | '[' | '{' => self.brackets += 1,
                ')' | ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
                '\\' => self.is_continued = rest.len() == 1,
                _ => {}
            }
            rest = skip(rest, 1);
        }
        // A text in single quotes ends with its line, unless that goes on.
        if self.quote.is_some_and(|quote| quote.len() == 1) && !line.ends_with('\\') {
            self.quote = None;
        }
    }
}

/// A text without its first characters.
fn skip(text: &str, count: usize) -> &str {
    let mut chars = text.chars();
    chars.by_ref().take(count).for_each(drop);
    chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        let defs = (0..depth).map(|n| format!("{}def f():\n", " ".repeat(n)));
        defs.collect::<String>() + &" ".repeat(depth) + "0\n"
    }

    #[test]
    fn functions_in_functions_are_taken_as_deep_as_they_compile_at_once() {
        assert_eq!(check(&nested(MAX_NESTED)), Ok(()));
        let fault = Fault::TooNested { line: MAX_NESTED + 1, limit: MAX_NESTED };
        assert_eq!(check(&nested(MAX_NESTED + 1)), Err(fault));
    }

    #[test]
    fn other_ways_to_write_functions_are_no_way_around() {
        let depth = MAX_NESTED + 1;
        let heads =
            ["def\tf():", "async  def f():", "def f(a='''\nx''', b=[\n0]):", "def f(): # '"];
        for head in heads {
            let defs = (0..depth).map(|n| format!("{}{head}\n", " ".repeat(n)));
            let source = defs.collect::<String>() + &" ".repeat(depth) + "0\n";
            assert!(matches!(check(&source), Err(Fault::TooNested { .. })), "{source}");
        }
        let documented = (0..depth).map(|n| {
            let indent = " ".repeat(n);
            format!("{indent}def f():\n{indent} \"\"\"\nsays 'it' \\\"\"\" so\n\"\"\"\n")
        });
        let source = documented.collect::<String>() + &" ".repeat(depth) + "0\n";
        assert!(matches!(check(&source), Err(Fault::TooNested { .. })), "{source}");
    }

    #[test]
    fn what_only_looks_like_a_function_is_none() {
        let text = (0..20).map(|n| format!("{}def f():\n", " ".repeat(n))).collect::<String>();
        assert_eq!(check(&format!("x = \"\"\"\n{text}\"\"\"\n")), Ok(()));
    }

    #[test]
    fn functions_beside_one_another_are_not_nested() {
        let many = "def f():\n    return 1\n\n# between\n".repeat(100);
        assert_eq!(check(&many), Ok(()));
    }

    #[test]
    fn a_program_may_be_as_long_as_is_published() {
        let longest = "#".repeat(RULES.source_bytes);
        assert_eq!(check(&longest), Ok(()));
        let bytes = RULES.source_bytes + 1;
        let fault = Fault::TooLong { bytes, limit: RULES.source_bytes };
        assert_eq!(check(&format!("{longest}#")), Err(fault));
    }
}
