//! Full lists of many resources.

use super::lab::{Door, Lab, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;

const RESOURCES: &str = "10000";
const DIRECT_STDIO: &str = "direct, stdio";
const DIRECT_HTTP: &str = "direct, HTTP";
const DIRECT_PAGED: &str = "direct, HTTP, 500 a page";
const TROVE: &str = "Trove HTTP → stdio";
const TROVE_PAGED: &str = "Trove HTTP → stdio, 500 a page";
const TARGETS: [&str; 5] = [DIRECT_STDIO, DIRECT_HTTP, DIRECT_PAGED, TROVE, TROVE_PAGED];

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let whole = ["--resources", RESOURCES];
    let paged = ["--resources", RESOURCES, "--page-size", "500"];
    let targets = [
        lab.direct(DIRECT_STDIO, Door::Stdio, &whole)?,
        lab.direct(DIRECT_HTTP, Door::Http, &whole)?,
        lab.direct(DIRECT_PAGED, Door::Http, &paged)?,
        lab.trove(TROVE, Door::Http, &[("up", Upstream::Command(lab.upstream(&whole)))])?,
        lab.trove(TROVE_PAGED, Door::Http, &[("up", Upstream::Command(lab.upstream(&paged)))])?,
    ];
    let seconds = lab.seconds.to_string();
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("lists: round {round} of {}", lab.rounds);
        for target in &targets {
            let what = ["list", "--expect", RESOURCES, "--seconds", &seconds];
            samples.add(target.name, lab.result(&what, target)?);
        }
    }
    Ok(Section {
        title: "List of 10,000 resources",
        promises: promises(&samples)?,
        method: "`resources/list` with all its pages, by one client. Trove answers from its catalogue, in pages of at \
                 most 1,000; it lists a few resources of its own besides."
            .to_owned(),
        table: table(&samples)?,
    })
}

fn promises(samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let ratio = samples.ratio(TROVE, DIRECT_HTTP, "p50_ms")?;
    let cpu = samples.median(TROVE, "cpu_ms")?;
    let listed = samples.median(TROVE_PAGED, "entries")?;
    Ok(vec![
        Promise {
            what: format!("{TROVE}: time of a full list of 10,000 × {DIRECT_HTTP}"),
            target: "≤ 1.2".to_owned(),
            measured: figure(ratio),
            is_met: ratio <= 1.2,
        },
        Promise {
            what: format!("{TROVE}: CPU of a full list of 10,000"),
            target: "≤ 10 ms".to_owned(),
            measured: format!("{} ms", figure(cpu)),
            is_met: cpu <= 10.0,
        },
        Promise {
            what: "10,000 resources of an upstream with 20 pages, listed".to_owned(),
            target: "all".to_owned(),
            measured: format!("{listed:.0}"),
            is_met: listed >= 10_000.0,
        },
    ])
}

fn table(samples: &Samples) -> anyhow::Result<Table> {
    let mut table = Table::new(&["target", "listed", "pages", "p50 ms", "× direct HTTP", "CPU ms"]);
    for target in TARGETS {
        table.row([
            target.to_owned(),
            format!("{:.0}", samples.median(target, "entries")?),
            format!("{:.0}", samples.median(target, "pages")?),
            figure(samples.median(target, "p50_ms")?),
            figure(samples.ratio(target, DIRECT_HTTP, "p50_ms")?),
            figure(samples.median(target, "cpu_ms")?),
        ]);
    }
    Ok(table)
}
