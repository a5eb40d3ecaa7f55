//! Disks that are full, read-only or damaged: contents in memory are served, and losses are said.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::toy::{config, toy};
use crate::kit::{Folder, Trove, until};

/// Trove whose state lies on a disk of its own, mounted with these options.
async fn on_disk(folder: &Arc<Folder>, options: &str) -> Trove {
    std::fs::create_dir_all(folder.home()).expect("a folder to mount on");
    let mount = format!("mount -t tmpfs -o {options} tmpfs \"$0\" && exec \"$@\"");
    let home = folder.home();
    let before: [&std::ffi::OsStr; 6] = [
        "unshare".as_ref(),
        "--map-root-user".as_ref(),
        "--mount".as_ref(),
        "sh".as_ref(),
        "-c".as_ref(),
        mount.as_ref(),
    ];
    let doors = ["serve", "--stdio", "--http", "127.0.0.1:0", "--no-auth"];
    Trove::start_behind(folder, &before, home.as_os_str(), &doors).await
}

fn servers(resources: usize) -> String {
    config(&[toy("one", &format!("--bare --resources {resources}")).set("index = \"content\"")])
}

/// Everything that needs no disk works.
async fn assert_serves(trove: &Trove, resources: usize) {
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    let listed = client.uris().await;
    let own = listed.iter().filter(|uri| uri.starts_with("toy://")).count();
    assert_eq!(own, resources);
    assert_eq!(client.text("toy://item/1").await, "one|toy://item/1|");
    until("the index to know a resource", async || {
        let found = client.call("discover_resources", json!({ "query": "item-1" })).await;
        found["structuredContent"].to_string().contains("toy://item/1")
    })
    .await;
}

async fn said(trove: &Trove, words: &str) -> Value {
    let is_said = |line: &Value| line.to_string().contains(words);
    trove.log.first(0, is_said, words).await.1.json.clone()
}

#[tokio::test]
async fn t35_a_read_only_state_folder_costs_memory_across_restarts_and_nothing_else() {
    let folder = Folder::with(&servers(20));
    let trove = on_disk(&folder, "ro").await;
    assert_serves(&trove, 20).await;
    said(&trove, "listing not kept for the next start").await;
    assert_eq!(store(&trove, "flags", "failing").await["status"], "degraded");
    assert_eq!(store(&trove, "index", "memory").await["status"], "degraded");
}

#[tokio::test]
async fn t35_a_full_disk_costs_memory_across_restarts_and_nothing_else() {
    let folder = Folder::with(&servers(3000));
    let trove = on_disk(&folder, "size=64k").await;
    assert_serves(&trove, 3000).await;
    said(&trove, "listing not kept for the next start").await;
    assert_eq!(store(&trove, "index", "memory").await["status"], "degraded");
    // And it ends as it should.
    let mut trove = trove;
    trove.signal(Signal::TERM);
    assert!(trove.ended().await.success());
}

#[tokio::test]
async fn t35_a_damaged_index_and_memory_are_made_anew() {
    let folder = Folder::with(&servers(30));
    {
        let mut trove = Trove::start_in(&folder).await;
        assert_serves(&trove, 30).await;
        for name in ["audit", "flags", "index"] {
            assert_eq!(store(&trove, name, "ok").await["status"], "ok");
        }
        trove.signal(Signal::TERM);
        assert!(trove.ended().await.success());
    }
    let mut damaged = 0;
    for file in files(&folder.home()) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = file.to_string_lossy();
        if path.contains("/index/") && !name.contains("lock") || path.contains("/catalogue/") {
            damage(&file);
            damaged += 1;
        }
    }
    assert!(damaged > 3, "{damaged} files");
    std::fs::write(folder.home().join("eras.json"), b"{\"one\":").expect("it can be written");
    let trove = Trove::start_in(&folder).await;
    assert_serves(&trove, 30).await;
    assert_eq!(store(&trove, "index", "rebuilt").await["status"], "ok", "it is whole again");
}

/// The lines of the audit log of a Trove in a namespace of its own; all must be whole.
fn audit_lines(trove: &Trove) -> Vec<Value> {
    let home = trove.folder.home();
    let inside =
        format!("/proc/{}/root{}/audit.jsonl", trove.pid().as_raw_nonzero(), home.display());
    let text = std::fs::read_to_string(inside).expect("the log is there");
    assert!(text.is_empty() || text.ends_with('\n'), "half a line: {:?}", text.lines().last());
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
}

