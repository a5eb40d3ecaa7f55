//! Log lines to stderr; stdout belongs to the protocol.

use tracing_subscriber::EnvFilter;

use crate::cli::{Global, LogFormat};

/// Starts logging. `default` is the level when the user names none.
pub(crate) fn start(global: &Global, default: &str) {
    let level = global.log.as_deref().unwrap_or(default);
    // Libraries log what passes through them; only their warnings are for us.
    let ours = format!("warn,trove={level},trove_core={level},trove_mcp={level}");
    let filter = EnvFilter::try_new(&ours).unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start, as in tests, keeps the first.
    let _ = match global.log_format {
        LogFormat::Text => {
            use std::io::IsTerminal as _;
            let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_ansi(colours).with_target(false).try_init()
        }
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
