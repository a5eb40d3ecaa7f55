//! Answers questions: candidates from words and from meaning, put in one order, scored,
//! and shown with the places where the words were found.

use std::{collections::HashMap, ops::Range, time::Instant};

use tantivy::{DocAddress, Searcher};

use super::{
    collect::{self, Match},
    doubt::Judge,
    entry::Sight,
    filter::Filter,
    highlight::Sought,
    hits::{Hit, Hits},
    lexical::{self, Compiler, Lexical, Population},
    near_miss,
    plan::Plan,
    query::{MAX_REACH, Query, QueryError},
    recommend,
    record::Record,
    relevance::{self, DEFAULT_THRESHOLD, Evidence},
    roster::Roster,
    show,
    store::Store,
    top::top_by,
    vectors::{Near, Probe, Spread, VectorSet},
};

/// How many resources words and meaning each propose for a window. Those of a window are
/// put in order among each other; the next window comes after them.
const CANDIDATES: usize = 200;
/// How many windows there are at most.
const MAX_WINDOWS: usize = MAX_REACH.div_ceil(CANDIDATES);
/// How many resources of exactly the name asked for are put first.
const MAX_EXACT: usize = 256;
/// Among so many of the nearest a meaning is placed.
const MEANT: usize = 100;
/// How much words and meaning count in the order.
const LEXICAL_SHARE: f32 = 0.35;
const MEANING_SHARE: f32 = 0.65;
/// How much importance, newness and use count at most: enough to part equals.
const STANDING_SHARE: f32 = 0.02;

/// Everything that a question is answered from.
pub(super) struct Finder<'a> {
    pub(super) store: &'a Store,
    pub(super) roster: &'a Roster,
    pub(super) vectors: &'a VectorSet,
    pub(super) sight: &'a dyn Sight,
    pub(super) judge: Judge,
}

/// A resource on its way to being a result.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) id: u64,
    doc: Option<DocAddress>,
    lexical: f32,
    pub(super) near: Option<Near>,
    pub(super) evidence: Evidence,
    /// Which units it holds, a bit each.
    pub(super) units: u64,
    pub(super) is_near_miss: bool,
    /// Among which candidates it has its place.
    window: usize,
    rank: f32,
}

/// A question, ready to be answered.
struct Asked<'a> {
    searcher: &'a Searcher,
    query: &'a Query,
    plan: &'a Plan,
    compiler: Compiler<'a>,
    lexical: Option<Lexical>,
    meaning: Option<Meaning>,
}

/// The results for a question, the best first.
struct Ranked {
    /// Those that are relevant, then near misses.
    candidates: Vec<Candidate>,
    relevant: usize,
    below_threshold: usize,
    /// How many there are, where that is known without looking at each.
    counted: Option<usize>,
    /// How many hold what was asked for and have no date, where one is asked for.
    undated: usize,
    is_relaxed: bool,
    /// Whether there are no more.
    is_all: bool,
}

/// The meaning of a question.
struct Meaning {
    probe: Probe,
    spread: Spread,
}

