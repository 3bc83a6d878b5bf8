//! The rules of `apkit.toml` for what is fetched and not installed.

use super::sources::tgz;
use super::world::{Repository, World, names};
use crate::support::{finish, manifest};
use crate::web::{Reply, Server};

/// A repository whose package starts a program that leaves a mark.
fn with_a_program(world: &World) -> Repository {
    world.write("repo/plugin.json", manifest("tide-table", ""));
    let mark = world.path("mark");
    let script = format!("#!/bin/sh\ntouch '{}'\n", mark.display());
    let program = world.write("repo/bin/serve", script);
    super::world::executable(&program);
    world.write(
        "repo/mcp.json",
        "{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json\", \
         \"mcpServers\": {\"almanac\": {\"type\": \"stdio\", \"command\": \"./bin/serve\"}}}",
    );
    Repository::of(&world.path("repo"))
}

#[test]
fn what_is_denied_is_fetched_by_no_command() {
    let world = World::new();
    let repository = with_a_program(&world);
    let source = repository.source();
    let out = world.path("out").display().to_string();
    let commands: [&[&str]; 7] = [
        &["validate", &source],
        &["validate", "--recursive", &source],
        &["inspect", &source],
        &["export", &source, "--out", &out],
        &["mcp", "plan", &source],
        &["mcp", "tools", &source, "--allow-stdio", "--timeout", "5"],
        &["mcp", "check", &source, "--allow-stdio", "--timeout", "5"],
    ];
    for rules in [
        "[[deny]]\nkind = \"git\"\n",
        "[[allow]]\nkind = \"npm\"\n",
        // What only the content tells.
        "[[deny]]\nplugin = \"tide-*\"\n",
        "[[allow]]\nintegrity = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n",
    ] {
        world.write("home/.agents/apkit.toml", rules);
        for command in commands {
            let run = world.expect(2, command);
            assert!(run.stderr.contains("apkit.toml"), "{command:?}: {run:#?}");
        }
    }
    assert!(!world.path("mark").exists());
    assert!(!world.path("out").exists());
    assert!(names(&world.path("tmp")).is_empty());
    world.write("home/.agents/apkit.toml", "[[deny]]\nplugin = \"ebb\"\n");
    world.expect(0, &["validate", &source]);
    world.expect(0, &["inspect", &source]);
}

#[test]
fn the_rules_of_a_project_bind_what_its_servers_are_fetched_from() {
    let world = World::new();
    let source = with_a_program(&world).source();
    world.write("project/apkit.toml", "[[deny]]\nkind = \"git\"\n");
    let mut command = world.apkit();
    command
        .current_dir(world.path("project"))
        .args(["mcp", "plan", &source, "--project"]);
    let run = finish(&mut command);
    assert_eq!(run.status, Some(2), "{run:#?}");
    assert!(run.stderr.contains("forbids it"), "{run:#?}");
}

#[test]
fn an_address_and_a_registry_that_are_denied_are_not_asked() {
    let world = World::new();
    let server = Server::new(|_| Reply::new(404, "nothing"));
    world.write("home/.npmrc", format!("registry={}\n", server.url("/")));
    world.write(
        "home/.agents/apkit.toml",
        "[[deny]]\nhost = \"127.0.0.1\"\n",
    );
    for source in [server.url("/x.tgz"), "npm:tide-table".to_owned()] {
        let run = world.expect(2, &["validate", &source]);
        assert!(run.stderr.contains("forbids it"), "{}", run.stderr);
        assert_eq!(
            run.stderr.matches("may not be asked").count(),
            usize::from(source.starts_with("npm:")),
            "{}",
            run.stderr
        );
    }
    assert!(server.asked().is_empty());
}

#[test]
fn what_lies_here_is_judged_whatever_may_be_installed() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    tgz(&world.path("p"), "package/", &world.path("a.tgz"));
    world.write("home/.agents/apkit.toml", "[[deny]]\nname = \"*\"\n");
    for source in ["p", "./p", "dir:p", "a.tgz"] {
        world.expect(0, &["validate", source]);
        world.expect(0, &["inspect", source]);
    }
    world.expect(0, &["export", "a.tgz", "--out", "out"]);
    world.expect(1, &["import", "./p"]);
}

#[test]
fn a_failure_names_its_source_once() {
    let world = World::new();
    world.write("home/.npmrc", "registry=http://127.0.0.1:1/\n");
    for (text, reason) in [
        ("github:acme/tools@v1", "it is no source: "),
        ("./x.tar.gz#main", "it is no source: an archive has no"),
        ("http://127.0.0.1:1/x.tgz", "the connection was refused"),
        ("git+http://127.0.0.1:1/r", "the connection was refused"),
        ("http://127.0.0.1:1/r.git", "the connection was refused"),
        (
            "npm:x",
            "failed to reach http://127.0.0.1:1/x: the connection",
        ),
    ] {
        let run = world.expect(2, &["import", text]);
        let told = format!("error: failed to import {text}: {reason}");
        assert!(run.stderr.starts_with(&told), "{}", run.stderr);
        let run = world.run(&["validate", text]);
        let told = format!("{}{}", run.stdout, run.stderr);
        // Apart from what it would be written as.
        let told = told.replace(&format!("dir:{text} for"), "");
        assert_eq!(told.matches(text).count(), 1, "{told}");
    }
}
