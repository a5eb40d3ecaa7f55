//! The output of `config check`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Loaded, Severity};

impl Loaded {
    /// Every problem and a last line that sums up, for people.
    pub fn report(&self) -> String {
        let mut text = String::new();
        for problem in &self.problems {
            let _ = writeln!(text, "{problem}");
        }
        let file = match &self.origin {
            Some(path) => path.display().to_string(),
            None => "no configuration file".into(),
        };
        let mut servers = counted(self.config.upstreams.len(), "server");
        if !self.config.folders.is_empty() {
            let folders = counted(self.config.folders.len(), "folder");
            servers = format!("{servers}, {folders}");
        }
        let _ = match &self.client {
            Some(client) => write!(text, "{file} (as of {client}): {servers}"),
            None => write!(text, "{file}: {servers}"),
        };
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let number = self.problems.iter().filter(|p| p.severity == severity).count();
            if number > 0 {
                let _ = write!(text, ", {}", counted(number, &severity.to_string()));
            }
        }
        text.push('\n');
        text
    }

    /// The report for programs.
    pub fn report_json(&self) -> Value {
        json!({
            "file": self.origin.as_ref().map(|path| path.display().to_string()),
            "client": self.client.map(|client| client.to_string()),
            "usable": self.is_usable(),
            "servers": self.config.upstreams.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(),
            "folders": self.config.folders.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
