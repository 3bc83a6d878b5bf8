//! Updating: by content, one package at a time.

use std::fs;

use super::world::{Repository, World, names, skill};
use crate::support::manifest;

#[test]
fn new_content_arrives_without_a_new_version() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.write("p/old.txt", "old");
    world.expect(0, &["import", "./p"]);
    world.write("home/.agents/plugin-data/tide-table/state", "kept");
    let run = world.expect(0, &["update"]);
    assert!(
        run.stdout.starts_with("tide-table: current (content "),
        "{}",
        run.stdout
    );
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    fs::remove_file(world.path("p/old.txt")).expect("removed");
    let run = world.expect(1, &["update", "--check"]);
    assert!(run.stdout.contains("update available"), "{}", run.stdout);
    assert!(world.installed("tide-table/old.txt").exists());
    world.expect(0, &["update"]);
    assert!(!world.installed("tide-table/old.txt").exists());
    assert_eq!(
        fs::read_to_string(world.installed("tide-table/skills/tides/SKILL.md")).expect("a skill"),
        skill("Two.")
    );
    assert_eq!(
        world
            .place
            .read("home/.agents/plugin-data/tide-table/state"),
        "kept"
    );
    // One directory, however often it was updated.
    assert_eq!(names(&world.root().join("plugins")), ["tide-table"]);
    assert_eq!(names(&world.root().join(".apkit/listings")).len(), 1);
    assert!(
        !fs::symlink_metadata(world.installed("tide-table"))
            .expect("a package")
            .is_symlink()
    );
    assert_eq!(world.locked("tide-table")["mode"], "copy");
    world.expect(0, &["verify"]);
    world.assert_tidy();
}

#[test]
fn a_step_between_versions_has_a_size() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    world.write(
        "p/plugin.json",
        manifest("tide-table", "\"version\": \"1.1.0\""),
    );
    let run = world.expect(1, &["update", "--check", "tide-table"]);
    assert!(
        run.stdout.contains("1.0.0 to 1.1.0 (minor)"),
        "{}",
        run.stdout
    );
    let result = world.json(0, &["update", "--json"]);
    assert_eq!(result["results"][0]["outcome"], "updated");
    assert_eq!(result["results"][0]["change"], "minor");
    assert_eq!(result["results"][0]["before"]["version"], "1.0.0");
}

#[test]
fn unreachable_is_not_current() {
    let world = World::new();
    world.package("a", "aa", "A.");
    world.package("b", "bb", "B.");
    world.expect(0, &["import", "./a", "./b"]);
    fs::rename(world.path("a"), world.path("away")).expect("moved");
    world.write("b/new.txt", "new");
    let run = world.expect(2, &["update"]);
    assert!(
        run.stdout.contains("aa: source not reachable"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("bb: updated"), "{}", run.stdout);
    let result = world.json(2, &["update", "--check", "--json"]);
    assert_eq!(result["results"][0]["outcome"], "unreachable");
    assert_eq!(result["results"][1]["outcome"], "current");
    world.expect(0, &["verify"]);
}

#[test]
fn rejected_content_leaves_the_old_in_place() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    world.write("p/plugin.json", "{}");
    let run = world.expect(1, &["update"]);
    assert!(
        run.stdout.contains("what is installed stays"),
        "{}",
        run.stdout
    );
    world.write("p/plugin.json", manifest("other-name", ""));
    let run = world.expect(2, &["update"]);
    assert!(
        run.stderr.contains("is named other-name now"),
        "{}",
        run.stderr
    );
    world.expect(0, &["verify"]);
    world.assert_tidy();
}

