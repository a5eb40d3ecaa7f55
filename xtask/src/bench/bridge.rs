//! `get_resource` against the native read of the same resource, and against the bridge of
//! another product in front of the same upstream.

use super::lab::{Door, Lab, RESOURCES, Target, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;
use crate::{peers, steps};

const TROVE: &str = "Trove HTTP → stdio";
const FASTMCP: &str = "FastMCP HTTP → stdio";
/// The resources read both ways: the name, the size as `mcp-bench` names it, and how the tool is
/// called. Unless it is told otherwise it gives a long text in windows.
const PAIRS: [(&str, &str, Way); 3] = [
    ("1 KiB", "1k", BRIDGE),
    ("128 KiB of text, its first 32 KiB as by default", "128k", WINDOW),
    ("128 KiB of text, all of it", "128k", BRIDGE),
];
/// How many resources the list of `get_resource` is made from.
const DISCOVERED: &str = "10000";
/// How many calls the products are given at once when they are compared.
const CONCURRENCY: &str = "16";

/// A way to read: its name, and what `mcp-bench` is told.
type Way = (&'static str, &'static [&'static str]);
const NATIVE: Way = ("resources/read", &[]);
const BRIDGE: Way = (
    "get_resource",
    &["--tool", "get_resource", "--arguments", r#"{"uri":"$uri","maxSize":262144}"#],
);
const WINDOW: Way = (
    "get_resource",
    &["--tool", "get_resource", "--arguments", r#"{"uri":"$uri"}"#, "--least", "32000"],
);
const DISCOVERY: Way = ("list by get_resource", &["--tool", "get_resource", "--arguments", "{}"]);
const FOREIGN: Way = ("read_resource", &["--tool", "read_resource"]);

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let resources = RESOURCES.to_string();
    let upstream = |count: &str| Upstream::Command(lab.upstream(&["--resources", count]));
    let trove = lab.trove(TROVE, Door::Http, &[("up", upstream(&resources))])?;
    let full = lab.trove("Trove, 10,000 resources", Door::Http, &[("up", upstream(DISCOVERED))])?;
    let fastmcp = fastmcp(lab, &resources)?;
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("bridge: round {round} of {}", lab.rounds);
        for (name, size, way) in PAIRS {
            pair(lab, &trove, (name, size, way), &resources, &mut samples)?;
        }
        read(lab, &trove, BRIDGE, "1k", CONCURRENCY, &resources, &mut samples)?;
        read(lab, &fastmcp, FOREIGN, "1k", CONCURRENCY, &resources, &mut samples)?;
        read(lab, &full, DISCOVERY, "1k", "1", DISCOVERED, &mut samples)?;
    }
    Ok(Section {
        title: "The bridge",
        promises: promises(&samples)?,
        method: format!(
            "The same resources by `resources/read` and by the tool `get_resource` of one Trove, uncached and not indexed meanwhile, over HTTP: \
             with one client in turn on one connection, so that both meet the same machine, {} rounds of {} s; medians. The other product is FastMCP's proxy with its `ResourcesAsTools`, in \
             front of the same upstream, by the same client.",
            lab.rounds, lab.seconds
        ),
        table: table(&samples)?,
    })
}

/// FastMCP's proxy with its tools for resources.
fn fastmcp(lab: &Lab, resources: &str) -> anyhow::Result<Target> {
    let environment = peers::install(&peers::Options { all_peers: false })?;
    let python = environment.join("python/bin/python").display().to_string();
    let script = steps::root().join("tests/peers/servers/fastmcp_bridge.py").display().to_string();
    let upstream = lab.upstream(&["--resources", resources]);
    lab.other(FASTMCP, |port| [vec![python, script, port.to_string()], upstream].concat())
}

fn read(
    lab: &Lab,
    target: &Target,
    way: Way,
    size: &str,
    concurrency: &str,
    expect: &str,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let seconds = lab.seconds.to_string();
    let what = ["read", "--size", size, "--concurrency", concurrency, "--expect", expect];
    let what = [what.as_slice(), &["--seconds", &seconds], way.1].concat();
    samples.add(key(way, size, concurrency), lab.result(&what, target)?);
    Ok(())
}

/// Both ways in turn on one connection.
fn pair(
    lab: &Lab,
    target: &Target,
    (name, size, bridge): (&str, &str, Way),
    expect: &str,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let seconds = (lab.seconds * 2.0).to_string();
    let what = ["pair", "--size", size, "--expect", expect, "--seconds", &seconds];
    let results = lab.measure(&[what.as_slice(), bridge.1].concat(), target)?;
    for (way, result) in [NATIVE, bridge].into_iter().zip(results) {
        samples.add(key(way, name, "1"), result);
    }
    Ok(())
}

fn key(way: Way, what: &str, concurrency: &str) -> String {
    format!("{}, {what}, c = {concurrency}", way.0)
}

fn promises(samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let mut promises = Vec::new();
    for (name, _, way) in PAIRS {
        let ratio = samples.ratio(&key(way, name, "1"), &key(NATIVE, name, "1"), "p95_ms")?;
        promises.push(Promise {
            what: format!("p95 of `get_resource` × `resources/read`, {name}, c = 1"),
            target: "≤ 1.10".to_owned(),
            measured: format!("{ratio:.2}"),
            is_met: ratio <= 1.10,
        });
    }
    let (ours, theirs) = (key(BRIDGE, "1k", CONCURRENCY), key(FOREIGN, "1k", CONCURRENCY));
    let ratio = samples.ratio(&ours, &theirs, "rps")?;
    promises.push(Promise {
        what: format!("`get_resource` × FastMCP's `read_resource`, 1 KiB, c = {CONCURRENCY}"),
        target: "≥ 50".to_owned(),
        measured: figure(ratio),
        is_met: ratio >= 50.0,
    });
    let discovery = samples.median(&key(DISCOVERY, "1k", "1"), "p50_ms")?;
    promises.push(Promise {
        what: "the list by `get_resource`, 10,000 resources".to_owned(),
        target: "≤ 5 ms".to_owned(),
        measured: format!("{} ms", figure(discovery)),
        is_met: discovery <= 5.0,
    });
    Ok(promises)
}

fn table(samples: &Samples) -> anyhow::Result<Table> {
    let mut table =
        Table::new(&["c", "what", "of", "per second", "p50 ms", "p95 ms", "p99 ms", "CPU ms"]);
    let pairs = PAIRS.into_iter();
    let mut rows: Vec<_> =
        pairs.flat_map(|(name, _, way)| [(NATIVE, name, "1"), (way, name, "1")]).collect();
    rows.extend([(BRIDGE, "1k", CONCURRENCY), (FOREIGN, "1k", CONCURRENCY)]);
    rows.push((DISCOVERY, "1k", "1"));
    for (way, size, concurrency) in rows {
        let name = key(way, size, concurrency);
        let mut row = vec![concurrency.to_owned(), way.0.to_owned(), size.to_owned()];
        for column in ["rps", "p50_ms", "p95_ms", "p99_ms"] {
            row.push(figure(samples.median(&name, column)?));
        }
        // Of two ways in turn the processor time cannot be told apart.
        row.push(samples.median(&name, "cpu_ms").map(figure).unwrap_or_default());
        table.row(row);
    }
    Ok(table)
}
