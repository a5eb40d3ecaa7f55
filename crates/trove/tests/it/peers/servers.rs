//! The servers that are installed: how each is started, straight and by Trove, and what
//! is worth reading there.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::compare::public_name;
use super::drivers::{self, Target, Until};
use super::processes::{Process, free_port, wait_for_port};

/// The id every server has in Trove's configuration.
pub(crate) const SERVER_ID: &str = "peer";

const EVERYTHING: &str = "server-everything/dist/index.js";
const FASTMCP_HOME: &str = "peer://text/plain";

/// A server under test, with all that it needs on disk.
pub(crate) struct Server {
    reach: Reach,
    until: Until,
    /// Read beside everything listed: URIs of templates, and absent ones.
    reads: &'static [&'static str],
    pub(crate) least_resources: usize,
    /// Whether two reads of one resource need not be equal.
    pub(crate) is_fickle: bool,
    /// Gone with the server.
    files: Vec<tempfile::TempDir>,
}

enum Reach {
    Stdio { argv: Vec<String>, variables: Vec<(&'static str, String)> },
    Http { port: u16, _process: Process },
    Sse { port: u16, _process: Process },
}

impl Server {
    pub(crate) fn everything_stdio() -> Self {
        let argv = vec![
            text(&drivers::node()),
            text(&drivers::npm_script(EVERYTHING)),
            "stdio".to_owned(),
        ];
        Self::everything(Reach::Stdio { argv, variables: Vec::new() })
    }

    pub(crate) fn everything_http() -> Self {
        let (port, process) = start_everything("streamableHttp");
        Self::everything(Reach::Http { port, _process: process })
    }

    pub(crate) fn everything_sse() -> Self {
        let (port, process) = start_everything("sse");
        Self::everything(Reach::Sse { port, _process: process })
    }

    fn everything(reach: Reach) -> Self {
        Self {
            until: Until::Resource("demo://resource/static/document/features.md"),
            reads: &[
                "demo://resource/dynamic/text/1",
                "demo://resource/dynamic/blob/2",
                "demo://absent",
            ],
            least_resources: 7,
            ..Self::new(reach)
        }
    }

    pub(crate) fn filesystem() -> Self {
        let script = drivers::npm_script("server-filesystem/dist/index.js");
        let files = temporary();
        let argv = vec![text(&drivers::node()), text(&script), text(files.path())];
        let reach = Reach::Stdio { argv, variables: Vec::new() };
        Self { until: Until::Tool("read_text_file"), ..Self::new(reach) }.keeping(files)
    }

    pub(crate) fn memory() -> Self {
        let script = drivers::npm_script("server-memory/dist/index.js");
        let files = temporary();
        let graph = files.path().join("graph.jsonl");
        let entity = json!({"type": "entity", "name": "Trove", "entityType": "program", "observations": ["kept"]});
        std::fs::write(&graph, format!("{entity}\n")).expect("the graph can be written");
        let variables = vec![("MEMORY_FILE_PATH", text(&graph))];
        let argv = vec![text(&drivers::node()), text(&script)];
        let server = Self::new(Reach::Stdio { argv, variables });
        Self { until: Until::Resource("memory://knowledge-graph"), least_resources: 1, ..server }
            .keeping(files)
    }

    pub(crate) fn git() -> Self {
        let files = temporary();
        let made = Command::new("git").args(["init", "--quiet"]).arg(files.path()).status();
        assert!(made.is_ok_and(|status| status.success()), "git is needed for mcp-server-git");
        let argv = ["-m", "mcp_server_git", "--repository", &text(files.path())].map(str::to_owned);
        Self { until: Until::Tool("git_status"), ..Self::python("python", &argv) }.keeping(files)
    }

    pub(crate) fn time() -> Self {
        let argv =
            ["-m", "mcp_server_time", "--local-timezone", "Europe/Berlin"].map(str::to_owned);
        Self { until: Until::Tool("get_current_time"), ..Self::python("python", &argv) }
    }

    pub(crate) fn fastmcp_stdio() -> Self {
        let Self { reach, files, .. } = Self::python("python", &[fastmcp_script()]);
        Self { files, ..Self::fastmcp(reach) }
    }

    pub(crate) fn fastmcp_http() -> Self {
        let port = free_port();
        let mut command = Command::new(drivers::python());
        command.args([&fastmcp_script(), "--http", &format!("127.0.0.1:{port}")]);
        let process = start_quietly(&mut command, port);
        Self::fastmcp(Reach::Http { port, _process: process })
    }

    fn fastmcp(reach: Reach) -> Self {
        Self {
            until: Until::Resource(FASTMCP_HOME),
            reads: &[
                "peer://greet/Zo%C3%AB",
                "peer://items/book/a/b%20c?lang=de&limit=3",
                "peer://items/book/a",
                "peer://absent",
            ],
            least_resources: 6,
            ..Self::new(reach)
        }
    }

    pub(crate) fn guide() -> Self {
        let files = temporary();
        let (docs, config) = (text(&files.path().join("docs")), text(&files.path().join("config")));
        let start = "from mcp_guide.main import main; main()";
        let argv = ["-c", start, "-d", &docs, "-c", &config].map(str::to_owned);
        let mut server = Self::python("guide", &argv);
        if let Reach::Stdio { variables, .. } = &mut server.reach {
            // By it the server tells in which project it is.
            variables.push(("PWD", docs.clone()));
        }
        Self { until: Until::Tool("get_content"), ..server }.keeping(files)
    }

    pub(crate) fn quilt() -> Self {
        let start = "from quilt_mcp.main import main; main()";
        let argv = ["-c", start, "--deployment", "legacy", "--skip-banner"].map(str::to_owned);
        let mut server = Self::python("quilt", &argv);
        if let Reach::Stdio { variables, .. } = &mut server.reach {
            // Without it every start waits for a metadata service that is not there.
            variables.push(("AWS_EC2_METADATA_DISABLED", "true".to_owned()));
        }
        let until = Until::Resource("metadata://templates");
        Self { until, least_resources: 15, is_fickle: true, ..server }
    }

    /// A server of an installed Python environment, with a home of its own.
    fn python(environment: &str, arguments: &[String]) -> Self {
        let python = drivers::environment().join(environment).join("bin/python");
        assert!(
            python.exists(),
            "the {environment} peers are not installed; run `cargo xtask test --all-peers`"
        );
        let argv = [text(&python)].into_iter().chain(arguments.iter().cloned()).collect();
        let files = temporary();
        let variables =
            vec![("HOME", text(files.path())), ("PYTHONDONTWRITEBYTECODE", "1".to_owned())];
        Self::new(Reach::Stdio { argv, variables }).keeping(files)
    }

    fn new(reach: Reach) -> Self {
        Self {
            reach,
            until: Until::Tool(""),
            reads: &[],
            least_resources: 0,
            is_fickle: false,
            files: Vec::new(),
        }
    }

    fn keeping(mut self, files: tempfile::TempDir) -> Self {
        self.files.push(files);
        self
    }

    /// The server itself.
    pub(crate) fn target(&self) -> Target {
        match &self.reach {
            Reach::Http { port, .. } => Target::http(*port),
            Reach::Sse { port, .. } => Target::sse(*port),
            Reach::Stdio { argv, variables } => {
                let arguments: Vec<&str> = argv[1..].iter().map(String::as_str).collect();
                variables.iter().fold(
                    Target::stdio(Path::new(&argv[0]), &arguments),
                    |target, (name, value)| target.with_variable(name, value),
                )
            }
        }
    }

    /// The entry that Trove must list before the server counts as connected.
    pub(crate) fn until(&self) -> Until {
        self.until
    }

    pub(crate) fn reads(&self) -> Vec<String> {
        self.reads.iter().map(|&uri| uri.to_owned()).collect()
    }

    pub(crate) fn reads_through_trove(&self) -> Vec<String> {
        self.reads.iter().map(|uri| public_name(uri)).collect()
    }

    /// Trove's configuration with this server alone, its tools included.
    pub(crate) fn trove_toml(&self) -> String {
        // Only the server's own resources and tools are compared.
        let mut lines = vec!["[tools]".to_owned(), "search = \"off\"".to_owned()];
        lines.extend([format!("[servers.{SERVER_ID}]"), "recipe = \"off\"".to_owned()]);
        match &self.reach {
            Reach::Stdio { argv, variables } => {
                lines.push(format!("command = {}", quoted(&argv[0])));
                lines.push(format!("args = {}", json!(argv[1..])));
                let variables: Vec<_> = variables
                    .iter()
                    .map(|(name, value)| format!("{name} = {}", quoted(value)))
                    .collect();
                lines.push(format!("env = {{ {} }}", variables.join(", ")));
            }
            Reach::Http { port, .. } => {
                lines.push(format!("url = \"http://127.0.0.1:{port}/mcp\""))
            }
            Reach::Sse { port, .. } => {
                lines.push(format!("url = \"http://127.0.0.1:{port}/sse\""));
                lines.push("transport = \"sse\"".to_owned());
            }
        }
        lines.extend([
            "expose = \"all\"".to_owned(),
            "tool_prefix = \"\"".to_owned(),
            String::new(),
        ]);
        lines.join("\n")
    }
}

fn start_everything(transport: &str) -> (u16, Process) {
    let port = free_port();
    let mut command = Command::new(drivers::node());
    command.arg(drivers::npm_script(EVERYTHING)).arg(transport).env("PORT", port.to_string());
    (port, start_quietly(&mut command, port))
}

fn start_quietly(command: &mut Command, port: u16) -> Process {
    let process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    wait_for_port(port);
    process
}

fn fastmcp_script() -> String {
    text(&drivers::scripts().join("servers/fastmcp_server.py"))
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

fn text(path: &Path) -> String {
    path.to_str().expect("paths of the test environment are UTF-8").to_owned()
}

/// A string as TOML writes it, which for paths and such is as JSON does.
fn quoted(value: &str) -> Value {
    json!(value)
}
