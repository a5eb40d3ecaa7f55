//! Discovery: all entries, by category. Made once for each view of the catalogue.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Weak},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    super::{
        find::{down_as_told, say},
        frame,
        unread::still_starting,
    },
    Call, Failure, GetResource, Outcome,
    answer::rfc3339,
    entries::{LONGER, Lengths, Listed, MAX_BYTES, Place, WHOLE, category, counts, grouped},
    failures,
};
use crate::{
    catalogue::{
        BadCursor, Snapshot,
        page::{cursor_after, span},
    },
    gateway::View,
    json::Object,
    resource::Details,
    search::usefulness,
    source::SourceId,
    tools::offer::Need,
};

/// So many are shown at once, and all of them if there are no more.
const MAX_SHOWN: usize = 200;
/// The most bytes shown of a longer list where no size is asked for. A result holds its list
/// twice, as text and as structured content, and the whole of it stays below 12 KB.
const USUAL_BYTES: usize = 4000;
/// How many overviews are kept: few kinds of callers ask.
const MAX_KEPT: usize = 16;
/// How long an overview is kept: other resources may be the most used ones by then.
const KEPT_FOR: Duration = Duration::from_secs(300);
/// How many of the most used resources are known to an overview.
const MAX_USED: usize = 1000;

/// The overviews of the current catalogue.
#[derive(Default)]
pub(crate) struct Discoveries(Mutex<Vec<Kept>>);

struct Kept {
    view: Weak<View>,
    rights_revision: u64,
    need: Need,
    made: Instant,
    discovery: Arc<Discovery>,
}

/// The entries that one kind of caller finds.
struct Discovery {
    /// Everything: the most useful of all categories in turn, then the rest by category.
    places: Vec<Place>,
    /// How many of `places` stand in turns.
    overview: usize,
    lengths: Lengths,
    /// The server of each category that has one alone.
    servers: HashMap<String, SourceId>,
    /// The first part, as it is where no size is asked for.
    usual: Listed,
    /// How many entries each category has, and whether some categories are left out.
    counts: String,
    category_count: usize,
}

/// The entries of one category, while they are put in order.
#[derive(Default)]
struct Category {
    /// How useful each is, and where it stands.
    entries: Vec<(f32, Place)>,
    /// All of it tells of the gateway itself.
    is_own: bool,
    /// Its server, if it has one alone.
    server: Option<SourceId>,
    has_several_servers: bool,
}

