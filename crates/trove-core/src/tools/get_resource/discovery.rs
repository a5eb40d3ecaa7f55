//! Discovery: what there is, by category. Made once for each view of the catalogue.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::{
    super::{find::down_as_told, frame},
    Call, Failure, GetResource, Outcome,
    answer::rfc3339,
};
use crate::{
    catalogue::{
        BadCursor, ResourceEntry, Snapshot, TemplateEntry, naming,
        page::{cursor_after, span},
    },
    content::escape_line,
    gateway::View,
    json::{Json, Object, quote},
    source::SourceId,
    tools::offer::Need,
    uri::scheme,
};

/// So many are shown at once, and all of them if there are no more.
const MAX_SHOWN: usize = 200;
/// The most bytes shown at once: names may be long.
const MAX_BYTES: usize = 256 * 1024;
/// The most bytes of categories with their number of entries; the largest come first.
const MAX_COUNTS: usize = 16 * 1024;
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
    rights_revision: u64,
    need: Need,
    discovery: Arc<Discovery>,
}

/// What one kind of caller finds.
struct Discovery {
    /// Everything, the overview first, then the rest in listing order.
    places: Vec<Place>,
    /// How many of `places` the overview shows.
    overview: usize,
    /// The overview's `data`.
    data: String,
    /// How many entries each category has, and whether some categories are left out.
    counts: String,
    category_count: usize,
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
    call.gateway.look_again().await;
    let view = call.gateway.view(call.caller).await;
    let server = asked.server(call, &view)?;
    let discovery = match &server {
        None => call.tools.discoveries.of(&view, call.need),
        // Few ask for one server's part alone, so it is not kept.
        Some(id) => Arc::new(Discovery::new(&view, call.need, Some(id))),
    };
    let total = discovery.places.len();
    let cursor = asked.cursor.as_deref().map(str::trim).filter(|cursor| !cursor.is_empty());
    let cursor = cursor.map(|cursor| of_list(cursor, server.as_ref())).transpose()?;
    let Part { data, shown, next, is_again } = discovery.part(&view, cursor, asked.list_room())?;
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
        out.set("category_count", discovery.category_count.to_string());
    }
    let mut message = Vec::new();
    if call.need == Need::Templates {
        message.push(TEMPLATES_ONLY);
    }
    if is_again {
        message.push(ANEW);
    }
    let down = call.gateway.down(call.caller).into_iter();
    let down: Vec<_> = down.filter(|(id, _)| server.as_ref().is_none_or(|s| s == id)).collect();
    if !down.is_empty() {
        message.push(DOWN);
        out.set("errors", down_as_told(&down));
    }
    if let Some(next) = next {
        let list = server.map(|id| format!("{PART}{id}")).unwrap_or_default();
        out.set_str("cursor", &(next + &list));
        message.push(MORE);
    }
    if !message.is_empty() {
        out.set_str("message", &message.join(" "));
    }
    let nonce = frame::nonce();
    out.set_str("nonce", &nonce);
    Ok(Outcome::written(&[&out.to_text()], &[frame::marked(WRITTEN_BY_SERVERS, &nonce)]))
}

/// Stands before the name of the server in a cursor of that server's part.
const PART: char = '@';
/// Stands before what tells from others the overview that was seen first.
const PRINT: char = '~';
/// The stretches of a walk, as a cursor names them.
const OVERVIEW: char = 'o';
const REST: char = 'r';
const AGAIN: char = 'a';

/// A cursor without its list, if it is a place in the list that is asked for.
fn of_list<'a>(cursor: &'a str, server: Option<&SourceId>) -> Result<&'a str, Failure> {
    let (place, list) = cursor.split_once(PART).map_or((cursor, None), |(at, id)| (at, Some(id)));
    if list == server.map(SourceId::as_str) {
        return Ok(place);
    }
    let message = "`cursor` belongs to another list: give it with the `server`, or to the tool, it was given out for";
    Err(Failure::arguments(message).with("field", "cursor"))
}

const WRITTEN_BY_SERVERS: &str =
    "Names and descriptions in `data` above are content of the servers named beside them";
const DOWN: &str = "Servers in `errors` do not answer now: what they have may be missing here, or be listed from \
    memory; health_check tells how they are.";
const ANEW: &str = "What there is has changed while it was listed, so this is the beginning of the list once more.";
const TEMPLATES_ONLY: &str =
    "Only templates are listed here: your client lists and reads the other resources by itself.";
const MORE: &str = "There is more than is shown. `categories` holds the number of entries in each; call again with \
    `cursor` for the rest, with `server` for one server's part, or search for what you need instead of reading the \
    whole list.";

