//! Why a read gave nothing, in classes, each with what to do about it.

use serde_json::Value;

use super::{faults::fault_of, misfits, nearest, remedy};
use crate::{
    catalogue::{MAX_MATCHED_BYTES, TemplateEntry, naming},
    content::escape_line,
    gateway::{AskError, View},
    source::{SourceError, SourceId, meaning::Meaning},
    status::State,
    template::Bindings,
    tools::{Advice, Call, Class, Failure},
    uri::PublicUri,
};

/// All names are given when there are no more than this.
const MAX_VALID: usize = 50;
/// The most bytes of names in one answer, and of one name.
const MAX_VALID_BYTES: usize = 16 * 1024;
const MAX_NAME_BYTES: usize = 2048;
/// How much of a server's words is repeated.
const MAX_SAID: usize = 400;

const DISCOVER: &str = "Call get_resource without `uri` to list what there is.";
const UNLISTED: &str =
    "Not every server has been listed yet: try again in a few seconds; health_check names them.";
const NOTHING_YET: &str = "No server lists anything yet; call health_check to see why.";
const RETRY: &str = "Try again in a few seconds; health_check tells how the server is.";
const NOT_IN_USE: &str = "Call health_check to see what the server waits for.";

/// The failure behind an error of the Gateway.
pub(super) async fn explain(call: &Call<'_>, uri: &PublicUri, error: &AskError) -> Failure {
    let view = call.gateway.view(call.caller).await;
    match error {
        AskError::NotFound { .. } => unknown(call, &view, uri).await,
        AskError::Ambiguous { candidates, .. } => ambiguous(error, candidates),
        AskError::Forbidden { roles, .. } => {
            let action = "Read auth://status to see your own roles; ask whoever runs this gateway for the role.";
            Failure::new(Class::Unauthorized, shown(&error.to_string()), action)
                .suggest("Call get_resource without `uri` to list what there is: what you may not read is marked `readable`: false.")
                .instruction("Do not try other spellings of this URI.")
                .with("required_roles", roles.clone())
        }
        AskError::Source { source_id, error, .. } => {
            of_source(call, &view, uri, source_id, error).await
        }
        AskError::BadArguments { what } => {
            match misfits::explain(call, &view, uri.as_str()).await {
                Some(failure) => failure,
                None => malformed(&view, uri.as_str(), what),
            }
        }
        AskError::UnknownName { .. } | AskError::BadCursor(_) | AskError::TooManyWatches { .. } => {
            Failure::from(error.clone()).suggest(DISCOVER)
        }
    }
}

fn ambiguous(error: &AskError, candidates: &[PublicUri]) -> Failure {
    let names: Vec<&str> = candidates.iter().map(PublicUri::as_str).collect();
    let first = names.first().copied().unwrap_or_default();
    let action = format!("Ask for one of the candidates, such as {}.", shown(first));
    Failure::new(Class::AmbiguousUri, shown(&error.to_string()), action)
        .suggest("Or say which server is meant with `server`.")
        .with("candidates", names)
}

/// The URI cannot be a name of anything.
pub(super) fn malformed(view: &View, uri: &str, what: &str) -> Failure {
    wrong(view, uri, shown(what), nearest::nearest(view, uri))
}

/// A wrong URI, and which might have been meant.
fn wrong(view: &View, uri: &str, message: String, near: Vec<String>) -> Failure {
    let failure = match nearest::meant(view, uri) {
        Some(meant) => {
            let action = Advice::meant(&shown(&meant));
            Failure::new(Class::InvalidUri, message, action).suggest(DISCOVER)
        }
        None if near.is_empty() => Failure::new(Class::InvalidUri, message, NOTHING_YET),
        None => Failure::new(Class::InvalidUri, message, DISCOVER),
    };
    failure.with("valid_uris", valid(view, near)).with("total", total(view))
}

/// No resource and no template fits.
async fn unknown(call: &Call<'_>, view: &View, uri: &PublicUri) -> Failure {
    if let Some((entry, values)) = misfits::fitting(view, uri.as_str()) {
        return nothing_there(view.snapshot().owner(entry.member).id(), entry, &values);
    }
    match misfits::explain(call, view, uri.as_str()).await {
        Some(failure) => failure,
        None => {
            let alike = if total(view) > MAX_VALID {
                call.gateway.alike(call.caller, uri.as_str(), nearest::SHOWN / 2).await
            } else {
                // All of them are told anyway.
                Vec::new()
            };
            hopeful(call, invalid_uri(view, uri, &alike))
        }
    }
}

