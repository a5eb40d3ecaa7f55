//! A Source without a server: the test decides what it lists and how it fails.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use trove_core::{
    Json, LocalUri, Source, SourceError, SourceId,
    resource::{Freshness, Listing, Named, Resource, Template, Unread},
    source::{Abilities, Ask, Indexing, LiveHit, Operation, Reply, Told},
};

/// A Source that answers `id|uri` to every read it was not told to answer otherwise.
pub struct FakeSource {
    id: SourceId,
    is_builtin: bool,
    is_silent: bool,
    indexing: Indexing,
    state: Mutex<State>,
    /// How often it was listed.
    pub listings: AtomicUsize,
    /// How often it was read.
    pub reads: AtomicUsize,
    /// Which resources were read, and when.
    pub asked: Mutex<Vec<(Instant, String)>>,
    /// Calls of `watch` (`+uri`) and `unwatch` (`-uri`), e.g. `+doc://a`.
    pub watches: Mutex<Vec<String>>,
}

#[derive(Default)]
struct State {
    resources: BTreeMap<String, String>,
    templates: Vec<String>,
    tools: Vec<String>,
    reading_tools: Vec<String>,
    answers: BTreeMap<String, Result<String, SourceError>>,
    otherwise: Option<SourceError>,
    completions: Option<Vec<String>>,
    listing_fails: bool,
    listing_panics: bool,
    listing_breaks_off: bool,
    panics_at: Option<String>,
    read_takes: Duration,
    listing_takes: Duration,
    watching_takes: Duration,
    told: Option<Told>,
    freshness: Option<Freshness>,
    is_down: bool,
    completing_takes: Duration,
    search: Option<FakeSearch>,
}

/// How a Source searches by itself.
#[derive(Clone)]
pub enum FakeSearch {
    /// It finds these.
    Finds(Vec<LiveHit>),
    /// It never answers.
    Hangs,
    /// It fails so.
    Fails(SourceError),
    /// It panics, as a fault of ours would.
    Panics,
}

impl FakeSearch {
    /// Finds resources of these URIs and names.
    pub fn finds(hits: &[(&str, &str)]) -> FakeSearch {
        let hit = |(uri, name): &(&str, &str)| LiveHit {
            uri: LocalUri::new(*uri),
            name: (*name).to_owned(),
            title: None,
            description: None,
            mime: None,
            modified: None,
            snippet: None,
        };
        FakeSearch::Finds(hits.iter().map(hit).collect())
    }
}

impl FakeSource {
    /// A Source with these resources.
    pub fn new(id: &str, uris: &[&str]) -> FakeSource {
        let state = State::default();
        let source = FakeSource {
            id: SourceId::new(id).expect("a valid id"),
            is_builtin: false,
            is_silent: false,
            indexing: Indexing::Content,
            state: Mutex::new(state),
            listings: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            asked: Mutex::default(),
            watches: Mutex::default(),
        };
        for uri in uris {
            source.add(uri);
        }
        source
    }

    /// Makes it a part of the gateway.
    pub fn builtin(mut self) -> FakeSource {
        self.is_builtin = true;
        self
    }

    /// Lets it be silent when its lists change.
    pub fn silent(mut self) -> FakeSource {
        self.is_silent = true;
        self
    }

    /// Sets how much of it is searched.
    pub fn indexed_as(mut self, indexing: Indexing) -> FakeSource {
        self.indexing = indexing;
        self
    }

    /// This Source, searching by itself.
    pub fn searching(self, search: FakeSearch) -> FakeSource {
        self.state().search = Some(search);
        self
    }

    /// The same with templates.
    pub fn with_templates(self, templates: &[&str]) -> FakeSource {
        self.state().templates = templates.iter().map(|t| (*t).to_owned()).collect();
        self
    }

    /// Adds tools, each of which answers with a link to every resource.
    pub fn with_tools(self, tools: &[&str]) -> FakeSource {
        self.state().tools = tools.iter().map(|t| (*t).to_owned()).collect();
        self
    }

    /// Adds a tool that says of itself that it only reads.
    pub fn with_reading_tool(self, tool: &str) -> FakeSource {
        self.add_reading_tool(tool);
        self
    }

