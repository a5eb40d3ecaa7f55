//! What stands within a line: code, emphasis, links.

use std::fmt::Write as _;

use super::escape;

/// The longest run that is looked through for the end of a mark.
const MAX_RUN: usize = 8 * 1024;

/// The text with its marks as tags.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\\' => escaped(rest, &mut out),
            '`' => code(rest, &mut out),
            '!' if rest.starts_with("![") => link(&rest[1..], true, &mut out).map(|n| n + 1),
            '[' => link(rest, false, &mut out),
            '*' | '_' | '~' => emphasis(text, rest, &mut out),
            '\n' if out.ends_with("  ") => {
                out.push_str("<br>");
                Some(1)
            }
            _ => None,
        };
        let taken = taken.unwrap_or_else(|| {
            out.push_str(&escape(&rest[..c.len_utf8()]));
            c.len_utf8()
        });
        rest = &rest[taken..];
    }
    out
}

fn escaped(rest: &str, out: &mut String) -> Option<usize> {
    let next = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
    out.push_str(&escape(&next.to_string()));
    Some(1 + next.len_utf8())
}

fn code(rest: &str, out: &mut String) -> Option<usize> {
    let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
    let end = near(&rest[ticks..]).find(&rest[..ticks])?;
    let _ = write!(out, "<code>{}</code>", escape(rest[ticks..ticks + end].trim()));
    Some(2 * ticks + end)
}

/// `[words](address)`: the words, with the address where it can be seen, leading nowhere.
fn link(rest: &str, is_picture: bool, out: &mut String) -> Option<usize> {
    let close = near(rest).find("](")?;
    let words = &rest[1..close];
    let address = near(&rest[close + 2..]);
    let end = address.find(')')?;
    let address = address[..end].split_whitespace().next().unwrap_or_default();
    if words.contains('\n') && words.contains("\n\n") {
        return None;
    }
    let class = if is_picture { "picture" } else { "link" };
    let words = if words.contains('[') { escape(words) } else { inline(words) };
    let _ = write!(out, "<span class={class} title=\"{}\">{words}</span>", escape(address));
    Some(close + 2 + end + 1)
}

fn emphasis(whole: &str, rest: &str, out: &mut String) -> Option<usize> {
    let mark = rest.chars().next()?;
    let length = rest.chars().take_while(|c| *c == mark).count();
    let (tag, width) = match (mark, length) {
        ('~', 2) => ("del", 2),
        ('~', _) => return None,
        (_, 1) => ("em", 1),
        (_, 2) => ("strong", 2),
        _ => return None,
    };
    // `snake_case` is a word.
    let at = whole.len() - rest.len();
    if mark == '_' && whole[..at].ends_with(char::is_alphanumeric) {
        return None;
    }
    let inner = near(&rest[width..]);
    let end = inner.find(&rest[..width]).filter(|end| *end > 0)?;
    let words = &inner[..end];
    if words.starts_with(char::is_whitespace) || words.ends_with(char::is_whitespace) {
        return None;
    }
    // The inside is shorter than the whole, so this ends.
    let _ = write!(out, "<{tag}>{}</{tag}>", inline(words));
    Some(2 * width + end)
}

/// Marks that stand too far apart are none: looking for their ends would take too long.
fn near(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_RUN)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_tags_and_everything_else_stays() {
        let cases = [
            (
                "a *b* **c** ~~d~~ `e<`",
                "a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;</code>",
            ),
            ("snake_case_word 2 * 3 * 4", "snake_case_word 2 * 3 * 4"),
            ("[x](http://e.x/?a=\"b)", "<span class=link title=\"http://e.x/?a=&quot;b\">x</span>"),
            ("![x](y)", "<span class=picture title=\"y\">x</span>"),
            (r"\*a\* <b>", "*a* &lt;b&gt;"),
            ("a  \nb", "a  <br>b"),
            ("[open (", "[open ("),
        ];
        for (text, html) in cases {
            assert_eq!(inline(text), html, "{text}");
        }
    }
}
