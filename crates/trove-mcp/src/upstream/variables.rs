//! Values of a config file that may hold variables, kept as written.
//!
//! A [`Text`] is expanded at the moment of connecting, by the rules of the file it came from. It
//! never reads the environment or the disk by itself: the [`Scope`] does. A reference that cannot
//! be expanded is an error that names the variable. None is passed on literally, and none becomes
//! empty in silence.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use dialect::split;
pub use dialect::{Dialect, Piece, Variable};

mod dialect;
#[cfg(test)]
mod tests;

/// Where the values of variables come from.
pub trait Scope: Send + Sync {
    /// The environment variable of that name.
    fn env(&self, name: &str) -> Option<String>;

    /// The user's home folder.
    fn home(&self) -> Option<PathBuf>;

    /// The project the gateway was started for.
    fn workspace(&self) -> Option<PathBuf>;

    /// The contents of a file; the Scope bounds their size.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// A value as written, with the dialect of its variables.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    written: String,
    dialect: Dialect,
    base: PathBuf,
}

impl Text {
    /// A value of a file with that dialect.
    pub fn new(written: impl Into<String>, dialect: Dialect) -> Text {
        Text { written: written.into(), dialect, base: PathBuf::new() }
    }

    /// A value without variables.
    pub fn plain(written: impl Into<String>) -> Text {
        Text::new(written, Dialect::Plain)
    }

    /// Seeks the files that the value names from `folder`.
    pub fn relative_to(mut self, folder: &Path) -> Text {
        self.base = folder.to_owned();
        self
    }

    /// The text that the user wrote. It may hold a secret: show [`Text::masked`] instead.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The value with its variables replaced.
    pub fn expand(&self, scope: &dyn Scope) -> Result<String, ExpandError> {
        let mut value = String::with_capacity(self.written.len());
        for piece in split(&self.written, self.dialect)? {
            match piece {
                Piece::Literal(text) => value.push_str(text),
                Piece::Variable(variable) => value.push_str(&self.look_up(variable, scope)?),
            }
        }
        Ok(value)
    }

    /// The value as its literals and variables, in the order written.
    pub fn pieces(&self) -> Result<Vec<Piece<'_>>, ExpandError> {
        split(&self.written, self.dialect)
    }

    /// Finds an error that the value has in any scope, e.g. a `${` that is never closed.
    pub fn check(&self) -> Result<(), ExpandError> {
        for piece in split(&self.written, self.dialect)? {
            if let Piece::Variable(Variable::Input(id)) = piece {
                return Err(ExpandError::NeedsInput { id: id.into() });
            }
        }
        Ok(())
    }

    /// The environment variables it cannot do without.
    pub fn needs(&self) -> Vec<&str> {
        let pieces = split(&self.written, self.dialect).unwrap_or_default();
        let mut names = Vec::new();
        for piece in pieces {
            if let Piece::Variable(Variable::Env { name, default: None }) = piece {
                names.push(name);
            }
        }
        names
    }

    /// Whether a part of it is taken from a file, so that it can change as written the same.
    pub fn reads_file(&self) -> bool {
        let pieces = split(&self.written, self.dialect).unwrap_or_default();
        pieces.iter().any(|piece| matches!(piece, Piece::Variable(Variable::File(_))))
    }

    /// Whether it begins with a variable, so that its beginning is not known yet.
    pub fn begins_with_variable(&self) -> bool {
        let pieces = split(&self.written, self.dialect).unwrap_or_default();
        matches!(pieces.first(), Some(Piece::Variable(_)))
    }

    /// The value if it only refers to something, else three stars.
    pub fn masked(&self) -> &str {
        if self.is_reference() { &self.written } else { "***" }
    }

    /// Whether it is made of variables alone. A default counts as a literal.
    fn is_reference(&self) -> bool {
        let pieces = split(&self.written, self.dialect).unwrap_or_default();
        let refers = |piece: &Piece<'_>| match piece {
            Piece::Literal(_) | Piece::Variable(Variable::Env { default: Some(_), .. }) => false,
            Piece::Variable(_) => true,
        };
        !pieces.is_empty() && pieces.iter().all(refers)
    }

    fn look_up(&self, variable: Variable<'_>, scope: &dyn Scope) -> Result<String, ExpandError> {
        let workspace = || scope.workspace().ok_or(ExpandError::NoWorkspace);
        match variable {
            Variable::Env { name, default } => match (scope.env(name), default) {
                (Some(value), None) => Ok(value),
                (Some(value), Some(_)) if !value.is_empty() => Ok(value),
                (_, Some(default)) => Ok(default.into()),
                (None, None) => Err(ExpandError::Undefined { name: name.into() }),
            },
            Variable::Home => scope.home().map(as_text).ok_or(ExpandError::NoHome),
            Variable::Workspace => workspace().map(as_text),
            Variable::WorkspaceName => {
                let folder = workspace()?;
                Ok(folder.file_name().map(as_text).unwrap_or_default())
            }
            Variable::Separator => Ok(std::path::MAIN_SEPARATOR_STR.into()),
            Variable::File(path) => self.read(path, scope),
            Variable::Input(id) => Err(ExpandError::NeedsInput { id: id.into() }),
        }
    }

    /// Trailing line breaks are cut: an editor adds them and no header may hold them.
    fn read(&self, path: &str, scope: &dyn Scope) -> Result<String, ExpandError> {
        let path = match path.strip_prefix("~/") {
            Some(rest) => scope.home().ok_or(ExpandError::NoHome)?.join(rest),
            None => self.base.join(path),
        };
        match scope.read(&path) {
            Ok(contents) => Ok(contents.trim_end_matches(['\r', '\n']).into()),
            Err(source) => Err(ExpandError::Unreadable { path, source }),
        }
    }
}

/// Tells the length only: the value may be a secret.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} chars)", self.written.chars().count())
    }
}

fn as_text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

/// Why a value could not be expanded. No variant holds the value of a variable.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// The environment lacks it, and no default is written.
    #[error("the environment variable `{name}` is not set")]
    Undefined {
        /// Its name.
        name: String,
    },
    /// The dialect has no such variable.
    #[error("`{written}` is no variable of {dialect}")]
    Unknown {
        /// The reference, without anything around it.
        written: String,
        /// The dialect whose rules were followed.
        dialect: Dialect,
    },
    /// The reference has no end.
    #[error("a `${{` is never closed")]
    Unclosed,
    /// The client would ask a person for it.
    #[error("`${{input:{id}}}` asks a person, and here nobody can be asked")]
    NeedsInput {
        /// The name of the question.
        id: String,
    },
    /// The home folder is not known.
    #[error("the home folder is not known")]
    NoHome,
    /// There is no project.
    #[error("the workspace folder is not known")]
    NoWorkspace,
    /// The file with the value cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ExpandError {
    /// The next step for the user.
    pub fn hint(&self) -> String {
        match self {
            ExpandError::Undefined { name } => format!("set `{name}` where Trove is started"),
            ExpandError::Unknown { dialect, .. } => dialect.lesson().into(),
            ExpandError::Unclosed => "add the `}`, or write `$$` for a dollar sign".into(),
            ExpandError::NeedsInput { .. } => {
                "put the value in an environment variable and write `${env:NAME}` instead".into()
            }
            ExpandError::NoHome => "set `HOME` where Trove is started".into(),
            ExpandError::NoWorkspace => "start Trove in the project's folder".into(),
            ExpandError::Unreadable { .. } => "make the file, and let Trove read it".into(),
        }
    }
}
