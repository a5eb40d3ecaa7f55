//! The client's view when the upstream is killed during its request.

use super::lab::{Door, Lab, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::Samples;

const TROVE: &str = "killed upstream";

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let upstream = lab.upstream(&["--resources", "100"]);
    let target = lab.trove(TROVE, Door::Http, &[("up", Upstream::Command(upstream))])?;
    let mut samples = Samples::default();
    let mut said = String::new();
    for round in 1..=lab.rounds {
        eprintln!("kill: round {round} of {}", lab.rounds);
        let result = lab.result(&["kill", "--expect", "100"], &target)?;
        said = format!(
            "{} {}",
            result["error_code"],
            result["error_message"].as_str().unwrap_or_default()
        );
        samples.add(TROVE, result);
    }
    let error = samples.median(TROVE, "error_ms")?;
    let again = samples.median(TROVE, "served_again_ms")?;
    let refused = samples.median(TROVE, "refused_meanwhile")?;
    let mut table =
        Table::new(&["error after ms", "error", "served again after ms", "refused meanwhile"]);
    table.row([figure(error), said, figure(again), format!("{refused:.0}")]);
    let promise = |what: &str, limit: f64, measured: f64| Promise {
        what: what.to_owned(),
        target: format!("≤ {limit:.0} ms"),
        measured: format!("{} ms", figure(measured)),
        is_met: measured <= limit,
    };
    Ok(Section {
        title: "Upstream killed during a request",
        promises: vec![
            promise("upstream killed: typed error after", 1000.0, error),
            promise("upstream killed: next request served after", 2000.0, again),
        ],
        method: format!(
            "`kill -9` of the upstream 300 ms into a request that takes 20 s, over HTTP; then reads without pause until \
             one is served. Medians of {} times.",
            lab.rounds
        ),
        table,
    })
}
