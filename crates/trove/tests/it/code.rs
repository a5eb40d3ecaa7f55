//! Small programs over the resources: their abilities, their limits, and the gateway after they
//! tried to break it.

mod tasks;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kit::client::{Client, Kind};
use crate::kit::toy::{Toy, config, toy};
use crate::kit::{Folder, LIMIT, Trove, until, within};

const ENABLED: &str = "[code]\nenabled = true\n";

async fn with(toys: &[Toy], more: &str) -> Trove {
    let trove = Trove::start(&format!("{ENABLED}{more}{}", config(toys))).await;
    let ids: Vec<&str> = toys.iter().map(Toy::id).collect();
    trove.ready(&ids).await;
    trove
}

/// The object that a program gives.
async fn run(client: &Client, code: &str) -> Value {
    client.call("run_code", json!({ "code": code })).await["structuredContent"].clone()
}

async fn result(client: &Client, code: &str) -> Value {
    let ran = run(client, code).await;
    assert_eq!(ran["success"], true, "{code}: {ran}");
    ran["result"].clone()
}

async fn fails(client: &Client, code: &str) -> Value {
    let ran = run(client, code).await;
    assert_eq!(ran["success"], false, "{code}: {ran}");
    ran
}

/// The workers that a Trove has.
fn workers(trove: &Trove) -> Vec<i32> {
    let parent = trove.pid().as_raw_nonzero().get();
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let of = stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(2)?.parse().ok());
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        of == Some(parent) && command.windows(13).any(|part| part == b"__code-worker")
    })
    .collect()
}

#[tokio::test]
async fn programs_are_off_until_they_are_switched_on() {
    let trove = Trove::start("").await;
    let client = trove.any_client().await;
    let is_offered = async || {
        let tools = client.list("tools/list", "tools").await;
        tools.iter().any(|tool| tool["name"] == "run_code")
    };
    let security = async || -> Value {
        serde_json::from_str(&client.text("config://security").await).expect("JSON")
    };
    assert!(!is_offered().await);
    let refused = client.ask("tools/call", json!({ "name": "run_code" })).await;
    refused.expect_err("there is no such tool");
    assert_eq!(security().await["blocked_modules"], json!(["*"]));
    assert_eq!(security().await["code_size_bytes"], 0);
    assert!(workers(&trove).is_empty());
    trove.folder.write(ENABLED);
    until("it to be offered", is_offered).await;
    assert_eq!(result(&client, "1 + 1").await, 2);
    let published = security().await;
    assert_eq!(published["memory_limit_mb"], 128);
    assert!(published["code_size_bytes"].as_u64() > Some(0), "{published}");
    until("one worker to wait", async || workers(&trove).len() == 1).await;
    trove.folder.write("");
    until("it to be gone", async || !is_offered().await).await;
    until("its worker to be gone", async || workers(&trove).is_empty()).await;
}

#[tokio::test]
async fn forty_resources_cost_one_call() {
    let trove =
        with(&[toy("one", "--resources 40"), toy("two", "--resources 3 --scheme two")], "").await;
    for kind in [Kind::STDIO_LEGACY, Kind::HTTP_MODERN] {
        let client = trove.client(kind).await;
        let code = "
items = [r for r in list_resources('one') if r['uri'].startswith('toy://item/')]
texts = {r['uri']: read(r['uri']) for r in items}
print(len(texts), 'read')
sorted(texts.items(), key=lambda pair: pair[1])[:2]";
        let ran = run(&client, code).await;
        assert_eq!(ran["success"], true, "{ran}");
        assert_eq!(ran["printed"], "40 read\n");
        let direct = client.text("toy://item/0").await;
        assert_eq!(ran["result"][0], json!(["toy://item/0", direct]), "{ran}");
        assert_eq!(ran["calls"], 41);
        let all = result(&client, "sorted({r['server'] for r in list_resources()})").await;
        assert_eq!(all, json!(["guide", "one", "trove", "two"]));
    }
}

