//! What templates may do with values: nothing that makes them much larger uncounted.

use minijinja::{Environment, Error, ErrorKind, Value, filters, functions, tests};

/// The longest text that a filter gives.
const MAX_TEXT: usize = 1 << 20;

pub(super) fn install(env: &mut Environment<'_>) {
    env.add_filter("lower", filters::lower);
    env.add_filter("upper", filters::upper);
    env.add_filter("title", filters::title);
    env.add_filter("capitalize", filters::capitalize);
    env.add_filter("trim", filters::trim);
    env.add_filter("length", filters::length);
    env.add_filter("count", filters::length);
    env.add_filter("default", filters::default);
    env.add_filter("d", filters::default);
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

fn join(values: Value, between: Option<String>) -> Result<String, Error> {
    let between = between.unwrap_or_default();
    let mut text = Text(String::new());
    for (n, value) in values.try_iter()?.enumerate() {
        let between = if n > 0 { between.as_str() } else { "" };
        std::fmt::write(&mut text, format_args!("{between}{value}")).map_err(|_| too_long())?;
    }
    Ok(text.0)
}

fn replace(value: String, from: String, to: String) -> Result<String, Error> {
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
