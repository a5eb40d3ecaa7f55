//! JSON with comments and trailing commas to a tree.

use jsonc_parser::{
    CollectOptions, ParseOptions, ast,
    common::{Range, Ranged},
    parse_to_ast,
};

use super::{Entry, Lines, Node, SyntaxError, TOP, Value};

pub(crate) fn parse(text: &str) -> Result<Node, Vec<SyntaxError>> {
    let lines = Lines::new(text);
    match parse_to_ast(text, &CollectOptions::default(), &jsonc()) {
        Ok(parsed) => Ok(match parsed.value {
            Some(value) => node(&value, &lines),
            None => Node { at: TOP, value: Value::Null },
        }),
        Err(error) => {
            let Range { start, .. } = error.range();
            let message = error.kind().to_string().to_lowercase();
            Err(vec![SyntaxError { at: lines.at(start), message }])
        }
    }
}

/// The JSON that VS Code and its kin accept in their settings; JSON5 is not among it.
pub(crate) fn jsonc() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn node(value: &ast::Value<'_>, lines: &Lines<'_>) -> Node {
    let at = lines.at(value.start());
    let value = match value {
        ast::Value::StringLit(text) => Value::Text(text.value.to_string()),
        ast::Value::NumberLit(number) => number_of(number.value),
        ast::Value::BooleanLit(flag) => Value::Bool(flag.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(list) => {
            Value::List(list.elements.iter().map(|item| node(item, lines)).collect())
        }
        ast::Value::Object(object) => {
            Value::Map(object.properties.iter().map(|prop| entry(prop, lines)).collect())
        }
    };
    Node { at, value }
}

fn entry(prop: &ast::ObjectProp<'_>, lines: &Lines<'_>) -> Entry {
    Entry {
        at: lines.at(prop.start()),
        key: prop.name.as_str().to_owned(),
        node: node(&prop.value, lines),
    }
}

fn number_of(text: &str) -> Value {
    match text.parse() {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::Float(text.parse().unwrap_or(f64::NAN)),
    }
}
