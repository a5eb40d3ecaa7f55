//! The values of a sound configuration.

use std::{net::SocketAddr, time::Duration};

use serde_json::json;
use trove_mcp::upstream::{Expose, Index, Protocol, Reach, Watch};

use super::*;

const CONTRACT: &str = r#"
[servers.fs]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "docs"]
env = { KEY = "${env:KEY}" }
cwd = "."
[servers.wiki]
url = "https://wiki.example/mcp"
headers = { Authorization = "Bearer ${env:KEY}" }
protocol = "legacy"
expose = "all"
index = "metadata"
timeout_ms = 1500
watch = "poll"
poll_interval_ms = 250
tool_prefix = ""
[servers.old]
url = "http://localhost:9/sse"
transport = "sse"

[http]
addr = "127.0.0.1:7420"
auth = "token"
[guide]
root = "guide"
[discovery]
cache_ttl_ms = 300000
[[policy]]
match = "admin://*"
roles = ["admin"]
visible = true
[auth]
local_roles = []
[bridge]
mode = "auto"
[tools]
toolsets = ["resources", "health", "guide", "flags"]
descriptions = "short"
[code]
enabled = false
"#;

#[test]
fn the_whole_contract_is_understood() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("trove.toml"), CONTRACT).unwrap();
    let Loaded { config, problems, origin, client, .. } =
        load_in(folder.path(), Overrides::default());
    assert_eq!(shown(&problems), "");
    assert_eq!((origin, client), (Some(folder.path().join("trove.toml")), None));
    assert_eq!(config.guide_root.value, folder.path().join("guide"));
    assert_eq!(config.http.addr.to_string(), "127.0.0.1:7420");
    assert_eq!(config.discovery.cache_ttl.value, Duration::from_secs(300));
    assert_eq!(config.policy[0].pattern, "admin://*");

    let [fs, wiki, old] = &config.upstreams[..] else { panic!("three servers") };
    let Reach::Stdio { command, args, env, cwd } = &fs.reach else { panic!("stdio") };
    assert_eq!((command.written(), args.len()), ("npx", 3));
    assert_eq!(env["KEY"].written(), "${env:KEY}");
    assert_eq!(cwd.as_deref(), Some(folder.path()));
    assert_eq!((fs.protocol, fs.expose, fs.index), Default::default());
    assert_eq!((fs.watch, fs.timeout), (Watch::Notify, Duration::from_secs(30)));

    assert!(matches!(&wiki.reach, Reach::Http(remote) if remote.headers.len() == 1));
    let words = (wiki.protocol, wiki.expose, wiki.index);
    assert_eq!(words, (Protocol::Legacy, Expose::All, Index::Metadata));
    assert_eq!(wiki.watch, Watch::Poll { every: Duration::from_millis(250) });
    assert_eq!(
        (wiki.timeout, wiki.tool_prefix.as_deref()),
        (Duration::from_millis(1500), Some(""))
    );
    assert!(matches!(&old.reach, Reach::Sse(_)));
}

#[test]
fn an_empty_file_gives_the_defaults() {
    let config = load_toml("").config;
    assert_eq!(config.upstreams, []);
    assert_eq!(config.http.auth, Setting { value: HttpAuth::Token, origin: Origin::Default });
    assert_eq!(config.bridge.value, BridgeMode::Auto);
    assert_eq!(config.state_dir.value, Path::new("/home/ann/.local/state/trove"));
}

#[test]
fn flags_beat_the_file() {
    let folder = TempDir::new().unwrap();
    let text = "[http]\naddr = '127.0.0.1:1'\n[bridge]\nmode = 'never'\n[code]\nenabled = true\n";
    fs::write(folder.path().join("trove.toml"), text).unwrap();
    let addr: SocketAddr = "[::1]:2".parse().unwrap();
    let flags = Overrides {
        http_addr: Some(addr),
        no_auth: true,
        bridge: Some(BridgeMode::Always),
        toolsets: Some(vec![Toolset::Code]),
    };
    let config = load_in(folder.path(), flags).config;
    assert_eq!(config.http.addr, Setting { value: addr, origin: Origin::Flag });
    assert_eq!(config.http.auth, Setting { value: HttpAuth::None, origin: Origin::Flag });
    assert_eq!(config.bridge, Setting { value: BridgeMode::Always, origin: Origin::Flag });
    assert_eq!(config.toolsets, Setting { value: vec![Toolset::Code], origin: Origin::Flag });
    assert_eq!(config.code_enabled, Setting { value: true, origin: Origin::File });
}

