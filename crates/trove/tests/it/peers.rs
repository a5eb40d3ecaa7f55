//! Real clients against real servers, straight and through Trove: both must see the same.
//!
//! Each row of the matrix runs one client twice with the same driver, once at the server and once
//! at Trove in front of it. It compares every item listed and every byte read. Every server meets
//! one client and every client meets one server; the doors and the protocol eras are spread over
//! the rows. The peers are described in tests/peers.

pub(crate) mod bridge;
pub(crate) mod compare;
pub(crate) mod drivers;
pub(crate) mod processes;
pub(crate) mod servers;
mod walk;

use drivers::Client::{Inspector, PyFastmcp, PyMcp, TsV1, TsV2};
use drivers::Era::{Legacy, Modern};
use drivers::{Client, Era, Target, survey, watch};
use processes::{Trove, free_port};
use servers::Server;

/// How a client reaches Trove.
#[derive(Clone, Copy, Debug)]
enum Door {
    Stdio,
    Http,
    /// HTTP with SSE, as of 2024-11-05.
    Sse,
}

use Door::{Http, Sse, Stdio};

/// One row of the matrix.
#[track_caller]
fn check(server: &Server, client: Client, door: Door, era: Era) {
    // Few of the servers speak the modern era; straight at them the client takes what it finds.
    let straight = survey(client, Era::Auto, &server.target(), &server.reads());
    let front = front(server, door);
    let through = survey(client, era, &front.target, &server.reads_through_trove());
    compare::assert_same(server, &straight, &through);
    if client != Inspector {
        let version = through["protocolVersion"].as_str().expect("the client reports a version");
        assert_eq!(version == "2026-07-28", era == Modern, "{client:?} spoke {version}");
    }
}

/// One client subscribed through Trove hears of a change the upstream announces.
#[track_caller]
fn check_watch(client: Client, door: Door, era: Era) {
    let server = Server::everything_stdio();
    let front = front(&server, door);
    let uri = "demo://resource/static/document/features.md";
    let heard = watch(client, era, &front.target, uri, "toggle-subscriber-updates");
    assert_eq!(heard["updated"], uri);
}

/// Trove in front of a server, and where a client finds it.
struct Front {
    target: Target,
    // Ends with the front; over stdio the client starts and ends Trove itself.
    _process: Option<Trove>,
    _state: tempfile::TempDir,
}

fn front(server: &Server, door: Door) -> Front {
    let state = tempfile::tempdir().expect("a temporary directory can be made");
    let config = state.path().join("trove.toml");
    let opened = if matches!(door, Sse) { "http.sse = true\n" } else { "" };
    std::fs::write(&config, format!("{opened}{}", server.trove_toml()))
        .expect("the configuration can be written");
    let (target, process) = match door {
        Stdio => (Trove::stdio_target(&config, state.path()), None),
        Http => {
            let port = free_port();
            let process = Trove::serve_http(port, &config, state.path());
            (Target::http(port), Some(process))
        }
        Sse => {
            let port = free_port();
            let process = Trove::serve_http(port, &config, state.path());
            (Target::sse(port), Some(process))
        }
    };
    Front { target: target.once(server.until()), _process: process, _state: state }
}

// Every server, with one client.

#[test]
fn everything_over_stdio() {
    check(&Server::everything_stdio(), PyMcp, Stdio, Modern);
}

#[test]
fn everything_over_http() {
    check(&Server::everything_http(), TsV2, Http, Legacy);
}

#[test]
fn everything_over_sse() {
    check(&Server::everything_sse(), PyFastmcp, Http, Modern);
}

#[test]
fn filesystem_has_no_resources_and_stays_so() {
    check(&Server::filesystem(), TsV1, Stdio, Legacy);
}

#[test]
fn memory() {
    check(&Server::memory(), TsV2, Stdio, Modern);
}

#[test]
fn git_has_no_resources_and_stays_so() {
    check(&Server::git(), PyMcp, Http, Legacy);
}

#[test]
fn time_has_no_resources_and_stays_so() {
    check(&Server::time(), PyFastmcp, Stdio, Legacy);
}

