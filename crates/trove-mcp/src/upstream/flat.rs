//! Schemas of tools for clients that understand neither references nor combinations.
//!
//! A flat schema may allow more or less than the original, and is easier to read. The server still
//! gets the arguments as the client sends them, and says itself where they are wrong.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};
use trove_core::{json::Json, resource::Named};

/// How deep members are followed; deeper, anything goes.
const MAX_DEPTH: usize = 64;
/// How long a schema may be when its references are written out. A longer one is cut, and stays as
/// it is if that does not help.
const MAX_BYTES: usize = 1024 * 1024;
/// The depth and length to which a schema is cut that would be longer, or comes after many others.
const LEAST_DEPTH: usize = 5;
const LEAST_BYTES: usize = 64 * 1024;

/// The members that combine schemas.
const ANY: [&str; 2] = ["anyOf", "oneOf"];
/// Members that say more than a simple client understands.
const CONDITIONS: [&str; 6] = ["$ref", "allOf", "not", "if", "then", "else"];
/// Members that are superfluous once references are written out.
const DEFINITIONS: [&str; 4] = ["$defs", "definitions", "$schema", "$id"];
/// Members that hold schemas by name.
const MEMBERS: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Members that hold one schema or a list of them.
const PARTS: [&str; 8] = [
    "items",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
];

/// How much the schemas of all tools of a server may take together.
const MAX_BYTES_OF_ALL: usize = 8 * MAX_BYTES;

/// Writes out the schemas of tools as long as they are not too much, and lets others run between.
pub(super) async fn flatten(tools: &mut [Named]) {
    let mut left = MAX_BYTES_OF_ALL;
    for tool in tools {
        if let Some(entry) = flat(&tool.entry, &mut left) {
            tool.entry = entry;
        }
        tokio::task::yield_now().await;
    }
}

/// The entry of a tool whose `inputSchema` is an object with plain members; takes off from `all`
/// what that took.
fn flat(entry: &Json, all: &mut usize) -> Option<Json> {
    let mut object = entry.object()?;
    let schema: Value = serde_json::from_str(object.get("inputSchema")?).ok()?;
    // One that grows too long is cut where references stand in references.
    let attempts = [(MAX_BYTES.min(*all), MAX_DEPTH), (LEAST_BYTES, LEAST_DEPTH)];
    let flat = attempts.into_iter().find_map(|(left, deepest)| {
        let mut flattening = Flattening { root: &schema, left, deepest, within: Vec::new() };
        let flat = flattening.of(&schema, 0);
        *all = all.saturating_sub(left - flattening.left);
        flat
    });
    let Value::Object(mut flat) = flat? else { return None };
    flat.insert("type".to_owned(), json!("object"));
    let flat = Value::Object(flat);
    if flat == schema {
        return None;
    }
    object.set("inputSchema", flat.to_string());
    Some(object.to_json())
}

struct Flattening<'a> {
    root: &'a Value,
    /// How many bytes may still be written.
    left: usize,
    deepest: usize,
    /// The references that are being written out.
    within: Vec<&'a str>,
}

