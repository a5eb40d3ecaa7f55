//! `trove.toml` as written: nothing resolved, no default filled in.
//!
//! These types are also the JSON Schema of the file; the comments on them are what an
//! editor shows. They have no `Debug`, since what they hold may be secret.

use trove_mcp::upstream;

use super::{
    guide::FlagValue,
    read::{Key, Spot, Table, choice, section},
    recipe::Resources,
};

section! {
    /// The configuration of Trove, `trove.toml`.
    ConfigFile {
        /// The MCP servers whose resources are served, by id.
        #[schemars(extend("propertyNames" = { "pattern": "^[a-z][a-z0-9-]{0,30}$" }))]
        servers: Table<Server>,
        /// Folders of this machine whose files are served, by id. A folder needs no server.
        #[schemars(extend("propertyNames" = { "pattern": "^[a-z][a-z0-9-]{0,30}$" }))]
        folders: Table<Folder>,
        /// How Trove is served over HTTP.
        http: Http,
        /// Local knowledge under `guide://`.
        guide: Guide,
        /// Finding and caching resources.
        discovery: Discovery,
        /// Who may read what.
        policy: Vec<Spot<Policy>>,
        /// Who the caller is.
        auth: Auth,
        /// The keys that seal what clients carry.
        keys: Keys,
        /// Tools for clients whose model cannot open resources.
        bridge: Bridge,
        /// Which tools clients see.
        tools: Tools,
        /// The record of who asked for what.
        audit: Audit,
        /// How much may be asked, sent and held.
        limits: Limits,
        /// Sandboxed programs over resources.
        code: Code,
    }
}

section! {
    /// One MCP server: either `command` (stdio) or `url` (HTTP).
    Server {
        /// The program to start; never a shell line. Variables: `${env:NAME}`,
        /// `${env:NAME:-default}`, `${file:PATH}`, `${home}`; `$$` is a dollar sign.
        command: Key<String>,
        /// Its arguments.
        args: Key<Vec<Spot<String>>>,
        /// Variables of its environment besides a small allow-list.
        env: Key<Table<Spot<String>>>,
        /// Its working directory, from the folder of this file.
        cwd: Key<String>,
        /// The endpoint of a server that is already running.
        url: Key<String>,
        /// How to speak with `url`.
        #[schemars(extend("default" = "http"))]
        transport: Key<Transport>,
        /// Headers sent with each request to `url`.
        headers: Key<Table<Spot<String>>>,
        /// Trove's identity at the issuer of tokens for `url`; needed only where Trove cannot
        /// introduce itself. See `trove auth login`.
        oauth: ServerOauth,
        /// Which protocol era to speak.
        #[schemars(extend("default" = "auto"))]
        protocol: Key<Protocol>,
        /// Which of its features clients see.
        #[schemars(extend("default" = "auto"))]
        expose: Key<Expose>,
        /// The client it was moved from by `trove import` or `trove install --move`, e.g. `cursor`.
        moved_from: Key<String>,
        /// What of it search may read.
        #[schemars(extend("default" = "content"))]
        index: Key<Index>,
        /// Whether its answers may be kept for `discovery.cache_ttl_ms` where it does not say.
        #[schemars(extend("default" = "auto"))]
        cache: Key<CacheWord>,
        /// How long one request may take, in milliseconds.
        #[schemars(extend("default" = 30000, "minimum" = 1))]
        timeout_ms: Key<u64>,
        /// How changes of a watched resource become known.
        #[schemars(extend("default" = "notify"))]
        watch: Key<Watch>,
        /// The time between two looks with `watch = "poll"`, in milliseconds.
        #[schemars(extend("default" = 5000, "minimum" = 1))]
        poll_interval_ms: Key<u64>,
        /// How the schemas of its tools are given.
        #[schemars(extend("default" = "as-is"))]
        schemas: Key<SchemasWord>,
        /// The word before `_` in the names of its tools, e.g. `wiki` in `wiki_search`; the id
        /// unless written.
        tool_prefix: Key<String>,
        /// The shipped recipe that makes resources of its tools: a name, `auto` or `off`.
        #[schemars(extend("default" = "auto"))]
        recipe: Key<String>,
        /// A recipe of your own, in place of a shipped one.
        resources: Key<Resources>,
        /// Whether it is asked too when somebody searches, if it can search.
        #[schemars(extend("default" = true))]
        live_search: Key<bool>,
    }
}

