//! The machine of the figures, and whether it had other things to do.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use crate::steps;

/// How long the machine is watched before anything is measured.
const WATCH: Duration = Duration::from_secs(3);

pub(super) struct Machine {
    pub(super) cores: usize,
    pub(super) processor: String,
    pub(super) memory_gb: f64,
    /// Of the last minute, when the chore began.
    pub(super) load: f64,
    pub(super) compiler: String,
}

impl Machine {
    pub(super) fn describe() -> anyhow::Result<Machine> {
        let field = |file: &str, key: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(key));
            line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
        };
        let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
        let kilobytes: f64 = memory.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
        let load = fs::read_to_string("/proc/loadavg")?;
        let compiler = steps::output("rustc", Command::new("rustc").arg("--version"))?;
        Ok(Machine {
            cores: thread::available_parallelism()?.get(),
            processor: field("/proc/cpuinfo", "model name").unwrap_or("unknown".to_owned()),
            memory_gb: kilobytes / 1e6,
            load: load.split(' ').next().context("no load average")?.parse()?,
            compiler: compiler.trim().to_owned(),
        })
    }
}

/// Shares of the processors' time that others took.
pub(super) struct Disturbance {
    /// Just before the first measurement, while we did nothing.
    pub(super) before: f64,
    /// Other machines on the same hardware, while we measured.
    pub(super) stolen: f64,
}

/// Looks at the processors from before the first measurement to after the last.
pub(super) struct Watch {
    before: f64,
    start: Ticks,
}

impl Watch {
    pub(super) fn begin() -> anyhow::Result<Watch> {
        let idle = Ticks::now()?;
        thread::sleep(WATCH);
        let start = Ticks::now()?;
        Ok(Watch { before: (start.busy - idle.busy) / (start.all - idle.all), start })
    }

    pub(super) fn end(&self) -> anyhow::Result<Disturbance> {
        let end = Ticks::now()?;
        let stolen = (end.stolen - self.start.stolen) / (end.all - self.start.all);
        Ok(Disturbance { before: self.before, stolen })
    }
}

/// Ticks since the machine was started; see proc(5).
struct Ticks {
    busy: f64,
    stolen: f64,
    all: f64,
}

impl Ticks {
    fn now() -> anyhow::Result<Ticks> {
        const IDLE: [usize; 2] = [3, 4];
        const STOLEN: usize = 7;
        let stat = fs::read_to_string("/proc/stat")?;
        let first = stat.lines().next().context("/proc/stat is empty")?;
        let ticks: Vec<f64> =
            first.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
        let all: f64 = ticks.iter().take(STOLEN + 1).sum();
        let idle: f64 = IDLE.iter().filter_map(|&at| ticks.get(at)).sum();
        let stolen = ticks.get(STOLEN).copied().unwrap_or_default();
        Ok(Ticks { busy: all - idle, stolen, all })
    }
}
