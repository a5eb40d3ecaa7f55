//! Which clients are here, and whether Trove is in them.

use std::path::PathBuf;

use super::{
    backup::Original,
    edit::Spot,
    locate::{Host, Scope},
    ours,
    table::{Row, TABLE},
    text::Dressed,
};

/// How one file of a client stands.
pub(crate) struct Survey {
    pub(crate) row: &'static Row,
    pub(crate) scope: Scope,
    /// The file, whether it is there or not.
    pub(crate) path: Option<PathBuf>,
    pub(crate) standing: Standing,
}

/// Whether Trove is in a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The client is not here.
    Absent,
    /// It is here, and Trove is not in it.
    Without,
    /// Trove is in it.
    Installed,
    /// Trove is in it, but its program is not there any more.
    ProgramGone(PathBuf),
    /// Trove is in it, but the configuration it names is not there any more.
    ConfigGone(PathBuf),
    /// The name is taken by something else.
    Taken,
    /// Its file cannot be read.
    Unreadable(String),
}

/// Every client's file for the user, and those of the project that are there.
pub(crate) fn survey(host: &Host<'_>, name: &str) -> Vec<Survey> {
    let mut all = Vec::new();
    for row in TABLE {
        let user = look(host, row, Scope::User, name);
        let project = look(host, row, Scope::Project, name);
        let is_one_file = user.path == project.path;
        all.push(user);
        // In a project, few clients have a file.
        if project.standing != Standing::Absent && !is_one_file {
            all.push(project);
        }
    }
    all
}

fn look(host: &Host<'_>, row: &'static Row, scope: Scope, name: &str) -> Survey {
    let path = host.file(row, scope, name).ok();
    let standing = match &path {
        Some(path) => standing(host, (row, scope), path, name),
        None => Standing::Absent,
    };
    Survey { row, scope, path, standing }
}

fn standing(
    host: &Host<'_>,
    (row, scope): (&'static Row, Scope),
    path: &std::path::Path,
    name: &str,
) -> Standing {
    let original = match Original::read(path) {
        Ok(original) => original,
        Err(error) => return Standing::Unreadable(error.to_string()),
    };
    let Some(bytes) = &original.bytes else {
        let is_here = scope == Scope::User && host.has(row);
        return if is_here { Standing::Without } else { Standing::Absent };
    };
    let spot = Spot::of(row, path, name);
    let tree = Dressed::of(bytes).map(|dressed| spot.read(&dressed.text));
    match tree {
        None => Standing::Unreadable(format!("{} is not UTF-8 text", path.display())),
        Some(Err(error)) => Standing::Unreadable(error.to_string()),
        Some(Ok(root)) => match spot.find(&root) {
            None => Standing::Without,
            Some(entry) if !ours::is_ours(entry, &host.program) => Standing::Taken,
            Some(entry) => match (ours::missing_program(entry), ours::missing_config(entry)) {
                (Some(program), _) => Standing::ProgramGone(program),
                (None, Some(config)) => Standing::ConfigGone(config),
                (None, None) => Standing::Installed,
            },
        },
    }
}
