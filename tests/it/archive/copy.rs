//! Directories as sources.

#![cfg(unix)]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use apkit::archive::{Limits, Links, Refusal, Stage, Staged, copy_directory};

use super::shown;
use crate::support::Place;

fn copy(from: &Path, to: &Path) -> Result<Staged, Refusal> {
    let mut stage = Stage::new(to, Limits::default(), Links::LeaveOut).unwrap();
    copy_directory(from, &mut stage)?;
    stage.finish("")
}

#[test]
fn a_directory_is_copied_as_it_is() {
    let place = Place::new();
    place.write("p/plugin.json", "{}");
    place.write("p/a b/ü.md", "text");
    let run = place.write("p/bin/run", "#!/bin/sh\n");
    fs::set_permissions(run, fs::Permissions::from_mode(0o700)).unwrap();
    let private = place.write("p/private", "x");
    fs::set_permissions(private, fs::Permissions::from_mode(0o600)).unwrap();
    let setuid = place.write("p/setuid", "x");
    fs::set_permissions(setuid, fs::Permissions::from_mode(0o4755)).unwrap();
    let root = place.path().join("p");
    symlink("../plugin.json", root.join("bin/in")).unwrap();
    symlink("../../outside", root.join("bin/out")).unwrap();
    symlink("/etc/passwd", root.join("absolute")).unwrap();
    symlink(".", root.join("here")).unwrap();
    place.write("p/.git/config", "[core]");
    place.write("p/vendor/x/.git", "gitdir: elsewhere");
    place.write("p/vendor/x/a", "x");

    // Reached by a link as well.
    symlink(&root, place.path().join("by-link")).unwrap();
    for (from, to) in [("p", "one"), ("by-link", "two")] {
        let staged = copy(&place.path().join(from), &place.path().join(to)).unwrap();
        assert_eq!(
            shown(&staged),
            [
                "a b/ü.md=text",
                "bin/in->../plugin.json",
                "bin/run*=#!/bin/sh\n",
                "here->.",
                "plugin.json={}",
                "private=x",
                "setuid*=x",
                "vendor/x/a=x",
            ]
        );
        let left_out: Vec<String> = staged.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(
            left_out,
            [
                "\".git\": what git keeps for itself",
                "\"absolute\": a link to \"/etc/passwd\", which is absolute",
                "\"bin/out\": a link to \"../../outside\", which leads out of the package",
                "\"vendor/x/.git\": what git keeps for itself",
            ]
        );
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let place = Place::new();
    let root = place.path().join("p");
    place.write("p/a", "x");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let refusal = copy(&root, &place.path().join("one")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the entry \"socket\" is a socket; packages hold files, directories and symbolic links only"
    );
    fs::remove_file(root.join("socket")).unwrap();
    let status = std::process::Command::new("mkfifo")
        .arg(root.join("fifo"))
        .status()
        .unwrap();
    assert!(status.success());
    let refusal = copy(&root, &place.path().join("two")).unwrap_err();
    assert!(
        refusal.to_string().contains("\"fifo\" is a FIFO"),
        "{refusal}"
    );
    fs::remove_file(root.join("fifo")).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    fs::write(root.join(odd), "x").unwrap();
    let refusal = copy(&root, &place.path().join("three")).unwrap_err();
    assert!(refusal.to_string().contains("not UTF-8"), "{refusal}");
    let refusal = copy(&place.path().join("none"), &place.path().join("four")).unwrap_err();
    assert!(matches!(refusal, Refusal::Read { .. }), "{refusal}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let place = Place::new();
    place.write("p/d/a", "x");
    let secret = place.write("p/d/secret", "x");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let found = copy(&place.path().join("p"), &place.path().join("one"));
    // Some users may read everything.
    if fs::read(&secret).is_ok() {
        found.unwrap();
        return;
    }
    let refusal = found.unwrap_err();
    assert!(
        refusal
            .to_string()
            .starts_with("\"d/secret\" could not be read: "),
        "{refusal}"
    );
}

#[test]
fn the_stage_may_lie_inside() {
    let place = Place::new();
    place.write("p/a", "x");
    place.write("p/.agents/lock", "x");
    let to = place.path().join("p/.agents/stage");
    let staged = copy(&place.path().join("p"), &to).unwrap();
    assert_eq!(shown(&staged), [".agents/lock=x", "a=x"]);
}

/// Copies while `disturb` is called over and over with the directory.
fn copy_disturbed(disturb: impl Fn(&Path) + Sync) -> Result<Staged, Refusal> {
    use std::sync::atomic::{AtomicBool, Ordering};
    let place = Place::new();
    place.write("p/a", vec![b'x'; 256 << 10]);
    place.write("p/b", vec![b'x'; 256 << 10]);
    let root = place.path().join("p");
    let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                disturb(&root);
                begun.store(true, Ordering::Relaxed);
            }
        });
        while !begun.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let copied = copy(&root, &place.path().join("stage"));
        ended.store(true, Ordering::Relaxed);
        copied
    })
}

#[test]
fn changes_meanwhile_are_noticed() {
    use std::io::Write as _;
    let grown = copy_disturbed(|root| {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(root.join("a"))
            .unwrap();
        file.write_all(b"more").unwrap();
    });
    let refusal = grown.unwrap_err();
    assert!(matches!(refusal, Refusal::Changed { .. }), "{refusal}");
    assert!(
        refusal.to_string().contains("\"a\" changed while"),
        "{refusal}"
    );
    let replaced = copy_disturbed(|root| {
        fs::write(root.join("other"), "other").unwrap();
        fs::rename(root.join("other"), root.join("b")).unwrap();
    });
    let refusal = replaced.unwrap_err();
    assert!(matches!(refusal, Refusal::Changed { .. }), "{refusal}");
    let added = copy_disturbed(|root| {
        fs::write(root.join("new"), "x").unwrap();
        fs::remove_file(root.join("new")).unwrap();
    });
    let refusal = added.unwrap_err();
    assert!(matches!(refusal, Refusal::Changed { .. }), "{refusal}");
}
