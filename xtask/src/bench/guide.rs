//! A guide of many documents: lists, reads and expressions, the start, and the memory.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::Context as _;
use serde_json::Value;

use super::lab::{Door, Lab, Target};
use super::report::{Promise, Section, Table, figure};
use super::samples::{Samples, number};

const DOCUMENTS: usize = 10_000;
const CATEGORIES: usize = 20;
const FULL: &str = "10,000 documents";
const EMPTY: &str = "an empty guide";
const START: &str = "start";
/// Seconds until what indexing needs is given back: it is kept for ten after the last document.
const REST: &str = "40";

/// The questions: a name, whether a promise holds for it, method and params.
const QUESTIONS: [(&str, bool, &str); 8] = [
    ("list, first page", true, "resources/list {}"),
    ("templates", true, "resources/templates/list {}"),
    ("read, document", true, r#"resources/read {"uri":"guide://document/c07/sub3/d00123.md"}"#),
    ("read, name", true, r#"resources/read {"uri":"guide://category/c07/**/d00123"}"#),
    ("read, pattern of 10", true, r#"resources/read {"uri":"guide://category/c07/**/d0012*"}"#),
    (
        "expression, one document",
        true,
        r#"tools/call {"name":"guide_get_content","arguments":{"expression":"c07/**/d00123"}}"#,
    ),
    (
        "expression, three parts, 40 documents",
        true,
        r#"tools/call {"name":"guide_get_content","arguments":{"expression":"c01/**/d0012?,c02/**/d0013?+d0014?,few"}}"#,
    ),
    ("read, category of 500", false, r#"resources/read {"uri":"guide://category/c07"}"#),
];

pub(super) fn measure(lab: &Lab) -> anyhow::Result<Section> {
    let full = lab.trove_with_guide(FULL, Door::Stdio, |folder| write(folder, DOCUMENTS))?;
    let empty = lab.trove_with_guide(EMPTY, Door::Stdio, |folder| write(folder, 0))?;
    let expect = DOCUMENTS.to_string();
    let (mut samples, seconds) = (Samples::default(), lab.seconds.to_string());
    for round in 1..=lab.rounds {
        eprintln!("guide: round {round} of {}", lab.rounds);
        let mut what = vec!["ask", "--expect", &expect, "--seconds", &seconds];
        for (_, _, question) in QUESTIONS {
            what.extend(["--ask", question]);
        }
        for ((name, ..), result) in QUESTIONS.iter().zip(lab.measure(&what, &full)?) {
            samples.add(*name, result);
        }
        full.forget()?;
        samples.add(START, lab.result(&["start", "--expect", &expect], &full)?);
    }
    let (full_mb, empty_mb) = (rest(lab, &full, DOCUMENTS)?, rest(lab, &empty, 0)?);
    Ok(Section {
        title: "Guide of 10,000 documents",
        promises: promises(&samples, full_mb - empty_mb)?,
        method: format!(
            "{CATEGORIES} categories with {} markdown files of about 1 KB each, four of five with front matter, in three \
             folders each; one client over stdio, search by meaning off. The documents are read from disk for each \
             answer, warm in the file cache. Start is from nothing to the first full list. Memory is the resident size \
             {full_mb:.0} MB, less the {empty_mb:.0} MB of a Trove with an empty guide, after {REST} seconds of rest: indexed, and done with indexing.",
            DOCUMENTS / CATEGORIES
        ),
        table: table(&samples)?,
    })
}

/// Megabytes of a Trove that has looked at its guide and indexed it, and rests.
fn rest(lab: &Lab, target: &Target, documents: usize) -> anyhow::Result<f64> {
    target.forget()?;
    let what = ["rest", "--settle", REST, "--expect", &documents.to_string()];
    let result: Value = lab.result(&what, target)?;
    Ok(number(&result, "rss_kb")? * 1024.0 / 1e6)
}

fn promises(samples: &Samples, over_idle_mb: f64) -> anyhow::Result<Vec<Promise>> {
    let mut promises = Vec::new();
    for (name, is_promised, _) in QUESTIONS {
        let took = samples.median(name, "p50_ms")?;
        if is_promised {
            promises.push(Promise {
                what: format!("{FULL}: {name}, warm"),
                target: "< 5 ms".to_owned(),
                measured: format!("{} ms", figure(took)),
                is_met: took < 5.0,
            });
        }
    }
    for (what, key) in [("first answer", "first_answer_ms"), ("first full list", "full_list_ms")] {
        let took = samples.median(START, key)?;
        promises.push(Promise {
            what: format!("{FULL}: start to {what}"),
            target: "< 1,000 ms".to_owned(),
            measured: format!("{} ms", figure(took)),
            is_met: took < 1000.0,
        });
    }
    promises.push(Promise {
        what: format!("{FULL}: memory over idle"),
        target: "≤ 60 MB".to_owned(),
        measured: format!("{} MB", figure(over_idle_mb)),
        is_met: over_idle_mb <= 60.0,
    });
    Ok(promises)
}

fn table(samples: &Samples) -> anyhow::Result<Table> {
    let mut table = Table::new(&["asked", "bytes", "p50 ms", "p99 ms", "CPU ms"]);
    for (name, ..) in QUESTIONS {
        table.row([
            name.to_owned(),
            format!("{:.0}", samples.median(name, "bytes")?),
            figure(samples.median(name, "p50_ms")?),
            figure(samples.median(name, "p99_ms")?),
            figure(samples.median(name, "cpu_ms")?),
        ]);
    }
    Ok(table)
}

/// Writes a guide of so many documents, always the same.
fn write(folder: &Path, documents: usize) -> anyhow::Result<()> {
    let settings =
        "[discovery]\nsemantic = false\n[guide.collections.few]\nmembers = [\"c03/**/d0001?\"]\n";
    fs::write(folder.join("trove.toml"), settings)?;
    let root = folder.join("guide");
    for category in 0..CATEGORIES {
        for sub in 0..3 {
            fs::create_dir_all(root.join(format!("c{category:02}/sub{sub}")))?;
            fs::create_dir_all(root.join(format!("c{category:02}/sub3")))?;
        }
    }
    for n in 0..documents {
        let (category, number) = (n % CATEGORIES, n / CATEGORIES);
        let mut text = String::new();
        if n % 5 != 0 {
            writeln!(text, "---\ntitle: Document {number} of {category}\npriority: 0.5\n---")?;
        }
        writeln!(text, "# Document {number}\n")?;
        for line in 0..12 {
            writeln!(
                text,
                "Line {line} of document {number} says what line {} says, only later, for {category}.",
                line + n % 7
            )?;
        }
        let path = format!("c{category:02}/sub{}/d{number:05}.md", number % 4);
        fs::write(root.join(&path), text).with_context(|| path)?;
    }
    Ok(())
}
