//! Renders templates in a box.
//!
//! A template sees its project, flags, the date and its own name; it may include files of a
//! `_partials` folder. The language is a small part of Jinja: `if`, `for`, `set`, `with`,
//! `include`, `raw`. Code that could grow without being counted is refused before it runs, e.g.
//! `~`, macros or blocks kept in a variable. The rest is counted.

mod check;
mod filters;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value, context,
    value::{Enumerator, Object, Serde},
};

use super::{
    Flags, KnowledgeError, content::MAX_DOCUMENT_BYTES, media, scan::PARTIALS,
    settings::ProjectSettings, store::Store,
};

/// How many steps a template may take.
const FUEL: u64 = 200_000;
/// How deep includes may nest, in the measure of the engine: ten for each.
const MAX_RECURSION: usize = 120;
/// The largest template or partial, in bytes.
const MAX_TEMPLATE: u64 = 1 << 20;
/// The name under which the template itself is known.
const MAIN: &str = "\u{0}document";

/// The facts that a template may use.
pub(super) struct Scene<'a> {
    pub(super) store: &'a Store,
    pub(super) flags: Arc<dyn Flags>,
    /// The name of the project and what was decided about it.
    pub(super) project: Option<(&'a str, &'a ProjectSettings)>,
    /// As in `2026-07-28`.
    pub(super) date: &'a str,
}

/// Renders the text of the document at `path` of a category in the folder `dir`.
pub(super) fn render(
    scene: &Scene<'_>,
    (category, dir, path): (&str, &str, &str),
    text: &str,
) -> Result<String, KnowledgeError> {
    let bad = |why: String| KnowledgeError::Template { what: format!("{category}/{path}"), why };
    if text.len() as u64 > MAX_TEMPLATE {
        return Err(bad(format!("it is longer than {MAX_TEMPLATE} bytes")));
    }
    check::check(text).map_err(bad)?;
    let mut env = Environment::empty();
    env.set_fuel(Some(FUEL));
    env.set_recursion_limit(MAX_RECURSION);
    env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    filters::install(&mut env);
    bound_output(&mut env);
    let (store, dir) = (scene.store.clone(), dir.to_owned());
    env.set_loader(move |name| partial(&store, &dir, name));
    env.add_template(MAIN, text).map_err(|error| bad(told(&error)))?;
    let template = env.get_template(MAIN).map_err(|error| bad(told(&error)))?;
    let name = scene.project.map(|(name, _)| name.to_owned());
    let flags = FlagValues {
        flags: scene.flags.clone(),
        own: scene.project.map(|(_, project)| project.flags.clone()).unwrap_or_default(),
        project: name.clone(),
    };
    let described = scene.project.and_then(|(_, project)| project.description.clone());
    let known = context! {
        project => context! { name, description => described },
        flags => Value::from_object(flags),
        date => scene.date,
        document => context! { category, path },
    };
    let mut output = Bounded::default();
    template.render_captured_to(known, &mut output).map_err(|error| bad(told(&error)))?;
    String::from_utf8(output.bytes).map_err(|_| bad("it did not give text".into()))
}

/// Flags by name, looked up when a template asks.
#[derive(Debug)]
struct FlagValues {
    flags: Arc<dyn Flags>,
    own: std::collections::BTreeMap<String, serde_json::Value>,
    project: Option<String>,
}

impl Object for FlagValues {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let value = self.flags.flag(self.project.as_deref(), name, self.own.get(name));
        // A flag that is not set is simply not true.
        Some(value.map_or(Value::from(()), |value| Value::from(Serde(value))))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }
}

/// `header.md` and `_partials/header.md` are the partial of the category, else of the guide.
fn partial(store: &Store, dir: &str, name: &str) -> Result<Option<String>, Error> {
    let refuse = |why: String| Error::new(ErrorKind::InvalidOperation, why);
    let below = if name.contains('/') { name.to_owned() } else { format!("{PARTIALS}/{name}") };
    if !below.split('/').any(|part| part == PARTIALS) {
        return Err(refuse(format!("`{name}` is not in a folder called {PARTIALS}")));
    }
    let own = format!("{}/{below}", dir.trim_end_matches('/'));
    for path in [own, below] {
        match store.read(path.trim_start_matches("./"), MAX_TEMPLATE) {
            Ok((bytes, _)) => {
                let (text, _) = media::text(bytes);
                check::check(&text).map_err(|why| refuse(format!("{name}: {why}")))?;
                return Ok(Some(text));
            }
            Err(super::store::OpenError::Missing) => {}
            Err(error) => return Err(refuse(format!("{name}: {error}"))),
        }
    }
    Ok(None)
}

/// Everything that is written counts, also what is not yet output.
fn bound_output(env: &mut Environment<'_>) {
    let written = AtomicUsize::new(0);
    env.set_formatter(move |out, state, value| {
        // No project, no description, a flag that is not set: none of them writes any text.
        if value.is_none() {
            return Ok(());
        }
        let mut measure = Measure { left: limit().saturating_sub(written.load(Ordering::Relaxed)) };
        let before = measure.left;
        if std::fmt::write(&mut measure, format_args!("{value}")).is_err() {
            return Err(too_long());
        }
        written.fetch_add(before - measure.left, Ordering::Relaxed);
        minijinja::escape_formatter(out, state, value)
    });
}

fn limit() -> usize {
    usize::try_from(MAX_DOCUMENT_BYTES).unwrap_or(usize::MAX)
}

fn too_long() -> Error {
    let why = format!("it gives more than {MAX_DOCUMENT_BYTES} bytes");
    Error::new(ErrorKind::InvalidOperation, why)
}

struct Measure {
    left: usize,
}

impl std::fmt::Write for Measure {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(std::fmt::Error)?;
        Ok(())
    }
}

#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > limit() {
            return Err(io::Error::other(format!("it gives more than {MAX_DOCUMENT_BYTES} bytes")));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The fault and its place, in one line.
fn told(error: &Error) -> String {
    let place = match (error.name(), error.line()) {
        (Some(MAIN), Some(line)) => format!(" in line {line}"),
        (Some(name), Some(line)) => format!(" in line {line} of {name}"),
        _ => String::new(),
    };
    let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{what}{place}{}", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests;
