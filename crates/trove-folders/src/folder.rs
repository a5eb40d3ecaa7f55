//! One folder as a Source: lists, reads, completes, watches, skills.

use std::{
    collections::{BTreeSet, HashMap},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;
use serde_json::json;
use tokio::sync::Semaphore;
use trove_core::{
    aside::apart,
    content::sniff,
    files::beneath,
    json::{Json, Writer},
    resource::{Freshness, Listing, Resource, Scope, Template},
    source::{
        Abilities, Ask, Indexing, Operation, Outage, Reply, Source, SourceError, SourceId, Visible,
    },
    uri::LocalUri,
};

use crate::{
    complete::complete,
    entry,
    look::Ground,
    names::{self, as_path, join},
    read::{self, ReadError},
    rules::{Rules, admits},
    settings::{BadFolder, FolderSettings},
    skills::{self, Skills},
    tree::Tree,
};

/// The longest file that is read.
pub(crate) const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// How many files are read at once; others wait.
const MAX_READS: usize = 16;
/// How long an answer may take, waiting included: a disk may not answer.
const READ_DEADLINE: Duration = Duration::from_secs(20);
/// How long our lists may be believed by a client that does not listen for changes.
const LIST_TTL_MS: u64 = 1000;
/// How many entries of a directory one answer holds.
const PAGE: usize = 1000;
/// One folder of this machine.
pub struct Folder {
    settings: FolderSettings,
    here: Mutex<Option<Arc<Here>>>,
    tree: ArcSwap<Tree>,
    skills: Skills,
    reads: Arc<Semaphore>,
    /// One look at the disk at a time.
    looking: tokio::sync::Mutex<()>,
    /// Each resource that is watched, and what tells one state of it from another.
    watched: Mutex<HashMap<LocalUri, u64>>,
}

/// The folder as it is on the disk now.
pub(crate) struct Here {
    /// Its real path, links followed.
    pub(crate) place: PathBuf,
    pub(crate) ground: Ground,
}

/// The result of a look at the disk.
pub(crate) struct Change {
    pub(crate) is_other: bool,
    pub(crate) updated: Vec<LocalUri>,
}

impl Folder {
    /// The folder of these settings. Nothing is read before it is needed.
    pub fn new(settings: FolderSettings) -> Result<Folder, BadFolder> {
        settings.check()?;
        Ok(Folder {
            settings,
            here: Mutex::default(),
            tree: ArcSwap::default(),
            skills: Skills::default(),
            reads: Arc::new(Semaphore::new(MAX_READS)),
            looking: tokio::sync::Mutex::default(),
            watched: Mutex::default(),
        })
    }

    /// The folder as the catalogue holds it.
    pub fn into_source(self: Arc<Folder>) -> Arc<dyn Source> {
        Arc::new(Served(self))
    }

    /// Its settings in the configuration.
    pub fn settings(&self) -> &FolderSettings {
        &self.settings
    }

    pub(crate) fn tree(&self) -> Arc<Tree> {
        self.tree.load_full()
    }

    /// The folder on the disk; opened once, and again after it was replaced.
    pub(crate) fn here(&self) -> Result<Arc<Here>, SourceError> {
        let mut known = self.here.lock();
        if let Some(here) = &*known {
            return Ok(here.clone());
        }
        let here = Arc::new(self.open()?);
        *known = Some(here.clone());
        Ok(here)
    }

    /// Forgets the folder on the disk: it is another one, or gone.
    pub(crate) fn leave(&self) {
        *self.here.lock() = None;
        self.tree.store(Arc::default());
    }

    fn open(&self) -> Result<Here, SourceError> {
        let path = &self.settings.path;
        let away = |why: String| SourceError::Unavailable(Outage::passing(why));
        let place = path.canonicalize().map_err(|error| away(unopened(path, &error)))?;
        let root = beneath::root(&place).map_err(|errno| away(unopened(path, &errno.into())))?;
        let rules = Rules::of(&self.settings).map_err(|error| away(error.to_string()))?;
        let ground = Ground { root, uri: names::uri_of_root(&place), rules };
        Ok(Here { place, ground })
    }

    /// Looks at the disk: at everything the first time, and where nothing says what was touched.
    pub(crate) async fn look(
        self: &Arc<Self>,
        touched: Option<BTreeSet<Vec<u8>>>,
    ) -> Result<Change, SourceError> {
        let _one_at_a_time = self.looking.lock().await;
        let folder = self.clone();
        let looked = tokio::task::spawn_blocking(move || folder.look_now(touched.as_ref()));
        looked.await.unwrap_or_else(|_| Err(broken()))
    }

    fn look_now(&self, touched: Option<&BTreeSet<Vec<u8>>>) -> Result<Change, SourceError> {
        let here = self.here()?;
        let before = self.tree();
        let tree = match touched.filter(|_| before.is_built) {
            Some(touched) => before.renewed(&here.ground, &here.place, touched),
            None => Tree::of(&here.ground, &here.place),
        };
        let is_other = !before.is_built || !tree.is_same(&before);
        let tree = Arc::new(tree);
        if is_other {
            self.tree.store(tree.clone());
        }
        let mut updated = Vec::new();
        for (uri, known) in self.watched().iter_mut() {
            let now = here.path_of(uri.as_str()).map_or(0, |path| tree.print(&path));
            if std::mem::replace(known, now) != now {
                updated.push(uri.clone());
            }
        }
        Ok(Change { is_other, updated })
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<LocalUri, u64>> {
        self.watched.lock()
    }

    /// The tree, once the folder has been looked at.
    async fn built(self: &Arc<Self>) -> Result<Arc<Tree>, SourceError> {
        let tree = self.tree();
        if tree.is_built {
            return Ok(tree);
        }
        self.look(None).await?;
        Ok(self.tree())
    }

    /// Does blocking work within bounds.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let reads = self.reads.clone();
        let done = async move {
            let permit = reads.acquire_owned().await.ok();
            let work = tokio::task::spawn_blocking(move || {
                // Held to the end: work that is given up still takes a thread.
                let _permit = permit;
                work()
            });
            work.await.unwrap_or_else(|_| Err(broken()))
        };
        let done = tokio::time::timeout(READ_DEADLINE, done).await;
        done.unwrap_or(Err(SourceError::TimedOut { waited: READ_DEADLINE }))
    }
}

/// A [`Folder`] as the catalogue holds it.
struct Served(Arc<Folder>);

impl Source for Served {
    fn id(&self) -> &SourceId {
        &self.0.settings.id
    }

    fn is_local(&self) -> bool {
        true
    }

    fn indexing(&self) -> Indexing {
        self.0.settings.index
    }

    fn abilities(&self) -> Abilities {
        let skills = self.0.skills.any();
        Abilities { watch: true, complete: true, skills, ..Abilities::default() }
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async move {
            let tree = self.0.built().await?;
            let folder = self.0.clone();
            self.0.work(move || folder.listing(&tree)).await
        })
    }

    fn perform<'a>(
        &'a self,
        operation: Operation,
        ask: Ask,
    ) -> BoxFuture<'a, Result<Reply, SourceError>> {
        Box::pin(async move {
            let body = match operation {
                Operation::Read { uri } => {
                    let folder = self.0.clone();
                    self.0.built().await?;
                    self.0.work(move || folder.read(uri.as_str(), &ask.visible)).await?
                }
                Operation::Complete { arguments } => {
                    let tree = self.0.built().await?;
                    apart(|| complete(&tree, &ask.visible, &arguments))?
                }
                Operation::ReadDirectory { arguments } => {
                    let tree = self.0.built().await?;
                    self.0.directory(&tree, &arguments, &ask.visible)?
                }
                Operation::GetSkill { arguments } => {
                    self.0.built().await?;
                    self.0.skill(&arguments)?
                }
                Operation::CallTool { .. } | Operation::GetPrompt { .. } => {
                    return Err(SourceError::NotOffered { what: "tools or prompts" });
                }
            };
            Ok(Reply::plain(body))
        })
    }

    fn watch<'a>(&'a self, uri: &'a LocalUri) -> BoxFuture<'a, Result<(), SourceError>> {
        Box::pin(async move {
            let tree = self.0.built().await?;
            let path = self.0.here()?.path_of(uri.as_str()).ok_or(SourceError::NotFound)?;
            let print = tree.print(&path);
            if print == 0 {
                let (folder, asked) = (self.0.clone(), uri.clone());
                self.0.work(move || folder.find(asked.as_str()).map(drop)).await?;
            }
            self.0.watched().insert(uri.clone(), print);
            Ok(())
        })
    }

    fn unwatch(&self, uri: &LocalUri) {
        self.0.watched().remove(uri);
    }
}

