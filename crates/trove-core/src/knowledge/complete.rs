//! Offers values for the variables of our templates.

use serde_json::json;

use super::task::Task;
use crate::{
    json::{Json, Object},
    source::SourceError,
};

/// The most values one answer may offer.
const MAX_VALUES: usize = 100;

pub(super) fn complete(task: &Task, arguments: &Json) -> Result<Json, SourceError> {
    let bad = |what: &str| SourceError::Refused { code: -32602, message: what.into(), data: None };
    let object = arguments.object().ok_or_else(|| bad("params must be an object"))?;
    let argument = object.get("argument").and_then(Object::parse);
    let argument = argument.ok_or_else(|| bad("`argument` is missing"))?;
    let name = argument.get_str("name").ok_or_else(|| bad("`argument.name` is missing"))?;
    let value = argument.get_str("value").unwrap_or_default();
    let known = object.get("context").and_then(Object::parse);
    let known = known.as_ref().and_then(|known| known.get("arguments")).and_then(Object::parse);
    let chosen =
        |key: &str| known.as_ref().and_then(|known| Some(known.get_str(key)?.into_owned()));
    let view = task.view();
    let categories = || view.categories().map(|category| category.name().to_owned());
    let collections = || view.collections().map(|collection| collection.name().to_owned());
    let all: Vec<String> = match &*name {
        "id" => collections().collect(),
        "name" => categories().collect(),
        "context" => categories().chain(collections()).collect(),
        "docId" => documents(task, chosen("name").or_else(|| chosen("context")).as_deref()),
        _ => Vec::new(),
    };
    Ok(offer(all, &value))
}

fn documents(task: &Task, context: Option<&str>) -> Vec<String> {
    let view = task.view();
    let Some(context) = context else {
        let all = view.categories().flat_map(|category| category.shown(&task.visible));
        return all.map(|document| document.path().to_owned()).collect();
    };
    if let Some(category) = view.find_category(context) {
        let all = category.shown(&task.visible);
        return all.map(|document| document.path().to_owned()).collect();
    }
    let address = super::address::Address::Collection(context.to_owned());
    let found = view.address(&address).map(|selection| selection.documents).unwrap_or_default();
    found.iter().map(|document| document.path().to_owned()).collect()
}

/// Values that begin with what was typed, then those that hold it.
fn offer(mut all: Vec<String>, typed: &str) -> Json {
    all.sort();
    all.dedup();
    let typed = typed.to_lowercase();
    let (begin, rest): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|value| value.to_lowercase().starts_with(&typed));
    let hold = rest.into_iter().filter(|value| value.to_lowercase().contains(&typed));
    let mut values: Vec<String> = begin.into_iter().chain(hold).collect();
    let total = values.len();
    values.truncate(MAX_VALUES);
    Json::of(&json!({
        "completion": { "values": values, "total": total, "hasMore": total > MAX_VALUES },
    }))
}