section! {
    /// One folder of this machine. Files outside of it are never opened.
    #[schemars(extend("required" = ["path"]))]
    Folder {
        /// The folder, from the folder of this file; `~` is your home folder.
        path: Key<String>,
        /// Files that are left out, a line each as in a `.gitignore`. `.gitignore` and `.ignore`
        /// files, hidden files and build output are left out as well; `!dist/` brings one back.
        ignore: Key<Vec<String>>,
        /// The files that are served, as globs; all of them unless written.
        include: Key<Vec<String>>,
        /// How much of it search may read.
        #[schemars(extend("default" = "content"))]
        index: Key<Index>,
    }
}

section! {
    /// Trove's identity at the issuer that grants tokens for a server.
    ServerOauth {
        /// The id it was registered under, or the https address of a client metadata document.
        client_id: Key<String>,
        /// The secret that proves the id, if it must be proved: `${env:NAME}`.
        client_secret: Key<String>,
        /// The scopes to ask for, if others than the server names.
        scopes: Key<Vec<String>>,
    }
}

section! {
    /// How Trove is served over HTTP.
    Http {
        /// The address to listen on.
        #[schemars(extend("default" = "127.0.0.1:7420"))]
        addr: Key<String>,
        /// How a client proves who it is.
        #[schemars(extend("default" = "token"))]
        auth: Key<AuthWord>,
        /// The address under which clients reach `/mcp`, if another than `addr`, as behind a
        /// proxy. Requests under its name are served.
        public_url: Key<String>,
        /// The pages, beside those of this machine, whose scripts may ask: `https://app.example`.
        allowed_origins: Key<Vec<Spot<String>>>,
        /// Whether clients that only know HTTP with SSE (2024-11-05) may come in at `/sse`.
        #[schemars(extend("default" = false))]
        sse: Key<bool>,
    }
}

section! {
    /// Local knowledge under `guide://`.
    Guide {
        /// Its folder, from the folder of this file.
        #[schemars(extend("default" = "guide"))]
        root: Key<String>,
        /// How many documents one answer may hold.
        #[schemars(extend("default" = 1000, "minimum" = 1, "maximum" = 100000))]
        max_documents: Key<u64>,
        /// Its categories, by name; unless written, each folder in it is one.
        categories: Key<Table<GuideCategory>>,
        /// Its collections, by name.
        collections: Table<GuideCollection>,
        /// Its projects, by name.
        projects: Table<GuideProject>,
        /// The project that is meant where neither the client's folder nor the one in which
        /// Trove is started belongs to one.
        project: Key<String>,
    }
}

section! {
    /// A category of the guide: a folder.
    GuideCategory {
        /// Its folder, from the folder of the guide; the name unless written.
        dir: Key<String>,
        /// Which of its documents it gives by itself.
        #[schemars(extend("default" = ["**/*.md", "**/*.md.j2"]))]
        patterns: Key<Vec<String>>,
        /// Its subject, in a sentence.
        description: Key<String>,
    }
}

section! {
    /// A collection of the guide: documents of several categories under one name.
    #[schemars(extend("required" = ["members"]))]
    GuideCollection {
        /// Expressions over categories and collections, as in `lang/rust+python`.
        members: Key<Vec<String>>,
        /// Its subject, in a sentence.
        description: Key<String>,
    }
}

section! {
    /// A project: what of the guide is for it.
    GuideProject {
        /// The folder in which it is worked on, from the folder of this file.
        root: Key<String>,
        /// Its categories; all unless written.
        categories: Key<Vec<String>>,
        /// Its collections; all unless written.
        collections: Key<Vec<String>>,
        /// Flags it sets.
        flags: Table<Spot<FlagValue>>,
        /// Its subject, in a sentence.
        description: Key<String>,
    }
}

