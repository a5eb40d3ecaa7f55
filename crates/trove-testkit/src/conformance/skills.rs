//! The skills extension (SEP-2640): one skill of three files, and the directory they lie in.
//!
//! Answers are plain JSON because rmcp has no types for this extension.

use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The identifier under `capabilities.extensions`.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";

const ROOT: &str = "skill://conformance/tidy-notes";
const NAME: &str = "tidy-notes";
const DESCRIPTION: &str = "Sort and shorten a pile of notes.";

/// One file of the skill: path under [`ROOT`], MIME type and text.
const FILES: [(&str, &str, &str); 3] = [
    (
        "SKILL.md",
        "text/markdown",
        "---\nname: tidy-notes\ndescription: Sort and shorten a pile of notes.\n---\n\nRead `references/style.md` first.\n",
    ),
    ("LICENSE.txt", "text/plain", "Public domain.\n"),
    ("references/style.md", "text/markdown", "# Style\n\nOne thought per line.\n"),
];

/// The server's settings under [`EXTENSION`].
pub(super) fn settings() -> Value {
    json!({ "directoryRead": true })
}

/// The `SKILL.md` as a listed resource, named and described by its own front matter.
pub(super) fn listed() -> Resource {
    Resource::new(format!("{ROOT}/SKILL.md"), NAME)
        .with_description(DESCRIPTION)
        .with_mime_type("text/markdown")
}

/// The contents of one file of the skill.
pub(super) fn contents(uri: &str) -> Option<ResourceContents> {
    let path = uri.strip_prefix(ROOT)?.strip_prefix('/')?;
    let (_, mime, text) = FILES.into_iter().find(|(file, ..)| *file == path)?;
    Some(ResourceContents::text(text, uri).with_mime_type(mime))
}

/// The answer to one method of the extension, or `None` when the method is not one of its.
pub(super) fn answer(method: &str, params: Option<&Value>) -> Option<Result<Value, ErrorData>> {
    let uri = params.and_then(|params| params["uri"].as_str()).unwrap_or_default();
    match method {
        "skills/list" => Some(Ok(json!({ "skills": [entry()] }))),
        "skills/get" => Some(if uri == format!("{ROOT}/SKILL.md") {
            Ok(json!({ "skill": entry() }))
        } else {
            Err(ErrorData::invalid_params("no such skill", Some(json!({ "uri": uri }))))
        }),
        "resources/directory/read" => {
            Some(children(uri).map(|resources| json!({ "resources": resources })).ok_or_else(
                || ErrorData::invalid_params("not a directory", Some(json!({ "uri": uri }))),
            ))
        }
        _ => None,
    }
}

fn entry() -> Value {
    let files: Vec<Value> = FILES
        .iter()
        .map(|(path, _, text)| {
            json!({ "uri": format!("{ROOT}/{path}"), "digest": digest(text), "size": text.len() })
        })
        .collect();
    json!({
        "uri": format!("{ROOT}/SKILL.md"),
        "frontmatter": { "name": NAME, "description": DESCRIPTION },
        "resources": files,
    })
}

fn digest(text: &str) -> String {
    let hex: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The direct children of a directory of the skill, or `None` when the URI names no directory.
fn children(uri: &str) -> Option<Vec<Value>> {
    let file = |path: &str, mime: &str| json!({ "uri": format!("{ROOT}/{path}"), "name": path, "mimeType": mime });
    let directory = uri.trim_end_matches('/').strip_prefix(ROOT)?;
    match directory {
        "" => Some(vec![
            file("SKILL.md", "text/markdown"),
            file("LICENSE.txt", "text/plain"),
            file("references", "inode/directory"),
        ]),
        "/references" => Some(vec![file("references/style.md", "text/markdown")]),
        _ => None,
    }
}
