//! A real authorization server: metadata, keys that rotate, registration, codes with PKCE, tokens
//! and their refreshing. Every caller is let in, but each request must be right.
//!
//! [`forge`] makes the tokens that it would never issue.

pub mod forge;
mod grants;
mod keys;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{StatusCode, header},
    response::Response,
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use grants::Grants;
use keys::KeyRing;

/// The longest form that is taken.
const MAX_FORM: usize = 64 * 1024;

/// A running authorization server; it ends when dropped.
pub struct Authority {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    issuer: String,
    keys: Mutex<KeyRing>,
    grants: Mutex<Grants>,
    key_fetches: AtomicUsize,
    refreshes: AtomicUsize,
    registrations: AtomicUsize,
    is_down: AtomicBool,
    registers: AtomicBool,
    /// The address to which the token endpoint sends its callers, if it does.
    moved: Mutex<Option<String>>,
    /// How long access tokens live, in seconds.
    lifetime: AtomicUsize,
}

impl Authority {
    /// Starts one on a free port of this machine.
    pub async fn start() -> anyhow::Result<Authority> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address: SocketAddr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            issuer: format!("http://{address}"),
            keys: Mutex::new(KeyRing::new()?),
            grants: Mutex::default(),
            key_fetches: AtomicUsize::new(0),
            refreshes: AtomicUsize::new(0),
            registrations: AtomicUsize::new(0),
            is_down: AtomicBool::new(false),
            registers: AtomicBool::new(true),
            moved: Mutex::default(),
            lifetime: AtomicUsize::new(3600),
        });
        let router = Router::new()
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/jwks", get(jwks))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(shared.clone());
        let task = tokio::spawn(async move {
            // It ends with the task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Authority { shared, task })
    }

    /// Its name.
    pub fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    /// Claims of a token that is right in every way.
    pub fn claims(&self, subject: &str, audience: &str) -> Value {
        let now = now();
        json!({
            "iss": self.shared.issuer, "sub": subject, "aud": audience,
            "iat": now, "nbf": now, "exp": now + 300, "scope": "",
        })
    }

    /// Signs claims with the key of this moment.
    pub fn sign(&self, claims: &Value) -> String {
        forge::signed(&self.shared.keys(), claims)
    }

    /// Makes a token in a way of one's choice.
    pub fn forge(&self, how: forge::How, claims: &Value) -> String {
        forge::token(&self.shared.keys(), how, claims)
    }

    /// Signs with a new key from now on; the old one is no longer published.
    pub fn rotate(&self) -> anyhow::Result<()> {
        self.shared.keys().rotate()
    }

    /// How often its keys were fetched.
    pub fn key_fetches(&self) -> usize {
        self.shared.key_fetches.load(Ordering::SeqCst)
    }

    /// How often a token was refreshed.
    pub fn refreshes(&self) -> usize {
        self.shared.refreshes.load(Ordering::SeqCst)
    }

    /// How many clients registered.
    pub fn registrations(&self) -> usize {
        self.shared.registrations.load(Ordering::SeqCst)
    }

    /// Answers everything with 503 from now on, or no longer.
    pub fn set_down(&self, is_down: bool) {
        self.shared.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Whether clients may register themselves.
    pub fn set_registers(&self, registers: bool) {
        self.shared.registers.store(registers, Ordering::SeqCst);
    }

    /// Sends every request for a token there, with all that was sent.
    pub fn set_moved(&self, to: &str) {
        let mut moved = self.shared.moved.lock().unwrap_or_else(PoisonError::into_inner);
        *moved = Some(to.to_owned());
    }

    /// How long the tokens live that it issues from now on, in seconds.
    pub fn set_lifetime(&self, seconds: usize) {
        self.shared.lifetime.store(seconds, Ordering::SeqCst);
    }

    /// Forgets every refresh token.
    pub fn revoke_all(&self) {
        self.shared.grants().revoke_all();
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn keys(&self) -> std::sync::MutexGuard<'_, KeyRing> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grants(&self) -> std::sync::MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn document(&self, document: &Value) -> Response {
        if self.is_down.load(Ordering::SeqCst) {
            return answer(
                StatusCode::SERVICE_UNAVAILABLE,
                &json!({ "error": "temporarily_unavailable" }),
            );
        }
        answer(StatusCode::OK, document)
    }
}

async fn metadata(State(shared): State<Arc<Shared>>) -> Response {
    let issuer = &shared.issuer;
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    });
    if shared.registers.load(Ordering::SeqCst) {
        document["registration_endpoint"] = json!(format!("{issuer}/register"));
    }
    shared.document(&document)
}

async fn jwks(State(shared): State<Arc<Shared>>) -> Response {
    shared.key_fetches.fetch_add(1, Ordering::SeqCst);
    let keys = shared.keys().published();
    shared.document(&keys)
}

async fn register(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let body = to_bytes(request.into_body(), MAX_FORM).await.unwrap_or_default();
    let wanted: Value = serde_json::from_slice(&body).unwrap_or_default();
    let uris = wanted["redirect_uris"].as_array().cloned().unwrap_or_default();
    let uris: Vec<String> = uris.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if uris.is_empty() || !shared.registers.load(Ordering::SeqCst) {
        return answer(StatusCode::BAD_REQUEST, &json!({ "error": "invalid_redirect_uri" }));
    }
    shared.registrations.fetch_add(1, Ordering::SeqCst);
    let id = shared.grants().register(uris.clone());
    let client =
        json!({ "client_id": id, "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    answer(StatusCode::CREATED, &client)
}

/// Sends the browser back with a code, without a question.
async fn authorize(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let asked = pairs(request.uri().query().unwrap_or_default());
    let granted = shared.grants().authorize(&asked);
    match granted {
        Ok(location) => {
            let location = format!("{location}&iss={}", encoded(&shared.issuer));
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::FOUND;
            if let Ok(location) = location.parse() {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
        Err(why) => answer(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    }
}

async fn token(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let moved = shared.moved.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(to) = moved.and_then(|to| to.parse().ok()) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        response.headers_mut().insert(header::LOCATION, to);
        return response;
    }
    let body = to_bytes(request.into_body(), MAX_FORM).await.unwrap_or_default();
    let asked = pairs(&String::from_utf8_lossy(&body));
    let granted = shared.grants().redeem(&asked);
    match granted {
        Ok(grant) => {
            if grant.is_refresh {
                shared.refreshes.fetch_add(1, Ordering::SeqCst);
            }
            let lifetime = shared.lifetime.load(Ordering::SeqCst) as u64;
            let now = now();
            let claims = json!({
                "iss": shared.issuer, "sub": "ann", "aud": grant.resource, "iat": now,
                "exp": now + lifetime, "scope": grant.scope, "jti": grant.refresh,
            });
            let access = forge::signed(&shared.keys(), &claims);
            shared.document(&json!({
                "access_token": access, "token_type": "Bearer", "expires_in": lifetime,
                "refresh_token": grant.refresh, "scope": grant.scope,
            }))
        }
        Err(why) => answer(StatusCode::BAD_REQUEST, &json!({ "error": why })),
    }
}

fn answer(status: StatusCode, document: &Value) -> Response {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The pairs of a query or a form.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (decoded(key), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let digits = String::from_utf8_lossy(&digits).into_owned();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn encoded(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes()
        .map(|b| if is_plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}
