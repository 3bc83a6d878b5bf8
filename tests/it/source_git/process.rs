//! Progress, stopping, and settings of the process that must not matter.

use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use apkit::source::Progress;
use apkit::source::git::Error;

use super::http::{Answer, HttpServer};
use super::world::{World, file_address, source};

/// What a fetch told of itself.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Vec<(&'static str, u64, u64)>>);

impl Progress for Seen {
    fn advance(&self, what: &'static str, done: u64, total: u64) {
        self.0.lock().expect("no panic").push((what, done, total));
    }
}

impl Seen {
    pub(crate) fn bytes(&self) -> u64 {
        let seen = self.0.lock().expect("no panic");
        let bytes = seen.iter().filter(|(what, ..)| *what == "bytes");
        bytes.map(|(_, done, _)| *done).max().unwrap_or(0)
    }
}

#[test]
fn a_fetch_tells_how_it_proceeds() {
    let world = World::new();
    let origin = world.origin("r.git");
    origin.package("main", "one");
    let server = HttpServer::plain(&world.path().join("repos"));
    let seen = Seen::default();
    let source = source(&server.url("r.git"), "", "");
    world.fetch_with(&source, None, &seen).expect("a package");
    assert!(seen.bytes() > 0);
    let seen = seen.0.into_inner().expect("no panic");
    let last = seen.iter().rev().find(|(what, ..)| *what == "objects");
    let (_, done, total) = last.expect("objects");
    assert!(*total > 5 && done == total, "{done} of {total}");
}

#[test]
fn stopping_ends_a_fetch_wherever_it_is() {
    let mut world = World::new();
    let origin = world.origin("r.git");
    origin.package("main", "one");
    let repos = world.path().join("repos");
    let silent = HttpServer::start(&repos, |_| Answer::Silence);
    let silent_later = HttpServer::start(&repos, |asked| match asked.method.as_str() {
        "GET" => Answer::Git,
        _ => Answer::Silence,
    });
    for server in [silent, silent_later] {
        let stop = world.stop.clone();
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stop.request();
        });
        let began = Instant::now();
        let error = world.fetch(&source(&server.url("r.git"), "", ""));
        let error = error.expect_err("stopped");
        assert!(matches!(error, Error::Stopped), "{error}");
        assert!(began.elapsed() < Duration::from_secs(5));
        timer.join().expect("no panic");
        world.stop = apkit::source::Stop::default();
    }
    world.stop.request();
    let error = world.fetch(&source(&file_address(&origin.path), "", ""));
    assert!(matches!(error, Err(Error::Stopped)));
}

/// Fetches under settings of the process that the test below makes.
#[test]
fn under_odd_settings() {
    if std::env::var_os("APKIT_TEST_ODD_SETTINGS").is_none() {
        return;
    }
    let world = World::new();
    let origin = world.origin("r.git");
    origin.commit(
        "main",
        &[
            ("100644", ".gitattributes", b"* text=auto eol=crlf ident\n"),
            ("100755", "run.sh", b"#!/bin/sh\necho $Id$\n"),
            ("100644", "crlf.txt", b"a\r\nb\n"),
        ],
    );
    let server = HttpServer::plain(&world.path().join("repos"));
    for address in [file_address(&origin.path), server.url("r.git")] {
        let got = world.fetch(&source(&address, "", "")).expect("a package");
        assert_eq!(got.paths(), [".gitattributes", "crlf.txt", "run.sh*"]);
        assert_eq!(got.read("run.sh"), b"#!/bin/sh\necho $Id$\n");
        assert_eq!(got.read("crlf.txt"), b"a\r\nb\n");
        #[cfg(unix)]
        for (name, mode) in [("run.sh", 0o755), ("crlf.txt", 0o644)] {
            use std::os::unix::fs::PermissionsExt as _;
            let path = got.0.staged.directory.join(name);
            let found = std::fs::metadata(path).expect("a file").permissions();
            assert_eq!(found.mode() & 0o7777, mode, "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn neither_umask_nor_gits_configuration_changes_a_byte() {
    let place = crate::support::Place::new();
    // What would make a mess of it: conversions, and a file git cannot read.
    place.write(
        "crlf/.gitconfig",
        "[core]\n\tautocrlf = true\n\teol = crlf\n\tfilemode = false\n\tsymlinks = false\n",
    );
    place.write("broken/.gitconfig", "[core\n\tthis is no configuration\n");
    let program = std::env::current_exe().expect("this program");
    for (umask, home) in [("077", "crlf"), ("000", "crlf"), ("027", "broken")] {
        let line = format!("umask {umask} && exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .arg("-c")
            .arg(line)
            .arg(&program)
            .args(["--exact", "source_git::process::under_odd_settings"])
            .env("APKIT_TEST_ODD_SETTINGS", "1")
            .env("HOME", place.path().join(home))
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .expect("this program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{umask} {home}: {said}");
        assert!(said.contains("1 passed"), "{said}");
    }
}
