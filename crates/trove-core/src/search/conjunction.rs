//! Which documents hold every word that was asked for, and what they are worth.
//!
//! The index library steps through such a question document by document, through a union of fields
//! and spellings for every word. Where all matches must be counted nothing can be passed over, and
//! the steps cost more than the sums. So here each word of each field is walked once, on its own.
//! Its scores are added on a sheet with a place for every document of the segment.

use tantivy::{
    DocId, Score, SegmentReader, TERMINATED,
    query::{BooleanQuery, DisjunctionMaxQuery, Occur, Query as IndexQuery, Scorer, Weight},
};

/// So many documents are walked in the time that finding one takes.
const SEEK: usize = 8;

/// How many places of a sheet are looked at together.
const STRETCH: usize = 32;

/// A condition on documents, of leaves that the index knows how to look up.
pub(super) enum Clause<L> {
    /// A word or a phrase in one field.
    Leaf(L),
    /// At least one of them; those that hold add up.
    Any(Vec<Clause<L>>),
    /// At least one of them; the one that is worth most counts.
    Best(Vec<Clause<L>>),
    /// Every one of them; they add up.
    All(Vec<Clause<L>>),
}

impl<L> Clause<L> {
    /// This clause with other leaves.
    pub(super) fn try_map<M, E>(&self, leaf: &impl Fn(&L) -> Result<M, E>) -> Result<Clause<M>, E> {
        let each = |parts: &[Clause<L>]| -> Result<Vec<Clause<M>>, E> {
            parts.iter().map(|part| part.try_map(leaf)).collect()
        };
        Ok(match self {
            Clause::Leaf(it) => Clause::Leaf(leaf(it)?),
            Clause::Any(parts) => Clause::Any(each(parts)?),
            Clause::Best(parts) => Clause::Best(each(parts)?),
            Clause::All(parts) => Clause::All(each(parts)?),
        })
    }
}

impl Clause<Box<dyn IndexQuery>> {
    /// The clause as a question to the library.
    pub(super) fn into_query(self) -> Box<dyn IndexQuery> {
        let each = |parts: Vec<Self>| parts.into_iter().map(Clause::into_query).collect();
        match self {
            Clause::Leaf(query) => query,
            Clause::Any(parts) => Box::new(BooleanQuery::union(each(parts))),
            Clause::Best(parts) => Box::new(DisjunctionMaxQuery::new(each(parts))),
            Clause::All(parts) => {
                let parts = parts.into_iter().map(|part| (Occur::Must, part.into_query()));
                Box::new(BooleanQuery::new(parts.collect()))
            }
        }
    }
}

/// Documents in order, and a sheet with the score of each at its place.
pub(super) struct Held {
    pub(super) docs: Vec<DocId>,
    sheet: Vec<Score>,
}

impl Held {
    pub(super) fn score(&self, doc: DocId) -> Score {
        self.sheet[doc as usize]
    }
}

/// The documents of a segment that hold the clause: all of them, or those among some, which
/// come in order.
pub(super) fn held(
    clause: &Clause<Box<dyn Weight>>,
    segment: &SegmentReader,
    among: Option<&[DocId]>,
) -> tantivy::Result<Held> {
    let opened = clause.try_map(&|weight| weight.scorer(segment, 1.0))?;
    let walk = Walk { documents: segment.max_doc() as usize };
    Ok(walk.hold(opened, among))
}

/// Visits those of some documents, in order, that match.
pub(super) fn seek_each(
    scorer: &mut dyn Scorer,
    docs: impl Iterator<Item = DocId>,
    mut visit: impl FnMut(DocId, Score),
) {
    for doc in docs {
        if scorer.doc() < doc {
            scorer.seek(doc);
        }
        match scorer.doc() {
            TERMINATED => return,
            at if at == doc => visit(doc, scorer.score()),
            _ => {}
        }
    }
}

type Opened = Clause<Box<dyn Scorer>>;

/// How a score joins what stands at its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    Sum,
    Max,
}

