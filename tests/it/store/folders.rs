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
fn what_is_somebody_elses_is_not_replaced() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write("folders/tides/SKILL.md", "mine");
    let run = world.expect(2, &["import", "./p", "--skills-to", "folders"]);
    assert!(
        run.stderr.contains("apkit has not put it there"),
        "{}",
        run.stderr
    );
    assert_eq!(world.place.read("folders/tides/SKILL.md"), "mine");
    world.expect(0, &["verify", "tide-table"]);
    fs::remove_dir_all(world.path("folders/tides")).expect("removed");
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    // Changed by the user, it is theirs.
    world.write("folders/tides/SKILL.md", "mine");
    let found = world.json(1, &["verify", "--json"]);
    assert_eq!(found["packages"][0]["folders"][0]["problem"], "was changed");
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    let run = world.expect(2, &["update"]);
    assert!(run.stderr.contains("was changed"), "{}", run.stderr);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), "mine");
    let run = world.expect(2, &["remove", "tide-table"]);
    assert!(run.stderr.contains("it is yours now"), "{}", run.stderr);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), "mine");
    assert_eq!(names(&world.path("folders")), ["tides"]);
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
        "inside",
        "--skills-to",
        "../outside",
        "--allow-scripts",
    ]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    for path in [
        "project/inside",
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
        run.stdout.contains("which lies elsewhere"),
        "{}",
        run.stdout
    );
    assert!(!world.path("outside").exists());
    assert!(world.path("project/inside/tides/SKILL.md").exists());
    assert!(!world.path("project/inside/tides/scripts").exists());
    assert_eq!(world.place.read("project/.agents/apkit.lock"), lock);
}

#[test]
fn packages_that_bring_skills_of_one_name_do_not_take_each_others_folder() {
    let world = World::new();
    world.package("a", "aa", "A.");
    world.package("b", "bb", "B.");
    world.write("b/plugin.json", manifest("bb", ""));
    world.expect(0, &["import", "./a", "--skills-to", "folders"]);
    world.expect(2, &["import", "./b", "--skills-to", "folders"]);
    assert_eq!(world.place.read("folders/tides/SKILL.md"), skill("A."));
}
