//! The questions a caller may ask, and how large they may be.

use std::{ops::Range, time::Duration};

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

/// The wanted results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Everything that passes the filters, the best first.
    Everything,
    /// Those that fit a text best; a "quoted phrase" in it must hold.
    Text(String),
    /// Those that hold all of these terms; each a word, several words, a "quoted phrase", or words
    /// and phrases.
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
    /// The wanted results.
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
    /// These Sources come after all others where nothing is looked for.
    pub come_last: Vec<SourceId>,
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
    /// So many of the best are given, marked as near misses, even if they are below the threshold.
    pub near_misses: usize,
    /// The present, in seconds since 1970; new things come a little earlier.
    pub now: i64,
    /// Whether the answer tells how much is indexed.
    pub with_coverage: bool,
    /// How long servers that search by themselves are waited for, once the index has answered.
    /// They are not asked if this is zero.
    pub live_wait: Duration,
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

    /// Whether nothing is looked for, so that everything is wanted.
    pub(super) fn asks_nothing(&self) -> bool {
        match &self.wanted {
            Wanted::Everything => true,
            Wanted::Text(text) => text.trim().is_empty(),
            Wanted::Terms(_) => false,
        }
    }

    /// Which results are given; the last page ends where results do.
    pub(super) fn page(&self) -> Range<usize> {
        let end = self.offset.saturating_add(self.max_results).min(MAX_REACH);
        self.offset.min(end)..end
    }

    fn of(wanted: Wanted, threshold: f32) -> Query {
        Query {
            wanted,
            scope: Scope::All,
            is_fuzzy: false,
            after: None,
            before: None,
            sources: Vec::new(),
            come_last: Vec::new(),
            content_types: Vec::new(),
            max_results: 20,
            offset: 0,
            is_semantic: true,
            threshold,
            near_misses: 0,
            now: 0,
            with_coverage: false,
            live_wait: Duration::ZERO,
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
    /// It has no term at all.
    #[error("no term is given; give at least one, or list everything with discover_resources")]
    NoTerms,
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
        /// The type as given.
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
        /// The words of the index.
        why: String,
    },
}
