//! What there is to install, and the skills of what is installed.

use apkit::package::Options;

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
        run.stderr.contains("no `sources` are named in "),
        "{}",
        run.stderr
    );
    let file = world.root().join("apkit.toml").display().to_string();
    assert!(run.stderr.contains(&file), "{}", run.stderr);
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
    assert_eq!(more.stdout.lines().count(), 3, "{}", more.stdout);
    let why = "  plugin.json: ";
    assert!(
        more.stdout
            .lines()
            .any(|line| line.starts_with("rejected: ") && line.contains(why))
    );
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
fn what_is_listed_has_the_version_that_an_import_would_show() {
    let world = World::new();
    world.write("packages/p/plugin.json", manifest("tide-table", ""));
    world.write("packages/p/skills/tides/SKILL.md", skill("One."));
    world.write("packages/p/.git/HEAD", "ref: refs/heads/main\n");
    let available = || {
        world.json(
            0,
            &["list", "--available", "--from", "packages/p/../", "--json"],
        )
    };
    let found = available()["available"][0].clone();
    let path = found["package"]["path"].as_str().expect("a path");
    assert!(!path.contains(".."), "{path}");
    // A package itself is one, too.
    let run = world.expect(0, &["list", "--available", "--from", "packages/p"]);
    assert!(
        run.stdout.starts_with("tide-table 0.0.0+"),
        "{}",
        run.stdout
    );
    world.write("none/README.md", "no package");
    let run = world.expect(0, &["list", "--available", "--from", "none"]);
    assert!(run.stdout.starts_with("no packages in "), "{}", run.stdout);
    world.expect(0, &["import", "./packages/p"]);
    let installed = world.json(0, &["list", "--json"]);
    assert_eq!(
        found["shown_version"],
        installed["packages"][0]["shown_version"]
    );
    assert_eq!(available()["available"][0]["installed"], true);
}

#[test]
fn a_rejected_package_has_the_version_of_its_content_where_that_can_be_told() {
    let world = World::new();
    world.write("packages/a/plugin.json", "{}");
    world.write("packages/b/plugin.json", "{\"version\": \"1.2.3\"}");
    world.write("packages/c/plugin.json", "{\"version\": \"newest\"}");
    let arguments = ["list", "--available", "--from", "packages", "--json"];
    let versions = || {
        let found = world.json(0, &arguments);
        let available = found["available"].as_array().expect("a list").clone();
        for package in &available {
            assert_eq!(package["package"]["verdict"], "rejected");
        }
        let versions = available.iter().map(|one| one["shown_version"].clone());
        versions.collect::<Vec<_>>()
    };
    let of_content = |version: &serde_json::Value| {
        let digits = version.as_str().and_then(|it| it.strip_prefix("0.0.0+"));
        digits.is_some_and(|digits| digits.len() == 12)
    };
    let found = versions();
    assert!(of_content(&found[0]), "{found:?}");
    assert_eq!(found[1], "1.2.3");
    assert!(of_content(&found[2]), "{found:?}");
    assert_ne!(found[0], found[2]);
    #[cfg(unix)]
    {
        // Whether a link is left out shows when it is copied.
        for name in ["a", "b"] {
            let link = world.path(&format!("packages/{name}/link"));
            std::os::unix::fs::symlink("/nowhere", link).expect("a link");
        }
        let linked = versions();
        assert_eq!(linked[0], serde_json::Value::Null);
        assert_eq!(linked[1], "1.2.3");
        assert_eq!(linked[2], found[2]);
    }
}

