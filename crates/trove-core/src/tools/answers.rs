//! The answers of tools: the schemas of their structured content.
//!
//! `tools/list` says only that it is an object, which costs next to nothing; the documents of
//! the tools hold the whole. Answers and failures of a tool fit the same schema.

use std::fmt::Write as _;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::about::fields;

/// A part of the document of `get_resource`: its purpose, a template, and an error.
const BRIDGE: &str = r#"
## What it is for

It is a compatibility layer for clients whose model knows only tools: it gives what `resources/list`,
`resources/templates/list` and `resources/read` give. Where a client reads resources by itself, use those.

A template is filled before it is read. `info://tools/{name}` is one; filled:

```json
{"name": "get_resource", "arguments": {"uri": "info://tools/health_check"}}
```

A failure says what to do next. Without a value for `{name}`:

```json
{"name": "get_resource", "arguments": {"uri": "info://tools/"}}
```

```json
{"success": false, "error": "MissingTemplateVariable",
 "message": "info://tools/{name} needs a value for `name`.",
 "suggested_actions": ["Fill the template, for example info://tools/get_resource."],
 "example": "info://tools/get_resource", "retryable": false}
```
"#;

/// The form of a tool's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// The result is in `value`.
    Value,
    /// The result stands beside `success`.
    Members,
    /// Resources that were found, beside `success`.
    Found,
    /// Counts of resources, beside `success`.
    Summary,
    /// A resource, or a list of what there is.
    Resource,
    /// The answer of another tool, as it came: no schema is promised for it.
    Passed,
}

/// The members that every answer may have.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
struct Common {
    /// Whether it did what it was asked.
    success: bool,
    /// Words for the person.
    message: Option<String>,
    /// Words of Trove's own for the agent.
    instruction: Option<String>,
    /// Of a failure: its class, such as `NotFound`.
    error: Option<String>,
    /// Of a failure: its class in snake case, such as `not_found`.
    error_type: Option<String>,
    /// Of a failure: the server and its own words, unless they are withheld.
    details: Option<String>,
    /// Of a failure: what to do next. There is at least one, and each works when it is done as
    /// it is written.
    suggested_actions: Option<Vec<String>>,
    /// Of a failure: whether asking again later may help.
    retryable: Option<bool>,
    /// Of a failure: the kind of the error behind it, unless it is withheld.
    exception_type: Option<String>,
    /// Of a failure: the words of the error behind it, unless they are withheld.
    exception_message: Option<String>,
    /// Of a failure: the argument that is wrong.
    field: Option<String>,
}

/// The answer of a tool that says it in `value`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
struct InValue {
    /// The result.
    value: Option<Value>,
    #[serde(flatten)]
    common: Common,
}

/// Resources that were found.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
#[expect(non_snake_case, reason = "the members are called so")]
struct Found {
    /// The resources, the best first.
    resources: Option<Vec<Hit>>,
    /// How many there are, shown or not.
    totalFound: Option<u64>,
    /// Whether there are more than `totalFound`.
    totalIsAtLeast: Option<bool>,
    /// The servers whose resources were looked through.
    serversSearched: Option<Vec<String>>,
    /// The servers that do not answer now, each with the reason as `error`.
    errors: Option<Value>,
    /// Where the list goes on.
    cursor: Option<String>,
    /// How long it took, in milliseconds.
    searchTimeMs: Option<f64>,
    /// How many of the contents that can be searched are indexed, and how many are left out.
    coverage: Option<Value>,
    /// Whether the answer can be taken for all there is.
    complete: Option<bool>,
    /// Of a question with dates: how many resources without a date it left out.
    undatedLeftOut: Option<u64>,
    #[serde(flatten)]
    common: Common,
}

