//! Browsing: rows by server, scheme, type, size and age, in pages and as a tree.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    extract::{Request, State},
    response::Response,
};
use serde_json::{Value, json};
use trove_core::uri::scheme;

use super::{
    Web,
    answer::{Answer, json_of},
    query::Query,
    rows::{Row, Rows},
};

/// The most rows of one answer.
const MAX_ROWS: usize = 500;
/// The most children of one branch of the tree.
const MAX_CHILDREN: usize = 1000;
/// How many orders are kept for pages that are scrolled.
const KEPT_ORDERS: usize = 8;

const SIZES: [(&str, u64); 5] = [
    ("under 1 KB", 1 << 10),
    ("1 to 10 KB", 10 << 10),
    ("10 to 100 KB", 100 << 10),
    ("100 KB to 1 MB", 1 << 20),
    ("over 1 MB", u64::MAX),
];
const DAY: i64 = 24 * 3600;
const AGES: [(&str, i64); 5] = [
    ("last day", DAY),
    ("last week", 7 * DAY),
    ("last month", 31 * DAY),
    ("last year", 366 * DAY),
    ("older", i64::MAX),
];
const UNKNOWN: &str = "unknown";

/// The members by which rows are chosen. Each may have several values, of which one must fit.
const FACETS: [&str; 5] = ["server", "scheme", "type", "size", "age"];

/// The rows that fit, in order, and how many there are by each facet.
pub(super) struct Order {
    rows: Vec<u32>,
    facets: Value,
}

/// `GET /api/resources`: a page of the rows that fit, counted from `offset`.
pub(super) async fn resources(State(web): State<Arc<Web>>, request: Request) -> Response {
    let query = Query::of(request.uri());
    web.gateway.browse(&web.caller()).await;
    let rows = web.rows.rows(&web.gateway, &web.caller()).await;
    let order = order(&rows, request.uri().query().unwrap_or_default(), &query);
    let offset = query.number("offset", 0).min(order.rows.len());
    let end = (offset + query.number("limit", 100).min(MAX_ROWS)).min(order.rows.len());
    let page = &order.rows[offset..end];
    let shown: Vec<Value> = page.iter().map(|&n| rows.shown(&rows.all[n as usize])).collect();
    json_of(&json!({
        "revision": rows.view.snapshot().revision(),
        "total": order.rows.len(),
        "offset": offset,
        "rows": shown,
        "facets": if offset == 0 { &order.facets } else { &Value::Null },
    }))
}

/// The order of the rows. Each page that is scrolled to asks for it again.
fn order(rows: &Rows, asked: &str, query: &Query) -> Arc<Order> {
    let is_place = |pair: &&str| pair.starts_with("offset=") || pair.starts_with("limit=");
    let key: Vec<&str> = asked.split('&').filter(|pair| !is_place(pair)).collect();
    let key = key.join("&");
    let kept = || rows.orders.lock();
    if let Some((_, order)) = kept().iter().find(|(own, _)| *own == key) {
        return order.clone();
    }
    let order = Arc::new(choose(rows, query));
    let mut orders = kept();
    if orders.len() >= KEPT_ORDERS {
        orders.remove(0);
    }
    orders.push((key, order.clone()));
    order
}

fn choose(rows: &Rows, query: &Query) -> Order {
    let wanted = FACETS.map(|facet| query.all(facet).collect::<Vec<&str>>());
    let under = query.get("under").unwrap_or_default();
    let words: Vec<String> =
        query.get("q").unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let now = seconds_now();
    let mut counts: [BTreeMap<&str, usize>; FACETS.len()] = Default::default();
    let mut fitting: Vec<u32> = Vec::new();
    for (row, n) in rows.all.iter().zip(0u32..) {
        if !row.uri.as_str().starts_with(under)
            || !words.iter().all(|word| rows.whole(row).contains(word))
        {
            continue;
        }
        let values = values(rows, row, now);
        let fits =
            |facet: usize| wanted[facet].is_empty() || wanted[facet].contains(&values[facet]);
        let mut unfit = (0..FACETS.len()).filter(|facet| !fits(*facet));
        match (unfit.next(), unfit.next()) {
            (None, _) => {
                fitting.push(n);
                for (counts, value) in counts.iter_mut().zip(values) {
                    *counts.entry(value).or_default() += 1;
                }
            }
            // The other values of a facet are counted as if none were chosen yet.
            (Some(facet), None) => *counts[facet].entry(values[facet]).or_default() += 1,
            (Some(_), Some(_)) => {}
        }
    }
    sort(rows, &mut fitting, query.get("sort").unwrap_or_default());
    Order { rows: fitting, facets: facets(&counts) }
}

fn values<'a>(rows: &'a Rows, row: &'a Row, now: i64) -> [&'a str; FACETS.len()] {
    let kind = rows.types[row.kind as usize].as_str();
    [
        rows.server(row),
        scheme(row.uri.as_str()).unwrap_or(UNKNOWN),
        if kind.is_empty() { UNKNOWN } else { kind },
        bucket(&SIZES, row.size),
        bucket(&AGES, row.modified.map(|at| now.saturating_sub(at))),
    ]
}

