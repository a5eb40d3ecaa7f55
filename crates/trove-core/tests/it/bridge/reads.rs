//! What a read gives: the payload once, equal to the native one.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use trove_core::{Json, source::Ask};
use trove_testkit::fake_source::FakeSource;

use super::{Bridge, nobody, source, suggests, text_of};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0";

#[tokio::test]
async fn text_is_text_and_says_whose_it_is() {
    let srv = source("srv", &[]);
    srv.add_entry(&json!({
        "uri": "docs://a", "name": "A paper\u{202e}", "mimeType": "text/markdown",
        "annotations": { "lastModified": "2026-01-02T03:04:05Z" },
    }));
    srv.give("docs://a", r##"{"contents":[{"uri":"docs://a","text":"# Ä\n\u0001"}]}"##);
    let bridge = Bridge::over(&[&srv]).await;
    let object = bridge.ok(json!({ "uri": "  docs://a " })).await;
    assert_eq!(object["uri"], "docs://a");
    assert_eq!(object["data"], "# Ä\n\u{1}");
    assert_eq!(object["resource_name"], "A paper\\u{202e}");
    assert_eq!(object["mime_type"], "text/markdown");
    assert_eq!((&object["server"], &object["size"]), (&json!("srv"), &json!(6)));
    let metadata = &object["metadata"];
    assert_eq!(metadata["lastModified"], "2026-01-02T03:04:05Z");
    assert_eq!((&metadata["cached"], &metadata["truncated"]), (&json!(false), &json!(false)));
    assert!(text_of(&object["timestamp"]).ends_with('Z'));
}

#[tokio::test]
async fn json_is_kept_as_it_was_written() {
    let srv = source("srv", &["data://a"]);
    let written = r#"{"n":1.0,"e":1e3,"big":123456789012345678901234567890,"x-odd":[null, -0.0],"a":"\u00e4"}"#;
    srv.give_text("data://a", "application/json; charset=utf-8", written);
    let bridge = Bridge::over(&[&srv]).await;
    let arguments = Json::of(&json!({ "uri": "data://a" }));
    let reply =
        bridge.tools.call(&nobody(), "get_resource", Some(&arguments), Ask::default()).await;
    let data = reply.unwrap().body.get("structuredContent").unwrap().get("data").unwrap();
    assert_eq!(data.as_str(), written);
    let as_text = bridge.data(json!({ "uri": "data://a", "format": "text" })).await;
    assert_eq!(as_text, written);
}

#[tokio::test]
async fn what_is_not_json_is_said_so_when_json_is_asked_for() {
    let srv = source("srv", &["x://a", "x://b"]);
    srv.give_text("x://a", "text/plain", "hello");
    srv.give_text("x://b", "application/json", "{broken");
    let bridge = Bridge::over(&[&srv]).await;
    let failure = bridge.failure(json!({ "uri": "x://a", "format": "json" })).await;
    assert_eq!(failure["error"], "InvalidArguments");
    // Of several each must be.
    let both = |second: &str| {
        let contents =
            json!([{ "uri": "x://a", "text": "{}" }, { "uri": "x://a", "text": second }]);
        json!({ "contents": contents }).to_string()
    };
    srv.give("x://a", both("[1]"));
    bridge.ok(json!({ "uri": "x://a", "format": "json" })).await;
    srv.give("x://a", both("hello"));
    assert_eq!(
        bridge.failure(json!({ "uri": "x://a", "format": "json" })).await["field"],
        "format"
    );
    // The mark of an encoding is none of its words.
    for mime in ["application/json", "text/json"] {
        srv.give_text("x://a", mime, "\u{feff}{\"a\":1}");
        assert_eq!(bridge.data(json!({ "uri": "x://a" })).await, json!({ "a": 1 }), "{mime}");
    }
    assert_eq!(bridge.data(json!({ "uri": "x://b" })).await, "{broken");
}

#[tokio::test]
async fn a_failure_that_arrives_as_a_success_stays_data_and_is_marked() {
    let srv = source("srv", &["x://a", "x://b"]);
    srv.give_text("x://a", "application/json", r#"{"success": false, "error": "nope"}"#);
    srv.give_text("x://b", "application/json", r#"{"success": true}"#);
    let bridge = Bridge::over(&[&srv]).await;
    let object = bridge.ok(json!({ "uri": "x://a" })).await;
    assert_eq!(object["data"]["error"], "nope");
    assert_eq!(object["metadata"]["reported_failure"], true);
    let fine = bridge.ok(json!({ "uri": "x://b" })).await;
    assert!(fine["metadata"].get("reported_failure").is_none());
    // Whatever part of it is shown.
    let long = json!({ "log": "line\n".repeat(20_000), "success": false }).to_string();
    srv.give_text("x://a", "application/json", &long);
    for asked in [json!({}), json!({ "format": "text", "offset": 9 }), json!({ "grep": "log" })] {
        let mut asked = asked;
        asked["uri"] = json!("x://a");
        let object = bridge.ok(asked).await;
        assert_eq!(object["metadata"]["reported_failure"], true, "{}", object["metadata"]);
    }
}

#[tokio::test]
async fn t40_a_binary_is_described_or_given_as_base64() {
    let srv = source("srv", &["bin://a"]);
    let blob = STANDARD.encode([0, 159, 146, 150, 0, 1]);
    let body = json!({"contents": [{"uri": "bin://a", "blob": blob}]});
    srv.give("bin://a", body.to_string());
    let bridge = Bridge::over(&[&srv]).await;
    let object = bridge.ok(json!({ "uri": "bin://a" })).await;
    assert_eq!((&object["data"]["kind"], &object["data"]["size"]), (&json!("binary"), &json!(6)));
    assert_eq!(text_of(&object["data"]["sha256"]).len(), 64);
    let object = bridge.ok(json!({ "uri": "bin://a", "format": "binary" })).await;
    assert_eq!(
        (&object["data"], &object["metadata"]["encoding"]),
        (&json!(blob), &json!("base64"))
    );
    for arguments in
        [json!({"uri": "bin://a", "format": "text"}), json!({"uri": "bin://a", "grep": "x"})]
    {
        let failure = bridge.failure(arguments).await;
        assert!(text_of(&failure["message"]).contains("binary"), "{failure}");
    }
}

#[tokio::test]
async fn t40_images_that_clients_can_show_travel_as_images() {
    let srv = source("srv", &[]);
    let images: [(&str, &[u8]); 4] = [
        ("image/png", PNG),
        ("image/jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08\0\x03\0\x02\x03"),
        ("image/gif", b"GIF89a\x02\0\x03\0\0\0\0"),
        ("image/webp", b"RIFF\x1a\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x02\0\x03\0"),
    ];
    for (n, (_, bytes)) in images.iter().enumerate() {
        let uri = format!("img://{n}");
        srv.add(&uri);
        // Whatever it is declared to be.
        let content = json!({"uri": uri, "mimeType": "application/octet-stream", "blob": STANDARD.encode(bytes)});
        srv.give(&uri, json!({ "contents": [content] }).to_string());
    }
    let bridge = Bridge::over(&[&srv]).await;
    for (n, (mime, bytes)) in images.iter().enumerate() {
        let result = bridge.result(&nobody(), json!({ "uri": format!("img://{n}") })).await;
        let block = &result["content"][1];
        assert_eq!((&block["type"], &block["mimeType"]), (&json!("image"), &json!(mime)));
        assert_eq!(block["data"], STANDARD.encode(bytes));
        assert_eq!(result["structuredContent"]["data"]["kind"], "image");
    }
    // One that ends before it has begun would only make a client stumble.
    let cut = json!({ "uri": "img://0", "blob": STANDARD.encode(&PNG[..12]) });
    srv.give("img://0", json!({ "contents": [cut] }).to_string());
    let result = bridge.result(&nobody(), json!({ "uri": "img://0" })).await;
    assert_eq!(result["content"][1]["type"], "text", "{result}");
    let whole = json!({ "uri": "img://0", "blob": STANDARD.encode(PNG) });
    srv.give("img://0", json!({ "contents": [whole] }).to_string());
    let png = bridge.data(json!({ "uri": "img://0" })).await;
    assert_eq!((&png["width"], &png["height"]), (&json!(2), &json!(3)));
}

#[tokio::test]
async fn images_that_do_not_travel_are_mentioned_and_can_be_had() {
    let srv = source("srv", &["many://ten"]);
    let image = |n: usize| json!({ "uri": format!("many://{n}"), "blob": STANDARD.encode(PNG) });
    let contents: Vec<Value> = (0..10).map(image).collect();
    srv.give("many://ten", json!({ "contents": contents }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    let read = async |arguments: Value| {
        let result = bridge.result(&nobody(), arguments).await;
        let blocks = result["content"].as_array().expect("blocks").clone();
        let images = blocks.iter().filter(|block| block["type"] == "image").count();
        (images, result["structuredContent"]["metadata"].clone())
    };
    let (images, told) = read(json!({ "uri": "many://ten" })).await;
    assert_eq!((images, &told["truncated"]), (8, &json!(true)), "{told}");
    assert!(text_of(&told["note"]).starts_with("2 images are not shown"), "{told}");
    assert!(text_of(&told["note"]).ends_with("go on with `offset` 8"), "{told}");
    let (images, told) = read(json!({ "uri": "many://ten", "offset": 8 })).await;
    assert_eq!((images, &told["truncated"], &told["note"]), (2, &json!(false), &Value::Null));
}

#[tokio::test]
async fn a_blob_beside_an_empty_text_is_what_is_given() {
    let srv = source("srv", &["x://tb"]);
    let content = json!({ "uri": "x://tb", "text": "", "blob": STANDARD.encode(PNG) });
    srv.give("x://tb", json!({ "contents": [content] }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    assert_eq!(bridge.data(json!({ "uri": "x://tb" })).await["kind"], "image");
    let binary = bridge.data(json!({ "uri": "x://tb", "format": "binary" })).await;
    assert_eq!(binary, STANDARD.encode(PNG));
}

#[tokio::test]
async fn several_contents_are_all_given_in_order() {
    let srv = source("srv", &["many://a", "many://none"]);
    let contents = json!([
        {"uri": "many://a/1", "mimeType": "text/plain", "text": "one"},
        {"uri": "many://a/2", "blob": STANDARD.encode(PNG)},
        {"uri": "many://a/3", "mimeType": "application/json", "text": "{\"n\": 1.0}"},
        {"uri": "many://a/4", "blob": "not base64!"},
        {"uri": "many://a/5", "blob": "dGV4dA"},
    ]);
    srv.give("many://a", json!({ "contents": contents }).to_string());
    srv.give("many://none", r#"{"contents":[]}"#);
    let bridge = Bridge::over(&[&srv]).await;
    let result = bridge.result(&nobody(), json!({ "uri": "many://a" })).await;
    let object = &result["structuredContent"];
    let data = object["data"].as_array().unwrap();
    assert_eq!(data[0], contents[0]);
    assert_eq!(
        (&data[1]["data"]["kind"], &data[1]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    assert_eq!(data[2], contents[2]);
    assert!(text_of(&data[3]["text"]).contains("not base64!") && data[3]["note"].is_string());
    assert_eq!(data[4]["text"], "text");
    assert_eq!(result["content"][1]["type"], "image", "{result}");
    assert_eq!(object["metadata"]["truncated"], false);
    let none = bridge.ok(json!({ "uri": "many://none" })).await;
    assert_eq!((&none["data"], &none["size"]), (&json!([]), &json!(0)));
    assert!(none["metadata"]["note"].is_string(), "an empty read is explained");
}

#[tokio::test]
async fn grep_over_many_contents_keeps_to_the_size_asked_for() {
    let srv = source("srv", &["log://many"]);
    let long = "x".repeat(300);
    let contents: Vec<Value> =
        (0..2000).map(|n| json!({ "uri": format!("log://{long}/{n}"), "text": "hit" })).collect();
    srv.give("log://many", json!({ "contents": contents }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    for (asked, most) in [(json!({}), 32 * 1024), (json!({ "maxSize": 1000 }), 1000)] {
        let mut asked = asked;
        asked["uri"] = json!("log://many");
        asked["grep"] = json!("hit");
        let object = bridge.ok(asked).await;
        let size = object["data"].to_string().len();
        assert!(size <= most + most / 8, "{size} of {most}");
        assert!(object["data"].as_array().is_some_and(|parts| !parts.is_empty()));
        assert_eq!(object["metadata"]["matched_lines"], 2000);
        assert_eq!(object["metadata"]["truncated"], true);
    }
}

#[tokio::test]
async fn json_that_nobody_gave_a_type_has_one() {
    let srv = source("srv", &[]);
    srv.add_entry(&json!({ "uri": "doc://a", "name": "a" }));
    srv.give("doc://a", r#"{"contents":[{"uri":"doc://a","text":"{\"a\":1}"}]}"#);
    let object = Bridge::over(&[&srv]).await.ok(json!({ "uri": "doc://a" })).await;
    assert_eq!(
        (&object["data"], &object["mime_type"]),
        (&json!({"a":1}), &json!("application/json"))
    );
}

#[tokio::test]
async fn a_long_text_is_not_called_json_because_it_is_asked_for_as_such() {
    let srv = source("srv", &["doc://long", "doc://json"]);
    srv.give_text("doc://long", "text/plain", &"not json at all\n".repeat(5000));
    let json = format!("[{}1]", "1,".repeat(40_000));
    srv.give_text("doc://json", "text/plain", &json);
    let bridge = Bridge::over(&[&srv]).await;
    bridge.failure(json!({ "uri": "doc://long", "format": "json" })).await;
    let part = bridge.ok(json!({ "uri": "doc://json", "format": "json" })).await;
    assert_eq!(part["metadata"]["truncated"], true);
}

#[tokio::test]
async fn grep_gives_matching_lines_with_numbers_of_every_text() {
    let srv = source("srv", &["log://a", "log://many"]);
    srv.give_text("log://a", "text/plain", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    let contents = json!([{"uri": "log://1", "text": "a\nfive"}, {"uri": "log://2", "blob": "AAEC"}, {"uri": "log://3", "text": "b"}]);
    srv.give("log://many", json!({ "contents": contents }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    let object = bridge.ok(json!({ "uri": "log://a", "grep": "^f" })).await;
    assert_eq!(object["data"], "2-two\n3-three\n4:four\n5:five\n6-six\n7-seven\n");
    assert_eq!((&object["metadata"]["matched_lines"], &object["size"]), (&json!(2), &json!(34)));
    let several = bridge.ok(json!({ "uri": "log://many", "grep": "five" })).await;
    assert_eq!(several["data"].as_array().unwrap().len(), 1, "{several}");
    assert_eq!(several["metadata"]["matched_lines"], 1);
    let cut = bridge.ok(json!({ "uri": "log://a", "grep": "e", "maxSize": 12 })).await;
    assert_eq!(cut["metadata"]["truncated"], true, "{cut}");
    assert!(cut["metadata"]["note"].is_string());
    for (pattern, says) in [("(", "regular expression"), (&"x".repeat(2000)[..], "1024")] {
        let failure = bridge.failure(json!({ "uri": "log://a", "grep": pattern })).await;
        assert_eq!(
            (&failure["error"], &failure["field"]),
            (&json!("InvalidArguments"), &json!("grep"))
        );
        assert!(text_of(&failure["message"]).contains(says), "{failure}");
    }
    let failure = bridge.failure(json!({ "uri": "log://a", "cursor": "o1" })).await;
    assert_eq!(
        (&failure["error"], &failure["field"]),
        (&json!("InvalidArguments"), &json!("cursor"))
    );
    let failure = bridge.failure(json!({ "uri": "log://a", "grep": "e", "offset": 3 })).await;
    assert_eq!(failure["field"], "offset");
}

#[tokio::test]
async fn arguments_may_be_spelt_in_snake_case_and_empty_ones_mean_nothing() {
    let srv = source("srv", &["docs://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    let data = bridge.data(json!({ "uri": "docs://a", "max_size": 3 })).await;
    assert_eq!(data, "srv");
    let arguments = json!({
        "uri": "docs://a", "server": "", "grep": "", "cursor": "", "format": "auto", "offset": 0, "maxSize": 32768.0,
    });
    assert_eq!(bridge.data(arguments).await, "srv|docs://a");
    let failure = bridge.failure(json!({ "url": "docs://a" })).await;
    assert_eq!(failure["error"], "InvalidArguments");
    assert!(text_of(&failure["message"]).contains("did you mean `uri`"), "{failure}");
}

#[tokio::test]
async fn a_slash_may_stand_for_the_sign_of_a_scheme_where_one_resource_fits() {
    let srv = source("srv", &["secret://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    assert_eq!(bridge.ok(json!({ "uri": "info/health" })).await["uri"], "info://health");
    assert_eq!(bridge.ok(json!({ "uri": "secret/a", "server": "srv" })).await["uri"], "secret://a");
    bridge.failure(json!({ "uri": "info/nothing" })).await;
    // What is hidden is not even spelt.
    bridge.allow(&[("secret://*", "admin", false)]);
    let hidden = bridge.failure(json!({ "uri": "secret/a" })).await.to_string();
    let absent = bridge.failure(json!({ "uri": "secret/b" })).await.to_string();
    assert_eq!(hidden.replace("secret/a", "secret/b"), absent);
}

#[tokio::test]
async fn t18_every_answer_carries_a_mark_that_no_content_can_know() {
    let srv = source("srv", &["docs://a"]);
    let bridge = Bridge::over(&[&srv]).await;
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5 {
        let result = bridge.result(&nobody(), json!({ "uri": "docs://a" })).await;
        let nonce = text_of(&result["structuredContent"]["metadata"]["nonce"]).to_owned();
        let frame = text_of(&result["content"].as_array().unwrap().last().unwrap()["text"]);
        assert!(frame.contains(&nonce) && frame.contains("\"srv\""), "{frame}");
        assert!(seen.insert(nonce), "a mark came twice");
    }
}

#[tokio::test]
async fn a_server_may_be_named_and_settles_a_collision() {
    let (a, b) = (source("a", &["x://1", "x://a"]), source("b", &["x://1"]));
    let bridge = Bridge::over(&[&a, &b]).await;
    assert_eq!(bridge.data(json!({ "uri": "x://1", "server": "b" })).await, "b|x://1");
    assert_eq!(bridge.data(json!({ "uri": "a+x://1" })).await, "a|x://1");
    assert_eq!(bridge.data(json!({ "uri": "a+x://1", "server": "a" })).await, "a|x://1");
    assert_eq!(bridge.ok(json!({ "uri": "x://a", "server": "a" })).await["uri"], "x://a");
    // A wrong name is a hint that does not help, and no error of its own.
    let failure = bridge.failure(json!({ "uri": "x://1", "server": "c" })).await;
    assert_eq!(failure["error"], "AmbiguousURI", "{failure}");
    assert!(suggests(&failure, "There is no server `c`; there are"), "{failure}");
    let read = bridge.ok(json!({ "uri": "x://a", "server": "aa" })).await;
    assert_eq!(read["data"], "a|x://a");
    let note = text_of(&read["metadata"]["note"]);
    assert!(note.contains("There is no server `aa`") && note.contains("`a`"), "{note}");
}

#[tokio::test]
async fn a_resource_is_called_by_its_title() {
    let srv = source("srv", &[]);
    srv.add_entry(&json!({ "uri": "x://a", "name": "a_file", "title": "The plan" }));
    srv.add_entry(&json!({ "uri": "x://b", "name": "b_file", "title": " " }));
    let bridge = Bridge::over(&[&srv]).await;
    for (uri, name) in [("x://a", "The plan"), ("srv+x://a", "The plan"), ("x://b", "b_file")] {
        assert_eq!(bridge.ok(json!({ "uri": uri })).await["resource_name"], name, "{uri}");
    }
}

#[tokio::test]
async fn json_that_is_served_as_plain_text_is_json() {
    let srv = source("srv", &["x://object", "x://list", "x://log", "x://number", "x://failed"]);
    srv.give_text("x://object", "text/plain", "\n{\"a\": [1, 2]}\n");
    srv.give_text("x://list", "text/plain; charset=utf-8", "[1, {\"b\": null}]");
    srv.give_text("x://log", "text/plain", "[INFO] started\n{not json}");
    srv.give_text("x://number", "text/plain", "42");
    srv.give_text("x://failed", "text/plain", "{\"success\": false, \"error\": \"no\"}");
    let bridge = Bridge::over(&[&srv]).await;
    assert_eq!(bridge.data(json!({ "uri": "x://object" })).await, json!({ "a": [1, 2] }));
    assert_eq!(bridge.data(json!({ "uri": "x://list" })).await, json!([1, { "b": null }]));
    assert_eq!(bridge.data(json!({ "uri": "x://log" })).await, "[INFO] started\n{not json}");
    assert_eq!(bridge.data(json!({ "uri": "x://number" })).await, "42");
    let failed = bridge.ok(json!({ "uri": "x://failed" })).await;
    assert_eq!(failed["metadata"]["reported_failure"], true, "{failed}");
    let text = bridge.data(json!({ "uri": "x://object", "format": "text" })).await;
    assert_eq!(text, "\n{\"a\": [1, 2]}\n", "as text it stays as it is");
    let cut = bridge.ok(json!({ "uri": "x://log", "maxSize": 6 })).await;
    assert!(cut["metadata"].get("note").is_none(), "a log is no part of a JSON: {cut}");
}

#[tokio::test]
async fn a_server_that_does_not_have_the_uri_is_a_hint_that_helps_nothing() {
    let a = FakeSource::new("a", &["doc://one"]).with_templates(&["at://{id}"]);
    let b = FakeSource::new("b", &["b://two"]).with_templates(&["bt://{id}"]);
    let bridge = Bridge::over(&[&Arc::new(a), &Arc::new(b)]).await;
    for (uri, wrong, data) in [
        ("doc://one", "b", "a|doc://one"),
        ("a+doc://one", "b", "a|doc://one"),
        ("bt://5", "a", "b|bt://5"),
        // One server alone uses the scheme.
        ("doc://unlisted", "b", "a|doc://unlisted"),
    ] {
        let read = bridge.ok(json!({ "uri": uri, "server": wrong })).await;
        assert_eq!(read["data"], data, "{uri}");
        let note = text_of(&read["metadata"]["note"]);
        assert!(note.contains(&format!("`{wrong}` does not have it")), "{note}");
    }
    for uri in ["info://health", "info/health"] {
        let asked = json!({ "uri": uri, "server": "b" });
        let object = bridge.object_for(&nobody(), asked).await;
        assert_ne!(object["server"], "b", "{object}");
        assert!(!object.to_string().contains("b+"), "{object}");
    }
    let own = bridge.ok(json!({ "uri": "b://unlisted", "server": "b" })).await;
    assert_eq!(own["data"], "b|b://unlisted");
    assert_eq!(own["metadata"].get("note"), None, "{own}");
}

#[tokio::test]
async fn a_wrong_server_tells_nothing_of_what_is_hidden() {
    let (a, b) = (source("a", &["secret://key", "doc://one"]), source("b", &["b://two"]));
    let bridge = Bridge::over(&[&a, &b]).await;
    bridge.allow(&[("a+secret://*", "admin", false)]);
    for uri in ["secret://key", "secret://other", "other://key"] {
        let object = bridge.object_for(&nobody(), json!({ "uri": uri, "server": "b" })).await;
        assert_eq!(object["data"], format!("b|{uri}"), "{object}");
    }
}

#[tokio::test]
async fn a_listed_name_is_read_whatever_it_holds_and_however_it_is_named() {
    let odd = ["note://{odd}", "note://a\tb", "note://a b", "note://"];
    let low = FakeSource::new("low", &odd).with_templates(&["note://{id}"]);
    let bridge = Bridge::over(&[&Arc::new(low)]).await;
    for uri in odd {
        for arguments in [
            json!({ "uri": uri }),
            json!({ "uri": format!("low+{uri}") }),
            json!({ "uri": uri, "server": "low" }),
        ] {
            assert_eq!(bridge.data(arguments).await, format!("low|{uri}"));
        }
    }
}

#[tokio::test]
async fn a_type_is_told_on_one_line() {
    let srv = source("srv", &["docs://a"]);
    srv.give_text("docs://a", "text/plain\n", "hello");
    let bridge = Bridge::over(&[&srv]).await;
    assert_eq!(bridge.ok(json!({ "uri": "docs://a" })).await["mime_type"], "text/plain");
}