section! {
    /// Finding and caching resources.
    Discovery {
        /// How long contents are believed where their server does not say, in milliseconds.
        #[schemars(extend("default" = 300000))]
        cache_ttl_ms: Key<u64>,
        /// Contents with more bytes are found by name and description only.
        #[schemars(extend("default" = 1048576))]
        max_content_size: Key<u64>,
        /// How many contents are read for the index at a time.
        #[schemars(extend("default" = 5, "minimum" = 1, "maximum" = 64))]
        parallel_requests: Key<u64>,
        /// Whether answers may show a piece of a content.
        #[schemars(extend("default" = true))]
        content_previews: Key<bool>,
        /// How relevant a resource must be to be found, unless the question says otherwise.
        #[schemars(extend("default" = 0.3, "minimum" = 0, "maximum" = 1))]
        relevance_threshold: Key<f64>,
        /// Whether resources are also found by what they mean; takes effect at the next start.
        #[schemars(extend("default" = true))]
        semantic: Key<bool>,
        /// Whether logs tell what was asked for, not only how long the question was.
        #[schemars(extend("default" = false))]
        log_queries: Key<bool>,
        /// Rules on how much search may read, by URI; the first that matches wins over what a
        /// server says.
        index: Vec<Spot<IndexRule>>,
    }
}

section! {
    /// One rule on what search may read.
    #[schemars(extend("required" = ["match", "index"]))]
    IndexRule {
        /// The resources it is about, as in `wiki://drafts/*`.
        r#match: Key<String>,
        /// How much of them search may read.
        index: Key<Index>,
    }
}

section! {
    /// One rule on who may read what.
    #[schemars(extend("required" = ["match", "roles"]))]
    Policy {
        /// The resources it is about, as in `admin://*`.
        r#match: Key<String>,
        /// The roles of which a caller needs one.
        roles: Key<Vec<String>>,
        /// Whether callers without the role see that the resource exists.
        #[schemars(extend("default" = true))]
        visible: Key<bool>,
    }
}

section! {
    /// Who the caller is.
    Auth {
        /// The roles of the user who starts Trove over stdio or on the command line.
        local_roles: Key<Vec<String>>,
        /// Who signs the tokens that HTTP clients show, with `http.auth` of `jwt` or `oauth`.
        issuer: Key<String>,
        /// For whom those tokens must be made; the address of `/mcp` unless written.
        audience: Key<String>,
        /// Where the issuer's keys are; unless written, its metadata says.
        jwks_url: Key<String>,
        /// The scopes that every token needs.
        required_scopes: Key<Vec<String>>,
        /// The roles that follow from a scope.
        scope_roles: Table<Vec<String>>,
        /// The claim that lists roles, as in `roles` or `realm_access.roles`.
        roles_claim: Key<String>,
        /// How far the clocks of issuer and gateway may differ, in seconds.
        #[schemars(extend("default" = 30, "maximum" = 300))]
        leeway_seconds: Key<u64>,
    }
}

section! {
    /// The keys that seal what clients carry: sessions, cursors, unfinished requests.
    Keys {
        /// The keys, as in `${file:/run/secrets/trove}`: the first seals, all open. Each has at
        /// least 32 letters. Unless written, Trove makes one and keeps it in its state folder.
        ring: Key<Vec<Spot<String>>>,
    }
}

section! {
    /// Tools for clients whose model cannot open resources.
    Bridge {
        /// When these tools are offered.
        #[schemars(extend("default" = "auto"))]
        mode: Key<BridgeMode>,
        /// The most bytes of a resource that one answer may be asked to hold.
        #[schemars(extend("default" = 1048576, "minimum" = 1024))]
        max_answer_bytes: Key<u64>,
    }
}

