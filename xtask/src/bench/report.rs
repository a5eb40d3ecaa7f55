//! Writes `docs/performance.md`.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context as _;

use super::Options;
use super::machine::{Disturbance, Machine};
use crate::steps;

const DOCUMENT: &str = "docs/performance.md";
/// Above this share of processor time used by others, times are not to be trusted.
const BUSY: f64 = 0.1;
/// Nor above this load average for each core.
const HIGH_LOAD: f64 = 0.5;

/// One group of measurements.
pub(super) struct Section {
    pub(super) title: &'static str,
    /// The promises, each with its measured figure.
    pub(super) promises: Vec<Promise>,
    /// How it was measured, in a sentence or two.
    pub(super) method: String,
    pub(super) table: Table,
}

impl Section {
    /// In the place of what could not be measured, so that the rest is not lost.
    pub(super) fn failed(title: &'static str, error: &anyhow::Error) -> Section {
        let why = format!("{error:#}").replace(['\n', '|'], " ");
        Section {
            title,
            method: format!("Could not be measured: {why}."),
            promises: vec![Promise {
                what: format!("{title}: measured at all"),
                target: "yes".to_owned(),
                measured: "no".to_owned(),
                is_met: false,
            }],
            table: Table::new(&[]),
        }
    }

    pub(super) fn render(&self) -> String {
        format!("## {}\n\n{}\n\n{}", self.title, self.method, self.table.render())
    }
}

pub(super) struct Promise {
    pub(super) what: String,
    pub(super) target: String,
    pub(super) measured: String,
    pub(super) is_met: bool,
}

impl Promise {
    fn cells(&self) -> Vec<String> {
        let verdict = if self.is_met { "met" } else { "**missed**" };
        let cells = [&self.what, &self.target, &self.measured].map(String::clone);
        [cells.as_slice(), &[verdict.to_owned()]].concat()
    }

    /// Its line of the table.
    fn row(&self) -> String {
        format!("| {} |", self.cells().join(" | "))
    }
}

pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Table {
        Table { header: header.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    pub(super) fn render(&self) -> String {
        if self.header.is_empty() {
            return String::new();
        }
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = vec!["---".to_owned(); self.header.len()];
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.header) + &line(&rule) + &rows
    }
}

/// A number with as many digits as it deserves.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        small if small >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

pub(super) fn write(
    machine: &Machine,
    others: &Disturbance,
    options: &Options,
    sections: &[Section],
) -> anyhow::Result<()> {
    let document = render(machine, others, options, sections)?;
    let path = steps::root().join(DOCUMENT);
    fs::create_dir_all(path.parent().context("the document lies in a folder")?)?;
    fs::write(&path, document).with_context(|| format!("cannot write {DOCUMENT}"))?;
    eprintln!("wrote {DOCUMENT}");
    Ok(())
}

/// Puts measurements into the document in the place of those of an earlier run.
pub(super) fn renew(
    machine: &Machine,
    others: &Disturbance,
    sections: &[Section],
) -> anyhow::Result<()> {
    let path = steps::root().join(DOCUMENT);
    let mut document = fs::read_to_string(&path).with_context(|| DOCUMENT.to_owned())?;
    let when = format!(
        "*Measured again later, alone, on {} cores of {}: load average {:.2}, {:.0} % in use by others before, {:.0} % taken by other machines meanwhile.*",
        machine.cores,
        machine.processor,
        machine.load,
        others.before * 100.0,
        others.stolen * 100.0
    );
    for section in sections {
        document = renewed(&document, section, &when)
            .with_context(|| format!("{DOCUMENT} has no whole section {:?}", section.title))?;
    }
    document = document.replace(
        "; every figure is from that one run.\n",
        "; every figure is from that one run, but for sections that say so.\n",
    );
    fs::write(&path, document).with_context(|| format!("cannot write {DOCUMENT}"))?;
    eprintln!("renewed {DOCUMENT}");
    Ok(())
}

/// A document with this section and its promises in place of the one of its title, or behind all
/// others. `None` where there is no place for one of them.
fn renewed(document: &str, section: &Section, when: &str) -> Option<String> {
    let Some((before, rest)) = document.split_once(&format!("\n## {}\n", section.title)) else {
        return extended(document, section, when);
    };
    let after = rest.find("\n## ").map_or("", |end| &rest[end + 1..]);
    let mut before = before.to_owned();
    let mut place = end_of_promises(&before)?;
    for promise in &section.promises {
        // A promise that is new stands behind the one before it.
        match before.find(&format!("\n| {} |", promise.what)) {
            Some(found) => {
                let start = found + 1;
                let end = start + before[start..].find('\n')?;
                before.replace_range(start..end, &promise.row());
                place = start;
            }
            None => before.insert_str(place, &format!("{}\n", promise.row())),
        }
        place += promise.row().len() + 1;
    }
    let method = format!("{when} {}", section.method);
    let parts = [section.title, &method, &section.table.render()];
    let gap = if after.is_empty() { "" } else { "\n" };
    Some(format!("{before}\n## {}{gap}{after}", parts.join("\n\n")))
}

