//! `get_resource` over fake Sources: every resource, every failure, within bounds.

mod discovery;
mod failures;
mod hostile;
mod oddities;
mod reads;
mod remedies;
mod windows;

use std::sync::Arc;

use serde_json::{Value, json};
use trove_core::{
    Caller, Json,
    access::{Access, Policy, Rule},
    caller::{Door, Roles},
    source::Ask,
    tools::{Settings, Tools},
};
use trove_testkit::{fake_source::FakeSource, gateway_box::GatewayBox};

/// A gateway over these Sources, with its tools.
struct Bridge {
    gateway: GatewayBox,
    tools: Arc<Tools>,
}

impl Bridge {
    async fn over(sources: &[&Arc<FakeSource>]) -> Bridge {
        Bridge::with(sources, Settings::default()).await
    }

    async fn with(sources: &[&Arc<FakeSource>], settings: Settings) -> Bridge {
        let gateway = GatewayBox::with(sources).await;
        let tools = Tools::new(gateway.gateway.clone(), settings);
        Bridge { gateway, tools }
    }

    /// Rules, each with a pattern, the one role it takes, and whether the rest know of it.
    fn allow(&self, rules: &[(&str, &str, bool)]) {
        let rule = |(pattern, role, visible): &(&str, &str, bool)| {
            Rule::new(pattern, vec![(*role).to_owned()], *visible).expect("as the test made it")
        };
        let policy = Policy::new(rules.iter().map(rule).collect());
        self.gateway.gateway.set_access(Access { policy, ..Access::default() });
    }

    /// The whole result of a call.
    async fn result(&self, caller: &Caller, arguments: Value) -> Value {
        let arguments = Json::of(&arguments);
        let reply = self.tools.call(caller, "get_resource", Some(&arguments), Ask::default()).await;
        let result: Value = serde_json::from_str(reply.expect("as the test made it").body.as_str())
            .expect("as the test made it");
        let text: Value = serde_json::from_str(
            result["content"][0]["text"].as_str().expect("as the test made it"),
        )
        .expect("as the test made it");
        assert_eq!(text, result["structuredContent"], "the text is the object");
        result
    }

    /// The object a call gives, whatever it is.
    async fn object_for(&self, caller: &Caller, arguments: Value) -> Value {
        self.result(caller, arguments).await["structuredContent"].clone()
    }

    /// The object of a call that succeeds.
    async fn ok(&self, arguments: Value) -> Value {
        let object = self.object_for(&nobody(), arguments.clone()).await;
        assert_eq!(object["success"], true, "{arguments}: {object}");
        object
    }

    async fn data(&self, arguments: Value) -> Value {
        self.ok(arguments).await["data"].clone()
    }

    /// The failure of a call, its shape checked.
    async fn failure(&self, arguments: Value) -> Value {
        self.failure_for(&nobody(), arguments).await
    }

    async fn failure_for(&self, caller: &Caller, arguments: Value) -> Value {
        let result = self.result(caller, arguments.clone()).await;
        let object = result["structuredContent"].clone();
        assert_eq!(
            (&result["isError"], &object["success"]),
            (&json!(true), &json!(false)),
            "{object}"
        );
        let actions = object["suggested_actions"].as_array().expect("as the test made it");
        assert!(!actions.is_empty() && actions.iter().all(Value::is_string), "{object}");
        assert!(object["retryable"].is_boolean() && object["message"].is_string(), "{object}");
        let error = object["error"].as_str().expect("as the test made it");
        let code = object["error_type"].as_str().expect("as the test made it");
        assert_eq!(code.replace('_', ""), error.to_lowercase(), "{object}");
        object
    }
}

fn nobody() -> Caller {
    somebody(&[])
}

fn somebody(roles: &[&str]) -> Caller {
    let roles = Roles::new(roles.iter().map(|role| (*role).to_owned()));
    Caller { roles, ..Caller::behind(Door::Http) }
}

fn client(name: &str) -> Caller {
    Caller { client: Some(name.into()), ..nobody() }
}

fn source(id: &str, uris: &[&str]) -> Arc<FakeSource> {
    Arc::new(FakeSource::new(id, uris))
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}"))
}

/// Whether one of the suggested actions says this.
fn suggests(failure: &Value, words: &str) -> bool {
    let actions = failure["suggested_actions"].as_array().expect("as the test made it");
    actions.iter().any(|action| text_of(action).contains(words))
}
