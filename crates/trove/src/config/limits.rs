//! `[limits]`: how much may be asked, sent and held.

use std::{num::NonZeroU32, time::Duration};

use serde_json::{Value, json};
use trove_mcp::bounds::{BURST_SECONDS, Bounds, Rate};

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
        ..usual
    };
    let mut bytes = |key: &Key<u64>, place: &mut usize| {
        *place = number(key, 1024, problems).unwrap_or(*place);
    };
    bytes(&file.request_bytes, &mut bounds.request_bytes);
    bytes(&file.message_bytes, &mut bounds.message_bytes);
    let mut time = |key: &Key<u64>, place: &mut Duration| {
        let ms = number(key, 1, problems).and_then(|ms| u64::try_from(ms).ok());
        *place = ms.map_or(*place, Duration::from_millis);
    };
    time(&file.header_timeout_ms, &mut bounds.header_time);
    time(&file.body_timeout_ms, &mut bounds.body_time);
    time(&file.list_timeout_ms, &mut bounds.list_time);
    time(&file.session_idle_ms, &mut bounds.session_idle);
    bounds
}

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

/// What is written, if it is enough.
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
        "message_bytes": bounds.message_bytes,
        "list_pages": bounds.list_pages,
        "list_entries": bounds.list_entries,
        "list_timeout_ms": ms(bounds.list_time),
        "waiting_requests": bounds.waiting,
        "sessions": bounds.sessions,
        "sessions_per_caller": bounds.sessions_per_caller,
        "session_idle_ms": ms(bounds.session_idle),
        "watches_per_client": bounds.watches_per_client,
    })
}
