//! The table of flags that mean something to the gateway itself.
//!
//! Any other flag may be set too, e.g. one that documents depend on. A known flag is checked for
//! its type, its allowed values and its scope, so its readers need no check.

use super::{
    FlagError,
    value::{FlagName, FlagValue, Plain},
};

/// One known flag.
#[derive(Debug)]
pub struct FlagDef {
    /// Its name, e.g. `content-format`.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// Its value until someone sets it.
    pub default: DefaultValue,
    /// Where it may be set.
    pub scope: Scope,
    /// Its effect, in a sentence.
    pub meaning: &'static str,
}

/// The type of a known flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    /// Any text.
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// Texts.
    List,
    /// Values under keys.
    Map,
}

/// The default of a known flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    Bool(bool),
    Text(&'static str),
    /// These texts.
    List(&'static [&'static str]),
    /// No keys.
    EmptyMap,
}

/// Where a known flag may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For all projects at once only.
    Global,
    /// For one project only.
    Project,
    /// For all projects at once, and for one.
    Both,
}

/// The name of the flag that says how several documents come in one answer.
pub const CONTENT_FORMAT: &str = "content-format";

pub const KNOWN: &[FlagDef] = &[FlagDef {
    name: CONTENT_FORMAT,
    kind: Kind::Choice(&["mime", "plain", "parts"]),
    default: DefaultValue::Text("mime"),
    scope: Scope::Both,
    meaning: "How several documents come in one answer: as one MIME multipart text, as plain text \
              with headings, or as several contents.",
}];

impl FlagDef {
    /// The default as a value.
    pub fn default_value(&self) -> FlagValue {
        match self.default {
            DefaultValue::Bool(is_on) => FlagValue::Plain(Plain::Bool(is_on)),
            DefaultValue::Text(text) => FlagValue::Plain(Plain::Text(text.to_owned())),
            DefaultValue::List(texts) => {
                FlagValue::Plain(Plain::List(texts.iter().map(|text| (*text).to_owned()).collect()))
            }
            DefaultValue::EmptyMap => FlagValue::Map(Default::default()),
        }
    }

    /// Refuses a value this flag may not hold.
    pub(super) fn check(&self, name: &FlagName, value: &FlagValue) -> Result<(), FlagError> {
        let fits = match (self.kind, value) {
            (Kind::Bool, FlagValue::Plain(Plain::Bool(_)))
            | (Kind::Text, FlagValue::Plain(Plain::Text(_)))
            | (Kind::List, FlagValue::Plain(Plain::List(_)))
            | (Kind::Map, FlagValue::Map(_)) => true,
            (Kind::Choice(choices), FlagValue::Plain(Plain::Text(text))) => {
                choices.contains(&text.as_str())
            }
            (Kind::Bool | Kind::Text | Kind::Choice(_) | Kind::List | Kind::Map, _) => false,
        };
        if fits {
            return Ok(());
        }
        let found = match (self.kind, value) {
            (Kind::Choice(_), FlagValue::Plain(Plain::Text(_))) => "another string",
            (_, other) => other.kind(),
        };
        Err(FlagError::NotAllowed { name: name.clone(), allowed: self.kind.to_string(), found })
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Bool => f.write_str("true or false"),
            Kind::Text => f.write_str("a string"),
            Kind::List => f.write_str("a list of strings"),
            Kind::Map => f.write_str("a map"),
            Kind::Choice(choices) => {
                let quoted: Vec<String> = choices.iter().map(|one| format!("`{one}`")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_keeps_its_own_rules() {
        let mut names: Vec<&str> = KNOWN.iter().map(|def| def.name).collect();
        for def in KNOWN {
            let name = FlagName::new(def.name).expect(def.name);
            def.check(&name, &def.default_value()).expect(def.name);
            assert!(def.meaning.ends_with('.'), "{}", def.name);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOWN.len());
    }
}
