//! Meeting a server: find out which era it speaks, and agree on a version.

use std::{sync::Arc, time::Duration};

use trove_core::{
    SourceId,
    json::{Json, Object, items, quote, string},
};

use super::{
    config::Protocol,
    conversation::{Conversation, Hello, Offers, client_info, dress_modern},
    link::{Call, Link, LinkError, Tickets},
};
use crate::{
    era::Version,
    kin::{CIRCLE, Kin},
};

/// How long a server may leave `server/discover` unanswered before it is also greeted in the old
/// way. Some old servers ignore unknown methods.
const PROBE: Duration = Duration::from_secs(4);

/// Meets the server behind `link`. The caller sees to it that this takes no more than `most`.
pub(crate) async fn meet(
    link: Arc<dyn Link>,
    (protocol, most): (Protocol, Duration),
    (source, kin): (&SourceId, &Arc<Kin>),
) -> Result<Conversation, LinkError> {
    let tickets = Tickets::default();
    // If servers get little time in all, half of it stays for the old way.
    let probe = PROBE.min(most / 2);
    let (hello, said) = greet(&*link, &tickets, (protocol, probe)).await?;
    let is_line = said.object().is_none_or(|said| kin.learn(source, &said));
    if !is_line {
        return Err(LinkError::misconfigured(CIRCLE));
    }
    link.agreed(hello.version.as_str());
    if !hello.version.is_modern() {
        link.notify("notifications/initialized", None).await?;
    }
    let (kin, source) = (kin.clone(), source.clone());
    Ok(Conversation { link, tickets, hello, repeated: parking_lot::RwLock::default(), kin, source })
}

/// A server's greeting as parsed, and its whole answer.
type Met = (Hello, Json);

async fn greet(
    link: &dyn Link,
    tickets: &Tickets,
    (protocol, probe): (Protocol, Duration),
) -> Result<Met, LinkError> {
    match protocol {
        Protocol::Legacy => initialize(link, tickets).await,
        Protocol::Modern => discover(link, tickets).await?.ok_or_else(no_modern_version),
        Protocol::Auto => {
            let mut modern = std::pin::pin!(discover(link, tickets));
            match tokio::time::timeout(probe, &mut modern).await {
                Ok(Ok(Some(hello))) => Ok(hello),
                Ok(
                    Ok(None)
                    | Err(LinkError::Rpc(_) | LinkError::Status(..) | LinkError::Malformed(_)),
                ) => initialize(link, tickets).await,
                // Some hang up on what they do not know, and are there all the same.
                Ok(Err(LinkError::Lost | LinkError::Unreachable(_)))
                    if !link.closed().is_cancelled() =>
                {
                    initialize(link, tickets).await
                }
                Ok(Err(error)) => Err(error),
                Err(_) => either(link, tickets, modern).await,
            }
        }
    }
}

/// Greets a silent server in the old way too, and takes the first answer that means yes.
async fn either(
    link: &dyn Link,
    tickets: &Tickets,
    modern: std::pin::Pin<&mut impl Future<Output = Result<Option<Met>, LinkError>>>,
) -> Result<Met, LinkError> {
    let mut legacy = std::pin::pin!(initialize(link, tickets));
    tokio::select! {
        hello = &mut legacy => hello,
        hello = modern => match hello {
            Ok(Some(hello)) => Ok(hello),
            Ok(None) | Err(_) => legacy.await,
        },
    }
}

fn no_modern_version() -> LinkError {
    LinkError::Malformed(format!(
        "the server does not speak {}; set protocol = \"auto\" or \"legacy\"",
        Version::MODERN.as_str()
    ))
}

async fn request(
    link: &dyn Link,
    tickets: &Tickets,
    method: &'static str,
    params: String,
) -> Result<Json, LinkError> {
    link.request(Call { id: tickets.next(), method, params, repeated: Vec::new(), notices: None })
        .await
}

/// The params of `server/discover`.
pub(super) fn discover_params() -> String {
    let mut meta = Object::new();
    dress_modern(&mut meta, None);
    format!("{{\"_meta\":{}}}", meta.to_text())
}

