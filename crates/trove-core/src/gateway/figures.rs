//! The gateway's counts, as a page for Prometheus.

use super::Gateway;
use crate::{
    caller::{Caller, Door},
    metrics::{Page, Shape},
    search::Everything,
    status::State,
};

/// How many of the most read resources are named.
const MOST_READ: usize = 10;

impl Gateway {
    /// Everything that is counted, in the Prometheus text format.
    pub fn figures(&self) -> String {
        let mut page = Page::default();
        self.metrics.write(&mut page);
        self.cache.stats().write(&mut page);
        self.write_catalogue(&mut page);
        self.write_index(&mut page);
        page.finish()
    }

    fn write_index(&self, page: &mut Page) {
        let Some(search) = self.search() else { return };
        let (status, coverage) = (search.status(), search.coverage(&Everything));
        page.gauge("trove_index_entries", "Resources the index knows.", status.entries);
        page.gauge("trove_index_indexed", "Resources whose content is indexed.", coverage.indexed);
        let told = "Resources whose content is to be indexed.";
        page.gauge("trove_index_indexable", told, coverage.indexable);
        page.gauge("trove_index_vectors", "Vectors the index has.", status.vectors);
        page.gauge("trove_index_bytes", "Bytes the index takes.", status.bytes);
        let told = "KiB that wait to be written to the index.";
        page.gauge("trove_index_queued_kib", told, status.queued_kib);
        let told = "Contents that are still to be read for the index.";
        page.gauge("trove_index_lag", told, coverage.indexable.saturating_sub(coverage.indexed));
        let told = "Resources that have no vectors of what they are now.";
        page.gauge("trove_index_meaning_lag", told, search.awaiting_meaning());
        // A resource that is not open to every caller is not named to the scraper.
        let nobody = Caller::behind(Door::Http);
        let name = "trove_resource_reads";
        page.head(name, Shape::Gauge, "How often the most read resources were read.");
        for (uri, reads) in self.most_read(&nobody, MOST_READ) {
            page.sample(name, &[("uri", uri.as_str())], reads);
        }
    }

    fn write_catalogue(&self, page: &mut Page) {
        let snapshot = self.current();
        page.gauge("trove_resources", "Resources listed.", snapshot.resources().len());
        page.gauge("trove_templates", "Templates listed.", snapshot.templates().len());
        let sources = self.board.all();
        page.head("trove_source_up", Shape::Gauge, "Whether a Source answers.");
        for (id, status) in &sources {
            let is_up = u8::from(status.state == State::Ready);
            page.sample("trove_source_up", &[("source", id.as_str())], is_up);
        }
        page.head("trove_source_resources", Shape::Gauge, "Resources a Source lists.");
        for (id, status) in &sources {
            let labels = [("source", id.as_str())];
            page.sample("trove_source_resources", &labels, status.counts.resources);
        }
        let name = "trove_source_connects_total";
        page.head(name, Shape::Counter, "How often a Source was connected.");
        for (id, status) in &sources {
            page.sample(name, &[("source", id.as_str())], status.connects);
        }
    }
}
