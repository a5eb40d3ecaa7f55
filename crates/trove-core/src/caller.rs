//! Who asks, and through which door.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use crate::project::ProjectName;

/// The scope of a caller without a name.
static LOCAL_USER: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("the local user"));

/// Who asks, with which client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The door the question came through.
    pub door: Door,
    /// In which way it was asked.
    pub via: Via,
    /// The client's own name, e.g. `claude-code`; `None` if it gave none.
    pub client: Option<Arc<str>>,
    /// The name that the door established; `None` for the local user and for an anonymous caller.
    pub principal: Option<Arc<str>>,
    /// The project the caller works on, where that is known.
    pub project: Option<ProjectName>,
    /// The roles the door established. Those of the local user come from the settings.
    pub roles: Roles,
    /// Whether what is asked has been written down.
    pub trail: Trail,
}

impl Caller {
    /// The local user, at the command line.
    pub fn local() -> Caller {
        Caller::behind(Door::CommandLine)
    }

    /// A caller behind `door`, of whom nothing more is known.
    pub fn behind(door: Door) -> Caller {
        let via = match door {
            Door::CommandLine => Via::CommandLine,
            Door::Stdio | Door::Http => Via::Native,
        };
        Caller {
            door,
            via,
            client: None,
            principal: None,
            project: None,
            roles: Roles::default(),
            trail: Trail::default(),
        }
    }
}

impl Caller {
    /// The scope in which answers are kept. Callers of one scope may see answers that were
    /// fetched for another of them.
    pub fn scope(&self) -> Arc<str> {
        match &self.principal {
            Some(principal) => Arc::clone(principal),
            // Without names there is one user: the holder of the token, or of the machine.
            None => Arc::clone(&LOCAL_USER),
        }
    }
}

/// Whether anything that was asked for one call has been written to the audit log: a tool
/// that asks nothing which is written there is written down itself, and none twice.
#[derive(Debug, Clone, Default)]
pub struct Trail(Option<Arc<AtomicBool>>);

impl Trail {
    /// Of a call that just began.
    pub fn begin() -> Trail {
        Trail(Some(Arc::default()))
    }

    /// Something was written down.
    pub fn note(&self) {
        if let Some(is_noted) = &self.0 {
            is_noted.store(true, Ordering::Relaxed);
        }
    }

    /// Whether something was.
    pub fn is_noted(&self) -> bool {
        self.0.as_ref().is_some_and(|is_noted| is_noted.load(Ordering::Relaxed))
    }
}

/// Two callers are equal however much was written down of either.
impl PartialEq for Trail {
    fn eq(&self, _: &Trail) -> bool {
        true
    }
}

impl Eq for Trail {}

/// In which way something was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// By a method of the protocol.
    Native,
    /// By a tool that stands for one.
    Bridge,
    /// By a program that was sent.
    Code,
    /// By a search.
    Search,
    /// On the web page.
    Web,
    /// On the command line.
    CommandLine,
}

impl Via {
    pub fn as_str(self) -> &'static str {
        match self {
            Via::Native => "native",
            Via::Bridge => "bridge",
            Via::Code => "code",
            Via::Search => "search",
            Via::Web => "web",
            Via::CommandLine => "cli",
        }
    }

    /// The client that asks this way, if there is only one. On the web page somebody may look
    /// at the answers for another client, and that client read nothing.
    pub fn client(self) -> Option<&'static str> {
        match self {
            Via::Web => Some("trove-web"),
            _ => None,
        }
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

impl Door {
    /// Whether the user on the other side started the program, as on stdio.
    pub fn is_local(self) -> bool {
        match self {
            Door::Stdio | Door::CommandLine => true,
            Door::Http => false,
        }
    }

    /// Its name in logs and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Door::Stdio => "stdio",
            Door::Http => "http",
            Door::CommandLine => "command line",
        }
    }
}

/// The roles of a caller. Cloning them copies a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles(Option<Arc<[String]>>);

impl Roles {
    /// These roles.
    pub fn new(roles: impl IntoIterator<Item = String>) -> Roles {
        let roles: Arc<[String]> = roles.into_iter().collect();
        Roles((!roles.is_empty()).then_some(roles))
    }

    pub fn as_slice(&self) -> &[String] {
        self.0.as_deref().unwrap_or_default()
    }
}
