//! Every client Trove can be put into, as data.
//!
//! A row says where the files are, under which key servers stand in them, and in which
//! words one server is written. What to do with that is decided elsewhere.

use super::locate::{
    Base::{AppData, AppSupport, Config, DotConfig, EnvFile, EnvFolder, Home},
    Place,
};
use crate::config::Client;

/// One client.
pub(crate) struct Row {
    pub(crate) client: Client,
    /// The word for `--client`.
    pub(crate) word: &'static str,
    /// Further words for `--client`.
    pub(crate) aliases: &'static [&'static str],
    /// Its file for the user, per system; the first that is there counts, and the first
    /// of all is made if none is.
    pub(crate) linux: &'static [Place],
    pub(crate) mac: &'static [Place],
    pub(crate) windows: &'static [Place],
    /// Its file in a project, below the project's folder; none if it has no such file.
    pub(crate) project: &'static [&'static str],
    /// Further files it takes servers from, read by `import` alone. `*` is any name.
    pub(crate) also_reads: &'static [Place],
    /// The key that holds the servers.
    pub(crate) key: &'static str,
    pub(crate) form: Form,
    pub(crate) stdio: StdioWords,
    /// How it writes a server behind a URL; `None`: it cannot have one.
    pub(crate) remote: Option<RemoteWords>,
    /// The variable for the project's folder in project files, if there is one.
    pub(crate) workspace: Option<&'static str>,
    /// The step that makes it see a change.
    pub(crate) restart: &'static str,
    /// How to see that it worked.
    pub(crate) check: &'static str,
}

/// How a file is written and edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON, with comments and trailing commas if the user put them there.
    Json,
    Toml,
    /// One YAML file for everything, servers in a map.
    Yaml,
    /// A YAML file of our own, in a folder the client reads whole.
    OwnYaml,
}

/// The words for a server that the client starts.
pub(crate) struct StdioWords {
    /// A key that says what kind of server it is.
    pub(crate) kind: Option<(&'static str, &'static str)>,
    pub(crate) command: &'static str,
    /// The key of the arguments; `None`: they follow the command in one list.
    pub(crate) args: Option<&'static str>,
    /// The key of the variables.
    pub(crate) env: &'static str,
    /// Written when the entry is made, and the user's from then on.
    pub(crate) once: &'static [(&'static str, Fixed)],
}

/// The words for a server behind a URL.
pub(crate) struct RemoteWords {
    pub(crate) kind: Option<(&'static str, &'static str)>,
    pub(crate) url: &'static str,
    /// The key of the headers, from the outside in.
    pub(crate) headers: &'static [&'static str],
    pub(crate) once: &'static [(&'static str, Fixed)],
    pub(crate) token: TokenBy,
}

/// How an entry can name an environment variable instead of holding the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenBy {
    /// The text before and after the name inside a header.
    Variable(&'static str, &'static str),
    /// A key of its own holds the name.
    Key(&'static str),
    /// It cannot.
    Nothing,
}

/// A value that is the same for everybody.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fixed {
    True,
    Number(u32),
    Text(&'static str),
    /// The name of the entry.
    Name,
    EmptyMap,
}

const PLAIN: StdioWords =
    StdioWords { kind: None, command: "command", args: Some("args"), env: "env", once: &[] };
const TYPED: StdioWords = StdioWords { kind: Some(("type", "stdio")), ..PLAIN };
const REMOTE: RemoteWords = RemoteWords {
    kind: None,
    url: "url",
    headers: &["headers"],
    once: &[],
    token: TokenBy::Nothing,
};
const BY_ENV: TokenBy = TokenBy::Variable("${env:", "}");
const CLINE_IN_CODE: &str =
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";

