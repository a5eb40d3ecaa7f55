//! The bound on how long a program computes, by the processor's clock.
//!
//! A machine that is busy with other things does not shorten it. The kernel sends a signal when
//! the time is used up, and once more each second. At the first the interpreter is told between
//! its steps, at the second this process ends: one step took all that time.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use monty_types::BASELINE_MEMORY;

/// How a worker ends that computed too long in one step.
pub(crate) const OUT_OF_TIME: i32 = 124;

static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Whether the program has computed for as long as it may.
pub(crate) fn is_over() -> bool {
    IS_OVER.load(Ordering::Relaxed)
}

/// Stops the program when the kernel says that its time is used up.
#[expect(unsafe_code, reason = "the handler of a signal is set by a pointer")]
pub(crate) fn stop_when_over() -> io::Result<()> {
    let handler = end_program as extern "C" fn(libc::c_int);
    // SAFETY: the handler only sets atomics, or ends the process without running anything.
    let set = unsafe { libc::signal(libc::SIGXCPU, handler as libc::sighandler_t) };
    if set == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "there is no safe way to end without running anything")]
extern "C" fn end_program(_: libc::c_int) {
    if IS_OVER.swap(true, Ordering::Relaxed) {
        // SAFETY: nothing of this process is looked at any more.
        unsafe { libc::_exit(OUT_OF_TIME) }
    }
    // The interpreter looks at its memory between two steps, and at no clock but the wall's. From
    // here on it finds that it has taken too much, which no program can catch.
    BASELINE_MEMORY.store(0, Ordering::Relaxed);
}
