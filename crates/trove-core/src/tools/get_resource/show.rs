//! Contents in the form that was asked for, cut to size.
//!
//! Windows put together in order are the whole. Several contents are one sequence: a
//! window may end in one and the next begin there.

use std::borrow::Cow;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::{
    Call, Failure, Format, GetResource,
    contents::{Form, Text},
    images::Images,
};
use crate::{
    content::{self, Content, GrepLimits, Kind, Words},
    hex::hex,
    json::{Json, Object, is_deeper, is_portable, quote},
};

/// The most of a part's URI and type that is repeated.
const MAX_URI: usize = 4096;
const MAX_MIME: usize = 256;
/// The deepest JSON that is given as such: libraries on the other side follow no more than 128
/// levels, some of which are ours.
const MAX_LEVELS: usize = 100;
const TOO_DEEP: &str = "JSON nested deeper than 100 levels; given as text";
const NO_TEXT: &str = "none of the contents is text, so `grep` finds nothing in them";
const NOT_PORTABLE: &str = "JSON with half a surrogate pair or a number beyond all bounds, which many libraries cannot read; given as text";
const PART_OF_JSON: &str = "part of a JSON text; put the parts together to parse it";
/// What a part takes beside its URI and its type: braces, quotes and names.
const PART: usize = 40;

/// What goes under `data`, and what is said of it.
#[derive(Default)]
pub(super) struct Shown<'a> {
    pub(super) data: Cow<'a, str>,
    pub(super) mime: Option<String>,
    pub(super) size: usize,
    pub(super) next_offset: Option<usize>,
    pub(super) encoding: Option<&'static str>,
    pub(super) sha256: Option<String>,
    /// How many lines matched, and how many of those are shown.
    pub(super) matched: Option<(usize, usize)>,
    /// Of a line that is shown, some matches are not.
    pub(super) leaves_out: bool,
    pub(super) reported_failure: bool,
    pub(super) note: Option<Cow<'static, str>>,
    /// Content blocks.
    pub(super) images: Vec<String>,
    /// Images are not among them.
    pub(super) leaves_out_images: bool,
}

impl Shown<'_> {
    /// Says one thing more of the data.
    pub(super) fn add_note(&mut self, said: &str) {
        let note = match self.note.take() {
            Some(note) => format!("{note}; {said}"),
            None => said.to_owned(),
        };
        self.note = Some(note.into());
    }

    /// Whether there is more than is shown.
    pub(super) fn is_cut(&self) -> bool {
        let leaves_out_lines = self.matched.is_some_and(|(all, given)| given < all);
        self.next_offset.is_some() || leaves_out_lines || self.leaves_out || self.leaves_out_images
    }
}

/// All contents of a read, as asked.
pub(super) fn show<'a>(
    call: &Call<'_>,
    asked: &GetResource,
    contents: &'a [Content<'a>],
    listed: Option<&'a str>,
) -> Result<Shown<'a>, Failure> {
    let mut shown = match contents {
        [one] => show_one(call, asked, one, listed)?,
        several => show_several(call, asked, several)?,
    };
    if shown.matched.is_some() && shown.is_cut() {
        let note = "more matches than are shown; narrow the pattern or raise `maxSize`";
        shown.note = Some(note.into());
    }
    if let Some(mime) = &mut shown.mime {
        cut(mime, MAX_MIME);
        *mime = content::one_line(mime).into_owned();
    }
    Ok(shown)
}

fn show_one<'a>(
    call: &Call<'_>,
    asked: &GetResource,
    one: &'a Content<'a>,
    listed: Option<&'a str>,
) -> Result<Shown<'a>, Failure> {
    let max = asked.size(call);
    let shown = match one.form(asked.format, asked.grep.is_some()) {
        Form::Text(mut text) => {
            text.mime = text.mime.or_else(|| listed.map(Cow::Borrowed));
            show_text(call, asked, &text)?
        }
        Form::Bytes(bytes) => {
            let mime = one.type_in(asked.format);
            Shown { mime, ..show_bytes(&bytes, asked.offset, max) }
        }
        Form::Described(_, kind) if asked.format != Format::Auto || asked.grep.is_some() => {
            return Err(is_binary(&kind, asked));
        }
        Form::Described(bytes, kind) => {
            let mut images = Images::within(asked.image_room(call));
            images.add(bytes, &kind, 0);
            Shown {
                data: described(bytes, &kind, max).into(),
                size: bytes.len(),
                note: images.note().map(Cow::Owned),
                leaves_out_images: images.left_out > 0,
                images: images.blocks,
                mime: Some(kind.mime.into_owned()),
                ..Shown::default()
            }
        }
    };
    Ok(shown)
}

