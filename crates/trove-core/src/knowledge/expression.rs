//! Content expressions: which documents are meant, in one line.
//!
//! `expr := sub ("," sub)*`, `sub := name ["/" pattern ("+" pattern)*]`. A comma or plus
//! inside of braces or brackets belongs to the pattern. Blanks around parts are ignored.

use std::fmt;

/// The longest expression that is read, in bytes.
pub const MAX_EXPRESSION: usize = 4096;

/// Which documents are meant: one or more parts, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    pub parts: Vec<Part>,
}

/// One part: a category or collection, and which of its documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The category or collection.
    pub name: String,
    /// Any of these; empty: as the category or collection has it.
    pub patterns: Vec<String>,
}

/// The text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {at} of the expression: expected {expected}, found {found}")]
pub struct BadExpression {
    /// Which character, from one; past the last one at the end.
    pub at: usize,
    /// The token that should stand there.
    pub expected: &'static str,
    /// The text that stands there.
    pub found: String,
}

const A_NAME: &str = "the name of a category or collection";
const A_PATTERN: &str = "a pattern, as in `lang/python` or `lang/*.md`";

impl Expression {
    /// Reads an expression, e.g. `lang/python+rust,review`.
    pub fn parse(text: &str) -> Result<Expression, BadExpression> {
        if text.len() > MAX_EXPRESSION {
            let at = text.char_indices().take_while(|(at, _)| *at < MAX_EXPRESSION).count();
            return Err(bad(text, at, "at most 4096 bytes"));
        }
        Reader { text, letters: text.chars().collect(), at: 0 }.expression()
    }

    /// The expression with `pattern` for every part that has none, e.g. `lang` and `*.md`:
    /// `lang/*.md`.
    pub fn with_pattern(mut self, pattern: &str) -> Result<Expression, BadExpression> {
        let patterns =
            Reader { text: pattern, letters: pattern.chars().collect(), at: 0 }.only_patterns()?;
        let is_needed = self.parts.iter().any(|part| part.patterns.is_empty());
        let first = self.parts.first();
        if let Some(own) = first.and_then(|part| part.patterns.first()).filter(|_| !is_needed) {
            return Err(BadExpression {
                at: first.map_or(0, |part| part.name.chars().count()) + 1,
                expected: "a part without a pattern, for the one that is given apart",
                found: format!("`{own}`"),
            });
        }
        for part in self.parts.iter_mut().filter(|part| part.patterns.is_empty()) {
            part.patterns.clone_from(&patterns);
        }
        Ok(self)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, part) in self.parts.iter().enumerate() {
            if n > 0 {
                f.write_str(",")?;
            }
            f.write_str(&part.name)?;
            for (n, pattern) in part.patterns.iter().enumerate() {
                write!(f, "{}{pattern}", if n == 0 { '/' } else { '+' })?;
            }
        }
        Ok(())
    }
}

struct Reader<'a> {
    text: &'a str,
    letters: Vec<char>,
    at: usize,
}

impl Reader<'_> {
    fn expression(mut self) -> Result<Expression, BadExpression> {
        let mut parts = vec![self.part()?];
        while self.take(',') {
            parts.push(self.part()?);
        }
        match self.peek() {
            None => Ok(Expression { parts }),
            Some(_) => Err(self.bad("`,` and another part, or the end")),
        }
    }

    fn part(&mut self) -> Result<Part, BadExpression> {
        let start = self.at;
        while self.peek().is_some_and(|c| !matches!(c, ',' | '/' | '+')) {
            if self
                .peek()
                .is_some_and(|c| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '\0'))
            {
                return Err(self.bad("`/` before a pattern"));
            }
            self.at += 1;
        }
        let name = self.since(start);
        if name.is_empty() {
            return Err(self.bad(A_NAME));
        }
        let patterns = if self.take('/') { self.patterns()? } else { Vec::new() };
        Ok(Part { name, patterns })
    }

    fn only_patterns(mut self) -> Result<Vec<String>, BadExpression> {
        let patterns = self.patterns()?;
        match self.peek() {
            None => Ok(patterns),
            Some(_) => Err(self.bad("`+` and another pattern, or the end")),
        }
    }

    fn patterns(&mut self) -> Result<Vec<String>, BadExpression> {
        let mut patterns = vec![self.pattern()?];
        while self.take('+') {
            patterns.push(self.pattern()?);
        }
        Ok(patterns)
    }

    fn pattern(&mut self) -> Result<String, BadExpression> {
        let start = self.at;
        let (mut braces, mut in_class) = (0usize, false);
        while let Some(c) = self.peek() {
            match c {
                ',' | '+' if braces == 0 && !in_class => break,
                '[' if !in_class => in_class = true,
                ']' => in_class = false,
                '{' if !in_class => braces += 1,
                '}' if !in_class && braces == 0 => return Err(self.bad("`{` before `}`")),
                '}' if !in_class => braces -= 1,
                '\\' | '\0' => return Err(self.bad("a pattern without backslash or NUL")),
                _ => {}
            }
            self.at += 1;
        }
        if in_class {
            return Err(self.bad("`]`"));
        }
        if braces > 0 {
            return Err(self.bad("`}`"));
        }
        let pattern = self.since(start);
        if pattern.is_empty() {
            return Err(self.bad(A_PATTERN));
        }
        Ok(pattern)
    }

    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn since(&self, start: usize) -> String {
        self.letters[start..self.at].iter().collect::<String>().trim().to_owned()
    }

    fn bad(&self, expected: &'static str) -> BadExpression {
        bad(self.text, self.at, expected)
    }
}

