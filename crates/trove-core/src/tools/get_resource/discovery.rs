//! Discovery: what there is, by category. Made once for each view of the catalogue.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::{Call, Failure, GetResource, Outcome, answer::rfc3339};
use crate::{
    catalogue::{ResourceEntry, Snapshot, TemplateEntry, naming, page::cut},
    content::escape_line,
    gateway::View,
    json::{Json, Object, quote},
    tools::offer::Need,
    uri::{PublicUri, scheme},
};

/// So many are shown at once, and all of them if there are no more.
const MAX_SHOWN: usize = 200;
/// The least of each category that an overview shows.
const LEAST_OF_CATEGORY: usize = 2;
/// The most bytes of a name and of a description in an overview.
const MAX_NAME: usize = 120;
const MAX_DESCRIPTION: usize = 240;
/// How many overviews are kept: few kinds of callers ask.
const MAX_KEPT: usize = 16;

/// The overviews of the current catalogue.
#[derive(Default)]
pub(crate) struct Discoveries(Mutex<Vec<Kept>>);

struct Kept {
    view: Weak<View>,
    need: Need,
    discovery: Arc<Discovery>,
}

/// What one kind of caller finds.
struct Discovery {
    /// Everything, the overview first, then the rest in listing order.
    places: Vec<Place>,
    /// How many of `places` the overview shows.
    overview: usize,
    /// The overview's `data`, and the number of entries in each category.
    data: String,
    counts: String,
}

/// Where an entry stands in the Snapshot.
struct Place {
    index: u32,
    is_template: bool,
    is_closed: bool,
    key: Arc<str>,
}

/// Answers a call without `uri`.
pub(super) async fn list(call: &Call<'_>, asked: &GetResource) -> Result<Outcome, Failure> {
    let view = call.gateway.view(call.caller).await;
    let discovery = call.tools.discoveries.of(&view, call.need);
    let total = discovery.places.len();
    let cursor = asked.cursor.as_deref().map(str::trim).filter(|cursor| !cursor.is_empty());
    let (data, shown, next) = match cursor {
        None => {
            let next =
                (discovery.overview < total).then(|| discovery.cursor_after(discovery.overview));
            (discovery.data.clone(), discovery.overview, next)
        }
        Some(cursor) => discovery.page(&view, cursor)?,
    };
    let mut out = Object::new();
    out.set("success", "true");
    out.set_str("uri", "");
    out.set_str("resource_name", "Available Resources");
    out.set_str("mime_type", "application/json");
    out.set_str("timestamp", &rfc3339(call.now));
    out.set("data", data);
    out.set("total", total.to_string());
    out.set("shown", shown.to_string());
    if shown < total {
        out.set("categories", discovery.counts.clone());
    }
    if let Some(next) = next {
        out.set_str("cursor", &next);
        out.set_str("message", MORE);
    }
    Ok(Outcome::flat(out))
}

const MORE: &str = "There is more than is shown. `categories` holds the number of entries in each; call again with \
    `cursor` for the rest, or search for what you need instead of reading the whole list.";

impl Discoveries {
    fn of(&self, view: &Arc<View>, need: Need) -> Arc<Discovery> {
        let find = |all: &[Kept]| {
            let is_it = |kept: &&Kept| kept.need == need && kept.view.as_ptr() == Arc::as_ptr(view);
            all.iter().find(is_it).map(|kept| kept.discovery.clone())
        };
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&lock()) {
            return found;
        }
        let discovery = Arc::new(Discovery::new(view, need));
        let mut all = lock();
        all.retain(|kept| kept.view.strong_count() > 0);
        if all.len() >= MAX_KEPT {
            all.remove(0);
        }
        all.push(Kept { view: Arc::downgrade(view), need, discovery: discovery.clone() });
        discovery
    }
}

impl Discovery {
    fn new(view: &View, need: Need) -> Discovery {
        let snapshot = view.snapshot();
        let mut categories: BTreeMap<String, Vec<(f64, Place)>> = BTreeMap::new();
        let is_bridge_whole = need != Need::Templates;
        let resources = view.resources().filter(|_| is_bridge_whole);
        for (entry, is_closed) in resources {
            let index = position(snapshot.resources(), entry);
            let place = Place { index, is_template: false, is_closed, key: key(&entry.public) };
            let category = category(snapshot, entry.member, entry.local.as_str());
            categories.entry(category).or_default().push((priority(&entry.entry), place));
        }
        for (entry, is_closed) in view.templates() {
            let index = position(snapshot.templates(), entry);
            let place = Place { index, is_template: true, is_closed, key: key(&entry.public) };
            let category = category(snapshot, entry.member, entry.template.text.as_str());
            categories.entry(category).or_default().push((priority(&entry.entry), place));
        }
        let total: usize = categories.values().map(Vec::len).sum();
        let counts: BTreeMap<&String, usize> =
            categories.iter().map(|(name, all)| (name, all.len())).collect();
        let counts = Json::of(&counts).as_str().to_owned();
        let each = if total <= MAX_SHOWN {
            usize::MAX
        } else {
            (MAX_SHOWN / categories.len()).max(LEAST_OF_CATEGORY)
        };
        let mut first: Vec<Place> = Vec::new();
        let mut rest: Vec<Place> = Vec::new();
        for (_, mut all) in categories {
            // Stable: those of the same rank stay in the order of their server.
            all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            let mut all = all.into_iter().map(|(_, place)| place);
            first.extend(all.by_ref().take(each));
            rest.extend(all);
        }
        let data = grouped(snapshot, &first);
        let overview = first.len();
        first.extend(rest);
        Discovery { places: first, overview, data, counts }
    }

