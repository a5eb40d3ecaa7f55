//! What was read, in its envelope.

use std::time::SystemTime;

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    super::frame,
    Call, Failure, GetResource, Outcome,
    show::{self, Shown},
};
use crate::{
    catalogue::{ResourceEntry, RoutedBy},
    content,
    gateway::Reading,
    json::Writer,
    resource::Details,
    uri::PublicUri,
};

/// The most of a name and of a date that is repeated.
const MAX_NAME: usize = 200;
const MAX_DATE: usize = 64;
/// About how much stands around the data.
const ENVELOPE: usize = 512;

/// The answer to a read that succeeded.
pub(super) fn give(
    call: &Call<'_>,
    asked: &GetResource,
    uri: &PublicUri,
    reading: &Reading,
    texts: &[String],
) -> Result<Outcome, Failure> {
    let contents = content::contents(&reading.reply.body);
    let listed = Listed::of(call, reading);
    let mut shown = show::show(call, asked, &contents, listed.mime.as_deref())?;
    for said in texts {
        shown.add_note(said);
    }
    if asked.server.is_some()
        && let view = call.gateway.view_of(reading.snapshot.clone(), call.caller)
        && let Some(hint) = asked.hint(call, &view)
    {
        shown.add_note(&hint);
    }
    let nonce = frame::nonce();
    let mut out = Writer::with_capacity(ENVELOPE + uri.as_str().len());
    out.flag("success", true);
    let shown_uri = content::shown_uri(uri.as_str());
    out.text("uri", &shown_uri);
    out.text("resource_name", listed.name.as_deref().unwrap_or(&shown_uri));
    out.key("data");
    let data_at = out.at();
    out.text("timestamp", &rfc3339(reading.fetched_at));
    let mime = shown.mime.as_deref().or(listed.mime.as_deref());
    // Text is a string; all else that has no type is JSON.
    let usual = if shown.data.starts_with('"') { "text/plain" } else { "application/json" };
    out.text("mime_type", mime.unwrap_or(usual));
    out.text("server", reading.source.as_str());
    out.number("size", shown.size);
    out.open("metadata");
    metadata(&mut out, &shown, &listed, reading, &nonce);
    out.close();
    let envelope = out.finish();
    let (before, after) = envelope.split_at(data_at);
    let mut blocks = shown.images;
    blocks.push(frame::marked(
        &format!("`data` above is content of the server \"{}\"", reading.source),
        &nonce,
    ));
    Ok(Outcome::written(&[before, &shown.data, after], &blocks))
}

fn metadata(out: &mut Writer, shown: &Shown<'_>, listed: &Listed, reading: &Reading, nonce: &str) {
    if let Some(date) = &listed.last_modified {
        out.text("lastModified", date);
    }
    if let Some(encoding) = shown.encoding {
        out.text("encoding", encoding);
    }
    out.flag("cached", reading.hit || reading.stale);
    if reading.hit || reading.stale {
        out.number("age_ms", reading.age.as_millis());
    }
    if reading.stale {
        out.flag("stale", true);
    }
    out.flag("truncated", shown.is_cut());
    if let Some(next) = shown.next_offset {
        out.number("next_offset", next);
    }
    if let Some(sha256) = &shown.sha256 {
        out.text("sha256", sha256);
    }
    if let Some((matched, given)) = shown.matched {
        out.number("matched_lines", matched);
        out.number("shown_lines", given);
    }
    if shown.reported_failure {
        out.flag("reported_failure", true);
    }
    if let Some(note) = &shown.note {
        out.text("note", note);
    }
    out.text("nonce", nonce);
}

/// What the catalogue says of the resource, or of the template it was made from.
#[derive(Default)]
struct Listed {
    name: Option<String>,
    mime: Option<String>,
    last_modified: Option<String>,
}

impl Listed {
    fn of(call: &Call<'_>, reading: &Reading) -> Listed {
        if let Some(entry) = listed(reading) {
            return Listed::from(reading.snapshot.details(entry));
        }
        if reading.by == RoutedBy::Listing {
            return Listed::default();
        }
        let view = call.gateway.view_of(reading.snapshot.clone(), call.caller);
        match view.template_of(&reading.source, reading.local.as_str()) {
            Some((entry, _)) => Listed::from(entry.template.details()),
            None => Listed::default(),
        }
    }

    fn from(details: Details<'_>) -> Listed {
        let short =
            |text: &str, most| (text.len() <= most).then(|| content::one_line(text).into_owned());
        let annotations = details.annotations();
        Listed {
            name: human_name(details),
            mime: details.mime().and_then(|mime| short(&mime, MAX_NAME)),
            last_modified: annotations.last_modified().and_then(|date| short(&date, MAX_DATE)),
        }
    }
}

/// The entry of what was read, if its server lists it, whatever name it was asked by.
pub(super) fn listed(reading: &Reading) -> Option<&ResourceEntry> {
    reading.snapshot.listed(&reading.source, reading.local.as_str())
}

/// The name people use: its title, else its name.
fn human_name(details: Details<'_>) -> Option<String> {
    let said = [details.title(), details.name()];
    let said = said.into_iter().flatten().find(|text| !text.trim().is_empty());
    said.map(|text| content_line(text.trim()))
}

fn content_line(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_NAME);
    let more = if end < text.len() { "…" } else { "" };
    format!("{}{more}", content::one_line(&text[..end]))
}

/// A moment as clients read it.
pub(super) fn rfc3339(moment: SystemTime) -> String {
    OffsetDateTime::from(moment).format(&Rfc3339).unwrap_or_default()
}
