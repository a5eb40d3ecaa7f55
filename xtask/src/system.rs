//! The programs of the system that tests need beside Rust: a browser for the web page, and
//! what writes down system calls. They are installed where they are missing and may be.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::steps;

/// A program, where Debian puts it, the variable that may name another, and its packages.
struct Program {
    path: &'static str,
    variable: Option<&'static str>,
    packages: &'static [&'static str],
}

const PROGRAMS: [Program; 2] = [
    Program {
        path: "/usr/bin/chromium",
        variable: Some("TROVE_CHROMIUM"),
        packages: &["chromium", "fonts-dejavu-core"],
    },
    Program { path: "/usr/bin/strace", variable: None, packages: &["strace"] },
];

/// The languages whose parsers are tried on request only.
const LANGUAGES: [Program; 2] = [
    Program { path: "/usr/bin/go", variable: None, packages: &["golang-go"] },
    Program { path: "/usr/bin/javac", variable: None, packages: &["default-jdk-headless"] },
];

/// Sees to it that the compilers of further languages are there.
pub(crate) fn install_languages() -> anyhow::Result<()> {
    LANGUAGES.iter().try_for_each(install_one)
}

/// Sees to it that every program is there.
pub(crate) fn install() -> anyhow::Result<()> {
    PROGRAMS.iter().try_for_each(install_one)
}

fn install_one(program: &Program) -> anyhow::Result<()> {
    let is_named = program.variable.is_some_and(|name| std::env::var_os(name).is_some());
    if is_named || Path::new(program.path).exists() {
        return Ok(());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("the tests need {}; install it", program.path);
    }
    let mut apt = apt_get();
    apt.args(["install", "-y", "--no-install-recommends"]).args(program.packages);
    if steps::run(program.path, &mut apt).is_ok() {
        return Ok(());
    }
    // A machine that was never updated knows of no packages.
    steps::run("package lists", apt_get().arg("update"))?;
    steps::run(program.path, &mut apt)
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
