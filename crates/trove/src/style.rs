//! Text for a terminal: safe first, then, where wanted, in colour.

use std::io::IsTerminal;

/// Whether and how to colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// For a stream: only on a terminal, and not if `NO_COLOR` is set.
    pub(crate) fn of(stream: &impl IsTerminal) -> Paint {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Paint { is_on: stream.is_terminal() && !is_refused }
    }

    /// No colour at all.
    #[cfg(test)]
    pub(crate) fn none() -> Paint {
        Paint { is_on: false }
    }

    /// Colour wherever it goes.
    #[cfg(test)]
    pub(crate) fn always() -> Paint {
        Paint { is_on: true }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn soft(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Text of a server on its way to a terminal: no control character may steer it.
pub(crate) fn plain(text: &str) -> String {
    trove_core::content::escape_line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_server_says_steers_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\n\u{202e}c é"), "a\\u{1b}[31mb\\n\\u{202e}c é");
    }
}
