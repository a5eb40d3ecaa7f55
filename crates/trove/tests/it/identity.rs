//! The identity of HTTP clients, by the tokens of a real authorization server.

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use trove_testkit::authority::{Authority, forge::How};

use crate::kit::client::MODERN;
use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove};

/// Trove that takes the tokens of an authority.
struct Guarded {
    authority: Authority,
    trove: Trove,
}

impl Guarded {
    async fn start(auth: &str, more: &str) -> Guarded {
        let authority = Authority::start().await.expect("an authority can be started");
        let folder = Folder::with(&settings(&authority, auth, more));
        let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
        Guarded { authority, trove }
    }

    fn claims(&self) -> Value {
        self.authority.claims("ann", &self.trove.url)
    }

    fn with_scope(&self, subject: &str, scope: &str) -> String {
        let mut claims = self.authority.claims(subject, &self.trove.url);
        claims["scope"] = json!(scope);
        self.authority.sign(&claims)
    }

    /// A modern request with this token.
    fn asking(&self, token: &str, method: &str, params: Value) -> RequestBuilder {
        asking(&self.trove.url, token, method, params)
    }

    async fn list(&self, token: &str) -> Response {
        let sent = self.asking(token, "resources/list", json!({})).send().await;
        sent.expect("trove answers")
    }

    async fn read(&self, token: &str, uri: &str) -> Value {
        let request = self.asking(token, "resources/read", json!({ "uri": uri }));
        let answer = request.header("Mcp-Name", uri).send().await.expect("trove answers");
        answer.json().await.expect("the answer is JSON")
    }

    /// A resource of ours as the holder of this token reads it.
    async fn document(&self, token: &str, uri: &str) -> Value {
        let answer = self.read(token, uri).await;
        let text = answer["result"]["contents"][0]["text"].as_str();
        serde_json::from_str(text.unwrap_or_else(|| panic!("no text: {answer}"))).expect("JSON")
    }
}

fn settings(authority: &Authority, auth: &str, more: &str) -> String {
    let issuer = authority.issuer();
    format!("http.auth = \"{auth}\"\nauth.issuer = \"{issuer}\"\n{more}\n")
}

fn asking(url: &str, token: &str, method: &str, mut params: Value) -> RequestBuilder {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let post = Client::new().post(url).header("Content-Type", "application/json");
    let post = post.header("MCP-Protocol-Version", MODERN).header("Mcp-Method", method);
    let post = if token.is_empty() { post } else { post.bearer_auth(token) };
    post.body(body.to_string())
}

fn challenge(answer: &Response) -> String {
    let header = answer.headers().get("www-authenticate").expect("a challenge");
    header.to_str().expect("plain text").to_owned()
}

#[tokio::test]
async fn t21_tokens_of_the_issuer_are_taken_and_every_bad_kind_is_refused() {
    let it = Guarded::start("jwt", "").await;
    let good = it.claims();
    for how in [How::Right, How::RightRsa, How::NoKeyId] {
        let status = it.list(&it.authority.forge(how, &good)).await.status();
        assert_eq!(status, 200, "{how:?}");
    }
    for how in [
        How::NoAlgorithm,
        How::NoAlgorithmSpelt,
        How::PublicKeyAsSecret,
        How::Stranger,
        How::StrangerWithKey,
        How::CrossedKeys,
        How::Changed,
        How::CutOff,
        How::UnknownKey(1),
        How::Critical,
        How::OtherType,
    ] {
        let answer = it.list(&it.authority.forge(how, &good)).await;
        assert_eq!(answer.status(), 401, "{how:?}");
        assert!(challenge(&answer).starts_with("Bearer error=\"invalid_token\""), "{how:?}");
    }
    assert_eq!(it.list("nonsense").await.status(), 401);
    assert_eq!(it.list(&"a".repeat(17 * 1024)).await.status(), 401);
}