/// Whether an answer to `server/discover` names the version that we speak.
pub(super) fn is_of_our_era(said: &Object<'_>) -> bool {
    let versions = said.get("supportedVersions").and_then(items).unwrap_or_default();
    versions.iter().any(|v| string(v).is_some_and(|v| v == Version::MODERN.as_str()))
}

/// Greets a stateless server; `None` if it is one but not of our version.
async fn discover(link: &dyn Link, tickets: &Tickets) -> Result<Option<Met>, LinkError> {
    let result = request(link, tickets, "server/discover", discover_params()).await?;
    let malformed = || LinkError::Malformed("server/discover was not answered by an object".into());
    let object = result.object().ok_or_else(malformed)?;
    if !is_of_our_era(&object) {
        return Ok(None);
    }
    let info = object
        .get("_meta")
        .and_then(Object::parse)
        .and_then(|meta| server_name(meta.get(crate::era::meta::SERVER_INFO)?));
    let server = info.or_else(|| server_name(object.get("serverInfo")?));
    let hello = hello(Version::MODERN, &object, &result, server);
    Ok(Some((hello, result)))
}

async fn initialize(link: &dyn Link, tickets: &Tickets) -> Result<Met, LinkError> {
    let params = format!(
        "{{\"protocolVersion\":{},\"capabilities\":{{}},\"clientInfo\":{}}}",
        quote(Version::NEWEST_LEGACY.as_str()),
        client_info()
    );
    let result = request(link, tickets, "initialize", params).await?;
    let malformed = |what: String| LinkError::Malformed(what);
    let object = result
        .object()
        .ok_or_else(|| malformed("initialize was not answered by an object".into()))?;
    let text = object.get_str("protocolVersion").unwrap_or_default();
    let version =
        Version::parse(&text).filter(|version| !version.is_modern()).ok_or_else(|| {
            malformed(format!(
                "the server answered with protocol version {text:?}, which we do not speak"
            ))
        })?;
    let server = object.get("serverInfo").and_then(server_name);
    let hello = hello(version, &object, &result, server);
    Ok((hello, result))
}

fn hello(version: Version, object: &Object<'_>, result: &Json, server: Option<String>) -> Hello {
    let offers =
        object.get_original("capabilities").map(|text| Offers::parse(&result.part(text), version));
    Hello { version, server, offers: offers.unwrap_or_default() }
}

fn server_name(info: &str) -> Option<String> {
    let info = Object::parse(info)?;
    let name = info.get_str("name")?.into_owned();
    Some(match info.get_str("version") {
        Some(version) => format!("{name} {version}"),
        None => name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::{
        http::peer::{Asked, Peer, link_to},
        link::Link,
    };

    async fn met(link: impl Link, protocol: Protocol) -> Result<Conversation, LinkError> {
        let source = SourceId::new("one").expect("a valid id");
        let greeting = (protocol, Duration::from_secs(10));
        meet(Arc::new(link), greeting, (&source, &Arc::default())).await
    }

    fn old(asked: &Asked) -> Option<String> {
        match asked.method.as_str() {
            "initialize" => asked.result(r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#),
            "notifications/initialized" => crate::upstream::http::peer::json(202, ""),
            _ => None,
        }
    }

    #[tokio::test]
    async fn whoever_hangs_up_on_a_new_greeting_is_greeted_in_the_old_way() {
        let peer = Peer::start(old).await;
        let conversation = met(peer.link().await, Protocol::Auto).await.expect("it is met");
        assert!(!conversation.hello.version.is_modern());
        let greetings = ["server/discover", "initialize", "notifications/initialized"];
        assert_eq!(peer.methods()[..3], greetings);
    }

    #[tokio::test]
    async fn where_nobody_listens_nobody_is_greeted_twice() {
        let link = link_to("http://127.0.0.1:1/mcp").await;
        let refused = met(link, Protocol::Auto).await.err().expect("nobody is there");
        assert!(matches!(refused, LinkError::Unreachable(_)), "{refused}");
    }
}
