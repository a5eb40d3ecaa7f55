//! A collection: a named list of expressions over categories and collections.
//!
//! A collection that leads back to itself, or nests too deep, is told by name and never followed.

use std::{collections::BTreeMap, sync::Arc};

use super::{Expression, KnowledgeError, settings::CollectionSettings};

/// How deep collections may nest.
pub const MAX_NESTING: usize = 64;

/// A named list of expressions.
#[derive(Debug)]
pub struct Collection {
    pub(super) name: Arc<str>,
    pub(super) description: Option<String>,
    pub(super) texts: Vec<String>,
    /// The members, or why they cannot be followed.
    pub(super) members: Result<Vec<Expression>, String>,
    /// Whether a member that is both a category and a collection means both. It means the category
    /// alone where the collection would lead back here.
    pub(super) means_both: bool,
}

impl Collection {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Its members as written.
    pub fn members(&self) -> &[String] {
        &self.texts
    }

    /// Why it cannot be read, if so.
    pub fn problem(&self) -> Option<&str> {
        self.members.as_ref().err().map(String::as_str)
    }
}

/// Reads and checks all collections. `is_category` says which names are categories.
pub(super) fn all(
    settings: &BTreeMap<String, CollectionSettings>,
    is_category: impl Fn(&str) -> bool,
) -> BTreeMap<Arc<str>, Collection> {
    let mut members: BTreeMap<&str, Result<Vec<Expression>, String>> = settings
        .iter()
        .map(|(name, collection)| (name.as_str(), read(collection).map_err(|e| e.to_string())))
        .collect();
    let mut surely: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut with_both: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in settings.keys() {
        let expressions = members[name.as_str()].as_deref().unwrap_or_default();
        let parts = expressions.iter().flat_map(|expression| &expression.parts);
        let below: Vec<&str> = parts.filter_map(|part| known(settings, &part.name)).collect();
        let sure = below.iter().filter(|below| !is_category(below)).copied().collect();
        let is_itself = |below: &&str| is_category(below) && *below == name.as_str();
        surely.insert(name, sure);
        with_both.insert(name, below.into_iter().filter(|below| !is_itself(below)).collect());
    }
    let ambiguous = broken(&with_both);
    for (name, why) in broken(&surely) {
        members.insert(name, Err(why));
    }
    settings
        .iter()
        .map(|(name, collection)| {
            let members = members.remove(name.as_str()).unwrap_or_else(|| Ok(Vec::new()));
            let name: Arc<str> = name.as_str().into();
            let (description, texts) = (collection.description.clone(), collection.members.clone());
            let means_both = !ambiguous.contains_key(&*name);
            (name.clone(), Collection { name, description, texts, members, means_both })
        })
        .collect()
}

/// The expressions of a collection.
pub(super) fn read(collection: &CollectionSettings) -> Result<Vec<Expression>, KnowledgeError> {
    collection.members.iter().map(|member| Ok(Expression::parse(member)?)).collect()
}

