//! One client on stdin and stdout, one message per line.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, BufWriter};
use tokio::sync::mpsc;

use super::dispatch;
use super::floods::{self, Stream};
use super::options::Fault;
use super::peer::{OUTBOX, Peer, lock};
use super::state::Toy;
use super::wire::{Frame, Incoming};

/// How long running requests may take to finish once the client has left.
const FAREWELL: Duration = Duration::from_secs(2);

/// How many bytes are written at a time while more messages wait.
const BUFFER: usize = 64 * 1024;

/// Serves until end of input.
pub(super) async fn serve(toy: &Arc<Toy>) -> anyhow::Result<()> {
    toy.options.delay(Fault::DelayInit).await;
    let (out, frames) = mpsc::channel(OUTBOX);
    let writer = tokio::spawn(write(frames, toy.options.has(Fault::Noise)));
    let peer = Arc::new(Peer::with_outlet(out.clone()));
    floods::start(toy, &out, Stream::Lines);
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).await? > 0 {
        match Incoming::parse(&line) {
            Ok(incoming) => {
                if let Some(exchange) = dispatch::receive(toy, &peer, out.clone(), incoming) {
                    // Begun in the order in which requests come, as most servers do.
                    let mut work = Box::pin(exchange.run());
                    let first = poll_fn(|context| Poll::Ready(work.as_mut().poll(context)));
                    if tokio::task::unconstrained(first).await.is_pending() {
                        toy.tasks.spawn(work);
                    }
                }
            }
            Err(error) => out.send(Frame::answer(error.message("null"))).await?,
        }
        line.clear();
    }
    peer.closed.cancel();
    lock(&peer.out).take();
    drop(out);
    toy.tasks.close();
    let finished = async {
        toy.tasks.wait().await;
        writer.await
    };
    let _late = tokio::time::timeout(FAREWELL, finished).await;
    Ok(())
}

async fn write(mut frames: mpsc::Receiver<Frame>, noisy: bool) -> std::io::Result<()> {
    let mut stdout = BufWriter::with_capacity(BUFFER, tokio::io::stdout());
    while let Some(frame) = frames.recv().await {
        if noisy {
            stdout.write_all(b"=== toymcp: ready to serve ===\n[info] {not json}\n\n").await?;
        }
        for piece in frame.pieces("", "\n") {
            stdout.write_all(&piece).await?;
        }
        // Flushing after each message would make a flood a trickle.
        if frames.is_empty() {
            stdout.flush().await?;
        }
    }
    stdout.flush().await
}