impl Finder<'_> {
    /// Answers a question; `meaning` is the vector of the plan's text.
    pub(super) fn find(
        &self,
        query: &Query,
        plan: &Plan,
        meaning: Option<&[f32]>,
    ) -> Result<Hits, QueryError> {
        let started = Instant::now();
        let searcher = self.store.reader.searcher();
        let mut filter = Filter::new(self.roster, self.sight, query);
        let mut hits = if query.asks_nothing() {
            self.browse(&searcher, query, &mut filter)
        } else {
            self.search(&searcher, query, plan, meaning, &mut filter)
        }
        .map_err(|error| QueryError::Index { why: error.to_string() })?;
        if query.with_coverage {
            hits.coverage = filter.coverage();
        }
        hits.took = started.elapsed();
        Ok(hits)
    }

    /// Everything that is admitted, the best first.
    fn browse(
        &self,
        searcher: &Searcher,
        query: &Query,
        filter: &mut Filter<'_>,
    ) -> tantivy::Result<Hits> {
        let come_last =
            |source: u16| query.come_last.contains(&self.roster.sources[usize::from(source)]);
        let admitted = self.roster.iter().filter(|record| filter.admits_record(record));
        let (best, total) = recommend::spread(admitted, query.page().end, query.now, come_last);
        let mut hits = Vec::new();
        for (standing, record) in best.into_iter().skip(query.offset) {
            let docs = collect::documents_of(searcher, &self.store.fields, record.id, filter)?;
            let read = show::read(self.store, searcher, docs.first().copied())?;
            let why = recommend::reasons(record, query.now);
            let hit = show::browsed(self.roster, record, read, standing, why);
            hits.push(self.aged(hit, record));
        }
        let mut hits = page(hits, query, total, true);
        hits.undated = filter.undated();
        Ok(hits)
    }

    fn search(
        &self,
        searcher: &Searcher,
        query: &Query,
        plan: &Plan,
        meaning: Option<&[f32]>,
        filter: &mut Filter<'_>,
    ) -> tantivy::Result<Hits> {
        let population = self.population(searcher);
        let fields = &self.store.fields;
        let compiler = Compiler::new(searcher, fields, population, query.scope, query.is_fuzzy);
        let lexical = compiler.compile(plan)?;
        let meaning = meaning.filter(|_| self.vectors.len() > 0).map(|vector| {
            let probe = Probe::of(vector);
            Meaning { spread: self.vectors.spread(&probe), probe }
        });
        let asked = Asked { searcher, query, plan, compiler, lexical, meaning };
        let ranked = self.ranked_to(query.page().end, &asked, filter)?;
        let total = ranked.counted.unwrap_or(0).max(ranked.relevant);
        let is_total_exact = ranked.is_all || ranked.counted.is_some();
        let (is_relaxed, below_threshold) = (ranked.is_relaxed, ranked.below_threshold);
        let near_misses = near_miss::beside(query.page(), ranked.relevant, ranked.candidates.len());
        let of_page = query.page().start..query.page().end.min(ranked.relevant);
        let shown = self.show(&asked, &ranked.candidates, of_page)?;
        let mut hits = page(shown, query, total, is_total_exact);
        hits.hits.extend(self.show(&asked, &ranked.candidates, near_misses)?);
        hits.below_threshold = below_threshold;
        hits.is_relaxed = is_relaxed;
        hits.undated = ranked.undated;
        Ok(hits)
    }

    /// Looks at as many windows as it takes to have more than `reach` results: one more
    /// tells whether there is a next page.
    fn ranked_to(
        &self,
        reach: usize,
        asked: &Asked<'_>,
        filter: &mut Filter<'_>,
    ) -> tantivy::Result<Ranked> {
        let mut windows = reach.div_ceil(CANDIDATES).clamp(1, MAX_WINDOWS);
        loop {
            let ranked = self.ranked(asked, windows, filter)?;
            let is_enough = ranked.is_all || ranked.counted.is_some() || ranked.relevant > reach;
            if is_enough || windows == MAX_WINDOWS {
                return Ok(ranked);
            }
            windows = (windows * 2).min(MAX_WINDOWS);
        }
    }

    /// The results in the first windows, in order. Fewer windows give the same beginning, so that
    /// pages have neither gaps nor repeats.
    fn ranked(
        &self,
        asked: &Asked<'_>,
        windows: usize,
        filter: &mut Filter<'_>,
    ) -> tantivy::Result<Ranked> {
        let Asked { searcher, query, plan, lexical, .. } = asked;
        let limit = windows * CANDIDATES;
        filter.forget_undated();
        let (matches, total) = self.matches(searcher, lexical.as_ref(), limit, filter)?;
        let undated = filter.undated();
        // A conjunction filters, unless nothing holds it.
        let is_relaxed = plan.is_conjunction && matches.is_empty() && asked.meaning.is_some();
        let may_propose = !plan.is_conjunction || is_relaxed;
        let mut is_all = matches.len() < limit;
        let mut candidates: Vec<Candidate> = matches.into_iter().map(Candidate::of).collect();
        for (place, candidate) in candidates.iter_mut().enumerate() {
            candidate.window = place / CANDIDATES;
        }
        let proposed =
            self.join(asked, if may_propose { limit } else { 0 }, filter, &mut candidates)?;
        is_all &= !may_propose || proposed < limit;
        self.add_exact(asked, filter, &mut candidates)?;
        if let Some(lexical) = lexical {
            complete(searcher, lexical, &mut candidates)?;
        }
        self.rank(query, asked.meaning.as_ref(), &mut candidates);
        // A result that holds none of the terms must at least be near in meaning.
        let threshold = match is_relaxed {
            true => query.threshold.max(DEFAULT_THRESHOLD),
            false => query.threshold,
        };
        if let Some(lexical) = lexical {
            // Weighing takes most of the time: without a threshold only what is shown needs it.
            let all = 0..candidates.len();
            let Range { start, end } = query.page();
            let shown = start.min(all.end)..end.min(all.end);
            let weighed = if threshold > 0.0 { all } else { shown };
            weigh(searcher, lexical, &mut candidates[weighed])?;
        }
        if let Some(end) = last_of_relevance(&candidates, threshold) {
            candidates.truncate(end);
            is_all = true;
        }
        let found = candidates.len();
        let relevant = near_miss::cut(&mut candidates, threshold, query.near_misses);
        let below_threshold = found - relevant;
        let counted = total.filter(|_| !is_relaxed && threshold <= 0.0);
        Ok(Ranked { candidates, relevant, below_threshold, counted, undated, is_relaxed, is_all })
    }

    /// Makes results of the candidates at these places.
    fn show(
        &self,
        asked: &Asked<'_>,
        candidates: &[Candidate],
        places: Range<usize>,
    ) -> tantivy::Result<Vec<Hit>> {
        let Asked { searcher, plan, lexical, .. } = asked;
        let units = lexical.as_ref().map_or(&[][..], |lexical| &lexical.units);
        let sought = Sought::new(units.iter().map(|unit| (&unit.tokens, unit.idf)));
        let mut shown = Vec::new();
        for candidate in candidates.get(places).unwrap_or_default() {
            let read = show::read(self.store, searcher, candidate.doc)?;
            // A resource that left while we looked is not shown any more.
            if let Some(record) = self.roster.get(candidate.id) {
                let hit = show::found(self.roster, record, read, candidate, plan, units, &sought);
                shown.push(self.aged(hit, record));
            }
        }
        Ok(shown)
    }

    /// Marks a result whose text may have changed since it was read.
    fn aged(&self, hit: Hit, record: &Record) -> Hit {
        let is_text_old = hit.as_of.is_some() && self.judge.reason(record).is_some();
        Hit { is_text_old, ..hit }
    }

    fn population(&self, searcher: &Searcher) -> Population {
        let documents = searcher.num_docs();
        let with_body = self.roster.tallies.iter().map(|tally| tally.indexed as u64).sum::<u64>();
        Population {
            documents,
            with_body: with_body + self.roster.private.len() as u64,
            with_description: self.roster.described as u64,
        }
    }

    /// The documents that words find: the best, and their number if all words must hold.
    fn matches(
        &self,
        searcher: &Searcher,
        lexical: Option<&Lexical>,
        limit: usize,
        filter: &mut Filter<'_>,
    ) -> tantivy::Result<(Vec<Match>, Option<usize>)> {
        let Some(lexical) = lexical else { return Ok((Vec::new(), None)) };
        match &lexical.asked {
            lexical::Asked::All(clause) => {
                let (best, total) = collect::best_and_total(searcher, clause, filter, limit)?;
                Ok((best, Some(total)))
            }
            lexical::Asked::Best(weight) => {
                Ok((collect::best(searcher, &**weight, filter, limit)?, None))
            }
        }
    }

    /// Joins what meaning finds to what words found, at most `limit`; gives how many.
    fn join(
        &self,
        asked: &Asked<'_>,
        limit: usize,
        filter: &mut Filter<'_>,
        candidates: &mut Vec<Candidate>,
    ) -> tantivy::Result<usize> {
        let Some(meaning) = &asked.meaning else { return Ok(0) };
        for candidate in candidates.iter_mut() {
            let is_owner = |owner| filter.admits_owner(owner);
            candidate.near = self.vectors.near(&meaning.probe, candidate.id, is_owner);
        }
        if limit == 0 {
            return Ok(0);
        }
        let places = candidates.iter().enumerate().map(|(at, candidate)| (candidate.id, at));
        let known: HashMap<u64, usize> = places.collect();
        let mut admit = |id, owner| filter.admits_owner(owner) && filter.admits(id);
        let nearest = self.vectors.nearest(&meaning.probe, limit, &mut admit);
        let proposed = nearest.len();
        for (place, near) in nearest.into_iter().enumerate() {
            let window = place / CANDIDATES;
            if let Some(&at) = known.get(&near.id) {
                candidates[at].window = candidates[at].window.min(window);
                continue;
            }
            let docs = collect::documents_of(asked.searcher, &self.store.fields, near.id, filter)?;
            candidates.push(Candidate {
                doc: docs.first().copied(),
                near: Some(near),
                window,
                ..Candidate::new(near.id)
            });
        }
        Ok(proposed)
    }

    /// Adds or marks the resources that the whole question names.
    fn add_exact(
        &self,
        asked: &Asked<'_>,
        filter: &mut Filter<'_>,
        candidates: &mut Vec<Candidate>,
    ) -> tantivy::Result<()> {
        let Some(exact) = &asked.plan.exact else { return Ok(()) };
        let weight = asked.compiler.exact(&self.store.fields, exact)?;
        for found in collect::best(asked.searcher, &*weight, filter, MAX_EXACT)? {
            let at = match candidates.iter().position(|candidate| candidate.id == found.id) {
                Some(at) => at,
                None => {
                    candidates.push(Candidate { lexical: 0.0, ..Candidate::of(found) });
                    candidates.len() - 1
                }
            };
            candidates[at].evidence.is_exact = true;
            candidates[at].window = 0;
        }
        Ok(())
    }

    /// Puts candidates in their order.
    fn rank(&self, query: &Query, meaning: Option<&Meaning>, candidates: &mut [Candidate]) {
        // The first window is the measure, so that later ones change nothing in it.
        let first = || candidates.iter().filter(|c| c.window == 0);
        let words = Scale::of(first().map(|c| c.lexical).chain([0.0]));
        let near = first().filter_map(|c| c.near).map(|near| near.cosine);
        // Words propose what is far in meaning too; it must not make the near look alike.
        let near = top_by(near, MEANT, f32::total_cmp);
        let cosines = Scale::of(near.into_iter());
        let scarcity = relevance::scarcity(self.roster.len());
        for candidate in candidates.iter_mut() {
            let Some(record) = self.roster.get(candidate.id) else { continue };
            let lexical = words.place(candidate.lexical);
            candidate.evidence.scarcity = scarcity;
            candidate.evidence.is_terse = !record.state.has_content();
            candidate.evidence.is_record =
                relevance::is_record(self.roster.type_of(record), &record.local);
            let rank = match (meaning, candidate.near) {
                (Some(meaning), Some(near)) => {
                    candidate.evidence.cosine = Some(near.cosine);
                    candidate.evidence.distance = meaning.spread.distance(near.cosine);
                    candidate.evidence.lift = near.cosine - meaning.spread.mean;
                    LEXICAL_SHARE * lexical + MEANING_SHARE * cosines.place(near.cosine)
                }
                // Without a vector words stand for both, so that what has none yet is not
                // pushed behind everything that has one.
                _ => lexical,
            };
            candidate.rank = rank + STANDING_SHARE * recommend::standing(record, query.now);
        }
        let order = |c: &Candidate| (c.evidence.is_exact, c.rank);
        candidates.sort_by(|a, b| {
            let ((a_exact, a_rank), (b_exact, b_rank)) = (order(a), order(b));
            let of_window = b_exact.cmp(&a_exact).then(b_rank.total_cmp(&a_rank));
            a.window.cmp(&b.window).then(of_window).then(a.id.cmp(&b.id))
        });
    }
}

