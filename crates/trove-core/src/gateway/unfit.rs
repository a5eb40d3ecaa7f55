//! Empty and malformed values of templates: no server is asked for them.
//!
//! Many servers answer such a name with anything, e.g. `note://` with the first note. A URI that
//! only misses literal text of a template may be a resource that its server does not list, and is
//! asked for.

use std::cmp::Reverse;

use crate::{
    catalogue::{MAX_ATTEMPTS, MAX_MATCHED_BYTES, Route, RoutedBy, Snapshot},
    template::{Bindings, Fit, UriTemplate, VariableRule},
};

/// The fault of a template that was copied as it is, and that nobody can fill by rules.
const UNREADABLE: &str = "is a template whose braces Trove cannot read: they are not of RFC 6570";
/// A value of one byte that every template takes.
const PROBE: &str = "x";

/// Why no server is asked for the URI behind a route, e.g. "`id` of note://{id} needs a value".
pub(super) fn refusal(snapshot: &Snapshot, route: &Route) -> Option<String> {
    if matches!(route.by, RoutedBy::Listing | RoutedBy::Template) || route.source.is_builtin() {
        return None;
    }
    let (id, local) = (route.source.id(), route.local.as_str());
    let is_known = || snapshot.listed(id, local).is_some();
    if local.len() > MAX_MATCHED_BYTES || is_known() || snapshot.template_of(id, local).is_some() {
        return None;
    }
    let mut near = Vec::new();
    for entry in snapshot.templates() {
        if snapshot.owner(entry.member).id() != id {
            continue;
        }
        let Some(compiled) = &entry.template.compiled else {
            if entry.template.text.as_str() == local {
                return Some(format!("{} {UNREADABLE}", entry.public));
            }
            continue;
        };
        let prefix = compiled.literal_prefix();
        if prefix.contains(':') && local.starts_with(prefix) {
            near.push((entry, compiled));
        }
    }
    near.sort_by_key(|(_, compiled)| Reverse(compiled.literal_prefix().len()));
    for (entry, compiled) in near.into_iter().take(MAX_ATTEMPTS) {
        if let Some((name, why)) = wrong(compiled, local) {
            return Some(format!("`{name}` of {} {why}", entry.public));
        }
    }
    None
}

/// A variable whose value is empty or malformed, and how.
fn wrong(template: &UriTemplate, local: &str) -> Option<(String, String)> {
    match template.fit(local) {
        Fit::MissingVariable { names, given }
            if is_empty(template, local, &names, given.clone()) =>
        {
            Some((names.first()?.clone(), "needs a value".to_owned()))
        }
        Fit::InvalidVariable { name, rule } if is_malformed(rule, local) => {
            Some((name, rule.to_string()))
        }
        _ => None,
    }
}

/// Whether the URI is the whole template with nothing in the places of `names`.
fn is_empty(template: &UriTemplate, local: &str, names: &[String], given: Bindings) -> bool {
    let mut values = given;
    for name in names {
        values.bind(name.clone(), PROBE.to_owned());
    }
    let whole = template.expand(&values);
    whole.is_ok_and(|whole| whole.len() == local.len() + names.len() * PROBE.len())
}

/// Whether a value breaks its rule in a way that no server can mean: a server may take characters
/// that its template does not, such as a slash.
fn is_malformed(rule: VariableRule, local: &str) -> bool {
    match rule {
        VariableRule::Filled
        | VariableRule::Escape
        | VariableRule::NoParentSegment
        | VariableRule::AtMost(_) => true,
        VariableRule::Simple | VariableRule::Reserved => local.chars().any(is_in_no_uri),
        VariableRule::SameEverywhere | VariableRule::GivenOnce | VariableRule::KnownName => false,
    }
}

fn is_in_no_uri(c: char) -> bool {
    c.is_ascii_control() || " \"<>\\^`{|}".contains(c)
}