    /// Lists one tool more that says of itself that it only reads.
    pub fn add_reading_tool(&self, tool: &str) {
        let entry = serde_json::json!({ "name": tool, "annotations": { "readOnlyHint": true } });
        self.state().reading_tools.push(entry.to_string());
    }

    /// The resources that were read since the last time this was asked.
    pub fn take_asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.drain(..).map(|(_, uri)| uri).collect()
    }

    /// Lists one resource more.
    pub fn add(&self, uri: &str) {
        let entry = serde_json::json!({ "uri": uri, "name": uri });
        self.state().resources.insert(uri.to_owned(), entry.to_string());
    }

    /// Lists one resource more, described as the test likes; it must have a `uri`.
    pub fn add_entry(&self, entry: &serde_json::Value) {
        let uri = entry["uri"].as_str().expect("an entry has a URI").to_owned();
        self.state().resources.insert(uri, entry.to_string());
    }

    /// Makes a read of `uri` give this result, written as it is.
    pub fn give(&self, uri: &str, result: impl Into<String>) {
        self.state().answers.insert(uri.to_owned(), Ok(result.into()));
    }

    /// Makes a read of `uri` give one text of a type.
    pub fn give_text(&self, uri: &str, mime: &str, text: &str) {
        let content = serde_json::json!({ "uri": uri, "mimeType": mime, "text": text });
        self.give(uri, serde_json::json!({ "contents": [content] }).to_string());
    }

    /// Makes a read of `uri` fail.
    pub fn fail(&self, uri: &str, error: SourceError) {
        self.state().answers.insert(uri.to_owned(), Err(error));
    }

    /// Makes every read fail that the test said nothing about.
    pub fn fail_others(&self, error: SourceError) {
        self.state().otherwise = Some(error);
    }

    /// Offers these values for every variable, after a time.
    pub fn complete_with(&self, values: &[&str], takes: Duration) {
        let mut state = self.state();
        state.completions = Some(values.iter().map(|value| (*value).to_owned()).collect());
        state.completing_takes = takes;
    }

    /// Lists one resource less.
    pub fn remove(&self, uri: &str) {
        self.state().resources.remove(uri);
    }

    /// Makes listing fail, or work again.
    pub fn fail_listing(&self, fails: bool) {
        self.state().listing_fails = fails;
    }

    /// Makes listing end before its end, or be whole again.
    pub fn break_off_listing(&self, breaks_off: bool) {
        self.state().listing_breaks_off = breaks_off;
    }

    /// Makes listing panic, as a fault of ours would, or work again.
    pub fn panic_listing(&self, panics: bool) {
        self.state().listing_panics = panics;
    }

    /// Makes a read of `uri` panic.
    pub fn panic_at(&self, uri: &str) {
        self.state().panics_at = Some(uri.to_owned());
    }

    /// Makes each listing take this long.
    pub fn take_for_listings(&self, time: Duration) {
        self.state().listing_takes = time;
    }

    /// Makes each promise to report take this long.
    pub fn take_for_watching(&self, time: Duration) {
        self.state().watching_takes = time;
    }

    /// Makes each read take this long.
    pub fn take_for_reads(&self, time: Duration) {
        self.state().read_takes = time;
    }

    /// Makes each answer say how long, and by whom, it may be believed.
    pub fn say_freshness(&self, freshness: Freshness) {
        self.state().freshness = Some(freshness);
    }

    /// Reports each change of every resource from now on.
    pub fn tell_changes(&self) {
        self.state().told = Some(Told { wish: 1, since: tokio::time::Instant::now() });
    }

    /// Makes every question fail as if it could not be reached, or work again.
    pub fn take_down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listing(&self) -> Result<Listing, SourceError> {
        let state = self.state();
        assert!(!state.listing_panics, "told to panic");
        if state.listing_fails {
            return Err(SourceError::Malformed { what: "told to fail".into() });
        }
        let json = |text: String| Json::parse(text).expect("the fake writes JSON");
        let template = |t: &String| {
            Template::new(json(serde_json::json!({ "uriTemplate": t, "name": t }).to_string()))
        };
        let tool =
            |t: &String| Named::new(json(serde_json::json!({ "name": t }).to_string()), "name");
        let reading_tools = state.reading_tools.iter();
        let reading_tools = reading_tools.filter_map(|t| Named::new(json(t.clone()), "name"));
        Ok(Listing {
            resources: state
                .resources
                .values()
                .filter_map(|e| Resource::new(json(e.clone())))
                .collect(),
            templates: state.templates.iter().filter_map(template).collect(),
            tools: state.tools.iter().filter_map(tool).chain(reading_tools).collect(),
            unread: Unread { resources: state.listing_breaks_off, ..Unread::default() },
            ..Listing::default()
        })
    }

    fn answer(&self, operation: &Operation) -> Result<Reply, SourceError> {
        let state = self.state();
        if let Operation::Read { uri } = operation {
            assert_ne!(state.panics_at.as_deref(), Some(uri.as_str()), "told to panic");
        }
        let body = match operation {
            Operation::Read { uri } if state.answers.contains_key(uri.as_str()) => {
                let text = state.answers[uri.as_str()].clone()?;
                let reply = Reply::plain(Json::parse(text).expect("a test writes JSON"));
                let kind = reply.body.get_str("resultType");
                let needs_input = kind.as_deref() == Some("input_required");
                return Ok(Reply { freshness: state.freshness, needs_input, ..reply });
            }
            Operation::Read { .. } if state.otherwise.is_some() => {
                return Err(state.otherwise.clone().unwrap_or(SourceError::NotFound));
            }
            Operation::Complete { .. } if state.completions.is_some() => {
                let values = state.completions.iter().flatten().collect::<Vec<_>>();
                serde_json::json!({ "completion": { "total": values.len(), "values": values } })
            }
            Operation::Read { uri } => serde_json::json!({
                "contents": [{ "uri": uri.as_str(), "text": format!("{}|{uri}", self.id) }],
            }),
            Operation::CallTool { .. } => {
                let uris: Vec<String> = state.resources.keys().cloned().collect();
                let links = uris.iter().map(
                    |uri| serde_json::json!({ "type": "resource_link", "uri": uri, "name": uri }),
                );
                serde_json::json!({ "content": links.collect::<Vec<_>>() })
            }
            _ => return Err(SourceError::NotOffered { what: "that" }),
        };
        let freshness = state.freshness;
        Ok(Reply { freshness, ..Reply::plain(Json::of(&body)) })
    }
}

