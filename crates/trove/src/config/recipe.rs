//! `[servers.ID.resources]` and `recipe = "NAME"`: how resources are made of a server's tools.
//!
//! The shipped recipes are written in the same words, and read by the same code.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use trove_core::template::UriTemplate;
use trove_mcp::recipe::{
    Choice, Each, EntryForm, Items, ListStep, MAX_STEPS, Next, Path, Pattern, ReadStep, Recipe,
    SearchStep, ServerOption, Shipped, ToolCall, Words,
};

use super::{
    file::Server,
    problem::{Problems, suggestion},
    read::{Key, Read, Spot, Table, section},
    tree::{self, At, Node},
};

mod shipped;

section! {
    /// Resources made of what tools answer. Such a table is a recipe.
    ServerResources {
        /// Variables that are taken from the server's own arguments: `{ repo = ["--repository"] }`.
        options: Table<Vec<String>>,
        /// The tools that list what is there.
        list: Vec<Spot<ListPart>>,
        /// The tools that read one thing.
        read: Vec<Spot<ReadPart>>,
        /// The tools that search.
        search: Vec<Spot<SearchPart>>,
        /// How long a list is believed, in seconds.
        #[schemars(extend("minimum" = 1))]
        fresh_seconds: Key<u64>,
        /// Whether contents are read for the index; otherwise names and descriptions are found.
        #[schemars(extend("default" = true))]
        contents: Key<bool>,
    }
}

section! {
    /// A tool that lists things.
    #[schemars(extend("required" = ["tool", "uri"]))]
    ListPart {
        /// The tool.
        tool: Key<String>,
        /// Its arguments.
        arguments: Key<Arguments>,
        /// A list whose things are variables here: this tool is asked for each of them.
        each: Key<EachPart>,
        /// A JSONPath to the things in the answer, as in `$.accounts[*]`.
        items: Key<String>,
        /// The form of a line that tells of a thing, as in `[FILE] {name}`.
        lines: Key<String>,
        /// The form of a piece of the answer's text that tells of a thing.
        text: Key<String>,
        /// Members that are read as texts of a form: `{ url = "https://x/{owner}/{repo}" }`.
        split: Table<Spot<String>>,
        /// The member whose values, of the thing and of all around it, make `{trail}`.
        trail: Key<String>,
        /// How the next page is asked for.
        next: Key<NextPart>,
        /// Its URI, a template of RFC 6570 over the members of a thing.
        uri: Key<String>,
        /// Its name.
        name: Key<String>,
        /// Its name for people.
        title: Key<String>,
        /// Its description.
        description: Key<String>,
        /// Its type.
        mime: Key<String>,
        /// Its size in bytes.
        size: Key<String>,
        /// When it changed.
        modified: Key<String>,
    }
}

section! {
    /// A list whose things are variables of another list.
    #[schemars(extend("required" = ["tool"]))]
    EachPart {
        /// The tool.
        tool: Key<String>,
        /// Its arguments.
        arguments: Key<Arguments>,
        /// A JSONPath to the things in the answer.
        items: Key<String>,
        /// The form of a line that tells of a thing.
        lines: Key<String>,
        /// The form of a piece of the answer's text that tells of a thing.
        text: Key<String>,
    }
}

section! {
    /// How the next page is asked for: `{ from = "$.next", to = "cursor" }`.
    #[schemars(extend("required" = ["to"]))]
    NextPart {
        /// A JSONPath to the value in the answer that leads to the next page.
        from: Key<String>,
        /// By how much a number grows. With 1 it counts pages from 1, else things from 0.
        by: Key<u64>,
        /// The argument that takes it.
        to: Key<String>,
    }
}

