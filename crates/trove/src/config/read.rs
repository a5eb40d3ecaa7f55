//! Reads typed sections from a tree and reports everything it cannot read.
//!
//! [`section!`] declares a section once: its keys, their documentation, their types.
//! From that come the reader, the list of known keys and the JSON Schema, so the three
//! cannot disagree. Whether values make sense together is not asked here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    problem::{Problems, suggestion},
    tree::{At, Node, Value},
};

/// A type that can be read from a node. `section` is where the node stands, as in `[http]`.
pub(super) trait Read: Sized {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<Self>;
}

/// A setting that takes one of a few words.
pub trait Word: Copy + 'static {
    /// Every word there is.
    const WORDS: &'static [&'static str];

    /// The word for it.
    fn as_str(self) -> &'static str;

    /// The value that a word stands for.
    fn from_word(word: &str) -> Option<Self>;
}

/// Something and its place.
#[derive(Clone)]
pub(super) struct Spot<T> {
    pub(super) at: At,
    pub(super) value: T,
}

/// A key of a section.
#[derive(Default)]
pub(super) enum Key<T> {
    #[default]
    Absent,
    /// Written, but not as it should be; that has been reported.
    Wrong,
    Written(Spot<T>),
}

/// Entries under names of the user's choice.
pub(super) struct Table<T>(pub(super) Vec<(Spot<String>, T)>);

impl<T> Key<T> {
    pub(super) fn get(&self) -> Option<&Spot<T>> {
        match self {
            Key::Written(spot) => Some(spot),
            Key::Absent | Key::Wrong => None,
        }
    }

    pub(super) fn take(self) -> Option<T> {
        match self {
            Key::Written(spot) => Some(spot.value),
            Key::Absent | Key::Wrong => None,
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Key::Absent)
    }

    pub(super) fn is_wrong(&self) -> bool {
        matches!(self, Key::Wrong)
    }
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(Vec::new())
    }
}

impl<T: Read> Read for Key<T> {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<Key<T>> {
        Some(Spot::read(node, section, problems).map_or(Key::Wrong, Key::Written))
    }
}

impl<T: Read> Read for Spot<T> {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<Spot<T>> {
        Some(Spot { at: node.at, value: T::read(node, section, problems)? })
    }
}

impl Read for String {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<String> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => expected(node, section, ("a string", "put it in quotes"), problems),
        }
    }
}

impl Read for bool {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<bool> {
        match node.value {
            Value::Bool(flag) => Some(flag),
            _ => expected(node, section, ("true or false", "write `true` or `false`"), problems),
        }
    }
}

impl Read for u64 {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<u64> {
        match node.value {
            Value::Integer(number) if number >= 0 => Some(number.unsigned_abs()),
            Value::Integer(_) => {
                problems.error(node.at, format!("`{section}` is negative"), "write zero or more");
                None
            }
            _ => expected(
                node,
                section,
                ("a whole number", "write it without quotes or a point"),
                problems,
            ),
        }
    }
}

impl Read for f64 {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<f64> {
        match node.value {
            Value::Float(number) => Some(number),
            Value::Integer(number) => Some(number as f64),
            _ => expected(node, section, ("a number", "write it without quotes"), problems),
        }
    }
}

impl<T: Word> Read for T {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<T> {
        let word = String::read(node, section, problems)?;
        let found = T::from_word(&word);
        if found.is_none() {
            let message = format!("`{word}` is no value of `{section}`");
            problems.error(node.at, message, suggestion(&word, T::WORDS));
        }
        found
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<Vec<T>> {
        let Value::List(nodes) = &node.value else {
            return expected(node, section, ("a list", "put it in square brackets"), problems);
        };
        Some(nodes.iter().filter_map(|item| T::read(item, section, problems)).collect())
    }
}

impl<T: Read> Read for Table<T> {
    fn read(node: &Node, section: &str, problems: &mut Problems) -> Option<Table<T>> {
        let Value::Map(entries) = &node.value else {
            let hint = "write `[section.name]` or `{ key = value }`";
            return expected(node, section, ("a table", hint), problems);
        };
        let mut table = Table::default();
        for entry in entries {
            let inner = inside(section, &entry.key);
            if let Some(value) = T::read(&entry.node, &inner, problems) {
                table.0.push((Spot { at: entry.at, value: entry.key.clone() }, value));
            }
        }
        Some(table)
    }
}

/// A section whose keys are known. [`section!`] drives it.
pub(super) struct Fields<'a> {
    node: &'a Node,
    section: &'a str,
    problems: &'a mut Problems,
}

