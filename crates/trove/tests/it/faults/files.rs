//! Files that are replaced by what is no file, disks that do not answer, a configuration that
//! was emptied, a state folder that goes away.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::toy::{Toy, config, toy};
use crate::kit::{Folder, Trove, until};

const DOORS: [&str; 5] = ["serve", "--stdio", "--http", "127.0.0.1:0", "--no-auth"];

/// Mounts a disk that answers nothing, in a namespace of its own, and runs a command there.
const STALLED: &str = r#"
import ctypes, os, struct, sys, time
place, command = sys.argv[1], sys.argv[2:]
fuse = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"stalled", place.encode(), b"fuse", 0, options) != 0:
    sys.exit(f"no disk that stalls: {os.strerror(ctypes.get_errno())}")
if os.fork() != 0:
    os.close(fuse)
    os.execvp(command[0], command)
for fd in range(3):
    os.close(fd)
libc.prctl(1, 9)
# The kernel greets once; every later question is left unread.
request = os.read(fuse, 1 << 17)
_, _, unique = struct.unpack_from("<IIQ", request)
body = struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 0, 0, 65536, 1, 0, 0, 0) + b"\0" * 28
os.write(fuse, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
time.sleep(600)
"#;

fn server(id: &str) -> Toy {
    toy(id, &format!("--scheme {id} --resources 1"))
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe can be made");
}

/// Obstacles in the place of a file, made at a path.
type Obstacle = (&'static str, fn(&Path));
const OBSTACLES: [Obstacle; 3] = [
    ("a pipe", pipe),
    ("a folder", |path| std::fs::create_dir(path).expect("a folder can be made")),
    ("a device", |path| {
        std::os::unix::fs::symlink("/dev/zero", path).expect("a link can be made");
    }),
];

fn is_refused(line: &Value) -> bool {
    line["level"] == "WARN" && line["message"].to_string().contains("nothing was changed")
}

async fn is_configuration_failing(trove: &Trove) -> bool {
    let health = trove.health().await;
    let stores = health["stores"].as_array().cloned().unwrap_or_default();
    stores.iter().any(|store| store["name"] == "configuration" && store["state"] == "failing")
}

#[tokio::test]
async fn t55_a_configuration_that_is_no_file_changes_nothing_and_keeps_nobody() {
    let folder = Folder::with(&config(&[server("kept")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["kept"]).await;
    let client = trove.any_client().await;
    let pid = client.text("kept://pid").await;
    for (what, obstacle) in OBSTACLES {
        let from = trove.log.len();
        let made = folder.path().join("obstacle");
        obstacle(&made);
        std::fs::remove_file(folder.config()).expect("the file can be removed");
        std::fs::rename(&made, folder.config()).expect("it can be moved there");
        trove.log.first(from, is_refused, "the refusal in the log").await;
        let is_said = |line: &Value| line["message"].to_string().contains(what);
        trove.log.first(from, is_said, what).await;
        assert_eq!(client.text("kept://pid").await, pid, "{what}");
        assert!(is_configuration_failing(&trove).await, "{what}");
        if folder.config().is_dir() {
            std::fs::remove_dir(folder.config()).expect("it can be removed");
        }
        folder.write(&config(&[server("kept")]));
        until("it to be in force again", async || !is_configuration_failing(&trove).await).await;
    }
}

#[tokio::test]
async fn t55_a_configuration_that_is_no_file_at_the_start_is_an_error_at_once() {
    for (what, obstacle) in OBSTACLES {
        let folder = Folder::project("");
        std::fs::remove_file(folder.config()).expect("the file can be removed");
        obstacle(&folder.config());
        let ran = folder.run(&["config", "check"]).await;
        assert_eq!(ran.code, Some(2), "{what}: {ran:?}");
        let said = format!("{}{}", ran.text(), ran.stderr);
        assert!(said.contains(what), "{what}: {ran:?}");
    }
}

#[tokio::test]
async fn t55_state_files_that_are_no_files_keep_nobody() {
    for (what, obstacle) in OBSTACLES {
        let folder = Folder::with(&config(&[server("one")]));
        {
            let mut trove = Trove::start_in(&folder).await;
            trove.ready(&["one"]).await;
            trove.signal(Signal::TERM);
            trove.ended().await;
        }
        let mut replaced = Vec::new();
        replace_files(&folder.home(), obstacle, &mut replaced);
        for name in ["approvals.json", "credentials.json", "approvals.lock", "credentials.lock"] {
            if !folder.home().join(name).exists() {
                obstacle(&folder.home().join(name));
            }
        }
        assert!(replaced.len() > 5, "{replaced:?}");
        let mut trove = Trove::start_in(&folder).await;
        trove.ready(&["one"]).await;
        let client = trove.any_client().await;
        assert!(client.text("one://item/0").await.starts_with("one|"), "{what}");
        for (command, fine) in [("status", true), ("list", true), ("flag list", false)] {
            let args: Vec<&str> = command.split(' ').collect();
            let ran = folder.run(&args).await;
            assert!(!fine || ran.code.is_some(), "{what}: {command}: {ran:?}");
        }
        trove.signal(Signal::TERM);
        assert!(trove.ended().await.success(), "{what}");
    }
}

/// Puts the obstacle in the place of every file below a folder.
fn replace_files(folder: &Path, obstacle: fn(&Path), replaced: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let entry = entry.expect("it can be looked at");
        let path = entry.path();
        if entry.file_type().expect("it has a type").is_dir() {
            replace_files(&path, obstacle, replaced);
            continue;
        }
        std::fs::remove_file(&path).expect("it can be removed");
        obstacle(&path);
        replaced.push(path.display().to_string());
    }
}

/// Trove with a disk that does not answer at `stalled`.
async fn beside_a_stalled_disk(folder: &Arc<Folder>) -> Trove {
    let place = folder.path().join("stalled");
    std::fs::create_dir_all(&place).expect("a folder to mount on");
    let before: Vec<&std::ffi::OsStr> =
        ["unshare", "--map-root-user", "--mount", "python3", "-c", STALLED]
            .iter()
            .map(AsRef::as_ref)
            .collect();
    Trove::start_behind(folder, &before, place.as_os_str(), &DOORS).await
}

#[tokio::test]
async fn t56_a_configuration_on_a_disk_that_stalls_keeps_nobody_and_the_stop_works() {
    let folder = Folder::with(&config(&[server("one")]));
    let mut trove = beside_a_stalled_disk(&folder).await;
    trove.ready(&["one"]).await;
    let from = trove.log.len();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("stalled/trove.toml"), &link).expect("a link");
    std::fs::rename(link, folder.config()).expect("it can be moved there");
    let is_said = |line: &Value| line["message"].to_string().contains("does not answer");
    trove.log.first(from, is_said, "that the disk does not answer").await;
    // The look never ends, and every one of these is answered all the same.
    for _ in 0..20 {
        let client = trove.any_client().await;
        assert!(client.text("one://item/0").await.starts_with("one|"));
    }
    trove.signal(Signal::HUP);
    trove.signal(Signal::TERM);
    assert!(trove.ended().await.success());
}

#[tokio::test]
async fn t56_a_state_folder_on_a_disk_that_stalls_does_not_keep_the_stop() {
    let folder = Folder::with(&config(&[server("one")]));
    let place = folder.path().join("stalled");
    std::fs::create_dir_all(&place).expect("a folder to mount on");
    let own = folder.command();
    let mut command = tokio::process::Command::new("unshare");
    command.args(["--map-root-user", "--mount", "python3", "-c", STALLED]).arg(&place);
    command.arg(own.as_std().get_program()).args(DOORS);
    for (name, value) in own.as_std().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("TROVE_HOME", place.join("home")).env("TROVE_CONFIG", folder.config());
    command.current_dir(folder.path()).kill_on_drop(true).process_group(0);
    let mut child = command.spawn().expect("unshare can be started");
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).expect("it runs");
    // It hears signals once its work is done by another thread.
    until("the thread that works", async || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")));
        names.flatten().any(|name| name.trim() == "work")
    })
    .await;
    let pid = rustix::process::Pid::from_raw(pid).expect("it runs");
    rustix::process::kill_process(pid, Signal::TERM).expect("it can be signalled");
    let ended = crate::kit::within(crate::kit::LIMIT, "it to end", child.wait()).await;
    assert_eq!(ended.expect("it can be awaited").code(), Some(1), "a stop that was cut off");
}