#[test]
fn packages_of_one_name_are_told_apart() {
    let world = World::new();
    world.package("packages/a", "aa", "A.");
    world.package("packages/b", "bb", "B.");
    world.package("packages/c", "aa", "C.");
    // What both directories hold is one package.
    let arguments = [
        "list",
        "--available",
        "--from",
        "packages",
        "--from",
        "packages/a",
    ];
    let found = world.json(0, &[&arguments[..], &["--json"]].concat());
    let available = found["available"].as_array().expect("a list");
    let others = |at: usize| available[at]["same_name"].clone();
    let [a, c] = [0, 2].map(|at| available[at]["source"].clone());
    assert_eq!(others(0), serde_json::json!([c]));
    assert_eq!(others(1), serde_json::json!([]));
    assert_eq!(others(2), serde_json::json!([a]));
    let text = world.expect(0, &arguments).stdout;
    let told = |source: &serde_json::Value| {
        let source = source.as_str().expect("a source");
        text.contains(&format!("\n  has the name of {source}; "))
    };
    assert!(told(&a) && told(&c), "{text}");
    // The way out that is named.
    world.expect(0, &["import", "./packages/a"]);
    world.expect(2, &["import", "./packages/c"]);
    world.expect(0, &["import", "./packages/c", "--replace"]);
}

#[test]
fn many_packages_of_one_name_tell_a_few_others_and_how_many_there_are() {
    let world = World::new();
    for at in 0..6 {
        world.package(&format!("packages/p{at}"), "aa", "A.");
    }
    let arguments = ["list", "--available", "--from", "packages"];
    let found = world.json(0, &[&arguments[..], &["--json"]].concat());
    let available = found["available"].as_array().expect("a list");
    let source = |at: usize| available[at]["source"].as_str().expect("a source");
    let first = |at: [usize; 3]| at.map(source);
    let expected = [
        first([1, 2, 3]),
        first([0, 2, 3]),
        first([0, 1, 3]),
        first([0, 1, 2]),
        first([0, 1, 2]),
        first([0, 1, 2]),
    ];
    for (one, expected) in available.iter().zip(expected) {
        assert_eq!(one["same_name"], serde_json::json!(expected));
        assert_eq!(one["same_name_more"], 2);
    }
    let text = world.expect(0, &arguments).stdout;
    let told = format!(
        "\n  has the name of {} and 2 more; ",
        first([0, 1, 2]).join(", ")
    );
    assert_eq!(text.matches(&told).count(), 3, "{text}");
    // Where all are named, no more are counted.
    for at in 4..6 {
        std::fs::remove_dir_all(world.path(&format!("packages/p{at}"))).expect("removed");
    }
    let found = world.json(0, &[&arguments[..], &["--json"]].concat());
    for one in found["available"].as_array().expect("a list") {
        assert_eq!(one["same_name"].as_array().map(Vec::len), Some(3));
        assert_eq!(one["same_name_more"], 0);
    }
    let text = world.expect(0, &arguments).stdout;
    assert!(text.contains("has the name of"), "{text}");
    assert!(!text.contains(" more; "), "{text}");
}

#[test]
fn whoever_wants_to_stop_waits_for_no_listing() {
    let world = World::new();
    world.package("packages/a", "aa", "A.");
    let store = apkit::store::Store::open(world.root()).expect("a store");
    let stop = apkit::source::Stop::default();
    let list = || store.available(&[world.path("packages")], &Options::default(), &stop);
    assert_eq!(list().expect("a list").available.len(), 1);
    stop.request();
    assert!(matches!(list(), Err(apkit::store::Error::Interrupted)));
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
    // What is no skill's name alone is told with what may be meant.
    world.package("b", "bb", "Low water.");
    world.expect(0, &["import", "./b"]);
    for (text, wanted) in [
        ("ebb", "ebb: no installed package has one of that name"),
        (
            "tides",
            "tides: several packages have one; write aa/tides or bb/tides\n",
        ),
        (
            "tidess",
            "tidess: no installed package has one of that name; did you mean aa/tides or bb/tides?\n",
        ),
        (
            "bb",
            "bb: no installed package has one of that name; did you mean bb/tides?\n",
        ),
    ] {
        let run = world.expect(2, &["skills", "show", text]);
        assert!(run.stderr.contains(wanted), "{}", run.stderr);
    }
}
