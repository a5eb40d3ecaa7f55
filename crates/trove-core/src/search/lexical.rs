//! Turns units into questions to the index library: fields and their weights, wholes and
//! parts.

use std::collections::HashSet;

use tantivy::{
    Searcher, Term,
    query::{
        Bm25StatisticsProvider, BooleanQuery, BoostQuery, DisjunctionMaxQuery, EnableScoring,
        Occur, PhraseQuery, Query as IndexQuery, TermQuery, Weight,
    },
    schema::{Field, IndexRecordOption},
};

use super::{
    conjunction::Clause,
    fuzzy::{self, Expansions},
    plan::{Plan, Unit, UnitKind},
    query::Scope,
    schema::Fields,
};

/// The most that BM25 gives one word, over its rarity: `k1 + 1`.
const BM25_CEILING: f32 = 2.2;

/// The kind of field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Names.
    Name,
    /// Texts.
    Text,
}

/// A searched field.
#[derive(Debug, Clone, Copy)]
struct Weighted {
    field: Field,
    weight: f32,
    class: Class,
    kind: FieldKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Words,
    /// Names that code defines, each whole.
    Symbols,
}

/// The weights were chosen on the labelled sets; see `docs/search.md`.
const NAME_WEIGHT: f32 = 0.75;
const URI_WEIGHT: f32 = 0.25;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const HEADINGS_WEIGHT: f32 = 0.25;
const BODY_WEIGHT: f32 = 1.0;
const SYMBOL_WEIGHT: f32 = 0.5;

fn fields_of(fields: &Fields, scope: Scope) -> Vec<Weighted> {
    use Class::{Name, Text};
    let words = |field, weight, class| Weighted { field, weight, class, kind: FieldKind::Words };
    let name = [words(fields.name, NAME_WEIGHT, Name), words(fields.uri, URI_WEIGHT, Name)];
    let description = [words(fields.description, DESCRIPTION_WEIGHT, Text)];
    let symbol = Weighted {
        field: fields.symbol,
        weight: SYMBOL_WEIGHT,
        class: Text,
        kind: FieldKind::Symbols,
    };
    let content = [
        words(fields.headings, HEADINGS_WEIGHT, Text),
        words(fields.body, BODY_WEIGHT, Text),
        symbol,
    ];
    match scope {
        Scope::Name => name.to_vec(),
        Scope::Description => description.to_vec(),
        Scope::Content => content.to_vec(),
        Scope::All => name.into_iter().chain(description).chain(content).collect(),
    }
}

/// How many documents have something in a field, so that documents without a content do
/// not make those that have one look long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Population {
    pub(super) documents: u64,
    pub(super) with_body: u64,
    pub(super) with_description: u64,
}

struct Statistics<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    population: Population,
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let tokens = self.searcher.total_num_tokens(field)?;
        let having = match field {
            _ if field == self.fields.body || field == self.fields.headings => {
                self.population.with_body
            }
            _ if field == self.fields.description => self.population.with_description,
            _ => self.population.documents,
        };
        // The average is taken over all documents, so that the sum must be scaled up.
        let all = self.total_num_docs()?;
        Ok((tokens as f64 * all as f64 / having.clamp(1, all.max(1)) as f64) as u64)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.searcher.total_num_docs()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.searcher.doc_freq(term)
    }
}

/// A unit, ready to be looked for.
pub(super) struct Compiled {
    /// Which unit of the plan.
    pub(super) unit: usize,
    /// How rare it is.
    pub(super) idf: f32,
    /// Its matches in names. Apart, because a single word is looked up in a few documents much
    /// faster than any of several.
    pub(super) name: Vec<Box<dyn Weight>>,
    /// Its matches in texts.
    pub(super) text: Vec<Box<dyn Weight>>,
    /// The tokens that count as it, for highlights.
    pub(super) tokens: HashSet<String>,
}

/// The search for candidates.
pub(super) enum Asked {
    /// The more words, the better; only the best are looked for.
    Best(Box<dyn Weight>),
    /// Every word must hold; all that hold them are counted.
    All(Clause<Box<dyn Weight>>),
}

/// A whole question, ready to be looked for.
pub(super) struct Lexical {
    /// The search that gives candidates and their rank.
    pub(super) asked: Asked,
    pub(super) units: Vec<Compiled>,
    /// The most the question could weigh.
    pub(super) mass: f32,
}

