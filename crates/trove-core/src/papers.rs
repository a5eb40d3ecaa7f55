//! The seam to the part that makes text of papers: PDF, office files, e-books, mail, pages, pictures.
//!
//! Such files are hostile. An implementation of [`Papers`] takes each apart in a box of its own,
//! within bounds on time, memory and output.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::content::{self, Kind};

/// How far into a file the mark of a PDF may stand.
const PDF_MARK_WITHIN: usize = 1024;

/// The ways in which papers are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaperForm {
    /// PDF.
    Pdf,
    /// An office file or an e-book: a zip archive that tells itself which it is.
    Package,
    /// HTML.
    Html,
    /// A Jupyter notebook.
    Notebook,
    /// A mail.
    Mail,
    /// A picture, of which only what is written beside the pixels becomes text.
    Picture,
}

/// The forms by their numbers between processes.
const NUMBERED: [PaperForm; 6] = [
    PaperForm::Pdf,
    PaperForm::Package,
    PaperForm::Html,
    PaperForm::Notebook,
    PaperForm::Mail,
    PaperForm::Picture,
];

/// The types of papers, and the form of each.
const TYPES: [(&str, PaperForm); 30] = [
    ("application/epub+zip", PaperForm::Package),
    ("application/pdf", PaperForm::Pdf),
    ("application/vnd.ms-excel.sheet.macroenabled.12", PaperForm::Package),
    ("application/vnd.ms-excel.template.macroenabled.12", PaperForm::Package),
    ("application/vnd.ms-powerpoint.presentation.macroenabled.12", PaperForm::Package),
    ("application/vnd.ms-powerpoint.slideshow.macroenabled.12", PaperForm::Package),
    ("application/vnd.ms-word.document.macroenabled.12", PaperForm::Package),
    ("application/vnd.ms-word.template.macroenabled.12", PaperForm::Package),
    ("application/vnd.oasis.opendocument.presentation", PaperForm::Package),
    ("application/vnd.oasis.opendocument.presentation-template", PaperForm::Package),
    ("application/vnd.oasis.opendocument.spreadsheet", PaperForm::Package),
    ("application/vnd.oasis.opendocument.spreadsheet-template", PaperForm::Package),
    ("application/vnd.oasis.opendocument.text", PaperForm::Package),
    ("application/vnd.oasis.opendocument.text-template", PaperForm::Package),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        PaperForm::Package,
    ),
    ("application/vnd.openxmlformats-officedocument.presentationml.slideshow", PaperForm::Package),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", PaperForm::Package),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.template", PaperForm::Package),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", PaperForm::Package),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.template", PaperForm::Package),
    ("application/x-ipynb+json", PaperForm::Notebook),
    ("application/xhtml+xml", PaperForm::Html),
    ("image/heic", PaperForm::Picture),
    ("image/heif", PaperForm::Picture),
    ("image/jpeg", PaperForm::Picture),
    ("image/png", PaperForm::Picture),
    ("image/tiff", PaperForm::Picture),
    ("image/webp", PaperForm::Picture),
    ("message/rfc822", PaperForm::Mail),
    ("text/html", PaperForm::Html),
];

impl PaperForm {
    /// The form of contents with this type; `None` if no text is made of such.
    pub fn of_mime(mime: &str) -> Option<PaperForm> {
        let known = TYPES.iter().find(|(known, _)| *known == mime)?;
        Some(known.1)
    }

    /// The form of some bytes: the bytes decide before their type and their name do.
    pub fn of(kind: &Kind, name: &str, bytes: &[u8]) -> Option<PaperForm> {
        let head = &bytes[..bytes.len().min(PDF_MARK_WITHIN)];
        if memchr::memmem::find(head, b"%PDF-").is_some() && !kind.is_text() {
            return Some(PaperForm::Pdf);
        }
        let named = content::mime_of_name(name);
        let told = PaperForm::of_mime(&kind.mime).or_else(|| PaperForm::of_mime(named?));
        let is_nameless_zip = kind.mime == "application/zip" && named.is_none();
        let form = match told {
            Some(form) => form,
            None if is_nameless_zip && holds_paper(bytes) => PaperForm::Package,
            None => return None,
        };
        if form == PaperForm::Picture && !has_words(bytes) {
            return None;
        }
        // A mail may hold any bytes. A text that calls itself an office file is the text it is.
        let is_so = form == PaperForm::Mail || kind.is_text() == form.is_written();
        if is_so { Some(form) } else { None }
    }