#[test]
fn of_a_repository_of_several_packages_one_is_imported_and_updated() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.package(
            &format!("repo/plugins/{name}"),
            &format!("pack-{name}"),
            "One.",
        );
    }
    let repository = Repository::of(&world.path("repo"));
    let source = repository.source();
    let run = world.expect(2, &["import", &source, "--root", "a store"]);
    for name in ["a", "b", "c"] {
        let line = format!("\n  '{source}?path=plugins/{name}'\n");
        assert!(run.stderr.contains(&line), "{}", run.stderr);
    }
    let hint = format!("\nhint: apkit import '{source}?path=plugins/a' --root 'a store'\n");
    assert!(run.stderr.contains(&hint), "{}", run.stderr);
    assert!(names(&world.path("a store/plugins")).is_empty());
    world.expect(0, &["import", &format!("{source}:plugins/b")]);
    world.expect(0, &["import", &format!("{source}:plugins/c")]);
    let before = world.lock();
    for name in ["a", "b", "c"] {
        world.write(
            &format!("repo/plugins/{name}/skills/tides/SKILL.md"),
            skill("Two."),
        );
    }
    let commit = repository.commit("second");
    world.expect(0, &["update", "pack-b"]);
    assert_eq!(names(&world.root().join("plugins")), ["pack-b", "pack-c"]);
    let after = world.lock();
    assert_eq!(after["packages"]["pack-c"], before["packages"]["pack-c"]);
    assert_eq!(
        after["packages"]["pack-b"]["resolved"]["commit"],
        commit.as_str()
    );
    assert_ne!(
        after["packages"]["pack-b"]["digest"],
        before["packages"]["pack-b"]["digest"]
    );
    world.assert_tidy();
}

#[test]
fn a_package_is_found_by_any_spelling_of_its_source() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    world.expect(0, &["import", &repository.source()]);
    let run = world.expect(
        0,
        &["update", &format!("{}/.git#main", repository.source())],
    );
    assert!(
        run.stdout.starts_with("tide-table: current"),
        "{}",
        run.stdout
    );
    let run = world.expect(2, &["update", "github:other/repo"]);
    assert!(
        run.stderr.contains("no package named github:other/repo"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_pin_moves_to_a_tag_and_back() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    repository.git(&["tag", "v1"]);
    world.write("repo/skills/tides/SKILL.md", skill("Two."));
    let second = repository.commit("second");
    repository.git(&["tag", "-a", "-m", "two", "v2"]);
    world.expect(0, &["import", &format!("{}#v1", repository.source())]);
    let text = || {
        fs::read_to_string(world.installed("tide-table/skills/tides/SKILL.md")).expect("a skill")
    };
    assert_eq!(text(), skill("One."));
    world.expect(0, &["update"]);
    assert_eq!(text(), skill("One."));
    world.expect(0, &["update", "tide-table", "--to", "v2"]);
    assert_eq!(text(), skill("Two."));
    assert_eq!(
        world.locked("tide-table")["resolved"]["commit"],
        second.as_str()
    );
    assert!(
        world.locked("tide-table")["source"]
            .as_str()
            .expect("a source")
            .ends_with("#v2")
    );
    world.expect(0, &["update", "tide-table", "--to", "v1"]);
    assert_eq!(text(), skill("One."));
    for wrong in ["v9", "a..b", "--x", "a:b", "a?path=b"] {
        world.expect(2, &["update", "tide-table", "--to", wrong]);
        assert_eq!(text(), skill("One."), "{wrong}");
    }
    world.package("p", "plain", "P.");
    world.expect(0, &["import", "./p"]);
    let run = world.expect(2, &["update", "plain", "--to", "v2"]);
    assert!(run.stderr.contains("has no versions"), "{}", run.stderr);
    world.expect(2, &["update", "plain", "tide-table", "--to", "v2"]);
    world.assert_tidy();
}

#[test]
fn verify_takes_any_spelling_of_a_source() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.package("q", "ebb", "Two.");
    world.expect(0, &["import", "./p", "./q"]);
    for spelling in ["tide-table", "./p", "dir:p", "./q/../p"] {
        let found = world.json(0, &["verify", spelling, "--json"]);
        let packages = found["packages"].as_array().expect("a list");
        assert_eq!(packages.len(), 1, "{spelling}");
        assert_eq!(packages[0]["name"], "tide-table");
    }
    let run = world.expect(2, &["verify", "./r"]);
    assert!(
        run.stderr.contains("no package named ./r is installed"),
        "{run:#?}"
    );
}

