//! The latest questions: the end of the audit log, as far as the caller may know of it.

use std::{
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
    sync::Arc,
};

use axum::{
    extract::{Request, State},
    http::StatusCode,
};
use serde_json::{Value, json};
use trove_core::{Caller, Gateway, access::Standing, gateway::Named};

use super::{
    Web,
    answer::{Answer, json_of, refuse},
    query::Query,
};

/// How much of the log is looked at, and how many entries of it are shown.
const MAX_READ: u64 = 2 << 20;
const MAX_SHOWN: usize = 1000;

/// `GET /api/activity?limit=…&target=…`: the newest entries first.
pub(super) async fn list(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let query = Query::of(request.uri());
    let Some(file) = web.audit.clone() else {
        return Ok(json_of(&json!({ "enabled": false, "entries": [] })));
    };
    let read = tokio::task::spawn_blocking(move || end_of(&file)).await;
    let text = read.unwrap_or_else(|_| Ok(String::new())).map_err(|error| {
        let message = format!("the audit log cannot be read: {error}");
        refuse(StatusCode::INTERNAL_SERVER_ERROR, &message, &["Run `trove doctor`."])
    })?;
    let caller = web.caller();
    let (target, action) = (query.get("target"), query.get("action"));
    let fits = |entry: &Value| {
        target.is_none_or(|target| entry["target"] == target)
            && action.is_none_or(|action| entry["action"] == action)
            && is_known(&web.gateway, &caller, entry)
    };
    let entries = text.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let limit = query.number("limit", 200).min(MAX_SHOWN);
    let shown: Vec<Value> = entries.filter(fits).take(limit).collect();
    Ok(json_of(&json!({ "enabled": true, "entries": shown })))
}

/// The last whole lines of a file; nothing if there is none yet.
fn end_of(path: &Path) -> io::Result<String> {
    let mut file = match trove_core::files::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        other => other?,
    };
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MAX_READ);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n') {
        Some((_, rest)) if from > 0 => rest.to_owned(),
        _ => text,
    })
}

/// Whether what an entry is about is not hidden from the caller.
fn is_known(gateway: &Gateway, caller: &Caller, entry: &Value) -> bool {
    let rules = gateway.rules();
    if rules.access().policy.is_empty() {
        return true;
    }
    let Some(target) = entry["target"].as_str() else { return true };
    let snapshot = gateway.current();
    match snapshot.route(target) {
        Ok(route) => {
            let named = Named::given(&snapshot, route.source.id(), route.local.as_str());
            let standing = rules.standing(caller, named);
            standing.0 != Standing::Hidden
        }
        // A name that leads nowhere may have been one that is hidden.
        Err(_) => entry["via"] == "web",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_read_from_a_whole_line_on() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("audit.jsonl");
        assert_eq!(end_of(&file).unwrap(), "");
        std::fs::write(&file, "{\"n\":1}\n{\"n\":2}\n").unwrap();
        assert_eq!(end_of(&file).unwrap().lines().count(), 2);
        std::fs::write(&file, format!("{}\n", "x".repeat(99)).repeat(30_000)).unwrap();
        let end = end_of(&file).unwrap();
        assert!(end.lines().all(|line| line.len() == 99));
        assert!(end.len() as u64 <= MAX_READ);
    }
}
