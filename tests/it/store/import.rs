//! Importing, verifying and removing.

use std::fs;

use super::world::{Repository, World, names, skill, tree};
use crate::support::{manifest, mcp};

#[test]
fn a_package_comes_and_goes_with_one_command_each() {
    let world = World::new();
    world.package("tide-table", "tide-table", "Look it up.");
    let run = world.expect(0, &["import", "./tide-table"]);
    assert!(
        run.stdout
            .starts_with("tide-table 1.0.0: imported, 1 skill, 0 servers, from dir:"),
        "{}",
        run.stdout
    );
    assert_eq!(
        tree(&world.installed("tide-table")),
        tree(&world.path("tide-table"))
    );
    assert_eq!(names(&world.root()), [".apkit", "apkit.lock", "plugins"]);
    world.assert_tidy();

    let list = world.expect(0, &["list"]);
    assert!(
        list.stdout.starts_with("tide-table 1.0.0  dir:"),
        "{}",
        list.stdout
    );
    let verified = world.expect(0, &["verify"]);
    assert_eq!(verified.stdout, "tide-table 1.0.0: intact\n");

    let removed = world.expect(0, &["remove", "tide-table"]);
    assert_eq!(removed.stdout, "removed tide-table 1.0.0\n");
    assert!(names(&world.root().join("plugins")).is_empty());
    assert!(names(&world.root().join(".apkit/listings")).is_empty());
    assert_eq!(world.lock()["packages"], serde_json::json!({}));
    world.assert_tidy();
    world.expect(2, &["remove", "tide-table"]);
}

#[test]
fn equal_content_imported_again_changes_nothing() {
    let world = World::new();
    world.package("tide-table", "tide-table", "Look it up.");
    world.expect(0, &["import", "./tide-table"]);
    let times = |path: &str| {
        fs::metadata(world.root().join(path))
            .and_then(|file| file.modified())
            .expect("a time")
    };
    let before = (times("apkit.lock"), times("plugins/tide-table"));
    let run = world.expect(0, &["import", "./tide-table"]);
    assert!(run.stdout.contains("is in place already"), "{}", run.stdout);
    assert_eq!(before, (times("apkit.lock"), times("plugins/tide-table")));
}

#[test]
fn what_a_client_rejects_is_not_installed() {
    let world = World::new();
    world.write("bad/plugin.json", manifest("Bad_Name", ""));
    let run = world.expect(1, &["import", "./bad"]);
    assert!(run.stdout.contains("manifest::name"), "{}", run.stdout);
    assert!(
        run.stdout.contains("nothing was imported"),
        "{}",
        run.stdout
    );
    assert!(names(&world.root().join("plugins")).is_empty());
    assert!(!world.root().join("apkit.lock").exists());
    world.assert_tidy();
}

#[test]
fn what_a_client_skips_is_told_and_no_obstacle_unless_strict() {
    let world = World::new();
    world.place.mixed_package("mixed");
    let run = world.expect(1, &["import", "./mixed", "--strict"]);
    assert!(
        run.stdout.contains("skill::name-mismatch"),
        "{}",
        run.stdout
    );
    assert!(!world.installed("mixed-one").exists());
    let run = world.expect(0, &["import", "./mixed"]);
    assert!(run.stdout.contains("does not load:"), "{}", run.stdout);
    assert!(
        run.stdout.contains("skill::name-mismatch"),
        "{}",
        run.stdout
    );
    assert!(world.installed("mixed-one/skills/ebb/SKILL.md").exists());
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_package_is_left_out_unless_strict() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    let link = world.path("p/skills/tides/references/pw");
    std::os::unix::fs::symlink("/nowhere/at/all", link).expect("a link");
    let run = world.expect(1, &["import", "--strict", "./p"]);
    let told = "left out:\n    \"skills/tides/references/pw\": a link";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    assert!(!world.root().join("apkit.lock").exists());
    world.expect(0, &["import", "./p"]);
    let run = world.expect(1, &["update", "--strict"]);
    assert!(run.stdout.contains(told), "{}", run.stdout);
}

