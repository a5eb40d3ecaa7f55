//! Tries an installed program as its first user would.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::VERSION;
use crate::steps;

/// `home` is made, and all that the program may see of its user.
pub(super) fn try_out(program: &Path, home: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(home)?;
    let trove = || {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", home).current_dir(home);
        // The launcher of npm is found by its interpreter.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    };
    let version = steps::output("version", trove().arg("--version"))?;
    ensure!(version.trim() == format!("trove {VERSION}"), "it says it is {version:?}");
    let listed = steps::output("list", trove().args(["ls", "--json"]))?;
    let listed: Value = serde_json::from_str(&listed).context("what is listed")?;
    let has_health =
        listed.as_array().is_some_and(|all| all.iter().any(|one| one["uri"] == "info://health"));
    ensure!(has_health, "it does not list what is its own");
    speak(trove())?;
    eprintln!("── {}: it runs", program.display());
    Ok(())
}

/// One MCP client on stdio: it is greeted, reads, and goes.
fn speak(mut command: Command) -> anyhow::Result<()> {
    command.args(["serve", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().context("stdin is a pipe")?;
    let mut output = BufReader::new(child.stdout.take().context("stdout is a pipe")?);
    let mut ask = |id: u32, method: &str, params: Value| -> anyhow::Result<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{request}")?;
        loop {
            let mut line = String::new();
            ensure!(output.read_line(&mut line)? > 0, "it ended before it answered {method}");
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id {
                return Ok(answer);
            }
        }
    };
    let client = json!({ "name": "smoke", "version": "1" });
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let answer = ask(1, "initialize", hello)?;
    ensure!(answer["result"]["serverInfo"]["name"].is_string(), "no greeting: {answer}");
    let answer = ask(2, "resources/read", json!({ "uri": "info://health" }))?;
    ensure!(answer["result"]["contents"][0]["text"].is_string(), "no contents: {answer}");
    drop(input);
    let status = child.wait()?;
    ensure!(status.success(), "it did not end well: {status}");
    Ok(())
}
