//! Very many clients: idle ones, and ones that all ask at once.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Deserialize;
use serde_json::json;

use super::http::Http;
use super::message::Era;
use super::target::Target;
use super::{millis, print, process};

/// How many connections are made before the server is given a moment to take them.
const AT_A_TIME: usize = 200;

#[derive(Debug, Args)]
pub(super) struct Idle {
    /// How many connections to hold open
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    connections: usize,
    #[command(flatten)]
    target: Target,
}

/// Opens connections, each of which asks once and then nothing more, and weighs the server.
pub(super) async fn idle(options: &Idle) -> anyhow::Result<()> {
    raise_descriptors();
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    let id = running.id()?;
    let before = process::memory(id)?.now;
    let mut held = Vec::with_capacity(options.connections);
    for number in 0..options.connections {
        let mut client = options.target.visit(Era::Modern).await?;
        client.call("server/discover", json!({})).await?;
        held.push(client);
        if number % AT_A_TIME == 0 {
            tokio::task::yield_now().await;
        }
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let memory = process::memory(id)?;
    let began = Instant::now();
    options.target.visit(Era::Modern).await?.call("server/discover", json!({})).await?;
    let answer = began.elapsed();
    // All of them are still there: the first is as good as the last.
    held[0].call("server/discover", json!({})).await?;
    print(&json!({
        "connections": held.len(),
        "rss_before_kb": before,
        "rss_kb": memory.now,
        "answer_ms": millis(answer),
    }))?;
    drop(held);
    running.stop().await
}

#[derive(Debug, Args)]
pub(super) struct Readers {
    /// How many clients read at the same time
    #[arg(long, value_name = "N", default_value_t = 1000)]
    clients: usize,
    /// How many reads they make together
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    requests: usize,
    /// The servers, by name; each is a toy whose scheme is its name
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    servers: Vec<String>,
    /// How many resources each of them lists
    #[arg(long, value_name = "N", default_value_t = 100)]
    resources: usize,
    #[command(flatten)]
    target: Target,
}

/// The results of the reads of one client.
#[derive(Default)]
struct Tally {
    times: Vec<Duration>,
    errors: usize,
    wrong_owner: usize,
}

/// Reads from all servers with all clients, and looks whose text each answer carries.
pub(super) async fn readers(options: &Readers) -> anyhow::Result<()> {
    raise_descriptors();
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    let mut clients = Vec::new();
    for _ in 0..options.clients {
        clients.push(options.target.visit(Era::Modern).await?);
    }
    let each = options.requests.div_ceil(options.clients.max(1));
    let began = Instant::now();
    let work = clients
        .into_iter()
        .enumerate()
        .map(|(number, client)| read_all(options, number, client, each));
    let tallies = futures_util::future::join_all(work).await;
    let took = began.elapsed();
    let mut times: Vec<Duration> = tallies.iter().flat_map(|t| t.times.iter().copied()).collect();
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    let p99 = times.get((times.len() * 99 / 100).min(last)).context("no answer at all")?;
    print(&json!({
        "clients": options.clients,
        "requests": times.len(),
        "errors": tallies.iter().map(|t| t.errors).sum::<usize>(),
        "wrong_owner": tallies.iter().map(|t| t.wrong_owner).sum::<usize>(),
        "rps": times.len() as f64 / took.as_secs_f64(),
        "p99_ms": millis(*p99),
        "rss_kb": process::memory(running.id()?)?.now,
    }))?;
    running.stop().await
}

async fn read_all(options: &Readers, number: usize, mut client: Http, each: usize) -> Tally {
    let mut tally = Tally::default();
    for turn in 0..each {
        let name = &options.servers[(number + turn) % options.servers.len()];
        let uri = format!("{name}://item/{}", (number * 31 + turn * 7) % options.resources);
        let began = Instant::now();
        match client.call("resources/read", json!({ "uri": uri })).await {
            Ok(answer) => match text_of(answer) {
                Some(text) if text == format!("{name}|{uri}|") => {}
                Some(_) => tally.wrong_owner += 1,
                None => tally.errors += 1,
            },
            Err(_) => {
                tally.errors += 1;
                // The connection may be gone; without another every read would fail.
                match options.target.visit(Era::Modern).await {
                    Ok(another) => client = another,
                    Err(_) => return tally,
                }
            }
        }
        tally.times.push(began.elapsed());
    }
    tally
}

/// The text of the first content of an answer.
pub(super) fn text_of(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Content {
        text: String,
    }
    #[derive(Deserialize)]
    struct Contents {
        contents: Vec<Content>,
    }
    #[derive(Deserialize)]
    struct Answer {
        result: Contents,
    }
    let answer: Answer = serde_json::from_slice(answer).ok()?;
    Some(answer.result.contents.into_iter().next()?.text)
}

/// Lets this process have as many connections as it may.
pub(super) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, connecting will say so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
