//! Reports how light the shipped code is: lengths, density, and how plainly it is commented.
//!
//! It gates nothing. A figure that grows is a reason to look, e.g. at functions that pack
//! several decisions into one chain of closures.

mod comments;
mod cycles;
mod functions;

use std::collections::BTreeMap;

use anyhow::Context as _;

use crate::{steps, tidy};

/// Packages that never ship.
const UNSHIPPED: [&str; 2] = ["crates/trove-testkit/", "crates/trove-fuzz/"];

pub(crate) fn report() -> anyhow::Result<()> {
    let mut lines = 0;
    let mut density = functions::Density::default();
    let mut comments = comments::Comments::default();
    let mut crates: BTreeMap<String, cycles::Crate> = BTreeMap::new();
    for file in tidy::rust_files(&steps::root())? {
        if !is_shipped(&file.path) {
            continue;
        }
        let shipped = without_tests(&file.text);
        let parsed = syn::parse_file(&file.text)
            .with_context(|| format!("{} is no Rust that syn understands", file.path))?;
        lines += shipped.lines().count();
        comments.add(shipped);
        density.add(&parsed);
        if let Some((package, file)) = file.path.split_once("/src/") {
            crates.entry(package.to_owned()).or_default().add(file, &parsed);
        }
    }
    let kilolines = lines as f64 / 1000.0;
    row("shipped lines", lines);
    row("tokens a function, median", density.tokens_at(50));
    row("tokens a function, 90th percentile", density.tokens_at(90));
    row("functions over 60 lines", density.long_functions());
    row("combinators per 1,000 lines", format!("{:.1}", density.combinators as f64 / kilolines));
    row(
        "closures bound by let per 1,000 lines",
        format!("{:.1}", density.closures as f64 / kilolines),
    );
    row("match on a bool", density.bool_matches);
    row("tuple parameters", density.tuple_parameters);
    row("type names defined more than once", repeated(&density.types));
    row("comment lines", comments.lines);
    row("comments whose subject is a pronoun", comments.pronouns);
    row("comments that open with What", comments.what);
    row("doc comments that open with The same", comments.the_same);
    row("comments with an example", comments.examples);
    println!();
    for (package, tree) in &crates {
        for circle in tree.circles() {
            println!("{package}: {} files in a circle: {}", circle.len(), circle.join(", "));
        }
    }
    Ok(())
}

fn row(name: &str, value: impl std::fmt::Display) {
    println!("{name:<40} {value}");
}

fn is_shipped(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/");
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    is_source && !is_test && !UNSHIPPED.iter().any(|package| path.starts_with(package))
}

/// The part of a file before its tests, which stand last.
fn without_tests(text: &str) -> &str {
    match text.find("\n#[cfg(test)]\nmod ") {
        Some(end) => &text[..end + 1],
        None => text,
    }
}

fn repeated(types: &[String]) -> usize {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in types {
        *counts.entry(name).or_default() += 1;
    }
    counts.values().filter(|&&count| count > 1).count()
}
