//! What a status that is no success says.

use bytes::Bytes;
use reqwest::{StatusCode, header::HeaderValue};

use crate::{
    upstream::link::{LinkError, own_id},
    wire::{self, Message},
};

/// Whether a refusal says that a session is known no more. By the protocol that is 404; some say
/// it by 400, but not in an answer to the request.
pub(super) fn is_expiry(status: StatusCode, body: &Bytes, id: u64) -> bool {
    let speaks_of_it = || String::from_utf8_lossy(body).to_ascii_lowercase().contains("session");
    let is_answer = || {
        let answer = wire::parse(body);
        matches!(answer, Ok(Message::Response { id: to, .. }) if own_id(&to) == Some(id))
    };
    let is_bad = status == StatusCode::BAD_REQUEST;
    status == StatusCode::NOT_FOUND || is_bad && speaks_of_it() && !is_answer()
}

/// What a status says, with what may be wrong where that is well known.
pub(super) fn refusal(
    status: StatusCode,
    moved_to: Option<&HeaderValue>,
    body: &[u8],
) -> LinkError {
    let text: String = String::from_utf8_lossy(body).trim().chars().take(200).collect();
    let moved_to = moved_to.and_then(|place| place.to_str().ok());
    let text = match (status, moved_to) {
        (status, Some(place)) if status.is_redirection() => {
            let place: String = place.chars().take(200).collect();
            format!("the server is at {place}; write that as its `url`")
        }
        (StatusCode::METHOD_NOT_ALLOWED, _) if text.is_empty() => {
            "it takes no POST there; if it is an SSE server, set transport = \"sse\"".to_owned()
        }
        _ => text,
    };
    LinkError::Status(status.as_u16(), text)
}
