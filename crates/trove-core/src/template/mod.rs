//! URI templates (RFC 6570): compiled once, matched against a URI in linear time.
//!
//! All operators, the explode modifier and the prefix modifier are known. The RFC says
//! only how to expand a template; how we read a URI back is our choice:
//!
//! - a simple `{id}` is not empty and holds no `/`: unreserved characters,
//!   percent-encoded UTF-8 and plain non-ASCII text;
//! - `{+path}`, `{#frag}` and `{path*}` also hold reserved characters, as one text;
//! - `{/path*}` and `{.ext*}` give lists; what starts with an operator's own sign
//!   (`{/x}`, `{.x}`, `{#x}`, `{;x}`, `{?x}`, `{&x}`) may be absent altogether;
//! - named values (`{?a,b}`, `{&a}`, `{;a}`) come in any order, each known name once,
//!   more often only when exploded;
//! - no value makes a `..` path segment, however it is spelt. Values of a query are
//!   not path segments and are free.
//!
//! Nothing here normalises a URI, knows maps (`{?keys*}` as pairs), or reads anything.

use std::{fmt, sync::Arc};

mod bindings;
mod expand;
mod matcher;
mod parse;
#[cfg(test)]
mod properties;
mod table;
#[cfg(test)]
mod tests;
mod units;

pub use bindings::{Binding, Bindings};
pub use expand::ExpandError;
pub use parse::{MAX_EXPRESSIONS, MAX_TEMPLATE_BYTES, MAX_VARIABLES, TemplateError, TemplateFault};

use matcher::{Refusal, Step};
use parse::{Operator, Parsed, Part};

/// A compiled template. Cloning it copies a pointer.
#[derive(Clone)]
pub struct UriTemplate(Arc<Compiled>);

struct Compiled {
    parsed: Parsed,
    steps: Box<[Step]>,
}

impl UriTemplate {
    /// Compiles the template, or says what is wrong with it and where.
    pub fn parse(text: &str) -> Result<UriTemplate, TemplateError> {
        let parsed = Parsed::of(text)?;
        let steps = matcher::compile(&parsed);
        Ok(UriTemplate(Arc::new(Compiled { parsed, steps })))
    }

    /// The text it was compiled from.
    pub fn as_str(&self) -> &str {
        &self.0.parsed.text
    }

