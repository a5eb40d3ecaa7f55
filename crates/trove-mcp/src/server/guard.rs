//! Who may knock: Host and Origin first, then the token.

use std::net::{IpAddr, SocketAddr};

use aws_lc_rs::constant_time;
use http::{HeaderMap, StatusCode, header};

/// How a client proves that it may ask.
#[derive(Clone)]
pub enum Identity {
    /// Anybody on this machine.
    None,
    /// Whoever knows the token.
    Token(String),
}

/// Checks every request before anything else sees it.
#[derive(Clone)]
pub struct Guard {
    pub(super) identity: Identity,
    pub(super) address: SocketAddr,
}

/// With which status a request is turned away, and in which words.
pub type Refusal = (StatusCode, &'static str);

impl Guard {
    /// A guard for a door bound to `address`.
    pub fn new(identity: Identity, address: SocketAddr) -> Guard {
        Guard { identity, address }
    }

    /// Lets a request in, or says with which status to turn it away.
    pub fn admit(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.admit_place(headers)?;
        self.admit_token(headers)
    }

    /// Lets in whoever asks under our own name and from a page of this machine; for what
    /// is nobody's secret.
    pub fn admit_place(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(host) = text(headers, header::HOST) else {
            return Err((StatusCode::BAD_REQUEST, "no Host header"));
        };
        if !self.is_own_name(host) {
            return Err((StatusCode::FORBIDDEN, "this Host is not served here"));
        }
        if let Some(origin) = text(headers, header::ORIGIN)
            && !self.is_own_origin(origin)
        {
            return Err((StatusCode::FORBIDDEN, "this Origin may not ask here"));
        }
        Ok(())
    }

    /// Lets in who only wants to know whether we are there. Beyond this machine that too
    /// takes the token.
    pub(super) fn admit_probe(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.admit_place(headers)?;
        if self.address.ip().is_loopback() { Ok(()) } else { self.admit_token(headers) }
    }

    pub(super) fn admit_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Identity::Token(token) = &self.identity else { return Ok(()) };
        let given = text(headers, header::AUTHORIZATION).and_then(bearer).unwrap_or_default();
        match is_same(given.as_bytes(), token.as_bytes()) {
            true => Ok(()),
            false => {
                Err((StatusCode::UNAUTHORIZED, "a bearer token is needed; `trove up` prints it"))
            }
        }
    }

    /// A page elsewhere can make a browser send requests here under another name: only
    /// names that mean this machine, or the address we were told to serve, are ours.
    fn is_own_name(&self, host: &str) -> bool {
        let name = without_port(host);
        if is_loopback_name(name) {
            return true;
        }
        let ip: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        let bound = self.address.ip();
        !bound.is_loopback() && ip.is_some_and(|ip| bound.is_unspecified() || ip == bound)
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|host| !host.contains('/') && self.is_own_name(host))
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub(super) fn is_same(given: &[u8], token: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(given, token).is_ok()
}

fn without_port(host: &str) -> &str {
    if let Some(end) = host.strip_prefix('[').and_then(|rest| rest.find(']')) {
        let (name, port) = host.split_at(end + 2);
        let is_port = port.is_empty()
            || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
        return if is_port { name } else { host };
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name == "[::1]"
        || name.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(headers: &[(&'static str, &str)]) -> u16 {
        let guard = Guard::new(Identity::Token("secret".into()), "127.0.0.1:7420".parse().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        guard.admit(&map).map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    const TOKEN: (&str, &str) = ("authorization", "Bearer secret");

    #[test]
    fn only_names_of_this_machine_are_served() {
        for host in [
            "localhost",
            "localhost:7420",
            "LOCALHOST:1",
            "127.0.0.1:7420",
            "127.0.0.2",
            "[::1]:7420",
        ] {
            assert_eq!(admit(&[("host", host), TOKEN]), 200, "{host}");
        }
        for host in [
            "evil.test:7420",
            "localhost.evil.test",
            "localhost.",
            "127.0.0.1.evil",
            "192.168.0.1",
            "",
            "[::2]",
            "0.0.0.0",
            "localhost:x",
            "[::1]x",
        ] {
            assert_eq!(admit(&[("host", host), TOKEN]), 403, "{host}");
        }
        assert_eq!(admit(&[TOKEN]), 400);
    }

    #[test]
    fn only_origins_of_this_machine_may_ask() {
        for origin in
            ["http://localhost:3000", "http://127.0.0.1", "https://localhost", "http://[::1]:5"]
        {
            assert_eq!(admit(&[("host", "localhost"), ("origin", origin), TOKEN]), 200, "{origin}");
        }
        for origin in [
            "http://evil.test",
            "null",
            "",
            "file://",
            "http://localhost.evil",
            "http://localhost/x",
            "http://evil@localhost",
        ] {
            assert_eq!(admit(&[("host", "localhost"), ("origin", origin), TOKEN]), 403, "{origin}");
        }
    }

    #[test]
    fn without_the_token_nobody_is_let_in() {
        let host = ("host", "localhost");
        assert_eq!(admit(&[host]), 401);
        for value in
            ["Bearer wrong", "Bearer", "Basic secret", "secret", "Bearer secretx", "bearer "]
        {
            assert_eq!(admit(&[host, ("authorization", value)]), 401, "{value}");
        }
        assert_eq!(admit(&[host, ("authorization", "bearer secret")]), 200);
    }

    #[test]
    fn a_door_on_another_address_serves_that_address() {
        let guard = Guard::new(Identity::None, "10.1.2.3:80".parse().unwrap());
        let host = |value: &str| HeaderMap::from_iter([(header::HOST, value.parse().unwrap())]);
        assert!(guard.admit(&host("10.1.2.3:80")).is_ok());
        assert!(guard.admit(&host("10.1.2.4:80")).is_err());
        assert!(guard.admit(&host("evil.test")).is_err());
    }
}