impl Folder {
    fn listing(&self, tree: &Tree) -> Result<Listing, SourceError> {
        let here = self.here()?;
        let mut resources: Vec<Resource> =
            Resource::new(entry::of_root(&here.ground.uri, &self.settings.id))
                .into_iter()
                .collect();
        resources.extend(tree.resources());
        Ok(Listing {
            resources,
            templates: Template::new(self.template(&here)).into_iter().collect(),
            skills: self.skills.of(&here.ground, tree),
            freshness: Freshness { ttl_ms: LIST_TTL_MS, scope: Scope::Private },
            omissions: tree.omissions(),
            ..Listing::default()
        })
    }

    fn template(&self, here: &Here) -> Json {
        let mut template = Writer::with_capacity(here.ground.uri.len() + 200);
        template.text("uriTemplate", &format!("{}{{+path}}", here.ground.uri));
        template.text("name", &format!("Files of {}", self.settings.id));
        template.text("description", "A file of this folder by its path from the folder");
        Json::parse(template.finish()).unwrap_or_else(|_| Json::empty_object())
    }

    /// The path to open for a URI, from the root.
    fn find(&self, uri: &str) -> Result<Vec<u8>, SourceError> {
        let here = self.here()?;
        let path = here.path_of(uri).ok_or(SourceError::NotFound)?;
        let tree = self.tree();
        if let Some(found) = tree.find(&path) {
            return Ok(found.path.to_vec());
        }
        // New since the last look, or one of too many.
        let is_served = !path.is_empty() && admits(&here.ground.rules, &here.ground.root, &path);
        if is_served { Ok(path) } else { Err(SourceError::NotFound) }
    }

