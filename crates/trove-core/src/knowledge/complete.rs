//! Offers values for the variables of our templates.

use serde_json::json;

use super::task::Task;
use crate::{
    failure::Class,
    json::{Json, Object},
    source::SourceError,
};

/// The most values one answer may offer.
const MAX_VALUES: usize = 100;

pub(super) fn complete(task: &Task, arguments: &Json) -> Result<Json, SourceError> {
    let bad =
        |what: &str| SourceError::Told { class: Class::InvalidArguments, message: what.into() };
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
        "docId" => match (chosen("name"), chosen("context")) {
            (Some(category), _) => of_category(task, &category),
            (None, Some(context)) => of_context(task, &context),
            (None, None) => all_documents(task),
        },
        _ => Vec::new(),
    };
    Ok(offer(all, &value))
}

fn all_documents(task: &Task) -> Vec<String> {
    let all = task.view().categories().flat_map(|category| category.shown(&task.visible));
    all.map(|document| document.path().to_owned()).collect()
}

fn of_category(task: &Task, name: &str) -> Vec<String> {
    let Some(category) = task.view().find_category(name) else { return Vec::new() };
    category.shown(&task.visible).map(|document| document.path().to_owned()).collect()
}

/// The documents of the category and of the collection of that name.
fn of_context(task: &Task, context: &str) -> Vec<String> {
    let address = super::address::Address::Collection(context.to_owned());
    let found = task.view().address(&address).map(|selection| selection.documents);
    let of_collection = found.unwrap_or_default();
    let mut all = of_category(task, context);
    all.extend(of_collection.iter().map(|document| document.path().to_owned()));
    all
}

/// Values that begin with the typed text, then those that hold it, e.g. `py`, `numpy` for `py`.
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
