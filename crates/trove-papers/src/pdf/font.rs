//! Fonts: which letters a code means, and how wide it is drawn.

use std::collections::HashMap;

use encoding_rs::{Encoding, MACINTOSH, WINDOWS_1252};
use hayro_cmap::{BfString, CMap};
use hayro_syntax::object::{Array, Dict, Name, Number, Object};

use super::{glyphs, page::unpacked};

/// How wide a letter is drawn whose font does not say: about as in Helvetica.
const USUAL_WIDTH: f64 = 0.5;
/// The most widths of one font.
const MAX_WIDTHS: usize = 70_000;

/// A code within a drawn string.
#[derive(Clone, Copy)]
pub(super) struct Code {
    number: u32,
    length: u8,
}

impl Code {
    /// Whether it is the single byte that word spacing is for.
    pub(super) fn is_blank(self) -> bool {
        self.number == 32 && self.length == 1
    }
}

/// A font.
pub(super) struct Font {
    /// The letters of each code, as the file itself tells them.
    told: Option<CMap>,
    kind: Kind,
    /// The width of each code or glyph, 1 being the size of the letters.
    widths: HashMap<u32, f64>,
    usual_width: f64,
}

enum Kind {
    /// One byte a letter; the letters of all 256.
    Simple(Vec<Option<String>>),
    /// Codes of several bytes; how they are cut, and which glyph each is.
    Composite(Coding),
}

enum Coding {
    /// Two bytes each are the number of a glyph.
    Glyphs,
    /// Two bytes each are a unit of UTF-16.
    Unicode,
    /// As a table in the file says.
    Table(Box<CMap>),
}

impl Font {
    pub(super) fn of(dict: &Dict<'_>) -> Font {
        let told = unpacked(dict, "ToUnicode").and_then(|table| CMap::parse(&table, |_| None));
        let kind = dict.get::<Name<'_>>("Subtype");
        if kind.as_deref() == Some(b"Type0") {
            return Font::composite(dict, told);
        }
        // A font of drawings has a scale of its own.
        let scale = match kind.as_deref() {
            Some(b"Type3") => type3_scale(dict).unwrap_or(0.001),
            _ => 0.001,
        };
        let first = dict.get::<Number>("FirstChar").map_or(0, |it| it.as_i64());
        let first = u32::try_from(first).unwrap_or(0);
        let mut widths = HashMap::new();
        if let Some(array) = dict.get::<Array<'_>>("Widths") {
            for (code, width) in (first..).zip(array.iter::<Number>()).take(256) {
                widths.insert(code, width.as_f64() * scale);
            }
        }
        let letters = simple_letters(dict);
        Font { told, kind: Kind::Simple(letters), widths, usual_width: USUAL_WIDTH }
    }

    fn composite(dict: &Dict<'_>, told: Option<CMap>) -> Font {
        let coding = match unpacked(dict, "Encoding").and_then(|it| CMap::parse(&it, |_| None)) {
            Some(table) => Coding::Table(Box::new(table)),
            None => {
                let name = dict.get::<Name<'_>>("Encoding");
                let name = name.map_or(String::new(), |name| name.as_str().to_owned());
                if name.contains("UCS2") || name.contains("UTF16") {
                    Coding::Unicode
                } else {
                    Coding::Glyphs
                }
            }
        };
        let inner = dict.get::<Array<'_>>("DescendantFonts");
        let inner = inner.and_then(|inner| inner.iter::<Dict<'_>>().next());
        let usual = inner.as_ref().and_then(|inner| inner.get::<Number>("DW"));
        let usual_width = usual.map_or(1.0, |width| width.as_f64() / 1000.0);
        let widths = inner.and_then(|inner| inner.get::<Array<'_>>("W"));
        let widths = widths.map_or_else(HashMap::new, |widths| glyph_widths(&widths));
        Font { told, kind: Kind::Composite(coding), widths, usual_width }
    }

    /// The codes of a string.
    pub(super) fn codes(&self, bytes: &[u8]) -> Vec<Code> {
        let mut codes = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = self.length_of_first(rest).min(rest.len());
            let number = rest[..length].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            codes.push(Code { number, length: u8::try_from(length).unwrap_or(1) });
            rest = &rest[length..];
        }
        codes
    }

    fn length_of_first(&self, bytes: &[u8]) -> usize {
        let Kind::Composite(coding) = &self.kind else { return 1 };
        let Coding::Table(table) = coding else { return 2 };
        let mut number = 0;
        for (length, byte) in (1..=4u8).zip(bytes) {
            number = number << 8 | u32::from(*byte);
            if table.lookup_cid_code(number, length).is_some() {
                return usize::from(length);
            }
        }
        2
    }

    /// The letters that a code means; `None` if the font does not say.
    pub(super) fn letters(&self, code: Code) -> Option<String> {
        if let Some(told) = self.told.as_ref().and_then(|told| told.lookup_bf_string(code.number)) {
            let text = match told {
                BfString::Char(letter) => letter.to_string(),
                BfString::String(letters) => letters,
            };
            return Some(glyphs::plain(&text));
        }
        match &self.kind {
            Kind::Simple(letters) => {
                let at = usize::try_from(code.number).ok()?;
                letters.get(at)?.clone()
            }
            Kind::Composite(Coding::Unicode) => char::from_u32(code.number).map(String::from),
            Kind::Composite(_) => None,
        }
    }

    /// How wide a code is drawn, 1 being the size of the letters.
    pub(super) fn width(&self, code: Code) -> f64 {
        let glyph = match &self.kind {
            Kind::Composite(Coding::Table(table)) => {
                table.lookup_cid_code(code.number, code.length).unwrap_or(code.number)
            }
            _ => code.number,
        };
        self.widths.get(&glyph).copied().unwrap_or(self.usual_width)
    }
}

