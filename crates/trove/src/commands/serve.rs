//! `trove serve` and `trove up`.

use std::net::SocketAddr;

use super::{Failed, configure, exit, runtime};
use crate::{
    app::App,
    cli::{Global, Http, Serve},
    config::{Loaded, Overrides},
    reload::Followed,
    telemetry,
};

/// Serves on the doors that were asked for; over HTTP if none was.
pub(super) fn serve(global: &Global, serve: &Serve) -> Result<(), Failed> {
    let has_http = serve.http.http.is_some() || !serve.stdio;
    open(global, &serve.http, Doors { stdio: serve.stdio, http: has_http }, |_, _, _, _| {})
}

/// Serves HTTP and tells a person what to do next.
pub(super) fn up(global: &Global, http: &Http) -> Result<(), Failed> {
    open(global, http, Doors { stdio: false, http: true }, greet)
}

#[derive(Clone, Copy)]
struct Doors {
    stdio: bool,
    http: bool,
}

fn open(
    global: &Global,
    http: &Http,
    doors: Doors,
    greet: impl FnOnce(&App, &Loaded, SocketAddr, Option<&str>),
) -> Result<(), Failed> {
    let flags = Overrides {
        http_addr: http.http,
        no_auth: http.no_auth,
        bridge: http.tools.bridge,
        toolsets: http.tools.toolsets.clone(),
    };
    let (loaded, cwd) = configure(global, flags.clone())?;
    telemetry::start(global, "info");
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        let mut app = App::start(&loaded, global.yes).await;
        let mut address = None;
        if doors.http {
            match app.open_http(&loaded.config).await {
                Ok((bound, token)) => {
                    greet(&app, &loaded, bound, token.as_deref());
                    address = Some(bound);
                }
                Err(error) => {
                    app.shutdown().await;
                    return Err(Failed::new(
                        exit::UNREACHABLE,
                        "Unreachable",
                        format!("{error:#}"),
                    ));
                }
            }
        }
        if doors.stdio {
            app.open_stdio();
        }
        if let Some(file) = loaded.origin.clone() {
            app.follow(Followed { file, found: loaded.found, cwd, flags });
        }
        app.announce(address).await;
        app.run().await;
        Ok(())
    });
    // A thread that reads a terminal cannot be woken; it must not keep us.
    runtime.shutdown_background();
    outcome
}

#[expect(clippy::print_stdout, reason = "`up` talks to a person; it speaks no MCP on stdout")]
fn greet(app: &App, loaded: &Loaded, address: SocketAddr, token: Option<&str>) {
    println!("Trove serves MCP at http://{address}/mcp");
    match token {
        Some(token) => {
            // Behind the `#`: what stands there is sent to nobody, the page takes it.
            println!("The page for you:    http://{address}/#token={token}");
            println!("Clients send this header: Authorization: Bearer {token}");
            println!(
                "\nTo try it:\n  curl -s http://{address}/mcp -H 'Authorization: Bearer {token}' \\"
            );
        }
        None => {
            println!("The page for you:    http://{address}/");
            println!("\nTo try it:\n  curl -s http://{address}/mcp \\");
        }
    }
    println!(
        "    -H 'Content-Type: application/json' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/list' \\"
    );
    println!(
        "    -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{{\"_meta\":{{\
         \"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}'"
    );
    println!("\nA client that starts its servers itself runs: trove serve --stdio");
    match (&loaded.origin, loaded.config.upstreams.len()) {
        (Some(file), 0) => println!("\nNo servers in {} yet. Add one:\n{EXAMPLE}", file.display()),
        (Some(file), count) => println!(
            "\n{count} servers from {}; changes of that file are taken over at once.",
            file.display()
        ),
        (None, _) => println!(
            "\nNo configuration was found, so only what is Trove's own is served.\n\
             `trove init` writes a trove.toml and a small guide here. Or write one yourself, or name any\n\
             MCP client's file with --config:\n{EXAMPLE}"
        ),
    }
    for id in app.admission().waiting() {
        println!("{id} is waiting for approval; to see what it runs: trove approve");
    }
    println!("Ctrl-C stops everything.");
}

const EXAMPLE: &str = r#"
  [servers.docs]
  command = "npx"
  args = ["-y", "@modelcontextprotocol/server-filesystem", "."]
"#;
