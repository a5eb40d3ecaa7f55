//! Large reads, one at a time: that they work, how fast, and in how much memory.

use super::lab::{Door, Lab, RESOURCES, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;

const DIRECT_STDIO: &str = "direct, stdio";
const DIRECT_HTTP: &str = "direct, HTTP";
const TROVE: &str = "Trove HTTP → stdio";

/// A size as `mcp-bench` names it, as people do, and its bytes on the way.
const SIZES: [(&str, &str, f64); 3] = [
    ("128k", "128 KiB of text", 131_072.0),
    ("1m", "1 MiB, binary", 1_398_104.0),
    ("16m", "16 MiB, binary", 22_369_624.0),
];

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let resources = RESOURCES.to_string();
    let arguments = ["--resources", resources.as_str()];
    let upstream = Upstream::Command(lab.upstream(&arguments));
    let targets = [
        lab.direct(DIRECT_STDIO, Door::Stdio, &arguments)?,
        lab.direct(DIRECT_HTTP, Door::Http, &arguments)?,
        lab.trove(TROVE, Door::Http, &[("up", upstream)])?,
    ];
    let seconds = lab.seconds.to_string();
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("large reads: round {round} of {}", lab.rounds);
        for (size, ..) in SIZES {
            let what = ["read", "--size", size, "--concurrency", "1", "--expect", &resources];
            let what = [what.as_slice(), &["--seconds", &seconds]].concat();
            for target in &targets {
                samples.add(key(target.name, size), lab.result(&what, target)?);
            }
        }
    }
    Ok(Section {
        title: "Large reads",
        promises: promises(&samples)?,
        method: "The same at c = 1; binary contents travel as base64, a third larger. The memory of a read is the \
                 most that Trove is seen to hold during the reads, without pages of its program and other files, less \
                 that before them."
            .to_owned(),
        table: table(&samples)?,
    })
}

fn key(target: &str, size: &str) -> String {
    format!("{target}, {size}")
}

/// The memory that reads took, in bodies on the way.
fn bodies(samples: &Samples, size: &str, bytes: f64) -> anyhow::Result<f64> {
    let name = key(TROVE, size);
    let (peak, before) = (
        samples.median(&name, "anonymous_peak_kb")?,
        samples.median(&name, "anonymous_before_kb")?,
    );
    Ok((peak - before) * 1024.0 / bytes)
}

fn promises(samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let mut promises = Vec::new();
    for (size, name, bytes) in SIZES {
        for base in [DIRECT_HTTP, DIRECT_STDIO] {
            let ratio = samples.ratio(&key(TROVE, size), &key(base, size), "rps")?;
            promises.push(Promise {
                what: format!("{TROVE}: reads of {name} × {base}, c = 1"),
                target: "≥ 0.80".to_owned(),
                measured: figure(ratio),
                is_met: ratio >= 0.80,
            });
        }
        if size != "128k" {
            let bodies = bodies(samples, size, bytes)?;
            promises.push(Promise {
                what: format!("{TROVE}: memory of a read of {name}"),
                target: "≤ 3 bodies".to_owned(),
                measured: figure(bodies),
                is_met: bodies <= 3.0,
            });
        }
    }
    Ok(promises)
}

fn table(samples: &Samples) -> anyhow::Result<Table> {
    let header = ["what", "target", "per second", "× direct HTTP", "p50 ms", "CPU ms", "peak MB"];
    let mut table = Table::new(&header);
    for (size, what, _) in SIZES {
        for target in [DIRECT_STDIO, DIRECT_HTTP, TROVE] {
            let name = key(target, size);
            table.row([
                what.to_owned(),
                target.to_owned(),
                figure(samples.median(&name, "rps")?),
                figure(samples.ratio(&name, &key(DIRECT_HTTP, size), "rps")?),
                figure(samples.median(&name, "p50_ms")?),
                figure(samples.median(&name, "cpu_ms")?),
                figure(samples.median(&name, "rss_peak_kb")? / 1024.0),
            ]);
        }
    }
    Ok(table)
}
