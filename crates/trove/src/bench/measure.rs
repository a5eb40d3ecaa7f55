//! Asks, in turn directly and through Trove, and takes the time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use trove_core::{
    Source, SourceError, SourceId,
    resource::{Listing, Resource},
    source::{Ask, Operation},
    uri::LocalUri,
};

use super::{
    Plan,
    figures::{Lists, OfServer, Reads, Report, Tally, Way, milliseconds, rounded},
    stand::Stand,
};
use crate::config::Loaded;

/// The ways take turns so often, so that what else the machine does falls on both.
const ROUNDS: usize = 4;
/// How often a whole list is asked for; the middle time counts.
const LISTS: usize = 3;
/// The most different resources of one server that are read.
const MAX_SAMPLED: usize = 50;
/// A resource that is listed as larger is not read: the speed of a disk would be another
/// question.
const MAX_LISTED_SIZE: u64 = 1024 * 1024;

/// Measures every server of the configuration that may run. `say` is told which one is next.
pub(crate) async fn measure(
    loaded: &Loaded,
    is_waived: bool,
    plan: Plan,
    say: impl Fn(&SourceId),
) -> std::io::Result<Report> {
    let stand = Stand::start(loaded, is_waived).await?;
    stand.settle(plan.wait).await;
    let borrowed = loaded.borrowed.iter().map(|one| &one.upstream.id);
    let mut servers = Vec::new();
    for id in loaded.config.upstreams.iter().map(|one| &one.id).chain(borrowed) {
        say(id);
        servers.push(server(&stand, id, plan).await);
    }
    let direct_ms = servers.iter().filter_map(|one| one.list_ms).sum();
    let mut list = Lists { direct_ms: rounded(direct_ms), ..Lists::default() };
    if let Some(trove) = stand.through().await
        && let Ok((listing, time)) = listed(&*trove).await
    {
        (list.through_ms, list.resources) = (milliseconds(time), listing.resources.len());
    }
    stand.shutdown().await;
    Ok(Report { servers, list, reads: plan.reads, concurrency: plan.concurrency })
}

async fn server(stand: &Stand, id: &SourceId, plan: Plan) -> OfServer {
    let mut report =
        OfServer { id: id.to_string(), resources: 0, list_ms: None, read: None, error: None };
    let sides = [&stand.direct, &stand.trove];
    if let Some(trouble) = sides.into_iter().find_map(|side| side.trouble(id)) {
        report.error = Some(trouble);
        return report;
    }
    let (direct, trove) = (stand.direct.source(id).await, stand.through().await);
    let (Some(direct), Some(trove)) = (direct, trove) else {
        report.error = Some("it was not listed".to_owned());
        return report;
    };
    match listed(&*direct).await {
        Ok((listing, time)) => {
            report.list_ms = Some(milliseconds(time));
            report.resources = listing.resources.len();
            match reads(stand, id, (&direct, &trove), &sample(&listing), plan).await {
                Ok(reads) => report.read = reads,
                Err(why) => report.error = Some(why),
            }
        }
        Err(error) => report.error = Some(error.to_string()),
    }
    report
}

/// The whole list, and the middle of the times it took.
async fn listed(source: &dyn Source) -> Result<(Listing, Duration), SourceError> {
    let mut times = Vec::new();
    loop {
        let began = Instant::now();
        let listing = source.list().await?;
        times.push(began.elapsed());
        if times.len() == LISTS {
            times.sort_unstable();
            return Ok((listing, times[LISTS / 2]));
        }
    }
}

/// Some resources from all over the list.
fn sample(listing: &Listing) -> Vec<LocalUri> {
    let size = |one: &Resource| one.details().size().unwrap_or(0);
    let small = |one: &&Resource| size(one) <= MAX_LISTED_SIZE;
    let readable: Vec<&Resource> = listing.resources.iter().filter(small).collect();
    let count = readable.len().min(MAX_SAMPLED);
    (0..count).map(|n| readable[n * readable.len() / count].uri.clone()).collect()
}

/// Names of the same resources, at the server and at Trove.
#[derive(Default)]
struct Names {
    direct: Vec<LocalUri>,
    through: Vec<LocalUri>,
}

