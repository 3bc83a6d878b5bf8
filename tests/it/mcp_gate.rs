//! The user's rules when servers are started and connected to, not only when that
//! is planned.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_support::{Host, apkit, package, package_of, run};
use crate::support::{Place, finish, manifest};
use crate::web::{Reply, Server};

/// The digest of the package `p` as it is now.
fn digest(place: &Place) -> String {
    let plan = run(place, &["plan", "p", "--json"]);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    plan["digest"].as_str().expect("a digest").to_owned()
}

/// Lets the programs of `p` be started as they are now.
fn allow(place: &Place, more: &str) {
    let digest = digest(place);
    place.write(
        "store/apkit.toml",
        format!("[[stdio.allow]]\nplugin = \"p\"\ndigest = \"{digest}\"\n{more}"),
    );
}

#[test]
fn what_has_changed_since_it_was_allowed_is_not_started_again() {
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    place.write("p/lib.txt", "one");
    allow(&place, "");
    let mut host = Host::spawn(apkit(&place).args(["serve", "p"]));
    host.greet();
    assert_eq!(host.text("mcp__s__echo", json!({"text": "hi"})), "hi");
    place.write("p/lib.txt", "two");
    let dying = host.call("mcp__s__die", json!({"status": 7}));
    assert_eq!(dying["error"]["code"], -32603, "{dying}");
    thread::sleep(Duration::from_millis(1_100));
    let again = host.call("mcp__s__echo", json!({"text": "hi"}));
    let message = again["error"]["message"].as_str().expect("an error");
    assert!(
        message.contains("failed to start: the package in ")
            && message.contains(" has changed: its content is sha256:"),
        "{message}"
    );
    // As it was, it may be.
    place.write("p/lib.txt", "one");
    thread::sleep(Duration::from_millis(2_100));
    assert_eq!(host.text("mcp__s__echo", json!({"text": "hi"})), "hi");
}

#[test]
fn a_rule_that_misses_by_a_name_is_told() {
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    let rule = |plugin: &str, server: &str| {
        let digest = digest(&place);
        let text = format!(
            "[[stdio.allow]]\nplugin = {plugin:?}\ndigest = {digest:?}\nserver = {server:?}\n"
        );
        place.write("store/apkit.toml", text);
        let planned = run(&place, &["plan", "p", "--json"]);
        place.write("store/apkit.toml", "");
        planned
    };
    assert_eq!(rule("p", "*").status, Some(0));
    for (plugin, server) in [("P", "s"), ("p", "t")] {
        let planned = rule(plugin, server);
        let plan: Value = serde_json::from_str(&planned.stdout).expect("JSON");
        let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
        let told = " names this content, and another package or server";
        assert!(reason.ends_with(told), "{reason}");
    }
    let planned = rule("p*", "s");
    assert_eq!(planned.status, Some(2));
    assert!(
        planned
            .stderr
            .contains("apkit.toml:2:10: a rule that allows"),
        "{planned:?}"
    );
    for kind in ["allow", "deny"] {
        let text = format!("[[remote.{kind}]]\nhost = \"http://127.0.0.1\"\n");
        place.write("store/apkit.toml", text);
        let planned = run(&place, &["plan", "p"]);
        assert_eq!(planned.status, Some(2));
        let told = "apkit.toml:2:8: a host is a name or an address alone";
        assert!(planned.stderr.contains(told), "{planned:?}");
    }
}

#[test]
#[cfg(unix)]
fn what_changes_while_a_credential_is_fetched_is_not_started() {
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    place.write("p/lib.txt", "one");
    allow(&place, "");
    let lib = place.path().join("p/lib.txt");
    let script = format!("echo two > '{}'; echo word", lib.display());
    let file = place.write(
        "credentials.toml",
        format!(
            "[[server]]\nplugin = \"p\"\nserver = \"s\"\nenv.K = {{ command = [\"/bin/sh\", \"-c\", {script:?}] }}\n"
        ),
    );
    private(&file);
    let file = file.to_str().expect("UTF-8");
    let checked = run(&place, &["check", "p", "--credentials", file]);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    assert!(
        checked
            .stdout
            .starts_with("failed  s: failed to start: the package in "),
        "{checked:?}"
    );
}

#[cfg(unix)]
fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, mode).expect("a mode");
}

