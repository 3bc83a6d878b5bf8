//! Where `apkit export` writes, and what it never takes away.

use std::fs;
use std::path::Path;

use crate::export_support::SKILL;
use crate::support::{Place, Run, finish, manifest};

/// A package to export, in a directory of its own.
fn sources(place: &Place) {
    place.write(
        "s/pack/plugin.json",
        manifest("pack", "\"version\": \"1.0.0\""),
    );
    place.write("s/pack/skills/tides/SKILL.md", SKILL);
    place.write("s/unrelated/notes.md", "mine");
}

fn from(place: &Place, directory: &str, arguments: &[&str]) -> Run {
    let mut command = place.apkit();
    command.current_dir(place.path().join(directory));
    finish(command.arg("export").args(arguments))
}

/// Everything below a directory, with its content.
fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                found.push((path.to_string_lossy().into_owned(), bytes));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_source_and_what_is_around_it_are_never_replaced() {
    let place = Place::new();
    sources(&place);
    place.write("s/pack.tgz", "no archive");
    let run = from(&place, "s", &["pack", "--out", "../made.tgz"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    fs::rename(
        place.path().join("made.tgz"),
        place.path().join("s/pack.tgz"),
    )
    .unwrap();
    let before = files(place.path());
    for (directory, arguments, why) in [
        ("s", &["pack", "--out", "../s"][..], "holds the source pack"),
        ("s", &["pack", "--out", "pack"], "is the source pack"),
        (
            "s",
            &["pack/plugin.json", "--out", "pack"],
            "is the source pack/plugin.json",
        ),
        (
            "s",
            &["dir:pack", "--out", "pack"],
            "is the source dir:pack",
        ),
        ("s", &["pack", "--out", "new/../pack"], "is the source pack"),
        (
            "s",
            &["pack", "--out", "pack/../unrelated/../pack"],
            "is the source pack",
        ),
        (
            "s",
            &["pack", "--out", "pack/skills/x"],
            "lies in the source pack",
        ),
        (
            "s",
            &["pack", "--out", "pack/dist/deep"],
            "lies in the source pack",
        ),
        ("s/pack", &[".", "--out", "k.tgz"], "lies in the source ."),
        (
            "s/pack",
            &[".", "--out", "dist/k.zip"],
            "lies in the source .",
        ),
        (
            "s/pack",
            &[".", "--out", "../../s/pack/k.tgz"],
            "lies in the source .",
        ),
        (
            "s",
            &["./pack.tgz", "--out", "pack.tgz"],
            "is the source ./pack.tgz",
        ),
        (
            "s",
            &["./pack.tgz", "--out", "."],
            "holds the source ./pack.tgz",
        ),
        (
            "s/unrelated",
            &["../pack", "--out", "."],
            "is the working directory",
        ),
        (
            "s/unrelated/",
            &["../pack", "--out", "../unrelated"],
            "is the working directory",
        ),
        (
            "s",
            &["pack", "--out", "pack", "--dry-run"],
            "is the source pack",
        ),
    ] {
        for force in [&[][..], &["--force"]] {
            let run = from(&place, directory, &[arguments, force].concat());
            assert_eq!(run.status, Some(2), "{arguments:?}: {run:?}");
            let wanted = format!("the target {why}; name another place\n");
            assert!(run.stderr.ends_with(&wanted), "{arguments:?}: {run:?}");
            assert_eq!(files(place.path()), before, "{arguments:?}");
        }
    }
    assert!(!place.path().join("s/new").exists());
}

#[test]
#[cfg(unix)]
fn links_hide_no_source() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    sources(&place);
    symlink("s", place.path().join("to-parent")).unwrap();
    symlink("s/pack", place.path().join("to-source")).unwrap();
    symlink("skills", place.path().join("s/pack/to-skills")).unwrap();
    symlink(
        place.path().join("s/pack"),
        place.path().join("s/unrelated/back"),
    )
    .unwrap();
    let before = files(place.path());
    for (source, out, why) in [
        ("s/pack", "to-source", "is the source s/pack"),
        ("to-source", "s/pack", "is the source to-source"),
        ("s/pack", "to-parent", "holds the source s/pack"),
        ("to-source", "s", "holds the source to-source"),
        ("s/pack", "to-parent/pack/x", "lies in the source s/pack"),
        (
            "s/pack",
            "s/unrelated/back/k.tgz",
            "lies in the source s/pack",
        ),
        (
            "s/pack",
            "to-source/to-skills/../new",
            "lies in the source s/pack",
        ),
    ] {
        let run = from(&place, "", &[source, "--out", out, "--force"]);
        assert_eq!(run.status, Some(2), "{source} {out}: {run:?}");
        assert!(
            run.stderr.contains(&format!("the target {why};")),
            "{source} {out}: {run:?}"
        );
        assert_eq!(files(place.path()), before, "{source} {out}");
    }
}

#[test]
fn homes_and_repositories_are_never_replaced() {
    let place = Place::new();
    sources(&place);
    place.write("home/mine", "x");
    place.write("users/home/mine", "x");
    place.write("work/.git/HEAD", "ref: refs/heads/main\n");
    place.write("linked/.git", "gitdir: ../elsewhere\n");
    place.write("deep/a/b/.git/config", "");
    place.write("bare/r.git/HEAD", "ref: refs/heads/main\n");
    place.write("bare/r.git/objects/info/x", "");
    place.write("bare/r.git/refs/heads/main", "");
    let before = files(place.path());
    let home = place.path().join("users/home");
    for (out, why) in [
        ("users/home", "is the home directory"),
        ("users", "holds the home directory"),
        ("work", "holds a git repository"),
        ("linked", "holds a git repository"),
        ("deep", "holds a git repository"),
        ("bare", "holds a git repository"),
        ("bare/r.git", "holds a git repository"),
        ("/", "has no name of its own"),
    ] {
        let mut command = place.apkit();
        command.env("HOME", &home).env("USERPROFILE", &home);
        let run = finish(command.args(["export", "s/pack", "--out", out, "--force"]));
        assert_eq!(run.status, Some(2), "{out}: {run:?}");
        assert!(
            run.stderr.contains(&format!("the target {why}")),
            "{out}: {run:?}"
        );
        assert_eq!(files(place.path()), before, "{out}");
    }
    // Beside them there is no objection.
    let run = place.run(["export", "s/pack", "--out", "users/home/new/pack"]);
    assert_eq!(run.status, Some(0), "{run:?}");
}

#[test]
fn what_force_deletes_is_listed() {
    let place = Place::new();
    sources(&place);
    place.write("out/plugin.json", "mine");
    place.write("out/a/notes.md", "mine");
    place.write("out/z", "mine");
    let run = place.run(["export", "s/pack", "--out", "out", "--dry-run"]);
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(
        run.stderr.ends_with(
            "hint: --force deletes the 3 files in it first; with --dry-run it lists them\n"
        ),
        "{run:?}"
    );
    let run = place.run(["export", "s/pack", "--out", "out", "--dry-run", "--force"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(
        run.stdout
            .contains("\nWould delete (2):\n  a/notes.md\n  z\n"),
        "{run:?}"
    );
    assert_eq!(place.read("out/z"), "mine");
    let run = place.run(["export", "s/pack", "--out", "out", "--force"]);
    assert!(
        run.stdout.contains("\nDeleted (2):\n  a/notes.md\n  z\n"),
        "{run:?}"
    );
    assert!(!place.path().join("out/z").exists());
    // What an export wrote is nobody's loss.
    let run = place.run(["export", "s/pack", "--out", "out", "--dry-run", "--force"]);
    assert!(!run.stdout.contains("delete"), "{run:?}");
}
