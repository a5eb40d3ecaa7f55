//! One server as a client writes it becomes an [`UpstreamConfig`].
//!
//! Clients differ in names for the same thing, so every name is understood in every file. Only a
//! name with two meanings is asked of the [`Client`].

use std::{collections::BTreeMap, path::Path, time::Duration};

use trove_core::SourceId;
use trove_mcp::recipe::Choice;
use trove_mcp::upstream::{
    Dialect, ExpandError, Expose, Index, Moved, OauthClient, Protocol, Reach, Remote, Text,
    UpstreamConfig, Watch,
};

use super::{
    super::{
        file::Transport,
        problem::Problems,
        resolve::Surroundings,
        server::{
            DEFAULT_TIMEOUT, check_header_name, check_header_value, check_text, check_url,
            check_variable_name, starts_trove,
        },
        tree::{At, Entry, Node, Value},
    },
    Purpose,
    client::{Client, TimeoutUnit},
};

/// Longer is taken for milliseconds in a file that counts seconds.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// The program, as most, goose and an old Zed call it.
const COMMAND: [&str; 3] = ["command", "cmd", "path"];

/// Keys that would change what runs, and that we do not follow.
const NOT_FOLLOWED: [(&str, &str); 3] = [
    ("envFile", "put its variables in `env`"),
    ("headersHelper", "put the headers in `headers`"),
    ("http_headers_helper", "put the headers in `http_headers`"),
];

/// Every key whose meaning is taken over, and those that only name or switch an entry.
const FOLLOWED: [&str; 25] = [
    "command",
    "cmd",
    "path",
    "args",
    "env",
    "envs",
    "environment",
    "env_keys",
    "env_vars",
    "cwd",
    "httpUrl",
    "serverUrl",
    "url",
    "uri",
    "type",
    "transport",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "timeout",
    "tool_timeout_sec",
    "enabled",
    "disabled",
    "name",
];

/// The keys of an entry that say something we do not take over, with their places.
pub(super) fn not_followed(entry: &Node) -> Vec<(String, At)> {
    let mut keys = Vec::new();
    for Entry { key, at, node } in entry.entries() {
        let is_reported = NOT_FOLLOWED.iter().any(|(known, _)| known == key);
        let is_layer =
            ["command", "transport", "requestOptions"].contains(&key.as_str()) && node.is_map();
        if is_layer {
            let inner = not_followed(node);
            keys.extend(inner.into_iter().map(|(inner, at)| (format!("{key}.{inner}"), at)));
        } else if !is_reported && !FOLLOWED.contains(&key.as_str()) {
            keys.push((key.clone(), *at));
        }
    }
    keys
}

/// Reads the entries of one file.
pub(super) struct Reader<'a> {
    pub(super) client: Client,
    pub(super) purpose: Purpose,
    /// The folder of the file.
    pub(super) folder: &'a Path,
    pub(super) around: &'a Surroundings<'a>,
    pub(super) problems: &'a mut Problems,
}

/// An entry, with what some clients keep a level deeper laid over it.
struct Layers<'n>(Vec<&'n Node>);

impl<'n> Layers<'n> {
    fn of(entry: &'n Node) -> Layers<'n> {
        let deeper = ["command", "transport", "requestOptions"];
        let mut layers: Vec<&Node> =
            deeper.iter().filter_map(|key| entry.get(key)).filter(|node| node.is_map()).collect();
        layers.push(entry);
        Layers(layers)
    }

    /// The first of these keys that holds something.
    fn get(&self, keys: &[&str]) -> Option<&'n Node> {
        let held = |node: &&Node| !matches!(node.value, Value::Null);
        let found = |layer: &&'n Node| keys.iter().find_map(|key| layer.get(key).filter(held));
        self.0.iter().find_map(found)
    }
}