impl<'a> Flattening<'a> {
    /// The schema without the members that simple clients do not understand. `None` if it grows too
    /// long.
    fn of(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        let Value::Object(all) = schema else { return Some(json!({})) };
        self.pay(2)?;
        if depth > self.deepest {
            return Some(json!({}));
        }
        let mut out = Map::new();
        if let Some(reference) = all.get("$ref").and_then(Value::as_str) {
            add(&mut out, self.meant(reference, depth)?);
        }
        for part in all.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = self.of(part, depth + 1)?;
            // The schema put together so far is looked through each time.
            self.pay(parts_of(&out))?;
            add(&mut out, part);
        }
        for key in ANY {
            if let Some(choices) = all.get(key).and_then(Value::as_array) {
                let choices = choices.iter().map(|choice| self.of(choice, depth + 1));
                add(&mut out, one_of(choices.collect::<Option<_>>()?));
            }
        }
        for (key, value) in all {
            let key = key.as_str();
            if [&ANY[..], &CONDITIONS, &DEFINITIONS].iter().any(|left_out| left_out.contains(&key))
            {
                continue;
            }
            self.pay(key.len() + 4)?;
            let value = self.member(key, value, depth)?;
            add(&mut out, json!({ key: value }));
        }
        Some(Value::Object(out))
    }

    /// One member of a schema.
    fn member(&mut self, key: &str, value: &'a Value, depth: usize) -> Option<Value> {
        match value {
            Value::Object(members) if MEMBERS.contains(&key) => {
                let mut out = Map::new();
                for (name, member) in members {
                    self.pay(name.len() + 4)?;
                    out.insert(name.clone(), self.of(member, depth + 1)?);
                }
                Some(Value::Object(out))
            }
            Value::Object(_) if PARTS.contains(&key) => self.of(value, depth + 1),
            Value::Array(parts) if PARTS.contains(&key) => {
                let parts = parts.iter().map(|part| self.of(part, depth + 1));
                parts.collect::<Option<_>>().map(Value::Array)
            }
            Value::Array(types) if key == "type" => Some(first_type(types)),
            value => {
                self.pay(value.to_string().len())?;
                Some(value.clone())
            }
        }
    }

    /// The schema that a reference points to, e.g. `#/$defs/Point`. A reference inside itself
    /// allows anything.
    fn meant(&mut self, reference: &'a str, depth: usize) -> Option<Value> {
        let target = reference.strip_prefix('#').and_then(|path| self.root.pointer(path));
        let Some(target) = target.filter(|_| !self.within.contains(&reference)) else {
            return Some(json!({}));
        };
        self.within.push(reference);
        let meant = self.of(target, depth + 1);
        self.within.pop();
        meant
    }

    fn pay(&mut self, bytes: usize) -> Option<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or_default();
        left.map(drop)
    }
}

/// How many values a schema has.
fn parts_of(schema: &Map<String, Value>) -> usize {
    let of_one = |value: &Value| match value {
        Value::Object(members) => parts_of(members),
        Value::Array(parts) => parts.len(),
        _ => 1,
    };
    1 + schema.values().map(of_one).sum::<usize>()
}

/// Adds one schema to another that holds as well. Members and required names come together; of all
/// else the last word counts, e.g. of `type`.
fn add(into: &mut Map<String, Value>, more: Value) {
    let Value::Object(more) = more else { return };
    for (key, value) in more {
        match (key.as_str(), into.get_mut(&key), value) {
            ("properties", Some(Value::Object(known)), Value::Object(members)) => {
                for (name, member) in members {
                    match known.get_mut(&name) {
                        Some(Value::Object(known)) => add(known, member),
                        Some(_) | None => drop(known.insert(name, member)),
                    }
                }
            }
            ("required", Some(Value::Array(known)), Value::Array(names)) => {
                known.extend(names);
                *known = distinct(std::mem::take(known));
            }
            (_, _, value) => drop(into.insert(key, value)),
        }
    }
}

/// One schema for several. A choice of null is left out. Words are put together, e.g. two `const`
/// to one `enum`. Objects give all their members, of which only those that all require stay
/// required. Else the first is meant.
fn one_of(choices: Vec<Value>) -> Value {
    let is_null = |choice: &Value| choice.get("type").is_some_and(|it| it == "null");
    let mut choices: Vec<Value> = choices.into_iter().filter(|choice| !is_null(choice)).collect();
    if choices.len() < 2 {
        return choices.pop().unwrap_or_else(|| json!({}));
    }
    let words = |choice: &Value| match (choice.get("const"), choice.get("enum")) {
        (Some(word), _) => Some(vec![word.clone()]),
        (None, Some(Value::Array(words))) => Some(words.clone()),
        _ => None,
    };
    if let Some(words) = choices.iter().map(words).collect::<Option<Vec<_>>>() {
        let mut out = json!({ "enum": distinct(words.concat()) });
        if let Some(kind) = choices.swap_remove(0).get("type") {
            out["type"] = kind.clone();
        }
        return out;
    }
    if choices.iter().all(is_object) { any_object(choices) } else { choices.swap_remove(0) }
}

/// Each once, in the order in which they came.
fn distinct(mut all: Vec<Value>) -> Vec<Value> {
    let mut seen = HashSet::new();
    all.retain(|one| seen.insert(one.to_string()));
    all
}

