//! Windows put together are the whole, whatever the contents are.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Bridge, source, text_of};

/// Follows `next_offset` to the end and gives every answer.
async fn walk(bridge: &Bridge, mut arguments: Value) -> Vec<Value> {
    let mut answers = Vec::new();
    let mut last = None;
    loop {
        let object = bridge.ok(arguments.clone()).await;
        let next = object["metadata"]["next_offset"].as_u64();
        assert_eq!(object["metadata"]["truncated"], next.is_some());
        answers.push(object);
        let Some(next) = next else { return answers };
        assert!(last.is_none_or(|last| next > last), "no progress at {next}");
        last = Some(next);
        arguments["offset"] = json!(next);
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("as the test made it")
        .block_on(work)
}

/// One of several contents: a text, or bytes.
#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Bytes(Vec<u8>),
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => "\\PC{0,30}".prop_map(Part::Text),
        1 => Just(Part::Text(String::new())),
        // With a zero in it, so that nobody takes it for text.
        1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Part::Bytes([&[0], &bytes[..]].concat())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn t41_windows_of_a_text_put_together_are_the_text(text in "[a-zé世😀\n\"]{0,200}", max in 1_usize..50) {
        run(async {
            let srv = source("srv", &["x://a"]);
            srv.give_text("x://a", "text/plain", &text);
            let bridge = Bridge::over(&[&srv]).await;
            let answers = walk(&bridge, json!({ "uri": "x://a", "maxSize": max })).await;
            let joined: String = answers.iter().map(|answer| text_of(&answer["data"])).collect();
            assert_eq!(joined, text);
            assert!(answers.iter().all(|answer| answer["size"] == text.len()));
        });
    }

    #[test]
    fn t41_windows_of_bytes_put_together_are_the_bytes(bytes: Vec<u8>, max in 1_usize..50) {
        run(async {
            let srv = source("srv", &["x://a"]);
            let content = json!({ "uri": "x://a", "blob": STANDARD.encode(&bytes) });
            srv.give("x://a", json!({ "contents": [content] }).to_string());
            let bridge = Bridge::over(&[&srv]).await;
            let answers = walk(&bridge, json!({ "uri": "x://a", "maxSize": max, "format": "binary" })).await;
            let joined: String = answers.iter().map(|answer| text_of(&answer["data"])).collect();
            assert_eq!(STANDARD.decode(joined).unwrap(), bytes);
        });
    }

    #[test]
    fn windows_of_several_contents_put_together_are_all_of_them(
        parts in prop::collection::vec(any_part(), 2..7), max in 1_usize..120, is_binary: bool,
    ) {
        run(async {
            let srv = source("srv", &["x://a"]);
            let contents: Vec<Value> = parts.iter().enumerate().map(|(n, part)| match part {
                Part::Text(text) => json!({ "uri": format!("x:{n}"), "text": text }),
                Part::Bytes(bytes) => json!({ "uri": format!("x:{n}"), "blob": STANDARD.encode(bytes) }),
            }).collect();
            srv.give("x://a", json!({ "contents": contents }).to_string());
            let bridge = Bridge::over(&[&srv]).await;
            let format = if is_binary { "binary" } else { "auto" };
            let answers = walk(&bridge, json!({ "uri": "x://a", "maxSize": max, "format": format })).await;
            let mut joined = vec![String::new(); parts.len()];
            let mut described = vec![0; parts.len()];
            let mut order = Vec::new();
            for piece in answers.iter().flat_map(|answer| answer["data"].as_array().unwrap()) {
                let (_, name) = text_of(&piece["uri"]).rsplit_once(':').unwrap();
                let n: usize = name.parse().unwrap();
                order.push(n);
                match piece.get("text").or(piece.get("data")).unwrap() {
                    Value::String(text) => joined[n].push_str(text),
                    _ => described[n] += 1,
                }
            }
            assert!(order.is_sorted(), "{order:?}");
            order.dedup();
            assert_eq!(order.len(), parts.len(), "each content is shown: {order:?}");
            for (n, part) in parts.iter().enumerate() {
                match part {
                    Part::Text(text) if !is_binary => assert_eq!(&joined[n], text),
                    Part::Text(text) => assert_eq!(joined[n], STANDARD.encode(text)),
                    Part::Bytes(bytes) if is_binary => assert_eq!(joined[n], STANDARD.encode(bytes)),
                    Part::Bytes(_) => assert_eq!(described[n], 1, "described once"),
                }
            }
            let whole: usize = parts.iter().map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Bytes(bytes) => bytes.len(),
            }).sum();
            assert!(answers.iter().all(|answer| answer["size"] == whole));
        });
    }
}