#[tokio::test]
async fn every_function_gives_what_the_tools_give() {
    let trove = with(&[toy("one", "--resources 3")], "").await;
    let client = trove.any_client().await;
    let health = result(&client, "read_json('info://health')['status']").await;
    assert_eq!(health, "ok");
    let blob = "b = read('toy://blob')\n[type(b).__name__, len(b), b[:3].decode(), len(read('toy://blob', limit=5))]";
    assert_eq!(result(&client, blob).await, json!(["bytes", 271, "one", 5]));
    let part = "read('toy://item/1', offset=4, limit=6)";
    assert_eq!(result(&client, part).await, "toy://");
    let expanded = "read(expand('note://{id}', id='alpha'))";
    assert_eq!(result(&client, expanded).await, "one|note://alpha|");
    assert_eq!(result(&client, "grep('toy://item/2', 'item/[0-9]')[0]['line']").await, 1);
    until("the index to find", async || {
        result(&client, "[hit['uri'] for hit in find('item-2', server='one', limit=1)]").await
            == json!(["toy://item/2"])
    })
    .await;
    let caught = "
seen = []
for uri, server in [('nope://x', None), ('toy://item/1', 'nobody'), ('note://', None)]:
    try:
        read(uri, server=server)
    except (LookupError, ValueError) as error:
        seen.append(type(error).__name__)
seen";
    assert_eq!(result(&client, caught).await, json!(["LookupError", "LookupError", "ValueError"]));
    assert_eq!(fails(&client, "read_json('toy://item/1')").await["exception"], "ValueError");
    assert_eq!(fails(&client, "read()").await["exception"], "TypeError");
    assert_eq!(fails(&client, "find('x', lmit=3)").await["exception"], "TypeError");
    assert_eq!(fails(&client, "grep('toy://item/1', '(')").await["exception"], "ValueError");
    let wrong = fails(&client, "read('toy://item/1', limit=-1)").await;
    assert!(
        wrong["message"].as_str().expect("words").contains("limit must be a whole number"),
        "{wrong}"
    );
    let optional = "expand('a://{x}{?y*,z}', x='ä b', y=[1, 2], z=None)";
    assert_eq!(result(&client, optional).await, "a://%C3%A4%20b?y=1&y=2");
    assert_eq!(result(&client, "find('item', limit=0)").await, json!([]));
}

#[tokio::test]
async fn what_is_published_is_what_programs_meet() {
    let trove = with(&[], "").await;
    let client = trove.any_client().await;
    let security: Value =
        serde_json::from_str(&client.text("config://security").await).expect("JSON");
    let words = |key: &str| -> Vec<String> {
        let all = security[key].as_array().expect("a list").iter();
        all.map(|word| word.as_str().expect("a word").to_owned()).collect()
    };
    let modules = words("allowed_modules");
    assert!(modules.len() > 10, "{modules:?}");
    for module in &modules {
        assert_eq!(result(&client, &format!("import {module}\n1")).await, 1, "{module}");
    }
    assert_eq!(security["blocked_modules"], json!(["*"]));
    for module in
        ["subprocess", "socket", "urllib", "requests", "ctypes", "importlib", "builtins", "io"]
    {
        let failed = fails(&client, &format!("import {module}")).await;
        assert_eq!(failed["exception"], "ModuleNotFoundError", "{module}: {failed}");
        assert!(failed["suggested_actions"][0].as_str().expect("advice").contains("itertools"));
    }
    for builtin in words("dangerous_builtins") {
        let failed = fails(&client, &format!("{builtin}('x')")).await;
        let kind = failed["exception"].as_str().expect("a kind");
        assert!(["NameError", "PermissionError"].contains(&kind), "{builtin}: {failed}");
    }
    let limit = security["code_size_bytes"].as_u64().expect("a size") as usize;
    let filled = |bytes: usize| format!("1 #{}", "x".repeat(bytes - 3));
    assert_eq!(result(&client, &filled(limit)).await, 1);
    assert_eq!(fails(&client, &filled(limit + 1)).await["error"], "InvalidArguments");
    let calls = security["program_calls"].as_u64().expect("a count");
    let many = |n: u64| format!("for i in range({n}): expand('a://b')\nprint('all')");
    assert_eq!(run(&client, &many(calls)).await["printed"], "all\n");
    let failed = fails(&client, &many(calls + 1)).await;
    assert_eq!((&failed["exception"], &failed["line"]), (&json!("RuntimeError"), &json!(1)));
}

#[tokio::test]
async fn a_failure_names_its_line_and_what_to_write_instead() {
    let trove = with(&[], "").await;
    let client = trove.any_client().await;
    for (code, line, kind, advice) in [
        ("x = 1\nmatch x:\n    case 1: print(1)", 2, "NotImplementedError", "if and elif"),
        ("def f():\n    yield 1\nlist(f())", 2, "NotImplementedError", "Gather a list"),
        ("print('first')\n[1, 2][5]", 2, "IndexError", "at that line"),
        ("\n\nx = (", 3, "SyntaxError", "at that line"),
        ("import numpy", 1, "ModuleNotFoundError", "Only these modules"),
        ("await find('x')", 1, "TypeError", "without await"),
        ("list(map(read, ['info://health']))", 1, "NotImplementedError", "in a loop"),
        ("import os\nos.getenv('HOME')", 2, "PermissionError", "read resources with read(uri)"),
    ] {
        let failed = fails(&client, code).await;
        assert_eq!((&failed["error"], &failed["exception"]), (&json!("CodeError"), &json!(kind)));
        assert_eq!(failed["line"], line, "{failed}");
        let told = failed["suggested_actions"][0].as_str().expect("advice");
        assert!(told.contains(advice), "{code}: {told}");
        assert!(failed["traceback"].as_str().expect("a traceback").contains("program.py"));
    }
    assert_eq!(fails(&client, "print('first')\n1/0").await["printed"], "first\n");
}

