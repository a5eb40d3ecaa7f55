//! Several processes on one file, and one that is killed in the middle.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use super::*;

const FILE: &str = "TROVE_TEST_FLAGS_FILE";
const JOB: &str = "TROVE_TEST_FLAGS_JOB";

/// Starts this very program anew, to do one job on a file.
fn child(path: &Path, job: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "flags::tests::processes::this_is_the_child", "--nocapture"])
        .env(FILE, path)
        .env(JOB, job)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does its job if it is the child of another test.
#[tokio::test(flavor = "multi_thread")]
async fn this_is_the_child() {
    let (Ok(file), Ok(job)) = (std::env::var(FILE), std::env::var(JOB)) else { return };
    let flags = Arc::new(open(Path::new(&file)));
    if job == "set beta" {
        flags.set_global("beta", &json!("from the child")).await.unwrap();
        return flags.close().await;
    }
    // A thousand writers, each of which sets its own flag again and again.
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..1000 {
        let flags = flags.clone();
        writers.spawn(async move {
            for round in 0u64.. {
                let value = json!(round.to_string());
                flags.set_global(&format!("flag-{n}"), &value).await.unwrap();
                println!("stored {n} {round}");
            }
        });
    }
    writers.join_all().await;
}

/// The last round of each flag that was acknowledged before the child was killed, once
/// `enough` were.
fn killed_after(path: &Path, enough: usize) -> BTreeMap<usize, u64> {
    let mut child = child(path, "write");
    let mut acknowledged = BTreeMap::new();
    let mut count = 0;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        let Some(rest) = line.strip_prefix("stored ") else { continue };
        let Some((n, round)) = rest.split_once(' ') else { continue };
        // The last line may be cut in its middle, so that a smaller number is read.
        let (Ok(n), Ok(round)) = (n.parse(), round.parse()) else { continue };
        acknowledged.insert(n, round);
        count += 1;
        if count == enough {
            // SIGKILL; what is in the pipe by then was acknowledged too and is read on.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(count >= enough, "the child ended by itself after {count}");
    acknowledged
}

#[tokio::test]
async fn kill_in_the_middle_of_a_thousand_concurrent_sets_loses_none_that_was_acknowledged() {
    for enough in [1, 700, 1000, 1700, 5000] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("store.db");
        let acknowledged = killed_after(&path, enough);
        let flags = open(&path);
        for (n, round) in acknowledged {
            let stored = flags.get_global(&format!("flag-{n}")).await.unwrap();
            let stored = stored.unwrap_or_else(|| panic!("flag-{n} of {enough} is gone"));
            let stored: u64 = stored.as_str().unwrap().parse().unwrap();
            assert!(stored >= round, "flag-{n} is at {stored}, not at {round}");
        }
        // And it can be written again.
        flags.set_global("after", &json!(true)).await.unwrap();
    }
}

#[tokio::test]
async fn what_another_process_sets_is_seen_by_the_next_read_and_wakes_who_waits() {
    let lab = Lab::new();
    lab.flags.set_global("beta", &json!("ours")).await.unwrap();
    let mut changes = lab.flags.changes();
    let mut child = child(&lab.path(), "set beta");
    // Nobody asks, and yet it becomes known.
    let woken = tokio::time::timeout(MAX_STORING, changes.next()).await;
    assert!(woken.unwrap());
    assert_eq!(
        lab.flags.last_seen(None).get("beta").unwrap().value.as_str(),
        Some("from the child")
    );
    assert!(child.wait().unwrap().success());
    // And it is no less ours than before.
    lab.flags.set_global("beta", &json!("ours again")).await.unwrap();
    let seen = lab.opened_again().get_global("beta").await.unwrap().unwrap();
    assert_eq!(seen.as_str(), Some("ours again"));
}

#[tokio::test]
async fn two_troves_on_one_file_see_each_other_at_once_and_lose_nothing() {
    let lab = Lab::new();
    let other = Arc::new(lab.opened_again());
    for n in 0..20 {
        let (ours, theirs) = (format!("ours-{n}"), format!("theirs-{n}"));
        let value = json!(n.to_string());
        let (set, other_set) =
            tokio::join!(lab.flags.set_global(&ours, &value), other.set_global(&theirs, &value));
        set.unwrap();
        other_set.unwrap();
        for (flags, name) in [(&*lab.flags, &theirs), (&*other, &ours)] {
            assert!(flags.get_global(name).await.unwrap().is_some(), "{name}");
        }
    }
    assert_eq!(lab.opened_again().list_global(None).await.unwrap().len(), 40);
}
