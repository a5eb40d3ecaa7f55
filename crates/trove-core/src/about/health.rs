//! `info://health`: the state of every Source, from the StatusBoard.

use schemars::JsonSchema;
use serde::Serialize;

use tokio::time::Instant;

use crate::{
    failure::WITHHELD,
    source::SourceId,
    status::{Recipe, SourceStatus, State, StatusBoard, from_tools},
};

/// The state of everything, as `info://health` and `trove status` give it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    /// `ok` when every Source answers and every store is written, else `degraded`.
    pub status: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// Seconds since the start.
    pub uptime_seconds: u64,
    /// Every Source, by id.
    pub sources: Vec<SourceHealth>,
    /// Resources of all Sources.
    pub resources: usize,
    /// Templates of all Sources.
    pub templates: usize,
    /// The search index.
    pub index: IndexHealth,
    /// The stores on disk, by name.
    pub stores: Vec<StoreHealth>,
    /// The cache of contents; told where no rule hides any resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheHealth>,
}

/// The state of something that is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoreHealth {
    /// `audit`, `flags` or `index`; where something is wrong with them, also `state` (the folder
    /// of all of these) or `configuration`.
    pub name: &'static str,
    /// `ok`; `failing` while it cannot be read or written; `memory` where it is kept in memory
    /// only; `rebuilt` where what an earlier run left could not be used; `off` where there is none.
    pub state: &'static str,
    /// The problem, present or past.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<&'static str>,
    /// Entries of the audit log that were lost since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

impl StoreHealth {
    /// One about which there is nothing to say.
    pub fn new(name: &'static str, state: &'static str) -> StoreHealth {
        StoreHealth { name, state, problem: None, lost: None }
    }

    /// Whether what it is for is done.
    pub fn is_well(&self) -> bool {
        !matches!(self.state, "failing" | "memory")
    }
}

/// How the cache of contents has done since the start.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CacheHealth {
    /// Answers from what was kept.
    pub hits: u64,
    /// Answers that were fetched.
    pub misses: u64,
    /// The share of hits, from 0 to 1; nothing before the first question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_rate: Option<f64>,
    /// Answers kept.
    pub entries: u64,
    /// Bytes kept.
    pub bytes: u64,
}

/// The state of the search index, as far as the caller may know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IndexHealth {
    /// `absent` where there is none (yet), `full` when it takes in no more contents,
    /// `indexing` while contents are missing or servers are still being started or listed,
    /// else `ready`.
    pub state: &'static str,
    /// Servers that are still being started or listed: what they have is counted nowhere yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// How many resources it knows; told where no rule hides any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<usize>,
    /// Resources whose content is indexed.
    pub indexed: usize,
    /// Resources whose content is to be indexed.
    pub indexable: usize,
    /// How many vectors it has; told where no rule hides any resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<usize>,
    /// Resources that have no vectors yet of what they hold now; told where no rule hides any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors_missing: Option<usize>,
    /// How many bytes it takes; told where no rule hides any resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Default for IndexHealth {
    fn default() -> IndexHealth {
        IndexHealth {
            state: "absent",
            waits_for: Vec::new(),
            entries: None,
            indexed: 0,
            indexable: 0,
            vectors: None,
            vectors_missing: None,
            bytes: None,
        }
    }
}

/// The state of one Source.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceHealth {
    /// Its id.
    pub id: String,
    /// Where it is in its life.
    pub state: &'static str,
    /// How it is reached.
    pub transport: &'static str,
    /// The protocol version spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The name that the server gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How long the last answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The command that lets it work again, to be typed where Trove runs; told to every caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// A warning about a server that may work all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'static str>,
    /// Failed attempts in a row.
    pub failures: u32,
    /// How many times it was connected.
    pub connects: u32,
    /// How long its listing has been only a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_seconds: Option<u64>,
    /// Resources listed.
    pub resources: usize,
    /// Templates listed.
    pub templates: usize,
    /// Tools listed.
    pub tools: usize,
    /// Prompts listed.
    pub prompts: usize,
    /// How many descriptions of tools, prompts, templates and resources differ from those that
    /// were approved; `trove approve` shows which.
    #[serde(default, skip_serializing_if = "is_none")]
    pub changed: usize,
    /// The parts that are missing from the lists, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omissions: Vec<String>,
    /// How many tools the server has, shown or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_tools: Option<usize>,
    /// The recipe that makes resources of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<RecipeHealth>,
    /// A sentence on what is made of the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_tools: Option<String>,
    /// Whether its tools and prompts are passed on to clients, and why; told of servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passing: Option<String>,
}

