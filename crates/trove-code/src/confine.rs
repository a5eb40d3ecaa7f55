//! A worker locks itself in before it reads a byte. No fault of the interpreter can give back the
//! rights that it drops here.
//!
//! Bounds on memory, time, files and processes always hold; without them nothing runs. The
//! filter on calls to the kernel and the empty network are had where the kernel allows.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{boxed::Bounds, wire::Locks};

/// Address space for stacks, buffers on the way and the allocator's own use, beyond the program's
/// bound and the mappings of the start.
const SPARE_SPACE: u64 = 256 * 1024 * 1024;

/// How far a worker stands back when the processor is wanted: not so far that a busy machine
/// leaves it nothing.
const NICENESS: i32 = 5;

/// Gives up all that computing does not need.
pub(crate) fn lock_in(bounds: Bounds) -> io::Result<Locks> {
    end_with_parent()?;
    // All other work of this machine comes first.
    let _ = rustix::process::nice(NICENESS);
    close_strangers()?;
    let has_no_network = leave_network();
    give_up_rights();
    bound(Resource::As, mapped()?.saturating_add(bounds.memory_bytes as u64 + SPARE_SPACE))?;
    bound_cpu(bounds.compute_seconds)?;
    bound(Resource::Fsize, 0)?;
    bound(Resource::Core, 0)?;
    bound(Resource::Nofile, 3)?;
    bound(Resource::Nproc, 0)?;
    let has_filter = filter();
    Ok(Locks { has_filter, has_no_network })
}

/// Sets a bound, unless a lower one is set already.
fn bound(resource: Resource, limit: u64) -> io::Result<()> {
    let set = getrlimit(resource);
    let limit = set.maximum.map_or(limit, |maximum| maximum.min(limit));
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    Ok(())
}

/// From this bound on the kernel sends a signal each second; at the hard one it ends us.
fn bound_cpu(seconds: u64) -> io::Result<()> {
    let hard = getrlimit(Resource::Cpu).maximum.map_or(seconds + 4, |set| set.min(seconds + 4));
    let soft = seconds.min(hard);
    setrlimit(Resource::Cpu, Rlimit { current: Some(soft), maximum: Some(hard) })?;
    Ok(())
}

/// How much address space is taken now.
#[cfg(target_os = "linux")]
fn mapped() -> io::Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("the kernel does not say what is mapped"))?;
    Ok(pages * rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
fn mapped() -> io::Result<u64> {
    Ok(SPARE_SPACE)
}

#[cfg(target_os = "linux")]
fn end_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> io::Result<()> {
    Ok(())
}

/// Closes the files that a parent left open for all its children.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "files are closed by their numbers")]
fn close_strangers() -> io::Result<()> {
    // SAFETY: this process has opened no file yet but its three pipes, so none of its own has a
    // higher number.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) } == 0 {
        return Ok(());
    }
    // A kernel before 5.9, or one that was told to be like it.
    for file in 3..OFTEN_OPEN {
        // SAFETY: the same.
        let _ = unsafe { libc::close(file) };
    }
    Ok(())
}

/// The numbers below which open files are looked for where the kernel cannot do it.
#[cfg(target_os = "linux")]
const OFTEN_OPEN: i32 = 4096;

/// Root in a network of its own, or in all: without any of its rights.
#[cfg(target_os = "linux")]
fn give_up_rights() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    // A process without rights cannot lose them.
    let _ = set_capabilities(None, sets);
}

#[cfg(not(target_os = "linux"))]
fn give_up_rights() {}

#[cfg(not(target_os = "linux"))]
fn close_strangers() -> io::Result<()> {
    Ok(())
}

/// Moves into a network without anything in it, as a user without any rights.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "some ways of unsharing break promises between threads")]
fn leave_network() -> bool {
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    let both = UnshareFlags::NEWUSER | UnshareFlags::NEWNET;
    // SAFETY: open files and memory stay shared, so no other thread loses what it relies on.
    let alone = || unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.is_ok();
    // SAFETY: the same.
    unsafe { unshare_unsafe(both) }.is_ok() || alone()
}

#[cfg(not(target_os = "linux"))]
fn leave_network() -> bool {
    false
}

/// From now on every call to the kernel fails but those on memory, clocks, open pipes and
/// the end.
#[cfg(target_os = "linux")]
fn filter() -> bool {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch,
    };
    let needed = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_clock_gettime,
        libc::SYS_getrandom,
        libc::SYS_sigaltstack,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];
    let set = || {
        rustix::thread::set_no_new_privs(true).ok()?;
        let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
        let only = |place, is, value| {
            let condition = SeccompCondition::new(place, Dword, is, value).ok()?;
            Some(vec![SeccompRule::new(vec![condition]).ok()?])
        };
        // Executable memory is not to be had, and no other process to be signalled.
        let not_executed = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
        let this = u64::from(std::process::id());
        let bounded = [
            (libc::SYS_mmap, only(2, not_executed.clone(), 0)?),
            (libc::SYS_mprotect, only(2, not_executed, 0)?),
            (libc::SYS_tgkill, only(0, SeccompCmpOp::Eq, this)?),
        ];
        let free = needed.into_iter().map(|call| (call, Vec::new()));
        let rules = free.chain(bounded).collect();
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch).ok()?;
        let program = BpfProgram::try_from(filter).ok()?;
        // The allocator may have a thread of its own.
        seccompiler::apply_filter_all_threads(&program).ok()
    };
    set().is_some()
}

#[cfg(not(target_os = "linux"))]
fn filter() -> bool {
    false
}
