//! Plants secrets wherever one can be, and then seeks them in everything Trove says. That is
//! answers, errors, logs at every level, figures, commands, and the files of its state.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use axum::{Router, extract::Request, http::StatusCode, response::IntoResponse as _};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::kit::client::Kind;
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, LIMIT, Trove, until, within};

/// The beginning of every secret here.
const CANARY: &str = "canary-";

const VARIABLES: [(&str, &str); 2] =
    [("CANARY_ENV", "canary-from-env"), ("CANARY_HEADER", "canary-from-header")];

const DOOR_TOKEN: &str = "canary-door-token";

/// A server that quotes everything it was sent, as an error.
async fn gossip() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let router = Router::new().fallback(async |request: Request| {
        let path = request.uri().path().to_owned();
        let quoted = format!("{} {:?}", request.uri(), request.headers());
        let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap_or_default();
        let quoted = format!("{quoted} {}", String::from_utf8_lossy(&body)).replace('"', "'");
        match path.as_str() {
            "/rpc" => {
                let id = serde_json::from_slice::<Value>(&body).map(|b| b["id"].clone());
                let error =
                    json!({ "code": -32000, "message": quoted, "data": { "said": quoted } });
                let answer =
                    json!({ "jsonrpc": "2.0", "id": id.unwrap_or_default(), "error": error });
                ([("content-type", "application/json")], answer.to_string()).into_response()
            }
            "/granted" => (StatusCode::UNAUTHORIZED, quoted).into_response(),
            "/token" => {
                (StatusCode::BAD_REQUEST, json!({ "error": quoted }).to_string()).into_response()
            }
            _ => (StatusCode::INTERNAL_SERVER_ERROR, quoted).into_response(),
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// A folder full of secrets.
async fn planted() -> Arc<Folder> {
    let gossip = gossip().await;
    let healthy = config(&[toy("fine", "--resources 2").set(
        "env = { API_TOKEN = \"${env:CANARY_ENV}\", OTHER_SECRET = \"canary-literal-env\" }",
    )]);
    let folder = Folder::with(&format!(
        r#"
{healthy}
[servers.gone]
command = "/nonexistent/program"
args = ["--api-key=canary-arg", "${{env:CANARY_ENV}}"]
env = {{ API_TOKEN = "canary-literal-env" }}

[servers.crash]
command = "sh"
args = ["-c", "echo my token is $API_TOKEN and $PLAIN >&2; exit 1"]
env = {{ API_TOKEN = "canary-literal-env", PLAIN = "${{env:CANARY_ENV}}" }}

[servers.quotes]
url = "http://ann:canary-password@{gossip}/mcp?key=canary-query"
headers = {{ Authorization = "Bearer ${{env:CANARY_HEADER}}", X-Api-Key = "canary-literal-header" }}

[servers.errs]
url = "http://{gossip}/rpc?key=canary-query"
headers = {{ Authorization = "Bearer ${{env:CANARY_HEADER}}", Cookie = "session=canary-cookie" }}

[servers.old]
url = "http://{gossip}/sse?key=canary-query"
transport = "sse"
headers = {{ X-Api-Key = "canary-literal-header" }}

[servers.granted]
url = "http://{gossip}/granted"
oauth = {{ client_id = "trove", client_secret = "canary-literal-secret" }}
"#
    ));
    let grants = json!({ "grants": [{
        "server": "granted", "resource": format!("http://{gossip}/granted"),
        "issuer": format!("http://{gossip}"), "token_endpoint": format!("http://{gossip}/token"),
        "client_id": "trove", "client_secret": "canary-client-secret",
        "access_token": "canary-access-token", "refresh_token": "canary-refresh-token",
    }] });
    folder.put("home/credentials.json", &grants.to_string());
    folder.put("home/token", DOOR_TOKEN);
    folder
}

fn command(folder: &Folder) -> tokio::process::Command {
    let mut command = folder.command();
    command.envs(VARIABLES);
    command
}

#[track_caller]
fn clean(what: &str, text: &str) {
    if let Some(at) = text.find(CANARY) {
        let from = text[..at].char_indices().rev().nth(200).map_or(0, |(at, _)| at);
        let to = text[at..].char_indices().nth(60).map_or(text.len(), |(more, _)| at + more);
        panic!("a secret in {what}: …{}…", &text[from..to]);
    }
}

#[tokio::test]
async fn t32_no_command_tells_a_secret() {
    let folder = planted().await;
    let commands: &[&[&str]] = &[
        &["status"],
        &["status", "--json"],
        &["ls"],
        &["ls", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["config", "show"],
        &["config", "show", "--json"],
        &["config", "check"],
        &["config", "check", "--json"],
        &["approve"],
        &["approve", "--json"],
        &["list"],
        &["list", "--json"],
        &["logs", "crash"],
        &["logs", "quotes"],
        &["tools"],
        &["auth", "status"],
        &["auth", "status", "--json"],
        &["summary", "--json"],
        &["find", "token", "--json"],
        &["search", "token", "--json"],
        &["read", "info://health"],
        &["read", "config://security"],
        &["read", "config://server"],
        &["read", "quotes+x://y"],
        &["read", "errs+x://y", "--json"],
        &["read", "granted+x://y"],
        &["read", "gone+x://y", "--json"],
        &["flag", "list"],
        &["install"],
        &["import", "--json"],
    ];
    for args in commands {
        for level in ["warn", "trace"] {
            let mut command = command(&folder);
            command.args(*args).args(["--log", level]).stdin(Stdio::null());
            let output = within(LIMIT, "the command to end", command.output()).await;
            let output = output.expect("trove ends");
            clean(&format!("stdout of {args:?}"), &String::from_utf8_lossy(&output.stdout));
            clean(
                &format!("the log of {args:?} at {level}"),
                &String::from_utf8_lossy(&output.stderr),
            );
        }
    }
}

#[tokio::test]
async fn t32_no_answer_log_figure_or_file_tells_a_secret() {
    let folder = planted().await;
    let args = ["serve", "--stdio", "--http", "127.0.0.1:0", "--log", "trace"];
    let trove = Trove::start_as(&folder, &args, &VARIABLES).await;
    let http = Client::new();
    let token = DOOR_TOKEN;
    until("all to have been tried", async || {
        let answer =
            http.get(trove.url.replace("/mcp", "/metrics")).bearer_auth(token).send().await;
        answer.expect("trove answers").text().await.is_ok_and(|t| t.contains("source=\"granted\""))
    })
    .await;

    for (what, text) in heard(&trove).await {
        clean(&what, &text);
    }
    knock(&trove).await;
    // Until the audit has been written.
    let audit = folder.home().join("audit.jsonl");
    until("the audit to be written", async || {
        std::fs::read_to_string(&audit).is_ok_and(|text| text.contains("granted+x://y"))
    })
    .await;
    for line in trove.log.since(0) {
        clean("the log", &line.text);
    }
    files(&folder.home());
}

/// Everything a client can hear of servers that fail and of Trove itself.
async fn heard(trove: &Trove) -> Vec<(String, String)> {
    let client = trove.client(Kind::STDIO_LEGACY).await;
    let mut heard = Vec::new();
    for uri in [
        "info://health",
        "info://capabilities",
        "info://collisions",
        "config://server",
        "config://security",
        "auth://status",
        "info://tools/get_resource",
    ] {
        heard.push((uri.to_owned(), client.text(uri).await));
    }
    for id in ["gone", "crash", "quotes", "errs", "old", "granted"] {
        let uri = format!("{id}+x://y");
        let answer = client.ask("resources/read", json!({ "uri": uri })).await;
        heard.push((uri.clone(), format!("{answer:?}")));
        let call = json!({ "name": "get_resource", "arguments": { "uri": uri } });
        let answer = client.ask("tools/call", call).await;
        heard.push((format!("get_resource {uri}"), format!("{answer:?}")));
    }
    for (tool, arguments) in [
        ("health_check", json!({})),
        ("get_resource", json!({})),
        ("discover_resources", json!({ "query": "canary-asked" })),
        ("search_resources", json!({ "searchTerms": ["canary-asked"] })),
        ("resource_summary", json!({})),
    ] {
        let call = json!({ "name": tool, "arguments": arguments });
        let answer = format!("{:?}", client.ask("tools/call", call).await);
        // The caller may read the question in the answer.
        heard.push((tool.to_owned(), answer.replace("canary-asked", "")));
    }
    heard
}

/// The door itself: right, wrong and misplaced tokens.
async fn knock(trove: &Trove) {
    let (http, token) = (Client::new(), DOOR_TOKEN);
    let metrics = trove.url.replace("/mcp", "/metrics");
    for request in [
        http.get(&metrics).bearer_auth(token),
        http.get(&metrics).bearer_auth("canary-wrong-token"),
        http.get(format!("{metrics}?access_token=canary-in-url")),
        http.post(&trove.url).bearer_auth("canary-wrong-token").body("canary-body"),
        http.get(trove.url.replace("/mcp", "/.well-known/oauth-protected-resource")),
        http.get(trove.url.replace("/mcp", "/healthz")),
    ] {
        let answer = request.send().await.expect("trove answers");
        let headers = format!("{:?}", answer.headers());
        clean(
            "an answer of the door",
            &format!("{headers} {}", answer.text().await.unwrap_or_default()),
        );
    }
}

/// Every file of the state but the two that are there to hold secrets.
fn files(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path);
        } else if !["token", "credentials.json"].iter().any(|name| path.ends_with(name)) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            clean(&path.display().to_string(), &String::from_utf8_lossy(&bytes));
        }
    }
}