#[test]
fn a_name_is_that_of_one_source() {
    let world = World::new();
    world.package("one", "tide-table", "One.");
    world.package("two", "tide-table", "Two.");
    world.expect(0, &["import", "./one"]);
    let run = world.expect(2, &["import", "./two"]);
    assert!(
        run.stderr.contains("--replace puts this one in its place"),
        "{}",
        run.stderr
    );
    assert_eq!(
        fs::read_to_string(world.installed("tide-table/skills/tides/SKILL.md")).expect("a skill"),
        skill("One.")
    );
    world.expect(0, &["import", "./two", "--replace"]);
    assert_eq!(
        fs::read_to_string(world.installed("tide-table/skills/tides/SKILL.md")).expect("a skill"),
        skill("Two.")
    );
    world.expect(0, &["verify"]);
    world.assert_tidy();
}

#[test]
fn what_others_put_there_stays() {
    let world = World::new();
    world.package("one", "tide-table", "One.");
    world.write("home/.agents/plugins/tide-table/mine.txt", "mine");
    let run = world.expect(2, &["import", "./one", "--replace"]);
    assert!(
        run.stderr.contains("apkit has not put it there"),
        "{}",
        run.stderr
    );
    assert_eq!(names(&world.installed("tide-table")), ["mine.txt"]);
    let run = world.expect(0, &["list"]);
    assert!(
        run.stderr.contains("has not put these into"),
        "{}",
        run.stderr
    );
    // The very same content is taken over.
    fs::remove_dir_all(world.installed("tide-table")).expect("removed");
    world.package("home/.agents/plugins/tide-table", "tide-table", "One.");
    world.expect(0, &["import", "./one"]);
    world.expect(0, &["verify"]);
}

#[test]
fn a_name_that_some_system_takes_for_a_device_is_refused() {
    let world = World::new();
    for name in ["con", "nul", "com1.tools"] {
        world.write("p/plugin.json", manifest(name, ""));
        world.write("p/skills/tides/SKILL.md", skill("x"));
        let run = world.expect(2, &["import", "./p"]);
        assert!(run.stderr.contains("device"), "{}", run.stderr);
    }
    world.assert_tidy();
}

#[test]
fn a_dry_run_changes_nothing() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    let run = world.expect(0, &["import", "./p", "--dry-run"]);
    assert!(run.stdout.contains("would be imported"), "{}", run.stdout);
    assert!(!world.root().exists());
    world.expect(0, &["import", "./p"]);
    world.write("p/new.txt", "new");
    let run = world.expect(0, &["import", "./p", "--dry-run"]);
    assert!(run.stdout.contains("would be updated"), "{}", run.stdout);
    assert!(!world.installed("tide-table/new.txt").exists());
    world.assert_tidy();
}

#[test]
fn verify_names_what_was_changed() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.program("p/bin/x");
    world.expect(0, &["import", "./p"]);
    let installed = world.installed("tide-table");
    fs::write(installed.join("skills/tides/SKILL.md"), "other").expect("written");
    fs::write(installed.join("added.pyc"), "").expect("written");
    fs::remove_file(installed.join("bin/x")).expect("removed");
    let found = world.json(1, &["verify", "--json"]);
    let found = &found["packages"][0];
    assert_eq!(found["state"], "changed");
    assert_eq!(
        found["changes"],
        serde_json::json!([
            {"path": "added.pyc", "change": "was added"},
            {"path": "bin/x", "change": "was removed"},
            {"path": "skills/tides/SKILL.md", "change": "has other content"},
        ])
    );
    // Without the listing it is still known that something changed.
    for name in names(&world.root().join(".apkit/listings")) {
        fs::remove_file(world.root().join(".apkit/listings").join(name)).expect("removed");
    }
    assert_eq!(
        world.json(1, &["verify", "--json"])["packages"][0]["state"],
        "changed"
    );
    let run = world.expect(0, &["import", "./p"]);
    assert!(run.stdout.contains("put back as it was"), "{}", run.stdout);
    assert!(
        run.stdout.contains(
            "changed since it was imported, and gone now:\n    \"added.pyc\" was added\n"
        ),
        "{}",
        run.stdout
    );
    world.expect(0, &["verify"]);
    fs::remove_dir_all(&installed).expect("removed");
    assert_eq!(
        world.json(1, &["verify", "--json"])["packages"][0]["state"],
        "missing"
    );
    world.expect(0, &["update"]);
    world.expect(0, &["verify", "tide-table"]);
    world.expect(2, &["verify", "other"]);
}

