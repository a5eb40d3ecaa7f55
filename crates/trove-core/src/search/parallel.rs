//! The parts of one question, on two cores where there are two.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// How many threads work on one question.
const THREADS: usize = 2;
/// With fewer documents a thread takes longer to begin than to be done.
const WORTHWHILE: u64 = 20_000;

/// The results of `work` for each of these things, in their order, in an index of so many
/// documents. The next free thread takes each.
pub(super) fn each<T: Sync, R: Send>(
    things: &[T],
    documents: u64,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = THREADS.min(cores).min(things.len());
    if threads < 2 || documents < WORTHWHILE {
        return things.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some((n, thing)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, things.get(n)?)))
        {
            done.push((n, work(thing)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        // If no thread can be had, this one does it all.
        let others: Vec<_> = (1..threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, take).ok())
            .collect();
        let mut done = take();
        for other in others {
            // A panic there is a panic here.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_made_them() {
        let things: Vec<usize> = (0..1000).collect();
        let doubled: Vec<usize> = things.iter().map(|n| n * 2).collect();
        for documents in [0, WORTHWHILE] {
            assert_eq!(each(&things, documents, |n| n * 2), doubled);
            assert!(each(&[] as &[usize], documents, |n| *n).is_empty());
        }
    }

    #[test]
    fn what_breaks_is_not_passed_over() {
        let broken = std::panic::catch_unwind(|| {
            each(&[1, 2, 3, 4], WORTHWHILE, |n| assert_ne!(*n, 3));
        });
        assert!(broken.is_err());
    }
}
