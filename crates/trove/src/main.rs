//! One door to every MCP resource: parse, run, exit code.

use std::process::ExitCode;

use trove::{cli::Cli, commands};

/// The C library keeps a heap for each thread that ever asked for much; what a scan or a
/// crawl has used once would stay ours for ever.
#[cfg(not(feature = "code"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The same, which in a worker also bounds what a program may take.
#[cfg(feature = "code")]
#[global_allocator]
static ALLOCATOR: trove_code::Allocator = trove_code::Allocator;

fn main() -> ExitCode {
    // The guardian must stay small: it starts before anything else does.
    let mut args = std::env::args();
    match args.nth(1).as_deref() {
        Some(commands::GUARDIAN) => {
            trove_mcp::upstream::watch_over(&args.next().unwrap_or_default());
            return ExitCode::SUCCESS;
        }
        #[cfg(feature = "code")]
        Some(commands::CODE_WORKER) => return trove_code::work(),
        #[cfg(feature = "documents")]
        Some(commands::DOCUMENT_WORKER) => return trove_papers::work(),
        _ => {}
    }
    // A shell that asks for completions gets them, and nothing else happens.
    Cli::complete();
    match Cli::parse_or_explain() {
        Ok(cli) => commands::run(cli),
        Err(code) => code,
    }
}
