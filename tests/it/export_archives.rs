//! Archives: the same bytes for the same files, whoever makes them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::export_support::SKILL;
use crate::support::{Place, finish, manifest};

const FILES: &[(&str, &str)] = &[
    ("skills/tides/SKILL.md", SKILL),
    ("skills/tides/scripts/run.sh", "#!/bin/sh\n"),
    ("a/b/c", "c"),
    ("z", "z"),
];

/// A package at `path`, written in one order or the other.
fn package(place: &Place, path: &str, backwards: bool) {
    let mut files = FILES.to_vec();
    let text = manifest("pack", "\"version\": \"1.0.0\"");
    files.push(("plugin.json", &text));
    if backwards {
        files.reverse();
    }
    for (file, text) in files {
        place.write(&format!("{path}/{file}"), text);
    }
    executable(&place.path().join(path).join("skills/tides/scripts/run.sh"));
}

#[cfg(unix)]
fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

#[cfg(not(unix))]
fn executable(_: &Path) {}

#[cfg(unix)]
#[test]
fn order_mask_and_time_zone_change_nothing() {
    let place = Place::new();
    package(&place, "one", false);
    package(&place, "two", true);
    for (extension, more) in [("tgz", ""), ("zip", ""), ("tgz", "--npm")] {
        let mut archives = Vec::new();
        for (source, mask, zone) in [
            ("one", "022", "UTC"),
            ("two", "077", "Pacific/Kiritimati"),
            ("one", "000", "America/New_York"),
        ] {
            let out = format!("{source}-{mask}{more}.{extension}");
            let script = format!("umask {mask}; exec \"$0\" export {source} --out {out} {more}");
            let mut command = Command::new("/bin/sh");
            command
                .args(["-c", &script, env!("CARGO_BIN_EXE_apkit")])
                .env_clear()
                .env("TZ", zone)
                .current_dir(place.path());
            let run = finish(&mut command);
            assert_eq!(run.status, Some(0), "{run:?}");
            archives.push(fs::read(place.path().join(out)).unwrap());
        }
        assert!(
            archives.windows(2).all(|pair| pair[0] == pair[1]),
            "{extension} {more}"
        );
    }
}

#[test]
fn the_time_is_that_of_the_environment() {
    let place = Place::new();
    package(&place, "p", false);
    let archive = |out: &str, epoch: Option<&str>| {
        let mut command = place.apkit();
        command.args(["export", "p", "--out", out]);
        if let Some(epoch) = epoch {
            command.env("SOURCE_DATE_EPOCH", epoch);
        }
        finish(&mut command)
    };
    for extension in ["tgz", "zip"] {
        let name = |which: &str| format!("{which}.{extension}");
        for (which, epoch) in [
            ("fixed", None),
            ("same", None),
            ("later", Some("1700000000")),
            ("again", Some("1700000000")),
        ] {
            assert_eq!(archive(&name(which), epoch).status, Some(0));
        }
        let read = |which: &str| fs::read(place.path().join(name(which))).unwrap();
        assert_eq!(read("fixed"), read("same"));
        assert_eq!(read("later"), read("again"));
        assert_ne!(read("fixed"), read("later"));
    }
    let run = archive("x.tgz", Some("yesterday"));
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("SOURCE_DATE_EPOCH"), "{run:?}");
}

#[test]
fn what_is_unpacked_is_the_package() {
    use apkit::archive::{Limits, Links, Stage, root_of, unpack};
    let place = Place::new();
    package(&place, "p", false);
    assert_eq!(place.run(["export", "p", "--out", "dir"]).status, Some(0));
    for (out, more, root) in [
        ("a.tgz", None, ""),
        ("a.zip", None, ""),
        ("b.tgz", Some("--npm"), "package"),
    ] {
        let mut arguments = vec!["export", "p", "--out", out];
        arguments.extend(more);
        assert_eq!(place.run(arguments).status, Some(0));
        let unpacked = place.path().join(format!("{out}.d"));
        let mut stage = Stage::new(&unpacked, Limits::default(), Links::Refuse).unwrap();
        unpack(
            &mut fs::File::open(place.path().join(out)).unwrap(),
            &mut stage,
        )
        .unwrap();
        assert_eq!(root_of(&stage, None).unwrap(), root);
        for (file, text) in FILES {
            let file = unpacked.join(root).join(file);
            assert_eq!(fs::read_to_string(&file).unwrap(), *text);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
                assert_eq!(
                    mode,
                    if file.ends_with("run.sh") {
                        0o755
                    } else {
                        0o644
                    }
                );
            }
        }
        assert_eq!(
            unpacked.join(root).join("package.json").exists(),
            more.is_some()
        );
        assert!(!unpacked.join(root).join("apkit-export.sha256").exists());
    }
}

#[test]
fn another_file_is_not_replaced() {
    let place = Place::new();
    package(&place, "p", false);
    let export = |more: &[&str]| place.run([&["export", "p", "--out", "x.tgz"], more].concat());
    place.write("x.tgz", "mine");
    let run = export(&[]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("it is another file"), "{run:?}");
    assert_eq!(place.read("x.tgz"), "mine");
    assert_eq!(export(&["--force"]).status, Some(0));
    // The same again is no other file.
    assert_eq!(export(&[]).status, Some(0));
    fs::create_dir(place.path().join("y.zip")).unwrap();
    let run = place.run(["export", "p", "--out", "y.zip", "--force"]);
    assert_eq!(run.status, Some(2), "{run:?}");
    let mut names: Vec<String> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["p", "x.tgz", "y.zip"]);
}

#[test]
fn an_archive_is_a_source_again() {
    let place = Place::new();
    package(&place, "p", false);
    for (out, more) in [("a.tgz", None), ("b.zip", None), ("c.tgz", Some("--npm"))] {
        let mut arguments = vec!["export", "p", "--out", out];
        arguments.extend(more);
        assert_eq!(place.run(&arguments).status, Some(0));
        // Export, import, export: the identity.
        let again = format!("again-{out}");
        let mut arguments = vec!["export", out, "--out", &again];
        arguments.extend(more);
        let run = place.run(&arguments);
        assert_eq!(run.status, Some(0), "{run:?}");
        let read = |name: &str| fs::read(place.path().join(name)).unwrap();
        assert_eq!(read(out), read(&again));
    }
    let run = place.run(["export", "npm:", "--out", "x"]);
    assert_eq!(run.status, Some(2), "{run:?}");
}
