//! Documents people have, as text: for a model, for search, for programs and for the page, from
//! every kind of server. A native read gives their bytes.

use std::{fs, path::Path, sync::Arc};

use serde_json::{Value, json};

use crate::kit::client::Client;
use crate::kit::{Folder, Trove, until};
use crate::web::api;

/// Each document, one of its places, and a phrase that stands there.
const DOCUMENTS: [(&str, u64, &str, &str); 13] = [
    ("report.pdf", 2, "## page 2", "On the second page the walrus sleeps"),
    ("browser.pdf", 1, "## page 1", "files its affidavits on stilts"),
    ("letter.docx", 1, "## section 1: Letter to the beavers", "flooded the accordion factory"),
    ("notes.odt", 1, "## section 1: Morning", "The badger inspected every turnip twice."),
    ("plan.pptx", 1, "## slide 1: Plan", "Borrow a lighthouse"),
    ("talk.odp", 1, "## slide 1: Moths", "Moths prefer the porcelain lamp"),
    ("budget.xlsx", 1, "## sheet 1: Costs", "gondola varnish\t2026-03-15\t12.5"),
    ("stock.ods", 1, "## sheet 1: Cellar", "pickled quince\t31"),
    ("novel.epub", 1, "## chapter 1: Chapter One", "A tram full of oboes left the depot."),
    ("page.html", 1, "## section 1: Hives", "A bee repaired the cuckoo clock."),
    ("study.ipynb", 1, "## cell 1: Tides", "The estuary hums at noon."),
    ("mail.eml", 1, "# Grüße vom Leuchtturm", "The foghorn naïvely swallowed a pelican."),
    ("photo.jpg", 1, "", "A cormorant on the harbour crane"),
];

fn document(name: &str) -> Vec<u8> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trove-papers/tests/files");
    fs::read(files.join(name)).expect("the document is there")
}

/// A machine with a folder that holds these files.
fn with_files(files: &[(&str, Vec<u8>)]) -> Arc<Folder> {
    let folder = Folder::with("[code]\nenabled = true\n[folders.docs]\npath = \"docs\"\n");
    folder.put("docs/readme.md", "# Papers\n");
    for (name, bytes) in files {
        fs::write(folder.path().join("docs").join(name), bytes).expect("it can be written");
    }
    folder
}

async fn serving(files: &[(&str, Vec<u8>)]) -> Trove {
    let trove = Trove::start_in(&with_files(files)).await;
    trove.ready(&["docs"]).await;
    trove
}

fn uri(trove: &Trove, name: &str) -> String {
    let root = trove.folder.path().canonicalize().expect("the folder is there");
    format!("file://{}/docs/{name}", root.display())
}

/// The answer of the bridge to a model.
async fn given(client: &Client, arguments: Value) -> Value {
    client.call("get_resource", arguments).await["structuredContent"].clone()
}

/// The text of a native read as a client has it, decoded from base64 where it is bytes.
fn native(read: &Value) -> Vec<u8> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let content = &read["contents"][0];
    match (content["blob"].as_str(), content["text"].as_str()) {
        (Some(blob), _) => STANDARD.decode(blob).expect("it is base64"),
        (None, Some(text)) => text.as_bytes().to_vec(),
        (None, None) => panic!("neither text nor bytes: {read}"),
    }
}

async fn find(trove: &Trove, phrase: &str, uri: &str) {
    let folder = &trove.folder;
    until(phrase, async || {
        let ran = folder.run(&["find", "--json", phrase]).await;
        ran.json()["resources"][0]["uri"] == uri
    })
    .await;
}

#[tokio::test]
async fn each_kind_of_document_is_read_as_text_by_its_places_and_found_by_its_words() {
    let files: Vec<(&str, Vec<u8>)> =
        DOCUMENTS.iter().map(|(name, ..)| (*name, document(name))).collect();
    let trove = serving(&files).await;
    let client = trove.any_client().await;
    for (name, page, place, phrase) in DOCUMENTS {
        let uri = uri(&trove, name);
        let format = if name == "photo.jpg" { "text" } else { "auto" };
        let whole = given(&client, json!({ "uri": uri, "format": format })).await;
        let text = whole["data"].as_str().unwrap_or_default();
        assert!(text.contains(place) && text.contains(phrase), "{name}: {whole}");
        assert_eq!(whole["mime_type"], "text/markdown", "{name}");
        let note = whole["metadata"]["note"].as_str().unwrap_or_default();
        assert!(note.starts_with("text made of ") && note.contains("`format`"), "{name}: {note}");
        let part = given(&client, json!({ "uri": uri, "page": page })).await;
        let text = part["data"].as_str().unwrap_or_default();
        if name != "photo.jpg" {
            assert!(text.starts_with(place) && text.contains(phrase), "{name}: {part}");
        }
        // Somebody who asks for the resource itself gets its bytes.
        let bytes = native(&client.read(&uri).await.expect("it can be read"));
        assert_eq!(bytes, document(name), "{name}");
        let bytes = given(&client, json!({ "uri": uri, "format": "binary" })).await;
        assert_eq!(bytes["size"], document(name).len(), "{name}");
        find(&trove, phrase, &uri).await;
    }
    let report = uri(&trove, "report.pdf");
    let second = given(&client, json!({ "uri": report, "page": 2 })).await;
    assert!(!second["data"].to_string().contains("barnacled"), "{second}");
    let third = given(&client, json!({ "uri": report, "page": 3 })).await;
    assert!(third["data"].to_string().contains("this page is a picture"), "{third}");
    let beyond = given(&client, json!({ "uri": report, "page": 4 })).await;
    assert_eq!(beyond["message"], "the document has 3 pages, so there is no page 4", "{beyond}");
    let lines = given(&client, json!({ "uri": report, "grep": "walrus sleeps" })).await;
    assert_eq!(lines["metadata"]["matched_lines"], 1, "{lines}");
    let none = given(&client, json!({ "uri": uri(&trove, "readme.md"), "page": 1 })).await;
    assert_eq!(none["error"], "InvalidArguments", "{none}");
    let source = given(&client, json!({ "uri": uri(&trove, "page.html"), "format": "text" })).await;
    assert!(source["data"].to_string().contains("<i>cuckoo</i>"), "{source}");
    let photo = given(&client, json!({ "uri": uri(&trove, "photo.jpg") })).await;
    assert!(photo["metadata"]["note"].to_string().contains("cormorant"), "{photo}");
    let code = format!("read({report:?})[:9]");
    let ran = client.call("run_code", json!({ "code": code })).await["structuredContent"].clone();
    assert_eq!(ran["result"], "## page 1", "{ran}");
}