async fn reads(
    stand: &Stand,
    id: &SourceId,
    (direct, trove): (&Arc<dyn Source>, &Arc<dyn Source>),
    sample: &[LocalUri],
    plan: Plan,
) -> Result<Option<Reads>, String> {
    if sample.is_empty() {
        return Ok(None);
    }
    let end = Instant::now() + plan.longest;
    let (names, why) = readable(stand, id, (direct, trove), sample, end).await;
    if names.direct.is_empty() {
        return Err(why.unwrap_or_else(|| "nothing of it could be read in time".to_owned()));
    }
    let before = stand.trove.gateway.cache_stats().hits;
    let mut tallies: [Tally; 4] = Default::default();
    for round in 0..ROUNDS {
        let left = end.saturating_duration_since(Instant::now());
        let turn = left / u32::try_from((ROUNDS - round) * tallies.len()).unwrap_or(1);
        // The remainder of the division falls to the first rounds.
        let count = plan.reads / ROUNDS + usize::from(round < plan.reads % ROUNDS);
        let turns = [
            (direct, &names.direct, 1),
            (trove, &names.through, 1),
            (direct, &names.direct, plan.concurrency),
            (trove, &names.through, plan.concurrency),
        ];
        for (tally, (source, names, at_once)) in tallies.iter_mut().zip(turns) {
            tally.add(stretch(&**source, names, (count, at_once), turn).await);
        }
    }
    let hits = stand.trove.gateway.cache_stats().hits - before;
    Ok(Some(figures(&tallies, sample.len() - names.direct.len(), &names, hits)))
}

fn figures(tallies: &[Tally; 4], unreadable: usize, names: &Names, hits: u64) -> Reads {
    let [alone, through_alone, together, through_together] = tallies;
    let direct = Way::of(alone, together);
    let through = Way::of(through_alone, through_together);
    let answered = (through_alone.times.len() + through_together.times.len()).max(1);
    let asked = (alone.times.len() + together.times.len()).max(1) as u64;
    Reads {
        sampled: names.direct.len(),
        unreadable,
        bytes: (alone.bytes + together.bytes) / asked,
        added_ms: rounded(through.p50_ms - direct.p50_ms),
        cached: rounded(hits as f64 / answered as f64),
        direct,
        through,
    }
}

/// Those that can be read in both ways, each tried once, which warms up both.
async fn readable(
    stand: &Stand,
    id: &SourceId,
    (direct, trove): (&Arc<dyn Source>, &Arc<dyn Source>),
    sample: &[LocalUri],
    end: Instant,
) -> (Names, Option<String>) {
    let snapshot = stand.trove.gateway.snapshot().await;
    let (mut names, mut why) = (Names::default(), None);
    for uri in sample {
        let renamed = snapshot.public_name(id, uri.as_str());
        let public = renamed.map_or_else(|| uri.clone(), |name| LocalUri::new(name.shared()));
        let both = async {
            read(&**direct, uri).await?;
            read(&**trove, &public).await
        };
        match tokio::time::timeout_at(end.into(), both).await {
            Err(_) => break,
            Ok(Err(error)) => {
                why.get_or_insert(format!("{uri}: {error}"));
            }
            Ok(Ok(_)) => {
                names.direct.push(uri.clone());
                names.through.push(public);
            }
        }
    }
    (names, why)
}

/// Reads so many times, so many at once, but begins none when the time is over.
async fn stretch(
    source: &dyn Source,
    uris: &[LocalUri],
    (count, at_once): (usize, usize),
    longest: Duration,
) -> Tally {
    let began = Instant::now();
    let end = began + longest;
    let one = |n: usize| async move {
        let asked = Instant::now();
        if asked >= end {
            return None;
        }
        let read = read(source, &uris[n % uris.len()]).await;
        Some(read.map(|bytes| (asked.elapsed(), bytes)))
    };
    let mut tally = Tally::default();
    let mut reads = stream::iter(0..count).map(one).buffer_unordered(at_once);
    while let Some(read) = reads.next().await {
        match read {
            None => {}
            Some(Err(_)) => tally.failed += 1,
            Some(Ok((time, bytes))) => {
                tally.times.push(time);
                tally.bytes += bytes;
            }
        }
    }
    tally.took = began.elapsed();
    tally
}

/// Gives the size of the answer.
async fn read(source: &dyn Source, uri: &LocalUri) -> Result<u64, SourceError> {
    let operation = Operation::Read { uri: uri.clone() };
    let reply = source.perform(operation, Ask::default()).await?;
    if reply.needs_input {
        Err(SourceError::NotOffered { what: "a read without questions" })
    } else {
        Ok(reply.body.as_str().len() as u64)
    }
}
