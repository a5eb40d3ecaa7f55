//! File, environment and flags become one [`Config`]; all errors are reported at once.
//!
//! A flag beats the environment, the environment the file, the file the default. A value
//! that is wrong is reported and its default taken, so that the rest can be checked too.

use std::path::{Path, PathBuf};

use trove_core::{
    access::audit::{KEPT_FILES, MAX_FILE_BYTES},
    tools::DEFAULT_TOOL_BUDGET,
};
use trove_mcp::upstream::{Dialect, Text, UpstreamConfig};

use super::{
    auth,
    discovery::discovery,
    env::{
        EnvLookup, HostScope, MCP_INCLUDE_EXAMPLE_TOOLS, MCP_TOOL_PREFIX, TROVE_HOME, non_empty,
        says_yes, state_folder,
    },
    file::{ConfigFile, Policy},
    folders, guide, limits,
    problem::Problems,
    read::{Key, Spot},
    settings::{
        Audit, BridgeMode, Config, Descriptions, Origin, Overrides, PolicyRule, Setting,
        ToolSearch, Toolset,
    },
    tree::At,
};

const DEFAULT_MAX_ANSWER: usize = 1024 * 1024;
const DEFAULT_TOOL_PREFIX: &str = "guide";
/// With the longest tool name it stays within the 60 that the strictest client allows.
const MAX_TOOL_PREFIX: usize = 20;
const DEFAULT_TOOLSETS: [Toolset; 4] =
    [Toolset::Resources, Toolset::Health, Toolset::Guide, Toolset::Flags];

/// The surroundings of a file while it is resolved.
pub(super) struct Surroundings<'a> {
    /// The folder of the file; paths in it start there.
    pub(super) folder: &'a Path,
    /// Where the program was started.
    pub(super) cwd: &'a Path,
    pub(super) env: &'a dyn EnvLookup,
    pub(super) flags: &'a Overrides,
}

impl Surroundings<'_> {
    /// A path of the file made absolute. Its variables are expanded now: a path is no
    /// secret, and where it leads from is known only here.
    pub(super) fn path(&self, at: At, path: &Text, problems: &mut Problems) -> Option<PathBuf> {
        if path.reads_file() {
            // Paths are shown, and what a file holds may be secret.
            problems.error(at, "a path is not read from a file", "write the path itself");
            return None;
        }
        match path.expand(&HostScope::new(self.env, self.cwd.to_owned())) {
            Ok(path) => Some(self.folder.join(path).components().collect()),
            Err(error) => {
                problems.error(at, error.to_string(), error.hint());
                None
            }
        }
    }
}

