//! The one path of every call: find, parse, consent, run, wrap, log.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    panic::AssertUnwindSafe,
    sync::{Arc, Weak},
    time::SystemTime,
};

use arc_swap::ArcSwap;
use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{debug, error, trace, warn};

use super::{
    Effect, Prefix, TOOLS, ToolSpec, Toolset, arguments,
    consent::{self, Question},
    describe::{self, Descriptions},
    offer::{self, BridgeMode, Need},
    outcome::{Given, Outcome},
    passed,
    passed::{DEFAULT_TOOL_BUDGET, Finder, ToolSearch},
    per_server, prompts, settle,
};
use crate::{
    about::{Item, ToolBook},
    caller::{Caller, Trail, Via},
    content::PatternLimits,
    failure::{self, Class, Failure, Mentioned},
    gateway::Gateway,
    json::Json,
    resource::OwnTools,
    source::{Ask, Reply, SourceId},
};

/// The settings of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The start of the names of tools that share a prefix, e.g. `guide`; may be empty.
    pub prefix: String,
    /// The groups that are offered.
    pub toolsets: Vec<Toolset>,
    /// Whether the tools of guide and flags are shown only where a guide exists.
    pub follows_guide: bool,
    /// How much a tool says about itself.
    pub descriptions: Descriptions,
    /// When clients get the bridge.
    pub bridge: BridgeMode,
    /// The most bytes one answer may be asked to hold.
    pub max_answer: usize,
    /// How large the pattern of a search in a content may be.
    pub patterns: PatternLimits,
    /// How relevant a resource must be to be found, from 0 to 1.
    pub relevance_threshold: f32,
    /// Whether answers may show a piece of a content.
    pub has_previews: bool,
    /// Whether logs tell what was asked for.
    pub logs_queries: bool,
    /// When tools of servers are looked for instead of listed.
    pub tool_search: ToolSearch,
    /// How many tokens their list may take before.
    pub tool_budget: usize,
}

impl Settings {
    /// A name of this tool as clients see it.
    fn finish(&self, spec: &ToolSpec, name: &str) -> String {
        match spec.prefix {
            Prefix::Shared if !self.prefix.is_empty() => format!("{}_{name}", self.prefix),
            Prefix::Shared | Prefix::None => name.to_owned(),
        }
    }

    /// Whether a group is offered.
    fn offers(&self, toolset: Toolset) -> bool {
        match toolset {
            Toolset::ToolSearch => self.tool_search != ToolSearch::Off,
            other => self.toolsets.contains(&other),
        }
    }

    /// The tool of that name as clients see it, if there is one.
    pub(super) fn name_offered(&self, name: &str) -> Mentioned {
        match TOOLS.iter().find(|spec| spec.name == name) {
            None => Mentioned::NoTool,
            Some(spec) if self.offers(spec.toolset) => Mentioned::Offered(self.finish(spec, name)),
            Some(_) => Mentioned::NotOffered,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            prefix: "guide".to_owned(),
            toolsets: vec![Toolset::Resources, Toolset::Health],
            follows_guide: true,
            descriptions: Descriptions::Short,
            bridge: BridgeMode::Auto,
            max_answer: 1024 * 1024,
            patterns: PatternLimits::default(),
            relevance_threshold: 0.3,
            has_previews: true,
            logs_queries: false,
            tool_search: ToolSearch::default(),
            tool_budget: DEFAULT_TOOL_BUDGET,
        }
    }
}

/// The tools that are offered, over a gateway.
pub struct Tools {
    gateway: Arc<Gateway>,
    table: &'static [ToolSpec],
    offered: ArcSwap<Offered>,
    /// The last discoveries, kept as long as the catalogue stays.
    pub(super) discoveries: super::get_resource::Discoveries,
    /// Who searches long texts.
    pub(super) turns: super::get_resource::Turns,
    /// Finds tools of servers.
    pub(super) finder: Arc<Finder>,
}

/// The facts that decide which groups are shown at a moment.
#[derive(Clone, Copy)]
struct Surroundings {
    has_guide: bool,
    /// Tools of servers are looked for instead of listed.
    searches_tools: bool,
}

