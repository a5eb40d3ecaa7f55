//! From the start of the process to the first answers, however slow the upstreams are.

use super::lab::{Door, Lab, Target, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;

const NONE: &str = "no upstreams";
const THREE: &str = "three upstreams";
const STUCK: &str = "one upstream that hangs, one that takes 30 s";
const LARGE: &str = "three upstreams, 100,000 resources, warm";
const CASES: [&str; 4] = [NONE, THREE, STUCK, LARGE];

/// The ways to be greeted: a name, the door, and what `mcp-bench` is told.
const GREETINGS: [(&str, Door, &[&str]); 4] = [
    ("`initialize`, stdio", Door::Stdio, &[]),
    ("`server/discover`, stdio", Door::Stdio, &["--modern"]),
    ("`initialize`, HTTP", Door::Http, &[]),
    ("`server/discover`, HTTP", Door::Http, &["--modern"]),
];

const COLD_LIST: &str = "full list, cold";
const WARM_LIST: &str = "full list, warm";

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let mut samples = Samples::default();
    full_lists(lab, &mut samples)?;
    // Leaves behind the large catalogue that the starts below find.
    lab.result(&["start", "--expect", "100000"], &target(lab, LARGE, Door::Stdio)?)?;
    for round in 1..=lab.rounds {
        eprintln!("starts: round {round} of {}", lab.rounds);
        for case in CASES {
            for (greeting, door, flags) in GREETINGS {
                let what = [&["start"], flags].concat();
                let result = lab.result(&what, &target(lab, case, door)?)?;
                samples.add(key(case, greeting), result);
            }
        }
    }
    Ok(Section {
        title: "Start",
        promises: promises(&samples)?,
        method: format!(
            "Milliseconds from the start of the process to its first answer, medians of {} starts. A warm start finds \
             the catalogue of the run before; the full list is that of three upstreams with 1,000 resources together, \
             over stdio.",
            lab.rounds
        ),
        table: table(&samples)?,
    })
}

fn key(case: &str, greeting: &str) -> String {
    format!("{case}: {greeting}")
}

fn target(lab: &Lab, case: &'static str, door: Door) -> anyhow::Result<Target> {
    let faulty = |fault: &str| Upstream::Command(lab.faulty(fault));
    match case {
        THREE => lab.trove(THREE, door, &three(lab, 1000)),
        LARGE => lab.trove(LARGE, door, &three(lab, 100_000)),
        STUCK => lab.trove(
            STUCK,
            door,
            &[("hangs", faulty("hang:init")), ("slow", faulty("delay:init=30000"))],
        ),
        _ => lab.trove(NONE, door, &[]),
    }
}

/// Three upstreams that list so many resources together, page by page.
pub(super) fn three(lab: &Lab, resources: usize) -> [(&'static str, Upstream); 3] {
    let each = resources.div_ceil(3).to_string();
    ["one", "two", "three"].map(|name| {
        let arguments = ["--resources", &each, "--scheme", name, "--page-size", "10000"];
        (name, Upstream::Command(lab.upstream(&arguments)))
    })
}

/// Starts that find nothing, and starts that find the catalogue of the one before.
fn full_lists(lab: &Lab, samples: &mut Samples) -> anyhow::Result<()> {
    let what = ["start", "--expect", "1000"];
    for _ in 0..lab.rounds {
        let target = lab.trove("start with three upstreams", Door::Stdio, &three(lab, 1000))?;
        target.forget()?;
        samples.add(COLD_LIST, lab.result(&what, &target)?);
        samples.add(WARM_LIST, lab.result(&what, &target)?);
    }
    Ok(())
}

fn promises(samples: &Samples) -> anyhow::Result<Vec<Promise>> {
    let mut promises = Vec::new();
    for case in CASES {
        let mut slowest: f64 = 0.0;
        for (greeting, ..) in GREETINGS {
            slowest = slowest.max(samples.median(&key(case, greeting), "first_answer_ms")?);
        }
        promises.push(Promise {
            what: format!("first answer, {case}"),
            target: "≤ 50 ms".to_owned(),
            measured: format!("{} ms", figure(slowest)),
            is_met: slowest <= 50.0,
        });
    }
    let warm = samples.median(WARM_LIST, "full_list_ms")?;
    promises.push(Promise {
        what: "first full list after a warm start, three upstreams, 1,000 resources".to_owned(),
        target: "≤ 100 ms".to_owned(),
        measured: format!("{} ms", figure(warm)),
        is_met: warm <= 100.0,
    });
    Ok(promises)
}

fn table(samples: &Samples) -> anyhow::Result<Table> {
    let names = GREETINGS.map(|(name, ..)| name);
    let mut table = Table::new(&[&["with"], names.as_slice(), &[COLD_LIST, WARM_LIST]].concat());
    for case in CASES {
        let mut row = vec![case.to_owned()];
        for name in names {
            row.push(figure(samples.median(&key(case, name), "first_answer_ms")?));
        }
        for list in [COLD_LIST, WARM_LIST] {
            row.push(match case {
                THREE => figure(samples.median(list, "full_list_ms")?),
                _ => String::new(),
            });
        }
        table.row(row);
    }
    Ok(table)
}
