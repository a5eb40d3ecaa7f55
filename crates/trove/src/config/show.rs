//! Prints `config show`: the configuration in force, secrets masked.
//!
//! Values of `env` and `headers` are shown only if they are nothing but variables. An
//! argument is masked where it follows or holds what sounds like a secret; of a URL,
//! the user and the query are.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, time::Duration};

use serde_json::{Map, Value, json};
use trove_mcp::recipe::Choice;
use trove_mcp::upstream::{
    Reach, Remote, Text, UpstreamConfig, Watch,
    secretive::{is_secretive, looks_secret},
};

use super::{Config, Origin, auth, discovery, file, folders, guide, limits, read::Word};

const MASK: &str = "***";

/// The configuration in force as an object: `config` in the shape of `trove.toml`, and `origins`,
/// the origin of each setting. The environment decides `state_dir` and `tool_prefix`.
pub fn show(config: &Config) -> Value {
    let mut by_key = Map::new();
    for (key, origin) in origins(config) {
        by_key.insert(key, json!(origin.to_string()));
    }
    json!({
        "config": in_force(config),
        "state_dir": path(&config.state_dir),
        "tool_prefix": config.tool_prefix.value,
        "origins": by_key,
    })
}

/// The configuration as TOML, with the origin of each setting behind it.
pub fn show_text(config: &Config) -> String {
    let plain = toml::to_string(&in_force(config)).unwrap_or_default();
    let origins = origins(config);
    let state = &config.state_dir;
    let prefix = &config.tool_prefix;
    let mut text = format!("# state: {} ({})\n", state.display(), state.origin);
    let _ = write!(text, "# tool prefix: {:?} ({})\n\n", prefix.value, prefix.origin);
    let mut section = "";
    for line in plain.lines() {
        text.push_str(line);
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if let Some((key, _)) = line.split_once(" = ")
            && let Some(origin) = origins.get(format!("{section}.{key}").as_str())
        {
            let _ = write!(text, "  # {origin}");
        }
        text.push('\n');
    }
    text
}

/// The origin of each setting, as an object and as lines.
pub fn show_origins(config: &Config) -> (Value, String) {
    let all = origins(config);
    let lines = all.iter().map(|(key, origin)| format!("{key}: {origin}\n"));
    let object: Map<String, Value> =
        all.iter().map(|(key, origin)| (key.clone(), json!(origin.to_string()))).collect();
    (object.into(), lines.collect())
}

/// The origin of each setting.
fn origins(config: &Config) -> BTreeMap<String, Origin> {
    let mut all: BTreeMap<String, Origin> =
        named_origins(config).map(|(key, origin)| (key.to_owned(), origin)).into();
    let by_file = |is_written: bool| if is_written { Origin::File } else { Origin::Default };
    for key in limits::shown(&config.bounds).as_object().into_iter().flat_map(Map::keys) {
        let is_written = config.written_limits.contains(key.as_str());
        all.insert(format!("limits.{key}"), by_file(is_written));
    }
    // Tables with names of the user's choice, or none, come from the file alone.
    for upstream in &config.upstreams {
        all.insert(format!("servers.{}", upstream.id), Origin::File);
    }
    for folder in &config.folders {
        all.insert(format!("folders.{}", folder.id), Origin::File);
    }
    let groups = &config.guide_groups;
    for (key, is_written) in [
        ("policy", !config.policy.is_empty()),
        ("auth.scope_roles", !config.tokens.scope_roles.is_empty()),
        ("discovery.index", !config.discovery.index.is_empty()),
        ("guide.categories", groups.categories.is_some()),
        ("guide.collections", !groups.collections.is_empty()),
        ("guide.projects", !groups.projects.is_empty()),
    ] {
        all.insert(key.to_owned(), by_file(is_written));
    }
    all
}

