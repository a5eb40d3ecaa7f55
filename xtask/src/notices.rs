//! Writes the notices of everything of others that is in the program: the crates it is built
//! of, and its model. They lie in every package beside our own licences.
//!
//! The texts are those that the crates themselves bring. One text stands once.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Args;
use serde::Deserialize;

use crate::steps;

/// The file, in the checkout and in every package.
pub(crate) const FILE: &str = "THIRD-PARTY-NOTICES";
/// The platforms that packages are made for.
const PLATFORMS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// How texts of licences are called.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// How deep in a crate they are looked for; code of others within it has its own.
const DEPTH: usize = 3;
/// Where the model lies, with its own texts.
const MODEL: &str = "crates/trove-meaning/model";

/// The permission that crates without texts mean by MIT.
const MIT: &str = "\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software
and associated documentation files (the \"Software\"), to deal in the Software without
restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Change nothing; fail if the file is not what would be written
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    repository: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None` if it is neither for tests nor for building alone.
    kind: Option<String>,
}

pub(crate) fn notices(options: &Options) -> anyhow::Result<()> {
    let fresh = text()?;
    let file = steps::root().join(FILE);
    if fs::read_to_string(&file).is_ok_and(|found| found == fresh) {
        return Ok(());
    }
    if options.check {
        bail!("{FILE} is not that of today's crates; run `cargo xtask notices`");
    }
    fs::write(&file, fresh).with_context(|| format!("cannot write {FILE}"))?;
    eprintln!("wrote {FILE}");
    Ok(())
}

/// The whole file.
fn text() -> anyhow::Result<String> {
    let mut texts = Texts::default();
    let mut list = String::new();
    for package in shipped()?.into_values() {
        let license = package.license.as_deref().context("a crate without a licence")?;
        write!(list, "{} {}\n    {license}\n", package.name, package.version)?;
        if let Some(repository) = &package.repository {
            writeln!(list, "    {repository}")?;
        }
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
        let numbers = texts.add(folder, DEPTH)?;
        if numbers.is_empty() && !license.contains("MIT") {
            bail!("{} brings no text of its licence, {license}", package.name);
        }
        if numbers.is_empty() && !license.contains("MIT") {
            bail!("{} brings no text of its licence, {license}", package.name);
        }
        if numbers.is_empty() {
            let authors = package.authors.join(", ");
            let of_crate = || format!("the authors of {}", package.name);
            let who = if authors.is_empty() { of_crate() } else { authors };
            // The text of this licence is the same but for who has the right.
            let text = texts.number(MIT).context("it is a text")?;
            write!(list, "    Copyright (c) {who}\n    texts {text}\n")?;
        } else {
            writeln!(list, "    texts {}", in_words(&numbers))?;
        }
    }
    let model = texts.add(&steps::root().join(MODEL), 1)?;
    let mut out = format!(
        "Third-party notices\n\nTrove is made of the work of others. Below stand the crates that its \
         program is built of,\neach with its licence and the numbers of its texts, then the texts.\n\
         The Rust standard library is in it too: MIT OR Apache-2.0, The Rust Project Contributors.\n\n\
         The model, granite-embedding-30m-english\n    Apache-2.0, Copyright IBM Corp.\n    texts {}\n\n{list}",
        in_words(&model)
    );
    for (n, text) in texts.all.iter().enumerate() {
        write!(out, "\n{} text {} {}\n\n{text}\n", "=".repeat(30), n + 1, "=".repeat(30))?;
    }
    Ok(out)
}

fn in_words(numbers: &BTreeSet<usize>) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The crates of others in the program, on any of the platforms.
fn shipped() -> anyhow::Result<BTreeMap<(String, String), Package>> {
    let mut shipped = BTreeMap::new();
    for platform in PLATFORMS {
        let arguments =
            ["metadata", "--locked", "--format-version", "1", "--filter-platform", platform];
        let printed = steps::output("cargo metadata", &mut steps::cargo(&arguments))?;
        let metadata: Metadata = serde_json::from_str(&printed)?;
        let is_shipped = needed(&metadata)?;
        let of_others =
            |package: &Package| package.source.is_some() && is_shipped.contains(&package.id);
        for package in metadata.packages.into_iter().filter(of_others) {
            shipped.insert((package.name.clone(), package.version.clone()), package);
        }
    }
    Ok(shipped)
}

/// The packages that the program is built of, not those that only build or test it.
fn needed(metadata: &Metadata) -> anyhow::Result<BTreeSet<String>> {
    let nodes: HashMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let program = metadata.packages.iter().find(|p| p.name == "trove" && p.source.is_none());
    let mut needed = BTreeSet::new();
    let mut next = vec![program.context("there is no package trove")?.id.as_str()];
    while let Some(id) = next.pop() {
        if !needed.insert(id.to_owned()) {
            continue;
        }
        let node = nodes.get(id).with_context(|| format!("{id} is not resolved"))?;
        let is_in =
            |dependency: &&Dependency| dependency.dep_kinds.iter().any(|it| it.kind.is_none());
        next.extend(node.deps.iter().filter(is_in).map(|dependency| dependency.pkg.as_str()));
    }
    Ok(needed)
}

/// The texts of all licences, each once.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    /// Their numbers, by their words alone.
    known: HashMap<String, usize>,
}

impl Texts {
    /// Adds the texts in a folder and gives their numbers.
    fn add(&mut self, folder: &Path, depth: usize) -> anyhow::Result<BTreeSet<usize>> {
        let mut numbers = BTreeSet::new();
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
        paths.sort();
        for path in paths {
            if path.is_dir() && depth > 1 {
                numbers.extend(self.add(&path, depth - 1)?);
            } else if is_license(&path) {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                numbers.extend(self.number(&text));
            }
        }
        Ok(numbers)
    }

    fn number(&mut self, text: &str) -> Option<usize> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            return None;
        }
        let next = self.all.len() + 1;
        let number = *self.known.entry(words).or_insert(next);
        if number == next {
            let lines: Vec<&str> = text.trim_matches('\n').lines().map(str::trim_end).collect();
            self.all.push(lines.join("\n"));
        }
        Some(number)
    }
}

/// Whether a file is a text of a licence, and no program that is called like one.
fn is_license(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let is_text = !name.contains('.')
        || [".TXT", ".MD", ".APACHE", ".MIT"].iter().any(|end| name.ends_with(end))
        || name
            .rsplit('.')
            .next()
            .is_some_and(|end| end.chars().all(|c| c.is_ascii_digit() || c == '-'));
    path.is_file() && is_text && NAMES.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_once_and_a_program_is_none() {
        let mut texts = Texts::default();
        assert_eq!(texts.number("MIT License\n\nCopyright"), Some(1));
        assert_eq!(texts.number("\nMIT  License\r\nCopyright\n"), Some(1));
        assert_eq!(texts.number("Apache"), Some(2));
        assert_eq!(texts.number("\n"), None);
        assert_eq!(texts.all, ["MIT License\n\nCopyright", "Apache"]);
        let folder = std::env::temp_dir().join(format!("xtask-texts-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        for (name, expect) in [
            ("LICENSE", true),
            ("license-mit.txt", true),
            ("COPYING", true),
            ("license.rs", false),
            ("a", false),
        ] {
            let path = folder.join(name);
            fs::write(&path, "x").expect("a file can be written");
            assert_eq!(is_license(&path), expect, "{name}");
        }
        fs::remove_dir_all(folder).expect("it was made here");
    }
}
