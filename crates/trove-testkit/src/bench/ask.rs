//! Questions again and again: how long their answers take.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use super::load::{MAX_BUSY, quantile};
use super::target::{Running, Target};
use super::{message, millis, print, process};

/// Enough for a median, and for the ticks of processor time to add up.
const MIN_ASKED: usize = 20;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// What to ask, as `METHOD PARAMS`; one measurement for each
    #[arg(long = "ask", value_name = "METHOD PARAMS", required = true)]
    questions: Vec<String>,
    /// How long to go on with each
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// Ask each exactly so often, however long that takes
    #[arg(long, value_name = "N")]
    times: Option<usize>,
    /// Ask all of them in turn, once the server is at rest: what one costs over another, whatever
    /// else the machine does meanwhile
    #[arg(long)]
    in_turn: bool,
    #[command(flatten)]
    target: Target,
}

/// One question, and how long its answers took.
struct Question {
    method: String,
    params: Value,
    times: Vec<Duration>,
    bytes: usize,
}

pub(super) async fn measure(options: &Options) -> anyhow::Result<()> {
    let mut running = options.target.start().await?;
    running.list_all(options.target.expect).await?;
    let id = running.id()?;
    let mut questions = Vec::new();
    for question in &options.questions {
        let (method, params) = question.split_once(' ').unwrap_or((question, "{}"));
        let params = serde_json::from_str(params).context("the params are no JSON")?;
        let (times, bytes) = (Vec::new(), 0);
        questions.push(Question { method: method.to_owned(), params, times, bytes });
    }
    if options.in_turn {
        process::rest(id, MAX_BUSY).await;
        ask(options, &mut running, &mut questions).await?;
        for question in &mut questions {
            print(&question.told())?;
        }
        return running.stop().await;
    }
    for question in &mut questions {
        let used = ask(options, &mut running, std::slice::from_mut(question)).await?;
        let mut told = question.told();
        told["cpu_ms"] = json!(used as f64 / question.times.len() as f64);
        print(&told)?;
    }
    running.stop().await
}

/// Asks each question once more than it counts: the first answer of its kind may have to be made.
/// Gives the milliseconds of processor time that the counted ones took.
async fn ask(
    options: &Options,
    running: &mut Running,
    questions: &mut [Question],
) -> anyhow::Result<u64> {
    for question in questions.iter_mut() {
        question.ask(running).await?;
        question.times.clear();
    }
    let id = running.id()?;
    let before = process::cpu_time(id).own;
    let end = Instant::now() + Duration::from_secs_f64(options.seconds * questions.len() as f64);
    loop {
        let asked = questions[0].times.len();
        let is_enough = match options.times {
            Some(times) => asked >= times,
            None => asked >= MIN_ASKED && Instant::now() >= end,
        };
        if is_enough {
            return Ok(process::cpu_time(id).own - before);
        }
        for question in questions.iter_mut() {
            question.ask(running).await?;
        }
    }
}

impl Question {
    async fn ask(&mut self, running: &mut Running) -> anyhow::Result<()> {
        let params = self.params.clone();
        let since = Instant::now();
        let answer = running.client.call(&self.method, params).await?;
        self.times.push(since.elapsed());
        self.bytes = answer.len();
        message::check(answer, 0)?;
        let is_refused = message::is_refused(answer);
        anyhow::ensure!(!is_refused, "the tool failed: {}", String::from_utf8_lossy(answer));
        Ok(())
    }

    fn told(&self) -> Value {
        json!({
            "asked": self.times.len(),
            "bytes": self.bytes,
            "p50_ms": millis(quantile(&self.times, 0.50)),
            "p95_ms": millis(quantile(&self.times, 0.95)),
            "p99_ms": millis(quantile(&self.times, 0.99)),
        })
    }
}
