//! Who asks, and through which door.

/// Who asks, with which client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The door the question came through.
    pub door: Door,
    /// What the client calls itself, if it said.
    pub client: Option<String>,
}

impl Caller {
    /// The local user, at the command line.
    pub fn local() -> Caller {
        Caller { door: Door::CommandLine, client: None }
    }

    /// Somebody behind `door`, whose client has not said its name.
    pub fn behind(door: Door) -> Caller {
        Caller { door, client: None }
    }
}

/// A way into the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// MCP on stdin and stdout: the local user.
    Stdio,
    /// MCP over HTTP.
    Http,
    /// The command line: the local user.
    CommandLine,
}
