//! Resources out of tools: recipes in front of servers that record what is called, and in front
//! of servers that others wrote.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::{Folder, Trove, until};
use crate::peers::drivers::{environment, node, npm_script, python};

const SERVER: &str = include_str!("recorder.py");
const ENTRY: &str = r#"
[servers.crm]
command = "python3"
args = ["recorder.py", "calls.log", "mood"]
cwd = "."
"#;
const RECIPE: &str = r#"
[servers.crm.resources]
list = [{ tool = "list_accounts", arguments = { limit = 3 }, next = { from = "$.next", to = "cursor" }, items = "$.accounts[*]",
          uri = "crm://accounts/{id}", name = "{title}", description = "in {city}", modified = "{updated_at}" }]
read = [{ template = "crm://accounts/{id}", tool = "get_account", arguments = { id = "{id}" } }]
search = [{ tool = "find_accounts", arguments = { q = "{query}", limit = "{max}" }, items = "$.hits[*]",
            uri = "crm://accounts/{id}", name = "{title}", snippet = "{text}" }]
"#;

/// A folder with the recording server and a configuration.
fn recorder(mood: &str, config: &str) -> Arc<Folder> {
    let folder = Folder::with(config);
    folder.put("recorder.py", SERVER);
    folder.put("mood", mood);
    folder.put("calls.log", "");
    folder
}

/// The tools that were called, in order.
fn called(folder: &Folder) -> Vec<String> {
    let log = std::fs::read_to_string(folder.path().join("calls.log")).expect("the log");
    let call = |line: &str| {
        let call: Value = serde_json::from_str(line).expect("a line of JSON");
        call["tool"].as_str().expect("a tool").to_owned()
    };
    log.lines().map(call).collect()
}

async fn has(client: &Client, uri: &str) -> bool {
    client.uris().await.iter().any(|one| one == uri)
}

/// Waits until the index has what is found.
async fn finds(client: &Client, query: &str, uri: &str) {
    until(uri, async || {
        let found = client.call("discover_resources", json!({ "query": query })).await;
        found.to_string().contains(uri)
    })
    .await;
}

#[tokio::test]
async fn what_a_tool_lists_is_there_to_be_found_and_read_and_nothing_that_writes_is_called() {
    let folder = recorder("plain", &format!("{ENTRY}{RECIPE}"));
    let trove = Trove::start_in(&folder).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("the last page", async || has(&client, "crm://accounts/a7").await).await;
    let listed = client.list("resources/list", "resources").await;
    let one = listed.iter().find(|one| one["uri"] == "crm://accounts/a7").expect("the last page");
    assert_eq!(one["name"], "Account 7");
    assert_eq!(one["description"], "in Bergen");
    assert_eq!(one["annotations"]["lastModified"], "2026-11-01T10:00:00Z");
    let text = client.text("crm://accounts/a2").await;
    assert!(text.contains("Account 2"), "{text}");
    let missing = client.read("crm://accounts/none").await.expect_err("there is none");
    assert_eq!(missing["code"], -32002, "{missing}");

    let completed = client
        .ask(
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": "crm://accounts/{id}" },
                    "argument": { "name": "id", "value": "a" } }),
        )
        .await
        .expect("completions");
    assert_eq!(completed["completion"]["values"][0], "a1", "{completed}");

    finds(&client, "Account 5 in Bergen", "crm://accounts/a5").await;
    client.call("search_resources", json!({ "searchTerms": ["Account"] })).await;
    client.call("get_resource", json!({ "uri": "crm://accounts/a1" })).await;
    client.call("resource_summary", json!({})).await;
    until("the index to be read", async || {
        called(&folder).iter().filter(|tool| *tool == "get_account").count() >= 7
    })
    .await;
    let wrote = ["delete_account", "create_account"];
    assert!(!called(&folder).iter().any(|tool| wrote.contains(&tool.as_str())));
}

