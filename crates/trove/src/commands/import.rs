//! `trove import`: the servers of other clients, written into `trove.toml`.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Class, Failed, approve::unapproved, host, load_as_is, ls::plain, say};
use crate::{
    approval::Calls,
    cli::{Global, Import},
    clients::{
        ClientError, Converted, Dressed, GatherRequest, Gathered, Host, Imported, LeftOut, Needed,
        Origin, Original, TABLE, gather, replace, row, toml_with, unified,
    },
    config::{Loaded, Overrides, ProcessEnv, Request, Severity, load},
};

pub(super) fn import(global: &Global, import: &Import) -> Result<(), Failed> {
    let host = host()?;
    let target = target(global, import, &host)?;
    let rows = match import.client {
        Some(client) => row(client).into_iter().collect(),
        None => TABLE.iter().collect(),
    };
    let address = target.loaded.config.http.addr.value;
    let gathered = gather(
        &host,
        &GatherRequest {
            rows,
            from: import.from.as_deref(),
            only: None,
            existing: &target.loaded.config.upstreams,
            own_url: format!("http://{address}/mcp"),
        },
    );
    refuse_what_is_no_client(import, &gathered)?;
    let change = Change::of(&target, &gathered)?;
    let backup =
        if import.dry_run || !change.is_one() { None } else { change.write(&host, &gathered)? };
    let next = next_step(global, &target.path, &host.cwd)?;
    let report = Report { import, gathered: &gathered, change: &change, backup, next };
    say(&if import.output.json { format!("{}\n", report.json()) } else { report.text() });
    Ok(())
}

/// The command with which the servers of the file that was written are started.
fn next_step(global: &Global, path: &Path, cwd: &Path) -> Result<String, Failed> {
    let loaded = load_as_is(global)?;
    if loaded.origin.as_deref() != Some(path) {
        return Ok(format!("`trove status --config {}` starts them", path.display()));
    }
    let waiting = unapproved(&loaded, cwd)?;
    let next = if waiting.is_empty() {
        "`trove status` starts them"
    } else {
        "`trove approve --all` lets them run"
    };
    Ok(next.to_owned())
}

/// The file the servers go to.
struct Target {
    path: PathBuf,
    /// Its present configuration.
    loaded: Loaded,
}

fn target(global: &Global, import: &Import, host: &Host<'_>) -> Result<Target, Failed> {
    let in_force = load_as_is(global)?;
    let own = in_force.origin.clone().filter(|_| in_force.client.is_none());
    let path = match &import.write {
        Some(path) => host.cwd.join(path),
        None => own.unwrap_or_else(|| host.cwd.join("trove.toml")),
    };
    if in_force.origin.as_ref() == Some(&path) {
        return usable(Target { path, loaded: in_force });
    }
    let (explicit, cwd, flags) = (Some(path.clone()), host.cwd.clone(), Overrides::default());
    // A file that is not there yet says nothing, and that is no error here.
    let explicit = explicit.filter(|path| path.exists());
    let nothing =
        Request { explicit: Some(PathBuf::from("/dev/null")), cwd, env: &ProcessEnv, flags };
    let request = match explicit {
        Some(path) => Request { explicit: Some(path), ..nothing },
        None => nothing,
    };
    usable(Target { path, loaded: load(&request) })
}

fn usable(target: Target) -> Result<Target, Failed> {
    let path = target.path.display();
    let message = match (&target.loaded.client, target.loaded.is_usable()) {
        (Some(client), _) => {
            format!("{path} belongs to {client}; name a trove.toml with --write")
        }
        (None, false) if target.path.exists() => {
            format!("{path} has errors, so nothing is added to it: run `trove config check`")
        }
        _ => return Ok(target),
    };
    Err(Failed::new(Class::Config, message))
}

fn refuse_what_is_no_client(import: &Import, gathered: &Gathered) -> Result<(), Failed> {
    let Some(from) = &import.from else { return Ok(()) };
    let from = from.display();
    if gathered.is_unknown_file {
        let message = format!("no client Trove knows writes a file like {from}");
        return Err(Failed::new(Class::Config, message));
    }
    if gathered.files.is_empty()
        && let Some(problem) = gathered.problems.first()
    {
        return Err(Failed::new(Class::Config, problem.to_string()));
    }
    Ok(())
}

