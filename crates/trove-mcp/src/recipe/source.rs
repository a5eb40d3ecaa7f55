//! A server with the resources that its recipe makes, as one Source.
//!
//! It stands in front of the server and passes on all that is not its own. A recipe takes no listed
//! resource away from its server.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use trove_core::{
    Json, LocalUri, Source, SourceError, SourceId,
    content::sniff,
    resource::{Listing, Named, Template},
    source::{Abilities, Ask, Indexing, LiveHit, Operation, Reply, Told},
    status::Recipe as Standing,
};

use super::{
    Choice, ReadStep, Recipe, Shipped, ToolCall,
    answer::Answer,
    fit::{self, Leave, Tools},
    listing::Lister,
    search,
    words::Values,
};
use crate::bounds::Bounds;

/// The most values that a completion offers.
const MAX_COMPLETIONS: usize = 100;

/// A Source whose tools can be listed and called.
pub(crate) trait Toolbox: Source {
    /// The tools it has now; `None` if it has none to list.
    fn tools(&self) -> BoxFuture<'_, Result<Option<Vec<Named>>, SourceError>>;

    /// How it calls itself.
    fn calls_itself(&self) -> Option<String>;

    /// How many times it was met. After each time its tools may be others.
    fn meetings(&self) -> u32;

    /// The words it is started with; of a server elsewhere its URL.
    fn started_with(&self) -> Vec<String>;

    /// Says on the board how many tools it has and what is made of them.
    fn tell(&self, tools: Option<usize>, recipe: Option<Standing>);
}

/// A server in front of which a recipe may stand.
pub(crate) struct Made<T> {
    pub(super) inner: Arc<T>,
    choice: Choice,
    /// Whether it may be asked to search.
    may_search: bool,
    shipped: Arc<[Shipped]>,
    bounds: Bounds,
    /// The place of the shipped recipe for what is started or reached.
    named: OnceLock<Option<usize>>,
    known: Mutex<Known>,
}

/// The last that was found out.
#[derive(Default)]
struct Known {
    fit: Option<Arc<Fit>>,
    /// The URIs that the recipe made.
    made: Arc<HashSet<LocalUri>>,
    /// The URIs that the server lists itself.
    own: Arc<HashSet<LocalUri>>,
}

/// The tools of a server since it was last met, and the recipe that fits them.
pub(super) struct Fit {
    meeting: u32,
    pub(super) tools: Tools,
    /// The recipe that fits.
    pub(super) recipe: Option<Arc<Recipe>>,
    /// The values of its options.
    pub(super) given: Value,
    /// Why none fits though there is one: its name, and the reasons.
    misfit: Option<(String, Vec<String>)>,
}

impl<T: Toolbox> Made<T> {
    pub(crate) fn new(
        inner: Arc<T>,
        choice: Choice,
        may_search: bool,
        shipped: Arc<[Shipped]>,
        bounds: Bounds,
    ) -> Made<T> {
        let (named, known) = (OnceLock::new(), Mutex::default());
        Made { inner, choice, may_search, shipped, bounds, named, known }
    }

