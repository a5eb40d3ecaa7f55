//! Operations offered as tools. They speak only to the Gateway.
//!
//! A tool is a struct (its doc comment is the description, its fields the arguments),
//! one `run`, and a row in [`TOOLS`]. Everything common, from finding it to writing its
//! answer, happens once, in `call`.

mod answers;
mod any_json;
mod arguments;
mod call;
mod consent;
mod dates;
mod describe;
mod example;
mod find;
mod flags;
mod frame;
mod get_resource;
mod guide;
mod guide_admin;
mod health;
mod hint;
mod offer;
mod outcome;
mod passed;
mod per_server;
mod prompts;
mod run_code;
mod schema;
mod settle;
mod shown;
mod summary;
#[cfg(test)]
mod tests;
mod unread;

use std::future::Future;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::failure::{Advice, Class, Failure};
pub use answers::Answers;
pub use call::{Call, Settings, Tools};
pub use consent::{Consent, Question, can_be_asked};
pub use describe::{Descriptions, document, listed};
pub use find::COVERAGE_THRESHOLD;
pub use offer::{BridgeMode, CLIENTS_DATE, Client, Takes, client, clients};
pub use outcome::{Outcome, classes_document};
pub use passed::{BYTES_PER_TOKEN, DEFAULT_TOOL_BUDGET, ToolSearch};
pub use prompts::prompt_documents;

/// Every tool there is. Server, documents, schemas and tests all walk this list.
pub static TOOLS: &[ToolSpec] = &[
    spec::<get_resource::GetResource>(),
    spec::<find::DiscoverResources>(),
    spec::<find::SearchResources>(),
    spec::<summary::ResourceSummary>(),
    spec::<health::HealthCheck>(),
    spec::<guide::GetContent>(),
    spec::<guide::CategoryList>(),
    spec::<guide::CollectionList>(),
    spec::<guide::CategoryListFiles>(),
    spec::<guide_admin::CategoryAdd>(),
    spec::<guide_admin::CategoryChangeTool>(),
    spec::<guide_admin::CategoryRemove>(),
    spec::<guide_admin::CollectionAdd>(),
    spec::<guide_admin::CollectionChangeTool>(),
    spec::<guide_admin::CollectionRemove>(),
    spec::<guide_admin::DocumentAdd>(),
    spec::<guide_admin::DocumentUpdate>(),
    spec::<guide_admin::DocumentRemove>(),
    spec::<flags::SetFeatureFlag>(),
    spec::<flags::GetFeatureFlag>(),
    spec::<flags::ListFeatureFlags>(),
    spec::<flags::SetProjectFlag>(),
    spec::<flags::GetProjectFlag>(),
    spec::<flags::ListProjectFlags>(),
    spec::<run_code::RunCode>(),
    spec::<passed::FindTool>(),
    spec::<passed::CallReadOnlyTool>(),
    spec::<passed::CallTool>(),
    spec::<example::ExampleEcho>(),
];

/// One typed operation.
pub trait Tool: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its bare name.
    const NAME: &'static str;
    /// The group it belongs to.
    const TOOLSET: Toolset;
    /// Its effect on the world.
    const EFFECT: Effect;
    /// The part before its name.
    const PREFIX: Prefix = Prefix::Shared;
    /// Names it had before, which still work.
    const ALIASES: &'static [&'static str] = &[];
    /// The consent it needs; for tools that destroy.
    const CONSENT: Option<Consent> = None;
    /// Whether it only repeats what a client with resources can do by itself.
    const IS_BRIDGE: bool = false;
    /// The form of its answers.
    const ANSWERS: Answers = Answers::Value;
    /// Calls with real values, each with a sentence.
    const EXAMPLES: &'static [Example];

    /// Does it.
    fn run(self, call: &Call<'_>) -> impl Future<Output = Result<Outcome, Failure>> + Send;
}

/// A row of the table.
pub struct ToolSpec {
    /// Its bare name.
    pub name: &'static str,
    /// The group it belongs to.
    pub toolset: Toolset,
    /// Its effect on the world.
    pub effect: Effect,
    /// The part before its name.
    pub prefix: Prefix,
    /// Names it had before, which still work.
    pub aliases: &'static [&'static str],
    /// The consent it needs.
    pub consent: Option<Consent>,
    /// Whether it only repeats what a client with resources can do by itself.
    pub is_bridge: bool,
    /// The form of its answers.
    pub answers: Answers,
    /// Calls with real values.
    pub examples: &'static [Example],
    schema: fn() -> Value,
    run: for<'a> fn(Value, &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, Failure>>,
}

/// The row of a tool.
pub const fn spec<T: Tool>() -> ToolSpec {
    ToolSpec {
        name: T::NAME,
        toolset: T::TOOLSET,
        effect: T::EFFECT,
        prefix: T::PREFIX,
        aliases: T::ALIASES,
        consent: T::CONSENT,
        is_bridge: T::IS_BRIDGE,
        answers: T::ANSWERS,
        examples: T::EXAMPLES,
        schema: schema::of::<T>,
        run: run::<T>,
    }
}

fn run<'a, T: Tool>(
    arguments: Value,
    call: &'a Call<'a>,
) -> BoxFuture<'a, Result<Outcome, Failure>> {
    Box::pin(async move {
        let tool: T = serde_json::from_value(arguments).map_err(|error| {
            // The arguments were checked against the schema; this is a rule it cannot say.
            Failure::arguments(error.to_string())
        })?;
        tool.run(call).await
    })
}

/// A group of tools that is offered or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Toolset {
    /// Finding and reading resources.
    Resources,
    /// The state of the gateway.
    Health,
    /// Reading local knowledge.
    Guide,
    /// Changing local knowledge.
    GuideAdmin,
    /// Switches.
    Flags,
    /// Tools of their own for each server.
    PerServer,
    /// Sandboxed programs.
    Code,
    /// Finding and calling tools of servers, where there are too many to list.
    ToolSearch,
    /// An example for those who write tools.
    Example,
}

impl Toolset {
    /// All of them.
    pub const ALL: [Toolset; 9] = [
        Toolset::Resources,
        Toolset::Health,
        Toolset::Guide,
        Toolset::GuideAdmin,
        Toolset::Flags,
        Toolset::PerServer,
        Toolset::Code,
        Toolset::ToolSearch,
        Toolset::Example,
    ];

    /// Its name in settings and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Toolset::Resources => "resources",
            Toolset::Health => "health",
            Toolset::Guide => "guide",
            Toolset::GuideAdmin => "guide_admin",
            Toolset::Flags => "flags",
            Toolset::PerServer => "per_server",
            Toolset::Code => "code",
            Toolset::ToolSearch => "tool_search",
            Toolset::Example => "example",
        }
    }
}

/// The effect of a tool on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Adds or changes; doing it twice is doing it once.
    Writes,
    /// Takes away.
    Destroys,
    /// The effect of the tool of a server that it calls.
    PassesOn,
}

impl Effect {
    /// Its name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Reads => "reads",
            Effect::Writes => "writes",
            Effect::Destroys => "destroys",
            Effect::PassesOn => "passes on",
        }
    }
}

/// The part before a tool's name, e.g. `guide_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// The prefix of the settings.
    Shared,
    /// No prefix, even if the settings have one.
    None,
}

/// One call with real values.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Its purpose, in a sentence.
    pub says: &'static str,
    /// The arguments, as JSON.
    pub arguments: &'static str,
}
