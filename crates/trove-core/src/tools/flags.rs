//! Flags: global ones, with no merging, and those of a project, resolved.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Class, Effect, Example, Failure, Outcome, Tool, Toolset, any_json::AnyJson};
use crate::{
    flags::{FlagError, FlagValue, Flags, Listed},
    project::ProjectName,
};

/// Set or remove a flag for all projects.
///
/// The value is true, false, a string, a list of strings, or a map to those; null removes
/// the flag. Known flags take only what their table allows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetFeatureFlag {
    /// Its name: letters, digits, `_` and `-`.
    name: String,
    /// Its value; what is JSON in the string is read as JSON: `true`, `["a"]`.
    value: AnyJson,
}

/// Get a flag as it is set for all projects.
///
/// Neither projects nor defaults count; get_project_flag resolves them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetFeatureFlag {
    /// Its name.
    name: String,
}

/// List the flags set for all projects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFeatureFlags {
    /// Only names that fit, such as `content-*`.
    #[serde(default)]
    pattern: Option<String>,
}

/// Set or remove a flag for one project.
///
/// The value is true, false, a string, a list of strings, or a map to those; null removes
/// the flag, so that the global value or the default holds again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetProjectFlag {
    /// Its name: letters, digits, `_` and `-`.
    name: String,
    /// Its value; what is JSON in the string is read as JSON: `true`, `["a"]`.
    value: AnyJson,
    /// The project; the current one if left out.
    #[serde(default)]
    project: Option<String>,
}

/// Get a flag as it holds for one project.
///
/// The project's value, else what trove.toml gives to it, else the global one, else the
/// default; `origin` says which: `project`, `config`, `global` or `default`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetProjectFlag {
    /// Its name.
    name: String,
    /// The project; the current one if left out.
    #[serde(default)]
    project: Option<String>,
}

/// List the flags that hold for one project.
///
/// Defaults of known flags too; `origin` says where each value was decided: for the
/// `project`, for it in trove.toml (`config`), for all (`global`), or nowhere (`default`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListProjectFlags {
    /// Only names that fit, such as `content-*`.
    #[serde(default)]
    pattern: Option<String>,
    /// The project; the current one if left out.
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
        Ok(Outcome::ok(json!({ "name": self.name, "value": value, "set": is_set })))
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
        let project = project(call, self.project.as_deref())?;
        let value = self.value.value().unwrap_or(Value::Null);
        let before = flags(call)?.set_project(&project, &self.name, &value).await;
        let scope = json!({ "scope": "project", "project": project.as_str() });
        Ok(set(&self.name, &value, before.map_err(failure)?, scope))
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
        let project = project(call, self.project.as_deref())?;
        let written = call.gateway.flags_written_for(&project);
        let found = flags(call)?.get_project((&project, &written), &self.name).await;
        let found = found.map_err(failure)?;
        let origin = found.as_ref().map(|found| found.origin.as_str());
        let value = found.map(|found| found.value.to_json());
        Ok(Outcome::ok(json!({
            "name": self.name, "value": value, "set": origin.is_some(), "origin": origin,
            "project": project.as_str(),
        })))
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
        let project = project(call, self.project.as_deref())?;
        let (written, pattern) =
            (call.gateway.flags_written_for(&project), self.pattern.as_deref());
        let listed = flags(call)?.list_project((&project, &written), pattern).await;
        let listed = listed.map_err(failure)?;
        Ok(Outcome::ok(json!({ "project": project.as_str(), "flags": shown(&listed) })))
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

/// The project that is named, else the caller's own.
pub(super) fn project(call: &Call<'_>, named: Option<&str>) -> Result<ProjectName, Failure> {
    let named = named.map(str::trim).filter(|name| !name.is_empty());
    match (named, &call.caller.project) {
        (Some(name), _) => ProjectName::new(name)
            .map_err(|error| Failure::arguments(format!("`project`: {error}"))),
        (None, Some(project)) => Ok(project.clone()),
        (None, None) => {
            let message = "`project` is missing, and this connection belongs to none";
            Err(Failure::arguments(message).suggest("Name the project with `project`."))
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
    Outcome::ok(told)
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
