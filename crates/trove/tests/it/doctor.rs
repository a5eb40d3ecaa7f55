//! `trove doctor`: each thing that can be wrong, with its remedy.

mod ailments;

use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc};

use serde_json::Value;

use crate::kit::toy::{config, toy};
use crate::kit::{Folder, LIMIT, Ran, Trove, within};

/// Runs the doctor with a home of its own.
async fn doctor(folder: &Arc<Folder>, args: &[&str]) -> Ran {
    let home = folder.home().join("user");
    let mut command = folder.command();
    command.arg("doctor").args(args).env("HOME", &home).env_remove("XDG_CONFIG_HOME");
    command.env("SECRET_TOKEN", "hunter2-in-clear").stdin(std::process::Stdio::null());
    let output = command.output().await.expect("trove can be started");
    Ran {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The first finding on a subject.
#[track_caller]
fn finding<'a>(report: &'a Value, subject: &str) -> &'a Value {
    let findings = report["findings"].as_array().expect("findings");
    let found =
        findings.iter().find(|f| f["subject"].as_str().is_some_and(|s| s.contains(subject)));
    found.unwrap_or_else(|| panic!("nothing on {subject}: {report}"))
}

/// A configuration on a free port.
fn with_free_port(servers: &str) -> Arc<Folder> {
    Folder::with(&format!("{servers}\n[http]\naddr = \"127.0.0.1:0\"\n"))
}

#[tokio::test]
async fn a_sound_installation_is_well() {
    let folder = with_free_port(&config(&[toy("one", "--bare --resources 2")]));
    let ran = doctor(&folder, &[]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.text().contains("All is well: 1 servers."), "{ran:?}");
    let report = doctor(&folder, &["--json"]).await.json();
    assert_eq!((&report["ok"], &report["findings"]), (&true.into(), &serde_json::json!([])));
}

#[tokio::test]
async fn documents_that_are_not_served_as_they_were_meant_are_told() {
    let folder = with_free_port("[guide]\nroot = \"guide\"");
    let report = doctor(&folder, &["--json"]).await.json();
    let missing = finding(&report, "guide");
    assert!(missing["message"].to_string().contains("is not there"), "{missing}");
    folder.put("guide/help.md", "Ask us.\n");
    folder.put("guide/loose.md", "# Loose\n");
    folder.put("guide/lang/good.md", "---\ntitle: Good\n---\n# Good\n");
    folder.put("guide/lang/bad.md", "---\ntitle: [\n---\n# Bad\n");
    folder.put("guide/lang/broken.md.j2", "one\n{{ projct.name }}\n");
    folder.put("guide/lang/fine.md.j2", "{{ project.name }}{{ flags.unset }}\n");
    let ran = doctor(&folder, &["--json"]).await;
    let report = ran.json();
    assert_eq!((ran.code, &report["ok"]), (Some(1), &false.into()));
    let all = report["findings"].as_array().expect("findings");
    let told = |words: &str| {
        let found = all.iter().find(|f| f["message"].as_str().is_some_and(|m| m.contains(words)));
        found.unwrap_or_else(|| panic!("nothing on {words}: {report}"))
    };
    assert_eq!(
        (&told("lang/bad.md")["level"], &told("lang/bad.md")["area"]),
        (&"warning".into(), &"guide".into())
    );
    let loose = told("loose.md");
    assert_eq!(loose["level"], "note");
    assert!(!loose["message"].to_string().contains("help.md"), "{loose}");
    let broken = finding(&report, "lang/broken.md.j2");
    assert!(broken["message"].to_string().contains("line 2"), "{broken}");
    assert!(!report.to_string().contains("good.md") && !report.to_string().contains("fine.md"));
}

