//! Where the members of an object stand, for one that is read now and edited later.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::Object;

/// Where the members of an object stand in its text. Large texts are not read twice for it.
#[derive(Debug, Clone)]
pub struct Members(Arc<[Member]>);

#[derive(Debug)]
struct Member {
    key: Range<usize>,
    value: Range<usize>,
}

impl Members {
    /// Those of an object as it was parsed from `text`; nothing if a key is written with
    /// escapes, or a member was set.
    pub fn of(text: &str, object: &Object<'_>) -> Option<Members> {
        let place = |part: &Cow<'_, str>| match part {
            Cow::Borrowed(part) => place_in(text, part),
            Cow::Owned(_) => None,
        };
        let members = object.members.iter();
        let members =
            members.map(|(key, value)| Some(Member { key: place(key)?, value: place(value)? }));
        members.collect::<Option<Arc<[Member]>>>().map(Members)
    }

    /// The object, from the same text or a copy of it; nothing if it is too short for that.
    pub fn object<'a>(&self, text: &'a str) -> Option<Object<'a>> {
        let part = |place: &Range<usize>| text.get(place.clone()).map(Cow::Borrowed);
        let members = self.0.iter().map(|member| Some((part(&member.key)?, part(&member.value)?)));
        Some(Object { members: members.collect::<Option<_>>()?, edited: false })
    }
}

/// Where a part of a text begins and ends in it.
fn place_in(text: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start + part.len();
    (end <= text.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_the_same_from_where_its_members_stand() {
        let text = r#" {"ttlMs":0, "contents":[{"text":"a\"b"}] ,"é":null}"#;
        let object = Object::parse(text).unwrap();
        let members = Members::of(text, &object).unwrap();
        let mut again = members.object(text).unwrap();
        assert!(again.iter().eq(object.iter()));
        again.remove("ttlMs");
        assert_eq!(again.to_text(), r#"{"contents":[{"text":"a\"b"}],"é":null}"#);
    }

    #[test]
    fn what_does_not_stand_in_the_text_has_no_place() {
        let text = r#"{"a":1}"#;
        let mut object = Object::parse(text).unwrap();
        object.set("a", "2");
        assert!(Members::of(text, &object).is_none(), "a value of ours stands elsewhere");
        let escaped = r#"{"\u0061":1}"#;
        assert!(Members::of(escaped, &Object::parse(escaped).unwrap()).is_none());
        let members = Members::of(text, &Object::parse(text).unwrap()).unwrap();
        assert!(members.object("{}").is_none(), "too short");
    }
}
