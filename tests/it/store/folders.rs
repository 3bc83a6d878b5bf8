//! Plain skill folders (US-6).

use std::fs;

use super::world::{World, names, skill, tree};
use crate::support::{finish, manifest};

#[test]
fn skills_are_copied_without_programs_unless_the_user_says_so() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.program("p/skills/tides/assets/tool");
    let run = world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    assert!(run.stdout.contains("scripts/run.sh"), "{}", run.stdout);
    let copied = tree(&world.path("folders/tides"));
    assert_eq!(
        copied.keys().collect::<Vec<_>>(),
        ["SKILL.md", "assets/tool", "references/more.md"]
    );
    #[cfg(unix)]
    assert!(
        copied.values().all(|(_, mode)| *mode == 0o644),
        "{copied:?}"
    );
    world.expect(
        0,
        &["import", "./p", "--skills-to", "folders", "--allow-scripts"],
    );
    let copied = tree(&world.path("folders/tides"));
    assert!(copied.contains_key("scripts/run.sh"));
    #[cfg(unix)]
    assert_eq!(copied["scripts/run.sh"].1, 0o755);
    world.expect(0, &["verify"]);
    assert_eq!(names(&world.path("folders")), ["tides"]);
    world.assert_tidy();
}

#[test]
fn an_update_and_a_removal_follow() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write(
        "p/skills/ebb/SKILL.md",
        skill("E.").replace("name: tides", "name: ebb"),
    );
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    assert_eq!(names(&world.path("folders")), ["ebb", "tides"]);
    fs::remove_dir_all(world.path("p/skills/ebb")).expect("removed");
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    world.expect(0, &["update"]);
    assert_eq!(names(&world.path("folders")), ["tides"]);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("Two."));
    world.expect(0, &["remove", "tide-table"]);
    assert!(names(&world.path("folders")).is_empty());
}

#[test]
fn what_is_in_the_way_of_a_copy_stops_the_whole_import() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write("folders/tides/SKILL.md", "mine");
    for more in [&["--dry-run"][..], &[]] {
        let run = world.expect(
            2,
            &[&["import", "./p", "--skills-to", "folders"], more].concat(),
        );
        assert!(
            run.stderr.contains(
                "folders/tides is there already, and apkit has not put it there; nothing was changed"
            ) && run.stderr.contains("hint: move it away, or name another directory"),
            "{}",
            run.stderr
        );
        assert_eq!(world.place.read("folders/tides/SKILL.md"), "mine");
        assert_eq!(names(&world.path("folders")), ["tides"]);
        assert!(!world.root().join("apkit.lock").exists());
        assert!(names(&world.root().join("plugins")).is_empty());
    }
    // Nothing of it stays behind for later commands.
    world.expect(0, &["import", "./p"]);
    world.expect(0, &["import", "./p"]);
    assert!(world.locked("tide-table")["folders"].is_null());
    // A directory that is asked for later stops as well, and what is there stays.
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    let lock = world.lock();
    world.expect(2, &["import", "./p", "--skills-to", "folders"]);
    assert_eq!(world.lock(), lock);
    fs::remove_dir_all(world.path("folders/tides")).expect("removed");
    let run = world.expect(0, &["import", "./p", "--skills-to", "folders", "--dry-run"]);
    assert!(
        run.stdout.contains("skill would be copied to"),
        "{}",
        run.stdout
    );
    assert!(names(&world.path("folders")).is_empty());
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("Two."));
    world.assert_tidy();
}

#[test]
fn a_folder_of_the_user_that_holds_the_same_stays_theirs() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    fs::remove_dir_all(world.path("p/skills/tides/scripts")).expect("removed");
    world.write("folders/tides/SKILL.md", skill("One."));
    world.write("folders/tides/references/more.md", "more\n");
    let copies = ["--skills-to", "folders"];
    let run = world.expect(0, &[&["import", "./p"][..], &copies].concat());
    let told = "folders/tides holds this skill already and is yours";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    assert!(!run.stdout.contains("copied to"), "{}", run.stdout);
    let result = world.json(0, &[&["import", "./p", "--json"][..], &copies].concat());
    let folders = &result["results"][0]["folders"];
    assert_eq!(folders["copied"].as_array().map(Vec::len), Some(0));
    assert_eq!(folders["already_there"].as_array().map(Vec::len), Some(1));
    let run = world.expect(0, &["remove", "tide-table"]);
    assert!(!run.stdout.contains("folders/tides"), "{}", run.stdout);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("One."));
    assert_eq!(
        world.place.read("folders/tides/references/more.md"),
        "more\n"
    );
    // Nor is it replaced.
    world.expect(0, &[&["import", "./p"][..], &copies].concat());
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    let run = world.expect(2, &["update"]);
    assert!(
        run.stderr
            .contains("is there already, and apkit has not put it there"),
        "{}",
        run.stderr
    );
    assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("One."));
    // Moved away, a copy of ours comes in its place, which goes with the package.
    fs::remove_dir_all(world.path("folders/tides")).expect("removed");
    world.expect(0, &["update"]);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("Two."));
    world.expect(0, &["remove", "tide-table"]);
    assert!(names(&world.path("folders")).is_empty());
}

