//! Reads the values of a template's variables out of a URI.
//!
//! [`Table`] says, for each step of the template and each byte of the URI, whether the steps from
//! here on can consume the rest. It is filled once from the end. The work is at most steps times
//! bytes for any template. The walk that then picks the values never has to turn back.

use std::ops::Range;

use super::parse::{MAX_VARIABLES, NO_LIMIT, Operator, Parsed, Part, Span, small};
use super::table::{Reading, Table, count_visits};
use super::units::{Class, Unit, decode};
use super::{Binding, Bindings, VariableRule};

/// The next part that the URI must hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// This text.
    Literal(Span),
    /// The sign before a value. An optional one may be absent; then so is all that
    /// depends on it, and matching goes on at `skip_to`.
    Lead { byte: u8, skip_to: Option<u16> },
    /// A value.
    Value { variable: u16, class: Class, shape: Shape },
    /// `name=value` of these variables, any of them in any order, between separators.
    Pairs { variables: Span, separator: u8, class: Class },
}

/// How the text of a [`Step::Value`] is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The separator of the items, if the value is a list.
    split: Option<u8>,
    /// Whether the value may be empty.
    pub(super) may_be_empty: bool,
    /// Whether to take as little as possible. Before an optional step the longest
    /// value would always swallow it: `{+path}{?q}` would never see a query.
    is_short: bool,
}

/// Turns the parts of a template into steps.
pub(super) fn compile(parsed: &Parsed) -> Box<[Step]> {
    let mut steps = Vec::new();
    for part in &parsed.parts {
        match *part {
            Part::Literal(span) => steps.push(Step::Literal(span)),
            Part::Expression { operator, variables, .. } if operator.is_named() => {
                compile_pairs(&mut steps, operator, variables);
            }
            Part::Expression { operator, variables, .. } => {
                compile_values(parsed, &mut steps, operator, variables);
            }
        }
    }
    for nth in 1..steps.len() {
        let is_optional = matches!(steps[nth], Step::Lead { skip_to: Some(_), .. });
        if let (Step::Value { shape, .. }, true) = (&mut steps[nth - 1], is_optional) {
            shape.is_short = true;
        }
    }
    steps.into()
}

fn compile_pairs(steps: &mut Vec<Step>, operator: Operator, more: Span) {
    // `{?a}{&b}` is one query to the servers that read it: `?b=1` alone is fine.
    if let (Operator::Continuation, Some(Step::Pairs { variables, separator: b'&', .. })) =
        (operator, steps.last_mut())
    {
        *variables = variables.through(more);
        return;
    }
    let class = if operator == Operator::Parameter { Class::Simple } else { Class::Query };
    let separator = operator.separator();
    let skip_to = Some(small(steps.len() + 2));
    steps.push(Step::Lead { byte: operator.first().unwrap_or(separator), skip_to });
    steps.push(Step::Pairs { variables: more, separator, class });
}

fn compile_values(parsed: &Parsed, steps: &mut Vec<Step>, operator: Operator, variables: Span) {
    let is_optional = operator.first().is_some();
    let leads = variables.len() - usize::from(!is_optional);
    let end = steps.len() + variables.len() + leads;
    let mut lead = operator.first();
    for nth in variables.range() {
        if let Some(byte) = lead {
            steps.push(Step::Lead { byte, skip_to: is_optional.then(|| small(end)) });
        }
        lead = Some(operator.separator());
        let exploded = parsed.variables[nth].exploded;
        let class = match operator {
            Operator::Reserved | Operator::Fragment => Class::Reserved,
            // Servers write `{path*}` for "the rest, with its slashes".
            Operator::Simple if exploded => Class::Reserved,
            Operator::Path if exploded => Class::Segments,
            _ => Class::Simple,
        };
        let is_list = exploded && matches!(operator, Operator::Path | Operator::Label);
        let shape = Shape {
            split: is_list.then(|| operator.separator()),
            may_be_empty: class == Class::Segments,
            is_short: false,
        };
        steps.push(Step::Value { variable: small(nth), class, shape });
    }
}

/// Why a URI that looks meant for a template is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    Missing { names: Vec<String>, given: Bindings },
    Invalid { name: String, rule: VariableRule },
}

/// A piece of the URI that belongs to a variable.
struct Bound {
    /// Which variable, or nothing if the URI names one that the template does not.
    variable: Option<usize>,
    /// Its undecoded value, or the unknown name.
    range: Range<usize>,
    /// The characters that the value may hold.
    class: Class,
    /// The separator of its items, if it is a list.
    split: Option<u8>,
    /// Whether the URI says the name.
    is_named: bool,
}

