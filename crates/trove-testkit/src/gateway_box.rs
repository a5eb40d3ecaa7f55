//! A gateway in a box: real catalogue, fake Sources, no wire.

use std::sync::Arc;

use trove_core::{
    Caller, Gateway, Json, PublicUri,
    catalogue::List,
    gateway::{Action, Answer, AskError, Call, ListAnswer, Parts},
    json::items,
    source::{Ask, Reply, SourceEvent},
};

use crate::fake_source::FakeSource;

/// A gateway over fake Sources.
pub struct GatewayBox {
    /// The gateway.
    pub gateway: Arc<Gateway>,
}

impl GatewayBox {
    /// Starts a gateway and waits until every Source is listed.
    pub async fn with(sources: &[&Arc<FakeSource>]) -> GatewayBox {
        GatewayBox::of(Parts::new("test"), sources).await
    }

    /// Starts a gateway made of these parts, and waits until every Source is listed.
    pub async fn of(parts: Parts, sources: &[&Arc<FakeSource>]) -> GatewayBox {
        let gateway = GatewayBox { gateway: Gateway::new(parts).await };
        for source in sources {
            gateway.attach(source).await;
        }
        gateway.gateway.feed().all_attached().await;
        gateway.settle().await;
        gateway
    }

    /// Adds a Source that is ready.
    pub async fn attach(&self, source: &Arc<FakeSource>) {
        use trove_core::Source as _;
        let feed = self.gateway.feed();
        self.gateway.board().add(source.id(), "fake");
        self.gateway.board().update(source.id(), |s| s.state = trove_core::status::State::Ready);
        feed.attach((*source).clone()).await;
        feed.report(source.id(), SourceEvent::Ready).await;
    }

    /// Waits until no Source is stale.
    pub async fn settle(&self) {
        let is_settled = || self.gateway.board().all().values().all(|s| s.is_settled());
        while !is_settled() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        // The board is told just before the Snapshot is swapped.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }

    /// The public names of all resources but our own.
    pub async fn names(&self) -> Vec<String> {
        let snapshot = self.gateway.snapshot().await;
        let names = snapshot.resources().iter().map(|r| r.public.to_string());
        let is_ours = |name: &str| {
            ["info", "config", "auth"].iter().any(|s| name.starts_with(&format!("{s}://")))
        };
        names.filter(|name| !is_ours(name)).collect()
    }

    /// Calls a tool of a Source, which must have it.
    pub async fn call_tool(&self, name: &str) -> Json {
        let (caller, arguments) = (Caller::local(), serde_json::json!({ "name": name }));
        let arguments = Json::of(&arguments);
        let done = self.gateway.act(&caller, Action::CallTool, &arguments, Ask::default()).await;
        done.expect("the Source has it").body
    }

    /// Reads one resource and gives its text.
    pub async fn read(&self, uri: &str) -> Result<String, AskError> {
        let reply =
            self.gateway.read(&Caller::local(), &PublicUri::new(uri), Ask::default()).await?.reply;
        Ok(text_of(&reply.body))
    }
}

/// Calls that only MCP clients make, one each.
pub trait Asks {
    /// A page of one of the lists.
    fn list(
        &self,
        caller: &Caller,
        list: List,
        cursor: Option<&str>,
    ) -> impl Future<Output = Result<ListAnswer, AskError>>;

    /// Does what is asked, with the thing that is named.
    fn act(
        &self,
        caller: &Caller,
        action: Action,
        arguments: &Json,
        ask: Ask,
    ) -> impl Future<Output = Result<Reply, AskError>>;
}

impl Asks for Gateway {
    async fn list(
        &self,
        caller: &Caller,
        list: List,
        cursor: Option<&str>,
    ) -> Result<ListAnswer, AskError> {
        match self.run(caller, Call::List(list, cursor.map(str::to_owned))).await? {
            Answer::Page(page) => Ok(page),
            _ => panic!("a list gives a page"),
        }
    }

    async fn act(
        &self,
        caller: &Caller,
        action: Action,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let answer = self.run(caller, Call::Act(action, arguments.clone(), ask)).await?;
        Ok(answer.into_reply().expect("an action gives a result object"))
    }
}

/// The text of the first content of a read.
pub fn text_of(result: &Json) -> String {
    let contents = result.get("contents").unwrap_or_else(|| Json::parse("[]").expect("a literal"));
    let first =
        items(contents.as_str()).and_then(|items| items.first().map(|item| contents.part(item)));
    first.and_then(|content| content.get_str("text")).unwrap_or_default()
}