#[test]
fn data_outlives_update_and_removal() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    world.write("home/.agents/plugin-data/tide-table/state.db", "precious");
    let data = || {
        world
            .place
            .read("home/.agents/plugin-data/tide-table/state.db")
    };
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    world.expect(0, &["update"]);
    assert_eq!(data(), "precious");
    let run = world.expect(0, &["remove", "tide-table"]);
    assert!(run.stdout.contains("--purge deletes it"), "{}", run.stdout);
    assert_eq!(data(), "precious");
    world.expect(0, &["import", "./p"]);
    assert_eq!(data(), "precious");
    world.expect(0, &["remove", "tide-table", "--purge"]);
    assert!(names(&world.root().join("plugin-data")).is_empty());
    world.assert_tidy();
    // What an earlier removal kept can be deleted later.
    world.write("home/.agents/plugin-data/tide-table/state.db", "precious");
    world.expect(0, &["remove", "tide-table", "--purge"]);
    assert!(names(&world.root().join("plugin-data")).is_empty());
}

#[test]
fn several_are_imported_one_by_one_and_one_failure_stops_no_other() {
    let world = World::new();
    world.package("a", "aa", "A.");
    world.package("b", "bb", "B.");
    let run = world.expect(2, &["import", "./a", "./nothing", "./b"]);
    assert!(
        run.stderr.contains("failed to import ./nothing"),
        "{}",
        run.stderr
    );
    assert_eq!(names(&world.root().join("plugins")), ["aa", "bb"]);
}

#[test]
fn the_result_is_told_to_programs() {
    let world = World::new();
    world.place.good_package("p");
    world.write("p/mcp.json", mcp(r#"{"b": {"type": "pigeon"}}"#));
    let result = world.json(0, &["import", "./p", "--format", "json"]);
    assert_eq!(result["schema_version"], 1);
    let result = &result["results"][0];
    assert_eq!(result["outcome"], "installed");
    assert_eq!(result["asked"], "./p");
    assert_eq!(result["name"], "good-one");
    assert_eq!(result["before"], serde_json::Value::Null);
    assert_eq!(result["after"]["kind"], "directory");
    assert_eq!(
        result["after"]["digest"],
        world.locked("good-one")["digest"]
    );
    assert_eq!(result["package"]["mcp"]["skipped"][0]["name"], "b");
    let failed = world.json(2, &["import", "./nothing", "--format", "json"]);
    assert_eq!(failed["results"][0]["outcome"], "unreachable");
    let listed = world.json(0, &["list", "--json"]);
    assert_eq!(listed["packages"][0]["name"], "good-one");
    assert_eq!(listed["packages"][0]["missing"], false);
    world.package("q", "other", "Q.");
    world.expect(0, &["import", "./q"]);
    let removed = world.json(2, &["remove", "good-one", "nothing", "./q", "--json"]);
    let outcomes = removed["results"].as_array().expect("results").iter();
    let outcomes = outcomes.map(|line| (line["name"].clone(), line["outcome"].clone()));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [
            ("good-one".into(), "removed".into()),
            ("nothing".into(), "failed".into()),
            ("other".into(), "removed".into()),
        ]
    );
    assert_eq!(removed["results"][0]["data_kept"], false);
    assert!(names(&world.root().join("plugins")).is_empty());
}

#[test]
fn a_builtin_package_runs_this_program() {
    let world = World::new();
    world.expect(0, &["import", "builtin:everos"]);
    let program = fs::read(env!("CARGO_BIN_EXE_apkit")).expect("the program");
    assert!(fs::read(world.installed("everos/bin/apkit")).expect("its copy") == program);
    world.expect(0, &["verify"]);
    world.expect(0, &["update"]);
}

#[cfg(unix)]
#[test]
fn a_directory_of_the_store_that_is_a_link_is_not_followed() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    for name in [".apkit", "plugins"] {
        fs::create_dir_all(world.root()).expect("a directory");
        std::os::unix::fs::symlink(world.path("beside"), world.root().join(name)).expect("a link");
        let run = world.expect(2, &["import", "./p"]);
        assert!(run.stderr.contains("is a link"), "{}", run.stderr);
        fs::remove_dir_all(world.root()).expect("removed");
    }
    world.assert_tidy();
}

