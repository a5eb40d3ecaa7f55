//! How much of a resource search may look into, by its URI.
//!
//! Ordered rules: the first that matches decides, and where none does the Source itself.
//! They only say what is looked into unasked; who may read what is said elsewhere.

use globset::{GlobBuilder, GlobMatcher};

use crate::{access::BadPattern, source::Indexing};

pub const MAX_INDEX_RULES: usize = 1000;

/// One rule on what search may look into.
#[derive(Debug, Clone)]
pub struct IndexRule {
    matcher: GlobMatcher,
    indexing: Indexing,
}

/// All rules, in order.
#[derive(Debug, Clone, Default)]
pub struct IndexRules(Vec<IndexRule>);

impl IndexRule {
    /// A rule over the URIs that `pattern` matches; `*` stands for anything.
    pub fn new(pattern: &str, indexing: Indexing) -> Result<IndexRule, BadPattern> {
        let mut glob = GlobBuilder::new(pattern);
        let glob = glob.case_insensitive(true).literal_separator(false).build();
        let glob = glob.map_err(|error| BadPattern::new(pattern, &error.kind().to_string()))?;
        Ok(IndexRule { matcher: glob.compile_matcher(), indexing })
    }
}

impl IndexRules {
    /// These rules, the first [`MAX_INDEX_RULES`] of them.
    pub fn new(rules: Vec<IndexRule>) -> IndexRules {
        IndexRules(rules.into_iter().take(MAX_INDEX_RULES).collect())
    }

    /// How much may be looked into of what the Source `id` calls `local`; `otherwise` where
    /// no rule says.
    pub(super) fn of(&self, id: &str, local: &str, otherwise: Indexing) -> Indexing {
        if self.0.is_empty() {
            return otherwise;
        }
        let qualified = format!("{id}+{local}");
        let is_about =
            |rule: &&IndexRule| rule.matcher.is_match(local) || rule.matcher.is_match(&qualified);
        self.0.iter().find(is_about).map_or(otherwise, |rule| rule.indexing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rule = |pattern, indexing| IndexRule::new(pattern, indexing).expect("a pattern");
        let rules = IndexRules::new(vec![
            rule("wiki://drafts/public*", Indexing::Content),
            rule("wiki://drafts/*", Indexing::Off),
            rule("two+*", Indexing::Metadata),
        ]);
        let of = |id, local| rules.of(id, local, Indexing::Content);
        assert_eq!(of("one", "wiki://drafts/public/a"), Indexing::Content);
        assert_eq!(of("one", "WIKI://Drafts/deep/b"), Indexing::Off);
        assert_eq!(of("two", "wiki://pages/c"), Indexing::Metadata);
        assert_eq!(rules.of("one", "wiki://pages/c", Indexing::Metadata), Indexing::Metadata);
        assert!(IndexRule::new("wiki://[", Indexing::Off).is_err());
    }
}
