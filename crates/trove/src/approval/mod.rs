//! Which servers may be started.
//!
//! A command that came with a project, or stands in another client's file, is run only after the
//! user approved it. The approval covers exactly this command, its arguments, environment, folder
//! and program. A changed one waits again. Files the user wrote for Trove or named by hand need no
//! approval. A server behind a URL needs one if variables or files of this machine are sent to it.
//! No program is run for it, but those values would leave. Servers that were merely found in other
//! clients' files need it in any case.

mod calls;
mod folders;
mod invocation;
mod seals;
mod store;
#[cfg(test)]
mod tests;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use tracing::warn;
use trove_core::{
    SourceId,
    source::{Outage, Why},
    status::{Remedy, StatusBoard},
};
use trove_mcp::upstream::{Reach, Scope, Text, UpstreamConfig, Upstreams};

pub(crate) use calls::Calls;
pub(crate) use folders::{FolderAdmission, FolderCandidate, judge_folders};
pub(crate) use invocation::Invocation;
use seals::Sealed;
pub(crate) use seals::Seals;
use store::FILE_NAME;
pub(crate) use store::{Approval, Approvals};
pub(crate) use words::{Difference, Listener, Words};

use crate::config::{Borrowed, Found, Loaded};

/// Why the servers of a file need no approval, or that they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hand {
    /// The user's own: kept in the user's folder, or named by hand.
    User,
    /// It was there where Trove was started.
    Project,
    /// Another client's.
    Client,
}

impl Hand {
    /// The author of the configuration.
    pub(crate) fn of(loaded: &Loaded) -> Hand {
        match (loaded.client, loaded.found) {
            (Some(_), _) => Hand::Client,
            (None, Found::Here) => Hand::Project,
            (None, Found::Named | Found::Home | Found::Nowhere) => Hand::User,
        }
    }
}

/// One server that would be started here, and whether it may be.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) upstream: &'a UpstreamConfig,
    /// The file it stands in.
    pub(crate) file: &'a Path,
    /// The folder of the entry, if its author may have written the program in it too.
    pub(crate) project: Option<&'a Path>,
    /// The command that would be run; `None` for a server behind a URL.
    pub(crate) invocation: Option<Invocation>,
    pub(crate) verdict: Verdict,
    /// The tools that a recipe would call.
    pub(crate) calls: Option<Calls>,
    /// Whether those calls were approved with the server.
    lets_call: bool,
}

/// Whether a server may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It needs no approval.
    Free,
    /// It has been approved as it is.
    Approved,
    /// It has never been approved.
    New,
    /// It has been approved as something else; these are the differences.
    Changed(Vec<String>),
}

impl Verdict {
    /// The word for it in lists.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Verdict::Free => "free",
            Verdict::Approved => "approved",
            Verdict::New => "waiting",
            Verdict::Changed(_) => "changed",
        }
    }

    pub(crate) fn may_run(&self) -> bool {
        match self {
            Verdict::Free | Verdict::Approved => true,
            Verdict::New | Verdict::Changed(_) => false,
        }
    }
}

/// Judges every server of a configuration.
pub(crate) fn judge<'a>(
    loaded: &'a Loaded,
    approvals: &Approvals,
    scope: &dyn Scope,
) -> Vec<Candidate<'a>> {
    judge_as(Hand::of(loaded), loaded, approvals, scope)
}

/// Judges every server as if this hand had written the configuration.
pub(crate) fn judge_as<'a>(
    hand: Hand,
    loaded: &'a Loaded,
    approvals: &Approvals,
    scope: &dyn Scope,
) -> Vec<Candidate<'a>> {
    let is_free = hand == Hand::User;
    let file = loaded.origin.as_deref().unwrap_or(Path::new(""));
    let own = |upstream: &'a UpstreamConfig| {
        let project = file.parent();
        let invocation = match &upstream.reach {
            Reach::Http(remote) | Reach::Sse(remote)
                if !Invocation::sends_ours(remote) && Calls::asked_for(upstream).is_none() =>
            {
                None
            }
            _ => Some(Invocation::of(upstream, project, scope)),
        };
        let verdict = match &invocation {
            Some(now) if !is_free => verdict(approvals, (file, &upstream.id), now),
            _ => Verdict::Free,
        };
        let (calls, lets_call) = calls(approvals, file, upstream);
        Candidate { upstream, file, project, invocation, verdict, calls, lets_call }
    };
    let borrowed = |Borrowed { upstream, file, .. }: &'a Borrowed| {
        let invocation = Invocation::of(upstream, None, scope);
        let verdict = verdict(approvals, (file, &upstream.id), &invocation);
        let (calls, lets_call) = calls(approvals, file, upstream);
        let (project, invocation) = (None, Some(invocation));
        Candidate { upstream, file, project, invocation, verdict, calls, lets_call }
    };
    let own = loaded.config.upstreams.iter().map(own);
    own.chain(loaded.borrowed.iter().map(borrowed)).collect()
}

fn verdict(approvals: &Approvals, (file, id): (&Path, &SourceId), now: &Invocation) -> Verdict {
    match approvals.of(file, id) {
        None => Verdict::New,
        Some(approved) if approved.sha256 == now.sha256() => Verdict::Approved,
        Some(approved) => Verdict::Changed(approved.invocation.differences(now)),
    }
}

/// The tools that a recipe would call, and whether they were approved with the server.
fn calls(approvals: &Approvals, file: &Path, upstream: &UpstreamConfig) -> (Option<Calls>, bool) {
    let calls = Calls::of(upstream);
    let approved = approvals.of(file, &upstream.id).and_then(|approval| approval.calls.as_ref());
    let is_approved = calls.is_some() && approved == calls.as_ref();
    (calls, is_approved)
}

