//! Documents of an issuer: its metadata and its keys. Bounded, without redirects, over TLS.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::Value;

/// How long one document may take.
pub(crate) const MAX_FETCH_TIME: Duration = Duration::from_secs(5);
/// The longest document.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// Why a document of an issuer is not there.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The address could lead anywhere.
    #[error("{0} is no https address; plain http is taken for this machine only")]
    Unsafe(String),
    /// No HTTP client can be made.
    #[error("no HTTP client: {0}")]
    NoClient(#[source] reqwest::Error),
    /// It did not answer, or in time.
    #[error("{url} did not answer")]
    Unreachable {
        /// Which.
        url: String,
        /// Why.
        #[source]
        cause: reqwest::Error,
    },
    /// It answered with something else.
    #[error("{url} answered {what}")]
    Unfit {
        /// Which.
        url: String,
        /// With what.
        what: String,
    },
}

/// Whether secrets may travel to that address: over TLS, or within this machine, e.g. to
/// `http://127.0.0.1:8080`.
pub fn is_safe_url(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let has_user = !url.username().is_empty() || url.password().is_some();
    let is_here = match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let bare = host.trim_matches(['[', ']']);
            bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        None => return false,
    };
    !has_user && (url.scheme() == "https" || (url.scheme() == "http" && is_here))
}

/// A client that follows no redirect.
pub(crate) fn client() -> Result<Client, FetchError> {
    Client::builder()
        .timeout(MAX_FETCH_TIME)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(FetchError::NoClient)
}

/// Fetches one JSON document.
pub(crate) async fn document(client: &Client, url: &str) -> Result<Value, FetchError> {
    answer(client.get(url), url, |status| status.is_success()).await
}

/// Posts a form; a refusal is an answer too.
pub(crate) async fn post_form(
    client: &Client,
    url: &str,
    form: &[(&str, &str)],
) -> Result<Value, FetchError> {
    let mut pairs = Url::parse("http://localhost/").map_err(|_| FetchError::Unsafe(url.into()))?;
    pairs.query_pairs_mut().extend_pairs(form);
    let request = client.post(url).header("Content-Type", "application/x-www-form-urlencoded");
    let request = request.header("Accept", "application/json");
    let request = request.body(pairs.query().unwrap_or_default().to_owned());
    answer(request, url, is_verdict).await
}

/// Posts a JSON document; a refusal is an answer too.
pub(crate) async fn post_json(
    client: &Client,
    url: &str,
    body: &Value,
) -> Result<Value, FetchError> {
    let request = client.post(url).header("Content-Type", "application/json");
    answer(request.body(body.to_string()), url, is_verdict).await
}

fn is_verdict(status: StatusCode) -> bool {
    status.is_success() || matches!(status.as_u16(), 400 | 401)
}

async fn answer(
    request: RequestBuilder,
    url: &str,
    is_fit: impl Fn(StatusCode) -> bool,
) -> Result<Value, FetchError> {
    if !is_safe_url(url) {
        return Err(FetchError::Unsafe(url.to_owned()));
    }
    let unreachable = |cause: reqwest::Error| FetchError::Unreachable {
        url: url.to_owned(),
        cause: cause.without_url(),
    };
    let unfit = |what: String| FetchError::Unfit { url: url.to_owned(), what };
    let mut response = request.send().await.map_err(unreachable)?;
    if !is_fit(response.status()) {
        return Err(unfit(format!("with status {}", response.status().as_u16())));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
            return Err(unfit("with more than 256 KiB".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body).map_err(|_| unfit("with what is no JSON".to_owned()))
}

/// Where the metadata of an issuer may lie, by RFC 8414 and OpenID Connect.
pub(crate) fn metadata_urls(issuer: &str) -> Vec<String> {
    let Ok(url) = Url::parse(issuer) else { return Vec::new() };
    let origin = url.origin().ascii_serialization();
    let path = url.path().trim_end_matches('/');
    let mut all = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    all.dedup();
    all
}

/// The metadata of an issuer, which must name that issuer itself.
pub(crate) async fn metadata(client: &Client, issuer: &str) -> Result<Value, FetchError> {
    let mut last = FetchError::Unsafe(issuer.to_owned());
    for url in metadata_urls(issuer) {
        match document(client, &url).await {
            Ok(found) if found["issuer"].as_str() == Some(issuer) => return Ok(found),
            Ok(_) => {
                last = FetchError::Unfit { url, what: "for another issuer".to_owned() };
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t26_only_tls_or_this_machine_is_trusted() {
        for good in
            ["https://id.example", "http://127.0.0.1:9/x", "http://localhost", "http://[::1]/"]
        {
            assert!(is_safe_url(good), "{good}");
        }
        for bad in [
            "http://id.example",
            "ftp://127.0.0.1",
            "https://ann:pw@id.example",
            "id.example",
            "",
            "http://localhost.evil.test",
            "file:///etc/passwd",
        ] {
            assert!(!is_safe_url(bad), "{bad}");
        }
    }

    #[test]
    fn metadata_lies_where_the_standards_say() {
        assert_eq!(
            metadata_urls("https://id.example/tenant"),
            [
                "https://id.example/.well-known/oauth-authorization-server/tenant",
                "https://id.example/.well-known/openid-configuration/tenant",
                "https://id.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(metadata_urls("https://id.example").len(), 2);
    }
}
