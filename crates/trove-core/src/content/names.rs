//! The type that the end of a name suggests.

/// Extensions that the general table lacks, or takes for something else.
const EXTENSIONS: [(&str, &str); 44] = [
    ("adoc", "text/asciidoc"),
    ("bat", "text/x-batch"),
    ("c", "text/x-c"),
    ("cc", "text/x-c++"),
    ("clj", "text/x-clojure"),
    ("cmake", "text/x-cmake"),
    ("cpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("cts", "text/x-typescript"),
    ("diff", "text/x-diff"),
    ("ex", "text/x-elixir"),
    ("go", "text/x-go"),
    ("gradle", "text/x-gradle"),
    ("graphql", "application/graphql"),
    ("h", "text/x-c"),
    ("hpp", "text/x-c++"),
    ("hs", "text/x-haskell"),
    ("ipynb", "application/x-ipynb+json"),
    ("java", "text/x-java"),
    ("jl", "text/x-julia"),
    ("jsonc", "application/json5"),
    ("jsonl", "application/x-ndjson"),
    ("kt", "text/x-kotlin"),
    ("mts", "text/x-typescript"),
    ("ndjson", "application/x-ndjson"),
    ("patch", "text/x-diff"),
    ("properties", "text/plain"),
    ("proto", "text/x-protobuf"),
    ("ps1", "text/x-powershell"),
    ("py", "text/x-python"),
    ("r", "text/x-r"),
    ("rb", "text/x-ruby"),
    ("rst", "text/x-rst"),
    ("scala", "text/x-scala"),
    ("sql", "application/sql"),
    ("svelte", "text/x-svelte"),
    ("swift", "text/x-swift"),
    ("tf", "text/x-terraform"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsx", "text/x-typescript"),
    ("vue", "text/x-vue"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// The type that the end of a file name or URI suggests, e.g. `application/yaml` for `a/b.yml?x`.
pub fn mime_of_name(name_or_uri: &str) -> Option<&'static str> {
    let path = name_or_uri.split(['?', '#']).next().unwrap_or_default();
    let file = path.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    let (_, extension) = file.rsplit_once('.')?;
    if extension.is_empty() || extension.len() > 16 {
        return None;
    }
    let extension = extension.to_ascii_lowercase();
    let own = EXTENSIONS.binary_search_by(|(known, _)| (*known).cmp(&extension));
    match own {
        Ok(at) => Some(EXTENSIONS[at].1),
        Err(_) => mime_guess::from_ext(&extension).first_raw(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_is_found_in_names_and_uris() {
        let check = |name: &str, mime: Option<&str>| assert_eq!(mime_of_name(name), mime, "{name}");
        check("a.md", Some("text/markdown"));
        check("file:///x/y.TS?rev=1.png#z.gif", Some("text/x-typescript"));
        check("s+git://repo/Cargo.toml", Some("application/toml"));
        check("memo:photo.png", Some("image/png"));
        check("https://example.org/", None);
        check("config://server", None);
        check("v1.2/readme", None);
        check("x.", None);
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(EXTENSIONS.is_sorted_by_key(|(extension, _)| *extension));
    }
}
