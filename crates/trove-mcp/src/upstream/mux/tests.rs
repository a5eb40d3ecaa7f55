//! One connection under servers that answer out of order, twice, unasked, or not at all.

use trove_core::Gateway;

use super::*;
use crate::bounds::MAX_PENDING;

/// A connection; the other end is the test.
fn connection(gateway: &Gateway) -> (Arc<Mux>, mpsc::Receiver<Bytes>) {
    let source = SourceId::new("one").unwrap();
    let meter = Arc::new(Meter::new(crate::bounds::Unasked::default()));
    let inbox = Inbox::new(source.clone(), gateway.feed(), meter);
    Mux::new(source, inbox, MAX_PENDING)
}

fn read(id: u64, owner: u64) -> Call {
    Call {
        id,
        method: "resources/read",
        params: format!("{{\"owner\":{owner}}}"),
        repeated: Vec::new(),
        notices: None,
    }
}

/// The request that the server got: its id, and the owner that it names.
fn asked(frame: &Bytes) -> (u64, u64) {
    let Ok(Message::Request(request)) = wire::parse(frame) else { panic!("{frame:?}") };
    let owner = request.params.and_then(|params| params.get("owner"));
    let number = |json: &Json| json.as_str().parse().expect("a number");
    (number(&request.id), number(&owner.expect("it says whose it is")))
}

const ASKERS: u64 = 100;
const REQUESTS: u64 = 1000;

/// Answers each request in its own time, and sends much that was not asked.
async fn serve(mux: Arc<Mux>, mut out: mpsc::Receiver<Bytes>) {
    let mut held: Vec<(u64, u64)> = Vec::new();
    for turn in 0..ASKERS * REQUESTS {
        held.push(asked(&out.recv().await.expect("a request")));
        // As long as more will come, so that the order is never that of the questions.
        let is_last = turn + 1 == ASKERS * REQUESTS;
        while held.len() >= 40 || (!held.is_empty() && (is_last || out.is_empty())) {
            let at = usize::try_from(turn * 7919).unwrap() % held.len();
            let (id, owner) = held.swap_remove(at);
            let noise = [
                format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"owner":-1}}}}"#),
                format!(r#"{{"jsonrpc":"2.0","id":{id}.5,"result":{{"owner":-2}}}}"#),
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"owner":-3}}}}"#, id + (1 << 40)),
                r#"{"jsonrpc":"2.0","id":null,"result":{"owner":-4}}"#.to_owned(),
            ];
            mux.deliver(Bytes::from(noise[usize::try_from(turn % 4).unwrap()].clone()))
                .await
                .expect("it goes on");
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"owner":{owner}}}}}"#);
            mux.deliver(answer.into()).await.expect("it goes on");
            let again = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"owner":-5}}}}"#);
            mux.deliver(again.into()).await.expect("it goes on");
        }
    }
}

#[tokio::test]
async fn t09_a_hundred_thousand_requests_of_one_connection_each_get_their_own_answer() {
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    let (mux, out) = connection(&gateway);
    let server = tokio::spawn(serve(mux.clone(), out));
    let tickets = Arc::new(super::super::link::Tickets::default());
    let mut askers = JoinSet::new();
    for asker in 0..ASKERS {
        let (mux, tickets) = (mux.clone(), tickets.clone());
        askers.spawn(async move {
            for turn in 0..REQUESTS {
                let owner = asker * REQUESTS + turn;
                let answer = mux.request(read(tickets.next(), owner)).await.expect("an answer");
                assert_eq!(answer.as_str(), format!("{{\"owner\":{owner}}}"));
            }
        });
    }
    while let Some(done) = askers.join_next().await {
        done.expect("each has its own answers");
    }
    server.await.expect("the server has answered everything");
    assert!(mux.pending().is_empty());
}

#[tokio::test]
async fn t02_a_thousand_connections_lost_in_the_middle_of_a_read_fail_it_once_each() {
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    for round in 0..1000 {
        let (mux, mut out) = connection(&gateway);
        let waiting = tokio::spawn({
            let mux = mux.clone();
            async move { mux.request(read(1, round)).await }
        });
        let frame = out.recv().await.expect("the request");
        assert_eq!(asked(&frame), (1, round));
        mux.close();
        let lost = waiting.await.expect("no panic");
        assert!(matches!(lost, Err(LinkError::Lost)), "{lost:?}");
        // The caller is told that it may be repeated. The connection does not repeat it.
        assert!(trove_core::SourceError::from(LinkError::Lost).is_retryable());
        assert!(out.try_recv().is_err(), "it was asked once");
        let late = mux.request(read(2, round)).await;
        assert!(matches!(late, Err(LinkError::Lost)), "{late:?}");
        assert!(mux.pending().is_empty(), "nothing is left of it");
    }
}

#[tokio::test]
async fn an_id_that_comes_back_as_a_fraction_of_nothing_is_known_and_no_other() {
    let gateway = Gateway::new(trove_core::gateway::Parts::new("test")).await;
    let (mux, mut out) = connection(&gateway);
    let waiting = tokio::spawn({
        let mux = mux.clone();
        async move { mux.request(read(7, 1)).await }
    });
    out.recv().await.expect("the request");
    for (id, answer) in [("\"7\"", 1), ("7.5", 2), ("70", 3), ("7.0", 4)] {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"owner":{answer}}}}}"#);
        mux.deliver(answer.into()).await.expect("it goes on");
    }
    let answer = waiting.await.expect("no panic").expect("an answer");
    assert_eq!(answer.as_str(), r#"{"owner":4}"#);
}