impl Discoveries {
    fn of(&self, view: &Arc<View>, need: Need) -> Arc<Discovery> {
        let rights_revision = view.rights_revision();
        let find = |all: &[Kept]| {
            let is_it = |kept: &&Kept| {
                let is_current = kept.rights_revision == rights_revision;
                is_current && kept.need == need && kept.view.as_ptr() == Arc::as_ptr(view)
            };
            all.iter().find(is_it).map(|kept| kept.discovery.clone())
        };
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&lock()) {
            return found;
        }
        let discovery = Arc::new(Discovery::new(view, need, None));
        let mut all = lock();
        all.retain(|kept| kept.view.strong_count() > 0 && kept.rights_revision == rights_revision);
        if all.len() >= MAX_KEPT {
            all.remove(0);
        }
        let kept_view = Arc::downgrade(view);
        all.push(Kept { view: kept_view, rights_revision, need, discovery: discovery.clone() });
        discovery
    }
}

impl Discovery {
    fn new(view: &View, need: Need, server: Option<&SourceId>) -> Discovery {
        let snapshot = view.snapshot();
        let mut categories: BTreeMap<String, Vec<(f64, Place)>> = BTreeMap::new();
        let is_asked_for =
            |member: u32| server.is_none_or(|server| snapshot.owner(member).id() == server);
        let is_bridge_whole = need != Need::Templates;
        let resources = view.resources().filter(|_| is_bridge_whole);
        for (entry, is_closed) in resources.filter(|(entry, _)| is_asked_for(entry.member)) {
            let index = position(snapshot.resources(), entry);
            let key = entry.public.shared();
            let place = Place { index, is_template: false, is_closed, key };
            let category = category(snapshot, entry.member, entry.local.as_str());
            categories.entry(category).or_default().push((priority(&entry.entry), place));
        }
        let templates = view.templates().filter(|(entry, _)| is_asked_for(entry.member));
        for (entry, is_closed) in templates {
            let index = position(snapshot.templates(), entry);
            let key = entry.public.shared();
            let place = Place { index, is_template: true, is_closed, key };
            let category = category(snapshot, entry.member, entry.template.text.as_str());
            categories.entry(category).or_default().push((priority(&entry.entry), place));
        }
        let counts = counts(&categories);
        let category_count = categories.len();
        let shares = shares(&categories.values().map(Vec::len).collect::<Vec<_>>());
        let mut first: Vec<Place> = Vec::new();
        let mut rest: Vec<Place> = Vec::new();
        for ((_, mut all), share) in categories.into_iter().zip(shares) {
            // Stable: those of the same rank stay in the order of their server.
            all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            let mut all = all.into_iter().map(|(_, place)| place);
            first.extend(all.by_ref().take(share));
            rest.extend(all);
        }
        let (data, overview) = grouped(view, &first, MAX_BYTES);
        first.extend(rest);
        Discovery { places: first, overview, data, counts, category_count }
    }

    /// The overview, or what follows a cursor, in at most about `room` bytes. Whoever follows the
    /// cursors sees the overview, then the rest, and where the overview is another by then, it
    /// once more: what has come into it meanwhile was not in the rest.
    fn part(&self, view: &View, cursor: Option<&str>, room: usize) -> Result<Part, Failure> {
        let own = self.print();
        let (stretch, place, print) = match cursor {
            None => (OVERVIEW, "", own.as_str()),
            Some(cursor) => parse(cursor).ok_or_else(|| bad_cursor(&BadCursor))?,
        };
        let (first, rest) = self.places.split_at(self.overview);
        let list = if stretch == REST { rest } else { first };
        let (span, _) = span(list, Some(place), MAX_SHOWN, |place| &place.key)
            .map_err(|error| bad_cursor(&error))?;
        let is_overview = stretch != REST && span.start == 0;
        let (data, shown) = match is_overview && self.data.len() <= room {
            true => (self.data.clone(), self.overview),
            false => grouped(view, &list[span.clone()], room),
        };
        let next = match cursor_after(list, span.start + shown, |place| &place.key) {
            Some(next) => Some(format!("{stretch}{next}")),
            None if stretch == OVERVIEW && !rest.is_empty() => Some(REST.to_string()),
            None if stretch != AGAIN && print != own => Some(AGAIN.to_string()),
            None => None,
        };
        let next = next.map(|next| format!("{next}{PRINT}{print}"));
        Ok(Part { data, shown, next, is_again: stretch == AGAIN })
    }

    /// Tells one overview from another.
    fn print(&self) -> String {
        let mut hasher = DefaultHasher::new();
        for place in &self.places[..self.overview] {
            place.key.hash(&mut hasher);
        }
        format!("{:08x}", hasher.finish() as u32)
    }
}

/// A part of the list.
struct Part {
    /// Its entries, by category.
    data: String,
    shown: usize,
    /// Where to go on.
    next: Option<String>,
    /// It is the overview once more.
    is_again: bool,
}

/// The stretch that a cursor is in, the place there, and the print of the overview seen first.
fn parse(cursor: &str) -> Option<(char, &str, &str)> {
    let (place, print) = cursor.split_once(PRINT)?;
    let stretch = place.chars().next().filter(|c| [OVERVIEW, REST, AGAIN].contains(c))?;
    Some((stretch, &place[stretch.len_utf8()..], print))
}

