//! `trove install` and `trove uninstall`: one entry into a client's file, or out of it.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use serde_json::{Value, json};

use super::{Class, Failed, approve::unapproved, host, load_as_is, ls::plain, moving, say};
use crate::{
    approval::Hand,
    cli::{EntryOf, Global, Install, Uninstall},
    clients::{
        Access, Host, Launch, Link, Outcome, Plan, Row, Scope, Standing, Survey, Wish,
        in_workspace, links, plan_install, plan_uninstall, row, survey,
    },
    config::{Client, HttpAuth, Loaded},
    token,
};

pub(super) fn install(global: &Global, install: &Install) -> Result<(), Failed> {
    let host = host()?;
    let loaded = load_as_is(global)?;
    let Some(client) = install.client else {
        return list(&host, &loaded, install);
    };
    let wish = wish(client, &install.entry)?;
    let loaded = if install.moves { moving::target(&loaded, &host)? } else { loaded };
    let launch = if install.http {
        by_url(&loaded, install.entry.dry_run)?
    } else {
        refuse_unapproved(&loaded, &host)?;
        by_command(&host, &loaded, wish.row, wish.scope)
    };
    if install.moves {
        let installing = Installing { wish: &wish, launch: &launch, entry: &install.entry };
        return moving::move_in(&host, &installing, &loaded);
    }
    let mut plan = plan_install(&host, &wish, &launch)?;
    plan.notes.extend(about_config(&loaded));
    plan.notes.extend(about_trust(&loaded, &launch));
    let link = links(&plan.name, &launch).into_iter().find(|link| link.client == client);
    finish(&host, &plan, &install.entry, Some((&launch, link)))
}

pub(super) fn uninstall(global: &Global, uninstall: &Uninstall) -> Result<(), Failed> {
    let host = host()?;
    let wish = wish(uninstall.client, &uninstall.entry)?;
    let state = load_as_is(global)?.config.state_dir.value;
    if moving::take_back(&host, &wish, (&uninstall.entry, &state))? {
        return Ok(());
    }
    let plan = plan_uninstall(&host, &wish)?;
    finish(&host, &plan, &uninstall.entry, None)
}

/// An entry that is to be made.
pub(super) struct Installing<'a> {
    pub(super) wish: &'a Wish<'a>,
    pub(super) launch: &'a Launch,
    pub(super) entry: &'a EntryOf,
}

fn wish(client: Client, entry: &EntryOf) -> Result<Wish<'_>, Failed> {
    let row = row(client).ok_or_else(|| {
        Failed::new(
            Class::InvalidArguments,
            format!("{client} keeps its servers nowhere Trove knows"),
        )
    })?;
    Ok(Wish { row, scope: entry.scope, name: &entry.name, force: entry.force })
}

/// An entry names the file of the configuration, and what is named counts as the user's own:
/// nothing that still waits may get round its approval in that way.
fn refuse_unapproved(loaded: &Loaded, host: &Host<'_>) -> Result<(), Failed> {
    let waiting = unapproved(loaded, &host.cwd)?;
    let (Some(file), false) = (&loaded.origin, waiting.is_empty()) else { return Ok(()) };
    let (ids, file) = (waiting.join(", "), shown(file));
    let message = format!(
        "{file} came with the project, and nobody approved its {ids}; look with `trove approve`, \
         then `trove approve --all` and install again; or vouch for the file: --config {file}"
    );
    Err(Failed::new(Class::Approvals, message))
}

/// The client starts us, with the configuration that is in force now.
fn by_command(host: &Host<'_>, loaded: &Loaded, row: &Row, scope: Scope) -> Launch {
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    if let Some(file) = &loaded.origin {
        let shared = in_workspace(row, &host.cwd, file).filter(|_| scope == Scope::Project);
        args.push("--config".to_owned());
        args.push(shared.unwrap_or_else(|| file.display().to_string()));
    }
    Launch::Stdio { command: host.program.display().to_string(), args, env: BTreeMap::new() }
}

