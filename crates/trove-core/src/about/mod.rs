//! `info://`, `config://`, `auth://`: the gateway's words about itself and its caller.
//!
//! Nothing here is typed twice: health is the parts' reports on the StatusBoard, capabilities are
//! the tables that are served, limits the constants that are enforced.

pub mod fields;
mod health;
mod settings;

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;

pub use health::{CacheHealth, Health, IndexHealth, SourceHealth, StoreHealth};
pub use settings::{
    CacheSettings, CallerStatus, Collision, OwnStanding, RateLimits, RuleShown, SearchSettings,
    SecuritySettings, ServerSettings, Transport,
};

use crate::{
    caller::Caller,
    json::Json,
    resource::{Freshness, Listing, OwnTools, Resource, Scope, Template},
    source::{Abilities, Ask, Indexing, Operation, Reply, Source, SourceError, SourceId},
};

/// The most resources and the most templates that `info://capabilities` shows; the
/// totals beside them are always whole.
pub const MAX_SHOWN: usize = 1000;

/// How long our own list may be believed: it only changes with the program.
const OWN_LIST_TTL_MS: u64 = 300_000;

/// Where About finds what it tells: live state, never a copy of it.
pub trait Facts: Send + Sync {
    /// The state of everything, as far as the caller may know of it.
    fn health(&self, caller: &Caller) -> Health;
    /// The entries that are served to the caller.
    fn capabilities(&self, caller: &Caller) -> Capabilities;
    /// The names several Sources use, as far as the caller may know of them.
    fn collisions(&self, caller: &Caller) -> Vec<Collision>;
    /// Who the caller is to us.
    fn standing(&self, caller: &Caller) -> CallerStatus;
    /// The settings in force.
    fn server(&self) -> ServerSettings;
    /// The limits and rules in force, as far as the caller may know of them.
    fn security(&self, caller: &Caller) -> SecuritySettings;
    /// The gateway's own tools.
    fn tools(&self) -> Option<Arc<dyn ToolBook>>;
}

/// The gateway's own tools, as far as these documents tell of them.
pub trait ToolBook: Send + Sync {
    /// The tools `caller` is offered.
    fn summaries(&self, caller: &Caller) -> Vec<Item>;
    /// The bare names of all there are.
    fn names(&self) -> Vec<String>;
    /// The whole document of one.
    fn document(&self, name: &str) -> Option<String>;
    /// Those that are offered now, beside these servers.
    fn own(&self, servers: &[&SourceId]) -> OwnTools;
    /// Whether tools of this group are offered now.
    fn offers(&self, toolset: &str) -> bool;
    /// The gateway's own prompts.
    fn prompts(&self) -> Vec<Item>;
    /// The whole document of one prompt.
    fn prompt_document(&self, name: &str) -> Option<String>;
}

/// The entries that the gateway serves.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Capabilities {
    /// Tools.
    pub tools: Vec<Item>,
    /// Resources, at most 1000 of them.
    pub resources: Vec<Item>,
    /// How many resources there are.
    pub resources_total: usize,
    /// Templates, at most 1000 of them.
    pub templates: Vec<Item>,
    /// How many templates there are.
    pub templates_total: usize,
    /// Prompts.
    pub prompts: Vec<Item>,
}

/// One thing that is served.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Item {
    /// Its URI, if it is known by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description it gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The group it belongs to, for tools of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<&'static str>,
    /// Its effect on the world, for tools of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<&'static str>,
}

/// `info://collisions`.
#[derive(Debug, Serialize, JsonSchema)]
struct Collisions {
    /// The names that several Sources use.
    collisions: Vec<Collision>,
}

/// The JSON Schemas of the documents here, by URI.
pub fn schemas() -> serde_json::Value {
    fn of<T: JsonSchema>() -> serde_json::Value {
        schemars::schema_for!(T).to_value()
    }
    serde_json::json!({
        "auth://status": of::<CallerStatus>(),
        "config://security": of::<SecuritySettings>(),
        "config://server": of::<ServerSettings>(),
        "info://capabilities": of::<Capabilities>(),
        "info://collisions": of::<Collisions>(),
        "info://health": of::<Health>(),
    })
}

/// The documents here as a page of Markdown, each member explained.
pub fn document() -> String {
    let mut text = String::from(
        "# What Trove says about itself\n\nRead these like any resource: `trove read info://health`, or `get_resource` with the URI. \
         They are JSON, made of\nlive state, and cannot be written. [about.schema.json](about.schema.json) has their schemas. \
         A member marked optional is\nabsent where there is nothing to say.\n",
    );
    let schemas = schemas();
    for (uri, name, description) in LISTED {
        text.push_str(&format!("\n## {uri}\n\n{name}: {description}.\n\n"));
        text.push_str(&fields::table(&schemas[uri]));
    }
    text.push_str(&format!(
        "\n## {TOOL}\n\nThe whole document of one tool, as Markdown: description, schema, usage, examples, answer.\n"
    ));
    text.push_str(&format!(
        "\n## {PROMPT}\n\nThe whole document of one prompt, as Markdown: description, schema, usage, examples.\n"
    ));
    text
}

/// The Source of `info://`, `config://` and `auth://`.
pub struct About {
    id: SourceId,
    /// Weak: the gateway holds us through the catalogue.
    facts: Weak<dyn Facts>,
}

