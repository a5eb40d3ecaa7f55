//! Local knowledge: documents that cannot be served as they were meant.

use std::{path::Path, time::SystemTime};

use trove_core::knowledge::{Document, Givens, Knowledge, KnowledgeError, Sight};

use super::{Finding, Level};
use crate::config::{Config, Origin};

/// The most templates that are tried.
const MAX_TEMPLATES: usize = 200;
/// The ending of a template's name.
const TEMPLATE: &str = ".j2";

/// Looks at the guide as a caller without a project would see it. No caller is served it.
pub(crate) async fn check_guide(config: &Config, folder: &Path) -> Vec<Finding> {
    let (knowledge, _) = Knowledge::new(config.guide(folder), Givens::none(SystemTime::now));
    let root = config.guide_root.value.display().to_string();
    let mut findings = Vec::new();
    if !knowledge.exists().await {
        // A guide that was not asked for need not be there.
        if config.guide_root.origin != Origin::Default {
            let message = "the folder of the guide is not there, so it has no documents";
            let fix = "make it, run `trove init`, or write another `guide.root`";
            findings.push(Finding::new(Level::Warning, ("guide", &root), message, fix));
        }
        return findings;
    }
    for problem in knowledge.problems().await {
        let fix = "mend what it says; the rest of the guide is served, and what is bad as it is";
        findings.push(Finding::new(Level::Warning, ("guide", &root), problem, fix));
    }
    findings.extend(check_templates(&knowledge).await);
    let unserved = knowledge.unserved().await;
    if let Some(first) = unserved.first() {
        let message = match unserved.len() {
            1 => format!("{first} lies in no category, so it is not served"),
            count => format!("{count} files lie in no category and are not served, as {first}"),
        };
        let fix =
            "move it into a folder of the guide, or write a category with its folder as `dir`";
        findings.push(Finding::new(Level::Note, ("guide", &root), message, fix));
    }
    findings
}

/// Renders every template once: one that fails is an error to each reader.
async fn check_templates(knowledge: &Knowledge) -> Vec<Finding> {
    let mut findings = Vec::new();
    let categories = knowledge.categories(Sight::default()).await;
    let documents = categories.iter().flat_map(|(category, _)| category.documents());
    let templates = documents.filter(|document| is_plain_template(document));
    for document in templates.take(MAX_TEMPLATES) {
        let (category, path) = (document.category(), document.path());
        let read = knowledge.get_content(Sight::default(), category, Some(path)).await;
        if let Err(error @ KnowledgeError::Template { .. }) = read {
            let subject = format!("{category}/{path}");
            let fix = "mend the template; docs/guide.md says what it may know and do";
            let message = error.to_string();
            findings.push(Finding::new(Level::Error, ("guide", &subject), message, fix));
        }
    }
    findings
}

/// Whether it is a template whose path means nothing else as a pattern.
fn is_plain_template(document: &Document) -> bool {
    let path = document.path();
    path.ends_with(TEMPLATE) && !path.contains(['*', '?', '[', ']', '{', '}', '+', ','])
}
