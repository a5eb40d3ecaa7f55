//! `trove doctor`: everything that is wrong, and what to do about it.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use super::{Failed, exit, host, load_as_is, ls::plain, runtime, say};
use crate::{
    app::{App, memory_of},
    cli::{Global, Wait},
    clients::mark_beside,
    config::{HostScope, Loaded, ProcessEnv},
    doctor::{
        Finding, Level, check_clients, check_config, check_ends, check_folders, check_guide,
        check_http, check_kept, check_running, check_secrecy, check_served, check_servers,
        check_state, check_trials, settle,
    },
    errand::{self, Errand, What},
    telemetry,
};

/// How long a Trove that runs may take to say so.
const MAX_ASKING: Duration = Duration::from_secs(5);

pub(super) fn doctor(global: &Global, wait: Wait) -> Result<(), Failed> {
    let host = host()?;
    let mut loaded = load_as_is(global)?;
    mark_beside(&mut loaded, &host);
    let config = &loaded.config;
    let mut at_rest = check_servers(config, &ProcessEnv, &host.cwd);
    at_rest.extend(check_folders(config));
    let mut findings = check_config(&loaded, &at_rest);
    // Before the servers are started: they would write there too.
    findings.extend(check_state(&config.state_dir.value));
    findings.extend(check_secrecy(&loaded));
    if !serves_http(&loaded) {
        findings.extend(check_http(config.http.addr.value));
    }
    findings.extend(at_rest);
    let is_used = config.state_dir.value.join("store.db").exists();
    if loaded.is_usable() {
        findings.extend(runtime()?.block_on(check_guide(config, &host.cwd)));
    }
    if loaded.is_usable() && (is_used || config.has_servers()) {
        telemetry::start(global, "error");
        let running = runtime()?.block_on(ask(&loaded, wait, &findings, &host.cwd));
        findings.extend(running);
    }
    findings.extend(check_clients(&host));
    findings.sort_by_key(|finding| finding.level);
    let has_errors = findings.iter().any(|finding| finding.level == Level::Error);
    say(&if wait.output.json {
        let servers = config.server_ids().count();
        let report = json!({ "ok": !has_errors, "servers": servers, "findings": findings });
        format!("{report}\n")
    } else {
        text(&loaded, &findings)
    });
    if has_errors {
        // Everything has been said; only the exit code is left.
        std::process::exit(exit::TO_MEND.into());
    }
    Ok(())
}

/// Whether a Trove of this configuration runs and serves HTTP, so that its address is taken by
/// itself.
fn serves_http(loaded: &Loaded) -> bool {
    let read = Errand::new(What::Read { uri: "config://server".to_owned() }, 0);
    let state = &loaded.config.state_dir.value;
    let answer = errand::ask(state, &memory_of(loaded), &read, MAX_ASKING);
    let Some(Ok(answer)) = answer else { return false };
    let settings: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let mut doors = settings["transport"].as_array().into_iter().flatten();
    doors.any(|door| door["kind"] == "http" && door["open"] == true)
}

/// Starts the servers, lets each answer or fail, tries those that answer, and stops them.
async fn ask(loaded: &Loaded, wait: Wait, said: &[Finding], cwd: &std::path::Path) -> Vec<Finding> {
    let app = App::start(loaded, false).await;
    let after = settle(&app, Duration::from_secs(wait.wait)).await;
    let scope = HostScope::new(ProcessEnv, cwd.to_owned());
    let tried = check_trials(&app, &loaded.config, &scope, &after).await;
    let mut findings = check_running(&app, &loaded.config, &scope, said).await;
    findings.extend(check_served(&app, &loaded.config));
    // One that fell at its trial has said so already.
    let fell = |one: &Finding| {
        findings.iter().any(|f| f.level == Level::Error && f.subject == one.subject)
    };
    let tried: Vec<Finding> =
        tried.into_iter().filter(|one| one.level != Level::Error || !fell(one)).collect();
    findings.extend(tried);
    findings.extend(check_kept(&app, &loaded.config.state_dir.value).await);
    findings.extend(check_ends(&app, &loaded.config).await);
    app.shutdown().await;
    findings
}

fn text(loaded: &Loaded, findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let level = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        let (area, subject) = (finding.area, plain(&finding.subject));
        let _ = writeln!(text, "{level}: {area} {subject}: {}", plain(&finding.message));
        for line in &finding.last_words {
            let _ = writeln!(text, "  its stderr: {}", plain(line));
        }
        let _ = writeln!(text, "  fix: {}", plain(&finding.fix));
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let servers = loaded.config.server_ids().count();
    let _ = match (errors, warnings) {
        (0, 0) => writeln!(text, "All is well: {servers} servers."),
        _ => writeln!(text, "{errors} to mend, {warnings} to look at; {servers} servers."),
    };
    text
}
