//! How the entries of a list are written: nothing in them that is false, empty or said already.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use crate::{
    catalogue::{ResourceEntry, Snapshot, TemplateEntry, naming},
    content::{one_line, shown_uri},
    gateway::View,
    json::{Json, Object, quote},
    resource::Details,
    source::SourceId,
    uri::scheme,
};

/// The most bytes shown at once: names may be long.
pub(super) const MAX_BYTES: usize = 256 * 1024;
/// The most bytes of categories with their number of entries; the largest come first.
const MAX_COUNTS: usize = 600;
/// The most bytes of a name and of a description, in a list that is shown whole and in a longer
/// one.
pub(super) const WHOLE: Lengths = Lengths { name: 120, description: 240 };
pub(super) const LONGER: Lengths = Lengths { name: 60, description: 80 };
/// Where an entry stands in the Snapshot.
pub(super) struct Place {
    pub(super) index: u32,
    pub(super) is_template: bool,
    pub(super) is_closed: bool,
    pub(super) key: Arc<str>,
}

/// The most bytes of the texts of an entry.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    pub(super) name: usize,
    pub(super) description: usize,
}

/// Entries, written.
#[derive(Clone)]
pub(super) struct Listed {
    /// The entries by category.
    pub(super) data: String,
    /// The server of each of these categories that has one alone.
    pub(super) servers: String,
    pub(super) shown: usize,
}

/// How many entries each category has, the largest first.
pub(super) fn counts(sizes: &[(&str, usize)]) -> String {
    let mut counts = sizes.to_vec();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let mut room = MAX_COUNTS;
    let members =
        counts.iter().map(|(name, count)| format!("{}:{count}", quote(&short(name, WHOLE.name))));
    let told: Vec<String> = members
        .take_while(|member| {
            room = room.saturating_sub(member.len() + 1);
            room > 0
        })
        .collect();
    format!("{{{}}}", told.join(","))
}

/// Entries under their categories, in order, as many as there is room for; one always has.
pub(super) fn grouped(
    view: &View,
    places: &[Place],
    servers: &HashMap<String, SourceId>,
    lengths: Lengths,
    room: usize,
) -> Listed {
    let snapshot = view.snapshot();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let (mut bytes, mut shown) = (0, 0);
    for place in places {
        let (category, entry) = if place.is_template {
            template_entry(view, &snapshot.templates()[place.index as usize], place.is_closed)
        } else {
            resource_entry(view, &snapshot.resources()[place.index as usize], place.is_closed)
        };
        let is_server_told = servers.contains_key(&category);
        let text = entry.described(lengths, is_server_told);
        bytes += text.len() + 1;
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
    let mut told = Vec::new();
    for (name, _) in &groups {
        if let Some(server) = servers.get(name) {
            told.push(format!("{}:{}", quote(&one_line(name)), quote(server.as_str())));
        }
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|(name, entries)| format!("{}:[{}]", quote(&one_line(&name)), entries.join(",")))
        .collect();
    Listed {
        data: format!("{{{}}}", groups.join(",")),
        servers: format!("{{{}}}", told.join(",")),
        shown,
    }
}

/// An entry of the list before it is written.
struct Entry<'a> {
    uri: &'a str,
    details: Details<'a>,
    /// The variables of a template.
    variables: Option<Vec<&'a str>>,
    /// Whether a read takes the rights of an administrator, for every caller.
    requires_admin: bool,
    /// Whether this caller may not read it.
    is_closed: bool,
    server: &'a str,
}

fn resource_entry<'a>(
    view: &'a View,
    entry: &'a ResourceEntry,
    is_closed: bool,
) -> (String, Entry<'a>) {
    let snapshot = view.snapshot();
    let category = category(snapshot, entry.member, entry.local.as_str());
    let owner = snapshot.owner(entry.member).id();
    let details = snapshot.details(entry);
    let written = Entry {
        uri: entry.public.as_str(),
        details,
        variables: None,
        requires_admin: view.requires_admin(owner, &entry.local, details),
        is_closed,
        server: owner.as_str(),
    };
    (category, written)
}

fn template_entry<'a>(
    view: &'a View,
    entry: &'a TemplateEntry,
    is_closed: bool,
) -> (String, Entry<'a>) {
    let snapshot = view.snapshot();
    let category = category(snapshot, entry.member, entry.template.text.as_str());
    let owner = snapshot.owner(entry.member).id();
    let details = entry.template.details();
    let variables: Vec<&str> =
        entry.template.compiled.iter().flat_map(|compiled| compiled.variables()).collect();
    let written = Entry {
        uri: entry.public.as_str(),
        details,
        variables: Some(variables),
        requires_admin: view.requires_admin(owner, &entry.template.text, details),
        is_closed,
        server: owner.as_str(),
    };
    (category, written)
}

impl Entry<'_> {
    /// The entry as it is shown: nothing in it that is false, empty, or said already.
    fn described(&self, lengths: Lengths, is_server_told: bool) -> String {
        let name = short(&self.details.name().unwrap_or_default(), lengths.name);
        let description = self.details.description().unwrap_or_default();
        let description = short(&description, lengths.description);
        let mut out = Object::new();
        out.set_str("uri", &shown_uri(self.uri));
        if !name.is_empty() && name != self.uri {
            out.set_str("name", &name);
        }
        if !description.is_empty() {
            out.set_str("description", &description);
        }
        if let Some(variables) = &self.variables {
            out.set("is_template", "true");
            if !variables.is_empty() {
                out.set("template_variables", Json::of(variables).as_str().to_owned());
            }
        }
        if self.requires_admin {
            out.set("requires_admin", "true");
        }
        if self.is_closed {
            out.set("readable", "false");
        }
        if !is_server_told {
            out.set_str("server", self.server);
        }
        out.to_text()
    }
}

/// The beginning of a foreign text, fit to be shown.
fn short(text: &str, most: usize) -> String {
    if text.len() <= most {
        return one_line(text).into_owned();
    }
    format!("{}…", one_line(&text[..text.floor_char_boundary(most)]))
}

/// The scheme, or the server where the scheme says nothing.
pub(super) fn category(snapshot: &Snapshot, member: u32, local: &str) -> String {
    match scheme(local) {
        Some(scheme) if !scheme.eq_ignore_ascii_case("file") && !naming::is_web(local) => {
            scheme.to_owned()
        }
        Some(_) | None => snapshot.owner(member).id().to_string(),
    }
}
