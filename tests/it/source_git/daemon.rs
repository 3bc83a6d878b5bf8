//! `git daemon`.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use apkit::source::git::{Error, Failure};

use super::origin::{PACKAGE_PATHS, git};
use super::world::{World, source};

#[test]
fn a_server_that_says_little_at_a_time_is_not_waited_for_without_end() {
    use std::io::{Read as _, Write as _};
    let mut world = World::new();
    world.set("GIT_HTTP_LOW_SPEED_TIME", "1");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let _ = stream.read(&mut [0; 1000]);
        let id = "a".repeat(40);
        let mut line = format!("003a{id} HEAD\0shallow\n");
        // Until whoever asked is gone.
        while stream.write_all(line.as_bytes()).is_ok() {
            line = format!("003f{id} refs/heads/branch\n");
            thread::sleep(Duration::from_millis(300));
        }
    });
    let started = Instant::now();
    let address = format!("git://127.0.0.1:{port}/r");
    let error = world
        .fetch(&source(&address, "", ""))
        .expect_err("too slow");
    assert!(
        matches!(
            &error,
            Error::Connection(Failure::TooSlow { seconds: 5, .. })
        ),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_server_that_does_not_read_is_not_waited_for() {
    use std::io::{Read as _, Write as _};
    let mut world = World::new();
    world.set("GIT_HTTP_LOW_SPEED_TIME", "1");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let list = list(40_000);
    thread::spawn(move || {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(&list);
            held.push(stream);
        }
    });
    let address = format!("git://127.0.0.1:{port}/r");
    assert_ended(&mut world, &source(&address, "deadb", ""));
}

/// What a server lists first: more than a connection holds, once all of it is asked
/// for.
pub(super) fn list(count: usize) -> Vec<u8> {
    let line = |text: String| format!("{:04x}{text}", text.len() + 4);
    let capabilities = "multi_ack ofs-delta side-band-64k symref=HEAD:refs/heads/b0";
    let mut list = line(format!("{:040x} HEAD\0{capabilities}\n", 1));
    for at in 0..count {
        list += &line(format!("{:040x} refs/heads/b{at}\n", at + 1));
    }
    (list + "0000").into_bytes()
}

/// Asks for what takes all that a server lists, patiently and until it is stopped.
pub(super) fn assert_ended(world: &mut World, source: &apkit::source::git::GitSource) {
    let started = Instant::now();
    let error = world.fetch(source).expect_err("nobody reads");
    assert!(
        matches!(
            &error,
            Error::Connection(Failure::Silent { seconds: 1, .. })
        ),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(30));
    world.set("GIT_HTTP_LOW_SPEED_TIME", "600");
    let flag = world.stop.flag();
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(3));
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let started = Instant::now();
    let error = world.fetch(source).expect_err("stopped");
    assert!(matches!(&error, Error::Stopped), "{error}");
    assert!(started.elapsed() < Duration::from_secs(30));
}

struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    fn start(world: &World) -> Self {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = free.local_addr().expect("an address").port();
            drop(free);
            let mut child = git(&world.path().join("repos"))
                .args([
                    "daemon",
                    "--reuseaddr",
                    "--export-all",
                    "--listen=127.0.0.1",
                ])
                .arg(format!("--port={port}"))
                .arg("--base-path=.")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("git is installed");
            while child.try_wait().expect("a child").is_none() {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Self { child, port };
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("git daemon does not start");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The child is `git`, which passes this on to the daemon proper.
        #[cfg(unix)]
        let _ = std::process::Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        #[cfg(not(unix))]
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn repositories_are_fetched_from_a_daemon() {
    let world = World::new();
    let origin = world.origin("r.git");
    let first = origin.package("main", "one");
    let second = origin.package("main", "two");
    let daemon = Daemon::start(&world);
    let address = format!("git://127.0.0.1:{}/r.git", daemon.port);
    let got = world.fetch(&source(&address, "", "")).expect("a package");
    assert_eq!(got.id(), second);
    assert_eq!(got.paths(), PACKAGE_PATHS);
    // A daemon gives nothing by its id unless told to: all of it is fetched.
    for reference in [&first[..], &first[..10]] {
        let got = world.fetch(&source(&address, reference, ""));
        assert_eq!(got.expect("an id").read("skills/tides/SKILL.md"), b"one");
    }
    origin.git(&["config", "uploadpack.allowAnySHA1InWant", "true"], b"");
    let got = world.fetch(&source(&address, &first, "")).expect("an id");
    assert_eq!(got.id(), first);
    let (latest, name) = world.latest(&source(&address, "", "")).expect("an answer");
    assert_eq!((latest, name.as_deref()), (second, Some("refs/heads/main")));

    let nothing = format!("git://127.0.0.1:{}/none.git", daemon.port);
    let error = world.fetch(&source(&nothing, "", "")).expect_err("nothing");
    let said = error.to_string();
    assert!(
        said.contains("access denied or repository not exported"),
        "{said}"
    );
}

#[test]
fn what_a_damaged_repository_makes_the_server_say_is_told() {
    let world = World::new();
    let origin = world.origin("r.git");
    let nothing = "1234567890".repeat(4);
    let tree = origin.tree(&[("100644", b"plugin.json", &nothing)]);
    origin.commit_tree("refs/heads/main", &tree);
    let daemon = Daemon::start(&world);
    let address = format!("git://127.0.0.1:{}/r.git", daemon.port);
    let error = world.fetch(&source(&address, "", "")).expect_err("damaged");
    let said = error.to_string();
    let words = format!("; it said: fatal: unable to read {nothing}");
    assert!(said.contains(&words), "{said}");
}

#[test]
fn nobody_and_silence_are_told() {
    let mut world = World::new();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("an address").port();
    world.set("GIT_HTTP_LOW_SPEED_TIME", "1");
    let address = format!("git://127.0.0.1:{port}/r.git");
    let error = world.fetch(&source(&address, "", "")).expect_err("silence");
    assert!(
        error.to_string().contains("nothing for 1 seconds"),
        "{error}"
    );
    drop(silent);
    let error = world.fetch(&source(&address, "", "")).expect_err("nobody");
    assert!(
        matches!(error, Error::Connection(Failure::Unreachable { .. })),
        "{error}"
    );
}
