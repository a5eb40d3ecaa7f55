//! The worker's side: one file, then its end.

use std::{
    io::{self, Read as _},
    panic,
    process::ExitCode,
};

use serde::{Deserialize, Serialize};
use trove_code::boxed::{self, Bounds, receive, send};
use trove_core::papers::{PLACES, PaperForm, PaperPart, PaperText};

/// The longest file that is read.
pub(crate) const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The bounds of one file.
pub(crate) const BOUNDS: Bounds = Bounds { memory_bytes: 384 * 1024 * 1024, compute_seconds: 15 };
/// The most of a reason that is told.
const MAX_WHY: usize = 500;

/// The head of a question; the bytes of the file follow.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Given {
    pub(crate) form: u8,
    pub(crate) length: usize,
}

/// The answer of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// The text.
    Text {
        place: String,
        /// The title, the text and the note of each part.
        parts: Vec<(String, String, String)>,
        total: usize,
    },
    /// Why there is no text.
    Unreadable(String),
    /// It could not lock itself in, and read nothing.
    Unready(String),
}

/// Locks this process in, reads the one file it is given, and ends. For a process that was started
/// for this alone, with pipes for stdin and stdout.
pub fn work() -> ExitCode {
    let answered = match boxed::lock_in(BOUNDS) {
        Ok(()) => serve(),
        // Unlocked it must not read anything.
        Err(error) => send(&mut io::stdout().lock(), &Said::Unready(error.to_string())),
    };
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        // The parent is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let given: Given = receive(&mut input)?;
    let form = PaperForm::of_number(given.form);
    let form = form.ok_or_else(|| io::Error::other("no such form"))?;
    let mut bytes = Vec::with_capacity(given.length.min(MAX_BYTES));
    input.take(given.length as u64).read_to_end(&mut bytes)?;
    send(&mut io::stdout().lock(), &answer(form, &bytes))
}

/// The text of a file, or why there is none.
pub(crate) fn answer(form: PaperForm, bytes: &[u8]) -> Said {
    // A parser that panics has met damage that it did not expect.
    match panic::catch_unwind(|| crate::text_of(form, bytes)) {
        Ok(Ok(text)) => Said::of(text),
        Ok(Err(why)) => Said::Unreadable(why.chars().take(MAX_WHY).collect()),
        Err(_) => Said::Unreadable("it is damaged".to_owned()),
    }
}

impl Said {
    fn of(text: PaperText) -> Said {
        let told = |part: PaperPart| (part.title, part.text, part.note);
        let parts = text.parts.into_iter().map(told).collect();
        Said::Text { place: text.place.to_owned(), parts, total: text.total }
    }

    /// The text in it; `None` if a worker would not say that.
    pub(crate) fn text(
        place: &str,
        parts: Vec<(String, String, String)>,
        total: usize,
    ) -> Option<PaperText> {
        let place = PLACES.into_iter().find(|known| *known == place)?;
        let part = |(title, text, note)| PaperPart { title, text, note };
        Some(PaperText { place, parts: parts.into_iter().map(part).collect(), total })
    }
}