/// The change to the file.
struct Change {
    original: Original,
    dressed: Dressed,
    after: String,
}

impl Change {
    fn of(target: &Target, gathered: &Gathered) -> Result<Change, Failed> {
        let original = Original::read(&target.path)?;
        let bytes = original.bytes.as_deref().unwrap_or_default();
        let dressed = Dressed::of(bytes)
            .ok_or_else(|| ClientError::NotText { path: original.path.clone() })?;
        let after = if gathered.servers.is_empty() {
            dressed.text.clone()
        } else {
            toml_with(&dressed.text, &gathered.servers).map_err(|error| {
                let path = target.path.display();
                Failed::new(Class::Config, format!("{path}: {}", error.message()))
            })?
        };
        Ok(Change { original, dressed, after })
    }

    fn is_one(&self) -> bool {
        self.dressed.text != self.after
    }

    /// Writes the file and reads it back: every server must be there, and no new error.
    fn write(&self, host: &Host<'_>, gathered: &Gathered) -> Result<Option<PathBuf>, Failed> {
        let backup = replace(&self.original, Some(&self.dressed.dress(&self.after)), host.now)?;
        let explicit = Some(self.original.path.clone());
        let (cwd, flags) = (host.cwd.clone(), Overrides::default());
        let loaded = load(&Request { explicit, cwd, env: &ProcessEnv, flags });
        let is_there = |id: &trove_core::SourceId| {
            loaded.config.upstreams.iter().any(|server| server.id == *id)
        };
        let missing: Vec<&str> = gathered
            .servers
            .iter()
            .filter(|server| !is_there(&server.id))
            .map(|server| server.id.as_str())
            .collect();
        if loaded.is_usable() && missing.is_empty() {
            return Ok(backup);
        }
        let path = self.original.path.display();
        let errors = loaded.problems.iter().filter(|p| p.severity == Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        let message = format!(
            "{path} does not read back as written ({}); {}",
            missing.join(", "),
            errors.join("; ")
        );
        Err(Failed::new(Class::Config, message))
    }
}

struct Report<'a> {
    import: &'a Import,
    gathered: &'a Gathered,
    change: &'a Change,
    backup: Option<PathBuf>,
    /// The way to start the servers that were added.
    next: String,
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        for server in &self.gathered.servers {
            text.push_str(&described(server));
        }
        for LeftOut { origin, why, .. } in &self.gathered.left_out {
            let _ = writeln!(text, "left out: {}: {}", from(origin), plain(why));
        }
        for problem in &self.gathered.problems {
            let _ = writeln!(text, "{problem}");
        }
        self.variables(&mut text);
        if self.gathered.files.is_empty() {
            text.push_str("No client with servers was found; name a file with --from.\n");
        }
        self.verdict(&mut text);
        text
    }

    /// The variables that the user has to set, each once.
    fn variables(&self, text: &mut String) {
        let mut told: Vec<&str> = Vec::new();
        for needed in self.needed().filter(|needed| !needed.is_set) {
            if told.is_empty() {
                text.push_str("\nSet these where Trove is started; no secret was copied:\n");
            }
            if !told.contains(&needed.variable.as_str()) {
                let _ = writeln!(text, "  {}: {}", needed.variable, plain(&needed.what));
                told.push(&needed.variable);
            }
        }
    }

    fn verdict(&self, text: &mut String) {
        let path = self.change.original.path.display();
        if self.gathered.servers.is_empty() {
            let _ = writeln!(text, "Nothing new; {path} was not touched.");
            return;
        }
        let count = self.gathered.servers.len();
        if self.import.dry_run {
            let _ = writeln!(text, "\n{}", self.diff());
            let _ =
                writeln!(text, "{count} servers would be added to {path}; nothing was written.");
            return;
        }
        let _ = writeln!(text, "\n{count} servers added to {path}; none of them was started.");
        if let Some(backup) = &self.backup {
            let _ = writeln!(text, "backup: {}", backup.display());
        }
        let _ = writeln!(text, "next: look at the commands above, then {}.", self.next);
    }

    fn diff(&self) -> String {
        unified(&self.change.original.path, &self.change.dressed.text, &self.change.after)
    }

    fn needed(&self) -> impl Iterator<Item = &Needed> {
        self.gathered.servers.iter().flat_map(|server| &server.needed)
    }

    fn json(&self) -> Value {
        let gathered = self.gathered;
        let servers: Vec<Value> = gathered.servers.iter().map(server_json).collect();
        let left_out: Vec<Value> = gathered
            .left_out
            .iter()
            .map(|LeftOut { origin, why, .. }| json!({ "origin": origin_json(origin), "why": why }))
            .collect();
        let variables: Vec<Value> = self
            .needed()
            .map(|n| json!({ "name": n.variable, "what": n.what, "is_set": n.is_set }))
            .collect();
        json!({
            "file": self.change.original.path.display().to_string(),
            "written": !self.import.dry_run && self.change.is_one(),
            "dry_run": self.import.dry_run,
            "backup": self.backup.as_ref().map(|backup| backup.display().to_string()),
            "diff": self.import.dry_run.then(|| self.diff()),
            "servers": servers,
            "left_out": left_out,
            "variables": variables,
            "problems": gathered.problems,
        })
    }
}

