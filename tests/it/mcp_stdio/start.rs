//! What a server is given, and why it does not start.

use std::fs;
use std::path::Path;

use apkit::mcp::credential::Credentials;
use apkit::mcp::plan::Process;
use apkit::mcp::stdio::{StartError, Stdio};
use serde_json::json;

use crate::probe::{self, greet, limits, open, process, report};
use crate::support::Place;

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let place = Place::new();
    let args = [
        "two words",
        "",
        "\"quoted\" 'twice'",
        "$HOME",
        "${PLUGIN_ROOT}",
        "${OTHER}",
        "*",
        "a\nb",
        "a\\b",
        "Überfall ü 海",
        "-x",
        "--",
        "%PATH%",
        "; exit 1",
        " ",
    ];
    let (mut client, _) = open(&place, &args, &limits()).await;
    let report = report(&client).await;
    let argv: Vec<String> = serde_json::from_value(report["argv"].clone()).expect("texts");
    assert_eq!(argv[0], probe::program().to_str().expect("UTF-8"));
    assert_eq!(argv[1..], args);
    assert_eq!(report["initialize"]["protocolVersion"], "2025-11-25");
    assert_eq!(report["initialize"]["clientInfo"]["name"], "tests");
    client.close().await.expect("an end");
}

#[tokio::test]
async fn the_environment_is_the_plans_and_credentials_and_no_more() {
    let place = Place::new();
    let mut process = process(&place, &[]);
    process.env.insert("MODE".into(), "package".into());
    process.env.insert("EMPTY".into(), "".into());
    process.env.insert("LINES".into(), "a\nb=c".into());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let credentials = Credentials {
        env: vec![
            pair("MODE", "user"),
            pair("TOKEN", "kept to itself"),
            pair("PLUGIN_ROOT", "/elsewhere"),
            pair("PLUGIN_DATA", "/elsewhere"),
        ],
        ..Credentials::default()
    };
    assert!(!format!("{credentials:?}").contains("kept to itself"));
    let server = Stdio::start(&process, &credentials, &limits()).await;
    let mut client = greet(server.expect("it starts"))
        .await
        .expect("a handshake");
    let report = report(&client).await;
    let path = |name: &str| place.path().canonicalize().expect("it is there").join(name);
    let mut expected = json!({
        "PLUGIN_ROOT": path("root"),
        "PLUGIN_DATA": path("data"),
        "MODE": "user",
        "EMPTY": "",
        "LINES": "a\nb=c",
        "TOKEN": "kept to itself",
    });
    if cfg!(windows) {
        expected["SystemRoot"] = report["env"]["SystemRoot"].clone();
    }
    assert_eq!(report["env"], expected);
    assert_eq!(report["cwd"], json!(path("root")));
    client.close().await.expect("an end");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_has_its_three_pipes_and_nothing_of_ours() {
    let place = Place::new();
    let _open = fs::File::open(place.path()).expect("a directory");
    let (mut client, _) = open(&place, &[], &limits()).await;
    let report = report(&client).await;
    let open = report["descriptors"].as_object().expect("descriptors");
    assert_eq!(open.len(), 3, "{open:?}");
    assert!(
        open.values()
            .all(|to| to.as_str().is_some_and(|to| to.starts_with("pipe:")))
    );
    client.close().await.expect("an end");
}

#[cfg(unix)]
#[tokio::test]
async fn directories_are_made_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let mut process = process(&place, &["--probe=mark:here"]);
    process.create_cwd = true;
    process.cwd = Path::new(&process.env[std::ffi::OsStr::new("PLUGIN_DATA")]).join("a/b c");
    let server = probe::start(&process, &limits()).await.expect("it starts");
    let id = server.watch().id();
    let mut client = greet(server).await.expect("a handshake");
    assert_eq!(report(&client).await["cwd"], json!(process.cwd));
    for path in ["data", "data/a", "data/a/b c"] {
        let mode = fs::metadata(place.path().join(path))
            .expect("it is there")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o700, "{path}");
    }
    assert_eq!(place.read("data/here"), id.to_string());
    client.close().await.expect("an end");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_was_put_in_the_way_is_not_followed_out() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let base = place.path().canonicalize().expect("a directory");
    for path in ["data", "outside"] {
        fs::create_dir(base.join(path)).expect("a directory");
    }
    symlink(base.join("outside"), base.join("data/a")).expect("a link");
    let good = process(&place, &[]);

    let made = Process {
        cwd: base.join("data/a/b"),
        create_cwd: true,
        ..good.clone()
    };
    let error = probe::start(&made, &limits()).await.expect_err("outside");
    assert!(matches!(error, StartError::Outside { .. }), "{error}");
    assert!(!base.join("outside/b").exists());

    let there = Process {
        cwd: base.join("data/a"),
        ..good.clone()
    };
    let error = probe::start(&there, &limits()).await.expect_err("outside");
    assert_eq!(
        error.to_string(),
        format!(
            "its working directory {} leads out of the package, or of its data directory, \
             where it did not before",
            base.join("data/a").display()
        )
    );

    symlink(probe::program(), base.join("root/run")).expect("a link");
    let program = Process {
        program: base.join("root/run"),
        ..good
    };
    let error = probe::start(&program, &limits())
        .await
        .expect_err("outside");
    assert!(error.to_string().starts_with("its command "), "{error}");
}

