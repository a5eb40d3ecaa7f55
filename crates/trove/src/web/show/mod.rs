//! Contents as a document for a frame that can do nothing: no script, no request, no
//! origin. All of it is escaped; what is a link in the contents is none here.

mod csv;
mod hex;
mod json;
mod markdown;
mod style;

use std::{borrow::Cow, fmt::Write as _};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use trove_core::content::{self, Form};

use super::reading::Part;

/// How much text one page of it holds.
const PAGE_BYTES: usize = 256 * 1024;
/// The largest picture that is shown.
const MAX_PICTURE: usize = 16 << 20;

/// The text in place of contents that are held no longer.
pub(super) const GONE: &str = "<p class=note>This reading is no longer held. Read it again.</p>";

/// A form in which contents can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Document,
    Tree,
    Table,
    Picture,
    Text,
    Hex,
}

impl Look {
    const ALL: [Look; 6] =
        [Look::Document, Look::Tree, Look::Table, Look::Picture, Look::Text, Look::Hex];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Look::Document => "document",
            Look::Tree => "tree",
            Look::Table => "table",
            Look::Picture => "picture",
            Look::Text => "text",
            Look::Hex => "hex",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Look> {
        Look::ALL.into_iter().find(|look| look.as_str() == name)
    }

    /// The forms that suit some contents, the best first.
    pub(super) fn of(part: &Part) -> Vec<Look> {
        let mime = part.kind.mime.as_ref();
        let best = match part.kind.form {
            Form::Image(_) => return vec![Look::Picture, Look::Hex],
            Form::Binary => return vec![Look::Hex],
            Form::Json => Some(Look::Tree),
            Form::Text => match mime {
                "text/markdown" | "text/x-markdown" => Some(Look::Document),
                "text/csv" | "text/tab-separated-values" => Some(Look::Table),
                "image/svg+xml" => Some(Look::Picture),
                // Servers that give JSON as plain text are common.
                _ if json::is_worth_a_tree(&part.bytes) => Some(Look::Tree),
                _ => None,
            },
        };
        best.into_iter().chain([Look::Text, Look::Hex]).collect()
    }
}

/// On how many pages it is shown.
pub(super) fn pages(part: &Part, look: Look) -> usize {
    match look {
        Look::Text => part.bytes.len().div_ceil(PAGE_BYTES).max(1),
        Look::Hex => hex::pages(part.bytes.len()),
        Look::Document | Look::Tree | Look::Table | Look::Picture => 1,
    }
}

/// The body of the document.
pub(super) fn html(part: &Part, look: Look, page: usize) -> String {
    match look {
        Look::Document => markdown::html(head(&text_of(part))),
        Look::Tree => json::html(&text_of(part)),
        Look::Table => {
            let is_tabbed = part.kind.mime == "text/tab-separated-values";
            csv::html(head(&text_of(part)), if is_tabbed { '\t' } else { ',' })
        }
        Look::Picture => picture(part),
        Look::Text => numbered(&text_of(part), page),
        Look::Hex => hex::html(&part.bytes, page),
    }
}

fn text_of(part: &Part) -> Cow<'_, str> {
    content::decode_text(&part.bytes, part.kind.charset).text
}

fn head(text: &str) -> &str {
    content::window(text, 0, PAGE_BYTES).text
}

/// One page of text with the numbers of its lines.
fn numbered(text: &str, page: usize) -> String {
    let from = text.floor_char_boundary(page.saturating_mul(PAGE_BYTES));
    let to = text.floor_char_boundary(from.saturating_add(PAGE_BYTES));
    let first = text[..from].bytes().filter(|byte| *byte == b'\n').count() + 1;
    let shown = &text[from..to];
    let lines = shown.lines().count().max(1);
    let mut numbers = String::new();
    for n in first..first + lines {
        let _ = writeln!(numbers, "{n}");
    }
    format!(
        "<div class=code><pre class=numbers aria-hidden=true>{numbers}</pre><pre class=lines tabindex=0>{}</pre></div>",
        escape(shown)
    )
}

/// A picture as an image: in one neither scripts run nor requests are made.
fn picture(part: &Part) -> String {
    if part.bytes.len() > MAX_PICTURE {
        return "<p class=note>The picture is too large to be shown. Save it instead.</p>"
            .to_owned();
    }
    let mime = match part.kind.form {
        Form::Image(format) => format.mime(),
        Form::Json | Form::Text | Form::Binary => "image/svg+xml",
    };
    let data = STANDARD.encode(&part.bytes);
    format!("<figure><img alt=\"the picture\" src=\"data:{mime};base64,{data}\"></figure>")
}

