//! Markdown as people usually write it: headings, lists, quotes, code, tables, emphasis.
//!
//! HTML in it is text, links and pictures are named and lead nowhere. What is not
//! understood stays as it was written.

mod inline;

use std::fmt::Write as _;

use trove_core::content::escape_controls;

use super::escape;
use inline::inline;

/// How deep lists and quotes may stand in one another.
const MAX_DEPTH: usize = 12;

pub(super) fn html(text: &str) -> String {
    let text = escape_controls(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::from("<article class=prose>");
    blocks(without_front_matter(&lines, &mut out), 0, &mut out);
    out.push_str("</article>");
    out
}

/// Settings between two `---` at the top are shown as such, not as a heading.
fn without_front_matter<'a, 'b>(lines: &'b [&'a str], out: &mut String) -> &'b [&'a str] {
    if lines.first() != Some(&"---") {
        return lines;
    }
    let Some(end) = lines[1..].iter().position(|line| *line == "---") else { return lines };
    let _ = write!(out, "<pre class=front>{}</pre>", escape(&lines[1..=end].join("\n")));
    &lines[end + 2..]
}

fn blocks(lines: &[&str], depth: usize, out: &mut String) {
    let mut at = 0;
    while at < lines.len() {
        at += block(&lines[at..], depth, out).max(1);
    }
}

/// Writes the block that begins here and says how many lines it took.
fn block(lines: &[&str], depth: usize, out: &mut String) -> usize {
    let line = lines[0];
    let trimmed = line.trim_start();
    if trimmed.is_empty() {
        return 1;
    }
    if let Some(fence) = fence(trimmed) {
        return code(lines, fence, out);
    }
    if let Some((level, title)) = heading(trimmed) {
        let _ = write!(out, "<h{level}>{}</h{level}>", inline(title));
        return 1;
    }
    if is_rule(trimmed) {
        out.push_str("<hr>");
        return 1;
    }
    if trimmed.starts_with('>') && depth < MAX_DEPTH {
        return quote(lines, depth, out);
    }
    if marker(line).is_some() && depth < MAX_DEPTH {
        return list(lines, depth, out);
    }
    if lines.len() > 1 && line.contains('|') && is_table_rule(lines[1]) {
        return table(lines, out);
    }
    paragraph(lines, out)
}

fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| &line[..length])
}

