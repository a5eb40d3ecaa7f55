//! Knowledge as a Source: lists, reads, completes, watches, skills.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{
    Body, Content, Knowledge, KnowledgeError, Piece, Sight,
    address::{self, Address, HELP},
    complete, help, multipart,
    skills::{self, Place},
    store::Store,
    task::{Format, Task},
};
use crate::{
    caller::Via,
    json::Json,
    resource::{Freshness, Listing, Named, Resource, Scope, Template},
    source::{Abilities, Ask, Operation, Reply, Source, SourceError, SourceId, Visible},
    uri::LocalUri,
};

/// How long a client that does not listen for changes may believe our lists.
const LIST_TTL_MS: u64 = 1000;

/// The name and the description of the help.
const HELP_NAME: &str = "Guide URI Help";
const HELP_ABOUT: &str = "How to use guide:// URIs, with examples from this guide";

/// Every pattern of the scheme that has variables: text, name, description.
pub(super) const TEMPLATES: [(&str, &str, &str); 4] = [
    ("guide://collection/{id}", "Guide collection", "All documents of a collection"),
    (
        "guide://category/{name}",
        "Guide category",
        "The documents of a category, by its own patterns",
    ),
    (
        "guide://category/{name}/{docId}",
        "Guide documents by name or pattern",
        "The document of that name, and what the name matches as a pattern: `python`, `*.md`, `**/{a,b}*`",
    ),
    (
        "guide://document/{context}/{docId}",
        "Guide document",
        "Only that document of a category or collection; no patterns",
    ),
];

impl Source for Knowledge {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn abilities(&self) -> Abilities {
        let skills = !self.index.load().skills.is_empty();
        Abilities { watch: true, complete: true, skills, ..Abilities::default() }
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async move {
            let index = self.indexed().await;
            Ok(listing(&self.whole(index)))
        })
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        Box::pin(async move {
            let body = match operation {
                Operation::Read { uri } => self.read(uri.as_str(), ask).await?,
                Operation::Complete { arguments } => {
                    let index = self.indexed().await;
                    complete::complete(&self.task(sight(ask), index), &arguments)?
                }
                Operation::GetSkill { arguments } => self.skill(&arguments, ask).await?,
                Operation::ReadDirectory { arguments } => self.directory(&arguments, ask).await?,
                Operation::CallTool { .. } | Operation::GetPrompt { .. } => {
                    return Err(SourceError::NotOffered { what: "tools or prompts of its own" });
                }
            };
            Ok(Reply::plain(body))
        })
    }

    fn watch<'a>(&'a self, uri: &'a LocalUri) -> BoxFuture<'a, Result<(), SourceError>> {
        Box::pin(async move {
            let asked = uri.as_str().to_owned();
            let task = self.whole(self.indexed().await);
            let _place = self.reads.acquire().await;
            let looked = tokio::task::spawn_blocking(move || {
                let print = print(&task, &asked);
                if print == 0 { find(&task, &asked).map(|()| print) } else { Ok(print) }
            });
            let print = looked.await.unwrap_or(Ok(0));
            let print = print.map_err(|error| error.for_uri())?;
            self.watched().insert(uri.clone(), print);
            Ok(())
        })
    }

    fn unwatch(&self, uri: &LocalUri) {
        self.watched().remove(uri);
    }
}

impl Knowledge {
    async fn read(&self, uri: &str, ask: Ask) -> Result<Json, SourceError> {
        let asked = uri.to_owned();
        let is_for_index = ask.caller.via == Via::Search;
        let done = self.work(sight(ask), move |task| {
            if is_for_index { answer_for_index(task, &asked) } else { answer(task, &asked) }
        });
        let done = done.await;
        done.map_err(|error| error.for_uri())
    }

    async fn skill(&self, arguments: &Json, ask: Ask) -> Result<Json, SourceError> {
        let uri = arguments.get_str("uri").unwrap_or_default();
        let Task { index, visible, .. } = &self.task(sight(ask), self.indexed().await);
        // A skill is known by its main file, or by its folder.
        let folder = format!("{}/{}", uri.trim_end_matches('/'), super::document::SKILL);
        let known =
            |uri: &String| index.skills.get_key_value(uri).filter(|(uri, _)| visible.allows(uri));
        let skill = known(&uri).or_else(|| known(&folder));
        let (_, skill) = skill.ok_or_else(|| no_skill(&uri, &index.skills, visible).for_uri())?;
        Ok(Json::of(&json!({ "skill": skill.entry })))
    }

