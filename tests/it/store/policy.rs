//! `apkit.toml`.

use std::fs;

use super::world::{Repository, World, names, skill};
use crate::support::manifest;

/// What is told when the rules deny it, or cannot be read.
fn denied(world: &World, rules: &str, source: &str) -> Option<String> {
    world.write("home/.agents/apkit.toml", rules);
    let run = world.run(&["import", source, "--dry-run"]);
    match run.status {
        Some(0) => None,
        status => {
            let is_unread = run.stderr.contains("failed to open the store");
            let wanted = if is_unread { 2 } else { 1 };
            assert_eq!(status, Some(wanted), "{run:#?}");
            Some(run.stderr)
        }
    }
}

#[test]
fn rules_are_held_before_anything_is_fetched() {
    let world = World::new();
    // None of these hosts is there; a fetch would fail with another message.
    for (rules, source) in [
        ("[[deny]]\nkind = \"git\"\n", "git+https://git.invalid/o/r"),
        ("[[deny]]\nhost = \"*.invalid\"\n", "git@git.invalid:o/r"),
        (
            "[[deny]]\nscope = \"o\"\n",
            "git+https://git.invalid/o/r.git",
        ),
        (
            "[[deny]]\nname = \"r\"\n",
            "git+https://git.invalid/o/r.git",
        ),
        ("[[deny]]\nscope = \"@acme\"\n", "npm:@acme/x"),
        (
            "[[deny]]\nname = \"@acme/*\"\nversion = \"<2\"\n",
            "npm:@acme/x@1.5.0",
        ),
        (
            "[[deny]]\nkind = \"archive\"\nhost = \"cdn.invalid\"\n",
            "https://cdn.invalid/x.tgz",
        ),
        ("[[deny]]\nkind = \"builtin\"\n", "builtin:everos"),
        ("[[deny]]\nname = \"*\"\n", "./anything"),
        (
            "[[allow]]\nkind = \"directory\"\n",
            "git+https://git.invalid/o/r",
        ),
        (
            "[[allow]]\nkind = \"npm\"\nscope = \"@acme\"\n[[allow]]\nkind = \"git\"\nhost = \"git.example\"\n",
            "npm:@evil/x",
        ),
    ] {
        let told = denied(&world, rules, source).expect(source);
        assert!(told.contains("apkit.toml"), "{source}: {told}");
        assert!(
            told.contains("forbids it") || told.contains("no rule [[allow]]"),
            "{source}: {told}"
        );
    }
    assert!(names(&world.path("tmp")).is_empty());
}

#[test]
fn a_host_has_one_spelling_for_rules() {
    let world = World::new();
    for (host, source) in [
        ("git.invalid", "git+https://GIT.invalid./o/r"),
        ("GIT.invalid.", "git@git.invalid:o/r"),
        ("localhost", "https://localhost.:1/x.tgz"),
        ("[::1]", "git+https://[::1]:1/o/r"),
        ("::1", "git+https://[::1]:1/o/r"),
        ("[::1]", "https://[::1]:1/x.tgz"),
        ("0:0::1", "https://[::1]:1/x.tgz"),
        ("127.0.0.1", "https://127.1:1/x.tgz"),
        ("b\u{fc}cher.invalid", "https://b\u{fc}cher.invalid/x.tgz"),
        (
            "*.b\u{fc}cher.invalid",
            "git+https://a.xn--bcher-kva.invalid/o/r",
        ),
        (
            "xn--bcher-kva.invalid",
            "git+https://B\u{dc}CHER.invalid/o/r",
        ),
    ] {
        let rules = format!("[[deny]]\nhost = {host:?}\n");
        let told = denied(&world, &rules, source).expect(source);
        assert!(told.contains("forbids it"), "{source}: {told}");
    }
}

#[test]
fn where_a_redirect_leads_is_held_against_the_rules() {
    use crate::web::{Reply, Server};
    let world = World::new();
    let target = Server::new(|_| Reply::new(404, "nothing"));
    let port = target.port();
    let server = Server::new(move |asked| {
        let to = format!("http://localhost:{port}{}", asked.target);
        Reply::redirect(302, &to)
    });
    for source in [
        server.url("/x.tgz"),
        format!("git+{}", server.url("/evil/r.git")),
    ] {
        let told = denied(&world, "[[deny]]\nhost = \"localhost\"\n", &source).expect("denied");
        assert!(told.contains("localhost may not be asked"), "{told}");
        assert!(told.contains("forbids it"), "{told}");
    }
    assert!(target.asked().is_empty());
}

#[test]
fn the_message_names_the_rule_its_place_and_its_reason() {
    let world = World::new();
    let rules =
        "# ours\n\n[[deny]]\nkind = \"npm\"\nscope = \"@acme\"\nreason = \"see the handbook\"\n";
    let told = denied(&world, rules, "npm:@acme/x").expect("denied");
    let place = world.path("home/.agents/apkit.toml");
    let wanted = format!(
        "the rule [[deny]] {{ kind = \"npm\", scope = \"@acme\" }} at {}:3 forbids it: see the handbook",
        place.display()
    );
    assert!(told.contains(&wanted), "{told}");
}

