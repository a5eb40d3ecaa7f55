//! Tries the recipes of servers, and drafts a recipe to begin with.

use serde_json::{Value, json};
use trove_core::{
    PublicUri, SourceId, catalogue::Snapshot, content::escape_line, gateway::LiveQuestion,
    source::Ask,
};

use trove_mcp::recipe::Proposal;

use super::{Answer, Work, first_text};
use crate::failed::{Class, Failed};

/// How many resources are listed, and how many hits are asked for.
const SHOWN: usize = 10;
/// How much of a content is shown.
const PIECE: usize = 200;

impl Work<'_> {
    /// Lists, reads and searches by the recipe of a server.
    pub(super) async fn try_recipe(&self, name: &str) -> Result<Answer, Failed> {
        let notes = self.settle("tried").await;
        let all = self.live.gateway().board().all();
        let is_meant =
            |id: &SourceId, recipe: Option<&str>| id.as_str() == name || recipe == Some(name);
        let meant = all.iter().filter(|(id, status)| {
            is_meant(id, status.recipe.as_ref().map(|recipe| recipe.name.as_str()))
        });
        let mut tried = Vec::new();
        for (id, status) in meant {
            let mut one = self.steps(id).await;
            one["tools"] = json!(status.tools);
            one["recipe"] = json!(status.recipe.as_ref().map(|recipe| &recipe.name));
            one["off"] = json!(status.recipe.as_ref().map(|recipe| &recipe.why));
            tried.push(one);
        }
        if tried.is_empty() {
            let message = format!(
                "no server is called `{name}` or has that recipe; `trove status` shows all"
            );
            return Err(Failed::new(Class::InvalidArguments, message));
        }
        let body = json!({ "success": true, "servers": tried }).to_string().into_bytes();
        Ok(Answer { notes, body })
    }

    /// The results of each step for one server.
    async fn steps(&self, id: &SourceId) -> Value {
        let gateway = self.live.gateway();
        let view = gateway.view(&self.caller()).await;
        let snapshot = view.snapshot();
        let own = view.resources().map(|(one, _)| one);
        let own = own.filter(|one| snapshot.owner(one.member).id() == id);
        let mut listed = Vec::new();
        let mut count = 0;
        for one in own {
            count += 1;
            if listed.len() < SHOWN {
                let name = one.entry.get_str("name").unwrap_or_default();
                listed.push((one.public.clone(), name));
            }
        }
        let list: Vec<Value> =
            listed.iter().map(|(uri, name)| json!({ "uri": uri.as_str(), "name": name })).collect();
        let mut steps = json!({ "server": id.as_str(), "listed": count, "list": list });
        if let Some((uri, name)) = listed.first() {
            steps["read"] = self.read_one(uri).await;
            steps["search"] = self.search_one(snapshot, id, name).await;
        }
        steps
    }

    async fn read_one(&self, uri: &PublicUri) -> Value {
        match self.live.gateway().read(&self.caller(), uri, Ask::default()).await {
            Ok(reading) => {
                let text = first_text(&reading.reply.body).unwrap_or_default();
                let piece: String = text.chars().take(PIECE).collect();
                let bytes = reading.reply.body.as_bytes().len();
                json!({ "uri": uri.as_str(), "bytes": bytes, "begins": escape_line(&piece) })
            }
            Err(error) => json!({ "uri": uri.as_str(), "error": error.to_string() }),
        }
    }

    async fn search_one(&self, snapshot: &Snapshot, id: &SourceId, query: &str) -> Value {
        let source = snapshot.member(id).map(|member| &member.source);
        if !source.is_some_and(|source| source.searches()) {
            return json!({ "offered": false });
        }
        let question = LiveQuestion::alone(id.clone(), query);
        match self.live.gateway().search_live(&self.caller(), question).await {
            Ok(answer) => {
                let hits: Vec<Value> = answer
                    .hits
                    .iter()
                    .map(|hit| json!({ "uri": hit.public.as_str(), "name": hit.name }))
                    .collect();
                json!({ "query": query, "hits": hits })
            }
            Err(error) => json!({ "query": query, "error": error.to_string() }),
        }
    }

    /// Proposes a recipe for a server.
    pub(super) async fn draft(&self, server: &str, calls: bool) -> Result<Answer, Failed> {
        let notes = self.settle("asked").await;
        let id = SourceId::normalise(server);
        let failed = |error: trove_core::SourceError| {
            let message = format!("`{id}` cannot be asked for its tools: {error}");
            Failed::new(Class::ResourceExecutionError, message)
        };
        let tools = self.live.upstreams().tools(&id).await.map_err(failed)?;
        let proposal = Proposal::of(&tools);
        let answer = match proposal.list.as_ref().filter(|_| calls) {
            Some(tool) => {
                Some(self.live.upstreams().call_reading(&id, tool).await.map_err(failed)?)
            }
            None => None,
        };
        let is_seen = answer.is_some();
        let draft = proposal.draft(&id, answer);
        let body = json!({
            "success": true, "server": id.as_str(), "tools": tools.len(), "lists": proposal.list,
            "called": is_seen, "toml": draft,
        });
        Ok(Answer { notes, body: body.to_string().into_bytes() })
    }
}
