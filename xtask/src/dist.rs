//! Makes the packages, installs each in a clean prefix, and tries it there.
//!
//! The artefact itself is tried, never the build tree. Everything lands in `target/packages`, which
//! is made anew.

mod bundle;
mod debian;
mod npm;
mod registry;
mod smoke;
mod wheel;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{notices, steps};

/// Files of every package: our own licences, and the notices of others.
const LICENSES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", notices::FILE];

/// The version of every package.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Pack this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The profile to build with
    #[arg(long, default_value = "dist")]
    profile: String,
    /// The name in the MCP registry, as in io.github.you/trove; its first part must be yours
    #[arg(long, value_name = "NAME", default_value = registry::NAME)]
    registry_name: String,
}

pub(crate) fn dist(options: &Options) -> anyhow::Result<()> {
    let binary = match &options.binary {
        Some(binary) => {
            fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()))?
        }
        None => build(&options.profile)?,
    };
    notices::notices(&notices::Options { check: true })?;
    let packages = steps::root().join("target/packages");
    if packages.exists() {
        fs::remove_dir_all(&packages)?;
    }
    let goods = Goods::gather(&binary, &packages.join("goods"))?;
    let mut made = vec![debian::pack(&goods, &packages)?];
    debian::try_out(&made[0], &packages.join("try-debian"))?;
    let archives = npm::pack(&goods, &options.registry_name, &packages)?;
    let installed = packages.join("try-npm");
    npm::try_out(&archives, &installed)?;
    made.extend(archives);
    let server = registry::write(&options.registry_name, &packages)?;
    let manifest = installed.join("node_modules").join(npm::ROOT).join("package.json");
    registry::check_package(&server, &manifest)?;
    made.push(server);
    let wheel = wheel::pack(&goods, &packages)?;
    wheel::try_out(&wheel, &packages.join("try-wheel"))?;
    let bundle = bundle::pack(&goods, &packages)?;
    bundle::try_out(&bundle, &packages.join("try-bundle"))?;
    made.extend([wheel, bundle]);
    for path in made {
        let size = fs::metadata(&path)?.len();
        println!("{}\t{:.1} MB", path.display(), size as f64 / 1e6);
    }
    Ok(())
}

fn build(profile: &str) -> anyhow::Result<PathBuf> {
    let build = ["build", "--package", "trove", "--profile", profile];
    steps::run("build", &mut steps::cargo(&build))?;
    // Cargo calls the folder of `dev` something else.
    let folder = if profile == "dev" { "debug" } else { profile };
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| steps::root().join("target"), PathBuf::from);
    Ok(target.join(folder).join("trove"))
}

/// The contents of packages: the program and its documents.
struct Goods {
    binary: PathBuf,
    /// One file for every command.
    manual: PathBuf,
    bash: String,
    zsh: String,
    fish: String,
}

impl Goods {
    fn gather(binary: &Path, folder: &Path) -> anyhow::Result<Goods> {
        let manual = folder.join("man");
        fs::create_dir_all(&manual)?;
        steps::output("manual", Command::new(binary).args(["man", "--to"]).arg(&manual))?;
        let script = |shell: &str| {
            steps::output("completions", Command::new(binary).args(["completions", shell]))
        };
        let (bash, zsh, fish) = (script("bash")?, script("zsh")?, script("fish")?);
        Ok(Goods { binary: binary.to_owned(), manual, bash, zsh, fish })
    }
}

/// Puts a file into a package.
fn put(root: &Path, path: &str, contents: &[u8], mode: u32) -> anyhow::Result<()> {
    let file = root.join(path);
    let folder = file.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder)?;
    fs::write(&file, contents)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Zips what is in a folder, with the modes it has there.
fn zip(folder: &Path, file: &Path) -> anyhow::Result<()> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder)? {
        parts.push(entry?.file_name());
    }
    parts.sort();
    let mut python = Command::new("python3");
    python.args(["-m", "zipfile", "--create"]).arg(file).args(parts).current_dir(folder);
    steps::run("zip", &mut python)
}

