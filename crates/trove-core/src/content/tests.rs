//! Contents of many kinds, whole, cut and random.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(declared: Option<&str>, name: &str, bytes: &[u8], mime: &str, form: Form) {
    let kind = sniff(declared, name, bytes);
    assert_eq!((kind.mime.as_ref(), kind.form), (mime, form));
}

fn told(bytes: &[u8]) -> Value {
    summarise(bytes, &sniff(None, "", bytes))
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    file.extend(width.to_be_bytes());
    file.extend(height.to_be_bytes());
    file.extend(b"\x08\x06\0\0\0....");
    file
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut file = b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec();
    file.extend(b"\xFF\xFF\xC0\0\x11\x08");
    file.extend(height.to_be_bytes());
    file.extend(width.to_be_bytes());
    file.extend(b"\x03\x01\x22\0\x02\x11\x01\x03\x11\x01");
    file
}

fn gif(width: u16, height: u16) -> Vec<u8> {
    [&b"GIF89a"[..], &width.to_le_bytes(), &height.to_le_bytes(), b"\0\0\0"].concat()
}

fn webp(chunk: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&b"RIFF\x20\0\0\0WEBP"[..], chunk, b"\x10\0\0\0", body].concat()
}

/// A zip of stored, empty-bodied entries that claim `size` bytes each.
fn zip(names: &[&str], size: u32) -> Vec<u8> {
    let mut file = b"PK\x03\x04....".to_vec();
    let start = file.len() as u32;
    for name in names {
        file.extend(b"PK\x01\x02");
        file.extend([0; 20]);
        file.extend(size.to_le_bytes());
        file.extend((name.len() as u16).to_le_bytes());
        file.extend([0; 16]);
        file.extend(name.as_bytes());
    }
    let length = file.len() as u32 - start;
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend((names.len() as u16).to_le_bytes());
    file.extend((names.len() as u16).to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend(b"\x02\0hi");
    file
}

fn tar_entry(name: &str, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
    header[148..156].fill(b' ');
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
    header.extend(body);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

fn tar() -> Vec<u8> {
    let mut file = tar_entry("a.txt", b'0', b"hello");
    file.extend(tar_entry("x", b'x', b"26 path=a/much/longer/name\n"));
    file.extend(tar_entry("short", b'0', &[7; 600]));
    file.extend(tar_entry("././@LongLink", b'L', b"another/long/name\0"));
    file.extend(tar_entry("cut", b'0', b""));
    file.extend([0; 1024]);
    file
}

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n\
    2 0 obj <</Type/Pages /Kids [3 0 R 4 0 R] /Count 12>> endobj\n\
    3 0 obj <</Type /Page /Parent 2 0 R>> endobj\n5 0 obj <</Type /Outlines /Count 99>> endobj\n%%EOF";

fn fixtures() -> Vec<Vec<u8>> {
    vec![
        png(3, 4),
        jpeg(640, 480),
        gif(5, 6),
        webp(b"VP8X", &[0, 0, 0, 0, 99, 0, 0, 49, 0, 0]),
        webp(b"VP8 ", &[0, 0, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xF0, 0]),
        webp(b"VP8L", &[0x2F, 0x13, 0xC0, 0x02, 0, 0]),
        zip(&["a.txt", "dir/b.bin"], 10),
        tar(),
        PDF.to_vec(),
        b"\x1f\x8b\x08\x08\0\0\0\0\0\x03notes.txt\0.....\x39\x30\0\0".to_vec(),
    ]
}

#[test]
fn the_declared_type_is_believed_where_the_bytes_allow_it() {
    check(Some("text/markdown"), "x", b"# hi", "text/markdown", Form::Text);
    check(Some("Text/Plain; charset=utf-8"), "x.md", b"# hi", "text/plain", Form::Text);
    check(Some("text/plain"), "x", b"{\"a\":1}", "text/plain", Form::Text);
    check(Some("application/vnd.thing"), "x", b"words", "application/vnd.thing", Form::Text);
    check(Some("application/vnd.thing"), "x", b"\0\x01\x02", "application/vnd.thing", Form::Binary);
    check(Some("image/svg+xml"), "x", b"<svg/>", "image/svg+xml", Form::Text);
    let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    check(Some(docx), "x", &zip(&["a"], 1), docx, Form::Binary);
    check(Some("audio/ogg"), "x", b"OggS\0\x02\0\0", "audio/ogg", Form::Binary);
}

#[test]
fn a_type_that_the_bytes_contradict_is_not_believed() {
    let image = Form::Image(ImageFormat::Png);
    check(Some("text/plain"), "x.txt", &png(1, 1), "image/png", image);
    check(Some("image/jpg"), "x.jpg", &png(1, 1), "image/png", image);
    check(Some("image/png"), "x.png", b"not found", "text/plain", Form::Text);
    check(Some("application/pdf"), "x.html", b"<html >", "text/html", Form::Text);
    check(Some("text/plain"), "x", b"\0\x01\x02\x03", "application/octet-stream", Form::Binary);
    check(Some("image/png"), "x", PDF, "application/pdf", Form::Binary);
    check(Some("application/gzip"), "x", &zip(&["a"], 1), "application/zip", Form::Binary);
}

#[test]
fn a_missing_type_is_found() {
    check(None, "a.rs", b"fn main() {}", "text/x-rust", Form::Text);
    check(None, "a.ts", b"let a = 1", "text/x-typescript", Form::Text);
    check(None, "a", b" [1, 2]\n", "application/json", Form::Json);
    check(None, "a", b"[1, 2", "text/plain", Form::Text);
    check(None, "a", b"<!DOCTYPE html><p>", "text/html", Form::Text);
    check(None, "a", b"<?xml version='1.0'?><a/>", "text/xml", Form::Text);
    check(None, "a", b"", "text/plain", Form::Text);
    check(None, "a", PDF, "application/pdf", Form::Binary);
    check(None, "a.bin", b"BMW and MZ are letters too", "text/plain", Form::Text);
    check(Some("application/octet-stream"), "a", b"words", "text/plain", Form::Text);
    check(Some("nonsense"), "a.csv", b"a,b", "text/csv", Form::Text);
    check(None, "a.mp3", b"\xFF\xFB\x90\x44\0\0", "audio/mpeg", Form::Binary);
    check(None, "notes", b"caf\xE9 au lait", "text/plain", Form::Text);
    check(
        None,
        "a.docx",
        &zip(&["a"], 1),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        Form::Binary,
    );
}

#[test]
fn a_few_bytes_are_no_text_unless_somebody_says_so() {
    let few = b"\xe1\xf5\xc3\xd4";
    check(Some("application/octet-stream"), "x://a", few, "application/octet-stream", Form::Binary);
    check(None, "x://a", few, "application/octet-stream", Form::Binary);
    check(Some("text/plain"), "x://a", few, "text/plain", Form::Text);
    check(None, "x://a.txt", few, "text/plain", Form::Text);
    let many = "Заметки о погоде: снег, ветер, мороз и солнце.".repeat(3);
    let (many, _, _) = encoding_rs::WINDOWS_1251.encode(&many);
    check(None, "x://a", &many, "text/plain", Form::Text);
}

#[test]
fn json_is_what_says_so_and_is_so() {
    check(Some("application/json"), "", b"\"text\"", "application/json", Form::Json);
    check(Some("application/ld+json"), "", b"{}", "application/ld+json", Form::Json);
    check(Some("application/json"), "", b"\xEF\xBB\xBF{}", "application/json", Form::Json);
    check(Some("application/json"), "", b"{oops", "application/json", Form::Text);
    check(Some("application/x-ndjson"), "", b"{}", "application/x-ndjson", Form::Text);
    check(None, "a.json", b"{}", "application/json", Form::Json);
}

#[test]
fn the_charset_comes_from_the_mark_or_the_declared_type() {
    let charset = |declared, bytes: &[u8]| sniff(declared, "", bytes).charset;
    assert_eq!(charset(Some("text/plain; charset=\"Latin1\""), b"a"), Some("windows-1252"));
    assert_eq!(charset(Some("text/plain; charset=latin1"), b"\xFF\xFEa\0"), Some("UTF-16LE"));
    assert_eq!(charset(Some("text/plain"), b"a"), None);
    let wide = sniff(Some("text/plain; charset=utf-16le"), "", b"h\0i\0");
    assert!(wide.is_text());
    assert_eq!(decode_text(b"h\0i\0", wide.charset).text, "hi");
}

#[test]
fn every_summary_tells_size_and_digest() {
    let abc = told(b"\0abc");
    assert_eq!(abc["kind"], "binary");
    assert_eq!(abc["size"], 4);
    assert_eq!(abc["sha256"], "609f6e36d2405585188d5cfd761f407c7cc46a7d3f314c88270469dde315fcd1");
}

#[test]
fn an_image_tells_its_size() {
    let sizes: Vec<Value> = fixtures()[..6]
        .iter()
        .map(|file| {
            let told = told(file);
            assert_eq!(told["kind"], "image");
            json!([told["mimeType"], told["width"], told["height"]])
        })
        .collect();
    let expect = json!([
        ["image/png", 3, 4],
        ["image/jpeg", 640, 480],
        ["image/gif", 5, 6],
        ["image/webp", 100, 50],
        ["image/webp", 320, 240],
        ["image/webp", 20, 12],
    ]);
    assert_eq!(Value::Array(sizes), expect);
}

#[test]
fn an_archive_tells_what_it_holds() {
    let zipped = told(&zip(&["a.txt", "b\u{202e}c"], 10));
    assert_eq!(zipped["kind"], "archive");
    assert_eq!(zipped["entryCount"], 2);
    assert_eq!(zipped["totalSize"], 20);
    let entries = json!([{"name": "a.txt", "size": 10}, {"name": "b\\u{202e}c", "size": 10}]);
    assert_eq!(zipped["entries"], entries);
    assert_eq!(zipped.get("truncated"), None);

    let told_of_tar = told(&tar());
    let entries = json!([
        {"name": "a.txt", "size": 5},
        {"name": "a/much/longer/name", "size": 600},
        {"name": "another/long/name", "size": 0},
    ]);
    assert_eq!(told_of_tar["entries"], entries);
    assert_eq!(told_of_tar["kind"], "archive");

    let gz = told(&fixtures()[9]);
    assert_eq!((&gz["originalName"], &gz["originalSize"]), (&json!("notes.txt"), &json!(12345)));
}

#[test]
fn a_long_archive_is_counted_whole_and_listed_in_part() {
    let names = vec!["n"; 5000];
    let told = told(&zip(&names, u32::MAX - 1));
    assert_eq!(told["entryCount"], 5000);
    assert_eq!(told["entries"].as_array().map(Vec::len), Some(MAX_ARCHIVE_ENTRIES));
    assert_eq!(told["truncated"], true);
}

#[test]
fn a_pdf_tells_its_pages_if_they_can_be_seen() {
    assert_eq!(told(PDF)["pages"], 12);
    let without_tree = b"%PDF-1.4 1 0 obj <</Type/Page>> endobj 2 0 obj <</Type /Page/X 1>> endobj";
    assert_eq!(told(without_tree)["pages"], 2);
    assert_eq!(told(b"%PDF-1.7 \x01 compressed").get("pages"), None);
}

proptest! {
    #[test]
    fn a_cut_file_is_survived(which in 0_usize..10, part in 0.0..1.0_f64, tail: Vec<u8>) {
        let mut file = fixtures().swap_remove(which);
        file.truncate((file.len() as f64 * part) as usize);
        file.extend(tail);
        prop_assert!(told(&file).is_object());
    }

    #[test]
    fn a_damaged_file_is_survived(which in 0_usize..10, at: prop::sample::Index, bytes: [u8; 4]) {
        let mut file = fixtures().swap_remove(which);
        let at = at.index(file.len());
        for (slot, byte) in file[at..].iter_mut().zip(bytes) {
            *slot = byte;
        }
        prop_assert!(told(&file).is_object());
    }

    #[test]
    fn any_bytes_are_something(bytes: Vec<u8>, declared: Option<String>, name: String) {
        let kind = sniff(declared.as_deref(), &name, &bytes);
        prop_assert!(kind.mime.contains('/'));
        summarise(&bytes, &kind);
        decode_text(&bytes, declared.as_deref());
    }

    #[test]
    fn what_is_a_string_is_text(text in "[ -~\n\u{e9}\u{4e2d}]{0,300}") {
        prop_assume!(!text.starts_with("%PDF-"));
        prop_assert!(sniff(None, "", text.as_bytes()).is_text());
        let decoded = decode_text(text.as_bytes(), None);
        prop_assert_eq!(decoded.text, text.as_str());
    }
}

#[test]
fn t50_fuzz_types_and_summaries() {
    trove_fuzz::feed("content", |input| {
        let kind = sniff(None, "file", input);
        let _ = summarise(input, &kind);
        kind.mime
    });
}