#[tokio::test]
async fn t59_a_full_disk_leaves_no_half_line_and_what_waited_is_written_later() {
    let folder = Folder::with(&servers(20));
    let trove = on_disk(&folder, "size=4m").await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    client.text("toy://item/1").await;
    until("the first line", async || !audit_lines(&trove).is_empty()).await;
    let filler =
        format!("/proc/{}/root{}/filler", trove.pid().as_raw_nonzero(), folder.home().display());
    let mut file = std::fs::File::create(&filler).expect("a file on that disk");
    let _ = std::io::copy(&mut std::io::repeat(7), &mut file).expect_err("the disk is full");
    let failing = async || {
        let health = trove.health().await;
        let stores = health["stores"].as_array().cloned().unwrap_or_default();
        stores.iter().any(|store| store["name"] == "audit" && store["state"] == "failing")
    };
    let mut asked = 0;
    while !failing().await {
        for _ in 0..20 {
            client.text("toy://item/2").await;
            asked += 1;
        }
        assert!(asked < 20_000, "the disk never refused");
    }
    until("the part of a line to be taken off", async || {
        let home =
            format!("/proc/{}/root{}", trove.pid().as_raw_nonzero(), folder.home().display());
        let text = std::fs::read(format!("{home}/audit.jsonl")).unwrap_or_default();
        text.ends_with(b"\n")
    })
    .await;
    audit_lines(&trove);
    drop(file);
    std::fs::remove_file(&filler).expect("it can be removed");
    until("what waited to be written", async || {
        let lines = audit_lines(&trove);
        !failing().await
            && lines.iter().filter(|line| line["target"] == "toy://item/2").count() == asked
    })
    .await;
}

/// The loss that docs/security.md allows: the records of the last moment.
const MAX_LOST: usize = 8192;

#[tokio::test]
async fn t59_a_kill_loses_only_the_lines_of_the_last_moment() {
    let folder = Folder::with(&servers(20));
    let mut trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    let audit = folder.home().join("audit.jsonl");
    let of_reads = || -> Vec<Value> {
        let text = std::fs::read_to_string(&audit).unwrap_or_default();
        let whole = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        whole.filter(|line| line["target"].to_string().contains("toy://item/")).collect()
    };
    for n in 0..200 {
        client.text(&format!("toy://item/{}", n % 20)).await;
    }
    // Without being told to: a moment later they are in the file, and then no kill takes them.
    until("the first to be written", async || of_reads().len() >= 200).await;
    for n in 0..300 {
        client.text(&format!("toy://item/{}", n % 20)).await;
    }
    trove.signal(Signal::KILL);
    trove.ended().await;
    let kept = of_reads();
    assert!(kept.len() >= 200 && 500 - kept.len() <= MAX_LOST, "{}", kept.len());
    for (n, line) in kept.iter().enumerate() {
        let expected = if n < 200 { n % 20 } else { (n - 200) % 20 };
        assert_eq!(line["target"], format!("toy://item/{expected}"), "they are the first ones");
    }
    // Later lines stand behind whole lines.
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    trove.any_client().await.text("toy://item/7").await;
    until("the next line", async || of_reads().len() > kept.len()).await;
    let text = std::fs::read_to_string(&audit).expect("the log is there");
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
}

/// The entry of `info://health` once this store is in that state; it names no file.
async fn store(trove: &Trove, name: &str, state: &str) -> Value {
    let found = |health: &Value| {
        let stores = health["stores"].as_array().cloned().unwrap_or_default();
        stores.into_iter().find(|store| store["name"] == name).unwrap_or_default()
    };
    until(&format!("{name} to be {state}"), async || {
        found(&trove.health().await)["state"] == state
    })
    .await;
    let health = trove.health().await;
    let home = trove.folder.home();
    assert!(!health["stores"].to_string().contains(&*home.to_string_lossy()), "{health}");
    assert_eq!(found(&health)["problem"].is_null(), state == "ok", "{health}");
    health
}

