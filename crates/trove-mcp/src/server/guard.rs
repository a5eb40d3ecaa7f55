//! Lets callers in or turns them away: by Host and Origin first, then by the token.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::constant_time;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::time::Instant;
use trove_core::{Caller, Class, Gateway, access::audit::Knock, caller::Door};

use super::{
    bodies::Held,
    identity::{NotTaken, SignedTokens},
    limits::Place,
};

/// How a client proves that it may ask.
#[derive(Clone)]
pub enum Identity {
    /// By no proof: every process on this machine may ask.
    None,
    /// Every caller who knows the token.
    Token(String),
    /// Every caller with a token that our issuer signed.
    Signed(Arc<SignedTokens>),
}

/// Checks every request before anything else sees it.
#[derive(Clone)]
pub struct Guard {
    pub(super) identity: Identity,
    pub(super) address: SocketAddr,
    /// Names beside those of this machine under which we are asked.
    names: Arc<[String]>,
    /// Pages beside those of this machine whose scripts may ask.
    origins: Arc<[String]>,
    /// Writes down the callers who were turned away.
    gateway: Option<Arc<Gateway>>,
}

/// With which status a request is turned away, and in which words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// The reason.
    pub why: String,
    /// The proof that the client must bring to be let in: `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// The caller who was turned away, where the guard found that out.
    pub principal: Option<Arc<str>>,
}

/// A caller who was let in.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// The caller.
    pub caller: Caller,
    /// When that ends; streams end with it.
    pub until: Option<Instant>,
    /// Held while the request is under way.
    pub(super) place: Option<Arc<Place>>,
    /// The memory that its body takes.
    pub(super) held: Option<Arc<Held>>,
}

impl Refusal {
    /// No more to say than this.
    pub fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into(), challenge: None, principal: None }
    }
}

impl Guard {
    /// A guard for a door bound to `address`.
    pub fn new(identity: Identity, address: SocketAddr) -> Guard {
        Guard { identity, address, names: Arc::default(), origins: Arc::default(), gateway: None }
    }

    /// A guard that also writes refusals into this gateway's audit log.
    pub fn noting(self, gateway: Arc<Gateway>) -> Guard {
        Guard { gateway: Some(gateway), ..self }
    }

    /// A guard that is also asked under these names, and by pages of these origins.
    pub fn also_as(self, names: Vec<String>, origins: Vec<String>) -> Guard {
        let lower =
            |all: Vec<String>| all.into_iter().map(|one| one.to_ascii_lowercase()).collect();
        Guard { names: lower(names), origins: lower(origins), ..self }
    }

    /// Lets a request in that wants to `place`, or says why not.
    pub async fn admit(
        &self,
        headers: &HeaderMap,
        place: &'static str,
    ) -> Result<Admitted, Refusal> {
        let admitted = match self.check_place(headers) {
            Ok(()) => self.identify(headers).await,
            Err(refusal) => Err(refusal),
        };
        admitted.inspect_err(|refusal| self.note(refusal, place))
    }

    /// Lets in a request under our own name and from a page that may ask. It is for places
    /// without secrets.
    pub fn admit_place(&self, headers: &HeaderMap, place: &'static str) -> Result<(), Refusal> {
        self.check_place(headers).inspect_err(|refusal| self.note(refusal, place))
    }

    /// Writes down that a caller was turned away.
    pub(super) fn note(&self, refusal: &Refusal, place: &'static str) {
        let caller = Caller { principal: refusal.principal.clone(), ..Caller::behind(Door::Http) };
        self.note_caller(&caller, refusal.status, place);
    }

    /// Writes down the refusal of a known caller. Refusals for other reasons than these are
    /// faults of requests, not of callers.
    pub(super) fn note_caller(&self, caller: &Caller, status: StatusCode, place: &'static str) {
        let class = match status {
            StatusCode::UNAUTHORIZED => Class::Unauthenticated,
            StatusCode::FORBIDDEN => Class::Forbidden,
            StatusCode::TOO_MANY_REQUESTS => Class::TooManyRequests,
            _ => return,
        };
        if let Some(gateway) = &self.gateway {
            gateway.settle_turned_away(Knock { caller, place, class });
        }
    }

