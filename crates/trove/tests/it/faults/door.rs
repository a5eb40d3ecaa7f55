//! The HTTP door under attack: foreign names, foreign pages, and requests that are no requests.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::kit::{LIMIT, Trove, within};

/// A modern request for the list of resources.
const LISTING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const HEADED: &str = "Mcp-Method: resources/list\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                      Content-Type: application/json\r\n";

/// The door's answer to these very bytes, up to the end of the connection.
async fn raw(trove: &Trove, request: &str) -> String {
    let mut stream = connect(trove).await;
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    // A door that keeps the connection has answered before.
    let _ = tokio::time::timeout(Duration::from_secs(5), reading).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn connect(trove: &Trove) -> TcpStream {
    let address = trove.url.trim_start_matches("http://").trim_end_matches("/mcp");
    TcpStream::connect(address).await.expect("the door is open")
}

/// A POST that ends its connection, with these further headers.
fn post(path: &str, headers: &str) -> String {
    let length = LISTING.len();
    format!(
        "POST {path} HTTP/1.1\r\n{headers}{HEADED}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{LISTING}"
    )
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn t20_only_names_of_this_machine_are_served_on_every_path() {
    let trove = Trove::start("").await;
    let (mcp, scrape) = (post("/mcp", "@"), "GET /metrics HTTP/1.1\r\n@Connection: close\r\n\r\n");
    for request in [mcp.as_str(), scrape] {
        let ask = async |headers: &str| status(&raw(&trove, &request.replace('@', headers)).await);
        for host in ["localhost", "LOCALHOST:99", "127.0.0.1", "[::1]:7", "127.9.9.9"] {
            assert_eq!(ask(&format!("Host: {host}\r\n")).await, 200, "{host} {request}");
        }
        for host in [
            "evil.test",
            "localhost.",
            "localhost.evil.test",
            "[::2]",
            "0x7f000001",
            "2130706433",
            "",
        ] {
            assert_eq!(ask(&format!("Host: {host}\r\n")).await, 403, "{host} {request}");
        }
        assert_eq!(ask("").await, 400, "no Host at all: {request}");
        for origin in
            ["http://evil.test", "null", "https://localhost.evil.test", "file://", "http://[::2]"]
        {
            let headers = format!("Host: localhost\r\nOrigin: {origin}\r\n");
            assert_eq!(ask(&headers).await, 403, "{origin} {request}");
        }
    }
}

#[tokio::test]
async fn t22_no_form_of_a_foreign_page_asks_anything() {
    let trove = Trove::start("").await;
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    {
        let request = post("/mcp", "Host: localhost\r\n")
            .replace("Content-Type: application/json", &format!("Content-Type: {kind}"));
        assert_eq!(status(&raw(&trove, &request).await), 415, "{kind}");
        // The browser names the page; that alone is enough.
        let request = request.replacen("Host:", "Origin: http://evil.test\r\nHost:", 1);
        assert_eq!(status(&raw(&trove, &request).await), 403, "{kind}");
    }
    let asked = "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.test\r\n\
                 Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n";
    let answer = raw(&trove, asked).await;
    assert!(!answer.to_lowercase().contains("access-control-allow"), "{answer}");
}

#[tokio::test]
async fn t20_a_foreign_name_learns_nothing_by_any_method() {
    let trove = Trove::start("").await;
    for method in ["OPTIONS", "PUT", "PATCH", "TRACE", "HEAD"] {
        let ask = async |path: &str, host: &str| {
            let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n");
            status(&raw(&trove, &format!("{head}Connection: close\r\n\r\n")).await)
        };
        for path in ["/mcp", "/metrics", "/healthz"] {
            assert_eq!(ask(path, "evil.test").await, 403, "{method} {path}");
        }
        let own = ask("/mcp", "localhost").await;
        assert!([405, 406].contains(&own), "{method}: {own}");
    }
}

#[tokio::test]
async fn t22_scripts_of_a_listed_page_may_ask_and_read_and_no_others() {
    let trove = Trove::start("http.allowed_origins = [\"https://app.example\"]").await;
    let ask = async |method: &str, origin: &str| {
        let more = match method {
            "OPTIONS" => "Access-Control-Request-Method: POST\r\n",
            _ => {
                "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            }
        };
        let body = match method {
            "OPTIONS" => "",
            _ => r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        };
        let head =
            format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n{more}");
        let length = body.len();
        let request = format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        raw(&trove, &request).await.to_lowercase()
    };
    let allowed = "access-control-allow-origin: https://app.example\r\n";
    let first = ask("OPTIONS", "https://app.example").await;
    assert_eq!(status(&first), 204, "{first}");
    for header in [allowed, "mcp-session-id", "authorization", "post"] {
        assert!(first.contains(header), "{header} is not in {first}");
    }
    let then = ask("POST", "https://app.example").await;
    assert!(then.contains(allowed) && then.contains("vary: origin"), "{then}");
    for origin in ["https://other.example", "null"] {
        for method in ["OPTIONS", "POST"] {
            let answer = ask(method, origin).await;
            assert_eq!(status(&answer), 403, "{answer}");
            assert!(!answer.contains("access-control"), "{answer}");
        }
    }
    // A page of this machine is no page elsewhere.
    assert!(!ask("POST", "http://localhost").await.contains("access-control"));
}

#[tokio::test]
async fn t38_heads_that_are_too_large_or_ambiguous_are_refused() {
    let trove = Trove::start("").await;
    let large =
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(300_000));
    assert!([431, 0].contains(&status(&raw(&trove, &large).await)));
    let many =
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(5000));
    assert!([431, 0].contains(&status(&raw(&trove, &many).await)));
    for line in ["GET /healthz", "GET /healthz HTTP/9.9", "\0\0\0", "GET http://[ HTTP/1.1"] {
        let code = status(&raw(&trove, &format!("{line}\r\nHost: localhost\r\n\r\n")).await);
        assert!((400..500).contains(&code) || code == 0, "{line:?}: {code}");
    }
    // Two lengths, or a length and chunks, in either order: the door reads no second request.
    let hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for lengths in [
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
        "Content-Length: +5\r\n",
    ] {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{HEADED}{lengths}\r\n0\r\n\r\n{hidden}"
        );
        let answer = raw(&trove, &request).await;
        assert!(answer.matches("HTTP/1.1 ").count() <= 1, "{lengths}: {answer}");
        assert!([400, 0].contains(&status(&answer)), "{lengths}: {answer}");
    }
}