#[test]
fn a_toolset_that_stays_off_is_said() {
    let folder = TempDir::new().unwrap();
    let toolsets = "[tools]\ntoolsets = ['resources', 'code']\n";
    let warnings = |text: &str, flags: Overrides| {
        fs::write(folder.path().join("trove.toml"), text).unwrap();
        load_in(folder.path(), flags).problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let [said] = &warnings(toolsets, Overrides::default())[..] else { panic!("no warning") };
    assert!(said.contains("trove.toml:2") && said.contains("`code`"), "{said}");
    let flags = Overrides { toolsets: Some(vec![Toolset::Code]), ..Overrides::default() };
    assert_eq!(warnings("", flags.clone()).len(), 1);
    let on = format!("{toolsets}[code]\nenabled = true\n");
    assert_eq!(warnings(&on, flags), Vec::<String>::new());
}

const SHOWN: &str = r#"
# state: /home/ann/.local/state/trove (default)
# tool prefix: "guide" (default)

[servers.fs]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "docs"]
cwd = "DIR"
protocol = "auto"
expose = "auto"
index = "content"
cache = "auto"
schemas = "as-is"
timeout_ms = 30000
watch = "notify"

[servers.fs.env]
KEY = "${env:KEY}"

[servers.wiki]
url = "https://***@b/mcp"
transport = "http"
protocol = "legacy"
expose = "all"
index = "metadata"
cache = "auto"
schemas = "as-is"
timeout_ms = 1500
watch = "poll"
poll_interval_ms = 250
tool_prefix = ""

[servers.wiki.headers]
Authorization = "***"

[servers.old]
url = "http://localhost:9/sse"
transport = "sse"
protocol = "auto"
expose = "auto"
index = "content"
cache = "auto"
schemas = "as-is"
timeout_ms = 30000
watch = "notify"

[http]
addr = "127.0.0.1:7420"  # file
auth = "token"  # file

[guide]
root = "DIR/guide"  # file
max_documents = 1000  # default

[discovery]
cache_ttl_ms = 300000  # file
max_content_size = 1048576  # default
parallel_requests = 5  # default
content_previews = true  # default
relevance_threshold = 0.3  # default
semantic = true  # default
log_queries = false  # default

[[policy]]
match = "admin://*"
roles = ["admin"]
visible = true

[auth]
local_roles = []  # file

[keys]
ring = []  # default

[bridge]
mode = "never"  # flag
max_answer_bytes = 1048576  # default

[tools]
toolsets = ["resources", "health", "guide", "flags"]  # file
descriptions = "short"  # file
search = "auto"  # default
search_budget = 6000  # default
mask_error_details = false  # default

[audit]
enabled = true  # default
max_file_bytes = 16777216  # default
kept_files = 8  # default
digests = false  # default

[limits]
requests_per_second = 0  # default
burst = 0  # default
concurrent_requests = 4096  # default
streams = 10240  # default
connections = 10240  # default
header_timeout_ms = 10000  # default
body_timeout_ms = 30000  # default
request_bytes = 4194304  # default
body_bytes = 67108864  # default
message_bytes = 33554432  # default
unasked_bytes = 33554432  # default
unasked_bytes_per_second = 524288  # default
list_pages = 10000  # default
list_entries = 1000000  # default
list_timeout_ms = 120000  # default
waiting_requests = 1024  # default
sessions = 10000  # default
sessions_per_caller = 100  # default
session_idle_ms = 60000  # default
session_ms = 2592000000  # default
request_state_ms = 3600000  # default
watches_per_client = 1000  # default
watches = 10000  # default
list_bytes = 268435456  # default
templates = 1000  # default
template_bytes = 4096  # default
uri_bytes = 16384  # default
json_depth = 256  # default
pattern_bytes = 1024  # default
compiled_pattern_bytes = 1048576  # default
cache_bytes = 67108864  # default
cached_answer_bytes = 4194304  # default
index_bytes = 4294967296  # default
children = 500  # default
startup_timeout_ms = 60000  # default
stdio_requests = 1024  # default

[code]
enabled = false  # file
"#;