    pub(super) fn check_place(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if headers.get_all(header::HOST).iter().nth(1).is_some() {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "more than one Host header"));
        }
        let Some(host) = text(headers, header::HOST) else {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "no Host header"));
        };
        if !self.is_own_name(host) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "this Host is not served here"));
        }
        if let Some(origin) = text(headers, header::ORIGIN)
            && !self.is_own_origin(origin)
        {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "this Origin may not ask here"));
        }
        Ok(())
    }

    /// Lets in a caller who only wants to know whether we are there. Beyond this machine that too
    /// takes a token.
    pub(super) async fn admit_probe(
        &self,
        headers: &HeaderMap,
        place: &'static str,
    ) -> Result<(), Refusal> {
        match self.address.ip().is_loopback() {
            true => self.admit_place(headers, place),
            false => self.admit(headers, place).await.map(drop),
        }
    }

    /// Finds the caller by the token alone.
    pub(super) async fn identify(&self, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        let caller = Caller::behind(Door::Http);
        match &self.identity {
            Identity::None => Ok(Admitted { caller, until: None, place: None, held: None }),
            Identity::Token(token) => {
                if has_token(headers, token) {
                    return Ok(Admitted { caller, until: None, place: None, held: None });
                }
                let why = "a bearer token is needed; `trove up` prints it";
                let challenge = Some("Bearer".to_owned());
                Err(Refusal { challenge, ..Refusal::new(StatusCode::UNAUTHORIZED, why) })
            }
            Identity::Signed(tokens) => match tokens.take(bearer_of(headers)).await {
                Ok(bearer) => Ok(Admitted {
                    caller: Caller {
                        principal: Some(bearer.principal),
                        roles: bearer.roles,
                        ..caller
                    },
                    until: Some(moment(bearer.until)),
                    place: None,
                    held: None,
                }),
                Err(why) => Err(turned_away(tokens, &why)),
            },
        }
    }

    /// A page elsewhere can make a browser send requests here under another name. Ours are names of
    /// this machine, e.g. `localhost`, those of the configuration, and the address we serve.
    fn is_own_name(&self, host: &str) -> bool {
        let name = without_port(host);
        if is_loopback_name(name) || self.names.contains(&name.to_ascii_lowercase()) {
            return true;
        }
        let ip: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        let bound = self.address.ip();
        !bound.is_loopback() && ip.is_some_and(|ip| bound.is_unspecified() || ip == bound)
    }

    /// Whether pages elsewhere may ask at all.
    pub(super) fn has_origins(&self) -> bool {
        !self.origins.is_empty()
    }

    /// The page that asks, if it is one of those elsewhere that may.
    pub(super) fn listed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let is_listed = |origin: &str| self.origins.contains(&origin.to_ascii_lowercase());
        origin.to_str().is_ok_and(is_listed).then(|| origin.clone())
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        if self.origins.contains(&origin.to_ascii_lowercase()) {
            return true;
        }
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|host| !host.contains('/') && self.is_own_name(host))
    }
}

/// Whether the request brings the one token there is.
pub(super) fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = bearer_of(headers).unwrap_or_default();
    is_same(given.as_bytes(), token.as_bytes())
}

fn turned_away(tokens: &SignedTokens, why: &NotTaken) -> Refusal {
    let (status, principal) = match why {
        NotTaken::Missing | NotTaken::Invalid(_) => (StatusCode::UNAUTHORIZED, None),
        NotTaken::InsufficientScope(who) => (StatusCode::FORBIDDEN, Some(who.clone())),
        NotTaken::NoKeys => {
            return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why.to_string());
        }
    };
    let challenge = Some(tokens.challenge(why));
    Refusal { challenge, principal, ..Refusal::new(status, why.to_string()) }
}

/// A moment of the clock that does not jump, by one of the clock that may.
fn moment(unix_seconds: u64) -> Instant {
    let then = UNIX_EPOCH + Duration::from_secs(unix_seconds.min(1 << 40));
    let left = then.duration_since(SystemTime::now()).unwrap_or_default();
    Instant::now() + left.min(Duration::from_secs(365 * 24 * 3600))
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

fn bearer_of(headers: &HeaderMap) -> Option<&str> {
    text(headers, header::AUTHORIZATION).and_then(bearer)
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

    fn status(guard: &Guard, headers: &HeaderMap) -> u16 {
        let admitted = futures_util::FutureExt::now_or_never(guard.admit(headers, "/mcp"));
        admitted.unwrap().map_or_else(|refusal| refusal.status.as_u16(), |_| 200)
    }

    fn admit(headers: &[(&'static str, &str)]) -> u16 {
        let guard = Guard::new(Identity::Token("secret".into()), "127.0.0.1:7420".parse().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        status(&guard, &map)
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
        assert_eq!(status(&guard, &host("10.1.2.3:80")), 200);
        assert_eq!(status(&guard, &host("10.1.2.4:80")), 403);
        assert_eq!(status(&guard, &host("evil.test")), 403);
    }

    #[test]
    fn a_door_behind_a_proxy_serves_the_name_it_was_given_and_the_pages_it_was_told_of() {
        let guard = Guard::new(Identity::None, "127.0.0.1:80".parse().unwrap());
        let guard = guard.also_as(vec!["Trove.Example".into()], vec!["https://app.example".into()]);
        let asked = |host: &str, origin: &str| {
            let mut map = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
            map.insert(header::ORIGIN, origin.parse().unwrap());
            status(&guard, &map)
        };
        assert_eq!(asked("trove.example", "https://trove.example"), 200);
        assert_eq!(asked("TROVE.example:443", "https://app.example"), 200);
        for (host, origin) in [
            ("app.example", "https://app.example"),
            ("trove.example.evil.test", "https://app.example"),
            ("trove.example", "http://app.example"),
            ("trove.example", "https://app.example.evil.test"),
        ] {
            assert_eq!(asked(host, origin), 403, "{host} {origin}");
        }
    }
}