    async fn directory(&self, arguments: &Json, ask: Ask) -> Result<Json, SourceError> {
        let uri = arguments.get_str("uri").unwrap_or_default();
        let Task { index, visible, .. } = &self.task(sight(ask), self.indexed().await);
        match skills::place(&index.skills, &uri, visible) {
            Some(Place::Folder(skill, prefix)) => {
                Ok(Json::of(&json!({ "resources": skill.members(&prefix, visible) })))
            }
            Some(Place::File(_)) | None => Err(no_skill(&uri, &index.skills, visible).for_uri()),
        }
    }
}

fn no_skill(
    uri: &str,
    skills: &std::collections::BTreeMap<String, skills::Skill>,
    visible: &Visible,
) -> KnowledgeError {
    let known = skills.keys().map(String::as_str).filter(|uri| visible.allows(uri));
    KnowledgeError::not_found(uri, super::name::near(uri, known))
}

fn sight(ask: Ask) -> Sight {
    let project = ask.caller.project.as_ref().map(|project| project.as_str().to_owned());
    Sight { project, visible: ask.visible }
}

fn listing(task: &Task) -> Listing {
    let view = task.view();
    let described = |uri: String, name: &str, description: Option<String>| {
        let mut entry = Map::new();
        entry.insert("uri".into(), json!(uri));
        entry.insert("name".into(), json!(name));
        if let Some(description) = description {
            entry.insert("description".into(), json!(description));
        }
        entry
    };
    let mut resources = vec![Resource::new(Json::of(&json!({
        "uri": HELP, "name": HELP_NAME, "description": HELP_ABOUT, "mimeType": "text/markdown",
    })))];
    for category in view.categories() {
        let about = category.description.clone();
        let about = about.unwrap_or_else(|| format!("Documents in {}", category.dir));
        let entry = described(address::category(&category.name), &category.name, Some(about));
        resources.push(Resource::new(Json::of(&entry)));
    }
    for collection in view.collections() {
        let about = collection.description.clone();
        let about = about.unwrap_or_else(|| collection.texts.join(", "));
        let entry = described(address::collection(&collection.name), &collection.name, Some(about));
        resources.push(Resource::new(Json::of(&entry)));
    }
    let mut resources: Vec<Resource> = resources.into_iter().flatten().collect();
    for category in view.categories() {
        resources.extend(category.documents.iter().map(|document| document.resource.clone()));
    }
    for (uri, skill) in &task.index.skills {
        resources.extend(Resource::new(skill.resource(uri)));
    }
    let skills = task.index.skills.values();
    Listing {
        resources,
        templates: if task.index.has_root { templates() } else { Vec::new() },
        skills: skills.filter_map(|skill| Named::new(skill.entry.clone(), "uri")).collect(),
        freshness: Freshness { ttl_ms: LIST_TTL_MS, scope: Scope::Public },
        omissions: task.index.problems.clone(),
        ..Listing::default()
    }
}

fn templates() -> Vec<Template> {
    let of = |(text, name, description): &(&str, &str, &str)| {
        Template::new(Json::of(&json!({
            "uriTemplate": text, "name": name, "description": description,
        })))
    };
    TEMPLATES.iter().filter_map(of).collect()
}

/// The result of a read.
fn answer(task: &Task, uri: &str) -> Result<Json, KnowledgeError> {
    if uri.starts_with(skills::PREFIX) {
        return skill_file(task, uri);
    }
    let address = Address::parse(uri)?;
    if address == Address::Help {
        let text = help::text(task);
        return Ok(contents(vec![one(uri, "text/markdown", &Body::Text(text), None)]));
    }
    let selection = task.view().address(&address)?;
    let content = task.gather(selection)?;
    Ok(contents(written(uri, &content, task.format())))
}

