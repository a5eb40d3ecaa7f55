//! Reads back which resources an index holds.

use tantivy::{
    SegmentReader,
    columnar::{Column, StrColumn},
};

use super::{
    entry::{Depth, Entry},
    record::{Kept, Record, State},
    roster::Roster,
    schema::fast,
    store::Store,
};
use crate::{
    source_id::SourceId,
    uri::{LocalUri, PublicUri},
};

/// Reads the roster from what the index holds.
pub(super) fn load(store: &Store) -> tantivy::Result<Roster> {
    let mut roster = Roster::default();
    // A private content may stand before the document that tells of its resource.
    let mut private = Vec::new();
    for segment in store.reader.searcher().segment_readers() {
        private.extend(load_segment(segment, &mut roster)?);
    }
    for (id, owner, hash) in private {
        roster.put_private(id, owner, hash);
    }
    roster.collect_free();
    Ok(roster)
}

/// A private content: of which resource, whose, its hash.
type Private = (u64, u64, u64);

fn load_segment(segment: &SegmentReader, roster: &mut Roster) -> tantivy::Result<Vec<Private>> {
    let columns = Columns::open(segment)?;
    let mut private = Vec::new();
    for doc in segment.doc_ids_alive() {
        let (id, part) = (columns.number(&columns.id, doc), columns.number(&columns.part, doc));
        let owner = columns.number(&columns.owner, doc);
        if part > 0 {
            continue;
        }
        if owner > 0 {
            let hash = columns.number(&columns.content_hash, doc);
            private.push((id, owner, hash));
            continue;
        }
        let Some(entry) = columns.entry(doc) else { continue };
        let flags = columns.number(&columns.state, doc);
        let kept = Kept {
            id,
            listed_hash: columns.number(&columns.listed_hash, doc),
            shown_hash: columns.number(&columns.shown_hash, doc),
            content_hash: columns.number(&columns.content_hash, doc),
            looked_at: columns.content_at.first(doc).unwrap_or_default().saturating_mul(1000),
            state: State::of_flags(flags),
            is_described: Record::is_described_by(flags),
            is_type_found: Record::is_type_found_by(flags),
        };
        roster.put(&entry, Some(kept));
    }
    Ok(private)
}

/// The columns of one segment that make a roster.
struct Columns {
    id: Column<u64>,
    owner: Column<u64>,
    part: Column<u64>,
    source: Texts,
    local: Texts,
    public: Texts,
    mime: Texts,
    modified: Column<i64>,
    size: Column<u64>,
    priority: Column<f64>,
    listed_hash: Column<u64>,
    shown_hash: Column<u64>,
    content_hash: Column<u64>,
    content_at: Column<i64>,
    state: Column<u64>,
}

impl Columns {
    fn open(segment: &SegmentReader) -> tantivy::Result<Columns> {
        let columns = segment.fast_fields();
        Ok(Columns {
            id: columns.u64(fast::ID)?,
            owner: columns.u64(fast::OWNER)?,
            part: columns.u64(fast::PART)?,
            source: Texts::read(columns.str(fast::SOURCE)?)?,
            local: Texts::read(columns.str(fast::LOCAL)?)?,
            public: Texts::read(columns.str(fast::PUBLIC)?)?,
            mime: Texts::read(columns.str(fast::MIME)?)?,
            modified: columns.i64(fast::MODIFIED)?,
            size: columns.u64(fast::SIZE)?,
            priority: columns.f64(fast::PRIORITY)?,
            listed_hash: columns.u64(fast::LISTED_HASH)?,
            shown_hash: columns.u64(fast::SHOWN_HASH)?,
            content_hash: columns.u64(fast::CONTENT_HASH)?,
            content_at: columns.i64(fast::CONTENT_AT)?,
            state: columns.u64(fast::STATE)?,
        })
    }

    fn number(&self, column: &Column<u64>, doc: u32) -> u64 {
        column.first(doc).unwrap_or_default()
    }

    fn entry(&self, doc: u32) -> Option<Entry> {
        let local = self.local.of(doc)?;
        let public = self.public.of(doc).unwrap_or(local);
        Some(Entry {
            source: SourceId::of_anyone(self.source.of(doc)?)?,
            local: LocalUri::from(local),
            public: PublicUri::from(public),
            name: String::new(),
            title: None,
            description: None,
            mime: self.mime.of(doc).map(str::to_owned),
            size: self.size.first(doc),
            modified: self.modified.first(doc),
            priority: self.priority.first(doc).unwrap_or_default() as f32,
            depth: Depth::Content,
        })
    }
}

/// A column of texts, read whole: looking each up in its dictionary would be slow.
struct Texts {
    column: Option<StrColumn>,
    texts: Vec<Box<str>>,
}

impl Texts {
    fn read(column: Option<StrColumn>) -> tantivy::Result<Texts> {
        let mut texts = Vec::new();
        if let Some(column) = &column {
            let mut stream = column.dictionary().stream()?;
            while stream.advance() {
                texts.push(String::from_utf8_lossy(stream.key()).into());
            }
        }
        Ok(Texts { column, texts })
    }

    fn of(&self, doc: u32) -> Option<&str> {
        let ordinal = self.column.as_ref()?.ords().first(doc)?;
        self.texts.get(usize::try_from(ordinal).ok()?).map(|text| &**text)
    }
}
