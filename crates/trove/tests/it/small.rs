//! A Trove that rests takes little memory.

use crate::kit::toy::toy;
use crate::kit::{Trove, until};

#[cfg(target_os = "linux")]
#[tokio::test]
async fn at_rest_what_was_read_of_its_own_file_is_given_back() {
    let trove = Trove::with(&[toy("one", "--resources 3")]).await;
    let client = trove.any_client().await;
    let text = client.text("toy://item/1").await;
    let before = file_kib(&trove);
    until("half of it to be given back", async || file_kib(&trove) < before / 2).await;
    assert_eq!(client.text("toy://item/1").await, text, "it goes on where it was");
}

/// The kilobytes of files that a Trove has in its memory.
fn file_kib(trove: &Trove) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", trove.pid().as_raw_nonzero()))
        .expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssFile:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).expect("a number")
}
