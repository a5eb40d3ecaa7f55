//! The layers of trove-core: words ← seam ← parts ← gateway ← tools.
//!
//! A module may name its own layer's neighbours only among the words; everything else
//! points down. Tests at the end of a file, and files of tests, may name what they like.

use super::tree::TextFile;

const CORE: &str = "crates/trove-core/src/";

/// Every module of the crate and its layer, lowest first.
const LAYERS: [(Layer, &[&str]); 5] = [
    (
        Layer::Words,
        &[
            "aside",
            "json",
            "scan",
            "files",
            "hex",
            "uri",
            "template",
            "resource",
            "caller",
            "project",
            "code",
            "clock",
            "source_id",
            "changes",
            "state_file",
            "status",
            "content",
            "failure",
            "metrics",
        ],
    ),
    (Layer::Seam, &["papers", "programs", "source"]),
    (Layer::Parts, &["catalogue", "about", "search", "cache", "knowledge", "access", "flags"]),
    (Layer::Gateway, &["gateway"]),
    (Layer::Tools, &["tools"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Words,
    Seam,
    Parts,
    Gateway,
    Tools,
}

pub(super) fn check(file: &TextFile, breaches: &mut Vec<String>) {
    let Some(inside) = file.path.strip_prefix(CORE).filter(|inside| inside.ends_with(".rs")) else {
        return;
    };
    if inside == "lib.rs" || inside.ends_with("tests.rs") || inside.contains("tests/") {
        return;
    }
    let module = inside.split(['/', '.']).next().unwrap_or(inside);
    let Some(layer) = layer_of(module) else {
        breaches
            .push(format!("{}: the module {module} has no layer; give it one in xtask", file.path));
        return;
    };
    for named in named_modules(code_before_tests(&file.text)) {
        if named != module && !may_name(layer, named) {
            breaches.push(format!("{}: {module} may not name crate::{named}", file.path));
        }
    }
}

fn layer_of(module: &str) -> Option<Layer> {
    LAYERS.iter().find(|(_, modules)| modules.contains(&module)).map(|(layer, _)| *layer)
}

fn may_name(layer: Layer, module: &str) -> bool {
    // A name that is no module is a re-export or a macro of the crate root, which
    // would hide the direction of the arrow.
    layer_of(module).is_some_and(|named| named < layer || (named == layer && layer == Layer::Words))
}

fn code_before_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests").map_or(text, |end| &text[..end])
}

/// The modules named through `crate::`, singly or in braces, each once.
fn named_modules(code: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("crate::") {
        // A longer word such as `some_crate::` is another crate.
        let is_whole =
            !rest[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        // Prose may link to whatever explains it.
        let is_prose =
            rest[..at].lines().next_back().is_some_and(|line| line.trim_start().starts_with("//"));
        rest = &rest[at + "crate::".len()..];
        if !is_whole || is_prose {
            continue;
        }
        match rest.strip_prefix('{') {
            Some(list) => names.extend(names_in_braces(list)),
            None => names.push(identifier(rest)),
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The first name of each entry in a list that ends with its closing brace.
fn names_in_braces(list: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut is_start = true;
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if is_start && !letter.is_whitespace() => {
                names.push(identifier(&list[at..]));
                is_start = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> &str {
    let end =
        text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_module_is_seen() {
        let code = "use crate::uri::A;\nuse crate::{\n  json::{B, C},\n  source,\n};\nfn f() -> crate::code::D {}\n\
                    /// see [`crate::tools`]\nuse other_crate::flags;\n";
        assert_eq!(named_modules(code), ["code", "json", "source", "uri"]);
    }

    #[test]
    fn arrows_point_down_and_parts_do_not_know_each_other() {
        assert!(may_name(Layer::Parts, "source"));
        assert!(may_name(Layer::Words, "uri"));
        assert!(!may_name(Layer::Parts, "cache"));
        assert!(!may_name(Layer::Seam, "gateway"));
    }
}
