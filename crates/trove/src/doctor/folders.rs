//! Checks the folders that are served.

use trove_core::status::State;

use super::{Finding, Level};
use crate::{app::App, config::Config};

/// Folders that are not there, or cannot be looked into.
pub(crate) fn check_folders(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in &config.folders {
        let area = ("server", folder.id.as_str());
        let shown = folder.path.display();
        let Ok(about) = folder.path.metadata() else {
            let message = format!("the folder {shown} is not there, or may not be looked at");
            let fix = format!("make the folder, or correct `path` of [folders.{}]", folder.id);
            findings.push(Finding::new(Level::Error, area, message, fix));
            continue;
        };
        if !about.is_dir() {
            let message = format!("{shown} is no folder");
            let fix = format!("write the folder it lies in as `path` of [folders.{}]", folder.id);
            findings.push(Finding::new(Level::Error, area, message, fix));
        } else if let Err(error) = folder.path.read_dir() {
            let message = format!("the folder {shown} cannot be looked into: {error}");
            findings.push(Finding::new(Level::Error, area, message, "give yourself the right to"));
        }
    }
    findings
}

/// Folders that are served, though not whole or not followed.
pub(crate) fn check_served(app: &App, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in &config.folders {
        let Some(status) = app.gateway.board().of(&folder.id) else { continue };
        let area = ("server", folder.id.as_str());
        let waits = status.state == State::Idle;
        if let Some(error) = status.last_error.filter(|_| waits) {
            let fix = "approve it, if its files may be served to your models";
            findings.push(Finding::new(Level::Warning, area, error.to_string(), fix));
        }
        for omission in status.omissions {
            let message = format!("its list is not whole: {omission}");
            let fix = "leave out what you do not need, by `ignore` and `include`";
            findings.push(Finding::new(Level::Warning, area, message, fix));
        }
        if let Some(warning) = status.warning {
            let fix = "raise the limit, or leave out what you do not need, by `ignore`";
            findings.push(Finding::new(Level::Warning, area, warning, fix));
        }
    }
    findings
}
