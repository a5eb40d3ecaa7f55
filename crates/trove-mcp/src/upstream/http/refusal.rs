//! Reads a status that is no success, e.g. `401` or `404`.

use bytes::Bytes;
use reqwest::{StatusCode, Url, header::HeaderValue};

use crate::{
    bounds::MAX_STATUS_LETTERS,
    upstream::{
        link::{LinkError, own_id},
        secrets::beginning,
    },
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

/// The error for a status, with its likely cause where that is well known.
pub(super) fn refusal(
    status: StatusCode,
    moved_to: Option<&HeaderValue>,
    body: &[u8],
) -> LinkError {
    let text = beginning(String::from_utf8_lossy(body).trim(), MAX_STATUS_LETTERS).to_owned();
    let moved_to = moved_to.and_then(|place| place.to_str().ok());
    let text = match (status, moved_to) {
        (status, Some(place)) if status.is_redirection() => elsewhere(place),
        (StatusCode::METHOD_NOT_ALLOWED, _) if text.is_empty() => {
            "it takes no POST there; if it is an SSE server, set transport = \"sse\"".to_owned()
        }
        _ => text,
    };
    LinkError::Status(status.as_u16(), text)
}

/// The most characters that are told of an address.
const MAX_ADDRESS: usize = 200;

/// Where a server says that it is. The words are its own, and models read them. So only an address
/// is told, in quotes, and without other parts of a URL, e.g. its query.
fn elsewhere(place: &str) -> String {
    let address = match Url::parse(place) {
        Ok(url) => web_address(url),
        // A path on the same server.
        Err(_) if place.starts_with('/') && !place.starts_with("//") => {
            let here = Url::parse("http://here.invalid").and_then(|here| here.join(place));
            here.ok().map(|url| url.path().to_owned())
        }
        Err(_) => None,
    };
    let Some(address) = address.filter(|address| address.len() <= MAX_ADDRESS) else {
        return "the server sends us elsewhere, to what is no address; ask whoever runs it for its `url`"
            .to_owned();
    };
    format!(
        "the server sends us elsewhere; the address it names, unchecked, is {address:?}; \
         whoever trusts that writes it as its `url`"
    )
}

fn web_address(mut url: Url) -> Option<String> {
    if !["http", "https"].contains(&url.scheme()) {
        return None;
    }
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_query(None);
    url.set_fragment(None);
    Some(url.into())
}
