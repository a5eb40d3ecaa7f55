//! Walks XML: elements and text, by their local names. Entities that a document defines are left out.

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

/// One step of a walk.
pub(crate) enum Step<'a> {
    /// An element begins.
    Begin(&'a Element<'a>),
    /// An element ends.
    End(&'a str),
    /// Text between elements.
    Text(&'a str),
}

/// An element that begins.
pub(crate) struct Element<'a> {
    /// Its name without a prefix.
    pub(crate) name: &'a str,
    start: &'a BytesStart<'a>,
}

impl Element<'_> {
    /// The value of an attribute, by its name without a prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        for attribute in self.start.attributes().with_checks(false).flatten() {
            if local(attribute.key.as_ref()) == name {
                return Some(unescaped(&attribute.value));
            }
        }
        None
    }

    /// The part that the element refers to by `r:id`: the one attribute of two with that name whose
    /// value is a relation.
    pub(crate) fn reference(&self, relations: &[(String, String)]) -> Option<String> {
        for attribute in self.start.attributes().with_checks(false).flatten() {
            if local(attribute.key.as_ref()) != "id" {
                continue;
            }
            let found = relations.iter().find(|(known, _)| *known == attribute.value);
            if let Some((_, target)) = found {
                return Some(target.clone());
            }
        }
        None
    }

    /// The number that an attribute holds; `None` if it holds none.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.trim().parse().ok()
    }
}

/// Walks a text to its end; an error if it is no sound XML.
pub(crate) fn walk(xml: &str, mut each: impl FnMut(Step<'_>)) -> Result<(), String> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    loop {
        let event = reader.read_event().map_err(|error| format!("its XML is damaged: {error}"))?;
        match event {
            Event::Start(start) => {
                each(Step::Begin(&Element { name: local(start.name().as_ref()), start: &start }));
            }
            Event::Empty(start) => {
                let name = start.name();
                let name = local(name.as_ref());
                each(Step::Begin(&Element { name, start: &start }));
                each(Step::End(name));
            }
            Event::End(end) => each(Step::End(local(end.name().as_ref()))),
            Event::Text(text) => each(Step::Text(&text)),
            Event::CData(text) => each(Step::Text(&text)),
            Event::GeneralRef(name) => {
                if let Some(letter) = letter(&name) {
                    each(Step::Text(letter.encode_utf8(&mut [0; 4])));
                }
            }
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}

/// A text with the letters that its entities stand for; unknown entities are left out.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(end) = rest.find(';') else { break };
        out.extend(letter(&rest[..end]));
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

/// The letter that an entity stands for, by its name without `&` and `;`.
pub(crate) fn letter(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    let known = NAMED.iter().find(|(known, _)| *known == name)?;
    Some(known.1)
}

/// The entities of XML, and those of HTML that people write.
const NAMED: [(&str, char); 28] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("shy", '\u{ad}'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("hellip", '…'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("euro", '€'),
    ("deg", '°'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("szlig", 'ß'),
    ("eacute", 'é'),
];
