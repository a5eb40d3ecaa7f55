//! Ways out of the guide, and files that are none: nothing outside of it is given.

use super::*;

/// A guide with every kind of way out planted in it, and what must not be seen beside it.
async fn besieged() -> Guide {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in LANG {
        write(dir.path(), path, text);
    }
    write(dir.path(), "canary.md", "CANARY");
    write(dir.path(), "out/canary.md", "CANARY");
    let lang = dir.path().join("guide/lang");
    for (target, link) in [
        (dir.path().join("canary.md"), lang.join("absolute.md")),
        ("../../canary.md".into(), lang.join("relative.md")),
        (dir.path().join("out"), lang.join("folder")),
        ("/proc/self/environ".into(), lang.join("environ.md")),
        (dir.path().join("out"), dir.path().join("guide/category")),
        ("rust.md".into(), lang.join("inside.md")),
    ] {
        symlink(target, link).expect("a link");
    }
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, lang.join("pipe.md"), fifo, mode, 0).expect("a pipe");
    Guide::in_folder(dir, |_| {}, TestLedger::default()).await
}

#[tokio::test]
async fn t23_nothing_outside_of_the_guide_is_ever_given() {
    let guide = besieged().await;
    let all = guide.entries(List::Resources).await;
    assert!(
        all.iter()
            .all(|entry| !entry.to_string().contains("canary")
                && !entry.to_string().contains("pipe"))
    );
    for path in [
        "absolute.md",
        "relative.md",
        "folder/canary.md",
        "environ.md",
        "pipe.md",
        "..%2f..%2fcanary.md",
        "../../canary.md",
        "%2e%2e/%2e%2e/canary.md",
        "%252e%252e%252fcanary.md",
        "..%5c..%5ccanary.md",
        "%2Fetc%2Fpasswd",
        "/etc/passwd",
        "rust.md%00.png",
        "//rust.md",
        "folder",
        "../lang/rust.md",
    ] {
        for kind in ["document", "category"] {
            let uri = format!("guide://{kind}/lang/{path}");
            assert!(guide.result(&uri).await.is_err(), "{uri}");
        }
    }
    for name in ["..", "%2e%2e", ".", "category", "..%2fout", "%2f"] {
        assert!(guide.result(&format!("guide://category/{name}")).await.is_err(), "{name}");
    }
    for text in ["guide://category/lang", "guide://category/lang/**", "guide://category/lang/*"] {
        assert!(!guide.read(text).await.unwrap().contains("CANARY"));
    }
    assert_eq!(guide.read("guide://document/lang/inside.md").await.unwrap(), "# Rust\nborrow\n");
    let told = guide.knowledge.problems().await;
    assert!(
        told.iter().any(|problem| problem.starts_with("lang/relative.md: it leads out")),
        "{told:?}"
    );
}

#[tokio::test]
async fn t23_odd_files_are_served_as_well_as_can_be_or_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "guide/a/ok.md", "ok");
    fs::write(dir.path().join("guide/a/latin.md"), b"# Caf\xe9 cr\xe8me br\xfbl\xe9e\n").unwrap();
    fs::write(dir.path().join("guide/a/bin.dat"), b"\xff\x00\xfe").unwrap();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    fs::write(dir.path().join("guide/a/png.md"), png).unwrap();
    fs::write(dir.path().join("guide/a/png.json"), png).unwrap();
    write(dir.path(), "guide/a/bad.md", "---\n: [\n---\nbody");
    fs::File::create(dir.path().join("guide/a/huge.md")).unwrap().set_len(5 << 30).unwrap();
    let guide = Guide::in_folder(dir, |_| {}, TestLedger::default()).await;
    let latin = guide.content("guide://document/a/latin.md").await;
    assert_eq!(latin["text"], "# Café crème brûlée\n");
    assert!(latin["_meta"]["trove/note"].is_string());
    assert_eq!(guide.content("guide://document/a/bin.dat").await["blob"], "/wD+");
    for name in ["png.md", "png.json"] {
        let png = guide.content(&format!("guide://document/a/{name}")).await;
        assert_eq!((&png["mimeType"], &png["text"]), (&json!("image/png"), &Value::Null), "{png}");
        assert_eq!(png["blob"], "iVBORw0KGgoAAAANSUhEUg==");
    }
    let parts = guide.read("guide://category/a").await.unwrap();
    let (_, part) = parts.split_once("Content-Type: image/png\r\n").expect("a part for it");
    assert!(part.contains("png.md\r\nContent-Transfer-Encoding: base64"), "{part}");
    assert_eq!(guide.read("guide://document/a/bad.md").await.unwrap(), "---\n: [\n---\nbody");
    let all = guide.entries(List::Resources).await;
    let huge = all.iter().find(|e| e["uri"] == "guide://document/a/huge.md").unwrap();
    assert_eq!(huge["size"], 5u64 << 30);
    let png = all.iter().find(|e| e["uri"] == "guide://document/a/png.md").unwrap();
    assert_eq!(png["mimeType"], "image/png");
    let error = guide.result("guide://document/a/huge.md").await.unwrap_err();
    assert!(
        matches!(error, AskError::Source { error: SourceError::TooLarge { .. }, .. }),
        "{error:?}"
    );
    assert!(
        guide
            .read("guide://category/a")
            .await
            .unwrap()
            .contains("huge.md is 5368709120 bytes long")
    );
    let told = guide.knowledge.problems().await;
    for name in ["a/bad.md", "a/huge.md: it is 5368709120 bytes long"] {
        assert!(told.iter().any(|problem| problem.contains(name)), "{name}: {told:?}");
    }
}
