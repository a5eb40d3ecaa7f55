//! Values that a template takes, and a URI of it that can be read.
//!
//! An example is given only if it exists: one that is listed, or one made of values that its
//! server offers and read once to see that it is there.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::failures::shown;
use crate::{
    catalogue::TemplateEntry,
    gateway::View,
    json::{Json, items, string},
    source::Ask,
    template::{Bindings, UriTemplate},
    tools::Call,
    uri::PublicUri,
};

/// How many known values of a variable are shown.
const MAX_VALUES: usize = 20;
/// How many of those that a server offers are looked at.
const MAX_OFFERED: usize = 100;
/// How many listed resources are tried against a template.
const MAX_LISTED: usize = 10_000;
/// Stands for the value of a variable that is not looked at.
const ANYTHING: &str = "x";
/// How long a server may take to offer values: the answer is an error, which must come soon.
const MAX_COMPLETING: Duration = Duration::from_secs(2);

/// Help to fill a template.
pub(super) struct Help {
    /// Values of the variable that is missing or wrong.
    pub(super) known: Vec<String>,
    /// A URI of the template that can be read.
    pub(super) example: Option<String>,
}

/// Finds values of `name`, and an example that keeps the values that are `given`.
pub(super) async fn help(
    call: &Call<'_>,
    view: &View,
    entry: &TemplateEntry,
    given: &Bindings,
    name: Option<&str>,
) -> Help {
    let until = Instant::now() + MAX_COMPLETING;
    let offered = timeout_at(until, offered(call, entry, given, name)).await;
    let mut known = offered.unwrap_or_default();
    let listed = listed(view, entry, given, name);
    if known.is_empty() {
        known.extend(listed.iter().filter_map(|listed| listed.value.clone()));
    }
    let example = match listed.into_iter().next() {
        Some(listed) => Some(listed.public),
        None => {
            let made = made(call, entry, given, name.zip(known.first()));
            timeout_at(until, made).await.ok().flatten()
        }
    };
    Help { known, example }
}

/// A listed resource that fits a template.
struct Listed {
    public: String,
    /// The value that it gives to the variable asked about.
    value: Option<String>,
}

/// Listed resources of the template's server that fit it with the given values.
fn listed(view: &View, entry: &TemplateEntry, given: &Bindings, name: Option<&str>) -> Vec<Listed> {
    let Some(compiled) = &entry.template.compiled else { return Vec::new() };
    let mut all = Vec::new();
    for (resource, is_closed) in view.resources().take(MAX_LISTED) {
        if is_closed || resource.member != entry.member {
            continue;
        }
        let Some(values) = compiled.matches(resource.local.as_str()) else { continue };
        let is_as_given = given.iter().all(|(name, value)| values.get(name) == Some(value));
        if is_as_given {
            let value =
                name.and_then(|name| values.get(name)).map(|value| shown(&value.to_string()));
            all.push(Listed { public: resource.public.to_string(), value });
        }
        if all.len() == MAX_VALUES {
            break;
        }
    }
    all
}

/// A URI made of values that the server offers, if it can be read.
async fn made(
    call: &Call<'_>,
    entry: &TemplateEntry,
    given: &Bindings,
    known: Option<(&str, &String)>,
) -> Option<String> {
    let compiled = entry.template.compiled.as_ref()?;
    let mut values = given.clone();
    if let Some((name, value)) = known {
        values.bind(name.to_owned(), value.clone());
    }
    for name in compiled.variables() {
        if values.get(name).is_some() {
            continue;
        }
        let offered = offered(call, entry, &values, Some(name)).await;
        if let Some(value) = offered.into_iter().next() {
            values.bind(name.to_owned(), value);
        }
    }
    let local = filled(compiled, &values)?;
    let public = match entry.public.as_str().strip_suffix(entry.template.text.as_str()) {
        Some(qualifier) => format!("{qualifier}{local}"),
        None => local,
    };
    let is_there = call.gateway.is_there(call.caller, &PublicUri::new(public.as_str())).await;
    is_there.then_some(public)
}

/// A URI of the template with these values, if it takes them.
fn filled(template: &UriTemplate, values: &Bindings) -> Option<String> {
    let filled = template.expand(values).ok()?;
    template.matches(&filled).map(|_| filled)
}

/// The values that the server offers for a variable: those that the template takes.
async fn offered(
    call: &Call<'_>,
    entry: &TemplateEntry,
    given: &Bindings,
    name: Option<&str>,
) -> Vec<String> {
    let (Some(name), Some(compiled)) = (name, &entry.template.compiled) else { return Vec::new() };
    let context: serde_json::Map<String, serde_json::Value> =
        given.iter().map(|(name, value)| (name.to_owned(), value.to_string().into())).collect();
    let mut arguments = json!({
        "ref": { "type": "ref/resource", "uri": entry.public.as_str() },
        "argument": { "name": name, "value": "" },
    });
    if !context.is_empty() {
        arguments["context"] = json!({ "arguments": context });
    }
    let completing =
        call.gateway.complete(call.caller, &Json::of(&arguments), Ask::default()).await;
    let Ok(reply) = completing else { return Vec::new() };
    let completion = reply.body.get("completion").and_then(|all| all.get("values"));
    let Some(completion) = completion else { return Vec::new() };
    let mut fitting = Vec::new();
    for item in items(completion.as_str()).unwrap_or_default().into_iter().take(MAX_OFFERED) {
        let Some(value) = string(item).map(|value| shown(&value)) else { continue };
        if takes(compiled, name, &value) {
            fitting.push(value);
        }
        if fitting.len() == MAX_VALUES {
            break;
        }
    }
    fitting
}

/// Whether a template takes a value in the place of a variable.
fn takes(template: &UriTemplate, name: &str, value: &str) -> bool {
    let mut values: Bindings = template.variables().map(|other| (other, ANYTHING)).collect();
    values.bind(name, value);
    !value.is_empty() && filled(template, &values).is_some()
}
