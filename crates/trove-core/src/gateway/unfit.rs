//! Empty and malformed names, and values of templates: no server is asked for them.
//!
//! Many servers answer such a name with anything, e.g. `note://` with the first note. A URI that
//! only misses literal text of a template may be a resource that its server does not list, and is
//! asked for. A name that its server lists is asked for as it is.

use std::cmp::Reverse;

use crate::{
    catalogue::{MAX_ATTEMPTS, MAX_MATCHED_BYTES, Route, RoutedBy, Snapshot},
    template::{Bindings, Fit, UriTemplate, VariableRule},
};

/// A value of one byte that every template takes.
const PROBE: &str = "x";

/// Why no server is asked for the URI behind a route, e.g. "`id` of note://{id} needs a value".
pub(super) fn refusal(snapshot: &Snapshot, route: &Route) -> Option<String> {
    if route.by == RoutedBy::Listing || route.source.is_builtin() {
        return None;
    }
    let (id, local) = (route.source.id(), route.local.as_str());
    // Only values that the URI names can be empty where a template fits.
    if route.by == RoutedBy::Template && !local.contains('=') {
        return None;
    }
    if snapshot.listed(id, local).is_some() {
        return None;
    }
    if local.len() > MAX_MATCHED_BYTES {
        return malformed(local);
    }
    if let Some((entry, values)) = snapshot.template_of(id, local) {
        let (_, empty) = values.without_empty(local);
        let name = empty.first()?;
        return Some(format!("`{name}` of {} needs a value", entry.public));
    }
    let mut near = Vec::new();
    for entry in snapshot.templates() {
        let Some(compiled) = &entry.template.compiled else { continue };
        let prefix = compiled.literal_prefix();
        let is_own = snapshot.owner(entry.member).id() == id;
        if is_own && prefix.contains(':') && local.starts_with(prefix) {
            near.push((entry, compiled));
        }
    }
    near.sort_by_key(|(_, compiled)| Reverse(compiled.literal_prefix().len()));
    for (entry, compiled) in near.into_iter().take(MAX_ATTEMPTS) {
        if let Some((name, why)) = wrong(compiled, local) {
            return Some(format!("`{name}` of {} {why}", entry.public));
        }
    }
    malformed(local)
}

/// Why no resource can have this name, if none can.
fn malformed(local: &str) -> Option<String> {
    // Names with blanks are usual; braces tell that a template was not filled.
    let is_odd = |c: &char| c.is_ascii_control() || matches!(c, '{' | '}');
    if let Some(odd) = local.chars().find(is_odd) {
        return Some(format!(
            "no URI holds {odd:?}; percent-encode it, or fill in what stands for a value"
        ));
    }
    let (scheme, rest) = local.split_once(':')?;
    let is_empty = rest.is_empty() || rest == "//";
    is_empty.then(|| format!("nothing stands behind `{scheme}:` in the URI"))
}

/// A variable whose value is empty or malformed, and how.
fn wrong(template: &UriTemplate, local: &str) -> Option<(String, String)> {
    if local == template.literal_prefix() {
        return Some((template.variables().next()?.to_owned(), "needs a value".to_owned()));
    }
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
