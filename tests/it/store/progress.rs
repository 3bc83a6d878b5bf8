//! What a terminal shows while something is waited for.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::Stdio;
use std::thread::{self, sleep};
use std::time::Duration;

use super::sources::tgz;
use super::world::World;
use crate::web::{Delivery, Reply, Server};

/// The two ends of a new terminal: ours and the program's.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut ours, mut its) = (-1, -1);
    #[expect(
        unsafe_code,
        reason = "openpty writes two numbers, and the descriptors are nobody else's"
    )]
    unsafe {
        let made = libc::openpty(
            &raw mut ours,
            &raw mut its,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
        assert_eq!(made, 0, "a terminal");
        (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(its))
    }
}

/// Runs with a terminal for standard error, and gives what that shows.
fn watched(world: &World, arguments: &[&str]) -> String {
    let (ours, its) = terminal();
    let reader = thread::spawn(move || {
        let mut shown = Vec::new();
        // Its end is an error on some systems.
        let _ = File::from(ours).read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    let mut command = world.apkit();
    command
        .args(arguments)
        .env("TERM", "xterm")
        .stdout(Stdio::null())
        .stderr(its);
    let status = command.status().expect("a run");
    // It holds the program's end.
    drop(command);
    assert!(status.success(), "{status:?}");
    reader.join().expect("what was shown")
}

#[test]
fn a_note_does_not_land_on_the_line() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let held = apkit::sys::try_lock(&world.root().join(".apkit/writer.lock"));
    let held = held.expect("a lock").expect("that nobody holds");
    let release = thread::spawn(move || {
        sleep(Duration::from_millis(1500));
        drop(held);
    });
    let shown = watched(&world, &["import", "./p"]);
    release.join().expect("released");
    let note = shown.find("note: another apkit is changing");
    let (before, _) = shown.split_at(note.expect("a note"));
    assert!(
        before.is_empty() || before.ends_with("\r\u{1b}[K"),
        "{shown:?}"
    );
    assert!(shown.ends_with("\r\u{1b}[K"), "{shown:?}");
}

#[test]
fn what_has_come_is_shown_in_units_that_a_person_reads() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    // Nothing that a packer makes smaller.
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let noise: Vec<u8> = noise.take(300 << 10).collect();
    world.write("p/noise.bin", noise);
    tgz(&world.path("p"), "package/", &world.path("slow.tgz"));
    let archive = fs::read(world.path("slow.tgz")).expect("an archive");
    let whole = format!(
        "{}.{} KiB",
        archive.len() >> 10,
        ((archive.len() & 1023) * 10) >> 10
    );
    let server = Server::new(move |_| {
        let slowly = Delivery::Trickle(32 << 10, Duration::from_millis(120));
        Reply::new(200, archive.clone()).delivery(slowly)
    });
    let shown = watched(&world, &["import", &server.url("/slow.tgz")]);
    let is_line = |line: &str| {
        line.starts_with("slow.tgz: fetching, ") && line.contains(&format!(" KiB of {whole} ("))
    };
    assert!(shown.split("\r\u{1b}[K").any(is_line), "{shown:?}");
}

#[test]
fn a_terminal_shows_what_is_waited_for_and_is_clean_afterwards() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    tgz(&world.path("p"), "package/", &world.path("slow.tgz"));
    let archive = fs::read(world.path("slow.tgz")).expect("an archive");
    let server = Server::new(move |_| {
        sleep(Duration::from_millis(900));
        Reply::new(200, archive.clone())
    });
    let source = server.url("/slow.tgz");
    // The server says nothing for a while, and the line is there all the same.
    let shown = watched(&world, &["import", &source]);
    assert!(
        shown.starts_with("\r\u{1b}[Kslow.tgz: fetching"),
        "{shown:?}"
    );
    assert!(shown.ends_with("\r\u{1b}[K"), "{shown:?}");
    // What is done at once, and what nobody watches, is not worth a line.
    assert_eq!(watched(&world, &["verify"]), "");
    let run = world.expect(0, &["import", &source]);
    assert_eq!(run.stderr, "");
}
