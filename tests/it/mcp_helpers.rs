//! Programs that print credentials: how they are run, and what one that hangs costs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use apkit::mcp::credential::{Credentials, Helpers, Keys};
use apkit::mcp::plan::ServerPlan;
use serde_json::{Value, json};

use crate::mcp_support::{Host, LONG, apkit, far_answer, package, package_of};
use crate::probe::{process, runs, soon};
use crate::support::{Place, finish};
use crate::web::{Asked, Reply, Server};

const SECRET: &str = "s3cret-Value-0123456789";

/// A private file that gives the server `s` of `p` what `command` prints.
fn keys(place: &Place, command: &str) -> PathBuf {
    let text = format!(
        "[[server]]\nplugin = \"p\"\nserver = \"s\"\nenv.KEY = {{ prefix = \"<\", command = {command} }}\n"
    );
    let path = place.path().join("keys.toml");
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
    path
}

/// The same, with a helper that hangs together with a process of its own, whose id is in
/// the file `id` then.
fn hanging(place: &Place) -> PathBuf {
    let id = place.path().join("id");
    let script = format!("sleep 60 & echo $! > {}; wait", id.display());
    keys(place, &json!(["sh", "-c", script]).to_string())
}

/// The process that a helper started.
fn started(place: &Place) -> u32 {
    let path = place.path().join("id");
    let id = || -> Option<u32> { fs::read_to_string(&path).ok()?.trim().parse().ok() };
    assert!(soon(LONG, || id().is_some()));
    id().expect("a process id")
}

/// `apkit mcp …` with those credentials and the programs of the system.
fn with(place: &Place, keys: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = apkit(place);
    let own = crate::probe::program().parent().expect("a directory");
    let path = std::env::join_paths([own, "/usr/bin".as_ref(), "/bin".as_ref()]);
    command
        .args(arguments)
        .arg("--credentials")
        .arg(keys)
        .env("PATH", path.expect("directories"));
    command
}