#[test]
fn t32_what_is_shown_has_origins_and_no_secret() {
    let text =
        CONTRACT.replace("Bearer ${env:KEY}", "hunter2").replace("wiki.example/", "a:hunter2@b/");
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("trove.toml"), text).unwrap();
    let flags = Overrides { bridge: Some(BridgeMode::Never), ..Overrides::default() };
    let config = load_in(folder.path(), flags).config;
    let text = show_text(&config).replace(folder.path().to_str().unwrap(), "DIR");
    assert_eq!(text, SHOWN.trim_start());
    let value = show(&config);
    assert_eq!(value["origins"]["bridge.mode"], "flag");
    assert_eq!(value["config"]["servers"]["wiki"]["headers"]["Authorization"], "***");
    assert!(!value.to_string().contains("hunter2"));
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn the_guide_has_categories_collections_and_projects() {
    let text = r#"
[guide]
root = "knowledge"
max_documents = 7
project = "desk"
[guide.categories.lang]
[guide.categories.docs]
dir = "manual/en"
patterns = ["*.md"]
description = "Manual"
[guide.collections.review]
members = ["lang/rust+python", "docs"]
[guide.projects.shop]
root = "shop"
categories = ["lang"]
flags = { workflow = true, "content-format" = "plain" }
[guide.projects.desk]
"#;
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("trove.toml"), text).unwrap();
    let loaded = load_in(folder.path(), Overrides::default());
    assert_eq!(shown(&loaded.problems), "");
    let guide = loaded.config.guide(&folder.path().join("shop/src"));
    assert_eq!((guide.root, guide.max_documents), (folder.path().join("knowledge"), 7));
    assert_eq!(guide.project.as_deref(), Some("shop"));
    let elsewhere = loaded.config.guide(&folder.path().join("other"));
    assert_eq!(elsewhere.project.as_deref(), Some("desk"));
    let categories = guide.groups.categories.unwrap();
    assert_eq!((&*categories["lang"].dir, &*categories["lang"].patterns[0]), ("lang", "**/*.md"));
    assert_eq!((&*categories["docs"].dir, &*categories["docs"].patterns[0]), ("manual/en", "*.md"));
    assert_eq!(guide.groups.collections["review"].members.len(), 2);
    assert_eq!(guide.groups.projects["shop"].flags["workflow"], json!(true));
    let value = show(&loaded.config);
    assert_eq!(value["config"]["guide"]["categories"]["docs"]["description"], "Manual");
    let again = show_text(&loaded.config);
    assert!(again.contains("[guide.collections.review]"), "{again}");
}

#[test]
fn the_schema_knows_every_section_and_refuses_others() {
    let schema = schema();
    let sections: Vec<&str> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        sections,
        [
            "servers",
            "folders",
            "http",
            "guide",
            "discovery",
            "policy",
            "auth",
            "keys",
            "bridge",
            "tools",
            "audit",
            "limits",
            "code"
        ]
    );
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema.get("required"), None);
    let server = &schema["$defs"]["Server"];
    assert_eq!(server["additionalProperties"], false);
    assert_eq!(server["properties"]["timeout_ms"]["default"], 30000);
    assert_eq!(server["properties"]["timeout_ms"]["minimum"], 1);
    assert_eq!(schema["$defs"]["Policy"]["required"], json!(["match", "roles"]));
    let undocumented = |section: &serde_json::Value| {
        let keys = section["properties"].as_object().into_iter().flatten();
        keys.filter(|(_, key)| key.get("description").is_none()).count()
    };
    assert_eq!(undocumented(&schema), 0);
    for section in schema["$defs"].as_object().unwrap().values() {
        assert_eq!(undocumented(section), 0, "{section}");
    }
}

#[test]
fn folders_lie_below_home_or_beside_the_file_and_their_rules_are_checked() {
    let text = "[folders.docs]\npath = \"~/docs\"\nignore = [\"*.log\"]\n\n\
                [folders.all]\npath = \"~\"\n\n\
                [folders.bad]\npath = \"/x\"\ninclude = [\"a{\"]\n";
    let Loaded { config, problems, .. } = load_toml(text);
    let paths: Vec<String> =
        config.folders.iter().map(|folder| folder.path.display().to_string()).collect();
    assert_eq!(paths, ["/home/ann/docs", "/home/ann"]);
    let said = shown(&problems);
    assert!(said.contains("a whole home folder") && said.contains("is no glob"), "{said}");
}

#[test]
fn what_search_may_read_is_said_by_uri_in_order() {
    let text = "[[discovery.index]]\nmatch = \"wiki://drafts/*\"\nindex = \"off\"\n\n\
                [[discovery.index]]\nmatch = \"wiki://*\"\nindex = \"metadata\"\n";
    let Loaded { config, problems, .. } = load_toml(text);
    assert_eq!(shown(&problems), "");
    let rules: Vec<_> = config.discovery.index.iter().map(|it| (&*it.pattern, it.index)).collect();
    assert_eq!(rules, [("wiki://drafts/*", Index::Off), ("wiki://*", Index::Metadata)]);
    assert!(show_text(&config).contains(text), "{}", show_text(&config));
}

