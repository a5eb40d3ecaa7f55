//! Makes results of candidates: their names, where the words were found, and a piece of the content
//! around the best match.

use tantivy::{DocAddress, Searcher, TantivyDocument};

use super::{
    document::{self, Read},
    find::Candidate,
    highlight::{self, Sought},
    hits::{Hit, Why},
    lexical::Compiled,
    plan::Plan,
    record::Record,
    relevance::Evidence,
    roster::Roster,
    store::Store,
    vectors::Near,
};
use crate::uri::PublicUri;

/// How far above the rest meaning must be to be a reason of its own.
const MEANT_DISTANCE: f32 = 2.0;

/// Reads what the index holds of a document.
pub(super) fn read(
    store: &Store,
    searcher: &Searcher,
    doc: Option<DocAddress>,
) -> tantivy::Result<Read> {
    let Some(doc) = doc else { return Ok(Read::default()) };
    let document: TantivyDocument = searcher.doc(doc)?;
    Ok(document::read(&store.fields, &document))
}

/// A result that was not asked for by words, and why it is recommended.
pub(super) fn browsed(
    roster: &Roster,
    record: &Record,
    read: Read,
    standing: f32,
    why: Vec<Why>,
) -> Hit {
    let preview = piece(&read.window.body, 0, 0);
    let mut hit = plain(roster, record, read);
    hit.score = standing;
    hit.why = why;
    hit.preview = preview;
    hit
}

/// A result of words or meaning.
pub(super) fn found(
    roster: &Roster,
    record: &Record,
    mut read: Read,
    candidate: &Candidate,
    plan: &Plan,
    units: &[Compiled],
    sought: &Sought<'_>,
) -> Hit {
    let body = std::mem::take(&mut read.window.body);
    let (base, is_verbatim) = (read.window.base as usize, read.window.is_verbatim);
    let mut hit = plain(roster, record, read);
    hit.evidence = candidate.evidence;
    hit.score = candidate.evidence.score();
    hit.is_near_miss = candidate.is_near_miss;
    let held = |n: usize| candidate.units & (1 << n.min(63)) != 0;
    let labels = units.iter().enumerate().filter(|(n, _)| held(*n));
    hit.matched_terms = labels.map(|(_, unit)| plan.units[unit.unit].label.clone()).collect();

    highlight_listed(&mut hit, sought);
    if let Some(mut found) = highlight::highlight("content", &body, sought) {
        hit.preview = Some(found.snippet.clone());
        found.offset = found.offset.map(|offset| offset + base).filter(|_| is_verbatim);
        hit.highlights.push(found);
        hit.why.push(Why::Content);
    }
    if hit.preview.is_none() {
        hit.preview = meant(&body, base, candidate.near);
    }
    add_meaning(&mut hit, candidate);
    hit
}

fn highlight_listed(hit: &mut Hit, sought: &Sought<'_>) {
    let title = hit.title.as_deref().unwrap_or_default();
    let description = hit.description.as_deref().unwrap_or_default();
    let fields = [
        ("name", hit.name.as_str(), Why::Name),
        ("title", title, Why::Name),
        ("uri", hit.public.as_str(), Why::Name),
        ("description", description, Why::Description),
    ];
    let mut highlights = Vec::new();
    for (field, text, why) in fields {
        if let Some(found) = highlight::highlight(field, text, sought) {
            highlights.push(found);
            if !hit.why.contains(&why) {
                hit.why.push(why);
            }
        }
    }
    hit.highlights = highlights;
}

fn add_meaning(hit: &mut Hit, candidate: &Candidate) {
    let Evidence { cosine, distance, is_exact, .. } = candidate.evidence;
    if cosine.is_some() && distance >= MEANT_DISTANCE {
        hit.why.push(Why::Meaning);
    }
    if hit.why.is_empty() {
        hit.why.push(if is_exact { Why::Name } else { Why::Meaning });
    }
}

/// The piece of a content that is nearest in meaning, if it lies in this window.
fn meant(body: &str, base: usize, near: Option<Near>) -> Option<String> {
    let start = near.map_or(0, |near| near.start as usize);
    piece(body, start.saturating_sub(base).min(body.len()), 1)
}

/// Some text of a content from a place on, at most as long as a snippet.
fn piece(body: &str, start: usize, len: usize) -> Option<String> {
    let window = highlight::window_around(body, start..start + len);
    let text = body[window].trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn plain(roster: &Roster, record: &Record, read: Read) -> Hit {
    Hit {
        key: roster.key_of(record),
        public: PublicUri::from(record.public()),
        name: read.shown.name,
        title: read.shown.title,
        description: read.shown.description,
        mime: roster.type_of(record).map(str::to_owned),
        size: record.size(),
        modified: record.modified(),
        as_of: record.has_text().then_some(record.looked_at / 1000),
        is_text_old: false,
        score: 0.0,
        is_near_miss: false,
        is_live: false,
        why: Vec::new(),
        highlights: Vec::new(),
        matched_terms: Vec::new(),
        preview: None,
        evidence: Evidence::default(),
    }
}
