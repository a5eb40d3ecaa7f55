//! The standard mix of requests, and how much of it the catalogue and the cache answer.
//!
//! Ten Sources of a hundred resources. Of a hundred requests sixty read, some resources far more
//! often than others. Twenty search, fifteen list and five count. Before one read in two hundred
//! its resource changes. The cache is warm: a tenth of the requests goes before.

use std::sync::{Arc, atomic::Ordering};

use serde_json::{Value, json};
use trove_core::{
    Caller, PublicUri, Source as _,
    catalogue::List,
    gateway::Parts,
    resource::{Freshness, Scope},
    search::{Config, Query, Search},
    source::{Ask, SourceEvent},
};

use crate::{
    fake_source::FakeSource,
    gateway_box::{Asks as _, GatewayBox},
    numbers::Numbers,
};

const SOURCES: usize = 10;
const EACH: usize = 100;

/// Makes so many requests and tells the hit rates.
pub async fn run(requests: usize) -> anyhow::Result<Value> {
    let sources: Vec<Arc<FakeSource>> = (0..SOURCES).map(source).collect();
    let index = Arc::new(Search::open(None, Config::default(), None)?).into();
    let parts = Parts { index, ..Parts::new("mix") };
    let gateway = GatewayBox::of(parts, &sources.iter().collect::<Vec<_>>()).await;
    let gateway = gateway.gateway;
    let caller = Caller::local();
    let mut numbers = Numbers(11);
    let (mut reads, mut lists) = (0_u64, 0_u64);
    let mut before = (0, 0, 0);
    for n in 0..requests + requests / 10 {
        if n == requests / 10 {
            let stats = gateway.cache_stats();
            before = (stats.hits + stats.joined, stats.misses, listings(&sources));
            (reads, lists) = (0, 0);
        }
        match numbers.below(100) {
            0..60 => {
                let (s, r) = (numbers.below(SOURCES), numbers.skewed(EACH));
                if numbers.below(200) == 0 {
                    let changed = SourceEvent::Updated(uri(s, r).as_str().into());
                    gateway.feed().report(sources[s].id(), changed).await;
                }
                let uri = PublicUri::new(uri(s, r));
                gateway.read(&caller, &uri, Ask::default()).await?;
                reads += 1;
            }
            60..80 => {
                let query = Query::text(format!("notes {}", numbers.below(EACH)));
                gateway.find(&caller, query).await?;
            }
            80..95 => {
                gateway.list(&caller, List::Resources, None).await?;
                lists += 1;
            }
            _ => {
                gateway.view(&caller).await;
                lists += 1;
            }
        }
    }
    let stats = gateway.cache_stats();
    let (hits, misses) = (stats.hits + stats.joined - before.0, stats.misses - before.1);
    let asked = listings(&sources) - before.2;
    Ok(json!({
        "requests": requests,
        "reads": reads,
        "lists": lists,
        "content_hit_rate": hits as f64 / (hits + misses).max(1) as f64,
        "metadata_hit_rate": 1.0 - asked as f64 / lists.max(1) as f64,
        "cache_bytes": stats.bytes,
    }))
}

fn source(n: usize) -> Arc<FakeSource> {
    let source = FakeSource::new(&format!("s{n}"), &[]);
    for r in 0..EACH {
        let uri = uri(n, r);
        source.add_entry(
            &json!({ "uri": uri, "name": format!("notes {r}"), "mimeType": "text/plain" }),
        );
        source.give_text(&uri, "text/plain", &format!("notes {r} of {n} ").repeat(64));
    }
    source.say_freshness(Freshness { ttl_ms: 300_000, scope: Scope::Public });
    Arc::new(source)
}

fn uri(source: usize, resource: usize) -> String {
    format!("s{source}://notes/{resource}")
}

fn listings(sources: &[Arc<FakeSource>]) -> u64 {
    sources.iter().map(|source| source.listings.load(Ordering::Relaxed) as u64).sum()
}

impl Numbers {
    /// The first far more often than the last.
    fn skewed(&mut self, limit: usize) -> usize {
        let (a, b) = (self.below(limit), self.below(limit));
        a * b / limit
    }
}