fn invalid_uri(view: &View, uri: &PublicUri, alike: &[PublicUri]) -> Failure {
    let near = nearest::joined(nearest::nearest(view, uri.as_str()), alike);
    let name = shown(uri.as_str());
    let message = if uri.as_str().len() > MAX_MATCHED_BYTES {
        format!(
            "No resource is {name}, and no template takes a URI of more than {MAX_MATCHED_BYTES} bytes."
        )
    } else {
        format!("No resource and no template fits {name}.")
    };
    wrong(view, uri.as_str(), message, near)
}

/// Where some server has not said yet what it has, asking again may help.
fn hopeful(call: &Call<'_>, failure: Failure) -> Failure {
    if call.gateway.awaits_lists() {
        return failure.suggest(UNLISTED).retryable(true);
    }
    let down = call.gateway.down(call.caller);
    let Some((id, _)) = down.first() else { return failure };
    let failure = failure.suggest(
        Advice::from("It may be of a server that does not answer now, such as ")
            .telling(id.as_str())
            .and("; health_check names them."),
    );
    let status = call.gateway.board().of(id);
    match status.and_then(|status| status.last_error) {
        Some(outage) => failure.suggest(remedy::of_server(call.gateway, id, Some(&outage))),
        None => failure,
    }
}

/// All names that the caller may read if they are few, else the nearest.
fn valid(view: &View, near: Vec<String>) -> Vec<String> {
    let names: Vec<String> = if total(view) <= MAX_VALID {
        let resources = view.resources().filter(|(_, is_closed)| !is_closed);
        let templates = view.templates().filter(|(_, is_closed)| !is_closed);
        let resources = resources.map(|(entry, _)| entry.public.to_string());
        resources.chain(templates.map(|(entry, _)| entry.public.to_string())).collect()
    } else {
        near
    };
    let mut room = MAX_VALID_BYTES;
    let fits = |name: &String| {
        let is_fit = name.len() <= MAX_NAME_BYTES.min(room);
        room -= if is_fit { name.len() } else { 0 };
        is_fit
    };
    names.into_iter().filter(fits).collect()
}

/// A server was named that is known and not in use yet: nothing can be read from it.
pub(super) fn not_in_use(call: &Call<'_>, view: &View, server: Option<&str>) -> Option<Failure> {
    let server = server.and_then(SourceId::of_anyone)?;
    if view.snapshot().member(&server).is_some() {
        return None;
    }
    let down = call.gateway.down(call.caller);
    let (id, why) = down.iter().find(|(id, _)| *id == server)?;
    let status = call.gateway.board().of(id);
    let is_starting = status.as_ref().is_some_and(|status| status.state == State::Connecting);
    let outage = status.and_then(|status| status.last_error);
    let action = if is_starting {
        Advice::from(RETRY)
    } else {
        remedy::of_server(call.gateway, id, outage.as_ref())
    };
    let message = format!("the server {id} is not in use yet: {}", shown(why));
    let failure = Failure::new(Class::ResourceExecutionError, message, action);
    Some(failure.suggest(NOT_IN_USE).with("field", "server").retryable(is_starting))
}

/// The Source was asked and failed.
pub(super) async fn of_source(
    call: &Call<'_>,
    view: &View,
    uri: &PublicUri,
    source: &SourceId,
    error: &SourceError,
) -> Failure {
    if let Some(failure) = remedy::awaited(call.gateway, uri, source, error) {
        return failure.by_source(error);
    }
    let failure = of_words(call, view, uri, source, error).await.by_source(error);
    match remedy::examination(call.gateway, source, error) {
        Some(advice) => failure.suggest(advice),
        None => failure,
    }
}