section! {
    /// A tool that reads one thing.
    #[schemars(extend("required" = ["template", "tool"]))]
    ReadPart {
        /// The URIs it reads, a template of RFC 6570. Its variables may stand in `arguments`.
        template: Key<String>,
        /// The tool.
        tool: Key<String>,
        /// Its arguments.
        arguments: Key<Arguments>,
        /// The name of such resources.
        name: Key<String>,
        /// Their description.
        description: Key<String>,
        /// A JSONPath to what the answer must hold, or there is no such thing.
        must: Key<String>,
        /// A JSONPath to the part of the answer that is the content.
        take: Key<String>,
        /// The type of the content.
        mime: Key<String>,
        /// Only URIs whose ending tells one of these types, as in `image/*`.
        only: Key<Vec<String>>,
        /// Whether only what is listed may be read.
        #[schemars(extend("default" = false))]
        listed: Key<bool>,
        /// Whether a text is a content even if it reads like an error.
        #[schemars(extend("default" = false))]
        plain: Key<bool>,
    }
}

section! {
    /// A tool that searches. `{query}` and `{max}` may stand in `arguments`.
    #[schemars(extend("required" = ["tool", "uri"]))]
    SearchPart {
        /// The tool.
        tool: Key<String>,
        /// Its arguments.
        arguments: Key<Arguments>,
        /// A JSONPath to the hits in the answer.
        items: Key<String>,
        /// The form of a line that tells of a hit.
        lines: Key<String>,
        /// The form of a piece of the answer's text that tells of a hit.
        text: Key<String>,
        /// Members that are read as texts of a form.
        split: Table<Spot<String>>,
        /// Its URI.
        uri: Key<String>,
        /// Its name.
        name: Key<String>,
        /// Its name for people.
        title: Key<String>,
        /// Its description.
        description: Key<String>,
        /// Its type.
        mime: Key<String>,
        /// When it changed.
        modified: Key<String>,
        /// The text that shows why it was found.
        snippet: Key<String>,
    }
}

/// The arguments of a tool: any JSON object.
pub(super) struct Arguments(Map<String, Value>);

impl Read for Arguments {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<Arguments> {
        match json_of(node) {
            Value::Object(arguments) => Some(Arguments(arguments)),
            _ => {
                let message = format!("`{section}` must be a table, found {}", node.kind());
                problems.error(node.at, message, "write it as in `{ limit = 100 }`");
                None
            }
        }
    }
}

impl JsonSchema for Arguments {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object" })
    }
}

/// A section together with its text, by which one is told from another.
pub(super) struct Resources {
    parts: ServerResources,
    written: String,
}

impl Read for Resources {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<Resources> {
        let parts = ServerResources::read(node, section, problems)?;
        Some(Resources { parts, written: json_of(node).to_string() })
    }
}

impl JsonSchema for Resources {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        ServerResources::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<ServerResources>()
    }
}

fn json_of(node: &Node) -> Value {
    match &node.value {
        tree::Value::Null | tree::Value::Date => Value::Null,
        tree::Value::Bool(flag) => json!(flag),
        tree::Value::Integer(number) => json!(number),
        tree::Value::Float(number) => json!(number),
        tree::Value::Text(text) => json!(text),
        tree::Value::List(nodes) => nodes.iter().map(json_of).collect(),
        tree::Value::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.node))).collect()
        }
    }
}

/// The shipped recipes.
pub(crate) fn shipped() -> &'static Arc<[Shipped]> {
    static ALL: LazyLock<Arc<[Shipped]>> = LazyLock::new(|| shipped::all().into());
    &ALL
}

/// The words of `recipe` that are no names.
const AUTO: &str = "auto";
const OFF: &str = "off";