#[tokio::test]
async fn t38_a_request_that_says_twice_where_its_body_ends_is_refused_with_its_body() {
    let trove = Trove::start("").await;
    let length = LISTING.len();
    let chunks = format!("{length:x}\r\n{LISTING}\r\n0\r\n\r\n");
    let own = format!("Content-Length: {length}\r\n");
    let whole = format!("Content-Length: {}\r\n", chunks.len());
    let chunked = "Transfer-Encoding: chunked\r\n";
    for lengths in [
        format!("{chunked}{own}"),
        format!("{own}{chunked}"),
        format!("{chunked}{whole}"),
        format!("{whole}X: y\r\n{chunked}"),
        format!("transfer-encoding:chunked\r\nX: y\r\ncONTENT-lENGTH:{length}\r\n"),
        format!("{chunked}Content-Length: 0\r\n"),
        format!("{chunked}{chunked}"),
        format!("{chunked}{own}{own}"),
    ] {
        let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{HEADED}{lengths}\r\n");
        let answer = raw(&trove, &format!("{head}{chunks}")).await;
        assert_eq!(status(&answer), 400, "{lengths}: {answer}");
        assert!(answer.to_lowercase().contains("connection: close"), "{lengths}: {answer}");
        // The same behind a request that is none the worse for it.
        let first = post("/mcp", "Host: localhost\r\n").replacen("Connection: close\r\n", "", 1);
        let answer = raw(&trove, &format!("{first}{head}{chunks}{first}")).await;
        let codes: Vec<&str> = answer.split("HTTP/1.1 ").skip(1).map(|one| &one[..3]).collect();
        assert_eq!(codes, ["200", "400"], "{lengths}: {answer}");
    }
    let twice = post("/mcp", &format!("Host: localhost\r\n{own}"));
    assert_eq!(status(&raw(&trove, &twice).await), 400, "the same length twice");
}

#[tokio::test]
async fn t38_chunks_alone_are_read_and_end_their_connection() {
    let trove = Trove::start("").await;
    let length = LISTING.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{HEADED}Transfer-Encoding: chunked\r\n\r\n\
         {length:x}\r\n{LISTING}\r\n0\r\n\r\n"
    );
    let answer = raw(&trove, &format!("{request}{request}")).await;
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

#[tokio::test]
async fn t38_another_protocol_on_our_port_is_no_request() {
    let trove = Trove::start("").await;
    // HTTP/2 is not spoken, so none of its streams can be opened and reset.
    let answer = raw(&trove, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
    assert!((400..600).contains(&status(&answer)) || answer.is_empty(), "{answer}");
    let upgrade = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\n\
                   Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n";
    let answer = raw(&trove, upgrade).await;
    assert_eq!(status(&answer), 200, "answered as what it also is: {answer}");
}

#[tokio::test]
async fn t38_idle_slow_and_pipelining_connections_keep_nobody_waiting() {
    let trove = Trove::start("").await;
    let mut idle = Vec::new();
    for n in 0..500 {
        let mut stream = connect(&trove).await;
        if n % 2 == 0 {
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").await.expect("it is open");
        }
        idle.push(stream);
    }
    let one = post("/mcp", "Host: localhost\r\n");
    let asked = raw(&trove, &one);
    assert_eq!(status(&within(LIMIT, "an answer", asked).await), 200);
    let keep = one.replace("Connection: close\r\n", "");
    let answer = raw(&trove, &format!("{keep}{keep}{one}")).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 3, "{answer}");
    drop(idle);
}