#[tokio::test]
async fn a_recipe_that_names_a_writing_tool_is_off_and_calls_nothing() {
    let wicked = RECIPE.replace("get_account", "delete_account");
    let folder = recorder("plain", &format!("{ENTRY}{wicked}"));
    let status = folder.run(&["status", "--json"]).await.json();
    let sources = status["sources"].as_array().expect("sources");
    let crm = sources.iter().find(|one| one["id"] == "crm").expect("the server");
    assert!(
        crm["recipe"].to_string().contains("`delete_account` says that it changes things"),
        "{status}"
    );
    assert_eq!(called(&folder), Vec::<String>::new());
    let doctor = folder.run(&["doctor"]).await;
    assert!(doctor.text().contains("delete_account"), "{doctor:?}");
}

#[tokio::test]
async fn a_recipe_that_does_not_fit_is_off_and_says_what_is_missing() {
    let other = RECIPE.replace("arguments = { id = \"{id}\" }", "arguments = { key = \"{id}\" }");
    let folder = recorder("plain", &format!("{ENTRY}{other}"));
    let doctor = folder.run(&["doctor"]).await;
    let said = doctor.text();
    assert!(said.contains("the tool `get_account` takes no argument `key`"), "{said}");
    assert!(said.contains("needs the argument `id`"), "{said}");
    let status = folder.run(&["status"]).await;
    assert!(status.text().contains("5 tools, no resources"), "{status:?}");
}

#[tokio::test]
async fn a_tool_that_changes_its_mind_stops_its_recipe() {
    let folder = recorder("plain", &format!("{ENTRY}{RECIPE}"));
    let trove = Trove::start_in(&folder).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("the accounts", async || has(&client, "crm://accounts/a7").await).await;
    assert!(client.read("crm://accounts/a1").await.is_ok());
    folder.put("mood", "changed");
    until("the accounts to go", async || {
        let uris = client.uris().await;
        !uris.iter().any(|uri| uri.starts_with("crm:"))
    })
    .await;
    let before = called(&folder).len();
    assert!(client.read("crm://accounts/a1").await.is_err());
    assert_eq!(called(&folder).len(), before);
}

#[tokio::test]
async fn a_project_is_read_by_tools_that_say_nothing_only_once_its_recipe_is_approved() {
    let folder = Folder::project(&format!("{ENTRY}{RECIPE}"));
    folder.put("recorder.py", SERVER);
    folder.put("mood", "silent");
    folder.put("calls.log", "");
    let shown = folder.run(&["approve"]).await;
    assert!(
        shown.text().contains("which calls find_accounts, get_account, list_accounts"),
        "{shown:?}"
    );
    assert!(!folder.run(&["ls"]).await.text().contains("crm://accounts/a1"));
    assert_eq!(folder.run(&["approve", "crm"]).await.code, Some(0));
    let listed = folder.run(&["ls"]).await;
    assert!(listed.text().contains("crm://accounts/a1"), "{listed:?}");
    // Another recipe is another server.
    folder.write(&format!("{ENTRY}{}", RECIPE.replace("limit = 3", "limit = 4")));
    let shown = folder.run(&["approve"]).await;
    assert!(shown.text().contains("how it calls its tools changed"), "{shown:?}");
    assert!(!folder.run(&["ls"]).await.text().contains("crm://accounts/a1"));
}

#[test]
fn mistakes_in_a_recipe_are_told_with_their_place() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let wrong = RECIPE
            .replace("$.accounts[*]", "$..*..*..*")
            .replace("id = \"{id}\"", "id = \"{idd}\"")
            .replace(
                "\"crm://accounts/{id}\", name = \"{title}\", snippet",
                "\"{id}\", name = \"\", snippet",
            );
        let folder = recorder("plain", &format!("{ENTRY}{wrong}"));
        let checked = folder.run(&["config", "check"]).await;
        for words in
            ["no JSONPath that can be taken", "no variable `{idd}`", "begins with its scheme"]
        {
            assert!(
                checked.text().contains(words) || checked.stderr.contains(words),
                "{checked:?}"
            );
        }
    });
}

/// Makes a git repository; what is given back runs git in it.
pub(crate) fn repository(folder: &Path) -> impl Fn(&[&str]) + use<> {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    let folder = folder.to_owned();
    let git = move |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(&folder).args(["-c", "user.name=a", "-c", "user.email=a@b.example"]);
        let done = command.args(args).output().expect("git can be started");
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q", "."]);
    git
}