/// The name as it is written in the settings, found as it is when reading.
fn known<'a>(settings: &'a BTreeMap<String, CollectionSettings>, name: &str) -> Option<&'a str> {
    if let Some((name, _)) = settings.get_key_value(name) {
        return Some(name);
    }
    let lower = name.to_lowercase();
    let mut alike = settings.keys().filter(|known| known.to_lowercase() == lower);
    match (alike.next(), alike.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

/// Collections that lead back to themselves or nest too deep, each with the reason. Walks
/// with a stack of its own: ten thousand nested ones must not exhaust the thread's.
fn broken<'a>(follows: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeMap<&'a str, String> {
    let mut broken: BTreeMap<&str, String> = BTreeMap::new();
    // How deep each nests; absent: not walked yet.
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    for &start in follows.keys() {
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some(&mut (name, ref mut next)) = path.last_mut() {
            if depths.contains_key(name) {
                path.pop();
                continue;
            }
            let Some(&below) = follows[name].get(*next) else {
                let below = follows[name].iter().filter_map(|below| depths.get(below)).max();
                let depth = below.map_or(1, |deepest| deepest + 1);
                if depth > MAX_NESTING {
                    let why = format!("collections nest deeper than {MAX_NESTING} below it");
                    broken.entry(name).or_insert(why);
                }
                depths.insert(name, depth);
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(from) = path.iter().position(|(name, _)| *name == below) {
                let round: Vec<&str> = path[from..].iter().map(|(name, _)| *name).collect();
                let why = cycle(&round);
                for name in round {
                    broken.entry(name).or_insert_with(|| why.clone());
                }
            } else if !depths.contains_key(below) {
                path.push((below, 0));
            }
        }
    }
    spread(follows, &mut broken);
    broken
}

fn cycle(round: &[&str]) -> String {
    let first = round.first().copied().unwrap_or_default();
    let shown = match round.len() {
        0..=8 => round.join(" → "),
        more => format!("{} → … {} more", round[..4].join(" → "), more - 4),
    };
    format!("it leads back to itself: {shown} → {first}")
}

/// A collection that names a broken one is broken too.
fn spread<'a>(follows: &BTreeMap<&'a str, Vec<&'a str>>, broken: &mut BTreeMap<&'a str, String>) {
    let mut above: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
    for (&name, below) in follows {
        for &below in below {
            above.entry(below).or_default().push(name);
        }
    }
    let mut waiting: Vec<&str> = broken.keys().copied().collect();
    while let Some(bad) = waiting.pop() {
        for &name in above.get(bad).into_iter().flatten() {
            if !broken.contains_key(name) {
                broken.insert(name, format!("it names `{bad}`, which cannot be read"));
                waiting.push(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collections(all: &[(&str, &[&str])]) -> BTreeMap<String, CollectionSettings> {
        let of = |members: &[&str]| CollectionSettings {
            members: members.iter().map(|m| (*m).to_owned()).collect(),
            description: None,
        };
        all.iter().map(|(name, members)| ((*name).to_owned(), of(members))).collect()
    }

    fn problems(settings: &BTreeMap<String, CollectionSettings>) -> Vec<(String, String)> {
        let all = all(settings, |name| name == "lang");
        let bad = all.values().filter_map(|c| Some((c.name.to_string(), c.problem()?.to_owned())));
        bad.collect()
    }

    #[test]
    fn collections_may_name_others_but_not_come_back() {
        let good = collections(&[("a", &["b/x", "lang"]), ("b", &["lang/rust+python"])]);
        assert_eq!(problems(&good), []);
        let bad = collections(&[("a", &["b"]), ("b", &["lang,C"]), ("c", &["a"]), ("d", &["c"])]);
        let told = problems(&bad);
        assert_eq!(told.len(), 4);
        assert_eq!(told[0].1, "it leads back to itself: a → b → c → a");
        assert_eq!(told[3].1, "it names `c`, which cannot be read");
    }

    #[test]
    fn a_category_is_meant_before_a_collection_of_the_same_name() {
        assert_eq!(problems(&collections(&[("lang", &["lang/rust"])])), []);
        assert_eq!(problems(&collections(&[("own", &["own"])])).len(), 1);
    }

    #[test]
    fn a_member_that_cannot_be_read_is_told() {
        let told = problems(&collections(&[("a", &["lang/"])]));
        assert!(told[0].1.contains("at character 6"), "{told:?}");
    }

    #[test]
    fn ten_thousand_nested_collections_are_refused_without_harm() {
        let names: Vec<String> = (0..10_000).map(|n| format!("c{n:05}")).collect();
        let mut settings = BTreeMap::new();
        for (n, name) in names.iter().enumerate() {
            let below = names.get(n + 1).map_or("lang", String::as_str);
            let members = vec![below.to_owned(), below.to_owned()];
            settings.insert(name.clone(), CollectionSettings { members, description: None });
        }
        let told = problems(&settings);
        assert_eq!(told.len(), 10_000 - MAX_NESTING);
    }
}
