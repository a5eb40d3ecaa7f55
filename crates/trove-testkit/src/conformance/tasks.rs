//! Tools that may run as a task the client polls (SEP-2663).

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    CreateTaskResult,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::{asking, rounds};

/// Whether a tool of this module needs the client to follow tasks.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    /// It never makes a task.
    Never,
    /// It makes one when the client can follow it, and answers at once otherwise.
    May,
    /// It cannot answer without one.
    Must,
}

/// The tools of this module: name, description, and whether a call becomes a task.
const TOOLS: [(&str, &str, Need); 7] = [
    ("greet", "Greets without a task.", Need::Never),
    ("slow_compute", "Sleeps for `seconds`.", Need::May),
    ("protocol_error_job", "Ends in a protocol error.", Need::May),
    ("failing_job", "Ends in a tool error.", Need::Must),
    ("confirm_delete", "Waits for one answer.", Need::Must),
    ("multi_input", "Waits for two answers at once.", Need::Must),
    ("test_tool_with_task", "Asks for a name, then becomes a task.", Need::Must),
];

/// The names and descriptions of the tools of this module.
pub(super) fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOOLS.iter().map(|(name, description, _)| (*name, *description))
}

/// Whether a tool of this name lives here.
pub(super) fn owns(tool: &str) -> bool {
    TOOLS.iter().any(|(name, ..)| *name == tool)
}

/// Runs the tool, as a task where its need and the client's declared capabilities allow.
pub(super) async fn call(
    tasks: &TaskManager,
    call: CallToolRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let can_follow = cx.client_capabilities().is_some_and(|can| can.supports_tasks());
    let need =
        TOOLS.iter().find(|(name, ..)| *name == call.name).map_or(Need::Never, |(.., need)| *need);
    if need == Need::Must && !can_follow {
        let missing = ClientCapabilities::builder().enable_tasks().build();
        return Err(ErrorData::missing_required_client_capability(missing));
    }
    let user_name = rounds::answer(call.input_responses.as_ref(), "user_name");
    if call.name == "test_tool_with_task" && user_name.is_none() {
        let question = asking::field("What is your name?", "name", "string");
        return Ok(rounds::need([("user_name", question)]).into());
    }
    let job = Job {
        tool: call.name.to_string(),
        arguments: Value::Object(call.arguments.unwrap_or_default()),
        user: user_name
            .and_then(|given| given["content"]["name"].as_str())
            .unwrap_or("friend")
            .to_owned(),
    };
    if need == Need::Never || !can_follow {
        return job.run(None).await.map(Into::into).map_err(|exit| match exit {
            TaskExit::Error(error) => error,
            _ => ErrorData::internal_error("cancelled", None),
        });
    }
    let task = tasks.spawn(TaskOptions::default(), move |context| {
        Box::pin(async move { job.run(Some(&context)).await })
    });
    Ok(CreateTaskResult::new(task).into())
}

/// One call, freed from its request so that it may outlive it.
struct Job {
    tool: String,
    arguments: Value,
    user: String,
}

impl Job {
    async fn run(&self, task: Option<&TaskContext>) -> Result<CallToolResult, TaskExit> {
        match (self.tool.as_str(), task) {
            ("greet", _) => {
                Ok(text(format!("Hello, {}!", self.arguments["name"].as_str().unwrap_or("friend"))))
            }
            ("slow_compute", task) => self.compute(task).await,
            ("failing_job", _) => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(CallToolResult::error(vec![ContentBlock::text(
                    "failing_job failed, as it should",
                )]))
            }
            ("confirm_delete", Some(task)) => self.confirm(task).await,
            ("multi_input", Some(task)) => {
                let ask = |key, message| {
                    task.request_input(key, asking::field(message, "value", "string"))
                };
                let (a, b) = tokio::join!(ask("input-a", "Value A?"), ask("input-b", "Value B?"));
                Ok(text(format!("a = {}, b = {}", a?["content"]["value"], b?["content"]["value"])))
            }
            ("test_tool_with_task", _) => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok(text(format!("Hello, {}! (async)", self.user)))
            }
            _ => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Err(TaskExit::Error(ErrorData::internal_error(
                    "a protocol error, as it should be",
                    None,
                )))
            }
        }
    }

    async fn compute(&self, task: Option<&TaskContext>) -> Result<CallToolResult, TaskExit> {
        let seconds = self.arguments["seconds"].as_f64().unwrap_or(1.0);
        let label = self.arguments["label"].as_str().unwrap_or("compute");
        let cancelled = async {
            match task {
                Some(task) => task.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancelled => Err(TaskExit::Cancelled),
            () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => Ok(text(format!("{label}: {seconds} s"))),
        }
    }

    async fn confirm(&self, task: &TaskContext) -> Result<CallToolResult, TaskExit> {
        let file = self.arguments["filename"].as_str().unwrap_or("file.txt");
        let question = asking::field(&format!("Delete {file}?"), "confirm", "boolean");
        let given = task.request_input("confirm", question).await?;
        Ok(text(format!(
            "{file}: confirmed = {}",
            given["content"]["confirm"].as_bool().unwrap_or(false)
        )))
    }
}

fn text(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