/// Whether a schema is one of objects, as far as it says.
fn is_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(kind) => kind == "object",
        None => schema.get("properties").is_some() || schema.get("required").is_some(),
    }
}

fn any_object(choices: Vec<Value>) -> Value {
    let names = |choice: &Value| choice["required"].as_array().cloned().unwrap_or_default();
    let mut required = choices.first().map(names).unwrap_or_default();
    let mut out = Map::new();
    let mut members: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for mut choice in choices {
        let own: HashSet<String> = names(&choice).iter().map(Value::to_string).collect();
        required.retain(|name| own.contains(&name.to_string()));
        let Some(choice) = choice.as_object_mut() else { continue };
        choice.remove("required");
        if let Some(Value::Object(own)) = choice.remove("properties") {
            own.into_iter()
                .for_each(|(name, member)| members.entry(name).or_default().push(member));
        }
        out.append(choice);
    }
    let members: Map<String, Value> =
        members.into_iter().map(|(name, kinds)| (name, one_of(kinds))).collect();
    if !members.is_empty() {
        out.insert("properties".to_owned(), Value::Object(members));
    }
    if !required.is_empty() {
        out.insert("required".to_owned(), Value::Array(required));
    }
    Value::Object(out)
}

/// Of several types the first that is not nothing.
fn first_type(types: &[Value]) -> Value {
    types.iter().find(|kind| *kind != "null").cloned().unwrap_or_else(|| json!("null"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Value, expect: Value) {
        let entry = json!({ "name": "t", "inputSchema": schema, "x": 1.0 });
        let flat = flat(&Json::of(&entry), &mut MAX_BYTES_OF_ALL.clone()).expect("it is changed");
        let flat: Value = flat.to().expect("JSON");
        assert_eq!(flat, json!({ "name": "t", "inputSchema": expect, "x": 1.0 }));
    }

    #[test]
    fn references_and_combinations_are_written_out() {
        check(
            json!({
                "$defs": { "point": { "type": "object", "properties": { "x": { "type": "number" } } } },
                "type": "object",
                "properties": {
                    "at": { "$ref": "#/$defs/point", "description": "where" },
                    "name": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null },
                    "kind": { "oneOf": [{ "const": "a", "type": "string" }, { "enum": ["b", "c"] }] },
                    "size": { "type": ["null", "integer"] },
                    "many": { "type": "array", "items": { "$ref": "#/$defs/point" } },
                },
                "required": ["at"],
            }),
            json!({
                "type": "object",
                "properties": {
                    "at": { "type": "object", "properties": { "x": { "type": "number" } }, "description": "where" },
                    "name": { "type": "string", "default": null },
                    "kind": { "enum": ["a", "b", "c"], "type": "string" },
                    "size": { "type": "integer" },
                    "many": { "type": "array", "items": { "type": "object", "properties": { "x": { "type": "number" } } } },
                },
                "required": ["at"],
            }),
        );
    }

    #[test]
    fn a_choice_of_objects_is_one_object() {
        let object = |name: &str| json!({ "properties": { name: { "type": "string" } }, "required": ["id", name] });
        check(
            json!({ "anyOf": [object("a"), object("b")], "properties": { "id": {} } }),
            json!({
                "properties": { "a": { "type": "string" }, "b": { "type": "string" }, "id": {} },
                "required": ["id"],
                "type": "object",
            }),
        );
    }

    #[test]
    fn what_is_flat_stays_as_it_was_written_and_circles_come_to_an_end() {
        let plain = json!({ "name": "t", "inputSchema": { "type": "object", "properties": { "a": { "type": "string" } } } });
        assert!(flat(&Json::of(&plain), &mut MAX_BYTES_OF_ALL.clone()).is_none());
        let circle = json!({ "name": "t", "inputSchema": {
            "$defs": { "n": { "properties": { "l": { "$ref": "#/$defs/n" }, "r": { "$ref": "#/$defs/n" } } } },
            "$ref": "#/$defs/n",
        } });
        let flat = flat(&Json::of(&circle), &mut MAX_BYTES_OF_ALL.clone()).expect("it is changed");
        assert!(!flat.as_str().contains("$ref") && flat.as_str().len() < 1_000, "{flat:?}");
        // A schema that grows without bounds stays as it was written.
        let wide: Map<String, Value> = (0..200)
            .map(|n| (format!("m{n}"), json!({ "$ref": format!("#/$defs/{}", n % 2) })))
            .collect();
        let wide = json!({ "name": "t", "inputSchema": {
            "$defs": { "0": { "properties": wide.clone() }, "1": { "$ref": "#/$defs/0" }, "2": { "properties": wide.clone() } },
            "properties": { "a": { "properties": wide }, "b": { "$ref": "#/$defs/2" } },
        } });
        let long = super::flat(&Json::of(&wide), &mut MAX_BYTES_OF_ALL.clone())
            .map_or(0, |flat| flat.as_str().len());
        assert!(long < 2 * MAX_BYTES, "{long}");
        let long = "x".repeat(100_000);
        let repeated: Vec<Value> = (0..50).map(|_| json!({ "$ref": "#/$defs/long" })).collect();
        let long = json!({ "name": "t", "inputSchema": {
            "$defs": { "long": { "description": long } }, "prefixItems": repeated,
        } });
        let mut all = MAX_BYTES_OF_ALL;
        assert!(super::flat(&Json::of(&long), &mut all).is_none());
        assert_eq!(all, MAX_BYTES_OF_ALL - MAX_BYTES - LEAST_BYTES);
        let pairs: Map<String, Value> = (0..10)
            .map(|n| (format!("t{n}"), json!({ "properties": (0..10).map(|m| (format!("p{m}"), json!({ "$ref": format!("#/$defs/t{m}") }))).collect::<Map<_, _>>() })))
            .collect();
        let pairs = json!({ "name": "t", "inputSchema": { "$defs": pairs, "properties": { "a": { "$ref": "#/$defs/t0" } } } });
        let cut = super::flat(&Json::of(&pairs), &mut 0).expect("it is cut");
        assert!(!cut.as_str().contains("$ref"));
        let parts: Vec<Value> =
            (0..5_000).map(|n| json!({ "required": [n.to_string()] })).collect();
        let parts = json!({ "name": "t", "inputSchema": { "allOf": parts } });
        assert!(super::flat(&Json::of(&parts), &mut all).is_none(), "it would take long");
    }

    #[test]
    fn of_several_kinds_told_apart_by_a_word_each_can_be_given() {
        let kind = |word: &str, own: &str| {
            let members = json!({ "kind": { "const": word }, own: { "type": "string" } });
            json!({ "type": "object", "properties": members, "required": ["kind", own] })
        };
        check(
            json!({ "oneOf": [kind("create", "name"), kind("delete", "id")] }),
            json!({
                "type": "object",
                "properties": {
                    "kind": { "enum": ["create", "delete"] },
                    "name": { "type": "string" },
                    "id": { "type": "string" },
                },
                "required": ["kind"],
            }),
        );
        let named = json!({ "id": { "type": "string" }, "name": { "type": "string" } });
        check(
            json!({ "properties": named, "anyOf": [{ "required": ["id"] }, { "required": ["name"] }] }),
            json!({ "properties": named, "type": "object" }),
        );
    }

    #[test]
    fn what_all_hold_is_put_together_and_references_are_followed_everywhere() {
        check(
            json!({
                "$defs": { "base": {
                    "properties": { "a": { "type": "string" } }, "required": ["id", "name"],
                } },
                "allOf": [
                    { "$ref": "#/$defs/base" },
                    { "properties": { "a": { "minLength": 1 } }, "required": ["id", "x"] },
                ],
                "properties": {
                    "pair": { "type": "array", "prefixItems": [{ "$ref": "#/$defs/base" }] },
                    "$ref": { "enum": ["anyOf"] },
                },
            }),
            json!({
                "type": "object",
                "properties": {
                    "a": { "type": "string", "minLength": 1 },
                    "pair": { "type": "array", "prefixItems": [
                        { "properties": { "a": { "type": "string" } }, "required": ["id", "name"] },
                    ] },
                    "$ref": { "enum": ["anyOf"] },
                },
                "required": ["id", "name", "x"],
            }),
        );
    }
}
