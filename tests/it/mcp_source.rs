//! What `apkit mcp` takes as SOURCE beside packages that lie here.

use serde_json::json;

#[cfg(unix)]
use crate::mcp_support::apkit;
use crate::mcp_support::{Host, json as printed, run};
use crate::source_npm::tarball;
#[cfg(unix)]
use crate::support::finish;
use crate::support::{Place, manifest, mcp};
use crate::web::{Reply, Server};

/// The address of an archive may be signed: it is fetched and not shown.
#[test]
fn a_signed_address_is_taken_and_not_shown() {
    let servers = r#"{"probe": {"type": "stdio", "command": "probe"}}"#;
    let manifest = manifest("tides", "");
    let servers = mcp(servers);
    let archive = tarball(&[
        ("package/plugin.json", manifest.as_str()),
        ("package/mcp.json", servers.as_str()),
    ]);
    let server = Server::new(move |_| Reply::new(200, archive.clone()));
    let place = Place::new();
    let signed = |word: &str| server.url(&format!("/tides.tgz?token={word}"));
    let one = signed("hunter2SECRET");

    let (status, plan) = printed(&place, &["plan", &one, "--allow-stdio"]);
    assert_eq!(status, Some(0), "{plan}");
    assert_eq!(server.targets(), ["/tides.tgz?token=hunter2SECRET"]);
    assert_eq!(plan["package"]["path"], json!(server.url("/tides.tgz?…")));
    assert!(!plan.to_string().contains("hunter2"), "{plan}");
    // The same place, signed anew, has the same data.
    let (_, again) = printed(&place, &["plan", &signed("hunter3SECRET")]);
    assert_eq!(again["data"], plan["data"]);
    // Another directory of the archive may be another package.
    let below = format!("{one}&path=package");
    let ran = run(&place, &["plan", &below]);
    assert!(!ran.stderr.contains("hunter2"), "{ran:?}");

    for arguments in [
        &["check", &one, "--allow-stdio"][..],
        &["tools", &one, &signed("x"), "--allow-stdio"],
        &["call", &one, "probe", "echo", "--allow-stdio"],
        &["check", &one],
    ] {
        let ran = run(&place, arguments);
        assert!(matches!(ran.status, Some(0)), "{ran:?}");
        assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    }
    let mut host = Host::start(&place, &[&one]);
    assert_eq!(host.text("mcp__probe__echo", json!({"text": "x"})), "x");
    assert_eq!(host.end(), (Some(0), String::new()));

    let gone = Server::new(|_| Reply::new(403, "no"));
    let ran = run(&place, &["plan", &gone.url("/a.tgz?token=hunter2SECRET")]);
    assert_eq!(ran.status, Some(2));
    let shown = gone.url("/a.tgz?…");
    assert!(ran.stderr.contains(&shown), "{ran:?}");
    assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
}

/// What a killed process has fetched goes away with the next fetch; what is not known to
/// be such a rest stays, as does what is in use.
#[cfg(unix)]
#[test]
fn what_a_killed_process_fetched_goes_with_the_next_fetch() {
    let place = Place::new();
    let servers = mcp(r#"{"probe": {"type": "stdio", "command": "probe"}}"#);
    let manifest = manifest("tides", "");
    let archive = tarball(&[
        ("package/plugin.json", manifest.as_str()),
        ("package/mcp.json", servers.as_str()),
    ]);
    place.write("tides.tgz", archive);
    let others = place.write("tmp/apkit-1-0/theirs", "x");
    let tmp = place.path().join("tmp");
    let left = || std::fs::read_dir(&tmp).expect("a directory").count();
    let serve = || {
        let mut command = apkit(&place);
        command.args(["serve", "tides.tgz", "--allow-stdio"]);
        let mut host = Host::spawn(command.env("TMPDIR", &tmp));
        host.greet();
        host
    };
    let mut killed = serve();
    killed.child.kill().expect("it runs");
    killed.ended();
    assert_eq!(left(), 2, "what it fetched is left");

    let mut second = serve();
    assert_eq!(left(), 2, "that went, and the second has its own");
    let plan = finish(
        apkit(&place)
            .env("TMPDIR", &tmp)
            .args(["plan", "tides.tgz"]),
    );
    assert!(plan.stdout.contains("probe"), "{plan:?}");
    assert_eq!(left(), 2, "what is in use stays");
    assert_eq!(second.end(), (Some(0), String::new()));
    assert_eq!(left(), 1);
    assert!(others.exists());
}