impl Join {
    fn put(self, place: &mut Score, score: Score) {
        match self {
            Join::Sum => *place += score,
            Join::Max => *place = place.max(score),
        }
    }
}

/// A document without a score on a sheet does not hold the words: those it holds are worth more
/// than 0.
///
/// The zero has a sign: the kernel gives memory of plain zeros anew, page by page. That takes
/// longer than to write over memory used a moment ago.
const ABSENT: Score = -0.0;

/// A walk through one segment.
struct Walk {
    documents: usize,
}

impl Walk {
    fn hold(&self, clause: Opened, among: Option<&[DocId]>) -> Held {
        match clause {
            Clause::All(parts) => self.all(parts, among),
            other => self.all(vec![other], among),
        }
    }

    fn all(&self, mut parts: Vec<Opened>, among: Option<&[DocId]>) -> Held {
        parts.sort_by_key(cost);
        let mut parts = parts.into_iter();
        let first = parts.next().map(|part| self.sheet(part, among));
        let mut held = Held { docs: Vec::new(), sheet: first.unwrap_or_default() };
        held.docs = match among {
            Some(docs) => docs.to_vec(),
            None => marked(&held.sheet),
        };
        keep_held(&mut held.docs, &held.sheet);
        for part in parts {
            let sheet = self.sheet(part, Some(&held.docs));
            keep_held(&mut held.docs, &sheet);
            for doc in &held.docs {
                held.sheet[*doc as usize] += sheet[*doc as usize];
            }
        }
        held
    }

    /// The scores of a clause; outside of `among` they may be anything.
    fn sheet(&self, clause: Opened, among: Option<&[DocId]>) -> Vec<Score> {
        let join = match clause {
            Clause::Best(_) => Join::Max,
            Clause::Leaf(_) | Clause::Any(_) | Clause::All(_) => Join::Sum,
        };
        let mut sheet = vec![ABSENT; self.documents];
        self.put(clause, among, join, &mut sheet);
        sheet
    }

    fn put(&self, clause: Opened, among: Option<&[DocId]>, join: Join, sheet: &mut [Score]) {
        match clause {
            Clause::Leaf(mut scorer) => {
                let visit = |doc: DocId, score| join.put(&mut sheet[doc as usize], score);
                match among {
                    Some(docs) if docs.len() * SEEK < scorer.size_hint() as usize => {
                        seek_each(&mut *scorer, docs.iter().copied(), visit);
                    }
                    _ => walk(&mut *scorer, visit),
                }
            }
            Clause::Any(parts) if join == Join::Sum => {
                parts.into_iter().for_each(|part| self.put(part, among, join, sheet));
            }
            Clause::Best(parts) if join == Join::Max => {
                parts.into_iter().for_each(|part| self.put(part, among, join, sheet));
            }
            // A clause that joins otherwise than its neighbours is reckoned apart.
            other => {
                let held = self.hold(other, among);
                held.docs
                    .iter()
                    .for_each(|doc| join.put(&mut sheet[*doc as usize], held.score(*doc)));
            }
        }
    }
}

/// The documents of a sheet, without the stretches that have no score at all.
fn marked(sheet: &[Score]) -> Vec<DocId> {
    let mut docs = Vec::new();
    for (n, stretch) in sheet.chunks(STRETCH).enumerate() {
        let first = (n * STRETCH) as DocId;
        // All bits but the sign.
        if stretch.iter().fold(0, |bits, score| bits | (score.to_bits() << 1)) != 0 {
            docs.extend(first..first + stretch.len() as DocId);
        }
    }
    docs
}

/// Leaves out what a sheet has no score of. Which way it goes cannot be foreseen, so that it
/// must not branch.
fn keep_held(docs: &mut Vec<DocId>, sheet: &[Score]) {
    let mut kept = 0;
    for n in 0..docs.len() {
        let doc = docs[n];
        docs[kept] = doc;
        kept += usize::from(sheet.get(doc as usize).is_some_and(|score| *score > ABSENT));
    }
    docs.truncate(kept);
}

