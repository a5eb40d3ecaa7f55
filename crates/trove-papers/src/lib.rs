//! Text of the documents people have: PDF, office files, e-books, pages, notebooks, mail, pictures.
//!
//! Such files are hostile. [`Reader`] is the gateway's side: it starts a worker for each file.
//! [`work`] is the worker's side: it locks itself in, takes one file apart and ends. The gateway's
//! own process parses nothing of a file.

mod archive;
mod book;
mod html;
mod mail;
mod markup;
mod notebook;
mod outline;
mod pdf;
mod picture;
mod reader;
mod sheets;
mod slides;
mod words;
mod worker;

#[cfg(test)]
mod tests;

pub use reader::Reader;
pub use worker::work;

use trove_core::papers::{PaperForm, PaperPart, PaperText};

/// The most text that is taken of one file.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// The most parts of one file.
const MAX_PARTS: usize = 5_000;
/// The most characters of a title.
const MAX_TITLE: usize = 200;

/// Said of a part whose end is missing.
const CUT: &str = "the rest is left out: too much text";

/// The text of a file, or why there is none. For the worker alone.
fn text_of(form: PaperForm, bytes: &[u8]) -> Result<PaperText, String> {
    let parts = match form {
        PaperForm::Pdf => pdf::parts(bytes)?,
        PaperForm::Package => archive::parts(bytes)?,
        PaperForm::Html => html::parts(bytes),
        PaperForm::Notebook => notebook::parts(bytes)?,
        PaperForm::Mail => mail::parts(bytes)?,
        PaperForm::Picture => picture::parts(bytes)?,
    };
    Ok(PaperText { place: parts.place, parts: parts.parts, total: parts.total })
}

/// Parts as they are gathered, within bounds.
struct Parts {
    /// The word for one of them.
    place: &'static str,
    parts: Vec<PaperPart>,
    /// How many there are, counting those that are left out.
    total: usize,
    bytes: usize,
}

impl Parts {
    fn of(place: &'static str) -> Parts {
        Parts { place, parts: Vec::new(), total: 0, bytes: 0 }
    }

    /// Whether there is room for more text.
    fn has_room(&self) -> bool {
        self.bytes < MAX_TEXT && self.parts.len() < MAX_PARTS
    }

    /// Counts a part that is left out because there is no room.
    fn leave_out(&mut self) {
        self.total += 1;
    }

    /// Adds a part, cut to the room there is.
    fn add(&mut self, title: &str, text: &str, note: &str) {
        self.total += 1;
        if !self.has_room() {
            return;
        }
        let room = MAX_TEXT - self.bytes;
        let kept = &text[..text.floor_char_boundary(room)];
        let cut = if kept.len() < text.len() { CUT } else { "" };
        let note = if note.is_empty() { cut } else { note };
        let title: String = title.split_whitespace().collect::<Vec<&str>>().join(" ");
        let title: String = title.chars().take(MAX_TITLE).collect();
        self.bytes += kept.len() + title.len() + note.len();
        self.parts.push(PaperPart { title, text: kept.to_owned(), note: note.to_owned() });
    }
}
