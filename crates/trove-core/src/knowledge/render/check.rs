//! Which templates may run: those whose growth can be counted.
//!
//! Reads tags as the engine does: strings, comments and raw text are told apart.

/// The tags that may be used.
const TAGS: [&str; 11] =
    ["if", "elif", "else", "endif", "for", "endfor", "set", "with", "endwith", "include", "raw"];

/// Says why a template may not run.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("{#") {
            rest = comment.find("#}").map_or("", |end| &comment[end + 2..]);
        } else if let Some(inner) = rest.strip_prefix("{{") {
            rest = tag(inner, "}}")?.1;
        } else if let Some(inner) = rest.strip_prefix("{%") {
            let (code, after) = tag(inner, "%}")?;
            let word = word(code);
            statement(word, code)?;
            rest = if word == "raw" { after_raw(after) } else { after };
        } else {
            rest = &rest[1..];
        }
    }
    Ok(())
}

/// The code up to the end of its tag, and what follows; operators are checked on the way.
fn tag<'a>(inner: &'a str, end: &str) -> Result<(&'a str, &'a str), String> {
    let mut quote = None;
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '~') => {
                return Err("`~` cannot be used; write the values one after another".into());
            }
            (None, '*') => return Err("`*` cannot be used".into()),
            (None, '+') => {
                let next = inner[at + 1..].trim_start();
                let is_sign = next.is_empty() || next.starts_with("%}") || next.starts_with("}}");
                if !is_sign && !next.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err("`+` can only be followed by a number".into());
                }
            }
            (None, _) if inner[at..].starts_with(end) => {
                return Ok((&inner[..at], &inner[at + end.len()..]));
            }
            (None, _) => {}
        }
    }
    Ok((inner, ""))
}

fn word(code: &str) -> &str {
    let code = code.trim_start_matches(['-', '+']).trim_start();
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    &code[..end]
}

fn statement(word: &str, code: &str) -> Result<(), String> {
    if !TAGS.contains(&word) {
        return Err(format!("`{word}` cannot be used; there are {}", TAGS.join(", ")));
    }
    if word == "set" && !code.contains('=') {
        return Err("`set` needs a value, as in `{% set name = 1 %}`".into());
    }
    let is_recursive = code.split(|c: char| !c.is_alphanumeric()).any(|word| word == "recursive");
    if word == "for" && is_recursive {
        return Err("`for … recursive` cannot be used".into());
    }
    Ok(())
}

/// The text behind the end of raw text.
fn after_raw(text: &str) -> &str {
    let mut rest = text;
    while let Some(at) = rest.find("{%") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find("%}") else { return "" };
        if word(&rest[..end]) == "endraw" {
            return &rest[end + 2..];
        }
    }
    ""
}
