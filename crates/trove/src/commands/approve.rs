//! `trove approve`: show what would be run, and let it.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use serde_json::{Value, json};
use trove_core::state_file::StateError;
use trove_mcp::upstream::{Reach, Text};

use super::{Class, Failed, configure, folders, host, ls::plain, noted::note_approvals, say};
use crate::{
    app::memory_of,
    approval::{
        Approval, Approvals, Candidate, Difference, FolderCandidate, Hand, Invocation, Verdict,
        Words, judge, judge_as, judge_folders,
    },
    borrow::borrow,
    cli::{Approve, Global},
    config::{Found, HostScope, Loaded, Overrides, ProcessEnv, masked_args, masked_url},
    telemetry,
};

/// Variables that decide which code is run, e.g. `LD_PRELOAD`.
const DECISIVE: [&str; 16] = [
    "BASH_ENV",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "ENV",
    "GIT_SSH_COMMAND",
    "JAVA_TOOL_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PATH",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYOPT",
];

pub(super) fn approve(global: &Global, approve: &Approve) -> Result<(), Failed> {
    let (mut loaded, cwd) = configure(global, Overrides::default())?;
    telemetry::start(global, "error");
    borrow(&mut loaded, &host()?);
    let state = &loaded.config.state_dir.value;
    let approvals = Approvals::load(state)?;
    let hand = hand(&loaded, approve);
    let candidates = judge_as(hand, &loaded, &approvals, &HostScope::new(ProcessEnv, cwd));
    let served = judge_folders(hand, &loaded, &approvals);
    let (chosen, chosen_folders) = choose((&candidates, &served), approve)?;
    let mut new: Vec<Approval> =
        chosen.iter().filter_map(|candidate| approval(candidate)).collect();
    new.extend(chosen_folders.iter().filter_map(|one| folders::approval(one)));
    if !new.is_empty() {
        let ids: Vec<String> = new.iter().map(|approval| approval.server.clone()).collect();
        Approvals::add(state, new)?;
        note_approvals(&loaded.config, &ids)?;
    }
    let words = Words::of(state, &memory_of(&loaded));
    let differences = words.differences(candidates.iter().map(|one| one.upstream.id.as_str()));
    let is_meant = |id: &&String| approve.all || approve.ids.contains(*id);
    let accepted: Vec<String> = differences.keys().filter(is_meant).cloned().collect();
    if !accepted.is_empty() {
        words.accept(accepted.iter())?;
        note_approvals(&loaded.config, &accepted)?;
        // A Trove that runs follows this file.
        Approvals::add(state, Vec::new())?;
    }
    let is_listing = approve.ids.is_empty() && !approve.all;
    let shown = if is_listing {
        Shown { servers: candidates.iter().collect(), folders: served.iter().collect() }
    } else {
        Shown { servers: chosen, folders: chosen_folders }
    };
    let text = if approve.output.json {
        format!("{}\n", as_json(&loaded, &shown, (is_listing, &differences)))
    } else {
        as_text((&loaded, hand), &shown, (is_listing, &differences))
    };
    say(&text);
    Ok(())
}

/// The author that the file counts as. A file that is named here needs no approval here. A Trove
/// that only finds it in its folder waits for one, which `trove approve --config FILE ID` gives.
fn hand(loaded: &Loaded, approve: &Approve) -> Hand {
    let is_for_others = loaded.found == Found::Named && !approve.ids.is_empty();
    match Hand::of(loaded) {
        Hand::User if is_for_others => Hand::Project,
        hand => hand,
    }
}

/// The servers and folders that are shown.
struct Shown<'a, 'b> {
    servers: Vec<&'b Candidate<'a>>,
    folders: Vec<&'b FolderCandidate<'a>>,
}

type Chosen<'a, 'b> = (Vec<&'b Candidate<'a>>, Vec<&'b FolderCandidate<'a>>);

/// The servers and folders to approve now.
fn choose<'a, 'b>(
    (candidates, served): (&'b [Candidate<'a>], &'b [FolderCandidate<'a>]),
    approve: &Approve,
) -> Result<Chosen<'a, 'b>, Failed> {
    if approve.all {
        let servers = candidates.iter().filter(|one| !one.verdict.may_run()).collect();
        let folders = served.iter().filter(|one| !one.verdict.may_run()).collect();
        return Ok((servers, folders));
    }
    let (mut servers, mut folders) = (Vec::new(), Vec::new());
    for id in &approve.ids {
        let server = candidates.iter().find(|one| one.upstream.id.as_str() == id);
        let folder = served.iter().find(|one| one.folder.id.as_str() == id);
        if server.is_none() && folder.is_none() {
            let own = candidates.iter().map(|one| one.upstream.id.as_str());
            let ids: Vec<&str> =
                own.chain(served.iter().map(|one| one.folder.id.as_str())).collect();
            let message = format!("there is no server `{id}`; there are: {}", ids.join(", "));
            return Err(Failed::new(Class::InvalidArguments, message));
        }
        servers.extend(server);
        folders.extend(folder);
    }
    Ok((servers, folders))
}

