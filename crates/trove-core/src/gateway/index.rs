//! The search index the gateway has, or will have in a moment: it is opened while the first
//! questions come in already.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::sync::watch;

use super::{FindError, Gateway};
use crate::search::Search;

/// How long a question waits for an index that is being opened.
const MAX_OPENING: Duration = Duration::from_secs(10);

/// The place of the index; copies are one place.
#[derive(Clone, Default)]
pub struct Index(Arc<Place>);

#[derive(Default)]
struct Place {
    search: OnceLock<Arc<Search>>,
    is_opening: watch::Sender<bool>,
}

impl Index {
    /// The place of an index that is being opened: questions wait for it from now on.
    pub fn opening() -> (Index, Opening) {
        let index = Index::default();
        index.0.is_opening.send_replace(true);
        (index.clone(), Opening(index))
    }

    pub(super) fn get(&self) -> Option<&Arc<Search>> {
        self.0.search.get()
    }

    /// The index, once it is open.
    pub(super) async fn opened(&self) -> Result<&Arc<Search>, FindError> {
        if self.get().is_none() {
            let mut opening = self.0.is_opening.subscribe();
            let settled = opening.wait_for(|is_opening| !is_opening);
            if tokio::time::timeout(MAX_OPENING, settled).await.is_err() {
                return Err(FindError::Opening);
            }
        }
        self.get().ok_or(FindError::NoIndex)
    }
}

impl From<Arc<Search>> for Index {
    fn from(search: Arc<Search>) -> Index {
        let index = Index::default();
        let _ = index.0.search.set(search);
        index
    }
}

/// An index that is being opened, until this is dropped: it may fail.
pub struct Opening(Index);

impl Opening {
    /// Puts the index that was opened in its place.
    pub fn adopt(self, search: Search) {
        let _ = self.0.0.search.set(Arc::new(search));
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.0.is_opening.send_replace(false);
    }
}

impl Gateway {
    /// The index, if there is one and it is open.
    pub fn search(&self) -> Option<&Arc<Search>> {
        self.index.get()
    }

    /// The index, once it is open; `None` if there is none.
    pub(crate) async fn opened_search(&self) -> Option<&Arc<Search>> {
        self.index.opened().await.ok()
    }

    /// Whether there is an index, or will be one in a moment.
    pub(super) fn is_searchable(&self) -> bool {
        self.search().is_some() || *self.index.0.is_opening.borrow()
    }
}
