//! What a report may be written over, and what it may not show.

use std::fs;

use serde_json::Value;

use crate::support::Place;

#[test]
fn a_report_does_not_take_the_place_of_what_it_is_about() {
    let place = Place::new();
    place.good_package("p");
    for file in ["plugin.json", "skills/tides/SKILL.md", "skills/new.txt"] {
        let path = format!("p/{file}");
        let before = fs::read(place.path().join(&path)).ok();
        let run = place.run(["validate", "p", "--format", "json", "-o", &path]);
        assert_eq!(run.status, Some(2), "{file}");
        assert!(
            run.stderr.contains("it is a file of the package"),
            "{}",
            run.stderr
        );
        assert_eq!(fs::read(place.path().join(&path)).ok(), before, "{file}");
    }
    // Another package's, and an earlier report.
    place.good_package("q");
    for _ in 0..2 {
        let run = place.run(["validate", "p", "--format", "json", "-o", "p/report.json"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
    }
    let run = place.run(["validate", "p", "-o", "q/plugin.json"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn links_are_followed_to_where_the_report_belongs() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.good_package("p");
    fs::create_dir(place.path().join("reports")).unwrap();
    let link = place.path().join("report.json");
    symlink("reports/latest.json", &link).unwrap();
    // The first time it leads to nothing.
    for _ in 0..2 {
        let run = place.run(["validate", "p", "--format", "json", "-o", "report.json"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let report: Value = serde_json::from_str(&place.read("reports/latest.json")).unwrap();
        assert_eq!(report["summary"]["loaded"], 1);
    }
    // A link is no way around either.
    symlink("p/plugin.json", place.path().join("around")).unwrap();
    let run = place.run(["validate", "p", "-o", "around"]);
    assert_eq!(run.status, Some(2));
    for (link, target) in [("to-nowhere", "missing/x"), ("to-itself", "to-itself")] {
        symlink(target, place.path().join(link)).unwrap();
        let run = place.run(["validate", "p", "-o", link]);
        assert_eq!(run.status, Some(2), "{link}");
        assert!(run.stderr.contains("failed to write"), "{}", run.stderr);
    }
}

/// Not on systems whose file names are Unicode.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_unicode_stay_two() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    let place = Place::new();
    place.good_package("p");
    for last in [0xfe, 0xff] {
        let name = OsString::from_vec(vec![b'a', last]);
        let skill = place.path().join("p/skills").join(name);
        if fs::create_dir(&skill).is_err() {
            // Nor can this file system show the fault.
            return;
        }
        fs::write(
            skill.join("SKILL.md"),
            "---\nname: a\ndescription: b\n---\nText.\n",
        )
        .unwrap();
    }
    let run = place.run(["validate", "p", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let skipped = report["packages"][0]["skills"]["skipped"].to_string();
    assert_eq!(
        skipped,
        r#"[{"path":"skills/a\\xfe"},{"path":"skills/a\\xff"}]"#
    );
}

#[test]
fn an_unquoted_secret_beside_a_finding_is_not_shown() {
    let place = Place::new();
    place.good_package("p");
    place.write(
        "p/skills/leak/SKILL.md",
        "---\nname: other\napi_key: hunter22x\nmetadata:\n  DB_PASSWORD: hunter22x hush\n  colour: [1]\ndescription: x\n---\nText.\n",
    );
    let run = place.run(["validate", "p"]);
    assert!(run.stdout.contains("api_key: *****"), "{}", run.stdout);
    assert!(!run.stdout.contains("hunter22x"), "{}", run.stdout);
}