#[test]
fn verify_says_what_is_not_there_and_what_nobody_put_there() {
    let world = World::new();
    let run = world.expect(0, &["verify"]);
    assert!(run.stdout.starts_with("no packages in "), "{}", run.stdout);
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    fs::remove_file(world.root().join("apkit.lock")).expect("removed");
    let run = world.expect(1, &["verify"]);
    assert!(
        run.stdout
            .contains("tide-table: the lock file does not name it"),
        "{}",
        run.stdout
    );
    let found = world.json(1, &["verify", "--json"]);
    assert_eq!(found["strays"], serde_json::json!(["tide-table"]));
}

#[test]
fn what_is_told_can_be_done_as_it_stands() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    fs::create_dir(world.path("p/.git")).expect("a directory");
    world.write(
        "p/skills/tides/SKILL.md",
        skill("One.").replace("\n---\n\n", "\nmood: calm\n---\n\n"),
    );
    let run = world.expect(0, &["import", "./p", "--project"]);
    // What git keeps for itself is nobody's loss.
    assert_eq!(
        run.stdout.lines().skip(1).collect::<Vec<_>>(),
        ["  1 warning: apkit validate .agents/plugins/tide-table"]
    );
    world.expect(0, &["validate", ".agents/plugins/tide-table"]);
    world.write(".agents/plugins/tide-table/more.txt", "more");
    let run = world.expect(1, &["verify", "--project"]);
    let command = "apkit update tide-table --project puts it back";
    assert!(run.stdout.contains(command), "{}", run.stdout);
    let run = world.expect(1, &["update", "--check", "--project"]);
    assert_eq!(run.stdout, format!("tide-table: changed here; {command}\n"));
    world.expect(0, &["update", "tide-table", "--project"]);
    world.expect(0, &["verify", "--project"]);
    // An older version is no update.
    world.write(
        "p/plugin.json",
        manifest("tide-table", "\"version\": \"0.9.0\""),
    );
    let run = world.expect(0, &["import", "./p", "--project"]);
    assert!(
        run.stdout
            .starts_with("tide-table 0.9.0: downgraded from 1.0.0, "),
        "{}",
        run.stdout
    );
}