section! {
    /// Which tools clients see.
    Tools {
        /// The groups of tools that are offered.
        #[schemars(extend("default" = ["resources", "health", "guide", "flags"]))]
        toolsets: Key<Vec<Toolset>>,
        /// How much a tool says about itself.
        #[schemars(extend("default" = "short"))]
        descriptions: Key<Descriptions>,
        /// When tools of servers that are passed on are found by `find_tool` instead of listed.
        #[schemars(extend("default" = "auto"))]
        search: Key<ToolSearch>,
        /// How many tokens their list may take with `search = "auto"`, a token counted as 4 bytes.
        #[schemars(extend("default" = 6000))]
        search_budget: Key<u64>,
        /// Whether failures leave out what only those who run Trove should see; unless
        /// written, when HTTP is served beyond this machine.
        mask_error_details: Key<bool>,
    }
}

section! {
    /// The record of who asked for what.
    Audit {
        /// Whether it is kept.
        #[schemars(extend("default" = true))]
        enabled: Key<bool>,
        /// How large a file grows before the next is begun.
        #[schemars(extend("default" = 16777216, "minimum" = 4096))]
        max_file_bytes: Key<u64>,
        /// How many full files are kept.
        #[schemars(extend("default" = 8))]
        kept_files: Key<u64>,
        /// Whether each line tells a digest of what was given (`sha256`), which takes time with long contents.
        #[schemars(extend("default" = false))]
        digests: Key<bool>,
    }
}

