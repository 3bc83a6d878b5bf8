//! `apkit sync`: what differs is found in every shape, and written with the rest
//! of the file as it was.

use serde_json::Value;

use crate::fix::tree;
use crate::support::{Place, manifest};

const FIELDS: &str = "\"version\": \"1.4.0\",\n  \"description\": \"Tides für Zoë\",\n  \"author\": {\"name\": \"Mara\", \"email\": \"m@example.com\"},\n  \"license\": \"MIT\",\n  \"homepage\": \"https://tides.example\",\n  \"repository\": \"https://github.com/a/tides\",\n  \"keywords\": [\"sea\", \"tides\"]";

fn package(place: &Place, path: &str) {
    place.write(
        &format!("{path}plugin.json"),
        manifest("tide-table", FIELDS),
    );
    place.write(
        &format!("{path}skills/tides/SKILL.md"),
        "---\nname: tides\ndescription: Tells the tides. Use it for them.\n---\nLook.\n",
    );
}

/// One other manifest, before and after.
fn golden(path: &str, before: &str, after: &str, drifts: &[&str]) {
    let place = Place::new();
    package(&place, "");
    place.write(path, before);
    let files = tree(place.path());
    let check = place.run(["sync", "--check"]);
    assert_eq!(
        check.status,
        Some(i32::from(!drifts.is_empty())),
        "{before}\n{}{}",
        check.stdout,
        check.stderr
    );
    let told: Vec<&str> = check.stdout.lines().collect();
    let (summary, told) = told.split_last().expect("a summary");
    assert_eq!(told, drifts, "{before}");
    assert!(summary.ends_with(&format!("compared {path}")), "{summary}");
    assert_eq!(tree(place.path()), files, "a check writes nothing");
    let run = place.run(["sync"]);
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(place.read(path), after);
    let check = place.run(["sync", "--check"]);
    assert_eq!(check.status, Some(0), "{}", check.stdout);
    assert!(check.stdout.starts_with("in step: "), "{}", check.stdout);
    let validate = place.run(["validate", "--strict"]);
    assert!(
        !validate.stdout.contains("version-drift"),
        "{}",
        validate.stdout
    );
}

#[test]
fn manifests_of_clients_follow() {
    for path in [
        ".claude-plugin/plugin.json",
        ".codex-plugin/plugin.json",
        ".cursor-plugin/plugin.json",
        ".github/plugin/plugin.json",
    ] {
        golden(
            path,
            "{\r\n\t\"version\" :\"1.3.2\", \"name\": \"tide-table\",\r\n\r\n\t\"description\": \"Tides f\\u00fcr Zo\\u00eb\",\r\n\t\"author\": {\"name\": \"Mara\", \"email\": \"old@example.com\", \"url\": \"https://mara.example\"},\r\n\t\"keywords\": [\r\n\t\t\"sea\"\r\n\t],\r\n\t\"hooks\": {\"x\": [1,2]}}",
            "{\r\n\t\"version\" :\"1.4.0\", \"name\": \"tide-table\",\r\n\r\n\t\"description\": \"Tides f\\u00fcr Zo\\u00eb\",\r\n\t\"author\": {\"name\": \"Mara\", \"email\": \"m@example.com\", \"url\": \"https://mara.example\"},\r\n\t\"keywords\": [\r\n\t\t\"sea\",\r\n\t\t\"tides\"\r\n\t],\r\n\t\"hooks\": {\"x\": [1,2]}}",
            &[
                &format!("{path}:2:13: version is \"1.3.2\", and \"1.4.0\" in plugin.json"),
                &format!(
                    "{path}:5:38: author.email is \"old@example.com\", and \"m@example.com\" in plugin.json"
                ),
                &format!("{path}:6:14: keywords is \"sea\", and \"sea, tides\" in plugin.json"),
            ],
        );
    }
}

