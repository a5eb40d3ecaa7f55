//! The protocol's revisions, and the two ways of speaking they fall into.

/// A revision of the protocol that we speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Version {
    /// All of them, newest first.
    pub(crate) const ALL: [Version; 5] = [
        Version::V2026_07_28,
        Version::V2025_11_25,
        Version::V2025_06_18,
        Version::V2025_03_26,
        Version::V2024_11_05,
    ];

    /// The newest that begins with `initialize`.
    pub(crate) const NEWEST_LEGACY: Version = Version::V2025_11_25;
    /// The newest, which has no handshake.
    pub(crate) const MODERN: Version = Version::V2026_07_28;

    pub(crate) fn parse(text: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|v| v.as_str() == text)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Version::V2024_11_05 => "2024-11-05",
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }

    /// Stateless: no handshake, everything in each request's `_meta`.
    pub(crate) fn is_modern(self) -> bool {
        self >= Version::V2026_07_28
    }
}

/// Keys that the protocol itself keeps in `_meta`.
pub(crate) mod meta {
    pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    pub(crate) const PROGRESS_TOKEN: &str = "progressToken";

    /// Keys that belong to one hop and are never passed on.
    pub(crate) fn is_of_one_hop(key: &str) -> bool {
        [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL, PROGRESS_TOKEN]
            .contains(&key)
    }
}

/// The extension under which skills are offered.
pub(crate) const SKILLS: &str = "io.modelcontextprotocol/skills";

/// The version of this program, as peers see it.
pub(crate) const OUR_VERSION: &str = env!("CARGO_PKG_VERSION");