fn show_text<'a>(
    call: &Call<'_>,
    asked: &GetResource,
    text: &Text<'a>,
) -> Result<Shown<'a>, Failure> {
    let (words, max) = (&text.words, asked.size(call));
    let shown = Shown {
        size: words.len(),
        mime: text.mime.as_ref().map(|mime| mime.clone().into_owned()),
        encoding: text.encoding,
        note: text.note.map(Cow::Borrowed),
        reported_failure: reports_failure(text),
        ..Shown::default()
    };
    if let Some(pattern) = &asked.grep {
        let limits = GrepLimits { pattern: call.settings.patterns, ..GrepLimits::within(max) };
        let found = grep(&words.text(), pattern, limits)?;
        let matched = Some((found.matched, found.shown));
        let leaves_out = found.is_partial;
        return Ok(Shown { data: quote(&found.text).into(), matched, leaves_out, ..shown });
    }
    let is_whole = asked.offset == 0 && words.len() <= max;
    let is_json = is_json(text.mime.as_deref(), words);
    let wants_json = asked.format == Format::Json || (asked.format == Format::Auto && is_json);
    let mut note = (wants_json && !is_whole).then_some(PART_OF_JSON);
    if asked.format == Format::Json || (wants_json && is_whole) {
        let text = words.text();
        let json = bare(&text);
        match crate::json::is_json(json) {
            true if is_whole => match not_for_all(json) {
                None => return Ok(Shown { data: json.to_owned().into(), ..shown }),
                why => note = why,
            },
            false if asked.format == Format::Json => return Err(not_json()),
            _ => {}
        }
    }
    // Most texts are given whole, in the words they came in.
    if let Some(literal) = words.literal().filter(|_| is_whole) {
        let note = note.map(Cow::Borrowed).or(shown.note);
        return Ok(Shown { data: Cow::Borrowed(literal), note, ..shown });
    }
    let window = words.window(asked.offset, max);
    // Whoever put the parts together can see that they are of one whole.
    let is_last = asked.offset > 0 && window.next_offset.is_none();
    let sha256 = is_last.then(|| sha256(words.text().as_bytes()));
    let (data, next_offset) = (window.data.into(), window.next_offset);
    let note = note.map(Cow::Borrowed).or(shown.note);
    Ok(Shown { data, next_offset, sha256, note, ..shown })
}

fn grep(text: &str, pattern: &str, limits: GrepLimits) -> Result<content::GrepResult, Failure> {
    content::grep(text, pattern, limits)
        .map_err(|error| Failure::arguments(format!("`grep`: {error}")).with("field", "grep"))
}

/// Why a JSON is given as text: a message with it in it could not be read everywhere.
fn not_for_all(json: &str) -> Option<&'static str> {
    if is_deeper(json.as_bytes(), MAX_LEVELS) {
        return Some(TOO_DEEP);
    }
    (!is_portable(json)).then_some(NOT_PORTABLE)
}

/// Whether a text is JSON: by its type or, as `text/plain` says little, by what it is.
fn is_json(mime: Option<&str>, words: &Words<'_>) -> bool {
    let essence = mime.map(|mime| mime.split(';').next().unwrap_or(mime).trim());
    match essence.map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "text/plain") => {
            words.look_like_json() && crate::json::is_json(bare(&words.text()))
        }
        Some("application/json" | "text/json") => true,
        Some(mime) => mime.ends_with("+json"),
    }
}

/// A text without blanks around it, and without the mark of its encoding.
fn bare(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim()
}

