//! Several documents as one content: `multipart/mixed`, or plain with headings.

use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::time::{Duration, UNIX_EPOCH};

use super::content::{Body, Content, Piece};
use crate::hex::hex;

const BOUNDARY: &str = "guide-boundary";

/// The content and its type.
pub(super) fn mixed(content: &Content) -> (String, String) {
    let bodies: Vec<(String, &'static str)> = content.pieces.iter().map(body).collect();
    let boundary = boundary(content, &bodies);
    let mut text = String::new();
    // The text before the first part is for a reader of the whole.
    for note in &content.notes {
        let _ = write!(text, "{}\r\n", one_line(note));
    }
    for (piece, (body, encoding)) in content.pieces.iter().zip(&bodies) {
        let document = &piece.document;
        let _ = write!(text, "--{boundary}\r\nContent-Type: {}\r\n", piece.media);
        let _ = write!(text, "Content-Location: {}\r\n", document.uri());
        if !encoding.is_empty() {
            let _ = write!(text, "Content-Transfer-Encoding: {encoding}\r\n");
        }
        let _ = write!(text, "Content-Length: {}\r\n", body.len());
        if let Some(modified) = modified(piece) {
            let _ = write!(text, "Last-Modified: {modified}\r\n");
        }
        if let Some(note) = &piece.note {
            let _ = write!(text, "Content-Description: {}\r\n", one_line(note));
        }
        let _ = write!(text, "\r\n{body}\r\n");
    }
    let _ = write!(text, "--{boundary}--\r\n");
    (text, format!("multipart/mixed; boundary=\"{boundary}\""))
}

/// The documents one after another, each under its name.
pub(super) fn plain(content: &Content) -> String {
    let mut text = String::new();
    for note in &content.notes {
        let _ = write!(text, "--- note: {} ---\n\n", one_line(note));
    }
    for piece in &content.pieces {
        let document = &piece.document;
        let _ = write!(text, "--- {}/{} ---\n\n", document.category(), document.path());
        match &piece.body {
            Body::Text(body) => text.push_str(body),
            Body::Blob(bytes) => {
                let _ = write!(
                    text,
                    "({}, {} bytes: read {})",
                    piece.media,
                    bytes.len(),
                    document.uri()
                );
            }
        }
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text
}

fn body(piece: &Piece) -> (String, &'static str) {
    match &piece.body {
        Body::Text(text) => (text.clone(), ""),
        Body::Blob(bytes) => (STANDARD.encode(bytes), "base64"),
    }
}

/// A boundary that occurs nowhere. Its end is a digest of the parts, which no part can hold: the
/// writer of one could foresee a run of letters.
fn boundary(content: &Content, bodies: &[(String, &str)]) -> String {
    let occurs = |boundary: &str| {
        let finder = memchr::memmem::Finder::new(boundary);
        bodies.iter().any(|(body, _)| finder.find(body.as_bytes()).is_some())
            || content.notes.iter().any(|note| note.contains(boundary))
    };
    let mut boundary = BOUNDARY.to_owned();
    let mut seed = Vec::new();
    while occurs(&boundary) {
        if seed.is_empty() {
            for (body, _) in bodies {
                seed.extend_from_slice(digest(&SHA256, body.as_bytes()).as_ref());
            }
        }
        seed = digest(&SHA256, &seed).as_ref().to_vec();
        boundary = format!("{BOUNDARY}-{}", hex(&seed[..8]));
    }
    boundary
}

fn modified(piece: &Piece) -> Option<String> {
    let seconds = u64::try_from(piece.document.file.stamp.modified.0).ok()?;
    // The last year of an HTTP date is 9999.
    (seconds < 253_402_300_800)
        .then(|| httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds)))
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
