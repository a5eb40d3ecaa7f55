//! The one road of every question: admit, fetch, settle.
//!
//! Each door makes a [`Call`] and hands it in. Admission finds the owner of the name, if the rules
//! let the caller know of it. Fetching asks the owner, or the cache. Settling writes down how it
//! ended. One Snapshot, taken at admission, answers the whole call.

use std::sync::Arc;

use super::{
    Action, AskError, FindError, Found, Gateway, ListAnswer, LiveAnswer, LiveQuestion, Reading,
    View, Watched,
    documents::{GuideShelf, Written},
    settle::Asked,
};
use crate::{
    caller::Caller,
    catalogue::{List, Snapshot},
    json::Json,
    knowledge::{Content, KnowledgeError, document_uri},
    search::Query,
    source::{Ask, Reply},
    uri::PublicUri,
};

/// One question. The list is closed: a door can ask nothing else.
pub enum Call {
    /// A page of one of the lists, all Sources together: the first, or the one at this cursor.
    List(List, Option<String>),
    /// Everything the caller sees, for a door that shows it in a form of its own.
    Browse,
    /// The contents of one resource.
    Read(Read),
    /// A tool, a prompt, a skill or a directory, which is named among the arguments.
    Act(Action, Json, Ask),
    /// Values for an argument of a template or prompt, which is `ref` among the arguments.
    Complete(Json, Ask),
    /// Reports of changes of one resource. A number says how many resources the client watches
    /// already, if it may watch no more.
    Watch(PublicUri, Option<usize>),
    /// The end of those reports; `None` if the client never had any.
    Unwatch(PublicUri, Option<Watched>),
    /// Leave to hear of changes.
    Listen,
    /// Logs of all Sources at this level and above.
    SetLogLevel(String),
    /// Resources by word, by meaning, or by rank.
    Find(Query),
    /// The hits of one server that searches by itself.
    LiveSearch(LiveQuestion),
    /// The documents that an expression means, e.g. `lang/rust+python`. The pattern is for the
    /// parts of it that name no document.
    Documents(String, Option<String>),
    /// The categories of the guide with their documents, and its collections.
    Guide,
    /// A document of the guide as it was written, by its category and its path there.
    Written(String, String),
}

/// One read.
pub struct Read {
    /// The name the caller knows.
    pub uri: PublicUri,
    /// The companions of the question.
    pub ask: Ask,
    /// The Snapshot in which the caller found the name; `None` if it looked in none.
    pub found_in: Option<Arc<Snapshot>>,
    pub purpose: Purpose,
}

impl Read {
    /// A read for a client that wants the contents.
    pub fn of(uri: &PublicUri, ask: Ask) -> Read {
        Read { uri: uri.clone(), ask, found_in: None, purpose: Purpose::Use }
    }
}

/// The reason for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A client wants the contents.
    Use,
    /// Trove itself wants to know whether it is there. None of it is recorded.
    Check,
    /// The index wants the contents. None of it is recorded.
    Index {
        /// An answer that is kept will not do.
        anew: bool,
    },
}

/// The answer to a [`Call`]; each call has its kind.
pub enum Answer {
    /// To [`Call::List`].
    Page(ListAnswer),
    /// To [`Call::Browse`].
    View(Arc<View>),
    /// To [`Call::Read`].
    Reading(Reading),
    /// To [`Call::Act`] and [`Call::Complete`].
    Reply(Reply),
    /// To [`Call::Watch`].
    Watched(Watched),
    /// To [`Call::Find`].
    Found(Result<Found, FindError>),
    /// To [`Call::LiveSearch`].
    Live(LiveAnswer),
    /// To [`Call::Documents`].
    Documents(Result<Content, KnowledgeError>),
    /// To [`Call::Guide`].
    Guide(GuideShelf),
    /// To [`Call::Written`].
    Written(Written),
    /// To the others.
    Done,
}

/// The answer of one kind.
macro_rules! expect {
    ($kind:ident, $answer:expr) => {
        match $answer {
            Answer::$kind(answer) => answer,
            _ => unreachable!("each call has its kind of answer"),
        }
    };
}

impl Answer {
    /// The answer as a result object, if it is one.
    pub fn into_reply(self) -> Option<Reply> {
        match self {
            Answer::Reading(reading) => Some(reading.reply),
            Answer::Reply(reply) => Some(reply),
            _ => None,
        }
    }
}

impl Call {
    /// Its name and its subject in the audit log; `None` if it is not written there.
    pub(super) fn line(&self) -> Option<(&'static str, Arc<str>)> {
        let member = |arguments: &Json, key| arguments.get_str(key).unwrap_or_default().into();
        Some(match self {
            Call::Read(read) if read.purpose != Purpose::Use => return None,
            Call::Read(read) => ("read", read.uri.shared()),
            Call::List(list, _) => ("list", list.as_str().into()),
            Call::Browse => ("list", List::Resources.as_str().into()),
            Call::Act(action, arguments, _) => (action.as_str(), member(arguments, action.key())),
            Call::Complete(arguments, _) => {
                let reference = arguments.get("ref").unwrap_or_else(Json::empty_object);
                let key = if reference.get("uri").is_some() { "uri" } else { "name" };
                ("complete", member(&reference, key))
            }
            Call::Watch(uri, _) => ("subscribe", uri.shared()),
            Call::Unwatch(uri, _) => ("unsubscribe", uri.shared()),
            Call::Listen => ("listen", "".into()),
            Call::SetLogLevel(level) => ("set_log_level", level.as_str().into()),
            // The words of a question are private.
            Call::Find(_) => ("find", "".into()),
            Call::LiveSearch(question) => ("live_search", question.source.as_str().into()),
            Call::Documents(expression, _) => ("get_content", expression.as_str().into()),
            Call::Guide => ("list", "guide://".into()),
            Call::Written(category, path) => ("read", document_uri(category, path).into()),
        })
    }
}

