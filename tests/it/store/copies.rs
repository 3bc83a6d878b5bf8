//! What is said about copies of skills: every way out that is named works as it
//! stands.

use std::fs;

use super::world::{Repository, World, names, skill};
use crate::support::{Run, finish};

/// The command that a text names after `before`, run as it stands.
fn follow(world: &World, text: &str, before: &str) -> Run {
    let (_, after) = text.split_once(before).expect("a command");
    let line = after.lines().next().unwrap_or_default();
    let line = line.split(" copies them").next().unwrap_or_default();
    let line = line.split(';').next().unwrap_or_default();
    let words = line.split_whitespace().map(|word| word.trim_matches('\''));
    let words = words.skip_while(|word| *word != "apkit");
    let mut command = world.apkit();
    command.current_dir(world.path("project"));
    let run = finish(command.args(words.skip(1)));
    assert_eq!(run.status, Some(0), "{line}: {run:#?}");
    run
}

#[test]
fn a_place_that_another_package_has_is_given_up_by_that_package() {
    let world = World::new();
    world.package("project/a", "aa", "A.");
    world.package("project/b", "bb", "B.");
    let copies = |package| ["import", package, "--skills-to", "skills"];
    world.in_project(0, &copies("./a"));
    // Also while the copy is gone: the next update of its package makes it again.
    for is_gone in [false, true] {
        if is_gone {
            fs::remove_dir_all(world.path("project/skills/tides")).expect("removed");
        }
        let run = world.in_project(2, &copies("./b"));
        let problem = match is_gone {
            true => "is kept for the copy of a skill of the package aa; nothing was changed",
            false => "is the copy of a skill of the package aa; nothing was changed",
        };
        assert!(run.stderr.contains(problem), "{}", run.stderr);
        let hint = "hint: name another directory; to copy the skills of aa there no more: apkit ";
        assert!(run.stderr.contains(hint), "{}", run.stderr);
        assert_eq!(run.stderr.matches("no more").count(), 1, "{}", run.stderr);
    }
    let run = world.in_project(2, &copies("./b"));
    follow(&world, &run.stderr, "there no more");
    world.in_project(0, &copies("./b"));
    let copy = "project/skills/tides/SKILL.md";
    assert_eq!(world.place.read(copy), skill("B."));
    world.in_project(0, &["verify"]);
    // Where both are copied by the lock file, as after a merge, either way works.
    world.in_project(0, &["import", "./a", "--skills-to", "other"]);
    let lock = world.place.read("project/.agents/apkit.lock");
    let merged = lock.replace("\"other\"", "\"skills\"");
    assert_ne!(lock, merged);
    for package in ["aa", "bb"] {
        world.write("project/.agents/apkit.lock", &merged);
        world.write("project/a/skills/tides/SKILL.md", skill(package));
        let run = world.in_project(2, &["update", "aa"]);
        assert!(
            run.stderr.contains("hint: to copy the skills of bb"),
            "{}",
            run.stderr
        );
        follow(&world, &run.stderr, &format!("of {package} there no more"));
        world.in_project(0, &["update", "aa"]);
    }
}

#[test]
fn what_the_lock_file_names_no_more_keeps_no_place() {
    let world = World::new();
    world.package("project/a", "aa", "A.");
    world.package("project/b", "bb", "B.");
    let copies = |package| ["import", package, "--skills-to", "skills"];
    world.in_project(0, &["import", "./b"]);
    let lock = world.place.read("project/.agents/apkit.lock");
    world.in_project(0, &copies("./a"));
    // As a switch of branches leaves it.
    world.write("project/.agents/apkit.lock", &lock);
    let run = world.in_project(0, &copies("./b"));
    assert!(run.stdout.contains("skill copied to"), "{}", run.stdout);
    let copy = "project/skills/tides/SKILL.md";
    assert_eq!(world.place.read(copy), skill("B."));
    world.in_project(0, &["verify", "bb"]);
    world.in_project(0, &["remove", "bb"]);
    assert!(names(&world.path("project/skills")).is_empty());
}