/// A resource that was found.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
#[expect(non_snake_case, reason = "the members are called so")]
struct Hit {
    /// The URI to read it by.
    uri: String,
    /// Its title, else its name.
    name: String,
    /// The server it is from.
    server: String,
    /// How well it fits, from 0 to 1.
    relevanceScore: f64,
    /// The reasons for which it is shown.
    why: Vec<String>,
    /// Its description by its server.
    description: Option<String>,
    /// Its type.
    mimeType: Option<String>,
    /// Its size in bytes.
    size: Option<u64>,
    /// When it last changed, as its server says.
    lastModified: Option<String>,
    /// When its text was read.
    asOf: Option<String>,
    /// A piece of its text.
    contentPreview: Option<String>,
    /// Whether that piece is older than it should be.
    previewStale: Option<bool>,
    /// The places that fit.
    highlights: Option<Value>,
    /// The words of the question that fit.
    matchedTerms: Option<Vec<String>>,
    /// Whether it fits only nearly.
    nearMiss: Option<bool>,
    /// Whether its server does not answer now.
    stale: Option<bool>,
}

/// Counts of resources.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
#[expect(non_snake_case, reason = "the members are called so")]
struct Summary {
    /// How many resources, templates and servers there are, and how many of each server and type.
    summary: Option<Value>,
    /// The groups, the largest first, each with its most useful resources.
    resourceGroups: Option<Value>,
    /// How many groups are left out.
    groupsLeftOut: Option<u64>,
    /// The servers without resources, each with the reason as `why`.
    serversWithoutResources: Option<Value>,
    #[serde(flatten)]
    common: Common,
}

/// A resource, or a list of what there is.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
struct Resource {
    /// The URI that was read, a template's variables filled; empty for a list.
    uri: Option<String>,
    /// The name people use: its title, else its name, else its URI.
    resource_name: Option<String>,
    /// The content: parsed JSON, a text, base64, a description of a binary, or a list of
    /// several contents. Of a list: entries by category.
    data: Option<Value>,
    /// When the content was fetched from its server, in UTC.
    timestamp: Option<String>,
    /// The type of the content.
    mime_type: Option<String>,
    /// The server it is from.
    server: Option<String>,
    /// The size of the whole content in bytes, not of the window.
    size: Option<u64>,
    /// More about the content.
    metadata: Option<Metadata>,
    /// Of a list: how many resources and templates there are.
    total: Option<u64>,
    /// Of a list: how many of them are shown.
    shown: Option<u64>,
    /// Of a list that does not show all: how many entries each category has.
    categories: Option<Value>,
    /// Of a list that does not show all: how many categories there are.
    category_count: Option<u64>,
    /// Of a list: where it goes on.
    cursor: Option<String>,
    /// Of a list: the server of each category that has one alone.
    servers: Option<Value>,
    /// Of a list: the servers that do not answer now, with the reason.
    errors: Option<Value>,
    /// Of a list: a word that servers cannot have known when they wrote its names.
    nonce: Option<String>,
    /// Of a failure: URIs that the caller may read, all or the nearest.
    valid_uris: Option<Vec<String>>,
    /// Of a failure: the qualified names of several that have the URI.
    candidates: Option<Vec<String>>,
    /// Of a failure: the template that was meant.
    template: Option<String>,
    /// Of a failure: the values that the URI gives to the template's variables.
    values: Option<Value>,
    /// Of a failure: the variables without a value.
    missing_variables: Option<Vec<String>>,
    /// Of a failure: the variable whose value is wrong.
    variable: Option<String>,
    /// Of a failure: the rule that the value breaks.
    rule: Option<String>,
    /// Of a failure: values that the variable takes.
    known_values: Option<Vec<String>>,
    /// Of a failure: a URI of the template that can be read.
    example: Option<String>,
    /// Of a failure: the roles of which one is needed.
    required_roles: Option<Vec<String>>,
    /// Of a failure: the limit that was met.
    limit: Option<u64>,
    /// Of a failure: what the argument may be.
    allowed: Option<Vec<String>>,
    #[serde(flatten)]
    common: Common,
}