/// Which recipe a server has by the configuration.
pub(super) fn choice(server: &mut Server, problems: &mut Problems) -> Choice {
    let own = std::mem::take(&mut server.resources);
    let named = server.recipe.get();
    if let (Some(own), Some(named)) = (own.get(), named) {
        let message = "`recipe` and `resources` both say which tools make resources";
        problems.error(named.at, message, "keep one of them");
        return own_recipe(&own.value, own.at, problems).map_or(Choice::Off, given);
    }
    if let Some(Spot { at, value }) = own.get() {
        return own_recipe(value, *at, problems).map_or(Choice::Off, given);
    }
    let Some(named) = named else { return Choice::Auto { is_approved: false } };
    match named.value.as_str() {
        AUTO => Choice::Auto { is_approved: false },
        OFF => Choice::Off,
        name => match shipped().iter().find(|one| one.name == name) {
            Some(shipped) => Choice::Given(shipped.variants.clone()),
            None => {
                let known: Vec<&str> = shipped().iter().map(|one| one.name.as_str()).collect();
                let known: Vec<&str> = known.into_iter().chain([AUTO, OFF]).collect();
                let message = format!("there is no recipe `{name}`");
                problems.error(named.at, message, suggestion(name, &known));
                Choice::Off
            }
        },
    }
}

fn given(recipe: Recipe) -> Choice {
    Choice::Given(vec![Arc::new(recipe)])
}

fn own_recipe(own: &Resources, at: At, problems: &mut Problems) -> Option<Recipe> {
    recipe(None, own, at, problems)
}

/// A recipe of its parts; `None` if one of them cannot be understood, which is reported.
fn recipe(name: Option<&str>, own: &Resources, at: At, problems: &mut Problems) -> Option<Recipe> {
    let Resources { parts, written } = own;
    let before = problems.errors();
    let options = parts.options.0.iter();
    let options: Vec<ServerOption> = options
        .map(|(variable, spellings)| ServerOption {
            variable: variable.value.clone(),
            spellings: spellings.clone(),
        })
        .collect();
    let known: Vec<String> = options.iter().map(|option| option.variable.clone()).collect();
    let mut builder = Builder { known, problems };
    let lists = parts.list.iter().filter_map(|part| builder.list(part)).collect();
    let reads: Vec<ReadStep> = parts.read.iter().filter_map(|part| builder.read(part)).collect();
    let searches: Vec<SearchStep> =
        parts.search.iter().filter_map(|part| builder.search(part)).collect();
    let steps = [parts.list.len(), parts.read.len(), parts.search.len()];
    if steps.iter().any(|count| *count > MAX_STEPS) {
        let message = format!("a recipe has at most {MAX_STEPS} steps of a kind");
        problems.error(at, message, "leave out what is needed least");
    }
    if parts.read.is_empty() {
        let hint = "add `read`, as in `read = [{ template = \"crm://accounts/{id}\", tool = \"get_account\", arguments = { id = \"{id}\" } }]`";
        problems.error(at, "the recipe reads nothing", hint);
    }
    (problems.errors() == before).then(|| Recipe {
        name: name.map(str::to_owned),
        written: written.clone(),
        options,
        lists,
        reads,
        searches,
        fresh_seconds: parts.fresh_seconds.get().map(|spot| spot.value),
        is_indexed: parts.contents.get().is_none_or(|spot| spot.value),
    })
}

/// Makes steps of parts, and reports what cannot be understood.
struct Builder<'p> {
    /// The variables that every step has.
    known: Vec<String>,
    problems: &'p mut Problems,
}

/// The three ways to find things in an answer, as written.
struct Found<'a> {
    items: &'a Key<String>,
    lines: &'a Key<String>,
    text: &'a Key<String>,
    trail: Option<&'a Key<String>>,
}