struct Offered {
    settings: Settings,
    tools: Vec<OfferedTool>,
    by_name: HashMap<String, usize>,
}

struct OfferedTool {
    spec: &'static ToolSpec,
    name: String,
    schema: Value,
    takes: arguments::Shape,
    entry: Json,
}

impl OfferedTool {
    /// The arguments of a call as the tool takes them. One that destroys is refused first if its
    /// word is missing: the caller must know that, even if more is wrong.
    fn parse(&self, arguments: Option<&Json>) -> Result<Value, Failure> {
        let given = arguments::given(arguments)?;
        consent::expect_word(self.spec, &given)?;
        self.takes.check(given)
    }
}

/// One call, for the tool that runs.
pub struct Call<'a> {
    /// The tools, for what they share.
    pub(super) tools: &'a Tools,
    /// The use cases.
    pub gateway: &'a Arc<Gateway>,
    /// Who calls.
    pub caller: &'a Caller,
    pub settings: &'a Settings,
    /// How much of the bridge the caller's client needs.
    pub(super) need: Need,
    /// When the call came.
    pub now: SystemTime,
    /// That moment, by a clock that does not jump.
    pub(super) began: Instant,
    ask: &'a parking_lot::Mutex<Ask>,
}

/// A call before the tool is known.
pub(super) struct Begun {
    offered: Arc<Offered>,
    caller: Caller,
    ask: parking_lot::Mutex<Ask>,
}

impl Begun {
    pub(super) fn as_call<'a>(&'a self, tools: &'a Tools) -> Call<'a> {
        Call {
            tools,
            gateway: &tools.gateway,
            caller: &self.caller,
            settings: &self.offered.settings,
            need: offer::need(self.offered.settings.bridge, &self.caller),
            now: SystemTime::now(),
            began: Instant::now(),
            ask: &self.ask,
        }
    }
}

impl<'a> Call<'a> {
    /// This call, made by another caller.
    pub(super) fn by(&self, caller: &'a Caller) -> Call<'a> {
        Call { caller, ..*self }
    }

    /// This call, made for a client that needs this much of the bridge.
    pub(super) fn needing(&self, need: Need) -> Call<'a> {
        Call { need, ..*self }
    }

    /// Whether a question of a Source can go back to the client, as long as nothing was asked.
    pub(super) fn passes_questions_on(&self) -> bool {
        let ask = self.ask.lock();
        ask.capabilities.is_some()
    }

    /// The data that travels to a Source beside the operation: all of it the first time, then none.
    pub(super) fn ask(&self) -> Ask {
        std::mem::take(&mut *self.ask.lock())
    }
}

impl Tools {
    /// The tools these settings offer.
    pub fn new(gateway: Arc<Gateway>, settings: Settings) -> Arc<Tools> {
        let tools = Arc::new(Tools::of(gateway.clone(), settings, TOOLS));
        let book: Weak<Tools> = Arc::downgrade(&tools);
        gateway.publish_tools(book);
        tools
    }

    /// Every tool there is, for the command line, even if the settings do not offer it. How
    /// resources are found is as set.
    pub fn all(&self) -> Tools {
        let offered = self.offered.load();
        let settings = Settings {
            prefix: String::new(),
            toolsets: Toolset::ALL.to_vec(),
            patterns: offered.settings.patterns,
            relevance_threshold: offered.settings.relevance_threshold,
            has_previews: offered.settings.has_previews,
            logs_queries: offered.settings.logs_queries,
            ..Settings::default()
        };
        Tools::of(self.gateway.clone(), settings, TOOLS)
    }

    pub(super) fn of(
        gateway: Arc<Gateway>,
        settings: Settings,
        table: &'static [ToolSpec],
    ) -> Tools {
        Tools {
            gateway,
            table,
            offered: ArcSwap::from_pointee(Offered::new(settings, table)),
            discoveries: super::get_resource::Discoveries::default(),
            turns: super::get_resource::Turns::default(),
            finder: Arc::default(),
        }
    }

    /// Puts other settings in force.
    pub fn configure(&self, settings: Settings) {
        if self.offered.load().settings != settings {
            self.offered.store(Arc::new(Offered::new(settings, self.table)));
            self.gateway.tell_of_tools();
        }
    }

