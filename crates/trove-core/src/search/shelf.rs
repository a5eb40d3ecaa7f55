//! Keeps vectors in a file beside the index, so that they are not computed twice.
//!
//! Records are only ever added. A record that is cut off, damaged, of another encoder or of another
//! version of a resource is passed over when the file is read. When half of the file is waste it is
//! written anew.

use std::{
    fs::File,
    hash::Hasher as _,
    io::{self, BufReader, Write as _},
    path::{Path, PathBuf},
};

use super::vectors::{Embedded, VectorSet};
use crate::files::{self, Draft, Readers};

const MAGIC: &[u8; 8] = b"trovevc1";
/// The most vectors of one resource.
const MAX_GROUP: u32 = 4096;
/// The file grows to this and no further before the next start makes it smaller.
const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024 * 1024;
const HEAD_BYTES: usize = 24;

/// The file.
pub(super) struct VectorFile {
    file: File,
    dimension: usize,
    bytes: u64,
}

/// The vectors of one resource.
struct Group {
    id: u64,
    version: u64,
    vectors: Vec<Embedded>,
}

impl VectorFile {
    /// Opens the file and reads what is still true: `is_current` knows a resource and its
    /// version.
    pub(super) fn open(
        path: PathBuf,
        encoder: &str,
        dimension: usize,
        is_current: impl Fn(u64, u64) -> bool,
    ) -> io::Result<(VectorFile, VectorSet)> {
        let mut set = VectorSet::new(dimension);
        let (mut groups, mut kept) = (0, 0);
        let (mut used, mut length) = (HEAD_BYTES as u64, 0);
        if let Ok(file) = files::open(&path) {
            length = file.metadata()?.len();
            let mut reader = BufReader::new(file);
            if read_header(&mut reader).is_ok_and(|header| header == head(encoder, dimension)) {
                while let Some(group) = read_group(&mut reader, dimension) {
                    groups += 1;
                    used += record_bytes(group.vectors.len(), dimension) as u64;
                    if is_current(group.id, group.version) {
                        kept += usize::from(set.version(group.id).is_none());
                        set.put(group.id, group.version, &group.vectors);
                    }
                }
            }
        }
        // A record added behind something unreadable would never be read again.
        if kept * 2 < groups || used != length {
            write_anew(&path, encoder, dimension, &set)?;
        }
        let file = files::append(&path)?;
        let bytes = file.metadata()?.len();
        Ok((VectorFile { file, dimension, bytes }, set))
    }

    /// Adds the vectors of a resource.
    pub(super) fn add(&mut self, id: u64, version: u64, vectors: &[Embedded]) -> io::Result<()> {
        let record = record(id, version, vectors, self.dimension);
        self.bytes += record.len() as u64;
        if self.bytes > MAX_FILE_BYTES {
            return Err(io::Error::other("the file is as large as it may be"));
        }
        self.file.write_all(&record)
    }
}

fn head(encoder: &str, dimension: usize) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&check(encoder.as_bytes()).to_le_bytes());
    head[16..].copy_from_slice(&(dimension as u64).to_le_bytes());
    head
}

fn read_header(reader: &mut impl io::Read) -> io::Result<[u8; HEAD_BYTES]> {
    let mut header = [0; HEAD_BYTES];
    reader.read_exact(&mut header)?;
    Ok(header)
}

fn write_anew(path: &Path, encoder: &str, dimension: usize, set: &VectorSet) -> io::Result<()> {
    let mut file = Draft::new(path, Readers::Owner)?;
    file.write_all(&head(encoder, dimension))?;
    for (id, version, vectors) in set.groups() {
        file.write_all(&record(id, version, &vectors, dimension))?;
    }
    file.finish()
}

fn record_bytes(vectors: usize, dimension: usize) -> usize {
    28 + vectors * (20 + dimension)
}

/// Number of vectors, id, version, the vectors, a check over all of it.
fn record(id: u64, version: u64, vectors: &[Embedded], dimension: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(record_bytes(vectors.len(), dimension));
    bytes.extend((vectors.len() as u32).to_le_bytes());
    bytes.extend(id.to_le_bytes());
    bytes.extend(version.to_le_bytes());
    for vector in vectors {
        bytes.extend(vector.owner.to_le_bytes());
        bytes.extend(vector.start.to_le_bytes());
        bytes.extend(vector.len.to_le_bytes());
        bytes.extend(vector.scale.to_le_bytes());
        bytes.extend(vector.codes.iter().map(|code| code.cast_unsigned()));
    }
    bytes.extend(check(&bytes).to_le_bytes());
    bytes
}

fn read_group(reader: &mut impl io::Read, dimension: usize) -> Option<Group> {
    let mut bytes = vec![0; 20];
    reader.read_exact(&mut bytes).ok()?;
    let count = u32::from_le_bytes(bytes[..4].try_into().ok()?);
    if count > MAX_GROUP {
        return None;
    }
    let body = count as usize * (20 + dimension);
    bytes.resize(20 + body, 0);
    reader.read_exact(&mut bytes[20..]).ok()?;
    let mut sum = [0; 8];
    reader.read_exact(&mut sum).ok()?;
    if check(&bytes) != u64::from_le_bytes(sum) {
        return None;
    }
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let small = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let mut vectors = Vec::with_capacity(count as usize);
    for n in 0..count as usize {
        let at = 20 + n * (20 + dimension);
        let codes = bytes.get(at + 20..at + 20 + dimension)?;
        vectors.push(Embedded {
            owner: number(at)?,
            start: small(at + 8)?,
            len: small(at + 12)?,
            scale: f32::from_bits(small(at + 16)?),
            codes: codes.iter().map(|code| code.cast_signed()).collect(),
        });
    }
    Some(Group { id: number(4)?, version: number(12)?, vectors })
}

fn check(bytes: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(n: i8) -> Vec<Embedded> {
        vec![Embedded { owner: 0, start: 1, len: 2, scale: 0.5, codes: vec![n; 4] }]
    }

    fn open(path: &Path, encoder: &str) -> (VectorFile, VectorSet) {
        VectorFile::open(path.to_owned(), encoder, 4, |_, version| version == 7).unwrap()
    }

    #[test]
    fn vectors_outlive_the_process_until_something_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vectors");
        let (mut file, _) = open(&path, "a");
        file.add(1 << 32, 7, &vectors(1)).unwrap();
        file.add(2 << 32, 7, &vectors(2)).unwrap();
        file.add(3 << 32, 6, &vectors(3)).unwrap();
        assert_eq!(open(&path, "a").1.resources(), 2, "an old version counts no more");
        assert_eq!(open(&path, "b").1.resources(), 0, "another encoder speaks another language");
    }

    #[test]
    fn a_record_cut_off_loses_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vectors");
        let (mut file, _) = open(&path, "a");
        file.add(1 << 32, 7, &vectors(1)).unwrap();
        file.add(2 << 32, 7, &vectors(2)).unwrap();
        let length = file.bytes;
        File::options().write(true).open(&path).unwrap().set_len(length - 3).unwrap();
        let (mut file, set) = open(&path, "a");
        assert_eq!(set.resources(), 1);
        file.add(4 << 32, 7, &vectors(4)).unwrap();
        assert_eq!(open(&path, "a").1.resources(), 2, "what is added later is found");
    }
}
