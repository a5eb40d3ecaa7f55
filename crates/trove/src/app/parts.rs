//! The parts, made as the configuration says.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;
use trove_core::{
    Gateway, ProjectName, Source as _,
    access::{
        Access, Policy, Rule,
        audit::{Audit, AuditConfig},
    },
    caller::Roles,
    flags::{Flags, SqliteStore, Written, defs::KNOWN},
    gateway::{IndexRule, IndexRules, Parts},
    knowledge::{self, Givens, Knowledge},
    papers::Papers,
    programs::Programs,
    source::SourceEvent,
    tools::Settings,
};
use trove_mcp::upstream::GuardianCommand;

use crate::{
    commands::GUARDIAN,
    config::{Config, IndexSetting, Loaded, Origin, PolicyRule, Toolset},
    ledger::ConfigLedger,
};

/// How long we wait for the guide to be looked at before we serve without it.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// Who may see and read what, by the configuration.
pub(crate) fn access(config: &Config) -> Access {
    let rule = |rule: &PolicyRule| {
        // A pattern that cannot be read was reported with the rest of the file.
        Rule::new(&rule.pattern, rule.roles.clone(), rule.visible).ok()
    };
    Access {
        policy: Policy::new(config.policy.iter().filter_map(rule).collect()),
        local_roles: Roles::new(config.local_roles.value.iter().cloned()),
        withholds_causes: config.mask_error_details.value,
    }
}

/// What search may read, by URI, by the configuration.
pub(super) fn index_rules(config: &Config) -> IndexRules {
    let rule = |rule: &IndexSetting| {
        // A pattern that cannot be read was reported with the rest of the file.
        IndexRule::new(&rule.pattern, rule.index.into()).ok()
    };
    IndexRules::new(config.discovery.index.iter().filter_map(rule).collect())
}

/// The groups of tools that are offered. Programs have a switch of their own, which alone
/// decides.
pub(crate) fn offered(config: &Config) -> impl Iterator<Item = Toolset> + '_ {
    let others = config.toolsets.iter().copied().filter(|set| *set != Toolset::Code);
    others.chain((config.code_enabled.value && cfg!(feature = "code")).then_some(Toolset::Code))
}

/// What tools are offered, and how, by the configuration.
pub(crate) fn tool_settings(config: &Config) -> Settings {
    Settings {
        prefix: config.tool_prefix.value.clone(),
        toolsets: offered(config).map(Into::into).collect(),
        follows_guide: config.toolsets.origin == Origin::Default,
        descriptions: config.descriptions.value.into(),
        bridge: config.bridge.value.into(),
        max_answer: config.max_answer_bytes.value,
        patterns: config.bounds.patterns,
        relevance_threshold: config.discovery.relevance_threshold.get() as f32,
        has_previews: config.discovery.has_previews.value,
        logs_queries: config.discovery.logs_queries.value,
    }
}

/// The parts that a configuration alone decides on.
pub(super) fn parts_of(config: &Config) -> Parts {
    Parts {
        limits: config.bounds.gateway,
        audit: open_audit(config),
        programs: programs(),
        papers: papers(),
        ..Parts::new(env!("CARGO_PKG_VERSION"))
    }
}

/// Runs programs, by workers that are this same program.
#[cfg(feature = "code")]
fn programs() -> Option<Arc<dyn Programs>> {
    match std::env::current_exe() {
        Ok(program) => {
            let args = vec![crate::commands::CODE_WORKER.to_owned()];
            Some(Arc::new(trove_code::Pool::new(program, args)))
        }
        Err(error) => {
            tracing::warn!(%error, "no program can be run: ours cannot be found");
            None
        }
    }
}

#[cfg(not(feature = "code"))]
fn programs() -> Option<Arc<dyn Programs>> {
    None
}

/// Makes text of documents, by workers that are this same program.
#[cfg(feature = "documents")]
fn papers() -> Option<Arc<dyn Papers>> {
    match std::env::current_exe() {
        Ok(program) => {
            let args = vec![crate::commands::DOCUMENT_WORKER.to_owned()];
            Some(Arc::new(trove_papers::Reader::new(program, args)))
        }
        Err(error) => {
            tracing::warn!(%error, "no document can be read: our program cannot be found");
            None
        }
    }
}