#[test]
fn skills_are_not_copied_to_where_the_store_keeps_its_own() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    let root = world.root().display().to_string();
    for directory in [
        root.clone(),
        format!("{root}/"),
        format!("{root}/plugins"),
        format!("{root}/skills/../plugins/x"),
        format!("{root}/.apkit/staging"),
        format!("{root}/plugin-data"),
    ] {
        let run = world.expect(2, &["import", "./p", "--skills-to", &directory]);
        let told = "the store keeps its own files there; nothing was changed";
        assert!(run.stderr.contains(told), "{directory}: {}", run.stderr);
    }
    assert!(!world.root().join("apkit.lock").exists());
    let skills = format!("{root}/skills");
    world.expect(0, &["import", "./p", "--skills-to", &skills]);
    assert!(world.root().join("skills/tides/SKILL.md").exists());
    world.expect(0, &["verify"]);
}

#[test]
fn skills_are_not_copied_to_where_git_keeps_its_own() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    fs::create_dir(world.path(".git")).expect("a directory");
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut places = vec![
        ".git",
        "./.git/modules",
        "sub/../.git/x",
        ".GIT",
        "git~1/x",
        ".git./x",
        ".git ",
        ".gi\u{200c}t/x",
        ".git::$INDEX_ALLOCATION/x",
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(".git", world.path("link")).expect("a link");
        places.push("link/modules");
    }
    for directory in places {
        for more in [&["--dry-run"][..], &[]] {
            let arguments = ["import", "./p", "--skills-to", directory];
            let run = world.expect(2, &[&arguments, more].concat());
            let told = "git keeps its own files there; nothing was changed";
            assert!(run.stderr.contains(told), "{directory}: {}", run.stderr);
        }
    }
    assert!(names(&world.path(".git")).is_empty());
    assert!(!world.root().join("apkit.lock").exists());
}

#[test]
fn a_directory_that_cannot_be_written_stops_the_whole_import() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write("file", "a file");
    world.expect(
        2,
        &[
            "import",
            "./p",
            "--skills-to",
            "new/sub",
            "--skills-to",
            "file/x",
        ],
    );
    assert!(!world.path("new").exists());
    assert!(!world.root().join("apkit.lock").exists());
    assert!(names(&world.root().join("plugins")).is_empty());
    world.assert_tidy();
}

/// macOS and Windows have no such names.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_the_lock_file_cannot_name_stops_the_whole_import() {
    use std::os::unix::ffi::OsStrExt as _;

    let world = World::new();
    world.package("p", "tide-table", "One.");
    let name = std::ffi::OsStr::from_bytes(b"sk\xff");
    for more in [&["--dry-run"][..], &[]] {
        let mut command = world.apkit();
        command.args(["import", "./p", "--skills-to"]).arg(name);
        let run = finish(command.args(more));
        assert_eq!(run.status, Some(2), "{run:#?}");
        assert!(
            run.stderr.contains("its path is no Unicode"),
            "{}",
            run.stderr
        );
        assert!(!world.path("").join(name).exists());
        assert!(!world.root().join("apkit.lock").exists());
        assert!(names(&world.root().join("plugins")).is_empty());
    }
    world.assert_tidy();
}

