//! The next steps after a failure, in sentences that name tools of ours as they are offered.
//!
//! A name is looked for only in words of the program: the words of others are repeated as they are.

/// A sentence.
#[derive(Debug, Clone)]
pub struct Advice(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    /// Words of the program, which may name tools.
    Ours(&'static str),
    /// Words that a server or client may have written.
    Told(String),
    /// A name that may have been meant.
    Meant(String),
}

/// A word that may be the name of a tool.
pub enum Mentioned {
    /// An ordinary word.
    NoTool,
    /// Under this name.
    Offered(String),
    /// The name of a tool that is not offered.
    NotOffered,
}

impl From<&'static str> for Advice {
    fn from(words: &'static str) -> Advice {
        Advice(vec![Part::Ours(words)])
    }
}

impl From<String> for Advice {
    fn from(words: String) -> Advice {
        Advice(vec![Part::Told(bounded(words))])
    }
}

impl Advice {
    /// The question whether this name was meant, e.g. `Did you mean docs://intro?`
    pub fn meant(name: &str) -> Advice {
        Advice(vec![Part::Meant(bounded(format!("Did you mean {name}?")))])
    }

    /// Whether it names what may have been meant.
    pub fn is_guess(&self) -> bool {
        matches!(self.0[..], [Part::Meant(_)])
    }

    /// Goes on with words of the program.
    #[must_use]
    pub fn and(mut self, words: &'static str) -> Advice {
        self.0.push(Part::Ours(words));
        self
    }

    /// Goes on with words that a server or client may have written.
    #[must_use]
    pub fn telling(mut self, words: impl Into<String>) -> Advice {
        self.0.push(Part::Told(bounded(words.into())));
        self
    }

    /// The sentence with every tool under its bare name.
    pub(crate) fn text(&self) -> String {
        let words = self.0.iter().map(|part| match part {
            Part::Ours(words) => words,
            Part::Told(words) | Part::Meant(words) => words.as_str(),
        });
        words.collect()
    }

    /// The sentence with every tool under the name it is offered by; `None` if it needs a tool that
    /// is not offered.
    pub(crate) fn named(&self, offered: &impl Fn(&str) -> Mentioned) -> Option<String> {
        let parts = self.0.iter().map(|part| match part {
            Part::Ours(words) => named(words, offered),
            Part::Told(words) | Part::Meant(words) => Some(words.clone()),
        });
        parts.collect()
    }
}

pub(crate) fn named(words: &str, offered: &impl Fn(&str) -> Mentioned) -> Option<String> {
    let is_end = |c: char| !c.is_ascii_lowercase() && c != '_';
    let words = words.split_inclusive(is_end).map(|word| {
        let (name, rest) = word.split_at(word.find(is_end).unwrap_or(word.len()));
        match offered(name) {
            Mentioned::NoTool => Some(word.to_owned()),
            Mentioned::Offered(name) => Some(format!("{name}{rest}")),
            Mentioned::NotOffered => None,
        }
    });
    words.collect()
}

/// The most bytes of a sentence that may hold foreign words.
const MAX_SENTENCE: usize = 2000;

pub(crate) fn bounded(mut text: String) -> String {
    if text.len() > MAX_SENTENCE {
        text.truncate(text.floor_char_boundary(MAX_SENTENCE));
        text.push('…');
    }
    text
}
