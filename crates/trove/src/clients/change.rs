//! Puts our entry into a client's file, or takes it out: first a plan, then the deed.
//!
//! A plan is complete: what it would write has been read back already. Carrying it out
//! only replaces bytes.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    backup::{Original, replace},
    diff,
    edit::{Spot, says_all},
    entry::{Access, Entry, Launch, TOKEN_VARIABLE, check_name},
    error::ClientError,
    locate::{Host, Scope},
    ours,
    table::Row,
    text::Dressed,
};
use crate::config::tree::Node;

/// A user's wish for one client.
pub(crate) struct Wish<'a> {
    pub(crate) row: &'static Row,
    pub(crate) scope: Scope,
    pub(crate) name: &'a str,
    /// Whether an entry that is not ours may be replaced or removed.
    pub(crate) force: bool,
}

/// The effect of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Added,
    Updated,
    AlreadyThere,
    Removed,
    NotThere,
}

/// The plan for one file.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) row: &'static Row,
    pub(crate) scope: Scope,
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    /// Notes for the user besides.
    pub(crate) notes: Vec<String>,
    /// The file as the user knows it; it may be a link.
    pub(crate) path: PathBuf,
    original: Original,
    /// The text it shall hold; `None`: it shall not be there.
    fresh: Option<Vec<u8>>,
    /// A secret that no diff may show.
    secret: Option<String>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word)
    }
}

impl Outcome {
    /// The word for it in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Outcome::Added => "added",
            Outcome::Updated => "updated",
            Outcome::AlreadyThere => "already_there",
            Outcome::Removed => "removed",
            Outcome::NotThere => "not_there",
        }
    }

    /// Whether a file is to change.
    pub(crate) fn is_change(self) -> bool {
        !matches!(self, Outcome::AlreadyThere | Outcome::NotThere)
    }
}

/// Plans to put our entry into the file.
pub(crate) fn plan_install(
    host: &Host<'_>,
    wish: &Wish<'_>,
    launch: &Launch,
) -> Result<Plan, ClientError> {
    check_name(wish.name)?;
    let entry = Entry::of(wish.row, wish.scope, wish.name, launch)?;
    let path = host.file(wish.row, wish.scope, wish.name)?;
    let original = Original::read(&path)?;
    let dressed = undress(&original)?;
    let spot = Spot::of(wish.row, &original.path, wish.name);
    let root = spot.read(&dressed.text)?;
    let present = spot.find(&root);
    let outcome = match present {
        Some(present) if says_all(present, &entry) => Outcome::AlreadyThere,
        Some(present) if !ours::is_ours(present, &host.program) && !wish.force => {
            return Err(ClientError::Taken { path, name: wish.name.to_owned() });
        }
        Some(_) => Outcome::Updated,
        None if is_foreign_file(&spot, &root) && !wish.force => {
            return Err(ClientError::Taken { path, name: wish.name.to_owned() });
        }
        None => Outcome::Added,
    };
    let fresh = match outcome {
        Outcome::AlreadyThere => original.bytes.clone(),
        _ => Some(dressed.dress(&spot.put(&dressed.text, &entry)?)),
    };
    let mut notes = notes(wish, launch, &original);
    if present.is_some_and(is_off) {
        notes.push(format!(
            "the entry is switched off in the file; switch it on in {}",
            wish.row.client
        ));
    }
    let secret = match launch {
        Launch::Http { access: Access::Token(token), .. } => Some(token.clone()),
        _ => None,
    };
    Ok(Plan { outcome, notes, fresh, secret, ..Plan::nothing(wish, path, original) })
}