/// The client connects to us. The token is made only if it is to be written.
fn by_url(loaded: &Loaded, is_dry_run: bool) -> Result<Launch, Failed> {
    let config = &loaded.config;
    let mut address = config.http.addr.value;
    // Served on every address, we are reached on this machine's own.
    if address.ip().is_unspecified() {
        address.set_ip([127, 0, 0, 1].into());
    }
    let state = &config.state_dir.value;
    let access = match config.http.auth.value {
        // A client that knows OAuth gets its token by itself; one that does not is given it
        // by its user.
        HttpAuth::None | HttpAuth::Jwt | HttpAuth::Oauth => Access::Open,
        HttpAuth::Token if is_dry_run => {
            let token = token::read(state).unwrap_or_default();
            let token = if token.is_empty() { "TOKEN".to_owned() } else { token };
            Access::Token(token)
        }
        HttpAuth::Token => Access::Token(token::load_or_make(state).map_err(|error| {
            let path = token::path(state);
            let message =
                format!("the token in {} cannot be read or made: {error}", path.display());
            Failed::new(Class::Config, message)
        })?),
    };
    let url = config.http.public_url.value.clone();
    Ok(Launch::Http { url: url.unwrap_or_else(|| format!("http://{address}/mcp")), access })
}

fn about_config(loaded: &Loaded) -> Vec<String> {
    let mut notes = Vec::new();
    if !loaded.is_usable() {
        notes.push("the configuration has errors: run `trove config check`".to_owned());
    } else if loaded.origin.is_none() {
        notes.push(
            "no trove.toml was found, so no servers are behind it yet: try `trove import`"
                .to_owned(),
        );
    }
    notes
}

/// The consequence of naming a file in a client that its user did not write.
fn about_trust(loaded: &Loaded, launch: &Launch) -> Option<String> {
    let is_named = matches!(launch, Launch::Stdio { .. }) && Hand::of(loaded) == Hand::Project;
    let file = loaded.origin.as_deref().filter(|_| is_named)?;
    Some(format!(
        "the entry names {}, so servers that are changed or added there later run without approval",
        shown(file)
    ))
}

/// Does what was planned, or shows it, and says what there is to say.
fn finish(
    host: &Host<'_>,
    plan: &Plan,
    entry: &EntryOf,
    installed: Option<(&Launch, Option<Link>)>,
) -> Result<(), Failed> {
    let backup = if entry.dry_run { None } else { plan.apply(host.now)? };
    let link = installed.as_ref().and_then(|(_, link)| link.clone());
    let diff = if entry.dry_run { plan.diff() } else { String::new() };
    if entry.output.json {
        let report = json!({
            "client": plan.row.word,
            "scope": plan.scope.to_string(),
            "name": plan.name,
            "file": plan.path.display().to_string(),
            "outcome": plan.outcome.as_str(),
            "dry_run": entry.dry_run,
            "diff": entry.dry_run.then_some(&diff),
            "backup": backup.as_deref().map(shown),
            "next": next_step(plan),
            "link": link.map(|link| link.url),
            "notes": plan.notes,
        });
        say(&format!("{report}\n"));
        return Ok(());
    }
    if entry.dry_run && plan.outcome.is_change() {
        say(&diff);
    }
    let mut text = format!("{}\n", headline(plan, entry.dry_run));
    if let Some((launch, _)) = installed {
        let _ = writeln!(text, "  {}", described(launch));
    }
    if let Some(backup) = backup {
        let _ = writeln!(text, "  backup: {}", shown(&backup));
    }
    for note in &plan.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    if let Some(next) = next_step(plan).filter(|_| !entry.dry_run) {
        let _ = writeln!(text, "  next: {next}");
    }
    if plan.outcome != Outcome::Removed && plan.outcome != Outcome::NotThere && !entry.dry_run {
        let _ = writeln!(text, "  check: {}", plan.row.check);
    }
    if let Some(link) = link {
        let _ = writeln!(text, "  the same with one click: {}", link.url);
    }
    say(&text);
    Ok(())
}

