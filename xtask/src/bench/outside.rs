//! Small reads once more, with a client and an upstream that are not ours.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::lab::{Door, Lab, Target, Upstream};
use super::report::{Section, Table, figure};
use super::samples::Samples;

const DIRECT_STDIO: &str = "direct, stdio";
const DIRECT_HTTP: &str = "direct, HTTP";
const TROVE: &str = "Trove HTTP → stdio";

pub(super) fn measure(lab: &Lab, harness: &Path) -> anyhow::Result<Section> {
    let harness = harness.canonicalize().context("no such folder")?;
    let program = |name: &str| {
        let program = harness.join(name);
        ensure!(program.exists(), "{} is not there; build it first", program.display());
        Ok(program.to_string_lossy().into_owned())
    };
    let (load, upstream) = (program("mcp-load")?, program("mcp-upstream")?);
    let upstream = [upstream.as_str(), "--resources", "1000"].map(str::to_owned).to_vec();
    let targets = [
        lab.direct(DIRECT_STDIO, Door::Stdio, &[])?.running(&upstream),
        lab.direct(DIRECT_HTTP, Door::Http, &[])?.running(&upstream),
        lab.trove(TROVE, Door::Http, &[("up", Upstream::Command(upstream.clone()))])?,
    ];
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("outside harness: round {round} of {}", lab.rounds);
        for target in &targets {
            read(lab, &load, target, &mut samples)?;
        }
    }
    let mut table = Table::new(&["c", "target", "per second", "× direct HTTP", "p50 ms", "CPU ms"]);
    for c in ["1", "16", "64"] {
        for target in [DIRECT_STDIO, DIRECT_HTTP, TROVE] {
            let (name, base) = (key(target, c), key(DIRECT_HTTP, c));
            let cpu = if target == TROVE { "cpu_ms_per_req" } else { "upstream_cpu_ms_per_req" };
            table.row([
                c.to_owned(),
                target.to_owned(),
                figure(samples.median(&name, "rps")?),
                figure(samples.ratio(&name, &base, "rps")?),
                figure(samples.median(&name, "p50_ms")?),
                figure(samples.median(&name, cpu)?),
            ]);
        }
    }
    Ok(Section {
        title: "Reads of 1 KiB, outside harness",
        promises: Vec::new(),
        method: "The first table again, by a load client and an upstream written apart from this repository \
                 (`--harness`)."
            .to_owned(),
        table,
    })
}

fn key(target: &str, c: &str) -> String {
    format!("{target}, c = {c}")
}

fn read(lab: &Lab, load: &str, target: &Target, samples: &mut Samples) -> anyhow::Result<()> {
    let mut command = Command::new(load);
    command.args(["bench", "--op", "read:1k", "--c", "64,16,1", "--expect", "1000"]);
    command.args(["--warmup", "0.5", "--duration", &lab.seconds.to_string()]);
    if let Some(url) = &target.url {
        command.args(["--url", url]);
    }
    command.arg("--").args(&target.command);
    for result in lab.results(target.name, &mut command, target)? {
        // The first line is about the start and has no concurrency.
        if result["op"].is_string() {
            ensure!(result["errors"] == 0, "{}: {result}", target.name);
            samples.add(key(target.name, &result["c"].to_string()), result);
        }
    }
    Ok(())
}
