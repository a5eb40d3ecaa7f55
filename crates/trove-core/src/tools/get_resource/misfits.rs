//! URIs that were meant for a template and do not fit it.

use std::{cmp::Reverse, time::Duration};

use serde_json::json;

use super::{
    failures::{bounded, shown},
    nearest,
};
use crate::{
    catalogue::{MAX_ATTEMPTS, MAX_MATCHED_BYTES, TemplateEntry, naming},
    gateway::View,
    json::{Json, items, string},
    source::Ask,
    template::{Bindings, Fit, UriTemplate, VariableRule},
    tools::{Call, Class, Failure},
};

/// How many known values of a variable are shown.
const MAX_VALUES: usize = 20;
/// How long a server may take to offer values: the answer is an error, and nobody waits
/// long for one.
const MAX_COMPLETING: Duration = Duration::from_secs(2);

/// The failure that says what is wrong with the variables, if the URI was meant for a
/// template of the view.
pub(super) async fn explain(call: &Call<'_>, view: &View, uri: &str) -> Option<Failure> {
    let misfit = misfit(view, uri)?;
    let failure = match &misfit.fit {
        Fit::MissingVariable { names } => missing(call, &misfit, names).await,
        Fit::InvalidVariable { name, rule } => invalid(call, &misfit, name, *rule).await,
        Fit::Match(_) | Fit::No => return None,
    };
    // It may also be a listed resource, misspelt.
    Some(match nearest::very_near(view, uri) {
        Some(near) => failure.suggest(format!("Or did you mean {}?", shown(&near))),
        None => failure,
    })
}

/// A template that was meant, and why it does not fit.
struct Misfit<'a> {
    entry: &'a TemplateEntry,
    fit: Fit,
}

/// The template whose literal text goes furthest along with the URI.
fn misfit<'a>(view: &'a View, uri: &str) -> Option<Misfit<'a>> {
    let snapshot = view.snapshot();
    let qualified = naming::split_qualified(uri).filter(|(id, _)| snapshot.member(id).is_some());
    let local = qualified.as_ref().map_or(uri, |(_, local)| local.as_str());
    if local.len() > MAX_MATCHED_BYTES {
        return None;
    }
    let is_meant = |entry: &TemplateEntry| match &qualified {
        Some((id, _)) => snapshot.owner(entry.member).id() == id,
        None => true,
    };
    let near = view.templates().filter_map(|(entry, _)| {
        let compiled = entry.template.compiled.as_ref().filter(|_| is_meant(entry))?;
        let prefix = compiled.literal_prefix();
        let is_near = prefix.contains(':') && (local.starts_with(prefix) || ends(prefix, local));
        is_near.then_some((entry, compiled))
    });
    let mut near: Vec<(&TemplateEntry, &UriTemplate)> = near.collect();
    near.sort_by_key(|(_, compiled)| Reverse(compiled.literal_prefix().len()));
    near.into_iter().take(MAX_ATTEMPTS).find_map(|(entry, compiled)| {
        let fit = match compiled.fit(local) {
            Fit::No if ends(compiled.literal_prefix(), local) => Fit::MissingVariable {
                names: compiled.variables().map(ToOwned::to_owned).collect(),
            },
            fit => fit,
        };
        (!matches!(fit, Fit::No | Fit::Match(_))).then_some(Misfit { entry, fit })
    })
}

/// Whether the URI ends where a template's literal text does, the last slash aside.
fn ends(prefix: &str, local: &str) -> bool {
    prefix.trim_end_matches('/') == local.trim_end_matches('/')
}

async fn missing(call: &Call<'_>, misfit: &Misfit<'_>, names: &[String]) -> Failure {
    let template = misfit.entry.public.as_str();
    let list = names.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ");
    let known = known_values(call, template, names.first()).await;
    let example = example(misfit.entry, names.first(), &known);
    Failure::new(
        Class::MissingTemplateVariable,
        format!("{} needs a value for {list}.", shown(template)),
        format!("Fill the template, for example {}.", shown(&example)),
    )
    .suggest(values_hint(&known))
    .with("template", bounded(template))
    .with("missing_variables", names.to_vec())
    .with("example", bounded(&example))
    .with("known_values", known)
}

async fn invalid(call: &Call<'_>, misfit: &Misfit<'_>, name: &str, rule: VariableRule) -> Failure {
    let template = misfit.entry.public.as_str();
    let name_of = name.to_owned();
    let known = known_values(call, template, Some(&name_of)).await;
    let example = example(misfit.entry, Some(&name_of), &known);
    Failure::new(
        Class::InvalidTemplateVariable,
        format!("`{}` of {} {rule}.", shown(name), shown(template)),
        format!("Give a value that obeys the rule, for example {}.", shown(&example)),
    )
    .suggest(values_hint(&known))
    .with("template", bounded(template))
    .with("variable", shown(name))
    .with("rule", rule.to_string())
    .with("example", bounded(&example))
    .with("known_values", known)
}

fn values_hint(known: &[String]) -> String {
    match known {
        [] => {
            "The server offers no list of values; look for one in other resources of it.".to_owned()
        }
        [one, ..] => format!("Known values are listed in `known_values`, such as {}.", shown(one)),
    }
}

/// The template with a value in every place; the known one where there is one.
fn example(entry: &TemplateEntry, variable: Option<&String>, known: &[String]) -> String {
    let Some(compiled) = &entry.template.compiled else { return entry.public.to_string() };
    let mut values = Bindings::new();
    for name in compiled.variables() {
        let value = known.first().filter(|_| variable.is_some_and(|variable| variable == name));
        let value = value.map_or_else(|| format!("some-{name}"), ToOwned::to_owned);
        values.bind(name.to_owned(), value.as_str());
    }
    let Ok(filled) = compiled.expand(&values) else { return entry.public.to_string() };
    match entry.public.as_str().strip_suffix(entry.template.text.as_str()) {
        Some(qualifier) => format!("{qualifier}{filled}"),
        None => filled,
    }
}

/// What the server offers as values of a variable, if it answers soon.
async fn known_values(call: &Call<'_>, template: &str, name: Option<&String>) -> Vec<String> {
    let Some(name) = name else { return Vec::new() };
    let arguments = Json::of(&json!({
        "ref": { "type": "ref/resource", "uri": template },
        "argument": { "name": name, "value": "" },
    }));
    let completing = call.gateway.complete(call.caller, &arguments, Ask::default());
    let Ok(Ok(reply)) = tokio::time::timeout(MAX_COMPLETING, completing).await else {
        return Vec::new();
    };
    let completion = reply.body.get("completion").and_then(|all| all.get("values"));
    let Some(values) = completion else { return Vec::new() };
    let values = items(values.as_str()).unwrap_or_default();
    values.into_iter().take(MAX_VALUES).filter_map(|v| string(v).map(|s| shown(&s))).collect()
}
