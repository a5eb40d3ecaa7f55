//! Serves the fixtures of the MCP conformance suite over stdio or Streamable HTTP.
#![expect(
    clippy::print_stderr,
    reason = "the address is told on stderr, since stdout may carry the protocol"
)]

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use trove_testkit::conformance::ConformanceServer;

/// An MCP server with every fixture of the conformance suite.
#[derive(Parser)]
struct Args {
    /// Speak on stdin and stdout. This is the default.
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Listen here and serve Streamable HTTP at `/mcp`. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = Arc::new(ConformanceServer::default());
    match Args::parse().http {
        Some(address) => serve_http(server, address).await,
        None => {
            server.serve(rmcp::transport::stdio()).await?.waiting().await?;
            Ok(())
        }
    }
}

async fn serve_http(server: Arc<ConformanceServer>, address: SocketAddr) -> anyhow::Result<()> {
    let config = StreamableHttpServerConfig::default().with_allowed_origins([
        "http://localhost:*",
        "http://127.0.0.1:*",
        "http://[::1]:*",
    ]);
    let service = StreamableHttpService::new(
        move || Ok(Arc::clone(&server)),
        LocalSessionManager::default().into(),
        config,
    );
    let listener =
        tokio::net::TcpListener::bind(address).await.with_context(|| format!("bind {address}"))?;
    eprintln!("listening {}", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
