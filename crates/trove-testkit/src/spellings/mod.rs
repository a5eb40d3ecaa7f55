//! Spellings of protected names, and the parsers that may read them as those names.
//!
//! Made of chance from a seed, so that every run tries the same ones. The generator knows
//! nothing of the rules that it tries.

mod parsers;
mod rust;
mod twists;

use std::collections::HashSet;

use crate::numbers::Numbers;

pub use parsers::{Parser, Readings, read_with};

/// A name that a rule protects, and the pattern of the rule.
pub struct Protected {
    /// The name.
    pub name: &'static str,
    /// The rule that is on it.
    pub pattern: &'static str,
}

/// Names of every kind that parsers treat in a way of its own.
pub const PROTECTED: [Protected; 14] = [
    Protected { name: "docs://l/vault/key", pattern: "docs://l/vault/*" },
    Protected { name: "docs://l/résumé.pdf", pattern: "docs://l/RÉSUMÉ*" },
    Protected { name: "docs://l/Straße/haus", pattern: "docs://l/straße/*" },
    Protected { name: "docs://l/my plans.md", pattern: "docs://l/my plans*" },
    Protected { name: "docs://l/Kiln Iris/ID", pattern: "docs://l/kiln iris/id" },
    Protected { name: "file:///srv/secret/plan.txt", pattern: "file:///srv/secret/*" },
    Protected { name: "https://h.example/admin/keys", pattern: "https://h.example/admin/*" },
    Protected { name: "https://bücher.example/liste", pattern: "https://bücher.example/*" },
    Protected {
        name: "https://xn--strae-oqa.example/haus",
        pattern: "https://xn--strae-oqa.example/*",
    },
    Protected { name: "http://127.0.0.1/admin/k", pattern: "http://127.0.0.1/admin/*" },
    Protected { name: "memo:inner", pattern: "memo:inner" },
    Protected { name: "urn:team:keys", pattern: "urn:team:*" },
    Protected { name: "api://item?id=secret1", pattern: "api://item?id=secret*" },
    Protected { name: "skill://ops/deploy/SKILL.md", pattern: "skill://ops/*" },
];

/// So many different spellings of the protected names, none of them a name itself.
pub fn spellings(seed: u64, count: usize) -> Vec<String> {
    let mut numbers = Numbers(seed);
    let mut seen: HashSet<String> = PROTECTED.iter().map(|one| one.name.to_owned()).collect();
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let name = PROTECTED[numbers.below(PROTECTED.len())].name;
        let mut spelling = name.to_owned();
        for _ in 0..=numbers.below(3) {
            spelling = twists::twist(&spelling, &mut numbers);
        }
        if seen.insert(spelling.clone()) {
            all.push(spelling);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_spellings_each_time() {
        let (first, again) = (spellings(7, 2000), spellings(7, 2000));
        assert_eq!(first, again);
        assert_ne!(first, spellings(8, 2000));
    }
}