#[test]
fn what_is_no_package_yet_is_told_how_to_become_one() {
    let world = World::new();
    world.write("cc/.claude-plugin/plugin.json", "{\"name\": \"cc\"}");
    let run = world.expect(1, &["import", "./cc"]);
    assert!(
        run.stdout
            .contains("\nhint: apkit export ./cc --out DIR makes a package of it\n"),
        "{}",
        run.stdout
    );
    // A finding is headed by a path.
    let place = world.path("cc").display().to_string();
    assert!(!run.stdout.contains("dir:"), "{}", run.stdout);
    assert!(run.stdout.contains(&place), "{}", run.stdout);
    world.write("skills/tides/SKILL.md", skill("One."));
    let run = world.expect(1, &["import", "./skills"]);
    assert!(
        run.stdout
            .contains("apkit export ./skills --name NAME --out DIR"),
        "{}",
        run.stdout
    );
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    repository.git(&["clone", "-q", "--bare", ".", "../big.git"]);
    let run = world.expect(1, &["import", "./big.git"]);
    assert!(
        run.stdout
            .contains("hint: it is a repository: apkit import git+file:///"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_project_that_is_a_package_does_not_import_its_own_store() {
    let world = World::new();
    world.package("project", "tide-table", "One.");
    let run = |status: i32, command: &[&str]| {
        let mut apkit = world.apkit();
        apkit.current_dir(world.path("project")).args(command);
        let run = crate::support::finish(apkit.arg("--project"));
        assert_eq!(run.status, Some(status), "{run:#?}");
        run
    };
    run(0, &["import", "."]);
    let lock = world.place.read("project/.agents/apkit.lock");
    world.write("project/.agents/plugin-data/tide-table/x", "data");
    world.write("project/.agents/plugins-of-mine/x", "mine");
    run(0, &["import", "."]);
    let place = world.path("project/.agents/plugins/tide-table");
    assert_eq!(names(&place), [".agents", "plugin.json", "skills"]);
    assert_eq!(names(&place.join(".agents")), ["plugins-of-mine"]);
    let again = world.place.read("project/.agents/apkit.lock");
    assert_ne!(again, lock);
    for _ in 0..3 {
        let told = run(0, &["import", "."]).stdout;
        assert!(told.contains("is in place already"), "{told}");
        assert!(told.contains(".agents/.apkit"), "{told}");
    }
    run(0, &["update", "--check"]);
    assert_eq!(world.place.read("project/.agents/apkit.lock"), again);
}

#[test]
fn what_fails_makes_no_store() {
    let world = World::new();
    fs::create_dir(world.path("project")).expect("a directory");
    world.write("project/bad/plugin.json", "{}");
    for (status, arguments) in [
        (2, &["import", "./nope"][..]),
        (2, &["import", "http://127.0.0.1:1/p.tgz"]),
        (1, &["import", "./bad"]),
        (2, &["remove", "nope"]),
        (2, &["remove", "nope", "--purge"]),
        (2, &["update", "nope"]),
    ] {
        for place in [&["--project"][..], &["--root", "new/store"]] {
            let mut command = world.apkit();
            command.current_dir(world.path("project"));
            let run = crate::support::finish(command.args(arguments).args(place));
            assert_eq!(run.status, Some(status), "{arguments:?}: {run:#?}");
            assert_eq!(names(&world.path("project")), ["bad"], "{arguments:?}");
        }
    }
    // Nor does what is found out last.
    world.package("p", "tide-table", "One.");
    world.write("folders/tides/SKILL.md", "mine");
    world.expect(2, &["import", "./p", "--skills-to", "folders"]);
    assert!(!world.root().exists());
}

#[test]
fn what_goes_is_named_also_beside_what_no_package_holds() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let spoil = || {
        world.write("home/.agents/plugins/tide-table/notes.txt", "mine");
        world.write("home/.agents/plugins/tide-table/.git/config", "mine");
        world.write("home/.agents/plugins/tide-table/skills/tides/SKILL.md", "x");
    };
    let told = "  changed since it was imported, and gone now:\n    \"notes.txt\" was added\n    \"skills/tides/SKILL.md\" has other content\n    \".git\" was added\n";
    for arguments in [
        &["update", "tide-table"][..],
        &["import", "./p"],
        &["import", "--frozen"],
        &["remove", "tide-table"],
    ] {
        spoil();
        let run = world.expect(0, arguments);
        assert!(run.stdout.contains(told), "{arguments:?}: {}", run.stdout);
        assert!(!world.installed("tide-table/notes.txt").exists());
    }
    // For programs, and with new content.
    world.expect(0, &["import", "./p"]);
    spoil();
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    let result = world.json(0, &["update", "--json"]);
    let result = &result["results"][0];
    assert_eq!(result["discarded_unknown"], false);
    assert_eq!(
        result["discarded"],
        serde_json::json!([
            {"path": "notes.txt", "change": "was added"},
            {"path": "skills/tides/SKILL.md", "change": "has other content"},
            {"path": ".git", "change": "was added"},
        ])
    );
}

#[test]
fn without_the_list_of_files_it_is_said_that_changes_cannot_be_told() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let spoil = || {
        world.write("home/.agents/plugins/tide-table/notes.txt", "mine");
        fs::remove_dir_all(world.root().join(".apkit")).expect("removed");
    };
    let untold = "cannot be told, as apkit's list of them is missing\n";
    spoil();
    let run = world.expect(1, &["verify"]);
    assert!(
        run.stdout
            .contains(&format!("which files were changed {untold}")),
        "{}",
        run.stdout
    );
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    let run = world.expect(0, &["update"]);
    let told = format!(
        "  which files were changed since it was imported {untold}  other than in the new content, and gone now:\n    \"notes.txt\" was added\n    \"skills/tides/SKILL.md\" has other content\n"
    );
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    spoil();
    let result = world.json(0, &["remove", "tide-table", "--json"]);
    assert_eq!(result["results"][0]["discarded_unknown"], true);
}

#[test]
fn programs_get_one_document_whatever_fails() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let failed = |arguments: &[&str], wanted: &str| {
        let found = world.json(2, arguments);
        assert_eq!(found["schema_version"], 1, "{arguments:?}");
        let error = found["error"].as_str().expect("an error");
        assert!(error.starts_with("failed to "), "{error}");
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    };
    failed(&["verify", "--json", "nope"], "no package named nope");
    failed(&["skills", "show", "nope", "--json"], "the skill nope: ");
    failed(&["skills", "--json", "show", "nope"], "the skill nope");
    failed(
        &["list", "--available", "--json"],
        "no `sources` are named in ",
    );
    failed(&["import", "--json"], "no SOURCE is named");
    failed(&["import", "--format", "json"], "no SOURCE is named");
    let found = world.json(0, &["skills", "--json", "show", "tides"]);
    assert_eq!(found["skill"]["name"], "tides");
    for (file, broken) in [("apkit.toml", "x"), ("apkit.lock", "{")] {
        let path = world.root().join(file);
        let before = std::fs::read(&path).ok();
        std::fs::write(&path, broken).expect("a file");
        for command in [
            &["list", "--json"][..],
            &["verify", "--json"],
            &["update", "--json"],
            &["skills", "--json"],
            &["import", "--frozen", "--json"],
        ] {
            failed(command, file);
        }
        match before {
            Some(before) => std::fs::write(&path, before).expect("a file"),
            None => std::fs::remove_file(&path).expect("removed"),
        }
    }
}