/// A server on a few lines, its command whole.
fn described(server: &Imported) -> String {
    let mut text = format!(
        "{}  ({})\n    {}\n",
        server.id,
        from(&server.origin),
        plain(&server.server.line())
    );
    let pairs = |pairs: &[(String, String)]| -> String {
        let all: Vec<String> = pairs.iter().map(|(n, v)| format!("{n}={}", plain(v))).collect();
        all.join(" ")
    };
    match &server.server {
        Converted::Stdio { env, cwd, .. } => {
            if !env.is_empty() {
                let _ = writeln!(text, "    with: {}", pairs(env));
            }
            if let Some(cwd) = cwd {
                let _ = writeln!(text, "    in: {}", plain(cwd));
            }
        }
        Converted::Remote { headers, .. } => {
            if !headers.is_empty() {
                let _ = writeln!(text, "    with: {}", pairs(headers));
            }
        }
    }
    if let Some(calls) = Calls::of(&server.as_found) {
        let _ = writeln!(text, "    recipe: {}", plain(&calls.shown()));
    }
    if !server.not_followed.is_empty() {
        let keys = plain(&server.not_followed.join(", "));
        let _ = writeln!(text, "    not taken over: {keys}");
    }
    text
}

fn from(origin: &Origin) -> String {
    let Origin { client, path, name, line, .. } = origin;
    format!("`{}` of {client}, {}:{line}", plain(name), plain(&path.display().to_string()))
}

fn origin_json(origin: &Origin) -> Value {
    json!({
        "client": origin.client.to_string(),
        "scope": origin.scope.to_string(),
        "file": origin.path.display().to_string(),
        "line": origin.line,
        "name": origin.name,
    })
}

fn server_json(server: &Imported) -> Value {
    let mut shown = json!({
        "id": server.id.as_str(),
        "origin": origin_json(&server.origin),
        "timeout_ms": u64::try_from(server.timeout_ms).unwrap_or(u64::MAX),
        "not_taken_over": server.not_followed,
    });
    let map = |pairs: &[(String, String)]| -> Value {
        pairs.iter().map(|(n, v)| (n.clone(), json!(v))).collect::<serde_json::Map<_, _>>().into()
    };
    match &server.server {
        Converted::Stdio { command, args, env, cwd } => {
            shown["command"] = json!(command);
            shown["args"] = json!(args);
            shown["env"] = map(env);
            shown["cwd"] = json!(cwd);
        }
        Converted::Remote { url, is_sse, headers } => {
            shown["url"] = json!(url);
            shown["transport"] = json!(if *is_sse { "sse" } else { "http" });
            shown["headers"] = map(headers);
        }
    }
    shown
}