/// Where results end: after the first window whose latter half holds nothing relevant. Later
/// proposals of words and meaning are weaker still.
fn last_of_relevance(candidates: &[Candidate], threshold: f32) -> Option<usize> {
    if threshold <= 0.0 {
        return None;
    }
    let mut end = 0;
    for window in candidates.chunk_by(|a, b| a.window == b.window) {
        end += window.len();
        let latter = &window[window.len() / 2..];
        if latter.iter().all(|candidate| candidate.evidence.score() < threshold) {
            return Some(end);
        }
    }
    None
}

/// Gives those their rank by words that only meaning or their name proposed.
fn complete(
    searcher: &Searcher,
    lexical: &Lexical,
    candidates: &mut [Candidate],
) -> tantivy::Result<()> {
    let unranked = candidates.iter().filter(|c| c.lexical == 0.0).filter_map(|c| c.doc);
    let mut unranked: Vec<DocAddress> = unranked.collect();
    unranked.sort_unstable();
    let ranks = collect::scores(searcher, &lexical.asked, &unranked)?;
    for candidate in candidates.iter_mut() {
        let score = candidate.doc.and_then(|doc| ranks.get(&doc));
        candidate.lexical = score.copied().unwrap_or(candidate.lexical);
    }
    Ok(())
}

