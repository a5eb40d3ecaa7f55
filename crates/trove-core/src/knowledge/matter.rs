//! Front matter: the facts that a document states about itself before it begins.
//!
//! YAML between two lines of `---`. It is read within narrow bounds, since a stranger may have
//! written it. Front matter that cannot be read leaves the document as it is.

use serde_json::{Map, Value};

/// The most that front matter may take, in bytes.
pub(super) const MAX_FRONT_MATTER: usize = 64 * 1024;
/// The longest text taken from it.
const MAX_TEXT: usize = 4096;
/// The most flags a document may require.
const MAX_REQUIRED: usize = 32;

/// The facts that a document states about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrontMatter {
    pub title: Option<String>,
    pub description: Option<String>,
    pub kind: Option<String>,
    /// The instruction to its reader.
    pub instruction: Option<String>,
    /// The flags it needs, and the values they must have.
    pub requires: Vec<(String, Value)>,
    /// How important it is, from 0 to 1.
    pub priority: Option<f64>,
    /// For whom it is: `user`, `assistant` or both.
    pub audience: Vec<String>,
}

/// Front matter and where the document begins behind it.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) matter: Option<FrontMatter>,
    /// Everything as it was written.
    pub(super) all: Option<Map<String, Value>>,
    /// How many bytes stand before the document.
    pub(super) length: usize,
    pub(super) problem: Option<String>,
}

/// The YAML between the two lines of `---`, and where the document behind it begins; `None` if
/// there is none. The text may be only the head of a document.
pub(super) fn split(text: &str) -> Option<(&str, usize)> {
    let after = text.strip_prefix("---")?;
    let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'))?;
    let start = text.len() - after.len();
    let mut at = start;
    for line in after.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&text[start..at], at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Whether a document begins as if with front matter.
pub(super) fn may_begin(text: &str) -> bool {
    text.starts_with("---\n") || text.starts_with("---\r\n")
}

/// Whether the text behind the first `---` goes on like front matter, e.g. with `title: Python`.
pub(super) fn has_key(text: &str) -> bool {
    let key = text.lines().nth(1).and_then(|line| line.split_once(':'));
    key.is_some_and(|(key, value)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !key.is_empty() && key.chars().all(is_name) && (value.is_empty() || value.starts_with(' '))
    })
}

/// All that the front matter of a document says; empty if it has none that can be read.
pub fn front_matter(text: &str) -> Map<String, Value> {
    read(text).all.unwrap_or_default()
}

/// Reads the front matter of a document.
pub(super) fn read(text: &str) -> Read {
    let Some((yaml, length)) = split(text) else { return Read::default() };
    let bad = |problem: String| Read { problem: Some(problem), ..Read::default() };
    if yaml.len() > MAX_FRONT_MATTER {
        return bad(format!("its front matter is longer than {MAX_FRONT_MATTER} bytes"));
    }
    let all = match parse(yaml) {
        Ok(all) => all,
        Err(why) => return bad(format!("its front matter cannot be read: {why}")),
    };
    let mut problem = None;
    let matter = fields(&all, &mut problem);
    Read { matter: Some(matter), all: Some(all), length, problem }
}

fn parse(yaml: &str) -> Result<Map<String, Value>, String> {
    if yaml.trim().is_empty() {
        return Ok(Map::new());
    }
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: 5_000,
            max_aliases: 16,
            max_anchors: 16,
            max_depth: 16,
            max_nodes: 2_500,
        },
    };
    match serde_saphyr::from_str_with_options::<Value>(yaml, options) {
        Ok(Value::Object(all)) => Ok(all),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("it is no list of `key: value`".into()),
        Err(error) => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

fn fields(all: &Map<String, Value>, problem: &mut Option<String>) -> FrontMatter {
    let mut wrong = |what: &str| {
        problem.get_or_insert_with(|| format!("its front matter is odd: {what}"));
    };
    let mut text = |key: &str| match all.get(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(short(text)),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(_) => {
            wrong(&format!("`{key}` is no text"));
            None
        }
    };
    let (title, description) = (text("title"), text("description"));
    let (kind, instruction) = (text("type"), text("instruction"));
    let priority = match all.get("priority") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let number = value.as_f64().filter(|number| (0.0..=1.0).contains(number));
            if number.is_none() {
                wrong("`priority` is no number from 0 to 1");
            }
            number
        }
    };
    let (audience, is_sound) = audience(all.get("audience"));
    if !is_sound {
        wrong("`audience` is `user`, `assistant`, or a list of both");
    }
    let requires = match all.get("requires") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(flags)) => {
            flags.iter().take(MAX_REQUIRED).map(|(k, v)| (k.clone(), v.clone())).collect()
        }
        Some(Value::String(flag)) => vec![(flag.clone(), Value::Bool(true))],
        Some(_) => {
            wrong("`requires` is no list of `flag: value`");
            Vec::new()
        }
    };
    FrontMatter { title, description, kind, instruction, requires, priority, audience }
}

fn audience(value: Option<&Value>) -> (Vec<String>, bool) {
    let items: Vec<&Value> = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one) => vec![one],
    };
    let mut known: Vec<String> = Vec::new();
    let mut is_sound = true;
    for item in items {
        match item.as_str() {
            Some(who @ ("user" | "assistant")) => {
                if !known.iter().any(|k| k == who) {
                    known.push(who.to_owned());
                }
            }
            _ => is_sound = false,
        }
    }
    (known, is_sound)
}

fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// The first heading of a markdown text outside of code blocks, e.g. `Python` of `# Python`.
pub(super) fn heading(text: &str) -> Option<String> {
    let mut fence: Option<&str> = None;
    // A line that is a paragraph so far; underlined it is a heading.
    let mut alone: Option<&str> = None;
    let mut begins = true;
    for line in text.lines() {
        let line = line.trim_end();
        let above = alone.take();
        let may_begin = std::mem::replace(&mut begins, line.is_empty());
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => (fence, begins) = (None, true),
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                let rest = line.trim_start_matches('#');
                let level = line.len() - rest.len();
                if (1..=6).contains(&level) && rest.starts_with([' ', '\t']) {
                    let title = rest.trim().trim_end_matches('#').trim();
                    return (!title.is_empty()).then(|| short(title));
                }
                if let Some(title) = above.filter(|_| is_underline(line)) {
                    return Some(short(title.trim()));
                }
                alone = Some(line).filter(|line| may_begin && may_be_underlined(line));
            }
            (Some(_), _) => {}
        }
    }
    None
}

fn is_underline(line: &str) -> bool {
    let signs = line.trim_start();
    line.len() - signs.len() < 4
        && !signs.is_empty()
        && ['=', '-'].iter().any(|sign| signs.chars().all(|c| c == *sign))
}

/// Whether a line is words: below code, lists, quotes, tables and tags a row of `-` is a rule.
fn may_be_underlined(line: &str) -> bool {
    let words = line.trim_start();
    let is_code = line.len() - words.len() >= 4 || line.starts_with('\t');
    let is_marked = words.starts_with(['>', '|', '<', '-', '*', '+', '=', '#', ':']);
    let after_number = words.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_item = after_number.len() < words.len() && after_number.starts_with([')', '.']);
    !words.is_empty() && !is_code && !is_marked && !is_item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_document_says_about_itself_is_taken() {
        let text = "---\ntitle: Rust\ndescription: How we write it\ntype: agent/instruction\ninstruction: Follow it\n\
                    requires:\n  workflow: true\n  level: [a, b]\npriority: 0.8\naudience: [user, assistant]\n---\n# Body\n";
        let read = read(text);
        let matter = read.matter.unwrap();
        assert_eq!(matter.title.as_deref(), Some("Rust"));
        assert_eq!(matter.kind.as_deref(), Some("agent/instruction"));
        assert_eq!(matter.priority, Some(0.8));
        assert_eq!(matter.audience, ["user", "assistant"]);
        assert_eq!(matter.requires[1], ("level".into(), serde_json::json!(["a", "b"])));
        assert_eq!(&text[read.length..], "# Body\n");
        assert_eq!(read.problem, None);
    }

    #[test]
    fn bad_front_matter_leaves_the_document_whole() {
        let bomb = format!(
            "---\na: &a [x,x,x,x,x,x,x,x,x]\n{}\n---\nbody",
            (0..9)
                .map(|n| format!("b{n}: &b{n} [{}]", "*a,".repeat(9)))
                .collect::<Vec<_>>()
                .join("\n")
        );
        let deep = format!("---\na: {}{}\n---\nbody", "[".repeat(5000), "]".repeat(5000));
        for text in
            ["---\n: : :\n---\nbody", "---\n- a\n---\nbody", "---\na: [\n---\nbody", &bomb, &deep]
        {
            let read = read(text);
            assert!(read.matter.is_none() && read.length == 0, "{}", &text[..20]);
            assert!(read.problem.is_some());
        }
    }

    #[test]
    fn a_rule_at_the_top_is_no_front_matter() {
        for text in ["---", "--- \nx", "---\nnever ends", "# x\n---\na: b\n---\n", ""] {
            assert!(split(text).is_none(), "{text}");
        }
    }

    #[test]
    fn odd_values_are_told_and_left_out() {
        let read = read("---\ntitle: [a]\npriority: high\naudience: everyone\n---\nx");
        assert!(read.problem.is_some());
        assert_eq!(read.matter, Some(FrontMatter::default()));
        assert!(read.length > 0);
    }

    #[test]
    fn the_first_heading_outside_of_code_is_the_title() {
        assert_eq!(heading("text\n```\n# no\n```\n## Yes ##\n# later"), Some("Yes".into()));
        assert_eq!(heading("#no\n####### no"), None);
    }

    #[test]
    fn an_underlined_line_is_a_heading() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(heading(text).as_deref(), expected, "{text}");
        };
        check("Title\n=====\ntext", Some("Title"));
        check("\n  Under *way*  \n---\n", Some("Under *way*"));
        check("```\nno\n==\n```\nYes\n=", Some("Yes"));
        check("First\n===\n# Second", Some("First"));
        check("two lines\nof text\n---\n# Title", Some("Title"));
        check("text\n\n---\n# Title", Some("Title"));
        check("- item\n---\n# Title", Some("Title"));
        check("1. item\n---\n# Title", Some("Title"));
        check("<!-- note -->\n---\n# Title", Some("Title"));
        check("    code\n---\n# Title", Some("Title"));
        check("a | b\n--|--\n", None);
        check("Title\n= =", None);
    }

    #[test]
    fn t50_fuzz_front_matter() {
        trove_fuzz::feed("front-matter", |input| {
            let text = String::from_utf8_lossy(input);
            if let Some((_, rest)) = split(&text) {
                assert!(text.is_char_boundary(rest), "the text is cut in a character");
            }
            let _ = read(&text);
            (split(&text).is_some(), may_begin(&text), heading(&text).is_some())
        });
    }
}
