//! Slow, wrong, gone and hostile servers: they harm themselves alone.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::kit::client::Kind;
use crate::kit::toy::{Toy, body, config, count, toy, whole};
use crate::kit::{Folder, LIMIT, Trove, is_ready, until, within};

/// One server for each way of misbehaving, named after it.
fn troublemakers() -> Vec<Toy> {
    let faults = [
        ("late", "delay:init=30000"),
        ("silent", "hang:init"),
        ("crashing", "crash:init"),
        ("garbled", "garbage"),
        ("noisy", "noise"),
        ("verbose", "stderr=20000000"),
        ("looping", "pages:loop"),
        ("cycling", "pages:cycle"),
        ("endless", "pages:endless"),
        ("malformed", "baditems"),
        ("wordless", "error:list"),
    ];
    let make =
        |(id, fault)| toy(id, &format!("--resources 5 --bare --scheme {id} --fault {fault}"));
    faults.into_iter().map(make).collect()
}

#[tokio::test]
async fn t01_a_healthy_server_answers_at_once_beside_all_that_do_not() {
    let mut toys = troublemakers();
    toys.push(toy("healthy", "--resources 3 --bare --scheme healthy"));
    let folder = Folder::with(&config(&toys));
    let trove = Trove::start_in(&folder).await;
    let client = trove.client(Kind::STDIO_LEGACY).await;
    until("the healthy server to be listed", async || {
        client.uris().await.contains(&"healthy://item/2".to_owned())
    })
    .await;
    assert!(client.text("healthy://item/2").await.starts_with("healthy|healthy://item/2|"));
    // The servers that make others wait were not waited for.
    for id in ["late", "silent"] {
        let source = trove.source(id, |_| true).await;
        assert_eq!((&source["state"], &source["failures"]), (&json!("connecting"), &json!(0)));
    }
}

#[tokio::test]
async fn t07_what_is_wrong_with_each_server_is_said() {
    let trove = Trove::start(&config(&troublemakers())).await;
    for id in ["late", "silent", "garbled"] {
        let source = trove.source(id, |source| source["state"] == "connecting").await;
        assert_eq!((&source["resources"], &source["failures"]), (&json!(0), &json!(0)));
    }
    let garbled = trove.source("garbled", |source| !source["warning"].is_null()).await;
    assert!(word(&garbled["warning"]).contains("no messages"), "{garbled}");
    let crashing = trove.source("crashing", |source| source["failures"] != 0).await;
    assert!(["backoff", "connecting", "circuit-open"].contains(&word(&crashing["state"])));
    assert!(word(&crashing["last_error"]).contains("connection was lost"), "{crashing}");

    for id in ["noisy", "verbose"] {
        let source = trove.source(id, is_ready).await;
        assert_eq!((&source["resources"], &source["omissions"]), (&json!(5), &Value::Null));
    }
    for (id, kept, why) in [
        ("looping", 5, "repeated a cursor"),
        ("cycling", 5, "repeated a cursor"),
        ("endless", 100_000, "more than 10000 pages"),
    ] {
        let source = trove.source(id, is_ready).await;
        assert_eq!(source["resources"], kept, "{id}");
        assert!(source["omissions"].to_string().contains(why), "{source}");
    }
    let health = trove.health().await;
    assert_eq!(health["status"], "degraded");
}

#[tokio::test]
async fn t08_malformed_items_are_left_out_and_counted_and_the_rest_is_served() {
    let trove = Trove::with(&[toy("bad", "--resources 20 --fault baditems")]).await;
    let source = trove.source("bad", is_ready).await;
    assert!(source["omissions"].to_string().contains("malformed resources left out"), "{source}");
    let client = trove.any_client().await;
    let listed = client.uris().await;
    for uri in (0..20).map(|n| format!("toy://item/{n}")) {
        assert!(listed.contains(&uri), "{uri} in {listed:?}");
    }
    assert!(listed.iter().all(|uri| !uri.is_empty()));
    let templates = client.list("resources/templates/list", "resourceTemplates").await;
    assert!(templates.iter().any(|template| template["uriTemplate"] == "note://{id}"));
}

