//! One worker, as the gateway sees it: nothing it says is believed further than it must be.

use std::{io, path::Path};

use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use trove_core::programs::{Answer, Complaint, Fault, Given, Host, Raised, Ran};

use crate::{
    boxed::{Child, Death},
    hints::hint,
    policy::RULES,
    wire::{Failed, FromWorker, Gift, Locks, MAX_MESSAGE, ToWorker, framed, json_len},
};

/// From this size on, an answer is written down on a thread of its own.
const LARGE: usize = 64 * 1024;

/// One worker; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    calls: usize,
    read_bytes: usize,
}

impl Worker {
    pub(crate) fn start(program: &Path, args: &[String]) -> Result<Worker, Fault> {
        let child = Child::start(program, args)
            .map_err(|why| Fault::Unavailable { why: why.to_string() })?;
        Ok(Worker { child, calls: 0, read_bytes: 0 })
    }

    /// Whether it has not ended yet.
    pub(crate) fn is_alive(&self) -> bool {
        self.child.is_alive()
    }

    /// How many calls its program has made.
    pub(crate) fn calls(&self) -> usize {
        self.calls
    }

    /// The rights it has given up, once it has.
    pub(crate) async fn locks(&mut self) -> Result<Locks, Fault> {
        match self.hear().await {
            Ok(FromWorker::Ready(locks)) => Ok(locks),
            Ok(FromWorker::Unready { why }) => {
                Err(Fault::Unavailable { why: format!("a worker cannot lock itself in: {why}") })
            }
            Ok(_) => Err(broke("it did not say that it is ready")),
            Err(fault) => Err(Fault::Unavailable { why: fault.to_string() }),
        }
    }

    /// Has it run a program, and answers its calls.
    pub(crate) async fn run(&mut self, source: &str, host: &dyn Host) -> Result<Ran, Fault> {
        self.tell(ToWorker::Run { source: source.to_owned() }).await?;
        loop {
            match self.hear().await? {
                FromWorker::Call { function, arguments } => {
                    self.calls += 1;
                    let answer = self.answered(host, &function, arguments).await;
                    let is_end = matches!(answer, ToWorker::End { .. });
                    self.tell(answer).await?;
                    if is_end {
                        return Err(self.end().await);
                    }
                }
                last => return self.ended(last),
            }
        }
    }

    /// Has a call answered, unless the program has had enough.
    async fn answered(
        &mut self,
        host: &dyn Host,
        function: &str,
        arguments: Map<String, Value>,
    ) -> ToWorker {
        if self.calls > RULES.calls {
            return enough(format!("a program may make {} calls", RULES.calls));
        }
        let room = RULES.read_bytes.saturating_sub(self.read_bytes);
        match host.call(function, arguments, room).await {
            Ok(Answer { read, .. }) if read > room => {
                enough(format!("a program may read {} bytes", RULES.read_bytes))
            }
            Ok(Answer { given, read }) => {
                self.read_bytes += read;
                let is_large = matches!(&given, Given::Bytes(bytes) if bytes.len() > LARGE);
                match aside(is_large, || Gift::from(given)).await {
                    Ok(gift) => ToWorker::Give(gift),
                    Err(error) => enough(error.to_string()),
                }
            }
            Err(Raised { kind, message }) => {
                ToWorker::Raise { kind: kind.as_str().to_owned(), message }
            }
        }
    }

    /// The last word of a program that was told to end. A worker that goes on is ended with it.
    async fn end(&mut self) -> Fault {
        match self.hear().await {
            Ok(FromWorker::Failed(failed)) => complaint(failed),
            Ok(_) => broke("it went on when it was told to end"),
            Err(fault) => fault,
        }
    }

    fn ended(&self, last: FromWorker) -> Result<Ran, Fault> {
        let limit = RULES.output_bytes;
        match last {
            FromWorker::Done { value, printed, is_cut } => {
                if value.to_string().len() + json_len(&printed) > limit + 2 {
                    return Err(broke("it gave more than it may"));
                }
                let (calls, read_bytes) = (self.calls, self.read_bytes);
                Ok(Ran { value, printed, is_cut, calls, read_bytes })
            }
            FromWorker::TooMuch { printed, .. } if json_len(&printed) > limit => {
                Err(broke("it printed more than it may"))
            }
            FromWorker::TooMuch { bytes, printed, is_cut } => {
                Err(Fault::TooMuch { bytes, limit, printed, is_cut })
            }
            FromWorker::Failed(failed) => Err(complaint(failed)),
            FromWorker::Call { .. } | FromWorker::Ready(_) | FromWorker::Unready { .. } => {
                Err(broke("it spoke out of turn"))
            }
        }
    }

    async fn tell(&mut self, message: ToWorker) -> Result<(), Fault> {
        let is_large = matches!(
            &message,
            ToWorker::Give(Gift::Text(text) | Gift::Bytes(text) | Gift::Json(text)) if text.len() > LARGE
        );
        let bytes = aside(is_large, move || framed(&message)).await.flatten();
        let bytes = bytes.map_err(|error| broke(&error.to_string()))?;
        match self.child.input.write_all(&bytes).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.died().await),
        }
    }

    async fn hear(&mut self) -> Result<FromWorker, Fault> {
        let mut length = [0; 4];
        if self.child.output.read_exact(&mut length).await.is_err() {
            return Err(self.died().await);
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_MESSAGE {
            return Err(broke("it said more than it may"));
        }
        let mut bytes = vec![0; length];
        if self.child.output.read_exact(&mut bytes).await.is_err() {
            return Err(self.died().await);
        }
        serde_json::from_slice(&bytes).map_err(|_| broke("it said what nobody understands"))
    }

    /// Why it is gone.
    async fn died(&mut self) -> Fault {
        let calls = self.calls;
        match self.child.death().await {
            Death::OutOfMemory => {
                Fault::OutOfMemory { megabytes: (RULES.memory_bytes / 1024 / 1024) as u64 }
            }
            Death::OutOfTime => Fault::OutOfTime { seconds: RULES.compute_seconds, calls },
            Death::Broke(how) => Fault::Broke { how },
        }
    }
}

/// Does large work on a thread where no request waits behind it.
async fn aside<T: Send + 'static>(
    is_large: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    if is_large {
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
    } else {
        Ok(work())
    }
}

fn broke(how: &str) -> Fault {
    Fault::Broke { how: how.to_owned() }
}

/// An exception that no program may catch.
fn enough(message: String) -> ToWorker {
    ToWorker::End { kind: "RuntimeError".to_owned(), message }
}

fn complaint(failed: Failed) -> Fault {
    let said = [&failed.kind, &failed.message, &failed.traceback, &failed.printed];
    if said.map(|text| json_len(text)).iter().sum::<usize>() > RULES.output_bytes + 1024 {
        return broke("it complained more than it may");
    }
    let hint = hint(&failed);
    let Failed { kind, message, line, traceback, printed, is_cut } = failed;
    Box::new(Complaint { kind, message, line, traceback, printed, is_cut, hint }).into()
}