    fn known<R>(&self, look: impl FnOnce(&mut Known) -> R) -> R {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The recipes that may be for this server, and whether a person approved them.
    fn candidates(&self) -> (&[Arc<Recipe>], Leave) {
        match &self.choice {
            Choice::Off => (&[], Leave::ToRead),
            Choice::Given(recipes) => (recipes, Leave::ToCall),
            Choice::Auto { is_approved } => {
                if let Some(shipped) = self.named() {
                    let leave = if *is_approved { Leave::ToCall } else { Leave::unasked(shipped) };
                    return (&shipped.variants, leave);
                }
                let name = self.inner.calls_itself().unwrap_or_default();
                // Its own word was not there to be approved.
                match self.shipped.iter().find(|one| one.calls_itself(&name)) {
                    Some(shipped) => (&shipped.variants, Leave::unasked(shipped)),
                    None => (&[], Leave::ToRead),
                }
            }
        }
    }

    /// The shipped recipe for what is started or reached.
    fn named(&self) -> Option<&Shipped> {
        let place = self.named.get_or_init(|| {
            let words = self.inner.started_with();
            let is_it = |one: &Shipped| one.is_named_in(words.iter().map(String::as_str));
            self.shipped.iter().position(is_it)
        });
        place.map(|place| &self.shipped[place])
    }

    /// Finds out which recipe fits these tools.
    fn fit(&self, listed: &[Named]) -> Fit {
        let tools = fit::tools_of(listed);
        let (candidates, leave) = self.candidates();
        let words = self.inner.started_with();
        let meeting = self.inner.meetings();
        let mut misfit: Option<(String, Vec<String>)> = None;
        for recipe in candidates {
            let (given, mut why) = options(recipe, &words);
            why.extend(fit::misfits(recipe, &tools, leave));
            if why.is_empty() {
                let recipe = Some(recipe.clone());
                return Fit { meeting, tools, recipe, given, misfit: None };
            }
            // The nearest of them is the one that is told of.
            if misfit.as_ref().is_none_or(|(_, least)| why.len() < least.len()) {
                misfit = Some((name_of(recipe), why));
            }
        }
        Fit { meeting, tools, recipe: None, given: Value::Null, misfit }
    }

    /// The tools and the recipe that fits, found out anew if the server was met again since.
    async fn fitted(&self) -> Result<Option<Arc<Fit>>, SourceError> {
        let meeting = self.inner.meetings();
        let known = self.known(|known| known.fit.clone());
        if let Some(fit) = known.filter(|fit| fit.meeting == meeting) {
            return Ok(Some(fit));
        }
        match self.inner.tools().await? {
            Some(tools) => Ok(Some(self.note(self.fit(&tools)))),
            None => Ok(None),
        }
    }

    fn note(&self, fit: Fit) -> Arc<Fit> {
        let fit = Arc::new(fit);
        self.known(|known| known.fit = Some(fit.clone()));
        fit
    }

    /// Calls a tool that the recipe names. This is the only way in which one is called for a
    /// recipe, and only what fitted gets here.
    pub(super) async fn call(
        &self,
        fit: &Fit,
        call: &ToolCall,
        values: &Values<'_>,
        more: Option<(&str, Value)>,
        ask: Ask,
        is_plain: bool,
    ) -> Result<Answer, SourceError> {
        let Some(tool) = fit.tools.get(&call.tool) else {
            return Err(SourceError::NotOffered { what: "a tool of its recipe" });
        };
        if tool.only_reads == Some(false) {
            return Err(SourceError::NotOffered { what: "that tool for reading" });
        }
        let mut arguments = fit::arguments_of(call, tool, values);
        if let Some((key, value)) = more {
            arguments.insert(key.to_owned(), fit::typed(value, tool.types(key)));
        }
        self.ask_tool(&call.tool, arguments, ask, is_plain).await
    }

    pub(super) async fn ask_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        ask: Ask,
        is_plain: bool,
    ) -> Result<Answer, SourceError> {
        let arguments = Json::of(&json!({ "name": tool, "arguments": arguments }));
        let reply = self.inner.perform(Operation::CallTool { arguments }, ask).await?;
        if reply.needs_input {
            return Err(SourceError::NotOffered { what: "that without asking back" });
        }
        Answer::of(reply.body, is_plain)
    }

    async fn listed(&self) -> Result<Listing, SourceError> {
        let mut listing = self.inner.list().await?;
        let tools = if !listing.tools.is_empty() {
            Ok(Some(listing.tools.clone()))
        } else if self.wants_tools(&listing) {
            self.inner.tools().await
        } else {
            return Ok(listing);
        };
        let tools = match tools {
            Ok(Some(tools)) => tools,
            Ok(None) => return Ok(listing),
            Err(error) => {
                self.excuse(&mut listing, &error);
                return Ok(listing);
            }
        };
        let fit = self.note(self.fit(&tools));
        let Some(recipe) = &fit.recipe else {
            self.known(|known| known.made = Arc::default());
            let off = fit.misfit.clone().map(|(name, why)| Standing { name, why, made: 0 });
            self.inner.tell(Some(tools.len()), off);
            return Ok(listing);
        };
        let own: HashSet<LocalUri> =
            listing.resources.iter().map(|resource| resource.uri.clone()).collect();
        let lister = Lister::new(self, &fit, recipe, &self.bounds);
        lister.run(&mut listing, &own).await;
        listing.templates.extend(recipe.reads.iter().filter_map(template));
        let made = listing.resources.iter().map(|resource| resource.uri.clone());
        let made: HashSet<LocalUri> = made.filter(|uri| !own.contains(uri)).collect();
        let standing = Standing { name: name_of(recipe), why: Vec::new(), made: made.len() };
        self.known(|known| {
            known.made = Arc::new(made);
            known.own = Arc::new(own);
        });
        self.inner.tell(Some(tools.len()), Some(standing));
        Ok(listing)
    }

    /// Whether anything depends on the tools of a server that lists this.
    fn wants_tools(&self, listing: &Listing) -> bool {
        let lists_nothing = listing.resources.is_empty() && listing.templates.is_empty();
        lists_nothing || !self.candidates().0.is_empty()
    }