/// Fills in what words speak for each candidate.
fn weigh(
    searcher: &Searcher,
    lexical: &Lexical,
    candidates: &mut [Candidate],
) -> tantivy::Result<()> {
    let mut docs: Vec<DocAddress> = candidates.iter().filter_map(|c| c.doc).collect();
    docs.sort_unstable();
    let weighed = collect::weigh(searcher, lexical, &docs)?;
    for candidate in candidates {
        let found = candidate.doc.and_then(|doc| weighed.get(&doc)).copied().unwrap_or_default();
        let evidence = &mut candidate.evidence;
        (evidence.text, evidence.name) = (found.text, found.name);
        (evidence.name_coverage, evidence.coverage) = (found.name_coverage, found.coverage);
        candidate.units = found.units;
    }
    Ok(())
}

impl Candidate {
    pub(super) fn new(id: u64) -> Candidate {
        Candidate {
            id,
            doc: None,
            lexical: 0.0,
            near: None,
            evidence: Evidence::default(),
            units: 0,
            is_near_miss: false,
            window: 0,
            rank: 0.0,
        }
    }

    fn of(found: Match) -> Candidate {
        Candidate { doc: Some(found.doc), lexical: found.score, ..Candidate::new(found.id) }
    }
}

/// The range of some scores, to which each is compared.
pub(super) struct Scale {
    least: f32,
    most: f32,
}

impl Scale {
    pub(super) fn of(scores: impl Iterator<Item = f32>) -> Scale {
        let mut scale = Scale { least: f32::MAX, most: f32::MIN };
        for score in scores {
            scale.least = scale.least.min(score);
            scale.most = scale.most.max(score);
        }
        scale
    }

    /// Where a score lies, from 0 to 1.
    pub(super) fn place(&self, score: f32) -> f32 {
        let range = self.most - self.least;
        if range > f32::EPSILON { ((score - self.least) / range).clamp(0.0, 1.0) } else { 0.0 }
    }
}

fn page(hits: Vec<Hit>, query: &Query, total: usize, is_total_exact: bool) -> Hits {
    let end = query.offset + hits.len();
    let has_more = end < total && end < MAX_REACH && !hits.is_empty();
    Hits { hits, total, is_total_exact, next_offset: has_more.then_some(end), ..Hits::default() }
}