/// All of them, in the order in which they are shown.
pub(crate) const TABLE: &[Row] = &[
    Row {
        client: Client::ClaudeDesktop,
        word: "claude-desktop",
        aliases: &["claude"],
        linux: &[
            Place(Config, "Claude/claude_desktop_config.json"),
            Place(Config, "claude/claude_desktop_config.json"),
        ],
        mac: &[Place(AppSupport, "Claude/claude_desktop_config.json")],
        windows: &[Place(AppData, "Claude/claude_desktop_config.json")],
        project: &[],
        also_reads: &[],
        key: "mcpServers",
        form: Form::Json,
        stdio: PLAIN,
        remote: None,
        workspace: None,
        restart: "quit Claude Desktop, its icon in the tray too, and start it again",
        check: "Settings > Developer lists `trove` as running",
    },
    Row {
        client: Client::ClaudeCode,
        word: "claude-code",
        aliases: &[],
        linux: CLAUDE_CODE,
        mac: CLAUDE_CODE,
        windows: CLAUDE_CODE,
        project: &[".mcp.json"],
        also_reads: &[],
        key: "mcpServers",
        form: Form::Json,
        stdio: TYPED,
        remote: Some(RemoteWords {
            kind: Some(("type", "http")),
            token: TokenBy::Variable("${", "}"),
            ..REMOTE
        }),
        workspace: None,
        restart: "start a new session of Claude Code",
        check: "`claude mcp list`, or `/mcp` in a session",
    },
    Row {
        client: Client::Cursor,
        word: "cursor",
        aliases: &[],
        linux: &[Place(Home, ".cursor/mcp.json")],
        mac: &[Place(Home, ".cursor/mcp.json")],
        windows: &[Place(Home, ".cursor/mcp.json")],
        project: &[".cursor/mcp.json"],
        also_reads: &[],
        key: "mcpServers",
        form: Form::Json,
        stdio: PLAIN,
        remote: Some(RemoteWords { token: BY_ENV, ..REMOTE }),
        workspace: Some("${workspaceFolder}"),
        restart: "switch `trove` on in Cursor Settings > MCP, or restart Cursor",
        check: "Cursor Settings > MCP shows `trove` with a green dot",
    },
    Row {
        client: Client::VsCode,
        word: "vscode",
        aliases: &["vs-code", "code"],
        linux: &[
            Place(Config, "Code/User/mcp.json"),
            Place(Config, "Code - Insiders/User/mcp.json"),
            Place(Home, ".vscode-server/data/User/mcp.json"),
        ],
        mac: &[
            Place(AppSupport, "Code/User/mcp.json"),
            Place(AppSupport, "Code - Insiders/User/mcp.json"),
        ],
        windows: &[
            Place(AppData, "Code/User/mcp.json"),
            Place(AppData, "Code - Insiders/User/mcp.json"),
        ],
        project: &[".vscode/mcp.json"],
        also_reads: &[],
        key: "servers",
        form: Form::Json,
        stdio: TYPED,
        remote: Some(RemoteWords { kind: Some(("type", "http")), token: BY_ENV, ..REMOTE }),
        workspace: Some("${workspaceFolder}"),
        restart: "run `MCP: List Servers` in VS Code and start `trove`; no restart is needed",
        check: "`MCP: List Servers` shows `trove` as running",
    },
    Row {
        client: Client::Windsurf,
        word: "windsurf",
        aliases: &[],
        linux: WINDSURF,
        mac: WINDSURF,
        windows: WINDSURF,
        project: &[],
        also_reads: &[],
        key: "mcpServers",
        form: Form::Json,
        stdio: PLAIN,
        remote: Some(RemoteWords { url: "serverUrl", token: BY_ENV, ..REMOTE }),
        workspace: None,
        restart: "press the refresh button of Windsurf's MCP panel, or restart Windsurf",
        check: "Windsurf's MCP panel shows `trove` with its tools",
    },
    Row {
        client: Client::Zed,
        word: "zed",
        aliases: &[],
        linux: &[Place(Config, "zed/settings.json")],
        mac: &[Place(DotConfig, "zed/settings.json")],
        windows: &[Place(AppData, "Zed/settings.json")],
        project: &[],
        also_reads: &[],
        key: "context_servers",
        form: Form::Json,
        stdio: StdioWords { once: &[("source", Fixed::Text("custom"))], ..PLAIN },
        remote: Some(REMOTE),
        workspace: None,
        restart: "nothing: Zed reads its settings as they change",
        check: "the settings of Zed's Agent Panel show `trove` with a green dot",
    },
    Row {
        client: Client::Codex,
        word: "codex",
        aliases: &[],
        linux: CODEX,
        mac: CODEX,
        windows: CODEX,
        project: &[".codex/config.toml"],
        also_reads: &[],
        key: "mcp_servers",
        form: Form::Toml,
        stdio: PLAIN,
        remote: Some(RemoteWords {
            headers: &["http_headers"],
            token: TokenBy::Key("bearer_token_env_var"),
            ..REMOTE
        }),
        workspace: None,
        restart: "start Codex anew",
        check: "`codex mcp list`, or `/mcp` in a session",
    },
    Row {
        client: Client::Gemini,
        word: "gemini",
        aliases: &["gemini-cli"],
        linux: &[Place(Home, ".gemini/settings.json")],
        mac: &[Place(Home, ".gemini/settings.json")],
        windows: &[Place(Home, ".gemini/settings.json")],
        project: &[".gemini/settings.json"],
        also_reads: &[],
        key: "mcpServers",
        form: Form::Json,
        stdio: PLAIN,
        remote: Some(RemoteWords { url: "httpUrl", token: TokenBy::Variable("${", "}"), ..REMOTE }),
        workspace: None,
        restart: "start Gemini CLI anew",
        check: "`gemini mcp list`, or `/mcp` in a session",
    },
    Row {
        client: Client::Cline,
        word: "cline",
        aliases: &[],
        linux: &[CLINE[0], CLINE[1], Place(Config, CLINE_IN_CODE)],
        mac: &[CLINE[0], CLINE[1], Place(AppSupport, CLINE_IN_CODE)],
        windows: &[CLINE[0], CLINE[1], Place(AppData, CLINE_IN_CODE)],
        project: &[],
        also_reads: &[],
        key: "mcpServers",
        form: Form::Json,
        stdio: PLAIN,
        remote: Some(RemoteWords { kind: Some(("type", "streamableHttp")), ..REMOTE }),
        workspace: None,
        restart: "nothing: Cline reads the file as it changes",
        check: "Cline's MCP Servers > Installed shows `trove` with a green dot",
    },
    Row {
        client: Client::Continue,
        word: "continue",
        aliases: &[],
        linux: CONTINUE,
        mac: CONTINUE,
        windows: CONTINUE,
        project: &[".continue/mcpServers/{name}.yaml"],
        also_reads: &[Place(Home, ".continue/config.yaml"), Place(Home, ".continue/mcpServers/*")],
        key: "mcpServers",
        form: Form::OwnYaml,
        stdio: PLAIN,
        remote: Some(RemoteWords {
            kind: Some(("type", "streamable-http")),
            headers: &["requestOptions", "headers"],
            token: TokenBy::Variable("${{ secrets.", " }}"),
            ..REMOTE
        }),
        workspace: None,
        restart: "reload the window of your editor",
        check: "the tools menu of Continue's chat lists `trove`",
    },
    Row {
        client: Client::Goose,
        word: "goose",
        aliases: &[],
        linux: &[Place(Config, "goose/config.yaml")],
        mac: &[Place(DotConfig, "goose/config.yaml")],
        windows: &[Place(AppData, "Block/goose/config/config.yaml")],
        project: &[],
        also_reads: &[],
        key: "extensions",
        form: Form::Yaml,
        stdio: StdioWords {
            kind: Some(("type", "stdio")),
            command: "cmd",
            args: Some("args"),
            env: "envs",
            once: GOOSE_ONCE,
        },
        remote: Some(RemoteWords {
            kind: Some(("type", "streamable_http")),
            url: "uri",
            once: GOOSE_ONCE,
            ..REMOTE
        }),
        workspace: None,
        restart: "start a new session of goose",
        check: "`goose info -v`, or Extensions in goose Desktop",
    },
    Row {
        client: Client::OpenCode,
        word: "opencode",
        aliases: &[],
        linux: OPENCODE,
        mac: OPENCODE,
        windows: OPENCODE,
        project: &["opencode.json", "opencode.jsonc"],
        also_reads: &[],
        key: "mcp",
        form: Form::Json,
        stdio: StdioWords {
            kind: Some(("type", "local")),
            command: "command",
            args: None,
            env: "environment",
            once: &[("enabled", Fixed::True)],
        },
        remote: Some(RemoteWords {
            kind: Some(("type", "remote")),
            once: &[("enabled", Fixed::True)],
            token: TokenBy::Variable("{env:", "}"),
            ..REMOTE
        }),
        workspace: None,
        restart: "start opencode anew",
        check: "`opencode mcp list`",
    },
];

