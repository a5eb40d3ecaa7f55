//! URIs that were meant for a template and do not fit it.

use std::cmp::Reverse;

use super::{
    example::{self, Help},
    failures::{bounded, shown},
    nearest,
};
use crate::{
    catalogue::{MAX_ATTEMPTS, MAX_MATCHED_BYTES, TemplateEntry},
    gateway::View,
    template::{Bindings, Fit, UriTemplate, VariableRule},
    tools::{Advice, Call, Class, Failure},
};

/// How many servers with one template are named.
const MAX_TWINS: usize = 20;

/// The failure that says what is wrong with the variables, if the URI was meant for a
/// template of the view.
pub(super) async fn explain(call: &Call<'_>, view: &View, uri: &str) -> Option<Failure> {
    if let Some(failure) = unreadable(view, uri) {
        return Some(failure);
    }
    let misfit = misfit(view, uri)?;
    let failure = match &misfit.fit {
        Fit::MissingVariable { names, given } => missing(call, view, &misfit, names, given).await,
        Fit::InvalidVariable { name, rule } => invalid(call, view, &misfit, name, *rule).await,
        Fit::Match(_) | Fit::No => return None,
    };
    let failure = naming_twins(failure, view, uri, &misfit);
    // It may also be a listed resource, misspelt.
    Some(match nearest::meant(view, uri) {
        Some(near) => failure.suggest(format!("Or did you mean {}?", shown(&near))),
        None => failure,
    })
}

/// Says so where several servers have the template, and the URI does not say whose is meant.
fn naming_twins(failure: Failure, view: &View, uri: &str, misfit: &Misfit<'_>) -> Failure {
    let text = &misfit.entry.template.text;
    let twins = view.templates().map(|(entry, _)| entry).filter(|it| it.template.text == *text);
    let names: Vec<String> =
        twins.take(MAX_TWINS).map(|entry| bounded(entry.public.as_str())).collect();
    if names.len() < 2 || view.split(uri).0.is_some() {
        return failure;
    }
    failure
        .suggest("Several servers have this template: fill one of `candidates`.")
        .with("candidates", names)
}

/// A template as it is listed whose braces we cannot read: the asker must fill them.
fn unreadable(view: &View, uri: &str) -> Option<Failure> {
    let (qualified, local) = view.split(uri);
    let (entry, _) = view.templates().find(|(entry, _)| {
        let is_meant =
            qualified.as_ref().is_none_or(|id| view.snapshot().owner(entry.member).id() == id);
        is_meant && entry.template.compiled.is_none() && entry.template.text.as_str() == local
    })?;
    let message = format!(
        "{} is a template whose braces Trove cannot read: they are not of RFC 6570.",
        shown(entry.public.as_str())
    );
    let action = "Put a value in the place of each pair of braces, as its description says, and ask for that URI.";
    Some(
        Failure::new(Class::InvalidTemplateVariable, message, action)
            .with("template", bounded(entry.public.as_str())),
    )
}

/// The template that the URI fits under the name it is listed by, with the values.
pub(super) fn fitting<'a>(view: &'a View, uri: &str) -> Option<(&'a TemplateEntry, Bindings)> {
    let (qualified, local) = view.split(uri);
    if local.len() > MAX_MATCHED_BYTES {
        return None;
    }
    let is_meant = |entry: &TemplateEntry| match &qualified {
        Some(id) => view.snapshot().owner(entry.member).id() == id,
        None => entry.public.as_str() == entry.template.text.as_str(),
    };
    let meant = view.templates().map(|(entry, _)| entry).filter(|entry| is_meant(entry));
    let near = meant.filter_map(|entry| Some((entry, entry.template.compiled.as_ref()?)));
    let near = near.filter(|(_, compiled)| local.starts_with(compiled.literal_prefix()));
    near.take(MAX_ATTEMPTS)
        .find_map(|(entry, compiled)| compiled.matches(local).map(|values| (entry, values)))
}

/// A template that was meant, and why it does not fit.
struct Misfit<'a> {
    entry: &'a TemplateEntry,
    fit: Fit,
}

/// The template whose literal text goes furthest along with the URI.
fn misfit<'a>(view: &'a View, uri: &str) -> Option<Misfit<'a>> {
    let (qualified, local) = view.split(uri);
    if local.len() > MAX_MATCHED_BYTES {
        return None;
    }
    let is_meant = |entry: &TemplateEntry| {
        qualified.as_ref().is_none_or(|id| view.snapshot().owner(entry.member).id() == id)
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
                given: Bindings::new(),
            },
            Fit::Match(values) => match values.without_empty(local) {
                (given, names) if !names.is_empty() => Fit::MissingVariable { names, given },
                (values, _) => Fit::Match(values),
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

async fn missing(
    call: &Call<'_>,
    view: &View,
    misfit: &Misfit<'_>,
    names: &[String],
    given: &Bindings,
) -> Failure {
    let template = misfit.entry.public.as_str();
    let list = names.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ");
    let first = names.first().map(String::as_str);
    let help = example::help(call, view, misfit.entry, given, first).await;
    let message = format!("{} needs a value for {list}.", shown(template));
    let action = match &help.example {
        Some(example) => format!("Fill the template, for example {}.", shown(example)),
        None => format!("Put a value in the place of {list} in {}.", shown(template)),
    };
    let failure = Failure::new(Class::MissingTemplateVariable, message, action)
        .with("missing_variables", names.to_vec());
    helped(failure, view, misfit, help)
}

async fn invalid(
    call: &Call<'_>,
    view: &View,
    misfit: &Misfit<'_>,
    name: &str,
    rule: VariableRule,
) -> Failure {
    let template = misfit.entry.public.as_str();
    let help = example::help(call, view, misfit.entry, &Bindings::new(), Some(name)).await;
    let message = format!("`{}` of {} {rule}.", shown(name), shown(template));
    let action = match &help.example {
        Some(example) => {
            format!("Give a value that obeys the rule, for example {}.", shown(example))
        }
        None => "Give a value that obeys the rule.".to_owned(),
    };
    let failure = Failure::new(Class::InvalidTemplateVariable, message, action)
        .with("variable", shown(name))
        .with("rule", rule.to_string());
    helped(failure, view, misfit, help)
}

/// A failure with the template and what helps to fill it.
fn helped(failure: Failure, view: &View, misfit: &Misfit<'_>, help: Help) -> Failure {
    let server = view.snapshot().owner(misfit.entry.member).id();
    let hint = match help.known.first() {
        Some(one) => {
            Advice::from(format!("Known values are listed in `known_values`, such as {one}."))
        }
        None => Advice::from(
            "No values are known: look for one in what get_resource lists with `server` = ",
        )
        .telling(format!("\"{server}\".")),
    };
    let failure = failure
        .suggest(hint)
        .with("template", bounded(misfit.entry.public.as_str()))
        .with("known_values", help.known);
    match help.example {
        Some(example) => failure.with("example", bounded(&example)),
        None => failure,
    }
}