/// Whether it is a JSON by which the server says that it failed, however much of it is shown.
fn reports_failure(text: &Text<'_>) -> bool {
    text.words.mention("success")
        && is_json(text.mime.as_deref(), &text.words)
        && Json::parse(bare(&text.words.text()).to_owned())
            .is_ok_and(|json| json.get("success").is_some_and(|value| value.as_str() == "false"))
}

fn not_json() -> Failure {
    let message = "`format` is json, but the resource is not JSON";
    Failure::arguments(message).with("field", "format").suggest("Ask with format \"text\".")
}

/// Refuses one of several contents that is no JSON where that is asked for.
fn check_json(form: &Form<'_>, asked: &GetResource) -> Result<(), Failure> {
    match form {
        Form::Described(_, kind) => Err(is_binary(kind, asked)),
        Form::Text(text) if !crate::json::is_json(bare(&text.words.text())) => Err(not_json()),
        Form::Text(_) | Form::Bytes(_) => Ok(()),
    }
}

fn is_binary(kind: &Kind, asked: &GetResource) -> Failure {
    let field = if asked.grep.is_some() { "grep" } else { "format" };
    Failure::arguments(format!("the resource is binary ({}), so `{field}` cannot be", kind.mime))
        .with("field", field)
        .suggest("Ask with format \"auto\" for a description, or \"binary\" for base64.")
}

/// A few words about a binary, in at most about `max` bytes.
fn described(bytes: &[u8], kind: &Kind, max: usize) -> String {
    let mut told = content::summarise(bytes, kind);
    let mut text = told.to_string();
    while text.len() > max {
        let Some(Value::Array(entries)) = told.get_mut("entries") else { break };
        if entries.is_empty() {
            break;
        }
        entries.truncate(entries.len() / 2);
        told["truncated"] = json!(true);
        text = told.to_string();
    }
    text
}

fn show_bytes(bytes: &[u8], offset: usize, max: usize) -> Shown<'static> {
    let window = content::base64_window(bytes, offset, max);
    Shown {
        data: quote(&window.base64).into(),
        size: bytes.len(),
        next_offset: window.next_offset,
        encoding: Some("base64"),
        sha256: Some(sha256(bytes)),
        ..Shown::default()
    }
}

/// Several contents, or none.
fn show_several(
    call: &Call<'_>,
    asked: &GetResource,
    contents: &[Content<'_>],
) -> Result<Shown<'static>, Failure> {
    let mut all = Several::new(call, asked);
    for content in contents {
        all.add(content)?;
    }
    Ok(Shown {
        data: format!("[{}]", all.parts.join(",")).into(),
        mime: Some("application/json".to_owned()),
        size: all.size,
        next_offset: all.next_offset,
        encoding: (asked.format == Format::Binary).then_some("base64"),
        matched: all.matched,
        reported_failure: all.reported_failure,
        leaves_out: all.leaves_out,
        note: match contents.is_empty() {
            true => Some("the server gave no contents for it".into()),
            false if asked.grep.is_some() && !all.has_text => Some(NO_TEXT.into()),
            false => all.images.note().map(Cow::Owned),
        },
        leaves_out_images: all.images.left_out > 0,
        images: all.images.blocks,
        ..Shown::default()
    })
}

/// Contents put one after another until the room is used up.
struct Several<'a> {
    asked: &'a GetResource,
    max: usize,
    /// What holds for the search of each content; all of them share its steps.
    search: GrepLimits,
    /// The room for everything but images.
    room: usize,
    /// The offset at which the next content begins.
    at: usize,
    size: usize,
    next_offset: Option<usize>,
    matched: Option<(usize, usize)>,
    leaves_out: bool,
    /// Something in it can be searched.
    has_text: bool,
    reported_failure: bool,
    parts: Vec<String>,
    images: Images,
}

