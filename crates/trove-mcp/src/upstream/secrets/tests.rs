//! Which values of an entry are masked, and which words of a server stay.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::*;
use crate::upstream::variables::{Dialect, Text};

struct Machine;

impl Scope for Machine {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn home(&self) -> Option<PathBuf> {
        None
    }

    fn workspace(&self) -> Option<PathBuf> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }
}

fn text(written: &str) -> Text {
    Text::new(written, Dialect::Trove)
}

fn given(args: &[&str], env: &[(&str, &str)]) -> Secrets {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
    let args = args.iter().map(|arg| text(arg)).collect();
    let reach = Reach::Stdio { command: text("server"), args, env, cwd: None };
    Secrets::of(&reach, &Machine)
}

#[track_caller]
fn check(name: &str, value: &str, said: &str, told: &str) {
    assert_eq!(given(&[], &[(name, value)]).hide(said), told, "{name}={value}");
}

#[test]
fn t62_the_value_of_any_variable_is_masked_and_so_are_its_parts() {
    let key = "/wJalrXUtnFEMI+K7MDENG+bPxRfiCYEXAMPLEKEY";
    check("AWS_SECRET_ACCESS_KEY", key, &format!("bad {key}"), "bad ***");
    check("VAULT_PIN", "884422113", "bad 884422113", "bad ***");
    check("JIRA_API", "zzTopSecretzz", "bad zzTopSecretzz", "bad ***");
    check("X", "plainvalue-abc-123", "bad plainvalue-abc-123", "bad ***");
    let dsn = "Server=h;User Id=sa;Password=Pa55w0rdXyz;";
    check("MSSQL_CONNECTION_STRING", dsn, "login with Pa55w0rdXyz failed", "login with *** failed");
    let azure = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=abcDEF/+gh99==;";
    check("AZURE_STORAGE", azure, "key abcDEF/+gh99== of shop", "key *** of shop");
    let headers = r#"{"Authorization":"Bearer wordy-w0rds","Notion-Version":"2022-06-28"}"#;
    let said = "wordy-w0rds is no token for 2022-06-28";
    check("OPENAPI_MCP_HEADERS", headers, said, "*** is no token for 2022-06-28");
    check("API", "https://h.example/x?sig=Xy9Zw8Vu7", "sig Xy9Zw8Vu7", "sig ***");
    check("DSN_JSON", r#"{"db":{"pin":884422113}}"#, "pin 884422113", "pin ***");
}

#[test]
fn t62_ordinary_words_of_a_variable_stay_readable() {
    check("NODE_ENV", "production", "in production", "in production");
    check("REGION", "eu-central-1", "no bucket in eu-central-1", "no bucket in eu-central-1");
    check("DB", "/srv/x/shop.db", "cannot open /srv/x/shop.db", "cannot open /srv/x/shop.db");
    check("PGUSER", "postgres", "role postgres is missing", "role postgres is missing");
    check(
        "API",
        "https://api.example.com",
        "https://api.example.com: 500",
        "https://api.example.com: 500",
    );
    check("OPTIONS", "--max-old-space-size=4096", "max-old-space", "max-old-space");
}

#[test]
fn t62_variables_in_arguments_are_variables() {
    let docker = given(&["run", "-e", "JIRA_API=zzTopSecretzz", "--env=OTHER=Second~77"], &[]);
    assert_eq!(docker.hide("zzTopSecretzz, Second~77"), "***, ***");
    let dsn = given(&["Server=h;Password=Pa55w0rdXyz;"], &[]);
    assert_eq!(dsn.hide("login with Pa55w0rdXyz failed"), "login with *** failed");
    let shell = given(&["-c", "exec env API_KEY=wordwordword server"], &[]);
    assert_eq!(shell.hide("env wordwordword server"), "env *** server");
    let named = given(&["--name", "the token= or hunter2-hunter2"], &[]);
    assert_eq!(named.hide("a token or hunter2-hunter2"), "a token or ***");
}

#[test]
fn t62_a_cut_leaves_no_beginning_of_a_secret() {
    let secrets = given(&[], &[("API_TOKEN", "hunter2-hunter2")]);
    for before in 80..120 {
        let said = format!("{}hunter2-hunter2{}", ".".repeat(before), ".".repeat(20_000));
        let shown = secrets.hide_in_beginning(&said, 100);
        assert!(shown.len() <= 108 && !shown.contains('h'), "{shown}");
    }
    for short in ["", "a hunter2-hunter2", &"x".repeat(100)] {
        let shown = secrets.hide_in_beginning(short, 100);
        assert_eq!(shown, secrets.hide(short));
    }
    assert_eq!(secrets.hide_in_beginning(&"x".repeat(101), 100), format!("{}…", "x".repeat(100)));
}

#[test]
fn t62_a_text_that_was_cut_before_ends_between_words() {
    assert_eq!(beginning("no such token hunter2-hunter2", 20), "no such token");
    assert_eq!(beginning("hunter2-hunter2", 5), "");
    assert_eq!(beginning("short", 5), "short");
    assert_eq!(without_first_word("ter2-hunter2 is wrong"), " is wrong");
}