/// The listed documents: URI, name, description.
const LISTED: [(&str, &str, &str); 6] = [
    (
        "auth://status",
        "Your standing",
        "Who you are to this gateway, your roles, what is out of reach",
    ),
    ("config://security", "Security settings", "The limits and rules that are enforced"),
    (
        "config://server",
        "Server settings",
        "Version, doors, protocol versions, cache, search, toolsets",
    ),
    (
        "info://capabilities",
        "Capabilities",
        "What this gateway serves: tools, resources, templates, prompts",
    ),
    ("info://collisions", "Collisions", "Names that several servers use, and how each is reached"),
    ("info://health", "Health", "The state of every server behind this gateway"),
];
/// Who the caller is to us.
pub const STANDING: &str = "auth://status";
const TOOLS: &str = "info://tools/";
const PROMPTS: &str = "info://prompts/";
const TOOL: &str = "info://tools/{name}";
const PROMPT: &str = "info://prompts/{name}";

/// The templates: text, name, description.
const TEMPLATES: [(&str, &str, &str); 2] = [
    (TOOL, "Tool", "The whole document of one tool: description, schema, usage, examples"),
    (PROMPT, "Prompt", "The whole document of one prompt: description, schema, usage, examples"),
];

/// The document of a tool or prompt of ours, if the URI names one.
pub fn document_of(book: &dyn ToolBook, uri: &str) -> Option<String> {
    match uri.strip_prefix(TOOLS) {
        Some(name) => book.document(name),
        None => book.prompt_document(uri.strip_prefix(PROMPTS)?),
    }
}

impl About {
    /// Tells what `facts` hold.
    pub fn new(facts: Weak<dyn Facts>) -> About {
        About { id: SourceId::own(), facts }
    }

    fn describe(&self, uri: &str, caller: &Caller) -> Option<Json> {
        let facts = self.facts.upgrade()?;
        Some(match uri {
            STANDING => Json::of(&facts.standing(caller)),
            "config://security" => Json::of(&facts.security(caller)),
            "config://server" => Json::of(&facts.server()),
            "info://capabilities" => Json::of(&facts.capabilities(caller)),
            "info://collisions" => Json::of(&Collisions { collisions: facts.collisions(caller) }),
            "info://health" => Json::of(&facts.health(caller)),
            _ => return None,
        })
    }

    /// One resource as text, with its type.
    fn read(&self, uri: &str, caller: &Caller) -> Option<(&'static str, String)> {
        let book = self.facts.upgrade()?.tools();
        if let Some(text) = book.and_then(|book| document_of(&*book, uri)) {
            return Some(("text/markdown", text));
        }
        self.describe(uri, caller).map(|json| ("application/json", json.as_str().to_owned()))
    }

    /// Values for the variable of a template of ours.
    fn complete(&self, arguments: &Json) -> Json {
        let reference = arguments.get("ref");
        let template = reference.and_then(|reference| reference.get_str("uri"));
        let begun = arguments.get("argument").and_then(|argument| argument.get_str("value"));
        let begun = begun.unwrap_or_default();
        let mut names = self.names_for(template.as_deref().unwrap_or_default());
        names.retain(|name| name.starts_with(&begun));
        Json::of(&serde_json::json!({
            "completion": { "values": names, "total": names.len(), "hasMore": false },
        }))
    }

    /// Every name that fits a template of ours.
    fn names_for(&self, template: &str) -> Vec<String> {
        let book = self.facts.upgrade().and_then(|facts| facts.tools());
        let Some(book) = book else { return Vec::new() };
        match template {
            TOOL => book.names(),
            PROMPT => book.prompts().into_iter().filter_map(|prompt| prompt.name).collect(),
            _ => Vec::new(),
        }
    }
}

impl Source for About {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn indexing(&self) -> Indexing {
        // Its text changes from one moment to the next.
        Indexing::Metadata
    }

    fn accepts_unlisted(&self) -> bool {
        false
    }

    fn abilities(&self) -> Abilities {
        Abilities { complete: true, ..Abilities::default() }
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let resources = LISTED.iter().filter_map(|(uri, name, description)| {
            Resource::new(Json::of(&serde_json::json!({
                "uri": uri, "name": name, "description": description,
                "mimeType": "application/json",
            })))
        });
        let resources = resources.collect();
        let templates = TEMPLATES.iter().filter_map(|(template, name, description)| {
            Template::new(Json::of(&serde_json::json!({
                "uriTemplate": template, "name": name, "mimeType": "text/markdown",
                "description": description,
            })))
        });
        let templates = templates.collect();
        let freshness = Freshness { ttl_ms: OWN_LIST_TTL_MS, scope: Scope::Public };
        Box::pin(
            async move { Ok(Listing { resources, templates, freshness, ..Listing::default() }) },
        )
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        Box::pin(async move {
            let uri = match operation {
                Operation::Read { uri } => uri,
                Operation::Complete { arguments } => {
                    return Ok(Reply::plain(self.complete(&arguments)));
                }
                _ => return Err(SourceError::NotOffered { what: "anything but reading" }),
            };
            let read = self.read(uri.as_str(), &ask.caller);
            let (mime, text) = read.ok_or(SourceError::NotFound)?;
            Ok(Reply::plain(Json::of(&serde_json::json!({
                "contents": [{ "uri": uri.as_str(), "mimeType": mime, "text": text }],
            }))))
        })
    }
}
