//! Kills the upstream of a gateway during a request, and watches what the client sees.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::process;
use super::sizes::{self, Size};
use super::target::{Target, signal};
use super::{millis, print};

/// How long the request would take undisturbed.
const SLOW_MS: u64 = 20_000;
/// How long it has been under way when the upstream is killed.
const UNDER_WAY: Duration = Duration::from_millis(300);
/// How long the gateway may take to serve again.
const MAX_RECOVERY: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The name of the upstream's program
    #[arg(long, default_value = "mcp-bench")]
    upstream: String,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    let place = *Size::K1.places(options.target.expect).first().context("too few resources")?;
    let listed = sizes::uri("bench", place);
    // The list may be a memory of an earlier run; an answer comes from the upstream itself.
    running.client.read(&listed, Size::K1.bytes()).await?;
    let upstream = process::descendant(running.id()?, &options.upstream)
        .context("the gateway started no such upstream")?;
    let mut caught = options.target.connect().await?;
    let uri = format!("bench://slow/{SLOW_MS}");
    let slow = async {
        let answer = caught.call("resources/read", json!({ "uri": uri })).await;
        (answer.map(<[u8]>::to_vec), Instant::now())
    };
    let kill = async {
        tokio::time::sleep(UNDER_WAY).await;
        let killed = Instant::now();
        signal("KILL", upstream).await.map(|()| killed)
    };
    let ((answer, answered), killed) = futures_util::future::join(slow, kill).await;
    let (answer, killed) = (answer?, killed?);
    let answer: Value = serde_json::from_slice(&answer)?;
    let code = answer["error"]["code"].as_i64().context("the request did not end in an error")?;
    ensure!(answered > killed, "the request ended before the upstream was killed");

    let mut refused = 0;
    while let Err(error) = running.client.read(&listed, Size::K1.bytes()).await {
        refused += 1;
        if killed.elapsed() > MAX_RECOVERY {
            bail!("not served again: {error}");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    print(&json!({
        "error_ms": millis(answered - killed),
        "error_code": code,
        "error_message": answer["error"]["message"],
        "served_again_ms": millis(killed.elapsed()),
        "refused_meanwhile": refused,
    }))?;
    running.stop().await
}
