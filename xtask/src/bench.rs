//! Measures the program and prints the figures.
//!
//! A figure is printed only when it was measured in this run, together with what it
//! was measured on. Each measurement is one entry of `BENCHES`.

use anyhow::bail;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run only the measurements whose name contains this
    filter: Option<String>,
}

/// One measurement: it sets up what it needs, measures, and prints its own table.
struct Bench {
    name: &'static str,
    measure: fn() -> anyhow::Result<()>,
}

const BENCHES: [Bench; 0] = [];

pub(crate) fn bench(options: &Options) -> anyhow::Result<()> {
    let wanted = options.filter.as_deref().unwrap_or_default();
    let mut measured = 0;
    for bench in BENCHES.iter().filter(|bench| bench.name.contains(wanted)) {
        println!("## {}", bench.name);
        (bench.measure)()?;
        measured += 1;
    }
    if measured == 0 {
        bail!("no measurement is defined under that name");
    }
    Ok(())
}