#[test]
fn a_package_json_keeps_its_shapes() {
    let path = "package.json";
    golden(
        path,
        "{\n    \"name\": \"@sea/tides\",\n    \"version\": \"1.3.2\",\n    \"author\": \"Mara <old@example.com> (https://mara.example)\",\n    \"repository\": {\"type\": \"git\", \"url\": \"git+https://github.com/a/old.git\", \"directory\": \"x\"},\n    \"keywords\": [\"tides\", \"sea\"]\n}\n",
        "{\n    \"name\": \"@sea/tide-table\",\n    \"version\": \"1.4.0\",\n    \"author\": \"Mara <m@example.com> (https://mara.example)\",\n    \"repository\": {\"type\": \"git\", \"url\": \"git+https://github.com/a/tides.git\", \"directory\": \"x\"},\n    \"keywords\": [\"tides\", \"sea\"]\n}\n",
        &[
            "package.json:2:13: name is \"tides\", and \"tide-table\" in plugin.json",
            "package.json:3:16: version is \"1.3.2\", and \"1.4.0\" in plugin.json",
            "package.json:4:15: author is \"Mara <old@example.com> (https://mara.example)\", and \"Mara <m@example.com> (https://mara.example)\" in plugin.json",
            "package.json:5:42: repository is \"https://github.com/a/old\", and \"https://github.com/a/tides\" in plugin.json",
        ],
    );
    // The same in another shape is no difference, nor is what a file does not say.
    for same in [
        "{\"name\": \"tide-table\", \"repository\": \"github:a/tides\", \"author\": \"Mara\"}",
        "{\"name\": \"@x/tide-table\", \"repository\": \"a/tides\"}",
        "{\"private\": true, \"version\": \"0.0.0\"}",
        "{\"version\": \"0.0.0-semantic-release\"}",
        "{\"dependencies\": {}, \"license\": {\"type\": \"MIT\"}}",
        "{}",
    ] {
        golden(path, same, same, &[]);
    }
}

#[test]
fn the_entries_of_marketplaces_that_lead_here_follow() {
    for (file, source) in [
        (".claude-plugin/marketplace.json", "\"./plugins/tides\""),
        (".claude-plugin/marketplace.json", "\"tides\""),
        (
            ".agents/plugins/marketplace.json",
            "{\"source\": \"local\", \"path\": \"./plugins/tides\"}",
        ),
        (".cursor-plugin/marketplace.json", "\"./plugins/tides/\""),
    ] {
        let place = Place::new();
        package(&place, "plugins/tides/");
        place.write(".git/HEAD", "");
        let text = |version: &str, name: &str| {
            format!(
                "{{\"name\": \"market\", \"version\": \"9\", \"metadata\": {{\"pluginRoot\": \"./plugins\"}}, \"plugins\": [\n  {{\"name\": \"other\", \"source\": \"./plugins/other\", \"version\": \"1.0.0\"}},\n  {{\"name\": \"{name}\", \"source\": {source},   \"version\": \"{version}\"}},\n  {{\"name\": \"far\", \"source\": {{\"source\": \"github\", \"repo\": \"a/tides\"}}, \"version\": \"2.0.0\"}}\n]}}"
            )
        };
        place.write(file, text("1.3.2", "tides"));
        let run = place.run(["sync", "--check", "plugins/tides"]);
        assert_eq!(
            run.status,
            Some(1),
            "{file} {source}: {}{}",
            run.stdout,
            run.stderr
        );
        assert!(
            run.stdout.starts_with(&format!(
                "../../{file}:3:12: name is \"tides\", and \"tide-table\" in plugin.json\n"
            )),
            "{}",
            run.stdout
        );
        let run = place.run(["sync", "plugins/tides"]);
        assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
        assert_eq!(place.read(file), text("1.4.0", "tide-table"));
        assert_eq!(
            place.run(["sync", "--check", "plugins/tides"]).status,
            Some(0)
        );
    }
    // A marketplace beyond the repository is somebody else's; one in the package counts.
    let place = Place::new();
    package(&place, "repo/");
    place.write("repo/.git/HEAD", "");
    let entry =
        |source: &str| format!("{{\"plugins\": [{{\"name\": \"x\", \"source\": \"{source}\"}}]}}");
    place.write(".claude-plugin/marketplace.json", entry("./repo"));
    assert_eq!(
        place.run(["sync", "--check", "repo"]).stdout,
        "in step: no other manifest is there\n"
    );
    place.write("repo/.claude-plugin/marketplace.json", entry("./"));
    let run = place.run(["sync", "--check", "repo"]);
    assert!(
        run.stdout
            .starts_with(".claude-plugin/marketplace.json:1:23: name is \"x\""),
        "{}",
        run.stdout
    );
}