/// Turns plans into questions.
pub(super) struct Compiler<'a> {
    searcher: &'a Searcher,
    statistics: Statistics<'a>,
    fields: Vec<Weighted>,
    is_fuzzy: bool,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(
        searcher: &'a Searcher,
        fields: &'a Fields,
        population: Population,
        scope: Scope,
        is_fuzzy: bool,
    ) -> Compiler<'a> {
        let statistics = Statistics { searcher, fields, population };
        Compiler { searcher, statistics, fields: fields_of(fields, scope), is_fuzzy }
    }

    /// The question of a plan; `None` if the plan has no words.
    pub(super) fn compile(&self, plan: &Plan) -> tantivy::Result<Option<Lexical>> {
        let mut required = Vec::new();
        let mut optional = Vec::new();
        let mut units = Vec::new();
        for (number, unit) in plan.units.iter().enumerate() {
            let expanded = self.expand(unit)?;
            match unit.is_required {
                true => required.push(self.required(unit, &expanded)),
                // Flat, so that the library can pass over what cannot come first.
                false => optional.extend(self.scoring(unit, &expanded, None)),
            }
            units.push(self.compile_unit(number, unit, &expanded)?);
        }
        if units.is_empty() {
            return Ok(None);
        }
        let asked = match plan.is_conjunction {
            true => Asked::All(Clause::All(required).try_map(&|leaf| self.weight(leaf))?),
            false => {
                let must = required.into_iter().map(|it| (Occur::Must, it.into_query()));
                let should = optional.into_iter().map(|query| (Occur::Should, query));
                Asked::Best(self.weight(&BooleanQuery::new(must.chain(should).collect()))?)
            }
        };
        let mass = units.iter().map(|unit| unit.idf).sum::<f32>() * BM25_CEILING;
        Ok(Some(Lexical { asked, units, mass: mass.max(f32::MIN_POSITIVE) }))
    }

    /// Looks up a text that must be a whole name, symbol or URI.
    pub(super) fn exact(&self, fields: &Fields, text: &str) -> tantivy::Result<Box<dyn Weight>> {
        let term = |field| -> Box<dyn IndexQuery> {
            Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
        };
        let either = BooleanQuery::union(vec![term(fields.exact), term(fields.symbol)]);
        self.weight(&either)
    }

    fn weight(&self, query: &dyn IndexQuery) -> tantivy::Result<Box<dyn Weight>> {
        query.weight(EnableScoring::enabled_from_statistics_provider(
            &self.statistics,
            self.searcher,
        ))
    }

    fn compile_unit(
        &self,
        number: usize,
        unit: &Unit,
        expanded: &[Expansions],
    ) -> tantivy::Result<Compiled> {
        let weights = |class| {
            let queries = self.scoring(unit, expanded, Some(class));
            queries.iter().map(|query| self.weight(query)).collect::<tantivy::Result<_>>()
        };
        Ok(Compiled {
            unit: number,
            idf: self.idf_of(unit, expanded)?,
            name: weights(Class::Name)?,
            text: weights(Class::Text)?,
            tokens: tokens_of(unit, expanded),
        })
    }

    /// The condition of a required unit: the whole, or all of its parts.
    fn required(&self, unit: &Unit, expanded: &[Expansions]) -> Clause<Box<dyn IndexQuery>> {
        let any = |queries: Vec<_>| queries.into_iter().map(Clause::Leaf);
        let UnitKind::Word { whole, parts } = &unit.kind else {
            return Clause::Any(any(self.scoring(unit, expanded, None)).collect());
        };
        let mut alternatives = Vec::new();
        if parts.len() != 1 {
            alternatives.extend(any(self.whole_queries(whole, None)));
        }
        if !parts.is_empty() {
            let parts = parts.iter().zip(expanded);
            let parts = parts.map(|(part, expansions)| self.required_part(&part.stem, expansions));
            alternatives.push(Clause::All(parts.collect()));
        }
        alternatives.extend(any(self.symbol_queries(whole, None)));
        Clause::Any(alternatives)
    }

    /// A part wherever it stands; of a misspelt one the best that it may mean.
    fn required_part(&self, stem: &str, expansions: &Expansions) -> Clause<Box<dyn IndexQuery>> {
        let fields = self.word_fields(None);
        let near = fields.flat_map(|field| near_queries(field, stem, expansions));
        let near = near.map(Clause::Leaf).collect();
        if expansions.is_empty() { Clause::Any(near) } else { Clause::Best(near) }
    }

    /// Everything that speaks for a unit, in one class of fields or in all.
    fn scoring(
        &self,
        unit: &Unit,
        expanded: &[Expansions],
        class: Option<Class>,
    ) -> Vec<Box<dyn IndexQuery>> {
        match &unit.kind {
            UnitKind::Phrase(stems) => self.phrase_queries(stems, class),
            UnitKind::Word { whole, parts } => {
                let mut queries = Vec::new();
                if parts.len() != 1 {
                    queries.extend(self.whole_queries(whole, class));
                }
                for (part, expansions) in parts.iter().zip(expanded) {
                    queries.extend(self.part_queries(&part.stem, expansions, class));
                }
                queries.extend(self.symbol_queries(whole, class));
                queries
            }
        }
    }

    fn word_fields(&self, class: Option<Class>) -> impl Iterator<Item = &Weighted> {
        self.in_class(class).filter(|field| field.kind == FieldKind::Words)
    }

    fn in_class(&self, class: Option<Class>) -> impl Iterator<Item = &Weighted> {
        self.fields.iter().filter(move |field| class.is_none_or(|class| field.class == class))
    }

    fn whole_queries(&self, whole: &str, class: Option<Class>) -> Vec<Box<dyn IndexQuery>> {
        self.word_fields(class).map(|field| term(field.field, whole, field.weight)).collect()
    }

    fn symbol_queries(&self, whole: &str, class: Option<Class>) -> Vec<Box<dyn IndexQuery>> {
        let symbols = self.in_class(class).filter(|field| field.kind == FieldKind::Symbols);
        symbols.map(|field| term(field.field, whole, field.weight)).collect()
    }

    fn part_queries(
        &self,
        stem: &str,
        expansions: &Expansions,
        class: Option<Class>,
    ) -> Vec<Box<dyn IndexQuery>> {
        let mut queries = Vec::new();
        for field in self.word_fields(class) {
            let mut near = near_queries(field, stem, expansions);
            queries.extend(match near.len() {
                1 => near.pop(),
                _ => Some(Box::new(DisjunctionMaxQuery::new(near)) as Box<dyn IndexQuery>),
            });
        }
        queries
    }

    fn phrase_queries(
        &self,
        stems: &[(usize, String)],
        class: Option<Class>,
    ) -> Vec<Box<dyn IndexQuery>> {
        let phrase = |field: &Weighted| {
            let terms =
                stems.iter().map(|(at, stem)| (*at, Term::from_field_text(field.field, stem)));
            let phrase = PhraseQuery::new_with_offset(terms.collect());
            Box::new(BoostQuery::new(Box::new(phrase), field.weight)) as Box<dyn IndexQuery>
        };
        self.word_fields(class).map(phrase).collect()
    }

    /// How rare a unit is: the sum over its tokens, since each of them scores.
    fn idf_of(&self, unit: &Unit, expanded: &[Expansions]) -> tantivy::Result<f32> {
        match &unit.kind {
            UnitKind::Phrase(stems) => {
                stems.iter().map(|(_, stem)| self.idf(stem, &Expansions::new())).sum()
            }
            UnitKind::Word { whole, parts } => {
                let no_whole = Expansions::new();
                let whole = (parts.len() != 1).then_some((whole.as_str(), &no_whole));
                let parts =
                    parts.iter().zip(expanded).map(|(part, found)| (part.stem.as_str(), found));
                whole.into_iter().chain(parts).map(|(text, found)| self.idf(text, found)).sum()
            }
        }
    }

    fn idf(&self, text: &str, expansions: &Expansions) -> tantivy::Result<f32> {
        let all = self.searcher.total_num_docs()?;
        let mut documents = 0;
        for field in self.word_fields(None) {
            documents =
                documents.max(self.searcher.doc_freq(&Term::from_field_text(field.field, text))?);
        }
        let nearest = expansions.values().map(|found| found.documents).max().unwrap_or(0);
        let documents = documents.max(nearest).min(all) as f32;
        Ok((1.0 + (all as f32 - documents + 0.5) / (documents + 0.5)).ln())
    }

    /// Finds the words of the index that a misspelt one may mean, for each part of a unit.
    fn expand(&self, unit: &Unit) -> tantivy::Result<Vec<Expansions>> {
        let UnitKind::Word { parts, .. } = &unit.kind else { return Ok(Vec::new()) };
        if !self.is_fuzzy {
            return Ok(parts.iter().map(|_| Expansions::new()).collect());
        }
        let fields: Vec<Field> = self.word_fields(None).map(|field| field.field).collect();
        parts.iter().map(|part| fuzzy::expand(self.searcher, &fields, &part.form)).collect()
    }
}

/// A stem in a field, and what it may be misspelt for.
fn near_queries(field: &Weighted, stem: &str, expansions: &Expansions) -> Vec<Box<dyn IndexQuery>> {
    let mut near = vec![term(field.field, stem, field.weight)];
    let expansions = expansions.iter().filter(|(text, _)| text.as_str() != stem);
    for (text, found) in expansions.filter(|(_, found)| found.fields.contains(&field.field)) {
        near.push(term(field.field, text, field.weight / (1.0 + found.distance as f32)));
    }
    near
}

fn term(field: Field, text: &str, weight: f32) -> Box<dyn IndexQuery> {
    let term = Term::from_field_text(field, text);
    Box::new(BoostQuery::new(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)), weight))
}

fn tokens_of(unit: &Unit, expanded: &[Expansions]) -> HashSet<String> {
    match &unit.kind {
        UnitKind::Phrase(stems) => stems.iter().map(|(_, stem)| stem.clone()).collect(),
        UnitKind::Word { whole, parts } => {
            let mut tokens: HashSet<String> = parts.iter().map(|part| part.stem.clone()).collect();
            tokens.insert(whole.clone());
            tokens.extend(expanded.iter().flat_map(|found| found.keys().cloned()));
            tokens
        }
    }
}