#[tokio::test]
async fn a_helper_is_run_without_a_shell() {
    let place = Place::new();
    let environment: BTreeMap<OsString, OsString> = BTreeMap::from([
        ("KEY".into(), SECRET.into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
    ]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let helpers = Helpers {
        guard: env!("CARGO_BIN_EXE_apkit").into(),
        limit: LONG,
        listener: Arc::new(move |line: &str| {
            hears.lock().expect("no panic").push(line.to_owned());
        }),
    };
    let server = ServerPlan {
        name: "s".to_owned(),
        launch: Ok(apkit::mcp::plan::Launch::Stdio(process(&place, &[]))),
    };
    let run = async |command: &str| {
        let keys = Keys::read(&keys(&place, command)).expect("keys");
        Credentials::for_server(&keys, "p", &server, &environment, &helpers)
            .await
            .map(|credentials| credentials.env[0].1.clone())
            .map_err(|error| error.problem)
    };
    let printed = run(r#"["printf", "%s\n", "$KEY;x"]"#).await;
    assert_eq!(printed, Ok("<$KEY;x".to_owned()));
    let printed = run(r#"["sh", "-c", "echo $KEY"]"#).await;
    assert_eq!(printed, Ok(format!("<{SECRET}")));
    for (command, wanted) in [
        (
            r#"["sh", "-c", "echo s3cret; echo locked >&2; exit 3"]"#,
            "sh failed with status 3",
        ),
        (
            r#"["printf", "one\ntwo\n"]"#,
            "printf gives more than one line",
        ),
        (r#"["true"]"#, "true gives nothing"),
        (
            r#"["/nowhere/helper"]"#,
            "/nowhere/helper cannot be started",
        ),
        (
            r#"["no-such-helper"]"#,
            "no-such-helper cannot be started: there is no program",
        ),
        (
            r#"["head", "-c", "100000", "/dev/zero"]"#,
            "head gives more than 65536 bytes",
        ),
    ] {
        let problem = run(command).await.expect_err(command);
        assert!(problem.starts_with(wanted), "{problem}");
        assert!(!problem.contains("s3cret"), "{problem}");
    }
    assert_eq!(*heard.lock().expect("no panic"), ["locked"]);
    // What it leaves running, as the agent of a keyring is, goes on.
    let id = place.path().join("id");
    let script = format!(
        "sleep 30 >/dev/null 2>&1 & echo $! > {}; echo x",
        id.display()
    );
    let printed = run(&json!(["sh", "-c", script]).to_string()).await;
    assert_eq!(printed, Ok("<x".to_owned()));
    tokio::time::sleep(Duration::from_millis(800)).await;
    let left = started(&place);
    assert!(runs(left));
    let _ = Command::new("kill").arg(left.to_string()).status();
}

#[tokio::test]
async fn an_agent_that_holds_the_output_of_its_helper_costs_no_time() {
    let place = Place::new();
    let environment = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
    let words: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::downgrade(&words);
    let hears = Arc::clone(&words);
    let helpers = Helpers {
        guard: env!("CARGO_BIN_EXE_apkit").into(),
        limit: LONG,
        listener: Arc::new(move |line: &str| {
            hears.lock().expect("no panic").push(line.to_owned());
        }),
    };
    let server = ServerPlan {
        name: "s".to_owned(),
        launch: Ok(apkit::mcp::plan::Launch::Stdio(process(&place, &[]))),
    };
    let id = place.path().join("id");
    let (mut got, mut agents) = (Vec::new(), Vec::new());
    for end in ["exit 0", "exit 3"] {
        let script = format!(
            "sleep 90 & echo $! > {}; echo x; echo said >&2; {end}",
            id.display()
        );
        let command = json!(["sh", "-c", script]).to_string();
        let keys = Keys::read(&keys(&place, &command)).expect("keys");
        let given = Credentials::for_server(&keys, "p", &server, &environment, &helpers).await;
        let given = given.map(|given| given.env[0].1.clone());
        got.push(given.map_err(|error| error.problem));
        let agent = started(&place);
        agents.push((agent, runs(agent)));
    }
    let said = words.lock().expect("no panic").clone();
    drop((helpers, words));
    tokio::time::sleep(Duration::from_millis(20)).await;
    let is_listening = heard.upgrade().is_some();
    for (agent, _) in &agents {
        let _ = Command::new("kill").arg(agent.to_string()).status();
    }
    let failed = Err("sh failed with status 3".to_owned());
    assert_eq!(got, [Ok("<x".to_owned()), failed]);
    assert_eq!(said, ["said", "said"]);
    assert!(agents.iter().all(|(_, runs)| *runs), "agents go on");
    assert!(!is_listening, "nobody hears what they say");
}

/// A token runs out while a host is served: its helper is run once more.
#[test]
fn a_helper_is_run_again_after_a_refusal() {
    let wanted = Arc::new(Mutex::new("Bearer one"));
    let wants = Arc::clone(&wanted);
    let far = Server::new(move |asked: &Asked| {
        let wanted = *wants.lock().expect("no panic");
        match asked.header("authorization") == Some(wanted) {
            true => far_answer(asked, false),
            false => Reply::new(401, "").header("www-authenticate", "Bearer"),
        }
    });
    let place = Place::new();
    let url = far.url("/mcp");
    package_of(
        &place,
        "p",
        &json!({"s": {"type": "streamable-http", "url": url}}),
    );
    place.write("token", "one\n");
    let count = place.path().join("count");
    let token = place.path().join("token");
    let script = format!("echo x >> {}; cat {}", count.display(), token.display());
    let (command, origin) = (json!(["sh", "-c", script]), far.url(""));
    let keys = place.write(
        "keys.toml",
        format!(
            "[[server]]\nplugin = \"p\"\nserver = \"s\"\norigin = \"{origin}\"\nheaders.Authorization = {{ prefix = \"Bearer \", command = {command} }}\n"
        ),
    );
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).expect("a mode");
    let mut host = Host::spawn(&mut with(&place, &keys, &["serve", "p"]));
    host.greet();
    let mut call = || host.call("mcp__s__tide", json!({}));
    assert!(call()["result"].is_object());
    place.write("token", "two\n");
    *wanted.lock().expect("no panic") = "Bearer two";
    let refused = call();
    let text = refused["error"]["message"].as_str().expect("a text");
    assert!(text.contains("does not accept the credentials"), "{text}");
    assert!(
        soon(LONG, || call()["result"].is_object()),
        "it is taken again"
    );
    let ran = fs::read_to_string(&count).expect("a file");
    assert_eq!(ran.lines().count(), 2, "once more, and not with each call");
}

#[test]
fn a_helper_that_hangs_costs_its_own_server_alone() {
    let place = Place::new();
    package(&place, "p", &[("s", &[]), ("good", &[])]);
    let keys = hanging(&place);
    let began = Instant::now();
    let arguments = ["check", "p", "--allow-stdio", "--json", "--timeout", "2"];
    let run = finish(&mut with(&place, &keys, &arguments));
    assert!(began.elapsed() < Duration::from_secs(12));
    assert_eq!(run.status, Some(1), "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let [bad, good] = [&report["servers"][0], &report["servers"][1]];
    assert_eq!(
        bad["reason"],
        "failed to start: the credential KEY of s: sh gave no answer within 2 s; --timeout gives it more time"
    );
    assert_eq!(good["state"], "ok");
    let left = started(&place);
    assert!(soon(Duration::from_secs(2), || !runs(left)));
}

#[test]
fn serve_goes_on_while_a_helper_hangs() {
    let place = Place::new();
    package(&place, "p", &[("s", &[]), ("good", &[])]);
    let keys = hanging(&place);
    let mut command = with(
        &place,
        &keys,
        &["serve", "p", "--allow-stdio", "--wait", "2"],
    );
    let mut host = Host::spawn(&mut command);
    let began = Instant::now();
    host.greet();
    assert!(began.elapsed() < Duration::from_secs(12));
    assert_eq!(host.text("mcp__good__echo", json!({"text": "hi"})), "hi");
    let left = started(&place);
    assert!(runs(left));
    let id = host.child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(host.ended().0, Some(0));
    assert!(soon(Duration::from_secs(2), || !runs(left)));
}

#[test]
fn a_helper_ends_with_the_program() {
    for signal in ["-TERM", "-INT", "-KILL"] {
        let place = Place::new();
        package(&place, "p", &[("s", &[])]);
        let keys = hanging(&place);
        let mut child = with(&place, &keys, &["check", "p", "--allow-stdio"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let left = started(&place);
        let began = Instant::now();
        let id = child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), (signal != "-KILL").then_some(130));
        assert!(began.elapsed() < Duration::from_secs(8), "{signal}");
        assert!(soon(Duration::from_secs(2), || !runs(left)), "{signal}");
    }
}