#[tokio::test]
async fn t57_sighup_reads_the_configuration_again() {
    let folder = Folder::with(&config(&[server("one")]));
    let mut trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let from = trove.log.len();
    trove.signal(Signal::HUP);
    let is_taken = |line: &Value| line["message"] == "configuration taken over";
    trove.log.first(from, is_taken, "it to be read again").await;
    let client = trove.any_client().await;
    assert!(client.text("one://item/0").await.starts_with("one|"));
    trove.signal(Signal::TERM);
    assert!(trove.ended().await.success());
}

#[tokio::test]
async fn t57_an_emptied_configuration_stops_no_server_and_an_explicit_one_stops_all() {
    let folder = Folder::with(&config(&[server("one"), server("two")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one", "two"]).await;
    let client = trove.any_client().await;
    let pid = client.text("one://pid").await;
    for emptied in ["", "\n\n", "# nothing but words\n", "[http]\n"] {
        let from = trove.log.len();
        folder.write(emptied);
        trove.log.first(from, is_refused, "the refusal in the log").await;
        assert_eq!(client.text("one://pid").await, pid, "{emptied:?}");
        assert!(is_configuration_failing(&trove).await, "{emptied:?}");
    }
    folder.write("[servers]\n");
    until("all to be gone", async || client.read("one://pid").await.is_err()).await;
    assert!(!is_configuration_failing(&trove).await);
    folder.write(&config(&[server("one")]));
    trove.ready(&["one"]).await;
}

#[tokio::test]
async fn t57_the_last_server_is_removed_by_its_command() {
    let folder = Folder::with(&config(&[server("one")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let ran = folder.run(&["remove", "one"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let client = trove.any_client().await;
    until("it to be gone", async || client.read("one://pid").await.is_err()).await;
}

#[tokio::test]
async fn t58_a_state_folder_that_went_away_is_not_made_again_and_comes_back() {
    let folder = Folder::with(&config(&[server("one")]));
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let client = trove.any_client().await;
    let kept = folder.path().join("kept");
    std::fs::rename(folder.home(), &kept).expect("it can be moved away");
    let failing = async |name: &str| {
        let health = trove.health().await;
        let stores = health["stores"].as_array().cloned().unwrap_or_default();
        stores.iter().any(|store| store["name"] == name && store["state"] == "failing")
    };
    until("health to say that it is gone", async || failing("state").await).await;
    let flag = json!({ "name": "workflow", "value": true });
    let set = client.call("guide_set_project_flag", flag.clone()).await;
    assert_eq!(set["isError"], true, "nothing is acknowledged that is lost: {set}");
    assert!(client.text("one://item/0").await.starts_with("one|"));
    until("the audit to say so", async || failing("audit").await).await;
    folder.write(&config(&[server("one"), server("two")]));
    trove.ready(&["two"]).await;
    assert!(!folder.home().exists(), "no half of a state folder");
    std::fs::rename(&kept, folder.home()).expect("it can be put back");
    until("it to be used again", async || {
        !failing("state").await && !failing("audit").await && !failing("flags").await
    })
    .await;
    let audit = folder.home().join("audit.jsonl");
    until("what was asked meanwhile to be written", async || {
        std::fs::read_to_string(&audit).unwrap_or_default().contains("one://item/0")
    })
    .await;
}