    fn read(&self, uri: &str, visible: &Visible) -> Result<Json, SourceError> {
        let here = self.here()?;
        let tree = self.tree();
        let folder = here.path_of(uri).filter(|path| tree.folders.contains_key(path.as_slice()));
        if let Some(folder) = folder {
            let members = self.members(&here, &tree, &folder, visible);
            return Ok(directory_text(uri, &members));
        }
        let path = self.find(uri)?;
        let read = read::read_file(&here.ground.root, as_path(&path), MAX_FILE_BYTES);
        let (bytes, _) = read.map_err(|error| match error {
            ReadError::Missing => SourceError::NotFound,
            ReadError::TooLarge { limit } => {
                SourceError::TooLarge { limit: usize::try_from(limit).unwrap_or(usize::MAX) }
            }
            other => refused(&other.to_string()),
        })?;
        Ok(contents(uri, entry::mime_of(&path), bytes))
    }

    fn directory(
        &self,
        tree: &Tree,
        arguments: &Json,
        visible: &Visible,
    ) -> Result<Json, SourceError> {
        let here = self.here()?;
        let uri = arguments.get_str("uri").unwrap_or_default();
        let path = here.path_of(&uri).ok_or(SourceError::NotFound)?;
        if !tree.folders.contains_key(path.as_slice()) {
            return Err(SourceError::NotFound);
        }
        let start = match arguments.get_str("cursor") {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| refused("the cursor is none of ours"))?,
        };
        let members = self.members(&here, tree, &path, visible);
        let page: Vec<&Json> = members.iter().skip(start).take(PAGE).collect();
        let mut body = json!({ "resources": page });
        if members.len() > start + PAGE {
            body["nextCursor"] = json!((start + PAGE).to_string());
        }
        Ok(Json::of(&body))
    }

    /// The folders and files right in a folder.
    fn members(&self, here: &Here, tree: &Tree, path: &[u8], visible: &Visible) -> Vec<Json> {
        let Some(looked) = tree.folders.get(path) else { return Vec::new() };
        let mut members: Vec<Json> = Vec::new();
        for below in &looked.folders {
            members.push(entry::of_folder(&here.ground.uri, &join(path, &below.name)));
        }
        let files = looked.files.iter().chain(tree.links_in(path));
        let shown = files.filter(|file| visible.allows(file.resource.uri.as_str()));
        members.extend(shown.map(|file| file.resource.entry.clone()));
        members
    }

    fn skill(&self, arguments: &Json) -> Result<Json, SourceError> {
        let uri = arguments.get_str("uri").unwrap_or_default();
        let path = self.here()?.path_of(&uri).ok_or(SourceError::NotFound)?;
        let entry = self.skills.at(skills::folder_of(&path)).ok_or(SourceError::NotFound)?;
        Ok(Json::of(&json!({ "skill": entry })))
    }
}