#[test]
fn the_environment_wins_over_discovery_in_the_file() {
    let folder = TempDir::new().unwrap();
    let text = "[discovery]\ncache_ttl_ms = 5\nmax_content_size = 6\nrelevance_threshold = 1\n";
    fs::write(folder.path().join("trove.toml"), text).unwrap();
    let load_with = |value: &str| {
        let env = Env::default().with("HOME", "/home/ann");
        let env = env.with("RESOURCE_DISCOVERY_CACHE_TTL", value);
        let cwd = folder.path().to_owned();
        load(&Request { explicit: None, cwd, env: &env, flags: Overrides::default() })
    };
    let Loaded { config, problems, .. } = load_with("7");
    assert_eq!(shown(&problems), "");
    let discovery = &config.discovery;
    assert_eq!(discovery.cache_ttl.value, Duration::from_millis(7));
    assert_eq!(discovery.cache_ttl.origin, Origin::Env);
    assert_eq!((discovery.max_content_bytes.value, discovery.parallel.value), (6, 5));
    assert_eq!(discovery.max_content_bytes.origin, Origin::File);
    assert_eq!(discovery.relevance_threshold.get(), 1.0);
    assert!(!load_with("soon").is_usable());
    let env = Env::default().with("HOME", "/home/ann");
    let env = env.with("RESOURCE_DISCOVERY_MAX_CONTENT_SIZE", "11");
    let env = env.with("RESOURCE_DISCOVERY_PARALLEL_REQUESTS", "3");
    let cwd = folder.path().to_owned();
    let loaded = load(&Request { explicit: None, cwd, env: &env, flags: Overrides::default() });
    let discovery = &loaded.config.discovery;
    assert_eq!((discovery.max_content_bytes.value, discovery.parallel.value), (11, 3));
    assert!(super::super::show_origins(&loaded.config).1.contains("discovery.parallel_requests: "));
    assert!(!load_toml("[discovery]\nrelevance_threshold = 1.5\n").is_usable());
    assert!(!load_toml("[discovery]\nparallel_requests = 0\n").is_usable());
}

#[test]
fn a_clients_file_may_say_how_to_discover() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mcp.json");
    let text = json!({ "mcpServers": {}, "resourceDiscovery": {
        "cacheTTL": 9, "maxContentSize": 8, "parallelRequests": 7,
        "enableContentPreviews": false, "defaultRelevanceThreshold": 0.5,
    } });
    fs::write(&path, text.to_string()).unwrap();
    let env = Env::default().with("HOME", "/home/ann");
    let cwd = folder.path().to_owned();
    let request = Request { explicit: Some(path), cwd, env: &env, flags: Overrides::default() };
    let Loaded { config, problems, .. } = load(&request);
    assert_eq!(shown(&problems), "");
    let discovery = config.discovery;
    assert_eq!(discovery.cache_ttl.value, Duration::from_millis(9));
    assert_eq!((discovery.max_content_bytes.value, discovery.parallel.value), (8, 7));
    assert!(!discovery.has_previews.value);
    assert_eq!(discovery.relevance_threshold.get(), 0.5);
}

#[test]
fn who_decided_is_told_of_every_setting() {
    let text = "[limits]\nsessions = 7\n[servers.a]\ncommand = \"x\"\n[[policy]]\nmatch = \"a://*\"\nroles = [\"r\"]\n";
    let Loaded { config, problems, .. } = load_toml(text);
    assert_eq!(shown(&problems), "");
    let shown = super::super::show(&config);
    let origin = |key: &str| shown["origins"][key].clone();
    for key in ["limits.sessions", "servers.a", "policy"] {
        assert_eq!(origin(key), "file", "{key}");
    }
    for key in ["limits.streams", "auth.scope_roles"] {
        assert_eq!(origin(key), "default", "{key}");
    }
    for (section, settings) in shown["config"].as_object().unwrap() {
        for key in settings.as_object().into_iter().flat_map(|settings| settings.keys()) {
            assert!(origin(&format!("{section}.{key}")).is_string(), "{section}.{key}");
        }
    }
    // Written out, each limit is decided by the file.
    let again =
        load_toml(&format!("[limits]\n{}", toml::to_string(&shown["config"]["limits"]).unwrap()));
    let again = super::super::show(&again.config);
    for key in shown["config"]["limits"].as_object().unwrap().keys() {
        assert_eq!(again["origins"][format!("limits.{key}")], "file", "{key}");
    }
}