#[test]
fn only_ways_out_are_named_that_there_are() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    world.write("project/skills/tides/SKILL.md", "mine");
    world.in_project(0, &["import", "./p"]);
    let run = world.in_project(2, &["import", "./p", "--skills-to", "skills"]);
    assert!(
        run.stderr
            .ends_with("hint: move it away, or name another directory\n"),
        "{}",
        run.stderr
    );
    fs::rename(world.path("project/skills/tides"), world.path("mine")).expect("moved");
    world.in_project(0, &["import", "./p", "--skills-to", "skills"]);
    // An update names no directory.
    world.write("project/skills/tides/SKILL.md", "mine");
    world.write("project/p/skills/tides/SKILL.md", skill("Two."));
    let run = world.in_project(2, &["update"]);
    let hint = "hint: move it away; to copy its skills there no more: apkit remove tide-table ";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
    follow(&world, &run.stderr, "there no more");
    world.in_project(0, &["update"]);
    assert_eq!(world.place.read("project/skills/tides/SKILL.md"), "mine");
}

#[test]
fn scripts_are_allowed_later_for_what_was_copied_before() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    let script = |above: &str| {
        let script = world
            .path("project")
            .join(above)
            .join("tides/scripts/run.sh");
        script.exists()
    };
    let copies = ["--skills-to", "one-skills", "--skills-to", "two-skills"];
    let import = |more: &[&str]| world.in_project(0, &[&["import", "./p"][..], more].concat());
    import(&copies);
    assert!(!script("one-skills") && !script("two-skills"));
    import(&["--allow-scripts"]);
    assert!(script("one-skills") && script("two-skills"));
    // What is said of one directory is done there by what the line names.
    let run = import(&copies[..2]);
    assert!(!script("one-skills") && script("two-skills"));
    follow(&world, &run.stdout, "scripts removed, ");
    assert!(script("one-skills"));
    // Followed, the lock file decides: what it has, another machine may allow,
    let clone = || {
        for left_out in [
            ".agents/plugins",
            ".agents/.apkit",
            "one-skills",
            "two-skills",
        ] {
            fs::remove_dir_all(world.path("project").join(left_out)).expect("removed");
        }
    };
    clone();
    let lock = || world.place.read("project/.agents/apkit.lock");
    let before = lock();
    let run = world.in_project(0, &["import", "--frozen"]);
    assert!(!script("one-skills"));
    follow(&world, &run.stdout, "scripts left out, ");
    assert!(script("one-skills") && script("two-skills"));
    assert_eq!(lock(), before);
    // and what it has not, only an import that is not bound to it.
    import(&copies);
    clone();
    let before = lock();
    let run = world.in_project(0, &["import", "--frozen", "--allow-scripts"]);
    assert!(!script("one-skills"));
    assert_eq!(lock(), before);
    follow(&world, &run.stdout, "scripts left out, ");
    assert!(script("one-skills"));
    // An update names it, too.
    import(&copies);
    world.write("project/p/skills/tides/SKILL.md", skill("Two."));
    let run = world.in_project(0, &["update"]);
    assert!(!script("one-skills"));
    follow(&world, &run.stdout, "scripts left out, ");
    assert!(script("one-skills"));
}

/// Another machine has what is in version control, and nothing else.
fn clone(world: &World) {
    for left_out in [".agents/plugins", ".agents/.apkit"] {
        fs::remove_dir_all(world.path("project").join(left_out)).expect("removed");
    }
}