#[tokio::test]
async fn t21_claims_that_are_not_for_us_or_not_for_now_are_refused() {
    let it = Guarded::start("jwt", "auth.leeway_seconds = 120").await;
    let now = it.claims()["iat"].as_u64().expect("a time");
    let refused = [
        ("aud", json!("https://other.example/mcp"), "audience"),
        ("aud", json!(["https://other.example"]), "audience"),
        ("aud", Value::Null, "lacks a claim"),
        ("iss", json!("https://other.example"), "issuer"),
        ("iss", json!([it.authority.issuer(), "https://other.example"]), "issuer"),
        ("exp", json!(now - 600), "expired"),
        ("exp", json!("never"), "claim"),
        ("exp", Value::Null, "lacks a claim"),
        ("nbf", json!(now + 600), "not valid yet"),
        ("sub", Value::Null, "lacks a claim"),
        ("sub", json!(""), "subject"),
        ("sub", json!("ann\nbob"), "subject"),
    ];
    for (claim, value, why) in refused {
        let mut claims = it.claims();
        claims[claim] = value.clone();
        let answer = it.list(&it.authority.sign(&claims)).await;
        assert_eq!(answer.status(), 401, "{claim} {value}");
        let said = challenge(&answer);
        assert!(said.contains(why), "{claim} {value}: {said}");
    }
    let mut several = it.claims();
    several["aud"] = json!(["https://other.example", it.trove.url]);
    assert_eq!(it.list(&it.authority.sign(&several)).await.status(), 200);
    let mut late = it.claims();
    late["exp"] = json!(now - 1);
    assert_eq!(it.list(&it.authority.sign(&late)).await.status(), 200, "within the leeway");
}

#[tokio::test]
async fn a_new_key_is_found_at_once_and_invented_ones_do_not_make_us_ask_again_and_again() {
    let it = Guarded::start("jwt", "").await;
    let old = it.authority.sign(&it.claims());
    assert_eq!(it.list(&old).await.status(), 200);
    assert_eq!(it.list(&old).await.status(), 200);
    assert_eq!(it.authority.key_fetches(), 1, "keys are kept");

    it.authority.rotate().expect("new keys");
    assert_eq!(it.list(&it.authority.sign(&it.claims())).await.status(), 200);
    assert_eq!(it.list(&old).await.status(), 401, "what was made with the old key is over");
    let fetches = it.authority.key_fetches();
    for n in 0..20 {
        let invented = it.authority.forge(How::UnknownKey(n), &it.claims());
        assert_eq!(it.list(&invented).await.status(), 401);
    }
    assert!(it.authority.key_fetches() <= fetches + 1, "{}", it.authority.key_fetches());
}

#[tokio::test]
async fn an_issuer_that_is_away_is_said_to_be_and_known_keys_go_on() {
    let it = Guarded::start("jwt", "").await;
    it.authority.set_down(true);
    let token = it.authority.sign(&it.claims());
    assert_eq!(it.list(&token).await.status(), 503);
    it.authority.set_down(false);
    crate::kit::until("the keys to be fetched", async || it.list(&token).await.status() == 200)
        .await;
    it.authority.set_down(true);
    assert_eq!(it.list(&token).await.status(), 200);
}

