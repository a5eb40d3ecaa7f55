//! How well search finds in the labelled sets of a folder and our own. Each is measured by words
//! alone and, where there is an encoder, with meaning.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::lab;
use super::report::{Table, figure};
use crate::steps;

/// The least normalised gain by words alone that a set may have. It is 0.005 below the gain when
/// the ranking was chosen.
const LEXICAL_BARS: [(&str, f64); 9] = [
    ("anthropic-code", 0.702),
    ("anthropic-docs", 0.755),
    ("cacm", 0.489),
    ("cosqa", 0.380),
    ("livemcp-tools", 0.265),
    ("metatool", 0.510),
    ("npl", 0.429),
    ("scifact", 0.679),
    ("semble-files", 0.746),
];
/// The most that what is said of a result may differ from what is so, on average.
const MAX_CALIBRATION_ERROR: f64 = 0.05;
/// How many resources the speed of answers is measured with.
const SPEED: [(&str, &str); 2] = [("10000", "0"), ("100000", "0")];

pub(super) fn measure(sets: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let sets = sets.canonicalize().context("no such folder")?;
    let program = lab::build_one("retrieval-bench")?;
    let results = run(Command::new(&program).arg("run").arg("--sets").arg(sets).args(arguments))?;
    println!("{}", render(&results));
    for (resources, words) in SPEED {
        let mut command = Command::new(&program);
        command.args(["speed", "--resources", resources, "--words", words]);
        for result in run(&mut command)? {
            println!("{result:#}");
        }
    }
    check(&results)
}

fn run(command: &mut Command) -> anyhow::Result<Vec<Value>> {
    let text = steps::output("retrieval-bench", command.stderr(Stdio::inherit()))?;
    text.lines().map(|line| serde_json::from_str(line).context("no JSON")).collect()
}

fn render(results: &[Value]) -> String {
    let mut table = Table::new(&[
        "set",
        "mode",
        "nDCG@10",
        "recall@20",
        "first 3",
        "answered",
        "off-topic empty",
        "nothing shown",
        "calibration error",
        "p50 ms",
        "p99 ms",
    ]);
    for result in results {
        let number = |key: &str| figure(result[key].as_f64().unwrap_or_default());
        let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
        table.row([
            text("set"),
            text("mode"),
            number("ndcg10"),
            number("recall20"),
            number("first3"),
            number("answered"),
            number("off_topic_empty"),
            number("off_topic_bare"),
            number("calibration_error"),
            number("p50_ms"),
            number("p99_ms"),
        ]);
    }
    table.render()
}

/// Fails if words alone find less than they did on the sets that are known, on average,
/// or if the scores mislead.
fn check(results: &[Value]) -> anyhow::Result<()> {
    let (mut reached, mut wanted, mut error, mut known) = (0.0, 0.0, 0.0, 0);
    for result in results.iter().filter(|result| result["mode"] == "lexical") {
        let bar = LEXICAL_BARS.iter().find(|(name, _)| result["set"] == *name);
        if let Some((_, bar)) = bar {
            reached += result["ndcg10"].as_f64().unwrap_or_default();
            wanted += bar;
            error += result["calibration_error"].as_f64().unwrap_or_default();
            known += 1;
        }
    }
    ensure!(known > 0, "none of the sets is known, so that there is nothing to compare with");
    let count = f64::from(known);
    println!("lexical nDCG@10 {:.3}, at least {:.3}", reached / count, wanted / count);
    println!("calibration error {:.3}, at most {MAX_CALIBRATION_ERROR}", error / count);
    ensure!(reached >= wanted, "words alone find less than they did");
    ensure!(error / count <= MAX_CALIBRATION_ERROR, "scores mislead more than they may");
    Ok(())
}