impl Gateway {
    /// Answers one question, and writes down how it ended.
    pub async fn run(&self, caller: &Caller, call: Call) -> Result<Answer, AskError> {
        let asked = Asked::of(caller, &call);
        let result = self.answer(caller, call).await;
        if let Some(asked) = asked {
            self.settle(&asked, &result);
        }
        result
    }

    async fn answer(&self, caller: &Caller, call: Call) -> Result<Answer, AskError> {
        Ok(match call {
            Call::List(list, cursor) => {
                Answer::Page(self.page_of(caller, list, cursor.as_deref()).await?)
            }
            Call::Browse => Answer::View(self.renewed_view(caller).await),
            Call::Read(read) => Answer::Reading(self.fetch_reading(caller, read).await?),
            Call::Act(action, arguments, ask) => {
                Answer::Reply(self.fetch_action(caller, action, &arguments, ask).await?)
            }
            Call::Complete(arguments, ask) => {
                Answer::Reply(self.fetch_values(caller, &arguments, ask).await?)
            }
            Call::Watch(_, Some(limit)) => {
                return Err(AskError::TooManyWatches { limit });
            }
            Call::Watch(uri, None) => Answer::Watched(self.begin_watch(caller, &uri).await?),
            Call::Unwatch(_, Some(watched)) => {
                self.unwatch(&watched);
                Answer::Done
            }
            Call::Unwatch(uri, None) => return Err(AskError::not_found(&uri)),
            Call::Listen => Answer::Done,
            Call::SetLogLevel(level) => {
                self.pass_log_level(&level).await;
                Answer::Done
            }
            Call::Find(query) => Answer::Found(self.look_everywhere(caller, query).await),
            Call::LiveSearch(question) => Answer::Live(self.fetch_live(caller, question).await?),
            Call::Documents(expression, pattern) => {
                let pattern = pattern.as_deref();
                Answer::Documents(self.documents_of(caller, &expression, pattern).await)
            }
            Call::Guide => Answer::Guide(self.guide_shelf(caller).await?),
            Call::Written(category, path) => {
                Answer::Written(self.written(caller, &category, &path).await?)
            }
        })
    }
}

/// Single calls, for those who want their kind of answer.
impl Gateway {
    /// Everything the caller sees, for a door that shows it in a form of its own.
    pub async fn browse(&self, caller: &Caller) -> Arc<View> {
        match self.run(caller, Call::Browse).await {
            Ok(answer) => expect!(View, answer),
            // It is never refused.
            Err(_) => self.current_view(caller),
        }
    }

    /// The contents of one resource: the result object as its Source wrote it, names made public.
    pub async fn read(
        &self,
        caller: &Caller,
        uri: &PublicUri,
        ask: Ask,
    ) -> Result<Reading, AskError> {
        self.read_as(caller, Read::of(uri, ask)).await
    }

    /// The contents of one resource, for a purpose.
    pub(crate) async fn read_as(&self, caller: &Caller, read: Read) -> Result<Reading, AskError> {
        Ok(expect!(Reading, self.run(caller, Call::Read(read)).await?))
    }

    /// Offers values for an argument of a template or prompt.
    pub async fn complete(
        &self,
        caller: &Caller,
        arguments: &Json,
        ask: Ask,
    ) -> Result<Reply, AskError> {
        let call = Call::Complete(arguments.clone(), ask);
        Ok(expect!(Reply, self.run(caller, call).await?))
    }

    /// Begins to report changes of a resource as [`crate::catalogue::Change::Updated`]. Each
    /// success must be followed by one [`Gateway::unwatch`].
    pub async fn watch(&self, caller: &Caller, uri: &PublicUri) -> Result<Watched, AskError> {
        let call = Call::Watch(uri.clone(), None);
        Ok(expect!(Watched, self.run(caller, call).await?))
    }

    /// The documents an expression means, as far as the caller may read them.
    pub async fn content(
        &self,
        caller: &Caller,
        expression: &str,
        pattern: Option<&str>,
    ) -> Result<Content, KnowledgeError> {
        let pattern = pattern.map(str::to_owned);
        let call = Call::Documents(expression.to_owned(), pattern);
        match self.run(caller, call).await {
            Ok(answer) => expect!(Documents, answer),
            // It fails with an error of its own.
            Err(_) => Err(KnowledgeError::NotFound { what: expression.into(), near: Vec::new() }),
        }
    }

    /// Looks for resources, among those the caller may read.
    pub async fn find(&self, caller: &Caller, query: Query) -> Result<Found, FindError> {
        match self.run(caller, Call::Find(query)).await {
            Ok(answer) => expect!(Found, answer),
            // It fails with an error of its own.
            Err(_) => Err(FindError::NoIndex),
        }
    }

    /// Has one server search by itself.
    pub async fn search_live(
        &self,
        caller: &Caller,
        question: LiveQuestion,
    ) -> Result<LiveAnswer, AskError> {
        Ok(expect!(Live, self.run(caller, Call::LiveSearch(question)).await?))
    }
}