fn bucket<T: PartialOrd + Copy>(buckets: &[(&'static str, T)], value: Option<T>) -> &'static str {
    let Some(value) = value else { return UNKNOWN };
    let found = buckets.iter().find(|(_, end)| value < *end).or(buckets.last());
    found.map_or(UNKNOWN, |(name, _)| name)
}

fn facets(counts: &[BTreeMap<&str, usize>; FACETS.len()]) -> Value {
    let mut all = serde_json::Map::new();
    for (facet, counts) in FACETS.iter().zip(counts) {
        let mut pairs: Vec<(&&str, &usize)> = counts.iter().collect();
        match *facet {
            // These have an order of their own.
            "size" => pairs.sort_by_key(|(name, _)| SIZES.iter().position(|(n, _)| n == *name)),
            "age" => pairs.sort_by_key(|(name, _)| AGES.iter().position(|(n, _)| n == *name)),
            _ => pairs.sort_by_key(|(_, count)| std::cmp::Reverse(**count)),
        }
        pairs.truncate(MAX_CHILDREN);
        all.insert((*facet).to_owned(), json!(pairs));
    }
    Value::Object(all)
}

fn sort(rows: &Rows, fitting: &mut [u32], by: &str) {
    let row = |n: &u32| &rows.all[*n as usize];
    match by {
        "name" => fitting.sort_by_cached_key(|n| rows.words(row(n))[0].to_owned()),
        "uri" => fitting.sort_by(|a, b| row(a).uri.cmp(&row(b).uri)),
        "size" => fitting.sort_by_key(|n| std::cmp::Reverse(row(n).size)),
        "modified" => fitting.sort_by_key(|n| std::cmp::Reverse(row(n).modified)),
        // What Trove says of itself comes last: people look for what is theirs.
        _ => fitting.sort_by_key(|n| rows.is_of_trove(row(n))),
    }
}

fn seconds_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// `GET /api/tree`: what stands next below a place: the schemes of a server, then the
/// parts of their paths.
pub(super) async fn tree(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let rows = web.rows.rows(&web.gateway, &web.caller()).await;
    let server = query.get("server");
    let under = query.get("under").unwrap_or_default();
    let mut children: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for row in &rows.all {
        let uri = row.uri.as_str();
        if server.is_some_and(|server| rows.server(row) != server) || !uri.starts_with(under) {
            continue;
        }
        let end = next_part(uri, under.len());
        let child = children.entry(&uri[..end]).or_default();
        child.0 += 1;
        child.1 |= end < uri.len();
    }
    let total = children.len();
    let shown = children.into_iter().take(MAX_CHILDREN).map(|(place, (count, is_branch))| {
        json!({ "under": place, "label": &place[under.len()..], "count": count, "branch": is_branch })
    });
    Ok(json_of(&json!({ "children": shown.collect::<Vec<_>>(), "total": total })))
}

/// `GET /api/map`: how many resources of each server and type there are, how many bytes they say
/// they have, and when the newest was changed.
pub(super) async fn map(State(web): State<Arc<Web>>) -> Response {
    let rows = web.rows.rows(&web.gateway, &web.caller()).await;
    let mut areas: BTreeMap<(&str, u32), Area> = BTreeMap::new();
    for row in &rows.all {
        let area = areas.entry((rows.server(row), row.kind)).or_default();
        area.count += 1;
        area.bytes = area.bytes.saturating_add(row.size.unwrap_or_default());
        area.newest = area.newest.max(row.modified);
    }
    let shown = areas.into_iter().take(MAX_CHILDREN).map(|((server, kind), area)| {
        let kind = rows.types[kind as usize].as_str();
        json!({
            "server": server,
            "type": if kind.is_empty() { UNKNOWN } else { kind },
            "count": area.count,
            "bytes": area.bytes,
            "newest": area.newest,
        })
    });
    json_of(&json!({ "areas": shown.collect::<Vec<_>>() }))
}

/// The resources of one server and type.
#[derive(Default)]
struct Area {
    count: usize,
    bytes: u64,
    newest: Option<i64>,
}

/// Where the part of a URI ends that begins at `from`: the scheme with what divides it
/// from the rest, or one segment with its slash.
fn next_part(uri: &str, from: usize) -> usize {
    let rest = &uri[from..];
    if from == 0 {
        let Some(colon) = rest.find(':') else { return uri.len() };
        let slashes = rest[colon + 1..].bytes().take_while(|byte| *byte == b'/').count();
        return colon + 1 + slashes;
    }
    rest.find('/').map_or(uri.len(), |slash| {
        let slashes = rest[slash..].bytes().take_while(|byte| *byte == b'/').count();
        from + slash + slashes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_cut_into_scheme_and_segments() {
        let uri = "file:///home/ann//notes.md";
        let mut from = 0;
        let mut parts = Vec::new();
        while from < uri.len() {
            let end = next_part(uri, from);
            parts.push(&uri[from..end]);
            from = end;
        }
        assert_eq!(parts, ["file:///", "home/", "ann//", "notes.md"]);
        assert_eq!(next_part("urn:isbn:1", 0), 4);
        assert_eq!(next_part("odd", 0), 3);
    }

    #[test]
    fn sizes_and_ages_fall_into_their_buckets() {
        assert_eq!(bucket(&SIZES, Some(0)), "under 1 KB");
        assert_eq!(bucket(&SIZES, Some(1 << 20)), "over 1 MB");
        assert_eq!(bucket(&SIZES, Some(u64::MAX)), "over 1 MB");
        assert_eq!(bucket(&SIZES, None), UNKNOWN);
        assert_eq!(bucket(&AGES, Some(-5)), "last day");
    }
}
