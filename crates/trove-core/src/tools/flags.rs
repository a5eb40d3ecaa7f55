//! Flags: global ones, with no merging, and those of a project, resolved.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Call, Class, Effect, Example, Failure, Outcome, Tool, Toolset, any_json::AnyJson,
    shown::without_nulls,
};
use crate::{
    content::escape_line,
    flags::{FlagError, FlagValue, Flags, Listed, View},
    project::ProjectName,
};

/// Set a flag for all projects.
///
/// # Details
///
/// The value is true, false, a string, a list of strings, or a map to those; null removes
/// the flag. Known flags take only what their table allows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetFeatureFlag {
    /// Flag
    ///
    /// Its name: letters, digits, `_` and `-`.
    name: String,
    /// JSON or text; null removes
    ///
    /// What is JSON in the string is read as JSON: `true`, `["a"]`.
    value: AnyJson,
}

/// Get a flag set for all projects.
///
/// # Details
///
/// Neither projects nor defaults count; get_project_flag resolves them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetFeatureFlag {
    /// Flag
    name: String,
}

/// List the flags set for all projects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFeatureFlags {
    /// As a*; default all
    ///
    /// Only names that fit, such as `content-*`.
    #[serde(default)]
    pattern: Option<String>,
}

/// Set a flag for a project.
///
/// # Details
///
/// The value is true, false, a string, a list of strings, or a map to those; null removes
/// the flag, so that the global value or the default holds again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetProjectFlag {
    /// Flag
    ///
    /// Its name: letters, digits, `_` and `-`.
    name: String,
    /// JSON or text; null removes
    ///
    /// What is JSON in the string is read as JSON: `true`, `["a"]`.
    value: AnyJson,
    /// Default yours
    ///
    /// The project. Where the connection belongs to none, what holds for all projects is told.
    #[serde(default)]
    project: Option<String>,
}

/// Get a flag of a project.
///
/// # Details
///
/// The project's value, else what trove.toml gives to it, else the global one, else the
/// default; `origin` says which: `project`, `config`, `global` or `default`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetProjectFlag {
    /// Flag
    name: String,
    /// Default yours
    ///
    /// The project. Where the connection belongs to none, what holds for all projects is told.
    #[serde(default)]
    project: Option<String>,
}

/// List the flags of a project.
///
/// # Details
///
/// Defaults of known flags too; `origin` says where each value was decided: for the
/// `project`, for it in trove.toml (`config`), for all (`global`), or nowhere (`default`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListProjectFlags {
    /// As a*; default all
    ///
    /// Only names that fit, such as `content-*`.
    #[serde(default)]
    pattern: Option<String>,
    /// Default yours
    ///
    /// The project. Where the connection belongs to none, what holds for all projects is told.
    #[serde(default)]
    project: Option<String>,
}

impl Tool for SetFeatureFlag {
    const NAME: &'static str = "set_feature_flag";
    const TOOLSET: Toolset = Toolset::Flags;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "Show several documents as plain text in every project.",
            arguments: r#"{"name": "content-format", "value": "plain"}"#,
        },
        Example {
            says: "Go back to the default.",
            arguments: r#"{"name": "content-format", "value": "null"}"#,
        },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let value = self.value.value().unwrap_or(Value::Null);
        let before = flags(call)?.set_global(&self.name, &value).await.map_err(failure)?;
        Ok(set(&self.name, &value, before, json!({ "scope": "global" })))
    }
}

impl Tool for GetFeatureFlag {
    const NAME: &'static str = "get_feature_flag";
    const TOOLSET: Toolset = Toolset::Flags;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "See whether a flag is set for all projects.",
        arguments: r#"{"name": "content-format"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let value = flags(call)?.get_global(&self.name).await.map_err(failure)?;
        let is_set = value.is_some();
        let value = value.map(|value| value.to_json());
        let told = json!({ "name": self.name, "value": value, "set": is_set });
        Ok(Outcome::ok(without_nulls(told)))
    }
}

