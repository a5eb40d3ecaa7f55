//! Fills `config://`: the settings and the constants that are enforced.

use trove_core::{
    about::{RateLimits, SearchSettings, SecuritySettings, ServerSettings, Transport},
    programs::Rules,
    tools::COVERAGE_THRESHOLD,
};
use trove_mcp::protocol_versions;

use crate::{
    app::offered,
    config::{Config, DEFAULT_TIMEOUT, HttpAuth, Word as _},
};

/// Settings fixed from the start of the program to its end. Limits, doors and audit are not taken
/// over from a changed file.
pub(crate) struct Settled<'a> {
    pub(crate) config: &'a Config,
    /// Whether this run finds by meaning.
    pub(crate) is_semantic: bool,
    /// The doors that are open.
    pub(crate) doors: &'a [&'static str],
    /// The rules for programs, where any can be run.
    pub(crate) programs: Option<Rules>,
}

/// The settings that hold by this configuration and by those fixed before.
pub(crate) fn settings(now: &Config, settled: &Settled<'_>) -> (ServerSettings, SecuritySettings) {
    let Settled { config, is_semantic, doors, programs } = *settled;
    let door = |kind: &'static str, auth| Transport { kind, auth, open: doors.contains(&kind) };
    let timeout = now.upstreams.iter().map(|upstream| upstream.timeout).max();
    let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT).as_secs();
    let server = ServerSettings {
        default_timeout_seconds: DEFAULT_TIMEOUT.as_secs(),
        mask_error_details: now.mask_error_details.value,
        transport: vec![door("stdio", "none"), door("http", config.http.auth.as_str())],
        protocol_versions: protocol_versions().to_vec(),
        // Whether there is an index, the gateway knows best.
        search: SearchSettings { semantic: is_semantic, ..SearchSettings::default() },
        toolsets: offered(now).map(|set| set.as_str()).collect(),
        ..ServerSettings::default()
    };
    let audit = [
        ("max_audit_file_bytes", config.audit.max_file_bytes.value),
        ("max_audit_files", config.audit.kept_files.value.try_into().unwrap_or(u64::MAX)),
    ];
    let security = SecuritySettings {
        coverage_threshold: COVERAGE_THRESHOLD,
        max_resource_bytes: config.bounds.message_bytes,
        max_response_bytes: now.max_answer_bytes.value,
        request_timeout_seconds: timeout,
        rate_limits: RateLimits {
            concurrent_requests_per_connection: config.bounds.stdio_requests,
            requests_per_second: config.bounds.rate.map(|rate| rate.per_second.get()),
            burst: config.bounds.rate.map(|rate| rate.burst.get()),
            concurrent_requests_per_caller: config.bounds.concurrent_requests,
            streams_per_caller: config.bounds.streams,
            waiting_requests_per_source: config.bounds.waiting,
            sessions: config.bounds.sessions,
            sessions_per_caller: config.bounds.sessions_per_caller,
            subscriptions_per_client: config.bounds.watches_per_client,
        },
        auth_required: config.http.auth.value != HttpAuth::None,
        allowed_origins: config.http.allowed_origins.value.clone(),
        limits: config.bounds.published().into_iter().chain(audit).collect(),
        ..of_programs(programs.filter(|_| now.code_enabled.value))
    };
    (server, security)
}

/// The rules for programs. Where none can be run, everything is refused.
fn of_programs(rules: Option<Rules>) -> SecuritySettings {
    let everything = vec!["*"];
    match rules {
        None => SecuritySettings {
            blocked_modules: everything.clone(),
            dangerous_builtins: everything,
            ..SecuritySettings::default()
        },
        Some(rules) => SecuritySettings {
            allowed_modules: rules.modules.to_vec(),
            // All others.
            blocked_modules: everything,
            dangerous_builtins: rules.missing.to_vec(),
            memory_limit_mb: (rules.memory_bytes / 1024 / 1024) as u64,
            code_size_bytes: rules.source_bytes as u64,
            program_calls: rules.calls,
            program_read_bytes: rules.read_bytes,
            program_output_bytes: rules.output_bytes,
            program_seconds: rules.seconds,
            program_compute_seconds: rules.compute_seconds,
            ..SecuritySettings::default()
        },
    }
}