#[test]
fn an_update_in_a_clone_takes_the_committed_copies_for_its_own() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    let ebb = |text: &str| skill(text).replace("name: tides", "name: ebb");
    world.write("p/skills/ebb/SKILL.md", ebb("E."));
    let repository = Repository::of(&world.path("p"));
    let source = repository.source();
    fs::create_dir(world.path("project")).expect("a directory");
    let copies = ["--skills-to", "skills", "--allow-scripts"];
    world.in_project(0, &[&["import", &source][..], &copies].concat());
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    fs::remove_dir_all(world.path("p/skills/ebb")).expect("removed");
    repository.commit("second");
    let lock = world.place.read("project/.agents/apkit.lock");
    let tides = "project/skills/tides/SKILL.md";
    let before = [
        (tides, skill("One.")),
        ("project/skills/ebb/SKILL.md", ebb("E.")),
    ];
    for command in [&["update"][..], &["import", &source]] {
        clone(&world);
        world.write("project/.agents/apkit.lock", &lock);
        for (path, text) in &before {
            world.write(path, text);
        }
        world.program("project/skills/tides/scripts/run.sh");
        // What is named to begin with is the command that needs nothing but the lock file.
        let run = world.in_project(0, &["list"]);
        let named = "missing; apkit import --frozen --project puts it in place";
        assert!(run.stdout.contains(named), "{}", run.stdout);
        let run = world.in_project(1, &["verify"]);
        let named = "missing\n  apkit import --frozen --project puts it in place as the lock file";
        assert!(run.stdout.contains(named), "{}", run.stdout);
        if command[0] == "import" {
            world.in_project(0, &[command, &["--dry-run"]].concat());
            assert_eq!(world.place.read(tides), skill("One."));
        }
        // A copy that is neither the old one nor the new one is somebody's.
        world.write(tides, skill("Mine."));
        let run = world.in_project(2, command);
        assert!(
            run.stderr.contains("apkit has not put it there"),
            "{run:#?}"
        );
        assert_eq!(world.place.read(tides), skill("Mine."));
        world.write(tides, skill("One."));
        world.in_project(0, command);
        assert_eq!(world.place.read(tides), skill("Two."));
        assert_eq!(names(&world.path("project/skills")), ["tides"]);
        world.in_project(0, &["verify"]);
    }
}

#[test]
fn a_project_may_be_renamed_or_copied() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    fs::create_dir(world.path("project")).expect("a directory");
    world.in_project(0, &["import", "../p", "--skills-to", "skills"]);
    // Renamed, it is as it was,
    fs::rename(world.path("project"), world.path("second")).expect("renamed");
    let second = |status: i32, arguments: &[&str]| {
        let mut command = world.apkit();
        command.current_dir(world.path("second")).args(arguments);
        let run = finish(command.arg("--project"));
        assert_eq!(run.status, Some(status), "{arguments:?}: {run:#?}");
        run
    };
    second(0, &["verify"]);
    world.write("second/skills/tides/SKILL.md", skill("Mine."));
    let run = second(1, &["verify"]);
    let place = world.path("second/skills/tides");
    let told = format!("  {} was changed\n", place.display());
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    world.write("second/skills/tides/SKILL.md", skill("One."));
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    second(0, &["update"]);
    assert_eq!(
        world.place.read("second/skills/tides/SKILL.md"),
        skill("Two.")
    );
    // and of a copy of it, which does not know what was copied, an update does.
    fs::remove_dir_all(world.path("second/.agents/.apkit")).expect("removed");
    world.write("p/skills/tides/SKILL.md", skill("Three."));
    second(0, &["update"]);
    assert_eq!(
        world.place.read("second/skills/tides/SKILL.md"),
        skill("Three.")
    );
    second(0, &["remove", "tide-table"]);
    assert!(names(&world.path("second/skills")).is_empty());
}

