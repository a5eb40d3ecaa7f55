//! The fault matrix: the faults, and how Trove takes them. Each test begins with the number of its
//! row; `matrix.toml` says what the rows are, `docs/faults.md` how they ended. A row may also be
//! shown elsewhere, beside the code or the feature it belongs to.

mod disk;
mod door;
mod files;
mod floods;
mod loss;
mod many;
mod odd;
mod own_faults;
mod reach;
mod spelled;
mod survival;
mod text;

use std::time::Duration;

use rustix::process::Pid;

/// The process of this id, as the kernel describes it in one of its files.
fn proc_file(pid: Pid, name: &str) -> String {
    let path = format!("/proc/{}/{name}", pid.as_raw_nonzero());
    std::fs::read_to_string(path).expect("the process is there")
}

/// The most memory a process has held, in bytes.
fn peak_memory(pid: Pid) -> u64 {
    let status = proc_file(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.expect("the kernel counts memory") * 1024
}

/// The kernel's unit of processor time, for every program that asks it.
const TICKS_PER_SECOND: u32 = 100;

/// The processor time that a process and the children it has seen end have used.
fn processor_time(pid: Pid) -> Duration {
    let stat = proc_file(pid, "stat");
    // The name of the program may hold anything, but nothing after it holds a bracket.
    let figures = stat.rsplit(')').next().unwrap_or_default();
    let ticks = figures.split_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().expect("a number of ticks")).sum();
    Duration::from_secs(ticks) / TICKS_PER_SECOND
}

/// How many descriptors a process has open.
fn descriptors(pid: Pid) -> usize {
    let folder = format!("/proc/{}/fd", pid.as_raw_nonzero());
    std::fs::read_dir(folder).expect("the process is there").count()
}