#[tokio::test]
async fn oauth_tells_a_client_where_to_get_a_token_and_which_scope_it_needs() {
    let more = "auth.required_scopes = [\"docs:read\"]\nauth.scope_roles = { \"docs:admin\" = [\"admin\"] }";
    let it = Guarded::start("oauth", more).await;
    let place = it.trove.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    let root = it.trove.url.replace("/mcp", "/.well-known/oauth-protected-resource");

    let without = it.list("").await;
    assert_eq!(without.status(), 401);
    let expected = format!("Bearer resource_metadata=\"{place}\", scope=\"docs:read\"");
    assert_eq!(challenge(&without), expected);

    for url in [&place, &root] {
        let answer = Client::new().get(url).send().await.expect("trove answers");
        assert_eq!(answer.status(), 200);
        let document: Value = answer.json().await.expect("metadata is JSON");
        assert_eq!(document["resource"], it.trove.url.as_str());
        assert_eq!(document["authorization_servers"], json!([it.authority.issuer()]));
        assert_eq!(document["scopes_supported"], json!(["docs:admin", "docs:read"]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
        let foreign = Client::new().get(url).header("Host", "evil.test").send().await;
        assert_eq!(foreign.expect("trove answers").status(), 403);
    }

    let narrow = it.list(&it.with_scope("ann", "other")).await;
    assert_eq!(narrow.status(), 403);
    let said = challenge(&narrow);
    assert!(said.starts_with("Bearer error=\"insufficient_scope\""), "{said}");
    assert!(said.contains("scope=\"docs:read\"") && said.contains(&place), "{said}");
    assert_eq!(it.list(&it.with_scope("ann", "docs:read other")).await.status(), 200);

    let in_query = format!("{}?access_token={}", it.trove.url, it.with_scope("ann", "docs:read"));
    let answer = asking(&in_query, "", "resources/list", json!({})).send().await;
    assert_eq!(answer.expect("trove answers").status(), 401, "a token in a URL is none");
}

#[tokio::test]
async fn without_oauth_there_is_no_metadata() {
    for auth in ["token", "jwt"] {
        let it = Guarded::start(auth, "").await;
        let place = it.trove.url.replace("/mcp", "/.well-known/oauth-protected-resource");
        let answer = Client::new().get(place).send().await.expect("trove answers");
        assert_eq!(answer.status(), 404, "{auth}");
    }
}

#[tokio::test]
async fn scopes_and_claims_become_roles_and_policy_goes_by_them() {
    let authority = Authority::start().await.expect("an authority can be started");
    let more = "auth.scope_roles = { \"docs:admin\" = [\"admin\"] }\nauth.roles_claim = \"realm.roles\"\n\
                [[policy]]\nmatch = \"toy://pid\"\nroles = [\"admin\", \"ops\"]\nvisible = false\n";
    let mut text = settings(&authority, "jwt", more);
    text.push_str(&config(&[toy("one", "")]));
    let folder = Folder::with(&text);
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let it = Guarded { authority, trove };
    let admin = it.with_scope("ann", "docs:admin");
    let nobody = it.with_scope("bob", "docs:read");
    let mut claims = it.claims();
    claims["realm"] = json!({ "roles": ["ops"] });
    let ops = it.authority.sign(&claims);

    crate::kit::until("the toy to be there", async || {
        it.read(&admin, "toy://pid").await["result"].is_object()
    })
    .await;
    assert!(it.read(&ops, "toy://pid").await["result"].is_object());
    let hidden = it.read(&nobody, "toy://pid").await;
    assert_eq!(hidden["error"]["code"], -32602, "{hidden}");

    let standing = it.document(&admin, "auth://status").await;
    assert_eq!(standing["principal"], "ann");
    assert_eq!(standing["roles"], json!(["admin"]));
    assert_eq!(standing["authenticated"], true);
    let standing = it.document(&nobody, "auth://status").await;
    assert_eq!((&standing["principal"], &standing["roles"]), (&json!("bob"), &json!([])));

    let metrics = async |token: &str| {
        let get = Client::new().get(it.trove.url.replace("/mcp", "/metrics"));
        let get = if token.is_empty() { get } else { get.bearer_auth(token) };
        get.send().await.expect("trove answers").status().as_u16()
    };
    assert_eq!(metrics("").await, 401);
    assert_eq!(metrics(&nobody).await, 403, "the figures name every source");
    assert_eq!(metrics(&admin).await, 200);
}

#[tokio::test]
async fn t42_a_session_is_only_its_owners() {
    let it = Guarded::start("jwt", "").await;
    let ann = it.with_scope("ann", "");
    let bob = it.with_scope("bob", "");
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" },
    } });
    let post = |token: &str, session: Option<&str>, body: &Value| {
        let post = Client::new().post(&it.trove.url).header("Content-Type", "application/json");
        let post = match session {
            Some(session) => post.header("Mcp-Session-Id", session),
            None => post,
        };
        post.bearer_auth(token).body(body.to_string()).send()
    };
    let answer = post(&ann, None, &begin).await.expect("trove answers");
    assert_eq!(answer.status(), 200);
    let session = answer.headers()["mcp-session-id"].to_str().expect("an id").to_owned();
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let status = async |token: &str| {
        post(token, Some(&session), &ping).await.expect("trove answers").status().as_u16()
    };
    assert_eq!(status(&ann).await, 200);
    assert_eq!(status(&bob).await, 404, "to others there is no such session");
    let fresh = it.with_scope("ann", "another");
    assert_eq!(status(&fresh).await, 200, "a new token of the same person goes on");

    let delete = |token: &str| {
        let delete = Client::new().delete(&it.trove.url).header("Mcp-Session-Id", &session);
        delete.bearer_auth(token).send()
    };
    assert_eq!(delete(&bob).await.expect("trove answers").status(), 404);
    let listen = Client::new().get(&it.trove.url).header("Mcp-Session-Id", &session);
    let listen = listen.bearer_auth(&bob).send().await.expect("trove answers");
    assert_eq!(listen.status(), 404);
    assert_eq!(status(&ann).await, 200, "and nobody else can end it");
    assert_eq!(delete(&ann).await.expect("trove answers").status(), 204);
}