/// The result of a read for the index. An answer made of several documents is left out: each is
/// found by itself. The index would show all callers a whole with parts that some may not see.
fn answer_for_index(task: &Task, uri: &str) -> Result<Json, KnowledgeError> {
    if uri.starts_with(skills::PREFIX) {
        return answer(task, uri);
    }
    match Address::parse(uri)? {
        Address::Document(..) => answer(task, uri),
        Address::Help => {
            let text = help::unruled(task);
            Ok(contents(vec![one(uri, "text/markdown", &Body::Text(text), None)]))
        }
        Address::Collection(_) | Address::Category(_) | Address::Matching(..) => {
            Ok(contents(Vec::new()))
        }
    }
}

fn written(uri: &str, content: &Content, format: Format) -> Vec<Value> {
    if let ([piece], true) = (&content.pieces[..], content.notes.is_empty()) {
        return vec![one(uri, piece.media, &piece.body, piece.note.as_deref())];
    }
    match format {
        Format::Mime => {
            let (text, media) = multipart::mixed(content);
            vec![one(uri, &media, &Body::Text(text), None)]
        }
        Format::Plain => {
            vec![one(uri, "text/plain", &Body::Text(multipart::plain(content)), None)]
        }
        Format::Parts => {
            let of = |piece: &Piece| {
                one(piece.document.uri(), piece.media, &piece.body, piece.note.as_deref())
            };
            let notes = (!content.notes.is_empty()).then(|| {
                let notes = Body::Text(content.notes.join("\n"));
                one(uri, "text/plain", &notes, None)
            });
            notes.into_iter().chain(content.pieces.iter().map(of)).collect()
        }
    }
}

/// Everything as one text, for a client that cannot take parts.
pub(super) fn as_text(content: &Content, format: Format) -> String {
    match (&content.pieces[..], content.notes.is_empty(), format) {
        ([Piece { body: Body::Text(text), .. }], true, _) => text.clone(),
        (_, _, Format::Mime) => multipart::mixed(content).0,
        (_, _, Format::Plain | Format::Parts) => multipart::plain(content),
    }
}

fn contents(contents: Vec<Value>) -> Json {
    Json::of(&json!({ "contents": contents }))
}

fn one(uri: &str, media: &str, body: &Body, note: Option<&str>) -> Value {
    let mut content = json!({ "uri": uri, "mimeType": media });
    match body {
        Body::Text(text) => content["text"] = json!(text),
        Body::Blob(bytes) => content["blob"] = json!(STANDARD.encode(bytes)),
    }
    if let Some(note) = note {
        content["_meta"] = json!({ "trove/note": note });
    }
    content
}

/// A file of a skill exactly as it is, so that its digest holds.
fn skill_file(task: &Task, uri: &str) -> Result<Json, KnowledgeError> {
    let Some(Place::File(file)) = skills::place(&task.index.skills, uri, &task.visible) else {
        return Err(no_skill(uri, &task.index.skills, &task.visible));
    };
    let store = Store::new(&task.settings.root);
    let (bytes, _) = store.read(&file.path, super::MAX_DOCUMENT_BYTES).map_err(|error| {
        KnowledgeError::Unreadable { what: uri.to_owned(), why: error.to_string() }
    })?;
    let is_text = super::media::is_text(file.media);
    let body = match String::from_utf8(bytes) {
        Ok(text) if is_text => Body::Text(text),
        Ok(text) => Body::Blob(text.into_bytes()),
        Err(error) => Body::Blob(error.into_bytes()),
    };
    Ok(contents(vec![one(uri, file.media, &body, None)]))
}

/// Whether a URI names something.
pub(super) fn find(task: &Task, uri: &str) -> Result<(), KnowledgeError> {
    if uri.starts_with(skills::PREFIX) {
        let place = skills::place(&task.index.skills, uri, &task.visible);
        let missing = || no_skill(uri, &task.index.skills, &task.visible);
        return place.map(drop).ok_or_else(missing);
    }
    task.view().address(&Address::parse(uri)?).map(drop)
}

/// A number that differs when a read would; 0 if nothing can be read.
pub(super) fn print(task: &Task, uri: &str) -> u64 {
    if uri.starts_with(skills::PREFIX) {
        return match skills::place(&task.index.skills, uri, &task.visible) {
            Some(Place::File(file)) => super::index::hash_of(&file.stamp).max(1),
            _ => 0,
        };
    }
    match Address::parse(uri) {
        Ok(Address::Help) => super::index::hash_of(&help::text(task)).max(1),
        Ok(address) => task.view().print(&address),
        Err(_) => 0,
    }
}
