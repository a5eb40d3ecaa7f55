//! The contents of real servers through `get_resource`, as they are natively.

use serde_json::json;

use super::servers::{SERVER_ID, Server};
use crate::bridge::{assert_parity, bridged};
use crate::kit::client::Kind;
use crate::kit::{Trove, is_own};

/// Every resource of a server, and what its templates make, over stdio and HTTP.
async fn check(server: Server) {
    let trove = Trove::start(&server.trove_toml()).await;
    trove.ready(&[SERVER_ID]).await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_MODERN] {
        let client = trove.client(kind).await;
        let listed: Vec<String> =
            client.uris().await.into_iter().filter(|uri| !is_own(uri)).collect();
        assert!(listed.len() >= server.least_resources, "{listed:?}");
        for uri in listed.iter().chain(&server.reads_through_trove()) {
            // Two reads of these tell two times of day.
            let is_fickle = server.is_fickle || uri.starts_with("demo://resource/dynamic/");
            assert_parity(&client, uri, is_fickle).await;
        }
        let found = bridged(&client, json!({ "server": SERVER_ID })).await;
        let templates = client.list("resources/templates/list", "resourceTemplates").await;
        let templates = templates.iter().filter_map(|entry| entry["uriTemplate"].as_str());
        let templates = templates.filter(|template| !is_own(template));
        assert_eq!(found["total"], listed.len() + templates.count(), "{found}");
    }
}

#[tokio::test]
async fn everything() {
    check(Server::everything_stdio()).await;
}

#[tokio::test]
async fn filesystem() {
    check(Server::filesystem()).await;
}

#[tokio::test]
async fn memory() {
    check(Server::memory()).await;
}

#[tokio::test]
async fn git() {
    check(Server::git()).await;
}

#[tokio::test]
async fn time() {
    check(Server::time()).await;
}

#[tokio::test]
async fn fastmcp_over_stdio() {
    check(Server::fastmcp_stdio()).await;
}

#[tokio::test]
async fn fastmcp_over_http() {
    check(Server::fastmcp_http()).await;
}

#[tokio::test]
async fn quilt_with_all_peers() {
    check(Server::quilt()).await;
}

/// It lists nothing and has one template, under a scheme of ours.
#[tokio::test]
async fn mcp_guide_is_usable_by_its_template() {
    let trove = Trove::start(&Server::guide().trove_toml()).await;
    trove.ready(&[SERVER_ID]).await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_MODERN] {
        let client = trove.client(kind).await;
        let found = bridged(&client, json!({ "server": SERVER_ID })).await;
        let template = &found["data"]["guide"][0];
        assert_eq!(template["uri"], "peer+guide://{collection}/{document}", "{found}");
        assert_eq!(template["template_variables"], json!(["collection", "document"]));
        for (uri, class) in [
            ("peer+guide://nosuch/thing", "NotFound"),
            ("peer+guide://docs/nothing-like-it", "NotFound"),
            ("peer+guide://docs/", "MissingTemplateVariable"),
        ] {
            let object = bridged(&client, json!({ "uri": uri })).await;
            assert_eq!(object["error"], class, "{kind:?} {uri}: {object}");
        }
    }
}