    /// The part of the list that follows a cursor.
    fn page(&self, view: &View, cursor: &str) -> Result<(String, usize, Option<String>), Failure> {
        let none = Json::empty_object();
        let page = cut(&self.places, Some(cursor), MAX_SHOWN, |place| (&place.key, &none));
        let page =
            page.map_err(|error| Failure::arguments(error.to_string()).with("field", "cursor"))?;
        // The cursor's number is where the page ends; its beginning follows from its length.
        let end = page.next.as_deref().and_then(|next| next.split('-').next()?.parse().ok());
        let end = end.unwrap_or(self.places.len());
        let begin = end - page.entries.len();
        Ok((grouped(view.snapshot(), &self.places[begin..end]), end - begin, page.next))
    }

    fn cursor_after(&self, end: usize) -> String {
        let none = Json::empty_object();
        cut(&self.places, None, end, |place| (&place.key, &none))
            .ok()
            .and_then(|page| page.next)
            .unwrap_or_default()
    }
}

/// Entries under their categories, in order.
fn grouped(snapshot: &Snapshot, places: &[Place]) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for place in places {
        let (category, text) = if place.is_template {
            template_entry(snapshot, &snapshot.templates()[place.index as usize], place.is_closed)
        } else {
            resource_entry(snapshot, &snapshot.resources()[place.index as usize], place.is_closed)
        };
        match groups.iter_mut().find(|(name, _)| *name == category) {
            Some((_, entries)) => entries.push(text),
            None => groups.push((category, vec![text])),
        }
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|(name, entries)| format!("{}:[{}]", quote(&name), entries.join(",")))
        .collect();
    format!("{{{}}}", groups.join(","))
}

fn resource_entry(snapshot: &Snapshot, entry: &ResourceEntry, closed: bool) -> (String, String) {
    let category = category(snapshot, entry.member, entry.local.as_str());
    let owner = snapshot.owner(entry.member).id().as_str();
    let text = described(entry.public.as_str(), &entry.entry, None, closed, &category, owner);
    (category, text)
}

fn template_entry(snapshot: &Snapshot, entry: &TemplateEntry, closed: bool) -> (String, String) {
    let category = category(snapshot, entry.member, entry.template.text.as_str());
    let owner = snapshot.owner(entry.member).id().as_str();
    let variables: Vec<&str> =
        entry.template.compiled.iter().flat_map(|compiled| compiled.variables()).collect();
    let uri = entry.public.as_str();
    let text = described(uri, &entry.entry, Some(variables), closed, &category, owner);
    (category, text)
}

fn described(
    uri: &str,
    entry: &Json,
    variables: Option<Vec<&str>>,
    is_closed: bool,
    category: &str,
    server: &str,
) -> String {
    let object = Object::parse_valid(entry.as_str()).unwrap_or_default();
    let text = |key: &str, most: usize| object.get_str(key).map(|text| short(&text, most));
    let yes_no = |yes: bool| if yes { "true" } else { "false" };
    let mut out = Object::new();
    out.set_str("uri", uri);
    out.set_str("name", &text("name", MAX_NAME).unwrap_or_default());
    out.set_str("description", &text("description", MAX_DESCRIPTION).unwrap_or_default());
    out.set("is_template", yes_no(variables.is_some()));
    out.set("template_variables", Json::of(&variables.unwrap_or_default()).as_str().to_owned());
    out.set("requires_admin", yes_no(is_closed));
    out.set_str("category", category);
    out.set_str("server", server);
    out.to_text()
}

/// The beginning of a text that somebody else wrote, fit to be shown.
fn short(text: &str, most: usize) -> String {
    if text.len() <= most {
        return escape_line(text).into_owned();
    }
    format!("{}…", escape_line(&text[..text.floor_char_boundary(most)]))
}

/// The scheme, or the server where the scheme says nothing.
fn category(snapshot: &Snapshot, member: u32, local: &str) -> String {
    match scheme(local) {
        Some(scheme) if !scheme.eq_ignore_ascii_case("file") && !naming::is_web(local) => {
            scheme.to_owned()
        }
        Some(_) | None => snapshot.owner(member).id().to_string(),
    }
}

/// How much its server thinks of it; in the middle where it says nothing.
fn priority(entry: &Json) -> f64 {
    if memchr::memmem::find(entry.as_bytes(), b"\"priority\"").is_none() {
        return 0.5;
    }
    let annotations = entry.get("annotations").and_then(|all| all.get("priority"));
    annotations.and_then(|number| number.as_str().parse().ok()).unwrap_or(0.5)
}

/// The place of an element that was borrowed from `all`.
fn position<T>(all: &[T], element: &T) -> u32 {
    all.element_offset(element).and_then(|n| u32::try_from(n).ok()).unwrap_or_default()
}

fn key(uri: &PublicUri) -> Arc<str> {
    Arc::from(uri.as_str())
}
