//! Variables in every dialect.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{Dialect, Dialect::*, Scope, Text};

/// A machine with two variables, a home, a project and one file.
struct Machine;

impl Scope for Machine {
    fn env(&self, name: &str) -> Option<String> {
        match name {
            "KEY" => Some("k3y".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    fn home(&self) -> Option<PathBuf> {
        Some("/home/ann".into())
    }

    fn workspace(&self) -> Option<PathBuf> {
        Some("/srv/shop".into())
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("/etc/token") => Ok("t0ken\n".into()),
            Some("/home/ann/token") => Ok("ann's\r\n".into()),
            Some("/conf/./token") => Ok("beside".into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The value, or the error with its hint in brackets.
#[track_caller]
fn check(dialect: Dialect, written: &str, expect: &str) {
    let text = Text::new(written, dialect).relative_to(Path::new("/conf"));
    let got = match text.expand(&Machine) {
        Ok(value) => value,
        Err(error) => format!("{error} [{}]", error.hint()),
    };
    assert_eq!(got, expect, "{written} by {dialect}");
}

#[test]
fn trove_knows_env_defaults_home_and_an_escape() {
    check(Trove, "Bearer ${env:KEY}", "Bearer k3y");
    check(Trove, "${env:KEY}${env:KEY}", "k3yk3y");
    check(Trove, "${env:GONE:-plan b}", "plan b");
    check(Trove, "${env:GONE:-}", "");
    check(Trove, "${env:EMPTY:-plan b}", "plan b");
    check(Trove, "[${env:EMPTY}]", "[]");
    check(Trove, "${home}/notes", "/home/ann/notes");
    check(Trove, "a$$b $${home} 5$ $x {env:KEY} ünï", "a$b ${home} 5$ $x {env:KEY} ünï");
    check(
        Trove,
        "${KEY}",
        "`${KEY}` is no variable of trove.toml \
         [write `${env:NAME}`, `${file:PATH}` or `${home}`, and `$$` for a dollar sign]",
    );
    check(
        Trove,
        "x${env:KEY",
        "a `${` is never closed [add the `}`, or write `$$` for a dollar sign]",
    );
}

#[test]
fn an_undefined_variable_is_named_in_every_dialect() {
    let undefined =
        "the environment variable `GONE` is not set [set `GONE` where Trove is started]";
    for (dialect, written) in [
        (Trove, "${env:GONE}"),
        (ClaudeCode, "${GONE}"),
        (ClaudeCode, "${env:GONE}"),
        (Cursor, "${env:GONE}"),
        (VsCode, "${env:GONE}"),
        (Windsurf, "${env:GONE}"),
        (Gemini, "a-$GONE-b"),
        (Gemini, "${GONE}"),
        (OpenCode, "{env:GONE}"),
        (Continue, "${{ secrets.GONE }}"),
    ] {
        check(dialect, written, undefined);
    }
}

#[test]
fn claude_code_knows_names_and_defaults() {
    check(ClaudeCode, "${KEY} ${GONE:-b} ${env:KEY}", "k3y b k3y");
    check(ClaudeCode, "$KEY and ${KEY", "$KEY and ${KEY");
    check(
        ClaudeCode,
        "${a b}",
        "`${a b}` is no variable of Claude Code [write `${NAME}` or `${NAME:-default}`]",
    );
}

#[test]
fn editors_know_their_folders() {
    for dialect in [Cursor, VsCode] {
        check(dialect, "${userHome}${/}x${pathSeparator}${env:KEY}", "/home/ann/x/k3y");
        check(dialect, "${workspaceFolder}:${workspaceFolderBasename}", "/srv/shop:shop");
    }
    let lesson = "[write `${env:NAME}`, `${userHome}` or `${workspaceFolder}`]";
    check(Cursor, "${KEY}", &format!("`${{KEY}}` is no variable of Cursor {lesson}"));
    check(VsCode, "${command:x}", &format!("`${{command:x}}` is no variable of VS Code {lesson}"));
    check(
        VsCode,
        "Bearer ${input:token}",
        "`${input:token}` asks a person, and here nobody can be asked \
         [put the value in an environment variable and write `${env:NAME}` instead]",
    );
}

#[test]
fn windsurf_and_opencode_read_files() {
    check(Windsurf, "${env:KEY}-${file:/etc/token}", "k3y-t0ken");
    check(Trove, "${env:KEY}-${file:/etc/token} ${file:~/token}", "k3y-t0ken ann's");
    check(OpenCode, "{env:KEY}-{file:/etc/token}", "k3y-t0ken");
    check(OpenCode, "{file:~/token} {file:./token}", "ann's beside");
    check(OpenCode, r#"{"json": {}} ${env:KEY} {env}"#, r#"{"json": {}} $k3y {env}"#);
    check(OpenCode, "{file:/none}", "/none cannot be read [make the file, and let Trove read it]");
}

#[test]
fn gemini_knows_bare_names() {
    check(Gemini, "$KEY/${KEY}/${GONE:-x}/$5/$", "k3y/k3y/x/$5/$");
}

#[test]
fn continue_takes_secrets_from_the_environment() {
    check(Continue, "Bearer ${{ secrets.KEY }}${{secrets.KEY}} ${KEY}", "Bearer k3yk3y ${KEY}");
    check(
        Continue,
        "${{ inputs.KEY }}",
        "`${{ inputs.KEY }}` is no variable of Continue [write `${{ secrets.NAME }}`]",
    );
}

#[test]
fn a_plain_value_has_no_variables() {
    check(Plain, "${KEY} $KEY {env:KEY} $$ ${", "${KEY} $KEY {env:KEY} $$ ${");
}

#[test]
fn debug_tells_only_the_length() {
    assert_eq!(format!("{:?}", Text::plain("hünter2")), "Text(7 chars)");
}

#[test]
fn only_pure_references_are_shown() {
    let shown = |dialect, written| Text::new(written, dialect).masked().to_owned();
    assert_eq!(shown(Trove, "${env:KEY}"), "${env:KEY}");
    assert_eq!(shown(Trove, "Bearer ${env:KEY}"), "***");
    assert_eq!(shown(Trove, "${env:KEY:-hunter2}"), "***");
    assert_eq!(shown(Trove, "hunter2"), "***");
    assert_eq!(shown(Plain, "${env:KEY}"), "***");
    assert_eq!(shown(Trove, ""), "***");
}

#[test]
fn what_a_text_needs_is_known_before_it_is_expanded() {
    let text = Text::new("${env:A} ${env:B:-x} ${home} ${env:C}", Trove);
    assert_eq!(text.needs(), ["A", "C"]);
    assert!(text.begins_with_variable());
    assert!(text.check().is_ok());
    assert!(Text::new("${input:x}", VsCode).check().is_err());
}