#[tokio::test]
async fn a_list_that_fails_is_reported_and_reading_still_works() {
    let trove = Trove::start(&config(&[toy("wordless", "--fault error:list")])).await;
    let source = trove.source("wordless", |source| !source["last_error"].is_null()).await;
    assert!(word(&source["last_error"]).contains("lists are broken here"), "{source}");
    assert!(!source["stale_seconds"].is_null(), "{source}");
    let text = trove.any_client().await.text("wordless+toy://pid").await;
    assert!(text.starts_with("wordless|toy://pid|"));
}

#[tokio::test]
async fn one_list_that_fails_hides_none_of_the_others() {
    let trove =
        Trove::start(&config(&[toy("half", "--resources 3 --fault error:templates")])).await;
    let source = trove.source("half", |source| source["resources"] != 0).await;
    assert!(source["omissions"].to_string().contains("templates are broken here"), "{source}");
    assert!(trove.any_client().await.text("toy://item/2").await.starts_with("half|"));
}

#[tokio::test]
async fn t09_answers_nobody_asked_for_confuse_nothing() {
    let trove = Trove::with(&[toy("odd", "--resources 5 --fault wrongid")]).await;
    let client = trove.any_client().await;
    for n in 0..5 {
        let uri = format!("toy://item/{n}");
        assert_eq!(client.text(&uri).await, format!("odd|{uri}|"));
    }
}

#[tokio::test]
async fn t10_a_flood_of_list_changes_is_answered_by_few_listings() {
    let trove = Trove::with(&[whole("loud", "--fault flood:listchanged=5000")]).await;
    let client = trove.any_client().await;
    let listings = count(&client.text("toy://requests").await, "resources/list");
    assert!(listings <= 3, "{listings} listings");
}

#[tokio::test]
async fn t02_a_read_that_loses_its_server_fails_fast_and_the_next_one_works() {
    for kind in Kind::ALL {
        let trove = Trove::with(&[toy("one", "")]).await;
        let client = trove.client(kind).await;
        let pid = pid_of(&client.text("toy://pid").await);
        let params = json!({ "uri": "toy://slow/60000" }).to_string();
        let call = client.send("resources/read", &params, None).await;
        // The read is under way once the server has counted it beside the two others.
        let count_reads = async || count(&client.text("toy://requests").await, "resources/read");
        until("the read to reach the server", async || count_reads().await >= 3).await;
        kill_process(pid, Signal::KILL).expect("the server can be killed");
        let error = within(LIMIT, "the error", client.answer(call)).await;
        let error = error.expect_err("the server is gone");
        // It was not waited for until the read would be given up.
        let message = error["message"].as_str().expect("words");
        assert!(message.contains("the connection was lost"), "{message}");
        assert_eq!(
            error["data"],
            json!({ "source": "one", "retryable": true, "uri": "toy://slow/60000" }),
            "{kind:?}"
        );

        let new = pid_of(&client.text("toy://pid").await);
        assert_ne!(pid, new);
        // Ours and no other: the lost read was not tried again.
        assert_eq!(count_reads().await, 2, "{kind:?}");
    }
}

#[tokio::test]
async fn t13_a_killed_server_is_replaced_though_its_child_holds_its_stdout() {
    let trove = Trove::with(&[toy("one", "--fault fork")]).await;
    let client = trove.any_client().await;
    let pid = pid_of(&client.text("toy://pid").await);
    kill_process(pid, Signal::KILL).expect("the server can be killed");
    until("the server to be replaced", async || {
        client.read("toy://pid").await.is_ok_and(|_| true)
            && pid_of(&client.text("toy://pid").await) != pid
    })
    .await;
}

#[tokio::test]
async fn a_server_that_never_answers_a_read_is_given_up_after_its_time() {
    let slow = toy("one", "--fault hang:read").set("timeout_ms = 500");
    let trove = Trove::with(&[slow, toy("two", "--scheme two")]).await;
    let client = trove.any_client().await;
    let error = client.read("one+toy://pid").await.expect_err("no answer comes");
    assert_eq!(error["data"]["retryable"], true);
    assert!(word(&error["message"]).contains("no answer within 500ms"), "{error}");
    assert!(client.text("two://pid").await.starts_with("two|"));
}

