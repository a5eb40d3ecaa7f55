//! The names that code defines: functions, types, constants.
//!
//! Finds them by the words that introduce a definition in common languages. A missed name is still
//! found as a word; a name taken wrongly is found a little too early.

const CODE: [&str; 36] = [
    "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "java", "kt", "kts", "c", "h", "cc",
    "cpp", "hpp", "cs", "rb", "php", "swift", "scala", "sh", "bash", "lua", "ex", "exs", "erl",
    "hs", "ml", "clj", "dart", "zig", "sql", "proto", "graphql",
];

/// Words after which a name is being defined.
const INTRODUCE: [&str; 25] = [
    "fn",
    "def",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "func",
    "function",
    "const",
    "static",
    "let",
    "var",
    "val",
    "mod",
    "module",
    "macro_rules",
    "message",
    "service",
    "table",
    "view",
    "object",
    "record",
    "defmodule",
];
/// Words that may stand before those.
const PRECEDE: [&str; 19] = [
    "pub",
    "export",
    "default",
    "async",
    "unsafe",
    "extern",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "override",
    "inline",
    "virtual",
    "create",
    "declare",
    "data",
];
/// Words that introduce a name only at the beginning of a line, e.g. `let`: within code they are
/// ordinary variables.
const ONLY_OUTERMOST: [&str; 5] = ["let", "var", "val", "const", "static"];

pub(super) fn is_code(extension: &str) -> bool {
    CODE.contains(&extension)
}

pub(super) fn is_code_type(mime: &str) -> bool {
    const TYPES: [&str; 12] = [
        "rust",
        "python",
        "javascript",
        "typescript",
        "java",
        "x-go",
        "x-c",
        "x-csrc",
        "ruby",
        "x-sh",
        "x-kotlin",
        "x-sql",
    ];
    TYPES.iter().any(|name| mime.ends_with(name))
}

/// The names a text defines, in small letters, e.g. `parse_uri` of `fn parse_uri()`.
pub(super) fn defined(text: &str) -> Vec<String> {
    text.lines().filter_map(defined_in).map(str::to_lowercase).collect()
}

fn defined_in(line: &str) -> Option<&str> {
    let is_outermost = !line.starts_with([' ', '\t']);
    let mut rest = line.trim_start();
    // A definition introduces itself within its first words.
    for _ in 0..6 {
        let (word, after) = next_word(rest)?;
        let lower = word.to_ascii_lowercase();
        let introduces = INTRODUCE.contains(&lower.as_str())
            && (is_outermost || !ONLY_OUTERMOST.contains(&lower.as_str()));
        let name = next_word(after.trim_start_matches(['!', '*', '&', ' ']));
        let name = name.map_or("", |(name, _)| name);
        let is_named = name.len() >= 2 && !PRECEDE.contains(&name) && !INTRODUCE.contains(&name);
        if introduces && is_named {
            return Some(name);
        }
        if !introduces && !PRECEDE.contains(&lower.as_str()) {
            return None;
        }
        rest = after;
    }
    None
}

/// The word at the beginning, and the text behind it, e.g. `fn` and ` main()`.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    // `pub(crate)` and the receiver in `func (r *Reader) Read` say nothing of the name.
    let text = match text.strip_prefix('(') {
        Some(inside) => inside.split_once(')')?.1.trim_start(),
        None => text,
    };
    let len = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (len > 0).then(|| text.split_at(len))
}
