//! What a caller may ask, and what is made of it.
//!
//! A question becomes units: words, each with its whole and its parts, and phrases.
//! Everything that could grow is bounded here, before the index is touched.

use super::tokens::{Role, Tokens};
use crate::source_id::SourceId;

/// The longest question.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;
/// The most terms that must all hold.
pub const MAX_TERMS: usize = 32;
/// The most words that are looked for; of a longer text the first ones count.
pub const MAX_WORDS: usize = 48;
/// The most results in one answer.
pub const MAX_RESULTS: usize = 100;
/// How far results can be leafed through.
pub const MAX_REACH: usize = 5_000;
/// The most Sources or types in a filter.
pub const MAX_FILTER: usize = 256;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Everything that passes the filters, the best first.
    Everything,
    /// What fits a text best; a "quoted phrase" in it must hold.
    Text(String),
    /// What holds all of these terms; each a word, several words or a "quoted phrase".
    Terms(Vec<String>),
}

/// Where terms must be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// In names, titles and URIs.
    Name,
    /// In descriptions.
    Description,
    /// In contents.
    Content,
    /// Anywhere.
    #[default]
    All,
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What is looked for.
    pub wanted: Wanted,
    /// Where.
    pub scope: Scope,
    /// Misspelt words are found too: one letter from four on, two from eight on.
    pub is_fuzzy: bool,
    /// Only what changed at this second since 1970 or later.
    pub after: Option<i64>,
    /// Only what changed at this second since 1970 or earlier.
    pub before: Option<i64>,
    /// Only these Sources; all where empty.
    pub sources: Vec<SourceId>,
    /// Only these types, such as `text/markdown` or `text/*`; all where empty.
    pub content_types: Vec<String>,
    /// How many results are given.
    pub max_results: usize,
    /// How many are passed over before.
    pub offset: usize,
    /// Meaning joins the ranking, where there is an encoder.
    pub is_semantic: bool,
    /// Results of less relevance are left out.
    pub threshold: f32,
    /// The present, in seconds since 1970; new things come a little earlier.
    pub now: i64,
    /// Whether the answer tells how much is indexed.
    pub with_coverage: bool,
}

impl Query {
    /// The default question for a text.
    pub fn text(text: impl Into<String>) -> Query {
        Query::of(Wanted::Text(text.into()), super::relevance::DEFAULT_THRESHOLD)
    }

    /// The default question for terms.
    pub fn terms<T: Into<String>>(terms: impl IntoIterator<Item = T>) -> Query {
        let wanted = Wanted::Terms(terms.into_iter().map(Into::into).collect());
        Query { with_coverage: true, ..Query::of(wanted, 0.0) }
    }

    /// Everything, the best first.
    pub fn everything() -> Query {
        Query::of(Wanted::Everything, 0.0)
    }

    fn of(wanted: Wanted, threshold: f32) -> Query {
        Query {
            wanted,
            scope: Scope::All,
            is_fuzzy: false,
            after: None,
            before: None,
            sources: Vec::new(),
            content_types: Vec::new(),
            max_results: 20,
            offset: 0,
            is_semantic: true,
            threshold,
            now: 0,
            with_coverage: false,
        }
    }
}

/// Why a question cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It is too long.
    #[error("the query has {bytes} bytes, more than {MAX_QUERY_BYTES}; shorten it to what matters")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It has too many terms.
    #[error("{terms} terms, more than {MAX_TERMS}; leave out the common ones")]
    TooManyTerms {
        /// How many.
        terms: usize,
    },
    /// A term has no word in it.
    #[error("the term `{term}` has no word in it; give letters or digits")]
    EmptyTerm {
        /// The term.
        term: String,
    },
    /// A quote is opened and not closed.
    #[error("the term `{term}` opens a quote and does not close it; add the closing `\"`")]
    OpenQuote {
        /// The term.
        term: String,
    },
    /// The dates exclude everything.
    #[error("`after` is later than `before`; swap them")]
    Dates,
    /// A filter for types is no type.
    #[error("`{given}` is no content type; write it like `text/markdown` or `text/*`")]
    ContentType {
        /// What was given.
        given: String,
    },
    /// A filter is too long.
    #[error(
        "{given} servers or content types, more than {MAX_FILTER}; leave the filter out instead"
    )]
    Filter {
        /// How many.
        given: usize,
    },
    /// Too many results.
    #[error("{given} results, more than {MAX_RESULTS}; ask for fewer and go on with the cursor")]
    TooManyResults {
        /// How many.
        given: usize,
    },
    /// Too far.
    #[error("results end at {MAX_REACH}; narrow the query instead of leafing on")]
    TooFar,
    /// The index gave an error.
    #[error("the index could not be searched ({why}); it is being rebuilt, try again later")]
    Index {
        /// What it said.
        why: String,
    },
}