/// Turns bytes round all over a file.
fn damage(file: &Path) {
    let size = std::fs::metadata(file).map_or(0, |data| data.len());
    let open = std::fs::File::options().write(true).read(true).open(file).expect("ours to damage");
    for at in (0..size).step_by(7) {
        let mut byte = [0];
        open.read_exact_at(&mut byte, at).expect("there is a byte");
        open.write_all_at(&[!byte[0]], at).expect("it can be written");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn t34_a_client_file_on_a_full_disk_stays_as_it_was() {
    let folder = Folder::with("");
    let user = folder.path().join("user");
    std::fs::create_dir_all(&user).expect("a folder");
    // As full as it gets with the file on it: nothing more can be written.
    let script = "mount -t tmpfs -o size=16k tmpfs \"$0\" && mkdir \"$0/.cursor\" && \
        printf '{\"mcpServers\":{}, \"kept\": true}' > \"$0/.cursor/mcp.json\" && \
        (head -c 99999 /dev/zero > \"$0/filler\" || true) 2>/dev/null; \
        \"$@\"; echo \"code $?\"; cat \"$0/.cursor/mcp.json\"; ls -A \"$0/.cursor\"";
    let mut command = tokio::process::Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]);
    command.arg(&user).arg(env!("CARGO_BIN_EXE_trove")).args(["install", "--client", "cursor"]);
    command.env("HOME", &user).env("TROVE_HOME", folder.home()).env_remove("XDG_CONFIG_HOME");
    let output = command.stdin(Stdio::null()).output().await.expect("unshare can be started");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("{\"mcpServers\":{}, \"kept\": true}"), "{out}\n{err}");
    assert!(!out.contains("code 0"), "{out}\n{err}");
    assert!(err.contains("No space left"), "{out}\n{err}");
    let left: Vec<&str> = out.lines().skip_while(|line| !line.contains("kept")).skip(1).collect();
    let named = out.rsplit('}').next().unwrap_or_default();
    assert_eq!(named.trim(), "mcp.json", "no draft is left: {left:?}");
}

#[tokio::test]
async fn t34_a_gateway_killed_at_any_moment_leaves_state_that_is_whole() {
    let folder = Folder::with(&servers(200));
    for round in 0..4u64 {
        let mut trove = Trove::start_in(&folder).await;
        if round == 3 {
            trove.ready(&["one"]).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(round * 90)).await;
        trove.signal(Signal::KILL);
        trove.ended().await;
    }
    let trove = Trove::start_in(&folder).await;
    assert_serves(&trove, 200).await;
}

/// The calls by which a disk is changed.
const CHANGES: [&str; 12] = [
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "fchmod",
    "ftruncate",
    "rename",
    "renameat2",
    "linkat",
    "unlink",
    "unlinkat",
];
const BEFORE: &str = "{\n  // mine\n  \"mcpServers\": { \"own\": { \"command\": \"x\" } }\n}\n";

/// Puts Trove into a client's file, killed at that call if it comes to it; gives the file and
/// whether all went well.
async fn install(folder: &Folder, killed_at: Option<(&str, usize)>) -> (String, bool) {
    let file = folder.user().join(".cursor/mcp.json");
    let _ = std::fs::remove_dir_all(folder.user());
    folder.put("user/.cursor/mcp.json", BEFORE);
    let own = folder.command();
    let mut command = tokio::process::Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    if let Some((call, count)) = killed_at {
        command.args(["-e", &format!("trace={call}")]);
        command.args(["-e", &format!("inject={call}:signal=KILL:when={count}")]);
    }
    command.arg(own.as_std().get_program()).args(["install", "--client", "cursor"]);
    for (name, value) in own.as_std().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(folder.path()).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.expect("strace can be started; it is needed here");
    (std::fs::read_to_string(file).expect("the file is there"), output.status.success())
}

#[tokio::test]
async fn t34_a_crash_at_each_single_write_leaves_the_old_file_or_the_new_one() {
    let folder = Folder::empty();
    let (new, is_done) = install(&folder, None).await;
    assert!(is_done && new.contains("// mine") && new.contains("trove"), "{new}");
    let (mut old_ones, mut new_ones) = (0, 0);
    for call in CHANGES {
        for count in 1.. {
            let (now, is_done) = install(&folder, Some((call, count))).await;
            if is_done {
                break;
            }
            assert!(now == BEFORE || now == new, "killed at {call} {count}: {now}");
            *(if now == BEFORE { &mut old_ones } else { &mut new_ones }) += 1;
        }
    }
    assert!(old_ones >= 10 && new_ones >= 1, "{old_ones} times old, {new_ones} times new");
}
