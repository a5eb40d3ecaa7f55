//! `trove logs`: the log of a running Trove, or of one of its servers.

use std::time::Duration;

use serde_json::Value;

use super::{Class, Failed, ask_running, configure, ls::plain, say};
use crate::{
    cli::{Global, Logs},
    config::{Loaded, Overrides},
    errand::{Errand, What},
    telemetry,
};

/// How often it is looked for more.
const LOOK: Duration = Duration::from_millis(500);

pub(super) fn logs(global: &Global, logs: &Logs) -> Result<(), Failed> {
    let (loaded, _) = configure(global, Overrides::default())?;
    telemetry::start(global, "error");
    let mut answer = ask(global, &loaded, logs, 0)?;
    if logs.output.json && !logs.follow {
        say(&format!("{answer}\n"));
        return Ok(());
    }
    let mut seen = Vec::new();
    let mut last = 0;
    loop {
        let lines: Vec<String> = answer["lines"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|line| line.as_str().map(str::to_owned))
            .collect();
        // A server's lines have no numbers; the seen lines stand before the new.
        let new = if logs.server.is_some() { behind(&seen, &lines) } else { lines.as_slice() };
        for line in new {
            say(&if logs.output.json {
                format!("{}\n", Value::from(line.as_str()))
            } else {
                format!("{}\n", plain(line))
            });
        }
        if !logs.follow {
            return Ok(());
        }
        last = answer["last"].as_u64().unwrap_or(last);
        seen = lines;
        std::thread::sleep(LOOK);
        answer = ask(global, &loaded, logs, last)?;
    }
}

fn ask(global: &Global, loaded: &Loaded, logs: &Logs, after: u64) -> Result<Value, Failed> {
    let what = What::Logs { server: logs.server.clone(), after };
    let answer = ask_running(global, loaded, &Errand::new(what, 0)).ok_or_else(|| {
        let message = "no Trove answers for this configuration; `trove up` starts one, and \
                       `trove status` shows the last words of servers that fail";
        Failed::new(Class::Unreachable, message)
    })??;
    Ok(serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// The lines of `now` that come after those of `before`, of which the oldest may be gone, e.g. `d`
/// of `b c d` after `a b c`.
fn behind<'a>(before: &[String], now: &'a [String]) -> &'a [String] {
    let known =
        (0..=before.len().min(now.len())).rev().find(|&count| before.ends_with(&now[..count]));
    &now[known.unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_are_shown_though_old_ones_went() {
        let lines = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let check = |before: &str, now: &str, new: &str| {
            assert_eq!(behind(&lines(before), &lines(now)), lines(new), "{before} then {now}");
        };
        check("", "a b", "a b");
        check("a b", "a b", "");
        check("a b c", "b c d", "d");
        check("a b", "x y", "x y");
    }
}
