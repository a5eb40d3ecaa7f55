//! Addresses that Trove never reaches, and texts it never passes on or tells.

use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::kit::client::Kind;
use crate::kit::toy::{Remote, config, toy, whole};
use crate::kit::{Folder, Trove, until};

/// A server that should never be called, which counts its callers.
struct Canary {
    port: u16,
    calls: Arc<AtomicUsize>,
}

impl Canary {
    async fn set() -> Canary {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 512]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
        });
        Canary { port, calls }
    }
}

#[tokio::test]
async fn t25_no_uri_makes_trove_call_anybody_or_open_anything() {
    let canary = Canary::set().await;
    let port = canary.port;
    let trove = Trove::with(&[toy("one", "--bare --resources 2")]).await;
    let client = trove.any_client().await;
    let names =
        ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"];
    let mut uris: Vec<String> =
        names.iter().map(|host| format!("http://{host}:{port}/x")).collect();
    uris.extend(
        ["https", "ftp", "gopher", "ws", "dict"].map(|s| format!("{s}://127.0.0.1:{port}/")),
    );
    uris.extend(
        ["file:///etc/passwd", "http://169.254.169.254/latest/meta-data/"].map(str::to_owned),
    );
    for uri in &uris {
        client.read(uri).await.expect_err("nobody serves it");
        let bridged = client.call("get_resource", json!({ "uri": uri })).await;
        let text = bridged.to_string();
        assert_eq!(bridged["structuredContent"]["success"], false, "{uri}");
        assert!(!text.contains("root:"), "{text}");
        client.call("discover_resources", json!({ "query": uri })).await;
    }
    assert_eq!(canary.calls.load(Ordering::SeqCst), 0);
}

/// Trove in a network of its own, in which every address is this machine.
async fn alone(config: &str) -> Trove {
    let network = "ip link set lo up && ip route add default dev lo && exec \"$@\"";
    let before: [&OsStr; 6] = [
        "unshare".as_ref(),
        "--map-root-user".as_ref(),
        "--net".as_ref(),
        "sh".as_ref(),
        "-c".as_ref(),
        network.as_ref(),
    ];
    Trove::start_behind(&Folder::with(config), &before, "sh".as_ref(), &["serve", "--stdio"]).await
}

/// How many connections were begun and how many datagrams sent in the network of Trove.
fn sent(trove: &Trove) -> u64 {
    let path = format!("/proc/{}/net/snmp", trove.pid().as_raw_nonzero());
    let text = std::fs::read_to_string(path).expect("the network counts");
    let figure = |protocol: &str, name: &str| -> u64 {
        let mut lines = text.lines().filter(|line| line.starts_with(protocol));
        let names = lines.next().expect("names").split(' ').position(|word| word == name);
        let at = names.expect("it is counted");
        lines.next().and_then(|line| line.split(' ').nth(at)?.parse().ok()).expect("a number")
    };
    figure("Tcp:", "ActiveOpens") + figure("Udp:", "OutDatagrams")
}

#[tokio::test]
async fn t25_nothing_leaves_but_to_configured_servers() {
    let trove = alone(&config(&[toy("one", "--bare --resources 2")])).await;
    let client = trove.client(Kind::STDIO_MODERN).await;
    until("the toy to be listed", async || {
        client.uris().await.contains(&"toy://item/1".to_owned())
    })
    .await;
    for uri in [
        "http://127.0.0.1:80/x",
        "http://localhost/x",
        "http://example.com/x",
        "https://example.com/x",
        "http://169.254.169.254/latest/meta-data/",
        "http://2130706433/",
        "http://[::1]/",
        "ftp://10.1.2.3/x",
        "file:///etc/passwd",
    ] {
        client.read(uri).await.expect_err("nobody serves it");
        let bridged = client.call("get_resource", json!({ "uri": uri })).await;
        assert_eq!(bridged["structuredContent"]["success"], false, "{uri}");
    }
    client.text("toy://item/1").await;
    assert_eq!(sent(&trove), 0, "nobody was called, and no name was looked up");
    // A configured address is called, and that is counted.
    let far = alone("[servers.far]\nurl = \"http://169.254.169.254/mcp\"").await;
    until("the configured one to be called", async || sent(&far) > 0).await;
}

