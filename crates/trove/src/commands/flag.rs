//! `trove flag`: look at flags, set and remove them. No server is started for it; a Trove
//! that runs sees the change.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::{Map, Value, json};
use trove_core::{
    ProjectName,
    access::audit::Outcome,
    flags::{FlagError, FlagValue, Flags, Listed, Origin, Plain, Resolved, Written},
    knowledge::ProjectSettings,
};

use super::{
    Class, Failed, configure,
    ls::plain,
    noted::{Deed, note},
    runtime, say,
};
use crate::{
    app::open_flags,
    cli::{FlagCommand, FlagPlace, Global},
    config::Overrides,
    telemetry,
};

/// The most projects that a message names.
const MAX_NAMED: usize = 20;

/// The projects of the configuration, by name.
type Projects = BTreeMap<String, ProjectSettings>;

/// A project, and the flags that the configuration gives to it.
type Project<'a> = (&'a ProjectName, &'a Written);

pub(super) fn flag(global: &Global, command: &FlagCommand) -> Result<(), Failed> {
    let (loaded, _) = configure(global, Overrides::default())?;
    telemetry::start(global, "error");
    let project = command.place().project.as_deref().map(ProjectName::new).transpose();
    let project = project.map_err(|error| usage(error.to_string()))?;
    let text = runtime()?.block_on(async {
        let flags = open_flags(&loaded.config.state_dir);
        let projects = &loaded.config.guide_groups.projects;
        let written = project.as_ref().and_then(|project| projects.get(project.as_str()));
        let written = written.map(|project| project.flags.clone()).unwrap_or_default();
        let is_new = match &project {
            Some(project) => !is_known(&flags, projects, project).await,
            None => false,
        };
        let project = project.as_ref().map(|project| (project, &written));
        let text = match project {
            Some((project, _)) if is_new && !command.may_begin_a_project() => {
                Err(unknown(&flags, projects, project).await)
            }
            _ => perform(&flags, project, command).await,
        };
        if let Some((project, _)) = project.filter(|_| is_new && text.is_ok()) {
            tell_new(project);
        }
        flags.close().await;
        if let Some(action) = command.change() {
            let target = project.map_or_else(
                || command.name().to_owned(),
                |(project, _)| format!("{}/{}", project.as_str(), command.name()),
            );
            // The value may be anything; that it was changed is what counts.
            let outcome = match &text {
                Ok(_) => Outcome::Done,
                Err(failed) => Outcome::Failed(failed.class),
            };
            note(&loaded.config, Deed { action, targets: &[target], outcome }).await;
        }
        text
    })?;
    say(&text);
    Ok(())
}

impl FlagCommand {
    pub(super) fn place(&self) -> &FlagPlace {
        match self {
            FlagCommand::Get { place, .. }
            | FlagCommand::Set { place, .. }
            | FlagCommand::List { place, .. }
            | FlagCommand::Unset { place, .. } => place,
        }
    }

    /// Its action in the audit log; `None` if it changes nothing.
    fn change(&self) -> Option<&'static str> {
        match self {
            FlagCommand::Set { .. } => Some("set_flag"),
            FlagCommand::Unset { .. } => Some("unset_flag"),
            FlagCommand::Get { .. } | FlagCommand::List { .. } => None,
        }
    }

    /// Whether it makes sense for a project that is not known yet.
    fn may_begin_a_project(&self) -> bool {
        matches!(self, FlagCommand::Set { .. })
    }

    fn name(&self) -> &str {
        match self {
            FlagCommand::Get { name, .. }
            | FlagCommand::Set { name, .. }
            | FlagCommand::Unset { name, .. } => name,
            FlagCommand::List { .. } => "",
        }
    }
}

/// Whether a project is in the configuration or has flags. If the store cannot be read, the
/// command itself says so.
async fn is_known(flags: &Flags, written: &Projects, project: &ProjectName) -> bool {
    let is_written = written.contains_key(project.as_str());
    match flags.view(None).await {
        Ok(view) => is_written || view.projects().any(|known| known == project),
        Err(_) => true,
    }
}

async fn unknown(flags: &Flags, written: &Projects, project: &ProjectName) -> Failed {
    let mut known: BTreeSet<String> = written.keys().cloned().collect();
    if let Ok(view) = flags.view(None).await {
        known.extend(view.projects().map(ToString::to_string));
    }
    let names: Vec<String> = known.iter().take(MAX_NAMED).map(|name| plain(name)).collect();
    let hint = match known.len().saturating_sub(MAX_NAMED) {
        _ if names.is_empty() => "none is known yet".to_owned(),
        0 => format!("known are {}", names.join(", ")),
        more => format!("known are {} and {more} more", names.join(", ")),
    };
    let project = plain(project.as_str());
    let message = format!("no project is called {project}; {hint}");
    Failed::new(Class::NotFound, message)
}

#[expect(clippy::print_stderr, reason = "a note is for the person at the terminal")]
fn tell_new(project: &ProjectName) {
    eprintln!("note: {} was not known as a project before", plain(project.as_str()));
}