/// More about a content.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
#[expect(non_snake_case, reason = "the member is called so")]
struct Metadata {
    /// When it last changed, as its server says.
    lastModified: Option<String>,
    /// The encoding it was decoded from, or `base64`.
    encoding: Option<String>,
    /// Whether it was kept from an earlier read.
    cached: bool,
    /// How long ago that was, in milliseconds.
    age_ms: Option<u64>,
    /// Whether it is older than it may be, given because its server failed.
    stale: Option<bool>,
    /// Whether there is more than `data` holds.
    truncated: bool,
    /// The `offset` at which it goes on.
    next_offset: Option<u64>,
    /// The SHA-256 of the whole content.
    sha256: Option<String>,
    /// Of a search with `grep`: how many lines match.
    matched_lines: Option<u64>,
    /// Of a search with `grep`: how many of them are shown.
    shown_lines: Option<u64>,
    /// Whether the content is a JSON by which the server says that it failed.
    reported_failure: Option<bool>,
    /// A remark for the reader of the content.
    note: Option<String>,
    /// A word that the server cannot have known when it wrote the content.
    nonce: String,
}

/// An entry of a list.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described here, written member by member")]
struct Entry {
    /// The URI to read it by, or the text of a template.
    uri: String,
    /// Its name.
    name: Option<String>,
    /// The description by its server.
    description: Option<String>,
    /// Whether it is a template, whose variables are to be filled.
    is_template: Option<bool>,
    /// The variables of a template.
    template_variables: Option<Vec<String>>,
    /// Whether it takes the rights of an administrator of every caller: a rule says so, its server
    /// refused it for lack of rights, or its description says so.
    requires_admin: Option<bool>,
    /// Whether this caller may read it; absent means yes.
    readable: Option<bool>,
    /// The category it stands under.
    category: Option<String>,
    /// The server it is from.
    server: Option<String>,
}

impl Answers {
    /// The whole schema.
    pub(super) fn schema(self) -> Value {
        match self {
            Answers::Value => of::<InValue>(),
            Answers::Members | Answers::Passed => of::<Common>(),
            Answers::Found => of::<Found>(),
            Answers::Summary => of::<Summary>(),
            Answers::Resource => of::<Resource>(),
        }
    }

    /// The part of it that `tools/list` shows.
    pub(super) fn short() -> Value {
        json!({ "type": "object" })
    }

    /// The members, explained.
    pub(super) fn table(self) -> String {
        fields::table(&self.schema())
    }

    /// The part of a tool's document about its answers.
    pub(super) fn document(self) -> String {
        let mut out = String::from("\n## Answer\n\n");
        let words = match self {
            Answers::Value => {
                "An object with `success`; what it found or did is in `value`. A failure has `success: false`.\n"
            }
            Answers::Members | Answers::Found | Answers::Summary => {
                "An object with `success`, and what it found beside it. A failure has `success: false`.\n"
            }
            Answers::Resource => {
                "An object. All members but `success` may be absent; a failure has `success: false`.\n"
            }
            Answers::Passed => {
                "The answer of the tool, as it came. A failure of Trove's own has `success: false`.\n"
            }
        };
        out.push_str(words);
        if !matches!(self, Answers::Value | Answers::Members | Answers::Passed) {
            let _ = write!(out, "\n{}", self.table());
        }
        if self == Answers::Resource {
            out.insert_str(0, BRIDGE);
            let entry = of::<Entry>();
            let _ = write!(
                out,
                "\nEach entry of a list, under its category in `data`:\n\n{}",
                fields::table(&entry)
            );
        }
        out
    }
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    without_nulls(&mut schema);
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("title");
        schema.remove("description");
    }
    schema
}

/// Members are absent, never null.
fn without_nulls(schema: &mut Value) {
    let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for member in members.values_mut() {
        if let Some(Value::Array(choices)) = member.get("anyOf").cloned()
            && let Some(Value::Object(choice)) = choices.into_iter().next()
            && let Some(object) = member.as_object_mut()
        {
            object.remove("anyOf");
            for (key, value) in choice {
                object.entry(key).or_insert(value);
            }
        }
        if let Some(Value::Array(kinds)) = member.get("type") {
            let kind = kinds.iter().find(|kind| **kind != "null").cloned();
            member["type"] = kind.unwrap_or_default();
        }
        without_nulls(member);
    }
}
