//! Counters and histograms for Prometheus.
//!
//! One [`Metrics`] belongs to one gateway; none is global. Counting takes no lock but a shared
//! one on the table of names. A part that counts for itself, such as the cache, writes its own
//! figures to the [`Page`].

mod page;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;
use tokio::time::Instant;

use crate::failure::{CLASSES, Class};
pub use page::{CONTENT_TYPE, Page, Shape};

/// The most names that are counted apart; all further ones are counted as [`OTHER`].
pub const MAX_SERIES: usize = 500;

/// The name under which everything is counted that has no name of its own.
pub const OTHER: &str = "other";

/// The upper ends of what durations are counted by, as Prometheus reads them.
const BUCKETS: [(Duration, &str); 15] = [
    (Duration::from_micros(100), "0.0001"),
    (Duration::from_micros(250), "0.00025"),
    (Duration::from_micros(500), "0.0005"),
    (Duration::from_millis(1), "0.001"),
    (Duration::from_micros(2500), "0.0025"),
    (Duration::from_millis(5), "0.005"),
    (Duration::from_millis(10), "0.01"),
    (Duration::from_millis(25), "0.025"),
    (Duration::from_millis(50), "0.05"),
    (Duration::from_millis(100), "0.1"),
    (Duration::from_millis(250), "0.25"),
    (Duration::from_secs(1), "1"),
    (Duration::from_secs(5), "5"),
    (Duration::from_secs(30), "30"),
    (Duration::from_secs(120), "120"),
];

/// The counters and histograms of a gateway.
#[derive(Debug)]
pub struct Metrics {
    /// Requests of clients, by method.
    pub requests: Family,
    /// Calls of tools, by tool.
    pub tools: Family,
    /// Questions to Sources, by Source.
    pub sources: Family,
    /// Failures that callers were told of, by class.
    pub failures: Failures,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            requests: Family::new("trove_request", "method", "Requests of clients"),
            tools: Family::new("trove_tool_call", "tool", "Calls of tools"),
            sources: Family::new("trove_source_request", "source", "Questions to Sources"),
            failures: Failures::default(),
        }
    }
}

impl Metrics {
    /// Writes everything that was counted.
    pub fn write(&self, page: &mut Page) {
        for family in [&self.requests, &self.tools, &self.sources] {
            family.write(page);
        }
        self.failures.write(page);
    }
}

/// How often there was a failure of each class.
#[derive(Debug, Default)]
pub struct Failures([AtomicU64; CLASSES]);

impl Failures {
    /// Counts one.
    pub fn count(&self, class: Class) {
        self.0[class as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn write(&self, page: &mut Page) {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        let counted: Vec<(Class, u64)> =
            Class::all().zip(counts).filter(|(_, count)| *count > 0).collect();
        if counted.is_empty() {
            return;
        }
        page.head("trove_failures_total", Shape::Counter, "Failures, by class.");
        for (class, count) in counted {
            page.sample("trove_failures_total", &[("class", class.label())], count);
        }
    }
}

/// Work of one sort, counted and timed by name.
#[derive(Debug)]
pub struct Family {
    prefix: &'static str,
    label: &'static str,
    what: &'static str,
    series: RwLock<BTreeMap<Box<str>, Arc<Series>>>,
}

/// How work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With an answer.
    Ok,
    /// With an error.
    Error,
}

#[derive(Debug, Default)]
struct Series {
    ok: AtomicU64,
    error: AtomicU64,
    cancelled: AtomicU64,
    under_way: AtomicU64,
    /// How many took at most as long as each bucket and longer than the one before; the
    /// last is for those longer than any.
    taken: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

/// Work under way. One that is dropped before its end was cancelled.
#[derive(Debug)]
pub struct Timer {
    series: Arc<Series>,
    began: Instant,
    has_ended: bool,
}

impl Family {
    fn new(prefix: &'static str, label: &'static str, what: &'static str) -> Family {
        Family { prefix, label, what, series: RwLock::default() }
    }

    /// Begins work under a name. Names that clients make up must not come here, or they
    /// push out the true ones.
    pub fn begin(&self, name: &str) -> Timer {
        let series = self.series_of(name);
        series.under_way.fetch_add(1, Ordering::Relaxed);
        Timer { series, began: Instant::now(), has_ended: false }
    }

    fn series_of(&self, name: &str) -> Arc<Series> {
        let known = self.series.read();
        if let Some(series) = known.get(name) {
            return series.clone();
        }
        drop(known);
        let mut all = self.series.write();
        let has_room = all.len() < MAX_SERIES || all.contains_key(name);
        let name = if has_room { name } else { OTHER };
        all.entry(name.into()).or_default().clone()
    }

