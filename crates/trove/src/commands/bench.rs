//! `trove bench`: how fast your servers are, and what Trove adds.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use trove_core::SourceId;

use super::{Class, Failed, configure, cores, draws, host, say, threads};
use crate::{
    bench::{Plan, Report, as_text, measure},
    borrow::{Extras, Lends},
    cli::{Bench, Global},
    config::{Loaded, Overrides},
    style::Paint,
    telemetry,
};

pub(super) fn bench(global: &Global, command: &Bench) -> Result<(), Failed> {
    let (mut loaded, _) = configure(global, Overrides::default())?;
    telemetry::start(global, "error");
    Extras::new(Lends::Approved).add_to(&mut loaded, &host()?);
    choose(&mut loaded, &command.ids)?;
    let plan = Plan {
        reads: command.reads.into(),
        concurrency: command.concurrency.into(),
        longest: Duration::from_secs(command.seconds.into()),
        wait: Duration::from_secs(command.wait.wait),
    };
    let draws = draws(global);
    let next = |id: &SourceId| draw(draws, &format!("measuring {id} ..."));
    // A client and a Trove at once, which elsewhere are two programs.
    let report = threads(cores())?.block_on(measure(&loaded, global.yes, plan, next));
    draw(draws, "");
    let report = report.map_err(|error| {
        let message = format!("nothing can be served on this machine: {error}");
        Failed::new(Class::Unreachable, message)
    })?;
    if report.servers.iter().all(|server| server.list_ms.is_none()) {
        return Err(nothing_measured(&report));
    }
    say(&if command.wait.output.json {
        format!("{}\n", serde_json::to_string(&report).unwrap_or_default())
    } else {
        as_text(&report, Paint::of(&io::stdout()))
    });
    Ok(())
}

/// Leaves only the servers that were named.
fn choose(loaded: &mut Loaded, ids: &[String]) -> Result<(), Failed> {
    let own = loaded.config.upstreams.iter().map(|one| one.id.to_string());
    let borrowed = loaded.borrowed.iter().map(|one| one.upstream.id.to_string());
    let all: Vec<String> = own.chain(borrowed).collect();
    if all.is_empty() {
        let message = "there is no server to measure: `trove add` adds one, `trove import` takes over those of other clients";
        return Err(Failed::new(Class::Config, message));
    }
    if let Some(id) = ids.iter().find(|id| !all.contains(id)) {
        let message = format!("there is no server `{id}`; there are: {}", all.join(", "));
        return Err(Failed::new(Class::InvalidArguments, message));
    }
    let is_wanted = |id: &SourceId| ids.is_empty() || ids.iter().any(|one| one == id.as_str());
    loaded.config.upstreams.retain(|one| is_wanted(&one.id));
    loaded.borrowed.retain(|one| is_wanted(&one.upstream.id));
    Ok(())
}

fn nothing_measured(report: &Report) -> Failed {
    let why = report.servers.iter().filter_map(|server| Some((&server.id, server.error.as_ref()?)));
    let why: Vec<String> = why.map(|(id, error)| format!("{id}: {error}")).collect();
    let message =
        format!("no server could be measured; `trove doctor` says more. {}", why.join("; "));
    Failed::new(Class::Unreachable, message)
}

/// Puts a line in place of the last one, where a person looks.
fn draw(draws: bool, text: &str) {
    if draws {
        // A line that cannot be drawn does no harm.
        let _ = io::stderr().lock().write_all(format!("\r\x1b[K{text}").as_bytes());
    }
}
