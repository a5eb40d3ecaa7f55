//! The routes of the page: its files, the exchange of the token for a pass, and the API.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::map_response,
    response::Response,
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::json;
use trove_mcp::server::{Lock, behind};

use super::{
    Web, activity, acts,
    answer::{Answer, json_of, refuse},
    api,
    assets::{ASSETS, Asset},
    browse, events, find, guide, model, reading, search, templates,
};

/// The rights of the page: to run its own scripts and to ask its own server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                      form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
/// The longest body that is taken.
const MAX_BODY: usize = 4096;

pub(super) fn routes(web: &Arc<Web>) -> Router {
    let page = Router::new()
        .route("/api/overview", get(api::overview))
        .route("/api/capabilities", get(api::capabilities))
        .route("/api/collisions", get(api::collisions))
        .route("/api/settings", get(api::settings))
        .route("/api/logs", get(api::logs))
        .route("/api/figures", get(api::figures))
        .route("/api/activity", get(activity::list))
        .route("/api/resources", get(browse::resources))
        .route("/api/tree", get(browse::tree))
        .route("/api/map", get(browse::map))
        .route("/api/find", get(find::answer))
        .route("/api/search", get(search::answer))
        .route("/api/resource", get(reading::resource))
        .route("/api/contents", get(reading::contents))
        .route("/api/templates", get(templates::list))
        .route("/api/expand", get(templates::expand))
        .route("/api/complete", get(templates::complete))
        .route("/api/clients", get(model::list))
        .route("/api/client", get(model::one))
        .route("/api/model", get(model::sees))
        .route("/api/guide", get(guide::list))
        .route("/api/guide/source", get(guide::source))
        .route("/api/guide/preview", post(guide::preview))
        .route("/api/guide/save", post(guide::save))
        .route("/api/guide/remove", post(guide::remove))
        .route("/api/guide/rename", post(guide::rename))
        .route("/api/grep/{ticket}/{part}", get(reading::grep))
        .route("/api/approvals", get(acts::approvals))
        .route("/api/servers/restart", post(acts::restart))
        .route("/api/servers/approve", post(acts::approve))
        .route("/api/servers/remove", post(acts::remove))
        .route("/api/servers/add", post(acts::add))
        .route("/api/events", get(events::listen));
    let frame = Router::new()
        .route("/api/show/{ticket}/{part}", get(reading::show))
        .route("/api/raw/{ticket}/{part}", get(reading::raw));
    let open = Router::new()
        .route("/", get(file))
        .route("/{*path}", get(file))
        .route("/api/session", post(exchange))
        .route("/api/door", get(door))
        .layer(map_response(protect));
    let guard = &web.guard;
    behind(guard, Lock::Page, page.with_state(web.clone()))
        .merge(behind(guard, Lock::Frame, frame.with_state(web.clone())))
        .merge(behind(guard, Lock::Open, open.with_state(web.clone())))
}

/// The headers of everything that the browser takes for the page itself.
async fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    response.headers_mut().insert(
        "permissions-policy",
        HeaderValue::from_static("camera=(), microphone=(), geolocation=(), interest-cohort=()"),
    );
    response
        .headers_mut()
        .insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
        .headers_mut()
        .insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// A file of the page. Files hold no secret, so no token is asked for.
async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    match ASSETS.iter().find(|asset| asset.path == path) {
        Some(asset) => embedded(asset, &headers),
        None => {
            let mut response = Response::new(Body::from("There is nothing here. Try /\n"));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    }
}

fn embedded(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| *tag == *asset.tag);
    let mut response =
        Response::new(if is_known { Body::empty() } else { Body::from(asset.bytes) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.mime));
    // Asked for each time and answered by the tag, so that a new version is seen at once.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// `GET /api/door`: how one gets in.
async fn door(State(web): State<Arc<Web>>) -> Response {
    json_of(&json!({ "by": web.guard.page_opens_by() }))
}

#[derive(Deserialize)]
struct Given {
    token: String,
}

/// `POST /api/session`: a pass for the token. The page found the token behind the `#` of its
/// address, which browsers keep to themselves.
async fn exchange(State(web): State<Arc<Web>>, request: Request) -> Answer {
    let next = ["Open the address that `trove up` prints; the token is part of it."];
    let is_json = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let body = to_bytes(request.into_body(), MAX_BODY).await;
    let given = body.ok().and_then(|body| serde_json::from_slice::<Given>(&body).ok());
    // Only our own page and programs can send this type; a form elsewhere cannot.
    let Some(given) = given.filter(|_| is_json) else {
        return Err(refuse(StatusCode::BAD_REQUEST, "a token is expected", &next));
    };
    let Some(pass) = web.guard.exchange(given.token.trim()) else {
        return Err(refuse(StatusCode::UNAUTHORIZED, "this is not the token", &next));
    };
    let mut response = json_of(&json!({ "key": pass.key }));
    if let Ok(cookie) = HeaderValue::from_str(&pass.cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
