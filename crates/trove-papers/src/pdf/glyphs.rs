//! The letters that the names of glyphs mean: `A`, `eacute`, `quoteright`, `f_i`, `uni20AC`.

use unicode_normalization::UnicodeNormalization as _;

/// The most pieces of one name.
const MAX_PIECES: usize = 8;
/// Names of letters and signs that cannot be put together.
const NAMED: [(&str, &str); 104] = [
    ("AE", "Æ"),
    ("Eth", "Ð"),
    ("Euro", "€"),
    ("Lslash", "Ł"),
    ("OE", "Œ"),
    ("Oslash", "Ø"),
    ("Thorn", "Þ"),
    ("ae", "æ"),
    ("ampersand", "&"),
    ("asciicircum", "^"),
    ("asciitilde", "~"),
    ("asterisk", "*"),
    ("at", "@"),
    ("backslash", "\\"),
    ("bar", "|"),
    ("braceleft", "{"),
    ("braceright", "}"),
    ("bracketleft", "["),
    ("bracketright", "]"),
    ("brokenbar", "¦"),
    ("bullet", "•"),
    ("cent", "¢"),
    ("colon", ":"),
    ("comma", ","),
    ("copyright", "©"),
    ("currency", "¤"),
    ("dagger", "†"),
    ("daggerdbl", "‡"),
    ("degree", "°"),
    ("divide", "÷"),
    ("dollar", "$"),
    ("dotlessi", "ı"),
    ("eight", "8"),
    ("ellipsis", "…"),
    ("emdash", "—"),
    ("endash", "–"),
    ("equal", "="),
    ("eth", "ð"),
    ("exclam", "!"),
    ("exclamdown", "¡"),
    ("ff", "ff"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("fi", "fi"),
    ("five", "5"),
    ("fl", "fl"),
    ("four", "4"),
    ("fraction", "⁄"),
    ("germandbls", "ß"),
    ("greater", ">"),
    ("guillemotleft", "«"),
    ("guillemotright", "»"),
    ("guilsinglleft", "‹"),
    ("guilsinglright", "›"),
    ("hyphen", "-"),
    ("less", "<"),
    ("logicalnot", "¬"),
    ("lslash", "ł"),
    ("minus", "−"),
    ("mu", "µ"),
    ("multiply", "×"),
    ("nbspace", " "),
    ("nine", "9"),
    ("numbersign", "#"),
    ("oe", "œ"),
    ("one", "1"),
    ("onehalf", "½"),
    ("onequarter", "¼"),
    ("oslash", "ø"),
    ("paragraph", "¶"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("percent", "%"),
    ("period", "."),
    ("periodcentered", "·"),
    ("perthousand", "‰"),
    ("plus", "+"),
    ("plusminus", "±"),
    ("question", "?"),
    ("questiondown", "¿"),
    ("quotedbl", "\""),
    ("quotedblbase", "„"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("quoteleft", "‘"),
    ("quoteright", "’"),
    ("quotesingle", "'"),
    ("registered", "®"),
    ("section", "§"),
    ("semicolon", ";"),
    ("seven", "7"),
    ("six", "6"),
    ("slash", "/"),
    ("space", " "),
    ("sterling", "£"),
    ("three", "3"),
    ("thorn", "þ"),
    ("threequarters", "¾"),
    ("trademark", "™"),
    ("two", "2"),
    ("underscore", "_"),
    ("yen", "¥"),
    ("zero", "0"),
    ("grave", "`"),
];
/// The accents that follow a letter in a name, as marks that join it.
const ACCENTS: [(&str, char); 14] = [
    ("acute", '\u{301}'),
    ("grave", '\u{300}'),
    ("circumflex", '\u{302}'),
    ("dieresis", '\u{308}'),
    ("tilde", '\u{303}'),
    ("ring", '\u{30A}'),
    ("cedilla", '\u{327}'),
    ("commaaccent", '\u{327}'),
    ("caron", '\u{30C}'),
    ("ogonek", '\u{328}'),
    ("macron", '\u{304}'),
    ("breve", '\u{306}'),
    ("dotaccent", '\u{307}'),
    ("hungarumlaut", '\u{30B}'),
];

/// The letters that a name means; `None` if it is not known.
pub(super) fn letters(name: &str) -> Option<String> {
    // A form of a letter, such as `a.sc`, is the letter.
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    if !name.contains('_') {
        return letter(name);
    }
    let mut out = String::new();
    for piece in name.split('_').take(MAX_PIECES) {
        out.push_str(&letter(piece)?);
    }
    Some(out)
}

fn letter(name: &str) -> Option<String> {
    if let Some((_, letters)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some((*letters).to_owned());
    }
    let mut rest = name.chars();
    let first = rest.next()?;
    let rest = rest.as_str();
    if rest.is_empty() {
        return Some(first.to_string());
    }
    if let Some(number) = number(name) {
        return char::from_u32(number).map(String::from);
    }
    let (_, mark) = ACCENTS.iter().find(|(known, _)| *known == rest)?;
    Some([first, *mark].into_iter().nfc().collect())
}

/// The number in `uni20AC` and `u1F600`.
fn number(name: &str) -> Option<u32> {
    let digits = match name.strip_prefix("uni") {
        Some(digits) => digits.get(..4)?,
        None => name.strip_prefix('u').filter(|digits| (4..=6).contains(&digits.len()))?,
    };
    u32::from_str_radix(digits, 16).ok()
}

/// A text with the letters of its ligatures, and without what no reader sees.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{FB00}'..='\u{FB06}' => out.extend(std::iter::once(letter).nfkc()),
            '\u{AD}' | '\u{200B}' | '\u{FEFF}' | '\u{0}' => {}
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glyph_is_known_by_its_name() {
        let check = |name: &str, letters_of: Option<&str>| {
            assert_eq!(letters(name).as_deref(), letters_of, "{name}");
        };
        check("A", Some("A"));
        check("eacute", Some("é"));
        check("quoteright", Some("’"));
        check("f_i", Some("fi"));
        check("a.sc", Some("a"));
        check("uni20AC", Some("€"));
        check("u1F600", Some("😀"));
        check("g37", None);
        check(".notdef", None);
    }
}
