//! Resources out of tools: a [`Recipe`] says which tools of a server list, read and search, and
//! `Made` is the server with the resources that come of it.
//!
//! A recipe is data. It runs no code, and it calls no tool but those it names. Each of those must
//! say of itself that it only reads, or a person must have approved the recipe.

mod answer;
mod draft;
mod fit;
mod listing;
mod path;
mod search;
mod source;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use serde_json::{Map, Value};
use trove_core::{resource::Named, template::UriTemplate};

pub use draft::Proposal;
pub use path::Path;
pub(crate) use source::{Made, Toolbox};
pub use words::{Pattern, Words};

/// The most steps of one kind in a recipe.
pub const MAX_STEPS: usize = 16;
/// The most calls that one listing makes, all steps and pages together.
pub const MAX_CALLS: usize = 500;
/// The most pages of one list.
pub const MAX_PAGES: usize = 200;
/// The most things of a list that another list is asked for.
pub const MAX_EACH: usize = 100;
/// The largest answer of a tool that is looked into for items.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// The most values of such an answer.
pub const MAX_ANSWER_VALUES: usize = 2_000_000;

/// Which tools of a server list, read and search, and what comes of their answers.
#[derive(Debug)]
pub struct Recipe {
    /// The name of a shipped recipe; `None` if it stands in the configuration.
    pub name: Option<String>,
    /// The recipe as it was written, as JSON. Two recipes are equal if these are.
    pub written: String,
    /// Values that are taken from the arguments the server is started with.
    pub options: Vec<ServerOption>,
    /// How what is there is listed.
    pub lists: Vec<ListStep>,
    /// How one thing is read. The first template that matches is taken.
    pub reads: Vec<ReadStep>,
    /// How the server is asked to search.
    pub searches: Vec<SearchStep>,
    /// How many seconds a list is believed; `None`: as long as other lists are.
    pub fresh_seconds: Option<u64>,
    /// Whether texts are read for the index, or names and descriptions must do.
    pub is_indexed: bool,
}

impl PartialEq for Recipe {
    fn eq(&self, other: &Recipe) -> bool {
        (&self.name, &self.written) == (&other.name, &other.written)
    }
}

impl Eq for Recipe {}

/// A value from the command line of a server. Example: the word behind `--repository`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOption {
    /// The variable that gets the value.
    pub variable: String,
    /// The spellings of the option.
    pub spellings: Vec<String>,
}

/// A tool, and what it is called with. Texts among the arguments may hold variables.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments. One whose variables have no value is left out.
    pub arguments: Map<String, Value>,
}

/// The way from an answer to the items in it.
#[derive(Debug, Clone)]
pub enum Items {
    /// The values that a JSONPath finds.
    Found {
        /// The path.
        path: Path,
        /// A member by which `{trail}` is made: its values in all objects around an item and
        /// in the item itself, joined by `/`.
        trail: Option<String>,
    },
    /// The lines that have this form.
    Lines(Pattern),
    /// The pieces of the text that have this form.
    Pieces(Pattern),
}

/// A tool whose answer lists things.
#[derive(Debug, Clone)]
pub struct ListStep {
    /// A list that is asked for first. This one is then asked for each of its things.
    pub each: Option<Each>,
    /// The call.
    pub call: ToolCall,
    /// The things in its answer.
    pub items: Items,
    /// How the next page is asked for.
    pub next: Option<Next>,
    /// The entry that each of them becomes.
    pub entry: EntryForm,
}

/// A list whose items are variables of another.
#[derive(Debug, Clone)]
pub struct Each {
    /// The call.
    pub call: ToolCall,
    /// The things in its answer.
    pub items: Items,
}

/// How the next page of a list is asked for.
#[derive(Debug, Clone)]
pub enum Next {
    /// With a value of the answer before.
    From {
        /// Where that value is.
        path: Path,
        /// The argument that takes it.
        to: String,
    },
    /// With a number that grows, until a page is empty.
    By {
        /// How much it grows. Pages count from 1, anything else from 0.
        step: u64,
        /// The argument that takes it.
        to: String,
    },
}

