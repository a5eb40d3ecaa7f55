//! The answer to a client without a fit token. It learns from the challenge of RFC 6750 and the
//! metadata of RFC 9728 where to get one.

use serde_json::{Value, json};

use super::{NotTaken, SignedTokens};

/// Where the metadata lies; below it, also for the path of the door.
pub const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

impl SignedTokens {
    /// The whole `WWW-Authenticate` header.
    pub(in crate::server) fn challenge(&self, why: &NotTaken) -> String {
        let mut parts = Vec::new();
        let mut add = |name: &str, value: &str| parts.push(format!("{name}=\"{}\"", quoted(value)));
        match why {
            // A caller without a token made no error, says RFC 6750.
            NotTaken::Missing | NotTaken::NoKeys => {}
            NotTaken::Invalid(error) => {
                add("error", "invalid_token");
                add("error_description", &error.to_string());
            }
            NotTaken::InsufficientScope(_) => {
                add("error", "insufficient_scope");
                add("error_description", &why.to_string());
            }
        }
        if let Some(url) = self.metadata_url() {
            add("resource_metadata", &url);
        }
        if !self.rules.required_scopes.is_empty() {
            add("scope", &self.rules.required_scopes.join(" "));
        }
        if parts.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", parts.join(", ")) }
    }

    /// The metadata of the resource that we are; `None` where OAuth is not offered.
    pub(in crate::server) fn metadata(&self) -> Option<Value> {
        let resource = self.rules.resource.as_deref()?;
        let mut scopes = self.rules.required_scopes.clone();
        scopes.extend(self.rules.scope_roles.keys().cloned());
        scopes.sort();
        scopes.dedup();
        let mut document = json!({
            "resource": resource,
            "authorization_servers": [self.rules.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Trove",
        });
        if !scopes.is_empty() {
            document["scopes_supported"] = json!(scopes);
        }
        Some(document)
    }

    /// The address of the metadata: the well-known name goes before the path of the resource, e.g.
    /// `https://a.example/.well-known/oauth-protected-resource/mcp`.
    fn metadata_url(&self) -> Option<String> {
        let url = reqwest::Url::parse(self.rules.resource.as_deref()?).ok()?;
        let origin = url.origin().ascii_serialization();
        Some(format!("{origin}{METADATA_PATH}{}", url.path().trim_end_matches('/')))
    }
}

/// Text inside the quotes of a header, without signs that end it, e.g. `"`.
fn quoted(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii() && !c.is_ascii_control() && !matches!(c, '"' | '\\'))
        .collect()
}