/// Every form of a secret that a shell can print.
const ENCODINGS: &str = "for way in 'base64 -w0' 'base64 -w8' 'od -An -v -tx1' ; do \
    printf 'user:%s' \"$API_TOKEN\" | $way | tr -d ' \\n' >&2; echo >&2; \
    printf '%s' \"$2\" | $way | tr -d ' \\n' >&2; echo >&2; done; \
    printf '%s' \"$API_TOKEN\" | od -An -v -tx1 | tr -d '\\n' | tr ' ' % >&2; echo >&2; exit 1";

#[tokio::test]
async fn t62_no_encoded_secret_is_told_of_arguments_environment_or_names() {
    let (token, argument) = ("canary-0f31-token", "canary-77aa-argument");
    let encoded = STANDARD.encode(format!("me:{token}"));
    let name = format!("I am {token} or {encoded} or {argument}");
    let named = toy("named", "--resources 1")
        .with_args(&["--name", &name])
        .set(&format!("env = {{ API_TOKEN = \"{token}\" , OTHER_TOKEN = \"{argument}\" }}"));
    let script = serde_json::to_string(ENCODINGS).expect("a text");
    let folder = Folder::with(&format!(
        "{}\n[servers.crash]\ncommand = \"sh\"\nargs = [\"-c\", {script}, \"x\", \"--token\", \"{argument}\"]\nenv = {{ API_TOKEN = \"{token}\" }}\n",
        config(&[named])
    ));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["named"]).await;
    trove.source("crash", |source| !source["last_error"].is_null()).await;
    let health = trove.health().await.to_string();
    let status = folder.run(&["status"]).await;
    let logs = folder.run(&["logs", "crash"]).await;
    let doctor = folder.run(&["doctor", "--json"]).await;
    let log: String = trove.log.since(0).iter().map(|heard| heard.text.clone() + "\n").collect();
    assert!(health.contains("I am *** or bWU***= or ***"), "{health}");
    assert!(logs.text().contains("***"), "{logs:?}");
    for (what, text) in [
        ("health", health.as_str()),
        ("status", status.text()),
        ("logs", logs.text()),
        ("doctor", doctor.text()),
        ("the log", &log),
    ] {
        clean(what, text);
        // The middle of what every alignment of Base64 makes of `canary`, and its digits.
        for piece in ["Y2FuYXJ5", "NhbmFyeS", "jYW5hcn", "63616e617279", "63%61%6e", "63 61 6e"] {
            assert!(!text.contains(piece), "{piece} in {what}: {text}");
        }
    }
}