#[test]
fn a_removal_says_what_it_leaves_behind() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    world.in_project(
        0,
        &[
            "import",
            "./p",
            "--skills-to",
            "skills",
            "--skills-to",
            "rules",
        ],
    );
    let lock = world.place.read("project/.agents/apkit.lock");
    let forget = || {
        fs::remove_dir_all(world.path("project/.agents/.apkit")).expect("removed");
    };
    let told = |place: &str| {
        format!(
            "  {} is left alone, as apkit has not copied it on this machine; it is yours to keep or delete\n",
            world.path("project").join(place).display()
        )
    };
    forget();
    let directory = world.path("project/rules").display().to_string();
    let run = world.in_project(0, &["remove", "tide-table", "--skills-to", &directory]);
    assert!(run.stdout.ends_with(&told("rules/tides")), "{}", run.stdout);
    assert!(!run.stdout.contains("project/skills"), "{}", run.stdout);
    world.write("project/.agents/apkit.lock", &lock);
    forget();
    let run = world.in_project(0, &["remove", "tide-table", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let outside = found["results"][0]["folders"]["outside"].as_array();
    assert_eq!(outside.map(Vec::len), Some(2), "{found}");
    // Without the package, nobody knows which skills they are.
    world.write("project/.agents/apkit.lock", &lock);
    let run = world.in_project(0, &["remove", "tide-table"]);
    let both = [told("rules"), told("skills")].concat();
    assert!(run.stdout.ends_with(&both), "{}", run.stdout);
    for place in ["skills", "rules"] {
        assert_eq!(names(&world.path("project").join(place)), ["tides"]);
    }
    // What was copied here goes, and nothing is said of what is gone.
    fs::remove_dir_all(world.path("project/rules")).expect("removed");
    world.in_project(0, &["import", "./p"]);
    world.write("project/.agents/apkit.lock", &lock);
    fs::remove_dir_all(world.path("project/skills")).expect("removed");
    let run = world.in_project(0, &["remove", "tide-table"]);
    assert_eq!(run.stdout, "removed tide-table 1.0.0\n");
}

#[test]
fn scripts_that_go_from_a_committed_copy_are_told() {
    let world = World::new();
    world.package("project/p", "tide-table", "One.");
    let copies = ["--skills-to", "skills", "--allow-scripts"];
    world.in_project(0, &[&["import", "./p"][..], &copies].concat());
    clone(&world);
    // Taken for ours as they are: nothing is copied, and nothing is said.
    let run = world.in_project(0, &["import", "--frozen"]);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    world.write("project/p/skills/tides/SKILL.md", skill("Two."));
    world.write("project/p/skills/tides/scripts/new.sh", "#!/bin/sh\n");
    let run = world.in_project(0, &["update"]);
    let script = world.path("project/skills/tides/scripts/run.sh");
    assert!(!script.exists());
    let command = "apkit import --frozen tide-table --allow-scripts --project copies them";
    let told = format!(
        "  scripts removed, {command}:\n    scripts/run.sh\n  scripts left out, {command}:\n    scripts/new.sh\n"
    );
    assert!(run.stdout.ends_with(&told), "{}", run.stdout);
    follow(&world, &run.stdout, "scripts removed, ");
    assert!(script.exists());
}

#[test]
fn a_copy_that_stays_is_not_told_as_copied() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    let import = ["import", "./p", "--skills-to", "skills"];
    let found = world.json(0, &[&import[..], &["--json"]].concat());
    let copied = &found["results"][0]["folders"]["copied"][0];
    assert_eq!(copied["unchanged"], false, "{found}");
    for command in [
        &import[..],
        &["import", "--frozen"],
        &["import", "./p", "--dry-run"],
    ] {
        let run = world.expect(0, command);
        assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    }
    let found = world.json(0, &["import", "./p", "--json"]);
    let copied = &found["results"][0]["folders"]["copied"][0];
    assert_eq!(copied["unchanged"], true, "{found}");
    // Only what was asked for in vain is.
    let run = world.expect(0, &["import", "--frozen", "--allow-scripts"]);
    let told = "skills/tides stays as it is\n  scripts left out, apkit import ";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    fs::remove_dir_all(world.path("skills")).expect("removed");
    let run = world.expect(0, &["import", "--frozen"]);
    assert!(run.stdout.contains("  skill copied to "), "{}", run.stdout);
}

#[test]
fn copies_do_not_become_a_part_of_what_they_are_copied_from() {
    let world = World::new();
    world.package("project", "tide-table", "One.");
    fs::create_dir(world.path("project/sub")).expect("a directory");
    for directory in [".claude/skills", ".agents/skills", ".", "sub/../more"] {
        for more in [&["--dry-run"][..], &[]] {
            let import = ["import", ".", "--skills-to", directory];
            let run = world.in_project(2, &[&import, more].concat());
            let told = "so the next update would take the copies for a part of it; name a directory outside of it; nothing was changed";
            assert!(run.stderr.contains(told), "{directory}: {}", run.stderr);
        }
    }
    assert!(!world.path("project/.agents/apkit.lock").exists());
    // Nor by the word of a lock file.
    world.in_project(0, &["import", ".", "--skills-to", "../skills"]);
    let lock = world.place.read("project/.agents/apkit.lock");
    let inside = lock.replace("../skills", "./skills");
    assert_ne!(lock, inside);
    world.write("project/.agents/apkit.lock", inside);
    world.write("project/skills/tides/SKILL.md", skill("Two."));
    let run = world.in_project(0, &["update"]);
    let told = "is left alone, as it lies in the directory that the package comes from";
    assert!(run.stdout.contains(told), "{}", run.stdout);
    let run = world.in_project(0, &["update"]);
    assert!(
        run.stdout.starts_with("tide-table: current"),
        "{}",
        run.stdout
    );
}