pub(super) fn approval(candidate: &Candidate<'_>) -> Option<Approval> {
    let invocation = candidate.invocation.clone().filter(|_| !candidate.verdict.may_run())?;
    Some(Approval {
        file: candidate.file.display().to_string(),
        server: candidate.upstream.id.to_string(),
        sha256: invocation.sha256(),
        invocation,
        calls: candidate.calls.clone(),
    })
}

/// The servers of a project's file that was found, not named, and wait for approval.
pub(super) fn unapproved(loaded: &Loaded, cwd: &Path) -> Result<Vec<String>, Failed> {
    if Hand::of(loaded) != Hand::Project {
        return Ok(Vec::new());
    }
    let approvals = Approvals::load(&loaded.config.state_dir.value)?;
    let candidates = judge(loaded, &approvals, &HostScope::new(ProcessEnv, cwd.to_owned()));
    let is_own = |one: &&Candidate<'_>| loaded.origin.as_deref() == Some(one.file);
    let waiting = candidates.iter().filter(is_own).filter(|one| !one.verdict.may_run());
    let mut ids: Vec<String> = waiting.map(|one| one.upstream.id.to_string()).collect();
    let served = judge_folders(Hand::Project, loaded, &approvals);
    let waiting = served.iter().filter(|one| !one.verdict.may_run());
    ids.extend(waiting.map(|one| one.folder.id.to_string()));
    Ok(ids)
}

/// Descriptions that changed since approval, by server id.
type Differences = BTreeMap<String, Vec<Difference>>;

fn as_text(
    (loaded, hand): (&Loaded, Hand),
    shown: &Shown<'_, '_>,
    (is_listing, differences): (bool, &Differences),
) -> String {
    let mut text = String::new();
    let naming = loaded.naming();
    let file = loaded.origin.as_ref().map(|file| file.display().to_string());
    // Writing to a String cannot fail.
    let _ = match (&file, hand) {
        (None, _) if !loaded.borrowed.is_empty() => {
            writeln!(text, "These servers stand in the files of other clients.")
        }
        (None, _) => writeln!(text, "No configuration was found, so there is nothing to approve."),
        (Some(file), Hand::User) => {
            writeln!(text, "The servers of {file} need no approval: the file is your own.")
        }
        (Some(file), Hand::Project) if loaded.found == Found::Named => {
            writeln!(text, "For a Trove that only finds {file}:")
        }
        (Some(file), Hand::Project) => writeln!(text, "{file} came with the project."),
        (Some(file), Hand::Client) => writeln!(text, "{file} is another client's."),
    };
    for candidate in &shown.servers {
        describe(candidate, is_listing, &mut text);
        if let Some(differences) = differences.get(candidate.upstream.id.as_str()) {
            describe_words(differences, is_listing, &mut text);
        }
    }
    for one in &shown.folders {
        folders::describe(one, is_listing, &mut text);
    }
    if is_listing && !differences.is_empty() {
        let _ = writeln!(
            text,
            "\nTo accept what is described otherwise now: `trove approve{naming} ID...`"
        );
    }
    let waits = shown.servers.iter().any(|one| !one.verdict.may_run())
        || shown.folders.iter().any(|one| !one.verdict.may_run());
    if is_listing && waits {
        let _ = writeln!(
            text,
            "\nTo let them run: `trove approve{naming} ID...`, or `trove approve{naming} --all`"
        );
    } else if !is_listing && shown.servers.is_empty() && shown.folders.is_empty() {
        text.push_str("Nothing waits for approval.\n");
    }
    text
}

/// One server, whole: the user must see all that is approved.
fn describe(candidate: &Candidate<'_>, is_listing: bool, text: &mut String) {
    let id = &candidate.upstream.id;
    let word = match &candidate.verdict {
        Verdict::New | Verdict::Changed(_) if !is_listing => "now approved",
        Verdict::New => "waiting for approval",
        Verdict::Changed(_) => "changed since it was approved, waiting for approval",
        Verdict::Approved => "approved",
        Verdict::Free => "needs no approval",
    };
    let _ = writeln!(text, "\n{id}: {word}");
    describe_reach(candidate, text);
    if let Verdict::Changed(differences) = &candidate.verdict {
        for difference in differences {
            let _ = writeln!(text, "  {}", plain(difference));
        }
    }
}

/// Shows how a server's descriptions changed since its approval.
fn describe_words(differences: &[Difference], is_listing: bool, text: &mut String) {
    let word = if is_listing { "described otherwise since" } else { "now accepted" };
    for difference in differences {
        let _ = writeln!(text, "  {word}: {}", plain(&difference.about));
        for (mark, words) in [('-', &difference.was), ('+', &difference.is)] {
            for line in words.lines().filter(|line| !line.is_empty()) {
                let _ = writeln!(text, "    {mark} {}", plain(line));
            }
        }
    }
}