#[test]
fn what_only_the_package_tells_is_held_against_it_before_it_is_installed() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    for (rules, allowed) in [
        ("[[deny]]\nplugin = \"tide-*\"\n", false),
        ("[[deny]]\nplugin = \"ebb-*\"\n", true),
        ("[[deny]]\nversion = \"<2\"\n", false),
        ("[[deny]]\nversion = \">=2\"\n", true),
        (
            "[[allow]]\nplugin = \"tide-table\"\nversion = \"^1.0\"\n",
            true,
        ),
        (
            "[[allow]]\nplugin = \"tide-table\"\nversion = \"^2.0\"\n",
            false,
        ),
        (
            "[[allow]]\nintegrity = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n",
            false,
        ),
    ] {
        assert_eq!(denied(&world, rules, "./p").is_none(), allowed, "{rules}");
    }
    fs::remove_file(world.path("home/.agents/apkit.toml")).expect("removed");
    world.expect(0, &["import", "./p"]);
    let digest = world.locked("tide-table")["digest"]
        .as_str()
        .expect("a digest")
        .to_owned();
    let pinned = format!("[[allow]]\nintegrity = \"{digest}\"\n");
    assert_eq!(denied(&world, &pinned, "./p"), None);
    // What comes later is another content.
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    assert!(denied(&world, &pinned, "./p").is_some());
    let result = world.json(1, &["update", "--json"]);
    assert_eq!(result["results"][0]["outcome"], "denied");
    let run = world.expect(1, &["update"]);
    assert!(run.stderr.contains("no rule [[allow]]"), "{}", run.stderr);
    world.expect(0, &["verify"]);
    // Without a version, no rule about versions fits.
    world.write("p/plugin.json", manifest("tide-table", ""));
    assert!(denied(&world, "[[allow]]\nversion = \"*\"\n", "./p").is_some());
}

#[test]
fn a_commit_can_be_pinned() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    let id = repository.git(&["rev-parse", "HEAD"]);
    let rules = format!("[[allow]]\nkind = \"git\"\nintegrity = \"{id}\"\n");
    assert_eq!(denied(&world, &rules, &repository.source()), None);
    world.write("repo/new.txt", "new");
    repository.commit("second");
    assert!(denied(&world, &rules, &repository.source()).is_some());
}

#[test]
fn a_project_obeys_both_its_own_rules_and_those_of_its_store() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    let import = || {
        let mut command = world.apkit();
        command.current_dir(world.path("project")).args([
            "import",
            "./p",
            "--project",
            "--dry-run",
        ]);
        crate::support::finish(&mut command).status
    };
    assert_eq!(import(), Some(0));
    for file in ["project/apkit.toml", "project/.agents/apkit.toml"] {
        world.write(file, "[[deny]]\nkind = \"directory\"\n");
        assert_eq!(import(), Some(1), "{file}");
        fs::remove_file(world.path(file)).expect("removed");
    }
}

#[test]
fn a_file_with_mistakes_stops_everything_and_names_the_place() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    let told = denied(&world, "[[deny]]\nkynd = \"git\"\n", "./p").expect("an error");
    assert!(
        told.contains("apkit.toml:2:1: unknown field `kynd`"),
        "{told}"
    );
    world.expect(2, &["list"]);
}

#[test]
fn a_rule_that_a_change_leaves_behind_is_named() {
    let world = World::new();
    let servers = r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
"mcpServers": {"almanac": {"type": "stdio", "command": "sh"},
"log": {"type": "stdio", "command": "sh"}}}"#;
    let package = |text: &str| {
        world.package("p", "tide-table", text);
        world.write("p/mcp.json", servers);
    };
    let digest = || {
        let digest = world.locked("tide-table")["digest"].clone();
        digest.as_str().expect("a digest").to_owned()
    };
    let rule = |digest: &str| format!("plugin = \"tide-table\"\ndigest = \"{digest}\"\n");
    package("One.");
    world.expect(0, &["import", "./p"]);
    let one = digest();
    let rules = format!("# mine\n\n[[stdio.allow]]\n{}", rule(&one));
    let file = world.write("home/.agents/apkit.toml", &rules);
    world.expect(0, &["mcp", "plan", "tide-table"]);
    let silent = world.expect(0, &["update"]);
    assert!(!silent.stdout.contains("stdio"), "{}", silent.stdout);
    let told = |two: &str| {
        format!(
            "the rule [[stdio.allow]] {{ plugin = \"tide-table\", digest = \"{one}\" }} at {}:3 \
             names another content, and lets nothing of this one start; look at it, and put its \
             digest there: {two}",
            file.display()
        )
    };
    package("Two.");
    let dry = world.expect(0, &["import", "./p", "--dry-run"]);
    let check = world.expect(1, &["update", "--check"]);
    let check_json = world.json(1, &["update", "--check", "--json"]);
    let update = world.expect(0, &["update"]);
    let two = digest();
    for run in [dry, check, update] {
        assert!(run.stdout.contains(&told(&two)), "{}", run.stdout);
    }
    let path = file.to_str().expect("a path");
    let named = serde_json::json!([{
        "rule": format!("[[stdio.allow]] {{ plugin = \"tide-table\", digest = \"{one}\" }}"),
        "path": path, "line": 3,
    }]);
    assert_eq!(check_json["results"][0]["outdated_rules"], named);
    // Nobody but the user changes it.
    assert_eq!(fs::read_to_string(&file).expect("rules"), rules);
    world.expect(1, &["mcp", "plan", "tide-table"]);
    // One for each content, and nothing is left behind; one for one server is not enough.
    package("One.");
    let both = format!("{rules}[[stdio.allow]]\n{}", rule(&two));
    fs::write(&file, both).expect("rules");
    let back = world.json(0, &["update", "--json"]);
    assert_eq!(back["results"][0]["outdated_rules"], serde_json::json!([]));
    let some = format!("{rules}[[stdio.allow]]\n{}server = \"log\"\n", rule(&two));
    fs::write(&file, some).expect("rules");
    package("Two.");
    let there = world.json(0, &["import", "./p", "--json"]);
    assert_eq!(there["results"][0]["outdated_rules"], named);
}