    fn write(&self, page: &mut Page) {
        let all = self.series.read().clone();
        if all.is_empty() {
            return;
        }
        let Family { prefix, label, what, .. } = self;
        let total = format!("{prefix}s_total");
        page.head(&total, Shape::Counter, &format!("{what}, by {label} and outcome."));
        for (name, series) in &all {
            let outcomes =
                [("ok", &series.ok), ("error", &series.error), ("cancelled", &series.cancelled)];
            for (outcome, count) in outcomes {
                let labels = [(*label, name.as_ref()), ("outcome", outcome)];
                page.sample(&total, &labels, count.load(Ordering::Relaxed));
            }
        }
        let under_way = format!("{prefix}s_in_flight");
        page.head(&under_way, Shape::Gauge, &format!("{what} under way, by {label}."));
        for (name, series) in &all {
            let count = series.under_way.load(Ordering::Relaxed);
            page.sample(&under_way, &[(label, name)], count);
        }
        let duration = format!("{prefix}_duration_seconds");
        page.head(&duration, Shape::Histogram, &format!("How long they took, by {label}."));
        for (name, series) in &all {
            series.write_durations(page, &duration, (label, name));
        }
    }
}

impl Series {
    fn take(&self, duration: Duration) {
        let bucket = BUCKETS.partition_point(|(end, _)| *end < duration);
        self.taken[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn write_durations(&self, page: &mut Page, name: &str, label: (&str, &str)) {
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        let ends = BUCKETS.iter().map(|(_, end)| *end).chain(["+Inf"]);
        for (taken, end) in self.taken.iter().zip(ends) {
            count += taken.load(Ordering::Relaxed);
            page.sample(&bucket, &[label, ("le", end)], count);
        }
        let sum = Duration::from_micros(self.micros.load(Ordering::Relaxed));
        page.sample(&format!("{name}_sum"), &[label], sum.as_secs_f64());
        // The count equals the last bucket, even if more was counted meanwhile.
        page.sample(&format!("{name}_count"), &[label], count);
    }
}

impl Timer {
    /// The work has ended.
    pub fn end(mut self, ending: Ending) {
        self.has_ended = true;
        let count = match ending {
            Ending::Ok => &self.series.ok,
            Ending::Error => &self.series.error,
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.series.take(self.began.elapsed());
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.series.under_way.fetch_sub(1, Ordering::Relaxed);
        if !self.has_ended {
            self.series.cancelled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(metrics: &Metrics) -> String {
        let mut page = Page::default();
        metrics.write(&mut page);
        page.finish()
    }

    #[track_caller]
    fn check(text: &str, line: &str) {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_counted_by_outcome_and_timed() {
        let metrics = Metrics::default();
        for (millis, ending) in [(1, Ending::Ok), (20, Ending::Ok), (400_000, Ending::Error)] {
            let timer = metrics.requests.begin("resources/read");
            tokio::time::advance(Duration::from_millis(millis)).await;
            timer.end(ending);
        }
        drop(metrics.requests.begin("resources/read"));
        let still_going = metrics.requests.begin("resources/read");
        let text = text(&metrics);
        check(&text, "# TYPE trove_requests_total counter");
        check(&text, "trove_requests_total{method=\"resources/read\",outcome=\"ok\"} 2");
        check(&text, "trove_requests_total{method=\"resources/read\",outcome=\"error\"} 1");
        check(&text, "trove_requests_total{method=\"resources/read\",outcome=\"cancelled\"} 1");
        check(&text, "trove_requests_in_flight{method=\"resources/read\"} 1");
        check(&text, "# TYPE trove_request_duration_seconds histogram");
        let bucket = |end: &str, count: u32| {
            let labels = format!("{{method=\"resources/read\",le=\"{end}\"}}");
            check(&text, &format!("trove_request_duration_seconds_bucket{labels} {count}"));
        };
        bucket("0.0005", 0);
        bucket("0.001", 1);
        bucket("0.025", 2);
        bucket("120", 2);
        bucket("+Inf", 3);
        check(&text, "trove_request_duration_seconds_sum{method=\"resources/read\"} 400.021");
        check(&text, "trove_request_duration_seconds_count{method=\"resources/read\"} 3");
        assert!(!text.contains("trove_tool"), "what never happened is not shown");
        drop(still_going);
    }

    #[tokio::test]
    async fn names_past_the_bound_are_counted_together() {
        let metrics = Metrics::default();
        for n in 0..MAX_SERIES + 20 {
            metrics.tools.begin(&format!("tool-{n}")).end(Ending::Ok);
        }
        let text = text(&metrics);
        check(&text, "trove_tool_calls_total{tool=\"tool-0\",outcome=\"ok\"} 1");
        check(&text, "trove_tool_calls_total{tool=\"other\",outcome=\"ok\"} 20");
        assert!(!text.contains(&format!("tool-{}\"", MAX_SERIES + 1)));
    }

    #[test]
    fn buckets_are_in_order_and_written_as_they_are() {
        assert!(BUCKETS.is_sorted_by_key(|(end, _)| *end));
        for (end, text) in BUCKETS {
            assert_eq!(text.parse::<f64>().unwrap(), end.as_secs_f64());
        }
    }

    #[tokio::test]
    async fn two_gateways_count_apart() {
        let (one, two) = (Metrics::default(), Metrics::default());
        one.sources.begin("fs").end(Ending::Ok);
        assert!(text(&one).contains("fs"));
        assert_eq!(text(&two), "");
    }
}
