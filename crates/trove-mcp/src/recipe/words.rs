//! Texts with `{variables}`: filled with the values of an item, or read out of a text.

use serde_json::{Map, Value};
use trove_core::template::{Bindings, UriTemplate};

/// The longest text with variables.
const MAX_TEXT_BYTES: usize = 4096;

/// A piece of a text with variables.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Variable(String),
}

/// Cuts a text at its variables. Braces around anything but a name are text.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        literal.push_str(before);
        let name = from[1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        let Some(name) = name else {
            literal.push('{');
            rest = &from[1..];
            continue;
        };
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        pieces.push(Piece::Variable(name.to_owned()));
        rest = &from[name.len() + 2..];
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    pieces
}

fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_');
    let fits = |sign: char| sign.is_ascii_alphanumeric() || "_.-|".contains(sign);
    begins && name.chars().all(fits)
}

/// Values by name. Scopes that came later hide those before.
#[derive(Clone, Default)]
pub(crate) struct Values<'a>(Vec<&'a Value>);

impl<'a> Values<'a> {
    pub(crate) fn of(scope: &'a Value) -> Values<'a> {
        Values(vec![scope])
    }

    /// These and the members of an item. An item that is no object is called `value`.
    pub(crate) fn and(&self, scope: &'a Value) -> Values<'a> {
        let mut scopes = self.0.clone();
        scopes.push(scope);
        Values(scopes)
    }

    /// The value of a name; `a.b` is the member `b` of `a`, and `a|b` is `b` where `a` is not.
    fn get(&self, name: &str) -> Option<&'a Value> {
        name.split('|').find_map(|name| self.get_one(name))
    }

    fn get_one(&self, name: &str) -> Option<&'a Value> {
        self.0.iter().rev().find_map(|scope| member(scope, name)).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        text_of(self.get(name)?)
    }
}

fn member<'a>(scope: &'a Value, name: &str) -> Option<&'a Value> {
    if !scope.is_object() && name == "value" {
        return Some(scope);
    }
    if let Some(value) = scope.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    let inner = match scope {
        Value::Array(items) => items.get(first.parse::<usize>().ok()?)?,
        _ => scope.get(first)?,
    };
    match inner {
        Value::Array(items) if !rest.contains('.') => items.get(rest.parse::<usize>().ok()?),
        _ => member(inner, rest),
    }
}

/// A value as text; `None` of an object or of nothing.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(text_of).collect();
            (!texts.is_empty()).then(|| texts.join("; "))
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// A text with variables, to be filled.
#[derive(Debug, Clone)]
pub struct Words(Vec<Piece>);

impl Words {
    /// Reads a text. Without variables it stands for itself.
    pub fn parse(text: &str) -> Result<Words, String> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("it has more than {MAX_TEXT_BYTES} bytes"));
        }
        Ok(Words(pieces(text)))
    }

    /// Its variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        variables(&self.0)
    }

    /// The text with those values that there are; `None` if no variable has one.
    pub(crate) fn filled(&self, values: &Values<'_>) -> Option<String> {
        let mut text = String::new();
        let mut has_value = self.variables().next().is_none();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Variable(name) => {
                    let Some(value) = values.text(name) else { continue };
                    has_value |= !value.trim().is_empty();
                    text.push_str(&value);
                }
            }
        }
        has_value.then(|| text.trim().trim_end_matches([',', ':']).to_owned())
    }
}

fn variables(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Variable(name) => Some(name.as_str()),
        Piece::Literal(_) => None,
    })
}

