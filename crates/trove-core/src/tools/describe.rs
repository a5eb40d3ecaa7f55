//! The description of a tool: short in lists, in four parts in its document.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Answers, Effect, Example, ToolSpec, Toolset, schema};
use crate::json::Json;

/// How much a tool says about itself in `tools/list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Descriptions {
    /// The part that fits every client.
    #[default]
    Short,
    /// All four parts.
    Full,
}

/// The heading in a doc comment from which on only the document of a tool goes.
const DETAILS: &str = "# Details\n";

/// Clients cut descriptions at 2 KB.
pub(super) const MAX_SHORT: usize = 1500;

/// The description for `tools/list`.
fn words_listed(spec: &ToolSpec, schema: &Value, descriptions: Descriptions) -> String {
    match descriptions {
        Descriptions::Full => document_of(spec, schema),
        Descriptions::Short => {
            let words = words(schema);
            let end = words.find(DETAILS).unwrap_or(words.len());
            let mut text = words[..end].trim_end().to_owned();
            text.truncate(text.floor_char_boundary(MAX_SHORT));
            text
        }
    }
}

/// A tool as `tools/list` shows it unless the settings say otherwise, under its bare name.
pub fn listed(spec: &ToolSpec) -> Json {
    entry(spec, spec.name, &(spec.schema)(), Descriptions::Short)
}

/// A tool as `tools/list` shows it.
pub(super) fn entry(
    spec: &ToolSpec,
    name: &str,
    schema: &Value,
    descriptions: Descriptions,
) -> Json {
    let input = match descriptions {
        Descriptions::Full => schema::whole(schema),
        Descriptions::Short => schema::short(schema),
    };
    let mut entry = json!({
        "name": name,
        "description": words_listed(spec, schema, descriptions),
        "inputSchema": input,
    });
    // Clients refuse an answer of text alone where a schema is promised.
    if spec.answers != Answers::Passed {
        entry["outputSchema"] = match descriptions {
            Descriptions::Short => Answers::short(),
            Descriptions::Full => spec.answers.schema(),
        };
    }
    entry["annotations"] = annotations(spec, descriptions);
    Json::of(&entry)
}

/// The hints about a tool. A short list leaves out those that are as the protocol takes them to
/// be, and of a tool that reads those that are asked only of tools that change something.
fn annotations(spec: &ToolSpec, descriptions: Descriptions) -> Value {
    let is_closed = spec.toolset != Toolset::Resources;
    match (spec.effect, descriptions) {
        (Effect::Reads, Descriptions::Short) => json!({ "readOnlyHint": true }),
        (Effect::Writes, Descriptions::Short) => {
            json!({ "destructiveHint": false, "idempotentHint": true })
        }
        (Effect::PassesOn, _) => json!({
            "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
            "openWorldHint": true,
        }),
        (Effect::Destroys, _) | (_, Descriptions::Full) => json!({
            "readOnlyHint": spec.effect == Effect::Reads,
            "destructiveHint": spec.effect == Effect::Destroys,
            "idempotentHint": true,
            "openWorldHint": !is_closed,
        }),
    }
}

/// The first line of a tool's description.
pub(super) fn first_line(schema: &Value) -> String {
    words(schema).lines().next().unwrap_or_default().to_owned()
}

/// The whole document of a tool: description, schema, usage, examples.
pub fn document(spec: &ToolSpec) -> String {
    document_of(spec, &(spec.schema)())
}

fn document_of(spec: &ToolSpec, schema: &Value) -> String {
    let document = written(spec.name, (spec.toolset, spec.effect), schema, spec.examples);
    document + &spec.answers.document()
}

/// The document of a tool that is no row of the table.
pub(super) fn written(
    name: &str,
    (toolset, effect): (Toolset, Effect),
    schema: &Value,
    examples: &[Example],
) -> String {
    let words = words(schema).replace(DETAILS, "");
    let mut out = format!("# {name}\n\n{}\n", words.replace('\n', "\n\n"));
    let _ = write!(
        out,
        "\nToolset `{}`; it {} {}.\n",
        toolset.as_str(),
        effect.as_str(),
        match effect {
            Effect::Reads => "and changes nothing",
            Effect::Writes => "what it is given",
            Effect::Destroys => "what it names",
            Effect::PassesOn => "a call",
        },
    );
    out.push_str(&table(schema));
    let pretty = serde_json::to_string_pretty(&schema::whole(schema)).unwrap_or_default();
    let _ = write!(out, "\n## JSON Schema\n\n```json\n{pretty}\n```\n");
    let _ = write!(out, "\n## Usage\n\n```\n{name}({})\n```\n", signature(schema));
    out.push_str("\n## Examples\n");
    for Example { says, arguments } in examples {
        let _ = write!(
            out,
            "\n{says}\n\n```json\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n```\n",
        );
    }
    out
}

/// The doc comment, its wrapped lines joined into paragraphs.
fn words(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    schema::unwrapped(text)
}

/// The arguments as a table.
fn table(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    if properties.is_empty() {
        return "\nIt takes no arguments.\n".to_owned();
    }
    let mut out =
        "\n| argument | type | required | meaning | allowed |\n|---|---|---|---|---|\n".to_owned();
    for (name, property) in properties {
        let text = |key: &str| property.get(key).and_then(Value::as_str).unwrap_or_default();
        let required = if is_required(schema, name) { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "| `{name}` | {} | {required} | {} | {} |",
            text("type"),
            schema::on_one_line(text("description")).replace('|', "\\|"),
            allowed(property)
        );
    }
    out
}

fn allowed(property: &Value) -> String {
    let number = |key: &str| property.get(key).map(Value::to_string);
    if let Some(words) = property.get("enum").and_then(Value::as_array) {
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    }
}

fn signature(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let argument = |(name, property): (&String, &Value)| {
        let kind = property.get("type").and_then(Value::as_str).unwrap_or("any");
        let mark = if is_required(schema, name) { "" } else { "?" };
        format!("{name}{mark}: {kind}")
    };
    properties.iter().map(argument).collect::<Vec<_>>().join(", ")
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|all| all.iter().any(|one| one == name))
}