/// A site with these pages, as long as the test runs.
pub(crate) async fn site(pages: Vec<(String, String)>) -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let read = stream.read(&mut head).await.unwrap_or_default();
            let asked = String::from_utf8_lossy(&head[..read]).into_owned();
            let page = pages.iter().find(|(path, _)| asked.starts_with(&format!("GET {path} ")));
            let (status, body) = match page {
                Some((_, body)) => ("200 OK", body.as_str()),
                None => ("404 Not Found", ""),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            // A reader that is gone needs no answer.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}

/// Trove in front of one real server.
async fn before(id: &str, program: &Path, args: &[&str], more: &str) -> (Arc<Folder>, Trove) {
    let entry = format!(
        "[servers.{id}]\ncommand = {program:?}\nargs = {args:?}\n{more}",
        program = program.display().to_string()
    );
    let folder = Folder::with(&entry);
    let trove = Trove::start_in(&folder).await;
    (folder, trove)
}

#[tokio::test]
async fn the_files_of_server_filesystem_are_resources() {
    let files = tempfile::tempdir().expect("a folder");
    let root = files.path().canonicalize().expect("its path");
    std::fs::create_dir_all(root.join("sub/.hidden")).expect("folders");
    std::fs::write(root.join("a.md"), "# Harbour\nThe crane is blue.").expect("a file");
    std::fs::write(root.join("sub/b c.txt"), "second").expect("a file");
    std::fs::write(root.join("sub/.hidden/key"), "secret").expect("a file");
    std::fs::write(root.join("dot.png"), [0x89, b'P', b'N', b'G', 13, 10, 26, 10]).expect("a file");
    let script = npm_script("server-filesystem/dist/index.js").display().to_string();
    let path = root.display().to_string();
    let (_folder, trove) = before("files", &node(), &[&script, &path], "").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("three files", async || {
        client.uris().await.iter().filter(|uri| uri.starts_with("file:")).count() >= 3
    })
    .await;
    let uris = client.uris().await;
    let spaced = format!("file://{path}/sub/b%20c.txt");
    assert!(uris.contains(&spaced), "{uris:?}");
    assert!(!uris.iter().any(|uri| uri.contains(".hidden")), "{uris:?}");
    assert_eq!(client.text(&spaced).await, "second");
    let markdown = client.read(&format!("file://{path}/a.md")).await.expect("the file");
    assert_eq!(markdown["contents"][0]["mimeType"], "text/markdown", "{markdown}");
    let picture = client.read(&format!("file://{path}/dot.png")).await.expect("the picture");
    assert_eq!(picture["contents"][0]["mimeType"], "image/png", "{picture}");
    assert!(picture["contents"][0]["blob"].is_string(), "{picture}");
    let gone = client.read(&format!("file://{path}/gone.md")).await.expect_err("it is not there");
    assert_eq!(gone["code"], -32002, "{gone}");
    finds(&client, "colour of the crane at the harbour", "a.md").await;
}

#[tokio::test]
async fn what_server_memory_remembers_is_resources() {
    let folder = tempfile::tempdir().expect("a folder");
    let memory = folder.path().join("memory.json");
    let lines = "{\"type\":\"entity\",\"name\":\"Ada Lovelace\",\"entityType\":\"person\",\"observations\":[\"wrote the first program\"]}\n{\"type\":\"entity\",\"name\":\"Engine\",\"entityType\":\"machine\",\"observations\":[\"never built\"]}";
    std::fs::write(&memory, lines).expect("a memory");
    let script = npm_script("server-memory/dist/index.js").display().to_string();
    let env = format!("env = {{ MEMORY_FILE_PATH = {:?} }}", memory.display().to_string());
    let (_folder, trove) = before("memory", &node(), &[&script], &env).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    let uri = "memory://entity/Ada%20Lovelace";
    until("what is remembered", async || client.uris().await.iter().any(|one| one == uri)).await;
    assert!(client.text(uri).await.contains("wrote the first program"));
    let gone = client.read("memory://entity/Nobody").await.expect_err("not remembered");
    assert_eq!(gone["code"], -32002, "{gone}");
}

#[tokio::test]
async fn the_commits_before_server_git_are_resources() {
    let repository = tempfile::tempdir().expect("a folder");
    let path = repository.path().canonicalize().expect("its path").display().to_string();
    let git = self::repository(repository.path());
    std::fs::write(repository.path().join("a.txt"), "text").expect("a file");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "Paint the crane\n\nBlue, as was wished."]);
    git(&["commit", "-q", "--allow-empty", "-m", "Second thoughts"]);
    let args = ["-m", "mcp_server_git", "--repository", &path];
    let (_folder, trove) = before("code", &python(), &args, "").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("two commits", async || {
        client.uris().await.iter().filter(|uri| uri.starts_with("git:")).count() >= 2
    })
    .await;
    let listed = client.list("resources/list", "resources").await;
    let first = listed.iter().find(|one| one["name"] == "Paint the crane").expect("the commit");
    let text = client.text(first["uri"].as_str().expect("its URI")).await;
    assert!(text.contains("Blue, as was wished.") && text.contains("a.txt"), "{text}");
}

