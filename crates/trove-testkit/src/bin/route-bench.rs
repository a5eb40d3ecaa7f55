//! Finds the owners of many URIs in one catalogue, for a tool that counts instructions.
//!
//! Only [`look_up`] is to be counted: everything it needs is made beforehand, and the
//! texts are equally long whatever the size of the catalogue.

use std::hint::black_box;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use trove_core::catalogue::{Member, Snapshot};
use trove_core::resource::{Listing, Resource, Template};
use trove_core::{Json, Source};
use trove_testkit::fake_source::FakeSource;

const SOURCES: [&str; 3] = ["alpha", "beta", "gamma"];

/// Looks up URIs in a catalogue.
#[derive(Debug, Parser)]
#[command(name = "route-bench")]
struct Options {
    /// How many resources the catalogue holds
    resources: usize,
    /// How many URIs to look up
    lookups: usize,
    /// What they are
    #[arg(value_enum)]
    kind: Kind,
    /// How many templates the catalogue holds
    #[arg(long, value_name = "N", default_value_t = 15)]
    templates: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Names of listed resources
    Exact,
    /// The same with the id of their source in front
    Qualified,
    /// What only a template matches
    Template,
    /// What nobody serves
    Miss,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let snapshot = catalogue(options.resources, options.templates)?;
    let uris: Vec<String> = (0..options.lookups).map(|turn| uri(&options, turn)).collect();
    let found = look_up(&snapshot, &uris);
    let expected = if matches!(options.kind, Kind::Miss) { 0 } else { options.lookups };
    anyhow::ensure!(found == expected, "{found} of {expected} URIs were found");
    Ok(())
}

/// How many of the URIs have an owner.
#[inline(never)]
fn look_up(snapshot: &Snapshot, uris: &[String]) -> usize {
    let mut found = 0;
    for uri in uris {
        found += usize::from(black_box(snapshot.route(black_box(uri))).is_ok());
    }
    found
}

/// What to look up in this turn; each goes to another part of the catalogue.
fn uri(options: &Options, turn: usize) -> String {
    let place = turn * 7919 % options.resources;
    let source = SOURCES[place % SOURCES.len()];
    match options.kind {
        Kind::Exact => resource(place),
        Kind::Qualified => format!("{source}+{}", resource(place)),
        Kind::Template => {
            let template = turn * 31 % options.templates;
            format!("note://shelf-{template:05}/page/{place:07}")
        }
        Kind::Miss => format!("void://shelf/{place:07}/text.md"),
    }
}

fn resource(place: usize) -> String {
    format!("docs://{}/{place:07}/text.md", SOURCES[place % SOURCES.len()])
}

/// Each source lists every third resource and every third template.
fn catalogue(resources: usize, templates: usize) -> anyhow::Result<Snapshot> {
    let mut members = Vec::new();
    for (n, id) in SOURCES.into_iter().enumerate() {
        let mut listing = Listing::default();
        for place in (n..resources).step_by(SOURCES.len()) {
            let uri = resource(place);
            let entry = serde_json::json!({ "uri": uri, "name": format!("text {place}") });
            listing.resources.extend(Resource::new(Json::of(&entry)));
        }
        for template in (n..templates).step_by(SOURCES.len()) {
            let text = format!("note://shelf-{template:05}/page/{{id}}");
            let entry = serde_json::json!({ "uriTemplate": text, "name": text });
            listing.templates.extend(Template::new(Json::of(&entry)));
        }
        let source: Arc<dyn Source> = Arc::new(FakeSource::new(id, &[]));
        members.push(Member { source, listing: Arc::new(listing), is_stale: false });
    }
    let snapshot = Snapshot::build(1, members);
    anyhow::ensure!(snapshot.resources().len() == resources, "the catalogue is not whole");
    Ok(snapshot)
}
