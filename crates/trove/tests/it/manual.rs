//! Completions for shells and pages for readers of manuals.

use crate::kit::toy::{config, toy};
use crate::kit::{Folder, LIMIT, Trove, within};

/// The words that a shell would offer behind these words.
async fn offered(folder: &Folder, words: &[&str]) -> Vec<String> {
    let mut command = folder.command();
    command
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .arg("--")
        .args(words);
    let output = command.output().await.expect("trove can be started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn shells_complete_commands_servers_and_uris() {
    let folder = Folder::with(&config(&[toy("one", "--resources 2")]));
    assert!(offered(&folder, &["trove", "unin"]).await.contains(&"uninstall".to_owned()));
    assert_eq!(offered(&folder, &["trove", "find", "--server", "o"]).await, ["one"]);
    // Nothing has been listed yet.
    assert_eq!(offered(&folder, &["trove", "read", "toy://it"]).await, [""; 0]);
    let trove = Trove::start_in(&folder).await;
    trove.ready(&["one"]).await;
    let both = ["toy://item/0", "toy://item/1"];
    let running = offered(&folder, &["trove", "read", "toy://it"]).await;
    assert!(both.iter().all(|uri| running.contains(&(*uri).to_owned())), "{running:?}");
    // One that hangs is not waited for.
    trove.signal(rustix::process::Signal::STOP);
    let read = ["trove", "read", "toy://it"];
    let hung = within(LIMIT, "a shell's patience", offered(&folder, &read)).await;
    assert!(both.iter().all(|uri| hung.contains(&(*uri).to_owned())), "{hung:?}");
    drop(trove);
    // As they were listed last.
    let remembered = offered(&folder, &["trove", "read", "toy://it"]).await;
    assert!(both.iter().all(|uri| remembered.contains(&(*uri).to_owned())), "{remembered:?}");
}

#[tokio::test]
async fn bash_completes_uris_though_it_breaks_them_at_colons() {
    let folder = Folder::with(&config(&[toy("one", "--resources 2")]));
    assert_eq!(folder.run(&["ls"]).await.code, Some(0));
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_trove"));
    let script = r#"source <(trove completions bash)
        COMP_LINE='trove read toy://item/' COMP_POINT=${#COMP_LINE}
        COMP_WORDS=(trove read toy : //item/) COMP_CWORD=4 COMP_TYPE=9
        _trove trove //item/ : && printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = tokio::process::Command::new("bash");
    for (name, value) in folder.command().as_std().get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let folder_of = program.parent().expect("the program lies in a folder").display();
    bash.args(["-c", script]).current_dir(folder.path()).env("PATH", format!("{folder_of}:{path}"));
    let output = bash.output().await.expect("bash can be started");
    let offered = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(offered.lines().any(|line| line == "//item/1"), "{output:?}");
}

#[tokio::test]
async fn every_shell_gets_a_script() {
    let folder = Folder::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = folder.run(&["completions", shell]).await;
        assert!(ran.code == Some(0) && ran.text().contains("trove"), "{shell}: {ran:?}");
    }
    assert_eq!(folder.run(&["completions", "cmd"]).await.code, Some(1));
}

#[tokio::test]
async fn there_is_a_manual_page_for_every_command() {
    let folder = Folder::empty();
    let page = folder.run(&["man"]).await;
    assert!(page.text().contains(".TH trove 1"), "{page:?}");
    assert_eq!(folder.run(&["man", "--to", "pages"]).await.code, Some(0));
    for name in ["trove.1", "trove-up.1", "trove-flag-set.1"] {
        assert!(folder.path().join("pages").join(name).is_file(), "{name}");
    }
    let all = folder.run(&["man", "--markdown"]).await;
    for words in ["## trove up", "## trove flag set", "| `--wait <SECONDS>` |", "## Exit codes"] {
        assert!(all.text().contains(words), "{words} in {all:?}");
    }
}
