//! The list of what a recipe makes, step by step and page by page, within the budget of a list.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::time::Instant;
use trove_core::{
    Json, LocalUri, SourceError,
    resource::{Freshness, Listing, Resource, Scope},
    source::Ask,
};

use super::{
    EntryForm, ListStep, MAX_CALLS, MAX_EACH, MAX_PAGES, Next, Recipe,
    source::{Fit, Made, Toolbox},
    words::{Values, expand},
};
use crate::bounds::Bounds;

/// One listing under way.
pub(super) struct Lister<'a, T> {
    made: &'a Made<T>,
    fit: &'a Fit,
    recipe: &'a Recipe,
    bounds: &'a Bounds,
    deadline: Instant,
    calls: usize,
    resources: Vec<Resource>,
    seen: HashSet<LocalUri>,
    omissions: Vec<String>,
    /// A part could not be read, so that what was known of it stands.
    broke_off: bool,
}

impl<'a, T: Toolbox> Lister<'a, T> {
    pub(super) fn new(
        made: &'a Made<T>,
        fit: &'a Fit,
        recipe: &'a Recipe,
        bounds: &'a Bounds,
    ) -> Lister<'a, T> {
        Lister {
            made,
            fit,
            recipe,
            bounds,
            deadline: Instant::now() + bounds.list_time,
            calls: 0,
            resources: Vec::new(),
            seen: HashSet::new(),
            omissions: Vec::new(),
            broke_off: false,
        }
    }

    /// Adds what the recipe lists to what the server lists itself.
    pub(super) async fn run(mut self, listing: &mut Listing, own: &HashSet<LocalUri>) {
        self.seen.extend(own.iter().cloned());
        for step in &self.recipe.lists {
            if let Err(error) = self.step(step).await {
                self.broke_off = true;
                let tool = &step.call.tool;
                self.omissions.push(format!("what `{tool}` lists could not be read: {error}"));
            }
        }
        let was_empty = listing.resources.is_empty();
        listing.made = self.resources.len();
        listing.resources.append(&mut self.resources);
        listing.omissions.append(&mut self.omissions);
        listing.unread.resources |= self.broke_off;
        if let Some(seconds) = self.recipe.fresh_seconds
            && was_empty
        {
            listing.freshness =
                Freshness { ttl_ms: seconds.saturating_mul(1000), scope: Scope::Private };
        }
    }

    async fn step(&mut self, step: &ListStep) -> Result<(), SourceError> {
        let given = Values::of(&self.fit.given);
        let Some(each) = &step.each else { return self.pages(step, &given).await };
        self.count_call()?;
        let call = self.made.call(self.fit, &each.call, &given, None, Ask::default(), false);
        let outer = call.await?.items(&each.items, MAX_EACH + 1)?;
        if outer.len() > MAX_EACH {
            let tool = &each.call.tool;
            self.omissions.push(format!("only the first {MAX_EACH} of `{tool}` are looked into"));
        }
        for one in outer.iter().take(MAX_EACH) {
            self.pages(step, &given.and(one)).await?;
        }
        Ok(())
    }

    /// Follows the pages of one list to the end, or to a bound.
    async fn pages(&mut self, step: &ListStep, values: &Values<'_>) -> Result<(), SourceError> {
        let mut cursor: Option<Value> = None;
        for page in 0..MAX_PAGES.min(self.bounds.list_pages) {
            self.count_call()?;
            let to = step.next.as_ref().map_or("", Next::argument);
            let more = cursor.clone().map(|cursor| (to, cursor));
            let call =
                self.made.call(self.fit, &step.call, values, more, Ask::default(), false).await;
            let answer = match call {
                Ok(answer) => answer,
                Err(error) if page == 0 => return Err(error),
                Err(error) => return self.cut(step, &format!("page {} failed: {error}", page + 1)),
            };
            let room = self.bounds.list_entries.saturating_sub(self.resources.len());
            let items = answer.items(&step.items, room + 1)?;
            let is_over = items.len() > room;
            self.take(&items[..items.len().min(room)], &step.entry, values);
            if is_over {
                let most = self.bounds.list_entries;
                return self.cut(step, &format!("more than {most} entries"));
            }
            let before = cursor.take();
            cursor = match &step.next {
                Some(Next::From { path, .. }) => answer.value(path)?.filter(leads_on),
                Some(Next::By { step, .. }) if !items.is_empty() => {
                    Some(next_number(before.as_ref(), *step))
                }
                Some(Next::By { .. }) | None => None,
            };
            if cursor.is_none() {
                return Ok(());
            }
            if cursor == before {
                return self.cut(step, "the server repeated a cursor");
            }
        }
        self.cut(step, &format!("more than {MAX_PAGES} pages"))
    }

    fn cut(&mut self, step: &ListStep, why: &str) -> Result<(), SourceError> {
        self.broke_off = true;
        self.omissions.push(format!("the list of `{}` was cut: {why}", step.call.tool));
        Ok(())
    }

    fn count_call(&mut self) -> Result<(), SourceError> {
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return Err(SourceError::Busy { limit: MAX_CALLS });
        }
        if Instant::now() >= self.deadline {
            return Err(SourceError::TimedOut { waited: self.bounds.list_time });
        }
        Ok(())
    }

    fn take(&mut self, items: &[Value], form: &EntryForm, values: &Values<'_>) {
        for item in items {
            let values = values.and(item);
            let Some(resource) = entry(form, &values).and_then(Resource::new) else { continue };
            let is_short = resource.uri.as_str().len() <= self.bounds.gateway.uri_bytes;
            if is_short && self.seen.insert(resource.uri.clone()) {
                self.resources.push(resource);
            }
        }
    }
}

