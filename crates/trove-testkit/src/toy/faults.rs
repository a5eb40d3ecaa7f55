//! Faults of the process rather than of the protocol (crashes, floods, children and
//! signals), and answers that are odd below the level of a message.

use std::io::Write as _;
use std::process::Stdio;

use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::options::{Fault, Options};
use super::state::Toy;
use super::wire::quote;

/// How much is written to stderr at a time.
const LINE: &[u8] = b"toymcp: this line is one of very many and says nothing of any interest\n";

/// Does what goes wrong before anything is read.
pub(super) fn at_start(options: &Options) -> anyhow::Result<()> {
    if options.has(Fault::CrashInit) {
        anyhow::bail!("crashed, as told");
    }
    if options.has(Fault::IgnoreSigterm) {
        let mut signals = signal(SignalKind::terminate())?;
        tokio::spawn(async move { while signals.recv().await.is_some() {} });
    }
    if options.has(Fault::Fork) {
        start_child(Command::new("sleep").arg("1000"))?;
    }
    if options.has(Fault::ForkSetsid) {
        start_child(Command::new("setsid").args(["sleep", "1000"]))?;
    }
    super::floods::start_on_stderr(options.flood, options.flood_while.clone());
    // Written here and not in a task: a parent that does not drain stderr must see the server hang.
    let flood = options.amount(Fault::Stderr).unwrap_or(0);
    let mut stderr = std::io::stderr().lock();
    for _ in 0..flood.div_ceil(LINE.len() as u64) {
        stderr.write_all(LINE)?;
    }
    Ok(())
}

/// Starts a child that keeps the server's stdout and stderr open, as real wrappers do, and tells its pid.
fn start_child(command: &mut Command) -> anyhow::Result<()> {
    let child = command.stdin(Stdio::null()).spawn()?;
    writeln!(std::io::stderr(), "child {}", child.id().unwrap_or_default())?;
    Ok(())
}

/// The whole message that answers a read in an odd way, if the server is to be odd.
pub(super) fn twisted(toy: &Toy, uri: &str, id: &str) -> Option<Vec<u8>> {
    let (options, quoted) = (&toy.options, quote(uri));
    let hints = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    if let Some(levels) = options.amount(Fault::Deep) {
        let levels = usize::try_from(levels).unwrap_or(usize::MAX);
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{{hints},"x":{open}{close},"contents":[{{"uri":{quoted},"text":"deep"}}]}}}}"#
        );
        return Some(text.into_bytes());
    }
    if !options.has(Fault::Mangled) {
        return None;
    }
    let way: usize = uri.rsplit('/').next()?.parse().ok()?;
    let name = &options.name;
    let good = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{{hints},"contents":[{{"uri":{quoted},"text":"{name}|{uri}|@"}}]}}}}"#
    );
    let with = |text: &str| good.replacen('@', text, 1).into_bytes();
    let bytes = match way {
        0 => [b"\xef\xbb\xbf".to_vec(), with("after a byte order mark")].concat(),
        1 => [with("before a carriage return"), b"\r".to_vec()].concat(),
        2 => good
            .replacen(r#""text""#, r#""text":"the first of two","text""#, 1)
            .replacen('@', "the second of two", 1)
            .into_bytes(),
        3 => with(r"half \ud800 of a pair"),
        4 => good.replacen(r#""contents""#, r#""x":NaN,"contents""#, 1).into_bytes(),
        5 => with("a \0 byte"),
        6 => with("not \u{1} UTF-8").iter().map(|b| if *b == 1 { 0xff } else { *b }).collect(),
        7 => with("cut short")[..60].to_vec(),
        8 => b"[]".to_vec(),
        9 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#).into_bytes(),
        10 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{hints}}}}}"#).into_bytes(),
        11 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{hints},"contents":"text"}}}}"#)
            .into_bytes(),
        12 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#).into_bytes(),
        _ => return None,
    };
    Some(bytes)
}