/// Does it, and gives what to print.
#[expect(
    clippy::print_stderr,
    reason = "where a value is from is for whoever sits at the terminal"
)]
async fn perform(
    flags: &Flags,
    of: Option<Project<'_>>,
    command: &FlagCommand,
) -> Result<String, Failed> {
    let project = of.map(|(project, _)| project);
    let wants_json = command.place().output.json;
    match command {
        FlagCommand::Get { name, .. } => {
            let found = get(flags, of, name).await?;
            if wants_json {
                let answer = as_json(name, &found.value, found.origin);
                return Ok(succeeded(answer, project));
            }
            if project.is_some() {
                // Not on stdout, where a script wants the value alone.
                eprintln!("note: from {}", found.origin.as_str());
            }
            Ok(format!("{}\n", for_people(&found.value)))
        }
        FlagCommand::Set { name, value, .. } => {
            let value = parse(value);
            set(flags, project, name, &value).await?;
            let answer = json!({ "name": name, "value": value });
            Ok(if wants_json { succeeded(answer, project) } else { String::new() })
        }
        FlagCommand::Unset { name, .. } => {
            let was_set = set(flags, project, name, &Value::Null).await?.is_some();
            let answer = json!({ "name": name, "was_set": was_set });
            Ok(if wants_json { succeeded(answer, project) } else { String::new() })
        }
        FlagCommand::List { pattern, .. } => {
            let listed = list(flags, of, pattern.as_deref()).await?;
            Ok(if wants_json { listing_json(&listed, project) } else { listing(&listed) })
        }
    }
}

async fn get(flags: &Flags, project: Option<Project<'_>>, name: &str) -> Result<Resolved, Failed> {
    let found = match project {
        Some(project) => flags.get_project(project, name).await?,
        None => flags.get_global(name).await?.map(|value| {
            let origin = Origin::Global;
            Resolved { value, origin }
        }),
    };
    found.ok_or_else(|| {
        let default = flags.known().iter().find(|def| def.name == name);
        let default = default.map(|def| for_people(&def.default_value()));
        let hint = match default {
            Some(default) => format!("its default is {default}"),
            None => "`trove flag list` shows what is".to_owned(),
        };
        Failed::new(Class::NotFound, format!("{name} is not set; {hint}"))
    })
}

async fn set(
    flags: &Flags,
    project: Option<&ProjectName>,
    name: &str,
    value: &Value,
) -> Result<Option<FlagValue>, FlagError> {
    match project {
        Some(project) => flags.set_project(project, name, value).await,
        None => flags.set_global(name, value).await,
    }
}

async fn list(
    flags: &Flags,
    project: Option<Project<'_>>,
    pattern: Option<&str>,
) -> Result<Vec<Listed>, FlagError> {
    match project {
        Some(project) => flags.list_project(project, pattern).await,
        None => flags.list_global(pattern).await,
    }
}

/// `true`, `false`, `null`, which removes, lists, maps and quoted strings are JSON. All other input
/// is text, even a number, because no flag is one, e.g. `"7"` for `7`.
fn parse(typed: &str) -> Value {
    match serde_json::from_str(typed) {
        Ok(Value::Number(_)) | Err(_) => Value::String(typed.to_owned()),
        Ok(value) => value,
    }
}

/// Text as text, everything else as JSON; nothing in it steers the terminal.
fn for_people(value: &FlagValue) -> String {
    match value {
        FlagValue::Plain(Plain::Text(text)) => plain(text),
        FlagValue::Plain(Plain::Bool(_) | Plain::List(_)) | FlagValue::Map(_) => {
            plain(&value.to_json().to_string())
        }
    }
}

fn listing(listed: &[Listed]) -> String {
    let mut text = String::new();
    for Listed { name, value, origin } in listed {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}\t{}\t{}", for_people(value), origin.as_str());
    }
    text
}

fn listing_json(listed: &[Listed], project: Option<&ProjectName>) -> String {
    let all: Vec<Value> =
        listed.iter().map(|one| as_json(one.name.as_str(), &one.value, one.origin)).collect();
    succeeded(json!({ "flags": all }), project)
}

fn as_json(name: &str, value: &FlagValue, origin: Origin) -> Value {
    json!({ "name": name, "value": value.to_json(), "origin": origin.as_str() })
}

fn succeeded(answer: Value, project: Option<&ProjectName>) -> String {
    let mut whole = Map::from_iter([("success".to_owned(), Value::Bool(true))]);
    if let Some(project) = project {
        whole.insert("project".to_owned(), json!(project.as_str()));
    }
    if let Value::Object(members) = answer {
        whole.extend(members);
    }
    format!("{}\n", Value::Object(whole))
}

fn usage(message: String) -> Failed {
    Failed::new(Class::InvalidArguments, message)
}

impl From<FlagError> for Failed {
    fn from(error: FlagError) -> Failed {
        let message = error.to_string();
        match error {
            FlagError::Store(_) => Failed::new(Class::Store, message),
            FlagError::Name(_)
            | FlagError::Value { .. }
            | FlagError::NotAllowed { .. }
            | FlagError::Scope { .. }
            | FlagError::Pattern { .. }
            | FlagError::TooMany { .. } => usage(message),
        }
    }
}