/// The document around a body, sealed.
pub(super) fn framed(body: String, theme: &str) -> Response {
    let theme = match theme {
        "dark" => "dark",
        "light" => "light",
        _ => "auto",
    };
    let html = format!(
        "<!doctype html><html lang=en data-theme={theme}><meta charset=utf-8><title>Contents</title><style>{}</style><body><main>{body}</main>",
        style::STYLE
    );
    let mut response = Response::new(Body::from(html));
    seal(response.headers_mut());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// Nothing that is sent with these headers can act, wherever it is opened.
pub(super) fn seal(headers: &mut HeaderMap) {
    let policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
}

/// Text that is nothing but text, and hides nothing.
fn escape(text: &str) -> String {
    let text = content::escape_controls(text);
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use trove_core::content::sniff;

    fn part(mime: &str, text: &str) -> Part {
        let bytes = text.as_bytes().to_vec();
        Part { uri: "x:y".into(), kind: sniff(Some(mime), "x:y", &bytes), bytes, is_text: true }
    }

    const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'";

    #[test]
    fn hostile_text_is_only_text_in_every_form() {
        let json = format!("{{{:?}: [{:?}]}}", HOSTILE, HOSTILE);
        for (mime, text) in [
            ("text/plain", HOSTILE.to_owned()),
            ("text/html", HOSTILE.to_owned()),
            (
                "text/markdown",
                format!(
                    "# {HOSTILE}\n[{HOSTILE}](javascript:alert(1))\n```\n{HOSTILE}\n```\n|{HOSTILE}|\n|-|\n|{HOSTILE}|\n"
                ),
            ),
            ("text/csv", format!("{HOSTILE},b\n{HOSTILE}")),
            ("application/json", json),
        ] {
            let part = part(mime, &text);
            for look in Look::of(&part) {
                let html = html(&part, look, 0);
                assert!(!html.contains("<script") && !html.contains("<img"), "{mime} {look:?}");
                assert!(!html.contains("href"), "{mime} {look:?}");
            }
        }
    }

    #[test]
    fn t61_every_form_makes_visible_what_acts_unseen() {
        let hidden = "a\u{202e}b\u{9b}c\u{200b}d\u{e0041}e";
        let json = serde_json::json!({ hidden: [hidden] }).to_string();
        let markdown = format!(
            "---\nx: {hidden}\n---\n# {hidden}\n{hidden} `{hidden}` [{hidden}](http://{hidden}.test)\n\n```\n{hidden}\n```\n\n> {hidden}\n\n- {hidden}\n\n|{hidden}|\n|-|\n|{hidden}|\n"
        );
        for (mime, text) in [
            ("text/plain", hidden),
            ("text/markdown", &markdown),
            ("text/csv", &format!("{hidden},b\n{hidden}")),
            ("application/json", &json),
        ] {
            let part = part(mime, text);
            for look in Look::of(&part) {
                let html = html(&part, look, 0);
                let acting = html.chars().find(|c| hidden.contains(*c) && !c.is_ascii());
                assert_eq!(acting, None, "{mime} {look:?}: {html}");
                assert!(look == Look::Hex || html.contains("\\u{202e}"), "{mime} {look:?}");
            }
        }
    }

    #[test]
    fn contents_are_shown_in_the_form_that_suits_them() {
        let first = |mime, text| Look::of(&part(mime, text))[0];
        assert_eq!(first("text/markdown", "# x"), Look::Document);
        assert_eq!(first("application/json", "{}"), Look::Tree);
        assert_eq!(first("text/plain", "{\"a\": [1, 2]}"), Look::Tree);
        assert_eq!(first("text/csv", "a,b"), Look::Table);
        assert_eq!(
            first("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
            Look::Picture
        );
        assert_eq!(first("text/html", "<p>"), Look::Text);
    }

    #[test]
    fn long_text_is_shown_in_pages_that_go_on_counting_lines() {
        let part = part("text/plain", &"line\n".repeat(200_000));
        assert_eq!(pages(&part, Look::Text), 4);
        let second = html(&part, Look::Text, 1);
        assert!(second.len() < 3 * PAGE_BYTES);
        assert!(second.contains("<pre class=numbers aria-hidden=true>52429\n"));
        assert!(html(&part, Look::Text, usize::MAX).len() < 200);
    }
}