/// A word or phrase that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// As the caller wrote it.
    pub(super) label: String,
    pub(super) kind: UnitKind,
    /// What does not hold it is left out.
    pub(super) is_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnitKind {
    Word {
        /// The word of several parts, or the form of a plain one.
        whole: String,
        parts: Vec<Part>,
    },
    /// Stems and their places.
    Phrase(Vec<(usize, String)>),
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) stem: String,
    pub(super) form: String,
}

/// A question, understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Plan {
    pub(super) units: Vec<Unit>,
    /// The whole question, to be compared with names.
    pub(super) exact: Option<String>,
    /// The text whose meaning is looked for.
    pub(super) meaning: Option<String>,
    /// Results must hold every unit, not just some.
    pub(super) is_conjunction: bool,
}

/// Words that are part of asking, not of what is asked for.
const ASKING: [&str; 46] = [
    "about", "am", "any", "anything", "can", "could", "did", "do", "does", "from", "give", "has",
    "have", "help", "how", "i", "like", "looking", "me", "my", "need", "our", "please", "should",
    "show", "so", "some", "tell", "than", "them", "us", "want", "we", "were", "what", "when",
    "where", "which", "who", "whose", "why", "would", "you", "your", "youre", "im",
];

/// Checks a question and cuts it into units.
pub(super) fn plan(query: &Query) -> Result<Plan, QueryError> {
    check_filters(query)?;
    match &query.wanted {
        Wanted::Everything => Ok(Plan::default()),
        Wanted::Text(text) => {
            check_length(text.len())?;
            Ok(plan_text(text))
        }
        Wanted::Terms(terms) => {
            check_length(terms.iter().map(String::len).sum())?;
            plan_terms(terms)
        }
    }
}

fn check_length(bytes: usize) -> Result<(), QueryError> {
    if bytes > MAX_QUERY_BYTES {
        return Err(QueryError::TooLong { bytes });
    }
    Ok(())
}

fn check_filters(query: &Query) -> Result<(), QueryError> {
    if let (Some(after), Some(before)) = (query.after, query.before)
        && after > before
    {
        return Err(QueryError::Dates);
    }
    let filters = query.sources.len().max(query.content_types.len());
    if filters > MAX_FILTER {
        return Err(QueryError::Filter { given: filters });
    }
    for given in &query.content_types {
        let is_type = given == "*"
            || given.split_once('/').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
        if !is_type || given.len() > 256 {
            return Err(QueryError::ContentType { given: given.chars().take(80).collect() });
        }
    }
    if query.max_results > MAX_RESULTS {
        return Err(QueryError::TooManyResults { given: query.max_results });
    }
    if query.offset.saturating_add(query.max_results) > MAX_REACH {
        return Err(QueryError::TooFar);
    }
    Ok(())
}

fn plan_text(text: &str) -> Plan {
    let mut units = Vec::new();
    // An even number of quotes makes phrases; a single one may be an inch.
    let pieces: Vec<&str> = text.split('"').collect();
    let is_quoted = pieces.len() % 2 == 1;
    for (n, piece) in pieces.iter().enumerate() {
        if is_quoted && n % 2 == 1 {
            units.extend(phrase(piece, true));
        } else {
            units.extend(words(piece, false));
        }
    }
    drop_asking(&mut units);
    dedup(&mut units);
    units.truncate(MAX_WORDS);
    Plan {
        units,
        exact: super::schema::exact_form(text.trim_matches('"')),
        meaning: Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        is_conjunction: false,
    }
}