#[tokio::test]
async fn the_tables_of_server_sqlite_are_resources_once_the_recipe_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("a.db").display().to_string();
    let interpreter = environment().join("recipes/bin/python");
    let fill = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('create table cranes(id int, colour text)'); c.execute(\"insert into cranes values (1, 'blue')\"); c.commit()";
    let filled = std::process::Command::new(&interpreter).args(["-c", fill, &database]).output();
    assert!(filled.expect("python").status.success());
    // The package has no module to run; its program is not where it was installed.
    let start = "from mcp_server_sqlite import main; main()";
    let args = ["-c", start, "--db-path", &database];
    // Its tools say nothing of whether they read, so that a person must have named the recipe.
    let (folder, trove) = before("data", &interpreter, &args, "").await;
    until("the offer", async || {
        folder.run(&["status"]).await.text().contains("recipe sqlite is off, since the tool")
    })
    .await;
    drop(trove);
    let (_folder, trove) = before("data", &interpreter, &args, "recipe = \"sqlite\"").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("the table", async || has(&client, "sqlite://table/cranes").await).await;
    assert!(client.text("sqlite://table/cranes").await.contains("blue"));
    assert!(client.text("sqlite://schema/cranes").await.contains("colour"));
    let wicked = "sqlite://table/cranes%22%20UNION%20SELECT%201%2C2%20--";
    assert!(client.read(wicked).await.is_err());
    // It has a resource of its own, which stays.
    assert!(has(&client, "memo://insights").await);
}

#[tokio::test]
async fn a_page_of_the_web_is_read_by_server_fetch_once_the_recipe_is_named() {
    let page = "<html><body><h1>Harbour</h1><p>The crane is blue.</p></body></html>";
    let address = site(vec![("/a%20b?x=1".to_owned(), page.to_owned())]).await;
    let uri = format!("http://{address}/a%20b?x=1");
    let args = ["-m", "mcp_server_fetch", "--allow-private-ips"];
    let (folder, trove) = before("web", &python(), &args, "").await;
    until("the offer", async || {
        folder.run(&["status"]).await.text().contains("recipe fetch is off, since nobody approved")
    })
    .await;
    drop(trove);
    let (_folder, trove) = before("web", &python(), &args, "recipe = \"fetch\"").await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("the page", async || client.read(&uri).await.is_ok()).await;
    let text = client.text(&uri).await;
    assert!(text.contains("The crane is blue."), "{text}");
}