#[tokio::test]
async fn t25_a_redirect_of_a_server_is_not_followed() {
    let canary = Canary::set().await;
    let away = Remote::http("away", &format!("--fault redirect={}", canary.port)).await;
    let trove = Trove::with(&[away.toy()]).await;
    let error = trove.any_client().await.read("toy://pid").await.expect_err("it sends us away");
    assert!(error["message"].to_string().contains("307"), "{error}");
    assert_eq!(canary.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn t27_what_a_client_proves_itself_with_goes_to_no_server() {
    let remote = Remote::http("far", "").await;
    let folder =
        Folder::with(&config(&[remote.toy().set("headers = { X-Own = \"for-far-only\" }")]));
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let token = std::fs::read_to_string(folder.home().join("token")).expect("there is a token");
    let read = json!({
        "jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": { "uri": "far+toy://headers", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    });
    let request = reqwest::Client::new().post(&trove.url).bearer_auth(token.trim());
    let request = request
        .header("Content-Type", "application/json")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "resources/read")
        .header("Mcp-Name", "far+toy://headers")
        .header("Cookie", "session=canary-cookie")
        .header("X-Forwarded-For", "10.9.8.7");
    let answer = request.body(read.to_string()).send().await.expect("trove answers");
    let text = answer.text().await.expect("a body");
    assert!(text.contains("for-far-only"), "{text}");
    for secret in [token.trim(), "authorization", "canary-cookie", "10.9.8.7"] {
        assert!(!text.to_lowercase().contains(secret), "{secret} in {text}");
    }
}

#[tokio::test]
async fn t30_no_shell_ever_sees_a_command() {
    let folder = Folder::empty();
    let canary = folder.path().join("canary");
    let name = format!("$(touch {0});`touch {0}`;touch {0}|&", canary.display());
    let one = toy("one", "").with_args(&["--name", &name]);
    folder.write(&config(&[one]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    // The argument arrived as it stands in the file.
    assert!(trove.any_client().await.text("toy://pid").await.starts_with(&name));
    assert!(!canary.exists());
}

#[tokio::test]
async fn t32_no_secret_shows_anywhere() {
    let remote = Remote::http("far", "").await;
    let far = remote.toy().set("headers = { Authorization = \"Bearer ${env:CANARY_HEADER}\" }");
    let near = whole("near", "--scheme near").set("env = { KEY = \"${env:CANARY_ENV}\" }");
    let away =
        toy("away", "").with_url("http://user:canary-userinfo@127.0.0.1:9/mcp?key=canary-query");
    let asked = toy("asked", "--fault crash:init").with_args(&["--token", "canary-argument"]);
    let variables = [("CANARY_HEADER", "canary-header"), ("CANARY_ENV", "canary-env")];
    let folder = Folder::with_variables(&config(&[far, near, away, asked]), &variables);
    let canaries =
        ["canary-header", "canary-env", "canary-userinfo", "canary-query", "canary-argument"];
    let doors = ["--log", "trace", "serve", "--stdio", "--http", "127.0.0.1:0", "--no-auth"];
    let trove = Trove::start_with(&folder, &doors).await;
    trove.ready(&["far", "near"]).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    let mut shown = String::new();
    for uri in client.uris().await {
        // Toys tell their own environment and headers to every caller.
        if !uri.ends_with("://headers") {
            shown.push_str(&format!("{:?}", client.read(&uri).await));
        }
    }
    for tool in ["health_check", "get_resource", "discover_resources"] {
        shown.push_str(&client.call(tool, json!({})).await.to_string());
    }
    shown.push_str(&format!("{:?}", client.read("away+toy://pid").await));
    let metrics = reqwest::get(trove.url.replace("/mcp", "/metrics")).await.expect("a page");
    shown.push_str(&metrics.text().await.expect("a body"));
    for command in
        [&["status"][..], &["ls"], &["doctor"], &["config", "show"], &["config", "check"]]
    {
        shown.push_str(&format!("{:?}", folder.run(command).await));
    }
    for line in trove.log.since(0) {
        shown.push_str(&line.text);
    }
    for file in walk(&folder.home()) {
        shown.push_str(&String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()));
    }
    for canary in canaries {
        let at = shown.find(canary);
        assert!(at.is_none(), "{canary} in …{}…", around(&shown, at.unwrap_or(0)));
    }
}

fn around(text: &str, at: usize) -> String {
    text.chars().skip(text[..at].chars().count().saturating_sub(200)).take(300).collect()
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(walk(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}
