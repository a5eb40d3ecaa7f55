//! Every class of failure, with what it must say and what it suggests.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use trove_core::{
    Json, SourceError, SourceId,
    access::Access,
    gateway::AskError,
    source::{Ask, Outage, Why},
};
use trove_testkit::fake_source::FakeSource;

use super::{Bridge, nobody, somebody, source, suggests, text_of};

pub(super) fn refused(code: i64, message: &str) -> SourceError {
    SourceError::Refused { code, message: message.to_owned(), data: None }
}

pub(super) fn templated(templates: &[&str]) -> Arc<FakeSource> {
    let srv = FakeSource::new("srv", &["docs://intro"]).with_templates(templates);
    srv.fail_others(refused(-32002, "Resource not found"));
    Arc::new(srv)
}

#[tokio::test]
async fn an_unknown_uri_names_all_that_are_valid_and_the_nearest() {
    let srv = source("srv", &["docs://intro", "docs://setup"]);
    let bridge = Bridge::over(&[&srv]).await;
    let failure = bridge.failure(json!({ "uri": "dcos://intro" })).await;
    assert_eq!(failure["error"], "InvalidURI");
    assert!(suggests(&failure, "Did you mean docs://intro?"), "{failure}");
    let valid: Vec<&str> = failure["valid_uris"].as_array().unwrap().iter().map(text_of).collect();
    assert!(valid.contains(&"docs://setup") && valid.contains(&"info://tools/{name}"), "{failure}");
    assert_eq!(failure["total"], valid.len());
    assert_eq!(failure["retryable"], false);
}

#[tokio::test]
async fn a_uri_that_holds_the_name_of_a_tool_is_suggested_as_it_is() {
    let srv = source("srv", &["docs://tools/get_content", "docs://tools/set_feature_flag"]);
    srv.fail_others(refused(-32002, "Resource not found"));
    let bridge = Bridge::over(&[&srv]).await;
    for (uri, meant) in [
        ("docs://tools/get_contnt", "docs://tools/get_content"),
        ("docs://tools/set_feature_fla", "docs://tools/set_feature_flag"),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert!(suggests(&failure, &format!("Did you mean {meant}?")), "{failure}");
    }
}

#[tokio::test]
async fn a_server_that_lacks_something_of_its_own_has_failed() {
    let srv = source("srv", &["x://report"]);
    let bridge = Bridge::over(&[&srv]).await;
    for (message, class) in [
        ("dial tcp: lookup api.example: no such host", "ResourceExecutionError"),
        ("OperationalError: no such column: owner", "ResourceExecutionError"),
        ("config file /etc/x not found", "ResourceExecutionError"),
        ("no such file or directory: /srv/report", "NotFound"),
    ] {
        srv.fail("x://report", refused(-32603, message));
        let failure = bridge.failure(json!({ "uri": "x://report" })).await;
        assert_eq!(failure["error"], class, "{failure}");
    }
}

#[tokio::test]
async fn a_question_that_the_client_cannot_be_asked_is_a_failure_like_any_other() {
    let srv = source("srv", &["q://ask"]);
    let asks = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" });
    srv.give("q://ask", asks.to_string());
    let bridge = Bridge::over(&[&srv]).await;
    let failure = bridge.failure(json!({ "uri": "q://ask" })).await;
    assert_eq!(failure["error"], "ResourceExecutionError", "{failure}");
    assert!(text_of(&failure["message"]).contains("srv asks a question"), "{failure}");
    let ask = Ask { capabilities: Some(Json::empty_object()), ..Ask::default() };
    let arguments = Json::of(&json!({ "uri": "q://ask" }));
    let reply = bridge.tools.call(&nobody(), "get_resource", Some(&arguments), ask).await;
    assert!(reply.is_some_and(|reply| reply.needs_input), "who can be asked is asked");
}

