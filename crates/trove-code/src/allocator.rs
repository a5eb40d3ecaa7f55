//! The allocator of the program, which in a worker also counts.
//!
//! The interpreter asks between its steps how much is allocated, and raises `MemoryError` past its
//! limit. A program that allocates much in one step is ended here.

use std::{
    alloc::{GlobalAlloc, Layout},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use monty_types::{BASELINE_MEMORY, LIVE_MEMORY, OOM_EXIT_CODE};
use tikv_jemallocator::Jemalloc;

/// Memory that is freed may have been allocated before counting began; never so much as this.
const BEGINNING: usize = 1 << 40;
/// The room beyond the limit that the exception and the way to it may take.
const HEADROOM: usize = 4 * 1024 * 1024;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static HARD_LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// How a worker that took too much ends.
pub(crate) const OUT_OF_MEMORY: i32 = OOM_EXIT_CODE;

/// Counts from now on, and ends this process when it takes more than `limit` bytes more.
pub(crate) fn limit(limit: usize) {
    LIVE_MEMORY.store(BEGINNING, Ordering::Relaxed);
    BASELINE_MEMORY.store(BEGINNING, Ordering::Relaxed);
    HARD_LIMIT.store(BEGINNING + limit + HEADROOM, Ordering::Relaxed);
    IS_COUNTING.store(true, Ordering::Relaxed);
}

/// Jemalloc. The C library keeps a heap for each thread that ever asked for much. The memory of one
/// scan or crawl would stay ours for ever.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every call goes on to jemalloc with the arguments it came with, and gives what
// jemalloc gave.
#[expect(unsafe_code, reason = "an allocator is unsafe to be one")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller promised.
        had(unsafe { Jemalloc.alloc(layout) })
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: as the caller promised.
        unsafe { Jemalloc.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller promised.
        had(unsafe { Jemalloc.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        // SAFETY: as the caller promised.
        had(unsafe { Jemalloc.realloc(ptr, layout, size) })
    }
}

#[inline]
fn take(size: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        let live = LIVE_MEMORY.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        if live > HARD_LIMIT.load(Ordering::Relaxed) {
            end();
        }
    }
}

#[inline]
fn give_back(size: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        LIVE_MEMORY.fetch_sub(size, Ordering::Relaxed);
    }
}

/// Ends a worker for which the kernel has no more memory: its address space is bounded too.
#[inline]
fn had(memory: *mut u8) -> *mut u8 {
    if memory.is_null() && IS_COUNTING.load(Ordering::Relaxed) {
        end();
    }
    memory
}

/// Ends this process at once, because any code on the way out would allocate.
#[cold]
#[expect(unsafe_code, reason = "there is no safe way to end without running anything")]
fn end() -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(OUT_OF_MEMORY) }
}
