//! Finds the issuer of tokens for a server: RFC 9728, then RFC 8414.

use reqwest::{Client, Url, header::WWW_AUTHENTICATE};

use super::{OauthError, strings};
use crate::server::identity::{METADATA_PATH, fetch, is_safe_url};

/// The issuer of tokens for a server, and its addresses.
pub(super) struct Found {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) scopes: Vec<String>,
    /// Whether the issuer names itself in what it sends back.
    pub(super) sends_issuer: bool,
}

pub(super) async fn discover(client: &Client, url: &str) -> Result<Found, OauthError> {
    let hint = challenge(client, url).await;
    let place = hint.as_deref().and_then(|hint| parameter(hint, "resource_metadata"));
    let wanted = hint.as_deref().and_then(|hint| parameter(hint, "scope"));
    let (issuer, offered) = issuer(client, url, place).await?;
    let metadata = fetch::metadata(client, &issuer).await?;
    let unsupported = |what| OauthError::Unsupported { issuer: issuer.clone(), what };
    if !strings(&metadata["code_challenge_methods_supported"]).iter().any(|m| m == "S256") {
        return Err(unsupported("does not protect codes with S256 (PKCE)"));
    }
    let endpoint = |key: &str| {
        let text = metadata[key].as_str().filter(|text| is_safe_url(text));
        text.map(str::to_owned)
    };
    let scopes = match wanted {
        Some(wanted) => wanted.split_whitespace().map(str::to_owned).collect(),
        None => offered,
    };
    Ok(Found {
        authorization_endpoint: endpoint("authorization_endpoint")
            .ok_or_else(|| unsupported("names no place to ask for consent"))?,
        token_endpoint: endpoint("token_endpoint")
            .ok_or_else(|| unsupported("names no place to get a token"))?,
        registration_endpoint: endpoint("registration_endpoint"),
        scopes,
        sends_issuer: metadata["authorization_response_iss_parameter_supported"] == true,
        issuer,
    })
}

/// The server's challenge to a client without a token, e.g. `Bearer resource_metadata="…"`.
async fn challenge(client: &Client, url: &str) -> Option<String> {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let post = client.post(url).header("Content-Type", "application/json");
    let post = post.header("Accept", "application/json, text/event-stream").body(body);
    let answer = post.send().await.ok()?;
    let all = answer.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|v| v.to_str().ok());
    let all: Vec<&str> = all.filter(|v| v.to_ascii_lowercase().starts_with("bearer")).collect();
    all.first().map(|&header| header.to_owned())
}

/// The issuer that the server names, and the scopes it knows. Without metadata the server is its
/// own issuer, as in older servers.
async fn issuer(
    client: &Client,
    url: &str,
    place: Option<String>,
) -> Result<(String, Vec<String>), OauthError> {
    let unsafe_url = || OauthError::Document(fetch::FetchError::Unsafe(url.to_owned()));
    let parsed = Url::parse(url).ok().filter(|_| is_safe_url(url)).ok_or_else(unsafe_url)?;
    let origin = parsed.origin().ascii_serialization();
    let path = parsed.path().trim_end_matches('/');
    let places = match place {
        Some(place) => vec![place],
        None => vec![format!("{origin}{METADATA_PATH}{path}"), format!("{origin}{METADATA_PATH}")],
    };
    for place in places {
        let Ok(document) = fetch::document(client, &place).await else { continue };
        let resource = document["resource"].as_str().unwrap_or_default();
        if !covers(resource, &parsed) {
            let found = resource.to_owned();
            return Err(OauthError::OtherResource { found, asked: url.to_owned() });
        }
        let servers = strings(&document["authorization_servers"]);
        if let Some(issuer) = servers.into_iter().next() {
            return Ok((issuer, strings(&document["scopes_supported"])));
        }
    }
    Ok((origin, Vec::new()))
}

/// Whether a resource is the one asked, or one that it is a part of.
fn covers(resource: &str, asked: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let whole = resource.path().trim_end_matches('/');
    let rest = asked.path().strip_prefix(whole);
    resource.origin() == asked.origin() && rest.is_some_and(|r| r.is_empty() || r.starts_with('/'))
}

/// A quoted parameter of a challenge, e.g. `scope="x y"`.
fn parameter(header: &str, name: &str) -> Option<String> {
    let start = header.find(&format!("{name}=\""))? + name.len() + 2;
    let rest = header.get(start..)?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t26_a_resource_covers_itself_and_what_is_below_it() {
        let asked = Url::parse("https://a.example/x/mcp").unwrap();
        for whole in ["https://a.example/x/mcp", "https://a.example/x/", "https://a.example"] {
            assert!(covers(whole, &asked), "{whole}");
        }
        for other in
            ["https://b.example/x/mcp", "https://a.example/x/m", "http://a.example", "", "x"]
        {
            assert!(!covers(other, &asked), "{other}");
        }
    }

    #[test]
    fn parameters_are_found_where_they_stand() {
        let header =
            r#"Bearer error="invalid_token", resource_metadata="https://a/b", scope="x y""#;
        assert_eq!(parameter(header, "resource_metadata").as_deref(), Some("https://a/b"));
        assert_eq!(parameter(header, "scope").as_deref(), Some("x y"));
        assert_eq!(parameter(header, "realm"), None);
    }
}