section! {
    /// How much may be asked, sent and held; takes effect at the next start.
    Limits {
        /// How often one caller may ask over HTTP, in the long run; 0 for as often as it likes. Unless
        /// written, 200 where callers have names (`jwt`, `oauth`), else 0.
        requests_per_second: Key<u64>,
        /// How many requests may come at once after a pause; unless written, those of two seconds.
        burst: Key<u64>,
        /// How many requests of one caller may be under way over HTTP; unless written, 64 where
        /// callers have names, else 4096 for all together.
        #[schemars(extend("minimum" = 1))]
        concurrent_requests: Key<u64>,
        /// How many streams of changes of one caller may be open over HTTP; unless written, 100 where
        /// callers have names.
        #[schemars(extend("minimum" = 1))]
        streams: Key<u64>,
        /// The most connections over HTTP.
        #[schemars(extend("default" = 10240, "minimum" = 1))]
        connections: Key<u64>,
        /// How long the head of a request may take to arrive, in milliseconds.
        #[schemars(extend("default" = 10000, "minimum" = 1))]
        header_timeout_ms: Key<u64>,
        /// How long the body of a request may take to arrive, in milliseconds.
        #[schemars(extend("default" = 30000, "minimum" = 1))]
        body_timeout_ms: Key<u64>,
        /// The longest message from a client, in bytes.
        #[schemars(extend("default" = 4194304, "minimum" = 1024))]
        request_bytes: Key<u64>,
        /// The most that the bodies of all requests over HTTP take together, in bytes. The first
        /// 16 KiB of each do not count.
        #[schemars(extend("default" = 67108864, "minimum" = 1024))]
        body_bytes: Key<u64>,
        /// The longest message from a server, in bytes.
        #[schemars(extend("default" = 33554432, "minimum" = 1024))]
        message_bytes: Key<u64>,
        /// How much unasked work one server may make at once, in units of about a byte of a
        /// message. Past it the server is read slowly, and cut off if it goes on.
        #[schemars(extend("default" = 33554432, "minimum" = 65536))]
        unasked_bytes: Key<u64>,
        /// How much of that it may make each second in the long run.
        #[schemars(extend("default" = 524288, "minimum" = 1024))]
        unasked_bytes_per_second: Key<u64>,
        /// The most pages of one list of a server.
        #[schemars(extend("default" = 10000, "minimum" = 1))]
        list_pages: Key<u64>,
        /// The most entries of one list of a server.
        #[schemars(extend("default" = 1000000, "minimum" = 1))]
        list_entries: Key<u64>,
        /// How long one list of a server may take, in milliseconds.
        #[schemars(extend("default" = 120000, "minimum" = 1))]
        list_timeout_ms: Key<u64>,
        /// The most bytes of one list of a server.
        #[schemars(extend("default" = 268435456, "minimum" = 1024))]
        list_bytes: Key<u64>,
        /// The most templates of one server that URIs are matched against.
        #[schemars(extend("default" = 1000, "minimum" = 1))]
        templates: Key<u64>,
        /// The longest of them, in bytes.
        #[schemars(extend("default" = 4096, "minimum" = 1, "maximum" = 4096))]
        template_bytes: Key<u64>,
        /// The longest URI, listed or asked for, in bytes.
        #[schemars(extend("default" = 16384, "minimum" = 64, "maximum" = 16384))]
        uri_bytes: Key<u64>,
        /// The deepest nesting of a message from a client.
        #[schemars(extend("default" = 256, "minimum" = 8, "maximum" = 100000))]
        json_depth: Key<u64>,
        /// The longest pattern of `grep`, in bytes.
        #[schemars(extend("default" = 1024, "minimum" = 1))]
        pattern_bytes: Key<u64>,
        /// How much memory a pattern may take once it is compiled, in bytes.
        #[schemars(extend("default" = 1048576, "minimum" = 1024))]
        compiled_pattern_bytes: Key<u64>,
        /// The most bytes of answers that are kept in memory.
        #[schemars(extend("default" = 67108864))]
        cache_bytes: Key<u64>,
        /// The most bytes of one of them.
        #[schemars(extend("default" = 4194304))]
        cached_answer_bytes: Key<u64>,
        /// The most bytes of the search index; when it has them no more contents are taken in.
        #[schemars(extend("default" = 4294967296u64, "minimum" = 1024))]
        index_bytes: Key<u64>,
        /// The most servers that are started.
        #[schemars(extend("default" = 500, "minimum" = 1))]
        children: Key<u64>,
        /// How long a server may take from its start to its first answer, in milliseconds.
        #[schemars(extend("default" = 60000, "minimum" = 1))]
        startup_timeout_ms: Key<u64>,
        /// The most requests of the client on stdio that are under way.
        #[schemars(extend("default" = 1024, "minimum" = 1))]
        stdio_requests: Key<u64>,
        /// The most requests that wait for one server.
        #[schemars(extend("default" = 1024, "minimum" = 1))]
        waiting_requests: Key<u64>,
        /// The most sessions of legacy clients over HTTP.
        #[schemars(extend("default" = 10000, "minimum" = 1))]
        sessions: Key<u64>,
        /// The most of them of one caller who has a name.
        #[schemars(extend("default" = 100, "minimum" = 1))]
        sessions_per_caller: Key<u64>,
        /// How long an idle one is held in memory, in milliseconds. Its client can go on later.
        #[schemars(extend("default" = 60000, "minimum" = 1))]
        session_idle_ms: Key<u64>,
        /// How long the id of a legacy session is taken, in milliseconds.
        #[schemars(extend("default" = 2592000000u64, "minimum" = 1))]
        session_ms: Key<u64>,
        /// How long the state of an unfinished request is taken back from a client, in milliseconds.
        #[schemars(extend("default" = 3600000, "minimum" = 1))]
        request_state_ms: Key<u64>,
        /// The most resources one client may watch.
        #[schemars(extend("default" = 1000, "minimum" = 1))]
        watches_per_client: Key<u64>,
        /// The most resources that all clients together may watch.
        #[schemars(extend("default" = 10000, "minimum" = 1))]
        watches: Key<u64>,
    }
}

section! {
    /// Sandboxed programs over resources.
    Code {
        /// Whether `run_code` is offered.
        #[schemars(extend("default" = false))]
        enabled: Key<bool>,
    }
}

choice! {
    /// How to speak with a server behind a URL.
    pub(super) Transport {
        /// Streamable HTTP.
        Http = "http",
        /// The legacy HTTP+SSE transport.
        Sse = "sse",
    }
}

choice! {
    /// Which protocol era to speak with a server.
    pub(super) Protocol {
        /// Ask, and remember the answer.
        Auto = "auto",
        /// 2025-11-25 and older.
        Legacy = "legacy",
        /// 2026-07-28.
        Modern = "modern",
    }
}

