//! Approved commands, looked at again whenever one is about to be run.
//!
//! A server may crash, or be stopped after its program was changed. It is then started anew long
//! after the configuration was judged.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use trove_core::{SourceId, source::Outage, status::StatusBoard};
use trove_mcp::upstream::{Gate, Scope, UpstreamConfig};

use super::{Candidate, Invocation, Verdict, unapproved};

/// The servers that run because they were approved.
pub(crate) struct Seals {
    scope: Arc<dyn Scope>,
    /// Knows how commands of ours are typed here.
    board: Arc<StatusBoard>,
    all: Mutex<BTreeMap<SourceId, Arc<Sealed>>>,
}

/// One server as it was approved.
#[derive(PartialEq, Eq)]
pub(super) struct Sealed {
    upstream: UpstreamConfig,
    project: Option<PathBuf>,
    sha256: String,
}

impl Sealed {
    /// Of a server; `None` if it needed no approval.
    pub(super) fn of(candidate: &Candidate<'_>) -> Option<Arc<Sealed>> {
        let invocation = candidate.invocation.as_ref()?;
        let sealed = || Sealed {
            upstream: candidate.upstream.clone(),
            project: candidate.project.map(ToOwned::to_owned),
            sha256: invocation.sha256(),
        };
        (candidate.verdict == Verdict::Approved).then(|| Arc::new(sealed()))
    }
}

impl Seals {
    pub(crate) fn new(scope: Arc<dyn Scope>, board: Arc<StatusBoard>) -> Seals {
        Seals { scope, board, all: Mutex::default() }
    }

    /// Where variables come from.
    pub(super) fn scope(&self) -> &dyn Scope {
        &*self.scope
    }

    /// Puts these in the place of those before; gives those that were sealed as something else.
    pub(super) fn replace(&self, now: BTreeMap<SourceId, Arc<Sealed>>) -> BTreeSet<SourceId> {
        let mut all = self.lock();
        let is_other =
            |(id, seal): &(&SourceId, &Arc<Sealed>)| now.get(*id).is_some_and(|n| n != *seal);
        let others = all.iter().filter(is_other).map(|(id, _)| id.clone()).collect();
        *all = now;
        others
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SourceId, Arc<Sealed>>> {
        self.all.lock()
    }
}

impl Gate for Seals {
    fn refusal(&self, id: &SourceId) -> Option<Outage> {
        // A program may be long; no other caller waits while it is read.
        let seal = self.lock().get(id).cloned()?;
        let now = Invocation::of(&seal.upstream, seal.project.as_deref(), &*self.scope);
        let is_same = now.sha256() == seal.sha256;
        let told = "what would be run is not what was approved";
        (!is_same).then(|| unapproved(told, &self.board, id))
    }
}
