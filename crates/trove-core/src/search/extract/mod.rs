//! Decides which words of a content are worth indexing.
//!
//! Takes text that is already decoded and its type. The body stays the text itself
//! wherever people read it as it is, so that a place in it is a place in the resource;
//! only markup and long logs are reduced. Reads no files and sniffs no types.

mod html;
mod log;
mod outline;
mod symbols;

/// The most text of one content that is indexed, in bytes.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// How many headings of one content are kept.
const MAX_HEADINGS: usize = 400;
/// How many bytes of headings of one content are kept.
const MAX_HEADING_BYTES: usize = 16 * 1024;
/// How many names that a content defines are kept.
const MAX_SYMBOLS: usize = 2000;

/// The parts of a content that are indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The text that is searched and shown.
    pub body: String,
    /// Headings, column names, keys.
    pub headings: Vec<String>,
    /// Names that are defined in it, in small letters.
    pub symbols: Vec<String>,
    /// Whether the body is the resource's own text from its beginning.
    pub is_verbatim: bool,
}

/// The kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Markdown,
    Json,
    Table { separator: char },
    Settings,
    Log,
    Code,
    Plain,
}

/// Reduces a content to what is indexed; `name` is a file name or URI that helps where
/// the type says little.
pub fn extract(text: &str, mime: Option<&str>, name: &str) -> Extracted {
    let kept = &text[..text.floor_char_boundary(MAX_BODY_BYTES)];
    let mut extracted = match kind_of(mime, name, kept) {
        Kind::Html => html::extract(kept),
        Kind::Log => log::extract(kept),
        Kind::Markdown => verbatim(kept, outline::markdown(kept)),
        Kind::Json => verbatim(kept, outline::json_keys(kept)),
        Kind::Table { separator } => verbatim(kept, outline::columns(kept, separator)),
        Kind::Settings => verbatim(kept, outline::settings_keys(kept)),
        Kind::Code => Extracted { symbols: symbols::defined(kept), ..verbatim(kept, Vec::new()) },
        Kind::Plain => verbatim(kept, Vec::new()),
    };
    bound(&mut extracted);
    extracted
}

fn verbatim(text: &str, headings: Vec<String>) -> Extracted {
    Extracted { body: text.to_owned(), headings, symbols: Vec::new(), is_verbatim: true }
}

fn bound(extracted: &mut Extracted) {
    extracted.headings.truncate(MAX_HEADINGS);
    let mut bytes = 0;
    extracted.headings.retain(|heading| {
        bytes += heading.len();
        bytes <= MAX_HEADING_BYTES
    });
    extracted.symbols.sort_unstable();
    extracted.symbols.dedup();
    extracted.symbols.truncate(MAX_SYMBOLS);
}

fn kind_of(mime: Option<&str>, name: &str, text: &str) -> Kind {
    let mime = mime.unwrap_or_default();
    let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let path = name.split(['?', '#']).next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    let extension = file.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let extension = extension.as_deref().unwrap_or_default();
    match (mime.as_str(), extension) {
        ("text/html" | "application/xhtml+xml", _) => Kind::Html,
        ("text/markdown" | "text/x-markdown", _) => Kind::Markdown,
        ("text/csv", _) => Kind::Table { separator: ',' },
        ("text/tab-separated-values", _) => Kind::Table { separator: '\t' },
        (_, "md" | "markdown" | "mdx") => Kind::Markdown,
        (_, "html" | "htm" | "xhtml") => Kind::Html,
        (_, "csv") => Kind::Table { separator: ',' },
        (_, "tsv") => Kind::Table { separator: '\t' },
        (_, "json" | "jsonl" | "ndjson" | "ipynb" | "geojson") => Kind::Json,
        (_, "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf" | "env" | "properties") => {
            Kind::Settings
        }
        (_, "log") | ("text/x-log", _) => Kind::Log,
        (mime, _) if mime == "application/json" || mime.ends_with("+json") => Kind::Json,
        (mime, _) if mime.contains("yaml") || mime.contains("toml") => Kind::Settings,
        (_, extension) if symbols::is_code(extension) => Kind::Code,
        (mime, _) if symbols::is_code_type(mime) => Kind::Code,
        _ if log::looks_like_log(text) => Kind::Log,
        _ => Kind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, mime: &str, name: &str, body: &str, headings: &[&str], symbols: &[&str]) {
        let extracted = extract(text, Some(mime), name);
        assert_eq!(extracted.body, body);
        assert_eq!(extracted.headings, headings);
        assert_eq!(extracted.symbols, symbols);
    }

    #[test]
    fn markdown_keeps_its_text_and_gives_its_headings() {
        let text = "---\ntitle: Plan\ntags: [a, b]\n---\n# One\ntext\n```\n# not a heading\n```\nTwo\n===\n## Three ##\n";
        check(text, "text/markdown", "", text, &["Plan", "a, b", "One", "Two", "Three"], &[]);
    }

    #[test]
    fn markup_is_reduced_to_what_is_read() {
        check(
            "<html><head><title>T &amp; U</title><style>p{}</style></head><body><h1>Head</h1><p>One<b>two</b> &lt;x&gt;</p><script>var a</script></body>",
            "text/html; charset=utf-8",
            "",
            "Head\nOnetwo <x>",
            &["T & U", "Head"],
            &[],
        );
    }

    #[test]
    fn tables_give_their_columns_and_settings_their_keys() {
        let table = "id,\"Full Name\",total\n1,Ann,3\n";
        check(table, "text/csv", "", table, &["id", "Full Name", "total"], &[]);
        let settings = "server:\n  port: 80 # here\n  host: x\n";
        check(settings, "", "a.yaml", settings, &["server", "port", "host"], &[]);
        let json = r#"{"a":{"b":[{"c":"d:e"}]},"a":1}"#;
        check(json, "application/json", "", json, &["a", "b", "c"], &[]);
    }

    #[test]
    fn code_gives_the_names_it_defines() {
        let code = "pub async fn parse_url(x: &str) {}\nclass HttpServer:\n    def handle(self): pass\nconst MAX = 3;\nfunction go() {}\nlet x = call(y);\n";
        check(
            code,
            "text/x-rust",
            "a.rs",
            code,
            &[],
            &["go", "handle", "httpserver", "max", "parse_url"],
        );
    }

    #[test]
    fn a_long_log_is_cut_to_lines_that_differ() {
        let mut text = String::new();
        for n in 0..5000 {
            text.push_str(&format!("2026-01-02T03:04:{:02}Z INFO request {n} done\n", n % 60));
        }
        text.push_str("2026-01-02T04:00:00Z ERROR disk full\n");
        let extracted = extract(&text, Some("text/plain"), "x/app.log");
        assert!(extracted.body.len() < 2000, "{}", extracted.body.len());
        assert!(extracted.body.contains("ERROR disk full"));
        assert!(!extracted.is_verbatim);
    }

    #[test]
    fn anything_can_be_extracted() {
        for mime in ["text/html", "application/json", "text/csv", "text/markdown", "text/x-log"] {
            for text in ["", "<", "&", "&#", "<a", "\"", "{\"", "---", "---\n", "é<é>é&é;", "\u{0}"]
            {
                extract(text, Some(mime), "");
            }
        }
    }
}
