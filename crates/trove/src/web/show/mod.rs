//! Contents as a document for a frame that can do nothing: no script, no request, no
//! origin. All of it is escaped. A link of the contents is none here, unless it leads to a
//! resource of the catalogue: then it opens that one on our own page, when somebody clicks.

mod code;
mod csv;
mod hex;
mod json;
mod markdown;
mod notebook;
mod style;

use std::{borrow::Cow, fmt::Write as _};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use trove_core::content::{self, Form};

pub(super) use markdown::addresses;

use super::{leads::Leads, reading::Part};

/// How much text one page of it holds.
const PAGE_BYTES: usize = 256 * 1024;
/// The largest picture that is shown.
const MAX_PICTURE: usize = 16 << 20;

const SEALED: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
const SEALED_WITH_LINKS: &str = "sandbox allow-top-navigation-by-user-activation; default-src 'none'; \
    style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// The text in place of contents that are held no longer.
pub(super) const GONE: &str = "<p class=note>This reading is no longer held. Read it again.</p>";

/// A form in which contents can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Document,
    Notebook,
    Tree,
    Table,
    Picture,
    Player,
    Text,
    Hex,
}

impl Look {
    const ALL: [Look; 8] = [
        Look::Document,
        Look::Notebook,
        Look::Tree,
        Look::Table,
        Look::Picture,
        Look::Player,
        Look::Text,
        Look::Hex,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Look::Document => "document",
            Look::Notebook => "notebook",
            Look::Player => "player",
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
        let is_notebook = notebook::is_one(mime, &part.uri);
        let best = match part.kind.form {
            Form::Image(_) => return vec![Look::Picture, Look::Hex],
            Form::Binary if player(mime).is_some() => return vec![Look::Player, Look::Hex],
            Form::Binary => return vec![Look::Hex],
            Form::Json | Form::Text if is_notebook => {
                return vec![Look::Notebook, Look::Tree, Look::Text, Look::Hex];
            }
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
        Look::Document
        | Look::Notebook
        | Look::Tree
        | Look::Table
        | Look::Picture
        | Look::Player => 1,
    }
}

/// The part of a text that is shown at first: a page of it, or the one with a certain line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) page: usize,
    pub(super) line: Option<usize>,
}

/// The body of the document.
pub(super) fn html(part: &Part, look: Look, place: Place) -> String {
    match look {
        Look::Document => markdown::html(head(&text_of(part)), &part.leads),
        Look::Notebook => {
            let text = text_of(part);
            notebook::html(&text).unwrap_or_else(|| json::html(&text))
        }
        Look::Player => playing(part),
        Look::Tree => json::html(&text_of(part)),
        Look::Table => {
            let is_tabbed = part.kind.mime == "text/tab-separated-values";
            csv::html(head(&text_of(part)), if is_tabbed { '\t' } else { ',' })
        }
        Look::Picture => picture(part),
        Look::Text => {
            let language = code::of_mime(&part.kind.mime);
            numbered(&text_of(part), place, language)
        }
        Look::Hex => hex::html(&part.bytes, place.page),
    }
}

pub(super) fn text_of(part: &Part) -> Cow<'_, str> {
    content::decode_text(&part.bytes, part.kind.charset).text
}

fn head(text: &str) -> &str {
    content::window(text, 0, PAGE_BYTES).text
}

/// The page on which the line stands that begins at this byte.
pub(super) fn page_at(offset: usize) -> usize {
    offset / PAGE_BYTES
}

/// One page of text with the numbers of its lines; the line that was asked for is marked.
fn numbered(text: &str, place: Place, language: &str) -> String {
    let from = text.floor_char_boundary(place.page.saturating_mul(PAGE_BYTES));
    let to = text.floor_char_boundary(from.saturating_add(PAGE_BYTES));
    let first = text[..from].bytes().filter(|byte| *byte == b'\n').count() + 1;
    let shown = &text[from..to];
    let lines = shown.lines().count().max(1);
    let mut numbers = String::new();
    for n in first..first + lines {
        let _ = if place.line == Some(n) {
            writeln!(numbers, "<b id=at>{n}</b>")
        } else {
            writeln!(numbers, "{n}")
        };
    }
    format!(
        "<div class=code><pre class=numbers aria-hidden=true>{numbers}</pre><pre class=lines tabindex=0>{}</pre></div>",
        code::html(shown, language)
    )
}

/// The player of the browser for this type, if it has one.
fn player(mime: &str) -> Option<&'static str> {
    let (kind, name) = mime.split_once('/')?;
    let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    match kind {
        "audio" if is_plain => Some("audio"),
        "video" if is_plain => Some("video"),
        _ => None,
    }
}

/// Sound or film in the player of the browser.
fn playing(part: &Part) -> String {
    let Some(tag) = player(&part.kind.mime).filter(|_| part.bytes.len() <= MAX_PICTURE) else {
        return "<p class=note>It is too large to be played here. Save it instead.</p>".to_owned();
    };
    let (mime, data) = (escape(&part.kind.mime), STANDARD.encode(&part.bytes));
    format!("<figure><{tag} controls src=\"data:{mime};base64,{data}\"></{tag}></figure>")
}

/// A name as it stands behind the `=` of an address.
fn in_address(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
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
pub(super) fn framed(body: String, theme: &str, leads: &Leads) -> Response {
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
    seal(response.headers_mut(), leads);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// Nothing that is sent with these headers can act, wherever it is opened. Only a person who
/// clicks a link of ours goes where it leads.
pub(super) fn seal(headers: &mut HeaderMap, leads: &Leads) {
    let policy = if leads.has_links() { SEALED_WITH_LINKS } else { SEALED };
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
        Part {
            uri: "x:y".into(),
            kind: sniff(Some(mime), "x:y", &bytes),
            bytes,
            is_text: true,
            leads: Leads::default(),
        }
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
                let html = html(&part, look, Place::default());
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
                let html = html(&part, look, Place::default());
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
        let second = html(&part, Look::Text, Place { page: 1, line: None });
        assert!(second.len() < 3 * PAGE_BYTES);
        assert!(second.contains("<pre class=numbers aria-hidden=true>52429\n"));
        assert!(html(&part, Look::Text, Place { page: usize::MAX, line: None }).len() < 200);
    }
}