#[tokio::test]
async fn servers_that_search_are_asked_and_their_hits_stand_among_ours() {
    let folder = recorder("plain", &format!("{ENTRY}{RECIPE}"));
    let trove = Trove::start_in(&folder).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("the accounts", async || has(&client, "crm://accounts/a7").await).await;
    let ask = json!({ "query": "Zeppelin hangar", "liveWaitMs": 10000 });
    let found = client.call("discover_resources", ask.clone()).await;
    let found = &found["structuredContent"];
    let hit = found["resources"].as_array().expect("results").iter();
    let hit = hit.clone().find(|one| one["uri"] == "crm://accounts/far1").expect("the live hit");
    assert_eq!((&hit["live"], &hit["server"]), (&json!(true), &json!("crm")), "{found}");
    let quiet = client
        .call("discover_resources", json!({ "query": "Zeppelin hangar", "liveWaitMs": 0 }))
        .await;
    assert!(!quiet.to_string().contains("far1"), "{quiet}");
    until("a live hit of a search by terms", async || {
        let found = client.call("search_resources", json!({ "searchTerms": ["Zeppelin"] })).await;
        found.to_string().contains("far1")
    })
    .await;

    // One that fails costs its own hits, and is named.
    folder.put("mood", "deaf");
    let ask = json!({ "query": "Account 3", "liveWaitMs": 10000 });
    until("our own answer", async || {
        let found = client.call("discover_resources", ask.clone()).await;
        let found = &found["structuredContent"];
        assert_eq!(found["liveErrors"][0]["server"], "crm", "{found}");
        found["resources"].to_string().contains("crm://accounts/a3")
    })
    .await;
}

#[tokio::test]
async fn a_server_is_not_asked_to_search_where_its_entry_says_so_nor_found_by_who_may_not_see() {
    let quiet = ENTRY.replace("cwd", "live_search = false\ncwd");
    let folder = recorder("plain", &format!("{quiet}{RECIPE}"));
    let trove = Trove::start_in(&folder).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("the accounts", async || has(&client, "crm://accounts/a7").await).await;
    client
        .call("discover_resources", json!({ "query": "Zeppelin hangar", "liveWaitMs": 10000 }))
        .await;
    assert!(!called(&folder).contains(&"find_accounts".to_owned()));

    let policy =
        "[[policy]]\nmatch = \"crm://accounts/far*\"\nroles = [\"admin\"]\nvisible = false\n";
    let folder = recorder("plain", &format!("{policy}{ENTRY}{RECIPE}"));
    let trove = Trove::start_in(&folder).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    until("the accounts", async || has(&client, "crm://accounts/a7").await).await;
    let found = client
        .call("discover_resources", json!({ "query": "Zeppelin hangar", "liveWaitMs": 10000 }))
        .await;
    assert!(!found.to_string().contains("far1"), "{found}");
}

#[tokio::test]
async fn a_recipe_is_listed_tried_and_drafted_on_the_command_line() {
    let folder = recorder("plain", &format!("{ENTRY}{RECIPE}"));
    let listed = folder.run(&["recipe", "list"]).await;
    assert!(listed.text().contains("filesystem") && listed.text().contains("calls"), "{listed:?}");
    let tried = folder.run(&["recipe", "try", "crm"]).await;
    for words in ["lists 7 resources", "reads crm://accounts/a1", "finds 1 for `Account 1`"] {
        assert!(tried.text().contains(words), "{words} in {tried:?}");
    }
    let draft = folder.run(&["recipe", "draft", "crm", "--call"]).await;
    assert!(draft.text().contains("[servers.crm.resources]"), "{draft:?}");
    assert!(draft.text().contains("tool = \"get_account\""), "{draft:?}");
    let unknown = folder.run(&["recipe", "try", "none"]).await;
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    let wrote = ["delete_account", "create_account"];
    assert!(!called(&folder).iter().any(|tool| wrote.contains(&tool.as_str())));
}

#[tokio::test]
async fn a_server_that_is_added_gets_its_recipe_and_what_it_calls_is_said() {
    let folder = Folder::with("");
    let ran =
        folder.run(&["add", "data", "--", "uvx", "mcp-server-sqlite", "--db-path", "a.db"]).await;
    assert!(
        ran.stderr.contains("sqlite, which calls describe_table, list_tables, read_query"),
        "{ran:?}"
    );
    let text = std::fs::read_to_string(folder.config()).expect("the configuration");
    assert!(text.contains("recipe = \"sqlite\""), "{text}");
    folder.run(&["add", "plain", "--no-recipe", "--", "uvx", "mcp-server-sqlite"]).await;
    let text = std::fs::read_to_string(folder.config()).expect("the configuration");
    assert_eq!(text.matches("recipe =").count(), 1, "{text}");
}