impl<'a> Fields<'a> {
    /// Reports the keys that are none of `known`.
    pub(super) fn open(
        node: &'a Node,
        section: &'a str,
        known: &[&str],
        problems: &'a mut Problems,
    ) -> Option<Fields<'a>> {
        let Value::Map(entries) = &node.value else {
            return expected(
                node,
                section,
                ("a table", "write its keys below a `[section]`"),
                problems,
            );
        };
        for entry in entries {
            if !known.contains(&entry.key.as_str()) {
                let place = if section.is_empty() { "the file" } else { &format!("[{section}]") };
                let message = format!("unknown key `{}` in {place}", entry.key);
                problems.error(entry.at, message, suggestion(&entry.key, known));
            }
        }
        Some(Fields { node, section, problems })
    }

    /// The value of the key; the default if it is absent or wrong.
    pub(super) fn read<T: Read + Default>(&mut self, key: &str) -> T {
        let Some(node) = self.node.get(key) else { return T::default() };
        T::read(node, &inside(self.section, key), self.problems).unwrap_or_default()
    }
}

/// Reports that a node is not what it should be: a pair of what, and how to write it.
fn expected<T>(
    node: &Node,
    section: &str,
    (wanted, hint): (&str, &str),
    problems: &mut Problems,
) -> Option<T> {
    let subject = if section.is_empty() { "the file" } else { &format!("`{section}`") };
    problems.error(node.at, format!("{subject} must be {wanted}, found {}", node.kind()), hint);
    None
}

fn inside(section: &str, key: &str) -> String {
    if section.is_empty() { key.into() } else { format!("{section}.{key}") }
}

/// A key looks like what it holds.
impl<T: JsonSchema> JsonSchema for Key<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

/// A place does not show.
impl<T: JsonSchema> JsonSchema for Spot<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

impl<T: JsonSchema> JsonSchema for Table<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Table_of_{}", T::schema_name()))
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<T>();
        schemars::json_schema!({ "type": "object", "additionalProperties": values })
    }
}

/// Declares a section of the file.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident { $($(#[$key_meta:meta])* $key:ident: $kind:ty,)* }) => {
        #[derive(Default, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $(#[$meta])*
        pub(super) struct $name {
            $($(#[$key_meta])* #[schemars(default)] pub(super) $key: $kind,)*
        }

        impl $crate::config::read::Read for $name {
            fn read(
                node: &$crate::config::tree::Node,
                section: &str,
                problems: &mut $crate::config::problem::Problems,
            ) -> Option<$name> {
                // A key that is also a word of Rust is written `r#key` there.
                let known = [$(stringify!($key).trim_start_matches("r#")),*];
                let mut fields =
                    $crate::config::read::Fields::open(node, section, &known, problems)?;
                let mut keys = known.iter();
                Some($name { $($key: fields.read(keys.next()?)),* })
            }
        }
    };
}

/// Declares a [`Word`].
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis $name:ident { $($(#[$word_meta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema)]
        $vis enum $name {
            $($(#[$word_meta])* #[schemars(rename = $word)] $variant,)*
        }

        impl $crate::config::read::Word for $name {
            const WORDS: &'static [&'static str] = &[$($word),*];

            fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            fn from_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }
        }
    };
}

pub(super) use {choice, section};