    /// Whether such papers are text before text is made of them.
    pub fn is_written(self) -> bool {
        matches!(self, PaperForm::Html | PaperForm::Notebook | PaperForm::Mail)
    }

    /// Its number between processes.
    pub fn number(self) -> u8 {
        let at = NUMBERED.iter().position(|form| *form == self);
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
    }

    /// The form with that number.
    pub fn of_number(number: u8) -> Option<PaperForm> {
        NUMBERED.get(usize::from(number)).copied()
    }
}

/// Whether something is written beside the pixels of a picture.
fn has_words(picture: &[u8]) -> bool {
    const MARKS: [&[u8]; 5] = [b"Exif", b"EXIF", b"eXIf", b"tEXt", b"xmpmeta"];
    let is_tiff = picture.starts_with(b"II*\0") || picture.starts_with(b"MM\0*");
    is_tiff || MARKS.iter().any(|mark| memchr::memmem::find(picture, mark).is_some())
}

/// Whether a zip archive has a file that only office files and e-books have. Names stand in it as
/// they are.
fn holds_paper(zip: &[u8]) -> bool {
    const FILES: [&str; 5] = [
        "word/document.xml",
        "xl/workbook.xml",
        "ppt/presentation.xml",
        "META-INF/container.xml",
        "mimetypeapplication/vnd.oasis.opendocument",
    ];
    FILES.iter().any(|file| memchr::memmem::find(zip, file.as_bytes()).is_some())
}

/// The text of a paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaperText {
    /// The word for one of its parts, such as `page`.
    pub place: &'static str,
    /// Its parts, in order.
    pub parts: Vec<PaperPart>,
    /// How many parts it has; more than `parts` if the text is too long.
    pub total: usize,
}

/// The words for parts.
pub const PLACES: [&str; 6] = ["page", "slide", "sheet", "chapter", "section", "cell"];

/// One part of a paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaperPart {
    /// Its title; empty if it has none.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Why it has no text, or not all of it; empty otherwise.
    pub note: String,
}

/// Why a paper gave no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PaperFault {
    /// It is damaged, locked, or not what it says.
    #[error("{why}")]
    Unreadable {
        /// In words.
        why: String,
    },
    /// It took more than it may.
    #[error("it takes more {what} than a document may ({most})")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much it may take, with the unit.
        most: String,
    },
    /// Too many papers are read.
    #[error("too many documents are being read; ask again in a few seconds")]
    Busy,
    /// The part that reads it broke, or is not there.
    #[error("the process that reads documents ended: {how}")]
    Broke {
        /// How.
        how: String,
    },
}

impl PaperFault {
    /// Whether the same bytes may give a text later.
    pub fn is_passing(&self) -> bool {
        matches!(self, PaperFault::Busy)
    }
}

/// Who waits for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    /// A caller.
    Caller,
    /// The index, which waits behind callers.
    Index,
}

/// Makes text of papers.
pub trait Papers: Send + Sync {
    /// The text of one paper. Dropping the future ends the work.
    fn text<'a>(
        &'a self,
        form: PaperForm,
        bytes: &'a [u8],
        haste: Haste,
    ) -> BoxFuture<'a, Result<Arc<PaperText>, PaperFault>>;
}

impl PaperText {
    /// Whether the text is one whole that has no places in it.
    fn is_plain(&self) -> bool {
        self.total == 1 && self.place == "section"
    }

