//! `[limits]`: how much may be asked, sent and held.

use std::{collections::BTreeSet, num::NonZeroU32, ops::RangeInclusive, time::Duration};

use serde_json::{Value, json};
use trove_mcp::bounds::{BURST_SECONDS, Bounds, MAX_TEMPLATE_BYTES, MAX_URI_BYTES, Rate};

use super::{
    file,
    problem::Problems,
    read::Key,
    settings::{Http, HttpAuth},
};

pub(super) fn bounds(file: &file::Limits, http: &Http, problems: &mut Problems) -> Bounds {
    let has_names = matches!(http.auth.value, HttpAuth::Jwt | HttpAuth::Oauth);
    let usual = if has_names { Bounds::for_named() } else { Bounds::default() };
    let rate = rate(file, usual.rate, problems);
    let mut count = |key: &Key<u64>, usual: usize| number(key, 1, problems).unwrap_or(usual);
    let mut bounds = Bounds {
        rate,
        concurrent_requests: count(&file.concurrent_requests, usual.concurrent_requests),
        streams: count(&file.streams, usual.streams),
        connections: count(&file.connections, usual.connections),
        list_pages: count(&file.list_pages, usual.list_pages),
        list_entries: count(&file.list_entries, usual.list_entries),
        waiting: count(&file.waiting_requests, usual.waiting),
        sessions: count(&file.sessions, usual.sessions),
        sessions_per_caller: count(&file.sessions_per_caller, usual.sessions_per_caller),
        watches_per_client: count(&file.watches_per_client, usual.watches_per_client),
        children: count(&file.children, usual.children),
        stdio_requests: count(&file.stdio_requests, usual.stdio_requests),
        templates: count(&file.templates, usual.templates),
        ..usual
    };
    bounds.gateway.watches = count(&file.watches, bounds.gateway.watches);
    bounds.patterns.bytes = count(&file.pattern_bytes, bounds.patterns.bytes);
    sizes(file, &mut bounds, problems);
    let mut bytes = |key: &Key<u64>, place: &mut usize| {
        *place = number(key, 1024, problems).unwrap_or(*place);
    };
    bytes(&file.request_bytes, &mut bounds.request_bytes);
    bytes(&file.body_bytes, &mut bounds.body_bytes);
    bytes(&file.message_bytes, &mut bounds.message_bytes);
    bytes(&file.list_bytes, &mut bounds.list_bytes);
    let mut work = |key: &Key<u64>, least: u64, place: &mut u64| {
        let written = number(key, least, problems).and_then(|units| u64::try_from(units).ok());
        *place = written.unwrap_or(*place);
    };
    work(&file.unasked_bytes, LEAST_UNASKED, &mut bounds.unasked.bytes);
    work(&file.unasked_bytes_per_second, 1024, &mut bounds.unasked.bytes_per_second);
    let mut bytes = |key: &Key<u64>, place: &mut usize| {
        *place = number(key, 1024, problems).unwrap_or(*place);
    };
    bytes(&file.compiled_pattern_bytes, &mut bounds.patterns.compiled_bytes);
    let mut time = |key: &Key<u64>, place: &mut Duration| {
        let ms = number(key, 1, problems).and_then(|ms| u64::try_from(ms).ok());
        *place = ms.map_or(*place, Duration::from_millis);
    };
    time(&file.header_timeout_ms, &mut bounds.header_time);
    time(&file.body_timeout_ms, &mut bounds.body_time);
    time(&file.list_timeout_ms, &mut bounds.list_time);
    time(&file.session_idle_ms, &mut bounds.session_idle);
    time(&file.session_ms, &mut bounds.session_age);
    time(&file.request_state_ms, &mut bounds.state_age);
    time(&file.startup_timeout_ms, &mut bounds.startup_time);
    bounds
}

/// With less, greeting a server could be too much.
const LEAST_UNASKED: u64 = 64 * 1024;

/// The keys that the file decides.
pub(super) fn written(file: &file::Limits) -> BTreeSet<&'static str> {
    macro_rules! written {
        ($($key:ident)*) => {
            [$((stringify!($key), file.$key.get().is_some())),*]
        };
    }
    let all = written! {
        requests_per_second burst concurrent_requests streams connections header_timeout_ms
        body_timeout_ms request_bytes body_bytes message_bytes list_pages list_entries list_timeout_ms
        waiting_requests sessions sessions_per_caller session_idle_ms session_ms request_state_ms
        watches_per_client watches list_bytes unasked_bytes unasked_bytes_per_second templates template_bytes uri_bytes json_depth
        pattern_bytes compiled_pattern_bytes cache_bytes cached_answer_bytes index_bytes children
        startup_timeout_ms stdio_requests
    };
    all.into_iter().filter(|(_, is_written)| *is_written).map(|(key, _)| key).collect()
}

