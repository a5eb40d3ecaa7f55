//! Members that an object has more than once. Peers do not agree which of them counts.

use std::collections::HashSet;

use super::Object;

/// How many members are compared one by one.
const FEW: usize = 8;

impl Object<'_> {
    /// Whether a member is there more than once.
    pub fn is_given_twice(&self, key: &str) -> bool {
        self.members.iter().filter(|(k, _)| k == key).nth(1).is_some()
    }

    /// The first member that is there more than once, of any name.
    pub fn any_given_twice(&self) -> Option<&str> {
        let keys = || self.members.iter().map(|(key, _)| key.as_ref());
        // Most have few members.
        if self.members.len() <= FEW {
            let is_later = |(n, key): &(usize, &str)| keys().skip(n + 1).any(|other| other == *key);
            return keys().enumerate().find(is_later).map(|(_, key)| key);
        }
        let mut seen = HashSet::with_capacity(self.members.len());
        keys().find(|key| !seen.insert(*key))
    }

    /// Leaves the first of members that are there more than once: it is the one that was read.
    pub fn keep_first(&mut self) {
        if self.any_given_twice().is_none() {
            return;
        }
        let mut seen = HashSet::with_capacity(self.members.len());
        self.members.retain(|(key, _)| seen.insert(key.clone()));
        self.edited = true;
    }
}