#[tokio::test]
async fn a_server_that_is_not_in_use_yet_is_not_said_to_be_none() {
    let bridge = Bridge::over(&[&source("srv", &["x://a"])]).await;
    let waiting = SourceId::new("waiting").unwrap();
    let board = bridge.gateway.gateway.board();
    board.add(&waiting, "stdio");
    let why = "it waits for approval: trove approve waiting";
    board.update(&waiting, |status| status.last_error = Some(Outage::new(Why::Unapproved, why)));
    for asked in [json!({ "server": "waiting" }), json!({ "server": "waiting", "uri": "x://a" })] {
        let failure = bridge.failure(asked).await;
        assert_eq!(failure["error"], "ResourceExecutionError", "{failure}");
        assert!(text_of(&failure["message"]).ends_with(why), "{failure}");
    }
    let list = bridge.ok(json!({ "server": "nobody" })).await;
    let said = text_of(&list["message"]);
    assert!(said.contains("There is no server `nobody`") && said.contains("`srv`"), "{said}");
    assert_eq!(list["data"]["x"][0]["uri"], "x://a");
}

#[tokio::test]
async fn in_a_large_catalogue_the_ten_nearest_are_named() {
    let srv = source("srv", &[]);
    for n in 0..10_000 {
        srv.add(&format!("docs://chapter/{n}/section"));
    }
    srv.add("docs://chapter/index");
    let bridge = Bridge::over(&[&srv]).await;
    // Also where the URI can be no name at all.
    for uri in ["doc://chapter/indx", "docs://chapter/index\u{1}"] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        let valid = failure["valid_uris"].as_array().unwrap();
        assert_eq!((valid.len(), &valid[0]), (10, &json!("docs://chapter/index")));
        assert!(failure["total"].as_u64().unwrap() > 10_000);
        assert!(suggests(&failure, "docs://chapter/index"), "{failure}");
    }
}

#[tokio::test]
async fn a_template_of_several_servers_is_explained_with_all_its_names() {
    let having_it = |id: &str| {
        let source = FakeSource::new(id, &[]).with_templates(&["note://{id}"]);
        source.fail_others(refused(-32002, "Resource not found"));
        Arc::new(source)
    };
    let (one, two) = (having_it("one"), having_it("two"));
    let bridge = Bridge::over(&[&one, &two]).await;
    let candidates = json!(["one+note://{id}", "two+note://{id}"]);
    for uri in ["note://", "note://{id}", "note://a b"] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["candidates"], candidates, "{uri}: {failure}");
        assert!(suggests(&failure, "Several servers have this template"), "{failure}");
    }
    let named = bridge.failure(json!({ "uri": "two+note://" })).await;
    assert_eq!((&named["template"], named.get("candidates")), (&candidates[1], None));
}

#[tokio::test]
async fn a_template_without_its_value_is_shown_with_an_example_and_known_values() {
    let srv = templated(&["metadata://templates/{name}", "meta://{a}/x/{b}"]);
    srv.complete_with(&["alpha", "beta"], Duration::ZERO);
    srv.give_text("metadata://templates/alpha", "text/plain", "there");
    let bridge = Bridge::over(&[&srv]).await;
    for uri in ["metadata://templates/", "metadata://templates", "srv+metadata://templates/"] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["error"], "MissingTemplateVariable", "{uri}: {failure}");
        assert_eq!(failure["missing_variables"], json!(["name"]));
        assert_eq!(failure["template"], "metadata://templates/{name}");
        assert_eq!(failure["known_values"], json!(["alpha", "beta"]));
        assert_eq!(failure["example"], "metadata://templates/alpha");
        assert!(suggests(&failure, "metadata://templates/alpha"), "{failure}");
    }
    for (uri, missing) in [
        ("meta:///x/", json!(["a", "b"])),
        ("meta://one", json!(["b"])),
        ("meta://one/x", json!(["b"])),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["missing_variables"], missing, "{uri}: {failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_to_offer_values_does_not_hold_up_the_failure() {
    let srv = templated(&["metadata://templates/{name}"]);
    srv.complete_with(&["alpha"], Duration::from_secs(3600));
    let bridge = Bridge::over(&[&srv]).await;
    let began = tokio::time::Instant::now();
    let failure = bridge.failure(json!({ "uri": "metadata://templates/" })).await;
    assert_eq!(
        (&failure["error"], &failure["known_values"]),
        (&json!("MissingTemplateVariable"), &json!([]))
    );
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_value_that_breaks_its_rule_is_told_the_rule() {
    let srv = templated(&["note://{id}", "file:///tree/{+path}", "code://{lang:3}"]);
    srv.add("note://5");
    let bridge = Bridge::over(&[&srv]).await;
    for (uri, variable, says) in [
        ("note://{id}", "id", "brace"),
        ("note://a b", "id", "percent-encode"),
        ("note://%zz", "id", "%25"),
        ("file:///tree/../../etc/passwd", "path", ".."),
        ("file:///tree/..%2f..%2fetc", "path", ".."),
        ("code://rust", "lang", "at most 3"),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["error"], "InvalidTemplateVariable", "{uri}: {failure}");
        assert_eq!(failure["variable"], variable, "{uri}");
        assert!(text_of(&failure["rule"]).contains(says), "{uri}: {failure}");
        assert!(failure["template"].is_string(), "{failure}");
        // Only what is there is given for an example.
        let example = if uri.starts_with("note") { json!("note://5") } else { Value::Null };
        assert_eq!(failure["example"], example, "{failure}");
        assert_eq!(srv.reads.load(Ordering::Relaxed), 0, "nobody is asked for {uri}");
    }
}

