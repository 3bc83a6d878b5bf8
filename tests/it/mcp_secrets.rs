//! What a server repeats of the credentials it was given shows up in no message.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::mcp_support::{Host, apkit, package, package_of, run};
use crate::support::{Place, Run, finish};
use crate::web::{Asked, Reply, Server};

const SECRET: &str = "zqXjkvb-wordle-77";

/// `check` with the credential `name`, whose value stands in a variable.
fn check(place: &Place, name: &str, source: &str) -> Run {
    let given = format!("s:{name}={source}");
    let run = finish(
        apkit(place)
            .args(["check", "p", "--allow-stdio", "--credential", &given])
            .env("VALUE", SECRET),
    );
    let all = format!("{}{}", run.stdout, run.stderr).to_lowercase();
    assert!(!all.contains(&SECRET.to_lowercase()), "{run:?}");
    run
}

#[test]
fn what_a_subprocess_says_is_masked() {
    let place = Place::new();
    let info = r#""result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"@","version":"@"}}"#;
    let version = format!(
        r#""result":{{"protocolVersion":"{}@","capabilities":{{}}}}"#,
        "x".repeat(30)
    );
    let says = [
        (
            r#"say:initialize "error":{"code":-1,"message":"no @"}"#.to_owned(),
            "it answered with error -1: no [KEY]",
        ),
        (
            r#"say:tools/list "error":{"code":-1,"message":"no @"}"#.to_owned(),
            "failed to list its tools: it answered with error -1: no [KEY]",
        ),
        (
            format!("say:initialize {info}"),
            "[KEY] [KEY], MCP 2025-06-18",
        ),
        (format!("say:initialize {version}"), "x[KEY]"),
        (
            r#"say:tools/list "result":{"tools":"@"}"#.to_owned(),
            "cannot be read: invalid type: string \"[KEY]\"",
        ),
    ];
    for (told, said) in says {
        let told = format!("--probe={told}");
        package(&place, "p", &[("s", &[&told])]);
        let checked = check(&place, "KEY", "env:VALUE");
        assert!(checked.stdout.contains(said), "{said}: {checked:?}");
    }
    // Its standard error, and the token without the word before it.
    package(
        &place,
        "p",
        &[("s", &["--probe=stderr:bad @", "--probe=exit:3"])],
    );
    for source in ["env:VALUE", "Bearer env:VALUE"] {
        let checked = check(&place, "KEY", source);
        assert!(checked.stdout.contains("| bad [KEY]"), "{checked:?}");
    }
}

#[test]
fn what_a_server_over_http_says_is_masked() {
    let place = Place::new();
    type Answer = fn(&str, &Asked) -> Reply;
    let answers: [(Answer, &str); 4] = [
        (
            |key, asked| {
                let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
                let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
                match message["method"].as_str() {
                    Some("initialize") => {
                        answer["result"] = json!({
                            "protocolVersion": "2025-06-18",
                            "capabilities": {"tools": {}},
                        });
                    }
                    Some("tools/list") => {
                        answer["error"] = json!({"code": -3, "message": format!("no {key}")});
                    }
                    _ => return Reply::new(202, ""),
                }
                Reply::json(200, &answer)
            },
            "error -3: no [X-Key]",
        ),
        (
            |key, _| Reply::redirect(307, &format!("http://127.0.0.3:1/{key}")),
            "to http://127.0.0.3:1/[X-Key];",
        ),
        (
            |key, _| Reply::new(200, "").header("content-type", &format!("text/{key}")),
            "content of the type text/[X-Key]",
        ),
        (
            |key, _| Reply::new(401, "").header("www-authenticate", &format!("{key} realm=\"x\"")),
            "scheme [X-Key]",
        ),
    ];
    for (answer, said) in answers {
        let server = Server::new(move |asked: &Asked| {
            let key = asked.header("x-key").unwrap_or_default();
            answer(key, asked)
        });
        let entries = json!({"s": {"type": "streamable-http", "url": server.url("/mcp")}});
        package_of(&place, "p", &entries);
        let checked = check(&place, "X-Key", "env:VALUE");
        assert!(checked.stdout.contains(said), "{said}: {checked:?}");
    }
}

#[test]
fn names_of_tools_in_messages_are_masked() {
    let place = Place::new();
    package(&place, "p", &[("s", &["--probe=tools:@é,@ü,a-@"])]);
    let apkit = |arguments: &[&str]| {
        let mut command = apkit(&place);
        command
            .args(arguments)
            .args(["--allow-stdio", "--credential", "s:KEY=env:VALUE"])
            .env("VALUE", SECRET);
        command
    };
    for (tool, said) in [
        ("nope", "echo"),
        (&*format!("b-{SECRET}"), "did you mean a-[KEY]?"),
    ] {
        let called = finish(&mut apkit(&["call", "p", "s", tool]));
        assert_eq!(called.status, Some(2), "{called:?}");
        assert!(called.stderr.contains(said), "{called:?}");
        // What the user wrote may be repeated.
        let own = called.stderr.replacen(tool, "", 1);
        assert!(!own.contains(SECRET), "{called:?}");
    }
    let mut host = Host::spawn(&mut apkit(&["serve", "p", "--wait", "20"]));
    host.greet();
    let names = host.names();
    let own = format!("mcp__s__a-{SECRET}");
    assert!(names.contains(&own), "a list is not a message");
    let near = host.call("mcp__s__a-zqXjkvb-wordle-7", json!({}));
    assert_eq!(
        near["error"]["message"],
        "Unknown tool: mcp__s__a-zqXjkvb-wordle-7"
    );
    let errors = host.end().1;
    assert_eq!(
        errors,
        "apkit: tool `[KEY]ü` of server `s` is not offered: tool `[KEY]é` of server `s` has its name\n"
    );
}

/// As the secrets of containers are: everybody may read them, nobody may change that.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_others_may_read_is_taken_from_a_read_only_mount_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    package(&place, "p", &[("probe", &[])]);
    place.write("run/secrets/almanac", "hush");
    let file = place.path().join("run/secrets/almanac");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).expect("a mode");
    let credential = format!("probe:API_KEY=file:{}", file.display());
    let arguments = ["plan", "p", "--allow-stdio", "--credential", &credential];
    let planned = run(&place, &arguments);
    assert_eq!(planned.status, Some(1), "{planned:?}");
    let told = "other users may read it";
    assert!(planned.stdout.contains(told), "{planned:?}");

    let apkit = apkit(&place);
    let script = "mount --bind run run && mount -o remount,ro,bind run || exit 77; exec \"$@\"";
    let mut mounted = std::process::Command::new("unshare");
    mounted
        .current_dir(place.path())
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(apkit.get_program())
        .arg("mcp")
        .args(arguments);
    for (name, value) in apkit.get_envs() {
        let more = if name == "PATH" {
            ":/usr/sbin:/usr/bin:/sbin:/bin"
        } else {
            ""
        };
        let mut value = value.unwrap_or_default().to_owned();
        value.push(more);
        mounted.env(name, value);
    }
    let planned = finish(&mut mounted);
    if matches!(planned.status, Some(1 | 77) | None) && planned.stdout.is_empty() {
        // Past the harness, which would swallow it.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: mcp_secrets: nothing can be mounted here ({planned:?})"
        );
        return;
    }
    assert_eq!(planned.status, Some(0), "{planned:?}");
    assert!(planned.stdout.contains("API_KEY from file "), "{planned:?}");
}
