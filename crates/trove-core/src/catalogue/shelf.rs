//! Remembers the last listing of each Source across restarts.
//!
//! A remembered listing is never the truth: unreadable parts are left out, and a Source that
//! answers replaces it whole.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;

use crate::{
    files::Home,
    json::Json,
    resource::{Listing, Named, Resource, Template},
    source::SourceId,
    state_file::{Damaged, Form, StateFile},
};

/// The largest remembered listing that is read back.
pub const MAX_REMEMBERED_BYTES: u64 = 1024 * 1024 * 1024;

static FORM: Form =
    Form { max_bytes: MAX_REMEMBERED_BYTES, version: 2, damaged: Damaged::MovedAside };

/// Followed by what tells one entry from another.
const HEADER: &str = "trove listing 2 ";
const EXTENSION: &str = "listing";

/// Keeps listings.
pub trait Shelf: Send + Sync + 'static {
    /// The last listing kept for a Source, and the [fingerprint](crate::Source::fingerprint) of
    /// the one that gave it.
    fn load(&self, id: &SourceId) -> Option<(u64, Listing)>;
    /// Keeps a listing.
    fn save(&self, id: &SourceId, fingerprint: u64, listing: &Listing) -> io::Result<()>;
    /// Forgets every Source but these.
    fn retain(&self, ids: &[SourceId]);
    /// Gives up loads that are under way: no caller waits for them any more.
    fn close(&self);
}

/// Listings as files, one for each Source, replaced whole. A folder belongs to one
/// configuration: servers of one name in two projects must not be taken for each other.
#[derive(Debug)]
pub struct FileShelf {
    /// The folder that must stay where it is for anything to be kept.
    home: Home,
    dir: PathBuf,
    is_closed: AtomicBool,
}

impl FileShelf {
    /// Keeps files in `dir`, somewhere in `home`, which is made when the first is kept.
    pub fn new(home: Home, dir: impl Into<PathBuf>) -> FileShelf {
        FileShelf { home, dir: dir.into(), is_closed: AtomicBool::new(false) }
    }

    fn path(&self, id: &SourceId) -> PathBuf {
        self.dir.join(id.as_str()).with_extension(EXTENSION)
    }

    fn file(&self, id: &SourceId) -> StateFile {
        StateFile::inside(&self.home, self.path(id), &FORM)
    }
}

impl Shelf for FileShelf {
    fn load(&self, id: &SourceId) -> Option<(u64, Listing)> {
        // A listing that is no longer waited for is not damaged.
        let parse = |bytes: Vec<u8>| match decode(bytes.into(), &self.is_closed) {
            None if !self.is_closed.load(Ordering::Relaxed) => Err("see its first line".to_owned()),
            listing => Ok(listing),
        };
        self.file(id).read(parse).ok()?.flatten()
    }

    fn save(&self, id: &SourceId, fingerprint: u64, listing: &Listing) -> io::Result<()> {
        self.file(id).write_with(|out| encode(fingerprint, listing, out))?;
        Ok(())
    }

    fn retain(&self, ids: &[SourceId]) {
        let Ok(files) = fs::read_dir(&self.dir) else { return };
        let wanted: Vec<PathBuf> = ids.iter().map(|id| self.path(id)).collect();
        for file in files.flatten() {
            let path = file.path();
            let listing = listing_of(&path);
            if listing.extension().is_some_and(|e| e == EXTENSION) && !wanted.contains(&listing) {
                // A file that cannot be removed is only a memory of a Source that is gone.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

/// The listing that a file is, or was before it was moved aside.
fn listing_of(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == "damaged") {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

fn encode(fingerprint: u64, listing: &Listing, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADER}{fingerprint}")?;
    let resources = listing.resources.iter().map(|r| ('R', &r.entry));
    let templates = listing.templates.iter().map(|t| ('T', &t.entry));
    let tools = listing.tools.iter().map(|t| ('O', &t.entry));
    let prompts = listing.prompts.iter().map(|p| ('P', &p.entry));
    let skills = listing.skills.iter().map(|s| ('S', &s.entry));
    for (kind, entry) in resources.chain(templates).chain(tools).chain(prompts).chain(skills) {
        // Line ends in JSON text stand between tokens only, so a blank is as good.
        let line = entry.as_str().replace(['\n', '\r'], " ");
        writeln!(out, "{kind}{line}")?;
    }
    Ok(())
}

fn decode(file: Bytes, is_closed: &AtomicBool) -> Option<(u64, Listing)> {
    let mut lines = file.split(|&b| b == b'\n');
    let header = str::from_utf8(lines.next()?).ok()?;
    let fingerprint = header.strip_prefix(HEADER)?.parse().ok()?;
    let mut listing = Listing::default();
    for line in lines {
        if is_closed.load(Ordering::Relaxed) {
            return None;
        }
        let Some((&kind, text)) = line.split_first() else { continue };
        let Ok(entry) = Json::parse(file.slice_ref(text)) else { continue };
        match kind {
            b'R' => listing.resources.extend(Resource::new(entry)),
            b'T' => listing.templates.extend(Template::new(entry)),
            b'O' => listing.tools.extend(Named::new(entry, "name")),
            b'P' => listing.prompts.extend(Named::new(entry, "name")),
            b'S' => listing.skills.extend(Named::new(entry, "uri")),
            _ => {}
        }
    }
    Some((fingerprint, listing))
}

#[cfg(test)]
mod tests {
    use super::*;

    static OPEN: AtomicBool = AtomicBool::new(false);

    fn listing(entries: &[&str]) -> Listing {
        let resources = entries
            .iter()
            .map(|e| Resource::new(Json::parse(e.to_string()).unwrap()).unwrap())
            .collect();
        Listing { resources, ..Listing::default() }
    }

    #[test]
    fn what_was_kept_comes_back_as_it_was() {
        let before =
            listing(&[r#"{"uri":"a:1","name":"x","n":1.0}"#, "{\"uri\":\"a:2\",\n\"name\":\"y\"}"]);
        let mut file = Vec::new();
        encode(7, &before, &mut file).unwrap();
        let (fingerprint, after) = decode(file.into(), &OPEN).unwrap();
        assert_eq!(fingerprint, 7);
        let texts: Vec<_> = after.resources.iter().map(|r| r.entry.as_str()).collect();
        assert_eq!(texts, [r#"{"uri":"a:1","name":"x","n":1.0}"#, r#"{"uri":"a:2", "name":"y"}"#]);
    }

    #[test]
    fn t35_a_damaged_line_costs_only_itself() {
        let file = format!(
            "{HEADER}7\nR{{\"uri\":\"a:1\",\"name\":\"x\"}}\nR{{broken\nX\n\nR{{\"uri\":\"a:2\",\"name\":\"y\"}}\n"
        );
        assert_eq!(decode(file.clone().into(), &OPEN).unwrap().1.resources.len(), 2);
        assert!(decode("something else\n".into(), &OPEN).is_none());
        let closed = AtomicBool::new(true);
        assert!(decode(file.into(), &closed).is_none(), "a stop does not wait for a long memory");
    }
}