fn headline(plan: &Plan, is_dry_run: bool) -> String {
    let (client, name, path) = (plan.row.client, &plan.name, shown(&plan.path));
    let would = if is_dry_run { "would be " } else { "" };
    match plan.outcome {
        Outcome::Added => format!("{client}: `{name}` {would}added to {path}"),
        Outcome::Updated => format!("{client}: `{name}` {would}brought up to date in {path}"),
        Outcome::AlreadyThere => format!("{client}: `{name}` is already there, in {path}"),
        Outcome::Removed => format!("{client}: `{name}` {would}removed from {path}"),
        Outcome::NotThere => format!("{client}: `{name}` is not in {path}; nothing to do"),
    }
}

/// The user's next step that makes the client see the change.
fn next_step(plan: &Plan) -> Option<String> {
    match plan.outcome {
        Outcome::Added | Outcome::Updated => Some(next_of(plan.row)),
        Outcome::Removed => Some(format!("restart {} if it still shows it", plan.row.client)),
        Outcome::AlreadyThere | Outcome::NotThere => None,
    }
}

/// The step that makes a client see that its file changed.
pub(super) fn next_of(row: &Row) -> String {
    row.restart.to_owned()
}

fn described(launch: &Launch) -> String {
    match launch {
        Launch::Stdio { command, args, .. } => format!("runs: {command} {}", args.join(" ")),
        Launch::Http { url, .. } => format!("connects to: {url}"),
    }
}

pub(super) fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// Every client that is here, and whether Trove is in it.
fn list(host: &Host<'_>, loaded: &Loaded, install: &Install) -> Result<(), Failed> {
    let found = survey(host, &install.entry.name);
    // A link holds the same entry, and so takes the same approval.
    let may_link = !install.http && unapproved(loaded, &host.cwd)?.is_empty();
    let links = match by_command_for_anyone(host, loaded) {
        Some(launch) if may_link => links(&install.entry.name, &launch),
        _ => Vec::new(),
    };
    if install.entry.output.json {
        let clients: Vec<Value> = found.iter().map(as_json).collect();
        let links: Vec<Value> = links
            .iter()
            .map(|link| json!({ "client": link.client.to_string(), "url": link.url }))
            .collect();
        say(&format!("{}\n", json!({ "clients": clients, "links": links })));
        return Ok(());
    }
    let mut text = String::new();
    for Survey { row, scope, path, standing } in &found {
        let path = path.as_deref().map(shown).unwrap_or_default();
        let scope = if *scope == Scope::Project { " (this project)" } else { "" };
        let _ = match standing {
            Standing::Absent => writeln!(text, "{:<15} not found", row.word),
            Standing::Unreadable(why) => writeln!(text, "{:<15} {}", row.word, plain(why)),
            other => writeln!(text, "{:<15} {}{scope}: {path}", row.word, in_words(other)),
        };
    }
    text.push_str("\nPut Trove into one with `trove install --client NAME`; add --dry-run to see the change first.\n");
    for link in links {
        let _ = writeln!(text, "{} with one click: {}", link.client, link.url);
    }
    say(&text);
    Ok(())
}

fn by_command_for_anyone(host: &Host<'_>, loaded: &Loaded) -> Option<Launch> {
    Some(by_command(host, loaded, row(Client::Cursor)?, Scope::User))
}

fn in_words(standing: &Standing) -> String {
    match standing {
        Standing::Absent => "not found".to_owned(),
        Standing::Without => "without Trove".to_owned(),
        Standing::Installed => "has Trove".to_owned(),
        Standing::ProgramGone(program) => {
            format!("has a Trove that is gone ({}); install it again", shown(program))
        }
        Standing::ConfigGone(config) => {
            format!(
                "has Trove with a configuration that is gone ({}); install it again",
                shown(config)
            )
        }
        Standing::Taken => "has another server under that name".to_owned(),
        Standing::Unreadable(why) => plain(why),
    }
}

fn as_json(survey: &Survey) -> Value {
    let state = match &survey.standing {
        Standing::Absent => "absent",
        Standing::Without => "without",
        Standing::Installed => "installed",
        Standing::ProgramGone(_) => "program_gone",
        Standing::ConfigGone(_) => "config_gone",
        Standing::Taken => "taken",
        Standing::Unreadable(_) => "unreadable",
    };
    json!({
        "client": survey.row.word,
        "scope": survey.scope.to_string(),
        "file": survey.path.as_deref().map(shown),
        "state": state,
        "message": in_words(&survey.standing),
    })
}
