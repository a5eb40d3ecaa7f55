//! `guide://help`: how to use the scheme, with examples from this guide.

use std::fmt::Write as _;

use super::{Edition, address, matter, media, store::Store, task::Task};

/// How many categories and collections are shown.
const MAX_SHOWN: usize = 50;
/// The largest help of the guide's own.
const MAX_OWN: u64 = 256 * 1024;
/// Where the guide's own help lies.
pub(super) const OWN: &str = "help.md";

pub(super) fn text(task: &Task) -> String {
    let view = task.view();
    let mut text = String::from("# Guide URIs\n\n");
    if !task.index.has_root {
        let _ = writeln!(
            text,
            "There is no guide yet. Run `trove init`, or make the folder `{}` with a folder in it for each \
             category and markdown files in those; they are served at once.",
            task.settings.root.display()
        );
        return text;
    }
    let category = view.categories().next();
    let name = category.map_or("lang", |category| category.name());
    let document = category.and_then(|category| category.shown(&task.visible).next());
    let path = document.map_or("python.md", |document| document.path());
    let stem = document.and_then(|document| document.stem()).unwrap_or("python");
    let collection = view.collections().next().map_or("review", |collection| collection.name());
    text.push_str("| URI | gives | for example |\n|---|---|---|\n");
    let mut row = |uri: &str, gives: &str, example: String| {
        let _ = writeln!(text, "| `{uri}` | {gives} | `{example}` |");
    };
    row("guide://help", "this page", "guide://help".into());
    row(
        "guide://collection/{id}",
        "all documents of a collection",
        address::collection(collection),
    );
    row("guide://category/{name}", "a category by its own patterns", address::category(name));
    let pattern = format!("{}/{}", address::category(name), address::encode(stem, true));
    row(
        "guide://category/{name}/{docId}",
        "that document, then whatever it matches as a pattern",
        pattern,
    );
    row(
        "guide://document/{context}/{docId}",
        "only that document of a category or collection",
        address::document(name, path),
    );
    common_uses(&mut text, task, (name, stem), collection);
    text.push_str(
        "\nPatterns: `*` within a folder, `**` across folders, `?`, `[a-z]`, `{a,b}`; `python` also finds \
         `python.md`. Several documents come as one `multipart/mixed` content, each part with its own URI in \
         `Content-Location`; the flag `content-format` (`mime`, `plain`, `parts`) changes that.\n",
    );
    text.push_str(
        "\nExpressions, for tools: `lang/python` is that document, `lang/python+rust` any of them, \
         `lang/python,docs/api,review` all three in order, each document once.\n",
    );
    groups(task, &mut text);
    own(task, &mut text);
    text
}

/// The everyday questions, with names from this guide.
fn common_uses(text: &mut String, task: &Task, (category, stem): (&str, &str), collection: &str) {
    let one = format!("{}/{}", address::category(category), address::encode(stem, true));
    let all = address::category(category);
    let several = match task.view().categories().nth(1) {
        Some(other) => format!("{category}/{stem},{}", other.name()),
        None => format!("{category}/{stem}"),
    };
    text.push_str("\n## Common uses\n\n| you want | then |\n|---|---|\n");
    let mut row = |wanted: &str, way: String| {
        let _ = writeln!(text, "| {wanted} | {way} |");
    };
    row("one document", format!("read `{one}`"));
    row("all documents on a topic", format!("read `{all}`"));
    if task.view().collections().next().is_some() {
        row("all that belongs to a task", format!("read `{}`", address::collection(collection)));
    }
    row("several at once, in order", format!("`get_content` with `{several}`"));
    row("the names of the documents", format!("`category_list_files` with `{category}`"));
    row(
        "the same by typing",
        format!("`@guide {several}`, `@guide :search words`, `@guide :help`"),
    );
    row("a document whose name you do not know", "`discover_resources` with your question".into());
}

fn groups(task: &Task, text: &mut String) {
    let view = task.view();
    text.push_str("\n## Categories\n\n");
    for category in view.categories().take(MAX_SHOWN) {
        let about = category.description().map(|about| format!(": {about}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "- `{}` ({}){about}",
            category.name(),
            counted(category.shown(&task.visible).count())
        );
    }
    let more = view.categories().count().saturating_sub(MAX_SHOWN);
    if more > 0 {
        let _ = writeln!(text, "- and {more} more, in the list of resources");
    }
    if view.collections().next().is_some() {
        text.push_str("\n## Collections\n\n");
    }
    for collection in view.collections().take(MAX_SHOWN) {
        let about = collection.description().map(|about| format!(": {about}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "- `{}`{about} (`{}`)",
            collection.name(),
            collection.members().join("`, `")
        );
    }
    let more = view.collections().count().saturating_sub(MAX_SHOWN);
    if more > 0 {
        let _ = writeln!(text, "- and {more} more, in the list of resources");
    }
    let skills = || task.index.skills.iter().filter(|(uri, _)| task.visible.allows(uri));
    if skills().next().is_some() {
        text.push_str("\n## Skills\n\n");
    }
    for (uri, skill) in skills().take(MAX_SHOWN) {
        let _ = writeln!(text, "- `{uri}`: {}", skill.description);
    }
}

fn counted(documents: usize) -> String {
    if documents == 1 { "1 document".to_owned() } else { format!("{documents} documents") }
}

/// The help that no rule covers: the guide's own `help.md`, unless it is a document too.
pub(super) fn unruled(task: &Task) -> String {
    let mut text = String::new();
    if Edition::new(task.index.clone()).names_at(OWN).next().is_none() {
        own(task, &mut text);
    }
    text
}

/// The text of the guide's own `help.md`, without front matter.
fn own(task: &Task, text: &mut String) {
    // As a document of a category it may be hidden.
    let edition = Edition::new(task.index.clone());
    if edition.names_at(OWN).any(|names| !task.visible.allows(&names.listed)) {
        return;
    }
    let Ok((bytes, _)) = Store::new(&task.settings.root).read(OWN, MAX_OWN) else { return };
    let (own, _) = media::text(bytes);
    let from = matter::read(&own).length;
    let _ = write!(text, "\n{}", own[from..].trim_start());
}