#[tokio::test]
async fn t13_nothing_survives_a_killed_gateway() {
    let mut trove = Trove::with(&families()).await;
    let marked = Marked::by(&trove).await;
    // Three servers, and a child of each of the last two.
    until("all children to be there", async || marked.processes().len() >= 5).await;
    trove.signal(Signal::KILL);
    trove.ended().await;
    marked.assert_gone().await;
}

#[tokio::test]
async fn t13_nothing_survives_a_gateway_that_is_asked_to_end() {
    let mut trove = Trove::with(&families()).await;
    let marked = Marked::by(&trove).await;
    until("all children to be there", async || marked.processes().len() >= 5).await;
    trove.signal(Signal::TERM);
    assert!(trove.ended().await.success());
    marked.assert_gone().await;
}

#[tokio::test]
async fn a_gateway_on_stdio_ends_with_its_client() {
    let mut trove = Trove::with(&families()).await;
    let marked = Marked::by(&trove).await;
    trove.close_stdin().await;
    assert!(trove.ended().await.success());
    marked.assert_gone().await;
}

#[tokio::test]
async fn t13_what_a_server_started_goes_with_it_wherever_it_went() {
    let trove = Trove::with(&[toy("runaway", "--scheme c --fault fork:setsid")]).await;
    let client = trove.any_client().await;
    let pid = pid_of(&client.text("c://pid").await);
    let marked = Marked::with(pid);
    assert!(marked.processes().len() > 1, "it started another");
    kill_process(pid, Signal::KILL).expect("it runs");
    marked.assert_gone().await;
    until("another to serve", async || {
        client.ask("resources/read", json!({ "uri": "c://pid" })).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn t33_a_child_gets_the_allow_list_and_what_its_entry_declares_and_nothing_else() {
    let one = whole("one", "").set("env = { DECLARED = \"yes\" }");
    let trove = Trove::with(&[one]).await;
    let result = trove.any_client().await.call("one_env", json!({})).await;
    let env = result["structuredContent"].as_object().expect("the environment is an object");
    assert_eq!(env["DECLARED"], "yes");
    assert_eq!(env["PATH"], std::env::var("PATH").expect("tests have a PATH"));
    // Trove itself was started with a TROVE_HOME, which must not be among them.
    for name in env.keys() {
        let is_allowed = trove_mcp::upstream::ENV_ALLOW_LIST.contains(&name.as_str());
        assert!(is_allowed || name == "DECLARED" || name == "TROVE_CHILD_OF", "{name}");
    }
}

/// Servers that cling to life, alone and with children.
fn families() -> [Toy; 3] {
    [
        toy("stubborn", "--scheme a --fault ignore-sigterm"),
        toy("parent", "--scheme b --fault fork"),
        toy("runaway", "--scheme c --fault fork:setsid"),
    ]
}

/// The processes that one gateway started, and those that they started.
struct Marked {
    /// How the variable begins by which they are known.
    variable: String,
}

impl Marked {
    /// All of them; one was started under the scheme `a`.
    async fn by(trove: &Trove) -> Marked {
        let pid = pid_of(&trove.any_client().await.text("a://pid").await);
        let one = Marked::with(pid);
        let ours = one.variable.split('.').next().expect("a word");
        Marked { variable: format!("{ours}.") }
    }

    /// One server and what it started.
    fn with(pid: Pid) -> Marked {
        let environment = environment(pid.as_raw_nonzero().get());
        let mark = environment.into_iter().find(|one| one.starts_with("TROVE_CHILD_OF="));
        Marked { variable: mark.expect("a child carries the mark") }
    }

    fn processes(&self) -> Vec<i32> {
        let all = std::fs::read_dir("/proc").expect("there is a /proc");
        let pids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |one: &String| one.starts_with(&self.variable);
        pids.filter(|pid| environment(*pid).iter().any(is_ours)).collect()
    }

    async fn assert_gone(&self) {
        let gone = until("them to be gone", async || self.processes().is_empty());
        within(LIMIT, "all processes of the gateway to be gone", gone).await;
    }
}

/// The variables of a process; none when it is gone.
fn environment(pid: i32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes.split(|&b| b == 0).map(|one| String::from_utf8_lossy(one).into_owned()).collect()
}

/// The process in the text of a toy's `pid`.
fn pid_of(text: &str) -> Pid {
    body(text).parse().ok().and_then(Pid::from_raw).expect("a toy tells its pid")
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