/// The place behind the last row of the table of promises.
fn end_of_promises(document: &str) -> Option<usize> {
    let promises = document.find("\n## Promises\n")?;
    let rest = &document[promises..];
    // The section that is renewed may be the one behind the table.
    let length = rest.find("|\n\n").map_or(rest.len(), |end| end + 2);
    Some(promises + length)
}

/// A document with one section more.
fn extended(document: &str, section: &Section, when: &str) -> Option<String> {
    let (before, after) = document.split_at(end_of_promises(document)?);
    let rows: String =
        section.promises.iter().map(|promise| format!("{}\n", promise.row())).collect();
    let method = format!("{when} {}", section.method);
    let parts = [section.title, &method, &section.table.render()];
    Some(format!("{before}{rows}{after}\n## {}", parts.join("\n\n")))
}

fn render(
    machine: &Machine,
    others: &Disturbance,
    options: &Options,
    sections: &[Section],
) -> anyhow::Result<String> {
    let mut text = String::from("# Performance\n\n");
    let mut command = String::from("cargo xtask bench");
    if options.quick {
        command.push_str(" --quick");
    }
    if options.harness.is_some() {
        command.push_str(" --harness DIR");
    }
    writeln!(text, "Made by `{command}`; every figure is from that one run.\n")?;
    text.push_str(&conditions(machine, others, options.quick));

    text.push_str("\n## Promises\n\n");
    let mut promises = Table::new(&["what", "promised", "measured", ""]);
    for promise in sections.iter().flat_map(|section| &section.promises) {
        promises.row(promise.cells());
    }
    text.push_str(&promises.render());

    for section in sections {
        text.push('\n');
        text.push_str(&section.render());
    }
    Ok(text)
}

fn conditions(machine: &Machine, others: &Disturbance, is_quick: bool) -> String {
    let Machine { cores, processor, memory_gb, load, compiler } = machine;
    let mut text = format!(
        "Measured on {cores} cores of {processor}, {memory_gb:.0} GB of memory, built by {compiler}; \
         client, Trove and upstream share the cores. Load average at the start {load:.2}; \
         {:.0} % of the processors in use by others just before the first measurement, \
         {:.0} % taken by other machines meanwhile.\n",
        others.before * 100.0,
        others.stolen * 100.0
    );
    if others.before.max(others.stolen) > BUSY || *load > HIGH_LOAD * *cores as f64 {
        text.push_str("\n**The machine was busy**: times, rates and ratios are rough, and processor times rise too; memory and instruction counts hold.\n");
    }
    if is_quick {
        text.push_str("\n**A quick run**: short rounds, good for a first look only.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_as_many_digits_as_it_deserves() {
        let figures = [0.0614, 1.234, 12.34, 1234.5].map(figure);
        assert_eq!(figures, ["0.061", "1.23", "12.3", "1234"]);
    }

    #[test]
    fn one_section_is_put_in_the_place_of_the_one_before() {
        let section = |measured: &str| {
            let mut table = Table::new(&["ms"]);
            table.row([measured.to_owned()]);
            let promise = Promise {
                what: "a page".to_owned(),
                target: "≤ 3".to_owned(),
                measured: measured.to_owned(),
                is_met: measured < "3",
            };
            let method = "By hand.".to_owned();
            Section { title: "Page", promises: vec![promise], method, table }
        };
        let document = format!(
            "# P\n\n## Promises\n\n| a page | ≤ 3 | 5 | **missed** |\n| b | 1 | 1 | met |\n\n\
             ## A\n\na\n\n{}\n## Z\n\nz\n",
            section("5").render()
        );
        let renewed_one = renewed(&document, &section("2"), "Again.").unwrap();
        assert_eq!(
            renewed_one,
            "# P\n\n## Promises\n\n| a page | ≤ 3 | 2 | met |\n| b | 1 | 1 | met |\n\n\
             ## A\n\na\n\n## Page\n\nAgain. By hand.\n\n| ms |\n| --- |\n| 2 |\n\n## Z\n\nz\n"
        );
        let last = document.split("\n## Z").next().unwrap();
        assert!(renewed(last, &section("2"), "Again.").unwrap().ends_with("| 2 |\n"));
        assert_eq!(renewed("# P\n", &section("2"), "Again."), None);
        let of_fewer = document.replace("| a page | ≤ 3 | 5 | **missed** |\n", "");
        let with_a_new_one = renewed(&of_fewer, &section("2"), "Again.").unwrap();
        assert!(with_a_new_one.contains("| b | 1 | 1 | met |\n| a page | ≤ 3 | 2 | met |\n\n## A"));
        let without = "# P\n\n## Promises\n\n| b | 1 | 1 | met |\n\n## A\n\na\n";
        assert_eq!(
            renewed(without, &section("2"), "Again.").unwrap(),
            "# P\n\n## Promises\n\n| b | 1 | 1 | met |\n| a page | ≤ 3 | 2 | met |\n\n## A\n\na\n\n\
             ## Page\n\nAgain. By hand.\n\n| ms |\n| --- |\n| 2 |\n"
        );
    }

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new(&["a", "b"]);
        table.row(["1".to_owned(), "2".to_owned()]);
        assert_eq!(table.render(), "| a | b |\n| --- | --- |\n| 1 | 2 |\n");
    }
}
