//! All flags that are set, in memory: an immutable value, replaced whole.

use std::{collections::BTreeMap, sync::Arc};

use tracing::warn;

use super::{
    defs::FlagDef,
    store::{FlagChange, Level, StoredFlag},
    value::{FlagName, FlagValue},
};
use crate::project::ProjectName;

/// The most flags that may be set, all projects together.
pub const MAX_FLAGS: usize = 20_000;
/// The most that all values may take together.
pub const MAX_FLAGS_BYTES: usize = 64 * 1024 * 1024;

/// The flags of one level.
pub(super) type Flagset = BTreeMap<FlagName, Arc<FlagValue>>;

/// All flags that are set.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    global: Arc<Flagset>,
    projects: BTreeMap<ProjectName, Arc<Flagset>>,
    flags: usize,
    bytes: usize,
}

/// There is no room for one more.
#[derive(Debug)]
pub(super) struct NoRoom;

impl Table {
    /// A table of stored flags. A flag that makes no sense is left out, with a warning: another
    /// version, or a person with a database tool, may have written it.
    pub(super) fn of(stored: Vec<StoredFlag>, known: &[FlagDef]) -> Table {
        let mut table = Table::default();
        let mut left_out = 0usize;
        for flag in stored {
            let is_in = readable(&flag, known).is_some_and(|change| table.put(&change).is_ok());
            left_out += usize::from(!is_in);
        }
        if left_out > 0 {
            warn!(left_out, "stored flags that are not allowed were left out");
        }
        table
    }

    pub(super) fn global(&self) -> &Flagset {
        &self.global
    }

    pub(super) fn project(&self, project: &ProjectName) -> Option<&Flagset> {
        self.projects.get(project).map(Arc::as_ref)
    }

    /// The projects that have flags, by name.
    pub(super) fn projects(&self) -> impl Iterator<Item = &ProjectName> {
        self.projects.keys()
    }

    /// Makes one change and gives what was there before.
    pub(super) fn put(&mut self, change: &FlagChange) -> Result<Option<Arc<FlagValue>>, NoRoom> {
        let before = self.at(&change.level).and_then(|set| set.get(&change.name)).cloned();
        let freed = before.as_ref().map_or(0, |before| before.bytes());
        let taken = change.value.as_ref().map_or(0, FlagValue::bytes);
        let flags =
            self.flags - usize::from(before.is_some()) + usize::from(change.value.is_some());
        let bytes = self.bytes - freed + taken;
        // A change that makes it smaller is always welcome.
        if (flags > MAX_FLAGS && flags > self.flags)
            || (bytes > MAX_FLAGS_BYTES && bytes > self.bytes)
        {
            return Err(NoRoom);
        }
        (self.flags, self.bytes) = (flags, bytes);
        let set = match &change.level {
            Level::Global => &mut self.global,
            Level::Project(project) => self.projects.entry(project.clone()).or_default(),
        };
        let set = Arc::make_mut(set);
        match &change.value {
            Some(value) => set.insert(change.name.clone(), Arc::new(value.clone())),
            None => set.remove(&change.name),
        };
        if let Level::Project(project) = &change.level
            && set.is_empty()
        {
            self.projects.remove(project);
        }
        Ok(before)
    }

    fn at(&self, level: &Level) -> Option<&Flagset> {
        match level {
            Level::Global => Some(&self.global),
            Level::Project(project) => self.project(project),
        }
    }
}

fn readable(flag: &StoredFlag, known: &[FlagDef]) -> Option<FlagChange> {
    let name = FlagName::new(&flag.name).ok()?;
    let value = FlagValue::from_json(&serde_json::from_str(&flag.value).ok()?).ok()?;
    if let Some(def) = known.iter().find(|def| def.name == name.as_str()) {
        def.check(&name, &value).ok()?;
    }
    let level = match &flag.project {
        None => Level::Global,
        Some(project) => Level::Project(ProjectName::new(project).ok()?),
    };
    Some(FlagChange { level, name, value: Some(value) })
}