/// Sizes of caches and messages.
fn sizes(file: &file::Limits, bounds: &mut Bounds, problems: &mut Problems) {
    let gateway = &mut bounds.gateway;
    if let Some(written) = file.cache_bytes.get() {
        gateway.cache_bytes = written.value;
    }
    let answer = number(&file.cached_answer_bytes, 0, problems);
    gateway.cached_answer_bytes = answer.unwrap_or(gateway.cached_answer_bytes);
    if number(&file.index_bytes, 1024, problems).is_some() {
        gateway.index_bytes = file.index_bytes.get().map_or(gateway.index_bytes, |it| it.value);
    }
    let mut within = |key: &Key<u64>, range: RangeInclusive<usize>, place: &mut usize| {
        let (least, most) = range.into_inner();
        let written = number(key, least as u64, problems);
        if let (Some(_), Some(at)) = (written.filter(|it| *it > most), key.get()) {
            let message = format!("a limit of {} is more than can be", at.value);
            return problems.error(at.at, message, format!("write at most {most}"));
        }
        *place = written.unwrap_or(*place);
    };
    within(&file.uri_bytes, 64..=MAX_URI_BYTES, &mut gateway.uri_bytes);
    within(&file.template_bytes, 1..=MAX_TEMPLATE_BYTES, &mut bounds.template_bytes);
    within(&file.json_depth, 8..=MOST_DEPTH, &mut bounds.json_depth);
}

/// Deeper messages are not read at all.
const MOST_DEPTH: usize = 100_000;

/// How often one caller may ask; a rate of 0 is none.
fn rate(file: &file::Limits, usual: Option<Rate>, problems: &mut Problems) -> Option<Rate> {
    let per_second = match file.requests_per_second.get() {
        Some(written) => NonZeroU32::new(u32::try_from(written.value).unwrap_or(u32::MAX)),
        None => usual.map(|rate| rate.per_second),
    };
    let burst = number(&file.burst, 1, problems);
    let per_second = per_second?;
    let burst = burst.map(|burst| u32::try_from(burst).unwrap_or(u32::MAX));
    let burst = burst.and_then(NonZeroU32::new);
    Some(Rate { per_second, burst: burst.unwrap_or(per_second.saturating_mul(BURST_SECONDS)) })
}

/// The number as written, if it is large enough.
fn number(key: &Key<u64>, least: u64, problems: &mut Problems) -> Option<usize> {
    let written = key.get()?;
    if written.value < least {
        let message = format!("a limit of {} leaves nothing", written.value);
        problems.error(written.at, message, format!("write at least {least}"));
        return None;
    }
    Some(usize::try_from(written.value).unwrap_or(usize::MAX).min(MOST))
}

/// More than this cannot be held, and less than this counts everywhere.
const MOST: usize = u32::MAX as usize;

/// The section as it is in force.
pub(super) fn shown(bounds: &Bounds) -> Value {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    json!({
        "requests_per_second": bounds.rate.map_or(0, |rate| rate.per_second.get()),
        "burst": bounds.rate.map_or(0, |rate| rate.burst.get()),
        "concurrent_requests": bounds.concurrent_requests,
        "streams": bounds.streams,
        "connections": bounds.connections,
        "header_timeout_ms": ms(bounds.header_time),
        "body_timeout_ms": ms(bounds.body_time),
        "request_bytes": bounds.request_bytes,
        "body_bytes": bounds.body_bytes,
        "message_bytes": bounds.message_bytes,
        "unasked_bytes": bounds.unasked.bytes,
        "unasked_bytes_per_second": bounds.unasked.bytes_per_second,
        "list_pages": bounds.list_pages,
        "list_entries": bounds.list_entries,
        "list_timeout_ms": ms(bounds.list_time),
        "waiting_requests": bounds.waiting,
        "sessions": bounds.sessions,
        "sessions_per_caller": bounds.sessions_per_caller,
        "session_idle_ms": ms(bounds.session_idle),
        "session_ms": ms(bounds.session_age),
        "request_state_ms": ms(bounds.state_age),
        "watches_per_client": bounds.watches_per_client,
        "watches": bounds.gateway.watches,
        "list_bytes": bounds.list_bytes,
        "templates": bounds.templates,
        "template_bytes": bounds.template_bytes,
        "uri_bytes": bounds.gateway.uri_bytes,
        "json_depth": bounds.json_depth,
        "pattern_bytes": bounds.patterns.bytes,
        "compiled_pattern_bytes": bounds.patterns.compiled_bytes,
        "cache_bytes": bounds.gateway.cache_bytes,
        "cached_answer_bytes": bounds.gateway.cached_answer_bytes,
        "index_bytes": bounds.gateway.index_bytes,
        "children": bounds.children,
        "startup_timeout_ms": ms(bounds.startup_time),
        "stdio_requests": bounds.stdio_requests,
    })
}
