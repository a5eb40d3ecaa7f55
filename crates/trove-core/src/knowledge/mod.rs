//! `guide://`: documents on disk, in categories and collections.
//!
//! [`Knowledge`] is a Source like any other, and a library for tools that need no URI.
//! The index is held in memory, built off the path of requests and swapped whole; contents are read
//! when they are asked for. Nothing outside of its folder is opened.

mod address;
mod admin;
mod category;
mod collection;
mod complete;
mod content;
mod document;
mod error;
mod expression;
mod further;
mod help;
mod index;
mod ledger;
mod matter;
mod media;
mod multipart;
mod name;
mod names;
mod pattern;
mod plan;
mod render;
mod scan;
mod select;
mod serve;
mod settings;
mod skills;
mod store;
mod task;
mod watch;
mod write;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use time::OffsetDateTime;
use tokio::sync::{Notify, Semaphore, mpsc};

pub use address::document as document_uri;
pub use admin::{CategoryChange, CollectionChange, Replaced};
pub use category::Category;
pub use collection::{Collection, MAX_NESTING};
pub use content::{Body, Content, MAX_ANSWER_BYTES, MAX_DOCUMENT_BYTES, Piece};
pub use document::Document;
pub use error::KnowledgeError;
pub use expression::{BadExpression, Expression, MAX_EXPRESSION, Part};
pub use ledger::{Edit, Ledger, check_groups};
pub use matter::{FrontMatter, front_matter};
pub use name::{BadName, MAX_NAME, check_name, check_path};
pub use names::{Edition, Names};
pub use settings::{
    CategorySettings, CollectionSettings, DEFAULT_MAX_DOCUMENTS, DEFAULT_PATTERNS, Groups, Picks,
    ProjectSettings, Settings,
};

use crate::{
    resource::ListsChanged,
    source::{SourceError, SourceEvent, SourceId, Visible},
    uri::LocalUri,
};
use address::Address;
use index::Index;
use store::Store;
use task::Task;

/// How many events may wait for the reader that passes them on.
const MAX_WAITING_EVENTS: usize = 256;
/// How many answers are read at once; others wait.
const MAX_READS: usize = 16;
/// How long an answer may take, waiting included.
const READ_DEADLINE: Duration = Duration::from_secs(20);

/// Where flags come from.
pub trait Flags: Send + Sync + fmt::Debug {
    /// The value of a flag, as a project has it; `None` if it is not set. `own` comes from the
    /// settings of the project. It counts after the value set for the project, and before the one
    /// set for all.
    fn flag(&self, project: Option<&str>, name: &str, own: Option<&Value>) -> Option<Value>;
}

/// The parts that local knowledge is given by the gateway's builder.
pub struct Givens {
    /// Where flags come from.
    pub flags: Arc<dyn Flags>,
    /// The time of day.
    pub now: fn() -> SystemTime,
    /// Where categories and collections are written down; `None`: they cannot be changed.
    pub ledger: Option<Arc<dyn Ledger>>,
}

/// Local knowledge.
pub struct Knowledge {
    id: SourceId,
    settings: ArcSwap<Settings>,
    index: ArcSwap<Index>,
    givens: Givens,
    events: mpsc::Sender<SourceEvent>,
    /// The watched URIs, each with the print of its state.
    watched: Mutex<HashMap<LocalUri, u64>>,
    /// One look at the disk at a time.
    looking: tokio::sync::Mutex<()>,
    /// One change at a time.
    writing: tokio::sync::Mutex<()>,
    reads: Arc<Semaphore>,
    /// The folder is another one now.
    moved: Notify,
}

impl Givens {
    /// Without flags and without a place to write.
    pub fn none(now: fn() -> SystemTime) -> Givens {
        Givens { flags: content::no_flags(), now, ledger: None }
    }
}

impl Knowledge {
    /// Local knowledge, and what happens at it. Nothing is read before it is needed.
    pub fn new(
        settings: Settings,
        givens: Givens,
    ) -> (Arc<Knowledge>, mpsc::Receiver<SourceEvent>) {
        let (events, happened) = mpsc::channel(MAX_WAITING_EVENTS);
        let knowledge = Knowledge {
            id: SourceId::guide(),
            settings: ArcSwap::from_pointee(settings),
            index: ArcSwap::from_pointee(Index::default()),
            givens,
            events,
            watched: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            reads: Arc::new(Semaphore::new(MAX_READS)),
            moved: Notify::new(),
        };
        (Arc::new(knowledge), happened)
    }