fn code(lines: &[&str], fence: &str, out: &mut String) -> usize {
    let is_end = |line: &&str| {
        line.trim().starts_with(fence) && line.trim().chars().all(|c| fence.starts_with(c))
    };
    let end = lines[1..].iter().position(is_end).map_or(lines.len(), |n| n + 1);
    let _ = write!(out, "<pre tabindex=0><code>{}</code></pre>", escape(&lines[1..end].join("\n")));
    end + 1
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

fn is_rule(line: &str) -> bool {
    let mark = line.chars().next().unwrap_or(' ');
    let is_mark = |c: char| c == mark || c.is_whitespace();
    matches!(mark, '-' | '*' | '_')
        && line.chars().all(is_mark)
        && line.chars().filter(|c| *c == mark).count() >= 3
}

fn quote(lines: &[&str], depth: usize, out: &mut String) -> usize {
    let own = lines.iter().take_while(|line| line.trim_start().starts_with('>')).count();
    let inner: Vec<&str> = lines[..own]
        .iter()
        .map(|line| {
            let rest = &line.trim_start()[1..];
            rest.strip_prefix(' ').unwrap_or(rest)
        })
        .collect();
    out.push_str("<blockquote>");
    blocks(&inner, depth + 1, out);
    out.push_str("</blockquote>");
    own
}

/// The marker of a list item: how far it is indented, how wide with its blank, and
/// whether it counts.
fn marker(line: &str) -> Option<(usize, usize, bool)> {
    let indent = line.len() - line.trim_start().len();
    let rest = &line[indent..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = if digits > 0 && digits < 10 {
        rest[digits..].strip_prefix(['.', ')'])
    } else {
        rest.strip_prefix(['-', '*', '+'])
    }?;
    let is_marker = after.is_empty() || after.starts_with([' ', '\t']);
    is_marker.then(|| (indent, rest.len() - after.len() + 1, digits > 0))
}

fn list(lines: &[&str], depth: usize, out: &mut String) -> usize {
    let Some((indent, _, counts)) = marker(lines[0]) else { return 0 };
    let tag = if counts { "ol" } else { "ul" };
    let _ = write!(out, "<{tag}>");
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let Some((own, width, counted)) = marker(line) else { break };
        if own != indent || counted != counts || is_rule(line.trim_start()) {
            break;
        }
        let taken = item_length(&lines[at..], indent);
        let mut inner: Vec<&str> = vec![line.get(own + width..).unwrap_or_default()];
        inner.extend(lines[at + 1..at + taken].iter().map(|line| outdented(line, own + width)));
        item(&inner, depth, out);
        at += taken;
    }
    let _ = write!(out, "</{tag}>");
    at
}

/// How many lines belong to an item: all that are indented further, or go on with it.
fn item_length(lines: &[&str], indent: usize) -> usize {
    let mut end = 1;
    while let Some(line) = lines.get(end) {
        let is_blank = line.trim().is_empty();
        let own = line.len() - line.trim_start().len();
        let next = lines.get(end + 1).copied().unwrap_or_default();
        let next_own = next.len() - next.trim_start().len();
        let goes_on = match is_blank {
            true => !next.trim().is_empty() && next_own > indent,
            false => {
                own > indent
                    || (marker(line).is_none()
                        && !lines[end - 1].trim().is_empty()
                        && heading(line.trim_start()).is_none()
                        && fence(line.trim_start()).is_none())
            }
        };
        if !goes_on {
            break;
        }
        end += 1;
    }
    // A blank line between two items belongs to the first.
    if lines.get(end).is_some_and(|line| line.trim().is_empty())
        && lines.get(end + 1).and_then(|line| marker(line)).is_some_and(|(own, ..)| own == indent)
    {
        end += 1;
    }
    end
}

fn outdented(line: &str, width: usize) -> &str {
    let blanks = line.bytes().take_while(|byte| *byte == b' ').count().min(width);
    line[blanks..].trim_start_matches('\t')
}

fn item(lines: &[&str], depth: usize, out: &mut String) {
    let first = lines[0];
    let task = [("[ ] ", "☐"), ("[x] ", "☑"), ("[X] ", "☑")];
    let found = task.iter().find_map(|(mark, sign)| Some((*sign, first.strip_prefix(mark)?)));
    let (sign, first) = found.unwrap_or(("", first));
    out.push_str(if sign.is_empty() { "<li>" } else { "<li class=task>" });
    let _ = write!(out, "{sign} ");
    let mut lines = lines.to_vec();
    lines[0] = first;
    let is_simple = lines[1..].iter().all(|l| l.trim().is_empty());
    if is_simple && marker(first).is_none() {
        out.push_str(&inline(first));
    } else {
        blocks(&lines, depth + 1, out);
    }
    out.push_str("</li>");
}

fn is_table_rule(line: &str) -> bool {
    line.contains('-') && line.contains('|') && line.chars().all(|c| "|-: \t".contains(c))
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    line.strip_suffix('|').unwrap_or(line).split('|').map(str::trim).collect()
}

fn table(lines: &[&str], out: &mut String) -> usize {
    let own = lines.iter().take_while(|line| line.contains('|')).count();
    out.push_str("<table><thead><tr>");
    for cell in cells(lines[0]) {
        let _ = write!(out, "<th>{}", inline(cell));
    }
    out.push_str("<tbody>");
    for line in &lines[2..own] {
        out.push_str("<tr>");
        for cell in cells(line) {
            let _ = write!(out, "<td>{}", inline(cell));
        }
    }
    out.push_str("</table>");
    own
}

fn paragraph(lines: &[&str], out: &mut String) -> usize {
    let begins_another = |line: &str| {
        let trimmed = line.trim_start();
        trimmed.is_empty()
            || fence(trimmed).is_some()
            || heading(trimmed).is_some()
            || is_rule(trimmed)
            || trimmed.starts_with('>')
            || marker(line).is_some()
    };
    let is_underline = |line: &str, mark: char| {
        let line = line.trim();
        !line.is_empty() && line.chars().all(|c| c == mark)
    };
    if let Some(next) = lines.get(1) {
        for (mark, level) in [('=', 1), ('-', 2)] {
            if is_underline(next, mark) {
                let _ = write!(out, "<h{level}>{}</h{level}>", inline(lines[0].trim()));
                return 2;
            }
        }
    }
    let own = 1 + lines[1..].iter().take_while(|line| !begins_another(line)).count();
    let _ = write!(out, "<p>{}</p>", inline(&lines[..own].join("\n")));
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let html = html(text);
        let inner = html.strip_prefix("<article class=prose>").unwrap();
        assert_eq!(inner.strip_suffix("</article>").unwrap(), expect);
    }

    #[test]
    fn the_usual_blocks_are_understood() {
        check("# One\n\nTwo\nlines", "<h1>One</h1><p>Two\nlines</p>");
        check("Title\n=====\ntext", "<h1>Title</h1><p>text</p>");
        check("- a\n- b\n\n1. c", "<ul><li> a</li><li> b</li></ul><ol><li> c</li></ol>");
        check("- a\n  - b", "<ul><li> <p>a</p><ul><li> b</li></ul></li></ul>");
        check("> a\n> b", "<blockquote><p>a\nb</p></blockquote>");
        check("```rust\nlet <x>\n```", "<pre tabindex=0><code>let &lt;x&gt;</code></pre>");
        check("|a|b|\n|-|-|\n|1|2|", "<table><thead><tr><th>a<th>b<tbody><tr><td>1<td>2</table>");
        check("---\ntitle: x\n---\ny", "<pre class=front>title: x</pre><p>y</p>");
        check("- [x] done", "<ul><li class=task>☑ done</li></ul>");
        check("***", "<hr>");
    }

    #[test]
    fn odd_input_comes_to_an_end() {
        for text in [
            "```",
            "-",
            ">",
            "|\n|-",
            "1.",
            "- \n\n\n- ",
            "#",
            "*",
            "---",
            "> > > >",
            "-\n-\n  -\n",
        ] {
            let _ = html(text);
        }
        let _ = html(&"> ".repeat(2000));
        let _ = html(&"- ".repeat(2000));
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_our_own_tags_is_ever_written(text in "[-#>*_`|<>&a\"'!\\[\\]() \n0-9.]{0,200}") {
            let html = html(&text);
            for tag in html.split('<').skip(1) {
                let name: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '/').collect();
                let known = [
                    "article", "h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "pre", "code", "hr", "blockquote",
                    "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "del", "br", "span",
                ];
                proptest::prop_assert!(known.contains(&name.trim_start_matches('/')), "{}", tag);
            }
        }
    }
}
