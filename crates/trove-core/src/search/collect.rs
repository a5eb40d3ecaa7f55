//! Gathers candidates from the index: which resources match, how well, how many there are. A
//! resource that is not admitted is passed over before it is counted.

use std::{collections::HashMap, sync::Arc};

use tantivy::{
    DocAddress, DocId, DocSet as _, Score, Searcher, SegmentReader, TERMINATED,
    columnar::{Column, ColumnIndex, ColumnValues},
    query::{Scorer, Weight},
    schema::IndexRecordOption,
};

use super::{
    conjunction::{Clause, Held, held, seek_each},
    filter::{Counted, Filter},
    lexical::{Asked, Compiled, Lexical},
    parallel::each,
    record::slot_of,
    schema::{Fields, fast},
};

/// A resource that matches, and the document that does best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) id: u64,
    pub(super) doc: DocAddress,
    pub(super) score: Score,
}

/// The columns of a document that a filter needs.
struct Columns {
    id: Arc<dyn ColumnValues<u64>>,
    /// `None` if every document is for all callers.
    owner: Option<Arc<dyn ColumnValues<u64>>>,
}

/// How many documents are looked at together.
const BATCH: usize = 256;

impl Columns {
    fn open(segment: &SegmentReader) -> tantivy::Result<Columns> {
        let columns = segment.fast_fields();
        let owner = columns.u64(fast::OWNER)?;
        let is_any_private = owner.max_value() > 0;
        Ok(Columns {
            id: values(columns.u64(fast::ID)?),
            owner: is_any_private.then(|| values(owner)),
        })
    }

    fn owner(&self, doc: DocId) -> u64 {
        self.owner.as_ref().map_or(0, |owner| owner.get_val(doc))
    }

    /// The resource of a document, if it may be found.
    fn admitted(&self, doc: DocId, filter: &mut Filter<'_>) -> Option<u64> {
        let id = self.id.get_val(doc);
        (filter.admits_owner(self.owner(doc)) && filter.admits(id)).then_some(id)
    }

    /// Visits the resources of those documents that may be found.
    fn each_admitted(
        &self,
        docs: &[DocId],
        filter: &mut Filter<'_>,
        mut visit: impl FnMut(DocId, u64),
    ) {
        let mut ids = [0; BATCH];
        for docs in docs.chunks(BATCH) {
            self.id.get_vals(docs, &mut ids[..docs.len()]);
            for (doc, id) in docs.iter().zip(ids) {
                if filter.admits_owner(self.owner(*doc)) && filter.admits(id) {
                    visit(*doc, id);
                }
            }
        }
    }
}

/// A number for every document; 0 where it has none.
fn values(column: Column<u64>) -> Arc<dyn ColumnValues<u64>> {
    match column.index {
        ColumnIndex::Full => column.values,
        _ => column.first_or_default_col(0),
    }
}

/// The best few resources, each once, filled without order and cut when full.
struct Best {
    matches: Vec<Match>,
    limit: usize,
    /// The score that a new match must exceed.
    threshold: Score,
}

impl Best {
    fn new(limit: usize) -> Best {
        Best { matches: Vec::new(), limit, threshold: Score::MIN }
    }

    fn push(&mut self, found: Match) {
        if found.score <= self.threshold {
            return;
        }
        self.matches.push(found);
        if self.matches.len() >= (self.limit * 2).max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        // The best document of each resource stands for it.
        self.matches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        let mut seen = std::collections::HashSet::with_capacity(self.matches.len());
        self.matches.retain(|found| seen.insert(found.id));
        self.matches.truncate(self.limit);
        if self.matches.len() == self.limit {
            self.threshold = self.matches.last().map_or(Score::MIN, |last| last.score);
        }
    }

    fn finish(mut self) -> Vec<Match> {
        self.cut();
        self.matches
    }
}

/// The best resources; the index passes over what cannot be among them.
pub(super) fn best(
    searcher: &Searcher,
    weight: &dyn Weight,
    filter: &mut Filter<'_>,
    limit: usize,
) -> tantivy::Result<Vec<Match>> {
    let mut best = Best::new(limit);
    for (number, segment) in searcher.segment_readers().iter().enumerate() {
        let columns = Columns::open(segment)?;
        let alive = segment.alive_bitset();
        weight.for_each_pruning(best.threshold, segment, &mut |doc, score| {
            if alive.is_none_or(|alive| alive.is_alive(doc))
                && let Some(id) = columns.admitted(doc, filter)
            {
                best.push(Match { id, doc: DocAddress::new(number as u32, doc), score });
            }
            best.threshold
        })?;
    }
    Ok(best.finish())
}

/// The best resources, and how many match in all.
pub(super) fn best_and_total(
    searcher: &Searcher,
    clause: &Clause<Box<dyn Weight>>,
    filter: &mut Filter<'_>,
    limit: usize,
) -> tantivy::Result<(Vec<Match>, usize)> {
    let mut best = Best::new(limit);
    let mut counted = Counted::default();
    let segments = searcher.segment_readers();
    let all = each(segments, searcher.num_docs(), |segment| -> tantivy::Result<Held> {
        let mut held = held(clause, segment, None)?;
        if let Some(alive) = segment.alive_bitset() {
            held.docs.retain(|doc| alive.is_alive(*doc));
        }
        Ok(held)
    });
    for (number, (segment, held)) in segments.iter().zip(all).enumerate() {
        let (columns, held) = (Columns::open(segment)?, held?);
        columns.each_admitted(&held.docs, filter, |doc, id| {
            counted.add(slot_of(id));
            let (doc, score) = (DocAddress::new(number as u32, doc), held.score(doc));
            best.push(Match { id, doc, score });
        });
    }
    Ok((best.finish(), counted.total))
}