/// Plans to take our entry out of the file.
pub(crate) fn plan_uninstall(host: &Host<'_>, wish: &Wish<'_>) -> Result<Plan, ClientError> {
    check_name(wish.name)?;
    let path = host.file(wish.row, wish.scope, wish.name)?;
    let original = Original::read(&path)?;
    let dressed = undress(&original)?;
    let spot = Spot::of(wish.row, &original.path, wish.name);
    let root = spot.read(&dressed.text)?;
    let Some(present) = spot.find(&root) else {
        return Ok(Plan::nothing(wish, path, original));
    };
    if !ours::is_ours(present, &host.program) && !wish.force {
        return Err(ClientError::NotOurs { path, name: wish.name.to_owned() });
    }
    let fresh = spot.take(&dressed.text)?.map(|text| dressed.dress(&text));
    Ok(Plan { outcome: Outcome::Removed, fresh, ..Plan::nothing(wish, path, original) })
}

impl Plan {
    fn nothing(wish: &Wish<'_>, path: PathBuf, original: Original) -> Plan {
        Plan {
            row: wish.row,
            scope: wish.scope,
            name: wish.name.to_owned(),
            outcome: Outcome::NotThere,
            notes: Vec::new(),
            path,
            fresh: original.bytes.clone(),
            original,
            secret: None,
        }
    }

    /// The change, line by line; the token does not show.
    pub(crate) fn diff(&self) -> String {
        let text = |bytes: &Option<Vec<u8>>| {
            let text = bytes.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            match &self.secret {
                Some(secret) => text.replace(secret.as_str(), "***"),
                None => text.into_owned(),
            }
        };
        diff::unified(&self.original.path, &text(&self.original.bytes), &text(&self.fresh))
    }

    /// Does it, looks whether it was done, and gives the backup's name.
    pub(crate) fn apply(&self, now: SystemTime) -> Result<Option<PathBuf>, ClientError> {
        if !self.outcome.is_change() {
            return Ok(None);
        }
        let backup = replace(&self.original, self.fresh.as_deref(), now)?;
        let written = Original::read(&self.path)?;
        if written.bytes != self.fresh {
            return Err(ClientError::NotReadBack { path: self.path.clone() });
        }
        Ok(backup)
    }
}

fn undress(original: &Original) -> Result<Dressed, ClientError> {
    Dressed::of(original.bytes.as_deref().unwrap_or_default())
        .ok_or_else(|| ClientError::NotText { path: original.path.clone() })
}

/// Whether a file that should be all ours holds something else.
fn is_foreign_file(spot: &Spot<'_>, root: &Node) -> bool {
    spot.form == super::table::Form::OwnYaml && !root.entries().is_empty()
}

/// Whether the user switched the entry off.
fn is_off(entry: &Node) -> bool {
    let flag = |key| entry.get(key).and_then(Node::as_bool);
    flag("enabled") == Some(false) || flag("disabled") == Some(true)
}

fn notes(wish: &Wish<'_>, launch: &Launch, original: &Original) -> Vec<String> {
    let mut notes = Vec::new();
    match (launch, wish.scope) {
        (Launch::Http { access: Access::Token(_), .. }, Scope::User) => {
            notes.push("the token stands in that file now: keep it to yourself".to_owned());
            if original.path.metadata().is_ok_and(|m| m.permissions().mode() & 0o044 != 0) {
                let path = original.path.display();
                notes.push(format!("others on this machine can read it; run: chmod 600 '{path}'"));
            }
        }
        (Launch::Http { access: Access::Token(_), .. }, Scope::Project) => notes.push(format!(
            "set {TOKEN_VARIABLE} to the token where {} is started; `trove up` prints it",
            wish.row.client
        )),
        (Launch::Stdio { command, args, .. }, Scope::Project) => {
            let is_of_this_machine = |word: &String| Path::new(word).is_absolute();
            if is_of_this_machine(command) || args.iter().any(is_of_this_machine) {
                notes.push(
                    "the entry names paths of this machine; others who share the project \
                            have to adapt it"
                        .to_owned(),
                );
            }
        }
        _ => {}
    }
    if let Launch::Http { .. } = launch {
        notes.push("Trove must be running to be reached: `trove serve`, or `trove up`".to_owned());
    }
    notes
}