#[cfg(not(feature = "documents"))]
fn papers() -> Option<Arc<dyn Papers>> {
    None
}

/// The program that ends servers when we are gone: this same one.
pub(crate) fn guardian() -> Option<GuardianCommand> {
    let program = std::env::current_exe().ok()?;
    Some(GuardianCommand { program, args: vec![GUARDIAN.to_owned()] })
}

/// Makes the state folder, and those in it that hold what servers gave, for their owner alone. A
/// state folder that is there already is left as it is: others may have reasons to look into it.
pub(super) fn make_state(state: &Path) -> io::Result<()> {
    let mut how = DirBuilder::new();
    how.recursive(true).mode(0o700).create(state)?;
    for inner in ["catalogue", "index"] {
        let folder = state.join(inner);
        how.create(&folder)?;
        // Earlier versions let everybody on the machine look into them.
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The record of who asked for what.
pub(crate) fn open_audit(config: &Config) -> Audit {
    let audit = &config.audit;
    if !audit.enabled.value {
        return Audit::off();
    }
    Audit::start(AuditConfig {
        file: audit_file(config),
        max_file_bytes: audit.max_file_bytes.value,
        kept_files: audit.kept_files.value,
        has_digests: audit.digests.value,
    })
}

/// Where it is written.
pub(super) fn audit_file(config: &Config) -> std::path::PathBuf {
    config.state_dir.value.join("audit.jsonl")
}

/// The flags of this installation.
pub(crate) fn open_flags(state: &Path) -> Flags {
    Flags::start(SqliteStore::opener(state.join("store.db")), KNOWN)
}

/// Local knowledge, and what it tells of changes.
pub(super) struct Guide {
    pub(super) knowledge: Arc<Knowledge>,
    events: mpsc::Receiver<SourceEvent>,
}

impl Guide {
    /// Looks at the guide of a configuration.
    pub(super) async fn open(loaded: &Loaded, folder: &Path, flags: &Arc<Flags>) -> Guide {
        let ledger = Arc::new(ConfigLedger::of(loaded, folder));
        let givens = Givens {
            flags: Arc::new(ProjectFlags(flags.clone())),
            now: SystemTime::now,
            ledger: Some(ledger),
        };
        let (knowledge, events) = Knowledge::new(loaded.config.guide(folder), givens);
        // What the first client is told of our abilities depends on what there is, and what a
        // document says on the flags that are set.
        let looks = async { tokio::join!(knowledge.exists(), flags.view(None)) };
        let _ = tokio::time::timeout(FIRST_LOOK, looks).await;
        Guide { knowledge, events }
    }

    /// Follows the disk, and tells the gateway of changes.
    pub(super) fn follow(
        self,
        gateway: &Gateway,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) {
        let Guide { knowledge, mut events } = self;
        let (feed, id, stop) = (gateway.feed(), knowledge.id().clone(), stop.clone());
        tasks.spawn(knowledge.follow(stop.clone()));
        tasks.spawn(async move {
            let pass_on = async {
                while let Some(event) = events.recv().await {
                    feed.report(&id, event).await;
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = pass_on => {}
            }
        });
    }
}

/// Flags as documents depend on them: from memory, as they were last seen.
struct ProjectFlags(Arc<Flags>);

impl std::fmt::Debug for ProjectFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProjectFlags")
    }
}

impl knowledge::Flags for ProjectFlags {
    fn flag(&self, project: Option<&str>, name: &str, own: Option<&Value>) -> Option<Value> {
        let project = project.and_then(|name| ProjectName::new(name).ok());
        let written: Written = own.map(|own| (name.to_owned(), own.clone())).into_iter().collect();
        let found = self.0.last_seen(project.as_ref()).with_settings(&written).get(name);
        found.map(|found| found.value.to_json())
    }
}
