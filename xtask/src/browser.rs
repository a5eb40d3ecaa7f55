//! The browser the tests of the web page run in: the one of the system, installed if it
//! is missing and may be.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::steps;

/// Where Debian puts it.
const CHROMIUM: &str = "/usr/bin/chromium";

/// Sees to it that there is a browser.
pub(crate) fn install() -> anyhow::Result<()> {
    if std::env::var_os("TROVE_CHROMIUM").is_some() || Path::new(CHROMIUM).exists() {
        return Ok(());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("the tests of the web page need Chromium; name one in TROVE_CHROMIUM");
    }
    let mut apt = apt_get();
    apt.args(["install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]);
    if steps::run("browser", &mut apt).is_ok() {
        return Ok(());
    }
    // A machine that was never updated knows of no packages.
    steps::run("package lists", apt_get().arg("update"))?;
    steps::run("browser", &mut apt)
}

/// As root where we are not, without a question.
fn apt_get() -> Command {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt as _;
        own.uid() == 0
    });
    let mut command = if is_root {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "apt-get"]);
        sudo
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