choice! {
    /// Which features of a server clients see.
    pub(super) Expose {
        /// Tools and prompts too, if it was moved here from a client that has it no more.
        Auto = "auto",
        /// Resources, templates, completions, skills.
        Resources = "resources",
        /// Tools and prompts too.
        All = "all",
    }
}

choice! {
    /// How much of a server search may read.
    pub(super) Index {
        /// Names, descriptions and contents.
        Content = "content",
        /// Names and descriptions.
        Metadata = "metadata",
        /// Nothing.
        Off = "off",
    }
}

choice! {
    /// Whether answers of a server may be kept.
    pub(super) CacheWord {
        /// As far as the server itself allows it.
        Auto = "auto",
        /// For everybody who may ask, also where the server says nothing.
        Public = "public",
    }
}

choice! {
    /// How schemas of tools are given.
    pub(super) SchemasWord {
        /// As the server wrote them.
        AsIs = "as-is",
        /// Without `$ref`, `anyOf`, `oneOf` and `allOf`, which some clients do not understand.
        Flat = "flat",
    }
}

choice! {
    /// How changes of a watched resource become known.
    pub(super) Watch {
        /// The server says so.
        Notify = "notify",
        /// Trove reads it now and then.
        Poll = "poll",
    }
}

choice! {
    /// How an HTTP client proves who it is, as a word of the file.
    pub(super) AuthWord {
        /// It need not; only on a loopback address.
        None = "none",
        /// By the token Trove made.
        Token = "token",
        /// By a signed token of the issuer in `[auth]`.
        Jwt = "jwt",
        /// By a signed token of the issuer, where clients are told to get one.
        Oauth = "oauth",
    }
}

choice! {
    /// When clients get the bridge tools.
    pub BridgeMode {
        /// When their model cannot open resources by itself.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

choice! {
    /// A group of tools.
    pub Toolset {
        /// Finding and reading resources.
        Resources = "resources",
        /// The state of the gateway.
        Health = "health",
        /// Reading local knowledge.
        Guide = "guide",
        /// Changing local knowledge.
        GuideAdmin = "guide_admin",
        /// Switches.
        Flags = "flags",
        /// Tools of their own for each server.
        PerServer = "per_server",
        /// Sandboxed programs.
        Code = "code",
        /// An example for those who write tools.
        Example = "example",
    }
}

choice! {
    /// When tools of servers are found by `find_tool` instead of listed.
    pub ToolSearch {
        /// Where their list takes more than `search_budget`.
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
}

choice! {
    /// How much a tool says about itself.
    pub Descriptions {
        /// A text that fits every client.
        Short = "short",
        /// Everything.
        Full = "full",
    }
}

/// Words of the file and what they stand for, both ways.
macro_rules! stands_for {
    ($($name:ident { $($variant:ident),* })*) => {
        $(
            impl From<$name> for upstream::$name {
                fn from(word: $name) -> upstream::$name {
                    match word { $($name::$variant => upstream::$name::$variant),* }
                }
            }

            impl From<upstream::$name> for $name {
                fn from(value: upstream::$name) -> $name {
                    match value { $(upstream::$name::$variant => $name::$variant),* }
                }
            }
        )*
    };
}

stands_for! {
    Protocol { Auto, Legacy, Modern }
    Expose { Auto, Resources, All }
    Index { Content, Metadata, Off }
}

/// Words of the file and what core calls them.
macro_rules! means {
    ($($name:ident { $($variant:ident),* })*) => {
        $(
            impl From<$name> for trove_core::tools::$name {
                fn from(word: $name) -> trove_core::tools::$name {
                    match word { $($name::$variant => trove_core::tools::$name::$variant),* }
                }
            }
        )*
    };
}

means! {
    BridgeMode { Auto, Always, Never }
    Toolset { Resources, Health, Guide, GuideAdmin, Flags, PerServer, Code, Example }
    Descriptions { Short, Full }
    ToolSearch { Auto, On, Off }
}