fn plan_terms(terms: &[String]) -> Result<Plan, QueryError> {
    if terms.len() > MAX_TERMS {
        return Err(QueryError::TooManyTerms { terms: terms.len() });
    }
    let mut units = Vec::new();
    for term in terms {
        let shown = || term.chars().take(80).collect::<String>();
        let text = term.trim();
        let quoted = text.strip_prefix('"').map(|rest| rest.strip_suffix('"'));
        let found: Vec<Unit> = match quoted {
            Some(None) => return Err(QueryError::OpenQuote { term: shown() }),
            Some(Some(inside)) => phrase(inside, true).into_iter().collect(),
            None => words(text, true),
        };
        if !text.chars().any(char::is_alphanumeric) {
            return Err(QueryError::EmptyTerm { term: shown() });
        }
        units.extend(found);
    }
    dedup(&mut units);
    if units.len() > MAX_WORDS {
        return Err(QueryError::TooManyTerms { terms: units.len() });
    }
    let joined = terms.join(" ");
    let bare = joined.replace('"', "");
    Ok(Plan {
        units,
        exact: super::schema::exact_form(&bare),
        meaning: Some(bare.trim().to_owned()).filter(|text| !text.is_empty()),
        is_conjunction: true,
    })
}

/// The words of a text as units. Letters of a script without spaces that follow each
/// other stay apart: each pair must hold.
fn words(text: &str, is_required: bool) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut tokens = Tokens::of(text);
    while tokens.read_word() {
        let mut whole = None;
        let mut parts: Vec<Part> = Vec::new();
        let mut span = None;
        for token in tokens.of_word() {
            let span = span.get_or_insert_with(|| token.span.clone());
            span.end = span.end.max(token.span.end);
            match token.role {
                Role::Whole => whole = Some(token.text.clone()),
                Role::Stem => {
                    parts.push(Part { stem: token.text.clone(), form: token.text.clone() });
                }
                Role::Form => {
                    if let Some(part) = parts.last_mut() {
                        part.form.clone_from(&token.text);
                    }
                }
            }
        }
        let Some(span) = span else { continue };
        let whole = whole.or_else(|| parts.first().map(|part| part.form.clone()));
        let kind = UnitKind::Word { whole: whole.unwrap_or_default(), parts };
        units.push(Unit { label: text[span].to_owned(), kind, is_required });
    }
    units
}

/// A quoted phrase as a unit; a single word in quotes is that word.
fn phrase(text: &str, is_required: bool) -> Option<Unit> {
    let mut stems = Vec::new();
    let mut tokens = Tokens::of(text);
    while tokens.read_word() {
        let parts = tokens.of_word().iter().filter(|token| token.role == Role::Stem);
        stems.extend(parts.map(|token| (token.position, token.text.clone())));
    }
    let first = stems.first()?.0;
    for (position, _) in &mut stems {
        *position -= first;
    }
    stems.truncate(MAX_WORDS);
    if stems.len() == 1 {
        return words(text, is_required).pop();
    }
    let label = text.trim().to_owned();
    Some(Unit { label, kind: UnitKind::Phrase(stems), is_required })
}

/// Leaves out the words of asking, unless nothing else is left.
fn drop_asking(units: &mut Vec<Unit>) {
    let is_asking = |unit: &Unit| match &unit.kind {
        UnitKind::Word { whole, .. } => ASKING.contains(&whole.as_str()),
        UnitKind::Phrase(_) => false,
    };
    if units.iter().any(|unit| !is_asking(unit)) {
        units.retain(|unit| !is_asking(unit));
    }
}

fn dedup(units: &mut Vec<Unit>) {
    let mut kept: Vec<Unit> = Vec::with_capacity(units.len());
    for unit in units.drain(..) {
        match kept.iter_mut().find(|seen| seen.kind == unit.kind) {
            Some(seen) => seen.is_required |= unit.is_required,
            None => kept.push(unit),
        }
    }
    *units = kept;
}
