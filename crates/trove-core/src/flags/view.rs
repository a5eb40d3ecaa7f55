//! The flags of one moment, as they hold for one request.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::{
    FlagError,
    defs::{FlagDef, Scope},
    table::{Flagset, Table},
    value::{FlagName, FlagValue},
};
use crate::project::ProjectName;

/// The flags that the settings give to a project, by name.
pub type Written = BTreeMap<String, Value>;

/// The longest pattern of a listing.
pub const MAX_PATTERN_BYTES: usize = 256;

/// The flags of one moment. They do not change while it is held.
#[derive(Debug, Clone)]
pub struct View {
    table: Arc<Table>,
    known: &'static [FlagDef],
    project: Option<ProjectName>,
    request: Flagset,
    settings: Flagset,
}

/// Where a value was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// By the request itself.
    Request,
    /// For the project.
    Project,
    /// For the project, in the settings: `guide.projects.NAME.flags` of `trove.toml`.
    Config,
    /// For all projects.
    Global,
    /// At no level: the documented default holds.
    Default,
}

/// A value, and where it was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub value: FlagValue,
    pub origin: Origin,
}

/// One flag of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub name: FlagName,
    pub value: FlagValue,
    pub origin: Origin,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Request => "request",
            Origin::Project => "project",
            Origin::Config => "config",
            Origin::Global => "global",
            Origin::Default => "default",
        }
    }
}

impl View {
    pub(super) fn new(
        table: Arc<Table>,
        known: &'static [FlagDef],
        project: Option<ProjectName>,
    ) -> View {
        View { table, known, project, request: BTreeMap::new(), settings: BTreeMap::new() }
    }

    /// The view with a value that holds for this request only and beats all others.
    pub fn with_request(mut self, name: &str, value: &Value) -> Result<View, FlagError> {
        let (name, value) = checked(self.known, name, value)?;
        self.request.insert(name, Arc::new(value));
        Ok(self)
    }

    /// The view with the settings' flags for the project. A value that no flag can hold was refused
    /// when the settings were read.
    pub fn with_settings(mut self, written: &Written) -> View {
        let good = written.iter().filter_map(|(name, value)| checked(self.known, name, value).ok());
        self.settings = good.map(|(name, value)| (name, Arc::new(value))).collect();
        self
    }

    /// The value of a flag, and the level that decided it; `None` if it is neither set nor known.
    pub fn get(&self, name: &str) -> Option<Resolved> {
        let levels = [
            (Origin::Request, Some(&self.request)),
            (Origin::Project, self.project_flags()),
            (Origin::Config, Some(&self.settings)),
            (Origin::Global, Some(self.table.global())),
        ];
        for (origin, flags) in levels {
            if let Some(value) = flags.and_then(|flags| flags.get(name)) {
                return Some(Resolved { value: FlagValue::clone(value), origin });
            }
        }
        let value = self.def(name)?.default_value();
        Some(Resolved { value, origin: Origin::Default })
    }

    /// The value of a flag by a name that may be none.
    pub fn named(&self, name: &str) -> Result<Option<Resolved>, FlagError> {
        let name = FlagName::new(name)?;
        Ok(self.get(name.as_str()))
    }

    /// The value of a flag for all projects.
    pub fn global(&self, name: &FlagName) -> Option<&FlagValue> {
        self.table.global().get(name).map(Arc::as_ref)
    }

    /// Every flag that holds and whose name matches the pattern, by name.
    pub fn list(&self, pattern: Option<&str>) -> Result<Vec<Listed>, FlagError> {
        let matches = matcher(pattern)?;
        let own = [Some(&self.request), self.project_flags(), Some(&self.settings)];
        let set = own.into_iter().chain([Some(self.table.global())]);
        let mut names: BTreeSet<FlagName> =
            set.flatten().flat_map(Flagset::keys).cloned().collect();
        names.extend(self.known.iter().filter_map(|def| FlagName::new(def.name).ok()));
        let mut listed = Vec::new();
        for name in names.into_iter().filter(|name| matches(name)) {
            if let Some(Resolved { value, origin }) = self.get(name.as_str()) {
                listed.push(Listed { name, value, origin });
            }
        }
        Ok(listed)
    }

    /// Every flag that is set for all projects and whose name matches the pattern, by name.
    pub fn list_global(&self, pattern: Option<&str>) -> Result<Vec<Listed>, FlagError> {
        let matches = matcher(pattern)?;
        let set = self.table.global().iter().filter(|(name, _)| matches(name));
        let listed = set.map(|(name, value)| Listed {
            name: name.clone(),
            value: FlagValue::clone(value),
            origin: Origin::Global,
        });
        Ok(listed.collect())
    }

    /// The projects that have flags of their own, by name.
    pub fn projects(&self) -> impl Iterator<Item = &ProjectName> {
        self.table.projects()
    }

    fn project_flags(&self) -> Option<&Flagset> {
        self.table.project(self.project.as_ref()?)
    }

    fn def(&self, name: &str) -> Option<&'static FlagDef> {
        self.known.iter().find(|def| def.name == name)
    }
}

/// The name and value of a flag, if it can hold that value.
fn checked(
    known: &[FlagDef],
    name: &str,
    value: &Value,
) -> Result<(FlagName, FlagValue), FlagError> {
    let name = FlagName::new(name)?;
    let value = match FlagValue::from_json(value) {
        Ok(value) => value,
        Err(why) => return Err(FlagError::Value { name, why }),
    };
    if let Some(def) = known.iter().find(|def| def.name == name.as_str()) {
        def.check(&name, &value)?;
    }
    Ok((name, value))
}

/// Refuses what the settings cannot give to a project.
pub fn check_written(known: &[FlagDef], name: &str, value: &Value) -> Result<(), FlagError> {
    let (name, _) = checked(known, name, value)?;
    match known.iter().find(|def| def.name == name.as_str()) {
        Some(FlagDef { scope: Scope::Global, .. }) => {
            Err(FlagError::Scope { name, scope: Scope::Global })
        }
        Some(_) | None => Ok(()),
    }
}

fn matcher(pattern: Option<&str>) -> Result<impl Fn(&FlagName) -> bool, FlagError> {
    let glob = pattern.map(glob).transpose()?;
    Ok(move |name: &FlagName| glob.as_ref().is_none_or(|glob| glob.is_match(name.as_str())))
}

fn glob(pattern: &str) -> Result<GlobMatcher, FlagError> {
    let bad = |why: String| {
        let pattern = pattern.chars().take(MAX_PATTERN_BYTES).collect();
        FlagError::Pattern { pattern, why }
    };
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(bad(format!("it is longer than {MAX_PATTERN_BYTES} bytes")));
    }
    let glob = GlobBuilder::new(pattern).build().map_err(|error| bad(error.kind().to_string()))?;
    Ok(glob.compile_matcher())
}
