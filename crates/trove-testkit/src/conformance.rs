//! An MCP server that owns every fixture the public conformance suite asks for, in both protocol eras.
//!
//! The suite is run against it alone and then through the gateway, so that a difference between the two runs is the
//! gateway's doing. It holds no behaviour that the suite does not probe.
#![expect(
    deprecated,
    reason = "the suite still probes sampling, roots, logging and resources/subscribe"
)]

mod asking;
mod fixtures;
mod rounds;
mod skills;
mod tasks;
mod tools;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CompletionInfo, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    RequestStateCodec, ServerCapabilities, ServerConfig, SetLevelRequestMethod,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, TASKS_EXTENSION_ID, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

/// How long a peer may keep any list or read; every fixture is immutable, so the value only has to be positive.
const TTL_MS: u64 = 60_000;

/// Seals `requestState`. It guards nothing, so it may stand in the source.
const REQUEST_STATE_KEY: &[u8] = b"conformance-upstream-request-state-key";

/// The fixture server. One value serves every session and every stateless request.
pub struct ConformanceServer {
    listeners: Mutex<HashMap<u64, SubscriptionSink>>,
    next_listener: AtomicU64,
    request_state: RequestStateCodec,
    tasks: TaskManager,
}

impl Default for ConformanceServer {
    fn default() -> Self {
        Self {
            listeners: Mutex::default(),
            next_listener: AtomicU64::default(),
            request_state: RequestStateCodec::new_unchecked(REQUEST_STATE_KEY),
            tasks: TaskManager::new(),
        }
    }
}

/// The kind of list a `subscriptions/listen` stream is told about.
#[derive(Clone, Copy)]
enum ChangedList {
    Tools,
    Prompts,
}

impl ConformanceServer {
    /// Tells every open listener that a list changed. A listener that did not ask for it, or has gone, refuses it.
    async fn announce(&self, list: ChangedList) {
        let listeners: Vec<SubscriptionSink> = self.lock_listeners().values().cloned().collect();
        for listener in listeners {
            let _refused = match list {
                ChangedList::Tools => listener.notify_tool_list_changed().await,
                ChangedList::Prompts => listener.notify_prompt_list_changed().await,
            };
        }
    }

    fn lock_listeners(&self) -> MutexGuard<'_, HashMap<u64, SubscriptionSink>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the request speaks the stateless revision.
fn is_modern(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The error for a URI that names nothing; rmcp turns its code into the one of the peer's era.
fn no_such_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("no resource {uri}"), Some(json!({ "uri": uri })))
}

impl ServerHandler for ConformanceServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "completions": {},
            "extensions": { TASKS_EXTENSION_ID: {}, skills::EXTENSION: skills::settings() },
            "logging": {},
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "tools": { "listChanged": true },
        });
        let capabilities: ServerCapabilities = serde_json::from_value(capabilities)
            .expect("the literal above has the shape of the type");
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(
                "conformance-upstream",
                env!("CARGO_PKG_VERSION"),
            ))
            .with_instructions("Fixtures of the MCP conformance suite.")
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        fixtures::tools().into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(fixtures::tools());
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if rounds::owns(&call.name) {
            return rounds::call(&self.request_state, call, &cx.meta);
        }
        if tasks::owns(&call.name) {
            return tasks::call(&self.tasks, call, &cx).await;
        }
        tools::call(self, call, &cx).await
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = ListResourcesResult::with_all_items(fixtures::resources());
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = ListResourceTemplatesResult::with_all_items(fixtures::templates());
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        read: ReadResourceRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = fixtures::contents(&read.uri).ok_or_else(|| no_such_resource(&read.uri))?;
        let result = ReadResourceResult::new(vec![contents]);
        Ok(result.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public).into())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = ListPromptsResult::with_all_items(fixtures::prompts());
        Ok(list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        get: GetPromptRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if get.name == rounds::PROMPT {
            return Ok(rounds::prompt(&get));
        }
        let unknown = || ErrorData::invalid_params(format!("no prompt {}", get.name), None);
        fixtures::prompt(&get.name, &get.arguments.clone().unwrap_or_default())
            .map(Into::into)
            .ok_or_else(unknown)
    }

    async fn complete(
        &self,
        asked: CompleteRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = ["paris", "park", "party", "1", "2", "123"];
        let matching = values.into_iter().filter(|value| value.starts_with(&asked.argument.value));
        let info = CompletionInfo::new(matching.map(str::to_owned).collect());
        Ok(CompleteResult::new(info.map_err(|e| ErrorData::internal_error(e, None))?))
    }

    async fn set_level(
        &self,
        _level: SetLevelRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The stateless revision removed this method: there, each request says its own level.
        if is_modern(&cx) {
            Err(ErrorData::method_not_found::<SetLevelRequestMethod>())
        } else {
            Ok(())
        }
    }

    async fn subscribe(
        &self,
        ask: SubscribeRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        fixtures::contents(&ask.uri).map(drop).ok_or_else(|| no_such_resource(&ask.uri))
    }

    async fn unsubscribe(
        &self,
        ask: UnsubscribeRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        fixtures::contents(&ask.uri).map(drop).ok_or_else(|| no_such_resource(&ask.uri))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        // Request ids repeat across connections, so the table has keys of its own.
        let key = self.next_listener.fetch_add(1, Ordering::Relaxed);
        self.lock_listeners().insert(key, context.sink().clone());
        context.cancelled().await;
        self.lock_listeners().remove(&key);
        Ok(())
    }

    async fn get_task(
        &self,
        ask: GetTaskParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&ask.task_id)?))
    }

    async fn update_task(
        &self,
        ask: UpdateTaskParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&ask.task_id, ask.input_responses)
    }

    async fn cancel_task(
        &self,
        ask: CancelTaskParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&ask.task_id)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let unknown = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method.clone(), None);
        let answer =
            skills::answer(&request.method, request.params.as_ref()).ok_or_else(unknown)?;
        let mut result = answer?;
        if is_modern(&cx) {
            result["resultType"] = json!("complete");
            result["ttlMs"] = json!(TTL_MS);
            result["cacheScope"] = json!("public");
        }
        Ok(CustomResult(result))
    }
}