#[tokio::test]
async fn every_example_works() {
    let trove = with(&[], "").await;
    let client = trove.any_client().await;
    let spec = trove_core::tools::TOOLS.iter().find(|spec| spec.name == "run_code");
    for example in spec.expect("it is in the table").examples {
        let arguments = serde_json::from_str(example.arguments).expect(example.arguments);
        let answer = client.call("run_code", arguments).await;
        assert_eq!(answer["structuredContent"]["success"], true, "{}: {answer}", example.arguments);
    }
}

/// Programs that want more than they may have, and how each ends.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("an endless loop", "while True: pass", "TimeoutError"),
    ("a list without end", "x = []\nwhile True: x.append('a' * 1000000)", "MemoryError"),
    ("one giant text", "'a' * 3000000000", "MemoryError"),
    ("a giant number", "9 ** 9 ** 9", "MemoryError"),
    ("recursion", "def f(n): return f(n + 1)\nf(0)", "RecursionError"),
    ("calls without end", "while True: expand('a://b')", "RuntimeError"),
    (
        "calls that are caught",
        "while True:\n  try:\n    expand('a://b')\n  except BaseException:\n    pass",
        "RuntimeError",
    ),
    ("a huge argument", "read('a' * 60000000)", "ValueError"),
    ("a file", "open('/etc/passwd').read()", "PermissionError"),
    (
        "a file by its path",
        "from pathlib import Path\nPath('/etc/passwd').read_text()",
        "PermissionError",
    ),
    ("the environment", "import os\nos.environ['HOME']", "PermissionError"),
    ("a way through classes", "().__class__.__bases__[0].__subclasses__()", "AttributeError"),
    ("the tools of a server", "one_echo('x')", "NameError"),
    ("another tool of ours", "get_resource('info://health')", "NameError"),
];

#[tokio::test]
async fn t43_a_hostile_program_ends_alone_and_the_gateway_serves_on() {
    let trove = with(&[toy("one", "--resources 3").set("expose = \"all\"")], "").await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    let other = trove.client(Kind::STDIO_LEGACY).await;
    let expected = other.text("toy://item/1").await;
    for (what, code, kind) in HOSTILE {
        let call = async { fails(&client, code).await };
        let meanwhile = async {
            for _ in 0..5 {
                assert_eq!(other.text("toy://item/1").await, expected, "{what}");
            }
        };
        let (failed, ()) = tokio::join!(call, meanwhile);
        assert_eq!(failed["error"], "CodeError", "{what}: {failed}");
        assert_eq!(failed["exception"], *kind, "{what}: {failed}");
        assert!(failed["suggested_actions"][0].is_string(), "{what}: {failed}");
    }
    until("one worker to wait, and no other to be left", async || workers(&trove).len() == 1).await;
    assert_eq!(result(&client, "2 + 2").await, 4);
}

#[tokio::test]
async fn t43_what_a_program_prints_and_returns_is_bounded() {
    let trove = with(&[], "").await;
    let client = trove.any_client().await;
    let flood = run(&client, "for i in range(100000): print('ä' * 10)\n'end'").await;
    assert_eq!((&flood["result"], &flood["truncated"]), (&json!("end"), &json!(true)));
    let printed = flood["printed"].as_str().expect("text");
    assert!(printed.len() <= 32 * 1024 && printed.len() > 30 * 1024, "{}", printed.len());
    let failed = fails(&client, "'x' * 40000").await;
    assert!(failed["message"].as_str().expect("words").contains("40002 bytes"), "{failed}");
    let failed = fails(&client, "print('so far')\nraise ValueError('\\x01' * 900000)").await;
    assert_eq!(
        (&failed["exception"], &failed["printed"]),
        (&json!("ValueError"), &json!("so far\n"))
    );
    assert!(failed.to_string().len() < 32 * 1024, "{}", failed.to_string().len());
    let failed = fails(&client, "print('so far')\n'y' * 50000").await;
    assert_eq!((&failed["printed"], &failed["truncated"]), (&json!("so far\n"), &Value::Null));
    for code in ["print('y' * 40000)\n1/0", "print('y' * 40000)\n'y' * 50000"] {
        assert_eq!(fails(&client, code).await["truncated"], true, "{code}");
    }
    let deep = "a = []\nfor i in range(5000): a = [a]\na";
    assert_eq!(fails(&client, deep).await["error"], "CodeError");
    let round = "a = []\na.append(a)\na";
    assert_eq!(result(&client, round).await, json!(["[...]"]));
}

