//! `trove up`: everything at once, for a person.
//!
//! It finds servers, asks once before any is started, serves, and says what to do next. Without a
//! terminal it asks nothing, and starts only approved servers.

use std::{
    fmt::Write as _,
    io::{self, BufRead as _, IsTerminal as _},
    net::SocketAddr,
    path::Path,
};

use serde_json::json;

use super::{
    Class, Failed,
    approve::{approval, describe_reach, unapproved},
    configure, folders, host,
    ls::plain,
    noted::note_approvals,
    say,
    serve::{Doors, Opening, open, overrides, started},
};
use crate::{
    app::App,
    approval::{Approval, Approvals, Candidate, judge},
    borrow::{Extras, Lends, not_taken_over},
    cli::{Global, Up},
    clients::{Host, Standing, survey},
    config::{HostScope, Loaded, ProcessEnv},
    machine::to_type,
    style::Paint,
    telemetry,
};

/// Serves HTTP and tells a person what to do next.
pub(super) fn up(global: &Global, up: &Up) -> Result<(), Failed> {
    let flags = overrides(&up.http);
    let (mut loaded, cwd) = configure(global, flags.clone())?;
    let is_watched = io::stderr().is_terminal();
    // The progress is drawn there; the log would run through it.
    telemetry::start(global, if is_watched { "error" } else { "info" });
    let host = host()?;
    let mut extras = Extras::new(Lends::All);
    let found = extras.add_to(&mut loaded, &host);
    let wants_json = up.output.json;
    // A script is asked nothing.
    let is_asked = !global.yes && !wants_json && is_watched && io::stdin().is_terminal();
    if is_asked && found == 0 && !loaded.config.has_servers() && offer_folder(global, &cwd)? {
        (loaded, _) = configure(global, flags.clone())?;
    }
    let has_starter = extras.begin(&mut loaded);
    if is_asked {
        ask(&loaded, &cwd)?;
    }
    let waits = !unapproved(&loaded, &cwd)?.is_empty();
    let draws = is_watched && !global.quiet;
    let doors = Doors { stdio: false, http: true };
    open(global, Opening { loaded, cwd, flags, extras, doors }, |app, loaded, address, token| {
        if wants_json {
            say(&format!("{}\n", started(app, loaded, address, token)));
        } else {
            let greeting = Greeting { app, loaded, host: &host, found, has_starter, waits };
            say(&greeting.text(address, token));
        }
        if draws {
            app.show_progress(Paint::of(&io::stderr()));
        }
    })
}

/// Offers to serve the folder in which Trove is started; tells whether it was added.
#[expect(clippy::print_stderr, reason = "a question to the person at the terminal")]
fn offer_folder(global: &Global, cwd: &Path) -> Result<bool, Failed> {
    let shown = plain(&cwd.display().to_string());
    eprintln!("No servers were found. Trove can serve the files of a folder without any.");
    if folders::is_private(cwd) {
        eprintln!("This is your whole home folder: {shown}");
    }
    eprint!("Serve the files of {shown} to your models? [y/N] ");
    if !is_yes()? {
        return Ok(false);
    }
    folders::add_here(global, cwd)?;
    Ok(true)
}

/// Asks the person at the terminal for a yes.
fn is_yes() -> Result<bool, Failed> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| {
        Failed::new(Class::InvalidArguments, format!("no answer could be read: {error}"))
    })?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}

/// Shows what waits for approval, whole, and asks once.
#[expect(clippy::print_stderr, reason = "a question to the person at the terminal")]
fn ask(loaded: &Loaded, cwd: &Path) -> Result<(), Failed> {
    let state = &loaded.config.state_dir.value;
    let approvals = Approvals::load(state)?;
    let candidates = judge(loaded, &approvals, &HostScope::new(ProcessEnv, cwd.to_owned()));
    let waiting: Vec<&Candidate<'_>> =
        candidates.iter().filter(|one| !one.verdict.may_run()).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    eprint!("{}", shown(&waiting));
    eprint!("Start them now, and from now on as long as they stay as they are? [y/N] ");
    if is_yes()? {
        let new: Vec<Approval> = waiting.iter().filter_map(|one| approval(one)).collect();
        let ids: Vec<String> = new.iter().map(|approval| approval.server.clone()).collect();
        Approvals::add(state, new)?;
        note_approvals(&loaded.config, &ids)?;
    } else {
        let file = loaded.naming();
        eprintln!("None was started. `trove approve{file} ID...` lets some of them run.");
    }
    Ok(())
}