    /// The tools could not be read: what was made of them stands.
    fn excuse(&self, listing: &mut Listing, error: &SourceError) {
        if self.known(|known| known.made.is_empty()) {
            return;
        }
        listing.unread.resources = true;
        listing.unread.templates = true;
        let why = format!("its tools could not be listed, the last list stands: {error}");
        listing.omissions.push(why);
    }

    /// The step that reads a URI, with the values in it.
    fn step<'r>(&self, recipe: &'r Recipe, uri: &LocalUri) -> Option<(&'r ReadStep, Value)> {
        if self.known(|known| known.own.contains(uri)) {
            return None;
        }
        for step in &recipe.reads {
            if !is_of_type(step, uri.as_str()) {
                continue;
            }
            let Some(values) = step.template.matches(uri.as_str()) else { continue };
            let mut values: Map<String, Value> = values
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_string().into()))
                .collect();
            values.insert("uri".to_owned(), uri.as_str().into());
            return Some((step, Value::Object(values)));
        }
        None
    }

    async fn read(&self, uri: &LocalUri, ask: Ask) -> Result<Option<Reply>, SourceError> {
        if self.candidates().0.is_empty() {
            return Ok(None);
        }
        let Some(fit) = self.fitted().await? else { return Ok(None) };
        let Some(recipe) = &fit.recipe else { return Ok(None) };
        let Some((step, values)) = self.step(recipe, uri) else { return Ok(None) };
        if step.is_listed_only && (has_quotes(&values) || !self.is_made(uri).await?) {
            return Err(SourceError::NotFound);
        }
        let values = Values::of(&fit.given).and(&values);
        let answer = self.call(&fit, &step.call, &values, None, ask, step.is_plain).await;
        match answer.and_then(|answer| answer.contents(uri.as_str(), step)) {
            Ok(body) => Ok(Some(Reply::plain(body))),
            // Tools have no number for it, so that their words must do.
            Err(error) if error.means_absence_of(uri.as_str()) => Err(SourceError::NotFound),
            Err(error) => Err(error),
        }
    }

    /// Whether the recipe lists a URI. A list that was never read is read now.
    async fn is_made(&self, uri: &LocalUri) -> Result<bool, SourceError> {
        if self.known(|known| known.made.is_empty()) {
            self.listed().await?;
        }
        Ok(self.known(|known| known.made.contains(uri)))
    }

    /// The values of a variable in what the recipe lists; `None` if the template is not its own.
    fn completed(&self, arguments: &Json) -> Option<Reply> {
        let text = arguments.get("ref")?.get_str("uri")?;
        let argument = arguments.get("argument")?;
        let (name, start) = (argument.get_str("name")?, argument.get_str("value")?);
        let (fit, made) = self.known(|known| (known.fit.clone(), known.made.clone()));
        let recipe = fit?.recipe.clone()?;
        let step = recipe.reads.iter().find(|step| step.template.as_str() == text)?;
        let mut values: Vec<String> = Vec::new();
        for uri in made.iter() {
            let Some(bound) = step.template.matches(uri.as_str()) else { continue };
            let value = bound.get(&name).map(ToString::to_string);
            values.extend(value.filter(|value| value.starts_with(&start)));
        }
        values.sort();
        values.dedup();
        let total = values.len();
        values.truncate(MAX_COMPLETIONS);
        let has_more = total > values.len();
        let body =
            json!({ "completion": { "values": values, "total": total, "hasMore": has_more } });
        Some(Reply::plain(Json::of(&body)))
    }

    fn recipe_in_force(&self) -> Option<Arc<Recipe>> {
        self.known(|known| known.fit.as_ref().and_then(|fit| fit.recipe.clone()))
    }
}

/// The name of a recipe where people read.
fn name_of(recipe: &Recipe) -> String {
    recipe.name.clone().unwrap_or_else(|| "of the configuration".to_owned())
}

/// The signs by which a value could end the text it is part of.
const QUOTES: [char; 5] = ['"', '\'', '`', '\\', ';'];

fn has_quotes(values: &Value) -> bool {
    let mut texts = values.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
    texts.any(|text| text.contains(QUOTES))
}

/// The values of a recipe's options, and what is missing of them.
fn options(recipe: &Recipe, words: &[String]) -> (Value, Vec<String>) {
    let mut given = Map::new();
    let mut missing = Vec::new();
    for option in &recipe.options {
        let value = option.spellings.iter().find_map(|spelling| behind(words, spelling));
        match value {
            Some(value) => drop(given.insert(option.variable.clone(), value.into())),
            None => missing.push(format!(
                "its command has no `{}`, from which the recipe takes `{}`",
                option.spellings.join("` or `"),
                option.variable
            )),
        }
    }
    (Value::Object(given), missing)
}