/// A recipe, which makes resources of what tools answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecipeHealth {
    /// Its name.
    pub name: String,
    /// How many resources it makes.
    pub made: usize,
    /// Why it is off; absent where it is in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl RecipeHealth {
    fn of(recipe: Recipe) -> RecipeHealth {
        RecipeHealth { name: recipe.name, made: recipe.made, why: recipe.why }
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Health {
    /// The state of everything on the board.
    pub fn of(version: &'static str, started: Instant, board: &StatusBoard) -> Health {
        let all = board.all();
        let is_ok = all.values().all(|s| s.state == State::Ready && s.stale_since.is_none());
        Health {
            status: if is_ok { "ok" } else { "degraded" },
            version,
            uptime_seconds: started.elapsed().as_secs(),
            resources: all.values().map(|s| s.counts.resources).sum(),
            templates: all.values().map(|s| s.counts.templates).sum(),
            index: IndexHealth::default(),
            stores: Vec::new(),
            cache: None,
            sources: all
                .into_iter()
                .map(|(id, status)| SourceHealth::of(&id, status, board))
                .collect(),
        }
    }
}

impl Health {
    /// Puts other numbers of resources and templates in place, where there are any.
    pub fn count(&mut self, counts: impl Fn(&str) -> Option<(usize, usize)>) {
        for source in &mut self.sources {
            if let Some((resources, templates)) = counts(&source.id) {
                (source.resources, source.templates) = (resources, templates);
                source.tell_of_tools();
            }
        }
    }
}

impl Health {
    /// Says that something went wrong, not what.
    pub fn withhold_causes(&mut self) {
        let told = self.sources.iter_mut().filter_map(|source| source.last_error.as_mut());
        told.for_each(|cause| WITHHELD.clone_into(cause));
    }
}

impl SourceHealth {
    /// Says what is made of the tools, as far as its reader sees the resources.
    fn tell_of_tools(&mut self) {
        let recipe = self.recipe.as_mut().map(|recipe| {
            recipe.made = recipe.made.min(self.resources);
            Recipe { name: recipe.name.clone(), why: recipe.why.clone(), made: recipe.made }
        });
        self.from_tools = from_tools(self.own_tools, recipe.as_ref(), self.resources);
    }

    fn of(id: &SourceId, status: SourceStatus, board: &StatusBoard) -> SourceHealth {
        let from_tools = status.from_tools();
        let remedy = status.last_error.as_ref().and_then(|outage| outage.why.remedy());
        SourceHealth {
            id: id.to_string(),
            warning: status.oddity(),
            state: status.state.as_str(),
            transport: status.transport,
            protocol: status.protocol,
            server: status.server,
            latency_ms: status.latency_us.map(|us| us as f64 / 1000.0),
            last_error: status.last_error.map(|outage| outage.to_string()),
            remedy: remedy.map(|remedy| board.command(remedy, id)),
            failures: status.failures,
            connects: status.connects,
            stale_seconds: status.stale_since.map(|since| since.elapsed().as_secs()),
            resources: status.counts.resources,
            templates: status.counts.templates,
            tools: status.counts.tools,
            prompts: status.counts.prompts,
            changed: status.changed,
            omissions: status.omissions,
            own_tools: status.tools,
            recipe: status.recipe.map(RecipeHealth::of),
            from_tools,
            passing: status.passing,
        }
    }
}
