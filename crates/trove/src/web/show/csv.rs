//! A table: values with commas or tabs between, the first line as head.

use std::fmt::Write as _;

use super::escape;

/// The most rows and columns that are shown.
const MAX_ROWS: usize = 2000;
const MAX_COLUMNS: usize = 100;

pub(super) fn html(text: &str, divider: char) -> String {
    let rows = rows(text, divider);
    let mut out = String::from("<table class=sheet tabindex=0>");
    for (n, row) in rows.iter().enumerate() {
        let tag = if n == 0 { "th" } else { "td" };
        out.push_str(if n == 0 { "<thead><tr><th aria-label=row>" } else { "<tr><td class=nth>" });
        if n > 0 {
            let _ = write!(out, "{n}");
        }
        for value in row {
            let is_number = n > 0 && value.trim().parse::<f64>().is_ok();
            let class = if is_number { " class=number" } else { "" };
            let _ = write!(out, "<{tag}{class}>{}", escape(value));
        }
        if n == 0 {
            out.push_str("<tbody>");
        }
    }
    out.push_str("</table>");
    if rows.len() > MAX_ROWS {
        let _ = write!(out, "<p class=note>Only the first {MAX_ROWS} rows are shown.</p>");
    }
    out
}

/// The values, row by row. A value in quotes may hold dividers and line ends, e.g. `"a,b"`.
fn rows(text: &str, divider: char) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut value = String::new();
    let mut is_quoted = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => {
                rest.next();
                value.push('"');
            }
            '"' if is_quoted || value.is_empty() => is_quoted = !is_quoted,
            c if c == divider && !is_quoted => end_value(&mut row, &mut value),
            '\r' if !is_quoted && rest.peek() == Some(&'\n') => {}
            '\n' if !is_quoted => {
                end_value(&mut row, &mut value);
                rows.push(std::mem::take(&mut row));
                if rows.len() > MAX_ROWS {
                    return rows;
                }
            }
            c => value.push(c),
        }
    }
    if !value.is_empty() || !row.is_empty() {
        end_value(&mut row, &mut value);
        rows.push(row);
    }
    rows
}

fn end_value(row: &mut Vec<String>, value: &mut String) {
    let value = std::mem::take(value);
    if row.len() < MAX_COLUMNS {
        row.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_dividers_and_line_ends() {
        let all = rows("a,b\r\n\"x,\"\"1\"\"\n2\",3\n", ',');
        assert_eq!(all, [vec!["a", "b"], vec!["x,\"1\"\n2", "3"]]);
        assert_eq!(rows("a\tb,c", '\t'), [vec!["a", "b,c"]]);
    }

    #[test]
    fn a_quote_that_never_ends_ends_with_the_text() {
        assert_eq!(rows("a\n\"b,c\nd", ','), [vec!["a"], vec!["b,c\nd"]]);
    }
}
