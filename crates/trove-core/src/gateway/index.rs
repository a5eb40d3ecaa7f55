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

/// The place of the index.
#[derive(Default)]
pub(super) struct Index {
    search: OnceLock<Arc<Search>>,
    is_opening: watch::Sender<bool>,
}

impl Index {
    pub(super) fn get(&self) -> Option<&Arc<Search>> {
        self.search.get()
    }

    /// The index, once it is open.
    pub(super) async fn opened(&self) -> Result<&Arc<Search>, FindError> {
        if self.get().is_none() {
            let mut opening = self.is_opening.subscribe();
            let settled = opening.wait_for(|is_opening| !is_opening);
            if tokio::time::timeout(MAX_OPENING, settled).await.is_err() {
                return Err(FindError::Opening);
            }
        }
        self.get().ok_or(FindError::NoIndex)
    }
}

/// That an index is being opened, until this is dropped: it may fail.
pub struct Opening(Arc<Gateway>);

impl Opening {
    /// Gives the gateway the index that was opened.
    pub fn adopt(self, search: Search) {
        self.0.adopt_search(Arc::new(search));
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.index.is_opening.send_replace(false);
    }
}

impl Gateway {
    /// Says that an index is being opened; questions wait for it from now on.
    pub fn open_search(self: &Arc<Self>) -> Opening {
        self.index.is_opening.send_replace(true);
        Opening(self.clone())
    }

    /// Gives the gateway its index; once, at the start.
    pub fn adopt_search(&self, search: Arc<Search>) {
        let _ = self.index.search.set(search);
    }

    /// The index, if there is one and it is open.
    pub fn search(&self) -> Option<&Arc<Search>> {
        self.index.get()
    }

    /// Whether there is an index, or will be one in a moment.
    pub(super) fn is_searchable(&self) -> bool {
        self.search().is_some() || *self.index.is_opening.borrow()
    }
}
