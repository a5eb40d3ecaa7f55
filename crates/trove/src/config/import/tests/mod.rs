//! Other clients' files, as they write them.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use tempfile::TempDir;
use trove_mcp::upstream::{Reach, Scope, Text, UpstreamConfig};

use super::super::{
    HostScope, Loaded, Overrides, Request, load,
    tests::{Env, dedent, shown},
};

mod bad;
mod shapes;

/// Checks what a client's file gives: the client, its servers with everything expanded, and the
/// problems. `DIR` is the folder where Trove was started; beside the file lies a `token`.
#[track_caller]
fn check(path: &str, text: &str, expect: &str) {
    let (folder, loaded) = load_text(path, &dedent(text));
    let dir = folder.path().to_str().unwrap();
    let scope = HostScope::new(env(), folder.path().to_owned());
    let mut got = loaded.client.map(|client| client.to_string()).unwrap_or("no client".into());
    for server in &loaded.config.upstreams {
        let _ = write!(got, "\n{}", line(server, &scope));
    }
    if !loaded.problems.is_empty() {
        let _ = write!(got, "\n{}", shown(&loaded.problems));
    }
    assert_eq!(got.replace(dir, "DIR"), dedent(expect));
    assert_eq!(loaded.is_usable(), loaded.client.is_some());
}

fn load_text(path: &str, text: &str) -> (TempDir, Loaded) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text.replace("DIR", folder.path().to_str().unwrap())).unwrap();
    fs::write(file.with_file_name("token"), "t0ken\n").unwrap();
    let (explicit, cwd) = (Some(file), folder.path().to_owned());
    let request = Request { explicit, cwd, env: &env(), flags: Overrides::default() };
    let loaded = load(&request);
    (folder, loaded)
}

fn env() -> Env {
    Env::default().with("HOME", "/home/ann").with("KEY", "k3y")
}

fn line(server: &UpstreamConfig, scope: &dyn Scope) -> String {
    let value = |text: &Text| text.expand(scope).unwrap_or_else(|error| format!("<{error}>"));
    let values = |map: &BTreeMap<String, Text>| -> String {
        map.iter().map(|(name, text)| format!(" {name}={}", value(text))).collect()
    };
    let reach = match &server.reach {
        Reach::Stdio { command, args, env, cwd } => {
            let args: String = args.iter().map(|arg| format!(" {}", value(arg))).collect();
            let cwd = cwd.as_deref().map(Path::display).map(|cwd| format!(" in {cwd}"));
            format!("{}{args}{}{}", value(command), values(env), cwd.unwrap_or_default())
        }
        Reach::Http(remote) => format!("http {}{}", value(&remote.url), values(&remote.headers)),
        Reach::Sse(remote) => format!("sse {}{}", value(&remote.url), values(&remote.headers)),
    };
    format!("{}: {reach} ({} ms)", server.id, server.timeout.as_millis())
}
