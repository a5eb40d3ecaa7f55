//! A labelled set of our own: logs, tables and settings, which the public sets lack, and
//! questions about them.
//!
//! `topics.txt` holds one topic a line (a kind, a file name and what is peculiar to it) and below
//! it the questions that it answers. Documents are made from it, the same in every run. They hold
//! the topic's own words among lines that many files share. Each topic also has a few plain files
//! of its kind.

use std::collections::HashMap;

use crate::{
    numbers::Numbers,
    retrieval::set::{Document, Question, Set},
};

const TOPICS: &str = include_str!("topics.txt");
/// How many files without anything peculiar stand beside each topic.
const SIBLINGS: usize = 4;
/// How many lines that many files share a document has.
const COMMON_LINES: usize = 30;

/// One topic.
struct Topic<'a> {
    kind: &'a str,
    name: &'a str,
    peculiar: Vec<&'a str>,
}

/// The set.
pub fn set() -> Set {
    let mut set = Set { name: "own".to_owned(), documents: Vec::new(), questions: Vec::new() };
    let mut topic = None;
    for line in TOPICS.lines() {
        match line.strip_prefix("? ") {
            Some(question) => set.questions.push(Question {
                text: question.to_owned(),
                right: HashMap::from([(topic.clone().unwrap_or_default(), 1)]),
            }),
            None => {
                let Some(parsed) = parse(line) else { continue };
                add_documents(&parsed, &mut set);
                topic = Some(uri(&parsed, 0));
            }
        }
    }
    set
}

fn parse(line: &str) -> Option<Topic<'_>> {
    let (head, peculiar) = line.split_once(": ")?;
    let (kind, name) = head.split_once(' ')?;
    Some(Topic { kind, name, peculiar: peculiar.split(" | ").collect() })
}

fn add_documents(topic: &Topic<'_>, set: &mut Set) {
    for number in 0..=SIBLINGS {
        let seed = topic
            .name
            .bytes()
            .fold(number as u64 + 1, |sum, b| sum.wrapping_mul(31) + u64::from(b));
        let peculiar: &[&str] = if number == 0 { &topic.peculiar } else { &[] };
        set.documents.push(Document {
            id: uri(topic, number),
            title: title(topic, number),
            text: text(topic.kind, peculiar, &mut Numbers(seed)),
            mime: Some(mime(topic.kind).to_owned()),
        });
    }
}

/// Siblings are of the same kind but of no topic: their names say nothing.
fn title(topic: &Topic<'_>, number: usize) -> String {
    match number {
        0 => topic.name.to_owned(),
        _ => format!("{}-{number}.{}", sibling_name(topic), topic.kind),
    }
}

fn sibling_name(topic: &Topic<'_>) -> String {
    let sum = topic.name.bytes().fold(7_u32, |sum, b| sum.wrapping_mul(33) ^ u32::from(b));
    format!("{}-{:04x}", ["unit", "node", "part", "batch"][sum as usize % 4], sum & 0xffff)
}

fn uri(topic: &Topic<'_>, number: usize) -> String {
    format!("file:///srv/{}/{}", topic.kind, title(topic, number))
}

fn mime(kind: &str) -> &'static str {
    match kind {
        "csv" => "text/csv",
        "json" => "application/json",
        "yaml" => "application/yaml",
        "toml" => "application/toml",
        _ => "text/plain",
    }
}

fn text(kind: &str, peculiar: &[&str], numbers: &mut Numbers) -> String {
    match kind {
        "log" => log(peculiar, numbers),
        "csv" => table(peculiar, numbers),
        "json" => json(peculiar, numbers),
        _ => settings(kind, peculiar, numbers),
    }
}

const EVENTS: [&str; 12] = [
    "started",
    "configuration loaded",
    "listening on port",
    "heartbeat ok",
    "worker ready",
    "request handled",
    "cache refreshed",
    "connection opened",
    "connection closed",
    "metrics flushed",
    "health check passed",
    "shutting down",
];

fn log(peculiar: &[&str], numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for n in 0..COMMON_LINES {
        let event = EVENTS[numbers.below(EVENTS.len())];
        let (minute, id) = (numbers.below(60), numbers.below(9000));
        text.push_str(&format!(
            "2026-03-{:02}T08:{minute:02}:00Z INFO {event} id={id}\n",
            n % 28 + 1
        ));
        if let Some(words) = peculiar.get(n / 7).filter(|_| n % 7 == 3) {
            text.push_str(&format!(
                "2026-03-{:02}T08:{minute:02}:01Z WARN {words} id={id}\n",
                n % 28 + 1
            ));
        }
    }
    text
}

fn table(peculiar: &[&str], numbers: &mut Numbers) -> String {
    const COMMON: [&str; 5] = ["row", "value", "created", "note", "flag"];
    let columns: &[&str] = if peculiar.is_empty() { &COMMON } else { peculiar };
    let mut text = columns.join(",");
    for _ in 0..COMMON_LINES {
        text.push('\n');
        let cells: Vec<String> = columns.iter().map(|_| numbers.below(5000).to_string()).collect();
        text.push_str(&cells.join(","));
    }
    text
}

const KEYS: [&str; 14] = [
    "enabled",
    "log_level",
    "host",
    "port",
    "name",
    "version",
    "timeout",
    "retries",
    "path",
    "region",
    "owner",
    "labels",
    "debug",
    "interval",
];

fn settings(kind: &str, peculiar: &[&str], numbers: &mut Numbers) -> String {
    let join = if kind == "yaml" { ": " } else { " = " };
    let mut text = String::new();
    for n in 0..COMMON_LINES / 2 {
        let key = KEYS[numbers.below(KEYS.len())];
        text.push_str(&format!("{key}{join}{}\n", numbers.below(1000)));
        if let Some(words) = peculiar.get(n / 3).filter(|_| n % 3 == 1) {
            let (key, value) = words.split_once(' ').unwrap_or((words, "1"));
            text.push_str(&format!("{key}{join}{value}\n"));
        }
    }
    text
}

fn json(peculiar: &[&str], numbers: &mut Numbers) -> String {
    let mut members = Vec::new();
    for n in 0..COMMON_LINES / 2 {
        let key = KEYS[numbers.below(KEYS.len())];
        members.push(format!("  \"{key}_{n}\": {}", numbers.below(1000)));
        if let Some(words) = peculiar.get(n / 3).filter(|_| n % 3 == 1) {
            let (key, value) = words.split_once(' ').unwrap_or((words, "true"));
            members.push(format!("  \"{key}\": \"{value}\""));
        }
    }
    format!("{{\n{}\n}}", members.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_its_document() {
        let set = set();
        assert!(set.questions.len() >= 200, "{}", set.questions.len());
        for question in &set.questions {
            for id in question.right.keys() {
                assert!(set.documents.iter().any(|document| document.id == *id), "{id}");
            }
        }
    }

    #[test]
    fn it_is_the_same_every_time() {
        let (a, b) = (set(), set());
        assert!(
            a.documents.iter().zip(&b.documents).all(|(a, b)| a.text == b.text && a.id == b.id)
        );
    }
}
