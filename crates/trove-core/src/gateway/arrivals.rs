//! Names that are not known yet: right after a first start, servers have not been listed.

use std::{sync::Arc, time::Duration};

use super::{AskError, Gateway, Named};
use crate::{
    access::Standing,
    caller::Caller,
    catalogue::{Snapshot, naming},
    source::{Outage, SourceError},
    status::SourceStatus,
    uri::PublicUri,
};

/// How long after it was added a server is waited for by whoever asks for a name that nobody
/// serves.
const FIRST_MOMENTS: Duration = Duration::from_secs(3);
/// How often it is looked whether the name is known by now.
const LOOK: Duration = Duration::from_millis(20);

impl Gateway {
    /// What `find` finds in the Snapshot of this moment, and that. A name it does not know may
    /// be one of a server that is just being listed for the first time; its first
    /// moments are waited for, and nothing else. What is our own is told at once: whoever may not
    /// know of it is not kept waiting where nobody else would be.
    pub(super) async fn once_known<T>(
        &self,
        name: Option<&str>,
        find: impl Fn(&Snapshot) -> Result<T, AskError>,
    ) -> (Arc<Snapshot>, Result<T, AskError>) {
        let snapshot = self.snapshot().await;
        let found = find(&snapshot);
        if !found.as_ref().is_err_and(AskError::is_unknown_name) {
            return (snapshot, found);
        }
        loop {
            // Asked first: whoever is listed by now has its list in the Snapshot.
            let is_worth_waiting = self.board.any(is_arriving);
            let snapshot = self.current();
            let found = find(&snapshot);
            let is_ours = |name| snapshot.route(name).is_ok_and(|route| route.source.is_builtin());
            match found {
                Err(error)
                    if error.is_unknown_name()
                        && is_worth_waiting
                        && !name.is_some_and(is_ours) =>
                {
                    tokio::time::sleep(LOOK).await;
                }
                Err(error) => {
                    let error = self.with_hope(&snapshot, error);
                    return (snapshot, Err(error));
                }
                found => return (snapshot, found),
            }
        }
    }

    /// The failure of a server that is configured and not in use, if the name says that it is meant.
    pub(super) fn not_in_use(
        &self,
        caller: &Caller,
        snapshot: &Snapshot,
        uri: &PublicUri,
    ) -> Option<AskError> {
        let (source_id, local) = naming::split_qualified(uri.as_str())?;
        if snapshot.member(&source_id).is_some() {
            return None;
        }
        let status = self.board.of(&source_id)?;
        let rules = self.rules();
        let named = Named::given(snapshot, &source_id, local.as_str());
        if rules.standing(caller, named).0 == Standing::Hidden {
            return None;
        }
        let state = status.state.as_str();
        let outage = status.last_error.unwrap_or_else(|| Outage::passing(state));
        let error = SourceError::Unavailable(outage);
        Some(AskError::Source { source_id, uri: Some(uri.clone()), error })
    }

    /// Whether some server has not said yet what it has.
    pub(crate) fn awaits_lists(&self) -> bool {
        self.board.any(SourceStatus::is_unlisted)
    }

    /// Says that the name may become known, where that is so, else whether its scheme is used at
    /// all. Where rules hide something no scheme is called unused: it may be that of what is hidden.
    fn with_hope(&self, snapshot: &Snapshot, error: AskError) -> AskError {
        let AskError::NotFound { uri, .. } = error else { return error };
        let awaits_lists = self.awaits_lists();
        let is_open = self.access().policy.is_empty();
        let is_foreign = is_open && !awaits_lists && !snapshot.uses_scheme_of(uri.as_str());
        AskError::NotFound { uri, is_foreign, awaits_lists }
    }
}

fn is_arriving(status: &SourceStatus) -> bool {
    status.is_unlisted() && status.since.elapsed() < FIRST_MOMENTS
}