    /// Takes over other settings.
    pub async fn reconfigure(&self, settings: Settings) {
        let before = self.settings.load_full();
        if *before == settings {
            return;
        }
        let has_moved = before.root != settings.root;
        self.settings.store(Arc::new(settings));
        if has_moved {
            self.moved.notify_one();
        }
        self.look(HashSet::new()).await;
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// Whether there was a guide when it was last looked for.
    pub fn has_root(&self) -> bool {
        self.index.load().has_root
    }

    /// Whether there is a guide at all.
    pub async fn exists(&self) -> bool {
        self.indexed().await.has_root
    }

    /// The documents an expression means; `pattern` is for parts that have none.
    pub async fn get_content(
        &self,
        sight: Sight,
        expression: &str,
        pattern: Option<&str>,
    ) -> Result<Content, KnowledgeError> {
        if expression.contains("://") {
            return self.get_by_uri(sight, expression, pattern).await;
        }
        let mut expression = Expression::parse(expression)?;
        if let Some(pattern) = pattern {
            expression = expression.with_pattern(pattern)?;
        }
        self.work(sight, move |task| {
            let selection = task.view().expression(&expression)?;
            task.gather(selection)
        })
        .await
    }

    /// The documents of a URI that was given in place of an expression.
    async fn get_by_uri(
        &self,
        sight: Sight,
        uri: &str,
        pattern: Option<&str>,
    ) -> Result<Content, KnowledgeError> {
        let address = Address::parse(uri)?;
        let bad = |why: &str| KnowledgeError::BadChange { why: why.to_owned() };
        if address == Address::Help {
            return Err(bad(
                "the help is no document of the guide; read guide://help as a resource",
            ));
        }
        if pattern.is_some() {
            return Err(bad("a URI takes no pattern beside it; write the pattern at its end"));
        }
        self.work(sight, move |task| {
            let selection = task.view().address(&address)?;
            task.gather(selection)
        })
        .await
    }

    /// Everything in the form that the flag `content-format` asks for, as text.
    pub fn as_text(&self, content: &Content, project: Option<&str>) -> String {
        let sight = Sight { project: project.map(str::to_owned), ..Sight::default() };
        let task = self.task(sight, self.index.load_full());
        serve::as_text(content, task.format())
    }

    /// The categories, by name, and how many documents each has.
    pub async fn categories(&self, sight: Sight) -> Vec<(Arc<Category>, usize)> {
        let task = self.task(sight, self.indexed().await);
        let of =
            |category: &Arc<Category>| (category.clone(), category.shown(&task.visible).count());
        task.view().categories().map(of).collect()
    }

    /// The names and descriptions of collections, with their members and what is wrong.
    pub async fn collections(&self, sight: Sight) -> Vec<CollectionInfo> {
        let task = self.task(sight, self.indexed().await);
        let of = |collection: &Collection| CollectionInfo {
            name: collection.name().to_owned(),
            description: collection.description().map(str::to_owned),
            members: collection.members().to_vec(),
            problem: collection.problem().map(str::to_owned),
        };
        task.view().collections().map(of).collect()
    }

    /// The documents of a category, those that match if there is a pattern.
    pub async fn category_files(
        &self,
        sight: Sight,
        name: &str,
        pattern: Option<&str>,
    ) -> Result<Vec<Arc<Document>>, KnowledgeError> {
        let task = self.task(sight, self.indexed().await);
        let category = task.view().category(name)?;
        Ok(match pattern {
            None => category.shown(&task.visible).cloned().collect(),
            Some(pattern) => {
                category.matching(pattern, &task.visible)?.into_iter().cloned().collect()
            }
        })
    }

    /// The reason why a URI names nothing for the asker; `None` if it names something.
    pub async fn absence(&self, sight: Sight, uri: &str) -> Option<SourceError> {
        let asked = uri.to_owned();
        let found = self.work(sight, move |task| serve::find(task, &asked)).await;
        found.err().map(|error| error.for_uri())
    }

    /// The print of the state of a URI, for the asker; 0 if he may read none of it.
    pub fn state(&self, sight: Sight, uri: &str) -> u64 {
        serve::print(&self.task(sight, self.index.load_full()), uri)
    }

    /// The part of the guide that a project picks; `None` if it takes all of it.
    pub fn picks(&self, project: Option<&str>) -> Option<Picks> {
        let settings = self.settings.load();
        let name = project.or(settings.project.as_deref())?;
        Picks::of(settings.groups.projects.get(name)?)
    }

    /// The guide as it is known now.
    pub fn edition(&self) -> Edition {
        Edition::new(self.index.load_full())
    }

    /// The faults of the guide, in words.
    pub async fn problems(&self) -> Vec<String> {
        self.indexed().await.problems.clone()
    }

    /// The files below the root that no name leads to, because they lie in no category.
    pub async fn unserved(&self) -> Vec<String> {
        Edition::new(self.indexed().await).nameless()
    }

    /// The index, once the disk has been looked at.
    async fn indexed(&self) -> Arc<Index> {
        let index = self.index.load_full();
        if index.is_built {
            return index;
        }
        self.look(HashSet::new()).await;
        self.index.load_full()
    }

    /// Looks at the disk again and tells what changed. Files named in `touched` are opened
    /// again even where they look the same.
    async fn look(&self, touched: HashSet<String>) {
        let _one_at_a_time = self.looking.lock().await;
        let (before, settings) = (self.index.load_full(), self.settings.load_full());
        let old = before.clone();
        let built = tokio::task::spawn_blocking(move || {
            let index = Index::build(&Store::new(&settings.root), &settings.groups, &old, &touched);
            let is_other = !old.is_built || old.print() != index.print();
            (index, is_other)
        })
        .await;
        let Ok((index, is_other)) = built else {
            return tracing::error!("the guide could not be looked at; what was known stands");
        };
        let index = Arc::new(index);
        self.index.store(index.clone());
        // The first look answers callers who wait for it; no list was seen before.
        if before.is_built && is_other {
            let lists = ListsChanged { resources: true, ..ListsChanged::default() };
            self.tell(SourceEvent::ListsChanged(lists)).await;
        }
        for uri in self.changed(index).await {
            self.tell(SourceEvent::Updated(uri)).await;
        }
    }

    /// Watched resources that are not what they were.
    async fn changed(&self, index: Arc<Index>) -> Vec<LocalUri> {
        let uris: Vec<LocalUri> = self.watched().keys().cloned().collect();
        if uris.is_empty() {
            return uris;
        }
        let task = self.whole(index);
        let prints = tokio::task::spawn_blocking(move || {
            let of = |uri: LocalUri| (serve::print(&task, uri.as_str()), uri);
            uris.into_iter().map(of).collect::<Vec<_>>()
        });
        let mut changed = Vec::new();
        let prints = prints.await.unwrap_or_default();
        let mut watched = self.watched();
        for (now, uri) in prints {
            // A watcher that left meanwhile is told no news.
            let Some(known) = watched.get_mut(&uri) else { continue };
            if std::mem::replace(known, now) != now {
                changed.push(uri);
            }
        }
        changed
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<LocalUri, u64>> {
        self.watched.lock()
    }

    async fn tell(&self, event: SourceEvent) {
        // The listener may have gone with the gateway.
        let _ = self.events.send(event).await;
    }

    /// A question about the whole guide, for any project.
    fn whole(&self, index: Arc<Index>) -> Task {
        Task { project: None, visible: Visible::ALL, ..self.task(Sight::default(), index) }
    }

    fn task(&self, sight: Sight, index: Arc<Index>) -> Task {
        let settings = self.settings.load_full();
        let project = sight.project.or_else(|| settings.project.clone());
        let date = OffsetDateTime::from((self.givens.now)()).date().to_string();
        let picks = project.as_ref().and_then(|name| settings.groups.projects.get(name));
        let visible = match picks.and_then(Picks::of).filter(|_| !index.skills.is_empty()) {
            Some(picks) => {
                let (edition, rules) = (Edition::new(index.clone()), sight.visible);
                Visible::when(move |uri| {
                    rules.allows(uri)
                        && (!uri.starts_with(skills::PREFIX) || edition.is_picked(&picks, uri))
                })
            }
            None => sight.visible,
        };
        Task { index, settings, flags: self.givens.flags.clone(), project, date, visible }
    }

    /// Does blocking work within bounds.
    async fn work<T: Send + 'static>(
        &self,
        sight: Sight,
        work: impl FnOnce(&Task) -> Result<T, KnowledgeError> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let task = self.task(sight, self.indexed().await);
        let reads = self.reads.clone();
        let done = async move {
            let permit = reads.acquire_owned().await.ok();
            let work = tokio::task::spawn_blocking(move || {
                // Held to the end: work that is given up still takes a thread.
                let _permit = permit;
                work(&task)
            });
            work.await
        };
        match tokio::time::timeout(READ_DEADLINE, done).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(KnowledgeError::Unreadable {
                what: "it".into(),
                why: "reading broke off".into(),
            }),
            Err(_) => Err(KnowledgeError::TooSlow),
        }
    }
}

/// The part of the guide that the asker may know of.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// The project worked on; `None`: the one the settings name, if any.
    pub project: Option<String>,
    /// By the rules on who may read what.
    pub visible: Visible,
}

/// A collection as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionInfo {
    pub name: String,
    pub description: Option<String>,
    /// Its members as written.
    pub members: Vec<String>,
    /// Why it cannot be read, if so.
    pub problem: Option<String>,
}