/// The documents of a resource that the one who asks may see.
pub(super) fn documents_of(
    searcher: &Searcher,
    fields: &Fields,
    id: u64,
    filter: &Filter<'_>,
) -> tantivy::Result<Vec<DocAddress>> {
    let all = all_documents_of(searcher, fields, id)?;
    let own = all.into_iter().filter(|(_, owner)| filter.admits_owner(*owner));
    Ok(own.map(|(doc, _)| doc).collect())
}

/// All documents of a resource and whose they are.
pub(super) fn all_documents_of(
    searcher: &Searcher,
    fields: &Fields,
    id: u64,
) -> tantivy::Result<Vec<(DocAddress, u64)>> {
    let mut documents = Vec::new();
    let term = fields.id_term(id);
    for (number, segment) in searcher.segment_readers().iter().enumerate() {
        let index = segment.inverted_index(fields.id)?;
        let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        let columns = Columns::open(segment)?;
        while postings.doc() != TERMINATED {
            let doc = postings.doc();
            if !segment.is_deleted(doc) {
                documents.push((DocAddress::new(number as u32, doc), columns.owner(doc)));
            }
            postings.advance();
        }
    }
    Ok(documents)
}

/// The scores of some documents, sorted by address, for one question; those that do not
/// match are absent.
pub(super) fn scores(
    searcher: &Searcher,
    asked: &Asked,
    docs: &[DocAddress],
) -> tantivy::Result<HashMap<DocAddress, Score>> {
    let mut scores = HashMap::new();
    match asked {
        Asked::Best(weight) => visit(searcher, &**weight, docs, &mut |doc, score| {
            scores.insert(doc, score);
        })?,
        Asked::All(clause) => {
            for (number, segment, docs) in by_segment(searcher, docs) {
                let held = held(clause, segment, Some(&docs))?;
                let scored = held.docs.iter().map(|doc| (*doc, held.score(*doc)));
                scores.extend(scored.map(|(doc, score)| (DocAddress::new(number, doc), score)));
            }
        }
    }
    Ok(scores)
}

/// The parts of the question's weight that a document holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Weighed {
    pub(super) text: f32,
    pub(super) name: f32,
    pub(super) name_coverage: f32,
    pub(super) coverage: f32,
    /// Which units it holds, a bit each.
    pub(super) units: u64,
    /// Which units its name holds.
    names: u64,
}

/// Weighs documents, sorted by address.
pub(super) fn weigh(
    searcher: &Searcher,
    lexical: &Lexical,
    docs: &[DocAddress],
) -> tantivy::Result<HashMap<DocAddress, Weighed>> {
    let mut weighed: HashMap<DocAddress, Weighed> = HashMap::with_capacity(docs.len());
    let total: f32 = lexical.units.iter().map(|unit| unit.idf).sum::<f32>().max(f32::MIN_POSITIVE);
    for (number, unit) in lexical.units.iter().enumerate() {
        let Compiled { idf, name, text, .. } = unit;
        let bit = 1_u64 << number.min(63);
        for name in name {
            visit(searcher, &**name, docs, &mut |doc, score| {
                let sum = weighed.entry(doc).or_default();
                sum.name += score / lexical.mass;
                if sum.names & bit == 0 {
                    sum.name_coverage += idf / total;
                    sum.coverage += idf / total;
                }
                sum.names |= bit;
                sum.units |= bit;
            })?;
        }
        for text in text {
            visit(searcher, &**text, docs, &mut |doc, score| {
                let sum = weighed.entry(doc).or_default();
                sum.text += score / lexical.mass;
                if sum.units & bit == 0 {
                    sum.coverage += idf / total;
                }
                sum.units |= bit;
            })?;
        }
    }
    Ok(weighed)
}

/// Visits those of some documents, sorted by address, that match.
fn visit(
    searcher: &Searcher,
    weight: &dyn Weight,
    docs: &[DocAddress],
    visitor: &mut dyn FnMut(DocAddress, Score),
) -> tantivy::Result<()> {
    for (number, segment, docs) in by_segment(searcher, docs) {
        let mut scorer: Box<dyn Scorer> = weight.scorer(segment, 1.0)?;
        seek_each(&mut *scorer, docs.into_iter(), |doc, score| {
            visitor(DocAddress::new(number, doc), score);
        });
    }
    Ok(())
}

/// Documents, sorted by address, with their segments.
fn by_segment<'a>(
    searcher: &'a Searcher,
    docs: &'a [DocAddress],
) -> impl Iterator<Item = (u32, &'a SegmentReader, Vec<DocId>)> {
    docs.chunk_by(|a, b| a.segment_ord == b.segment_ord).map(|group| {
        let number = group[0].segment_ord;
        (number, searcher.segment_reader(number), group.iter().map(|doc| doc.doc_id).collect())
    })
}
