//! Finds the words of the index that a misspelt one may mean.
//!
//! Up to one letter may differ from four letters on, up to two from eight on; two letters swapped
//! count as one. Two are looked for only if no word differs in one: the nearer word was meant, and
//! the rest is noise. Words with the same first letter come first. All others are tried only if
//! that finds none: a user who misspells twice rarely begins with it, and looking everywhere takes
//! ten times as long.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use tantivy::{Searcher, SegmentReader, Term, query::FuzzyTermQuery, schema::Field};

use super::{parallel::each, top::top_by};

/// To how many words of the index a misspelt word is compared at most.
const MAX_EXPANSIONS: usize = 16;
/// How many words of the index are looked at for a misspelt one, in each field of each
/// segment.
const MAX_LOOKED_AT: usize = 20_000;

/// Words of the index that count as one that was asked for.
pub(super) type Expansions = BTreeMap<String, Expansion>;

/// A word of the index.
#[derive(Debug)]
pub(super) struct Expansion {
    /// How many letters differ.
    pub(super) distance: usize,
    /// In how many documents it stands.
    pub(super) documents: u64,
    /// In which fields.
    pub(super) fields: Vec<Field>,
}

impl Expansion {
    fn add(&mut self, field: Field, documents: u64) {
        self.documents = self.documents.max(documents);
        if !self.fields.contains(&field) {
            self.fields.push(field);
        }
    }
}

/// The words nearest to `form`, itself among them if it is there.
pub(super) fn expand(
    searcher: &Searcher,
    fields: &[Field],
    form: &str,
) -> tantivy::Result<Expansions> {
    let mut search = Expanding { searcher, fields, form, found: HashMap::new() };
    match edits_for(form) {
        0 => {}
        1 => search.run(1, None)?,
        _ => {
            search.run(1, None)?;
            if search.found.is_empty() {
                search.run(2, form.chars().next())?;
            }
            if search.found.is_empty() {
                search.run(2, None)?;
            }
        }
    }
    Ok(nearest(search.found))
}

struct Expanding<'a> {
    searcher: &'a Searcher,
    fields: &'a [Field],
    form: &'a str,
    found: HashMap<Box<str>, Expansion>,
}

impl Expanding<'_> {
    /// Takes in the words within a distance, of all or of those with a first letter.
    fn run(&mut self, distance: u8, first: Option<char>) -> tantivy::Result<()> {
        let from = first.map(String::from).unwrap_or_default();
        let to = first.and_then(after).map(String::from);
        let Some(&any) = self.fields.first() else { return Ok(()) };
        // The automaton knows the text alone; one serves every field.
        let term = Term::from_field_text(any, self.form);
        let automaton = FuzzyTermQuery::new(term, distance, true).automaton()?;
        let near = |(field, segment): &(Field, &SegmentReader)| -> tantivy::Result<_> {
            let index = segment.inverted_index(*field)?;
            let mut terms = index.terms().search(&automaton).ge(&from);
            if let Some(to) = &to {
                terms = terms.lt(to);
            }
            let mut terms = terms.into_stream()?;
            let mut near: Vec<(Box<str>, u64)> = Vec::new();
            let mut looked_at = 0;
            while looked_at < MAX_LOOKED_AT && terms.advance() {
                looked_at += 1;
                if let Ok(text) = std::str::from_utf8(terms.key()) {
                    near.push((text.into(), u64::from(terms.value().doc_freq)));
                }
            }
            Ok((*field, near))
        };
        let segments = self.searcher.segment_readers();
        let dictionaries: Vec<(Field, &SegmentReader)> =
            self.fields.iter().flat_map(|field| segments.iter().map(|one| (*field, one))).collect();
        for found in each(&dictionaries, self.searcher.num_docs(), near) {
            let (field, near) = found?;
            for (text, documents) in near {
                self.add(field, text, documents);
            }
        }
        Ok(())
    }

    fn add(&mut self, field: Field, text: Box<str>, documents: u64) {
        match self.found.get_mut(&text) {
            Some(expansion) => expansion.add(field, documents),
            None => {
                let distance = edits_between(self.form, &text);
                let fields = vec![field];
                self.found.insert(text, Expansion { distance, documents, fields });
            }
        }
    }
}

/// The letter that follows in the order of their bytes.
fn after(letter: char) -> Option<char> {
    char::from_u32(u32::from(letter) + 1)
}

/// The few that are nearest, and of those the most common.
fn nearest(found: HashMap<Box<str>, Expansion>) -> Expansions {
    type Found = (Box<str>, Expansion);
    let closeness = |it: &Expansion| (Reverse(it.distance), it.documents);
    let order =
        |a: &Found, b: &Found| closeness(&a.1).cmp(&closeness(&b.1)).then_with(|| b.0.cmp(&a.0));
    let nearest = top_by(found.into_iter(), MAX_EXPANSIONS, order);
    nearest.into_iter().map(|(text, expansion)| (text.into(), expansion)).collect()
}

/// How many letters a word may be misspelt in, e.g. one in `index`. Numbers are not misspelt:
/// another number is another thing.
fn edits_for(form: &str) -> u8 {
    match form.chars().count() {
        _ if form.bytes().all(|b| b.is_ascii_digit()) => 0,
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

/// How many letters two words differ in; two letters swapped count as one, e.g. `form` and `from`.
fn edits_between(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let first: Vec<usize> = (0..=b.len()).collect();
    let mut rows = [vec![0; b.len() + 1], first, vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        rows[2][0] = i;
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[1][j] + 1).min(rows[2][j - 1] + 1).min(rows[1][j - 1] + differs);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[0][j - 2] + 1);
            }
            rows[2][j] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_is_one_edit() {
        let check = |a: &str, b: &str, edits: usize| {
            assert_eq!(edits_between(a, b), edits, "{a} {b}");
            assert_eq!(edits_between(b, a), edits, "{b} {a}");
        };
        check("gateway", "gatewya", 1);
        check("kitten", "sitting", 3);
        check("", "ab", 2);
        check("same", "same", 0);
        check("été", "ete", 2);
    }

    #[test]
    fn longer_words_may_be_misspelt_more() {
        for (form, edits) in
            [("abc", 0), ("abcd", 1), ("abcdefg", 1), ("abcdefgh", 2), ("20260101", 0)]
        {
            assert_eq!(edits_for(form), edits, "{form}");
        }
    }
}
