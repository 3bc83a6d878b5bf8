//! `apkit init`: what it writes passes, and what is there stays.

use std::fs;

use crate::fix::tree;
use crate::support::{Place, finish};

#[test]
fn a_new_package_passes_at_strict() {
    for arguments in [
        &["tide-table"][..],
        &["tide-table", "--skill", "tides"],
        &["tide.table", "--server", "stdio"],
        &[
            "x",
            "--name",
            "a.b-c",
            "--server",
            "http",
            "--url",
            "https://x.example/m",
        ],
    ] {
        let place = Place::new();
        let run = place.run(["init"].iter().chain(arguments));
        assert_eq!(
            run.status,
            Some(0),
            "{arguments:?}: {}{}",
            run.stdout,
            run.stderr
        );
        assert!(
            run.stdout.contains(" passes `apkit validate --strict`.\n"),
            "{}",
            run.stdout
        );
        let strict = ["validate", "--strict", "--require-components", arguments[0]];
        let check = place.run(strict);
        assert_eq!(check.status, Some(0), "{}", check.stdout);
        assert!(check.stdout.contains(": no findings\n"), "{}", check.stdout);
        let files = tree(place.path());
        let fix = place.run(["fix", arguments[0]]);
        assert!(
            fix.stdout.starts_with("nothing can be fixed"),
            "{}",
            fix.stdout
        );
        let again = place.run(["init"].iter().chain(arguments));
        assert_eq!(again.status, Some(2));
        assert!(
            again
                .stderr
                .contains("there already, and nothing is overwritten"),
            "{}",
            again.stderr
        );
        assert_eq!(tree(place.path()), files);
    }
}

#[test]
fn the_name_is_the_directorys_or_refused_with_one_that_works() {
    let place = Place::new();
    fs::create_dir(place.path().join("My Plugin")).expect("a directory");
    let mut here = place.apkit();
    let run = finish(here.current_dir(place.path().join("My Plugin")).arg("init"));
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("the name \"My Plugin\" of the plugin holds an upper-case letter: 'M'; --name my-plugin would be valid"), "{}", run.stderr);
    for (arguments, said) in [
        (
            &["init", "x", "--name", "项目"][..],
            "give another with --name",
        ),
        (
            &["init", "x", "--skill", "A b"],
            "--skill a-b would be valid",
        ),
        (&["init", "x", "--server", "http"], "--url"),
        (
            &[
                "init",
                "x",
                "--server",
                "http",
                "--url",
                "http://x.example/",
            ],
            "the URL is plain HTTP",
        ),
        (&["init", "x", "--url", "https://x.example/"], "--server"),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.status, Some(2), "{arguments:?}");
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert_eq!(
        tree(place.path()),
        Default::default(),
        "nothing was written"
    );
}