#[test]
fn what_the_user_changed_is_theirs_and_what_verify_says_helps() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    // One that is gone is put back by what verify names.
    fs::remove_dir_all(world.path("folders/tides")).expect("removed");
    let run = world.expect(1, &["verify"]);
    assert!(
        run.stdout
            .contains("folders/tides is missing\n  apkit update tide-table puts it back"),
        "{}",
        run.stdout
    );
    let run = world.expect(0, &["update", "tide-table"]);
    assert_eq!(
        run.stdout.lines().next(),
        Some("tide-table: put back as it was")
    );
    world.expect(0, &["verify"]);
    // Changed by the user, it is theirs.
    world.write("folders/tides/SKILL.md", "mine");
    let found = world.json(1, &["verify", "--json"]);
    assert_eq!(found["packages"][0]["folders"][0]["problem"], "was changed");
    let run = world.expect(1, &["verify"]);
    assert!(
        run.stdout
            .contains("after the changed folders were moved away, apkit update tide-table puts"),
        "{}",
        run.stdout
    );
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    let lock = world.lock();
    let run = world.expect(2, &["update"]);
    let stop = format!(
        "apkit remove tide-table --skills-to {}",
        world.path("folders").display()
    );
    assert!(
        run.stderr.contains("was changed since apkit put it there") && run.stderr.contains(&stop),
        "{}",
        run.stderr
    );
    assert_eq!(world.place.read("folders/tides/SKILL.md"), "mine");
    assert_eq!(world.lock(), lock);
    fs::rename(world.path("folders/tides"), world.path("mine")).expect("moved away");
    world.expect(0, &["update", "tide-table"]);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("Two."));
    world.expect(0, &["verify"]);
    // A removal leaves it, and is done for all that.
    world.write("folders/tides/SKILL.md", "mine");
    let run = world.expect(0, &["remove", "tide-table"]);
    assert!(run.stdout.contains("it is yours now"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
    assert_eq!(world.place.read("folders/tides/SKILL.md"), "mine");
    assert_eq!(names(&world.path("folders")), ["tides"]);
}

#[test]
fn copying_can_be_stopped_and_the_package_stays() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(
        0,
        &["import", "./p", "--skills-to", "one", "--skills-to", "two"],
    );
    world.write("two/tides/SKILL.md", "mine");
    let run = world.expect(2, &["remove", "tide-table", "--skills-to", "three"]);
    assert!(run.stderr.contains("are not copied to"), "{}", run.stderr);
    let run = world.expect(0, &["remove", "tide-table", "--skills-to", "two"]);
    assert!(run.stdout.contains("it is yours now"), "{}", run.stdout);
    assert_eq!(world.place.read("two/tides/SKILL.md"), "mine");
    assert_eq!(names(&world.path("one")), ["tides"]);
    world.expect(0, &["verify"]);
    world.expect(0, &["remove", "./p", "--skills-to", "one"]);
    assert!(names(&world.path("one")).is_empty());
    assert!(world.locked("tide-table")["folders"].is_null());
    world.expect(0, &["import", "./p"]);
    assert!(names(&world.path("one")).is_empty());
    world.expect(0, &["verify"]);
}

#[test]
fn what_was_allowed_once_stays_allowed_when_the_lock_file_is_followed() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    let project = |arguments: &[&str]| {
        let mut command = world.apkit();
        command.current_dir(world.path("project")).args(arguments);
        let run = finish(command.arg("--project"));
        assert_eq!(run.status, Some(0), "{run:#?}");
        run
    };
    let copies = ["--skills-to", "inside-skills", "--skills-to", "../outside"];
    project(&[&["import", "./p", "--allow-scripts"][..], &copies].concat());
    let scripts = |is_there: bool| {
        for above in ["project/inside-skills", "outside"] {
            let script = world.path(above).join("tides/scripts/run.sh");
            assert_eq!(script.exists(), is_there, "{}", script.display());
        }
    };
    scripts(true);
    let lock = world.place.read("project/.agents/apkit.lock");
    for command in [&["import", "--frozen"][..], &["import", "./p"], &["update"]] {
        project(command);
        scripts(true);
        project(&["verify"]);
        assert_eq!(world.place.read("project/.agents/apkit.lock"), lock);
    }
    // Gone, it is put back with them.
    fs::remove_dir_all(world.path("project/inside-skills")).expect("removed");
    project(&["import", "--frozen"]);
    scripts(true);
    // Only allowed later, they come, and nothing was broken.
    fs::remove_dir_all(world.path("project/.agents/.apkit")).expect("removed");
    fs::remove_dir_all(world.path("project/inside-skills")).expect("removed");
    project(&["import", "--frozen"]);
    assert!(!world.path("project/inside-skills/tides/scripts").exists());
    let run = project(&["import", "--frozen", "--allow-scripts"]);
    assert!(run.stdout.contains("is in place already"), "{}", run.stdout);
    scripts(true);
    fs::remove_dir_all(world.path("outside")).expect("removed");
    // Asked for again without them, they go.
    project(&[&["import", "./p"][..], &copies].concat());
    scripts(false);
    project(&["import", "--frozen"]);
    scripts(false);
}

