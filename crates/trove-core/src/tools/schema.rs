//! Flat schemas: one object of scalars and lists of strings, as every client takes it.
//!
//! Some clients refuse a whole request for one `$ref` or `anyOf`, so what the derive
//! makes of optional fields and enums is folded into plain types here.

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
    // A sentence in code is wrapped; on the wire it is one line.
    if let Some(Value::String(text)) = property.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    Value::Object(property)
}

/// The schema as clients see it, without marks of ours.
pub(super) fn published(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            for property in properties.values_mut().filter_map(Value::as_object_mut) {
                property.remove(TAKES_ANYTHING);
            }
        }
    }
    schema
}
