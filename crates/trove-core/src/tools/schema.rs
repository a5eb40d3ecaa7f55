//! Flat schemas: one object of scalars and lists of strings, as every client takes it.
//!
//! Some clients refuse a whole request for one `$ref` or `anyOf`. So the derived schemas of
//! optional fields and enums are folded into plain types here.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Marks a property that takes any JSON though its schema says `string`.
pub(super) const TAKES_ANYTHING: &str = "x-takes-anything";

/// The schema of a tool's arguments.
pub(super) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let whole = settings.into_generator().into_root_schema_for::<T>().to_value();
    let properties = whole.get("properties").and_then(Value::as_object).cloned();
    let properties: Map<String, Value> = properties
        .unwrap_or_default()
        .into_iter()
        .map(|(name, property)| (name, flat(property)))
        .collect();
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    if let Some(description) = whole.get("description") {
        schema.insert("description".into(), description.clone());
    }
    schema.insert("properties".into(), Value::Object(properties));
    if let Some(required) = whole.get("required") {
        schema.insert("required".into(), required.clone());
    }
    schema.insert("additionalProperties".into(), json!(false));
    Value::Object(schema)
}

/// One property without unions, nulls and formats.
fn flat(property: Value) -> Value {
    let Value::Object(mut property) = property else { return property };
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(choices)) = property.remove(key) else { continue };
        let (constants, others): (Vec<Value>, Vec<Value>) =
            choices.into_iter().partition(|choice| choice.get("const").is_some());
        if !constants.is_empty() {
            let words = constants.iter().filter_map(|choice| choice.get("const").cloned());
            property.insert("enum".into(), words.collect());
            property.insert("type".into(), json!("string"));
        }
        for other in others.into_iter().filter(|other| other.get("type") != Some(&json!("null"))) {
            let Value::Object(other) = flat(other) else { continue };
            for (key, value) in other {
                // The field's own words stand above those of its type.
                property.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(types)) = property.get("type") {
        let plain = types.iter().find(|t| **t != json!("null")).cloned();
        property.insert("type".into(), plain.unwrap_or(json!("string")));
    }
    if let Some(Value::Array(words)) = property.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(word) = property.remove("const") {
        property.insert("enum".into(), json!([word]));
        property.entry("type").or_insert(json!("string"));
    }
    for key in ["format", "title", "$schema"] {
        property.remove(key);
    }
    let is_empty = |default: &Value| default.is_null() || *default == json!([]);
    if property.get("default").is_some_and(is_empty) {
        property.remove("default");
    }
    if let Some(Value::String(text)) = property.get_mut("description") {
        *text = unwrapped(text);
    }
    Value::Object(property)
}

/// A text as it is written in code, with one line for each paragraph.
pub(super) fn unwrapped(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n")
}

/// The paragraphs of a description as sentences on one line, e.g. `First. Second`.
pub(super) fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    for paragraph in text.lines() {
        if !line.is_empty() {
            line.push_str(if line.ends_with('.') { " " } else { ". " });
        }
        line.push_str(paragraph);
    }
    line
}

/// The whole schema as documents show it, without marks of ours.
pub(super) fn whole(schema: &Value) -> Value {
    published(schema, |property| {
        if let Some(Value::String(text)) = property.get_mut("description") {
            *text = on_one_line(text);
        }
    })
}

/// Rules of a property that a list of tools leaves out: they are checked with each call, and the
/// document of the tool tells them. A default stands in the description.
const LEFT_OUT: [&str; 5] = ["default", "maxLength", "minLength", "maxItems", "minItems"];
/// An upper bound from here on is one that no honest call meets.
const MAX_TOLD: u64 = 1_000_000;

/// The schema as lists of tools show it: the first line of each description, and no more than
/// it takes to call the tool.
pub(super) fn short(schema: &Value) -> Value {
    let mut schema = published(schema, |property| {
        if let Some(Value::String(text)) = property.get_mut("description") {
            text.truncate(text.find('\n').unwrap_or(text.len()));
        }
        property.retain(|key, value| {
            let is_far = key == "maximum" && value.as_u64().is_some_and(|most| most >= MAX_TOLD);
            !is_far && !LEFT_OUT.contains(&key.as_str())
        });
    });
    if let Some(object) = schema.as_object_mut() {
        object.remove("additionalProperties");
        let takes_none = object.get("properties") == Some(&json!({}));
        if takes_none {
            object.remove("properties");
        }
    }
    schema
}

/// The schema without marks of ours, each property as `shape` leaves it.
fn published(schema: &Value, shape: impl Fn(&mut Map<String, Value>)) -> Value {
    let mut schema = schema.clone();
    let Some(object) = schema.as_object_mut() else { return schema };
    object.remove("description");
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.remove(TAKES_ANYTHING);
            shape(property);
        }
    }
    schema
}
