//! Which folders may be served.
//!
//! A file that came with a project may serve what lies in that project. A folder elsewhere on this
//! machine waits until the user approved it, as a command does.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tracing::warn;
use trove_core::{Gateway, SourceId, status::StatusBoard};
use trove_folders::{FolderSettings, Folders};

use super::{Approvals, Hand, Invocation, Verdict, unapproved, verdict};
use crate::config::Loaded;

/// One folder that would be served here, and whether it may be.
#[derive(Debug)]
pub(crate) struct FolderCandidate<'a> {
    pub(crate) folder: &'a FolderSettings,
    /// The file it stands in.
    pub(crate) file: &'a Path,
    /// Where it leads, links followed.
    pub(crate) place: PathBuf,
    pub(crate) invocation: Invocation,
    pub(crate) verdict: Verdict,
}

/// Judges every folder of a configuration as if this hand had written it. This asks the disk.
pub(crate) fn judge_folders<'a>(
    hand: Hand,
    loaded: &'a Loaded,
    approvals: &Approvals,
) -> Vec<FolderCandidate<'a>> {
    let file = loaded.origin.as_deref().unwrap_or(Path::new(""));
    let project = file.parent().map(real);
    let judge = |folder: &'a FolderSettings| {
        let place = real(&folder.path);
        let is_inside = project.as_ref().is_some_and(|project| place.starts_with(project));
        let invocation = Invocation::serving(&place);
        let verdict = if hand == Hand::User || is_inside {
            Verdict::Free
        } else {
            verdict(approvals, (file, &folder.id), &invocation)
        };
        FolderCandidate { folder, file, place, invocation, verdict }
    };
    loaded.config.folders.iter().map(judge).collect()
}

/// A path with links followed; as it is where it leads nowhere.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Serves the folders that may be, and shows the others as waiting.
pub(crate) struct FolderAdmission {
    folders: Folders,
    board: Arc<StatusBoard>,
    state: PathBuf,
    /// The user said that everything may be served, this time.
    is_waived: bool,
    waiting: Mutex<BTreeSet<SourceId>>,
}

impl FolderAdmission {
    pub(crate) fn new(gateway: &Gateway, state: &Path, is_waived: bool) -> FolderAdmission {
        FolderAdmission {
            folders: Folders::new(gateway),
            board: gateway.board().clone(),
            state: state.to_owned(),
            is_waived,
            waiting: Mutex::default(),
        }
    }

    /// The folders that wait for approval.
    pub(crate) fn waiting(&self) -> Vec<SourceId> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Makes the folders that are served those of the configuration that may be.
    pub(crate) async fn apply(&self, loaded: &Loaded) {
        let (all, state, is_waived) = (loaded.clone(), self.state.clone(), self.is_waived);
        // It asks the disk, which may be slow.
        let deciding = move || decide(&all, &state, is_waived);
        let Ok((serve, waiting)) = tokio::task::spawn_blocking(deciding).await else {
            return warn!(
                "which folders may be served could not be found out; those that are go on"
            );
        };
        let before = {
            let mut known = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *known, waiting.clone())
        };
        for id in before {
            self.board.remove(&id);
        }
        self.folders.replace(serve).await;
        for id in &waiting {
            let outage = unapproved("waiting for approval", &self.board, id);
            warn!(source = %id, how = %outage, "a folder waits for approval");
            self.board.add(id, "folder");
            self.board.update(id, |status| status.last_error = Some(outage));
        }
    }

    /// Ends all.
    pub(crate) async fn shutdown(&self) {
        self.folders.shutdown().await;
    }
}

/// The folders that are served, and the ids of those that wait.
fn decide(
    loaded: &Loaded,
    state: &Path,
    is_waived: bool,
) -> (Vec<FolderSettings>, BTreeSet<SourceId>) {
    if is_waived || Hand::of(loaded) == Hand::User {
        return (loaded.config.folders.clone(), BTreeSet::new());
    }
    let approvals = Approvals::load(state).unwrap_or_else(|error| {
        warn!(%error, "approvals cannot be read, so none counts");
        Approvals::default()
    });
    let (mut serve, mut waiting) = (Vec::new(), BTreeSet::new());
    for candidate in judge_folders(Hand::of(loaded), loaded, &approvals) {
        if candidate.verdict.may_run() {
            // The very folder that was judged, wherever a link of its name leads later.
            serve.push(FolderSettings { path: candidate.place, ..candidate.folder.clone() });
        } else {
            waiting.insert(candidate.folder.id.clone());
        }
    }
    (serve, waiting)
}