fn walk(scorer: &mut dyn Scorer, mut visit: impl FnMut(DocId, Score)) {
    let mut doc = scorer.doc();
    while doc != TERMINATED {
        visit(doc, scorer.score());
        doc = scorer.advance();
    }
}

/// About how many documents must be looked at.
fn cost(clause: &Opened) -> usize {
    match clause {
        Clause::Leaf(scorer) => scorer.size_hint() as usize,
        Clause::Any(parts) | Clause::Best(parts) => parts.iter().map(cost).sum(),
        Clause::All(parts) => parts.iter().map(cost).min().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use tantivy::{
        Index, Searcher, Term,
        collector::DocSetCollector,
        doc,
        query::{EnableScoring, TermQuery},
        schema::{Field, IndexRecordOption, Schema, TEXT},
    };

    use super::*;

    /// The question, of the letters a to e.
    #[derive(Debug, Clone)]
    enum Asked {
        Letter(char),
        Any(Vec<Asked>),
        Best(Vec<Asked>),
        All(Vec<Asked>),
    }

    fn asked() -> impl Strategy<Value = Asked> {
        let letter = prop::char::range('a', 'f').prop_map(Asked::Letter);
        letter.prop_recursive(3, 12, 3, |part| {
            let parts = prop::collection::vec(part, 1..4);
            (0..3, parts).prop_map(|(kind, parts)| match kind {
                0 => Asked::Any(parts),
                1 => Asked::Best(parts),
                _ => Asked::All(parts),
            })
        })
    }

    fn clause(asked: &Asked, field: Field) -> Clause<Box<dyn IndexQuery>> {
        let each = |parts: &[Asked]| parts.iter().map(|part| clause(part, field)).collect();
        match asked {
            Asked::Letter(letter) => {
                let term = Term::from_field_text(field, &letter.to_string());
                Clause::Leaf(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)))
            }
            Asked::Any(parts) => Clause::Any(each(parts)),
            Asked::Best(parts) => Clause::Best(each(parts)),
            Asked::All(parts) => Clause::All(each(parts)),
        }
    }

    fn index(texts: &[String]) -> (Searcher, Field) {
        let mut schema = Schema::builder();
        let field = schema.add_text_field("text", TEXT);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
        for text in texts {
            writer.add_document(doc!(field => text.as_str())).unwrap();
        }
        writer.commit().unwrap();
        (index.reader().unwrap().searcher(), field)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn it_finds_and_scores_as_the_library_does(
            texts in prop::collection::vec("([a-e] ){1,6}", 1..60),
            asked in asked(),
            some in prop::collection::btree_set(0_u32..60, 0..8),
        ) {
            let (searcher, field) = index(&texts);
            let segment = searcher.segment_reader(0);
            let scoring = || EnableScoring::enabled_from_searcher(&searcher);
            let weights = clause(&asked, field).try_map(&|query| query.weight(scoring())).unwrap();
            let query = clause(&asked, field).into_query();
            let found = searcher.search(&query, &DocSetCollector).unwrap();
            let mut expected = BTreeMap::new();
            let mut scorer = query.weight(scoring()).unwrap().scorer(segment, 1.0).unwrap();
            walk(&mut *scorer, |doc, score| {
                expected.insert(doc, score);
            });
            prop_assert_eq!(found.len(), expected.len());

            let all = held(&weights, segment, None).unwrap();
            prop_assert_eq!(&all.docs, &expected.keys().copied().collect::<Vec<_>>());
            for doc in &all.docs {
                prop_assert!((all.score(*doc) - expected[doc]).abs() < 1e-4);
            }
            let some: Vec<DocId> = some.into_iter().filter(|doc| *doc < texts.len() as u32).collect();
            let among = held(&weights, segment, Some(&some)).unwrap();
            let of_some = some.iter().filter(|doc| expected.contains_key(doc)).copied();
            prop_assert_eq!(among.docs, of_some.collect::<Vec<_>>());
        }
    }
}
