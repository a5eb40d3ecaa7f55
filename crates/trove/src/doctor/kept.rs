//! Checks the memory between runs: the store of flags and the search index.

use std::{path::Path, time::Duration};

use trove_core::search::{Opened, Place};

use super::{Finding, Level};
use crate::app::App;

/// How long the index may take to be opened.
const OPENING: Duration = Duration::from_secs(5);
/// How often we look whether it is.
const LOOK: Duration = Duration::from_millis(10);

/// Whether both can be used; a store that another Trove holds is no fault.
pub(crate) async fn check_kept(app: &App, state: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = app.flags.list_global(None).await {
        let shown = state.join("store.db").display().to_string();
        let fix = "do what it says; until then every flag has its default";
        findings.push(Finding::new(Level::Error, ("state", &shown), error.to_string(), fix));
    }
    findings.extend(index(app, state).await);
    findings
}

async fn index(app: &App, state: &Path) -> Option<Finding> {
    let shown = state.join("index").display().to_string();
    let area = ("state", shown.as_str());
    let opened = async {
        loop {
            if let Some(search) = app.gateway.search() {
                return search.status();
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let Ok(status) = tokio::time::timeout(OPENING, opened).await else {
        let message = "the search index cannot be opened, so nothing is found";
        let fix = "let yourself write there, or remove the folder: it is built anew";
        return Some(Finding::new(Level::Error, area, message, fix));
    };
    if let Some(error) = status.last_error {
        let message = format!("the search index cannot be written: {error}");
        let fix = "make room on the disk, or let yourself write there";
        return Some(Finding::new(Level::Error, area, message, fix));
    }
    match (status.opened, status.place) {
        (Opened::Rebuilt { why }, Place::Disk(_)) => {
            let message = format!("the search index could not be used and is built anew: {why}");
            Some(Finding::new(Level::Note, area, message, "nothing: it fills by itself"))
        }
        _ => None,
    }
}
