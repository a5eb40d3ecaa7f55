//! Makes a plan of a question: units, which are words, each with its whole and its parts,
//! and phrases. Everything that could grow is bounded here, before the index is touched.

use super::{
    document::exact_form,
    query::{
        MAX_FILTER, MAX_QUERY_BYTES, MAX_REACH, MAX_RESULTS, MAX_TERMS, MAX_WORDS, Query,
        QueryError, Wanted,
    },
    tokens::{Role, Tokens},
};

/// A word or phrase that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// As the caller wrote it.
    pub(super) label: String,
    pub(super) kind: UnitKind,
    /// A document that does not hold it is left out.
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
    if query.offset >= MAX_REACH {
        return Err(QueryError::TooFar);
    }
    Ok(())
}

fn plan_text(text: &str) -> Plan {
    let mut units = words_and_phrases(text, false);
    drop_asking(&mut units);
    dedup(&mut units);
    units.truncate(MAX_WORDS);
    // Signs mean nothing; the documents nearest to them were not asked for.
    let has_word = !units.is_empty();
    Plan {
        units,
        exact: exact_form(text.trim_matches('"')),
        meaning: has_word.then(|| text.trim().to_owned()),
        is_conjunction: false,
    }
}

fn plan_terms(terms: &[String]) -> Result<Plan, QueryError> {
    if terms.is_empty() {
        return Err(QueryError::NoTerms);
    }
    if terms.len() > MAX_TERMS {
        return Err(QueryError::TooManyTerms { terms: terms.len() });
    }
    let mut units = Vec::new();
    for term in terms {
        let shown = || term.chars().take(80).collect::<String>();
        let text = term.trim();
        if text.starts_with('"') && text.matches('"').count() % 2 == 1 {
            return Err(QueryError::OpenQuote { term: shown() });
        }
        let found = words_and_phrases(text, true);
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
        exact: exact_form(&bare),
        meaning: Some(bare.trim().to_owned()).filter(|text| !text.is_empty()),
        is_conjunction: true,
    })
}

/// The units of a text: a part in quotes must hold as a phrase, e.g. "rate limit". The other words
/// must if `are_required`.
fn words_and_phrases(text: &str, are_required: bool) -> Vec<Unit> {
    let mut units = Vec::new();
    // An even number of quotes makes phrases; a single one may be an inch.
    let pieces: Vec<&str> = text.split('"').collect();
    let is_quoted = pieces.len() % 2 == 1;
    for (n, piece) in pieces.iter().enumerate() {
        if is_quoted && n % 2 == 1 {
            units.extend(phrase(piece, true));
        } else {
            units.extend(words(piece, are_required));
        }
    }
    units
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

/// Leaves out the words of asking, e.g. `how` and `do`, unless nothing else is left.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t50_fuzz_questions() {
        trove_fuzz::feed("query", |input| {
            let text = String::from_utf8_lossy(input);
            plan(&Query::text(text.as_ref())).is_ok()
        });
    }
}