    /// The entries of the tools that this caller is offered, in order.
    pub fn list(&self, caller: &Caller) -> Vec<Json> {
        let offered = self.offered.load();
        let shown = offered.shown_to(caller, self.given());
        let mut entries: Vec<Json> = shown.map(|tool| tool.entry.clone()).collect();
        entries.extend(self.of_servers());
        entries
    }

    /// The entries of the tools that read one server each, where those are offered.
    fn of_servers(&self) -> Vec<Json> {
        if self.offered.load().settings.toolsets.contains(&Toolset::PerServer) {
            per_server::entries(&self.gateway.current())
        } else {
            Vec::new()
        }
    }

    /// Whether this caller is offered any.
    pub fn are_shown_to(&self, caller: &Caller) -> bool {
        let offered = self.offered.load();
        offered.shown_to(caller, self.given()).next().is_some() || !self.of_servers().is_empty()
    }

    /// The question that a person must answer before this call, if the client can ask.
    pub fn question(&self, name: &str, arguments: Option<&Json>) -> Option<Question> {
        let offered = self.offered.load();
        let tool = &offered.tools[*offered.by_name.get(name)?];
        Question::of(tool.spec, &tool.parse(arguments).ok()?)
    }

    /// The words with each tool of ours under the name by which it is offered now; `None` if one
    /// of them is not offered.
    pub fn named(&self, words: &'static str) -> Option<String> {
        let offered = self.offered.load();
        let is_left_out = offered.leaves_out(self.given());
        let name_of = |name: &str| match TOOLS.iter().find(|spec| spec.name == name) {
            Some(spec) if is_left_out(spec.toolset) => Mentioned::NotOffered,
            Some(_) | None => offered.settings.name_offered(name),
        };
        failure::named(words, &name_of)
    }

    /// The effect of the tool of that name on the world, if it is one of ours.
    pub fn effect(&self, name: &str) -> Option<Effect> {
        let offered = self.offered.load();
        offered.by_name.get(name).map(|&n| offered.tools[n].spec.effect)
    }

    /// A tool of one server, where those are offered.
    fn per_server(&self, name: &str) -> Option<per_server::Meant> {
        let is_offered = self.offered.load().settings.toolsets.contains(&Toolset::PerServer);
        is_offered.then(|| per_server::meant(&self.gateway.current(), name)).flatten()
    }

    /// Whether tools of servers are looked for now instead of listed.
    pub fn searches_tools(&self) -> bool {
        let offered = self.offered.load();
        passed::searches(&offered.settings, &self.gateway.current())
    }

    /// The gateway they are over.
    pub(super) fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    fn given(&self) -> Surroundings {
        Surroundings { has_guide: self.has_guide(), searches_tools: self.searches_tools() }
    }

    fn has_guide(&self) -> bool {
        self.gateway.knowledge().is_some_and(|knowledge| knowledge.has_root())
    }

    /// Whether there is a tool of that name, shown to this client or not. One that is left out
    /// gives way to that of a server.
    pub fn has(&self, name: &str) -> bool {
        let offered = self.offered.load();
        let own = offered.by_name.get(name).map(|&n| offered.tools[n].spec.toolset);
        match own {
            Some(toolset) => {
                let is_left_out = offered.leaves_out(self.given())(toolset);
                !(is_left_out && self.gateway.current().tool(name).is_some())
            }
            None => self.per_server(name).is_some(),
        }
    }

    /// Takes what every call and every prompt begins with.
    pub(super) fn begin(&self, caller: &Caller, ask: Ask) -> Begun {
        let via = if caller.via == Via::Native { Via::Bridge } else { caller.via };
        let project = self.gateway.project_of(caller);
        let caller = Caller { via, project, trail: Trail::begin(), ..caller.clone() };
        Begun { offered: self.offered.load_full(), caller, ask: parking_lot::Mutex::new(ask) }
    }

    /// Calls the tool of that name; `None` if there is none. A failure is a result of the call too.
    pub async fn call(
        &self,
        caller: &Caller,
        name: &str,
        arguments: Option<&Json>,
        ask: Ask,
    ) -> Option<Reply> {
        let answer = self.attempt(caller, name, arguments, ask).await?;
        Some(answer.unwrap_or_else(|failure| {
            failure.to_reply(self.gateway.access().withholds_causes_from(caller))
        }))
    }