/// Everything but the servers, which are resolved already.
pub(super) fn resolve(
    file: ConfigFile,
    upstreams: Vec<UpstreamConfig>,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Config {
    let flags = around.flags.clone();
    let http = auth::http(file.http, !file.auth.issuer.is_absent(), &flags, problems);
    let (tokens, local_roles) = auth::callers(file.auth, problems);
    let max_answer = file.bridge.max_answer_bytes.take();
    let max_answer = max_answer.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let tool_budget = file.tools.search_budget.take();
    let tool_budget = tool_budget.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
    let is_public = !http.addr.ip().is_loopback();
    let bounds = limits::bounds(&file.limits, &http, problems);
    let guide_project = guide::named_project(&file.guide, problems);
    let code_enabled = pick(None, file.code.enabled.take(), false);
    let toolsets = toolsets(flags.toolsets, file.tools.toolsets, &code_enabled, around, problems);
    Config {
        bounds,
        written_limits: limits::written(&file.limits),
        folders: folders::folders(file.folders, &upstreams, around, problems),
        upstreams,
        mask_error_details: pick(None, file.tools.mask_error_details.take(), is_public),
        max_answer_bytes: pick(None, max_answer, DEFAULT_MAX_ANSWER),
        tool_prefix: tool_prefix(around, problems),
        http,
        guide_root: guide_root(&file.guide.root, around, problems),
        guide_max_documents: guide::max_documents(&file.guide.max_documents, problems),
        guide_groups: guide::groups(file.guide, around, problems),
        guide_project,
        discovery: discovery(file.discovery, around, problems),
        policy: file.policy.iter().filter_map(|rule| policy_rule(rule, problems)).collect(),
        local_roles,
        tokens,
        keys: auth::keys(file.keys, around, problems),
        bridge: pick(flags.bridge, file.bridge.mode.take(), BridgeMode::Auto),
        toolsets,
        descriptions: pick(None, file.tools.descriptions.take(), Descriptions::Short),
        tool_search: pick(None, file.tools.search.take(), ToolSearch::Auto),
        tool_budget: pick(None, tool_budget, DEFAULT_TOOL_BUDGET),
        audit: audit(file.audit),
        code_enabled,
        state_dir: state_dir(around, problems),
    }
}

pub(super) fn pick<T>(flag: Option<T>, written: Option<T>, default: T) -> Setting<T> {
    match (flag, written) {
        (Some(value), _) => Setting { value, origin: Origin::Flag },
        (None, Some(value)) => Setting { value, origin: Origin::File },
        (None, None) => Setting { value: default, origin: Origin::Default },
    }
}

fn audit(file: super::file::Audit) -> Audit {
    let kept = file.kept_files.take().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    Audit {
        enabled: pick(None, file.enabled.take(), true),
        max_file_bytes: pick(None, file.max_file_bytes.take(), MAX_FILE_BYTES),
        kept_files: pick(None, kept, KEPT_FILES),
        digests: pick(None, file.digests.take(), false),
    }
}

/// The groups of tools; the environment may add the example, and programs have a switch of
/// their own.
fn toolsets(
    flag: Option<Vec<Toolset>>,
    written: Key<Vec<Toolset>>,
    code_enabled: &Setting<bool>,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Setting<Vec<Toolset>> {
    let at = written.get().map(|toolsets| toolsets.at);
    let mut toolsets = pick(flag, written.take(), DEFAULT_TOOLSETS.into());
    if toolsets.value.contains(&Toolset::Code) && !code_enabled.value {
        let message = "the toolset `code` is named, but programs are switched off";
        let hint = "add [code] enabled = true, or leave `code` out";
        match at.filter(|_| toolsets.origin == Origin::File) {
            Some(at) => problems.warning(at, message, hint),
            None => problems.warning_outside(message, hint),
        }
    }
    let wants_example =
        non_empty(around.env, MCP_INCLUDE_EXAMPLE_TOOLS).is_some_and(|it| says_yes(&it));
    if wants_example && !toolsets.value.contains(&Toolset::Example) {
        toolsets.value.push(Toolset::Example);
    }
    toolsets
}

/// The prefix of the environment, the empty one too.
fn tool_prefix(around: &Surroundings<'_>, problems: &mut Problems) -> Setting<String> {
    let Some(value) = around.env.get(MCP_TOOL_PREFIX) else {
        return Setting { value: DEFAULT_TOOL_PREFIX.to_owned(), origin: Origin::Default };
    };
    let is_fit = value.len() <= MAX_TOOL_PREFIX
        && value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !value.starts_with(|c: char| c.is_ascii_digit() || c == '_');
    if !is_fit {
        let message = format!("`{MCP_TOOL_PREFIX}` is {value:?}, which cannot begin a tool's name");
        problems.error_outside(message, "use lower-case letters, digits and `_`, at most 20");
    }
    Setting { value, origin: Origin::Env }
}

fn guide_root(
    root: &Key<String>,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Setting<PathBuf> {
    let written = root
        .get()
        .and_then(|root| around.path(root.at, &Text::new(&root.value, Dialect::Trove), problems));
    pick(None, written, around.folder.join("guide"))
}

fn policy_rule(rule: &Spot<Policy>, problems: &mut Problems) -> Option<PolicyRule> {
    let Policy { r#match, roles, visible } = &rule.value;
    if r#match.is_absent() || r#match.get().is_some_and(|pattern| pattern.value.is_empty()) {
        let hint = "add the resources it is about: match = \"admin://*\"";
        problems.error(rule.at, "a [[policy]] has no `match`", hint);
    }
    if roles.is_absent() {
        let hint = "add the roles of which a caller needs one: roles = [\"admin\"]";
        problems.error(rule.at, "a [[policy]] has no `roles`", hint);
    }
    let visible = visible.get().is_none_or(|visible| visible.value);
    let (pattern, roles) = (r#match.get()?.value.clone(), roles.get()?.value.clone());
    if let Err(error) = trove_core::access::Rule::new(&pattern, Vec::new(), visible) {
        problems.error(rule.at, error.to_string(), "`*` stands for anything");
    }
    Some(PolicyRule { pattern, roles, visible })
}

fn state_dir(around: &Surroundings<'_>, problems: &mut Problems) -> Setting<PathBuf> {
    if let Some(folder) = non_empty(around.env, TROVE_HOME) {
        return Setting { value: around.cwd.join(folder), origin: Origin::Env };
    }
    let value = state_folder(around.env).unwrap_or_else(|| {
        let fallback = around.cwd.join(".trove");
        let message =
            format!("no home folder is known, so state is kept in {}", fallback.display());
        problems.warning_outside(message, "set `TROVE_HOME` or `HOME`");
        fallback
    });
    Setting { value, origin: Origin::Default }
}