/// The variables in the texts of an argument.
pub(crate) fn variables_in(argument: &Value, found: &mut Vec<String>) {
    match argument {
        Value::String(text) => found.extend(variables(&pieces(text)).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| variables_in(item, found)),
        Value::Object(members) => members.values().for_each(|one| variables_in(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// An argument with its variables filled; `None` if one of them has no value. A text that is one
/// variable and nothing else becomes the value itself, be it a number.
pub(crate) fn fill(argument: &Value, values: &Values<'_>) -> Option<Value> {
    match argument {
        Value::String(text) => {
            let pieces = pieces(text);
            if let [Piece::Variable(name)] = &pieces[..] {
                return values.get(name).cloned();
            }
            let mut filled = String::new();
            for piece in &pieces {
                match piece {
                    Piece::Literal(literal) => filled.push_str(literal),
                    Piece::Variable(name) => filled.push_str(&values.text(name)?),
                }
            }
            Some(Value::String(filled))
        }
        Value::Array(items) => {
            let filled: Option<Vec<Value>> = items.iter().map(|item| fill(item, values)).collect();
            filled.map(Value::Array)
        }
        Value::Object(members) => {
            let filled: Option<Map<String, Value>> =
                members.iter().map(|(key, one)| Some((key.clone(), fill(one, values)?))).collect();
            filled.map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(argument.clone()),
    }
}

/// The URI of a template for these values; `None` if one that it needs is missing.
pub(crate) fn expand(template: &UriTemplate, values: &Values<'_>) -> Option<String> {
    let mut bindings = Bindings::new();
    for name in template.variables() {
        let Some(text) = values.text(name) else { continue };
        // Values are no URIs: `a%41.txt` is the name of a file, and not that of `aA.txt`.
        let is_reserved = template.as_str().contains(&format!("{{+{name}"));
        if is_reserved {
            let literal = text.replace('%', "%25").replace('#', "%23").replace('?', "%3F");
            bindings.bind(name, literal);
        } else {
            bindings.bind(name, text);
        }
    }
    template.expand(&bindings).ok()
}

/// The form of a line or of a piece of text, from which values are read.
/// Example: `[FILE] {name}`.
#[derive(Debug, Clone)]
pub struct Pattern(Vec<Piece>);

impl Pattern {
    /// Reads a form. Between two variables there must be text, or none could be told.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("it has more than {MAX_TEXT_BYTES} bytes"));
        }
        let pieces = pieces(text);
        if variables(&pieces).next().is_none() {
            return Err("it has no `{variable}`".to_owned());
        }
        let are_beside =
            |two: &[Piece]| two.iter().all(|piece| matches!(piece, Piece::Variable(_)));
        if pieces.windows(2).any(are_beside) {
            return Err("two variables stand side by side; put text between them".to_owned());
        }
        Ok(Pattern(pieces))
    }

    /// The values of a line that has the form from its beginning to its end.
    pub(crate) fn of_line(&self, line: &str) -> Option<Value> {
        let (found, rest) = self.read(line, true)?;
        (rest.is_empty() && is_full(&found)).then_some(found)
    }

    /// The values of every piece of the text that has the form.
    pub(crate) fn of_text(&self, text: &str, most: usize) -> Vec<Value> {
        let mut found = Vec::new();
        let mut rest = text;
        while found.len() < most && !rest.is_empty() {
            let start = match &self.0[0] {
                Piece::Literal(literal) => rest.find(literal.as_str()),
                Piece::Variable(_) => Some(0),
            };
            let Some(start) = start else { break };
            // If a later literal is nowhere behind this place, it is behind no other.
            let Some((values, after)) = self.read(&rest[start..], false) else { break };
            if is_full(&values) {
                found.push(values);
            }
            rest = after;
        }
        found
    }

    /// Reads the values of a text that begins with the form, and gives what stands behind it.
    /// The piece that opens the bracket in which the last value of a line stands.
    fn last_bracket(&self) -> Option<usize> {
        let [.., Piece::Literal(open), Piece::Variable(_), Piece::Literal(close)] = &self.0[..]
        else {
            return None;
        };
        let pairs = [('(', ')'), ('[', ']'), ('<', '>')];
        let are_pair = |(a, b): (char, char)| open.ends_with(a) && close.starts_with(b);
        pairs.into_iter().any(are_pair).then_some(self.0.len() - 3)
    }

    /// A value ends where the literal after it begins. A line may end with a value in brackets,
    /// whose last pair counts: `{name} ({type})` reads the name `a (b)` of `a (b) (text/csv)`.
    fn read<'t>(&self, text: &'t str, is_line: bool) -> Option<(Value, &'t str)> {
        let mut values = Map::new();
        let mut rest = text;
        let mut open: Option<&str> = None;
        let bracket = if is_line { self.last_bracket() } else { None };
        for (nth, piece) in self.0.iter().enumerate() {
            match (piece, open.take()) {
                (Piece::Literal(literal), None) => rest = rest.strip_prefix(literal.as_str())?,
                (Piece::Literal(literal), Some(name)) => {
                    let is_last = is_line && nth + 1 == self.0.len();
                    let is_from_end = is_last || bracket == Some(nth);
                    let end = if is_from_end { rest.rfind(literal) } else { rest.find(literal) }?;
                    values.insert(name.to_owned(), rest[..end].trim().into());
                    rest = &rest[end + literal.len()..];
                }
                (Piece::Variable(name), _) => open = Some(name),
            }
        }
        if let Some(name) = open {
            let end = if is_line { rest.len() } else { rest.find('\n').unwrap_or(rest.len()) };
            values.insert(name.to_owned(), rest[..end].trim().into());
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        Some((Value::Object(values), rest))
    }
}

/// Whether every value that was read has at least one sign.
fn is_full(values: &Value) -> bool {
    let has_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    values.as_object().is_some_and(|all| all.values().all(has_text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_has_the_form_or_it_has_not() {
        let of = |form: &str, line: &str| Pattern::parse(form).expect("a form").of_line(line);
        assert_eq!(of("[FILE] {name}", "[FILE] a b.md"), Some(json!({ "name": "a b.md" })));
        assert_eq!(of("[FILE] {name}", "[DIR] src"), None);
        assert_eq!(of("/{rest}", "/home/me"), Some(json!({ "rest": "home/me" })));
        assert_eq!(of("'{a}'", "'it's'"), Some(json!({ "a": "it's" })));
        let file = json!({ "id": "7", "name": "a (b).csv", "type": "text/csv" });
        assert_eq!(of("{id} {name} ({type})", "7 a (b).csv (text/csv)"), Some(file));
        assert!(Pattern::parse("{a}{b}").is_err() && Pattern::parse("plain").is_err());
    }

    #[test]
    fn pieces_are_found_anywhere_in_a_text() {
        let form = Pattern::parse("{'name': '{table}'}").expect("a form");
        let found = form.of_text("[{'name': 'users'}, {'name': 'orders'}]", 10);
        assert_eq!(found, [json!({ "table": "users" }), json!({ "table": "orders" })]);
        let log = "Commit: a1\nMessage: first\n\nmore\nCommit: b2\nMessage: second\n";
        let form = Pattern::parse("Commit: {sha}\nMessage: {subject}\n").expect("a form");
        let found = form.of_text(log, 10);
        assert_eq!(found[1], json!({ "sha": "b2", "subject": "second" }));
        assert_eq!(form.of_text(log, 1).len(), 1);
    }

    #[test]
    fn an_argument_without_its_value_is_left_out_and_a_number_stays_one() {
        let scope = json!({ "n": 5, "a": { "b": ["x"] }, "none": null });
        let values = Values::of(&scope);
        assert_eq!(fill(&json!("{n}"), &values), Some(json!(5)));
        assert_eq!(fill(&json!(["{a.b.0}"]), &values), Some(json!(["x"])));
        assert_eq!(fill(&json!("q {n} {{x}"), &values), None);
        assert_eq!(fill(&json!("{none}"), &values), None);
        let words = Words::parse("{a.b.0}, {city}").expect("words");
        assert_eq!(words.filled(&values).as_deref(), Some("x"));
    }
}
