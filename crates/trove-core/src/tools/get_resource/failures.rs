//! Why a read gave nothing, in classes, each with what to do about it.

use serde_json::{Value, json};

use super::nearest;
use crate::{
    catalogue::{RoutedBy, TemplateEntry, naming},
    content::escape_line,
    gateway::{AskError, Reading, View},
    json::{Json, Object, items, string},
    source::{Ask, SourceError, SourceId},
    template::{Fit, VariableRule},
    tools::{Call, Class, Failure},
    uri::PublicUri,
};

/// All names are given when there are no more than this.
const MAX_VALID: usize = 50;
/// How many known values of a variable are shown.
const MAX_VALUES: usize = 20;
/// The longest text that is looked at for words that mean a failure.
const MAX_SAID: usize = 400;

const DISCOVER: &str = "Call get_resource without `uri` to list what there is.";
const RETRY: &str = "Try again in a few seconds; health_check tells how the server is.";

/// The failure behind an error of the Gateway.
pub(super) async fn explain(call: &Call<'_>, uri: &PublicUri, error: &AskError) -> Failure {
    let view = call.gateway.view(call.caller).await;
    match error {
        AskError::NotFound { .. } => unknown(call, &view, uri).await,
        AskError::Ambiguous { candidates, .. } => {
            let names: Vec<&str> = candidates.iter().map(PublicUri::as_str).collect();
            let action = format!("Ask for one of the candidates, such as {}.", names[0]);
            Failure::new(Class::AmbiguousUri, shown(&error.to_string()), action)
                .suggest("Or say which server is meant with `server`.")
                .with("candidates", names)
        }
        AskError::Forbidden { roles, .. } => {
            let action = "Read auth://status to see your own roles; ask whoever runs this gateway for the role.";
            Failure::new(Class::Unauthorized, shown(&error.to_string()), action)
                .suggest("What needs no role has requires_admin=false in the list that get_resource gives without `uri`.")
                .instruction("Do not try other spellings of this URI.")
                .with("required_roles", roles.clone())
        }
        AskError::Source { source_id, error, .. } => of_source(call, uri, source_id, error),
        AskError::BadArguments { what } => {
            Failure::new(Class::InvalidUri, shown(what), DISCOVER).with("total", total(&view))
        }
        AskError::UnknownName { .. } | AskError::BadCursor(_) | AskError::TooManyWatches { .. } => {
            Failure::new(Class::InternalError, shown(&error.to_string()), DISCOVER)
        }
    }
}

/// No resource and no template fits.
async fn unknown(call: &Call<'_>, view: &View, uri: &PublicUri) -> Failure {
    if let Some(misfit) = misfit(view, uri.as_str()) {
        return match misfit.fit {
            Fit::MissingVariable { ref names } => missing(call, &misfit, names).await,
            Fit::InvalidVariable { ref name, rule } => invalid(call, &misfit, name, rule).await,
            Fit::Match(_) | Fit::No => invalid_uri(view, uri),
        };
    }
    invalid_uri(view, uri)
}

fn invalid_uri(view: &View, uri: &PublicUri) -> Failure {
    let name = shown(uri.as_str());
    let total = total(view);
    let near = nearest::nearest(view, uri.as_str());
    let valid: Vec<String> = if total <= MAX_VALID {
        let resources = view.resources().map(|(entry, _)| entry.public.to_string());
        resources.chain(view.templates().map(|(entry, _)| entry.public.to_string())).collect()
    } else {
        near.clone()
    };
    let action = match near.first() {
        Some(nearest) => format!("Did you mean {}?", shown(nearest)),
        None => "No server lists anything yet; call health_check to see why.".to_owned(),
    };
    Failure::new(Class::InvalidUri, format!("No resource and no template fits {name}."), action)
        .suggest(DISCOVER)
        .with("valid_uris", valid)
        .with("total", total)
}

/// A server was named that does not exist.
pub(super) fn unknown_server(view: &View, server: &str) -> Failure {
    let known: Vec<&str> =
        view.snapshot().members().iter().map(|member| member.source.id().as_str()).collect();
    let message = format!("`server`: there is no server {:?}", shown(server));
    Failure::arguments(message).with("field", "server").with("allowed", known)
}

/// A template that was meant, and why it does not fit.
struct Misfit<'a> {
    entry: &'a TemplateEntry,
    fit: Fit,
}