#[tokio::test]
async fn a_document_that_means_harm_is_refused_in_a_sentence_and_harms_nobody_else() {
    let letter = document("letter.docx");
    let half = letter[..letter.len() / 2].to_vec();
    let deep = format!("%PDF-1.4\n1 0 obj\n<< /Kids {} >>\n\u{1}", "[".repeat(500_000));
    let laughs = b"%PDF-1.4\n\x01\x02 nothing".to_vec();
    let files = [
        ("locked.pdf", document("locked.pdf"), "locked with a password"),
        ("half.docx", half, "damaged or cut off"),
        ("empty.pdf", Vec::new(), "it is empty"),
        ("deep.pdf", deep.into_bytes(), "cannot be read"),
        ("hollow.pdf", laughs, "no page can be found"),
        ("bomb.pdf", document("bomb.pdf"), "it takes more memory than a document may (384 MiB)"),
        ("not.xlsx", b"\x00\x01\x02\x03".to_vec(), "its bytes do not"),
    ];
    let bytes: Vec<(&str, Vec<u8>)> =
        files.iter().map(|(name, bytes, _)| (*name, bytes.clone())).collect();
    let mut all = bytes;
    // A document with the name of another is read for what it is.
    all.push(("wrong.docx", document("report.pdf")));
    let trove = serving(&all).await;
    let client = trove.any_client().await;
    for (name, bytes, why) in &files {
        let uri = uri(&trove, name);
        let answer = given(&client, json!({ "uri": uri })).await;
        assert_eq!(answer["success"], true, "{name}: {answer}");
        let note = answer["metadata"]["note"].as_str().unwrap_or_default();
        assert!(note.contains("cannot be read") && note.contains(why), "{name}: {answer}");
        let page = given(&client, json!({ "uri": uri, "page": 1 })).await;
        assert!(page["message"].as_str().is_some_and(|said| said.contains(why)), "{name}: {page}");
        let whole = client.read(&uri).await.expect("its bytes can be read");
        assert_eq!(&native(&whole), bytes, "{name}");
    }
    let wrong = given(&client, json!({ "uri": uri(&trove, "wrong.docx") })).await;
    assert!(wrong["data"].to_string().contains("Annual report of the walruses"), "{wrong}");
}

/// A server whose resources are blobs, some with a type that says nothing.
const SERVER: &str = r#"
import base64, json, sys
FILES = {"store://1": ("report.pdf", "application/pdf"), "store://2": ("letter.docx", None),
         "store://3": ("stock.ods", "application/octet-stream")}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        server = {"name": "store", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"resources": {}}, "serverInfo": server}
    elif method == "resources/list":
        result = {"resources": [{"uri": uri, "name": uri} for uri in FILES]}
    elif method == "resources/read" and params["uri"] in FILES:
        name, mime = FILES[params["uri"]]
        content = {"uri": params["uri"], "blob": base64.b64encode(open(name, "rb").read()).decode()}
        if mime:
            content["mimeType"] = mime
        result = {"contents": [content]}
    elif method == "ping":
        result = {}
    else:
        error = {"code": -32601, "message": "no such method"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

#[tokio::test]
async fn a_document_that_a_server_gives_as_bytes_is_read_like_one_of_a_folder() {
    let entry = "[servers.store]\ncommand = \"python3\"\nargs = [\"store.py\"]\ncwd = \".\"\nindex = \"content\"\n";
    let folder = Folder::with(entry);
    folder.put("store.py", SERVER);
    for name in ["report.pdf", "letter.docx", "stock.ods"] {
        fs::write(folder.path().join(name), document(name)).expect("it can be written");
    }
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["store"]).await;
    let client = trove.any_client().await;
    for (uri, phrase) in [
        ("store://1", "the walrus sleeps"),
        ("store://2", "flooded the accordion factory"),
        ("store://3", "pickled quince"),
    ] {
        let answer = given(&client, json!({ "uri": uri })).await;
        assert!(answer["data"].to_string().contains(phrase), "{answer}");
        find(&trove, phrase, uri).await;
    }
    let report = native(&client.read("store://1").await.expect("it can be read"));
    assert_eq!(report, document("report.pdf"));
    // A person at the page sees the text, and behind it the bytes.
    let page = api(&trove, "contents?uri=store://1").await;
    assert_eq!(page["parts"][0]["text"], true, "{page}");
    assert_eq!(page["parts"][1]["type"], "application/pdf", "{page}");
    assert_eq!(page["parts"][1]["size"], report.len(), "{page}");
}