    /// The names of the variables, in order, each once.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let parsed = &self.0.parsed;
        let names = move |count| parsed.variables[..count].iter().map(|v| parsed.slice(v.name));
        // There are at most MAX_VARIABLES, so looking back is cheaper than a set.
        names(parsed.variables.len())
            .enumerate()
            .filter(move |(nth, name)| !names(*nth).any(|earlier| earlier == *name))
            .map(|(_, name)| name)
    }

    /// The text before the first expression: every URI that matches starts with it.
    pub fn literal_prefix(&self) -> &str {
        match self.0.parsed.parts.first() {
            Some(Part::Literal(span)) => self.0.parsed.slice(*span),
            _ => "",
        }
    }

    /// How narrow the template is, to ask the most specific one first.
    pub fn specificity(&self) -> Specificity {
        let mut literal_bytes = 0;
        let mut widest = Width::Nothing;
        for part in &self.0.parsed.parts {
            match part {
                Part::Literal(span) => literal_bytes += span.len(),
                Part::Expression { operator, variables, .. } => {
                    for variable in &self.0.parsed.variables[variables.range()] {
                        widest = widest.max(Width::of(*operator, variable.exploded));
                    }
                }
            }
        }
        Specificity {
            literal_bytes,
            widest: std::cmp::Reverse(widest),
            variables: std::cmp::Reverse(self.0.parsed.variables.len()),
        }
    }

    /// The values the URI gives to the variables, decoded, if the template fits.
    pub fn matches(&self, uri: &str) -> Option<Bindings> {
        matcher::read(&self.0.parsed, &self.0.steps, uri)?.ok()
    }

    /// Like [`UriTemplate::matches`], and says why a URI that was meant for this
    /// template does not fit it. Costs a second pass when there is no match.
    pub fn fit(&self, uri: &str) -> Fit {
        let (parsed, steps) = (&self.0.parsed, &self.0.steps);
        let refusal = match matcher::read(parsed, steps, uri) {
            Some(Ok(bindings)) => return Fit::Match(bindings),
            Some(Err(refusal)) => Some(refusal),
            None => matcher::diagnose(parsed, steps, uri),
        };
        match refusal {
            Some(Refusal::Missing { names, given }) => Fit::MissingVariable { names, given },
            Some(Refusal::Invalid { name, rule }) => Fit::InvalidVariable { name, rule },
            None => Fit::No,
        }
    }

    /// The URI for these values, as RFC 6570 writes it.
    ///
    /// Unlike the RFC it refuses to leave out a value that every URI of this template needs:
    /// [`UriTemplate::matches`] would not take the result.
    pub fn expand(&self, values: &Bindings) -> Result<String, ExpandError> {
        expand::expand(&self.0.parsed, values)
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.as_str()).finish()
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a URI relates to a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It fits and gives these values.
    Match(Bindings),
    /// The literal text fits so far as it goes, but these variables have no value.
    MissingVariable {
        /// The names, in the order of the template.
        names: Vec<String>,
        /// The values of the other variables.
        given: Bindings,
    },
    /// The literal text fits, but a value breaks a rule.
    InvalidVariable {
        /// The first variable that is wrong, or a query name the template does not know.
        name: String,
        /// The rule it breaks.
        rule: VariableRule,
    },
    /// It belongs to something else.
    No,
}

/// A rule for a value. It reads as the end of "`name` …".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableRule {
    /// The characters of a simple variable.
    Simple,
    /// The characters of a variable that may hold reserved ones.
    Reserved,
    /// A `%` begins an escape, and escapes make UTF-8.
    Escape,
    /// No `{…}` is left in the URI.
    Filled,
    /// No `..` segment, which would leave the place the template names.
    NoParentSegment,
    /// The template limits it: `{name:3}`.
    AtMost(u16),
    /// A variable that stands in the template twice has one value.
    SameEverywhere,
    /// A named value is not repeated unless the template explodes it.
    GivenOnce,
    /// The template lists the names that a query may hold.
    KnownName,
}

impl fmt::Display for VariableRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VariableRule::Simple => {
                "must hold only letters, digits, `.`, `_`, `~` and `-`; percent-encode the rest"
            }
            VariableRule::Reserved => {
                "must hold only characters that a URI allows; percent-encode the rest"
            }
            VariableRule::Escape => "must hold only percent-escapes of UTF-8; write `%` as `%25`",
            VariableRule::Filled => "must be replaced by a value: the URI still holds a brace",
            VariableRule::NoParentSegment => "must not make a `..` path segment",
            VariableRule::AtMost(max) => return write!(f, "must have at most {max} characters"),
            VariableRule::SameEverywhere => "must have the same value everywhere",
            VariableRule::GivenOnce => "must be given only once",
            VariableRule::KnownName => "is not a parameter of this template",
        })
    }
}

/// Orders templates: the greater is the more specific.
///
/// More literal text wins, then the narrower widest variable, then fewer variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    literal_bytes: usize,
    widest: std::cmp::Reverse<Width>,
    variables: std::cmp::Reverse<usize>,
}

/// How much an expression can swallow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Nothing,
    Segment,
    Named,
    Anything,
}

impl Width {
    fn of(operator: Operator, exploded: bool) -> Width {
        match operator {
            Operator::Reserved | Operator::Fragment => Width::Anything,
            Operator::Simple | Operator::Path if exploded => Width::Anything,
            Operator::Simple | Operator::Path | Operator::Label => Width::Segment,
            Operator::Parameter | Operator::Query | Operator::Continuation => Width::Named,
        }
    }
}