impl Next {
    /// The argument that asks for the next page.
    fn argument(&self) -> &str {
        match self {
            Next::From { to, .. } | Next::By { to, .. } => to,
        }
    }
}

/// Whether a value is one by which a next page can be asked for.
fn leads_on(cursor: &Value) -> bool {
    match cursor {
        Value::String(text) => !text.is_empty(),
        Value::Number(_) => true,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The number of the next page, or the offset of the next item.
fn next_number(before: Option<&Value>, step: u64) -> Value {
    let first = if step == 1 { 1 } else { 0 };
    let now = before.and_then(Value::as_u64).unwrap_or(first);
    now.saturating_add(step).into()
}

/// An item as an entry of the list of resources.
pub(super) fn entry(form: &EntryForm, values: &Values<'_>) -> Option<Json> {
    let mut parts = Map::new();
    for (member, pattern) in &form.split {
        let read = values.text(member).and_then(|text| pattern.of_line(&text));
        if let Some(Value::Object(read)) = read {
            parts.extend(read);
        }
    }
    let parts = Value::Object(parts);
    let values = &values.and(&parts);
    let mut entry = Map::new();
    entry.insert("uri".to_owned(), expand(&form.uri, values)?.into());
    for (member, words) in &form.members {
        let Some(text) = words.filled(values) else { continue };
        let value = match *member {
            "size" => match text.parse::<u64>() {
                Ok(size) => size.into(),
                Err(_) => continue,
            },
            _ => text.into(),
        };
        entry.insert((*member).to_owned(), value);
    }
    let modified = form.modified.as_ref().and_then(|words| words.filled(values));
    if let Some(at) = modified.as_deref().and_then(moment) {
        let at = at.format(&Rfc3339).ok()?;
        entry.insert("annotations".to_owned(), json!({ "lastModified": at }));
    }
    Some(Json::of(&entry))
}

/// A moment as tools write it: RFC 3339, with a blank for the `T`, or seconds since 1970.
pub(super) fn moment(text: &str) -> Option<OffsetDateTime> {
    if let Ok(seconds) = text.parse::<f64>() {
        return OffsetDateTime::from_unix_timestamp(seconds as i64).ok();
    }
    let text = match text.strip_suffix(" UTC") {
        Some(start) => format!("{start}Z"),
        None => text.to_owned(),
    };
    OffsetDateTime::parse(&text.replacen(' ', "T", 1), &Rfc3339).ok()
}
