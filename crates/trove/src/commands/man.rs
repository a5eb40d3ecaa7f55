//! `trove man`: the manual, made of the same words as the help.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::{Arg, Command, CommandFactory as _};
use serde_json::json;
use trove_core::files::{Draft, Readers};

use super::{Class, Failed, say};
use crate::{
    cli::{Cli, Man},
    config::VARIABLES,
};

pub(super) fn man(man: &Man) -> Result<(), Failed> {
    let mut command = Cli::command();
    command.build();
    let as_json = man.output.json;
    let print = |key: &str, page: String| {
        if as_json {
            say(&format!("{}\n", json!({ "success": true, key: page })))
        } else {
            say(&page)
        }
    };
    match &man.to {
        _ if man.markdown => print("markdown", markdown(&command)),
        Some(folder) => {
            let mut files = Vec::new();
            let written =
                fs::create_dir_all(folder).and_then(|()| write(&command, folder, &mut files));
            written.map_err(|error| {
                let message = format!("{}: {error}", folder.display());
                Failed::new(Class::InvalidArguments, message)
            })?;
            let told = json!({ "success": true, "files": files });
            if as_json {
                say(&format!("{told}\n"))
            } else {
                say(&format!("{} pages in {}\n", files.len(), folder.display()))
            }
        }
        None => {
            let mut page = Vec::new();
            // Writing to memory cannot fail.
            let _ = clap_mangen::Man::new(command).render(&mut page);
            print("page", String::from_utf8_lossy(&page).into_owned());
        }
    }
    Ok(())
}

/// A page for the command and for each below it, noted in `files`.
fn write(command: &Command, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.as_str()).render(&mut page)?;
    let file = folder.join(format!("{name}.1"));
    let mut draft = Draft::new(&file, Readers::Usual)?;
    draft.write_all(&page)?;
    draft.finish()?;
    files.push(file);
    for inner in shown(command) {
        write(inner, folder, files)?;
    }
    Ok(())
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

/// Every command on one page.
fn markdown(command: &Command) -> String {
    let mut text = String::from(
        "# Commands\n\nMade by `trove man --markdown`; `trove COMMAND --help` says the same.\n\n",
    );
    text.push_str("## Options of every command\n\n");
    options(command.get_arguments().filter(|arg| arg.is_global_set()), &mut text);
    for inner in shown(command) {
        section(inner, &mut text);
    }
    text.push_str("\n## Environment\n\n| variable | what it decides |\n|---|---|\n");
    for variable in VARIABLES {
        let _ = writeln!(text, "| `{}` | {} |", variable.name, variable.meaning);
    }
    let _ = writeln!(text, "| `NO_COLOR` | Nothing is coloured, if it is set to anything. |");
    text.push_str(EXIT);
    text.push_str(&Class::table(true));
    text
}

fn section(command: &Command, text: &mut String) {
    let path = command.get_bin_name().unwrap_or(command.get_name());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\n## {path}\n");
    if let Some(about) = command.get_about() {
        let _ = writeln!(text, "{about}\n");
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let _ = writeln!(text, "```\n{usage}\n```\n");
    let own = command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    options(own.filter(|arg| arg.get_id() != "help"), text);
    for inner in shown(command) {
        section(inner, text);
    }
}

fn options<'a>(args: impl Iterator<Item = &'a Arg>, text: &mut String) {
    let mut args = args.peekable();
    if args.peek().is_none() {
        return;
    }
    text.push_str("| option | what it does |\n|---|---|\n");
    for arg in args {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let mut help = help.replace('|', "\\|");
        let values: Vec<String> = arg
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        let takes = arg.get_action().takes_values();
        if takes && !values.is_empty() {
            let _ = write!(help, ": {}", values.join(", "));
        }
        let default: Vec<_> =
            arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if takes && !default.is_empty() {
            let _ = write!(help, " (default: `{}`)", default.join(", "));
        }
        let _ = writeln!(text, "| `{}` | {help} |", spelled(arg).replace('|', "\\|"));
    }
}

/// An option as it is written on the command line, e.g. `-c, --config <FILE>`.
fn spelled(arg: &Arg) -> String {
    let value = arg
        .get_value_names()
        .map(|names| names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" "));
    let value = value.unwrap_or_else(|| format!("<{}>", arg.get_id().as_str().to_uppercase()));
    if arg.is_positional() {
        return value;
    }
    let names = [
        arg.get_short().map(|short| format!("-{short}")),
        arg.get_long().map(|long| format!("--{long}")),
    ];
    let names: Vec<String> = names.into_iter().flatten().collect();
    if arg.get_action().takes_values() {
        format!("{} {value}", names.join(", "))
    } else {
        names.join(", ")
    }
}

const EXIT: &str = "
## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | the command line is wrong, or `doctor` found something to mend |
| 2 | the configuration is wrong |
| 3 | a role is needed that you do not have |
| 4 | a server, an address or a running Trove cannot be reached, or the answer cannot be written |
| 5 | a server answered with an error, or there is no such thing |

With `--json` a failure is one object on stdout: `{\"success\":false,\"error\":CLASS,\"message\":TEXT}`.
CLASS is one of those that [tools give](errors.md), or one of the command line's own:

";
