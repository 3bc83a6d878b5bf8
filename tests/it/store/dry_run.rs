//! Dry runs of several packages: each says what the real run would.

use std::fs;

use super::world::World;

#[test]
fn a_dry_run_restores_any_number_of_packages() {
    let world = World::new();
    world.package("a", "aa", "A.");
    world.package("b", "bb", "B.");
    world.expect(0, &["import", "./a", "./b"]);
    fs::remove_dir_all(world.installed("")).expect("removed");
    let run = world.expect(0, &["import", "--frozen", "--dry-run"]);
    assert_eq!(
        run.stdout.matches("would be put back").count(),
        2,
        "{run:#?}"
    );
    assert!(!world.installed("aa").exists());
    world.assert_tidy();
}

#[test]
fn a_dry_run_knows_of_the_packages_before() {
    let world = World::new();
    world.package("a", "tide-table", "A.");
    world.package("b", "tide-table", "B.");
    for more in [&["--dry-run"][..], &[]] {
        let run = world.expect(2, &[&["import", "./a", "./b"], more].concat());
        assert!(
            run.stderr
                .contains("a package named tide-table is installed from"),
            "{run:#?}"
        );
    }
    world.expect(0, &["remove", "tide-table"]);
    let run = world.expect(
        0,
        &["import", "./a", "./b", "./b", "--replace", "--dry-run"],
    );
    let lines: Vec<&str> = run.stdout.lines().collect();
    for (line, what) in lines
        .iter()
        .zip(["would be imported", "would be updated", "is in place"])
    {
        assert!(line.contains(what), "{run:#?}");
    }
    assert_eq!(lines.len(), 3, "{run:#?}");
}

#[test]
fn a_dry_run_knows_of_the_skill_folders_before() {
    let world = World::new();
    world.package("a", "aa", "A.");
    world.package("b", "bb", "B.");
    // The same once more is no conflict, and another directory is none.
    let fine = ["import", "./a", "./a", "--skills-to", "one", "--dry-run"];
    world.expect(0, &fine);
    for more in [&["--dry-run"][..], &[]] {
        let run = world.expect(
            2,
            &[&["import", "./a", "./b", "--skills-to", "folders"], more].concat(),
        );
        assert!(
            run.stderr
                .contains("is the copy of a skill of the package aa"),
            "{run:#?}"
        );
    }
}
