//! Servers that send without end what none of our requests asked for, and honest ones.
//!
//! The floods are endless streams that are always ready; how much is taken of them is counted.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, atomic::AtomicUsize},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::stream;
use tokio::{
    io::{AsyncRead, ReadBuf},
    time::Instant,
};
use trove_core::{Gateway, SourceId};

use super::*;
use crate::{
    bounds::{Bounds, MAX_PENDING},
    lines::Lines,
    sse::Parser,
    upstream::{
        events::{End, Events},
        http,
        link::{Call, Inbox, LinkError},
        mux::Mux,
        process::StderrRing,
        stdio::Reader,
    },
};

const KIB: u64 = 1024;
/// A small budget, so that the tests are quick: the tested amounts are proportional to it.
const SMALL: Unasked = Unasked { bytes: 256 * KIB, bytes_per_second: 64 * KIB };
/// The most that may be paid for beside the budget: one message, and the look after a pause.
const SLACK: u64 = 64 * KIB;

/// A text again and again, without end.
struct Endless {
    text: Vec<u8>,
    at: usize,
    taken: Arc<AtomicUsize>,
}

impl Endless {
    fn new(text: &str) -> (Endless, Arc<AtomicUsize>) {
        let taken = Arc::<AtomicUsize>::default();
        (Endless { text: text.into(), at: 0, taken: taken.clone() }, taken)
    }
}