/// The entry of a resource, made of an item.
#[derive(Debug, Clone)]
pub struct EntryForm {
    /// Members that are read as texts of a form, which gives further variables.
    pub split: Vec<(String, Pattern)>,
    /// Its URI. An item without the variables in it is passed over.
    pub uri: UriTemplate,
    /// Its other members by their names in the list of resources, e.g. `title`.
    pub members: Vec<(&'static str, Words)>,
    /// When it changed.
    pub modified: Option<Words>,
}

/// A tool whose answer is a content.
#[derive(Debug, Clone)]
pub struct ReadStep {
    /// The URIs that are read so.
    pub template: UriTemplate,
    /// Their name in the list of templates.
    pub name: Option<String>,
    /// Their description there.
    pub description: Option<String>,
    /// The call.
    pub call: ToolCall,
    /// A value that the answer must hold, or there is no such thing.
    pub must: Option<Path>,
    /// The part of the answer that is the content; without it all of it is.
    pub take: Option<Path>,
    /// The type of the content; without it the URI and the content tell.
    pub mime: Option<String>,
    /// Only URIs whose ending tells one of these types, such as `image/*`; all where empty.
    pub only: Vec<String>,
    /// Whether only what is listed may be read, because a value is part of a larger text. Its
    /// values may then hold no quotes either.
    pub is_listed_only: bool,
    /// Whether the text is always a content, because failures are marked.
    pub is_plain: bool,
}

/// A tool that searches.
#[derive(Debug, Clone)]
pub struct SearchStep {
    /// The call; `{query}` and `{max}` are what is asked.
    pub call: ToolCall,
    /// The hits in its answer.
    pub items: Items,
    /// The entry that each of them becomes.
    pub entry: EntryForm,
    /// The text that shows why it was found.
    pub snippet: Option<Words>,
}

impl Recipe {
    /// Every tool it calls, each once, in the order of the steps.
    pub fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = Vec::new();
        for call in self.calls() {
            if !tools.contains(&call.tool.as_str()) {
                tools.push(&call.tool);
            }
        }
        tools
    }

    /// Every call it makes.
    fn calls(&self) -> Vec<&ToolCall> {
        let mut calls = Vec::new();
        for list in &self.lists {
            calls.extend(list.each.iter().map(|each| &each.call));
            calls.push(&list.call);
        }
        calls.extend(self.reads.iter().map(|read| &read.call));
        calls.extend(self.searches.iter().map(|search| &search.call));
        calls
    }
}

/// The reasons why a recipe does not fit these tools, as `tools/list` gives them; none if it does.
/// `is_approved`: a person let it call tools that do not say whether they only read.
pub fn misfits(recipe: &Recipe, tools: &[Named], is_approved: bool) -> Vec<String> {
    let leave = if is_approved { fit::Leave::ToCall } else { fit::Leave::ToRead };
    fit::misfits(recipe, &fit::tools_of(tools), leave)
}

/// Whether a tool says of itself that it only reads.
pub fn only_reads(tool: &Named) -> bool {
    let tools = fit::tools_of(std::slice::from_ref(tool));
    tools.values().all(|tool| tool.only_reads == Some(true)) && !tools.is_empty()
}

/// The variables in the texts of these arguments.
pub fn variables(arguments: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    arguments.values().for_each(|argument| words::variables_in(argument, &mut found));
    found
}

/// A recipe of ours, by the servers it is for.
#[derive(Debug)]
pub struct Shipped {
    /// Its name, e.g. `github`.
    pub name: String,
    /// A sentence on what it makes.
    pub about: String,
    /// Packages, modules, images and hosts by which such a server is recognised.
    pub packages: Vec<String>,
    /// How such a server calls itself.
    pub servers: Vec<String>,
    /// Whether it waits for a person even where its tools only read.
    pub asks: bool,
    /// One recipe for each generation of the server; the first that fits is taken.
    pub variants: Vec<Arc<Recipe>>,
}

impl Shipped {
    /// Whether one of these words of a command line, or this URL, names such a server.
    pub fn is_named_in<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> bool {
        words.into_iter().any(|word| self.packages.iter().any(|package| names(word, package)))
    }

    fn calls_itself(&self, server: &str) -> bool {
        let is_it = |name: &String| {
            let rest = server.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        self.servers.iter().any(is_it)
    }
}

/// Whether a word is a package, alone, with a version, or as part of a path or URL.
fn names(word: &str, package: &str) -> bool {
    word.match_indices(package).any(|(at, _)| {
        let before = word[..at].chars().next_back();
        let after = word[at + package.len()..].chars().next();
        let begins = before.is_none_or(|sign| "/:@=".contains(sign));
        let ends = after.is_none_or(|sign| "/:@=[<>~?#".contains(sign));
        begins && ends
    })
}

/// Which recipe a server has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// A shipped one, if one is made for it. `is_approved`: a person let it call tools that do
    /// not say of themselves that they only read.
    Auto {
        /// See above.
        is_approved: bool,
    },
    /// None.
    #[default]
    Off,
    /// One that the configuration names or holds. It was approved with the server.
    Given(Vec<Arc<Recipe>>),
}
