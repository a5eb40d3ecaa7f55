//! The members of a listed entry that readers use, e.g. `mimeType`.
//!
//! They are found once, when the entry is listed: their places in its text are noted, two bytes
//! each. A reader decodes the one it needs and walks over no other. No reader spells a member.

use std::borrow::Cow;

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::json::{Json, Object, string};

const NAME: usize = 0;
const TITLE: usize = 1;
const DESCRIPTION: usize = 2;
const MIME: usize = 3;
const SIZE: usize = 4;
const ANNOTATIONS: usize = 5;
const KEYS: [&str; 6] = ["name", "title", "description", "mimeType", "size", "annotations"];

/// The importance of an entry whose server gives it none.
const USUAL_PRIORITY: f32 = 0.5;

/// The member is not there.
const ABSENT: u16 = u16::MAX;
/// The member begins beyond the largest place; it is looked for when it is needed.
const FAR: u16 = u16::MAX - 1;

/// Where the members of an entry begin in its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginnings([u16; KEYS.len()]);

impl Beginnings {
    /// Those of an entry that is no object.
    pub(super) const NONE: Beginnings = Beginnings([ABSENT; KEYS.len()]);

    /// `object` must be read from `entry`.
    pub(super) fn of(entry: &Json, object: &Object<'_>) -> Beginnings {
        let mut beginnings = Beginnings::NONE.0;
        for (key, value) in object.iter() {
            let Some(n) = KEYS.iter().position(|known| *known == key) else { continue };
            // The first of several members of one key counts.
            if beginnings[n] == ABSENT {
                let start = entry.start_of(value).and_then(|start| u16::try_from(start).ok());
                beginnings[n] = start.unwrap_or(FAR).min(FAR);
            }
        }
        Beginnings(beginnings)
    }
}

/// The members of an entry.
#[derive(Clone, Copy)]
pub struct Details<'a> {
    pub(super) entry: &'a Json,
    pub(super) beginnings: &'a Beginnings,
}

impl<'a> Details<'a> {
    pub fn name(self) -> Option<Cow<'a, str>> {
        string(self.value(NAME)?)
    }

    /// The title that people are shown.
    pub fn title(self) -> Option<Cow<'a, str>> {
        string(self.value(TITLE)?)
    }

    /// The name that people are shown: its title, else its name.
    pub fn shown_name(self) -> Option<Cow<'a, str>> {
        self.title().or_else(|| self.name())
    }

    pub fn description(self) -> Option<Cow<'a, str>> {
        string(self.value(DESCRIPTION)?)
    }

    /// Its type, e.g. `text/plain; charset=utf-8`.
    pub fn mime(self) -> Option<Cow<'a, str>> {
        string(self.value(MIME)?)
    }

    /// Its size in bytes.
    pub fn size(self) -> Option<u64> {
        self.value(SIZE)?.parse().ok()
    }

    /// Its annotations; empty if it has none.
    pub fn annotations(self) -> Annotations<'a> {
        let object = self.value(ANNOTATIONS).and_then(Object::parse);
        Annotations(object.unwrap_or_default())
    }

    fn value(self, n: usize) -> Option<&'a str> {
        match self.beginnings.0[n] {
            ABSENT => None,
            FAR => self.entry.find(KEYS[n]),
            start => self.entry.value_at(usize::from(start)),
        }
    }
}

/// The annotations of an entry.
pub struct Annotations<'a>(Object<'a>);

impl Annotations<'_> {
    /// The importance that its server gives it, from 0 to 1.
    pub fn priority(&self) -> f32 {
        let given = self.0.get("priority").and_then(|number| number.parse::<f32>().ok());
        match given {
            Some(priority) if priority.is_finite() => priority.clamp(0.0, 1.0),
            Some(_) | None => USUAL_PRIORITY,
        }
    }

    /// Its date as its server writes it.
    pub fn last_modified(&self) -> Option<Cow<'_, str>> {
        self.0.get_str("lastModified")
    }

    /// Its date in seconds since 1970.
    pub fn modified(&self) -> Option<i64> {
        let date = OffsetDateTime::parse(&self.last_modified()?, &Rfc3339).ok()?;
        Some(date.unix_timestamp())
    }

    /// Whether its server says that reading it changes something.
    pub fn has_effects(&self) -> bool {
        self.0.get("readOnlyHint") == Some("false") || self.0.get("destructiveHint") == Some("true")
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Resource, USUAL_PRIORITY};
    use crate::json::Json;

    fn resource(entry: &str) -> Resource {
        Resource::new(Json::parse(entry.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn members_are_read_wherever_they_stand() {
        let long = "x".repeat(70_000);
        for filler in ["short", long.as_str()] {
            let entry = format!(
                r#"{{"_meta":"{filler}","size": 12 ,"uri":"a:1","mimeType":"text\/plain","name":"n","name":"m",
                "annotations":{{"priority":7,"lastModified":"1970-01-01T00:00:09Z","readOnlyHint":false}}}}"#
            );
            let resource = resource(&entry);
            let details = resource.details();
            assert_eq!(details.name().as_deref(), Some("n"), "the first counts");
            assert_eq!(details.shown_name().as_deref(), Some("n"));
            assert_eq!(details.mime().as_deref(), Some("text/plain"));
            assert_eq!(
                (details.size(), details.title(), details.description()),
                (Some(12), None, None)
            );
            let annotations = details.annotations();
            assert_eq!((annotations.priority(), annotations.modified()), (1.0, Some(9)));
            assert!(annotations.has_effects());
        }
    }

    #[test]
    fn a_name_that_was_made_is_read_like_any_other() {
        let resource = resource(r#"{"uri":"a:b/c","size":"12","title":5}"#);
        let details = resource.details();
        assert_eq!(details.name().as_deref(), Some("c"));
        assert_eq!((details.size(), details.title()), (None, None), "they are of a wrong type");
        assert_eq!(details.annotations().priority(), USUAL_PRIORITY);
    }
}