fn shown(waiting: &[&Candidate<'_>]) -> String {
    let mut text = format!("{} found:\n", servers(waiting.len()));
    for candidate in waiting {
        let file = plain(&candidate.file.display().to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{}  ({file})", candidate.upstream.id);
        describe_reach(candidate, &mut text);
    }
    text.push('\n');
    text
}

fn servers(count: usize) -> String {
    if count == 1 { "1 server".to_owned() } else { format!("{count} servers") }
}

/// All there is to say once HTTP is served.
struct Greeting<'a> {
    app: &'a App,
    loaded: &'a Loaded,
    host: &'a Host<'a>,
    /// How many servers of other clients there are.
    found: usize,
    has_starter: bool,
    /// Whether servers that came with the project still wait for approval.
    waits: bool,
}

impl Greeting<'_> {
    fn text(&self, address: SocketAddr, token: Option<&str>) -> String {
        let mut text = format!("Trove serves MCP at http://{address}/mcp\n");
        // Behind the `#`: a browser sends that part to no server, and the page takes it.
        let token_part = token.map(|token| format!("#token={token}")).unwrap_or_default();
        let _ = writeln!(text, "The page for you:    http://{address}/{token_part}");
        self.clients(&mut text, address, token);
        self.servers(&mut text);
        text.push_str("Ctrl-C stops everything.\n\n");
        text
    }

    /// The line to paste for each client that is here, and the entries for any other.
    fn clients(&self, text: &mut String, address: SocketAddr, token: Option<&str>) {
        let trove = to_type(self.host);
        let here = survey(self.host, "trove");
        let without: Vec<_> = here
            .iter()
            .filter(|one| matches!(one.standing, Standing::Without))
            .map(|one| one.row.word)
            .collect();
        let has: Vec<_> = here
            .iter()
            .filter(|one| one.standing == Standing::Installed)
            .map(|one| one.row.word)
            .collect();
        if self.waits {
            text.push_str(
                "\nTo put it into a client, approve the servers of this project first: `trove approve`,\n\
                 then `trove install`. An entry in a client names the file, and so vouches for it.\n",
            );
        } else if !without.is_empty() {
            text.push_str("\nTo put it into a client that is here, paste its line:\n");
            for word in without {
                let _ = writeln!(text, "  {trove} install --client {word}");
            }
        }
        if !has.is_empty() {
            let _ = writeln!(text, "\nAlready in: {}", has.join(", "));
        }
        let url = format!("http://{address}/mcp");
        let mut entry = json!({ "type": "http", "url": url });
        if let Some(token) = token {
            entry["headers"] = json!({ "Authorization": format!("Bearer {token}") });
        }
        let _ = writeln!(text, "\nAny client that connects by URL:");
        let _ = writeln!(text, "  {}", json!({ "mcpServers": { "trove": entry } }));
        if !self.waits {
            self.entry_to_start(text);
        }
    }

    fn entry_to_start(&self, text: &mut String) {
        let _ = writeln!(text, "Any client that starts its servers:");
        let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
        if let Some(file) = &self.loaded.origin {
            args.extend(["--config".to_owned(), file.display().to_string()]);
        }
        let command = self.host.program.display().to_string();
        let entry = json!({ "mcpServers": { "trove": { "command": command, "args": args } } });
        let _ = writeln!(text, "  {entry}");
    }

    fn servers(&self, text: &mut String) {
        let waiting = self.app.waiting();
        let own = self.loaded.config.server_ids().count();
        match &self.loaded.origin {
            Some(file) if own > 0 => {
                let (count, file) = (servers(own), file.display());
                let _ = writeln!(
                    text,
                    "\n{count} from {file}; changes of that file are taken over at once."
                );
                let more = not_taken_over(self.loaded, self.host);
                if more > 0 {
                    let _ = writeln!(
                        text,
                        "{} of other clients are not among them; `trove import` adds them.",
                        servers(more)
                    );
                }
            }
            _ if self.found > 0 => {
                let _ = writeln!(
                    text,
                    "\n{} of other clients, as their files have them; `trove import` makes them your own.",
                    servers(self.found)
                );
            }
            _ => self.nothing(text),
        }
        if !waiting.is_empty() {
            let ids: Vec<&str> = waiting.iter().map(trove_core::SourceId::as_str).collect();
            let file = self.loaded.naming();
            let _ = writeln!(
                text,
                "Not started, because nobody approved it: {}\n  what would be run:  trove approve{file}\n  \
                 let all of it run:  trove approve{file} --all   (it starts at once)",
                ids.join(", ")
            );
        }
    }

    fn nothing(&self, text: &mut String) {
        if self.has_starter {
            text.push_str(
                "\nNo configuration and no servers of other clients were found. What is served is a guide to\n\
                 start from; try `trove find \"connect a server\"`. `trove init` puts it here, to be changed.\n",
            );
        }
        let file = self.loaded.origin.as_ref().map(|file| file.display().to_string());
        let file = file.unwrap_or_else(|| "trove.toml".to_owned());
        let _ = writeln!(
            text,
            "\nTo serve the files of a folder: `trove add FOLDER`; of this one: `trove add .`\n\
             To add a server, `trove add docs -- COMMAND`, or in {file}:\n{EXAMPLE}"
        );
        text.push_str("Or name any MCP client's file with --config.\n");
    }
}

const EXAMPLE: &str = r#"
  [servers.docs]
  command = "npx"
  args = ["-y", "@modelcontextprotocol/server-filesystem", "."]
"#;