/// The values of the variables if the URI has the form of the template.
pub(super) fn read(
    parsed: &Parsed,
    steps: &[Step],
    uri: &str,
) -> Option<Result<Bindings, Refusal>> {
    if let Some(Step::Literal(last)) = steps.last()
        && !uri.ends_with(parsed.slice(*last))
    {
        return None;
    }
    let table = Table::fill(parsed, steps, uri, Reading::Exact)?;
    let mut bindings = Bindings::new();
    const { assert!(MAX_VARIABLES <= u64::BITS as usize) };
    let mut seen = 0_u64;
    for bound in walk(&table) {
        let nth = bound.variable?;
        let is_again = seen & (1 << nth) != 0;
        seen |= 1 << nth;
        if let Err(rule) = bind(parsed, uri, (&bound, nth, is_again), &mut bindings) {
            return Some(Err(Refusal::Invalid { name: parsed.name(nth).to_owned(), rule }));
        }
    }
    Some(Ok(bindings))
}

fn bind(
    parsed: &Parsed,
    uri: &str,
    (bound, nth, is_again): (&Bound, usize, bool),
    bindings: &mut Bindings,
) -> Result<(), VariableRule> {
    let variable = parsed.variables[nth];
    let raw = &uri[bound.range.clone()];
    let text = decode(raw).ok_or(VariableRule::Escape)?;
    if variable.max != NO_LIMIT && text.chars().count() > usize::from(variable.max) {
        return Err(VariableRule::AtMost(variable.max));
    }
    if makes_parent_segment(uri, bound, &text) {
        return Err(VariableRule::NoParentSegment);
    }
    let value = match bound.split {
        Some(separator) => {
            let items = raw.split(char::from(separator)).map(decode);
            Binding::List(items.collect::<Option<_>>().ok_or(VariableRule::Escape)?)
        }
        None if bound.is_named && variable.exploded => Binding::List(vec![text]),
        None => Binding::Text(text),
    };
    match (bindings.get_mut(parsed.name(nth)), value) {
        (None, value) => bindings.bind(parsed.name(nth), value),
        (Some(Binding::List(items)), Binding::List(more)) if is_again && variable.exploded => {
            items.extend(more);
        }
        (Some(_), _) if is_again => return Err(VariableRule::GivenOnce),
        (Some(known), value) if *known == value => {}
        // `{var:1}/{var}` shows the start of a value, then the whole of it.
        (Some(Binding::Text(known)), Binding::Text(text)) if is_cut(parsed, nth) => {
            if text.starts_with(known.as_str()) {
                *known = text;
            } else if !known.starts_with(&text) {
                return Err(VariableRule::SameEverywhere);
            }
        }
        (Some(_), _) => return Err(VariableRule::SameEverywhere),
    }
    Ok(())
}

/// Whether some expression shows only the start of this variable.
fn is_cut(parsed: &Parsed, nth: usize) -> bool {
    let name = parsed.name(nth);
    parsed.variables.iter().any(|other| other.max != NO_LIMIT && parsed.slice(other.name) == name)
}

/// Whether the value is, holds or completes a `..` segment, e.g. `.` in `.{x}`.
fn makes_parent_segment(uri: &str, bound: &Bound, text: &str) -> bool {
    // A server on Windows takes `\` for `/`.
    let climbs = |text: &str| text.split(['/', '\\']).any(|segment| segment == "..");
    if bound.class == Class::Query {
        return false;
    }
    // A name before the value keeps it from joining what stands around it.
    if climbs(text) || bound.is_named {
        return climbs(text);
    }
    let ends = ['/', '?', '#'];
    let start = uri[..bound.range.start].rfind(ends).map_or(0, |found| found + 1);
    let end = uri[bound.range.end..].find(ends).map_or(uri.len(), |found| bound.range.end + found);
    count_visits(end - start);
    decode(&uri[start..end]).is_some_and(|around| climbs(&around))
}

/// Why a URI that [`read`] does not take is wrong, if it looks meant for the template.
pub(super) fn diagnose(parsed: &Parsed, steps: &[Step], uri: &str) -> Option<Refusal> {
    let table = Table::fill(parsed, steps, uri, Reading::Loose);
    let Some(table) = table else { return left_in(parsed, uri) };
    let mut names: Vec<String> = Vec::new();
    let mut given = Bindings::new();
    for bound in walk(&table) {
        let raw = &uri[bound.range.clone()];
        let Some(nth) = bound.variable else {
            return Some(Refusal::Invalid { name: raw.to_owned(), rule: VariableRule::KnownName });
        };
        let name = parsed.name(nth);
        if let Some(rule) = broken_rule(&table.units, uri, &bound, parsed.variables[nth].max) {
            return Some(Refusal::Invalid { name: name.to_owned(), rule });
        }
        let may_be_empty = bound.is_named || bound.class == Class::Segments;
        if raw.is_empty() && !may_be_empty && names.iter().all(|known| known != name) {
            names.push(name.to_owned());
        }
        if let Some(text) = decode(raw).filter(|text| !text.is_empty()) {
            given.bind(name, text);
        }
    }
    if names.is_empty() { left_in(parsed, uri) } else { Some(Refusal::Missing { names, given }) }
}

