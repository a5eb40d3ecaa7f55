//! The instructions of a lookup, counted by callgrind. They are the same on a busy machine as on a
//! quiet one, so they are compared with earlier runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::lab::{self, Lab};
use super::report::{Promise, Section, Table};
use crate::steps;

const BASELINE: &str = "xtask/bench-baseline.json";
/// How much more than before, or than in a small catalogue, a lookup may take.
const MAX_GROWTH: f64 = 1.05;
const LOOKUPS: u64 = 2000;
const CATALOGUES: [usize; 3] = [1_000, 10_000, 100_000];
/// The function of `route-bench` that is counted, with all it calls.
const COUNTED: &str = "*look_up*";

/// A kind of lookup: its name, how `route-bench` calls it, and how many templates there
/// are for so many resources.
struct Kind {
    name: &'static str,
    argument: &'static str,
    templates: fn(resources: usize) -> usize,
}

const KINDS: [Kind; 6] = [
    Kind { name: "exact name", argument: "exact", templates: |_| 15 },
    Kind { name: "qualified name", argument: "qualified", templates: |_| 15 },
    Kind { name: "match of one of 15 templates", argument: "template", templates: |_| 15 },
    Kind { name: "miss, 15 templates", argument: "miss", templates: |_| 15 },
    Kind {
        name: "match, a template for each 100 resources",
        argument: "template",
        templates: |resources| resources / 100,
    },
    Kind { name: "whole call of `get_resource`", argument: "bridge", templates: |_| 15 },
];

/// Instructions a lookup, by kind and size of the catalogue.
type Counts = BTreeMap<String, u64>;

/// Fails if a lookup takes noticeably more instructions than it did.
pub(super) fn check() -> anyhow::Result<()> {
    require_valgrind()?;
    let programs = lab::build()?;
    let counts = count(programs.get("route-bench").context("route-bench was not built")?)?;
    let text = fs::read_to_string(steps::root().join(BASELINE))
        .with_context(|| format!("no {BASELINE}; make it with `cargo xtask bench --accept`"))?;
    let baseline: Counts = serde_json::from_str(&text).context(BASELINE)?;
    let mut grown = Vec::new();
    for (name, &now) in &counts {
        let &before = baseline.get(name).with_context(|| format!("{BASELINE} has no {name}"))?;
        let change = (now as f64 / before as f64 - 1.0) * 100.0;
        println!("{name}: {now} instructions, {before} before, {change:+.1} %");
        if now as f64 > before as f64 * MAX_GROWTH {
            grown.push(name.as_str());
        }
    }
    if !grown.is_empty() {
        bail!("lookups grew by more than 5 %: {}", grown.join("; "));
    }
    Ok(())
}

/// Counts lookups; the counts become the ones to check against if they are accepted.
pub(super) fn measure(lab: &Lab, is_accepted: bool) -> anyhow::Result<Section> {
    let counts = count(&lab.route_bench)?;
    if is_accepted {
        accept(&counts)?;
    }
    Ok(section(&counts))
}

fn accept(counts: &Counts) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(counts)? + "\n";
    fs::write(steps::root().join(BASELINE), text)?;
    eprintln!("wrote {BASELINE}");
    Ok(())
}

/// Counts every kind of lookup in every size of catalogue.
fn count(route_bench: &Path) -> anyhow::Result<Counts> {
    let mut counts = Counts::new();
    for kind in &KINDS {
        for resources in CATALOGUES {
            eprintln!("lookups: {}", key(kind, resources));
            let total = instructions(route_bench, kind, resources)?;
            counts.insert(key(kind, resources), total / LOOKUPS);
        }
    }
    Ok(counts)
}

fn key(kind: &Kind, resources: usize) -> String {
    format!("{}, {resources} resources", kind.name)
}

fn instructions(route_bench: &Path, kind: &Kind, resources: usize) -> anyhow::Result<u64> {
    let report = PathBuf::from(format!("{}.callgrind", route_bench.display()));
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--callgrind-out-file={}", report.display()))
        .arg(route_bench)
        .args([resources.to_string(), LOOKUPS.to_string(), kind.argument.to_owned()])
        .args(["--templates", &(kind.templates)(resources).to_string()]);
    steps::output("callgrind", &mut command)?;
    let text = fs::read_to_string(&report)?;
    fs::remove_file(&report)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.filter(|&total| total > LOOKUPS).context("callgrind counted nothing")
}

fn section(counts: &Counts) -> Section {
    let mut table = Table::new(&["lookup", "1,000 resources", "10,000", "100,000"]);
    let mut promises = Vec::new();
    for kind in &KINDS {
        let at = |resources| counts[&key(kind, resources)];
        let cells = CATALOGUES.map(|resources| at(resources).to_string());
        table.row([&[kind.name.to_owned()], cells.as_slice()].concat());
        let growth = at(CATALOGUES[2]) as f64 / at(CATALOGUES[0]) as f64;
        promises.push(Promise {
            what: format!("instructions, {}: 100,000 resources × 1,000", kind.name),
            target: "≤ 1.05".to_owned(),
            measured: format!("{growth:.2}"),
            is_met: growth <= MAX_GROWTH,
        });
    }
    Section {
        title: "Lookup",
        promises,
        method: format!(
            "Instructions to find the owner of a URI, or to read it by `get_resource` from a source without a wire, \
             counted by callgrind over {LOOKUPS} lookups; three sources. \
             `cargo xtask bench --check` counts again and fails if any grew by more than 5 % over `{BASELINE}`."
        ),
        table,
    }
}

/// Installs valgrind where that is possible, and says what is missing where it is not.
pub(super) fn require_valgrind() -> anyhow::Result<()> {
    let present = || {
        let mut valgrind = Command::new("valgrind");
        valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        valgrind.status().is_ok_and(|status| status.success())
    };
    if present() {
        return Ok(());
    }
    let mut install = Command::new("apt-get");
    steps::run("valgrind", install.args(["install", "--yes", "--quiet", "valgrind"]))
        .context("valgrind is needed to count instructions; install it")
}
