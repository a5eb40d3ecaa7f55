//! The memory of a Trove that holds a catalogue and rests.

use super::lab::{Door, Lab};
use super::report::{Promise, Section, Table, figure};
use super::samples::number;
use super::start::three;

/// A size of the catalogue, as a number and as text, and the megabytes it may take.
struct Step {
    resources: usize,
    name: &'static str,
    promised_mb: f64,
}

const STEPS: [Step; 3] = [
    Step { resources: 1_000, name: "1,000", promised_mb: 25.0 },
    Step { resources: 100_000, name: "100,000", promised_mb: 150.0 },
    Step { resources: 1_000_000, name: "1,000,000", promised_mb: 1200.0 },
];

/// How many seconds it has had nothing to do.
const REST: &str = "25";

/// The figures of one step.
struct Weighed {
    rss_mb: f64,
    peak_mb: f64,
    list_s: f64,
    entry_bytes: f64,
}

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let steps = if lab.is_quick { &STEPS[..2] } else { &STEPS[..] };
    let mut weighed = Vec::new();
    for step in steps {
        eprintln!("memory: {} resources", step.name);
        weighed.push(weigh(lab, step.resources)?);
    }
    let header = ["resources", "RSS MB", "peak MB", "bytes a resource", "full list after s"];
    let mut table = Table::new(&header);
    let mut promises = Vec::new();
    let first = weighed.first().map_or(0.0, |first| first.rss_mb);
    for (step, found) in steps.iter().zip(&weighed) {
        let more = (step.resources - STEPS[0].resources) as f64;
        let each = (found.rss_mb - first) * 1e6 / more;
        table.row([
            step.name.to_owned(),
            figure(found.rss_mb),
            figure(found.peak_mb),
            if more > 0.0 { figure(each) } else { String::new() },
            figure(found.list_s),
        ]);
        promises.push(Promise {
            what: format!("idle RSS with three upstreams and {} resources", step.name),
            target: format!("≤ {} MB", figure(step.promised_mb)),
            measured: format!("{} MB", figure(found.rss_mb)),
            is_met: found.rss_mb <= step.promised_mb,
        });
    }
    let entry = weighed.last().map_or(0.0, |last| last.entry_bytes);
    Ok(Section {
        title: "Memory",
        promises,
        method: format!(
            "Resident size of the Trove process alone, in MB of 10⁶ bytes, after {REST} seconds of rest: it has started from \
             nothing, listed and indexed everything, and given the names vectors, or done so for over three minutes; three upstreams over stdio with so many resources together, {entry:.0} bytes \
             of JSON each. Bytes a resource are those above the first row."
        ),
        table,
    })
}

fn weigh(lab: &Lab, resources: usize) -> anyhow::Result<Weighed> {
    let target = lab.trove("memory", Door::Http, &three(lab, resources))?;
    target.forget()?;
    let what = ["rest", "--settle", REST, "--expect", &resources.to_string()];
    let result = lab.result(&what, &target)?;
    let megabytes =
        |figure: &str| Ok::<f64, anyhow::Error>(number(&result, figure)? * 1024.0 / 1e6);
    Ok(Weighed {
        rss_mb: megabytes("rss_kb")?,
        peak_mb: megabytes("peak_kb")?,
        list_s: number(&result, "full_list_ms")? / 1e3,
        entry_bytes: number(&result, "list_bytes")? / resources as f64,
    })
}