    /// Calls the tool of that name; `None` if there is none.
    pub async fn attempt(
        &self,
        caller: &Caller,
        name: &str,
        arguments: Option<&Json>,
        ask: Ask,
    ) -> Option<Result<Reply, Failure>> {
        let begun = self.begin(caller, ask);
        let call = begun.as_call(self);
        let tool = match begun.offered.by_name.get(name) {
            Some(&n) => Ok(&begun.offered.tools[n]),
            None => Err(self.per_server(name)?),
        };
        let name = tool.as_ref().map_or(name, |tool| tool.spec.name);
        trace!("Tool called: {name}");
        let effect = tool.as_ref().map_or(Effect::Reads, |tool| tool.spec.effect);
        let outcome = match tool {
            Ok(tool) => run(tool, arguments, &call).await,
            Err(meant) => run_per_server(meant, arguments, &call).await,
        };
        settle::call(&call, (name, effect), arguments, &outcome);
        Some(match outcome {
            Ok(outcome) => {
                trace!("Tool {name} completed successfully");
                Ok(match outcome.0 {
                    Given::Answer(answer) => answer.into_reply(),
                    Given::Written(reply) | Given::NeedsInput(reply) => reply,
                })
            }
            Err(mut failure) => {
                error!("Tool {name} failed: {}", failure.class().as_str());
                let is_masked = call.gateway.access().withholds_causes_from(caller);
                // The message may hold arguments, which are not for logs.
                match failure.cause().filter(|_| is_masked) {
                    // The caller is told to look here.
                    Some(cause) => warn!(tool = name, cause, "failure"),
                    None => debug!(tool = name, field = failure.field(), "failure"),
                }
                failure.name_tools(|name| call.settings.name_offered(name));
                Err(failure)
            }
        })
    }
}

async fn run_per_server(
    meant: per_server::Meant,
    arguments: Option<&Json>,
    call: &Call<'_>,
) -> Result<Outcome, Failure> {
    let arguments = per_server::takes(&meant).check(arguments::given(arguments)?)?;
    per_server::run(meant, arguments, call).await
}

impl ToolBook for Tools {
    fn summaries(&self, caller: &Caller) -> Vec<Item> {
        let offered = self.offered.load();
        let summary = |tool: &OfferedTool| Item {
            uri: None,
            name: Some(tool.name.clone()),
            description: Some(describe::first_line(&tool.schema)),
            toolset: Some(tool.spec.toolset.as_str()),
            effect: Some(tool.spec.effect.as_str()),
        };
        let own = offered.shown_to(caller, self.given()).map(summary);
        own.chain(per_server::summaries(&self.of_servers())).collect()
    }

    fn names(&self) -> Vec<String> {
        let offered = self.offered.load();
        let own = offered.tools.iter().map(|tool| tool.spec.name.to_owned());
        own.chain(self.of_servers().iter().filter_map(|entry| entry.get_str("name"))).collect()
    }

    fn document(&self, name: &str) -> Option<String> {
        let offered = self.offered.load();
        let tool = offered.tools.iter().find(|tool| tool.spec.name == name || tool.name == name);
        if let Some(tool) = tool {
            return Some(describe::document(tool.spec));
        }
        let entries = self.of_servers();
        let entry = entries.iter().find(|entry| entry.get_str("name").as_deref() == Some(name));
        entry.and_then(per_server::document)
    }

    fn own(&self, servers: &[&SourceId]) -> OwnTools {
        self.offered.load().own(self.has_guide(), servers)
    }

    fn offers(&self, toolset: &str) -> bool {
        let offered = self.offered.load();
        let is_left_out = offered.leaves_out(self.given());
        let has_servers = toolset == Toolset::PerServer.as_str() && !self.of_servers().is_empty();
        has_servers
            || offered.tools.iter().any(|tool| {
                tool.spec.toolset.as_str() == toolset && !is_left_out(tool.spec.toolset)
            })
    }

