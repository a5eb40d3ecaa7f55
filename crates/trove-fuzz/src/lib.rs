//! Feeds a parser what its corpus holds, and what chance makes of it.
//!
//! It needs no other toolchain and no instrumentation, so that every fuzz target is a test beside
//! its parser and runs wherever tests run. In place of coverage a target tells the shape of its
//! result. An input of a new shape joins the pool that further ones are made of. It ends when the
//! time is up, or when a target panics or dawdles. The input of a panic is written into the corpus,
//! so that it is tried first ever after.

mod chance;

use std::{
    collections::HashSet,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use chance::Chance;

/// How long to go on, in seconds; without it only a few inputs are made, always the same.
pub const SECONDS: &str = "TROVE_FUZZ_SECONDS";

/// How many inputs are made in an ordinary test run.
const FEW: usize = 400;
/// How many inputs the pool may hold.
const MAX_POOL: usize = 4096;
/// How long an input may get.
const MAX_INPUT: usize = 16 * 1024;
/// How much processor time a target may take for one input.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Feeds the corpus `fuzz/corpus/NAME` and its mutations to a target, which panics if
/// something is wrong and otherwise says of what shape the input was.
///
/// # Panics
/// Where the target does, or takes too long, or has no corpus.
pub fn feed<S: std::hash::Hash>(name: &str, target: impl Fn(&[u8]) -> S) {
    let folder = corpus(name);
    let mut pool = read(&folder);
    assert!(!pool.is_empty(), "{} holds nothing to begin with", folder.display());
    let mut shapes = HashSet::new();
    for (input, file) in &pool {
        shapes.insert(shape(&target, input, || file.display().to_string()));
    }
    let seconds = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut chance = Chance::new(if end.is_some() { seed() } else { 1 });
    let mut made = 0;
    while end.map_or(made < FEW, |end| Instant::now() < end) {
        made += 1;
        let first = &pool[chance.below(pool.len())].0;
        let second = &pool[chance.below(pool.len())].0;
        let mut input = chance.mutate(first, second);
        input.truncate(MAX_INPUT);
        let found = shape(&target, &input, || keep(&folder, &input));
        if shapes.insert(found) && pool.len() < MAX_POOL {
            pool.push((input, PathBuf::new()));
        }
    }
}

/// Runs the target once. `place` says where the input can be found if it fails.
fn shape<S: std::hash::Hash>(
    target: &impl Fn(&[u8]) -> S,
    input: &[u8],
    place: impl FnOnce() -> String,
) -> u64 {
    let before = processor_time();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    let took = processor_time().saturating_sub(before);
    match outcome {
        Ok(found) if took <= MAX_TIME => {
            let mut hasher = DefaultHasher::new();
            found.hash(&mut hasher);
            hasher.finish()
        }
        Ok(_) => panic!("the input in {} took {took:?}", place()),
        Err(cause) => {
            let file = place();
            let words = cause.downcast_ref::<String>().cloned();
            let words = words.or_else(|| cause.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            panic!("the input in {file} broke the target: {}", words.unwrap_or_default());
        }
    }
}

/// The processor time that this thread has used; other work on the machine does not count. Nothing
/// is known of it where the kernel does not tell, and then no target is found to dawdle.
fn processor_time() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split_whitespace().next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// The folder of a corpus, two levels above any crate.
fn corpus(name: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.ancestors().nth(2).expect("this crate lies two levels below the root");
    root.join("fuzz/corpus").join(name)
}

fn read(folder: &Path) -> Vec<(Vec<u8>, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<(Vec<u8>, PathBuf)> =
        entries.filter_map(|entry| Some((fs::read(entry.path()).ok()?, entry.path()))).collect();
    // The order of a folder is chance, too, but another one on each machine.
    all.sort_by(|left, right| left.1.cmp(&right.1));
    all
}

/// Writes an input that broke a target into its corpus.
fn keep(folder: &Path, input: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let file = folder.join(format!("broke-{:016x}", hasher.finish()));
    match fs::write(&file, input) {
        Ok(()) => file.display().to_string(),
        Err(error) => format!("{:?} ({error})", String::from_utf8_lossy(input)),
    }
}

fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |time| time.as_nanos() as u64) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_of_this_thread_counts() {
        let before = processor_time();
        std::thread::sleep(Duration::from_millis(50));
        assert!(processor_time() - before < Duration::from_millis(50));
        let mut sum = 0u64;
        while processor_time() == before {
            sum = std::hint::black_box(sum + 1);
        }
    }

    #[test]
    fn an_input_that_breaks_the_target_is_kept_and_named() {
        let folder = std::env::temp_dir();
        let target = |input: &[u8]| assert!(!input.contains(&b'x'), "an x");
        assert_eq!(shape(&target, b"abc", String::new), shape(&target, b"def", String::new));
        let broken =
            catch_unwind(|| shape(&target, b"axc", || keep(&folder, b"axc"))).expect_err("an x");
        let words = broken.downcast_ref::<String>().expect("a text");
        assert!(words.contains("broke-") && words.ends_with("an x"), "{words}");
        let file = words.split(' ').find(|word| word.contains("broke-")).expect("a file");
        assert_eq!(fs::read(file).expect("it was kept"), b"axc");
        fs::remove_file(file).expect("it can be removed");
    }
}
