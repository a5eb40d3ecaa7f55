//! One `[servers.ID]` becomes an [`UpstreamConfig`].
//!
//! The checks that hold for a server of any file are here too.

use std::{collections::BTreeMap, path::Path, time::Duration};

use trove_core::SourceId;
use trove_mcp::upstream::{self, Dialect, Moved, OauthClient, Reach, Remote, Text, UpstreamConfig};

use super::{
    env::EnvLookup,
    file::{CacheWord, SchemasWord, Server, ServerOauth, Transport, Watch},
    problem::Problems,
    read::{Key, Spot, Table},
    recipe,
    resolve::Surroundings,
    tree::At,
};

/// How long one request may take, unless the file says.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// All servers of a file that can be used.
pub(super) fn upstreams(
    servers: Table<Server>,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Vec<UpstreamConfig> {
    let mut usable = Vec::new();
    for (name, server) in servers.0 {
        usable.extend(upstream(&name, server, around, problems));
    }
    usable
}

fn upstream(
    name: &Spot<String>,
    mut server: Server,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Option<UpstreamConfig> {
    let id = match SourceId::new(&name.value) {
        Ok(id) => Some(id),
        Err(error) => {
            let hint = format!("use `{}`", SourceId::normalise(&name.value));
            problems.error(name.at, error.to_string(), hint);
            None
        }
    };
    let reach = reach(name, &server, around, problems);
    let timeout = positive("timeout_ms", &server.timeout_ms, DEFAULT_TIMEOUT, problems);
    let watch = watch(&server, problems);
    check_tool_prefix(&server.tool_prefix, problems);
    let recipe = recipe::choice(&mut server, problems);
    Some(UpstreamConfig {
        id: id?,
        reach: reach?,
        protocol: server.protocol.take().map(Into::into).unwrap_or_default(),
        expose: server.expose.take().map(Into::into).unwrap_or_default(),
        moved: Moved { from: server.moved_from.take(), ..Moved::default() },
        index: server.index.take().map(Into::into).unwrap_or_default(),
        is_public: server.cache.take().is_some_and(|word| word == CacheWord::Public),
        watch,
        timeout,
        has_flat_schemas: server.schemas.take().is_some_and(|word| word == SchemasWord::Flat),
        tool_prefix: server.tool_prefix.take(),
        recipe,
        is_searched: server.live_search.take().unwrap_or(true),
    })
}

fn reach(
    name: &Spot<String>,
    server: &Server,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Option<Reach> {
    if server.command.is_wrong() || server.url.is_wrong() {
        return None;
    }
    match (server.command.get(), server.url.get()) {
        (Some(command), None) => {
            let strays = [place("headers", &server.headers), place("transport", &server.transport)];
            refuse_strays("url", &strays, problems);
            stdio(command, server, around, problems)
        }
        (None, Some(url)) => {
            let strays =
                [place("args", &server.args), place("env", &server.env), place("cwd", &server.cwd)];
            refuse_strays("command", &strays, problems);
            remote(url, server, around, problems)
        }
        (Some(_), Some(url)) => {
            let message = format!("[servers.{}] has both `command` and `url`", name.value);
            problems.error(
                url.at,
                message,
                "keep `command` to start it here, or `url` to reach it",
            );
            None
        }
        (None, None) => {
            let message = format!("[servers.{}] has neither `command` nor `url`", name.value);
            problems.error(
                name.at,
                message,
                "add `command` to start it here, or `url` to reach it",
            );
            None
        }
    }
}

fn place<T>(name: &'static str, key: &Key<T>) -> (&'static str, Option<At>) {
    (name, key.get().map(|spot| spot.at))
}

/// Reports keys that belong to the other kind of server.
fn refuse_strays(owner: &str, strays: &[(&str, Option<At>)], problems: &mut Problems) {
    for (key, at) in strays {
        if let Some(at) = at {
            let message = format!("`{key}` belongs to a server with `{owner}`");
            problems.error(*at, message, format!("remove `{key}`"));
        }
    }
}

fn stdio(
    command: &Spot<String>,
    server: &Server,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Option<Reach> {
    let mut args = Vec::new();
    for arg in server.args.get().into_iter().flat_map(|args| &args.value) {
        args.push(text(arg, around, problems));
    }
    let env = named_texts(&server.env, around, problems);
    for (name, at) in names(&server.env) {
        check_variable_name(name, at, problems);
    }
    let cwd = server
        .cwd
        .get()
        .and_then(|cwd| around.path(cwd.at, &Text::new(&cwd.value, Dialect::Trove), problems));
    if command.value.is_empty() {
        problems.error(command.at, "`command` is empty", "write the program to start");
        return None;
    }
    // Another Trove with a file of its own is no loop; this one again would be.
    let chosen_file = args.iter().any(|arg| arg.written().starts_with("--config"));
    if starts_trove(&command.value, &args) && !chosen_file {
        let hint = "remove it, or give the other Trove its own file with --config";
        problems.error(command.at, "the server is Trove itself", hint);
        return None;
    }
    Some(Reach::Stdio { command: text(command, around, problems), args, env, cwd })
}

fn remote(
    url: &Spot<String>,
    server: &Server,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> Option<Reach> {
    let headers = named_texts(&server.headers, around, problems);
    for (name, value) in server.headers.get().into_iter().flat_map(|table| &table.value.0) {
        check_header_name(&name.value, name.at, problems);
        check_header_value(&name.value, &value.value, value.at, problems);
    }
    let at = url.at;
    let url = text(url, around, problems);
    check_url(&url, at, problems)?;
    let remote = Remote { url, headers, oauth: oauth(&server.oauth, around.folder) };
    Some(match server.transport.get().map(|transport| transport.value) {
        None | Some(Transport::Http) => Reach::Http(remote),
        Some(Transport::Sse) => Reach::Sse(remote),
    })
}

/// Our name and proof for the authority that grants tokens for a server.
fn oauth(written: &ServerOauth, folder: &Path) -> OauthClient {
    let secret = |text: String| own_text(&text, folder);
    let text = |key: &Key<String>| key.get().map(|spot| spot.value.clone());
    OauthClient {
        client_id: text(&written.client_id),
        client_secret: text(&written.client_secret).map(secret),
        scopes: written.scopes.get().map(|spot| spot.value.clone()).unwrap_or_default(),
    }
}

fn named_texts(
    table: &Key<Table<Spot<String>>>,
    around: &Surroundings<'_>,
    problems: &mut Problems,
) -> BTreeMap<String, Text> {
    let mut texts = BTreeMap::new();
    for (name, value) in table.get().into_iter().flat_map(|table| &table.value.0) {
        texts.insert(name.value.clone(), text(value, around, problems));
    }
    texts
}

fn names(table: &Key<Table<Spot<String>>>) -> impl Iterator<Item = (&str, At)> {
    let entries = table.get().into_iter().flat_map(|table| &table.value.0);
    entries.map(|(name, _)| (name.value.as_str(), name.at))
}

/// A text of `trove.toml`. Files that it names are sought from the folder of that file.
pub(super) fn own_text(written: &str, folder: &Path) -> Text {
    let text = Text::new(written, Dialect::Trove);
    if text.reads_file() { text.relative_to(folder) } else { text }
}

fn text(written: &Spot<String>, around: &Surroundings<'_>, problems: &mut Problems) -> Text {
    let text = own_text(&written.value, around.folder);
    check_text(&text, written.at, around.env, problems);
    text
}

fn positive(name: &str, key: &Key<u64>, default: Duration, problems: &mut Problems) -> Duration {
    let Some(spot) = key.get() else { return default };
    if spot.value == 0 {
        let hint = format!("write milliseconds, as in `{}`", default.as_millis());
        problems.error(spot.at, format!("`{name}` is zero"), hint);
    }
    Duration::from_millis(spot.value)
}

fn watch(server: &Server, problems: &mut Problems) -> upstream::Watch {
    let every =
        positive("poll_interval_ms", &server.poll_interval_ms, DEFAULT_POLL_INTERVAL, problems);
    if server.watch.get().is_some_and(|watch| watch.value == Watch::Poll) {
        return upstream::Watch::Poll { every };
    }
    if let Some(interval) = server.poll_interval_ms.get() {
        let message = "`poll_interval_ms` does nothing unless `watch` is `poll`";
        problems.warning(interval.at, message, "add watch = \"poll\", or remove it");
    }
    upstream::Watch::Notify
}

fn check_tool_prefix(prefix: &Key<String>, problems: &mut Problems) {
    let Some(prefix) = prefix.get() else { return };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !prefix.value.chars().all(fits) {
        let hint = "use letters, digits, `_` and `-`, or leave it empty";
        problems.error(prefix.at, "`tool_prefix` cannot stand in a tool's name", hint);
    }
}

/// Reports what cannot be expanded, and warns of what is not set at the moment.
pub(super) fn check_text(text: &Text, at: At, env: &dyn EnvLookup, problems: &mut Problems) {
    if let Err(error) = text.check() {
        problems.error(at, error.to_string(), error.hint());
    }
    for name in text.needs() {
        if env.get(name).is_none() {
            let hint = format!("set `{name}` where Trove is started, or this server cannot start");
            problems.warning(at, format!("the environment variable `{name}` is not set"), hint);
        }
    }
}

/// A URL is never repeated: it may hold a password or a key.
pub(super) fn check_url(url: &Text, at: At, problems: &mut Problems) -> Option<()> {
    let written = url.written();
    let rest = written.strip_prefix("https://").or_else(|| written.strip_prefix("http://"));
    let has_host =
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']));
    let is_sound = has_host && !written.contains(char::is_whitespace);
    if is_sound || url.begins_with_variable() {
        return Some(());
    }
    let message = match written.split_once("://") {
        Some((scheme, _)) if rest.is_none() => format!("a `{scheme}` URL cannot be reached"),
        _ => "this is no http or https URL".into(),
    };
    problems.error(at, message, "write it as in `https://example.com/mcp`");
    None
}

/// The characters that HTTP allows in the name of a header.
pub(super) fn check_header_name(name: &str, at: At, problems: &mut Problems) {
    let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(fits) {
        let message = format!("`{name}` is no name of a header");
        problems.error(at, message, "use letters, digits and `-`, as in `X-Api-Key`");
    }
}

/// A line that ends within a value would begin another header.
pub(super) fn check_header_value(name: &str, written: &str, at: At, problems: &mut Problems) {
    if written.chars().any(|c| c.is_control() && c != '\t') {
        let message =
            format!("the value of the header `{name}` has a line break or control character in it");
        problems.error(at, message, "write it as one line");
    }
}

/// The characters that an operating system allows in the name of a variable.
pub(super) fn check_variable_name(name: &str, at: At, problems: &mut Problems) {
    if name.is_empty() || name.contains(['=', '\0']) {
        let message = format!("`{name}` is no name of an environment variable");
        problems.error(at, message, "use letters, digits and `_`, as in `API_KEY`");
    }
}

/// Whether a command is this program, as a gateway.
pub(super) fn starts_trove(command: &str, args: &[Text]) -> bool {
    let mut words = vec![command];
    words.extend(args.iter().map(Text::written));
    launches_trove(&words)
}

/// Whether these words start this program as a gateway, themselves or through another
/// program such as `env` or a shell.
pub(crate) fn launches_trove(words: &[&str]) -> bool {
    let is_trove = |word: &str| Path::new(word).file_stem().is_some_and(|stem| stem == "trove");
    let mut after =
        words.iter().flat_map(|word| word.split_whitespace()).skip_while(|w| !is_trove(w));
    after.any(|word| word == "serve" || word == "up")
}
