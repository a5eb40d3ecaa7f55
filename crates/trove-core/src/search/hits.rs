//! The answer of search.

use std::{ops::Range, time::Duration};

use super::{
    entry::{Coverage, Key},
    relevance::Evidence,
};
use crate::uri::PublicUri;

/// Ranked results.
#[derive(Debug, Clone, Default)]
pub struct Hits {
    /// The best first.
    pub hits: Vec<Hit>,
    /// How many there are in all, of those the caller may see; near misses do not count.
    pub total: usize,
    /// Whether there are exactly so many; otherwise at least so many.
    pub is_total_exact: bool,
    /// How many more there would be without a threshold.
    pub below_threshold: usize,
    /// The offset of the next results, if there are more.
    pub next_offset: Option<usize>,
    pub took: Duration,
    /// How much of what the caller may see is indexed.
    pub coverage: Coverage,
    /// How many resources hold what was asked for, and were left out because they have no date;
    /// always 0 where the question names no dates.
    pub undated: usize,
    /// The question was a conjunction that nothing held, so that only meaning counted.
    pub is_relaxed: bool,
}

/// One result.
#[derive(Debug, Clone)]
pub struct Hit {
    pub key: Key,
    pub public: PublicUri,
    /// Its name, for programs.
    pub name: String,
    /// Its name, for people.
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// When it last changed, in seconds since 1970.
    pub modified: Option<i64>,
    /// When it was as it is shown, in seconds since 1970: its text was read then, or its listing
    /// came where no text is indexed.
    pub as_of: Option<i64>,
    /// Its text may have changed since then.
    pub is_text_old: bool,
    /// How relevant it is, from 0 to 1: see [`super::relevance`].
    pub score: f32,
    /// It is among the best, but less relevant than was asked for.
    pub is_near_miss: bool,
    /// The Source itself found it just now; the index may not know it.
    pub is_live: bool,
    /// Why it was found, the best reason first.
    pub why: Vec<Why>,
    /// Where the words were found.
    pub highlights: Vec<Highlight>,
    /// Which terms were found, as the caller wrote them.
    pub matched_terms: Vec<String>,
    /// About 200 characters of its content around the best match.
    pub preview: Option<String>,
    /// The evidence behind the score.
    pub evidence: Evidence,
}

/// Why a resource was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Words of its name, title or URI.
    Name,
    /// Words of its description.
    Description,
    /// Words of its content.
    Content,
    /// It means something alike.
    Meaning,
    /// It is new.
    Recent,
    /// It was read.
    Used,
    /// Its Source says that it is important.
    Important,
    /// It stands for its Source, of which nothing better is known.
    Server,
}

impl Why {
    pub fn as_str(self) -> &'static str {
        match self {
            Why::Name => "name",
            Why::Description => "description",
            Why::Content => "content",
            Why::Meaning => "meaning",
            Why::Recent => "recent",
            Why::Used => "used",
            Why::Important => "important",
            Why::Server => "server",
        }
    }
}

/// A place where words were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlight {
    /// In what: `name`, `title`, `uri`, `description` or `content`.
    pub field: &'static str,
    /// The text around it.
    pub snippet: String,
    /// Where the snippet begins in the field, in bytes. For a content, nothing where the
    /// indexed text is not the resource's own.
    pub offset: Option<usize>,
    /// Where the words lie in the snippet.
    pub matches: Vec<Range<usize>>,
}
