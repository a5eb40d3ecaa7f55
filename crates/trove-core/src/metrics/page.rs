//! The Prometheus text format, version 0.0.4.

use std::fmt::{Display, Write as _};

/// The media type of the page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of figures in the making. All samples of one metric stand together, below its
/// head.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts by size.
    Histogram,
}

impl Page {
    /// Begins a metric.
    pub fn head(&mut self, name: &str, shape: Shape, help: &str) {
        let shape = match shape {
            Shape::Counter => "counter",
            Shape::Gauge => "gauge",
            Shape::Histogram => "histogram",
        };
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {shape}"));
    }

    /// One value of a metric, e.g. `trove_x{name="a"} 2`.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        for (n, (label, text)) in labels.iter().enumerate() {
            self.text.push_str(if n == 0 { "{" } else { "," });
            self.text.push_str(label);
            self.text.push_str("=\"");
            for c in text.chars() {
                match c {
                    '\\' => self.text.push_str(r"\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str(r"\n"),
                    c => self.text.push(c),
                }
            }
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        self.line(format_args!(" {value}"));
    }

    /// A counter that has one value.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, Shape::Counter, help);
        self.sample(name, &[], value);
    }

    /// A gauge that has one value.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, Shape::Gauge, help);
        self.sample(name, &[], value);
    }

    /// The whole page.
    pub fn finish(self) -> String {
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_help_are_escaped() {
        let mut page = Page::default();
        page.head("a_total", Shape::Counter, "one\nline \\ only");
        page.sample("a_total", &[("x", "a\"b\\c\nd"), ("y", "é")], 1.5);
        page.gauge("b", "plain", 2);
        assert_eq!(
            page.finish(),
            "# HELP a_total one\\nline \\\\ only\n# TYPE a_total counter\n\
             a_total{x=\"a\\\"b\\\\c\\nd\",y=\"é\"} 1.5\n# HELP b plain\n# TYPE b gauge\nb 2\n"
        );
    }
}