/// The packages are for the machine they are made on.
fn architecture() -> anyhow::Result<(&'static str, &'static str)> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(("amd64", "x64")),
        "aarch64" => Ok(("arm64", "arm64")),
        other => bail!("packages for {other} have no name yet"),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

    use super::{Goods, bundle, debian, npm, registry, wheel};
    use crate::{notices, steps};

    /// Checks every line of the record of a wheel, and that its program may be run.
    const CHECK: &str = "
import base64, csv, hashlib, io, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    names = set(file.namelist())
    record = next(name for name in names if name.endswith('/RECORD'))
    for name, digest, size in csv.reader(io.StringIO(file.read(record).decode())):
        names.remove(name)
        if name == record: continue
        held = file.read(name)
        made = base64.urlsafe_b64encode(hashlib.sha256(held).digest()).rstrip(b'=').decode()
        assert digest == 'sha256=' + made and int(size) == len(held), name
    assert not [name for name in names if not name.endswith('/')], names
    program = next(one for one in file.infolist() if one.filename.endswith('/scripts/trove'))
    assert (program.external_attr >> 16) & 0o111 == 0o111, 'it may not be run'
";

    /// Something to pack, in a folder of its own.
    fn goods(name: &str) -> (PathBuf, Goods) {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let binary = folder.join("program");
        fs::write(&binary, b"#!/bin/sh\n# GLIBC_2.34\n").expect("a file can be written");
        let none = String::new;
        let manual = folder.join("man");
        (folder, Goods { binary, manual, bash: none(), zsh: none(), fish: none() })
    }

    #[test]
    fn a_wheel_records_all_it_holds_and_names_its_c_library() {
        let (folder, goods) = goods("wheel");
        let wheel = wheel::pack(&goods, &folder).expect("a wheel");
        assert!(wheel.to_string_lossy().contains("-py3-none-manylinux_2_34_"), "{wheel:?}");
        let mut python = Command::new("python3");
        steps::output("wheel", python.args(["-c", CHECK]).arg(&wheel)).expect("a sound wheel");
        fs::remove_dir_all(folder).expect("it was made here");
    }

    /// Prints the names in a package of any kind.
    const NAMES: &str = "
import subprocess, sys, tarfile, zipfile
file = sys.argv[1]
if file.endswith('.deb'):
    print(subprocess.check_output(['dpkg-deb', '--contents', file], text=True))
elif file.endswith('.tgz'):
    print(tarfile.open(file).getnames())
else:
    print(zipfile.ZipFile(file).namelist())
";

    #[test]
    fn t46_every_package_holds_the_notices_of_what_others_made() {
        let (folder, goods) = goods("notices");
        fs::create_dir_all(&goods.manual).expect("a folder can be made");
        fs::write(goods.manual.join("trove.1"), ".TH trove").expect("a file can be written");
        let mut packages = npm::pack(&goods, registry::NAME, &folder).expect("npm packages");
        packages.push(debian::pack(&goods, &folder).expect("a debian package"));
        packages.push(wheel::pack(&goods, &folder).expect("a wheel"));
        packages.push(bundle::pack(&goods, &folder).expect("a bundle"));
        assert_eq!(packages.len(), 5);
        for package in packages {
            let mut python = Command::new("python3");
            let names = steps::output("names", python.args(["-c", NAMES]).arg(&package));
            let names = names.expect("it can be read");
            assert!(names.contains(notices::FILE), "{}: {names}", package.display());
        }
        let image = fs::read_to_string(steps::root().join("Dockerfile")).expect("it is there");
        let copied = image.lines().any(|l| l.starts_with("COPY ") && l.contains(notices::FILE));
        assert!(copied, "the image is made without {}", notices::FILE);
        fs::remove_dir_all(folder).expect("it was made here");
    }

    #[test]
    fn a_bundle_unpacks_to_what_its_manifest_names() {
        let (folder, goods) = goods("bundle");
        let file = bundle::pack(&goods, &folder).expect("a bundle");
        let program = bundle::unpack(&file, &folder.join("there")).expect("it can be unpacked");
        let mode = fs::metadata(&program).expect("the program").permissions().mode();
        assert_eq!((mode & 0o777, fs::read(program).ok()), (0o755, fs::read(&goods.binary).ok()));
        fs::remove_dir_all(folder).expect("it was made here");
    }
}
