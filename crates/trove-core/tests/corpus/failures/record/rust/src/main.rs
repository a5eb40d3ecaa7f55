//! Records how Rust's clients and its standard library word their failures.
//!
//! Its argument is what `python failing.py` printed. Each line it writes is `[label, by, said]`.

use std::{error::Error, fmt::Display, io, time::Duration};

use serde_json::{Value, json};

fn keep(label: &str, by: &str, said: impl Display) {
    println!("{}", json!([label, format!("Rust, {by}"), said.to_string()]));
}

/// The error with all that caused it, as `anyhow` shows it in one line.
fn chain(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said.push_str(&format!(": {error}"));
        cause = error.source();
    }
    said
}

fn expect<T>(label: &str, by: &str, outcome: Result<T, impl Error + 'static>) {
    match outcome {
        Ok(_) => eprintln!("no failure: {by} {label}"),
        Err(error) => keep(label, by, chain(&error)),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let given: Value = serde_json::from_str(&std::env::args().nth(1).expect("the doors")).expect("JSON");
    let door = |name: &str| given["doors"][name].as_str().expect("a door").to_owned();
    let client = reqwest::Client::builder().timeout(Duration::from_millis(400)).build().expect("a client");
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(Duration::from_millis(400))).build().into();
    for name in ["closed", "reset", "empty", "hang"] {
        let url = format!("http://{}/notes", door(name));
        expect("passing", "reqwest", client.get(&url).send().await);
        expect("passing", "ureq", agent.get(&url).call());
    }
    for (url, label) in [
        (format!("https://{}", door("tls")), "own-fault"),
        (format!("http://{}", door("html")), "own-fault"),
        (format!("http://{}/loop/", door("http")), "own-fault"),
        ("http://notes.invalid/".to_owned(), "passing"),
        ("notes/17".to_owned(), "bad-argument"),
    ] {
        expect(label, "reqwest", client.get(&url).send().await);
        expect(label, "ureq", agent.get(&url).call());
    }
    for (status, label) in [
        (400, "bad-argument"),
        (401, "who-are-you"),
        (403, "not-allowed"),
        (404, "absent"),
        (429, "passing"),
        (500, "own-fault"),
        (503, "passing"),
    ] {
        let url = format!("http://{}/n/{status}/notes", door("http"));
        expect(label, "reqwest", client.get(&url).send().await.and_then(|answer| answer.error_for_status()));
        expect(label, "ureq", agent.get(&url).call());
    }
    let page = client.get(format!("http://{}/s/html", door("http"))).send().await.expect("a page");
    expect("own-fault", "reqwest", page.json::<Value>().await);

    expect("absent", "std::fs", std::fs::read("/srv/notes/plan.md"));
    expect("absent", "std::fs", std::fs::read_dir("/srv/notes"));
    expect("own-fault", "std::process", std::process::Command::new("no-such-program").spawn());
    for (number, label) in [
        (1, "not-allowed"), (2, "absent"), (5, "own-fault"), (11, "passing"), (13, "not-allowed"), (16, "passing"),
        (22, "bad-argument"), (24, "passing"), (28, "own-fault"), (32, "passing"), (36, "bad-argument"),
        (101, "passing"), (103, "passing"), (104, "passing"), (110, "passing"), (111, "passing"), (113, "passing"),
    ] {
        keep(label, "std::io", io::Error::from_raw_os_error(number));
        if number % 3 == 0 {
            keep(label, "std::io", format!("{:?}", io::Error::from_raw_os_error(number)));
        }
    }
    for (kind, label) in [
        (io::ErrorKind::NotFound, "absent"),
        (io::ErrorKind::PermissionDenied, "not-allowed"),
        (io::ErrorKind::ConnectionReset, "passing"),
        (io::ErrorKind::TimedOut, "passing"),
        (io::ErrorKind::BrokenPipe, "passing"),
        (io::ErrorKind::StorageFull, "own-fault"),
        (io::ErrorKind::OutOfMemory, "own-fault"),
    ] {
        keep(label, "std::io", io::Error::from(kind));
    }
    let slow = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
    expect("passing", "tokio", slow);
    expect("bad-argument", "core", "abc".parse::<u32>());
    expect("bad-argument", "core", "".parse::<u32>());
    expect("bad-argument", "core", "maybe".parse::<bool>());
    expect("bad-argument", "core", "1.2.3".parse::<f64>());
    expect("bad-argument", "core", "x".parse::<std::net::IpAddr>());
    expect("bad-argument", "url", url::Url::parse("notes"));
    expect("own-fault", "serde_json", serde_json::from_str::<Value>("<html>"));
    expect("own-fault", "serde_json", serde_json::from_str::<Value>("{\"a\":"));
    expect("own-fault", "core", String::from_utf8(vec![0xff, 0xfe]));
}