fn named_origins(config: &Config) -> [(&'static str, Origin); 37] {
    [
        ("http.addr", config.http.addr.origin),
        ("http.auth", config.http.auth.origin),
        ("http.public_url", config.http.public_url.origin),
        ("http.allowed_origins", config.http.allowed_origins.origin),
        ("http.sse", config.http.has_sse.origin),
        ("guide.root", config.guide_root.origin),
        ("guide.max_documents", config.guide_max_documents.origin),
        ("guide.project", config.guide_project.origin),
        ("discovery.cache_ttl_ms", config.discovery.cache_ttl.origin),
        ("discovery.max_content_size", config.discovery.max_content_bytes.origin),
        ("discovery.parallel_requests", config.discovery.parallel.origin),
        ("discovery.content_previews", config.discovery.has_previews.origin),
        ("discovery.relevance_threshold", config.discovery.relevance_threshold.origin),
        ("discovery.semantic", config.discovery.is_semantic.origin),
        ("discovery.log_queries", config.discovery.logs_queries.origin),
        ("auth.local_roles", config.local_roles.origin),
        ("auth.issuer", config.tokens.issuer.origin),
        ("auth.audience", config.tokens.audience.origin),
        ("auth.jwks_url", config.tokens.jwks_url.origin),
        ("auth.required_scopes", config.tokens.required_scopes.origin),
        ("auth.roles_claim", config.tokens.roles_claim.origin),
        ("auth.leeway_seconds", config.tokens.leeway.origin),
        ("keys.ring", config.keys.origin),
        ("bridge.mode", config.bridge.origin),
        ("tools.toolsets", config.toolsets.origin),
        ("tools.descriptions", config.descriptions.origin),
        ("tools.search", config.tool_search.origin),
        ("tools.search_budget", config.tool_budget.origin),
        ("tool_prefix", config.tool_prefix.origin),
        ("tools.mask_error_details", config.mask_error_details.origin),
        ("bridge.max_answer_bytes", config.max_answer_bytes.origin),
        ("audit.enabled", config.audit.enabled.origin),
        ("audit.max_file_bytes", config.audit.max_file_bytes.origin),
        ("audit.kept_files", config.audit.kept_files.origin),
        ("audit.digests", config.audit.digests.origin),
        ("code.enabled", config.code_enabled.origin),
        ("state_dir", config.state_dir.origin),
    ]
}

fn in_force(config: &Config) -> Value {
    let mut servers = Map::new();
    for upstream in &config.upstreams {
        servers.insert(upstream.id.to_string(), server(upstream));
    }
    let mut policy = Vec::new();
    for rule in &config.policy {
        let (roles, visible) = (&rule.roles, rule.visible);
        policy.push(json!({ "match": rule.pattern, "roles": roles, "visible": visible }));
    }
    let toolsets: Vec<&str> = config.toolsets.iter().map(|set| set.as_str()).collect();
    let mut all = json!({
        "servers": servers,
        "http": auth::shown_http(&config.http),
        "guide": guide::shown(config),
        "discovery": discovery::shown(&config.discovery),
        "policy": policy,
        "auth": auth::shown_auth(config),
        "keys": auth::shown_keys(&config.keys),
        "bridge": {
            "mode": config.bridge.as_str(),
            "max_answer_bytes": config.max_answer_bytes.value,
        },
        "tools": {
            "toolsets": toolsets,
            "descriptions": config.descriptions.as_str(),
            "search": config.tool_search.as_str(),
            "search_budget": config.tool_budget.value,
            "mask_error_details": config.mask_error_details.value,
        },
        "audit": {
            "enabled": config.audit.enabled.value,
            "max_file_bytes": config.audit.max_file_bytes.value,
            "kept_files": config.audit.kept_files.value,
            "digests": config.audit.digests.value,
        },
        "limits": limits::shown(&config.bounds),
        "code": { "enabled": config.code_enabled.value },
    });
    if !config.folders.is_empty() {
        all["folders"] = folders::shown(&config.folders);
    }
    all
}

fn server(upstream: &UpstreamConfig) -> Value {
    let mut shown = reach(&upstream.reach);
    let mut add = |key: &str, value: Value| shown.insert(key.into(), value);
    add("protocol", json!(file::Protocol::from(upstream.protocol).as_str()));
    add("expose", json!(file::Expose::from(upstream.expose).as_str()));
    if let Some(from) = &upstream.moved.from {
        add("moved_from", json!(from));
    }
    add("index", json!(file::Index::from(upstream.index).as_str()));
    add("cache", json!(if upstream.is_public { "public" } else { "auto" }));
    add("schemas", json!(if upstream.has_flat_schemas { "flat" } else { "as-is" }));
    add("timeout_ms", millis(upstream.timeout));
    match upstream.watch {
        Watch::Notify => add("watch", json!("notify")),
        Watch::Poll { every } => {
            add("watch", json!("poll"));
            add("poll_interval_ms", millis(every))
        }
    };
    if let Some(prefix) = &upstream.tool_prefix {
        add("tool_prefix", json!(prefix));
    }
    match &upstream.recipe {
        Choice::Auto { .. } => None,
        Choice::Off => add("recipe", json!("off")),
        Choice::Given(recipes) => match recipes.first().and_then(|one| one.name.as_deref()) {
            Some(name) => add("recipe", json!(name)),
            None => {
                let own = recipes.first().and_then(|one| serde_json::from_str(&one.written).ok());
                add("resources", own.unwrap_or_default())
            }
        },
    };
    if !upstream.is_searched {
        add("live_search", json!(false));
    }
    Value::Object(shown)
}

fn reach(reach: &Reach) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut add = |key: &str, value: Value| shown.insert(key.into(), value);
    match reach {
        Reach::Stdio { command, args, env, cwd } => {
            add("command", json!(command.written()));
            add("args", json!(masked_args(args)));
            if let Some(cwd) = cwd {
                add("cwd", json!(path(cwd)));
            }
            if !env.is_empty() {
                add("env", masked_values(env));
            }
        }
        Reach::Http(remote) => add_remote("http", remote, &mut shown),
        Reach::Sse(remote) => add_remote("sse", remote, &mut shown),
    }
    shown
}

