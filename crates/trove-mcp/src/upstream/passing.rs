//! Whether the tools and prompts of a server are passed on to our clients.
//!
//! One that was moved into Trove passes them on. One that stands beside Trove in a client does
//! not, since that client would have each of them twice.

use super::UpstreamConfig;

/// Which features of an upstream our clients see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expose {
    /// Tools and prompts too, if it was moved into Trove.
    #[default]
    Auto,
    /// Resources, templates, completions, skills.
    Resources,
    /// Tools and prompts too.
    All,
}

/// How a server came into Trove, and where else it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moved {
    /// The client it was moved from, e.g. `cursor`.
    pub from: Option<String>,
    /// The clients that have it beside Trove, e.g. `Cursor`.
    pub beside: Vec<String>,
}

impl UpstreamConfig {
    /// Whether our clients see its tools and prompts.
    pub fn passes_tools(&self) -> bool {
        match self.expose {
            Expose::All => true,
            Expose::Resources => false,
            Expose::Auto => self.moved.from.is_some() && self.moved.beside.is_empty(),
        }
    }

    /// A sentence on whether they see them, and why, e.g. `passed on, since it was moved here from
    /// cursor`.
    pub fn passing(&self) -> String {
        match (self.expose, &self.moved.from) {
            (Expose::All, _) => "passed on, since `expose` is \"all\"".to_owned(),
            (Expose::Resources, _) => "kept back, since `expose` is \"resources\"".to_owned(),
            (Expose::Auto, None) => {
                "kept back, since it was not moved here from a client; `expose = \"all\"` passes them on"
                    .to_owned()
            }
            (Expose::Auto, Some(from)) if self.moved.beside.is_empty() => {
                format!("passed on, since it was moved here from {from}")
            }
            (Expose::Auto, Some(_)) => {
                let clients = self.moved.beside.join(", ");
                format!(
                    "kept back, since it stands beside Trove in {clients}; `trove install --move` moves it"
                )
            }
        }
    }
}