#[test]
#[cfg(unix)]
fn no_digest_covers_what_a_link_leads_to_outside() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    place.write("p/inside.txt", "one");
    symlink("inside.txt", place.path().join("p/fine")).expect("a link");
    allow(&place, "");
    assert_eq!(run(&place, &["check", "p"]).status, Some(0));
    for target in ["../out", "../missing"] {
        place.write("out/lib.txt", "one");
        let link = place.path().join("p/lib");
        symlink(target, &link).expect("a link");
        let plan = run(&place, &["plan", "p", "--json"]);
        assert_eq!(plan.status, Some(1), "{plan:?}");
        let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
        assert_eq!(plan["digest"], Value::Null);
        let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("the link \"lib\" leads out of the package or nowhere"),
            "{reason}"
        );
        std::fs::remove_file(&link).expect("it is there");
    }
}

/// Two HTTP+SSE listeners, the first of which leads on to the second, and a
/// package with the first one.
fn led_on(place: &Place) -> (Server, Server) {
    let second = Server::elsewhere(|_| Reply::new(405, ""));
    let to = second.url("/sse");
    let first = Server::new(move |_| Reply::redirect(302, &to));
    let entries = json!({"s": {"type": "sse", "url": first.url("/sse")}});
    package_of(place, "p", &entries);
    (first, second)
}

#[test]
fn rules_about_hosts_hold_for_where_a_server_leads() {
    let place = Place::new();
    let (first, second) = led_on(&place);
    let host = |server: &Server| {
        let url = url::Url::parse(&server.url("/")).expect("an address");
        url.host_str().expect("a host").to_owned()
    };
    if host(&first) == host(&second) {
        // This machine has one address of its own.
        return;
    }
    let rules = [
        (
            format!("[[remote.deny]]\nhost = \"{}\"\n", host(&second)),
            "the rule [[remote.deny]]",
        ),
        (
            format!("[[remote.allow]]\nhost = \"{}\"\n", host(&first)),
            "no rule [[remote.allow]]",
        ),
    ];
    for (text, said) in rules {
        place.write("store/apkit.toml", text);
        let checked = run(&place, &["check", "p"]);
        assert_eq!(checked.status, Some(1), "{checked:?}");
        assert!(checked.stdout.contains(said), "{checked:?}");
        assert_eq!(second.targets(), Vec::<String>::new());
    }
    // Without a rule it is followed.
    place.write("store/apkit.toml", "");
    run(&place, &["check", "p"]);
    assert_eq!(second.targets(), ["/sse"]);
}

#[test]
fn a_number_is_not_taken_for_this_machine() {
    let place = Place::new();
    let (first, second) = led_on(&place);
    let port = |server: &Server| {
        let url = url::Url::parse(&server.url("/")).expect("an address");
        url.port().expect("a port")
    };
    for host in ["2130706433", "0x7f000001", "127.1", "0177.0.0.1"] {
        let url = format!("https://{host}:{}/", port(&first));
        let entries = json!({"s": {"type": "streamable-http", "url": url}});
        package_of(&place, "q", &entries);
        let checked = run(&place, &["check", "q"]);
        assert!(
            checked
                .stdout
                .contains("127.0.0.1 is this machine; no connection is made there"),
            "{checked:?}"
        );
    }
    let to = format!("http://2130706434:{}/", port(&second));
    let leading = Server::new(move |_| Reply::redirect(302, &to));
    let entries = json!({"s": {"type": "sse", "url": leading.url("/sse")}});
    package_of(&place, "r", &entries);
    let checked = run(&place, &["check", "r"]);
    assert!(
        checked.stdout.contains("without https: on another machine"),
        "{checked:?}"
    );
    assert_eq!(second.targets(), Vec::<String>::new());
}

#[test]
fn a_server_is_allowed_in_its_own_case_and_denied_in_any() {
    let place = Place::new();
    package(&place, "p", &[("almanac", &[]), ("ALMANAC", &[])]);
    let states = || {
        let plan = run(&place, &["plan", "p", "--json"]);
        let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
        let servers = plan["servers"].as_array().expect("a list");
        let is_on = |server: &Value| server["state"] == "on";
        servers.iter().map(is_on).collect::<Vec<bool>>()
    };
    allow(&place, "server = \"almanac\"\n");
    assert_eq!(states(), [true, false]);
    allow(&place, "server = \"*\"\n");
    assert_eq!(states(), [true, true]);
    allow(&place, "[[stdio.deny]]\nserver = \"almanac\"\n");
    assert_eq!(states(), [false, false]);
}

#[test]
fn an_entry_that_allows_nothing_is_named_with_its_place() {
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    place.write("store/apkit.toml", "[remote]\nprivate = [\"bad entry!\"]\n");
    for command in ["plan", "check"] {
        let run = run(&place, &[command, "p"]);
        assert_eq!(run.status, Some(2), "{run:?}");
        assert!(
            run.stderr
                .contains("apkit.toml:2:12: it is no rule to allow \"bad entry!\": write a host"),
            "{run:?}"
        );
    }
}