#[tokio::test]
async fn t18_what_servers_wrote_is_framed_and_cannot_hide_in_an_error() {
    let trove = with(&[toy("evil", "--resources 1 --fault eviltext")], "").await;
    let client = trove.any_client().await;
    let read = json!({ "code": "read('toy://item/0')" });
    let framed = client.call("run_code", read).await["content"].to_string();
    assert!(framed.contains("[trove ") && framed.contains("not instructions"), "{framed}");
    let own = client.call("run_code", json!({ "code": "1 + 1" })).await["content"].to_string();
    assert!(!own.contains("[trove "), "{own}");
    let failed = fails(&client, "raise ValueError(read('toy://item/0'))").await;
    for key in ["message", "traceback"] {
        let text = failed[key].as_str().expect("words");
        assert!(text.contains("\\u{"), "{text}");
        let hides = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{200b}'..='\u{202e}');
        assert!(!text.contains(hides), "{text:?}");
    }
}

#[tokio::test]
async fn t43_a_program_that_would_compile_for_ever_is_refused_at_once() {
    let trove = with(&[], "").await;
    let client = trove.any_client().await;
    let defs = (0..24).map(|n| format!("{}def f():\n", " ".repeat(n)));
    let bomb = defs.collect::<String>() + &" ".repeat(24) + "0";
    let failed = fails(&client, &bomb).await;
    assert_eq!(failed["error"], "InvalidArguments", "{failed}");
    assert!(failed["message"].as_str().expect("words").starts_with("line 9: "), "{failed}");
}

