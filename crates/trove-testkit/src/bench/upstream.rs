//! An MCP server as people write them: rmcp, stdio or Streamable HTTP, defaults kept.
//!
//! Contents are made once, when first read, so that neither a start nor a read costs more
//! than it must and a gateway in front of it has nothing to hide behind.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use axum::serve::ListenerExt as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use rmcp::model::{
    Implementation, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};

use super::sizes::{self, Size};

/// A line with what JSON must escape and what is not ASCII.
const LINE: &str = "One \"door\" to every resource: names, notes and naïve tables \\ 0123456789.\n";

#[derive(Debug, Args)]
pub(super) struct Options {
    /// How many resources to list
    #[arg(long, value_name = "N", default_value_t = 1000)]
    resources: usize,
    /// How many of them a page holds; all by default
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    page_size: usize,
    /// The scheme of their URIs
    #[arg(long, default_value = "bench")]
    scheme: String,
    /// Serve Streamable HTTP at `/mcp` here instead of stdio
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
}

struct Upstream {
    scheme: String,
    page_size: usize,
    resources: Vec<Resource>,
    /// One for each size, in the order of [`Size`].
    bodies: [OnceLock<String>; Size::ALL.len()],
}

/// Serves until the client goes, or for ever over HTTP.
pub(super) async fn serve(options: &Options) -> anyhow::Result<()> {
    let upstream = Arc::new(Upstream::new(options));
    let Some(address) = options.http else {
        upstream.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let service = StreamableHttpService::new(
        move || Ok(Arc::clone(&upstream)),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let listener =
        tokio::net::TcpListener::bind(address).await.with_context(|| format!("bind {address}"))?;
    // Without this each answer waits 40 ms for the client's delayed acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

impl Upstream {
    fn new(options: &Options) -> Upstream {
        let resource = |place: usize| {
            let size = Size::at(place);
            let mime = if size.is_binary() { "application/octet-stream" } else { "text/plain" };
            Resource::new(sizes::uri(&options.scheme, place), format!("resource-{place}"))
                .with_title(format!("Resource {place}"))
                .with_description(format!("Number {place} of the resources to measure with"))
                .with_mime_type(mime)
                .with_size(size.bytes() as u64)
        };
        Upstream {
            scheme: options.scheme.clone(),
            page_size: options.page_size,
            resources: (0..options.resources).map(resource).collect(),
            bodies: Default::default(),
        }
    }

    fn contents(&self, uri: String) -> Option<ResourceContents> {
        let (size, place) = sizes::parse(&self.scheme, &uri)?;
        if place >= self.resources.len() {
            return None;
        }
        let body = self.bodies[size as usize].get_or_init(|| body(size)).clone();
        let make = if size.is_binary() { ResourceContents::blob } else { ResourceContents::text };
        Some(make(body, uri))
    }
}

/// The body of a read: text, or bytes in base64.
fn body(size: Size) -> String {
    let mut text = LINE.repeat(size.bytes().div_ceil(LINE.len()));
    if size.is_binary() {
        return BASE64_STANDARD.encode(&text.as_bytes()[..size.bytes()]);
    }
    text.truncate(text.floor_char_boundary(size.bytes()));
    text
}

impl ServerHandler for Upstream {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_resources().build())
            .with_server_info(Implementation::new("mcp-bench", env!("CARGO_PKG_VERSION")))
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let bad_cursor = |_| ErrorData::invalid_params("no such cursor", None);
        let cursor = page.and_then(|page| page.cursor);
        let start: usize = cursor.map_or(Ok(0), |text| text.parse()).map_err(bad_cursor)?;
        let end = start.saturating_add(self.page_size).min(self.resources.len());
        let entries = self.resources.get(start..end).unwrap_or_default();
        let mut list = ListResourcesResult::with_all_items(entries.to_vec());
        list.next_cursor = (end < self.resources.len()).then(|| end.to_string());
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let slow = ResourceTemplate::new(format!("{}://slow/{{ms}}", self.scheme), "slow")
            .with_description("Answers that many milliseconds later");
        Ok(ListResourceTemplatesResult::with_all_items(vec![slow]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let slow = uri.strip_prefix(&self.scheme).and_then(|rest| rest.strip_prefix("://slow/"));
        if let Some(delay) = slow.and_then(|delay| delay.parse().ok()) {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            return Ok(ReadResourceResult::new(vec![ResourceContents::text("late", uri)]).into());
        }
        let contents = self
            .contents(uri)
            .ok_or_else(|| ErrorData::resource_not_found("no such resource", None))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
