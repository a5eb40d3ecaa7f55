//! How each client writes variables in its own file.
//!
//! Finds references and says what they mean; looks nothing up.

use std::fmt;

use super::ExpandError;

/// The rules by which a file's variables are written. A default is taken, as in a shell,
/// where the variable is unset or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `${env:NAME}`, `${env:NAME:-default}`, `${file:PATH}`, `${home}`; `$$` is a dollar sign.
    Trove,
    /// `${NAME}`, `${NAME:-default}`; also `${env:NAME}`, which many files borrow.
    ClaudeCode,
    /// `${env:NAME}`, `${userHome}`, `${workspaceFolder}`, `${workspaceFolderBasename}`,
    /// `${pathSeparator}` and `${/}`.
    Cursor,
    /// As Cursor, and `${input:id}`, which needs a person.
    VsCode,
    /// `${env:NAME}`, `${file:/path}`.
    Windsurf,
    /// `$NAME`, `${NAME}`, `${NAME:-default}`.
    Gemini,
    /// `{env:NAME}`, `{file:path}`.
    OpenCode,
    /// `${{ secrets.NAME }}`, taken from the environment.
    Continue,
    /// No variables at all: Claude Desktop, Zed, Codex, Cline, goose.
    Plain,
}

/// A stretch of text.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that stands for itself.
    Literal(&'a str),
    /// A reference to something else.
    Variable(Variable<'a>),
}

/// The meaning of a reference, e.g. of `${env:HOME}`.
#[derive(Debug, PartialEq, Eq)]
pub enum Variable<'a> {
    /// An environment variable, and its value where it is unset or empty, e.g. `${PORT:-80}`.
    Env {
        /// Its name.
        name: &'a str,
        /// The default, if one is written.
        default: Option<&'a str>,
    },
    /// The user's home folder.
    Home,
    /// The project's folder.
    Workspace,
    /// The last part of the project's folder.
    WorkspaceName,
    /// The separator between the parts of a path.
    Separator,
    /// The contents of a file.
    File(&'a str),
    /// A person's answer to the question of this name.
    Input(&'a str),
}

/// Cuts a text into literals and variables, e.g. `Bearer ${env:TOKEN}` into two pieces.
pub(super) fn split(text: &str, dialect: Dialect) -> Result<Vec<Piece<'_>>, ExpandError> {
    let mut pieces = Vec::new();
    let (mut literal, mut at) = (0, 0);
    while let Some(step) = text[at..].find(['$', '{']) {
        at += step;
        let Some((piece, length)) = dialect.piece_at(&text[at..])? else {
            at += 1;
            continue;
        };
        if literal < at {
            pieces.push(Piece::Literal(&text[literal..at]));
        }
        pieces.push(piece);
        at += length;
        literal = at;
    }
    if literal < text.len() {
        pieces.push(Piece::Literal(&text[literal..]));
    }
    Ok(pieces)
}

impl Dialect {
    /// The piece that begins here and its length, if one does.
    fn piece_at(self, rest: &str) -> Result<Option<(Piece<'_>, usize)>, ExpandError> {
        if self == Dialect::Trove && rest.starts_with("$$") {
            return Ok(Some((Piece::Literal(&rest[..1]), 2)));
        }
        if self == Dialect::Gemini
            && let Some(name) = bare_name(rest)
        {
            return Ok(Some((variable(name, None), 1 + name.len())));
        }
        let Some((open, close)) = self.brackets() else { return Ok(None) };
        let Some(inner) = rest.strip_prefix(open) else { return Ok(None) };
        let Some(length) = inner.find(close) else {
            // Elsewhere an open bracket is text, as the client itself takes it.
            return if self == Dialect::Trove { Err(ExpandError::Unclosed) } else { Ok(None) };
        };
        let whole = open.len() + length + close.len();
        match self.meaning(inner[..length].trim()) {
            Some(meaning) => Ok(Some((Piece::Variable(meaning), whole))),
            // Braces alone are ordinary text; with a dollar sign they are a mistake.
            None if self == Dialect::OpenCode => Ok(None),
            None => Err(ExpandError::Unknown { written: rest[..whole].into(), dialect: self }),
        }
    }

    fn brackets(self) -> Option<(&'static str, &'static str)> {
        match self {
            Dialect::Plain => None,
            Dialect::OpenCode => Some(("{", "}")),
            Dialect::Continue => Some(("${{", "}}")),
            _ => Some(("${", "}")),
        }
    }

    fn meaning(self, body: &str) -> Option<Variable<'_>> {
        let of_env = body.strip_prefix("env:");
        match self {
            Dialect::Trove if body == "home" => Some(Variable::Home),
            Dialect::Trove => of_env.and_then(with_default).or_else(|| of_file(body)),
            Dialect::ClaudeCode => with_default(of_env.unwrap_or(body)),
            Dialect::Gemini => with_default(body),
            Dialect::Cursor => of_editor(body).or_else(|| of_env.and_then(without_default)),
            Dialect::VsCode => of_editor(body)
                .or_else(|| body.strip_prefix("input:").map(Variable::Input))
                .or_else(|| of_env.and_then(without_default)),
            Dialect::Windsurf | Dialect::OpenCode => {
                of_env.and_then(without_default).or_else(|| of_file(body))
            }
            Dialect::Continue => body.strip_prefix("secrets.").and_then(without_default),
            Dialect::Plain => None,
        }
    }

    /// Shows how the dialect's variables look, after something else was written.
    pub(super) fn lesson(self) -> &'static str {
        match self {
            Dialect::Trove => {
                "write `${env:NAME}`, `${file:PATH}` or `${home}`, and `$$` for a dollar sign"
            }
            Dialect::ClaudeCode => "write `${NAME}` or `${NAME:-default}`",
            Dialect::Cursor => "write `${env:NAME}`, `${userHome}` or `${workspaceFolder}`",
            Dialect::VsCode => "write `${env:NAME}`, `${userHome}` or `${workspaceFolder}`",
            Dialect::Windsurf => "write `${env:NAME}` or `${file:/path}`",
            Dialect::Gemini => "write `$NAME` or `${NAME}`",
            Dialect::OpenCode => "write `{env:NAME}` or `{file:path}`",
            Dialect::Continue => "write `${{ secrets.NAME }}`",
            Dialect::Plain => "write the value itself",
        }
    }
}

