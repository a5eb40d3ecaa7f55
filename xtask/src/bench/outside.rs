//! Small reads once more, with a client and an upstream that are not ours.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::lab::{Door, Lab, Target, Upstream};
use super::reads::joined;
use super::report::{Promise, Section, Table, figure};
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
        promises: promises(&samples)?,
        method: format!(
            "The first table again, by a load client and an upstream written apart from this repository \
             (`--harness`), {} rounds of {} s; medians.",
            lab.rounds, lab.seconds
        ),
        table,
    })
}

fn promises(samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let each = |of: &dyn Fn(&str) -> anyhow::Result<f64>| {
        ["1", "16", "64"].into_iter().map(of).collect::<anyhow::Result<Vec<f64>>>()
    };
    let ratios = each(&|c| samples.ratio(&key(TROVE, c), &key(DIRECT_HTTP, c), "rps"))?;
    let cpu = each(&|c| samples.median(&key(TROVE, c), "cpu_ms_per_req"))?;
    let added = samples.added(&key(TROVE, "1"), &key(DIRECT_HTTP, "1"), "p50_ms")? * 1e3;
    let promise = |what: &str, target: &str, measured, is_met| Promise {
        what: format!("outside harness, {TROVE}: {what}"),
        target: target.to_owned(),
        measured,
        is_met,
    };
    Ok(vec![
        promise(
            "1 KiB reads × direct, HTTP, c = 1 / 16 / 64",
            "≥ 0.80",
            joined(&ratios),
            ratios.iter().all(|&ratio| ratio >= 0.80),
        ),
        promise(
            "CPU per read, c = 1 / 16 / 64",
            "≤ 0.06 ms",
            joined(&cpu),
            cpu.iter().all(|&cpu| cpu <= 0.06),
        ),
        promise(
            "p50 added to direct, HTTP, c = 1",
            "≤ 60 µs",
            format!("{added:.0} µs"),
            added <= 60.0,
        ),
    ])
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
