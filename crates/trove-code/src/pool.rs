//! The gateway's side: workers, and the conversation with one.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::Stdio,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};
use tracing::{debug, warn};
use trove_core::programs::{Complaint, Fault, Given, Host, Programs, Raised, Ran, Rules};

use crate::{
    allocator::OUT_OF_MEMORY,
    check::check,
    policy::{MAX_RUNNING, MAX_TIME, RULES},
    wire::{Failed, FromWorker, Locks, MAX_MESSAGE, ToWorker, framed},
};

/// How long a worker that closed its pipes may take to be gone.
const MAX_DYING: Duration = Duration::from_secs(1);

/// Workers for programs, each used once. One waits ready where programs are expected.
#[derive(Debug)]
pub struct Pool {
    program: PathBuf,
    args: Vec<String>,
    ready: Mutex<Option<Worker>>,
    places: Semaphore,
    is_expected: AtomicBool,
    /// Whether it has been said that the kernel keeps locks from workers.
    was_warned: AtomicBool,
}

impl Pool {
    /// Workers that this command starts: a program that calls [`crate::work`].
    pub fn new(program: PathBuf, args: Vec<String>) -> Pool {
        Pool {
            program,
            args,
            ready: Mutex::default(),
            places: Semaphore::new(MAX_RUNNING),
            is_expected: AtomicBool::new(false),
            was_warned: AtomicBool::new(false),
        }
    }

    async fn run_within(&self, source: &str, host: &dyn Host) -> Result<Ran, Fault> {
        check(source)?;
        let deadline = Instant::now() + MAX_TIME;
        let place = timeout_at(deadline, self.places.acquire()).await;
        let Ok(Ok(_place)) = place else { return Err(Fault::Busy) };
        let ready = self.ready().take();
        let mut worker = match ready {
            Some(worker) => worker,
            None => self.start()?,
        };
        let mut ran = timeout_at(deadline, self.converse(&mut worker, source, host)).await;
        if worker.is_found_dead && matches!(ran, Ok(Err(Fault::Broke { .. }))) {
            worker = self.start()?;
            ran = timeout_at(deadline, self.converse(&mut worker, source, host)).await;
        }
        // What it leaves behind goes with it.
        drop(worker);
        self.have_one_ready();
        ran.unwrap_or(Err(Fault::OutOfTime { seconds: RULES.seconds }))
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, Option<Worker>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn have_one_ready(&self) {
        let mut ready = self.ready();
        match self.is_expected.load(Ordering::Relaxed) {
            false => *ready = None,
            true if ready.is_some() => {}
            // Where none can be started, whoever brings a program is told.
            true => *ready = self.start().ok(),
        }
    }

    fn start(&self) -> Result<Worker, Fault> {
        let unavailable = |why: std::io::Error| Fault::Unavailable { why: why.to_string() };
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            // Only a process of one thread may leave its network without being root.
            .env("_RJEM_MALLOC_CONF", "background_thread:false")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A Ctrl-C for the gateway is no Ctrl-C for the program.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(unavailable)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| Fault::Unavailable { why: "no pipes".into() })?;
        Ok(Worker { child, input, output, is_found_dead: false })
    }

    async fn converse(
        &self,
        worker: &mut Worker,
        source: &str,
        host: &dyn Host,
    ) -> Result<Ran, Fault> {
        match worker.hear().await? {
            FromWorker::Ready(locks) => self.note(locks),
            _ => return Err(broke("it did not say that it is ready")),
        }
        worker.is_found_dead = true;
        worker.tell(&ToWorker::Run { source: source.to_owned() }).await?;
        let (mut calls, mut read_bytes) = (0, 0);
        loop {
            let heard = worker.hear().await?;
            worker.is_found_dead = false;
            match heard {
                FromWorker::Call { function, arguments } => {
                    calls += 1;
                    let answer = match calls > RULES.calls {
                        true => ended(format!("a program may make {} calls", RULES.calls)),
                        false => answered(host.call(&function, arguments).await, &mut read_bytes),
                    };
                    worker.tell(&answer).await?;
                }
                FromWorker::Done { value, printed, is_cut } => {
                    return Ok(Ran { value, printed, is_cut, calls, read_bytes });
                }
                FromWorker::TooMuch { bytes } => {
                    return Err(Fault::TooMuch { bytes, limit: RULES.output_bytes });
                }
                FromWorker::Failed(failed) => return Err(raised(failed)),
                FromWorker::Ready(_) => return Err(broke("it said twice that it is ready")),
            }
        }
    }

    /// Says once what the kernel does not allow.
    fn note(&self, locks: Locks) {
        debug!(?locks, "a worker is ready");
        if !locks.has_filter && !self.was_warned.swap(true, Ordering::Relaxed) {
            warn!("the kernel does not let programs be kept from its calls; their limits hold");
        }
    }
}