/// Lets approved servers in, and shows the others as waiting.
pub struct Admission {
    upstreams: Arc<Upstreams>,
    board: Arc<StatusBoard>,
    /// The approvals of the servers that run.
    seals: Arc<Seals>,
    state: PathBuf,
    /// Hears the descriptions of the servers that run.
    listener: Arc<Listener>,
    /// The user said that everything may run, this time.
    is_waived: bool,
    /// The servers that are on the board only because they wait.
    waiting: Mutex<BTreeSet<SourceId>>,
}

impl Admission {
    pub(crate) fn new(
        upstreams: Arc<Upstreams>,
        board: Arc<StatusBoard>,
        seals: Arc<Seals>,
        (words, is_waived): (Words, bool),
    ) -> Admission {
        let state = words.state().to_owned();
        let listener = Arc::new(Listener::new(words, board.clone()));
        let waiting = Mutex::default();
        Admission { upstreams, board, seals, state, listener, is_waived, waiting }
    }

    /// The listener that hears what servers say of themselves. The task that runs them follows it.
    pub(crate) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// The file whose change may let more servers in.
    pub(crate) fn approvals_file(&self) -> PathBuf {
        self.state.join(FILE_NAME)
    }

    /// The servers that wait for approval.
    pub(crate) fn waiting(&self) -> Vec<SourceId> {
        self.waiting.lock().iter().cloned().collect()
    }

    /// Makes the running servers those of the configuration that may run.
    pub(crate) async fn apply(&self, loaded: &Loaded) {
        let (all, state, seals) = (loaded.clone(), self.state.clone(), self.seals.clone());
        let is_waived = self.is_waived;
        // It reads files, programs among them, and a disk may be slow.
        let deciding = move || Decision::of(&all, is_waived, &state, seals.scope());
        let Ok(decision) = tokio::task::spawn_blocking(deciding).await else {
            return warn!("which servers may run could not be found out; those that run go on");
        };
        let Decision { run, waiting, sealed } = decision;
        for id in self.replace_waiting(waiting.clone()) {
            self.board.remove(&id);
        }
        self.listener.set_running(&run);
        let others = self.seals.replace(sealed);
        if !others.is_empty() {
            // Approved as something else: the running command is not the approved one.
            let kept = run.iter().filter(|one| !others.contains(&one.id));
            self.upstreams.replace(kept.cloned().collect()).await;
        }
        self.upstreams.replace(run).await;
        for id in &waiting {
            let outage = unapproved("waiting for approval", &self.board, id);
            warn!(source = %id, "{outage}");
            self.board.add(id, transport(loaded, id));
            self.board.update(id, |status| status.last_error = Some(outage));
        }
    }

    /// Gives those that waited before.
    fn replace_waiting(&self, now: BTreeSet<SourceId>) -> BTreeSet<SourceId> {
        let mut waiting = self.waiting.lock();
        std::mem::replace(&mut *waiting, now)
    }
}

/// The outage of a server that waits for approval.
fn unapproved(told: &str, board: &StatusBoard, id: &SourceId) -> Outage {
    let command = Some(board.command(Remedy::Approve, id));
    Outage { command, ..Outage::new(Why::Unapproved, told) }
}

/// Which servers run, and which wait.
#[derive(Default)]
struct Decision {
    run: Vec<UpstreamConfig>,
    waiting: BTreeSet<SourceId>,
    sealed: BTreeMap<SourceId, Arc<Sealed>>,
}

impl Decision {
    fn of(loaded: &Loaded, is_waived: bool, state: &Path, scope: &dyn Scope) -> Decision {
        let mut decision = Decision::default();
        if is_waived {
            decision.run.clone_from(&loaded.config.upstreams);
            decision.run.extend(loaded.borrowed.iter().map(|one| one.upstream.clone()));
            decision.run.iter_mut().for_each(calls::let_call);
            return decision;
        }
        let approvals = Approvals::load(state).unwrap_or_else(|error| {
            warn!(%error, "approvals cannot be read, so none counts");
            Approvals::default()
        });
        for candidate in judge(loaded, &approvals, scope) {
            let id = &candidate.upstream.id;
            if candidate.verdict.may_run() {
                decision.run.push(pinned(&candidate));
                decision.sealed.extend(Sealed::of(&candidate).map(|seal| (id.clone(), seal)));
            } else {
                decision.waiting.insert(id.clone());
            }
        }
        decision
    }
}

/// How a server would be reached.
fn transport(loaded: &Loaded, id: &SourceId) -> &'static str {
    let borrowed = loaded.borrowed.iter().map(|one| &one.upstream);
    let all = loaded.config.upstreams.iter().chain(borrowed);
    match all.into_iter().find(|one| one.id == *id).map(|one| &one.reach) {
        Some(Reach::Http(_)) => "http",
        Some(Reach::Sse(_)) => "sse",
        Some(Reach::Stdio { .. }) | None => "stdio",
    }
}

/// The server as approved: the very program that was found, wherever another of its name
/// may turn up later.
fn pinned(candidate: &Candidate<'_>) -> UpstreamConfig {
    let mut upstream = candidate.upstream.clone();
    if candidate.verdict == Verdict::Approved
        && let Reach::Stdio { command, .. } = &mut upstream.reach
        && let Some(program) = candidate.invocation.as_ref().and_then(Invocation::program)
    {
        *command = Text::plain(program);
    }
    if candidate.verdict == Verdict::Approved && candidate.lets_call {
        calls::let_call(&mut upstream);
    }
    upstream
}