#[tokio::test]
async fn a_template_copied_as_it_is_is_not_asked_for() {
    // A server that answers whatever it is asked.
    let srv = Arc::new(FakeSource::new("srv", &[]).with_templates(&["note://{id}", "a://{b}/c"]));
    let bridge = Bridge::over(&[&srv]).await;
    for uri in ["note://{id}", "srv+note://{id}", "a://{b}/c"] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["error"], "InvalidTemplateVariable", "{uri}: {failure}");
    }
    bridge.ok(json!({ "uri": "note://%7Bid%7D" })).await;
}

#[tokio::test]
async fn what_a_server_fails_at_for_a_wrong_value_is_told_as_that() {
    let srv = templated(&["m://tpl/{kind}/{id}", "w://{id}.json"]);
    srv.fail_others(refused(-32603, "Internal error"));
    srv.complete_with(&["", "..", "one"], Duration::ZERO);
    srv.give_text("m://tpl/cars/one", "text/plain", "there");
    srv.give_text("w://one.json", "text/plain", "there");
    let bridge = Bridge::over(&[&srv]).await;
    for (uri, missing, example) in [
        ("m://tpl/cars/", "id", "m://tpl/cars/one"),
        ("m://tpl/cars", "id", "m://tpl/cars/one"),
        ("w://.json", "id", "w://one.json"),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["missing_variables"], json!([missing]), "{uri}: {failure}");
        // What is suggested works, so values that break the rule are none.
        assert_eq!(
            (&failure["example"], &failure["known_values"]),
            (&json!(example), &json!(["one"]))
        );
        assert!(suggests(&failure, example), "{failure}");
    }
}

#[tokio::test]
async fn a_misspelt_resource_beside_a_template_is_named_too() {
    let srv = templated(&["docs://{id}/part"]);
    let bridge = Bridge::over(&[&srv]).await;
    let failure = bridge.failure(json!({ "uri": "docs://intr0/" })).await;
    assert!(suggests(&failure, "docs://intro"), "{failure}");
}

