//! Copies of skills that were set aside.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::schemas;
use super::world::{World, names, skill};
use crate::support::{Run, finish};

/// Runs with this limit of the system.
fn limited(world: &World, limit: &str, arguments: &str) -> Run {
    let script = format!("ulimit {limit}; exec \"$0\" {arguments}");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_apkit")]);
    world.prepare(&mut command);
    finish(&mut command)
}

/// Directories that lie deeper in each other than files may be open cannot be deleted.
fn with_few_files(world: &World, arguments: &str) -> Run {
    let run = limited(world, "-n 20", arguments);
    assert_eq!(run.status, Some(0), "{arguments}: {run:?}");
    run
}

#[test]
fn a_copy_that_cannot_be_deleted_is_told_and_deleted_later() {
    let deep = format!("p/skills/tides/{}file", "d/".repeat(28));
    for (arguments, way) in [
        ("remove tide-table", "old"),
        ("remove tide-table --skills-to folders", "old"),
        ("update", "new"),
    ] {
        let world = World::new();
        world.package("p", "tide-table", "One.");
        world.package("q", "other", "Other.");
        world.write(&deep, "deep");
        world.expect(0, &["import", "./p", "--skills-to", "folders"]);
        fs::remove_dir_all(world.path("p/skills/tides/d")).expect("removed");
        world.write("p/skills/tides/SKILL.md", skill("Two."));
        let aside = world.path(&format!("folders/.tides.apkit-{way}"));
        let told = format!(
            "{}, an earlier copy of a skill, cannot be deleted: Too many open files (os error 24); the next change tries again, unless you delete it",
            aside.display()
        );
        let run = with_few_files(&world, arguments);
        assert!(run.stdout.contains(&told), "{arguments}: {}", run.stdout);
        assert!(aside.join("d/d/d").is_dir());
        // Nor can the next change, which is about something else.
        let run = with_few_files(&world, "import ./q --json");
        let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
        schemas::check("import", &found);
        let left = &found["results"][0]["folders"]["not_deleted"];
        assert_eq!(left[0]["path"], aside.to_str().expect("a path"), "{left}");
        assert_eq!(left.as_array().map(Vec::len), Some(1), "{left}");
        let run = world.expect(0, &["remove", "other"]);
        assert!(!run.stdout.contains("earlier copy"), "{}", run.stdout);
        assert!(!aside.exists());
        let left = if way == "new" { vec!["tides"] } else { vec![] };
        assert_eq!(names(&world.path("folders")), left, "{arguments}");
        let record = world.place.read("home/.agents/.apkit/folders.json");
        assert!(!record.contains("aside"), "{record}");
        world.expect(0, &["verify"]);
        world.assert_tidy();
    }
}

#[test]
fn a_copy_that_cannot_be_deleted_stops_no_other_in_its_place() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write(&format!("p/skills/tides/{}file", "d/".repeat(28)), "deep");
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    fs::remove_dir_all(world.path("p/skills/tides/d")).expect("removed");
    let aside = world.path("folders/.tides.apkit-new");
    for text in ["Two.", "Three.", "Four."] {
        world.write("p/skills/tides/SKILL.md", skill(text));
        let run = with_few_files(&world, "update --json");
        let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let left = &found["results"][0]["folders"]["not_deleted"];
        assert_eq!(left[0]["path"], aside.to_str().expect("a path"), "{left}");
        assert_eq!(left.as_array().map(Vec::len), Some(1), "{left}");
        assert_eq!(world.place.read("folders/tides/SKILL.md"), skill(text));
        assert_eq!(names(&world.path("folders")), [".tides.apkit-new", "tides"]);
    }
    world.package("q", "other", "Other.");
    world.expect(0, &["import", "./q"]);
    assert_eq!(names(&world.path("folders")), ["tides"]);
    world.assert_tidy();
}

#[test]
fn what_a_process_that_died_was_copying_goes_with_the_next_change() {
    for change in [
        &["import", "./r"][..],
        &["update", "other"],
        &["remove", "other"],
        &["remove", "tide-table"],
    ] {
        let world = World::new();
        world.package("p", "tide-table", "One.");
        world.write("p/skills/tides/large.bin", vec![b'x'; 400 << 10]);
        world.package("q", "other", "Other.");
        world.expect(0, &["import", "./p", "--skills-to", "folders"]);
        world.expect(0, &["import", "./q"]);
        world.write("q/more.md", "more");
        world.package("r", "third", "Third.");
        fs::remove_dir_all(world.path("folders/tides")).expect("removed");
        // The system ends whoever writes a larger file.
        let limit = "-c 0; ulimit -f 200";
        let run = limited(&world, limit, "import --frozen tide-table");
        assert_eq!(run.status, None, "{run:?}");
        assert_eq!(names(&world.path("folders")), [".tides.apkit-new"]);
        world.expect(0, change);
        assert!(names(&world.path("folders")).is_empty(), "{change:?}");
        let record = world.place.read("home/.agents/.apkit/folders.json");
        assert!(!record.contains("aside"), "{record}");
        world.assert_tidy();
    }
}

#[test]
fn an_import_that_is_refused_writes_down_no_copies() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write("folders/tides/mine.md", "mine");
    world.expect(2, &["import", "./p", "--skills-to", "folders"]);
    assert_eq!(names(&world.path("folders")), ["tides"]);
    assert!(!world.root().join(".apkit").exists());
}
