//! HTML as the text a reader sees, by its headings. It follows tags, not the rules of the language:
//! wrong markup gives some words too many, never an error.

use trove_core::content;

use crate::{Parts, markup::letter, outline::Outline};

/// Elements whose content no reader sees.
const UNSEEN: [&str; 7] = ["script", "style", "noscript", "template", "svg", "iframe", "object"];
/// Elements that do not end a line.
const INLINE: [&str; 26] = [
    "a", "abbr", "b", "bdi", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "label", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "u", "wbr",
];
/// The longest name of an entity.
const MAX_ENTITY: usize = 10;
/// How deep lists are shown in one another.
const MAX_DEPTH: usize = 8;

/// The text of a page; parts begin at headings of the first two levels.
pub(crate) fn parts(bytes: &[u8]) -> Parts {
    let kind = content::sniff(Some("text/html"), "", bytes);
    let decoded = content::decode_text(bytes, kind.charset);
    outline_of(&decoded.text).end()
}

/// A page as a running text.
pub(crate) fn outline_of(page: &str) -> Outline {
    let mut walk = Walk {
        outline: Outline::split_at(2),
        is_verbatim: false,
        title: None,
        lists: Vec::new(),
        marker: String::new(),
        cells: 0,
    };
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        walk.text(&rest[..at]);
        rest = walk.tag(&rest[at..]);
        if !walk.outline.has_room() {
            break;
        }
    }
    // Also where there is no room for it, which is then noted.
    walk.text(rest);
    if let Some(title) = &walk.title {
        walk.outline.set_name(title);
    }
    walk.outline
}

struct Walk {
    outline: Outline,
    /// Line ends count, as in `pre`.
    is_verbatim: bool,
    title: Option<String>,
    /// The lists around, and the number of the latest entry of each that counts.
    lists: Vec<Option<usize>>,
    /// The bullet or the number of the entry at hand, until its first word comes.
    marker: String,
    /// How many cells the row has so far.
    cells: usize,
}

impl Walk {
    /// Takes the tag at the beginning of `rest`; gives the text behind it.
    fn tag<'t>(&mut self, rest: &'t str) -> &'t str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        if !is_tag {
            self.text("<");
            return &rest[1..];
        }
        let Some(end) = rest.find('>') else {
            self.text(rest);
            return "";
        };
        let (inside, after) = (&rest[1..end], &rest[end + 1..]);
        let is_closing = inside.starts_with('/');
        let name = inside.trim_start_matches('/');
        let len = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        let name = name[..len].to_ascii_lowercase();
        if name == "title" && !is_closing {
            let (title, after) = until_end(after, &name);
            self.title.get_or_insert_with(|| decoded(title));
            return after;
        }
        if UNSEEN.contains(&name.as_str()) && !is_closing && !inside.ends_with('/') {
            return until_end(after, &name).1;
        }
        if is_closing {
            self.close(&name);
        } else {
            self.open(&name, inside);
        }
        after
    }

    fn open(&mut self, name: &str, inside: &str) {
        match name {
            "br" => self.break_line(),
            "td" | "th" => {
                if self.cells > 0 {
                    self.outline.push(" | ");
                }
                self.cells += 1;
                return;
            }
            "img" => {
                if let Some(said) = attribute(inside, "alt") {
                    self.outline.push_collapsed(&said);
                }
            }
            _ => {}
        }
        if INLINE.contains(&name) || self.is_in_cell(name) {
            return;
        }
        self.outline.end_line();
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.outline.heading(level(name)),
            "pre" | "textarea" => self.is_verbatim = true,
            "ul" | "ol" if self.lists.len() < MAX_DEPTH => {
                self.lists.push((name == "ol").then_some(0));
            }
            "li" => self.begin_entry(),
            "tr" => self.cells = 0,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if INLINE.contains(&name) || matches!(name, "td" | "th") || self.is_in_cell(name) {
            return;
        }
        self.outline.end_line();
        match name {
            "pre" | "textarea" => self.is_verbatim = false,
            "li" => self.marker.clear(),
            "ul" | "ol" => {
                self.lists.pop();
            }
            "tr" | "table" => self.cells = 0,
            _ => {}
        }
    }

    /// Whether the element stands in a cell of a table, whose row is one line.
    fn is_in_cell(&self, name: &str) -> bool {
        self.cells > 0 && matches!(name, "p" | "div" | "li" | "ul" | "ol")
    }

    fn begin_entry(&mut self) {
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        self.marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{indent}{number}. ")
            }
            _ => format!("{indent}- "),
        };
    }

    fn break_line(&mut self) {
        if self.cells > 0 {
            self.outline.push(" ");
        } else {
            self.outline.end_line();
        }
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = decoded(text);
        if !text.trim().is_empty() {
            self.outline.push(&std::mem::take(&mut self.marker));
        }
        if self.is_verbatim {
            for (n, line) in text.split('\n').enumerate() {
                if n > 0 {
                    self.outline.end_line();
                }
                self.outline.push(line.trim_end_matches('\r'));
            }
        } else if !(self.outline.is_at_start() && text.trim().is_empty()) {
            self.outline.push_collapsed(&text);
        }
    }
}

/// The level of `h1` to `h6`.
fn level(name: &str) -> usize {
    name[1..].parse().unwrap_or(6)
}

/// The text up to the end of an element, and the text behind that.
fn until_end<'t>(text: &'t str, name: &str) -> (&'t str, &'t str) {
    let mut at = 0;
    while let Some(found) = text[at..].find("</") {
        let end = at + found;
        let rest = &text[end + 2..];
        let is_end = rest.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
        if is_end {
            let after = rest.find('>').map_or("", |close| &rest[close + 1..]);
            return (&text[..end], after);
        }
        at = end + 2;
    }
    (text, "")
}

/// The value of an attribute within a tag.
fn attribute(inside: &str, name: &str) -> Option<String> {
    let at = inside.to_ascii_lowercase().find(&format!(" {name}="))?;
    let value = inside.get(at + name.len() + 2..)?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let end = value[1..].find(quote)?;
    Some(decoded(&value[1..=end]))
}

/// Text with the letters that its entities stand for.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.bytes().take(MAX_ENTITY).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((letter(&rest[..end])?, end)));
        match found {
            Some((letter, end)) => {
                out.push(letter);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: &str) -> String {
        let parts = parts(page.as_bytes());
        let parts = parts.parts.iter().map(|part| format!("[{}]\n{}", part.title, part.text));
        parts.collect()
    }

    #[test]
    fn a_page_is_the_text_that_a_reader_sees() {
        let page = "<html><head><title>A &amp; B</title><style>p{}</style></head><body>\
            <p>Before</p><h1>One</h1><p>A <b>bold</b> word<br>and a line.</p><script>no()</script>\
            <ul><li><div>first</div><li>second</ul><ol><li>x</li></ol><h2>Two</h2><h3>Three</h3>\
            <table><tr><th>n</th><td><p>1</p></td></tr></table><pre>a\n  b</pre></body></html>";
        let expected = "[A & B]\nBefore\n[One]\nA bold word\nand a line.\n- first\n- second\n1. x\n\
            [Two]\n### Three\nn | 1\na\n  b\n";
        assert_eq!(shown(page), expected);
    }

    #[test]
    fn t50_fuzz_wrong_markup_is_read_in_time_linear_in_its_length() {
        for page in ["<", "<a", "&", "&#;", "</", "<title>", "<pre>", "é<é>é&é;", "<!--", "<!-->"]
        {
            shown(page);
            shown(&page.repeat(20_000));
        }
    }
}
