//! A recipe in front of tools that record what is called, and that go on without end.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use trove_core::{
    Json, LocalUri, Source, SourceError, SourceId,
    resource::{Listing, Named},
    source::{Ask, Operation, Reply},
    status::Recipe as Standing,
};

use super::{
    Choice, EntryForm, Items, ListStep, MAX_ANSWER_BYTES, MAX_PAGES, Made, Next, Path, ReadStep,
    Recipe, SearchStep, ToolCall, Toolbox,
};
use crate::bounds::Bounds;

/// Tools that answer without end.
struct Endless {
    id: SourceId,
    called: Mutex<Vec<String>>,
    told: Mutex<Option<Standing>>,
    /// Whether its reading tool says that it changes things.
    has_changed: AtomicBool,
    /// The text that every tool answers with, if it is not a page.
    text: Option<String>,
}

impl Endless {
    fn new() -> Arc<Endless> {
        Endless::answering(None)
    }

    fn answering(text: Option<String>) -> Arc<Endless> {
        let id = SourceId::new("endless").expect("an id");
        let (called, told) = (Mutex::default(), Mutex::default());
        Arc::new(Endless { id, called, told, has_changed: AtomicBool::new(false), text })
    }

    fn calls(&self) -> usize {
        self.called.lock().expect("the calls").len()
    }

    fn why(&self) -> Vec<String> {
        let told = self.told.lock().expect("what was told").clone();
        told.map(|standing| standing.why).unwrap_or_default()
    }
}

impl Source for Endless {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        async { Ok(Listing::default()) }.boxed()
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        _ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        async move {
            let Operation::CallTool { arguments } = operation else {
                return Err(SourceError::NotOffered { what: "anything but tools" });
            };
            let call: Value = serde_json::from_str(arguments.as_str()).expect("arguments");
            let name = call["name"].as_str().expect("a name").to_owned();
            let mut called = self.called.lock().expect("the calls");
            called.push(name);
            let nth = called.len();
            let page = json!({ "things": [{ "id": nth }], "next": format!("page {nth}") });
            let text = self.text.clone().unwrap_or_else(|| page.to_string());
            let body = json!({ "content": [{ "type": "text", "text": text }] });
            Ok(Reply::plain(Json::of(&body)))
        }
        .boxed()
    }
}

impl Toolbox for Endless {
    fn tools(&self) -> BoxFuture<'_, Result<Option<Vec<Named>>, SourceError>> {
        async {
            let tool = |name: &str, reads: bool| {
                let entry = json!({
                    "name": name, "annotations": { "readOnlyHint": reads },
                    "inputSchema": { "type": "object" },
                });
                Named::new(Json::of(&entry), "name")
            };
            let reads = !self.has_changed.load(Ordering::Relaxed);
            Ok(Some([tool("list", true), tool("get", reads)].into_iter().flatten().collect()))
        }
        .boxed()
    }

    fn calls_itself(&self) -> Option<String> {
        None
    }

    fn meetings(&self) -> u32 {
        1
    }

    fn started_with(&self) -> Vec<String> {
        Vec::new()
    }

    fn tell(&self, _tools: Option<usize>, recipe: Option<Standing>) {
        *self.told.lock().expect("what was told") = recipe;
    }
}

fn template(text: &str) -> trove_core::template::UriTemplate {
    trove_core::template::UriTemplate::parse(text).expect("a template")
}

fn recipe() -> Recipe {
    let call = |tool: &str| ToolCall { tool: tool.to_owned(), arguments: Default::default() };
    let path = |text: &str| Path::parse(text).expect("a path");
    let entry = EntryForm {
        split: Vec::new(),
        uri: template("x://{id}"),
        members: Vec::new(),
        modified: None,
    };
    let list = ListStep {
        each: None,
        call: call("list"),
        items: Items::Found { path: path("$.things[*]"), trail: None },
        next: Some(Next::From { path: path("$.next"), to: "cursor".to_owned() }),
        entry,
    };
    let search = SearchStep {
        call: call("list"),
        items: Items::Found { path: path("$.things[*]"), trail: None },
        entry: EntryForm {
            split: Vec::new(),
            uri: template("x://{id}"),
            members: Vec::new(),
            modified: None,
        },
        snippet: None,
    };
    let read = ReadStep {
        template: template("x://{id}"),
        name: None,
        description: None,
        call: call("get"),
        must: None,
        take: None,
        mime: None,
        only: Vec::new(),
        is_listed_only: false,
        is_plain: false,
    };
    Recipe {
        name: None,
        written: String::new(),
        options: Vec::new(),
        lists: vec![list],
        reads: vec![read],
        searches: vec![search],
        fresh_seconds: None,
        is_indexed: true,
    }
}

fn made(inner: &Arc<Endless>) -> Made<Endless> {
    let choice = Choice::Given(vec![Arc::new(recipe())]);
    Made::new(inner.clone(), choice, true, Arc::default(), Bounds::default())
}

#[tokio::test]
async fn a_list_without_end_is_cut_and_says_so() {
    let inner = Endless::new();
    let listing = made(&inner).list().await.expect("a listing");
    assert_eq!(listing.resources.len(), MAX_PAGES);
    assert_eq!(inner.calls(), MAX_PAGES);
    assert!(listing.omissions[0].contains("more than 200 pages"), "{:?}", listing.omissions);
    assert!(listing.unread.resources);
}

#[tokio::test]
async fn a_tool_that_changes_its_mind_is_not_called_from_the_next_list_on() {
    let inner = Endless::new();
    let made = made(&inner);
    made.list().await.expect("a listing");
    let read = Operation::Read { uri: LocalUri::new("x://1") };
    assert!(made.perform(read.clone(), Ask::default()).await.is_ok());
    inner.has_changed.store(true, Ordering::Relaxed);
    let listing = made.list().await.expect("a listing");
    assert!(listing.resources.is_empty() && listing.templates.is_empty());
    assert_eq!(inner.why(), ["the tool `get` says that it changes things"]);
    let before = inner.calls();
    assert!(made.perform(read, Ask::default()).await.is_err());
    assert_eq!(inner.calls(), before);
}

/// Fifty megabytes are not taken apart: neither for a list, nor for a search, nor for a part of
/// them that is read.
#[tokio::test]
async fn an_answer_of_fifty_megabytes_costs_its_own_step_and_is_said() {
    let long = "x".repeat(50_000_000);
    let inner = Endless::answering(Some(format!("{{\"things\":[{{\"id\":\"{long}\"}}]}}")));
    let mut recipe = recipe();
    recipe.reads[0].take = Some(Path::parse("$.things[0].id").expect("a path"));
    let choice = Choice::Given(vec![Arc::new(recipe)]);
    let made = Made::new(inner.clone(), choice, true, Arc::default(), Bounds::default());
    let listing = made.list().await.expect("a listing");
    assert!(listing.resources.is_empty());
    let limit = MAX_ANSWER_BYTES.to_string();
    assert!(listing.omissions.iter().any(|why| why.contains(&limit)), "{:?}", listing.omissions);
    let found = made.search("x", 10, Ask::default()).await;
    assert!(matches!(found, Err(SourceError::TooLarge { limit: MAX_ANSWER_BYTES })));
    let read = Operation::Read { uri: LocalUri::new("x://1") };
    let read = made.perform(read, Ask::default()).await;
    assert!(matches!(read, Err(SourceError::TooLarge { limit: MAX_ANSWER_BYTES })));
}
