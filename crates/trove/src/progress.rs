//! How far servers and index have come, drawn on a terminal while Trove starts.
//!
//! Draws on stderr and only there; whether that is a terminal is settled before.

use std::{
    cell::Cell,
    convert::Infallible,
    fmt::Write as _,
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use trove_core::{
    Caller, Gateway,
    search::Coverage,
    status::{SourceStatus, State},
};

use crate::style::{Paint, plain};

/// How often it is drawn anew.
const FRAME: Duration = Duration::from_millis(120);
/// Shorter waits need no picture.
const PATIENCE: Duration = Duration::from_millis(700);
/// After this long it is left as it is; the page shows the rest.
const MAX_SHOWN: Duration = Duration::from_secs(600);
/// The most servers that get a line of their own.
const MAX_LINES: usize = 20;
/// The longest name, error or count on a line.
const MAX_WIDTH: usize = 60;
/// The longest sentence on what is made of a server's tools.
const MAX_SENTENCE: usize = 90;
/// How many letters the bar has.
const BAR: usize = 24;

/// Draws until everything is there.
pub(crate) async fn show(gateway: Arc<Gateway>, paint: Paint) {
    let began = Instant::now();
    let can_redraw = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    let mut drawn = String::new();
    loop {
        let (text, is_done) = frame(&gateway, began.elapsed(), paint);
        let is_over = is_done || began.elapsed() > MAX_SHOWN;
        if text != drawn && (can_redraw || is_over) {
            draw(drawn.lines().count(), &text);
            drawn = text;
        }
        if is_over {
            return;
        }
        tokio::time::sleep(FRAME).await;
    }
}

/// Draws while something is awaited that takes its time, and wipes it away again.
pub(crate) async fn during<T>(gateway: &Gateway, paint: Paint, work: impl Future<Output = T>) -> T {
    let lines = Cell::new(0);
    let outcome = tokio::select! {
        outcome = work => outcome,
        never = for_ever(gateway, paint, &lines) => match never {},
    };
    draw(lines.get(), "");
    outcome
}

async fn for_ever(gateway: &Gateway, paint: Paint, lines: &Cell<usize>) -> Infallible {
    tokio::time::sleep(PATIENCE).await;
    let began = Instant::now();
    loop {
        let (text, _) = frame(gateway, began.elapsed(), paint);
        draw(lines.replace(text.lines().count()), &text);
        tokio::time::sleep(FRAME).await;
    }
}

/// Puts a text in place of the last lines.
fn draw(last: usize, text: &str) {
    let back = if last > 0 { format!("\x1b[{last}A\x1b[J") } else { String::new() };
    // A frame that cannot be drawn does no harm.
    let _ = std::io::stderr().lock().write_all(format!("{back}{text}").as_bytes());
}

/// The picture for now, and whether it is the last.
fn frame(gateway: &Gateway, passed: Duration, paint: Paint) -> (String, bool) {
    let all = gateway.board().all();
    let servers: Vec<_> = all.iter().filter(|(_, one)| one.transport != "builtin").collect();
    let mut text = String::new();
    for (id, status) in servers.iter().take(MAX_LINES) {
        let (mark, words) = line(status, paint);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {mark} {:<20} {words}", plain(id.as_str()));
    }
    if servers.len() > MAX_LINES {
        let _ = writeln!(text, "    and {} more", servers.len() - MAX_LINES);
    }
    let is_settled = servers.iter().all(|(_, status)| is_over(status));
    let coverage = gateway.coverage(&Caller::local());
    let has_read = gateway.search().is_some_and(|search| search.pending(1).is_empty());
    match coverage {
        Some(coverage) if coverage.indexable > 0 => {
            let _ = writeln!(text, "  {}", index_line(&coverage, passed, has_read));
        }
        _ => {}
    }
    (text, is_settled && has_read)
}

fn is_over(status: &SourceStatus) -> bool {
    status.is_settled() || status.state == State::Idle
}

fn line(status: &SourceStatus, paint: Paint) -> (String, String) {
    match (status.state, &status.last_error) {
        (State::Ready, _) if status.is_settled() => {
            let counts = &status.counts;
            let words = match status.from_tools() {
                Some(said) => cut(&said, MAX_SENTENCE),
                None => format!("{} resources, {} templates", counts.resources, counts.templates),
            };
            (paint.good("✓"), words)
        }
        (State::Ready, _) => ("…".to_owned(), "listing".to_owned()),
        (State::Idle, Some(why)) => ("-".to_owned(), shortened(&why.to_string())),
        (_, Some(why)) => (paint.bad("✗"), shortened(&why.to_string())),
        (state, None) => ("…".to_owned(), state.as_str().to_owned()),
    }
}

fn shortened(text: &str) -> String {
    cut(text, MAX_WIDTH)
}

fn cut(text: &str, most: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most).chain(['…']).collect()
}

/// A bar with counts, rate and the time that remains.
fn index_line(coverage: &Coverage, passed: Duration, has_read: bool) -> String {
    let (done, all) = (coverage.indexed, coverage.indexable.max(coverage.indexed));
    if has_read {
        return format!("indexed {done} of {all} in {:.1} s", passed.as_secs_f64());
    }
    let full = (done * BAR).checked_div(all).unwrap_or(BAR);
    let rate = done as f64 / passed.as_secs_f64().max(0.001);
    let mut text =
        format!("indexing [{}{}] {done} of {all}", "#".repeat(full), "-".repeat(BAR - full));
    if rate >= 1.0 {
        let left = (all - done) as f64 / rate;
        let _ = write!(text, ", {rate:.0} a second, {left:.0} s left");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_counts_and_tells_what_is_left() {
        let coverage = Coverage { indexed: 50, indexable: 200, ..Coverage::default() };
        assert_eq!(
            index_line(&coverage, Duration::from_secs(5), false),
            "indexing [######------------------] 50 of 200, 10 a second, 15 s left"
        );
        assert_eq!(
            index_line(&coverage, Duration::from_secs(5), true),
            "indexed 50 of 200 in 5.0 s"
        );
    }

    #[test]
    fn a_server_of_tools_alone_says_what_is_made_of_them() {
        let mut status = SourceStatus::new("stdio");
        (status.state, status.tools) = (State::Ready, Some(12));
        let words = |status: &SourceStatus| line(status, Paint::none()).1;
        assert_eq!(words(&status), "12 tools, no resources, and no recipe for them");
        let (name, why) = ("filesystem".to_owned(), Vec::new());
        status.recipe = Some(trove_core::status::Recipe { name, why, made: 3420 });
        status.counts.resources = 3420;
        let said = "12 tools, no resources of its own: recipe filesystem makes 3,420";
        assert_eq!(words(&status), said);
        status.counts.resources = 3421;
        assert_eq!(words(&status), "12 tools: recipe filesystem makes 3,420");
    }

    #[test]
    fn a_failing_server_says_why_without_steering_the_terminal() {
        let mut status = SourceStatus::new("stdio");
        status.state = State::Backoff;
        status.last_error =
            Some(trove_core::source::Outage::passing(format!("\u{1b}[2J{}", "x".repeat(99))));
        let (mark, words) = line(&status, Paint::none());
        assert_eq!(mark, "✗");
        assert!(words.starts_with("\\u{1b}[2Jxx") && words.chars().count() == MAX_WIDTH + 1);
    }
}
