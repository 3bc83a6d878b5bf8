//! Runs as a whole: several faults, files, links, modes, reports.

use std::fs;
use std::path::Path;

use apkit::edit::fix::{self, Options};
use serde_json::Value;

use super::{ID, SKILL, Sample, tree};
use crate::support::{Place, manifest, mcp};

#[test]
fn one_run_mends_what_hides_behind_another_fault() {
    let place = Place::new();
    let sample = Sample {
        manifest: "\u{feff}{\"name\": \"demo\", \"author\": \"Mara\",}".to_owned(),
        mcp: Some(
            "{\"servers\": {\"a\": {\"url\": \"https://x.example/m\", \"type\": \"http\"}}}"
                .to_owned(),
        ),
        skill: "---\ndescription: a: b\nmetadata:\n  v: 1.10\n---\nx\n".to_owned(),
    };
    sample.put(&place);
    let run = place.run(["validate", "p"]);
    assert!(
        run.stdout
            .ends_with("1 of these can be mended with `apkit fix`\n"),
        "{}",
        run.stdout
    );
    let run = place.run(["fix", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert!(
        run.stdout.contains("loads 1 skill and 1 server"),
        "{}",
        run.stdout
    );
    let run = place.run(["validate", "--strict", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
}

#[test]
fn names_of_files_change_on_request_only() {
    let place = Place::new();
    Sample::good().put(&place);
    let skills = place.path().join("p/skills");
    fs::rename(skills.join("tides/SKILL.md"), skills.join("tides/skill.md")).expect("renamed");
    fs::create_dir(skills.join("Sea Charts")).expect("a directory");
    place.write(
        "p/skills/Sea Charts/SKILL.md",
        SKILL.replace("tides\n", "charts\n"),
    );
    let before = tree(place.path());
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout.contains("--unsafe mends it: clients will load"),
        "{}",
        run.stdout
    );
    let dry = place.run(["fix", "--unsafe", "--dry-run", "p"]);
    assert!(
        dry.stdout
            .contains("rename directory p/skills/Sea Charts to p/skills/charts\n"),
        "{}",
        dry.stdout
    );
    assert!(
        dry.stdout.contains("rename to p/skills/tides/SKILL.md\n"),
        "{}",
        dry.stdout
    );
    assert_eq!(tree(place.path()), before);
    let run = place.run(["fix", "--unsafe", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert!(run.stdout.contains("loads 2 skills"), "{}", run.stdout);
    assert_eq!(
        place.run(["fix", "--unsafe", "p"]).stdout.lines().next(),
        Some("nothing can be fixed automatically")
    );
}

#[test]
fn a_new_name_that_would_show_an_error_is_taken_back() {
    let place = Place::new();
    Sample::good().put(&place);
    place.write("p/skills/ebb/skill.md", "---\nname: ebb\n---\n");
    let before = tree(place.path());
    let run = place.run(["fix", "--unsafe", "p"]);
    assert_eq!(tree(place.path()), before, "{}", run.stdout);
    assert!(
        run.stdout
            .contains("left p/skills/ebb/skill.md [skill::file-case] the name was tried"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.starts_with("nothing can be fixed"),
        "{}",
        run.stdout
    );
}

#[cfg(unix)]
#[test]
fn modes_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = Place::new();
    Sample {
        mcp: Some(mcp(r#"{"a": {"type": "stdio", "command": "./run"}}"#)),
        ..Sample::good()
    }
    .put(&place);
    let run_file = place.write("p/run", "#!/bin/sh\n");
    let real = place.write("p/lib/tides.md", SKILL.replace("name: tides\n", ""));
    let link = place.path().join("p/skills/tides/SKILL.md");
    fs::remove_file(&link).expect("removed");
    symlink("../../lib/tides.md", &link).expect("a link");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("a mode");
    fs::set_permissions(&run_file, fs::Permissions::from_mode(0o640)).expect("a mode");
    let run = place.run(["fix", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("the file"), SKILL);
    assert_eq!(mode(&real), 0o640);
    assert_eq!(mode(&run_file), 0o750);
    assert!(
        run.stdout.contains("made p/run executable\n"),
        "{}",
        run.stdout
    );
    // What is a client's own file, too, is not changed unasked.
    place.write(
        "p/.mcp.json",
        mcp(r#"{"a": {"type": "http", "url": "https://x.example/"}}"#),
    );
    fs::remove_file(place.path().join("p/mcp.json")).expect("removed");
    symlink(".mcp.json", place.path().join("p/mcp.json")).expect("a link");
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout
            .contains("--unsafe mends it: mcp.json is a link to .mcp.json"),
        "{}",
        run.stdout
    );
    assert!(place.read("p/.mcp.json").contains("\"http\""));
    fs::remove_file(place.path().join("p/mcp.json")).expect("removed");
    // What a link leads out to is not of the package.
    let outside = place.write("outside.md", SKILL.replace("name: tides\n", ""));
    fs::remove_file(&link).expect("removed");
    symlink(&outside, &link).expect("a link");
    assert_eq!(place.run(["fix", "--unsafe", "p"]).status, Some(1));
    assert!(
        !fs::read_to_string(&outside)
            .expect("the file")
            .contains("name:")
    );
}

#[cfg(unix)]
#[test]
fn a_write_protected_file_stays_and_so_do_the_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let sample = Sample {
        manifest: "{\"name\": \"demo\"}".to_owned(),
        skill: SKILL.replace("name: tides\n", ""),
        ..Sample::good()
    };
    sample.put(&place);
    let file = place.path().join("p/skills/tides/SKILL.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("a mode");
    let before = tree(place.path());
    let run = place.run(["fix", "p"]);
    assert_eq!(run.status, Some(2));
    assert_eq!(
        run.stderr,
        "error: failed to mend p: change skills/tides/SKILL.md: it is write-protected\n"
    );
    assert_eq!(tree(place.path()), before);
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let place = Place::new();
    Sample {
        manifest: "{\"name\": \"demo\"}".to_owned(),
        ..Sample::good()
    }
    .put(&place);
    let root = place.path().join("p");
    let plan = fix::plan(&root, "p", &Options::default()).expect("a plan");
    assert_eq!(plan.files.len(), 1);
    place.write("p/plugin.json", "{\"name\": \"other\"}");
    let before = tree(place.path());
    let error = apkit::edit::write(&plan.files).expect_err("changed");
    assert_eq!(
        error.to_string(),
        "change plugin.json: it was changed meanwhile; run it again"
    );
    assert_eq!(tree(place.path()), before);
}

#[test]
fn several_packages_and_runs_at_once() {
    let place = Place::new();
    for index in 0..6 {
        place.write(&format!("all/{index}/plugin.json"), "{\"name\": \"demo\"}");
        place.write(&format!("all/{index}/skills/tides/SKILL.md"), SKILL);
    }
    place.write(
        "all/other/plugin.json",
        "{\"name\": \"demo\", \"hooks\": {}}",
    );
    let other = place.read("all/other/plugin.json");
    let runs: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| place.run(["fix", "--recursive", "all"])))
            .collect();
        runs.into_iter()
            .map(|run| run.join().expect("a run"))
            .collect()
    });
    // Whoever came second either found it done or saw that it was being changed.
    for run in &runs {
        assert!(
            matches!(run.status, Some(0 | 2)),
            "{}{}",
            run.stdout,
            run.stderr
        );
        assert!(
            run.stderr
                .lines()
                .all(|line| line.contains("changed meanwhile")),
            "{}",
            run.stderr
        );
    }
    let run = place.run(["fix", "--recursive", "all"]);
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    for index in 0..6 {
        assert_eq!(
            place.read(&format!("all/{index}/plugin.json")),
            format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}")
        );
        let files = fs::read_dir(place.path().join(format!("all/{index}"))).expect("a directory");
        assert_eq!(files.count(), 2, "no file is left over");
    }
    assert_eq!(place.read("all/other/plugin.json"), other);
    assert_eq!(place.run(["fix", "missing"]).status, Some(2));
}

#[test]
fn the_diff_is_one_that_patch_reads() {
    let place = Place::new();
    Sample {
        manifest: "{\n  \"name\": \"demo\"\n}\n".to_owned(),
        ..Sample::good()
    }
    .put(&place);
    let run = place.run(["fix", "--dry-run", "p"]);
    assert_eq!(
        run.stdout,
        format!(
            "--- a/p/plugin.json\n+++ b/p/plugin.json\n@@ -1,3 +1,4 @@\n {{\n+  \"$schema\": \"{ID}\",\n   \"name\": \"demo\"\n }}\n"
        )
    );
    assert_eq!(
        run.stderr,
        "1 finding would be mended, 0 findings left; nothing was written\n"
    );
}

#[test]
fn explanations_name_the_fix() {
    let place = Place::new();
    let run = place.run(["explain", "skill::name-mismatch"]);
    assert!(
        run.stdout
            .contains("fix: apkit fix --unsafe writes the directory's name"),
        "{}",
        run.stdout
    );
    let run = place.run(["explain", "mcp::type-unknown", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert!(
        report["codes"][0]["mends"][0]
            .as_str()
            .is_some_and(|fix| fix.starts_with("apkit fix writes"))
    );
    let run = place.run(["explain", "mcp::credential"]);
    assert!(!run.stdout.contains("fix:"), "{}", run.stdout);
}

#[test]
fn a_comment_in_json_is_the_authors_to_delete() {
    for comment in ["// mine", "/* mine */"] {
        let place = Place::new();
        let text = manifest("p", "").replacen('{', &format!("{{ {comment}\n"), 1);
        place.write("p/plugin.json", &text);
        let run = place.run(["fix", "p"]);
        assert!(
            run.stdout
                .contains("comments are not removed automatically; delete this one"),
            "{run:?}"
        );
        assert_eq!(place.read("p/plugin.json"), text);
    }
}