#[tokio::test]
async fn a_stream_ends_with_the_token_it_was_opened_with() {
    let it = Guarded::start("jwt", "auth.leeway_seconds = 0").await;
    let mut claims = it.claims();
    claims["exp"] = json!(claims["iat"].as_u64().expect("a time") + 15);
    let token = it.authority.sign(&claims);
    let params = json!({ "notifications": { "resourcesListChanged": true } });
    let request = it.asking(&token, "subscriptions/listen", params);
    let request = request.header("Accept", "text/event-stream");
    let mut stream = request.send().await.expect("trove answers");
    assert_eq!(stream.status(), 200);
    crate::kit::within(crate::kit::LIMIT, "the stream to end", async {
        while let Ok(Some(_)) = stream.chunk().await {}
    })
    .await;
    assert_eq!(it.list(&token).await.status(), 401);
}

#[tokio::test]
async fn a_door_behind_a_proxy_is_asked_under_its_public_name() {
    let more = "http.public_url = \"https://trove.example/mcp\"\nhttp.allowed_origins = [\"https://app.example\"]";
    let it = Guarded::start("oauth", more).await;
    let token = it.authority.sign(&it.authority.claims("ann", "https://trove.example/mcp"));
    let asked = async |host: &str, origin: &str| {
        let request = it.asking(&token, "resources/list", json!({}));
        let request = request.header("Host", host).header("Origin", origin);
        request.send().await.expect("trove answers").status().as_u16()
    };
    assert_eq!(asked("trove.example", "https://app.example").await, 200);
    assert_eq!(asked("trove.example", "https://evil.example").await, 403);
    assert_eq!(asked("evil.example", "https://app.example").await, 403);
    let answer = it.list("").await;
    let place = "https://trove.example/.well-known/oauth-protected-resource/mcp";
    assert!(challenge(&answer).contains(place), "{}", challenge(&answer));
    let security = it.document(&token, "config://security").await;
    assert_eq!(security["allowed_origins"], json!(["https://app.example"]));
    assert_eq!(security["auth_required"], true);
    let server = it.document(&token, "config://server").await;
    let http = json!({ "kind": "http", "auth": "oauth", "open": true });
    assert_eq!(server["transport"][1], http);
    assert_eq!(server["transport"][0]["open"], false, "nobody comes in over stdio");
}