impl Programs for Pool {
    fn run<'a>(&'a self, source: &'a str, host: &'a dyn Host) -> BoxFuture<'a, Result<Ran, Fault>> {
        Box::pin(self.run_within(source, host))
    }

    fn rules(&self) -> Rules {
        RULES
    }

    fn expect(&self, is_expected: bool) {
        self.is_expected.store(is_expected, Ordering::Relaxed);
        self.have_one_ready();
    }
}

/// One worker; it ends when this is dropped.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// Whether it died before it said anything of its program: it may have been killed while
    /// it waited.
    is_found_dead: bool,
}

impl Worker {
    async fn tell(&mut self, message: &ToWorker) -> Result<(), Fault> {
        let bytes = framed(message).map_err(|error| broke(&error.to_string()))?;
        match self.input.write_all(&bytes).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.died().await),
        }
    }

    async fn hear(&mut self) -> Result<FromWorker, Fault> {
        let mut length = [0; 4];
        if self.output.read_exact(&mut length).await.is_err() {
            return Err(self.died().await);
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_MESSAGE {
            return Err(broke("it said more than it may"));
        }
        let mut bytes = vec![0; length];
        if self.output.read_exact(&mut bytes).await.is_err() {
            return Err(self.died().await);
        }
        serde_json::from_slice(&bytes).map_err(|_| broke("it said what nobody understands"))
    }

    /// Why it is gone.
    async fn died(&mut self) -> Fault {
        let Ok(Ok(status)) = timeout(MAX_DYING, self.child.wait()).await else {
            return broke("it fell silent");
        };
        if status.code() == Some(OUT_OF_MEMORY) {
            return Fault::OutOfMemory { megabytes: (RULES.memory_bytes / 1024 / 1024) as u64 };
        }
        match status.signal() {
            Some(libc::SIGXCPU) => Fault::OutOfTime { seconds: RULES.compute_seconds },
            _ => broke(&status.to_string()),
        }
    }
}

fn broke(how: &str) -> Fault {
    Fault::Broke { how: how.to_owned() }
}

/// What a call gave, if the program may have so much.
fn answered(result: Result<Given, Raised>, read_bytes: &mut usize) -> ToWorker {
    match result {
        Ok(given) => {
            *read_bytes += given.size();
            if *read_bytes > RULES.read_bytes {
                return ended(format!("a program may read {} bytes", RULES.read_bytes));
            }
            ToWorker::Give(given.into())
        }
        Err(Raised { kind, message }) => {
            ToWorker::Raise { kind: kind.as_str().to_owned(), message }
        }
    }
}

/// What no program may catch.
fn ended(message: String) -> ToWorker {
    ToWorker::End { kind: "RuntimeError".to_owned(), message }
}

fn raised(failed: Failed) -> Fault {
    let hint = hint(&failed);
    let Failed { kind, message, line, traceback, printed } = failed;
    Box::new(Complaint { kind, message, line, traceback, printed, hint }).into()
}

/// What to do about a failure; for what this Python lacks, what to write instead.
fn hint(failed: &Failed) -> String {
    let says = |words: &str| failed.message.contains(words);
    match failed.kind.as_str() {
        "ModuleNotFoundError" | "ImportError" => {
            format!("Only these modules can be imported: {}.", RULES.modules.join(", "))
        }
        "NameError" => {
            let missing = RULES.missing.iter().find(|name| says(&format!("'{name}'")));
            match missing {
                Some(name) => format!("There is no {name} here; write the program without it."),
                None => {
                    "Define the name before it is used; the functions are find, list_resources, \
                         read, read_json, grep and expand."
                        .to_owned()
                }
            }
        }
        "NotImplementedError" if says("match") => "Write if and elif instead of match.".to_owned(),
        "NotImplementedError" if says("yield") => {
            "Gather a list and return it instead of yielding.".to_owned()
        }
        "NotImplementedError" if says("external function") => {
            "Call it yourself, in a loop or a comprehension.".to_owned()
        }
        "NotImplementedError" => {
            "This Python lacks that; write it with functions, loops, lists and dicts.".to_owned()
        }
        "PermissionError" if says("is not there") => {
            "Files, the environment and the network are not there; read resources with read(uri)."
                .to_owned()
        }
        "TimeoutError" => "Read or compute less; ask for fewer resources.".to_owned(),
        "MemoryError" => "Keep less at a time; read parts with offset and limit.".to_owned(),
        "RuntimeError" if says("a program may") => {
            "Narrow down what is read first, with find() or list_resources(server).".to_owned()
        }
        "TypeError" if says("awaited") => "Call the functions without await.".to_owned(),
        "RecursionError" => "Write a loop instead.".to_owned(),
        _ => "Correct the program at that line and run it again.".to_owned(),
    }
}
