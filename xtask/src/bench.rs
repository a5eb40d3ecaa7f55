//! Measures the program and writes the figures down, each beside what was promised.
//!
//! Times and rates mean something only against direct access in the same run, so every comparison
//! interleaves its targets over several rounds. Runs are compared by the number of instructions of
//! a lookup, which other work on the machine does not change.

mod bridge;
mod crowd;
mod folders;
mod guide;
pub(crate) mod hostile;
mod kill;
pub(crate) mod lab;
mod large;
mod lists;
mod lookups;
mod machine;
mod memory;
mod outside;
mod page;
mod reads;
mod report;
mod retrieval;
mod samples;
mod search;
mod servers;
mod start;

use std::path::PathBuf;

use clap::Args;

use lab::Lab;
use machine::{Machine, Watch};
use report::Section;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Fewer and shorter rounds; good for a first look only
    #[arg(long)]
    quick: bool,
    /// Only count the instructions of lookups, and fail if they grew by more than 5 %
    #[arg(long, conflicts_with_all = ["quick", "harness"])]
    check: bool,
    /// Keep the instruction counts of this run as those to check against
    #[arg(long, conflicts_with = "check")]
    accept: bool,
    /// Make only the measurements whose name contains this, and write no document
    filter: Option<String>,
    /// With such a name: put them into the document, in the place of those of an earlier run
    #[arg(long, requires = "filter", conflicts_with = "quick")]
    renew: bool,
    /// Measure reads with the `mcp-load` and `mcp-upstream` of this folder too
    #[arg(long, value_name = "DIR")]
    harness: Option<PathBuf>,
    /// Only measure how well search finds, on the labelled sets of this folder and our own
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "check", "accept", "harness", "filter"])]
    retrieval: Option<PathBuf>,
    /// What else `retrieval-bench run` is told, such as which encoder to use
    #[arg(last = true, requires = "retrieval")]
    retrieval_options: Vec<String>,
}

type Measure = fn(&Lab, &Options) -> anyhow::Result<Section>;

/// Everything that is measured, in the order of the document.
const MEASUREMENTS: &[(&str, Measure)] = &[
    ("reads", |lab, _| reads::measure(lab)),
    ("servers", |lab, _| servers::measure(lab)),
    ("large", |lab, _| large::measure(lab)),
    ("bridge", |lab, _| bridge::measure(lab)),
    ("lists", |lab, _| lists::measure(lab)),
    ("guide", |lab, _| guide::measure(lab)),
    ("folders", |lab, _| folders::measure(lab)),
    ("start", |lab, _| start::measure(lab)),
    ("memory", |lab, _| memory::measure(lab)),
    ("search", |lab, _| search::measure(lab)),
    ("page", |lab, _| page::measure(lab)),
    ("lookups", |lab, options| lookups::measure(lab, options.accept)),
    ("kill", |lab, _| kill::measure(lab)),
    ("hostile", |lab, _| hostile::measure(lab)),
    ("idle-connections", |lab, _| crowd::measure_idle(lab)),
    ("readers", |lab, _| crowd::measure_readers(lab)),
];

pub(crate) fn bench(options: &Options) -> anyhow::Result<()> {
    if options.check {
        return lookups::check();
    }
    if let Some(sets) = &options.retrieval {
        return retrieval::measure(sets, &options.retrieval_options);
    }
    let machine = Machine::describe()?;
    lookups::require_valgrind()?;
    let lab = Lab::open(options.quick)?;
    let watch = Watch::begin()?;
    let wanted = options.filter.as_deref().unwrap_or_default();

    let mut sections = Vec::new();
    for (name, measure) in MEASUREMENTS.iter().filter(|(name, _)| name.contains(wanted)) {
        let section = measure(&lab, options).unwrap_or_else(|error| {
            eprintln!("{name}: {error:#}");
            Section::failed(name, &error)
        });
        println!("{}", section.render());
        sections.push(section);
    }
    if let Some(harness) = &options.harness {
        sections.push(outside::measure(&lab, harness)?);
    }
    if options.filter.is_some() {
        anyhow::ensure!(!sections.is_empty(), "no measurement has that name");
        if options.renew {
            report::renew(&machine, &watch.end()?, &sections)?;
        }
        return Ok(());
    }
    report::write(&machine, &watch.end()?, options, &sections)
}