    /// All parts as Markdown, each below a heading that says which it is.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for number in 1..=self.parts.len() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&self.part(number).unwrap_or_default());
        }
        let missing = self.total.saturating_sub(self.parts.len());
        if missing > 0 {
            let place = self.place;
            text.push_str(&format!("\n({missing} more {place}s are left out: too much text)\n"));
        }
        text
    }

    /// One part as Markdown, counted from one; `None` if there is none of that number.
    pub fn part(&self, number: usize) -> Option<String> {
        let part = self.parts.get(number.checked_sub(1)?)?;
        let mut text = String::with_capacity(part.text.len() + 64);
        let mut heading = String::new();
        if !self.is_plain() {
            heading = format!("## {} {number}", self.place);
        }
        if !part.title.is_empty() {
            let before = if self.is_plain() { "# " } else { ": " };
            heading.push_str(before);
            heading.push_str(&part.title);
        }
        if !heading.is_empty() {
            text.push_str(&heading);
            text.push_str("\n\n");
        }
        text.push_str(part.text.trim_end());
        if !part.note.is_empty() {
            text.push_str(&format!("\n({})", part.note));
        }
        text.push('\n');
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mime: Option<&str>, name: &str, bytes: &[u8], form: Option<PaperForm>) {
        let kind = content::sniff(mime, name, bytes);
        assert_eq!(PaperForm::of(&kind, name, bytes), form, "{kind:?}");
    }

    #[test]
    fn the_bytes_decide_before_the_type_and_the_name() {
        let pdf = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj";
        check(None, "x://a", pdf, Some(PaperForm::Pdf));
        check(None, "report.docx", pdf, Some(PaperForm::Pdf));
        let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        let zip = b"PK\x03\x04\x14\x00\x00\x00\x08\x00 and more \x00\x01";
        check(Some(docx), "x://a", zip, Some(PaperForm::Package));
        check(None, "a.odt", zip, Some(PaperForm::Package));
        check(None, "a.zip", zip, None);
        let nameless = [zip.as_slice(), b"word/document.xml"].concat();
        check(None, "x://a", &nameless, Some(PaperForm::Package));
        check(None, "x://a", zip, None);
        check(None, "a.zip", &nameless, None);
        check(Some(docx), "a.docx", b"only a text", None);
        check(Some("application/pdf"), "a.pdf", b"\x00\x01 no PDF", Some(PaperForm::Pdf));
        check(Some("text/html; charset=utf-8"), "a", b"<p>x</p>", Some(PaperForm::Html));
        check(None, "a.ipynb", b"{\"cells\": []}", Some(PaperForm::Notebook));
        check(None, "a.eml", b"Subject: x\n\ny", Some(PaperForm::Mail));
        check(None, "a.md", b"# x", None);
        check(None, "a.png", b"\x89PNG\r\n\x1a\n\x00", None);
        check(None, "a.png", b"\x89PNG\r\n\x1a\n\x00 tEXt", Some(PaperForm::Picture));
    }

    #[test]
    fn a_form_is_known_by_its_number() {
        for form in NUMBERED {
            assert_eq!(PaperForm::of_number(form.number()), Some(form));
        }
        assert_eq!(PaperForm::of_number(200), None);
    }

    #[test]
    fn parts_stand_below_headings_that_name_them() {
        let part = |title: &str, text: &str, note: &str| PaperPart {
            title: title.to_owned(),
            text: text.to_owned(),
            note: note.to_owned(),
        };
        let parts = vec![part("", "one", ""), part("Two", "", "no text")];
        let text = PaperText { place: "page", parts, total: 3 };
        let whole = "## page 1\n\none\n\n## page 2: Two\n\n\n(no text)\n\n(1 more pages are left out: too much text)\n";
        assert_eq!(text.markdown(), whole);
        assert_eq!(text.part(1).as_deref(), Some("## page 1\n\none\n"));
        assert_eq!((text.part(0), text.part(3)), (None, None));
        let plain = PaperText { place: "section", parts: vec![part("", "x", "")], total: 1 };
        assert_eq!(plain.markdown(), "x\n");
    }
}
