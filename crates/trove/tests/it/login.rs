//! Servers that ask for a token: login in a browser, tokens kept and renewed.
//!
//! The server that asks is another Trove. A real authorization server grants the tokens.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use trove_testkit::authority::Authority;

use crate::kit::{Folder, LIMIT, Trove, until, within};

/// An authority, a server that takes its tokens, and a folder of somebody who uses it.
struct World {
    authority: Authority,
    server: Trove,
    folder: Arc<Folder>,
}

impl World {
    async fn start(more: &str) -> World {
        let authority = Authority::start().await.expect("an authority can be started");
        let issuer = authority.issuer();
        let theirs = Folder::with(&format!(
            "http.auth = \"oauth\"\nauth.issuer = \"{issuer}\"\nauth.required_scopes = [\"docs:read\"]\nauth.leeway_seconds = 0"
        ));
        theirs.put("guide/notes/hello.md", "# Hello\nfrom the other side\n");
        let server = Trove::start_with(&theirs, &["serve", "--http", "127.0.0.1:0"]).await;
        let folder = Folder::with(&format!("[servers.far]\nurl = \"{}\"\n{more}\n", server.url));
        World { authority, server, folder }
    }

    /// Logs in as a person does: opens the address that is printed.
    async fn login(&self) -> (Option<i32>, String) {
        self.login_by(async |address| {
            let page = reqwest::get(&address).await.expect("the browser is sent back");
            assert_eq!(page.status(), 200);
        })
        .await
    }

    /// Logs in with a browser that does something of its own with the address.
    async fn login_by(&self, browse: impl AsyncFn(String)) -> (Option<i32>, String) {
        self.login_with(&[], browse).await
    }