#[tokio::test]
async fn an_answer_holds_32_kib_unless_asked_otherwise_and_never_more_than_the_settings_allow() {
    let srv = source("srv", &["x://text", "x://json", "x://many"]);
    let line = "0123456789\n";
    let text = line.repeat(200_000);
    srv.give_text("x://text", "text/plain", &text);
    srv.give_text("x://json", "application/json", &json!({ "long": text }).to_string());
    let contents: Vec<Value> =
        (0..20_000).map(|n| json!({ "uri": format!("x://{n}"), "text": "abc" })).collect();
    srv.give("x://many", json!({ "contents": contents }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    for uri in ["x://text", "x://json"] {
        let object = bridge.ok(json!({ "uri": uri })).await;
        assert_eq!(text_of(&object["data"]).len(), 32 * 1024, "{uri}");
        assert_eq!(object["metadata"]["next_offset"], 32 * 1024);
        let last = object["size"].as_u64().expect("a size") - 10;
        let last = bridge.ok(json!({ "uri": uri, "offset": last })).await;
        assert!(last["metadata"]["next_offset"].is_null(), "{uri}");
        assert_eq!(text_of(&last["metadata"]["sha256"]).len(), 64, "of the whole");
    }
    let many = bridge.ok(json!({ "uri": "x://many" })).await;
    assert!(
        many["data"].to_string().len() <= 32 * 1024 + 100 && many["metadata"]["truncated"] == true
    );
    let most = bridge.ok(json!({ "uri": "x://text", "maxSize": 50_000_000 })).await;
    assert_eq!(text_of(&most["data"]).len(), 1024 * 1024, "the ceiling of the settings");
    let failure = bridge.failure(json!({ "uri": "x://text", "maxSize": 0 })).await;
    assert_eq!(failure["field"], "maxSize");
}

#[tokio::test]
async fn the_listing_of_an_archive_stays_within_the_size() {
    // A tar of a hundred entries with names that grow when they are written out.
    let mut tar = Vec::new();
    for n in 0..100 {
        let mut header = [0_u8; 512];
        let name = format!("{n:03}{}", "\u{1}".repeat(90));
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(b"00000000000\0");
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend_from_slice(&header);
    }
    tar.extend_from_slice(&[0; 1024]);
    let srv = source("srv", &["x://tar"]);
    let content = json!({ "uri": "x://tar", "blob": STANDARD.encode(&tar) });
    srv.give("x://tar", json!({ "contents": [content] }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    let data = bridge.data(json!({ "uri": "x://tar" })).await;
    assert_eq!((&data["kind"], &data["entryCount"]), (&json!("archive"), &json!(100)));
    assert!(data.to_string().len() <= 32 * 1024, "{}", data.to_string().len());
    assert_eq!(data["truncated"], true);
}

#[tokio::test]
async fn a_long_type_takes_no_room_from_several_contents() {
    let srv = source("srv", &["x://a"]);
    let mime = "m".repeat(40_000);
    let contents =
        ["one", "two"].map(|text| json!({ "uri": "x://a", "mimeType": mime, "text": text }));
    srv.give("x://a", json!({ "contents": contents }).to_string());
    let bridge = Bridge::over(&[&srv]).await;
    let answers = walk(&bridge, json!({ "uri": "x://a" })).await;
    assert_eq!(answers.len(), 1, "{answers:?}");
}

#[tokio::test]
async fn json_that_nests_deeper_than_clients_follow_is_given_as_text() {
    let srv = source("srv", &["x://deep", "x://fine"]);
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    srv.give_text("x://deep", "application/json", &nested(101));
    srv.give_text("x://fine", "application/json", &nested(100));
    let bridge = Bridge::over(&[&srv]).await;
    let deep = bridge.ok(json!({ "uri": "x://deep" })).await;
    assert_eq!(deep["data"], nested(101), "{deep}");
    assert!(text_of(&deep["metadata"]["note"]).contains("deeper than 100 levels"), "{deep}");
    assert!(bridge.data(json!({ "uri": "x://fine" })).await.is_array());
}