impl Source for FakeSource {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn is_builtin(&self) -> bool {
        self.is_builtin
    }

    fn indexing(&self) -> Indexing {
        self.indexing
    }

    fn announces_lists(&self) -> bool {
        !self.is_silent
    }

    fn abilities(&self) -> Abilities {
        Abilities { watch: true, tools: true, ..Abilities::default() }
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        self.listings.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            let takes = self.state().listing_takes;
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            self.listing()
        })
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        _ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        if let Operation::Read { uri } = &operation {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push((Instant::now(), uri.to_string()));
        }
        let takes = match operation {
            Operation::Complete { .. } => self.state().completing_takes,
            _ => self.state().read_takes,
        };
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            if self.state().is_down {
                return Err(SourceError::Lost);
            }
            self.answer(&operation)
        })
    }

    fn watch<'a>(&'a self, uri: &'a LocalUri) -> BoxFuture<'a, Result<(), SourceError>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).push(format!("+{uri}"));
        let takes = self.state().watching_takes;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok(())
        })
    }

    fn told(&self, _uri: &LocalUri) -> Option<Told> {
        self.state().told
    }

    fn searches(&self) -> bool {
        self.state().search.is_some()
    }

    fn search<'a>(
        &'a self,
        _query: &'a str,
        _max: usize,
        _ask: Ask,
    ) -> BoxFuture<'a, Result<Vec<LiveHit>, SourceError>> {
        let search = self.state().search.clone();
        Box::pin(async move {
            match search {
                Some(FakeSearch::Finds(hits)) => Ok(hits),
                Some(FakeSearch::Fails(error)) => Err(error),
                Some(FakeSearch::Hangs) => std::future::pending().await,
                Some(FakeSearch::Panics) => panic!("told to panic"),
                None => Err(SourceError::NotOffered { what: "a search" }),
            }
        })
    }

    fn unwatch(&self, uri: &LocalUri) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).push(format!("-{uri}"));
    }
}