#[test]
fn fastmcp_over_stdio() {
    check(&Server::fastmcp_stdio(), TsV1, Stdio, Legacy);
}

#[test]
fn fastmcp_over_http() {
    check(&Server::fastmcp_http(), PyMcp, Http, Modern);
}

#[test]
fn mcp_guide_keeps_its_template_beside_our_own_scheme() {
    check(&Server::guide(), TsV2, Http, Modern);
}

/// Its name keeps it out of a run without the optional peers.
#[test]
fn quilt_with_all_peers() {
    check(&Server::quilt(), PyMcp, Http, Legacy);
}

// Every client, with one server: through both doors and in every era it knows.

#[test]
fn py_mcp_over_http_in_the_legacy_era() {
    check(&Server::everything_stdio(), PyMcp, Http, Legacy);
}

#[test]
fn py_mcp_over_stdio_in_the_legacy_era() {
    check(&Server::fastmcp_stdio(), PyMcp, Stdio, Legacy);
}

#[test]
fn py_fastmcp_over_stdio_in_the_modern_era() {
    check(&Server::everything_stdio(), PyFastmcp, Stdio, Modern);
}

#[test]
fn py_fastmcp_over_http_in_the_legacy_era() {
    check(&Server::everything_stdio(), PyFastmcp, Http, Legacy);
}

#[test]
fn ts_v2_over_http_in_the_modern_era() {
    check(&Server::everything_stdio(), TsV2, Http, Modern);
}

#[test]
fn ts_v2_over_stdio_in_the_legacy_era() {
    check(&Server::everything_stdio(), TsV2, Stdio, Legacy);
}

#[test]
fn ts_v1_over_http() {
    check(&Server::everything_stdio(), TsV1, Http, Legacy);
}

#[test]
fn inspector_over_http_in_the_modern_era() {
    // Over HTTP on both sides: it starts a stdio server anew for every request, and waits
    // two seconds for this one to go.
    check(&Server::everything_http(), Inspector, Http, Modern);
}

#[test]
fn inspector_over_http_in_the_legacy_era() {
    check(&Server::memory(), Inspector, Http, Legacy);
}

// A client that says where it works gets what is for that project.

#[test]
fn py_mcp_gets_the_documents_of_the_project_it_works_on() {
    let state = tempfile::tempdir().expect("a temporary directory can be made");
    for (path, text) in [
        ("trove.toml", "[guide.projects.shop]\nroot = \"shop\"\ncategories = [\"lang\"]\n"),
        ("guide/lang/rust.md", "# Rust\n"),
        ("guide/docs/api.md", "# API\n"),
    ] {
        let path = state.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }
    let target = Trove::stdio_target(&state.path().join("trove.toml"), state.path());
    let listed = |target: &Target, uri: &str| {
        let seen = survey(PyMcp, Legacy, target, &[]);
        seen["resources"].as_array().is_some_and(|all| all.iter().any(|r| r["uri"] == uri))
    };
    let (lang, docs) = ("guide://document/lang/rust.md", "guide://document/docs/api.md");
    assert!(listed(&target, lang) && listed(&target, docs));
    let target = target.for_work_in(&state.path().join("shop/src"));
    assert!(listed(&target, lang) && !listed(&target, docs));
}

// Every client that can subscribe hears of a change.

#[test]
fn py_mcp_hears_of_a_change_in_the_modern_era() {
    check_watch(PyMcp, Http, Modern);
}

#[test]
fn py_fastmcp_hears_of_a_change_in_the_legacy_era() {
    check_watch(PyFastmcp, Http, Legacy);
}

#[test]
fn ts_v2_hears_of_a_change_in_the_modern_era() {
    check_watch(TsV2, Stdio, Modern);
}

#[test]
fn ts_v1_hears_of_a_change() {
    check_watch(TsV1, Stdio, Legacy);
}

#[test]
fn py_mcp_reads_over_sse() {
    check(&Server::memory(), PyMcp, Sse, Legacy);
}

#[test]
fn ts_v1_hears_of_changes_over_sse() {
    check_watch(TsV1, Sse, Legacy);
}