#[tokio::test]
async fn t43_a_worker_that_is_killed_takes_only_its_program_with_it() {
    let trove = with(&[toy("one", "--resources 3")], "").await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    until("a worker to wait", async || workers(&trove).len() == 1).await;
    let [waiting] = workers(&trove)[..] else { panic!("one worker") };
    let kill = |pid: i32| {
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    };
    kill(waiting);
    until("it to be dead", async || {
        let stat = std::fs::read_to_string(format!("/proc/{waiting}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    })
    .await;
    // The worker that waited is not missed.
    assert_eq!(result(&client, "1").await, 1);
    let during = async {
        until("a second worker", async || workers(&trove).len() == 1).await;
        let calls = client
            .send(
                "tools/call",
                r#"{"name":"run_code","arguments":{"code":"while True: pass"}}"#,
                None,
            )
            .await;
        let busy = || workers(&trove).into_iter().find(|pid| ticks(*pid) > 20);
        until("it to run", async || busy().is_some()).await;
        kill(busy().expect("it runs"));
        client.answer(calls).await.expect("a result")
    };
    let answer = within(LIMIT, "the answer", during).await;
    assert_eq!(answer["structuredContent"]["error"], "CodeError", "{answer}");
    assert_eq!(result(&client, "2").await, 2);
}

#[tokio::test]
async fn t43_what_a_program_reads_is_counted_before_it_is_had() {
    let trove = with(&[toy("one", "--resources 1 --size 4000000")], "").await;
    let client = trove.any_client().await;
    // A slice costs what it was cut from, and lines that match cost what it takes to tell them.
    let slices = "for i in range(20): read('toy://item/0', limit=1)";
    let failed = fails(&client, slices).await;
    assert!(failed["message"].as_str().expect("words").contains("may read"), "{failed}");
    assert_eq!(result(&client, "len(read('toy://item/0', limit=1))").await, 1);
    trove.folder.put("guide/lang/lines.md", &"\n".repeat(1_000_000));
    let lines =
        "next(iter([r['uri'] for r in list_resources('guide') if 'lines' in r['uri']]), None)";
    until("the guide to be seen", async || !result(&client, lines).await.is_null()).await;
    let failed = fails(&client, &format!("len(grep({lines}, ''))")).await;
    assert!(failed["message"].as_str().expect("words").contains("may read"), "{failed}");
    assert_eq!(result(&client, &format!("len(grep({lines}, 'nothing'))")).await, 0);
}

/// How long a process has computed, in the kernel's ticks.
fn ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit(')').next().unwrap_or_default();
    rest.split(' ').nth(12).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn t43_a_program_whose_client_goes_away_ends() {
    let trove = with(&[], "").await;
    let client = trove.client(Kind::HTTP_MODERN).await;
    until("a worker to wait", async || workers(&trove).len() == 1).await;
    let code = r#"{"name":"run_code","arguments":{"code":"while True: pass"}}"#;
    let call = client.send("tools/call", code, None).await;
    let busy = || workers(&trove).into_iter().find(|pid| ticks(*pid) > 20);
    until("it to run", async || busy().is_some()).await;
    let pid = busy().expect("it runs");
    client.cancel(call).await;
    until("it to be gone", async || !workers(&trove).contains(&pid)).await;
}

#[tokio::test]
async fn t44_a_program_reads_what_its_caller_may_read_and_changes_nothing() {
    let rules = "[[policy]]\nmatch = \"toy://item/1\"\nroles = [\"ops\"]\n\
                 [[policy]]\nmatch = \"toy://item/2\"\nroles = [\"ops\"]\nvisible = false\n";
    let trove = with(&[toy("one", "--resources 4").set("expose = \"all\"")], rules).await;
    let client = trove.any_client().await;
    let code = "
seen = {}
for n in range(4):
    try:
        seen[n] = read('toy://item/' + str(n))[:3]
    except Exception as error:
        seen[n] = type(error).__name__
[seen[n] for n in range(4)]";
    let seen = result(&client, code).await;
    assert_eq!(seen, json!(["one", "PermissionError", "LookupError", "one"]));
    let listed = "sorted(r['uri'] for r in list_resources('one') if 'item' in r['uri'])";
    let uris: Vec<String> =
        client.uris().await.into_iter().filter(|uri| uri.contains("item")).collect();
    assert_eq!(result(&client, listed).await, json!(uris));
    // No tool of a server and no tool of ours is there to be called.
    for name in ["one_echo", "echo", "set_feature_flag", "run_code", "call_tool"] {
        assert_eq!(fails(&client, &format!("{name}('x')")).await["exception"], "NameError");
    }
    let audit = trove.folder.home().join("audit.jsonl");
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&audit).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    };
    until("reads and programs to be written down", async || {
        let lines = lines();
        let has = |via: &str, target: &str, outcome: &str| {
            lines.iter().any(|line| {
                line["via"] == via && line["target"] == target && line["outcome"] == outcome
            })
        };
        has("code", "toy://item/0", "done")
            && has("code", "toy://item/1", "refused")
            && has("bridge", "run_code", "done")
    })
    .await;
}

fn file(folder: &Arc<Folder>, code: &str) -> String {
    folder.put("program.py", code);
    folder.path().join("program.py").display().to_string()
}

#[tokio::test]
async fn run_prints_what_the_program_prints_and_returns() {
    // On a command line the person at the terminal runs it.
    let folder = Folder::with(&config(&[toy("one", "--resources 2")]));
    let path = file(&folder, "print('two:')\n[read(f'toy://item/{n}') for n in range(2)]");
    let ran = folder.run(&["run", &path]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rest = ran.text().strip_prefix("two:\n").expect("what was printed");
    let given: Value = serde_json::from_str(rest).expect("what was returned");
    assert_eq!(given.as_array().map(Vec::len), Some(2), "{given}");
    let as_json = folder.run(&["run", "--json", &path]).await.json();
    assert_eq!((&as_json["result"], &as_json["printed"]), (&given, &json!("two:\n")));
    let path = file(&folder, "'no \\x1b[31m colour'");
    assert_eq!(folder.run(&["run", &path]).await.text(), "no \\u{1b}[31m colour\n");
}

#[tokio::test]
async fn run_explains_what_failed_and_ends_by_its_class() {
    let folder = Folder::with("");
    let path = file(&folder, "print('before')\n1 / 0");
    let failed = folder.run(&["run", &path]).await;
    assert_eq!((failed.code, failed.text()), (Some(5), "before\n"), "{failed:?}");
    for part in ["line 2", "ZeroDivisionError", "at that line"] {
        assert!(failed.stderr.contains(part), "{part}: {failed:?}");
    }
    assert!(!failed.stderr.contains("ERROR"), "it is said once: {failed:?}");
    let as_json = folder.run(&["run", "--json", &path]).await;
    assert_eq!((as_json.code, &as_json.json()["error"]), (Some(5), &json!("CodeError")));
    let missing = folder.run(&["run", "nowhere.py"]).await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("cannot read nowhere.py"), "{missing:?}");
    let path = file(&folder, &"#".repeat(20_000));
    assert_eq!(folder.run(&["run", &path]).await.code, Some(1));
}
