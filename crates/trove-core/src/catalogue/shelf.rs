//! Remembers the last listing of each Source across restarts.
//!
//! What lies here is a memory, never the truth: anything unreadable is left out, and
//! a Source that answers replaces it whole.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;

use crate::{
    files::{self, Home},
    json::Json,
    resource::{Listing, Named, Resource, Template},
    source::SourceId,
};

/// The largest remembered listing that is read back.
pub const MAX_REMEMBERED_BYTES: u64 = 1024 * 1024 * 1024;

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
    /// Gives up what is being loaded: nobody waits for it any more.
    fn close(&self);
}

/// Listings as files, one for each Source, replaced whole. A folder belongs to one
/// configuration: servers of one name in two projects must not be taken for each other.
#[derive(Debug)]
pub struct FileShelf {
    /// The folder that must stay where it is for anything to be kept.
    home: Home,
    dir: PathBuf,
    /// Two saves at once would share a draft.
    saving: Mutex<()>,
    is_closed: AtomicBool,
}

impl FileShelf {
    /// Keeps files in `dir`, somewhere in `home`, which is made when the first is kept.
    pub fn new(home: Home, dir: impl Into<PathBuf>) -> FileShelf {
        let (dir, is_closed) = (dir.into(), AtomicBool::new(false));
        FileShelf { home, dir, saving: Mutex::new(()), is_closed }
    }

    fn path(&self, id: &SourceId) -> PathBuf {
        self.dir.join(id.as_str()).with_extension(EXTENSION)
    }
}

impl Shelf for FileShelf {
    fn load(&self, id: &SourceId) -> Option<(u64, Listing)> {
        let path = self.path(id);
        decode(files::read(&path, MAX_REMEMBERED_BYTES).ok()?.into(), &self.is_closed)
    }

    fn save(&self, id: &SourceId, fingerprint: u64, listing: &Listing) -> io::Result<()> {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        self.home.ready_inner(&self.dir)?;
        replace(&self.path(id), |file| encode(fingerprint, listing, file))
    }

    fn retain(&self, ids: &[SourceId]) {
        let Ok(files) = fs::read_dir(&self.dir) else { return };
        let wanted: Vec<PathBuf> = ids.iter().map(|id| self.path(id)).collect();
        let is_listing = |path: &Path| path.extension().is_some_and(|e| e == EXTENSION);
        for path in files.flatten().map(|file| file.path()) {
            if is_listing(&path) && !wanted.contains(&path) {
                // What cannot be removed is only a memory of what nobody asks for.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

/// Writes a file so that a reader sees the old or the new one, never a part.
fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // Another program may keep the same listing at the same time.
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let mut file = io::BufWriter::new(files::draft(&draft)?);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(draft, path)
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
