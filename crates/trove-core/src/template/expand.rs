//! Writes a URI from a template and values (RFC 6570, section 3).

use super::parse::{NO_LIMIT, Operator, Parsed, Part, Variable, is_escape};
use super::{Binding, Bindings};

/// Why values give no URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// Values that no URI of the template can do without.
    #[error("no value for {}", names.join(", "))]
    Missing {
        /// The names, in the order of the template.
        names: Vec<String>,
    },
    /// The RFC forbids the first characters of a list.
    #[error("{name} takes one text, not a list")]
    PrefixOfList {
        /// The variable with the prefix modifier.
        name: String,
    },
}

pub(super) fn expand(parsed: &Parsed, values: &Bindings) -> Result<String, ExpandError> {
    let mut names: Vec<String> = Vec::new();
    for part in &parsed.parts {
        let Part::Expression { operator, variables, .. } = part else { continue };
        if operator.first().is_some() {
            continue;
        }
        for nth in variables.range() {
            let name = parsed.name(nth);
            if is_blank(values.get(name)) && names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
    }
    if names.is_empty() { render(parsed, values) } else { Err(ExpandError::Missing { names }) }
}

fn is_blank(value: Option<&Binding>) -> bool {
    match value {
        None => true,
        Some(Binding::Text(text)) => text.is_empty(),
        Some(Binding::List(list)) => list.iter().all(String::is_empty),
    }
}

/// The expansion by the letter of the RFC: a variable without a value leaves no trace.
pub(super) fn render(parsed: &Parsed, values: &Bindings) -> Result<String, ExpandError> {
    let mut out = String::with_capacity(parsed.text.len());
    for part in &parsed.parts {
        match part {
            // Literals stay as they are, also where the RFC would encode them: they
            // are compared byte for byte when a URI comes back.
            Part::Literal(span) => out.push_str(parsed.slice(*span)),
            Part::Expression { operator, variables, .. } => {
                let mut lead = operator.first();
                for variable in &parsed.variables[variables.range()] {
                    let name = parsed.slice(variable.name);
                    match values.get(name) {
                        None => continue,
                        Some(Binding::List(list)) if list.is_empty() => continue,
                        Some(value) => {
                            out.extend(lead.map(char::from));
                            render_value(&mut out, *operator, (name, variable), value)?;
                        }
                    }
                    lead = Some(operator.separator());
                }
            }
        }
    }
    Ok(out)
}

fn render_value(
    out: &mut String,
    operator: Operator,
    (name, variable): (&str, &Variable),
    value: &Binding,
) -> Result<(), ExpandError> {
    let list = match value {
        Binding::Text(text) => {
            push_name(out, operator, name, text.is_empty());
            push_encoded(out, operator, text, variable.max);
            return Ok(());
        }
        Binding::List(_) if variable.max != NO_LIMIT => {
            return Err(ExpandError::PrefixOfList { name: name.to_owned() });
        }
        Binding::List(list) => list,
    };
    for (nth, item) in list.iter().enumerate() {
        if nth > 0 {
            out.push(if variable.exploded { char::from(operator.separator()) } else { ',' });
        }
        if variable.exploded {
            push_name(out, operator, name, item.is_empty());
        } else if nth == 0 {
            push_name(out, operator, name, false);
        }
        push_encoded(out, operator, item, NO_LIMIT);
    }
    Ok(())
}

fn push_name(out: &mut String, operator: Operator, name: &str, value_is_empty: bool) {
    if operator.is_named() {
        out.push_str(name);
        // The RFC writes an empty path parameter `;name`, an empty query `?name=`.
        if !(value_is_empty && operator == Operator::Parameter) {
            out.push('=');
        }
    }
}

fn push_encoded(out: &mut String, operator: Operator, text: &str, max: u16) {
    let limit = if max == NO_LIMIT { usize::MAX } else { usize::from(max) };
    let mut rest = text;
    for _ in 0..limit {
        let Some(next) = rest.chars().next() else { return };
        let mut length = next.len_utf8();
        if operator.keeps_reserved() && is_escape(rest.as_bytes()) {
            length = 3;
            out.push_str(&rest[..length]);
        } else if is_unreserved(next) || operator.keeps_reserved() && is_reserved(next) {
            out.push(next);
        } else {
            for byte in next.encode_utf8(&mut [0; 4]).bytes() {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
        rest = &rest[length..];
    }
}

fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
}

fn is_reserved(character: char) -> bool {
    ":/?#[]@!$&'()*+,;=".contains(character)
}