impl AsyncRead for Endless {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        while room.remaining() > 0 {
            let part = &self.text[self.at..];
            let part = &part[..part.len().min(room.remaining())];
            room.put_slice(part);
            let length = part.len();
            self.at = (self.at + length) % self.text.len();
            self.taken.fetch_add(length, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

fn small() -> Arc<Meter> {
    Arc::new(Meter::new(SMALL))
}

async fn inbox(meter: &Arc<Meter>) -> (Arc<Gateway>, SourceId, Arc<Inbox>) {
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    let source = SourceId::new("one").expect("a valid id");
    let inbox = Inbox::new(source.clone(), gateway.feed(), meter.clone());
    (gateway, source, inbox)
}

/// Everything that was paid for.
fn paid(meter: &Meter) -> u64 {
    meter.account().used.iter().sum()
}

/// The most that a server may have paid for by the time it is cut off.
fn most_paid(began: Instant) -> u64 {
    let earned = began.elapsed().as_secs_f64() * SMALL.bytes_per_second as f64;
    SMALL.bytes + earned as u64 + SLACK
}

/// Lets a neighbour work beside a flood; gives the most work the flood did between two turns.
async fn beside<T>(meter: &Arc<Meter>, flood: impl Future<Output = T>) -> (T, u64) {
    let (most, last) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (meter, seen) = (meter.clone(), most.clone());
    let neighbour = async move {
        loop {
            let now = paid(&meter);
            let before = last.swap(now, Ordering::Relaxed);
            seen.fetch_max(now.saturating_sub(before), Ordering::Relaxed);
            tokio::task::yield_now().await;
            // Without this the paused clock would never move on.
            if meter.account().left < 0 {
                tokio::time::sleep(LEAST_PAUSE / 2).await;
            }
        }
    };
    let outcome = tokio::select! {
        outcome = flood => outcome,
        () = neighbour => unreachable!("it has no end"),
    };
    (outcome, most.load(Ordering::Relaxed))
}

async fn flood_of_lines(text: &str, expected: Noise) {
    let meter = small();
    let (_gateway, source, inbox) = inbox(&meter).await;
    let (mux, mut out) = Mux::new(source.clone(), inbox, MAX_PENDING);
    let (endless, taken) = Endless::new(text);
    let reader = Reader::new(source, 64 * 1024, mux, Arc::default());
    let began = Instant::now();
    let answers = async { while out.recv().await.is_some() {} };
    let reading = async {
        tokio::select! {
            () = reader.run(Lines::new(endless, 64 * 1024)) => {}
            () = answers => {}
        }
    };
    let ((), at_once) = beside(&meter, reading).await;
    let name: String = text.chars().take(60).collect();
    assert_eq!(meter.noise_of_cut(), Some(expected), "{name}");
    let (paid, most) = (paid(&meter), most_paid(began));
    assert!((SMALL.bytes..most).contains(&paid), "{name}: {paid} of {most}");
    assert!(at_once <= TURN + SLACK, "{name}: {at_once} before others had their turn");
    // A byte is never so cheap that endless ones are free.
    let taken = taken.load(Ordering::Relaxed) as u64;
    assert!(taken < 2 * SKIPPED_BYTES * most, "{name}: {taken} bytes taken");
}

#[tokio::test(start_paused = true)]
async fn t51_a_flood_of_any_kind_of_line_yields_is_slowed_and_cut_off() {
    let note = |method: &str, params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n")
    };
    let ask = |method: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"}}\n");
    let log = r#"{"level":"debug","data":"again"}"#;
    let list_changed = "notifications/resources/list_changed";
    for (text, noise) in [
        (note(list_changed, "{}"), Noise::Notifications),
        (note("notifications/resources/updated", r#"{"uri":"a:1"}"#), Noise::Notifications),
        (note("notifications/message", log), Noise::Notifications),
        (note("notifications/progress", r#"{"progressToken":9}"#), Noise::Notifications),
        (note("notifications/unheard/of", "{}"), Noise::Notifications),
        (ask("ping"), Noise::Requests),
        (ask("roots/list"), Noise::Requests),
        (ask("sampling/createMessage"), Noise::Requests),
        ("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n".to_owned(), Noise::Answers),
        ("ready to serve\n".to_owned(), Noise::NoMessages),
        ("{\"no\":\"message\"}\n".to_owned(), Noise::NoMessages),
        (format!("{}\n", "x".repeat(100_000)), Noise::NoMessages),
        ("no line at all ".to_owned(), Noise::NoMessages),
        ("\n".to_owned(), Noise::Empty),
        (" \r\n\n".to_owned(), Noise::Empty),
        (
            format!("[{}]\n", vec![note(list_changed, "{}"); 50].join(",").replace('\n', "")),
            Noise::Notifications,
        ),
    ] {
        flood_of_lines(&text, noise).await;
    }
}

#[tokio::test(start_paused = true)]
async fn t51_a_flood_on_stderr_is_slowed_and_cut_off() {
    for text in ["one more line of no interest\n", "\n", "no line at all "] {
        let meter = small();
        let ring = Arc::new(StderrRing::without(Arc::default(), meter.clone()));
        let (endless, _) = Endless::new(text);
        let began = Instant::now();
        let ((), at_once) = beside(&meter, ring.drain(endless)).await;
        assert_eq!(meter.noise_of_cut(), Some(Noise::Stderr), "{text}");
        assert!((SMALL.bytes..most_paid(began)).contains(&paid(&meter)), "{text}");
        assert!(at_once <= TURN + SLACK, "{text}: {at_once}");
    }
}

/// A stream of chunks without end.
fn chunks(text: &str) -> impl stream::Stream<Item = Result<Bytes, Infallible>> + Unpin + use<> {
    let chunk = Bytes::from(text.to_owned());
    stream::repeat_with(move || Ok(chunk.clone()))
}

#[tokio::test(start_paused = true)]
async fn t51_a_flood_of_events_that_are_none_is_slowed_and_cut_off() {
    for text in [":\n", ": keep alive\n\n", "id: 7\n", "retry: 1\n\n", "event: x\n\n", "", "\n"] {
        let many = text.repeat(5000);
        for chunk in [text, &many] {
            let meter = small();
            let mut parser = Parser::new(64 * 1024);
            let mut events = Events::new(chunks(chunk), &mut parser, meter.clone());
            let began = Instant::now();
            let (end, at_once) = beside(&meter, events.next()).await;
            assert_eq!(end.err(), Some(End::CutOff), "{text:?}");
            assert_eq!(meter.noise_of_cut(), Some(Noise::Empty), "{text:?}");
            assert!((SMALL.bytes..most_paid(began)).contains(&paid(&meter)), "{text:?}");
            assert!(at_once <= TURN + SLACK, "{text:?}: {at_once}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn t51_a_flood_of_events_beside_an_answer_ends_its_request() {
    let message = |text: &str| format!("data: {text}\n\n");
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":1}}"#;
    for (text, noise) in [
        (message(r#"{"method":"notifications/tools/list_changed"}"#), Noise::Notifications),
        (message(progress), Noise::Notices),
        (message(r#"{"id":8,"result":{}}"#), Noise::Answers),
        (message("nothing"), Noise::NoMessages),
        (message(""), Noise::NoMessages),
    ] {
        let meter = small();
        let (_gateway, source, inbox) = inbox(&meter).await;
        let (client, headers, bounds) = <_>::default();
        let bounds: Bounds = bounds;
        let url = "http://127.0.0.1:1/mcp".to_owned();
        let link = http::HttpLink::new(&source, client, url, headers, inbox, &bounds, None);
        let (notices, mut given) = tokio::sync::mpsc::channel(8);
        let call = Call {
            id: 1,
            method: "tools/call",
            params: "{}".to_owned(),
            repeated: Vec::new(),
            notices: Some(notices),
        };
        let taking = async { while given.recv().await.is_some() {} };
        let reading = async {
            tokio::select! {
                outcome = link.answer_in_chunks(chunks(&text), call) => outcome,
                () = taking => unreachable!("the call holds it"),
            }
        };
        let began = Instant::now();
        let (outcome, at_once) = beside(&meter, reading).await;
        assert!(matches!(outcome, Some(Err(LinkError::Lost))), "{text}");
        assert_eq!(meter.noise_of_cut(), Some(noise), "{text}");
        assert!((SMALL.bytes..most_paid(began)).contains(&paid(&meter)), "{text}");
        assert!(at_once <= TURN + SLACK, "{text}: {at_once}");
    }
}

#[tokio::test(start_paused = true)]
async fn honest_bursts_are_not_slowed() {
    let meter = Meter::new(Unasked::default());
    // A chatty start, a tool that reports 100,000 steps, many changes at once, a verbose log.
    for _ in 0..1000 {
        meter.message(Noise::NoMessages, 80).await.expect("it goes on");
    }
    for _ in 0..100_000 {
        meter.message(Noise::Notices, 120).await.expect("it goes on");
    }
    for _ in 0..20_000 {
        meter.message(Noise::Notifications, 100).await.expect("it goes on");
    }
    for _ in 0..100_000 {
        meter.stderr(80).await.expect("it goes on");
    }
    // Answers are asked for, however large they are.
    for _ in 0..100 {
        meter.asked(16 * 1024 * 1024).await;
    }
    assert_eq!(*meter.standing().borrow(), Standing::Calm);
}

#[tokio::test(start_paused = true)]
async fn each_request_pays_for_what_a_server_says_about_it() {
    let meter = small();
    for _ in 0..10_000 {
        meter.note_request();
        for _ in 0..5 {
            meter.message(Noise::Notifications, 200).await.expect("it goes on");
        }
    }
    assert_eq!(*meter.standing().borrow(), Standing::Calm);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_less_is_calm_again() {
    let meter = small();
    while *meter.standing().borrow() == Standing::Calm {
        meter.message(Noise::Requests, 100).await.expect("it goes on");
    }
    assert_eq!(*meter.standing().borrow(), Standing::Slowed);
    tokio::time::advance(Duration::from_millis(20)).await;
    meter.look();
    assert_eq!(*meter.standing().borrow(), Standing::Slowed, "it has hardly paused");
    tokio::time::advance(Duration::from_secs(1)).await;
    meter.look();
    assert_eq!(*meter.standing().borrow(), Standing::Calm);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_below_its_rate_is_never_cut_off() {
    let meter = small();
    while *meter.standing().borrow() == Standing::Calm {
        meter.message(Noise::Requests, 100).await.expect("it goes on");
    }
    let each = SMALL.bytes_per_second * 3 / 4 / 10 - MESSAGE;
    for _ in 0..10_000 {
        tokio::time::advance(Duration::from_millis(100)).await;
        let bytes = usize::try_from(each).expect("few");
        meter.message(Noise::Notifications, bytes).await.expect("it goes on");
    }
    assert_eq!(*meter.standing().borrow(), Standing::Calm);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_cut_off_is_on_probation_until_it_is_calm() {
    let meter = small();
    let floods = async || {
        let before = paid(&meter);
        while meter.message(Noise::Requests, 100).await.is_ok() {}
        paid(&meter) - before
    };
    let first = floods().await;
    assert!(first > SMALL.bytes, "{first}");
    tokio::time::advance(Duration::from_secs(60)).await;
    meter.begin();
    assert_eq!(*meter.standing().borrow(), Standing::Calm, "it is tried again");
    let second = floods().await;
    assert!(second < SMALL.bytes / 4, "{second}");
    // Another time it behaves, and so it has its whole budget back.
    meter.begin();
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(60)).await;
        meter.look();
    }
    let third = floods().await;
    assert!(third > SMALL.bytes, "{third}");
}

/// Bytes that are all there, of which a pipe gives some at a time.
struct Pipe(Bytes);

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let length = self.0.len().min(room.remaining()).min(64 * 1024);
        room.put_slice(&self.0.split_to(length));
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_any_size_is_no_flood_and_lets_others_have_their_turn() {
    let meter = small();
    let (_gateway, source, inbox) = inbox(&meter).await;
    let (mux, mut out) = Mux::new(source.clone(), inbox, MAX_PENDING);
    let text = "x".repeat(16 * 1024 * 1024);
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{text}\"}}\n");
    let reader = Reader::new(source, 32 * 1024 * 1024, mux.clone(), Arc::default());
    let call = Call {
        id: 1,
        method: "resources/read",
        params: "{}".to_owned(),
        repeated: Vec::new(),
        notices: None,
    };
    let asking = async {
        let asked = mux.request(call);
        let reads = async {
            out.recv().await.expect("the request");
            reader.run(Lines::new(Pipe(answer.into()), 32 * 1024 * 1024)).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answer = asked => answer,
            () = reads => unreachable!("it has no end"),
        }
    };
    let mut turns = 0;
    let neighbour = async {
        loop {
            turns += 1;
            tokio::task::yield_now().await;
        }
    };
    let answer = tokio::select! {
        answer = asking => answer,
        () = neighbour => unreachable!("it has no end"),
    };
    assert!(answer.is_ok_and(|answer| answer.as_bytes().len() > text.len()));
    assert_eq!(*meter.standing().borrow(), Standing::Calm);
    // All but the last of 256 parts.
    assert!(turns > 200, "{turns} turns");
}