const CLAUDE_CODE: &[Place] =
    &[Place(EnvFolder("CLAUDE_CONFIG_DIR"), ".claude.json"), Place(Home, ".claude.json")];
const WINDSURF: &[Place] =
    &[Place(Home, ".codeium/windsurf/mcp_config.json"), Place(Home, ".codeium/mcp_config.json")];
const CODEX: &[Place] =
    &[Place(EnvFolder("CODEX_HOME"), "config.toml"), Place(Home, ".codex/config.toml")];
const CLINE: [Place; 2] = [
    Place(EnvFile("CLINE_MCP_SETTINGS_PATH"), ""),
    Place(Home, ".cline/data/settings/cline_mcp_settings.json"),
];
const CONTINUE: &[Place] = &[Place(Home, ".continue/mcpServers/{name}.yaml")];
const OPENCODE: &[Place] = &[
    Place(EnvFile("OPENCODE_CONFIG"), ""),
    Place(Config, "opencode/opencode.json"),
    Place(Config, "opencode/opencode.jsonc"),
];
const GOOSE_ONCE: &[(&str, Fixed)] = &[
    ("enabled", Fixed::True),
    ("name", Fixed::Name),
    ("description", Fixed::Text("One door to every MCP resource")),
    ("timeout", Fixed::Number(300)),
    ("envs", Fixed::EmptyMap),
];

/// The word for a client, e.g. `claude-code`.
pub(crate) fn word(client: Client) -> &'static str {
    match row(client) {
        Some(row) => row.word,
        None if client == Client::Amp => "amp",
        None => "another-client",
    }
}

/// The row of a client.
pub(crate) fn row(client: Client) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.client == client)
}