/// The template whose literal text goes furthest along with the URI.
fn misfit<'a>(view: &'a View, uri: &str) -> Option<Misfit<'a>> {
    let snapshot = view.snapshot();
    let qualified = naming::split_qualified(uri);
    let mut best: Option<(usize, Misfit<'a>)> = None;
    for (entry, _) in view.templates() {
        let Some(compiled) = &entry.template.compiled else { continue };
        let local = match &qualified {
            Some((id, local)) if snapshot.member(id).is_some() => {
                if snapshot.owner(entry.member).id() != id {
                    continue;
                }
                local.as_str()
            }
            _ => uri,
        };
        let prefix = compiled.literal_prefix();
        let is_near = local.starts_with(prefix) || prefix.trim_end_matches('/') == local;
        if !is_near
            || !prefix.contains(':')
            || best.as_ref().is_some_and(|(n, _)| *n >= prefix.len())
        {
            continue;
        }
        let fit = match compiled.fit(local) {
            Fit::No if prefix.trim_end_matches('/') == local => Fit::MissingVariable {
                names: compiled.variables().map(ToOwned::to_owned).collect(),
            },
            fit => fit,
        };
        if !matches!(fit, Fit::No | Fit::Match(_)) {
            best = Some((prefix.len(), Misfit { entry, fit }));
        }
    }
    best.map(|(_, misfit)| misfit)
}

async fn missing(call: &Call<'_>, misfit: &Misfit<'_>, names: &[String]) -> Failure {
    let template = misfit.entry.public.as_str();
    let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let known = known_values(call, template, names.first()).await;
    let example = example(misfit.entry, known.first().map(String::as_str));
    Failure::new(
        Class::MissingTemplateVariable,
        format!("{} needs a value for {list}.", shown(template)),
        format!("Fill the template, for example {}.", shown(&example)),
    )
    .suggest(values_hint(&known))
    .with("template", template)
    .with("missing_variables", names.to_vec())
    .with("example", example)
    .with("known_values", known)
}