/// Completes "no variable of ...".
impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dialect::Trove => "trove.toml",
            Dialect::ClaudeCode => "Claude Code",
            Dialect::Cursor => "Cursor",
            Dialect::VsCode => "VS Code",
            Dialect::Windsurf => "Windsurf",
            Dialect::Gemini => "Gemini CLI",
            Dialect::OpenCode => "opencode",
            Dialect::Continue => "Continue",
            Dialect::Plain => "this client",
        })
    }
}

fn variable<'a>(name: &'a str, default: Option<&'a str>) -> Piece<'a> {
    Piece::Variable(Variable::Env { name, default })
}

fn with_default(body: &str) -> Option<Variable<'_>> {
    match body.split_once(":-") {
        Some((name, default)) if is_name(name) => {
            Some(Variable::Env { name, default: Some(default) })
        }
        Some(_) => None,
        None => without_default(body),
    }
}

fn without_default(name: &str) -> Option<Variable<'_>> {
    is_name(name).then_some(Variable::Env { name, default: None })
}

fn of_editor(body: &str) -> Option<Variable<'static>> {
    match body {
        "userHome" => Some(Variable::Home),
        "workspaceFolder" => Some(Variable::Workspace),
        "workspaceFolderBasename" => Some(Variable::WorkspaceName),
        "pathSeparator" | "/" => Some(Variable::Separator),
        _ => None,
    }
}

fn of_file(body: &str) -> Option<Variable<'_>> {
    let path = body.strip_prefix("file:")?;
    (!path.is_empty()).then_some(Variable::File(path))
}

/// The name at the beginning of a text, e.g. `HOME` of `$HOME/bin`.
fn bare_name(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('$')?;
    let end = rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
    is_name(&rest[..end]).then_some(&rest[..end])
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(is_name_char)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