#[tokio::test]
async fn servers_that_cannot_start_are_told_apart() {
    let folder = with_free_port(
        "[servers.lost]\ncommand = \"no-such-program\"\n\
         [servers.lostpath]\ncommand = \"/nowhere/program\"\n\
         [servers.script]\ncommand = \"./script\"\n\
         [servers.unset]\ncommand = \"sh\"\nargs = [\"${env:NOT_SET_ANYWHERE}\"]\n\
         [servers.homeless]\ncommand = \"sh\"\ncwd = \"/nowhere\"\n\
         [servers.away]\nurl = \"http://127.0.0.1:9/mcp\"\n\
         [servers.crash]\ncommand = \"sh\"\nargs = [\"-c\", \"echo boom $TOKEN >&2; exit 3\"]\n\
         env = { TOKEN = \"${env:SECRET_TOKEN}\" }\n",
    );
    folder.put("script", "#!/nonexistent/sh\n");
    let may_run = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path().join("script"), may_run).unwrap();
    let ran = doctor(&folder, &["--json"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["ok"], false);
    for (server, says, fix) in [
        ("lost", "no program `no-such-program`", "PATH"),
        ("lostpath", "no program `/nowhere/program`", "correct the path"),
        ("script", "run by \"/nonexistent/sh\"", "install that"),
        ("unset", "`NOT_SET_ANYWHERE` is not set", "set `NOT_SET_ANYWHERE`"),
        ("homeless", "/nowhere is not there", "cwd"),
        ("away", "", "URL"),
        ("crash", "", "by hand"),
    ] {
        let findings = report["findings"].as_array().expect("findings");
        let of: Vec<&Value> = findings.iter().filter(|f| f["subject"] == server).collect();
        assert_eq!(of.len(), 1, "{server}: {report}");
        assert_eq!(of[0]["level"], "error", "{server}: {report}");
        assert!(of[0]["message"].as_str().unwrap().contains(says), "{server}: {}", of[0]);
        assert!(of[0]["fix"].as_str().unwrap().contains(fix), "{server}: {}", of[0]);
    }
    assert_eq!(finding(&report, "crash")["last_words"][0], "boom ***");
    assert!(!ran.text().contains("hunter2"), "{ran:?}");
}

#[tokio::test]
async fn a_wrong_configuration_is_found_and_the_rest_is_still_looked_at() {
    let folder = Folder::with("[servers.one]\ncomand = \"x\"\n");
    let ran = doctor(&folder, &[]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.text().contains("trove.toml:2") && ran.text().contains("`command`"), "{ran:?}");
    let ran = doctor(&Folder::empty(), &[]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.text().contains("trove import"), "{ran:?}");
}

#[tokio::test]
async fn twins_and_contested_names_are_told() {
    let toys = [toy("one", ""), toy("two", "")];
    let twin = "[servers.a]\ncommand = \"true\"\n[servers.b]\ncommand = \"true\"\n";
    let folder = with_free_port(&format!("{}{twin}", config(&toys)));
    let report = doctor(&folder, &["--json"]).await.json();
    assert!(report.to_string().contains("`a` and `b` are the same server"), "{report}");
    let names = finding(&report, "collisions");
    assert!(names["fix"].as_str().unwrap().contains("server+uri"), "{names}");
}

#[tokio::test]
async fn a_trove_that_runs_and_holds_its_own_address_is_well() {
    let folder = with_free_port("");
    let trove = Trove::start_in(&folder).await;
    let own = trove.url.trim_start_matches("http://").trim_end_matches("/mcp");
    folder.write(&format!("[http]\naddr = \"{own}\"\n"));
    let report = doctor(&folder, &["--json"]).await.json();
    assert_eq!((&report["ok"], &report["findings"]), (&true.into(), &serde_json::json!([])));
    // One that hangs cannot say that it is itself, and is not waited for.
    trove.signal(rustix::process::Signal::STOP);
    let looking = doctor(&folder, &["--json", "--wait", "1"]);
    let report = within(LIMIT, "the doctor", looking).await.json();
    assert_eq!(finding(&report, own)["level"], "warning", "{report}");
}

