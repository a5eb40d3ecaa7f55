//! How the cache has done so far.

use crate::metrics::Page;

/// How the cache has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Questions answered from what was kept.
    pub hits: u64,
    /// Questions for which a Source was asked.
    pub misses: u64,
    /// Questions that waited for the answer to another's.
    pub joined: u64,
    /// Questions answered with something stale, because the Source failed.
    pub stale: u64,
    /// Answers given up to make room.
    pub evictions: u64,
    /// Bytes kept.
    pub bytes: u64,
    /// Answers kept.
    pub entries: u64,
    /// Fetches under way.
    pub fetching: u64,
}

impl Stats {
    /// Writes the figures.
    pub fn write(&self, page: &mut Page) {
        page.counter("trove_cache_hits_total", "Answers from the cache.", self.hits);
        page.counter("trove_cache_misses_total", "Answers that were fetched.", self.misses);
        let joined = "Answers that waited for another's fetch.";
        page.counter("trove_cache_joined_total", joined, self.joined);
        let stale = "Stale answers, given because the Source failed.";
        page.counter("trove_cache_stale_total", stale, self.stale);
        let evictions = "Answers given up to make room.";
        page.counter("trove_cache_evictions_total", evictions, self.evictions);
        page.gauge("trove_cache_bytes", "Bytes kept.", self.bytes);
        page.gauge("trove_cache_entries", "Answers kept.", self.entries);
        page.gauge("trove_cache_fetching", "Fetches under way.", self.fetching);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_can_be_read_by_prometheus() {
        let mut page = Page::default();
        Stats { hits: 3, bytes: 4096, ..Stats::default() }.write(&mut page);
        let text = page.finish();
        assert!(text.contains("# TYPE trove_cache_hits_total counter\ntrove_cache_hits_total 3\n"));
        assert!(text.contains("# TYPE trove_cache_bytes gauge\ntrove_cache_bytes 4096\n"));
    }
}