/// A server may write into its data directory, and could lead its next start out of it.
#[cfg(unix)]
#[tokio::test]
async fn a_working_directory_of_the_data_does_not_become_one_of_the_package() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let base = place.path().canonicalize().expect("a directory");
    let good = process(&place, &[]);
    for (planned, link, to) in [
        ("data/w", "data/w", "root"),
        ("data/w", "data/w", "root/sub"),
        ("data", "data", "root"),
        ("data/sub", "data", "root"),
        ("root/sub", "root/sub", "data"),
    ] {
        for (directory, sub) in [("data", "data/other"), ("root", "root/sub")] {
            let _ = fs::remove_file(base.join(directory));
            let _ = fs::remove_dir_all(base.join(directory));
            fs::create_dir_all(base.join(sub)).expect("a directory");
        }
        let _ = fs::remove_dir_all(base.join(link));
        symlink(base.join(to), base.join(link)).expect("a link");
        let process = Process {
            cwd: base.join(planned),
            create_cwd: planned.starts_with("data"),
            ..good.clone()
        };
        let error = probe::start(&process, &limits()).await.expect_err(planned);
        assert!(
            matches!(error, StartError::Outside { .. }),
            "{planned}: {error}"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn what_cannot_be_executed_is_told_at_once_and_why() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let base = place.path().canonicalize().expect("a directory");
    let good = process(&place, &[]);
    let file = |name: &str, content: &str, mode: u32| {
        let path = place.write(&format!("root/{name}"), content);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    file("plain", "#!/bin/sh\n", 0o644);
    file("no-line", "echo hello\n", 0o755);
    file("no-interpreter", "#!/no/such thing\n", 0o755);
    file("windows", "#!/bin/sh\r\n", 0o755);
    for (name, reason) in [
        ("none", "there is no such file"),
        (
            "plain",
            "permission denied; it must be marked as executable (chmod +x)",
        ),
        ("", "it is a directory"),
        (
            "no-line",
            "it is neither a program for this machine nor a script",
        ),
        (
            "no-interpreter",
            "its first line names the interpreter \"/no/such\", which",
        ),
        (
            "windows",
            "its first line names the interpreter \"/bin/sh\\r\", which",
        ),
    ] {
        let program = base.join("root").join(name);
        let process = Process {
            program: program.clone(),
            ..good.clone()
        };
        let error = probe::start(&process, &limits())
            .await
            .expect_err("not a program");
        let wanted = format!("{} cannot be executed: {reason}", program.display());
        assert!(error.to_string().starts_with(&wanted), "{error}");
    }
    let process = Process {
        args: vec!["x".repeat(4 << 20)],
        ..good
    };
    let error = probe::start(&process, &limits())
        .await
        .expect_err("too long");
    assert!(
        error.to_string().contains("longer than the system allows"),
        "{error}"
    );
}

/// As for a package that is being installed by another process.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_is_still_written_to_is_waited_for() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let mut process = process(&place, &[]);
    let script = format!("#!/bin/sh\nexec '{}'\n", probe::program().display());
    let path = place.write("root/run", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    let busy = fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("a file");
    process.program = path.canonicalize().expect("it is there");
    let release = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        drop(busy);
    };
    let limits = limits();
    let (server, ()) = tokio::join!(probe::start(&process, &limits), release);
    let mut client = greet(server.expect("it starts"))
        .await
        .expect("a handshake");
    client.close().await.expect("an end");
}

#[cfg(unix)]
#[test]
fn the_guard_is_nothing_to_run_by_hand() {
    let place = Place::new();
    for arguments in [
        &["mcp-guard"][..],
        &["mcp-guard", "1"],
        &["mcp-guard", "77"],
    ] {
        let run = place.run(arguments);
        assert_eq!(run.status, Some(2));
        assert!(
            run.stderr
                .starts_with("apkit: mcp-guard is started by apkit itself")
        );
    }
    assert!(!place.run(["--help"]).stdout.contains("mcp-guard"));
}

#[tokio::test]
async fn what_no_process_can_be_given_is_named() {
    let place = Place::new();
    let good = process(&place, &[]);
    let start = async |change: &dyn Fn(&mut Process)| {
        let mut process = good.clone();
        change(&mut process);
        let error = probe::start(&process, &limits())
            .await
            .expect_err("refused");
        error.to_string()
    };
    let nul = "holds a NUL character, which no process can be given";
    let args = start(&|process| process.args = vec![String::new(), "a\0b".to_owned()]).await;
    assert_eq!(args, format!("argument 2 {nul}"));
    let value = start(&|process| drop(process.env.insert("A".into(), "\0".into()))).await;
    assert_eq!(value, format!("the variable \"A\" {nul}"));
    let name = start(&|process| drop(process.env.insert("A=B".into(), "".into()))).await;
    assert_eq!(
        name,
        "the variable \"A=B\" has a name that no process can be given"
    );
    let gone = place.path().join("gone");
    let cwd = start(&|process| process.cwd.clone_from(&gone)).await;
    assert!(
        cwd.starts_with(&format!("the working directory {} cannot", gone.display())),
        "{cwd}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_guard_that_is_none_is_named() {
    let place = Place::new();
    let process = process(&place, &[]);
    for (guard, why) in [("/no/guard", "No such file"), ("/bin/true", "")] {
        let mut limits = limits();
        limits.guard = guard.into();
        let error = probe::start(&process, &limits).await.expect_err("no guard");
        let wanted = format!("{guard}, which is to guard it, did not do so: {why}");
        assert!(error.to_string().starts_with(&wanted), "{error}");
    }
}

#[tokio::test]
async fn an_older_protocol_and_pages_of_tools_are_understood() {
    let place = Place::new();
    let args = ["--probe=version:2024-11-05", "--probe=pages:3"];
    let (mut client, watch) = open(&place, &args, &limits()).await;
    let server = client.peer_info().expect("the handshake's answer");
    assert_eq!(server.protocol_version.as_str(), "2024-11-05");
    let tools = client.list_all_tools().await.expect("tools");
    assert!(tools.len() > 6, "{}", tools.len());
    assert!(tools.iter().any(|tool| tool.name == "stubborn"));
    assert_eq!(watch.skipped(), 0);
    client.close().await.expect("an end");
}
