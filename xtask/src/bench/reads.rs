//! Small reads, nothing cached: the cost of the way through Trove.
//!
//! An rmcp server over stdio serves fewer requests than the same server over HTTP, and Trove cannot
//! serve more than it. So both are measured directly, and Trove in front of both.

use super::lab::{Door, Lab, RESOURCES, Target, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;

const DIRECT_STDIO: &str = "direct, stdio";
const DIRECT_HTTP: &str = "direct, HTTP";
const TROVE: &str = "Trove HTTP → stdio";
const TROVE_TO_HTTP: &str = "Trove HTTP → HTTP";
const TROVE_STDIO: &str = "Trove stdio → stdio";
const RELAY: &str = "bare relay, HTTP → stdio";
const TARGETS: [&str; 6] = [DIRECT_STDIO, DIRECT_HTTP, RELAY, TROVE_STDIO, TROVE, TROVE_TO_HTTP];
pub(super) const CONCURRENCY: [usize; 3] = [1, 16, 64];

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let resources = RESOURCES.to_string();
    let arguments = ["--resources", resources.as_str()];
    let over_stdio = || Upstream::Command(lab.upstream(&arguments));
    let upstream = lab.background(&arguments)?;
    let over_http = Upstream::Url(upstream.url.clone());
    let targets = [
        lab.direct(DIRECT_STDIO, Door::Stdio, &arguments)?,
        lab.direct(DIRECT_HTTP, Door::Http, &arguments)?,
        lab.relay(RELAY, &arguments)?,
        lab.trove(TROVE_STDIO, Door::Stdio, &[("up", over_stdio())])?,
        lab.trove(TROVE, Door::Http, &[("up", over_stdio())])?,
        lab.trove(TROVE_TO_HTTP, Door::Http, &[("up", over_http)])?,
    ];
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("reads: round {round} of {}", lab.rounds);
        for target in &targets {
            read(lab, target, lab.seconds, &mut samples)?;
        }
    }
    Ok(Section {
        title: "Reads of 1 KiB",
        promises: promises(&samples)?,
        method: format!(
            "`resources/read` of 1 KiB of text in a closed loop, uncached, protocol 2025-11-25, {} rounds of {} s \
             with the targets in turn, each started anew and measured once it is at rest; medians. Over HTTP each of *c* clients has a session and a connection, over stdio \
             *c* requests share the pipe. The upstream is an rmcp server; over stdio it is slower than over HTTP, \
             so both are baselines. The bare relay carries messages between the two and does nothing else, \
             so it shows what any way from HTTP to stdio costs here. CPU is that of the server measured (without its upstream), \
             in ms per request.",
            lab.rounds, lab.seconds
        ),
        table: table(&samples)?,
    })
}

pub(super) fn read(
    lab: &Lab,
    target: &Target,
    seconds: f64,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let (resources, seconds) = (RESOURCES.to_string(), seconds.to_string());
    // The most clients come first, which warms up everything for the rest.
    let what = ["read", "--concurrency", "64,16,1", "--expect", &resources, "--seconds", &seconds];
    for result in lab.measure(&what, target)? {
        samples.add(key(target.name, &result["concurrency"].to_string()), result);
    }
    Ok(())
}

fn key(target: &str, concurrency: &str) -> String {
    format!("{target}, c = {concurrency}")
}

/// The key of a measurement of a target with so many clients.
pub(super) fn at(target: &str, concurrency: usize) -> String {
    key(target, &concurrency.to_string())
}

fn promises(samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let mut promises = Vec::new();
    for (target, base) in
        [(TROVE, DIRECT_HTTP), (TROVE, DIRECT_STDIO), (TROVE_TO_HTTP, DIRECT_HTTP)]
    {
        let ratios = CONCURRENCY.map(|c| samples.ratio(&at(target, c), &at(base, c), "rps"));
        let ratios = ratios.into_iter().collect::<anyhow::Result<Vec<f64>>>()?;
        promises.push(Promise {
            what: format!("{target}: 1 KiB reads × {base}, c = 1 / 16 / 64"),
            target: "≥ 0.80".to_owned(),
            measured: joined(&ratios),
            is_met: ratios.iter().all(|&ratio| ratio >= 0.80),
        });
    }
    let cpu = CONCURRENCY.map(|c| samples.median(&at(TROVE, c), "cpu_ms"));
    let cpu = cpu.into_iter().collect::<anyhow::Result<Vec<f64>>>()?;
    promises.push(Promise {
        what: format!("{TROVE}: CPU per read, c = 1 / 16 / 64"),
        target: "≤ 0.06 ms".to_owned(),
        measured: joined(&cpu),
        is_met: cpu.iter().all(|&cpu| cpu <= 0.06),
    });
    for base in [DIRECT_HTTP, DIRECT_STDIO] {
        let added = samples.added(&at(TROVE, 1), &at(base, 1), "p50_ms")? * 1e3;
        promises.push(Promise {
            what: format!("{TROVE}: p50 added to {base}, c = 1"),
            target: "≤ 60 µs".to_owned(),
            measured: format!("{added:.0} µs"),
            is_met: added <= 60.0,
        });
    }
    Ok(promises)
}

pub(super) fn joined(values: &[f64]) -> String {
    values.iter().map(|&value| figure(value)).collect::<Vec<_>>().join(" / ")
}

fn table(samples: &Samples) -> anyhow::Result<Table> {
    let mut table = Table::new(&[
        "c",
        "target",
        "per second",
        "× direct HTTP",
        "× direct stdio",
        "× relay",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "CPU ms",
    ]);
    for concurrency in CONCURRENCY.map(|c| c.to_string()) {
        for target in TARGETS {
            let name = key(target, &concurrency);
            let figures = ["p50_ms", "p95_ms", "p99_ms", "cpu_ms"];
            let mut row = vec![concurrency.clone(), target.to_owned()];
            row.push(figure(samples.median(&name, "rps")?));
            for base in [DIRECT_HTTP, DIRECT_STDIO, RELAY] {
                row.push(figure(samples.ratio(&name, &key(base, &concurrency), "rps")?));
            }
            for column in figures {
                row.push(figure(samples.median(&name, column)?));
            }
            table.row(row);
        }
    }
    Ok(table)
}