#[test]
fn a_directory_that_is_not_empty_keeps_what_it_has() {
    let place = Place::new();
    place.write("p/README.md", "hello\n");
    place.write("p/package.json", "{\"name\": \"@x/p\", \"version\": \"3.1.0\", \"description\": \"Für Zoë\", \"author\": \"Mara <m@example.com>\", \"license\": \"MIT\", \"repository\": \"a/b\", \"keywords\": [\"x\"]}");
    place.write(
        "p/skills/ebb/SKILL.md",
        "---\nname: ebb\ndescription: Tells the ebb. Use it then.\n---\nLook.\n",
    );
    let before = tree(place.path());
    let run = place.run(["init", "p"]);
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    let mut after = tree(place.path());
    let manifest = after.remove("p/plugin.json").expect("a manifest");
    assert_eq!(after, before);
    assert_eq!(
        String::from_utf8(manifest).expect("text"),
        "{\n  \"$schema\": \"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json\",\n  \"name\": \"p\",\n  \"version\": \"3.1.0\",\n  \"description\": \"Für Zoë\",\n  \"author\": { \"name\": \"Mara\", \"email\": \"m@example.com\" },\n  \"repository\": \"https://github.com/a/b\",\n  \"license\": \"MIT\",\n  \"keywords\": [\"x\"]\n}\n"
    );
    assert_eq!(place.run(["sync", "--check", "p"]).status, Some(0));
    // The plugin has a name already.
    place.write(
        "n/.claude-plugin/plugin.json",
        "{\"name\": \"ebb-and-flow\", \"version\": \"2.0.0\"}",
    );
    assert_eq!(place.run(["init", "n"]).status, Some(0));
    assert!(
        place
            .read("n/plugin.json")
            .contains("\"name\": \"ebb-and-flow\",\n  \"version\": \"2.0.0\"")
    );
    assert_eq!(place.run(["sync", "--check", "n"]).status, Some(0));
    // One file that is there stops all of them.
    place.write("q/mcp.json", "{}");
    let before = tree(place.path());
    let run = place.run(["init", "q", "--server", "stdio"]);
    assert!(
        run.stderr.contains("mcp.json is there already"),
        "{}",
        run.stderr
    );
    assert_eq!(tree(place.path()), before);
    // What is wrong with what was there is said, and is no reason to write less.
    place.write("r/skills/ebb/SKILL.md", "no frontmatter");
    let run = place.run(["init", "r"]);
    assert_eq!(run.status, Some(1));
    assert!(
        run.stdout
            .contains("2 findings are left: apkit validate --strict r"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_place_that_cannot_be_written_stays_as_it_was() {
    let place = Place::new();
    place.write("p/skills", "a file");
    let before = tree(place.path());
    let run = place.run(["init", "p"]);
    assert_eq!(run.status, Some(2), "{}", run.stdout);
    assert_eq!(tree(place.path()), before);
}

#[test]
fn the_workflow_is_the_one_of_the_readme() {
    let readme = include_str!("../../README.md").replace("\r\n", "\n");
    assert!(readme.contains(&format!("```yaml\n{}```\n", apkit::edit::init::WORKFLOW)));
    let place = Place::new();
    let run = place.run(["init", "p"]);
    for line in apkit::edit::init::WORKFLOW.lines() {
        assert!(
            run.stdout.contains(&format!("    {line}\n")),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn addresses_that_would_be_refused_are_not_written() {
    let place = Place::new();
    for (url, why) in [
        (
            "https://h.example/mcp?token=zz-0123456789abcdef",
            "looks as if it held a secret",
        ),
        ("https://${H}/mcp", "holds a placeholder"),
        ("https://h.example/${TENANT}/mcp", "holds a placeholder"),
    ] {
        let run = place.run(["init", "g", "--server", "http", "--url", url]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        assert!(run.stderr.contains(why), "{run:?}");
        assert!(!run.stderr.contains("zz-0123456789abcdef"), "{run:?}");
        assert!(!place.path().join("g").exists());
    }
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_a_link() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("out")).unwrap();
    std::fs::create_dir_all(place.path().join("d")).unwrap();
    std::os::unix::fs::symlink("../out", place.path().join("d/skills")).unwrap();
    let run = place.run(["init", "d"]);
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(run.stderr.contains("skills is a link"), "{run:?}");
    assert_eq!(
        std::fs::read_dir(place.path().join("out")).unwrap().count(),
        0
    );
    assert!(!place.path().join("d/plugin.json").exists());
}

#[test]
fn what_export_would_bring_is_told() {
    let place = Place::new();
    place.write(
        "c/.claude-plugin/plugin.json",
        r#"{"name": "c", "version": "1.0.0"}"#,
    );
    let run = place.run(["init", "c"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        run.stdout
            .contains("apkit export c --from claude-code --out DIR"),
        "{run:?}"
    );
    place.write("c/.mcp.json", r#"{"s": {"command": "npx", "args": ["s"]}}"#);
    let run = place.run(["export", "c", "--from", "claude-code", "--out", "d"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(place.read("d/mcp.json").contains("npx"));
}
