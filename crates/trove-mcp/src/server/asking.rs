//! The caller of a request, its era, and its wishes beside the answer.

use tokio::sync::mpsc;
use trove_core::{
    Caller, Json,
    json::{Object, quote, string},
    source::{Ask, Notice, Visible},
};

use crate::{
    era::{Version, meta},
    wire::{RpcError, code, is_id},
};

/// A request's word about itself: the caller, the era and the client's abilities.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) version: Version,
    pub(crate) caller: Caller,
    /// The request's `_meta`, as it came.
    pub(crate) meta: Option<Json>,
    /// The questions that the client can be asked, if the era says so in each request.
    pub(crate) capabilities: Option<Json>,
    /// The answers of a person who was asked before.
    pub(crate) answers: Option<Json>,
    pub(crate) log_level: Option<String>,
    pub(crate) progress_token: Option<Json>,
}

/// The `_meta` of a request's params.
pub(crate) fn meta_of(params: Option<&Json>) -> Option<Json> {
    let params = params?;
    // Almost no legacy request has one; a search is cheaper than a parse.
    memchr::memmem::find(params.as_bytes(), b"\"_meta\"")?;
    params.get("_meta").filter(|meta| meta.as_str().starts_with('{'))
}

/// The version a request claims, e.g. `2026-07-28`. Only modern requests do.
pub(crate) fn claimed_version(meta: Option<&Json>) -> Option<String> {
    meta?.get_str(meta::PROTOCOL_VERSION)
}

impl Asking {
    /// A request of a client that met us with `initialize`.
    pub(crate) fn legacy(version: Version, caller: Caller, meta: Option<Json>) -> Asking {
        let progress_token = meta.as_ref().and_then(|m| m.get(meta::PROGRESS_TOKEN)).filter(is_id);
        Asking {
            version,
            caller,
            meta,
            capabilities: None,
            answers: None,
            log_level: None,
            progress_token,
        }
    }

    /// A request that carries everything itself.
    pub(crate) fn modern(caller: Caller, meta: Option<Json>) -> Result<Asking, RpcError> {
        let missing = |what: &str| {
            RpcError::new(
                code::INVALID_PARAMS,
                format!("`_meta` lacks {what}, which every request must carry"),
            )
        };
        let meta = meta.ok_or_else(|| {
            RpcError::new(
                code::INVALID_PARAMS,
                "`_meta` is missing; every request must say its version and capabilities",
            )
        })?;
        let object = meta.object().ok_or_else(|| missing("everything"))?;
        let version = object
            .get_str(meta::PROTOCOL_VERSION)
            .ok_or_else(|| missing(meta::PROTOCOL_VERSION))?;
        let version = Version::parse(&version)
            .filter(|version| version.is_modern())
            .ok_or_else(|| unsupported(&version))?;
        let capabilities = object
            .get_original(meta::CLIENT_CAPABILITIES)
            .filter(|text| text.starts_with('{'))
            .ok_or_else(|| missing(meta::CLIENT_CAPABILITIES))?;
        let client = object
            .get(meta::CLIENT_INFO)
            .and_then(Object::parse)
            .and_then(|info| info.get_str("name").map(Into::into));
        Ok(Asking {
            version,
            caller: Caller { client, ..caller },
            capabilities: Some(meta.part(capabilities)),
            answers: None,
            log_level: object.get_str(meta::LOG_LEVEL).map(|level| level.into_owned()),
            progress_token: object
                .get_original(meta::PROGRESS_TOKEN)
                .map(|text| meta.part(text))
                .filter(is_id),
            meta: Some(meta.clone()),
        })
    }

    /// Whether the client wants to hear of the work while it goes on.
    pub(crate) fn wants_notices(&self) -> bool {
        self.progress_token.is_some() || self.log_level.is_some()
    }

    /// The companions of the operation on its way to the Source.
    pub(crate) fn ask(&self, params: &Object<'_>, notices: Option<mpsc::Sender<Notice>>) -> Ask {
        Ask {
            caller: self.caller.clone(),
            visible: Visible::default(),
            meta: self.meta.clone(),
            capabilities: self.capabilities.clone(),
            answers: self.answers.clone().or_else(|| self.answers_in(params)),
            wants_progress: self.progress_token.is_some() && notices.is_some(),
            log_level: self.log_level.clone(),
            notices,
        }
    }

    /// A modern client repeats a request with what the Source asked for.
    fn answers_in(&self, params: &Object<'_>) -> Option<Json> {
        if !self.version.is_modern() {
            return None;
        }
        let mut answers = Object::new();
        for key in ["inputResponses", "requestState"] {
            if let Some(value) = params.get(key) {
                answers.set(key, value.to_owned());
            }
        }
        (!answers.is_empty()).then(|| answers.to_json())
    }

    /// A notice as a notification to this client.
    pub(crate) fn encode_notice(&self, notice: &Notice) -> Option<bytes::Bytes> {
        match notice {
            Notice::Progress(params) => {
                let token = self.progress_token.as_ref()?;
                let mut object = params.object()?;
                object.set("progressToken", token.as_str());
                Some(crate::wire::notification("notifications/progress", Some(&object.to_text())))
            }
            Notice::Log(params) => {
                let wanted = level(self.log_level.as_deref()?)?;
                let is_wanted =
                    params.get_str("level").and_then(|l| level(&l)).is_some_and(|l| l >= wanted);
                is_wanted.then(|| {
                    crate::wire::notification("notifications/message", Some(params.as_str()))
                })
            }
        }
    }
}

/// The version is one that we do not speak.
pub(crate) fn unsupported(requested: &str) -> RpcError {
    let all: Vec<String> = Version::ALL.iter().map(|v| quote(v.as_str())).collect();
    let data = format!("{{\"supported\":[{}],\"requested\":{}}}", all.join(","), quote(requested));
    let error = RpcError::new(
        code::UNSUPPORTED_VERSION,
        format!("protocol version {requested:?} is not supported"),
    );
    match Json::parse(data) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}

/// The levels of log messages, the gravest last.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The rank of a log level, e.g. 3 for `warning`; higher is graver.
pub(crate) fn level(name: &str) -> Option<u8> {
    LEVELS.iter().position(|l| *l == name).and_then(|n| u8::try_from(n).ok())
}

/// The name of a log level.
pub(crate) fn level_name(rank: u8) -> Option<&'static str> {
    LEVELS.get(usize::from(rank)).copied()
}

/// A string member of params, or the error that says it is missing.
pub(crate) fn required(params: Option<&Json>, key: &str) -> Result<String, RpcError> {
    params
        .and_then(|params| {
            params.object().and_then(|o| o.get(key).and_then(|t| string(t).map(|s| s.into_owned())))
        })
        .ok_or_else(|| missing(key))
}

/// The error that says so of a member.
pub(crate) fn missing(key: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, format!("`{key}` is missing or not a string"))
}