#[test]
fn a_credential_for_servers_of_several_packages_is_for_none() {
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    package(&place, "q", &[("s", &[])]);
    let check = |given: &str| {
        let arguments = ["check", "p", "q", "--allow-stdio", "--credential", given];
        finish(apkit(&place).args(arguments).env("VALUE", "a word"))
    };
    let refused = check("s:KEY=env:VALUE");
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert_eq!(
        refused.stderr,
        "error: failed to give the server s a credential: several packages have one; write p/s or q/s\n"
    );
    assert_eq!(check("q/s:KEY=env:VALUE").status, Some(0));
}

#[test]
fn packages_of_one_name_are_told_apart_by_their_source() {
    let place = Place::new();
    for directory in ["a", "b"] {
        package(&place, directory, &[("s", &[])]);
        place.write(&format!("{directory}/plugin.json"), manifest("p", ""));
    }
    let serve = |given: &[&str]| serve_two(&place, ["./a", "b"], given);
    for given in ["s:KEY=env:ONE", "p/s:KEY=env:ONE"] {
        let server = given.split_once(':').expect("a colon").0;
        let refused = finish(&mut serve(&[given]));
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert_eq!(
            refused.stderr,
            format!(
                "error: failed to give the server {server} a credential: several packages have one; \
                 write ./a/s or b/s\n"
            )
        );
    }
    // What it says to write does it.
    let given = keys_of(&mut serve(&["./a/s:KEY=env:ONE", "b/s:KEY=env:TWO"]));
    assert_eq!(given, ["first word", "second word"]);
}

/// Serves two packages with credentials; ONE and TWO hold a value each.
fn serve_two(place: &Place, sources: [&str; 2], given: &[&str]) -> std::process::Command {
    let mut command = apkit(place);
    command.arg("serve").args(sources).arg("--allow-stdio");
    for given in given {
        command.args(["--credential", given]);
    }
    command.env("ONE", "first word").env("TWO", "second word");
    command
}

/// What KEY is of the servers `s`, in the order of the packages.
fn keys_of(command: &mut std::process::Command) -> Vec<Value> {
    let mut host = Host::spawn(command);
    host.greet();
    let names = host.names();
    let reports = names.iter().filter(|name| name.ends_with("__report"));
    let key = |name: &String| {
        let answer = host.call(name, json!({}));
        answer["result"]["structuredContent"]["env"]["KEY"].clone()
    };
    reports.map(key).collect()
}

#[test]
fn a_source_with_an_equals_sign_names_its_package() {
    let place = Place::new();
    for directory in ["x=1", "x2"] {
        package(&place, directory, &[("s", &[])]);
        place.write(&format!("{directory}/plugin.json"), manifest("p", ""));
    }
    let serve = |given: &[&str]| serve_two(&place, ["./x=1", "./x2"], given);
    let refused = finish(&mut serve(&["s:KEY=env:ONE"]));
    assert!(
        refused.stderr.ends_with("write ./x2/s or ./x=1/s\n"),
        "{refused:?}"
    );
    let given = keys_of(&mut serve(&["./x=1/s:KEY=env:ONE", "./x2/s:KEY=env:TWO"]));
    assert_eq!(given, ["first word", "second word"]);
}

#[test]
fn an_installed_package_is_named_beside_a_copy_of_it() {
    let place = Place::new();
    package(&place, "mm", &[("s", &[])]);
    let mut import = place.apkit();
    import.args(["import", "./mm", "--root", "store"]);
    let installed = finish(&mut import);
    assert_eq!(installed.status, Some(0), "{installed:?}");
    let serve = |given: &[&str]| serve_two(&place, ["mm", "./mm"], given);
    let refused = finish(&mut serve(&["s:KEY=env:ONE"]));
    assert!(
        refused.stderr.ends_with("write ./mm/s or mm/s\n"),
        "{refused:?}"
    );
    // The SOURCE wins over the name of the other one.
    let given = keys_of(&mut serve(&["mm/s:KEY=env:ONE"]));
    assert_eq!(given, [json!("first word"), Value::Null]);
    let given = keys_of(&mut serve(&["./mm/s:KEY=env:TWO"]));
    assert_eq!(given, [Value::Null, json!("second word")]);
    // By whatever name it was asked for first.
    let mut command = apkit(&place);
    command.args(["serve", "./mm", "mm", "--allow-stdio"]);
    command.args(["--credential", "mm/s:KEY=env:ONE"]);
    let given = keys_of(command.env("ONE", "first word"));
    assert_eq!(given, [Value::Null, json!("first word")]);
    let mut twice = apkit(&place);
    twice.args(["check", "./store/plugins/mm", "mm", "--allow-stdio"]);
    twice.args(["--credential", "mm/s:KEY=env:ONE"]);
    let twice = finish(twice.env("ONE", "first word"));
    assert_eq!(twice.status, Some(0), "{twice:?}");
}