fn type3_scale(dict: &Dict<'_>) -> Option<f64> {
    let matrix = dict.get::<Array<'_>>("FontMatrix")?;
    let scale = matrix.iter::<Number>().next()?.as_f64().abs();
    (scale > 0.0).then_some(scale)
}

/// The letters of the 256 codes of a simple font.
fn simple_letters(dict: &Dict<'_>) -> Vec<Option<String>> {
    let own = dict.get::<Dict<'_>>("Encoding");
    let base = match &own {
        Some(own) => own.get::<Name<'_>>("BaseEncoding"),
        None => dict.get::<Name<'_>>("Encoding"),
    };
    let mut letters: Vec<Option<String>> = match base.as_deref() {
        Some(b"MacRomanEncoding") => (0..=255).map(|code| decoded(MACINTOSH, code)).collect(),
        Some(_) => (0..=255).map(|code| decoded(WINDOWS_1252, code)).collect(),
        None => (0..=255).map(standard).collect(),
    };
    let Some(differences) = own.and_then(|own| own.get::<Array<'_>>("Differences")) else {
        return letters;
    };
    let mut at = 0;
    for entry in differences.iter::<Object<'_>>() {
        match &entry {
            Object::Number(code) => at = usize::try_from(code.as_i64()).unwrap_or(usize::MAX),
            Object::Name(name) => {
                if let Some(slot) = letters.get_mut(at) {
                    *slot = glyphs::letters(name.as_str());
                }
                at = at.saturating_add(1);
            }
            _ => {}
        }
    }
    letters
}

fn decoded(encoding: &'static Encoding, code: u8) -> Option<String> {
    if code < 32 {
        return None;
    }
    encoding.decode_without_bom_handling_and_without_replacement(&[code]).map(|it| it.into_owned())
}

/// The letters of a font that names no encoding: those of Adobe's own, beyond them of Windows.
fn standard(code: u8) -> Option<String> {
    let special = match code {
        0x27 => "’",
        0x60 => "‘",
        0xA4 => "⁄",
        0xA9 => "'",
        0xAA => "“",
        0xAE => "fi",
        0xAF => "fl",
        0xB1 => "–",
        0xB7 => "•",
        0xBA => "”",
        0xD0 => "—",
        _ => return decoded(WINDOWS_1252, code),
    };
    Some(special.to_owned())
}

/// The widths of the glyphs of a composite font: `c [w w …]`, or `first last w`.
fn glyph_widths(array: &Array<'_>) -> HashMap<u32, f64> {
    let mut widths = HashMap::new();
    let mut before: Vec<u32> = Vec::new();
    for entry in array.iter::<Object<'_>>() {
        if widths.len() > MAX_WIDTHS {
            break;
        }
        match &entry {
            Object::Array(list) => {
                let Some(first) = before.pop() else { continue };
                for (glyph, width) in (first..).zip(list.iter::<Number>()).take(MAX_WIDTHS) {
                    widths.insert(glyph, width.as_f64() / 1000.0);
                }
                before.clear();
            }
            Object::Number(number) => match before.as_slice() {
                &[first, last] => {
                    let last = last.min(first.saturating_add(MAX_WIDTHS as u32));
                    for glyph in first..=last {
                        widths.insert(glyph, number.as_f64() / 1000.0);
                    }
                    before.clear();
                }
                _ => before.push(u32::try_from(number.as_i64()).unwrap_or(0)),
            },
            _ => {}
        }
    }
    widths
}
