//! The web page and the command line in front of a hundred thousand resources.

use anyhow::Context as _;
use serde_json::Value;

use super::lab::Lab;
use super::report::{Promise, Section, Table, figure};
use crate::page;

/// The measured times: the words, the member of `measure.mjs`, and the promise in ms.
const TIMES: [(&str, &str, Option<f64>); 5] = [
    ("the page, from its address to a card one can click", "first_view_ms", Some(300.0)),
    ("of that, from `DOMContentLoaded` on", "after_content_ms", None),
    ("search as you type, from the key to the hits on the screen", "keystroke_ms", Some(50.0)),
    ("`trove find`, from the start of the process to its end", "find_command_ms", Some(30.0)),
    ("a frame while the list of all rows flies past", "frame_ms", None),
];
/// The most the page may weigh, compressed.
const MAX_WEIGHT_KB: f64 = 300.0;

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    eprintln!("page: 100,000 resources in a browser");
    let figures = page::figures(lab.trove_binary())?;
    let number = |value: &Value| value.as_f64().context("a figure is missing");
    let mut promises = Vec::new();
    let mut table = Table::new(&["what", "median ms", "p95 ms", "worst ms", "times"]);
    for (what, key, promised) in TIMES {
        let of = &figures[key];
        let median = number(&of["median"])?;
        if let Some(most) = promised {
            promises.push(Promise {
                what: format!("{what}, 100,000 resources"),
                target: format!("≤ {most} ms"),
                measured: format!("{} ms", figure(median)),
                is_met: median <= most,
            });
        }
        let times = number(&of["times"])?;
        let (p95, worst) = (number(&of["p95"])?, number(&of["worst"])?);
        table.row([what.to_owned(), figure(median), figure(p95), figure(worst), times.to_string()]);
    }
    let weight = &figures["weight"];
    let (raw, gzip) = (number(&weight["raw"])? / 1e3, number(&weight["gzip"])? / 1e3);
    promises.push(Promise {
        what: "weight of the page, compressed".to_owned(),
        target: format!("≤ {MAX_WEIGHT_KB} KB"),
        measured: format!("{} KB", figure(gzip)),
        is_met: gzip <= MAX_WEIGHT_KB,
    });
    Ok(Section {
        title: "Page and command line",
        promises,
        method: format!(
            "A Trove with one server of 100,000 resources, indexed, on loopback; headless Chromium by its own clock, \
             without a cache at the first view. Keys are typed one at a time, the hits are drawn when they are \
             counted. The page weighs {} KB in {} files, {} KB compressed. `cargo xtask measure-page` prints the same \
             alone.",
            figure(raw),
            weight["files"],
            figure(gzip)
        ),
        table,
    })
}
