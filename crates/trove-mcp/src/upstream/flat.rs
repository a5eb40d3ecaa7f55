//! Schemas of tools for clients that understand neither references nor combinations.
//!
//! What comes out is wider or narrower than what went in, and easier: a server still gets
//! whatever the client sends, and says itself what is wrong with it.

use serde_json::{Map, Value, json};
use trove_core::json::Json;

/// How deep references and members are followed; deeper, anything goes.
const MAX_DEPTH: usize = 12;
/// How many values a schema may have when its references are written out.
const MAX_VALUES: usize = 10_000;

/// The members that combine schemas.
const ANY: [&str; 2] = ["anyOf", "oneOf"];
/// What nobody needs once references are written out.
const DEFINITIONS: [&str; 4] = ["$defs", "definitions", "$schema", "$id"];

/// The entry of a tool whose `inputSchema` is an object with plain members.
pub(super) fn flat(entry: &Json) -> Option<Json> {
    let mut object = entry.object()?;
    let schema: Value = serde_json::from_str(object.get("inputSchema")?).ok()?;
    let mut flattening = Flattening { root: &schema, left: MAX_VALUES };
    let Value::Object(mut flat) = flattening.of(&schema, 0) else { return None };
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
    left: usize,
}

impl Flattening<'_> {
    fn of(&mut self, schema: &Value, depth: usize) -> Value {
        let Value::Object(all) = schema else { return json!({}) };
        if depth > MAX_DEPTH || self.left == 0 {
            return json!({});
        }
        self.left -= 1;
        let mut out = Map::new();
        if let Some(meant) = all.get("$ref").and_then(Value::as_str).and_then(|it| self.find(it)) {
            add(&mut out, self.of(&meant.clone(), depth + 1));
        }
        for part in all.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            add(&mut out, self.of(part, depth + 1));
        }
        for key in ANY {
            if let Some(choices) = all.get(key).and_then(Value::as_array) {
                let choices = choices.iter().map(|choice| self.of(choice, depth + 1));
                add(&mut out, one_of(choices.collect()));
            }
        }
        for (key, value) in all {
            let is_combining =
                ["$ref", "allOf", "not", "if", "then", "else"].contains(&key.as_str());
            if is_combining || ANY.contains(&key.as_str()) || DEFINITIONS.contains(&key.as_str()) {
                continue;
            }
            let value = match (key.as_str(), value) {
                ("properties", Value::Object(members)) => {
                    let members =
                        members.iter().map(|(name, it)| (name.clone(), self.of(it, depth + 1)));
                    Value::Object(members.collect())
                }
                ("items" | "additionalProperties", Value::Object(_)) => self.of(value, depth + 1),
                ("type", Value::Array(types)) => first_type(types),
                (_, value) => value.clone(),
            };
            add(&mut out, json!({ key: value }));
        }
        Value::Object(out)
    }

    /// What a reference within the schema means.
    fn find(&self, reference: &str) -> Option<&Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

/// Adds what one schema says to another: members and what is required come together, for the
/// rest the last word counts.
fn add(into: &mut Map<String, Value>, more: Value) {
    let Value::Object(more) = more else { return };
    for (key, value) in more {
        match (key.as_str(), into.get_mut(&key), value) {
            ("properties", Some(Value::Object(known)), Value::Object(members)) => {
                known.extend(members);
            }
            ("required", Some(Value::Array(known)), Value::Array(names)) => {
                known.extend(names);
                known.dedup();
            }
            (_, _, value) => drop(into.insert(key, value)),
        }
    }
}

/// One schema for several: what may be null may be left out; words are put together; of objects
/// everything may be given, and what all of them require must be; else the first is meant.
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
        let first = choices.swap_remove(0);
        let mut out = json!({ "enum": words.concat() });
        if let Some(kind) = first.get("type") {
            out["type"] = kind.clone();
        }
        return out;
    }
    if choices.iter().all(|choice| choice.get("properties").is_some()) {
        return any_object(choices);
    }
    choices.swap_remove(0)
}

fn any_object(choices: Vec<Value>) -> Value {
    let names = |choice: &Value| choice["required"].as_array().cloned().unwrap_or_default();
    let mut required = choices.first().map(names).unwrap_or_default();
    let mut out = Map::new();
    for mut choice in choices {
        let own = names(&choice);
        required.retain(|name| own.contains(name));
        if let Some(choice) = choice.as_object_mut() {
            choice.remove("required");
        }
        add(&mut out, choice);
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
        let flat = flat(&Json::of(&entry)).expect("it is changed");
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
        assert!(flat(&Json::of(&plain)).is_none());
        let circle = json!({ "name": "t", "inputSchema": {
            "$defs": { "n": { "properties": { "l": { "$ref": "#/$defs/n" }, "r": { "$ref": "#/$defs/n" } } } },
            "$ref": "#/$defs/n",
        } });
        let flat = flat(&Json::of(&circle)).expect("it is changed");
        assert!(!flat.as_str().contains("$ref") && flat.as_str().len() < 1_000_000);
    }
}