impl Builder<'_> {
    fn list(&mut self, part: &Spot<ListPart>) -> Option<ListStep> {
        let (at, part) = (part.at, &part.value);
        let each = match part.each.get() {
            Some(each) => Some(self.each(each)?),
            None => None,
        };
        let call = self.call(at, &part.tool, &part.arguments, None)?;
        let (items, lines, text) = (&part.items, &part.lines, &part.text);
        let items = self.items(at, &Found { items, lines, text, trail: Some(&part.trail) })?;
        let next = match part.next.get() {
            Some(next) => Some(self.next(next)?),
            None => None,
        };
        let members = [
            ("name", &part.name),
            ("title", &part.title),
            ("description", &part.description),
            ("mimeType", &part.mime),
            ("size", &part.size),
        ];
        let entry = self.entry(at, &part.uri, &part.split, &members, &part.modified)?;
        Some(ListStep { each, call, items, next, entry })
    }

    fn each(&mut self, each: &Spot<EachPart>) -> Option<Each> {
        let (at, part) = (each.at, &each.value);
        let known = self.known.clone();
        let call = self.call(at, &part.tool, &part.arguments, Some(&known))?;
        let (items, lines, text) = (&part.items, &part.lines, &part.text);
        let items = self.items(at, &Found { items, lines, text, trail: None })?;
        Some(Each { call, items })
    }

    fn read(&mut self, part: &Spot<ReadPart>) -> Option<ReadStep> {
        let (at, part) = (part.at, &part.value);
        let template = self.template(at, "template", &part.template)?;
        let mut known = self.known.clone();
        known.extend(template.variables().map(str::to_owned));
        known.push("uri".to_owned());
        let call = self.call(at, &part.tool, &part.arguments, Some(&known))?;
        let take = match part.take.get() {
            Some(take) => Some(self.path(take)?),
            None => None,
        };
        let must = match part.must.get() {
            Some(must) => Some(self.path(must)?),
            None => None,
        };
        let text = |key: &Key<String>| key.get().map(|spot| spot.value.clone());
        let is_set = |key: &Key<bool>| key.get().is_some_and(|spot| spot.value);
        Some(ReadStep {
            template,
            name: text(&part.name),
            description: text(&part.description),
            call,
            must,
            take,
            mime: text(&part.mime),
            only: part.only.get().map(|spot| spot.value.clone()).unwrap_or_default(),
            is_listed_only: is_set(&part.listed),
            is_plain: is_set(&part.plain),
        })
    }

    fn search(&mut self, part: &Spot<SearchPart>) -> Option<SearchStep> {
        let (at, part) = (part.at, &part.value);
        let mut known = self.known.clone();
        known.extend(["query".to_owned(), "max".to_owned()]);
        let call = self.call(at, &part.tool, &part.arguments, Some(&known))?;
        let (items, lines, text) = (&part.items, &part.lines, &part.text);
        let items = self.items(at, &Found { items, lines, text, trail: None })?;
        let members = [
            ("name", &part.name),
            ("title", &part.title),
            ("description", &part.description),
            ("mimeType", &part.mime),
        ];
        let entry = self.entry(at, &part.uri, &part.split, &members, &part.modified)?;
        let snippet = self.words(&part.snippet)?;
        Some(SearchStep { call, items, entry, snippet })
    }

    /// A call. `known` are the variables that may stand in it; `None`: any member of a thing.
    fn call(
        &mut self,
        at: At,
        tool: &Key<String>,
        arguments: &Key<Arguments>,
        known: Option<&[String]>,
    ) -> Option<ToolCall> {
        let tool = self.needed(at, "tool", tool)?.value.clone();
        let Some(spot) = arguments.get() else {
            return Some(ToolCall { tool, arguments: Map::new() });
        };
        let arguments = spot.value.0.clone();
        let used = trove_mcp::recipe::variables(&arguments);
        let stranger = used.iter().find(|name| known.is_some_and(|all| !all.contains(name)));
        if let (Some(stranger), Some(known)) = (stranger, known) {
            let message = format!("no variable `{{{stranger}}}` is known here");
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            self.problems.error(spot.at, message, suggestion(stranger, &known));
            return None;
        }
        Some(ToolCall { tool, arguments })
    }

    fn items(&mut self, at: At, found: &Found<'_>) -> Option<Items> {
        let trail = found.trail.and_then(|key| key.get()).map(|spot| spot.value.clone());
        match (found.items.get(), found.lines.get(), found.text.get()) {
            (Some(path), None, None) => Some(Items::Found { path: self.path(path)?, trail }),
            (None, Some(form), None) => Some(Items::Lines(self.pattern(form)?)),
            (None, None, Some(form)) => Some(Items::Pieces(self.pattern(form)?)),
            _ => {
                let message = "one of `items`, `lines` and `text` must say where the things are";
                let hint =
                    "write `items = \"$.accounts[*]\"` for JSON, `lines = \"{name}\"` for text";
                self.problems.error(at, message, hint);
                None
            }
        }
    }

    fn next(&mut self, next: &Spot<NextPart>) -> Option<Next> {
        let part = &next.value;
        let to = self.needed(next.at, "to", &part.to)?.value.clone();
        match (part.from.get(), part.by.get()) {
            (Some(from), None) => Some(Next::From { path: self.path(from)?, to }),
            (None, Some(by)) if by.value > 0 => Some(Next::By { step: by.value, to }),
            _ => {
                let message = "`next` needs `from`, or a `by` of 1 and more";
                let hint =
                    "write `{ from = \"$.next\", to = \"cursor\" }` or `{ by = 1, to = \"page\" }`";
                self.problems.error(next.at, message, hint);
                None
            }
        }
    }

    fn entry(
        &mut self,
        at: At,
        uri: &Key<String>,
        split: &Table<Spot<String>>,
        members: &[(&'static str, &Key<String>)],
        modified: &Key<String>,
    ) -> Option<EntryForm> {
        let uri = self.template(at, "uri", uri)?;
        let mut parts = Vec::new();
        for (member, form) in &split.0 {
            parts.push((member.value.clone(), self.pattern(form)?));
        }
        let mut filled = Vec::new();
        for (member, key) in members {
            if let Some(words) = self.words(key)? {
                filled.push((*member, words));
            }
        }
        Some(EntryForm { split: parts, uri, members: filled, modified: self.words(modified)? })
    }

    /// The words of a key that may be absent; `None` if they are wrong.
    fn words(&mut self, key: &Key<String>) -> Option<Option<Words>> {
        let Some(spot) = key.get() else { return Some(None) };
        match Words::parse(&spot.value) {
            Ok(words) => Some(Some(words)),
            Err(why) => self.wrong(spot.at, "this text cannot be taken", &why),
        }
    }

    fn path(&mut self, spot: &Spot<String>) -> Option<Path> {
        match Path::parse(&spot.value) {
            Ok(path) => Some(path),
            Err(why) => self.wrong(spot.at, "this is no JSONPath that can be taken", &why),
        }
    }

    fn pattern(&mut self, spot: &Spot<String>) -> Option<Pattern> {
        match Pattern::parse(&spot.value) {
            Ok(pattern) => Some(pattern),
            Err(why) => self.wrong(spot.at, "this is no form that can be taken", &why),
        }
    }

    fn template(&mut self, at: At, name: &str, key: &Key<String>) -> Option<UriTemplate> {
        let spot = self.needed(at, name, key)?;
        let (at, text) = (spot.at, spot.value.clone());
        let has_scheme = text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
        if !has_scheme {
            return self.wrong(at, "a URI begins with its scheme", "as in `crm://accounts/{id}`");
        }
        match UriTemplate::parse(&text) {
            Ok(template) => Some(template),
            Err(error) => self.wrong(at, "this is no URI template", &error.to_string()),
        }
    }

    fn needed<'k, T>(&mut self, at: At, name: &str, key: &'k Key<T>) -> Option<&'k Spot<T>> {
        if key.is_absent() {
            let message = format!("`{name}` is missing");
            self.problems.error(at, message, format!("add `{name}`; docs/recipes.md has examples"));
        }
        key.get()
    }

    fn wrong<T>(&mut self, at: At, message: &str, why: &str) -> Option<T> {
        self.problems.error(at, format!("{message}: {why}"), "see docs/recipes.md for examples");
        None
    }
}

fn is_scheme(text: &str) -> bool {
    let begins = text.starts_with(|sign: char| sign.is_ascii_alphabetic());
    begins && text.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-.".contains(sign))
}