/// The word behind an option, be it `--option word` or `--option=word`.
fn behind(words: &[String], option: &str) -> Option<String> {
    for (nth, word) in words.iter().enumerate() {
        if word == option {
            return words.get(nth + 1).cloned();
        }
        let rest = word.strip_prefix(option).and_then(|rest| rest.strip_prefix('='));
        if let Some(value) = rest {
            return Some(value.to_owned());
        }
    }
    None
}

/// Whether the ending of a URI tells a type that the step is for.
fn is_of_type(step: &ReadStep, uri: &str) -> bool {
    if step.only.is_empty() {
        return true;
    }
    // Of bytes that tell nothing the name tells all.
    let kind = sniff(None, uri, &[0]).mime;
    step.only.iter().any(|only| match only.strip_suffix('*') {
        Some(start) => kind.starts_with(start),
        None => kind == only.as_str(),
    })
}

/// A read step in the list of templates.
fn template(step: &ReadStep) -> Option<Template> {
    if step.is_listed_only || !step.only.is_empty() {
        return None;
    }
    let text = step.template.as_str();
    let mut entry = json!({ "uriTemplate": text, "name": step.name.as_deref().unwrap_or(text) });
    if let Some(description) = &step.description {
        entry["description"] = description.as_str().into();
    }
    if let Some(mime) = &step.mime {
        entry["mimeType"] = mime.as_str().into();
    }
    Template::new(Json::of(&entry))
}

impl<T: Toolbox> Source for Made<T> {
    fn id(&self) -> &SourceId {
        self.inner.id()
    }

    fn is_builtin(&self) -> bool {
        self.inner.is_builtin()
    }

    fn accepts_unlisted(&self) -> bool {
        self.inner.accepts_unlisted()
    }

    fn indexing(&self) -> Indexing {
        let is_light = self.recipe_in_force().is_some_and(|recipe| !recipe.is_indexed);
        match self.inner.indexing() {
            Indexing::Content if is_light => Indexing::Metadata,
            indexing => indexing,
        }
    }

    fn is_public(&self) -> bool {
        self.inner.is_public()
    }

    fn tool_prefix(&self) -> &str {
        self.inner.tool_prefix()
    }

    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    fn announces_lists(&self) -> bool {
        // Tools tell of no change in what they list.
        self.inner.announces_lists() && self.recipe_in_force().is_none()
    }

    fn abilities(&self) -> Abilities {
        let inner = self.inner.abilities();
        let completes = self.recipe_in_force().is_some_and(|recipe| !recipe.reads.is_empty());
        Abilities { complete: inner.complete || completes, ..inner }
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(self.listed())
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        Box::pin(async move {
            match &operation {
                Operation::Read { uri } => {
                    if let Some(reply) = self.read(uri, ask.clone()).await? {
                        return Ok(reply);
                    }
                }
                Operation::Complete { arguments } => {
                    if let Some(reply) = self.completed(arguments) {
                        return Ok(reply);
                    }
                }
                _ => {}
            }
            self.inner.perform(operation, ask).await
        })
    }

    fn watch<'a>(&'a self, uri: &'a LocalUri) -> BoxFuture<'a, Result<(), SourceError>> {
        if self.known(|known| known.made.contains(uri)) {
            let what = "notice of changes of what a recipe makes";
            return Box::pin(async move { Err(SourceError::NotOffered { what }) });
        }
        self.inner.watch(uri)
    }

    fn told(&self, uri: &LocalUri) -> Option<Told> {
        self.inner.told(uri)
    }

    fn unwatch(&self, uri: &LocalUri) {
        self.inner.unwatch(uri);
    }

    fn set_log_level<'a>(&'a self, level: &'a str) -> BoxFuture<'a, ()> {
        self.inner.set_log_level(level)
    }

    fn searches(&self) -> bool {
        let fit = self.known(|known| known.fit.clone());
        self.may_search && fit.is_some_and(|fit| search::is_offered(&fit))
    }

    fn search<'a>(
        &'a self,
        query: &'a str,
        max: usize,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Vec<LiveHit>, SourceError>> {
        Box::pin(async move {
            match self.fitted().await? {
                Some(fit) if self.may_search => search::hits(self, &fit, query, max, ask).await,
                _ => Err(SourceError::NotOffered { what: "a search" }),
            }
        })
    }
}