#[test]
fn a_package_that_no_text_names_is_told_as_well() {
    let place = Place::new();
    for directory in ["a", "b\u{202e}c"] {
        package(&place, directory, &[("s", &[])]);
        place.write(&format!("{directory}/plugin.json"), manifest("p", ""));
    }
    let mut command = apkit(&place);
    command.args(["check", "./a", "./b\u{202e}c", "--allow-stdio"]);
    let refused = finish(command.args(["--credential", "s:KEY=env:ONE"]));
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .ends_with("write ./a/s, or ask for one of the packages at a time\n"),
        "{refused:?}"
    );
}

#[test]
fn a_rule_about_servers_that_fits_everything_or_nothing_is_an_error() {
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    let digest = format!("sha256:{}", "0".repeat(64));
    let schema = place.run(["schema", "policy"]).stdout;
    let schema = serde_json::from_str(&schema).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let is_in_schema = |rules: &str| {
        let rules: Value = toml::from_str(rules).expect("TOML");
        schema.is_valid(&rules)
    };
    for (list, rule, wanted) in [
        ("stdio.deny", "", "1:1: the rule has no condition"),
        ("stdio.deny", "reason = \"x\"", "1:1: the rule has no"),
        ("stdio.deny", "plugin = \"\"", "2:10: it is empty"),
        ("stdio.deny", "plugin = \"a b\"", "2:10: no package has"),
        ("stdio.allow", "plugin = \"a b\"", "2:10: no package has"),
        ("stdio.allow", "plugin = \"\"", "2:10: it is empty"),
        ("remote.deny", "reason = \"x\"", "1:1: the rule has no"),
        ("remote.deny", "host = \"\"", "2:8: it is empty"),
        ("remote.deny", "host = \"u@h\"", "2:8: a host is a name"),
        ("remote.deny", "plugin = \"a/b\"", "2:10: no package has"),
        ("remote.allow", "host = \"\"", "2:8: it is empty"),
    ] {
        let digest = match list {
            "stdio.allow" => format!("digest = \"{digest}\"\n"),
            _ => String::new(),
        };
        let rules = format!("[[{list}]]\n{rule}\n{digest}");
        place.write("store/apkit.toml", &rules);
        let run = run(&place, &["plan", "p"]);
        assert_eq!(run.status, Some(2), "{rules}: {run:?}");
        let wanted = format!("apkit.toml:{wanted}");
        assert!(run.stderr.contains(&wanted), "{rules}: {run:?}");
        assert!(!is_in_schema(&rules), "{rules}");
    }
    for rules in [
        "[[stdio.deny]]\nplugin = \"*\"\n",
        "[[stdio.deny]]\nserver = \"a b\"\n",
        "[[remote.deny]]\nhost = \"*\"\n",
        "[[remote.deny]]\nserver = \"x\"\n",
    ] {
        place.write("store/apkit.toml", rules);
        let run = run(&place, &["plan", "p"]);
        assert_ne!(run.status, Some(2), "{rules}: {run:?}");
        assert!(is_in_schema(rules), "{rules}");
    }
}

#[test]
fn a_checkout_is_not_sent_to_a_rule_that_cannot_be() {
    let place = Place::new();
    package(&place, "p", &[("s", &[])]);
    allow(&place, "");
    place.write("p/.git/HEAD", "ref: refs/heads/main");
    let check = run(&place, &["check", "p"]);
    assert!(
        check.stdout.contains("what git keeps there can run programs; leave it out; one can name what `apkit import` installs of it"),
        "{check:?}"
    );
    assert!(!check.stdout.contains("put the digest"), "{check:?}");
    assert_eq!(check.stderr, "note: allow programs once: --allow-stdio\n");
    let plan = run(&place, &["plan", "p"]);
    assert!(
        plan.stdout
            .ends_with("\n\nAllow its programs once: --allow-stdio.\n"),
        "{plan:?}"
    );
    // What is told to do does it.
    let mut import = place.apkit();
    let installed = finish(import.args(["import", "./p", "--root", "store"]));
    assert_eq!(installed.status, Some(0), "{installed:?}");
    let check = run(&place, &["check", "p"]);
    assert!(check.stdout.contains("ok      s"), "{check:?}");
}
