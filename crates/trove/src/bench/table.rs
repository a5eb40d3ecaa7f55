//! The measurements, for people.

use std::fmt::Write as _;

use super::figures::{OfServer, Reads, Report};
use crate::style::{Paint, plain};

const HEAD: [&str; 9] = [
    "server",
    "resources",
    "list ms",
    "read ms",
    "p95",
    "via Trove",
    "p95",
    "added ms",
    "per second, via Trove",
];
/// The sign where there is no measurement.
const NOTHING: &str = "–";

/// A line a server, then what is true of all.
pub(crate) fn as_text(report: &Report, paint: Paint) -> String {
    let rows: Vec<Vec<String>> = report.servers.iter().map(row).collect();
    let head: Vec<String> = HEAD.iter().map(|&name| name.to_owned()).collect();
    let width = |n: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(n));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let line = |row: &[String]| {
        let mut cells = row.iter().zip(&widths);
        let first = cells.next().map(|(cell, width)| format!("{cell:<width$}"));
        let rest = cells.map(|(cell, width)| format!("{cell:>width$}"));
        first.into_iter().chain(rest).collect::<Vec<_>>().join("  ")
    };
    let mut text = format!("{}\n", paint.strong(&line(&head)));
    for row in &rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line(row));
    }
    for note in report.servers.iter().flat_map(notes) {
        let _ = writeln!(text, "note: {note}");
    }
    let list = &report.list;
    let _ = writeln!(
        text,
        "Everything listed: {} ms from the servers one after another, {} ms from Trove ({} resources).",
        figure(list.direct_ms),
        figure(list.through_ms),
        list.resources
    );
    let _ = writeln!(
        text,
        "{} reads each way, one at a time, then {} at once for the reads per second.",
        report.reads, report.concurrency
    );
    text
}

fn row(server: &OfServer) -> Vec<String> {
    let figures = |reads: &Reads| {
        let (direct, through) = (&reads.direct, &reads.through);
        let times = [direct.p50_ms, direct.p95_ms, through.p50_ms, through.p95_ms, reads.added_ms];
        let rates = format!("{}, {}", figure(direct.per_second), figure(through.per_second));
        times.map(figure).into_iter().chain([rates]).collect::<Vec<_>>()
    };
    let mut row = vec![plain(&server.id), server.resources.to_string()];
    row.push(server.list_ms.map_or(NOTHING.to_owned(), figure));
    match &server.read {
        Some(reads) => row.extend(figures(reads)),
        None => row.extend(vec![NOTHING.to_owned(); HEAD.len() - row.len()]),
    }
    row
}

fn notes(server: &OfServer) -> Vec<String> {
    let id = plain(&server.id);
    let mut notes = Vec::new();
    notes.extend(server.error.as_ref().map(|error| format!("{id}: {}", plain(error))));
    let Some(reads) = &server.read else { return notes };
    if reads.unreadable > 0 {
        let all = reads.sampled + reads.unreadable;
        notes.push(format!("{id}: {} of {all} resources could not be read", reads.unreadable));
    }
    if reads.cached > 0.0 {
        let share = (reads.cached * 100.0).round();
        notes.push(format!("{id}: Trove answered {share} % of the reads from its cache"));
    }
    for (way, failed) in [("itself", reads.direct.failed), ("via Trove", reads.through.failed)] {
        if failed > 0 {
            notes.push(format!("{id}: {failed} reads {way} failed and are not counted"));
        }
    }
    notes
}

/// Rounds to about three digits, e.g. `123`, `12.3` or `1.23`.
fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        small if small >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::{Lists, Way};

    #[test]
    fn servers_stand_under_each_other_and_trouble_below() {
        let way = |ms, per_second| Way { p50_ms: ms, p95_ms: 2.0 * ms, per_second, failed: 0 };
        let read = Reads {
            sampled: 9,
            unreadable: 1,
            bytes: 100,
            direct: way(0.25, 4000.0),
            through: Way { failed: 2, ..way(0.375, 3100.0) },
            added_ms: 0.125,
            cached: 0.5,
        };
        let server = |id: &str, list_ms, read, error| OfServer {
            id: id.to_owned(),
            resources: 10,
            list_ms,
            read,
            error,
        };
        let report = Report {
            servers: vec![
                server("docs", Some(1.5), Some(read), None),
                server("gone", None, None, Some("no\u{1b} answer".to_owned())),
            ],
            list: Lists { direct_ms: 1.5, through_ms: 0.75, resources: 14 },
            reads: 100,
            concurrency: 4,
        };
        let expected = [
            "server  resources  list ms  read ms    p95  via Trove    p95  added ms  per second, via Trove",
            "docs           10     1.50    0.250  0.500      0.375  0.750     0.125             4000, 3100",
            "gone           10        –        –      –          –      –         –                      –",
            "note: docs: 1 of 10 resources could not be read",
            "note: docs: Trove answered 50 % of the reads from its cache",
            "note: docs: 2 reads via Trove failed and are not counted",
            "note: gone: no\\u{1b} answer",
            "Everything listed: 1.50 ms from the servers one after another, 0.750 ms from Trove (14 resources).",
            "100 reads each way, one at a time, then 4 at once for the reads per second.",
        ];
        let text = as_text(&report, Paint::none());
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