/// The rules of a project cannot allow programs, so that none of them can be outdated.
#[test]
fn the_rules_of_the_user_are_named_for_the_packages_of_a_project() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    world.write(
        "project/p/mcp.json",
        r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
"mcpServers": {"almanac": {"type": "stdio", "command": "sh"}}}"#,
    );
    let rule = format!(
        "[[stdio.allow]]\nplugin = \"tide-table\"\ndigest = \"sha256:{}\"\n",
        "0".repeat(64)
    );
    world.write("project/apkit.toml", &rule);
    let import = || {
        let mut command = world.apkit();
        command.current_dir(world.path("project"));
        command.args(["import", "./p", "--project", "--dry-run"]);
        let run = crate::support::finish(&mut command);
        assert_eq!(run.status, Some(0), "{run:?}");
        run
    };
    assert!(!import().stdout.contains("stdio.allow"));
    let own = world.write("home/.agents/apkit.toml", &rule);
    let told = format!(" at {}:1 names another content", own.display());
    let run = import();
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    world.write("home/.agents/apkit.toml", "colour = 1\n");
    let run = import();
    assert!(run.stderr.contains("still fit is not known"), "{run:?}");
}

#[test]
fn a_condition_that_nothing_fits_is_an_error() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    for (rule, place, wanted) in [
        ("", "1:1", "the rule has no condition"),
        ("reason = \"x\"", "1:1", "the rule has no condition"),
        ("host = \"git.example:8443\"", "2:8", "a host has no port"),
        ("host = \"https://git.example\"", "2:8", "a host is a name"),
        ("kind = \"directory\"\nhost = \"x\"", "3:8", "has no host"),
        ("kind = \"npm\"\nscope = \"acme\"", "3:9", "write \"@acme\""),
        ("kind = \"git\"\nscope = \"@acme\"", "3:9", "write \"acme\""),
        (
            "kind = \"archive\"\nscope = \"acme\"",
            "3:9",
            "has no scope",
        ),
        ("scope = \"acme/tools\"", "2:9", "such as \"acme\""),
        (
            "kind = \"git\"\nname = \"tide.git\"",
            "3:8",
            "write \"tide\"",
        ),
        (
            "kind = \"directory\"\nname = \"/srv/tide\"",
            "3:8",
            "write \"tide\"",
        ),
        ("name = \"acme/tools\"", "2:8", "write \"tools\""),
        ("name = \"\"", "2:8", "it is empty"),
        ("plugin = \"@acme/x\"", "2:10", "no package has such a name"),
        ("integrity = \"\"", "2:13", "it is empty"),
        ("integrity = \"sha512-\"", "2:13", "neither a whole digest"),
        (
            "integrity = \"sha512-nonsense\"",
            "2:13",
            "neither a whole digest",
        ),
        (
            "integrity = \"abc1234\"",
            "2:13",
            "nor all digits of a commit",
        ),
    ] {
        for list in ["deny", "allow"] {
            let rules = format!("[[{list}]]\n{rule}\n");
            let told = denied(&world, &rules, "./p").expect(&rules);
            assert!(
                told.contains(&format!("apkit.toml:{place}: ")),
                "{rules}: {told}"
            );
            assert!(told.contains(wanted), "{rules}: {told}");
            // And by no command else.
            let run = world.expect(2, &["list"]);
            assert!(run.stderr.contains(wanted), "{rules}: {}", run.stderr);
        }
    }
    for rule in [
        "kind = \"npm\"\nname = \"@acme/old-*\"",
        "name = \"@acme/x\"",
        "name = \"*/x\"",
        "kind = \"archive\"\nname = \"x.git\"",
        "scope = \"acme\"",
        "host = \"[::1]\"",
    ] {
        let rules = format!("[[deny]]\n{rule}\n");
        assert_eq!(denied(&world, &rules, "./p"), None, "{rules}");
    }
}
