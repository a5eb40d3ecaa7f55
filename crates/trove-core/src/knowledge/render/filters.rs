//! The filters for values in templates: none makes them much larger uncounted.

use minijinja::{Environment, Error, ErrorKind, Value, filters, functions, tests};

/// The longest text that a filter gives.
const MAX_TEXT: usize = 1 << 20;

pub(super) fn install(env: &mut Environment<'_>) {
    env.add_filter("lower", |value: Value| written(&value).map(|text| text.to_lowercase()));
    env.add_filter("upper", |value: Value| written(&value).map(|text| text.to_uppercase()));
    env.add_filter("title", |value: Value| written(&value).map(|t| filters::title(t.into())));
    env.add_filter("capitalize", |value: Value| written(&value).map(|text| capitalize(&text)));
    env.add_filter("trim", trim);
    env.add_filter("length", filters::length);
    env.add_filter("count", filters::length);
    env.add_filter("default", default);
    env.add_filter("d", default);
    env.add_filter("first", filters::first);
    env.add_filter("last", filters::last);
    env.add_filter("sort", filters::sort);
    env.add_filter("round", filters::round);
    env.add_filter("abs", filters::abs);
    env.add_filter("int", filters::int);
    env.add_filter("join", join);
    env.add_filter("replace", replace);
    env.add_test("defined", tests::is_defined);
    env.add_test("undefined", tests::is_undefined);
    env.add_test("none", tests::is_none);
    env.add_test("string", tests::is_string);
    env.add_test("number", tests::is_number);
    env.add_test("sequence", tests::is_sequence);
    env.add_test("odd", tests::is_odd);
    env.add_test("even", tests::is_even);
    env.add_function("range", functions::range);
}

fn too_long() -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("a text longer than {MAX_TEXT} bytes"))
}

/// A value as it would be written: of nothing, nothing.
fn written(value: &Value) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let mut text = Text(String::new());
    if !value.is_none() {
        std::fmt::write(&mut text, format_args!("{value}")).map_err(|_| too_long())?;
    }
    Ok(text.0)
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters.as_str().to_lowercase().chars()).collect()
}

fn trim(value: Value, chars: Option<String>) -> Result<String, Error> {
    let text = written(&value)?;
    Ok(match chars {
        Some(chars) => text.trim_matches(|c| chars.contains(c)).to_owned(),
        None => text.trim().to_owned(),
    })
}

/// The value that stands in for an absent one. A flag that is not set is there and is `none`; to
/// the author of a template it is absent.
fn default(value: Value, other: Option<Value>, is_lax: Option<bool>) -> Value {
    let is_absent =
        value.is_undefined() || value.is_none() || (is_lax.unwrap_or(false) && !value.is_true());
    if is_absent { other.unwrap_or_else(|| Value::from("")) } else { value }
}

fn join(values: Value, between: Option<String>) -> Result<String, Error> {
    let between = between.unwrap_or_default();
    let mut text = Text(String::new());
    for (n, value) in values.try_iter()?.filter(|value| !value.is_none()).enumerate() {
        let between = if n > 0 { between.as_str() } else { "" };
        std::fmt::write(&mut text, format_args!("{between}{value}")).map_err(|_| too_long())?;
    }
    Ok(text.0)
}

fn replace(value: Value, from: String, to: String) -> Result<String, Error> {
    let value = written(&value)?;
    if from.is_empty() {
        return Ok(value);
    }
    let length = value.len() + value.matches(&from).count() * to.len();
    if length > MAX_TEXT { Err(too_long()) } else { Ok(value.replace(&from, &to)) }
}

struct Text(String);

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > MAX_TEXT {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
