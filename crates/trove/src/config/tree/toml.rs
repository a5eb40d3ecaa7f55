//! TOML to a tree, with every syntax error found.

use toml::{
    Spanned,
    de::{DeInteger, DeTable, DeValue},
};

use super::{Entry, Lines, Node, SyntaxError, TOP, Value};

pub(crate) fn parse(text: &str) -> Result<Node, Vec<SyntaxError>> {
    let lines = Lines::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node { at: TOP, value: map(table.get_ref(), &lines) });
    }
    let place = |error: &toml::de::Error| error.span().map_or(TOP, |span| lines.at(span.start));
    let error = |e: &toml::de::Error| SyntaxError { at: place(e), message: e.message().into() };
    let mut errors: Vec<SyntaxError> = errors.iter().map(error).collect();
    errors.sort_by_key(|error| error.at);
    Err(errors)
}

fn map(table: &DeTable<'_>, lines: &Lines<'_>) -> Value {
    let mut entries: Vec<(usize, Entry)> = Vec::new();
    for (key, value) in table {
        let at = lines.at(key.span().start);
        let entry = Entry { at, key: key.get_ref().to_string(), node: node(value, lines) };
        entries.push((key.span().start, entry));
    }
    entries.sort_by_key(|(start, _)| *start);
    Value::Map(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn node(value: &Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Node {
    let at = lines.at(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => integer(number),
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(list) => Value::List(list.iter().map(|item| node(item, lines)).collect()),
        DeValue::Table(table) => map(table, lines),
    };
    Node { at, value }
}

/// A number beyond 64 bits, e.g. `99999999999999999999`, is kept as a fraction, which no key of
/// ours accepts.
fn integer(number: &DeInteger<'_>) -> Value {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::Float(f64::INFINITY),
    }
}
