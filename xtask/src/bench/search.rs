//! Search: how fast it takes resources in and answers, what it weighs, and what the cache
//! answers in its place.

use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use super::lab::{Door, Lab, RESOURCES, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::{Samples, number};

const DIRECT: &str = "direct, HTTP";
const CACHED: &str = "Trove HTTP, cached";

/// Resources of which only the listing is known, and the milliseconds an answer may take.
const SIZES: [(&str, &str, f64); 3] =
    [("10000", "10,000", 10.0), ("100000", "100,000", 25.0), ("1000000", "1,000,000", 100.0)];
/// The cached read is asked by so many clients at once.
const CONCURRENCY: &str = "16";

/// How fast answers are and how much memory the index takes.
pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let sizes = if lab.is_quick { &SIZES[..2] } else { &SIZES[..] };
    let mut promises = Vec::new();
    let mut table = Table::new(&[
        "resources",
        "words each",
        "vectors",
        "question",
        "p50 ms",
        "p99 ms",
        "taken in a second",
        "RSS MB",
    ]);
    for (resources, name, promised) in sizes {
        eprintln!("search: {name} resources");
        let result = run(lab, &["speed", "--resources", resources, "--only", "text"])?;
        row(&mut table, &result, "text")?;
        promises.push(at_most(
            format!("discover_resources, {name} resources, p99"),
            number(&result["text"], "p99_ms")?,
            *promised,
            "ms",
        ));
    }
    promises.extend(contents(lab, &mut table)?);
    promises.extend(meaning(lab, &mut table)?);
    promises.extend(hits(lab)?);
    promises.push(cached(lab)?);
    Ok(Section {
        title: "Search",
        promises,
        method: "An index on disk in a process of its own, 20 Sources, 400 questions of each kind one after the other. \
                 *text* is what `discover_resources` asks, *fuzzy_terms* two terms of which one is misspelt. With vectors \
                 the time includes that of encoding the question, and RSS that of the encoder. The standard mix is 60 % \
                 reads, 20 % searches, 20 % lists and summaries over ten Sources of a hundred resources, one read in 200 \
                 after a change. The cached read is that of 1 KiB from an upstream with `cache = \"public\"`, 16 clients."
            .to_owned(),
        table,
    })
}

/// Contents of a hundred words: how fast they come in, and misspelt terms in them.
fn contents(lab: &Lab, table: &mut Table) -> anyhow::Result<Vec<Promise>> {
    eprintln!("search: contents");
    let resources = if lab.is_quick { "50000" } else { "200000" };
    let what = ["speed", "--resources", resources, "--words", "100", "--only", "terms"];
    let result = run(lab, &what)?;
    row(table, &result, "terms")?;
    row(table, &result, "fuzzy_terms")?;
    let rate = number(&result, "resources_per_second")?;
    Ok(vec![
        at_most(
            format!("two terms, one misspelt, {resources} contents, p99"),
            number(&result["fuzzy_terms"], "p99_ms")?,
            10.0,
            "ms",
        ),
        at_least("small documents indexed a second".to_owned(), rate, 2000.0, ""),
    ])
}

/// The encoder by itself, and an index with vectors.
fn meaning(lab: &Lab, table: &mut Table) -> anyhow::Result<Vec<Promise>> {
    eprintln!("search: meaning");
    let seconds = (lab.seconds * 3.0).to_string();
    let encoder = run(lab, &["encoder", "--seconds", &seconds])?;
    let what =
        ["speed", "--resources", "100000", "--words", "30", "--vectors", "20000", "--only", "text"];
    let result = run(lab, &what)?;
    row(table, &result, "text")?;
    let rss = number(&result, "resident_bytes")? / 1e6;
    Ok(vec![
        at_least(
            "chunks of 200 words encoded a second".to_owned(),
            number(&encoder, "chunks_per_second")?,
            60.0,
            "",
        ),
        at_most("query encoded, p50".to_owned(), number(&encoder, "query_p50_ms")?, 7.0, "ms"),
        at_most(
            "discover_resources with meaning, 100,000 contents, 20,000 vectors, p99".to_owned(),
            number(&result["text"], "p99_ms")?,
            25.0,
            "ms",
        ),
        at_most("RSS with 100,000 resources and 20,000 vectors".to_owned(), rss, 300.0, "MB"),
    ])
}

fn hits(lab: &Lab) -> anyhow::Result<Vec<Promise>> {
    eprintln!("search: the standard mix");
    let mix = run(lab, &["mix"])?;
    let share = |what: &str, key: &str| {
        let share = number(&mix, key)?;
        anyhow::Ok(at_least(
            format!("{what} answered without a server, standard mix"),
            share,
            0.9,
            "",
        ))
    };
    Ok(vec![share("metadata", "metadata_hit_rate")?, share("contents", "content_hit_rate")?])
}

/// A read from the cache against the same read without us.
fn cached(lab: &Lab) -> anyhow::Result<Promise> {
    let resources = RESOURCES.to_string();
    let arguments = ["--resources", resources.as_str()];
    let targets = [
        lab.direct(DIRECT, Door::Http, &arguments)?,
        lab.trove(CACHED, Door::Http, &[("up", Upstream::Cached(lab.upstream(&arguments)))])?,
    ];
    let seconds = lab.seconds.to_string();
    let mut samples = Samples::default();
    for round in 1..=lab.rounds {
        eprintln!("search: cached reads, round {round} of {}", lab.rounds);
        for target in &targets {
            let what = [
                "read",
                "--concurrency",
                CONCURRENCY,
                "--expect",
                &resources,
                "--seconds",
                &seconds,
            ];
            samples.add(target.name, lab.result(&what, target)?);
        }
    }
    let ratio = samples.ratio(CACHED, DIRECT, "rps")?;
    Ok(at_least(format!("cached reads of 1 KiB × {DIRECT}, c = {CONCURRENCY}"), ratio, 1.5, ""))
}

fn run(lab: &Lab, what: &[&str]) -> anyhow::Result<Value> {
    let mut command = Command::new(&lab.retrieval_bench);
    command.args(what);
    let nobody = lab.direct("search", Door::Stdio, &[])?;
    let mut results = lab.results(what[0], &mut command, &nobody)?;
    results.pop().with_context(|| format!("{} gave no result", what[0]))
}

fn row(table: &mut Table, result: &Value, question: &str) -> anyhow::Result<()> {
    let whole = |key: &str| format!("{:.0}", result[key].as_f64().unwrap_or_default());
    table.row([
        whole("resources"),
        whole("words"),
        whole("vectors"),
        question.to_owned(),
        figure(number(&result[question], "p50_ms")?),
        figure(number(&result[question], "p99_ms")?),
        whole("resources_per_second"),
        figure(number(result, "resident_bytes")? / 1e6),
    ]);
    Ok(())
}

fn at_most(what: String, measured: f64, promised: f64, unit: &str) -> Promise {
    let text = |value: f64| format!("{} {unit}", figure(value)).trim().to_owned();
    let target = format!("≤ {}", text(promised));
    Promise { what, target, measured: text(measured), is_met: measured <= promised }
}

fn at_least(what: String, measured: f64, promised: f64, unit: &str) -> Promise {
    let text = |value: f64| format!("{} {unit}", figure(value)).trim().to_owned();
    let target = format!("≥ {}", text(promised));
    Promise { what, target, measured: text(measured), is_met: measured >= promised }
}