    /// Logs in with more words on the command line.
    async fn login_with(
        &self,
        more: &[&str],
        browse: impl AsyncFn(String),
    ) -> (Option<i32>, String) {
        let mut command = self.folder.command();
        command
            .args(["auth", "login", "far"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("trove can be started");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
        let mut said = String::new();
        while let Some(line) = within(LIMIT, "a line", lines.next_line()).await.expect("text") {
            let told: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(address) =
                told["open"].as_str().or(line.starts_with("http").then_some(&*line))
            {
                browse(address.to_owned()).await;
            }
            said.push_str(&line);
            said.push('\n');
        }
        let output = within(LIMIT, "the login to end", child.wait_with_output()).await;
        let output = output.expect("trove ends");
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        (output.status.code(), said)
    }

    /// The credentials as they lie in the file.
    fn kept(&self) -> Value {
        let file = self.folder.home().join("credentials.json");
        let text = std::fs::read(file).expect("there are credentials");
        serde_json::from_slice(&text).expect("credentials are JSON")
    }
}

#[tokio::test]
async fn a_server_that_asks_is_logged_in_to_and_read() {
    let world = World::start("").await;
    let trove = Trove::start_in(&world.folder).await;
    let refused = trove.source("far", |far| far["last_error"].is_string()).await;
    let said = refused["last_error"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains("run `trove auth login far"), "{said}");

    let (code, said) = world.login().await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(world.authority.registrations(), 1);
    let file = world.folder.home().join("credentials.json");
    let mode = std::fs::metadata(&file).expect("there are credentials").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = world.kept();
    assert_eq!(kept["grants"][0]["issuer"], world.authority.issuer());
    assert_eq!(kept["grants"][0]["scope"], "docs:read");

    // The running one takes the login over by itself.
    trove.source("far", crate::kit::is_ready).await;
    let text = trove.any_client().await.text("far+auth://status").await;
    let standing: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(standing["principal"], "ann");

    let status = world.folder.run(&["auth", "status", "--json"]).await;
    let row = &status.json()["servers"][0];
    assert_eq!((&row["server"], &row["logged_in"]), (&json!("far"), &json!(true)));
    let printed = format!("{}{}{said}", status.text(), status.stderr);
    for secret in ["access_token", "refresh_token"] {
        let secret = kept["grants"][0][secret].as_str().expect("a token");
        assert!(!printed.contains(secret), "a token is printed");
    }

    let out = world.folder.run(&["auth", "logout", "far"]).await;
    assert_eq!((out.code, out.text()), (Some(0), "Logged out\n"));
    assert_eq!(world.kept()["grants"], json!([]));
    let again = world.folder.run(&["auth", "logout", "far"]).await;
    assert_eq!(again.text(), "There was nothing to forget\n");
}

#[tokio::test]
async fn a_script_is_told_the_address_and_then_who_granted_what() {
    let world = World::start("").await;
    let browse = async |address: String| {
        let page = reqwest::get(&address).await.expect("the browser is sent back");
        assert_eq!(page.status(), 200);
    };
    let (code, said) = world.login_with(&["--json"], browse).await;
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<Value> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [first, last] = &lines[..] else { panic!("two objects: {said}") };
    assert_eq!(first["server"], "far");
    assert_eq!((&last["success"], &last["logged_in"]), (&json!(true), &json!(true)));
    assert_eq!(last["issuer"], world.authority.issuer());
    let token = world.kept()["grants"][0]["access_token"].clone();
    assert!(!said.contains(token.as_str().expect("a token")), "a token is printed");
    let out = world.folder.run(&["auth", "logout", "far", "--json"]).await.json();
    assert_eq!(out, json!({ "success": true, "server": "far", "was_logged_in": true }));
}

#[tokio::test]
async fn a_token_that_ends_is_renewed_once_for_all_who_wait() {
    let world = World::start("").await;
    // Shorter than the time before its end at which a token is renewed.
    world.authority.set_lifetime(20);
    let (code, said) = world.login().await;
    assert_eq!(code, Some(0), "{said}");
    world.authority.set_lifetime(3600);
    let before = world.kept()["grants"][0]["refresh_token"].clone();
    let trove = Trove::start_in(&world.folder).await;
    trove.source("far", crate::kit::is_ready).await;
    let client = trove.any_client().await;
    let reads = (0..10).map(|_| client.text("far+config://server"));
    futures_util::future::join_all(reads).await;
    assert_eq!(world.authority.refreshes(), 1);
    until("the new token to be kept", async || {
        world.kept()["grants"][0]["refresh_token"] != before
    })
    .await;
}

#[tokio::test]
async fn a_login_that_was_taken_back_says_what_to_do() {
    let world = World::start("").await;
    let (code, said) = world.login().await;
    assert_eq!(code, Some(0), "{said}");
    world.authority.revoke_all();
    world.authority.rotate().expect("new keys");
    let ran = world.folder.run(&["read", "far+config://server"]).await;
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("run `trove auth login far"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_client_that_is_known_already_does_not_introduce_itself() {
    let world = World::start("oauth = { client_id = \"configured\" }").await;
    world.authority.set_registers(false);
    let (code, said) = world.login().await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(world.authority.registrations(), 0);
    let ran = world.folder.run(&["read", "far+auth://status"]).await;
    assert!(ran.text().contains("\"ann\""), "{ran:?}");
}

#[tokio::test]
async fn t26_an_issuer_that_takes_nobody_is_said_to() {
    let world = World::start("").await;
    world.authority.set_registers(false);
    let (code, said) = world.login().await;
    assert_eq!(code, Some(4));
    assert!(said.contains("client_id"), "{said}");
}

#[tokio::test]
async fn t26_an_answer_of_another_issuer_or_another_login_is_not_taken() {
    let world = World::start("").await;
    let other = Authority::start().await.expect("another authority can be started");
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let browser = browser.build().expect("a browser");
    let (code, said) = world
        .login_by(async |address| {
            let granted = browser.get(&address).send().await.expect("the issuer answers");
            let back = granted.headers()["location"].to_str().expect("an address").to_owned();
            let back = reqwest::Url::parse(&back).expect("an address");
            let with = |name: &str, value: Option<&str>| {
                let mut changed = back.clone();
                let rest = back.query_pairs().filter(|(key, _)| key != name);
                changed.query_pairs_mut().clear().extend_pairs(rest);
                if let Some(value) = value {
                    changed.query_pairs_mut().append_pair(name, value);
                }
                changed
            };
            for wrong in [
                with("iss", Some(other.issuer())),
                with("iss", None),
                with("state", Some("guessed")),
                with("state", None),
                with("code", None),
            ] {
                let page = browser.get(wrong.clone()).send().await.expect("trove answers");
                assert_eq!(page.status(), 400, "{wrong}");
            }
            let page = browser.get(back).send().await.expect("trove answers");
            assert_eq!(page.status(), 200, "the true one is taken after all of them");
        })
        .await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(world.kept()["grants"][0]["issuer"], world.authority.issuer());
}

#[tokio::test]
async fn t26_a_redirect_in_the_middle_of_a_login_is_not_followed() {
    let world = World::start("").await;
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = elsewhere.local_addr().expect("it is bound");
    world.authority.set_moved(&format!("http://{address}/token"));
    let (code, said) = world.login().await;
    assert_ne!(code, Some(0), "{said}");
    assert!(!world.folder.home().join("credentials.json").exists(), "nothing is kept");
    let called = tokio::time::timeout(std::time::Duration::from_millis(200), elsewhere.accept());
    assert!(called.await.is_err(), "neither code nor verifier went anywhere else");
}

#[tokio::test]
async fn a_header_of_the_configuration_goes_before_any_login() {
    let world = World::start("headers = { Authorization = \"Bearer ${env:FAR_TOKEN}\" }").await;
    let mut claims = world.authority.claims("bob", &world.server.url);
    claims["scope"] = json!("docs:read");
    let read = async |token: String| {
        let mut command = world.folder.command();
        command.args(["read", "far+auth://status"]).env("FAR_TOKEN", token);
        within(LIMIT, "the command to end", command.output()).await.expect("trove ends")
    };
    let good = read(world.authority.sign(&claims)).await;
    let said = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(said.contains("\"bob\""), "{said} {}", String::from_utf8_lossy(&good.stderr));
    let bad = read("not-a-token-of-anybody".to_owned()).await;
    let said = String::from_utf8_lossy(&bad.stderr).into_owned();
    assert!(said.contains("`Authorization` header of [servers.far]"), "{said}");
    assert!(!said.contains("not-a-token-of-anybody"), "{said}");
}

#[tokio::test]
async fn only_servers_behind_a_url_are_logged_in_to() {
    let folder = Folder::with("[servers.here]\ncommand = \"true\"\n");
    for (server, why) in [("here", "needs no login"), ("gone", "no server")] {
        let ran = folder.run(&["auth", "login", server]).await;
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        let ran = folder.run(&["auth", "login", server, "--json"]).await;
        assert_eq!(ran.json()["error"], "InvalidArguments", "{ran:?}");
    }
}

#[tokio::test]
async fn the_command_to_log_in_is_in_the_answer_also_where_causes_are_masked() {
    let world = World::start("[tools]\nmask_error_details = true").await;
    let trove = Trove::start_in(&world.folder).await;
    trove.source("far", |far| far["remedy"].is_string()).await;
    let client = trove.client(crate::kit::client::Kind::HTTP_MODERN).await;
    let answer = client.call("get_resource", json!({ "uri": "far+config://server" })).await;
    let failure = &answer["structuredContent"];
    assert_eq!(failure["error"], "Unauthorized", "{failure}");
    let file = world.folder.config().display().to_string();
    assert_eq!(
        crate::remedies::command_in(failure),
        ["auth", "login", "far", "--config", file.as_str()],
        "{failure}"
    );
    let browse = async |address: String| {
        reqwest::get(&address).await.expect("the browser is sent back");
    };
    let (code, said) = world.login_with(&["--config", &file], browse).await;
    assert_eq!(code, Some(0), "{said}");
    trove.source("far", crate::kit::is_ready).await;
}