/// Finds an expression that was copied into the URI, e.g. `contents{/path*}`.
fn left_in(parsed: &Parsed, uri: &str) -> Option<Refusal> {
    let Some(Part::Literal(prefix)) = parsed.parts.first() else { return None };
    let rest = uri.strip_prefix(parsed.slice(*prefix))?;
    parsed.parts.iter().find_map(|part| match part {
        Part::Expression { variables, source, .. } if rest.contains(parsed.slice(*source)) => {
            let name = parsed.name(variables.range().start).to_owned();
            Some(Refusal::Invalid { name, rule: VariableRule::Filled })
        }
        _ => None,
    })
}

fn broken_rule(units: &[Unit], uri: &str, bound: &Bound, max: u16) -> Option<VariableRule> {
    let raw = &uri[bound.range.clone()];
    if raw.contains(['{', '}']) {
        return Some(VariableRule::Filled);
    }
    let (mut at, mut count) = (bound.range.start, 0);
    while at < bound.range.end {
        let Some(end) = units[at].end(at, bound.class) else {
            return Some(match (uri.as_bytes()[at], bound.class) {
                (b'%', _) => VariableRule::Escape,
                (_, Class::Simple) => VariableRule::Simple,
                _ => VariableRule::Reserved,
            });
        };
        (at, count) = (end, count + 1);
    }
    (max != NO_LIMIT && count > usize::from(max)).then_some(VariableRule::AtMost(max))
}

/// Picks the values. The table says which choices lead to the end, so it cannot fail.
fn walk(table: &Table<'_>) -> Vec<Bound> {
    let mut bounds = Vec::new();
    let (mut nth, mut at) = (table.first, table.start);
    while let Some(step) = table.steps.get(nth) {
        let mut next = nth + 1;
        match *step {
            // Only a loose reading of a URI that stops short reaches past its end.
            Step::Literal(span) => at = (at + span.len()).min(table.uri.len()),
            Step::Lead { byte, skip_to } => {
                if table.byte(at) == Some(byte) && table.can(nth + 1, at + 1) {
                    at += 1;
                } else if let Some(skip_to) = skip_to {
                    next = usize::from(skip_to);
                }
            }
            Step::Value { variable, class, shape } => {
                // Without an end the URI stops here: a loose reading found it too short.
                let end = value_end(table, nth, at).unwrap_or(at);
                let variable = Some(usize::from(variable));
                let split = shape.split;
                bounds.push(Bound { variable, range: at..end, class, split, is_named: false });
                at = end;
            }
            Step::Pairs { .. } => at = walk_pairs(table, nth, at, &mut bounds),
        }
        nth = next;
    }
    bounds
}

/// Where the value that starts at `from` ends.
fn value_end(table: &Table<'_>, nth: usize, from: usize) -> Option<usize> {
    let Step::Value { shape, .. } = table.steps[nth] else { return None };
    let (class, may_be_empty, max) = table.extent(nth);
    let mut at = from;
    let mut best = (may_be_empty && table.can(nth + 1, at)).then_some(at);
    for _ in 0..if max == NO_LIMIT { usize::MAX } else { usize::from(max) } {
        if shape.is_short && best.is_some() {
            break;
        }
        let Some(end) = table.unit_end(at, class) else { break };
        at = end;
        if table.can(nth + 1, at) {
            best = Some(at);
        }
    }
    best
}

/// Binds the pairs that start at `at` and says where they end.
fn walk_pairs(table: &Table<'_>, nth: usize, mut at: usize, bounds: &mut Vec<Bound>) -> usize {
    let Step::Pairs { separator, .. } = table.steps[nth] else { return at };
    loop {
        at = walk_pair(table, nth, at, bounds);
        let is_more = table.byte(at) == Some(separator) && table.can(nth, at + 1);
        if !is_more {
            return at;
        }
        at += 1;
    }
}

fn walk_pair(table: &Table<'_>, nth: usize, at: usize, bounds: &mut Vec<Bound>) -> usize {
    let Step::Pairs { variables, class, .. } = table.steps[nth] else { return at };
    let mut push = |variable, range| {
        bounds.push(Bound { variable, range, class, split: None, is_named: true });
    };
    for variable in variables.range() {
        let Some(name_end) = table.name_end(at, variable) else { continue };
        let value = match table.byte(name_end) {
            Some(b'=') => table.pair_value_end(nth, name_end + 1).map(|end| name_end + 1..end),
            _ => table.pair_ends(nth, name_end).then_some(name_end..name_end),
        };
        if let Some(value) = value {
            let end = value.end;
            push(Some(variable), value);
            return end;
        }
    }
    // Nothing stands between two separators, which is harmless, or a loose reading let
    // an unknown name through.
    if table.reading == Reading::Exact {
        return at;
    }
    let end = table.pair_value_end(nth, at).unwrap_or(at);
    if end > at {
        let name_end = table.uri[at..end].find('=').map_or(end, |found| at + found);
        push(None, at..name_end);
    }
    end
}
