//! Whether a recipe fits the tools that a server really has.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};
use trove_core::resource::Named;

use super::{Recipe, Shipped, ToolCall, words};

/// The leave that a person gave a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// Nothing: it is one that waits for a person.
    None,
    /// It may call tools that say of themselves that they only read.
    ToRead,
    /// It may also call those that say nothing of that.
    ToCall,
}

impl Leave {
    /// The leave of a shipped recipe on which the user decided nothing.
    pub(super) fn unasked(shipped: &Shipped) -> Leave {
        if shipped.asks { Leave::None } else { Leave::ToRead }
    }
}

/// A tool as its server lists it now.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    /// Its word on whether it only reads; `None` if it says nothing.
    pub(super) only_reads: Option<bool>,
    /// The JSON types of its arguments, empty where the schema does not say.
    arguments: BTreeMap<String, Vec<String>>,
    required: Vec<String>,
    /// Whether it takes arguments that its schema does not name.
    takes_others: bool,
}

/// The tools of a server by name.
pub(super) type Tools = HashMap<String, Tool>;

/// Reads a list of tools.
pub(super) fn tools_of(listed: &[Named]) -> Tools {
    let read = |named: &Named| Some((named.name.to_string(), tool(named)?));
    listed.iter().filter_map(read).collect()
}

fn tool(named: &Named) -> Option<Tool> {
    let entry: Value = serde_json::from_str(named.entry.as_str()).ok()?;
    let schema = &entry["inputSchema"];
    let mut arguments = BTreeMap::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        arguments.insert(name.clone(), types_of(property));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter_map(Value::as_str).map(str::to_owned).collect();
    let hints = &entry["annotations"];
    let only_reads = match (hints["readOnlyHint"].as_bool(), hints["destructiveHint"].as_bool()) {
        (Some(true), Some(true)) => Some(false),
        (Some(says), _) => Some(says),
        // Some say of every POST that it destroys, searches among them.
        (None, _) => None,
    };
    let takes_others = match &schema["additionalProperties"] {
        Value::Bool(takes) => *takes,
        Value::Object(_) => true,
        _ => arguments.is_empty(),
    };
    Some(Tool { only_reads, arguments, required, takes_others })
}

fn types_of(property: &Value) -> Vec<String> {
    let of = |kind: &Value| match kind {
        Value::String(kind) => vec![kind.clone()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let mut types = of(&property["type"]);
    for branch in ["anyOf", "oneOf"] {
        for one in property[branch].as_array().into_iter().flatten() {
            types.extend(of(&one["type"]));
        }
    }
    types
}

/// The reasons why a recipe does not fit; none if it does.
pub(super) fn misfits(recipe: &Recipe, tools: &Tools, leave: Leave) -> Vec<String> {
    let mut misfits = Vec::new();
    if leave == Leave::None {
        misfits.push("nobody approved the recipe".to_owned());
    }
    for call in recipe.calls() {
        let name = &call.tool;
        let Some(tool) = tools.get(name) else {
            misfits.push(format!("the server has no tool `{name}`"));
            continue;
        };
        match tool.only_reads {
            Some(true) => {}
            Some(false) => misfits.push(format!("the tool `{name}` says that it changes things")),
            None if leave == Leave::ToCall => {}
            None => misfits.push(format!(
                "the tool `{name}` does not say that it only reads, and nobody approved the recipe"
            )),
        }
        misfits.extend(argument_misfits(call, tool, paged_by(recipe, call)));
    }
    misfits.sort();
    misfits.dedup();
    misfits
}

/// The argument by which the next page of a call is asked for.
fn paged_by<'r>(recipe: &'r Recipe, call: &ToolCall) -> Option<&'r str> {
    let list = recipe.lists.iter().find(|list| std::ptr::eq(&list.call, call))?;
    match list.next.as_ref()? {
        super::Next::From { to, .. } | super::Next::By { to, .. } => Some(to),
    }
}