impl Here {
    /// The path that a URI names, from the root, e.g. `b.md` for `file:///docs/b.md` below `/docs`.
    /// Empty for the root itself.
    pub(crate) fn path_of(&self, uri: &str) -> Option<Vec<u8>> {
        let path = names::path_of(uri)?;
        let root = self.place.as_os_str().as_bytes();
        let root = root.strip_suffix(b"/").unwrap_or(root);
        let below = path.strip_prefix(root)?;
        let below = below.strip_prefix(b"/").or_else(|| below.is_empty().then_some(below))?;
        let below = below.strip_suffix(b"/").unwrap_or(below);
        let is_plain = below.is_empty() || is_normal(below);
        is_plain.then(|| below.to_vec())
    }
}

/// Whether each part of a path is a name, written once: `a//b` and `a/./b` are other spellings.
fn is_normal(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// The answer to a read of a folder: its members, a URI a line.
fn directory_text(uri: &str, members: &[Json]) -> Json {
    let mut text = String::new();
    for member in members.iter().take(PAGE) {
        text.push_str(&member.get_str("uri").unwrap_or_default());
        text.push('\n');
    }
    if members.len() > PAGE {
        text.push_str(&format!(
            "({} more; list them with resources/directory/read)\n",
            members.len() - PAGE
        ));
    }
    let content = json!({ "uri": uri, "mimeType": entry::DIRECTORY, "text": text });
    Json::of(&json!({ "contents": [content] }))
}

/// The answer to a read: text where the bytes are text in UTF-8, else the bytes.
fn contents(uri: &str, mime: Option<&'static str>, bytes: Vec<u8>) -> Json {
    let kind = sniff(mime, uri, &bytes);
    let mut content = Writer::with_capacity(bytes.len() + bytes.len() / 2 + uri.len() + 64);
    content.text("uri", uri);
    content.text("mimeType", mime.unwrap_or(&kind.mime));
    let text = if kind.is_text() { std::str::from_utf8(&bytes).ok() } else { None };
    match text {
        Some(text) => content.text("text", text),
        None => content.text("blob", &STANDARD.encode(&bytes)),
    }
    let body = format!("{{\"contents\":[{}]}}", content.finish());
    Json::parse(body).unwrap_or_else(|_| Json::empty_object())
}

fn refused(message: &str) -> SourceError {
    SourceError::Refused { code: -32603, message: message.to_owned(), data: None }
}

fn broken() -> SourceError {
    SourceError::Unavailable(Outage::passing("reading broke off"))
}

/// Why a root cannot be opened.
pub(crate) fn unopened(path: &Path, error: &std::io::Error) -> String {
    let path = path.display();
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => format!("the folder {path} is not there"),
        Some(Errno::NOTDIR) => format!("{path} is no folder"),
        _ => format!("the folder {path} cannot be opened: {error}"),
    }
}