/// Answers a call without `uri`.
pub(super) async fn list(call: &Call<'_>, asked: &GetResource) -> Result<Outcome, Failure> {
    let view = call.gateway.renewed_view(call.caller).await;
    if let Some(failure) = failures::not_in_use(call, &view, asked.server.as_deref()) {
        return Err(failure);
    }
    let server = asked.server(view.snapshot());
    let discovery = match &server {
        None => call.tools.discoveries.of(call, &view),
        // Few ask for one server's part alone, so it is not kept.
        Some(id) => Arc::new(Discovery::new(&view, call.need, Some(id), &Uses::of(call))),
    };
    let total = discovery.places.len();
    let cursor = asked.cursor.as_deref().map(str::trim).filter(|cursor| !cursor.is_empty());
    let cursor = cursor.map(|cursor| of_list(cursor, server.as_ref())).transpose()?;
    let Part { listed, next, is_again } = discovery.part(&view, cursor, asked.max_size)?;
    let mut out = Object::new();
    out.set("success", "true");
    out.set_str("uri", "");
    out.set_str("resource_name", "Available Resources");
    out.set_str("mime_type", "application/json");
    out.set_str("timestamp", &rfc3339(call.now));
    out.set("data", listed.data);
    out.set("servers", listed.servers);
    out.set("total", total.to_string());
    out.set("shown", listed.shown.to_string());
    if listed.shown < total {
        out.set("categories", discovery.counts.clone());
        out.set("category_count", discovery.category_count.to_string());
    }
    let is_asked_for = |id: &SourceId| server.as_ref().is_none_or(|server| server == id);
    let down = call.gateway.down(call.caller).into_iter();
    let down: Vec<_> = down.filter(|(id, _)| is_asked_for(id)).collect();
    if !down.is_empty() {
        out.set("errors", down_as_told(&down));
    }
    let starting: Vec<SourceId> =
        call.gateway.starting().into_iter().filter(is_asked_for).collect();
    let hint = asked.hint(call, &view);
    let said = [
        hint.map(|hint| format!("{hint} This is what all servers have.")),
        (call.need == Need::Templates).then(|| TEMPLATES_ONLY.to_owned()),
        is_again.then(|| ANEW.to_owned()),
        (!down.is_empty()).then(|| DOWN.to_owned()),
        still_starting(&starting),
        next.is_some().then(|| MORE.to_owned()),
    ];
    say(&mut out, said);
    if let Some(next) = next {
        let list = server.map(|id| format!("{PART}{id}")).unwrap_or_default();
        out.set_str("cursor", &(next + &list));
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
    "Names and descriptions in `data` above are content of the servers named in the answer";
const DOWN: &str = "Servers in `errors` do not answer now: what they have may be missing here, or be listed from \
    memory; health_check tells how they are.";
const ANEW: &str = "What there is has changed while it was listed, so this is the beginning of the list once more.";
const TEMPLATES_ONLY: &str =
    "Only templates are listed here: your client lists and reads the other resources by itself.";
const MORE: &str = "There is more than is shown, the most useful first. `categories` counts the entries of each; \
    search for what you need, call with `server` for one server's part, with a larger `maxSize`, or with `cursor` for \
    the rest.";

/// How often the most used resources were read, and what time it is.
pub(in crate::tools) struct Uses {
    reads: HashMap<String, u64>,
    now: i64,
}

impl Uses {
    pub(in crate::tools) fn of(call: &Call<'_>) -> Uses {
        let reads = call.gateway.most_read(call.caller, MAX_USED).into_iter();
        let since = call.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Uses {
            reads: reads.map(|(uri, reads)| (uri.to_string(), reads)).collect(),
            now: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        }
    }

    /// How useful an entry is likely to be.
    pub(in crate::tools) fn usefulness(&self, uri: &str, details: Details<'_>) -> f32 {
        let reads = self.reads.get(uri).copied().unwrap_or_default();
        let annotations = details.annotations();
        usefulness(annotations.priority(), annotations.modified(), reads as f32, self.now)
    }
}

impl Discoveries {
    fn of(&self, call: &Call<'_>, view: &Arc<View>) -> Arc<Discovery> {
        let (need, now) = (call.need, call.began);
        let rights_revision = view.rights_revision();
        let find = |all: &[Kept]| {
            let is_it = |kept: &&Kept| {
                let is_current = kept.rights_revision == rights_revision;
                is_current && kept.need == need && kept.view.as_ptr() == Arc::as_ptr(view)
            };
            let is_new = |kept: &&Kept| now.saturating_duration_since(kept.made) < KEPT_FOR;
            all.iter().filter(is_new).find(is_it).map(|kept| kept.discovery.clone())
        };
        let lock = || self.0.lock();
        if let Some(found) = find(&lock()) {
            return found;
        }
        let discovery = Arc::new(Discovery::new(view, need, None, &Uses::of(call)));
        let mut all = lock();
        all.retain(|kept| {
            let is_replaced = kept.need == need && kept.view.as_ptr() == Arc::as_ptr(view);
            let is_current = kept.rights_revision == rights_revision;
            kept.view.strong_count() > 0 && is_current && !is_replaced
        });
        if all.len() >= MAX_KEPT {
            all.remove(0);
        }
        let view = Arc::downgrade(view);
        let discovery_kept = discovery.clone();
        all.push(Kept { view, rights_revision, need, made: now, discovery: discovery_kept });
        discovery
    }
}

impl Discovery {
    fn new(view: &View, need: Need, server: Option<&SourceId>, uses: &Uses) -> Discovery {
        let categories = categories(view, need, server, uses);
        let sizes: Vec<(&str, usize)> =
            categories.iter().map(|(name, all)| (name.as_str(), all.entries.len())).collect();
        let (counts, category_count) = (counts(&sizes), sizes.len());
        let single = |(name, category): &(String, Category)| {
            Some((name.clone(), category.server.clone().filter(|_| !category.has_several_servers)?))
        };
        let servers: HashMap<String, SourceId> = categories.iter().filter_map(single).collect();
        let (mut places, rest) = in_turns(categories);
        let overview = places.len();
        let lengths = if rest.is_empty() { WHOLE } else { LONGER };
        let room = if rest.is_empty() { MAX_BYTES } else { USUAL_BYTES };
        let usual = grouped(view, &places, &servers, lengths, room);
        places.extend(rest);
        Discovery { places, overview, lengths, servers, usual, counts, category_count }
    }

    /// The overview, or the part behind a cursor, in at most about `size` bytes. The cursors lead
    /// through the overview, then through the rest. If the overview has changed by then, they lead
    /// through it once more: its new entries were not in the rest.
    fn part(
        &self,
        view: &View,
        cursor: Option<&str>,
        size: Option<usize>,
    ) -> Result<Part, Failure> {
        let own = self.print();
        let (stretch, place, print) = match cursor {
            None => (OVERVIEW, "", own.as_str()),
            Some(cursor) => parse(cursor).ok_or_else(|| bad_cursor(&BadCursor))?,
        };
        let (first, rest) = self.places.split_at(self.overview);
        let list = if stretch == REST { rest } else { first };
        let (span, _) = span(list, Some(place), MAX_SHOWN, |place| &place.key)
            .map_err(|error| bad_cursor(&error))?;
        let is_usual = stretch != REST && span.start == 0 && size.is_none();
        let listed = if is_usual {
            self.usual.clone()
        } else {
            let usual = if rest.is_empty() { MAX_BYTES } else { USUAL_BYTES };
            let places = &list[span.clone()];
            let room = size.unwrap_or(usual);
            grouped(view, places, &self.servers, self.lengths, room)
        };
        let next = match cursor_after(list, span.start + listed.shown, |place| &place.key) {
            Some(next) => Some(format!("{stretch}{next}")),
            None if stretch == OVERVIEW && !rest.is_empty() => Some(REST.to_string()),
            None if stretch != AGAIN && print != own => Some(AGAIN.to_string()),
            None => None,
        };
        let next = next.map(|next| format!("{next}{PRINT}{print}"));
        Ok(Part { listed, next, is_again: stretch == AGAIN })
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
    listed: Listed,
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

/// The entries that a caller sees by category, each with the most useful first. Categories with the
/// most useful entries come first, those that tell of the gateway itself last.
fn categories(
    view: &View,
    need: Need,
    server: Option<&SourceId>,
    uses: &Uses,
) -> Vec<(String, Category)> {
    let snapshot = view.snapshot();
    let mut categories: BTreeMap<String, Category> = BTreeMap::new();
    let is_asked_for =
        |member: u32| server.is_none_or(|server| snapshot.owner(member).id() == server);
    let mut add = |member: u32, local: &str, usefulness: f32, place: Place| {
        let category = categories.entry(category(snapshot, member, local)).or_default();
        category.add(snapshot, member, usefulness, place);
    };
    let is_bridge_whole = need != Need::Templates;
    let resources = view.resources().filter(|_| is_bridge_whole);
    for (entry, is_closed) in resources.filter(|(entry, _)| is_asked_for(entry.member)) {
        let index = position(snapshot.resources(), entry);
        let key = entry.public.shared();
        let place = Place { index, is_template: false, is_closed, key };
        let usefulness = uses.usefulness(entry.public.as_str(), snapshot.details(entry));
        add(entry.member, entry.local.as_str(), usefulness, place);
    }
    let templates = view.templates().filter(|(entry, _)| is_asked_for(entry.member));
    for (entry, is_closed) in templates {
        let index = position(snapshot.templates(), entry);
        let key = entry.public.shared();
        let place = Place { index, is_template: true, is_closed, key };
        let usefulness = uses.usefulness(entry.public.as_str(), entry.template.details());
        add(entry.member, entry.template.text.as_str(), usefulness, place);
    }
    let mut all: Vec<(String, Category)> = categories.into_iter().collect();
    for (_, category) in &mut all {
        // Stable: equals stay in the order of their server.
        category.entries.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    }
    all.sort_by(|(_, a), (_, b)| a.is_own.cmp(&b.is_own).then(b.best().total_cmp(&a.best())));
    all
}

impl Category {
    fn add(&mut self, snapshot: &Snapshot, member: u32, usefulness: f32, place: Place) {
        let owner = snapshot.owner(member);
        let is_own = owner.is_builtin() && *owner.id() != SourceId::guide();
        self.is_own = is_own && (self.is_own || self.entries.is_empty());
        match &self.server {
            None => self.server = Some(owner.id().clone()),
            Some(server) => self.has_several_servers |= server != owner.id(),
        }
        self.entries.push((usefulness, place));
    }

    /// How useful the best of it is.
    fn best(&self) -> f32 {
        self.entries.first().map_or(0.0, |(usefulness, _)| *usefulness)
    }
}

/// One entry of each category in turn, as many as are shown at once, and the rest by category.
fn in_turns(categories: Vec<(String, Category)>) -> (Vec<Place>, Vec<Place>) {
    let mut first = Vec::new();
    let mut waiting: Vec<_> = categories
        .into_iter()
        .map(|(_, category)| category.entries.into_iter().map(|(_, place)| place))
        .collect();
    loop {
        let before = first.len();
        let room = MAX_SHOWN - before;
        first.extend(waiting.iter_mut().filter_map(Iterator::next).take(room));
        if first.len() == before {
            break;
        }
    }
    (first, waiting.into_iter().flatten().collect())
}

/// The place of an element that was borrowed from `all`.
fn position<T>(all: &[T], element: &T) -> u32 {
    all.element_offset(element).and_then(|n| u32::try_from(n).ok()).unwrap_or_default()
}
