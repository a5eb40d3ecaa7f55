//! Checks that the headers of a modern request repeat its body. A proxy that routes by headers
//! would otherwise be deceived.

use http::HeaderMap;
use trove_core::{Caller, Json};

use super::asking::{Asking, claimed_version, unsupported};
use crate::{
    era::{Version, meta},
    wire::{Request, RpcError, code},
};

pub(crate) use crate::repeated::SESSION;
use crate::repeated::{METHOD, NAME, Repeated, VERSION, decode};

/// The text of a header.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a request is of the modern era. Its body says so, or it is of no session and its
/// header names no legacy version.
pub(crate) fn is_modern(headers: &HeaderMap, request_meta: Option<&Json>) -> bool {
    let claims = request_meta.is_some_and(|m| m.get(meta::PROTOCOL_VERSION).is_some());
    let header = text(headers, VERSION).filter(|_| !headers.contains_key(SESSION));
    claims || header.is_some_and(|v| Version::parse(v).is_none_or(Version::is_modern))
}

/// Refuses a request of a session whose header names an unknown version.
pub(crate) fn check_version(headers: &HeaderMap) -> Result<(), RpcError> {
    match text(headers, VERSION) {
        Some(version) if Version::parse(version).is_none() => Err(unsupported(version)),
        _ => Ok(()),
    }
}

/// Checks a modern request's headers against its body; gives what the body says of itself.
pub(crate) fn check(
    headers: &HeaderMap,
    request: &Request,
    request_meta: Option<Json>,
    caller: Caller,
) -> Result<Asking, RpcError> {
    let mismatch = |what: String| RpcError::new(code::HEADER_MISMATCH, what);
    let claimed = claimed_version(request_meta.as_ref());
    let header = text(headers, VERSION);
    if let Some(claimed) = &claimed {
        let header =
            header.ok_or_else(|| mismatch("the MCP-Protocol-Version header is missing".into()))?;
        if header != claimed {
            return Err(mismatch(format!(
                "the MCP-Protocol-Version header says {header:?}, the body {claimed:?}"
            )));
        }
        if Version::parse(claimed).is_none_or(|v| !v.is_modern()) {
            return Err(unsupported(claimed));
        }
    }
    // A fault of the body is said first: without the body the headers mean nothing.
    let asking = Asking::modern(caller, request_meta)?;
    match text(headers, METHOD) {
        Some(method) if method == request.method => {}
        Some(method) => {
            return Err(mismatch(format!(
                "the Mcp-Method header says {method:?}, the body {:?}",
                request.method
            )));
        }
        None => return Err(mismatch("the Mcp-Method header is missing".into())),
    }
    check_name(headers, request)?;
    Ok(asking)
}

fn check_name(headers: &HeaderMap, request: &Request) -> Result<(), RpcError> {
    let key = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let params = request.params.as_ref().and_then(|params| params.object());
    let Some(named) = params.as_ref().and_then(|params| params.get_str(key)) else { return Ok(()) };
    let mismatch = |what: &str| RpcError::new(code::HEADER_MISMATCH, what);
    let header = text(headers, NAME).ok_or_else(|| mismatch("the Mcp-Name header is missing"))?;
    let header =
        decode(header).ok_or_else(|| mismatch("the Mcp-Name header is not valid base64"))?;
    if header == named {
        Ok(())
    } else {
        Err(mismatch("the Mcp-Name header names something else than the body"))
    }
}

/// Checks the arguments that a tool wants repeated in headers.
pub(crate) fn check_arguments(
    headers: &HeaderMap,
    request: &Request,
    tool: &Json,
) -> Result<(), RpcError> {
    let repeated = Repeated::of_tool(tool);
    if repeated.is_empty() {
        return Ok(());
    }
    let arguments = request.params.as_ref().and_then(|params| params.get("arguments"));
    let arguments = arguments.and_then(|json| json.to().ok()).unwrap_or_default();
    for one in repeated {
        let header = match text(headers, &one.header) {
            Some(header) => Some(decode(header).ok_or_else(|| {
                RpcError::new(
                    code::HEADER_MISMATCH,
                    format!("the {} header is not valid base64", one.header),
                )
            })?),
            None => None,
        };
        if header != one.value(&arguments) {
            let what = format!("the {} header and the argument it repeats differ", one.header);
            return Err(RpcError::new(code::HEADER_MISMATCH, what));
        }
    }
    Ok(())
}