#[test]
fn no_command_shows_the_password_in_what_may_be_a_source() {
    let world = World::new();
    let sources = [
        "https://u:S3CRETPW@127.0.0.1/x.tgz",
        "https://u:S3C/RETPW@127.0.0.1/x.tgz",
        "git+https://u:S3CRETPW@127.0.0.1/x",
        "git+ssh://u:S3CRETPW@127.0.0.1/x",
        "git://u:S3CRETPW@127.0.0.1/x",
        "https://127.0.0.1/x.tgz?token=S3CRETPW",
        "https://127.0.0.1/x.tgz?X-Amz-Signature=S3CRETPW",
        "npm:https://u:S3CRETPW@h/",
        "npm:u:S3CRETPW@h",
        "github:S3CRETPW@o/r",
        "https:/u:S3CRETPW@h/x.git",
        "u:S3CRETPW@h:o/r",
        "dir:https://u:S3CRETPW@h/x",
        "file:https://u:S3CRETPW@h/x",
        "file:https://u:S3CRETPW@h/x.tgz",
    ];
    world.write("home/.agents/apkit.toml", "[[deny]]\nkind = \"archive\"\n");
    for source in sources {
        for command in [
            &["import"][..],
            &["import", "--json"],
            &["import", "--frozen", "--json"],
            &["update"],
            &["update", "--json"],
            &["update", "--json", "--to", "v1"],
            &["verify"],
            &["verify", "--json"],
            &["remove"],
            &["remove", "--json"],
            &["remove", "--json", "--purge"],
            &["validate"],
            &["validate", "--format", "json"],
            &["inspect"],
            &["export", "--target", "skills", "--out", "out"],
            &["mcp", "check"],
            &["mcp", "check", "--json"],
            &["skills", "show"],
        ] {
            let run = world.run(&[command, &[source]].concat());
            assert_ne!(run.status, Some(0), "{command:?} {source}: {run:#?}");
            let all = format!("{}{}", run.stdout, run.stderr);
            assert!(!all.contains("RETPW"), "{command:?} {source}: {all}");
            // It is named, and what is left out of it shows.
            assert!(all.contains('…'), "{command:?} {source}: {all}");
        }
    }
}