    fn prompts(&self) -> Vec<Item> {
        let item = |entry: Json| Item {
            name: entry.get_str("name"),
            description: entry.get_str("description"),
            ..Item::default()
        };
        Tools::prompts(self).into_iter().map(item).collect()
    }

    fn prompt_document(&self, name: &str) -> Option<String> {
        let (_, document) = prompts::prompt_documents().find(|(prompt, _)| *prompt == name)?;
        Some(document)
    }
}

/// Parses, asks for consent, runs; a panic is one failure and ends nothing else.
async fn run(
    tool: &OfferedTool,
    arguments: Option<&Json>,
    call: &Call<'_>,
) -> Result<Outcome, Failure> {
    let arguments = tool.parse(arguments)?;
    let asked = {
        let ask = call.ask.lock();
        consent::ask(tool.spec, &arguments, &ask)
    };
    if let Some(outcome) = asked {
        return outcome;
    }
    let running = AssertUnwindSafe((tool.spec.run)(arguments, call)).catch_unwind();
    running.await.unwrap_or_else(|_| {
        let message = format!("{} failed by a fault of Trove's own", tool.spec.name);
        let action = "Report it with the log of this moment; other calls work on.";
        Err(Failure::new(Class::InternalError, message, action))
    })
}

impl Offered {
    /// The tools a caller sees: the bridge where his client needs it, those of the guide
    /// where there is one.
    fn shown_to(
        &self,
        caller: &Caller,
        around: Surroundings,
    ) -> impl Iterator<Item = &OfferedTool> + use<'_> {
        let need = offer::need(self.settings.bridge, caller);
        let is_left_out = self.leaves_out(around);
        self.tools.iter().filter(move |tool| {
            !is_left_out(tool.spec.toolset) && (!tool.spec.is_bridge || need != Need::Nothing)
        })
    }

    /// The tools offered beside these servers, to a client that needs all of them.
    fn own(&self, has_guide: bool, servers: &[&SourceId]) -> OwnTools {
        // The names stay taken whether they are shown at the moment or not.
        let is_left_out = self.leaves_out(Surroundings { has_guide, searches_tools: true });
        let is_offered = |n: &usize| !is_left_out(self.tools[*n].spec.toolset);
        let callable = self.by_name.iter().filter(|(_, n)| is_offered(n));
        let mut names: HashSet<String> = callable.map(|(name, _)| name.clone()).collect();
        let mut hasher = DefaultHasher::new();
        for n in (0..self.tools.len()).filter(|n| is_offered(n)) {
            self.tools[n].entry.as_bytes().hash(&mut hasher);
        }
        // It decides who is shown which of them.
        self.settings.bridge.hash(&mut hasher);
        (self.settings.tool_search, self.settings.tool_budget).hash(&mut hasher);
        if self.settings.toolsets.contains(&Toolset::PerServer) {
            names.extend(per_server::names(servers));
        }
        OwnTools { names, print: hasher.finish() }
    }

    /// Which groups are not offered though they are set: unless somebody wrote them down, those
    /// of the guide go with it.
    fn leaves_out(&self, around: Surroundings) -> impl Fn(Toolset) -> bool + use<> {
        let follows = self.settings.follows_guide && !around.has_guide;
        move |toolset| match toolset {
            Toolset::Guide | Toolset::Flags => follows,
            Toolset::ToolSearch => !around.searches_tools,
            _ => false,
        }
    }

    fn new(settings: Settings, table: &'static [ToolSpec]) -> Offered {
        let mut tools = Vec::new();
        let mut by_name = HashMap::new();
        for spec in table.iter().filter(|spec| settings.offers(spec.toolset)) {
            let finish = |name: &str| settings.finish(spec, name);
            let schema = (spec.schema)();
            let name = finish(spec.name);
            let entry = describe::entry(spec, &name, &schema, settings.descriptions);
            by_name.insert(name.clone(), tools.len());
            for alias in spec.aliases {
                by_name.entry(finish(alias)).or_insert(tools.len());
            }
            let takes = arguments::Shape::of(&schema);
            tools.push(OfferedTool { spec, name, schema, takes, entry });
        }
        Offered { settings, tools, by_name }
    }
}
