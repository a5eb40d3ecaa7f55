//! `trove run`: a small program over the resources, as `run_code` runs it for a client.

use std::{
    io::{self, Read as _},
    path::Path,
};

use serde_json::{Value, json};
use trove_core::content::escape_controls;

use super::{Class, Failed, errand, say};
use crate::{
    cli::{Global, Run},
    errand::{Until, What},
};

/// More than this no program may be; the rest of a file need not be read to say so.
const MAX_READ: u64 = 1024 * 1024;

pub(super) fn run(global: &Global, command: &Run) -> Result<(), Failed> {
    let code = source(&command.file)?;
    let (tool, arguments) = ("run_code".to_owned(), json!({ "code": code }));
    let what = What::Call { tool, arguments, until: Until::Indexed };
    let is_json = command.wait.output.json;
    match errand(global, what, command.wait.wait) {
        Ok(body) if is_json => say(&format!("{body}\n")),
        Ok(body) => say(&as_text(&serde_json::from_str(&body).unwrap_or_default())),
        Err(failed) if is_json => return Err(failed),
        Err(failed) => return Err(explained(failed)),
    }
    Ok(())
}

fn source(file: &Path) -> Result<String, Failed> {
    let refused = |why: String| {
        let message = format!("cannot read {}: {why}", file.display());
        Failed::new(Class::InvalidArguments, message)
    };
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        io::stdin().lock().take(MAX_READ + 1).read_to_end(&mut bytes)
    } else {
        trove_core::files::open(file)
            .and_then(|file| file.take(MAX_READ + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > MAX_READ {
        return Err(refused(format!(
            "it has more than {MAX_READ} bytes, which no program may have"
        )));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is not text in UTF-8".to_owned()))
}

/// The printed text, then the result: text as it is, else JSON, and no line for `None`.
fn as_text(answer: &Value) -> String {
    let mut text = answer["printed"].as_str().map(plain).unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match &answer["result"] {
        Value::Null => {}
        Value::String(said) => text.push_str(&format!("{}\n", plain(said))),
        other => text.push_str(&format!("{other:#}\n")),
    }
    if let Some(message) = answer["message"].as_str() {
        text.push_str(&format!("note: {message}\n"));
    }
    text
}

/// Texts of servers may try to speak to the terminal.
fn plain(text: &str) -> String {
    escape_controls(text).into_owned()
}

/// A failure as Python tells it, and what to do about it.
fn explained(mut failed: Failed) -> Failed {
    let object: Value =
        failed.object.as_deref().and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    if let Some(printed) = object["printed"].as_str() {
        say(&plain(printed));
    }
    let told = object["traceback"].as_str().filter(|told| !told.is_empty());
    let action = object["suggested_actions"][0].as_str().unwrap_or_default();
    let message = told.unwrap_or(&failed.message).trim_end();
    failed.message = format!("{message}\n{action}").trim().to_owned();
    failed
}
