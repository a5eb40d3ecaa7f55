//! `trove recipe`: the recipes there are, what one gives, and one to begin with.

use std::{
    fmt::Write as _,
    io::{self, BufRead as _, IsTerminal as _},
};

use serde_json::{Value, json};
use trove_mcp::recipe::Shipped;

use super::{Failed, errand, ls::plain, say};
use crate::{
    cli::{DraftRecipe, Global, Output, RecipeCommand, TryRecipe},
    config::shipped_recipes,
    errand::What,
};

pub(super) fn recipe(global: &Global, command: &RecipeCommand) -> Result<(), Failed> {
    match command {
        RecipeCommand::List(output) => {
            list(*output);
            Ok(())
        }
        RecipeCommand::Try(command) => try_one(global, command),
        RecipeCommand::Draft(command) => draft(global, command),
    }
}

/// Every tool that any variant of a recipe calls.
fn tools(shipped: &Shipped) -> Vec<&str> {
    let mut tools: Vec<&str> = shipped.variants.iter().flat_map(|one| one.tools()).collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

fn list(output: Output) {
    if output.json {
        let one = |one: &Shipped| {
            json!({
                "name": one.name, "about": one.about, "packages": one.packages,
                "tools": tools(one), "asks": one.asks,
            })
        };
        let all: Vec<Value> = shipped_recipes().iter().map(one).collect();
        say(&format!("{}\n", json!({ "success": true, "recipes": all })));
        return;
    }
    let mut text = String::new();
    for one in shipped_recipes().iter() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<13} {}", one.name, one.about);
        let _ = writeln!(text, "{:<13} for {}", "", one.packages.join(", "));
        let _ = writeln!(text, "{:<13} calls {}", "", tools(one).join(", "));
    }
    say(&text);
}

fn try_one(global: &Global, command: &TryRecipe) -> Result<(), Failed> {
    let body = errand(global, What::Try { name: command.name.clone() }, command.wait.wait)?;
    if command.wait.output.json {
        say(&format!("{body}\n"));
        return Ok(());
    }
    let answer: Value = serde_json::from_str(&body).unwrap_or_default();
    let mut text = String::new();
    for server in answer["servers"].as_array().into_iter().flatten() {
        text.push_str(&tried(server));
    }
    say(&text);
    Ok(())
}

/// The results of the steps for one server.
fn tried(server: &Value) -> String {
    let word = |value: &Value| plain(value.as_str().unwrap_or("-"));
    let mut text = format!("{}: recipe {}\n", word(&server["server"]), word(&server["recipe"]));
    for why in server["off"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "  off: {}", word(why));
    }
    let _ = writeln!(text, "  lists {} resources", server["listed"]);
    for one in server["list"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "    {}  {}", word(&one["uri"]), word(&one["name"]));
    }
    let read = &server["read"];
    match (read["error"].as_str(), read["uri"].as_str()) {
        (Some(error), Some(uri)) => {
            let _ = writeln!(text, "  read of {} failed: {}", plain(uri), plain(error));
        }
        (None, Some(uri)) => {
            let begins = word(&read["begins"]);
            let _ = writeln!(text, "  reads {}: {} bytes: {begins}", plain(uri), read["bytes"]);
        }
        _ => {}
    }
    let search = &server["search"];
    if let Some(error) = search["error"].as_str() {
        let _ = writeln!(text, "  its search failed: {}", plain(error));
    } else if let Some(hits) = search["hits"].as_array() {
        let _ = writeln!(text, "  finds {} for `{}`", hits.len(), word(&search["query"]));
        for hit in hits {
            let _ = writeln!(text, "    {}  {}", word(&hit["uri"]), word(&hit["name"]));
        }
    } else {
        text.push_str("  cannot be asked to search\n");
    }
    text
}

fn draft(global: &Global, command: &DraftRecipe) -> Result<(), Failed> {
    let mut answer = drafted(global, command, command.call)?;
    let tool = answer["lists"].as_str().map(str::to_owned);
    if let Some(tool) = tool.filter(|_| !command.call && !command.wait.output.json)
        && agrees(&tool)?
    {
        answer = drafted(global, command, true)?;
    }
    if command.wait.output.json {
        say(&format!("{answer}\n"));
        return Ok(());
    }
    say(answer["toml"].as_str().unwrap_or_default());
    Ok(())
}

fn drafted(global: &Global, command: &DraftRecipe, calls: bool) -> Result<Value, Failed> {
    let what = What::Draft { server: command.server.clone(), calls };
    let body = errand(global, what, command.wait.wait)?;
    Ok(serde_json::from_str(&body).unwrap_or_default())
}

/// Asks a person at the terminal whether a tool may be called.
#[expect(clippy::print_stderr, reason = "a question to the person at the terminal")]
fn agrees(tool: &str) -> Result<bool, Failed> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    eprint!(
        "Call `{}` once, which says that it only reads, to see its answer? [y/N] ",
        plain(tool)
    );
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| {
        let message = format!("no answer could be read: {error}");
        Failed::new(super::Class::InvalidArguments, message)
    })?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}
