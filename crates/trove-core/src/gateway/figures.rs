//! What the gateway has counted, as a page for Prometheus.

use super::Gateway;
use crate::{
    metrics::{Page, Shape},
    status::State,
};

impl Gateway {
    /// Everything that is counted, in the Prometheus text format.
    pub fn figures(&self) -> String {
        let mut page = Page::default();
        self.metrics.write(&mut page);
        self.cache.stats().write(&mut page);
        self.write_catalogue(&mut page);
        page.finish()
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