#[test]
fn another_version_than_the_installed_one_is_not_taken_for_it() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    let id = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["tag", "v1"]);
    repository.git(&["branch", "dev"]);
    let at = |reference: &str| format!("{}#{reference}", repository.source());
    world.expect(0, &["import", &at("v1")]);
    let run = world.expect(2, &["import", "--frozen", &at("dev")]);
    let told = format!(
        "names {} instead, and --frozen allows nothing else; `--to dev` of an update moves it\nhint: apkit update tide-table --to dev\n",
        at("v1")
    );
    assert!(run.stderr.contains(&told), "{}", run.stderr);
    let run = world.expect(2, &["update", &at("dev")]);
    let told = format!(
        "tide-table is installed from {}; `--to dev` moves it\nhint: apkit update tide-table --to dev\n",
        at("v1")
    );
    assert!(run.stderr.contains(&told), "{}", run.stderr);
    // Without a version, or as the one that is there, it is the installed one.
    for source in [repository.source(), at("v1"), at(&id)] {
        world.expect(0, &["import", "--frozen", &source]);
        world.expect(0, &["update", &source]);
    }
    // Also by the beginning of its id, and by other names of what led there.
    for name in [&id[..8], &id[..8].to_uppercase(), "tags/v1"] {
        world.expect(0, &["import", "--frozen", &at(name)]);
        world.expect(0, &["update", &at(name)]);
    }
    world.expect(2, &["import", "--frozen", &at("HEAD")]);
    assert_eq!(world.locked("tide-table")["source"], at("v1"));
    // The way out leads there.
    world.expect(0, &["update", "tide-table", "--to", "dev"]);
    world.expect(0, &["import", "--frozen", &at("dev")]);
}

#[test]
fn the_default_branch_may_be_named_when_the_lock_file_is_followed() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    world.expect(0, &["import", &repository.source()]);
    let named = format!("{}#HEAD", repository.source());
    world.expect(0, &["import", "--frozen", &named]);
    world.expect(0, &["update", &named]);
}

#[test]
fn a_commit_that_changes_nothing_of_the_package_is_recorded_only() {
    let world = World::new();
    world.package("repo/p", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    world.expect(0, &["import", &format!("{}:p", repository.source())]);
    world.write("repo/README.md", "beside the package");
    let commit = repository.commit("second");
    let run = world.expect(0, &["update", "--check"]);
    assert!(run.stdout.contains("current"), "{}", run.stdout);
    let run = world.expect(0, &["update"]);
    assert!(run.stdout.contains("same content"), "{}", run.stdout);
    assert_eq!(
        world.locked("tide-table")["resolved"]["commit"],
        commit.as_str()
    );
    world.expect(0, &["verify"]);
}

#[test]
fn a_check_needs_no_place_in_the_store() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    // As if nothing could be made there.
    fs::remove_dir(world.root().join(".apkit/staging")).expect("removed");
    world.write("home/.agents/.apkit/staging", "in the way");
    let run = world.expect(0, &["update", "--check"]);
    assert!(
        run.stdout.starts_with("tide-table: current (content "),
        "{}",
        run.stdout
    );
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    let run = world.expect(1, &["update", "--check"]);
    assert!(run.stdout.contains("update available"), "{}", run.stdout);
    assert!(names(&world.path("tmp")).is_empty());
}

#[test]
fn a_tag_that_was_moved_is_told() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    repository.git(&["tag", "v1"]);
    let first = repository.git(&["rev-parse", "HEAD"]);
    world.expect(0, &["import", &format!("{}#v1", repository.source())]);
    let before = world.locked("tide-table")["digest"].clone();
    world.write("repo/skills/tides/SKILL.md", skill("Two."));
    let second = repository.commit("second");
    repository.git(&["tag", "-f", "v1"]);
    let moved = format!(
        "  warning: the tag v1 was moved from commit {} to commit {}; its content was {} and is sha256:",
        &first[..12],
        &second[..12],
        before.as_str().expect("a digest")
    );
    let run = world.expect(1, &["update", "--check"]);
    assert!(run.stdout.contains(&moved), "{}", run.stdout);
    let found = world.json(1, &["update", "--check", "--json"]);
    assert_eq!(found["results"][0]["rewritten"], "tag");
    let run = world.expect(0, &["update"]);
    assert!(run.stdout.contains(&moved), "{}", run.stdout);
    // A branch moves all the time.
    world.expect(0, &["update", "tide-table", "--to", "main"]);
    world.write("repo/skills/tides/SKILL.md", skill("Three."));
    repository.commit("third");
    let found = world.json(0, &["update", "--json"]);
    assert_eq!(found["results"][0]["outcome"], "updated");
    assert_eq!(found["results"][0]["rewritten"], serde_json::Value::Null);
}
