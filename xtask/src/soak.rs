//! Runs Trove for a long time among healthy and hostile servers, with random faults.
//!
//! Fails if memory, descriptors or children grow, or if any answer is not its owner's.

use clap::Args;

use crate::bench::{
    hostile::FAULTS,
    lab::{Door, Lab, Upstream},
};

const HEALTHY: [&str; 3] = ["one", "two", "three"];

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long to go on
    #[arg(long, value_name = "N", default_value_t = 20.0)]
    minutes: f64,
}

pub(crate) fn soak(options: &Options) -> anyhow::Result<()> {
    let lab = Lab::open(true)?;
    let names: Vec<String> = (0..FAULTS.len()).map(|n| format!("bad{n}")).collect();
    let mut all: Vec<(&str, Upstream)> = HEALTHY
        .map(|name| {
            let arguments = ["--name", name, "--scheme", name, "--bare", "--resources", "50"];
            (name, Upstream::Command(lab.toy(&arguments)))
        })
        .into();
    for (name, fault) in names.iter().zip(FAULTS) {
        let arguments = ["--bare", "--scheme", name, "--fault", fault];
        all.push((name, Upstream::Command(lab.toy(&arguments))));
    }
    let crashing = ["--scheme", "frail", "--fault", "crash:after=200"];
    all.push(("frail", Upstream::Command(lab.toy(&crashing))));
    all.push(("hang", Upstream::Command(lab.toy(&["--fault", "hang:read"]))));
    let target = lab.trove("soak", Door::Http, &all)?;
    target.forget()?;
    eprintln!("soak: {} minutes", options.minutes);
    let seconds = (options.minutes * 60.0).to_string();
    let healthy = HEALTHY.join(",");
    let what = ["soak", "--seconds", &seconds, "--healthy", &healthy, "--expect", "150"];
    let result = lab.result(&what, &target)?;
    println!("{result:#}");
    Ok(())
}
