//! Finds the owners of many URIs in one catalogue, for a tool that counts instructions.
//!
//! Only [`look_up`] and [`look_up_by_tool`] are to be counted: everything they need is made
//! beforehand, and the texts are equally long in catalogues of every size.

use std::hint::black_box;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use tokio::runtime::Runtime;
use trove_core::catalogue::{Member, Snapshot};
use trove_core::resource::{Listing, Resource, Template};
use trove_core::source::Ask;
use trove_core::tools::{Settings, Tools};
use trove_core::{Caller, Json, Source};
use trove_testkit::fake_source::FakeSource;
use trove_testkit::gateway_box::GatewayBox;

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
    /// Names of listed resources, read by `get_resource`
    Bridge,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let uris: Vec<String> = (0..options.lookups).map(|turn| uri(&options, turn)).collect();
    let found = match options.kind {
        Kind::Bridge => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let tools = runtime.block_on(tools(options.resources));
            look_up_by_tool(&runtime, &tools, &uris)
        }
        _ => look_up(&catalogue(options.resources, options.templates)?, &uris),
    };
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

/// How many of the URIs `get_resource` gives the contents of.
#[inline(never)]
fn look_up_by_tool(runtime: &Runtime, tools: &Tools, uris: &[String]) -> usize {
    let mut found = 0;
    for uri in uris {
        found += usize::from(runtime.block_on(read(tools, uri)));
    }
    found
}

/// Whether the contents of the URI came. Its name must not be like that of what is counted,
/// because a counter that meets it again within itself would stop.
async fn read(tools: &Tools, uri: &str) -> bool {
    let arguments = Json::of(&serde_json::json!({ "uri": uri }));
    let caller = Caller::local();
    let reply = tools.call(&caller, "get_resource", Some(&arguments), Ask::default()).await;
    reply.is_some_and(|reply| !reply.body.as_str().contains("\"isError\":true"))
}

/// The tools over a gateway with so many resources.
async fn tools(resources: usize) -> Arc<Tools> {
    let sources = SOURCES.map(|id| Arc::new(FakeSource::new(id, &[])));
    for place in 0..resources {
        sources[place % SOURCES.len()].add(&resource(place));
    }
    let gateway = GatewayBox::with(&[&sources[0], &sources[1], &sources[2]]).await;
    Tools::new(gateway.gateway, Settings::default())
}

/// The URI to look up in this turn; each turn goes to another part of the catalogue.
fn uri(options: &Options, turn: usize) -> String {
    let place = turn * 7919 % options.resources;
    let source = SOURCES[place % SOURCES.len()];
    match options.kind {
        Kind::Exact | Kind::Bridge => resource(place),
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
        members.push(Member {
            source,
            listing: Arc::new(listing),
            is_stale: false,
            age: Arc::default(),
        });
    }
    let snapshot = Snapshot::build(1, members);
    anyhow::ensure!(snapshot.resources().len() == resources, "the catalogue is not whole");
    Ok(snapshot)
}