async fn invalid(call: &Call<'_>, misfit: &Misfit<'_>, name: &str, rule: VariableRule) -> Failure {
    let template = misfit.entry.public.as_str();
    let known = known_values(call, template, Some(&name.to_owned())).await;
    let example = example(misfit.entry, known.first().map(String::as_str));
    Failure::new(
        Class::InvalidTemplateVariable,
        format!("`{}` of {} {rule}.", shown(name), shown(template)),
        format!("Give a value that obeys the rule, for example {}.", shown(&example)),
    )
    .suggest(values_hint(&known))
    .with("template", template)
    .with("variable", shown(name))
    .with("rule", rule.to_string())
    .with("example", example)
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

/// The template with a value in every place.
fn example(entry: &TemplateEntry, first: Option<&str>) -> String {
    let mut text = entry.public.to_string();
    let names: Vec<String> =
        entry.template.compiled.iter().flat_map(|c| c.variables()).map(ToOwned::to_owned).collect();
    let mut values = crate::template::Bindings::new();
    for (n, name) in names.iter().enumerate() {
        let value =
            first.filter(|_| n == 0).map_or_else(|| format!("some-{name}"), ToOwned::to_owned);
        values.bind(name.clone(), value.as_str());
    }
    if let Some(filled) = entry.template.compiled.as_ref().and_then(|c| c.expand(&values).ok()) {
        let local = entry.template.text.as_str();
        text = match text.strip_suffix(local) {
            Some(qualifier) => format!("{qualifier}{filled}"),
            None => filled,
        };
    }
    text
}

/// What the server offers as values of a variable.
async fn known_values(call: &Call<'_>, template: &str, name: Option<&String>) -> Vec<String> {
    let Some(name) = name else { return Vec::new() };
    let arguments = Json::of(&json!({
        "ref": { "type": "ref/resource", "uri": template },
        "argument": { "name": name, "value": "" },
    }));
    let Ok(reply) = call.gateway.complete(call.caller, &arguments, Ask::default()).await else {
        return Vec::new();
    };
    let completion = reply.body.get("completion").and_then(|all| all.get("values"));
    let Some(values) = completion else { return Vec::new() };
    let values = items(values.as_str()).unwrap_or_default();
    values.into_iter().take(MAX_VALUES).filter_map(|v| string(v).map(|s| shown(&s))).collect()
}

/// The Source was asked and failed.
pub(super) fn of_source(
    call: &Call<'_>,
    uri: &PublicUri,
    source: &SourceId,
    error: &SourceError,
) -> Failure {
    let name = shown(uri.as_str());
    let retryable = error.is_retryable();
    let details = json!({ "source": source.as_str(), "cause": shown(&error.to_string()) });
    match meaning(error) {
        Meaning::NotFound => not_found(call, uri, source, error),
        Meaning::Forbidden => Failure::new(
            Class::Unauthorized,
            format!("{source} does not let this gateway read {name}."),
            "Check the credentials of that server in the configuration; auth://status shows who you are here.",
        )
        .suggest(DISCOVER)
        .details(details),
        Meaning::TooLarge(limit) => Failure::new(
            Class::TooLarge,
            format!("{name} is larger than the limit of {limit} bytes."),
            "Ask for a smaller resource, or raise the limit in the configuration.",
        )
        .with("limit", limit),
        Meaning::Busy(limit) => Failure::new(
            Class::Busy,
            format!("{limit} requests are already waiting for {source}."),
            RETRY,
        )
        .with("limit", limit)
        .retryable(true),
        Meaning::Failed => Failure::new(
            Class::ResourceExecutionError,
            format!("{source} could not give {name}."),
            if retryable { RETRY } else { "Call health_check to see what is wrong with the server; asking again will not help." },
        )
        .suggest(DISCOVER)
        .details(details)
        .caused_by(error)
        .retryable(retryable),
    }
}

fn not_found(call: &Call<'_>, uri: &PublicUri, source: &SourceId, error: &SourceError) -> Failure {
    let name = shown(uri.as_str());
    let snapshot = call.gateway.current();
    let local = naming::split_qualified(uri.as_str())
        .filter(|(id, _)| id == source)
        .map_or_else(|| uri.to_string(), |(_, local)| local.to_string());
    let fits = snapshot.templates().iter().find_map(|entry| {
        let is_owner = snapshot.owner(entry.member).id() == source;
        let compiled = entry.template.compiled.as_ref().filter(|_| is_owner)?;
        compiled.matches(&local).map(|values| (entry, values))
    });
    let failure = |message| {
        let action = "Check the value; get_resource without `uri` lists what there is.";
        Failure::new(Class::NotFound, message, action)
            .details(json!({ "source": source.as_str(), "cause": shown(&error.to_string()) }))
    };
    let Some((entry, values)) = fits else {
        return failure(format!("{source} has no {name}."));
    };
    let values: serde_json::Map<String, Value> = values
        .iter()
        .map(|(key, value)| (key.to_owned(), shown(&value.to_string()).into()))
        .collect();
    let told: Vec<String> = values
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let template = entry.public.as_str();
    failure(format!("{source} has nothing at {} for {}.", shown(template), told.join(", ")))
        .with("template", template)
        .with("values", values)
}

/// What an error of a Source means.
enum Meaning {
    NotFound,
    Forbidden,
    TooLarge(usize),
    Busy(usize),
    Failed,
}

fn meaning(error: &SourceError) -> Meaning {
    match error {
        SourceError::NotFound => Meaning::NotFound,
        SourceError::TooLarge { limit } => Meaning::TooLarge(*limit),
        SourceError::Busy { limit } => Meaning::Busy(*limit),
        SourceError::Refused { code, message, data } => {
            let text = message.to_ascii_lowercase();
            if *code == -32002 || says_not_found(&text) {
                return Meaning::NotFound;
            }
            // With a `uri` in its data this is how 2026-07-28 says that nothing is there.
            let names_uri = data.as_ref().is_some_and(|data| data.get_str("uri").is_some());
            if *code == -32602 && names_uri {
                return Meaning::NotFound;
            }
            if matches!(*code, 401 | 403 | -32003) || says_forbidden(&text) {
                return Meaning::Forbidden;
            }
            Meaning::Failed
        }
        SourceError::Unavailable { .. }
        | SourceError::Lost
        | SourceError::TimedOut { .. }
        | SourceError::NotOffered { .. }
        | SourceError::Malformed { .. } => Meaning::Failed,
    }
}

fn says_not_found(text: &str) -> bool {
    ["not found", "unknown resource", "no such", "does not exist", "doesn't exist", "enoent"]
        .iter()
        .any(|words| text.contains(words))
}

fn says_forbidden(text: &str) -> bool {
    ["unauthorized", "forbidden", "permission denied", "access denied", "not allowed", "eacces"]
        .iter()
        .any(|words| text.contains(words))
}

/// Some servers answer with success and an error for a text. Only what nobody lists is
/// doubted: the text of a listed resource is data whatever it says.
pub(super) fn reported_as_text(reading: &Reading) -> Option<String> {
    if reading.by == RoutedBy::Listing || reading.reply.body.as_bytes().len() > 2 * MAX_SAID {
        return None;
    }
    let contents = reading.reply.body.get("contents")?;
    let [one] = items(contents.as_str())?[..] else { return None };
    let content = Object::parse_valid(one)?;
    let text = content.get_str("text")?;
    let said = text.trim().to_ascii_lowercase();
    let is_error = said.starts_with("error")
        || said.starts_with("unknown resource")
        || said.starts_with("resource not found");
    (is_error && said.len() <= MAX_SAID && says_not_found(&said)).then(|| shown(&text))
}

fn total(view: &View) -> usize {
    view.resource_count() + view.template_count()
}

/// Words of somebody else, fit to be repeated.
fn shown(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SAID);
    let more = if end < text.len() { "…" } else { "" };
    format!("{}{more}", escape_line(&text[..end]))
}