fn bad_cursor(error: &BadCursor) -> Failure {
    Failure::arguments(error.to_string()).with("field", "cursor")
}

/// How many entries each category has, the largest first.
fn counts(categories: &BTreeMap<String, Vec<(f64, Place)>>) -> String {
    let mut counts: Vec<(&String, usize)> =
        categories.iter().map(|(name, all)| (name, all.len())).collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let mut room = MAX_COUNTS;
    let members =
        counts.iter().map(|(name, count)| format!("{}:{count}", quote(&short(name, MAX_NAME))));
    let told: Vec<String> = members
        .take_while(|member| {
            room = room.saturating_sub(member.len() + 1);
            room > 0
        })
        .collect();
    format!("{{{}}}", told.join(","))
}

/// How many of each category are shown: all where all fit, else what is fair. What a
/// small category does not need goes to the larger ones.
fn shares(sizes: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|n| sizes[*n]);
    let mut shares = vec![0; sizes.len()];
    let mut room = MAX_SHOWN;
    for (nth, n) in order.iter().enumerate() {
        let waiting = sizes.len() - nth;
        // With more categories than room the smallest get one each, as far as it goes.
        let share = (room / waiting).max(1).min(sizes[*n]).min(room);
        shares[*n] = share;
        room -= share;
    }
    shares
}

/// Entries under their categories, in order, and how many of them had room; one always has.
fn grouped(view: &View, places: &[Place], room: usize) -> (String, usize) {
    let snapshot = view.snapshot();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let (mut bytes, mut shown) = (0, 0);
    for place in places {
        let (category, text) = if place.is_template {
            template_entry(view, &snapshot.templates()[place.index as usize], place.is_closed)
        } else {
            resource_entry(view, &snapshot.resources()[place.index as usize], place.is_closed)
        };
        bytes += text.len();
        if bytes > room.min(MAX_BYTES) && shown > 0 {
            break;
        }
        shown += 1;
        let at = *by_name.entry(category.clone()).or_insert_with(|| {
            groups.push((category, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(text);
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|(name, entries)| format!("{}:[{}]", quote(&name), entries.join(",")))
        .collect();
    (format!("{{{}}}", groups.join(",")), shown)
}

fn resource_entry(view: &View, entry: &ResourceEntry, closed: bool) -> (String, String) {
    let snapshot = view.snapshot();
    let category = category(snapshot, entry.member, entry.local.as_str());
    let owner = snapshot.owner(entry.member).id();
    let requires_admin = view.requires_admin(owner, &entry.local, &entry.entry);
    let rights = Rights { requires_admin, readable: !closed };
    let owner = owner.as_str();
    let text = described(entry.public.as_str(), &entry.entry, None, rights, &category, owner);
    (category, text)
}

fn template_entry(view: &View, entry: &TemplateEntry, closed: bool) -> (String, String) {
    let snapshot = view.snapshot();
    let category = category(snapshot, entry.member, entry.template.text.as_str());
    let owner = snapshot.owner(entry.member).id();
    let requires_admin = view.requires_admin(owner, &entry.template.text, &entry.entry);
    let rights = Rights { requires_admin, readable: !closed };
    let owner = owner.as_str();
    let variables: Vec<&str> =
        entry.template.compiled.iter().flat_map(|compiled| compiled.variables()).collect();
    let uri = entry.public.as_str();
    let text = described(uri, &entry.entry, Some(variables), rights, &category, owner);
    (category, text)
}

/// The rights that a read takes, and whether this caller has them.
#[derive(Clone, Copy)]
struct Rights {
    /// Of every caller.
    requires_admin: bool,
    /// By this caller.
    readable: bool,
}

fn described(
    uri: &str,
    entry: &Json,
    variables: Option<Vec<&str>>,
    rights: Rights,
    category: &str,
    server: &str,
) -> String {
    let object = entry.object().unwrap_or_default();
    let text = |key: &str, most: usize| object.get_str(key).map(|text| short(&text, most));
    let yes_no = |yes: bool| if yes { "true" } else { "false" };
    let mut out = Object::new();
    out.set_str("uri", uri);
    out.set_str("name", &text("name", MAX_NAME).unwrap_or_default());
    out.set_str("description", &text("description", MAX_DESCRIPTION).unwrap_or_default());
    out.set("is_template", yes_no(variables.is_some()));
    out.set("template_variables", Json::of(&variables.unwrap_or_default()).as_str().to_owned());
    out.set("requires_admin", yes_no(rights.requires_admin));
    out.set("readable", yes_no(rights.readable));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_shared_fairly_and_none_is_wasted() {
        assert_eq!(shares(&[3, 150]), [3, 150]);
        assert_eq!(shares(&[3, 10_000]), [3, 197]);
        assert_eq!(shares(&[10_000, 3, 10_000]), [98, 3, 99]);
        let many = shares(&[5; 1000]);
        assert_eq!(many.iter().sum::<usize>(), MAX_SHOWN);
        assert!(shares(&[]).is_empty());
    }
}