impl Reader<'_> {
    /// The server, unless it is off or wrong.
    pub(super) fn read(&mut self, name: &str, at: At, entry: &Node) -> Option<UpstreamConfig> {
        if !entry.is_map() {
            let message = format!("`{name}` must be a table, found {}", entry.kind());
            self.problems.error(entry.at, message, "write its keys in braces");
            return None;
        }
        let layers = Layers::of(entry);
        if let Some((why, hint)) = self.why_skipped(&layers) {
            self.problems.note(at, format!("`{name}` is left out: {why}"), hint);
            return None;
        }
        let errors = self.problems.errors();
        let reach = self.reach(name, at, &layers);
        let timeout = self.timeout(&layers);
        self.warn_of_what_is_not_followed(&layers);
        if self.problems.errors() > errors {
            return None;
        }
        if let Reach::Stdio { command, args, .. } = reach.as_ref()?
            && starts_trove(command.written(), args)
        {
            let message = format!("`{name}` is left out: it is Trove itself");
            self.problems.warning(at, message, "nothing to do: a gateway is no server of its own");
            return None;
        }
        Some(UpstreamConfig {
            id: SourceId::normalise(name),
            reach: reach?,
            protocol: Protocol::Auto,
            expose: Expose::Auto,
            moved: Moved::default(),
            index: Index::Content,
            is_public: false,
            watch: Watch::Notify,
            timeout,
            has_flat_schemas: false,
            tool_prefix: None,
            recipe: Choice::Auto { is_approved: false },
            is_searched: true,
        })
    }

    /// Why an entry is no server for us, and what to do about it.
    fn why_skipped(&self, layers: &Layers<'_>) -> Option<(&'static str, &'static str)> {
        // Some write it in quotes.
        let flag = |key| {
            let node = layers.get(&[key])?;
            node.as_bool().or_else(|| node.as_str()?.to_ascii_lowercase().parse().ok())
        };
        if flag("enabled") == Some(false) || flag("disabled") == Some(true) {
            return Some(("it is disabled", "enable it in this file to have it"));
        }
        let word = layers.get(&["type"]).and_then(Node::as_str);
        match (self.client, word) {
            (Client::Goose, Some("builtin" | "platform" | "frontend" | "inline_python")) => {
                Some(("it is a part of goose, not a server", "nothing to do"))
            }
            (Client::Zed, _) if layers.get(&["command", "url"]).is_none() => {
                Some(("it comes from an extension of Zed", "add its `command` to have it"))
            }
            _ => None,
        }
    }

    fn reach(&mut self, name: &str, at: At, layers: &Layers<'_>) -> Option<Reach> {
        let command = layers.get(&COMMAND);
        let url = layers.get(&["httpUrl", "serverUrl", "url", "uri"]);
        let lacks = |what: &str| format!("`{name}` has no {what}");
        match self.kind(layers)? {
            Kind::Stdio => match command {
                Some(command) => self.stdio(command, layers),
                None => self.refuse(at, lacks("command"), "add the program to start"),
            },
            Kind::Remote(transport) => match url {
                Some(url) => self.remote(url, transport, layers),
                None => self.refuse(at, lacks("URL"), "add where it is reached"),
            },
            Kind::Unknown => self.refuse(at, lacks("command and no URL"), "add `command` or `url`"),
        }
    }

    /// The stated kind, else what the keys at hand imply.
    fn kind(&mut self, layers: &Layers<'_>) -> Option<Kind> {
        let stated = layers.get(&["type", "transport"]).filter(|node| !node.is_map());
        let Some(stated) = stated else {
            return Some(if layers.get(&COMMAND).is_some() {
                Kind::Stdio
            } else if layers.get(&["httpUrl"]).is_some() {
                Kind::Remote(Transport::Http)
            } else if layers.get(&["serverUrl", "url", "uri"]).is_some() {
                Kind::Remote(self.client.untyped_url())
            } else {
                Kind::Unknown
            });
        };
        match stated.as_str() {
            Some("stdio" | "local") => Some(Kind::Stdio),
            Some("sse") => Some(Kind::Remote(Transport::Sse)),
            Some("http" | "streamable-http" | "streamable_http" | "streamableHttp" | "remote") => {
                Some(Kind::Remote(Transport::Http))
            }
            word => {
                let message = format!("`{}` is no known type", word.unwrap_or(stated.kind()));
                self.refuse(stated.at, message, "known: `stdio`, `http`, `sse`")
            }
        }
    }

    fn stdio(&mut self, command: &Node, layers: &Layers<'_>) -> Option<Reach> {
        // opencode writes the command and its arguments as one list.
        let mut words = match &command.value {
            Value::List(words) => self.texts(words),
            Value::Text(_) => self.text(command).into_iter().collect(),
            _ => {
                let message = format!("the command must be a string, found {}", command.kind());
                return self.refuse(command.at, message, "write the program to start in quotes");
            }
        };
        if words.first().is_none_or(|first| first.written().is_empty()) {
            return self.refuse(command.at, "the command is empty", "add the program to start");
        }
        let command_text = words.remove(0);
        let mut args = words;
        if let Some(list) = layers.get(&["args"]) {
            args.extend(self.list(list, "args"));
        }
        let env = self.environment(layers);
        let cwd = layers.get(&["cwd"]).and_then(|node| {
            let cwd = self.text(node)?;
            self.around.path(node.at, &cwd, self.problems)
        });
        Some(Reach::Stdio { command: command_text, args, env, cwd })
    }

    fn environment(&mut self, layers: &Layers<'_>) -> BTreeMap<String, Text> {
        let mut env = BTreeMap::new();
        for (name, at, text) in self.map(layers.get(&["env", "envs", "environment"]), "env") {
            check_variable_name(&name, at, self.problems);
            env.insert(name, text);
        }
        // goose keeps these in its keyring; here the environment must have them.
        for (at, name) in names(layers.get(&["env_keys"])) {
            env.insert(name.to_owned(), self.reference(at, "", name));
        }
        // Codex passes these on where they are set.
        for (at, name) in names(layers.get(&["env_vars"])) {
            if self.around.env.get(name).is_some() {
                env.insert(name.to_owned(), self.reference(at, "", name));
            } else {
                let message = format!("`{name}` is not set and so not passed on");
                self.problems.note(at, message, "set it where Trove is started, if it is needed");
            }
        }
        env
    }

    fn remote(&mut self, url: &Node, transport: Transport, layers: &Layers<'_>) -> Option<Reach> {
        let mut headers = BTreeMap::new();
        for (name, at, text) in self.map(layers.get(&["headers", "http_headers"]), "headers") {
            check_header_name(&name, at, self.problems);
            check_header_value(&name, text.written(), at, self.problems);
            headers.insert(name, text);
        }
        for entry in layers.get(&["env_http_headers"]).map(Node::entries).unwrap_or_default() {
            check_header_name(&entry.key, entry.at, self.problems);
            if let Some(name) = entry.node.as_str() {
                headers.insert(entry.key.clone(), self.reference(entry.node.at, "", name));
            }
        }
        if let Some(node) = layers.get(&["bearer_token_env_var"])
            && let Some(name) = node.as_str()
        {
            headers.insert("Authorization".into(), self.reference(node.at, "Bearer ", name));
        }
        let text = self.text(url)?;
        check_url(&text, url.at, self.problems)?;
        let remote = Remote { url: text, headers, oauth: OauthClient::default() };
        Some(match transport {
            Transport::Http => Reach::Http(remote),
            Transport::Sse => Reach::Sse(remote),
        })
    }

    fn timeout(&mut self, layers: &Layers<'_>) -> Duration {
        let (node, unit) = match layers.get(&["tool_timeout_sec"]) {
            Some(node) => (node, TimeoutUnit::Seconds),
            None => match layers.get(&["timeout"]) {
                Some(node) => (node, self.client.timeout_unit()),
                None => return DEFAULT_TIMEOUT,
            },
        };
        let number = match node.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => f64::NAN,
        };
        let seconds = match unit {
            TimeoutUnit::Seconds => number,
            TimeoutUnit::Milliseconds => number / 1000.0,
            TimeoutUnit::Unsettled => return DEFAULT_TIMEOUT,
        };
        if seconds > 0.0 {
            return Duration::from_secs_f64(seconds.min(MAX_TIMEOUT.as_secs_f64()));
        }
        let hint = format!("{} s is used; write a number above zero", DEFAULT_TIMEOUT.as_secs());
        let what = if number.is_nan() { "no number" } else { "not above zero" };
        self.problems.warning(node.at, format!("the timeout is {what}"), hint);
        DEFAULT_TIMEOUT
    }

    fn warn_of_what_is_not_followed(&mut self, layers: &Layers<'_>) {
        for (key, hint) in NOT_FOLLOWED {
            if let Some(node) = layers.get(&[key]) {
                self.problems.warning(node.at, format!("`{key}` is not followed"), hint);
            }
        }
    }

    fn map(&mut self, node: Option<&Node>, what: &str) -> Vec<(String, At, Text)> {
        let Some(node) = node else { return Vec::new() };
        if !node.is_map() {
            let message = format!("`{what}` must be a table, found {}", node.kind());
            self.problems.error(node.at, message, "write names and values in braces");
        }
        let mut all = Vec::new();
        for entry in node.entries() {
            // VS Code writes null for a variable that shall not be set.
            if matches!(entry.node.value, Value::Null) {
                continue;
            }
            if let Some(text) = self.text(&entry.node) {
                all.push((entry.key.clone(), entry.at, text));
            }
        }
        all
    }

    fn list(&mut self, node: &Node, what: &str) -> Vec<Text> {
        let Value::List(nodes) = &node.value else {
            let message = format!("`{what}` must be a list, found {}", node.kind());
            self.problems.error(node.at, message, "put each argument in square brackets");
            return Vec::new();
        };
        self.texts(nodes)
    }

    fn texts(&mut self, nodes: &[Node]) -> Vec<Text> {
        nodes.iter().filter_map(|node| self.text(node)).collect()
    }

    /// A value in the client's dialect. Numbers and truths count as their text, e.g. `true`.
    fn text(&mut self, node: &Node) -> Option<Text> {
        let written = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => {
                let message = format!("expected a string, found {}", node.kind());
                return self.refuse(node.at, message, "put it in quotes");
            }
        };
        let text = Text::new(written, self.client.dialect()).relative_to(self.folder);
        self.check(&text, node.at);
        Some(text)
    }

    /// A question to a person, or a variable that is not set yet, hinders only a start.
    fn check(&mut self, text: &Text, at: At) {
        match (self.purpose, text.check()) {
            (Purpose::Use, _) => check_text(text, at, self.around.env, self.problems),
            (Purpose::Import, Ok(()) | Err(ExpandError::NeedsInput { .. })) => {}
            (Purpose::Import, Err(error)) => {
                self.problems.error(at, error.to_string(), error.hint());
            }
        }
    }

    /// The value of an environment variable that is given by name.
    fn reference(&mut self, at: At, before: &str, name: &str) -> Text {
        let text = Text::new(format!("{before}${{env:{name}}}"), Dialect::Trove);
        self.check(&text, at);
        text
    }

    fn refuse<T>(&mut self, at: At, message: impl Into<String>, hint: &str) -> Option<T> {
        self.problems.error(at, message, hint);
        None
    }
}

/// The sort of server that an entry describes.
enum Kind {
    Stdio,
    Remote(Transport),
    Unknown,
}

/// The names in a list, each a string or an object with `name`.
fn names(list: Option<&Node>) -> impl Iterator<Item = (At, &str)> {
    let nodes = list.map(Node::elements).unwrap_or_default();
    nodes.iter().filter_map(|node| {
        let name = node.get("name").unwrap_or(node);
        Some((name.at, name.as_str()?))
    })
}