#[test]
fn folders_that_came_along_with_the_lock_file_are_ours_again() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    let project = |status: i32, arguments: &[&str]| {
        let mut command = world.apkit();
        command.current_dir(world.path("project")).args(arguments);
        let run = finish(command.arg("--project"));
        assert_eq!(run.status, Some(status), "{run:#?}");
        run
    };
    let copies = ["--skills-to", ".claude/skills", "--allow-scripts"];
    project(0, &[&["import", "./p"][..], &copies].concat());
    // Another machine has what is in version control, and nothing else.
    let clone = || {
        for left_out in [".agents/plugins", ".agents/.apkit"] {
            fs::remove_dir_all(world.path("project").join(left_out)).expect("removed");
        }
    };
    clone();
    let folder = world.path("project/.claude/skills/tides");
    let before = tree(&folder);
    for _ in 0..2 {
        let run = project(0, &["import", "--frozen"]);
        assert!(!run.stdout.contains("is yours"), "{}", run.stdout);
        assert_eq!(tree(&folder), before);
        project(0, &["verify"]);
    }
    world.write("project/p/skills/tides/SKILL.md", skill("Two."));
    project(0, &["update"]);
    assert!(
        world
            .place
            .read("project/.claude/skills/tides/SKILL.md")
            .contains("Two.")
    );
    project(0, &["remove", "tide-table"]);
    assert!(!folder.exists());
    // One that is something else stays in the way.
    project(0, &[&["import", "./p"][..], &copies].concat());
    clone();
    world.write("project/.claude/skills/tides/SKILL.md", skill("Mine."));
    let run = project(2, &["import", "--frozen"]);
    assert!(
        run.stderr.contains("apkit has not put it there"),
        "{run:#?}"
    );
}

#[cfg(unix)]
#[test]
fn links_bring_what_they_lead_to_or_are_left_out() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write("p/shared/table.md", "table");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, world.path("p/skills/tides").join(name))
            .expect("a link");
    };
    link("../../shared/table.md", "table.md");
    link("../../shared", "shared");
    let run = world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    assert!(
        run.stdout.contains("links left out:\n    shared\n"),
        "{}",
        run.stdout
    );
    assert_eq!(world.place.read("folders/tides/table.md"), "table");
    assert!(
        !fs::symlink_metadata(world.path("folders/tides/table.md"))
            .expect("a file")
            .is_symlink()
    );
}

#[test]
fn a_lock_file_of_a_stranger_writes_nowhere_else_and_brings_no_scripts() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    let project = |arguments: &[&str]| {
        finish(
            world
                .apkit()
                .current_dir(world.path("project"))
                .args(arguments)
                .arg("--project"),
        )
    };
    let run = project(&[
        "import",
        "./p",
        "--skills-to",
        "inside-skills",
        "--skills-to",
        "../outside",
        "--allow-scripts",
    ]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    for path in [
        "project/inside-skills",
        "outside",
        "project/.agents/plugins",
        "project/.agents/.apkit",
    ] {
        fs::remove_dir_all(world.path(path)).expect("removed");
    }
    let lock = world.place.read("project/.agents/apkit.lock");
    let run = project(&["import", "--frozen"]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    assert!(
        run.stdout.contains("which only the lock file asks for"),
        "{}",
        run.stdout
    );
    assert!(!world.path("outside").exists());
    assert!(world.path("project/inside-skills/tides/SKILL.md").exists());
    assert!(!world.path("project/inside-skills/tides/scripts").exists());
    assert_eq!(world.place.read("project/.agents/apkit.lock"), lock);
    // Nor does it by any other command that follows it.
    world.write("project/p/skills/tides/SKILL.md", skill("Two."));
    for command in [&["update"][..], &["import", "./p"]] {
        let run = project(command);
        assert_eq!(run.status, Some(0), "{run:#?}");
        assert!(!world.path("outside").exists());
        assert!(!world.path("project/inside-skills/tides/scripts").exists());
    }
    // Unless the user says so.
    let run = project(&["import", "--frozen", "--allow-scripts"]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    assert!(world.path("project/inside-skills/tides/scripts").exists());
}

#[test]
fn packages_that_bring_skills_of_one_name_do_not_take_each_others_folder() {
    let world = World::new();
    world.package("a", "aa", "A.");
    world.package("b", "bb", "B.");
    world.write("b/plugin.json", manifest("bb", ""));
    world.expect(0, &["import", "./a", "--skills-to", "folders"]);
    for text in ["B.", "A."] {
        world.write("b/skills/tides/SKILL.md", skill(text));
        let run = world.expect(2, &["import", "./b", "--skills-to", "folders"]);
        assert!(
            run.stderr
                .contains("is the copy of a skill of the package aa"),
            "{}",
            run.stderr
        );
        assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("A."));
    }
}