/// Shows the command that would be run, or the address and values that would be sent.
pub(super) fn describe_reach(candidate: &Candidate<'_>, text: &mut String) {
    describe_run(candidate, text);
    describe_calls(candidate, text);
}

fn describe_run(candidate: &Candidate<'_>, text: &mut String) {
    let Some(invocation) = &candidate.invocation else { return };
    match &candidate.upstream.reach {
        Reach::Stdio { args, env, .. } => {
            // Of what needs no approval nothing need be seen whole.
            let line = match candidate.verdict {
                Verdict::Free => masked_line(invocation, args),
                _ => command_line(invocation),
            };
            let _ = writeln!(text, "  runs     {line}");
            let program = invocation.program().map_or_else(|| "not found".to_owned(), plain);
            let _ = writeln!(text, "  program  {program}");
            if let Some(cwd) = &invocation.cwd {
                let _ = writeln!(text, "  in       {}", plain(cwd));
            }
            for (name, value) in env {
                let _ = writeln!(text, "  env      {}", variable(name, value));
            }
        }
        Reach::Http(remote) | Reach::Sse(remote) => {
            let _ = writeln!(text, "  asks     {}", plain(&masked_url(remote.url.written())));
            for (name, value) in &remote.headers {
                let _ = writeln!(text, "  header   {}: {}", plain(name), plain(value.masked()));
            }
        }
    }
}

/// Adds the tools that a recipe would call.
fn describe_calls(candidate: &Candidate<'_>, text: &mut String) {
    if let Some(calls) = &candidate.calls {
        let _ = writeln!(text, "  recipe   {}", plain(&calls.shown()));
    }
}

/// The command with what may be secret masked.
fn masked_line(invocation: &Invocation, args: &[Text]) -> String {
    let words = std::iter::once(invocation.command.clone()).chain(masked_args(args));
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// The whole command as one would type it, e.g. `npx server '/my notes'`.
fn command_line(invocation: &Invocation) -> String {
    let words = std::iter::once(&invocation.command).chain(&invocation.args);
    words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_./@:=+,%".contains(c);
    if !word.is_empty() && word.chars().all(is_bare) {
        return word.to_owned();
    }
    plain(&format!("'{}'", word.replace('\'', r"'\''")))
}

/// Secrets are masked. A variable that decides which code is run is shown in any case, e.g. `PATH`.
fn variable(name: &str, value: &Text) -> String {
    if DECISIVE.contains(&name) {
        let value = quoted(value.written());
        return format!("{}={value}  (this decides what code is run)", plain(name));
    }
    format!("{}={}", plain(name), plain(value.masked()))
}

fn as_json(
    loaded: &Loaded,
    shown: &Shown<'_, '_>,
    (is_listing, changed): (bool, &Differences),
) -> Value {
    let server = |candidate: &&Candidate<'_>| {
        let state = match &candidate.verdict {
            Verdict::New | Verdict::Changed(_) if !is_listing => "approved",
            Verdict::New => "waiting",
            Verdict::Changed(_) => "changed",
            Verdict::Approved => "approved",
            Verdict::Free => "free",
        };
        let mut server = json!({ "id": candidate.upstream.id.as_str(), "state": state });
        if let Some(invocation) = &candidate.invocation {
            let (command, args) = match (&candidate.upstream.reach, &candidate.verdict) {
                (Reach::Stdio { args, .. }, Verdict::Free) => {
                    (invocation.command.clone(), masked_args(args))
                }
                (Reach::Stdio { .. }, _) => (invocation.command.clone(), invocation.args.clone()),
                _ => (masked_url(&invocation.command), Vec::new()),
            };
            server["command"] = json!(command);
            server["args"] = json!(args);
            server["env"] = json!(invocation.env.keys().collect::<Vec<_>>());
            server["cwd"] = json!(invocation.cwd);
            server["program"] = json!(invocation.program());
            server["sha256"] = json!(invocation.sha256());
        }
        if let Some(calls) = &candidate.calls {
            server["recipe"] = json!(calls);
        }
        if let Verdict::Changed(differences) = &candidate.verdict {
            server["differences"] = json!(differences);
        }
        if let Some(changed) = changed.get(candidate.upstream.id.as_str()) {
            server["descriptions"] = json!(changed);
        }
        server
    };
    let served = shown.folders.iter().map(|one| folders::as_json(one, is_listing));
    let servers: Vec<Value> = shown.servers.iter().map(server).chain(served).collect();
    json!({
        "success": true,
        "file": loaded.origin.as_ref().map(|file| file.display().to_string()),
        "servers": servers,
    })
}

impl From<StateError> for Failed {
    fn from(error: StateError) -> Failed {
        Failed::new(Class::Approvals, error.to_string())
    }
}
