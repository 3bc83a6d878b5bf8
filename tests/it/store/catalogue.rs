//! What there is to install, and the skills of what is installed.

use super::world::{World, skill};
use crate::support::{Run, manifest};

#[test]
fn directories_of_packages_are_listed_with_findings() {
    let world = World::new();
    world.package("packages/a", "aa", "A.");
    world.place.mixed_package("packages/b");
    world.write("packages/c/plugin.json", "{}");
    world.write("packages/d/README.md", "no package");
    let run = world.expect(2, &["list", "--available"]);
    assert!(
        run.stderr.contains("apkit.toml names no `sources`"),
        "{}",
        run.stderr
    );
    world.expect(0, &["import", "./packages/a"]);
    world.write(
        "home/.agents/apkit.toml",
        "sources = [\"../../packages\"]\n",
    );
    let listed = world.json(0, &["list", "--available", "--json"]);
    let listed = listed["available"].as_array().expect("a list");
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[1]["package"]["name"], "mixed-one");
    assert_eq!(
        listed[1]["package"]["skills"]["skipped"][0]["path"],
        "skills/ebb"
    );
    assert_eq!(listed[2]["package"]["verdict"], "rejected");
    let more = world.expect(0, &["list", "--available", "--from", "packages"]);
    assert!(more.stdout.contains("rejected: dir:"), "{}", more.stdout);
    assert!(
        more.stdout.contains("aa 1.0.0  1 skill, 0 servers"),
        "{}",
        more.stdout
    );
    // The mark is there however the directory is named.
    let is_marked = |run: &Run| {
        let mut lines = run.stdout.lines();
        lines.any(|line| line.starts_with("aa 1.0.0") && line.ends_with("/packages/a  installed"))
    };
    assert!(is_marked(&more), "{}", more.stdout);
    assert_eq!(listed[0]["installed"], true);
    // One that is away does not hide the others.
    let run = world.expect(2, &["list", "--available", "--from", "nowhere"]);
    assert!(run.stderr.contains("nowhere"), "{}", run.stderr);
    assert!(is_marked(&run), "{}", run.stdout);
    let found = world.json(2, &["list", "--available", "--from", "nowhere", "--json"]);
    assert_eq!(found["available"].as_array().map(Vec::len), Some(3));
    let nowhere = world.path("nowhere");
    assert_eq!(
        found["unreadable"][0]["path"],
        nowhere.to_string_lossy().as_ref()
    );
}

#[test]
fn the_skills_of_all_packages_are_listed_and_shown() {
    let world = World::new();
    world.package("a", "aa", "First line.\n\tsecond\u{1b}[31m line");
    world.package("b", "bb", "B.");
    world.write("b/plugin.json", manifest("bb", "\"version\": \"newest\""));
    world.expect(0, &["import", "./a", "./b"]);
    // Two have one of the name, so that it does not say which.
    world.expect(2, &["skills", "show", "tides"]);
    let listed = world.json(0, &["skills", "--json"]);
    let listed = listed["skills"].as_array().expect("a list");
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["package"], "aa");
    assert_eq!(listed[0]["name"], "tides");
    assert_eq!(listed[0]["version"], "1.0.0");
    assert!(
        listed[0]["source"]
            .as_str()
            .is_some_and(|source| source.starts_with("dir:"))
    );
    // Without a usable version, one is made of the content.
    let digest = world.locked("bb")["digest"]
        .as_str()
        .expect("a digest")
        .to_owned();
    assert_eq!(
        listed[1]["version"],
        format!("0.0.0+{}", &digest["sha256:".len()..][..12])
    );
    let text = world.expect(0, &["skills"]);
    assert!(
        text.stdout.starts_with("aa/tides  1.0.0  dir:"),
        "{}",
        text.stdout
    );

    let shown = world.expect(0, &["skills", "show", "aa/tides"]);
    assert_eq!(shown.stdout, "First line.\n\tsecond\\u{1b}[31m line\n");
    assert!(
        shown.stderr.contains("references/more.md, scripts/run.sh"),
        "{}",
        shown.stderr
    );
    let shown = world.json(0, &["skills", "show", "aa/tides", "--json"]);
    assert_eq!(
        shown["skill"]["body"],
        "First line.\n\tsecond\u{1b}[31m line\n"
    );
    assert_eq!(
        shown["skill"]["sidecars"],
        serde_json::json!(["references/more.md", "scripts/run.sh"])
    );
    let run = world.expect(2, &["skills", "show", "aa/ebb"]);
    assert!(run.stderr.contains("did you mean tides?"), "{}", run.stderr);
    world.expect(2, &["skills", "show", "tides"]);
    assert_eq!(skill("B."), world.place.read("b/skills/tides/SKILL.md"));
}

#[test]
fn a_skill_that_one_package_has_is_shown_by_its_name() {
    let world = World::new();
    world.package("a", "aa", "High water.");
    world.expect(0, &["import", "./a"]);
    let run = world.expect(0, &["skills", "show", "tides"]);
    assert!(run.stdout.contains("High water."), "{}", run.stdout);
    let run = world.expect(2, &["skills", "show", "ebb"]);
    assert!(run.stderr.contains("write PACKAGE/NAME"), "{}", run.stderr);
}
