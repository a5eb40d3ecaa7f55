//! Talks with one connected server by the agreed version, and dresses each request for it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::RwLock;
use serde::Deserialize;
use trove_core::{
    SourceError, SourceId,
    json::{Json, Object, quote},
    resource::Named,
    source::Ask,
};

use super::link::{Call, Link, LinkError, Tickets};
use crate::{
    era::{OUR_VERSION, SKILLS, Version, meta},
    kin::Kin,
    repeated::Repeated,
};

/// Of how many tools it is known which arguments they want repeated, where no list is whole.
const MAX_MARKED: usize = 10_000;

/// One connected server.
pub(crate) struct Conversation {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) tickets: Tickets,
    pub(crate) hello: Hello,
    /// The arguments that tools want repeated in headers, by the tool's name.
    pub(crate) repeated: RwLock<HashMap<String, Vec<Repeated>>>,
    /// Our identity for other Troves, and this server's name among ours.
    pub(crate) kin: Arc<Kin>,
    pub(crate) source: SourceId,
}

/// A server's answer to our greeting.
#[derive(Debug, Clone)]
pub(crate) struct Hello {
    pub(crate) version: Version,
    /// Its name and version, for people.
    pub(crate) server: Option<String>,
    pub(crate) offers: Offers,
}

/// The features that a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offers {
    pub(crate) resources: bool,
    pub(crate) subscribe: bool,
    pub(crate) list_changed: bool,
    /// It tells of changes of each of its lists.
    pub(crate) announces_all: bool,
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    pub(crate) logging: bool,
    pub(crate) skills: bool,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Flags {
    subscribe: bool,
    list_changed: bool,
}

impl Offers {
    /// Reads a capabilities object, and nothing that is malformed in it.
    pub(crate) fn parse(capabilities: &Json, version: Version) -> Offers {
        let Some(all) = capabilities.object() else { return Offers::default() };
        let flags =
            |key: &str| all.get(key).and_then(|text| serde_json::from_str::<Flags>(text).ok());
        let has = |key: &str| all.get(key).is_some_and(|value| value != "null");
        let extensions = all.get("extensions").and_then(Object::parse);
        let resources = flags("resources").unwrap_or_default();
        let lists = ["resources", "tools", "prompts"];
        let mut offered = lists.into_iter().filter(|list| has(list));
        Offers {
            announces_all: offered.all(|list| flags(list).is_some_and(|f| f.list_changed)),
            resources: has("resources"),
            subscribe: resources.subscribe,
            list_changed: resources.list_changed
                || flags("tools").is_some_and(|f| f.list_changed)
                || flags("prompts").is_some_and(|f| f.list_changed),
            tools: has("tools"),
            prompts: has("prompts"),
            // The first revision had completions but no word for them.
            completions: has("completions") || version == Version::V2024_11_05,
            logging: has("logging"),
            skills: extensions.is_some_and(|all| all.get(SKILLS).is_some()),
        }
    }
}

impl Conversation {
    /// Whether the connection is still there, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        !self.link.closed().is_cancelled()
    }

    /// Asks one thing; `params` is edited to carry what travels beside it.
    pub(crate) async fn ask(
        &self,
        method: &'static str,
        params: Object<'_>,
        ask: Ask,
        timeout: Duration,
    ) -> Result<Json, SourceError> {
        Ok(self.exchange(method, params, ask, timeout).await?)
    }

    /// Sends a request and gives the error of the connection untranslated.
    pub(super) async fn exchange(
        &self,
        method: &'static str,
        mut params: Object<'_>,
        ask: Ask,
        timeout: Duration,
    ) -> Result<Json, LinkError> {
        let id = self.tickets.next();
        if let Some(answers) = ask.answers.as_ref().and_then(|a| a.object()) {
            for key in ["inputResponses", "requestState"] {
                if let Some(value) = answers.get(key) {
                    params.set(key, value.to_owned());
                }
            }
        }
        if let Some(meta) = self.dress(id, &ask) {
            params.set("_meta", meta);
        }
        let repeated = match method {
            "tools/call" => self.repeated_by(params.get_str("name").as_deref()),
            _ => Vec::new(),
        };
        let call = Call { id, method, params: params.to_text(), repeated, notices: ask.notices };
        let outcome = tokio::time::timeout(timeout, self.link.request(call)).await;
        let result = outcome.unwrap_or(Err(LinkError::TimedOut(timeout)))?;
        // Where nothing is asked for but to do something, some servers answer with null.
        let is_given = matches!(method, "resources/read" | "tools/call" | "prompts/get");
        if is_given && !result.as_str().trim_start().starts_with('{') {
            return Err(LinkError::Malformed("the result is no object".to_owned()));
        }
        Ok(result)
    }

    /// Learns from a list of tools which arguments they want repeated in headers; from one that
    /// broke off only of those in it.
    pub(crate) fn learn(&self, tools: &[Named], is_whole: bool) {
        let mut known = self.repeated.write();
        if is_whole || known.len() > MAX_MARKED {
            known.clear();
        }
        for tool in tools {
            match Repeated::of_tool(&tool.entry) {
                none if none.is_empty() => drop(known.remove(&*tool.name)),
                repeated => drop(known.insert(tool.name.to_string(), repeated)),
            }
        }
    }

    fn repeated_by(&self, tool: Option<&str>) -> Vec<Repeated> {
        let all = self.repeated.read();
        tool.and_then(|tool| all.get(tool)).cloned().unwrap_or_default()
    }

    /// The `_meta` of a request: the caller's own, and what this hop needs.
    fn dress(&self, id: u64, ask: &Ask) -> Option<String> {
        let mut all = ask.meta.as_ref().and_then(|m| m.object()).unwrap_or_default();
        all.retain(|key| !meta::is_of_one_hop(key));
        if ask.wants_progress && ask.notices.is_some() {
            all.set(meta::PROGRESS_TOKEN, id.to_string());
        }
        self.kin.sign(&self.source, &mut all);
        if self.hello.version.is_modern() {
            dress_modern(&mut all, ask.capabilities.as_ref());
            if let Some(level) = ask.log_level.as_ref().filter(|_| self.hello.offers.logging) {
                all.set_str(meta::LOG_LEVEL, level);
            }
        }
        (!all.is_empty()).then(|| all.to_text())
    }
}

/// Adds the members that every modern request must carry about its sender, e.g. the protocol
/// version.
pub(crate) fn dress_modern(meta_object: &mut Object<'_>, capabilities: Option<&Json>) {
    meta_object.set_str(meta::PROTOCOL_VERSION, Version::MODERN.as_str());
    meta_object.set(meta::CLIENT_INFO, client_info());
    let capabilities = capabilities.map_or("{}", Json::as_str).to_owned();
    meta_object.set(meta::CLIENT_CAPABILITIES, capabilities);
}

/// Our name and version, as a server is told.
pub(crate) fn client_info() -> String {
    format!("{{\"name\":\"trove\",\"version\":{}}}", quote(OUR_VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_read_leniently() {
        let read = |text: &str| {
            Offers::parse(&Json::parse(text.to_owned()).unwrap(), Version::V2025_11_25)
        };
        let all = read(
            r#"{"resources":{"subscribe":true,"x":1},"tools":{"listChanged":true},"prompts":null,
               "extensions":{"io.modelcontextprotocol/skills":{}}}"#,
        );
        assert!(all.resources && all.subscribe && all.list_changed && all.tools && all.skills);
        assert!(!all.prompts && !all.completions && !all.logging);
        assert_eq!(read("[]"), Offers::default());
        assert!(read(r#"{"resources":{"subscribe":"yes"}}"#).resources);
    }
}
