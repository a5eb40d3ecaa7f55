//! The container: named sections, each on a boundary a vector register likes.
//!
//! `trove-meaning/src/pack.rs` reads what this writes; the two change together.

const MAGIC: &[u8; 8] = b"TROVEMN1";
const NAME_BYTES: usize = 16;
const BOUNDARY: usize = 64;

#[derive(Default)]
pub(super) struct Pack {
    sections: Vec<(String, Vec<u8>)>,
}

impl Pack {
    pub(super) fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.sections.push((name.into(), bytes));
    }

    pub(super) fn add_floats(&mut self, name: impl Into<String>, floats: &[f32]) {
        self.add(name, floats.iter().flat_map(|float| float.to_le_bytes()).collect());
    }

    /// Magic, number of sections, a row of (name, offset, length) for each, the sections.
    pub(super) fn finish(self) -> Vec<u8> {
        let row = NAME_BYTES + 16;
        let mut offset = (MAGIC.len() + 8 + row * self.sections.len()).next_multiple_of(BOUNDARY);
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.sections.len() as u64).to_le_bytes());
        for (name, section) in &self.sections {
            assert!(name.len() <= NAME_BYTES, "the name {name} is too long");
            let mut field = [0; NAME_BYTES];
            field[..name.len()].copy_from_slice(name.as_bytes());
            bytes.extend(field);
            bytes.extend((offset as u64).to_le_bytes());
            bytes.extend((section.len() as u64).to_le_bytes());
            offset = (offset + section.len()).next_multiple_of(BOUNDARY);
        }
        for (_, section) in self.sections {
            bytes.resize(bytes.len().next_multiple_of(BOUNDARY), 0);
            bytes.extend(section);
        }
        bytes
    }
}