#[test]
fn another_file_may_be_the_source() {
    let place = Place::new();
    package(&place, "");
    place.write("package.json", "{\"name\": \"@x/other\", \"version\": \"2.0.0\", \"repository\": \"a/new\", \"license\": \"Apache-2.0\"}");
    place.write(
        ".claude-plugin/plugin.json",
        "{\"name\": \"tide-table\", \"version\": \"1.4.0\"}",
    );
    let run = place.run([
        "sync",
        "--from",
        "package.json",
        "--field",
        "version",
        "--field",
        "repository",
    ]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(
        place.read("plugin.json"),
        manifest("tide-table", FIELDS)
            .replace("1.4.0", "2.0.0")
            .replace("a/tides", "a/new")
    );
    assert_eq!(
        place.read(".claude-plugin/plugin.json"),
        "{\"name\": \"tide-table\", \"version\": \"2.0.0\"}"
    );
    for (from, said) in [
        (
            "other.json",
            "other.json is none of plugin.json, package.json, .claude-plugin/plugin.json",
        ),
        (
            ".codex-plugin/plugin.json",
            ".codex-plugin/plugin.json is not there",
        ),
    ] {
        let run = place.run(["sync", "--from", from]);
        assert_eq!(run.status, Some(2));
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert_eq!(place.run(["sync", "--field", "skills"]).status, Some(2));
}

#[test]
fn it_agrees_with_the_advice_about_versions() {
    for (path, text) in [
        ("package.json", "{\"version\": \"1.3.0\"}"),
        ("package.json", "{\"version\": \"1.4.0\"}"),
        (
            "package.json",
            "{\"version\": \"0.0.0\", \"private\": true}",
        ),
        ("package.json", "{\"version\": \"0.0.0\"}"),
        ("package.json", "{\"version\": \"0.0.0-dev\"}"),
        (
            ".claude-plugin/plugin.json",
            "{\"version\": \"0.0.0\", \"private\": true}",
        ),
        (
            ".github/plugin/plugin.json",
            "{\"version\": \"1.4.0\", \"version\": \"1.3.0\"}",
        ),
        (".cursor-plugin/plugin.json", "{\"version\": \"1.4.0 \"}"),
    ] {
        let place = Place::new();
        package(&place, "");
        place.write(path, text);
        let drifts = place.run(["sync", "--check", "--field", "version"]).status == Some(1);
        let warns = place
            .run(["validate"])
            .stdout
            .contains("package::version-drift");
        assert_eq!(drifts, warns, "{path}: {text}");
    }
}

#[test]
fn what_cannot_be_compared_is_told_and_the_rest_is_done() {
    let place = Place::new();
    package(&place, "");
    place.write("package.json", "{\"version\": \"1.0.0\",}");
    place.write(".claude-plugin/plugin.json", "{\"version\": \"1.0.0\"}");
    let run = place.run(["sync"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr
            .contains("failed to keep . in step: package.json is not JSON"),
        "{}",
        run.stderr
    );
    assert_eq!(
        place.read(".claude-plugin/plugin.json"),
        "{\"version\": \"1.4.0\"}"
    );
    assert_eq!(place.read("package.json"), "{\"version\": \"1.0.0\",}");
    place.write("plugin.json", "{\"name\": \"tide-table\"}");
    let run = place.run(["sync"]);
    assert!(
        run.stderr
            .contains("the package is rejected; `apkit validate` says why"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_json_report_lists_the_differences() {
    let place = Place::new();
    package(&place, "");
    place.write(
        ".claude-plugin/plugin.json",
        "{\"version\": \"1.0.0\", \"repository\": \"https://x.example/a\"}",
    );
    let run = place.run(["sync", "--check", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(report["drifts"][0]["field"], "version");
    assert_eq!(report["drifts"][0]["line"], 1);
    assert_eq!(report["drifts"][1]["says"], "https://x.example/a");
    assert_eq!(report["compared"][0], ".claude-plugin/plugin.json");
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_package_only() {
    let place = Place::new();
    package(&place, "p/");
    let outside = place.write("outside.json", "{\"version\": \"1.0.0\"}");
    std::os::unix::fs::symlink(&outside, place.path().join("p/package.json")).expect("a link");
    place.write("p/meta/plugin.json", "{\"version\": \"1.0.0\"}");
    std::fs::create_dir(place.path().join("p/.claude-plugin")).expect("a directory");
    let link = place.path().join("p/.claude-plugin/plugin.json");
    std::os::unix::fs::symlink("../meta/plugin.json", &link).expect("a link");
    let run = place.run(["sync", "p"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("package.json cannot be read"),
        "{}",
        run.stderr
    );
    assert_eq!(place.read("outside.json"), "{\"version\": \"1.0.0\"}");
    assert_eq!(place.read("p/meta/plugin.json"), "{\"version\": \"1.4.0\"}");
    assert!(link.symlink_metadata().expect("a link").is_symlink());
}

#[test]
fn every_difference_is_told_also_one_that_is_yours_to_correct() {
    let source = "\"version\": \"2.0.0\", \"description\": \"New\", \"author\": {\"name\": \"Mara\"}, \
                  \"repository\": \"https://github.com/a/b\"";
    for (path, other, check, after) in [
        (
            "package.json",
            r#"{"author": "Somebody Else (she/her)"}"#,
            vec![r#"author is "Somebody Else (she/her)", and "Mara" in plugin.json"#],
            Some(r#"{"author": "Mara"}"#),
        ),
        (
            ".claude-plugin/plugin.json",
            r#"{"version": 1.5, "description": ["Old"], "author": null}"#,
            vec![
                r#"version is a number, and "2.0.0" in plugin.json; correct it by hand"#,
                r#"description is an array, and "New" in plugin.json; correct it by hand"#,
                r#"author is null, and "Mara" in plugin.json; correct it by hand"#,
            ],
            None,
        ),
        (
            ".plugin/plugin.json",
            r#"{"version": "1.0.0"}"#,
            vec![r#"version is "1.0.0", and "2.0.0" in plugin.json"#],
            Some(r#"{"version": "2.0.0"}"#),
        ),
        (
            "package.json",
            r#"{"repository": {"url": "git+ssh://git@github.com:a/b.git"}}"#,
            vec![],
            None,
        ),
        (
            "package.json",
            r#"{"repository": "ssh://git@git.corp.example:2222/team/r.git"}"#,
            vec![
                r#"repository is "ssh://git@git.corp.example:2222/team/r.git", and "https://github.com/a/b" in plugin.json"#,
            ],
            Some(r#"{"repository": "https://github.com/a/b.git"}"#),
        ),
    ] {
        let place = Place::new();
        place.write("p/plugin.json", manifest("p", source));
        place.write(&format!("p/{path}"), other);
        let run = place.run(["sync", "p", "--check"]);
        let found: Vec<&str> = run
            .stdout
            .lines()
            .filter_map(|line| {
                Some(
                    line.strip_prefix(&format!("{path}:1:"))?
                        .split_once(": ")?
                        .1,
                )
            })
            .collect();
        assert_eq!(found, check, "{run:?}");
        assert_eq!(run.status, Some(i32::from(!check.is_empty())), "{run:?}");
        let run = place.run(["sync", "p"]);
        let left = check.iter().any(|line| line.ends_with("by hand"));
        assert_eq!(run.status, Some(i32::from(left)), "{run:?}");
        assert_eq!(place.read(&format!("p/{path}")), after.unwrap_or(other));
    }
}

#[test]
fn nothing_is_in_step_that_cannot_be_read() {
    let place = Place::new();
    place.write("p/plugin.json", manifest("p", ""));
    place.write(
        "p/.claude-plugin/plugin.json",
        "\u{FEFF}{\"version\": \"1.0.0\"}",
    );
    let run = place.run(["sync", "p", "--check"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(2), "compared nothing\n"),
        "{run:?}"
    );
    assert!(run.stderr.contains(".claude-plugin/plugin.json"), "{run:?}");
}

#[test]
fn a_repository_that_only_git_reaches_keeps_its_address() {
    let address = "ssh://git@git.corp.example:2222/team/r.git";
    let place = Place::new();
    let object = format!("\"repository\": {{\"type\": \"git\", \"url\": \"{address}\"}}");
    place.write("p/plugin.json", manifest("p", &object));
    place.write("n/package.json", format!("{{\"name\": \"n\", {object}}}"));
    place.run(["fix", "p"]);
    assert!(
        place
            .read("p/plugin.json")
            .contains(&format!("\"repository\": \"{address}\""))
    );
    let run = place.run(["init", "n"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        place
            .read("n/plugin.json")
            .contains(&format!("\"repository\": \"{address}\""))
    );
}

#[test]
fn an_address_that_only_git_can_use_is_in_step_once_written() {
    let address = "ssh://git@git.corp.example:2222/team/r.git";
    let place = Place::new();
    let member = "\"repository\": \"https://github.com/a/b\"";
    place.write("p/plugin.json", manifest("p", member));
    let node = format!("{{\"repository\": {{\"type\": \"git\", \"url\": \"{address}\"}}}}");
    place.write("p/package.json", node);
    let run = place.run(["sync", "p", "--from", "package.json"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        place
            .read("p/plugin.json")
            .contains(&format!("\"repository\": \"{address}\""))
    );
    assert_eq!(place.run(["sync", "p", "--check"]).status, Some(0));
}
