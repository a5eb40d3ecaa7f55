//! JSONPath, within bounds: the work of a path grows no faster than the answer it looks into.

use std::collections::HashMap;

use serde_json::Value;
use serde_json_path::JsonPath;

/// The longest path.
const MAX_PATH_BYTES: usize = 512;
/// How often a path may look into everything below, filter, and name several members at once.
const MAX_DESCENTS: usize = 1;
const MAX_FILTERS: usize = 2;
const MAX_COMMAS: usize = 3;
/// The functions that compile a pattern for each value they meet.
const SLOW_FUNCTIONS: [&str; 2] = ["match(", "search("];

/// A path, e.g. `$.accounts[*]`.
#[derive(Debug, Clone)]
pub struct Path {
    compiled: JsonPath,
}

impl Path {
    /// Compiles a path, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Path, String> {
        if text.len() > MAX_PATH_BYTES {
            return Err(format!("it has more than {MAX_PATH_BYTES} bytes"));
        }
        let bare = without_strings(text);
        if bare.matches("..").count() > MAX_DESCENTS {
            return Err("`..` may stand in it once".to_owned());
        }
        if bare.matches('?').count() > MAX_FILTERS {
            return Err(format!("it may filter {MAX_FILTERS} times"));
        }
        if bare.matches(',').count() > MAX_COMMAS {
            return Err(format!("it may hold {MAX_COMMAS} commas"));
        }
        if bare.matches('$').count() > 1 {
            return Err("`$` may stand only at its beginning".to_owned());
        }
        if SLOW_FUNCTIONS.iter().any(|function| bare.contains(function)) {
            return Err("`match` and `search` are not taken".to_owned());
        }
        let compiled = JsonPath::parse(text).map_err(|error| error.to_string())?;
        Ok(Path { compiled })
    }

    /// The first value it finds.
    pub fn first<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.compiled.query(value).first()
    }

    /// Every value it finds.
    pub fn all<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        self.compiled.query(value).all()
    }

    /// Every value it finds, each with the values that `member` has in it and in all objects
    /// around it, joined by `/`.
    pub fn all_with_trails<'a>(&self, value: &'a Value, member: &str) -> Vec<(&'a Value, String)> {
        let found = self.all(value);
        let places = found.iter().enumerate().map(|(nth, one)| (address(one), nth)).collect();
        let mut trails = Trails { member, places, of: vec![String::new(); found.len()] };
        trails.walk(value, "");
        found.into_iter().zip(trails.of).collect()
    }
}

/// Where a value lies, to know it again in a walk through the whole.
fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

struct Trails<'m> {
    member: &'m str,
    places: HashMap<usize, usize>,
    of: Vec<String>,
}

impl Trails<'_> {
    /// Goes through a value that lies below `around`. Parsed values are at most 128 deep.
    fn walk(&mut self, value: &Value, around: &str) {
        let own = value.get(self.member).and_then(Value::as_str);
        let trail = match own {
            Some(name) if around.is_empty() => name.to_owned(),
            Some(name) => format!("{around}/{name}"),
            None => around.to_owned(),
        };
        if let Some(nth) = self.places.get(&address(value)) {
            self.of[*nth].clone_from(&trail);
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, &trail)),
            Value::Object(members) => members.values().for_each(|one| self.walk(one, &trail)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The path without what stands in quotes.
fn without_strings(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut quote = None;
    let mut is_escaped = false;
    for sign in text.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if sign == '\\' => is_escaped = true,
            Some(open) if sign == open => quote = None,
            Some(_) => {}
            None if sign == '\'' || sign == '"' => quote = Some(sign),
            None => bare.push(sign),
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trail_is_made_of_the_names_around_an_item() {
        let tree = json!([
            { "name": "a.md", "type": "file" },
            { "name": "sub", "type": "directory", "children": [{ "name": "b", "type": "file" }] },
        ]);
        let path = Path::parse("$..[?@.type == 'file']").expect("a path");
        let trails: Vec<String> =
            path.all_with_trails(&tree, "name").into_iter().map(|(_, trail)| trail).collect();
        assert_eq!(trails, ["a.md", "sub/b"]);
    }

    #[test]
    fn what_would_make_much_work_is_refused_before_it_is_run() {
        for bomb in [
            "$..*..*..*..*",
            "$[?@[?@[?@.a]]]",
            "$[0,0,0,0,0,0]",
            "$[?search(@.a, '(a+)+$')]",
            "$[?$..a]",
            &format!("$.{}", "a".repeat(600)),
        ] {
            assert!(Path::parse(bomb).is_err(), "{bomb}");
        }
        for fine in ["$.a[*]", "$['a..b,c?$'][*]", "$..[?@.type == 'file']", "$"] {
            assert!(Path::parse(fine).is_ok(), "{fine}");
        }
    }
}
