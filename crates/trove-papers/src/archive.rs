//! Zip archives: which document one is, and its files, each unpacked up to a bound.

use std::io::{Cursor, Read as _};

use zip::{ZipArchive, result::ZipError};

use crate::{
    Parts, book,
    markup::{Step, walk},
    sheets, slides, words,
};

/// The most that one file of an archive may take unpacked.
const MAX_UNPACKED: u64 = 48 * 1024 * 1024;
/// The most that all files of an archive together may take unpacked.
const MAX_ALL_UNPACKED: u64 = 128 * 1024 * 1024;
/// How files of Office 97 begin, and those that Office locked with a password.
const COMPOUND: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

/// An archive.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// The bytes unpacked so far.
    unpacked: u64,
}

/// The text of an office file or an e-book, recognised by its bytes and not by its name.
pub(crate) fn parts(bytes: &[u8]) -> Result<Parts, String> {
    if bytes.starts_with(COMPOUND) {
        return Err("it is locked with a password, or a file of Office 97 to 2003; save it as \
                    .docx, .xlsx or .pptx without a password"
            .to_owned());
    }
    let mut archive = Archive::of(bytes)?;
    if let Some(manifest) = archive.text("META-INF/manifest.xml")?
        && manifest.contains("encryption-data")
    {
        return Err("it is locked with a password".to_owned());
    }
    if archive.has("word/document.xml") {
        return words::word(&mut archive);
    }
    if archive.has("xl/workbook.xml") {
        return sheets::excel(&mut archive);
    }
    if archive.has("ppt/presentation.xml") {
        return slides::power_point(&mut archive);
    }
    if archive.has("META-INF/container.xml") {
        return book::parts(&mut archive);
    }
    if !archive.has("content.xml") {
        return Err("it is an archive, but no document of Office, OpenDocument or EPUB".to_owned());
    }
    let kind = archive.text("mimetype")?.unwrap_or_default();
    if kind.contains("spreadsheet") {
        sheets::open_sheets(&mut archive)
    } else if kind.contains("presentation") {
        slides::open_slides(&mut archive)
    } else {
        words::open_text(&mut archive)
    }
}

impl<'a> Archive<'a> {
    fn of(bytes: &'a [u8]) -> Result<Archive<'a>, String> {
        match ZipArchive::new(Cursor::new(bytes)) {
            Ok(zip) => Ok(Archive { zip, unpacked: 0 }),
            Err(_) if !bytes.starts_with(b"PK") => {
                Err("its type says it is an office file or an e-book, but its bytes do not".into())
            }
            Err(error) => Err(format!("it is damaged or cut off: {error}")),
        }
    }

    /// The names of its files, in the archive's order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.zip.file_names().flatten().map(|name| name.into_owned()).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// One file as text; `None` if there is none of that name.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        let file = match self.zip.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::InvalidPassword) => return Err("it is locked with a password".into()),
            Err(error) => return Err(format!("its part {name} cannot be unpacked: {error}")),
        };
        if file.encrypted() {
            return Err("it is locked with a password".to_owned());
        }
        let left = MAX_UNPACKED.min(MAX_ALL_UNPACKED.saturating_sub(self.unpacked));
        let mut bytes = Vec::new();
        let read = file.take(left + 1).read_to_end(&mut bytes);
        if let Err(error) = read {
            return Err(format!("its part {name} is damaged: {error}"));
        }
        self.unpacked += bytes.len() as u64;
        if bytes.len() as u64 > left {
            let most = MAX_UNPACKED / 1024 / 1024;
            return Err(format!("its part {name} unpacks to more than {most} MiB"));
        }
        Ok(Some(decoded(&bytes)))
    }

    /// One file that must be there.
    pub(crate) fn needed(&mut self, name: &str) -> Result<String, String> {
        self.text(name)?.ok_or_else(|| format!("its part {name} is missing"))
    }

    /// Where the parts lie that a part refers to, by the names of the references.
    pub(crate) fn relations(&mut self, of: &str) -> Result<Vec<(String, String)>, String> {
        let (folder, file) = of.rsplit_once('/').unwrap_or(("", of));
        let name = format!("{folder}/_rels/{file}.rels");
        let Some(xml) = self.text(&name)? else { return Ok(Vec::new()) };
        let mut relations = Vec::new();
        walk(&xml, |step| {
            if let Step::Begin(element) = step
                && element.name == "Relationship"
                && let Some(id) = element.attribute("Id")
                && let Some(target) = element.attribute("Target")
            {
                relations.push((id, place(folder, &target)));
            }
        })?;
        Ok(relations)
    }
}

/// Where a file lies in the archive, told from a file in `folder`.
pub(crate) fn place(folder: &str, target: &str) -> String {
    let target = target.split(['#', '?']).next().unwrap_or(target);
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut path: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            name => path.push(name),
        }
    }
    path.join("/")
}

/// The text of a part, which is UTF-8 unless its first bytes say otherwise.
fn decoded(bytes: &[u8]) -> String {
    let (text, _, _) = encoding_rs::UTF_8.decode(bytes);
    text.into_owned()
}
