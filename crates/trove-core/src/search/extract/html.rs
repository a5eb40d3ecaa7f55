//! Reduces HTML to the text a reader sees. It follows tags, not the rules of the
//! language: wrong markup gives some words too many, never an error.

use super::Extracted;

/// Elements whose content is not for readers.
const UNREAD: [&str; 7] = ["script", "style", "noscript", "template", "svg", "iframe", "object"];
/// Elements that do not end a line.
const INLINE: [&str; 22] = [
    "a", "abbr", "b", "bdi", "cite", "code", "data", "del", "dfn", "em", "i", "ins", "kbd", "mark",
    "q", "s", "small", "span", "strong", "sub", "sup", "u",
];

struct Reducer {
    body: String,
    headings: Vec<String>,
    /// Where the heading at hand began in the body.
    heading_start: Option<usize>,
    title: Option<String>,
    is_in_title: bool,
}

pub(super) fn extract(text: &str) -> Extracted {
    let mut reducer = Reducer {
        body: String::with_capacity(text.len() / 2),
        headings: Vec::new(),
        heading_start: None,
        title: None,
        is_in_title: false,
    };
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        reducer.text(&rest[..at]);
        rest = &rest[at..];
        rest = reducer.tag(rest);
    }
    reducer.text(rest);
    let mut headings: Vec<String> = reducer.title.into_iter().collect();
    headings.append(&mut reducer.headings);
    let body = reducer.body.trim().to_owned();
    Extracted { body, headings, symbols: Vec::new(), is_verbatim: false }
}

impl Reducer {
    /// Takes the tag at the beginning of `rest`; gives what follows.
    fn tag<'t>(&mut self, rest: &'t str) -> &'t str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        let is_tag =
            rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        if !is_tag {
            self.text(&rest[..1]);
            return &rest[1..];
        }
        // Looked for once: behind the last tag that ends all is text.
        let Some(end) = rest.find('>') else {
            self.text(rest);
            return "";
        };
        let inside = &rest[1..end];
        let is_closing = inside.starts_with('/');
        let name = inside.trim_start_matches('/');
        let len = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        let name = name[..len].to_ascii_lowercase();
        let after = &rest[end + 1..];
        if !is_closing && !inside.ends_with('/') && UNREAD.contains(&name.as_str()) {
            return skip_element(after, &name);
        }
        self.element(&name, is_closing);
        after
    }

    fn element(&mut self, name: &str, is_closing: bool) {
        if name == "title" {
            self.is_in_title = !is_closing && self.title.is_none();
            return;
        }
        let is_heading = matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
        if is_heading
            && is_closing
            && let Some(start) = self.heading_start.take()
        {
            let heading = self.body.get(start..).unwrap_or_default().trim();
            if !heading.is_empty() {
                self.headings.push(heading.to_owned());
            }
        }
        if !INLINE.contains(&name) {
            let kept = self.body.trim_end_matches([' ', '\n']).len();
            self.body.truncate(kept);
            if !self.body.is_empty() {
                self.body.push('\n');
            }
        }
        if is_heading && !is_closing {
            self.heading_start = Some(self.body.len());
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_in_title {
            let mut title = String::new();
            push_decoded(&mut title, text);
            let title = title.trim().to_owned();
            if !title.is_empty() {
                self.title = Some(title);
            }
            return;
        }
        push_decoded(&mut self.body, text);
        // A heading ends where the body was cut back behind its start.
        self.heading_start = self.heading_start.filter(|start| *start <= self.body.len());
    }
}

/// The text behind the end of an element, e.g. behind `</script>`.
fn skip_element<'t>(text: &'t str, name: &str) -> &'t str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        let is_end = rest.len() >= name.len()
            && rest.is_char_boundary(name.len())
            && rest[..name.len()].eq_ignore_ascii_case(name);
        if is_end {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

/// Adds text with its entities decoded and its space collapsed, e.g. `a &amp;  b` as `a & b`.
fn push_decoded(into: &mut String, text: &str) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        let mut letter = c;
        if c == '&'
            && let Some((decoded, used)) = entity(rest)
        {
            (letter, len) = (decoded, used);
        }
        rest = &rest[len..];
        if !letter.is_whitespace() {
            into.push(letter);
        } else if !into.is_empty() && !into.ends_with([' ', '\n']) {
            into.push(' ');
        }
    }
}

/// The letter of the entity at the beginning of `text`, and how long it is, e.g. `&` and 5 for
/// `&amp;`.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(12).position(|b| b == b';')?;
    let name = &text[1..end];
    let letter = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "copy" => '©',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((letter, end + 1))
}