fn bad(text: &str, at: usize, expected: &'static str) -> BadExpression {
    let found =
        text.chars().nth(at).map_or("the end".into(), |c| format!("`{}`", c.escape_debug()));
    BadExpression { at: at + 1, expected, found }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(&str, &[&str])]) {
        let parts = Expression::parse(text).unwrap().parts;
        let parts: Vec<(&str, Vec<&str>)> = parts
            .iter()
            .map(|p| (p.name.as_str(), p.patterns.iter().map(String::as_str).collect()))
            .collect();
        let expect: Vec<(&str, Vec<&str>)> = expect.iter().map(|(n, p)| (*n, p.to_vec())).collect();
        assert_eq!(parts, expect, "{text}");
    }

    #[test]
    fn parts_patterns_and_blanks_are_told_apart() {
        check("guidelines", &[("guidelines", &[])]);
        check("lang/python", &[("lang", &["python"])]);
        check("lang/python+java+rust", &[("lang", &["python", "java", "rust"])]);
        check(
            " lang/python , docs/api/**/*.md,guidelines ",
            &[("lang", &["python"]), ("docs", &["api/**/*.md"]), ("guidelines", &[])],
        );
        check("lang/{a,b+c}.md+[,+]x,d", &[("lang", &["{a,b+c}.md", "[,+]x"]), ("d", &[])]);
    }

    #[track_caller]
    fn check_bad(text: &str, message: &str) {
        assert_eq!(Expression::parse(text).unwrap_err().to_string(), message, "{text}");
    }

    #[test]
    fn an_error_says_where_and_what_was_expected() {
        let name = "expected the name of a category or collection";
        check_bad("", &format!("at character 1 of the expression: {name}, found the end"));
        check_bad("a,,b", &format!("at character 3 of the expression: {name}, found `,`"));
        check_bad("a,", &format!("at character 3 of the expression: {name}, found the end"));
        check_bad(
            "lang/",
            "at character 6 of the expression: expected a pattern, as in `lang/python` or `lang/*.md`, found the end",
        );
        check_bad("lang/{a,b", "at character 10 of the expression: expected `}`, found the end");
        check_bad(
            "é*",
            "at character 2 of the expression: expected `/` before a pattern, found `*`",
        );
        check_bad(
            "a+b",
            "at character 2 of the expression: expected `,` and another part, or the end, found `+`",
        );
    }

    #[test]
    fn a_pattern_given_apart_is_the_same_as_one_written_in() {
        let apart = Expression::parse("lang").unwrap().with_pattern("python+rust").unwrap();
        assert_eq!(apart, Expression::parse("lang/python+rust").unwrap());
        let some = Expression::parse("lang/x,docs").unwrap().with_pattern("y").unwrap();
        assert_eq!(some, Expression::parse("lang/x,docs/y").unwrap());
        assert!(Expression::parse("lang/x").unwrap().with_pattern("y").is_err());
        assert!(Expression::parse("lang/x,docs/z").unwrap().with_pattern("y").is_err());
        assert!(Expression::parse("lang").unwrap().with_pattern("a,b").is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic_and_errors_point_into_the_text(text in "\\PC{0,40}|[a-c/,+{}\\[\\]*?. ]{0,20}") {
            if let Err(error) = Expression::parse(&text) {
                prop_assert!(error.at <= text.chars().count() + 1);
            }
        }

        #[test]
        fn what_is_written_out_reads_the_same(text in "[a-c/,+{}\\[\\]*?. ]{0,20}") {
            if let Ok(expression) = Expression::parse(&text) {
                prop_assert_eq!(Expression::parse(&expression.to_string()), Ok(expression));
            }
        }
    }

    #[test]
    fn t50_fuzz_expressions() {
        trove_fuzz::feed("expression", |input| {
            let text = String::from_utf8_lossy(input);
            let parsed = Expression::parse(&text);
            let with = parsed.as_ref().ok().and_then(|e| e.clone().with_pattern("*.md").ok());
            (parsed.map(|e| e.parts.len().min(9)).ok(), with.is_some())
        });
    }
}