/// A failure as the error of its Source means it.
async fn of_words(
    call: &Call<'_>,
    view: &View,
    uri: &PublicUri,
    source: &SourceId,
    error: &SourceError,
) -> Failure {
    let name = shown(uri.as_str());
    let local = local_name(uri, source);
    let is_unlisted = view.snapshot().listed(source, &local).is_none();
    match error.meaning(Some(&local)) {
        Meaning::NotFound => not_found(call, view, uri, source, error).await,
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
        // An unlisted URI that a server calls wrong is no name of anything it has.
        Meaning::BadArgument if is_unlisted && error.blames_arguments() => {
            not_found(call, view, uri, source, error).await
        }
        // A value that breaks its template's rules is refused for that, whether or not the server
        // agrees.
        Meaning::BadArgument | Meaning::OwnFault | Meaning::Hopeless | Meaning::Unknown
            if is_unlisted =>
        {
            match misfits::explain(call, view, uri.as_str()).await {
                Some(failure) => failure.details(details(source, error)),
                None => failed(uri, source, error),
            }
        }
        _ => failed(uri, source, error),
    }
}

/// The Source's name for it.
fn local_name(uri: &PublicUri, source: &SourceId) -> String {
    naming::split_qualified(uri.as_str())
        .filter(|(id, _)| id == source)
        .map_or_else(|| uri.to_string(), |(_, local)| local.to_string())
}

/// The Source failed: told as its words mean it, as far as that is known.
pub(super) fn failed(uri: &PublicUri, source: &SourceId, error: &SourceError) -> Failure {
    let meaning = error.meaning(Some(&local_name(uri, source)));
    let fault = fault_of(meaning);
    let message = format!("{source} {} {}.", fault.says, shown(uri.as_str()));
    let mut failure = Failure::new(meaning.class(), message, fault.action);
    if let Some(then) = fault.then {
        failure = failure.suggest(then);
    }
    failure.suggest(DISCOVER).details(details(source, error)).retryable(meaning.may_pass())
}

/// The Source asks something first, and the client's era has no words for that.
pub(super) fn asks(uri: &PublicUri, source: &SourceId) -> Failure {
    let name = shown(uri.as_str());
    let message = format!(
        "{source} asks a question before it gives {name}, and this client's version of the protocol cannot pass it on."
    );
    let action = "Tell the user that this resource can be read with a client of 2026-07-28 only.";
    Failure::new(Class::ResourceExecutionError, message, action).suggest(DISCOVER)
}

/// The server and its own words, e.g. `wiki: the disk is full`.
pub(super) fn details(source: &SourceId, error: &SourceError) -> String {
    format!("{source}: {}", shown(&error.to_string()))
}

/// The Source says that it is not there. Where no template promised it, the URI is wrong.
async fn not_found(
    call: &Call<'_>,
    view: &View,
    uri: &PublicUri,
    source: &SourceId,
    error: &SourceError,
) -> Failure {
    let local = local_name(uri, source);
    let details = details(source, error);
    if let Some((entry, values)) = view.template_of(source, &local) {
        return nothing_there(source, entry, &values).details(details);
    }
    if view.owned(source, &local).is_none() {
        return unknown(call, view, uri).await.details(details);
    }
    let message = format!("{source} lists {} but has it no more.", shown(uri.as_str()));
    Failure::new(Class::NotFound, message, DISCOVER).details(details)
}

fn nothing_there(source: &SourceId, entry: &TemplateEntry, values: &Bindings) -> Failure {
    let values: serde_json::Map<String, Value> = values
        .iter()
        .map(|(key, value)| (key.to_owned(), shown(&value.to_string()).into()))
        .collect();
    let told: Vec<String> = values
        .iter()
        .map(|(key, value)| format!("{}={}", shown(key), value.as_str().unwrap_or_default()))
        .collect();
    let template = entry.public.as_str();
    let values_given = if told.is_empty() { "no value at all".to_owned() } else { told.join(", ") };
    let message = format!("{source} has nothing at {} for {values_given}.", shown(template));
    let action = "Check the value; get_resource without `uri` lists what there is.";
    Failure::new(Class::NotFound, message, action)
        .with("template", bounded(template))
        .with("values", values)
}

/// How many resources and templates the caller may read.
fn total(view: &View) -> usize {
    let resources = view.resources().filter(|(_, is_closed)| !is_closed).count();
    resources + view.templates().filter(|(_, is_closed)| !is_closed).count()
}

/// Foreign words, fit to be repeated in a sentence.
pub(super) fn shown(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SAID);
    let more = if end < text.len() { "…" } else { "" };
    format!("{}{more}", escape_line(&text[..end]))
}

/// A name as it is, unless it is too long to be of use.
pub(super) fn bounded(name: &str) -> String {
    if name.len() <= MAX_NAME_BYTES { name.to_owned() } else { shown(name) }
}
