//! The pages of the resource and template lists, with every way a cursor can go wrong.

use std::sync::atomic::Ordering;

use serde_json::Value;

use super::content;
use super::options::{Fault, Options};
use super::peer::lock;
use super::state::Toy;
use super::wire::{RpcError, quote};

/// How many resources a page of an endless list holds unless a page size is given.
const ENDLESS_PAGE: usize = 10;

/// One page of `resources/list`.
pub(super) fn resources(toy: &Toy, cursor: &Value) -> Result<String, RpcError> {
    let options = &toy.options;
    if options.has(Fault::ErrorList) {
        return Err(RpcError::new(-32603, "lists are broken here"));
    }
    let items: Vec<String> = lock(&toy.entries).iter().map(|entry| entry.json.clone()).collect();
    if let Some(count) = options.amount(Fault::PagesChanging) {
        let look = usize::try_from(toy.looks.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let items: Vec<String> =
            (0..count).map(|n| content::endless_entry(options, look, n).json).collect();
        return Ok(page("resources", &items, None));
    }
    let first = &items[..items.len().min(options.page_size)];
    if options.has(Fault::PagesLoop) {
        return Ok(page("resources", first, Some("again")));
    }
    if options.has(Fault::PagesEmpty) {
        return Ok(page("resources", first, Some("")));
    }
    if options.has(Fault::PagesCycle) {
        return Ok(page("resources", first, Some(if cursor == "a" { "b" } else { "a" })));
    }
    if options.has(Fault::PagesEndless) {
        let number: usize = cursor.as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
        let size = if options.page_size == usize::MAX { ENDLESS_PAGE } else { options.page_size };
        let items: Vec<String> =
            (0..size).map(|n| content::endless_entry(options, number, n).json).collect();
        return Ok(page("resources", &items, Some(&(number + 1).to_string())));
    }
    cut("resources", &items, cursor, options.page_size)
}

/// One page of `resources/templates/list`.
pub(super) fn templates(options: &Options, cursor: &Value) -> Result<String, RpcError> {
    if options.has(Fault::ErrorTemplates) {
        return Err(RpcError::new(-32603, "templates are broken here"));
    }
    cut("resourceTemplates", &content::templates(options), cursor, options.page_size)
}

/// The page that begins where the cursor says.
fn cut(key: &str, items: &[String], cursor: &Value, size: usize) -> Result<String, RpcError> {
    let start = match cursor {
        Value::Null => Some(0),
        cursor => cursor.as_str().and_then(|text| text.strip_prefix("from-")?.parse().ok()),
    };
    let start: usize = start
        .filter(|start| *start <= items.len())
        .ok_or_else(|| RpcError::invalid_params("invalid cursor"))?;
    let end = items.len().min(start.saturating_add(size));
    let next = (end < items.len()).then(|| format!("from-{end}"));
    Ok(page(key, &items[start..end], next.as_deref()))
}

fn page(key: &str, items: &[String], next: Option<&str>) -> String {
    let next = next.map(|cursor| format!(r#","nextCursor":{}"#, quote(cursor))).unwrap_or_default();
    format!(r#"{{"{key}":[{}]{next}}}"#, items.join(","))
}
