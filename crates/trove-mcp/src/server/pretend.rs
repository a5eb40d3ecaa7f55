//! Shows the answer that a client of some name and version would get.
//!
//! The answer is made by the code that answers the client itself, to the last byte. The caller
//! stays the one who looks, so the view is never wider than through the caller's own door.

use trove_core::{
    Caller, Json,
    json::{Object, quote},
};

use super::{Server, asking::Asking, dispatch::Given};
use crate::{
    era::{Version, meta},
    wire,
};

/// Whom to pretend to be.
#[derive(Debug, Clone, Copy)]
pub struct Pretend<'a> {
    /// The name the client gives itself.
    pub client: &'a str,
    /// The protocol version it speaks; one of [`crate::protocol_versions`].
    pub version: &'a str,
}

impl Server {
    /// The whole message that answers this request of that client; `None` when the version is none
    /// we speak.
    pub async fn answer_as(
        &self,
        whom: Pretend<'_>,
        caller: &Caller,
        method: &str,
        params: Option<Json>,
    ) -> Option<Json> {
        let version = Version::parse(whom.version)?;
        let caller = Caller { client: Some(whom.client.into()), ..caller.clone() };
        let outcome = if method == "initialize" && !version.is_modern() {
            let mut params = Object::new();
            params.set_str("protocolVersion", version.as_str());
            Ok(self.initialize(Some(&params.to_json()), &caller).1.into())
        } else {
            let asking = if version.is_modern() {
                Asking::modern(caller, Some(request_meta(whom))).ok()?
            } else {
                Asking::legacy(version, caller, None)
            };
            // No client asked for it, so it is not counted.
            if method == "tools/call" {
                let params = params.unwrap_or_else(Json::empty_object);
                let given = Given::of(&params, &asking, None);
                match self.tool_in(&given) {
                    Ok(tool) => self.call_tool(tool, given).await,
                    Err(error) => Err(error),
                }
            } else {
                self.dispatch(method, params, &asking, None).await
            }
        };
        let id = Json::parse("1").ok()?;
        Json::parse(wire::response(&id, &outcome)).ok()
    }
}

/// The members that every modern request carries.
fn request_meta(whom: Pretend<'_>) -> Json {
    let mut info = Object::new();
    info.set_str("name", whom.client);
    info.set("version", quote("1"));
    let mut object = Object::new();
    object.set_str(meta::PROTOCOL_VERSION, whom.version);
    object.set(meta::CLIENT_INFO, info.to_text());
    object.set(meta::CLIENT_CAPABILITIES, "{}");
    object.to_json()
}