fn add_remote(transport: &str, remote: &Remote, shown: &mut Map<String, Value>) {
    shown.insert("url".into(), json!(masked_url(remote.url.written())));
    shown.insert("transport".into(), json!(transport));
    if !remote.headers.is_empty() {
        shown.insert("headers".into(), masked_values(&remote.headers));
    }
    let oauth = &remote.oauth;
    if let Some(id) = &oauth.client_id {
        let mut client = json!({ "client_id": masked_url(id), "scopes": oauth.scopes });
        if let Some(secret) = &oauth.client_secret {
            client["client_secret"] = json!(secret.masked());
        }
        shown.insert("oauth".into(), client);
    }
}

fn masked_values(values: &BTreeMap<String, Text>) -> Value {
    let mut shown = Map::new();
    for (name, text) in values {
        shown.insert(name.clone(), json!(text.masked()));
    }
    Value::Object(shown)
}

/// Masks `--api-key=VALUE`, what follows `--api-key`, `-e API_KEY=VALUE`, headers such as
/// `X-Api-Key: VALUE`, and what a URL may hide.
pub(crate) fn masked_args(args: &[Text]) -> Vec<String> {
    let mut shown = Vec::new();
    let (mut follows_secret, mut is_script, mut follows_e) = (false, false, false);
    for arg in args {
        let written = arg.written();
        let is_flag = written.starts_with('-');
        // To `docker run` this flag gives a variable, to `node` and `perl` a script.
        let is_program = follows_e && written.contains([';', '(', ' ', '\n']);
        shown.push(if is_script || is_program {
            masked_script(written)
        } else if follows_secret && !is_flag {
            arg.masked().into()
        } else {
            masked_arg(written)
        });
        is_script = SCRIPT_FLAGS.contains(&written) || is_shell_flag(written);
        follows_e = written == "-e";
        follows_secret = is_flag && !written.contains(['=', ':']) && is_secretive(written);
    }
    shown
}

/// Flags whose value is run as a program, beside those of shells.
const SCRIPT_FLAGS: [&str; 5] = ["--eval", "--print", "/c", "/C", "-Command"];

