//! What is written down of the copies of skills: `.apkit/folders.json`.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::world::{World, skill};

/// The record of the project.
const RECORD: &str = "project/.agents/.apkit/folders.json";

/// The copy as the record has it, relative to the project.
fn copy() -> String {
    Path::new("skills").join("tides").display().to_string()
}

fn record(world: &World) -> Value {
    serde_json::from_str(&world.place.read(RECORD)).expect("JSON")
}

#[test]
fn a_refused_import_leaves_the_record_of_another_store_as_it_is() {
    let world = World::new();
    world.package("project/a", "aa", "A.");
    world.in_project(0, &["import", "./a"]);
    // As a copied project brings it along.
    let theirs = r#"{"record_version": 1, "mark": "1-1", "packages": {"zz": {"/x": ["y"]}}}"#;
    world.write(RECORD, theirs);
    world.write("project/skills/tides/SKILL.md", "mine");
    let copies = ["import", "./a", "--skills-to", "skills"];
    let run = world.in_project(2, &copies);
    assert!(run.stderr.contains("nothing was changed"), "{run:#?}");
    assert_eq!(world.place.read(RECORD), theirs);
    // One that does something begins its own.
    fs::remove_dir_all(world.path("project/skills")).expect("removed");
    world.in_project(0, &copies);
    let packages = record(&world)["packages"].clone();
    assert!(packages["aa"][&copy()].is_array(), "{packages}");
    assert_eq!(packages["zz"], Value::Null);
}

#[test]
fn a_record_with_absolute_paths_is_read_and_written_anew() {
    let world = World::new();
    world.package("project/a", "aa", "A.");
    world.in_project(0, &["import", "./a", "--skills-to", "skills"]);
    // Earlier builds would misread the paths.
    let mut before = record(&world);
    assert_eq!(before["record_version"], 2);
    for members in ["packages", "allowed"] {
        let paths = before[members]["aa"].as_object().expect("paths");
        assert!(!paths.is_empty(), "{before}");
        let absolute: Map<String, Value> = paths
            .iter()
            .map(|(path, value)| {
                let path = world.path("project").join(path);
                (path.display().to_string(), value.clone())
            })
            .collect();
        before[members]["aa"] = Value::Object(absolute);
    }
    before["record_version"] = json!(1);
    world.write(RECORD, before.to_string());
    world.write("project/a/skills/tides/SKILL.md", skill("Two."));
    world.in_project(0, &["update"]);
    let text = world.place.read("project/skills/tides/SKILL.md");
    assert_eq!(text, skill("Two."));
    let mut now = record(&world);
    assert_eq!(now["record_version"], 2);
    assert!(now["packages"]["aa"][&copy()].is_array(), "{now}");
    // What a later build has written is not guessed at.
    now["record_version"] = json!(3);
    world.write(RECORD, now.to_string());
    let run = world.in_project(2, &["import", "./a", "--skills-to", "skills"]);
    let told = "it was written by another version of apkit";
    assert!(run.stderr.contains(told), "{run:#?}");
}