/// Answers of the shape that a server's own have.
#[derive(serde::Deserialize)]
struct Played {
    server: String,
    calls: Value,
    /// The resources it lists.
    lists: Vec<String>,
    /// Texts that reads hold; `null` if there is no such thing.
    reads: std::collections::BTreeMap<String, Option<String>>,
    /// Questions, each with the hit of the server itself.
    finds: std::collections::BTreeMap<String, String>,
}

/// The entries of all files in a folder of `recipes`, by the name of the recipe.
fn recorded<T: serde::de::DeserializeOwned>(folder: &str) -> Vec<(String, Vec<T>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes").join(folder);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("the file");
        let entries = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        all.push((name, entries));
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

/// Servers that need an account: their recipes list, read and search by answers of their shape.
#[tokio::test]
async fn recipes_of_servers_with_accounts_list_read_and_search_what_these_answer() {
    let tools: Vec<(String, Vec<Value>)> = recorded("tools");
    let folder = Folder::empty();
    let (mut all, mut config) = (Vec::new(), String::new());
    for (name, servers) in recorded::<Played>("answers") {
        let (_, recorded) = tools.iter().find(|(one, _)| *one == name).expect("its tools");
        for (nth, played) in servers.into_iter().enumerate() {
            let id = format!("{name}-{nth}");
            let offered = recorded.iter().find(|one| one["server"] == played.server.as_str());
            let offered =
                &offered.unwrap_or_else(|| panic!("{} has tools", played.server))["tools"];
            let file = format!("{id}.json");
            folder.put(&file, &json!({ "tools": offered, "calls": played.calls }).to_string());
            config.push_str(&format!(
                "[servers.{id}]\ncommand = {program:?}\nargs = [\"--play\", \"{file}\"]\ncwd = \".\"\nrecipe = \"{name}\"\n",
                program = crate::kit::toy::program(),
            ));
            all.push((id, played));
        }
    }
    folder.write(&config);
    let trove = Trove::start_in(&folder).await;
    let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    trove.ready(&ids).await;
    let client = trove.client(Kind::HTTP_LEGACY).await;
    for (id, played) in &all {
        shows(&client, id, played).await;
    }
}

/// Checks what one server that is played lists, gives and finds, each through Trove.
async fn shows(client: &Client, id: &str, played: &Played) {
    // Two servers of one recipe list the same names, so that each is asked for its own.
    let own = |uri: &str| format!("{id}+{uri}");
    let listed = async || {
        let uris = client.uris().await;
        let has = |uri: &String| uris.contains(&own(uri)) || uris.contains(uri);
        played.lists.iter().all(has)
    };
    until(&format!("what {id} lists"), listed).await;
    for (uri, text) in &played.reads {
        let read = client.read(&own(uri)).await;
        match text {
            Some(text) => {
                let read = read.unwrap_or_else(|error| panic!("{id}: {uri}: {error}"));
                let first = read["contents"][0]["text"].as_str().unwrap_or_default();
                assert!(first.contains(text.as_str()), "{id}: {uri}: {read}");
            }
            None => assert!(read.is_err(), "{id}: {uri}: {read:?}"),
        }
    }
    for (question, hit) in &played.finds {
        let ask = json!({ "query": question, "servers": [id], "liveWaitMs": 10000, "relevanceThreshold": 0.0 });
        let found = client.call("discover_resources", ask).await;
        let found = &found["structuredContent"];
        assert!(found["liveErrors"].is_null(), "{id}: {found}");
        let hits = found["resources"].as_array().expect("results");
        let is_hit =
            |one: &&Value| one["uri"].as_str().is_some_and(|uri| uri.ends_with(hit.as_str()));
        assert!(hits.iter().any(|one| is_hit(&one)), "{id}: {question}: {found}");
    }
}