fn argument_misfits(call: &ToolCall, tool: &Tool, paged_by: Option<&str>) -> Vec<String> {
    let name = &call.tool;
    let given = call.arguments.keys().map(String::as_str).chain(paged_by);
    let unknown = given.filter(|key| !tool.takes_others && !tool.arguments.contains_key(*key));
    let mut misfits: Vec<String> =
        unknown.map(|key| format!("the tool `{name}` takes no argument `{key}`")).collect();
    let missing = tool.required.iter().filter(|key| !call.arguments.contains_key(*key));
    misfits.extend(missing.map(|key| {
        format!("the tool `{name}` needs the argument `{key}`, which the recipe does not give")
    }));
    misfits
}

/// The arguments of a call with their variables filled, in the types that the tool takes.
pub(super) fn arguments_of(
    call: &ToolCall,
    tool: &Tool,
    values: &words::Values<'_>,
) -> Map<String, Value> {
    let mut arguments = Map::new();
    for (key, written) in &call.arguments {
        if let Some(value) = words::fill(written, values) {
            arguments.insert(key.clone(), typed(value, tool.arguments.get(key)));
        }
    }
    arguments
}

/// A value as one of these types, if it can be read as one.
pub(super) fn typed(value: Value, types: Option<&Vec<String>>) -> Value {
    let takes = |kind: &str| types.is_some_and(|types| types.iter().any(|one| one == kind));
    match &value {
        Value::String(text) if !takes("string") => {
            let number = text.parse::<i64>().ok().filter(|_| takes("integer") || takes("number"));
            let flag = text.parse::<bool>().ok().filter(|_| takes("boolean"));
            match (number, flag) {
                (Some(number), _) => number.into(),
                (None, Some(flag)) => flag.into(),
                (None, None) => value,
            }
        }
        Value::Number(number) if takes("string") && !takes("integer") && !takes("number") => {
            number.to_string().into()
        }
        _ => value,
    }
}

impl Tool {
    /// The types that an argument may have.
    pub(super) fn types(&self, argument: &str) -> Option<&Vec<String>> {
        self.arguments.get(argument)
    }

    /// The arguments it cannot do without.
    pub(super) fn needs(&self) -> &[String] {
        &self.required
    }

    /// The argument that takes the question, if the tool is plainly a search and needs no other.
    pub(super) fn question(&self, name: &str) -> Option<&str> {
        let is_called_so = name.to_ascii_lowercase().split(['_', '-', '.']).any(|w| w == "search");
        if self.only_reads != Some(true) || !is_called_so {
            return None;
        }
        let asks = |key: &&String| {
            ["query", "q", "search", "text", "term", "keywords"].contains(&key.as_str())
        };
        let question = self.arguments.keys().find(asks)?;
        self.required.iter().all(|key| key == question).then_some(question)
    }
}

#[cfg(test)]
mod tests {
    use trove_core::Json;

    use super::*;

    #[test]
    fn a_tool_is_plainly_a_search_if_its_name_its_word_and_its_arguments_say_so() {
        let of = |name: &str, hints: &str, required: &str| {
            let entry = format!(
                r#"{{"name":"{name}","annotations":{hints},"inputSchema":{{"properties":
                {{"query":{{"type":"string"}},"limit":{{"type":"integer"}}}},"required":{required}}}}}"#
            );
            let named = Named::new(Json::parse(entry).expect("JSON"), "name").expect("a tool");
            tool(&named).and_then(|tool| tool.question(name).map(str::to_owned))
        };
        let reads = r#"{"readOnlyHint":true}"#;
        assert_eq!(of("docs_search", reads, r#"["query"]"#).as_deref(), Some("query"));
        assert_eq!(of("docs_search", "{}", r#"["query"]"#), None);
        assert_eq!(of("docs_search", reads, r#"["query","limit"]"#), None);
        assert_eq!(of("research", reads, r#"["query"]"#), None);
        let both = r#"{"readOnlyHint":true,"destructiveHint":true}"#;
        assert_eq!(of("search", both, r#"["query"]"#), None);
    }

    #[test]
    fn values_take_the_type_that_the_tool_takes() {
        let types = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        assert_eq!(typed("12".into(), Some(&types(&["integer"]))), Value::from(12));
        assert_eq!(typed("12".into(), Some(&types(&["string"]))), Value::from("12"));
        assert_eq!(typed(12.into(), Some(&types(&["string"]))), Value::from("12"));
        assert_eq!(typed("x".into(), Some(&types(&["number"]))), Value::from("x"));
    }
}
