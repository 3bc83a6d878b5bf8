//! `apkit mcp call`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::mcp_support::{
    Host, LONG, NUMBERS, ODD, apkit, has_got, over_http, package, package_of, run,
};
use crate::support::{Place, Run, finish};
use crate::web::{Asked, Reply, Server};

fn place() -> Place {
    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    place
}

fn call(place: &Place, tool: &str, args: &str, more: &[&str]) -> Run {
    let arguments = ["call", "p", "probe", tool, "--allow-stdio", "--args", args];
    run(place, &[&arguments, more].concat())
}

#[test]
fn the_text_of_a_result_is_printed() {
    let place = place();
    for tool in ["echo", "mcp__probe__echo"] {
        let called = call(&place, tool, r#"{"text": "Grüße\nzwei"}"#, &[]);
        assert_eq!(called.status, Some(0), "{called:?}");
        assert_eq!(called.stdout, "Grüße\nzwei\n");
        assert_eq!(called.stderr, "");
    }
    let called = call(&place, "echo", r#"{"text": "x"}"#, &["--json"]);
    assert_eq!(
        called.stdout,
        "{\"content\":[{\"text\":\"x\",\"type\":\"text\"}]}\n"
    );
}

#[test]
fn arguments_come_from_a_file_or_standard_input_too() {
    let place = place();
    place.write("args.json", r#"{"text": "from a file"}"#);
    let called = call(&place, "echo", "@args.json", &[]);
    assert_eq!(called.stdout, "from a file\n");
    let mut child = apkit(&place)
        .args(["call", "p", "probe", "echo", "--allow-stdio", "--args", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input
        .write_all(br#"{"text": "from a pipe"}"#)
        .expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, b"from a pipe\n");
}

#[test]
fn arguments_that_are_no_object_start_nothing() {
    let place = place();
    for (args, message) in [
        (
            "[1]",
            "it is a list, and the arguments of a tool are an object",
        ),
        ("\"x\"", "it is a string, and"),
        ("{", "it is no JSON: "),
        (
            "{\"é\":\n  [1e400]}",
            "failed to read --args: it holds a number that is out of range at line 2 column 4: 1e400\n",
        ),
        (
            "{\"ok\": 1e300, \"a\": \"x\\udc00\"}",
            "failed to read --args: it holds a text with a lone surrogate, half of a character, at line 1 column 20\n",
        ),
        (
            "{\"a\": {\"text\": 1, \"te\\u0078t\": 2}}",
            "failed to read --args: it holds a name twice in one object at line 1 column 19: \"te\\u0078t\"\n",
        ),
        ("@none.json", "from none.json: "),
    ] {
        let called = call(&place, "echo", args, &[]);
        assert_eq!(called.status, Some(2), "{called:?}");
        assert!(
            called.stderr.starts_with("error: failed to read --args"),
            "{called:?}"
        );
        assert!(called.stderr.contains(message), "{called:?}");
    }
    assert!(!place.path().join("store").exists(), "nothing was made");
}

#[test]
fn arguments_keep_their_text() {
    let far = over_http(false);
    let place = Place::new();
    let entries = json!({
        "far": {"type": "streamable-http", "url": far.url("/mcp")},
        "probe": {"type": "stdio", "command": "probe", "args": ["--probe=heard:heard"]},
    });
    package_of(&place, "p", &entries);
    let spread = NUMBERS.replace(',', "\n, ");
    for args in [NUMBERS, &spread] {
        let called = call(&place, "echo", args, &[]);
        assert_eq!(called.status, Some(0), "{called:?}");
        let planned = run(&place, &["plan", "p", "--json"]);
        let plan: Value = serde_json::from_str(&planned.stdout).expect("JSON");
        let data = std::path::PathBuf::from(plan["data"].as_str().expect("a path"));
        let line = std::fs::read_to_string(data.join("heard")).expect("it was called");
        let sent = format!("\"arguments\":{}", args.replace('\n', " "));
        assert!(line.contains(&sent), "{line}");
        run(&place, &["call", "p", "far", "tide", "--args", args]);
        assert!(has_got(&far, &sent), "{:?}", far.asked());
    }
}

#[test]
fn errors_of_tools_and_servers_are_status_1() {
    let place = place();
    let called = call(&place, "fail", r#"{"text": "no tide"}"#, &[]);
    assert_eq!(
        (called.status, called.stdout.as_str()),
        (Some(1), "no tide\n")
    );
    let args = r#"{"code": -32042, "message": "not today", "data": {"z": 1}}"#;
    let called = call(&place, "error", args, &["--json"]);
    assert_eq!(called.status, Some(1));
    assert_eq!(
        called.stderr,
        "the server answered with error -32042: not today\n"
    );
    let error: Value = serde_json::from_str(&called.stdout).expect("JSON");
    assert_eq!(
        error,
        json!({"error": {"code": -32042, "message": "not today", "data": {"z": 1}}})
    );
}

#[test]
fn no_answer_is_status_2_with_its_reason() {
    let place = place();
    let called = call(&place, "die", r#"{"status": 4}"#, &[]);
    assert_eq!(called.status, Some(2));
    assert_eq!(
        called.stderr,
        "error: failed to call the tool: server `probe` failed: it exited with status 4\n  | the probe was told to die\n"
    );
    let called = call(&place, "silent", "{}", &["--timeout", "1"]);
    assert_eq!(called.status, Some(2));
    assert_eq!(
        called.stderr,
        "error: failed to call the tool: server `probe` failed: no answer within 1 s; --timeout gives it more time\n"
    );
}

#[test]
fn progress_gives_a_call_more_time() {
    let called = call(
        &place(),
        "sleep",
        r#"{"ms": 5000, "steps": 10}"#,
        &["--timeout", "3"],
    );
    assert_eq!(
        (called.status, called.stdout.as_str()),
        (Some(0), "slept\n"),
        "{called:?}"
    );
}

#[test]
fn what_is_not_there_is_told_from_what_is() {
    let place = place();
    let called = call(&place, "ecko", "{}", &[]);
    assert_eq!(called.status, Some(2));
    assert_eq!(
        called.stderr,
        "error: failed to find the tool ecko of probe: did you mean echo?\n"
    );
    let called = run(&place, &["call", "p", "tides", "echo"]);
    assert_eq!(
        called.stderr,
        "error: failed to find the server tides: there are probe\n"
    );
}

#[test]
fn a_program_that_is_not_allowed_is_not_called() {
    let place = place();
    let called = run(&place, &["call", "p", "probe", "echo"]);
    assert_eq!(called.status, Some(2));
    assert!(
        called
            .stderr
            .contains("server `probe` is disabled by policy: programs are not allowed\n"),
        "{called:?}"
    );
}

#[test]
fn a_server_gets_its_directories_and_credentials() {
    let place = place();
    let mut command = apkit(&place);
    command
        .args(["call", "p", "probe", "report", "--allow-stdio", "--json"])
        .args(["--credential", "probe:TIDES_KEY=env:KEY"])
        .env("KEY", "hush");
    let called = finish(&mut command);
    let result: Value = serde_json::from_str(&called.stdout).expect("JSON");
    let given = &result["structuredContent"];
    let root = place.path().join("p").canonicalize().expect("a directory");
    assert_eq!(given["cwd"], json!(root));
    assert_eq!(given["env"]["PLUGIN_ROOT"], json!(root));
    assert_eq!(given["env"]["TIDES_KEY"], "hush");
    assert_eq!(given["env"].get("KEY"), None);
    assert_eq!(given["initialize"]["protocolVersion"], "2025-11-25");
    assert_eq!(given["initialize"]["capabilities"], json!({}));
    let data = given["env"]["PLUGIN_DATA"].as_str().expect("a path");
    assert!(std::path::Path::new(data).is_dir());
}

#[cfg(unix)]
#[test]
fn an_interrupt_cancels_the_call_and_ends_the_server() {
    use std::time::Instant;

    for (signal, tool) in [("INT", "silent"), ("TERM", "sleep"), ("HUP", "silent")] {
        let place = Place::new();
        let told = ["--probe=calling:calling", "--probe=cancelled:cancelled"];
        package(&place, "p", &[("probe", &told)]);
        let planned = run(&place, &["plan", "p", "--json"]);
        let plan: Value = serde_json::from_str(&planned.stdout).expect("JSON");
        let data = std::path::PathBuf::from(plan["data"].as_str().expect("a path"));
        let mut command = apkit(&place);
        command
            .args(["call", "p", "probe", tool, "--allow-stdio"])
            .args(["--args", r#"{"ms": 60000, "steps": 1000}"#])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped());
        let child = command.spawn().expect("it starts");
        let started = Instant::now();
        while !data.join("calling").exists() {
            assert!(started.elapsed() < LONG, "the tool is called");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let id = child.id().to_string();
        let kill = std::process::Command::new("kill")
            .args(["-s", signal, &id])
            .status();
        assert!(kill.expect("kill runs").success());
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(130), "{signal}: {ended:?}");
        assert!(started.elapsed() < LONG, "{signal}");
        assert_eq!(
            String::from_utf8_lossy(&ended.stderr),
            "error: interrupted; the servers are ended\n"
        );
        let probe = std::fs::read_to_string(data.join("cancelled"));
        let probe = probe.expect("the server was told");
        let is_there = std::process::Command::new("kill")
            .args(["-0", &probe])
            .output();
        assert!(
            !is_there.expect("kill runs").status.success(),
            "{probe} runs"
        );
    }
}

#[test]
fn results_over_http_keep_their_text() {
    for events in [false, true] {
        let server = over_http(events);
        let place = Place::new();
        let entry = json!({"far": {"type": "streamable-http", "url": server.url("/mcp")}});
        package_of(&place, "p", &entry);
        let called = run(&place, &["call", "p", "far", "tide", "--json"]);
        assert_eq!(called.stdout, format!("{ODD}\n"), "{called:?}");
        let called = run(&place, &["call", "p", "far", "tide"]);
        assert_eq!(
            called.stdout,
            "[hologram: not known here; --json shows it]\nx\n"
        );
    }
}

#[test]
fn an_answer_that_breaks_off_is_none() {
    for (kind, said) in [
        ("text/event-stream", "ended before the answer came"),
        ("application/json", "sends what is no answer of MCP"),
    ] {
        let server = Server::new(move |asked: &Asked| {
            let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            if asked.method != "POST" {
                return Reply::new(405, "");
            }
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                }),
                Some("tools/list") => json!({"tools": [{"name": "t"}]}),
                Some("tools/call") => {
                    return Reply::new(200, "data: {\"json").header("content-type", kind);
                }
                _ => return Reply::new(202, ""),
            };
            Reply::json(
                200,
                &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
            )
        });
        let place = Place::new();
        let entries = json!({"s": {"type": "streamable-http", "url": server.url("/mcp")}});
        package_of(&place, "p", &entries);
        let called = run(&place, &["call", "p", "s", "t"]);
        assert_eq!(called.status, Some(2), "{called:?}");
        assert!(called.stderr.contains(said), "{called:?}");
        assert!(!called.stderr.contains("answered with error"), "{called:?}");
    }
}

#[test]
fn an_answer_that_is_no_utf8_costs_its_call_alone() {
    let said = "the server's answer breaks the protocol: it is not UTF-8";
    for options in [&["--probe=latin"][..], &["--probe=latin", "--probe=batch"]] {
        let place = Place::new();
        package(&place, "p", &[("probe", options)]);
        let call = |text: &str| {
            let args = json!({ "text": text }).to_string();
            let call = [
                "call",
                "p",
                "probe",
                "echo",
                "--allow-stdio",
                "--timeout",
                "20",
            ];
            run(&place, &[&call[..], &["--args", &args]].concat())
        };
        let called = call("aÿb");
        assert_eq!(called.status, Some(2), "{called:?}");
        assert!(called.stderr.contains(said), "{called:?}");
        // What stands for it may be meant.
        assert_eq!(call("\u{fffd}").stdout, "\u{fffd}\n");
        let mut host = Host::start(&place, &["p"]);
        let answer = host.call("mcp__probe__echo", json!({"text": "ÿ"}));
        assert_eq!(answer["error"]["code"], -32603);
        let text = answer["error"]["message"].as_str().expect("a text");
        assert!(text.contains(said), "{text}");
        assert_eq!(host.text("mcp__probe__echo", json!({"text": "é"})), "é");
    }
}
