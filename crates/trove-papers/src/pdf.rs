//! PDF: the text of each page, in the order in which it is drawn.

mod font;
mod glyphs;
mod page;

use std::rc::Rc;

use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use self::page::Drawing;
use crate::Parts;

/// The most operators that are followed in one file.
const MAX_OPERATORS: usize = 5_000_000;

pub(crate) fn parts(bytes: &[u8]) -> Result<Parts, String> {
    let pdf = Pdf::new(bytes.to_vec()).map_err(|error| in_words(error, bytes))?;
    if pdf.pages().is_empty() {
        return Err("it has no pages".to_owned());
    }
    let mut parts = Parts::of("page");
    let mut operators = MAX_OPERATORS;
    let fonts = Rc::default();
    for page in pdf.pages().iter() {
        if !parts.has_room() {
            parts.leave_out();
            continue;
        }
        let mut drawing = Drawing::new(&fonts, operators);
        drawing.follow(page.operations(), page.resources(), 0);
        operators = drawing.operators_left();
        let (text, note) = drawing.end();
        parts.add("", &text, note);
    }
    Ok(parts)
}

fn in_words(error: LoadPdfError, bytes: &[u8]) -> String {
    let has_mark = bytes.windows(5).any(|window| window == b"%PDF-");
    let said = match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            "it is locked with a password"
        }
        LoadPdfError::Decryption(_) => "it is encrypted in a way that is not known",
        LoadPdfError::Invalid if has_mark => "it is damaged or cut off: no page can be found in it",
        LoadPdfError::Invalid => "its type says it is a PDF, but its bytes do not",
    };
    said.to_owned()
}
