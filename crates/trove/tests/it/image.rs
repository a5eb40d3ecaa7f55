//! The image that `Dockerfile` describes, as far as it can be tried without building it. All its
//! files are there, and its command serves with its arguments.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::kit::{Folder, Trove};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every instruction with what follows it, lines that go on put together.
fn instructions() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("Dockerfile")).expect("the Dockerfile");
    let lines = text.replace("\\\n", " ");
    let lines = lines.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let parts = lines.map(|line| line.split_once(' ').expect("an instruction and its words"));
    parts.map(|(word, rest)| (word.to_owned(), rest.trim().to_owned())).collect()
}

fn all(word: &str) -> Vec<String> {
    let wanted = instructions().into_iter().filter(|(known, _)| known == word);
    wanted.map(|(_, rest)| rest).collect()
}

/// A list of words as they are started.
fn started(word: &str) -> Vec<String> {
    serde_json::from_str(&all(word)[0]).expect("a list of words")
}

#[test]
fn all_that_is_copied_is_there_and_let_through() {
    let ignored = std::fs::read_to_string(root().join(".dockerignore")).expect("what is ignored");
    let mut copied = Vec::new();
    for copy in all("COPY").iter().filter(|copy| !copy.starts_with("--from")) {
        let words: Vec<&str> = copy.split_whitespace().collect();
        copied.extend(words[..words.len() - 1].iter().map(|word| (*word).to_owned()));
    }
    assert!(copied.len() >= 5, "{copied:?}");
    for path in &copied {
        assert!(root().join(path).exists(), "{path}");
        assert!(ignored.lines().any(|line| line == format!("!{path}")), "{path} is ignored");
    }
    // All that the program is made of beside its crates lies in what is copied.
    let assets = std::fs::read_to_string(root().join("crates/trove/src/web/assets.rs"));
    assert!(assets.expect("the assets").contains("../../../../web/"));
    assert!(copied.contains(&"web".to_owned()) && copied.contains(&"Cargo.lock".to_owned()));
}

#[test]
fn it_is_built_with_the_toolchain_and_profile_of_the_project() {
    let toolchain =
        std::fs::read_to_string(root().join("rust-toolchain.toml")).expect("a toolchain");
    let build = &all("FROM")[0];
    let version = build.trim_start_matches("rust:").split('-').next().unwrap_or_default();
    assert!(toolchain.contains(&format!("channel = \"{version}.")), "{build}: {toolchain}");
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    assert!(manifest.contains("[profile.dist]") && all("RUN")[0].contains("--profile dist"));
    let program = &started("ENTRYPOINT")[0];
    let copied = all("COPY");
    let is_put =
        |copy: &String| copy.contains("/target/dist/trove") && copy.ends_with(program.as_str());
    assert!(copied.iter().any(is_put), "{copied:?}");
    // Both stages have the same C library.
    assert!(build.contains("-bookworm ") && all("FROM")[1].contains("debian:bookworm"));
}

#[tokio::test]
async fn what_it_starts_serves_the_configuration_and_guide_it_is_given() {
    let folder = Folder::empty();
    folder.put("config/trove/trove.toml", "[guide.collections.first]\nmembers = [\"lang\"]\n");
    folder.put("config/trove/guide/lang/rust.md", "# Rust\n");
    let place = |path: &str| folder.path().join(path.trim_start_matches('/')).display().to_string();
    let env = all("ENV");
    let env: Vec<(&str, String)> = env
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, path)| (name, place(path)))
        .collect();
    let env: Vec<(&str, &str)> = env.iter().map(|(name, path)| (*name, path.as_str())).collect();
    // Any port is as good here.
    let words: Vec<String> =
        started("CMD").into_iter().map(|word| word.replace(":7420", ":0")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let trove = Trove::start_as(&folder, &words, &env).await;
    let token = std::fs::read_to_string(folder.path().join("state/token")).expect("a token");
    let ask = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "it", "version": "1" },
        },
    });
    // From outside it is asked by the name and port of the machine it runs on.
    let url = trove.url.replace("0.0.0.0", "localhost");
    let post =
        reqwest::Client::new().post(&url).header("accept", "application/json, text/event-stream");
    let post = post.header("content-type", "application/json").bearer_auth(token.trim());
    let answer = post.body(ask.to_string()).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let greeting = answer.text().await.expect("text");
    assert!(greeting.contains("serverInfo"), "{greeting}");
    let mut command = folder.command();
    command.envs(env).args(["read", "guide://collection/first", "--json"]);
    let read = command.output().await.expect("trove runs");
    let read: Value = serde_json::from_slice(&read.stdout).expect("an object");
    assert_eq!(read["data"], "# Rust\n", "{read}");
}