#[tokio::test]
async fn nothing_behind_a_template_names_template_and_value() {
    let forms: [(&str, SourceError); 5] = [
        ("number", refused(-32002, "Resource not found")),
        (
            "data",
            SourceError::Refused {
                code: -32602,
                message: "Invalid".into(),
                data: Some(Json::parse(r#"{"uri":"note://data"}"#).unwrap()),
            },
        ),
        ("words", refused(-32602, "Resource note://words does not exist")),
        ("zero", refused(0, "Unknown resource: note://zero")),
        ("own", SourceError::NotFound),
    ];
    let srv = templated(&["note://{id}"]);
    for (id, error) in &forms {
        srv.fail(&format!("note://{id}"), error.clone());
    }
    // Servers that answer with success and an error for a text.
    srv.give_text("note://text", "text/plain", "Error: Resource not found: note://text");
    srv.give_text("note://guide", "text/plain", "Category 'guide' not found in project");
    srv.give_text("note://docs", "text/plain", "No matching content found for 'docs'");
    let bridge = Bridge::over(&[&srv]).await;
    for id in ["number", "data", "words", "zero", "own", "text", "guide", "docs"] {
        let failure = bridge.failure(json!({ "uri": format!("note://{id}") })).await;
        assert_eq!(failure["error"], "NotFound", "{id}: {failure}");
        assert_eq!(
            (&failure["template"], &failure["values"]["id"]),
            (&json!("note://{id}"), &json!(id))
        );
        assert!(text_of(&failure["message"]).contains(id) && failure["retryable"] == false);
        assert!(suggests(&failure, "get_resource without `uri`"), "{failure}");
    }
}

#[tokio::test]
async fn a_template_that_needs_no_value_is_named_all_the_same() {
    let bridge = Bridge::over(&[&templated(&["find://it{?q}"])]).await;
    let failure = bridge.failure(json!({ "uri": "find://it" })).await;
    assert_eq!((&failure["error"], &failure["values"]), (&json!("NotFound"), &json!({})));
    assert!(text_of(&failure["message"]).contains("find://it{?q} for no value"), "{failure}");
}

#[tokio::test]
async fn a_uri_too_long_for_any_template_is_told_the_limit() {
    let bridge = Bridge::over(&[&templated(&["note://{id}"])]).await;
    let failure = bridge.failure(json!({ "uri": format!("note://{}", "x".repeat(5000)) })).await;
    assert!(text_of(&failure["message"]).contains("4096 bytes"), "{failure}");
}

#[tokio::test]
async fn a_text_that_speaks_of_errors_is_data() {
    let srv = templated(&["log://{id}", "listed://{id}"]);
    srv.add("listed://a");
    let said = "Error: Resource not found: listed://a";
    srv.give_text("listed://a", "text/plain", said);
    srv.give_text("log://today", "text/plain", "error: file not found in /tmp");
    srv.give_text("log://two", "text/plain", "Error: 'two' not found\nanother line");
    srv.give_text("log://json", "application/json", r#"{"error": "'json' not found"}"#);
    let long = format!("Error: 'long' not found {}", "x".repeat(500));
    srv.give_text("log://long", "text/plain", &long);
    let bridge = Bridge::over(&[&srv]).await;
    assert_eq!(bridge.data(json!({ "uri": "listed://a" })).await, said);
    assert_eq!(bridge.data(json!({ "uri": "srv+listed://a" })).await, said, "by any name");
    for uri in ["log://today", "log://two", "log://json", "log://long"] {
        bridge.ok(json!({ "uri": uri })).await;
    }
}

#[tokio::test]
async fn what_is_listed_and_gone_is_not_found() {
    let srv = templated(&[]);
    let bridge = Bridge::over(&[&srv]).await;
    let failure = bridge.failure(json!({ "uri": "docs://intro" })).await;
    assert_eq!(failure["error"], "NotFound");
    let failure = bridge.failure(json!({ "uri": "docs://unlisted" })).await;
    assert_eq!(failure["error"], "InvalidURI", "no template promised it: {failure}");
    assert!(failure["valid_uris"].is_array() && text_of(&failure["details"]).starts_with("srv: "));
}

#[tokio::test]
async fn who_lacks_a_role_is_told_which_and_where_to_see_his_own() {
    let srv = source("srv", &["admin://keys", "docs://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    bridge.allow(&[("admin://*", "admin", true)]);
    let failure = bridge.failure(json!({ "uri": "admin://keys" })).await;
    assert_eq!(
        (&failure["error"], &failure["required_roles"]),
        (&json!("Unauthorized"), &json!(["admin"]))
    );
    assert!(suggests(&failure, "auth://status") && suggests(&failure, "`readable`: false"));
    assert!(text_of(&failure["message"]).contains("admin") && failure["instruction"].is_string());
    let admin = bridge.object_for(&somebody(&["admin"]), json!({ "uri": "admin://keys" })).await;
    assert_eq!(admin["data"], "srv|admin://keys");
}

#[tokio::test]
async fn what_is_hidden_fails_as_what_is_absent() {
    let srv = source("srv", &["admin://keys", "docs://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    bridge.allow(&[("admin://*", "admin", false)]);
    let hidden = bridge.failure(json!({ "uri": "admin://keys" })).await;
    let absent = bridge.failure(json!({ "uri": "badmin://keys" })).await;
    assert_eq!(hidden["error"], "InvalidURI");
    let spelt = |failure: &Value| failure.to_string().replace("badmin", "admin");
    assert_eq!(spelt(&hidden), spelt(&absent));
}

#[tokio::test]
async fn nor_does_one_that_calls_what_is_absent_a_success() {
    let templates = ["docs://{section}/{id}", "docs://drafts/{codename_x}"];
    let srv = Arc::new(FakeSource::new("srv", &[]).with_templates(&templates));
    let said = |uri: &str| json!({ "contents": [{ "uri": uri, "text": "Resource not found" }] });
    srv.give("docs://secret/sacred", said("docs://secret/sacred").to_string());
    srv.give("docs://open/sacred", said("docs://open/sacred").to_string());
    srv.give("docs://drafts/public1", said("docs://drafts/public1").to_string());
    let bridge = Bridge::over(&[&srv]).await;
    bridge.allow(&[
        ("docs://secret/*", "admin", false),
        ("docs://drafts/public*", "*", true),
        ("docs://drafts/*", "admin", false),
    ]);
    let told = async |uri: &str| {
        let mut failure = bridge.failure(json!({ "uri": uri })).await;
        failure["suggested_actions"][0] = Value::Null;
        failure.to_string()
    };
    let absent = told("docs://open/sacred").await.replace("open", "secret");
    assert_eq!(told("docs://secret/sacred").await, absent);
    let (caller, uri) = (nobody(), "docs://open/sacred".into());
    let native = bridge.gateway.gateway.read(&caller, &uri, Ask::default());
    assert!(matches!(native.await, Err(AskError::NotFound { .. })), "natively too");
    // Nor is a hidden template told by what fits it.
    assert!(!told("docs://drafts/public1").await.contains("codename_x"));
}

#[tokio::test]
async fn a_server_that_knows_no_such_name_does_not_betray_what_is_hidden() {
    let srv = Arc::new(
        FakeSource::new("srv", &["x://open", "x://secret"]).with_templates(&["x://item/{id}"]),
    );
    srv.complete_with(&["secret", "plain"], Duration::ZERO);
    let bridge = Bridge::over(&[&srv]).await;
    bridge.allow(&[("x://secret", "admin", false), ("x://item/secret", "admin", false)]);
    // In whatever words it says so.
    for (code, words) in
        [(-32603, "nix da"), (0, "?"), (-32602, "Invalid params"), (-32002, "Resource not found")]
    {
        srv.fail_others(refused(code, words));
        for (hidden, absent) in [
            ("x://secret", "x://sacred"),
            ("srv+x://secret", "srv+x://sacred"),
            ("x://item/secret", "x://item/sacred"),
        ] {
            let told = async |uri: &str| {
                let mut failure = bridge.failure(json!({ "uri": uri })).await;
                // The nearest name goes by the spelling of the one that was asked for.
                failure["suggested_actions"][0] = Value::Null;
                failure.to_string()
            };
            let absent = told(absent).await.replace("sacred", "secret");
            assert_eq!(told(hidden).await, absent);
        }
    }
    // Nor does one that promises to report on whatever it is asked to.
    let watch = async |uri: &str| bridge.gateway.gateway.watch(&nobody(), &uri.into()).await;
    for uri in ["x://secret", "x://sacred", "x://item/secret", "x://item/sacred"] {
        assert!(matches!(watch(uri).await, Err(AskError::NotFound { .. })), "{uri}");
    }
    srv.give_text("x://item/plain", "text/plain", "there");
    assert!(watch("x://open").await.is_ok() && watch("x://item/plain").await.is_ok());
    let unfilled = bridge.failure(json!({ "uri": "x://item/" })).await;
    assert_eq!(unfilled["known_values"], json!(["plain"]), "{unfilled}");
    // What is hidden elsewhere does not change what is said here.
    bridge.allow(&[("other://secret", "admin", false)]);
    let told = bridge.failure(json!({ "uri": "x://item/sacred" })).await;
    assert_eq!(told["error"], "NotFound", "{told}");
    assert!(text_of(&told["details"]).starts_with("srv: "), "{told}");
    bridge.allow(&[("x://secret", "admin", false), ("x://item/secret", "admin", false)]);
    // Whoever may know of everything is told what the server said.
    let admin = somebody(&["admin"]);
    let told = bridge.object_for(&admin, json!({ "uri": "x://item/sacred" })).await;
    assert_eq!(told["error"], "NotFound", "{told}");
}

#[tokio::test]
async fn what_a_server_calls_a_wrong_argument_is_a_wrong_name_unless_it_lists_it() {
    let srv = Arc::new(FakeSource::new("srv", &["x://a"]).with_templates(&["x://item/{id}"]));
    srv.fail_others(refused(-32602, "Invalid params: bad uri"));
    srv.fail("x://a", refused(-32602, "Invalid params: out of order"));
    let bridge = Bridge::over(&[&srv]).await;
    for (uri, class) in [
        ("x://item/", "MissingTemplateVariable"),
        ("x://item/a b", "InvalidTemplateVariable"),
        ("x://item/none", "NotFound"),
        ("x://nothing", "InvalidURI"),
        ("x://a", "ResourceExecutionError"),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["error"], class, "{uri}: {failure}");
    }
}

#[tokio::test]
async fn the_servers_own_refusal_is_reported_as_such() {
    let srv = source("srv", &["x://1", "x://2", "x://3", "x://4"]);
    srv.fail("x://1", refused(401, "no"));
    srv.fail("x://2", refused(-32603, "403 Forbidden"));
    srv.fail("x://3", refused(-32603, "Access denied - path outside allowed directories"));
    srv.fail("x://4", SourceError::Unavailable(Outage::new(Why::of_status(401), "who are you")));
    let bridge = Bridge::over(&[&srv]).await;
    for n in 1..=4 {
        let failure = bridge.failure(json!({ "uri": format!("x://{n}") })).await;
        assert_eq!(
            (&failure["error"], &failure["retryable"]),
            (&json!("Unauthorized"), &json!(false)),
            "{n}"
        );
        assert!(
            suggests(&failure, "credentials") && text_of(&failure["details"]).starts_with("srv: ")
        );
    }
}

#[tokio::test]
async fn a_failing_server_is_retryable_only_where_waiting_helps() {
    let cases: [(SourceError, &str, bool); 11] = [
        (SourceError::TimedOut { waited: Duration::from_secs(30) }, "ResourceExecutionError", true),
        (SourceError::Lost, "ResourceExecutionError", true),
        (
            SourceError::Unavailable(Outage::passing("still connecting")),
            "ResourceExecutionError",
            true,
        ),
        (
            SourceError::Unavailable(Outage::misconfigured("`npx` is not on the PATH")),
            "ResourceExecutionError",
            false,
        ),
        // It is not known: worth one more try.
        (refused(-32603, "boom"), "ResourceExecutionError", true),
        (refused(-32603, "ThrottlingException: Rate exceeded"), "ResourceExecutionError", true),
        (refused(-32603, "no such table: notes"), "ResourceExecutionError", false),
        (refused(-32601, "Method not found"), "ResourceExecutionError", false),
        (SourceError::TooLarge { limit: 7 }, "TooLarge", false),
        (SourceError::Busy { limit: 9 }, "Busy", true),
        (refused(-32800, "Request cancelled"), "Cancelled", true),
    ];
    let srv = source("srv", &["x://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    for (error, class, retryable) in cases {
        srv.fail("x://a", error.clone());
        let failure = bridge.failure(json!({ "uri": "x://a" })).await;
        assert_eq!(
            (&failure["error"], &failure["retryable"]),
            (&json!(class), &json!(retryable)),
            "{error:?}"
        );
        match class {
            "ResourceExecutionError" => {
                assert!(text_of(&failure["details"]).starts_with("srv: "), "{failure}");
                assert!(
                    suggests(&failure, "health_check") && failure["exception_type"].is_string()
                );
            }
            "Cancelled" => {}
            _ => assert!(failure["limit"].is_number(), "{failure}"),
        }
    }
}

#[tokio::test]
async fn only_what_is_known_not_to_help_is_told_so() {
    let srv = source("srv", &["x://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    for (error, action, is_hopeless) in [
        (refused(-32603, "fetch failed"), "Try again in a few seconds", false),
        (refused(-32603, "database is locked"), "Try again in a few seconds", false),
        (refused(-32603, "boom"), "It is not known whether asking again helps", false),
        (refused(-32603, "timeout must be a positive integer"), "Ask for another value", false),
        (refused(-32603, "No module named 'notes'"), "at fault", false),
        (refused(-32601, "Method not found"), "asking again will not help", true),
    ] {
        srv.fail("x://a", error.clone());
        let failure = bridge.failure(json!({ "uri": "x://a" })).await;
        assert!(suggests(&failure, action), "{failure}");
        assert_eq!(suggests(&failure, "asking again will not help"), is_hopeless, "{failure}");
    }
    for words in ["Not logged in", "requires admin privileges", "ExpiredToken", "AccessDenied"] {
        srv.fail("x://a", refused(-32603, words));
        let failure = bridge.failure(json!({ "uri": "x://a" })).await;
        assert_eq!(failure["error"], "Unauthorized", "{failure}");
        assert_eq!(failure["retryable"], false, "{failure}");
    }
}

#[tokio::test]
async fn in_production_the_cause_stays_with_those_who_run_the_gateway() {
    let srv = source("srv", &["x://a"]);
    srv.fail("x://a", refused(-32603, "turn \u{202e}round \u{1b}[2J"));
    let open = Bridge::over(&[&srv]).await.failure(json!({ "uri": "x://a" })).await;
    let hidden = ["\u{202e}", "\u{1b}"].map(|c| open.to_string().contains(c));
    assert_eq!(hidden, [false, false], "{open}");
    srv.fail("x://a", refused(-32603, "password hunter2 at /srv/secret"));
    let bridge = Bridge::over(&[&srv]).await;
    bridge.gateway.gateway.set_access(Access { withholds_causes: true, ..Access::default() });
    let result = bridge.result(&nobody(), json!({ "uri": "x://a" })).await;
    assert!(!result.to_string().contains("hunter2"), "{result}");
    assert_eq!(result["structuredContent"]["error"], "ResourceExecutionError");
}

#[tokio::test]
async fn several_owners_are_named_with_the_uris_that_work() {
    let (a, b) = (source("a", &["x://1"]), source("b", &["x://1"]));
    let bridge = Bridge::over(&[&a, &b]).await;
    let failure = bridge.failure(json!({ "uri": "x://1" })).await;
    assert_eq!(
        (&failure["error"], &failure["candidates"]),
        (&json!("AmbiguousURI"), &json!(["a+x://1", "b+x://1"]))
    );
    assert!(suggests(&failure, "a+x://1") && suggests(&failure, "`server`"));
    for uri in failure["candidates"].as_array().unwrap() {
        bridge.ok(json!({ "uri": uri })).await;
    }
    // The nearest is found though servers' names stand before it.
    b.fail_others(refused(-32002, "Resource not found"));
    for uri in ["x://2", "x/2", "b+x://2"] {
        let near = bridge.failure(json!({ "uri": uri })).await;
        let server = if uri.starts_with('b') { "b" } else { "a" };
        assert!(suggests(&near, &format!("Did you mean {server}+x://1?")), "{near}");
    }
    // Also where it is written as some models write it.
    let loose = bridge.failure(json!({ "uri": "x/1" })).await;
    assert_eq!(loose["candidates"], failure["candidates"]);
    b.give_text("x://1", "text/plain", "here");
    let one = bridge.ok(json!({ "uri": "x/1", "server": "b" })).await;
    assert_eq!((&one["uri"], &one["server"]), (&json!("b+x://1"), &json!("b")));
    // What is hidden is not there in any spelling.
    bridge.allow(&[("x://1", "admin", false)]);
    let told = async |uri: &str| bridge.failure(json!({ "uri": uri })).await.to_string();
    assert_eq!(told("x/1").await, told("y/1").await.replace("y/1", "x/1"));
}

#[tokio::test]
async fn a_server_that_gives_no_contents_at_all_has_failed() {
    let srv = source("srv", &["x://a"]);
    srv.give("x://a", r#"{"content":[]}"#);
    let bridge = Bridge::over(&[&srv]).await;
    let failure = bridge.failure(json!({ "uri": "x://a" })).await;
    assert_eq!(
        (&failure["error"], &failure["retryable"]),
        (&json!("ResourceExecutionError"), &json!(false))
    );
}

#[tokio::test]
async fn a_name_that_is_empty_or_holds_what_no_uri_may_reaches_no_server() {
    let templates = ["note://{id}", "m://{a}/{b}", "q://s{?q,limit}"];
    let low = Arc::new(FakeSource::new("low", &["docs://intro"]).with_templates(&templates));
    let plain = source("plain", &["nt://a"]);
    let bridge = Bridge::over(&[&low, &plain]).await;
    for (uri, class) in [
        ("m://", "MissingTemplateVariable"),
        ("q://s?q=", "MissingTemplateVariable"),
        ("low+q://s?q=x&limit=", "MissingTemplateVariable"),
        ("nt://", "InvalidURI"),
        ("nt://{x}", "InvalidURI"),
        ("low+zz://{id}", "InvalidURI"),
        ("plain+docs://", "InvalidURI"),
        ("plain+docs:", "InvalidURI"),
    ] {
        let failure = bridge.failure(json!({ "uri": uri })).await;
        assert_eq!(failure["error"], class, "{uri}: {failure}");
        let native = bridge.gateway.read(uri).await;
        assert!(matches!(native, Err(AskError::BadArguments { .. })), "{uri}: {native:?}");
        // Examples may be tried, the name itself never.
        let local = uri.rsplit_once('+').map_or(uri, |(_, local)| local).to_owned();
        let asked = [low.take_asked(), plain.take_asked()].concat();
        assert!(!asked.contains(&local), "{uri}: {asked:?}");
    }
    assert!(bridge.gateway.read("plain+note://{id}").await.is_err());
    assert_eq!(plain.take_asked(), Vec::<String>::new());
    // A query that is left out, a name of its own and escapes are fine.
    for uri in ["q://s", "q://s?q=x", "nt://b", "nt://a%20b", "nt://a b", "m://a"] {
        assert!(bridge.gateway.read(uri).await.is_ok(), "{uri}");
    }
}

#[tokio::test]
async fn a_hidden_name_that_passes_through_another_gateway_is_told_like_an_absent_one() {
    let up = source("up", &["docs://l/open"]);
    let bridge = Bridge::over(&[&up]).await;
    bridge.allow(&[("docs://l/vault/*", "admin", false)]);
    let told = async |name: &str| {
        let failure = bridge.failure(json!({ "uri": format!("up+s+docs://l/vault/{name}") })).await;
        failure.to_string().replace(name, "NAME")
    };
    assert_eq!(told("key").await, told("nope").await);
    assert_eq!(up.reads.load(Ordering::Relaxed), 0);
    assert_eq!(bridge.data(json!({ "uri": "up+s+docs://l/open" })).await, "up|s+docs://l/open");
}