#[tokio::test]
async fn the_port_the_state_folder_and_the_token_are_looked_at() {
    let trove = Trove::start("").await;
    let taken = trove.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let folder = Folder::with(&format!("[http]\naddr = \"{taken}\"\n"));
    fs::create_dir_all(folder.home()).unwrap();
    let token = folder.home().join("token");
    fs::write(&token, "abc").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    let report = doctor(&folder, &["--json"]).await.json();
    assert_eq!(finding(&report, taken)["level"], "warning", "{report}");
    assert!(finding(&report, "token")["fix"].as_str().unwrap().contains("chmod 600"), "{report}");
    fs::remove_file(&token).unwrap();
    fs::set_permissions(folder.home(), fs::Permissions::from_mode(0o777)).unwrap();
    let report = doctor(&folder, &["--json"]).await.json();
    let home = folder.home().display().to_string();
    assert_eq!(finding(&report, &home)["level"], "warning", "{report}");
    assert_eq!(finding(&report, &home)["fix"], format!("run: chmod go-w '{home}'"), "{report}");
    fs::set_permissions(folder.home(), fs::Permissions::from_mode(0o755)).unwrap();
    let report = doctor(&folder, &["--json"]).await.json();
    assert!(!report.to_string().contains("go-w"), "{report}");
    assert_eq!(finding(&report, &home)["level"], "note", "{report}");
    fs::set_permissions(folder.home(), fs::Permissions::from_mode(0o555)).unwrap();
    let ran = doctor(&folder, &["--json"]).await;
    fs::set_permissions(folder.home(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.text().contains("TROVE_HOME"), "{ran:?}");
}

#[tokio::test]
async fn clients_that_start_a_trove_that_is_gone_are_found() {
    let folder = with_free_port("");
    let home = folder.home().join("user");
    fs::create_dir_all(home.join(".cursor")).unwrap();
    fs::create_dir_all(home.join(".gemini")).unwrap();
    let gone = r#"{"mcpServers": {"trove": {"command": "/gone/trove", "args": ["serve"]}}}"#;
    fs::write(home.join(".cursor/mcp.json"), gone).unwrap();
    let lost = r#"{"mcpServers": {"trove": {"command": "trove", "args": ["serve", "--config", "/gone.toml"]}}}"#;
    fs::write(home.join(".gemini/settings.json"), lost).unwrap();
    let ran = doctor(&folder, &["--json"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report = ran.json();
    let cursor = finding(&report, "cursor");
    assert_eq!(cursor["fix"], "run: trove install --client cursor", "{report}");
    assert!(finding(&report, "gemini")["message"].as_str().unwrap().contains("/gone.toml"));
}

#[tokio::test]
async fn a_damaged_store_is_found() {
    let folder = with_free_port(&config(&[toy("one", "--bare --resources 2")]));
    assert_eq!(doctor(&folder, &[]).await.code, Some(0));
    fs::write(folder.home().join("store.db"), "this is no database, but long enough for one")
        .unwrap();
    let ran = doctor(&folder, &["--json"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report = ran.json();
    let store = finding(&report, "store.db");
    assert_eq!(store["level"], "error", "{report}");
    assert!(store["message"].as_str().unwrap().contains("damaged"), "{store}");
}

#[tokio::test]
async fn t63_weak_tokens_and_open_files_are_told_by_the_doctor_and_at_the_start() {
    let secret = "env = { API_TOKEN = \"hunter2-hunter2\" }";
    let folder = with_free_port(&config(&[toy("one", "--bare --resources 2").set(secret)]));
    fs::create_dir_all(folder.home()).unwrap();
    let open = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for name in ["token", "credentials.json"] {
        let text = if name == "token" { "letmein" } else { "{\"grants\":[]}" };
        fs::write(folder.home().join(name), text).unwrap();
        open(&folder.home().join(name), 0o640);
    }
    open(&folder.config(), 0o644);
    let report = doctor(&folder, &["--json"]).await.json();
    let all = report["findings"].to_string();
    let told =
        ["the token is weak", "can read the token", "tokens of servers", "secrets in the conf"];
    for words in told {
        assert!(all.contains(words), "{words}: {report}");
    }
    assert!(!all.contains("letmein") && !all.contains("hunter2"), "{report}");
    let trove = Trove::start_with(&folder, &["serve", "--http", "127.0.0.1:0"]).await;
    let log: Vec<String> = trove.log.since(0).iter().map(|heard| heard.text.clone()).collect();
    for words in told {
        let is_told = |line: &&String| line.contains(words) && line.contains("WARN");
        assert!(log.iter().any(|line| is_told(&line)), "{words}: {log:#?}");
    }
    drop(trove);
    for name in ["token", "credentials.json"] {
        open(&folder.home().join(name), 0o600);
    }
    fs::remove_file(folder.home().join("token")).unwrap();
    open(&folder.config(), 0o600);
    let all = doctor(&folder, &["--json"]).await.json()["findings"].to_string();
    assert!(told.iter().all(|words| !all.contains(words)), "{all}");
    open(&folder.config(), 0o666);
    let all = doctor(&folder, &["--json"]).await.json()["findings"].to_string();
    assert!(all.contains("so what is run"), "{all}");
}
