//! The kernel's figures of a process: time used, memory held, children started.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Context as _;

/// The length of a tick in `/proc`, the same on every Linux we run on.
const TICK_MS: u64 = 10;

/// How long a process that is at rest is looked at.
const QUIET: Duration = Duration::from_secs(1);
/// The milliseconds of processor time that it may use meanwhile.
const AT_REST_MS: u64 = 20;

/// Milliseconds of processor time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuTime {
    /// Used by the process itself.
    pub(super) own: u64,
    /// Used by what it started.
    pub(super) below: u64,
}

/// Kilobytes of memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) now: u64,
    pub(super) peak: u64,
    /// Memory that belongs to no file.
    pub(super) anonymous: u64,
}

struct Process {
    id: u32,
    parent: u32,
    name: String,
    cpu_ms: u64,
}

/// The processor time of a process and its descendants so far.
pub(super) fn cpu_time(id: u32) -> CpuTime {
    let all = processes();
    let mut time = CpuTime::default();
    for process in &all {
        if process.id == id {
            time.own = process.cpu_ms;
        } else if descends(&all, process, id) {
            time.below += process.cpu_ms;
        }
    }
    time
}

/// Waits until a process has nothing to do any more, or so long; says whether it has come
/// to rest.
pub(super) async fn rest(id: u32, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        let before = cpu_time(id).own;
        tokio::time::sleep(QUIET).await;
        if cpu_time(id).own - before <= AT_REST_MS {
            return true;
        }
    }
    false
}

/// A descendant by the name of its program.
pub(super) fn descendant(id: u32, name: &str) -> Option<u32> {
    let all = processes();
    let found = all.iter().find(|process| process.name == name && descends(&all, process, id));
    found.map(|process| process.id)
}

/// All descendants: their ids and the names of their programs.
pub(super) fn descendants(id: u32) -> Vec<(u32, String)> {
    let all = processes();
    let below = all.iter().filter(|process| descends(&all, process, id));
    below.map(|process| (process.id, process.name.clone())).collect()
}

/// The memory of one process, without its children.
pub(super) fn memory(id: u32) -> anyhow::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let value = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.with_context(|| format!("/proc/{id}/status has no {key}"))
    };
    let (now, peak) = (value("VmRSS:")?, value("VmHWM:")?);
    Ok(Memory { now, peak, anonymous: value("RssAnon:")? })
}

/// Makes the peak of a process start anew.
pub(super) fn reset_peak(id: u32) -> anyhow::Result<()> {
    fs::write(format!("/proc/{id}/clear_refs"), "5").context("the peak cannot be reset")
}

fn descends(all: &[Process], process: &Process, ancestor: u32) -> bool {
    let mut parent = process.parent;
    while parent > 1 {
        if parent == ancestor {
            return true;
        }
        match all.iter().find(|process| process.id == parent) {
            Some(process) => parent = process.parent,
            None => return false,
        }
    }
    false
}

fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            parse(id, &fs::read_to_string(entry.path().join("stat")).ok()?)
        })
        .collect()
}

/// Reads `/proc/ID/stat`; see proc(5).
fn parse(id: u32, stat: &str) -> Option<Process> {
    // The name stands in parentheses and may hold anything, parentheses too.
    let (start, end) = (stat.find('(')?, stat.rfind(')')?);
    let fields: Vec<&str> = stat[end + 1..].split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Process {
        id,
        parent: u32::try_from(number(1)?).ok()?,
        name: stat[start + 1..end].to_owned(),
        cpu_ms: (number(11)? + number(12)?) * TICK_MS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses() {
        let stat = "7 (a) (b) S 3 7 7 0 -1 4194560 1 0 0 0 20 5 0 0 20 0 1 0 9 9 9 9";
        let process = parse(7, stat).unwrap();
        assert_eq!((process.parent, process.name.as_str(), process.cpu_ms), (3, "a) (b", 250));
    }
}
