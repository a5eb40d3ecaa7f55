//! The cost of hostile neighbours for the readers of a healthy server.

use super::lab::{Background, Door, Lab, RESOURCES, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;

const ALONE: &str = "alone";
const AMONG: &str = "among hostile servers";
const FLOODED: &str = "among endless floods";
const ALL: &str = "among all of them";

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

/// One server of each kind over stdio, by what it sends without end.
const FLOODS: [&str; 12] = [
    "list-changed",
    "updated",
    "log",
    "progress",
    "ping",
    "roots",
    "sampling",
    "answers",
    "noise",
    "blank",
    "line",
    "stderr",
];

/// Floods over HTTP, where they are events of a stream.
const EVENT_FLOODS: [&str; 4] = ["comments", "fields", "blank", "list-changed"];

/// A server that lists 20,000 tiny resources, others at each look, and says so all the time.
const CHANGING: &str = "pages:changing=20000";

/// The most that p99 may be of that without them.
const MOST_P99: f64 = 1.25;
/// The least that the throughput may be of that without them.
const LEAST_RATE: f64 = 0.8;

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let resources = RESOURCES.to_string();
    let healthy = ("up".to_owned(), Upstream::Command(lab.upstream(&["--resources", &resources])));
    let remotes = remote_floods(lab)?;
    let kinds = [
        (ALONE, Vec::new()),
        (AMONG, faulty(lab)),
        (FLOODED, floods(lab, &remotes)),
        (ALL, [faulty(lab), floods(lab, &remotes)].concat()),
    ];
    let mut targets = Vec::new();
    for (name, mut servers) in kinds {
        servers.push(healthy.clone());
        let servers: Vec<(&str, Upstream)> =
            servers.iter().map(|(id, upstream)| (id.as_str(), upstream.clone())).collect();
        targets.push(lab.trove(name, Door::Http, &servers)?);
    }
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
    section(lab, &samples)
}

fn section(lab: &Lab, samples: &Samples) -> anyhow::Result<Section> {
    let mut table = Table::new(&["", "p50 ms", "p99 ms", "reads a second"]);
    for name in [ALONE, AMONG, FLOODED, ALL] {
        table.row([
            name.to_owned(),
            figure(samples.median(name, "p50_ms")?),
            figure(samples.median(name, "p99_ms")?),
            figure(samples.median(name, "rps")?),
        ]);
    }
    let floods = FLOODS.len() + EVENT_FLOODS.len() + 1;
    let mut promises = Vec::new();
    for (name, who) in [
        (AMONG, format!("{} hostile servers", FAULTS.len())),
        (FLOODED, format!("{floods} servers that flood without end")),
        (ALL, "all of them".to_owned()),
    ] {
        let p99 = samples.ratio(name, ALONE, "p99_ms")?;
        promises.push(Promise {
            what: format!("p99 of reads beside {who}"),
            target: format!("\u{2264} {MOST_P99} times that without them"),
            measured: format!("{} times", figure(p99)),
            is_met: p99 <= MOST_P99,
        });
        let rate = samples.ratio(name, ALONE, "rps")?;
        promises.push(Promise {
            what: format!("reads a second beside {who}"),
            target: format!("\u{2265} {LEAST_RATE} times those without them"),
            measured: format!("{} times", figure(rate)),
            is_met: rate >= LEAST_RATE,
        });
    }
    Ok(Section {
        title: "Hostile neighbours",
        promises,
        method: format!(
            "Reads of 1 KiB from one healthy server over stdio by 16 clients over HTTP, from three seconds after the first full \
             list on: alone; beside one server of each of these kinds: {}; beside endless floods over stdio ({}) and over HTTP \
             ({}), and a list of 20,000 entries that are others at each look; and beside all of them. {} rounds in turn; \
             medians, and the median of the ratios within a round.",
            FAULTS.join(", "),
            FLOODS.join(", "),
            EVENT_FLOODS.join(", "),
            lab.rounds
        ),
        table,
    })
}

type Servers = Vec<(String, Upstream)>;

fn faulty(lab: &Lab) -> Servers {
    let mut servers = Vec::new();
    for (number, fault) in FAULTS.iter().enumerate() {
        let name = format!("bad{number}");
        let mut command = lab.faulty(fault);
        command.extend(["--bare", "--scheme", &name].map(str::to_owned));
        servers.push((name, Upstream::Command(command)));
    }
    servers
}

/// The servers behind URLs, which run for as long as the measurement.
fn remote_floods(lab: &Lab) -> anyhow::Result<Vec<Background>> {
    let mut remotes = Vec::new();
    for (number, kind) in EVENT_FLOODS.iter().enumerate() {
        let scheme = format!("far{number}");
        remotes.push(lab.remote_toy(&["--bare", "--scheme", &scheme, "--flood", kind])?);
    }
    Ok(remotes)
}

fn floods(lab: &Lab, remotes: &[Background]) -> Servers {
    let mut servers = Vec::new();
    for (number, kind) in FLOODS.iter().enumerate() {
        let name = format!("flood{number}");
        let command = lab.toy(&["--bare", "--scheme", &name, "--flood", kind]);
        servers.push((name, Upstream::Command(command)));
    }
    for (number, remote) in remotes.iter().enumerate() {
        servers.push((format!("far{number}"), Upstream::Url(remote.url.clone())));
    }
    let mut changing = lab.faulty(CHANGING);
    changing.extend(["--bare", "--scheme", "changing"].map(str::to_owned));
    servers.push(("changing".to_owned(), Upstream::Command(changing)));
    servers
}
