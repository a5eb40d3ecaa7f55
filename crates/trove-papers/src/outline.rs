//! A running text whose headings begin parts, as it is gathered line by line.

use crate::{CUT, MAX_TEXT, Parts};

/// A text in which headings up to one level begin a part.
pub(crate) struct Outline {
    parts: Parts,
    /// Headings of this level and above begin a part.
    split: usize,
    title: String,
    text: String,
    /// The line that is being read.
    line: String,
    /// The level of the heading that it is; 0 if it is none.
    level: usize,
    /// The document's own title, which stands before all headings.
    name: String,
    /// There was no room for all of it.
    is_cut: bool,
}

impl Outline {
    /// A text with no line yet.
    pub(crate) fn split_at(level: usize) -> Outline {
        Outline {
            parts: Parts::of("section"),
            split: level,
            title: String::new(),
            text: String::new(),
            line: String::new(),
            level: 0,
            name: String::new(),
            is_cut: false,
        }
    }

    /// Adds to the line that is being read.
    pub(crate) fn push(&mut self, text: &str) {
        if self.has_room() {
            self.line.push_str(text);
        } else {
            self.is_cut = true;
        }
    }

    /// Adds text in which any white space is one blank.
    pub(crate) fn push_collapsed(&mut self, text: &str) {
        if !self.has_room() {
            self.is_cut = true;
            return;
        }
        for letter in text.chars() {
            if !letter.is_whitespace() {
                self.line.push(letter);
            } else if !self.line.is_empty() && !self.line.ends_with(' ') {
                self.line.push(' ');
            }
        }
    }

    /// Says that the line is a heading.
    pub(crate) fn heading(&mut self, level: usize) {
        self.level = level;
    }

    /// Names the document.
    pub(crate) fn set_name(&mut self, name: &str) {
        self.name = name.to_owned();
    }

    /// Whether nothing stands in the line yet.
    pub(crate) fn is_at_start(&self) -> bool {
        self.line.trim().is_empty()
    }

    /// Whether there is room for more text.
    pub(crate) fn has_room(&self) -> bool {
        self.text.len() + self.line.len() < MAX_TEXT && self.parts.has_room()
    }

    /// Ends the line.
    pub(crate) fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let level = std::mem::take(&mut self.level);
        if line.trim().is_empty() {
            return;
        }
        if level > 0 && level <= self.split {
            self.end_part();
            self.title = line.trim().to_owned();
            return;
        }
        if level > 0 {
            self.text.push_str(&"#".repeat(level.clamp(3, 6)));
            self.text.push(' ');
        }
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn end_part(&mut self) {
        let title = std::mem::take(&mut self.title);
        let text = std::mem::take(&mut self.text);
        if !title.is_empty() || !text.trim().is_empty() {
            self.parts.add(&title, &text, "");
        }
    }

    /// The parts of the whole text.
    pub(crate) fn end(mut self) -> Parts {
        self.end_line();
        self.end_part();
        if let Some(first) = self.parts.parts.first_mut()
            && first.title.is_empty()
        {
            first.title = self.name.split_whitespace().collect::<Vec<&str>>().join(" ");
        }
        if self.is_cut
            && let Some(last) = self.parts.parts.last_mut()
        {
            last.note = CUT.to_owned();
        }
        self.parts
    }

    /// The whole text without parts, and its first title.
    pub(crate) fn joined(self) -> (String, String) {
        let parts = self.end();
        let mut first = String::new();
        let mut text = String::new();
        for part in parts.parts {
            if first.is_empty() && text.is_empty() {
                first = part.title;
            } else if !part.title.is_empty() {
                text.push_str(&format!("### {}\n", part.title));
            }
            text.push_str(&part.text);
        }
        (first, text)
    }
}