impl Several<'_> {
    fn new<'a>(call: &Call<'_>, asked: &'a GetResource) -> Several<'a> {
        let max = asked.size(call);
        Several {
            asked,
            max,
            search: GrepLimits { pattern: call.settings.patterns, ..GrepLimits::within(max) },
            room: max,
            at: 0,
            size: 0,
            next_offset: None,
            matched: asked.grep.as_ref().map(|_| (0, 0)),
            leaves_out: false,
            has_text: false,
            reported_failure: false,
            parts: Vec::new(),
            images: Images::within(asked.image_room(call)),
        }
    }

    fn add(&mut self, content: &Content<'_>) -> Result<(), Failure> {
        let form = content.form(self.asked.format, self.asked.grep.is_some());
        if self.asked.format == Format::Json {
            check_json(&form, self.asked)?;
        }
        let begin = self.at;
        self.size += form.size();
        self.at += form.places();
        self.reported_failure |= matches!(&form, Form::Text(text) if reports_failure(text));
        if let Some(pattern) = &self.asked.grep {
            return self.search(content, &form, pattern);
        }
        let is_before = self.asked.offset >= self.at;
        if is_before || self.next_offset.is_some() {
            return Ok(());
        }
        let left = self.room_beside(content);
        let is_first = self.parts.is_empty();
        if left == 0 && !is_first {
            self.next_offset = Some(begin);
            return Ok(());
        }
        let offset = self.asked.offset.saturating_sub(begin);
        let piece = match &form {
            Form::Text(text) => {
                let window = text.words.window(offset, left.max(1));
                Piece { key: "text", data: window.data, next: window.next_offset, cost: window.len }
            }
            Form::Bytes(bytes) => {
                let window = content::base64_window(bytes, offset, left);
                let cost = window.base64.len();
                Piece { key: "data", data: quote(&window.base64), next: window.next_offset, cost }
            }
            Form::Described(bytes, kind) => {
                let data = described(bytes, kind, self.max);
                if data.len() > left && !is_first {
                    self.next_offset = Some(begin);
                    return Ok(());
                }
                self.images.add(bytes, kind, begin);
                Piece { key: "data", cost: data.len(), data, next: None }
            }
        };
        self.next_offset = piece.next.map(|next| begin + next);
        self.room = left.saturating_sub(piece.cost);
        self.parts.push(part(content, &form, piece));
        Ok(())
    }

    /// The room that is left once the content has its URI and its type.
    fn room_beside(&self, content: &Content<'_>) -> usize {
        let mime = content.mime.as_ref().map_or(0, |mime| mime.len().min(MAX_MIME));
        self.room.saturating_sub(PART + content.uri.len().min(MAX_URI) + mime)
    }

    /// Contents without a match, and binaries, are left out.
    fn search(
        &mut self,
        content: &Content<'_>,
        form: &Form<'_>,
        pattern: &str,
    ) -> Result<(), Failure> {
        let Form::Text(text) = form else { return Ok(()) };
        self.has_text = true;
        let left = self.room_beside(content);
        let limits = GrepLimits { max_bytes: left, ..self.search };
        let found = grep(&text.words.text(), pattern, limits)?;
        self.search.steps = found.steps_left;
        if let Some((matched, shown)) = &mut self.matched {
            (*matched, *shown) = (*matched + found.matched, *shown + found.shown);
        }
        self.leaves_out |= found.is_partial;
        if found.shown > 0 {
            self.room = left.saturating_sub(found.text.len());
            let piece = Piece { key: "text", data: quote(&found.text), next: None, cost: 0 };
            self.parts.push(part(content, form, piece));
        }
        Ok(())
    }
}

/// What is shown of one content among several.
struct Piece {
    key: &'static str,
    data: String,
    next: Option<usize>,
    cost: usize,
}

fn part(content: &Content<'_>, form: &Form<'_>, piece: Piece) -> String {
    let mut out = Object::new();
    let mut uri = content.uri.clone().into_owned();
    cut(&mut uri, MAX_URI);
    out.set_str("uri", &uri);
    let mime = match form {
        Form::Text(text) => text.mime.as_ref().map(|mime| mime.clone().into_owned()),
        Form::Described(_, kind) => Some(kind.mime.clone().into_owned()),
        Form::Bytes(_) => content.type_in(Format::Binary),
    };
    if let Some(mut mime) = mime {
        cut(&mut mime, MAX_MIME);
        out.set_str("mimeType", &mime);
    }
    out.set(piece.key, piece.data);
    if let Form::Text(Text { note: Some(note), .. }) = form {
        out.set_str("note", note);
    }
    out.to_text()
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}
