//! What hostile neighbours cost the readers of a healthy server.

use super::lab::{Door, Lab, RESOURCES, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;

const ALONE: &str = "alone";
const AMONG: &str = "among hostile servers";

/// One server of each kind, by the fault of the toy.
pub(crate) const FAULTS: [&str; 14] = [
    "hang:init",
    "hang:read",
    "crash:init",
    "delay:init=30000",
    "delay:list=30000",
    "garbage",
    "noise",
    "stderr=20000000",
    "pages:loop",
    "pages:cycle",
    "pages:empty",
    "baditems",
    "error:list",
    "flood:listchanged=100000",
];

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let resources = RESOURCES.to_string();
    let healthy = || Upstream::Command(lab.upstream(&["--resources", &resources]));
    let names: Vec<String> = (0..FAULTS.len()).map(|n| format!("bad{n}")).collect();
    let mut all = vec![("up", healthy())];
    for (name, fault) in names.iter().zip(FAULTS) {
        let mut command = lab.faulty(fault);
        command.extend(["--bare", "--scheme", name].map(str::to_owned));
        all.push((name, Upstream::Command(command)));
    }
    let targets =
        [lab.trove(ALONE, Door::Http, &[("up", healthy())])?, lab.trove(AMONG, Door::Http, &all)?];
    let mut samples = Samples::default();
    let seconds = (lab.seconds * 3.0).to_string();
    let what = [
        "read",
        "--concurrency",
        "16",
        "--warm-up",
        "3",
        "--expect",
        &resources,
        "--seconds",
        &seconds,
    ];
    for round in 1..=lab.rounds {
        eprintln!("hostile: round {round} of {}", lab.rounds);
        for target in &targets {
            samples.add(target.name, lab.result(&what, target)?);
        }
    }
    let ratio = samples.ratio(AMONG, ALONE, "p99_ms")?;
    let mut table = Table::new(&["", "p50 ms", "p99 ms", "reads a second"]);
    for name in [ALONE, AMONG] {
        table.row([
            name.to_owned(),
            figure(samples.median(name, "p50_ms")?),
            figure(samples.median(name, "p99_ms")?),
            figure(samples.median(name, "rps")?),
        ]);
    }
    Ok(Section {
        title: "Hostile neighbours",
        promises: vec![Promise {
            what: format!("p99 of reads beside {} hostile servers", FAULTS.len()),
            target: "\u{2264} 1.05 times that without them".to_owned(),
            measured: format!("{} times", figure(ratio)),
            is_met: ratio <= 1.05,
        }],
        method: format!(
            "Reads of 1 KiB from one healthy server over stdio by 16 clients over HTTP, from three seconds after the first full \
             list on, alone and with one server of each of these kinds beside it: {}. {} rounds in turn; medians, and the median \
             of the ratios within a round.",
            FAULTS.join(", "),
            lab.rounds
        ),
        table,
    })
}
