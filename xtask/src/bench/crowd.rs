//! Very many clients: idle connections, and a thousand who read at once.

use super::lab::{Door, Lab, Upstream};
use super::report::{Promise, Section, Table, figure};
use super::samples::number;

const SERVERS: [&str; 4] = ["one", "two", "three", "four"];
/// How many servers a thousand clients read from.
const MANY: usize = 50;
/// How many resources each of them lists.
const EACH: usize = 100;

/// Toys whose texts say whose they are.
fn toys(lab: &Lab) -> Vec<(&'static str, Upstream)> {
    SERVERS.map(|name| (name, toy(lab, name))).into()
}

fn toy(lab: &Lab, name: &str) -> Upstream {
    let each = EACH.to_string();
    let arguments = ["--name", name, "--scheme", name, "--bare", "--resources", &each];
    Upstream::Command(lab.toy(&arguments))
}

pub(super) fn measure_idle(lab: &Lab) -> anyhow::Result<Section> {
    let target = lab.trove("idle connections", Door::Http, &toys(lab))?;
    let wanted = if lab.is_quick { "1000" } else { "10000" };
    eprintln!("idle: {wanted} connections");
    let result = lab.result(&["idle", "--connections", wanted, "--expect", "400"], &target)?;
    let megabytes =
        |figure: &str| Ok::<f64, anyhow::Error>(number(&result, figure)? * 1024.0 / 1e6);
    let (before, after) = (megabytes("rss_before_kb")?, megabytes("rss_kb")?);
    let mut table = Table::new(&["connections", "RSS before MB", "RSS MB", "another asks, ms"]);
    let answer = figure(number(&result, "answer_ms")?);
    table.row([wanted.to_owned(), figure(before), figure(after), answer]);
    Ok(Section {
        title: "Idle connections",
        promises: vec![Promise {
            what: format!("RSS with {wanted} idle HTTP connections"),
            target: "\u{2264} 200 MB".to_owned(),
            measured: format!("{} MB", figure(after)),
            is_met: after <= 200.0,
        }],
        method: "Each connection asks once and then stays open without a word. Resident size of the Trove process, with four \
                 servers of 100 resources."
            .to_owned(),
        table,
    })
}

pub(super) fn measure_readers(lab: &Lab) -> anyhow::Result<Section> {
    let names: Vec<String> = (1..=MANY).map(|number| format!("s{number}")).collect();
    let all: Vec<_> = names.iter().map(|name| (name.as_str(), toy(lab, name))).collect();
    let target = lab.trove("readers", Door::Http, &all)?;
    let requests = if lab.is_quick { "50000" } else { "1000000" };
    let each = EACH.to_string();
    eprintln!("readers: {requests} requests");
    let (servers, total) = (names.join(","), (MANY * EACH).to_string());
    let what = [
        "readers",
        "--clients",
        "1000",
        "--requests",
        requests,
        "--servers",
        &servers,
        "--resources",
        &each,
        "--expect",
        &total,
    ];
    let result = lab.result(&what, &target)?;
    let (errors, wrong) = (number(&result, "errors")?, number(&result, "wrong_owner")?);
    let mut table = Table::new(&[
        "clients",
        "requests",
        "errors",
        "wrong owner",
        "requests a second",
        "p99 ms",
    ]);
    table.row([
        "1000".to_owned(),
        requests.to_owned(),
        format!("{errors:.0}"),
        format!("{wrong:.0}"),
        figure(number(&result, "rps")?),
        figure(number(&result, "p99_ms")?),
    ]);
    Ok(Section {
        title: "A thousand readers",
        promises: vec![Promise {
            what: format!("1,000 concurrent readers, {requests} requests"),
            target: "no error, no answer of another server".to_owned(),
            measured: format!("{errors:.0} errors, {wrong:.0} wrong"),
            is_met: errors + wrong == 0.0,
        }],
        method: "A thousand clients, each with a connection of its own, read in a closed loop from fifty servers in turn; the \
                 text of each answer is compared whole with what its owner serves under that URI."
            .to_owned(),
        table,
    })
}