impl Tool for ListFeatureFlags {
    const NAME: &'static str = "list_feature_flags";
    const TOOLSET: Toolset = Toolset::Flags;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] = &[
        Example { says: "List all of them.", arguments: "{}" },
        Example { says: "List some.", arguments: r#"{"pattern": "content-*"}"# },
    ];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let listed = flags(call)?.list_global(self.pattern.as_deref()).await.map_err(failure)?;
        Ok(Outcome::ok(json!({ "flags": shown(&listed) })))
    }
}

impl Tool for SetProjectFlag {
    const NAME: &'static str = "set_project_flag";
    const TOOLSET: Toolset = Toolset::Flags;
    const EFFECT: Effect = Effect::Writes;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "Turn on documents that depend on a flag, for one project.",
        arguments: r#"{"name": "uses-rust", "value": "true", "project": "trove"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let Some(project) = project(call, self.project.as_deref())? else {
            let message = "`project` is missing, and this connection belongs to none";
            return Err(Failure::arguments(message)
                .suggest("Name the project with `project`.")
                .suggest("Call set_feature_flag to set the flag for all projects."));
        };
        let value = self.value.value().unwrap_or(Value::Null);
        let known = Known::of(call).await?;
        if value.is_null() {
            known.expect(&project)?;
        }
        let before = flags(call)?.set_project(&project, &self.name, &value).await;
        let scope = json!({ "scope": "project", "project": project.as_str() });
        let outcome = set(&self.name, &value, before.map_err(failure)?, scope);
        if known.has(&project) {
            return Ok(outcome);
        }
        let note = format!(
            "`{}` was not known as a project before; {}.",
            shown_name(&project),
            known.told()
        );
        Ok(outcome.message(&note))
    }
}

impl Tool for GetProjectFlag {
    const NAME: &'static str = "get_project_flag";
    const TOOLSET: Toolset = Toolset::Flags;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "See what holds for a project, and why.",
        arguments: r#"{"name": "content-format", "project": "trove"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let project = known_project(call, self.project.as_deref()).await?;
        let found = view(call, project.as_ref()).await?.named(&self.name).map_err(failure)?;
        let origin = found.as_ref().map(|found| found.origin.as_str());
        let value = found.map(|found| found.value.to_json());
        let told = json!({
            "name": self.name, "value": value, "set": origin.is_some(), "origin": origin,
        });
        Ok(of_project(without_nulls(told), project.as_ref()))
    }
}

impl Tool for ListProjectFlags {
    const NAME: &'static str = "list_project_flags";
    const TOOLSET: Toolset = Toolset::Flags;
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLES: &'static [Example] = &[Example {
        says: "List all that holds for a project.",
        arguments: r#"{"project": "trove"}"#,
    }];

    async fn run(self, call: &Call<'_>) -> Result<Outcome, Failure> {
        let project = known_project(call, self.project.as_deref()).await?;
        let view = view(call, project.as_ref()).await?;
        let listed = view.list(self.pattern.as_deref()).map_err(failure)?;
        Ok(of_project(json!({ "flags": shown(&listed) }), project.as_ref()))
    }
}

/// The flags that hold for the caller: of his project, where that is known.
pub(super) async fn holding(
    call: &Call<'_>,
    pattern: Option<&str>,
) -> Result<Vec<Listed>, Failure> {
    let flags = flags(call)?;
    let listed = match &call.caller.project {
        Some(project) => {
            let written = call.gateway.flags_written_for(project);
            flags.list_project((project, &written), pattern).await
        }
        None => flags.list_global(pattern).await,
    };
    listed.map_err(failure)
}

fn flags<'a>(call: &'a Call<'_>) -> Result<&'a Flags, Failure> {
    call.gateway.flags().ok_or_else(|| {
        let action = "Start Trove with a state folder it can write.";
        Failure::new(Class::StorageError, "this gateway keeps no flags", action)
    })
}

/// The project that is named, else the caller's own, if there is one.
fn project(call: &Call<'_>, named: Option<&str>) -> Result<Option<ProjectName>, Failure> {
    let named = named.map(str::trim).filter(|name| !name.is_empty());
    let Some(named) = named else { return Ok(call.caller.project.clone()) };
    let project = ProjectName::new(named);
    let project = project.map_err(|error| Failure::arguments(format!("`project`: {error}")))?;
    Ok(Some(project))
}

