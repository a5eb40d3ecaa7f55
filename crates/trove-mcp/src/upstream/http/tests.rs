//! Parts of the HTTP transport that need no server.

use trove_core::Gateway;

use super::*;

#[test]
fn a_session_has_ended_unless_the_refusal_answers_the_request() {
    let says = |status: u16, body: &'static str| {
        let status = StatusCode::from_u16(status).expect("as the test made it");
        is_expiry(status, &Bytes::from_static(body.as_bytes()), 7)
    };
    assert!(says(404, ""));
    assert!(says(400, "Bad Request: No valid session ID provided"));
    assert!(says(
        400,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Session?"}}"#
    ));
    assert!(!says(
        400,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no session given"}}"#
    ));
    assert!(!says(400, "no such thing"));
    assert!(!says(500, "session"));
}

/// A notice of progress of a request, as a server writes it.
fn progress(of: u64) -> Message {
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{of},"progress":1}}}}"#
    );
    wire::parse(&Bytes::from(text)).expect("as the test made it")
}

#[tokio::test]
async fn progress_goes_to_whoever_asked_on_whatever_stream_it_comes() {
    let gateway = Gateway::start("test", None).await;
    let source = SourceId::new("one").expect("a valid id");
    let inbox = Inbox::new(source.clone(), gateway.feed());
    let (client, headers) = (Client::new(), HeaderMap::new());
    let url = "http://127.0.0.1:9/mcp".to_owned();
    let link = HttpLink::new(&source, client, url, headers, inbox, &Bounds::default(), None);
    let call = |id| {
        let (notices, heard) = mpsc::channel(4);
        link.shared.notices().insert(id, notices.clone());
        let call = Call {
            id,
            method: "resources/read",
            params: "{}".to_owned(),
            repeated: Vec::new(),
            notices: Some(notices),
        };
        (call, heard)
    };
    let (first, mut heard_by_first) = call(1);
    let (_second, mut heard_by_second) = call(2);
    // On the stream of nobody, and on that of another.
    link.shared.take(progress(1), None).await;
    link.shared.take(progress(2), Some(&first)).await;
    link.shared.take(progress(3), Some(&first)).await;
    assert!(heard_by_first.try_recv().is_ok() && heard_by_first.try_recv().is_err());
    assert!(heard_by_second.try_recv().is_ok() && heard_by_second.try_recv().is_err());
}

#[test]
fn a_status_that_is_well_known_says_what_to_write_instead() {
    let place = HeaderValue::from_static("/mcp/");
    let moved = refusal(StatusCode::TEMPORARY_REDIRECT, Some(&place), b"").to_string();
    assert!(moved.contains("307") && moved.contains("/mcp/") && moved.contains("`url`"), "{moved}");
    let no_post = refusal(StatusCode::METHOD_NOT_ALLOWED, None, b"").to_string();
    assert!(no_post.contains("transport = \"sse\""), "{no_post}");
    assert_eq!(refusal(StatusCode::BAD_GATEWAY, None, b"").to_string(), "HTTP status 502");
}
