//! The lock file, and following it.

use std::fs;

use super::world::{Repository, World, names, skill};

#[test]
fn the_lock_file_is_the_same_in_whatever_order_packages_came() {
    let one = World::new();
    let two = World::new();
    for world in [&one, &two] {
        world.package("project/a", "aa", "A.");
        world.package("project/b", "bb", "B.");
    }
    let import = |world: &World, path: &str| {
        let run = world
            .apkit()
            .current_dir(world.path("project"))
            .args(["import", path, "--project"])
            .status();
        assert!(run.expect("a run").success());
    };
    import(&one, "./a");
    import(&one, "./b");
    import(&two, "./b");
    import(&two, "./a");
    let lock = one.place.read("project/.agents/apkit.lock");
    assert_eq!(lock, two.place.read("project/.agents/apkit.lock"));
    let expected = r#"{
  "lock_version": 1,
  "packages": {
    "aa": {
      "digest": "DIGEST",
      "key": "dir:./a",
      "mode": "copy",
      "resolved": {},
      "source": "dir:./a",
      "spec_version": "1.0.0",
      "version": "1.0.0"
    },
"#;
    let lock: serde_json::Value = serde_json::from_str(&lock).expect("JSON");
    let digest = lock["packages"]["aa"]["digest"].as_str().expect("a digest");
    assert!(
        one.place
            .read("project/.agents/apkit.lock")
            .starts_with(&expected.replace("DIGEST", digest))
    );
}

#[test]
fn a_project_is_restored_from_its_lock_file() {
    let world = World::new();
    world.package("project/a", "aa", "A.");
    let project = |arguments: &[&str]| {
        crate::support::finish(
            world
                .apkit()
                .current_dir(world.path("project"))
                .args(arguments)
                .arg("--project"),
        )
    };
    assert_eq!(project(&["import", "./a"]).status, Some(0));
    let lock = world.place.read("project/.agents/apkit.lock");
    for name in ["plugins", ".apkit"] {
        fs::remove_dir_all(world.path("project/.agents").join(name)).expect("removed");
    }
    let run = project(&["import", "--frozen"]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    // It is new here, though the lock file knows it.
    assert!(run.stdout.starts_with("aa 1.0.0: imported, "), "{run:#?}");
    fs::remove_dir_all(world.path("project/.agents/plugins/aa")).expect("removed");
    let run = project(&["import", "--frozen"]);
    assert!(
        run.stdout.starts_with("aa 1.0.0: put back as it was, "),
        "{run:#?}"
    );
    assert_eq!(project(&["verify"]).status, Some(0));
    assert_eq!(world.place.read("project/.agents/apkit.lock"), lock);
    // Moved as a whole, it still works.
    fs::rename(world.path("project"), world.path("moved")).expect("moved");
    let run = crate::support::finish(world.apkit().current_dir(world.path("moved")).args([
        "update",
        "--check",
        "--project",
    ]));
    assert_eq!(run.status, Some(0), "{run:#?}");
    fs::rename(world.path("moved"), world.path("project")).expect("moved");

    // What the lock file names can be asked for by its name.
    let run = project(&["import", "--frozen", "aa"]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    // Whatever became of the source, what is in place needs no fetch.
    world.write("project/a/skills/tides/SKILL.md", skill("Other."));
    let run = project(&["import", "--frozen"]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    assert!(
        run.stdout.contains("aa 1.0.0: is in place already"),
        "{}",
        run.stdout
    );
    // Other content is refused, and what is there stays.
    world.write("project/.agents/plugins/aa/more.txt", "more");
    let run = project(&["import", "--frozen"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr
            .contains("the lock file names aa with the content"),
        "{}",
        run.stderr
    );
    assert!(world.path("project/.agents/plugins/aa/more.txt").exists());
    // And so is what the lock file does not name.
    world.package("project/b", "bb", "B.");
    let run = project(&["import", "./b", "--frozen"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("--frozen allows nothing else"),
        "{}",
        run.stderr
    );
    assert_eq!(names(&world.path("project/.agents/plugins")), ["aa"]);
}

#[test]
fn what_is_intact_is_restored_without_its_source() {
    let world = World::new();
    world.package("a", "aa", "A.");
    world.package("r/plugin", "bb", "B.");
    let repository = Repository::of(&world.path("r"));
    world.expect(
        0,
        &["import", "./a", &format!("{}:plugin", repository.source())],
    );
    for path in ["a", "r"] {
        fs::remove_dir_all(world.path(path)).expect("removed");
    }
    for options in [&["--dry-run"][..], &[], &["--strict"]] {
        let arguments = [&["import", "--frozen", "--json"], options].concat();
        let found = world.json(0, &arguments);
        for (at, name) in ["aa", "bb"].iter().enumerate() {
            assert_eq!(found["results"][at]["name"], *name);
            assert_eq!(found["results"][at]["outcome"], "unchanged");
        }
    }
    // Only what is missing is asked for.
    fs::remove_dir_all(world.installed("bb")).expect("removed");
    let found = world.json(2, &["import", "--frozen", "--json"]);
    assert_eq!(found["results"][0]["outcome"], "unchanged");
    assert_eq!(found["results"][1]["outcome"], "unreachable");
    world.assert_tidy();
}

#[test]
fn without_a_lock_file_there_is_nothing_to_follow() {
    let world = World::new();
    world.package("a", "aa", "A.");
    for arguments in [&["import", "--frozen"][..], &["import", "--frozen", "./a"]] {
        let run = world.expect(2, &[arguments, &["--project"]].concat());
        assert!(
            run.stderr.contains("there is no") && run.stderr.contains(".agents/apkit.lock"),
            "{}",
            run.stderr
        );
    }
    assert!(!world.path(".agents").exists());
    // One that names nothing is another matter.
    world.expect(0, &["import", "./a", "--project"]);
    world.expect(0, &["remove", "aa", "--project"]);
    let run = world.expect(0, &["import", "--frozen", "--project"]);
    assert!(run.stdout.contains("names no package"), "{}", run.stdout);
}

#[test]
fn a_lock_file_that_cannot_be_trusted_is_told_with_its_place() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let good = world.place.read("home/.agents/apkit.lock");
    for (from, to, wanted) in [
        (
            "\"lock_version\": 1",
            "\"lock_version\": 9",
            "version 9 of the format",
        ),
        (
            "\"tide-table\"",
            "\"../../beside\"",
            "package \"../../beside\"",
        ),
        ("\"mode\": \"copy\"", "\"mode\": \"link\"", "line 7"),
        (
            "\"resolved\": {}",
            "\"resolved\": {\"commit\": \"0\"}",
            "its kind of source does not have",
        ),
        (
            "\"mode\"",
            "\"colour\": 1,\n      \"mode\"",
            "unknown field `colour`",
        ),
        ("sha256:", "md5:", "`digest`"),
        ("\"key\": \"dir:", "\"key\": \"dir:/x", "`key` is"),
        ("{", "<<<<<<< ours\n{", "a merge that was not finished"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        world.write("home/.agents/apkit.lock", &text);
        for command in [
            &["list"][..],
            &["import", "./p"],
            &["verify"],
            &["remove", "tide-table"],
        ] {
            let run = world.expect(2, command);
            assert!(
                run.stderr.contains(wanted) && run.stderr.contains("apkit.lock"),
                "{}",
                run.stderr
            );
        }
        assert_eq!(world.place.read("home/.agents/apkit.lock"), text);
    }
    world.assert_tidy();
}

#[test]
fn the_store_is_where_the_user_says() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p", "--root", "elsewhere"]);
    assert!(world.path("elsewhere/plugins/tide-table").is_dir());
    let status = world
        .apkit()
        .env("APKIT_HOME", "another")
        .args(["import", "./p"])
        .status();
    assert!(status.expect("a run").success());
    assert!(world.path("another/plugins/tide-table").is_dir());
    assert!(!world.root().exists());
}

#[test]
fn a_text_that_looks_like_a_merge_is_none() {
    let world = World::new();
    for (name, version) in [
        ("one", "1.0.0 <<<<<<<"),
        ("two", ">>>>>>> 2"),
        ("three", "\n<<<<<<<"),
    ] {
        let version = format!("\"version\": {}", serde_json::json!(version));
        world.write("p/plugin.json", crate::support::manifest(name, &version));
        world.expect(0, &["import", "./p"]);
        world.expect(0, &["verify"]);
        world.expect(0, &["remove", name]);
    }
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let path = world.root().join("apkit.lock");
    let text = std::fs::read_to_string(&path).expect("a lock file");
    for mark in ["<<<<<<< HEAD", ">>>>>>> other"] {
        std::fs::write(&path, text.replacen('\n', &format!("\n{mark}\n"), 1)).expect("written");
        let run = world.expect(2, &["list"]);
        assert!(run.stderr.contains("marks of a merge"), "{}", run.stderr);
    }
}

#[test]
fn a_package_that_is_there_twice_is_told() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let entry = world.locked("tide-table");
    let text = format!(
        r#"{{"lock_version": 1, "packages": {{"tide-table": {entry}, "tide-table": {entry}}}}}"#
    );
    std::fs::write(world.root().join("apkit.lock"), text).expect("written");
    let run = world.expect(2, &["list"]);
    assert!(
        run.stderr
            .contains("the package \"tide-table\" is in it twice"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_store_of_a_project_is_the_same_by_its_root() {
    let world = World::new();
    // Also where the project is the home directory, whose store is the default.
    for project in ["project", "home"] {
        world.package(&format!("{project}/p"), "tide-table", "One.");
        let run = |arguments: &[&str]| {
            let mut command = world.apkit();
            command.current_dir(world.path(project)).args(arguments);
            let run = crate::support::finish(&mut command);
            assert_eq!(run.status, Some(0), "{run:#?}");
            run.stdout
        };
        run(&["import", "./p", "--project"]);
        let lock = world.place.read(&format!("{project}/.agents/apkit.lock"));
        assert!(lock.contains("\"dir:./p\""), "{lock}");
        let told = run(&["update", "--root", ".agents"]);
        assert!(told.starts_with("tide-table: current"), "{told}");
        run(&["import", "./p", "--root", ".agents"]);
        let again = world.place.read(&format!("{project}/.agents/apkit.lock"));
        assert_eq!(again, lock);
    }
    let told = world.expect(0, &["update"]).stdout;
    assert!(told.starts_with("tide-table: current"), "{told}");
}

#[test]
fn a_version_that_the_manifest_contradicts_is_told_and_corrected() {
    for (member, wrong, told) in [
        (
            "\"version\": \"1.0.0\"",
            "\"version\": \"9.9.9\"",
            "its version is \"9.9.9\" in the lock file, and \"1.0.0\" in its plugin.json",
        ),
        (
            "\"spec_version\": \"1.0.0\"",
            "\"spec_version\": \"1.1.0\"",
            "its version of the specification is \"1.1.0\" in the lock file, and \"1.0.0\"",
        ),
    ] {
        let world = World::new();
        world.package("p", "tide-table", "One.");
        world.expect(0, &["import", "./p"]);
        let lock = world.place.read("home/.agents/apkit.lock");
        assert!(lock.contains(member), "{lock}");
        world.write("home/.agents/apkit.lock", lock.replace(member, wrong));
        let run = world.expect(1, &["verify"]);
        assert!(
            run.stdout.contains(": misrecorded\n") && run.stdout.contains(told),
            "{}",
            run.stdout
        );
        let found = world.json(1, &["verify", "--json"]);
        assert_eq!(found["packages"][0]["state"], "misrecorded");
        let run = world.expect(2, &["import", "--frozen"]);
        assert!(run.stderr.contains(told), "{}", run.stderr);
        let run = world.expect(0, &["update", "tide-table"]);
        assert!(
            run.stdout.starts_with("tide-table: same content, "),
            "{}",
            run.stdout
        );
        assert_eq!(world.place.read("home/.agents/apkit.lock"), lock);
        world.expect(0, &["verify"]);
        world.expect(0, &["import", "--frozen"]);
    }
}