/// The project as before, which must be known.
async fn known_project(
    call: &Call<'_>,
    named: Option<&str>,
) -> Result<Option<ProjectName>, Failure> {
    let project = project(call, named)?;
    if let Some(project) = &project {
        Known::of(call).await?.expect(project)?;
    }
    Ok(project)
}

/// The flags of this moment as they hold for a project, or for all projects.
async fn view(call: &Call<'_>, project: Option<&ProjectName>) -> Result<View, Failure> {
    let view = flags(call)?.view(project).await.map_err(failure)?;
    let Some(project) = project else { return Ok(view) };
    Ok(view.with_settings(&call.gateway.flags_written_for(project)))
}

/// The projects that are known: of the settings, those with flags, and the caller's own.
struct Known(BTreeSet<String>);

/// The most projects that an answer names.
const MAX_NAMED: usize = 20;

impl Known {
    async fn of(call: &Call<'_>) -> Result<Known, Failure> {
        let mut names: BTreeSet<String> = call.gateway.projects().into_iter().collect();
        let view = view(call, None).await?;
        names.extend(view.projects().map(ToString::to_string));
        names.extend(call.caller.project.as_ref().map(ToString::to_string));
        Ok(Known(names))
    }

    fn has(&self, project: &ProjectName) -> bool {
        self.0.contains(project.as_str())
    }

    fn expect(&self, project: &ProjectName) -> Result<(), Failure> {
        if self.has(project) {
            return Ok(());
        }
        let message = format!("no project is called `{}`; {}", shown_name(project), self.told());
        let known: Vec<&str> = self.0.iter().map(String::as_str).take(MAX_NAMED).collect();
        let action =
            "Leave `project` out: then what is set for all projects holds, or for your own.";
        let failure = Failure::new(Class::NotFound, message, action);
        Err(failure.with("field", "project").with("known_projects", known))
    }

    /// The known ones in words.
    fn told(&self) -> String {
        let names: Vec<String> =
            self.0.iter().take(MAX_NAMED).map(|name| format!("`{}`", escape_line(name))).collect();
        match self.0.len().saturating_sub(MAX_NAMED) {
            _ if names.is_empty() => "none is known yet".to_owned(),
            0 => format!("known are {}", names.join(", ")),
            more => format!("known are {} and {more} more", names.join(", ")),
        }
    }
}

fn shown_name(project: &ProjectName) -> String {
    escape_line(project.as_str()).into_owned()
}

/// The answer about a project; without one it says that all projects are meant.
fn of_project(mut told: Value, project: Option<&ProjectName>) -> Outcome {
    match project {
        Some(project) => {
            told["project"] = json!(project.as_str());
            Outcome::ok(told)
        }
        None => {
            Outcome::ok(told).message("This connection belongs to no project: this holds for all.")
        }
    }
}

fn set(name: &str, value: &Value, before: Option<FlagValue>, scope: Value) -> Outcome {
    let before = before.map(|value| value.to_json());
    let removed = value.is_null();
    let mut told = json!({ "name": name, "value": value, "previous": before, "removed": removed });
    if let (Value::Object(told), Value::Object(scope)) = (&mut told, scope) {
        told.extend(scope);
    }
    Outcome::ok(without_nulls(told))
}

fn shown(listed: &[Listed]) -> Vec<Value> {
    let one = |flag: &Listed| {
        json!({
            "name": flag.name.as_str(), "value": flag.value.to_json(),
            "origin": flag.origin.as_str(),
        })
    };
    listed.iter().map(one).collect()
}

fn failure(error: FlagError) -> Failure {
    match &error {
        FlagError::Store(_) => {
            let action = "Nothing was changed. Mend what the message names, then try again.";
            Failure::new(Class::StorageError, error.to_string(), action).caused_by(&error)
        }
        FlagError::TooMany { .. } => {
            let action = "Remove flags that are no longer needed.";
            Failure::new(Class::TooLarge, error.to_string(), action)
        }
        FlagError::Name(_)
        | FlagError::Value { .. }
        | FlagError::NotAllowed { .. }
        | FlagError::Scope { .. }
        | FlagError::Pattern { .. } => Failure::arguments(error.to_string()),
    }
}