/// Whether a flag of a shell says that a script follows, e.g. `-c` or `-lc`.
fn is_shell_flag(written: &str) -> bool {
    let letters = written.strip_prefix('-').and_then(|rest| rest.strip_suffix('c'));
    letters.is_some_and(|letters| letters.bytes().all(|letter| letter.is_ascii_lowercase()))
}

/// A script with its secrets masked word by word: nothing that would run is hidden behind one.
fn masked_script(script: &str) -> String {
    let ends_word = |c: char| c.is_whitespace() || ";|&<>()`$\"'\\".contains(c);
    let pieces = script.split_inclusive(ends_word);
    let mut shown = String::new();
    let mut follows_scheme = false;
    for piece in pieces {
        let word = piece.trim_end_matches(ends_word);
        let is_token = follows_scheme && !word.is_empty();
        shown.push_str(&if is_token { MASK.to_owned() } else { masked_arg(word) });
        follows_scheme = ["bearer", "basic"].contains(&word.to_ascii_lowercase().as_str());
        shown.push_str(&piece[word.len()..]);
    }
    shown
}

fn masked_arg(written: &str) -> String {
    if written.contains("://") {
        return masked_url(written);
    }
    if let Some((name, value)) = written.split_once('=') {
        // `--env=API_KEY=VALUE` has its secret behind the second name.
        return if is_secretive(name) && !value.is_empty() {
            format!("{name}={MASK}")
        } else {
            format!("{name}={}", masked_arg(value))
        };
    }
    match written.split_once(':') {
        Some((name, _)) if is_secretive(name) || name.eq_ignore_ascii_case("cookie") => {
            format!("{name}: {MASK}")
        }
        _ if looks_secret(written) => MASK.to_owned(),
        _ => written.to_owned(),
    }
}

pub(crate) fn masked_url(url: &str) -> String {
    let (before_query, query) = match url.find(['?', '#']) {
        Some(at) => (&url[..at], if url[at..].starts_with('?') { "?***" } else { "#***" }),
        None => (url, ""),
    };
    let Some((scheme, rest)) = before_query.split_once("://") else {
        return format!("{before_query}{query}");
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}{path}{query}"),
        None => format!("{before_query}{query}"),
    }
}

/// Paths need not be UTF-8; the shown text must be.
pub(super) fn path(path: &Path) -> String {
    path.display().to_string()
}

fn millis(time: Duration) -> Value {
    json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_hide_what_sounds_secret() {
        let args = [
            "-y",
            "--api-key=hunter2",
            "--token",
            "hunter2",
            "--token",
            "--verbose",
            "--header",
            "Authorization: Bearer hunter2",
            "Authorization: Bearer hunter2",
            "https://ann:hunter2@example.com/mcp?key=hunter2",
            "https://example.com/#hunter2",
            "-e",
            "GITHUB_TOKEN=hunter2",
            "--env=API_KEY=hunter2",
            "-H",
            "X-Api-Key: hunter2",
            "LOG=info",
            "docs",
            "ghp_0123456789abcdef0123",
        ]
        .map(Text::plain);
        let shown = masked_args(&args);
        assert_eq!(
            shown.join(" "),
            "-y --api-key=*** --token *** --token --verbose --header *** \
             Authorization: *** https://***@example.com/mcp?*** https://example.com/#*** \
             -e GITHUB_TOKEN=*** --env=API_KEY=*** -H X-Api-Key: *** LOG=info docs ***"
        );
    }

    #[test]
    fn a_secret_hides_nothing_else_of_a_script() {
        let script = "API_TOKEN=hunter2; : https://docs.example/#readme; touch PWNED; exec cat";
        for flag in ["-c", "-lc", "/c", "--eval", "-e"] {
            let args =
                [flag, script].map(|arg| Text::new(arg, trove_mcp::upstream::Dialect::Trove));
            let shown = masked_args(&args).pop().unwrap();
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(shown.ends_with("; touch PWNED; exec cat"), "{shown}");
        }
    }
}
