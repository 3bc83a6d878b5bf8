//! Peak memory of a child, by the operating system's own accounting.
//!
//! A child starts with the peak of the process that started it, and this one is
//! large. So a second copy of it, fresh and small, starts the child and looks.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::hook_support::{Place, Run, finish};

const FILE: &str = "APKIT_TEST_MEASURE";
const SEPARATOR: char = '\u{1f}';

/// Runs a command of the program; what it gave, and its peak memory in bytes.
pub(crate) fn run(place: &Place, arguments: &[&str], input: &[u8]) -> (Run, usize) {
    let file = place.path("measured");
    let name = file.to_str().unwrap().to_owned() + &SEPARATOR.to_string();
    let mut inner = place.command(&std::env::current_exe().unwrap());
    inner
        .args([
            "measure::the_command_named_by_a_variable",
            "--exact",
            "--ignored",
        ])
        .env(FILE, name + &arguments.join(&SEPARATOR.to_string()));
    let started = Instant::now();
    let (child, pipe) = place.start(&mut inner, input);
    drop(pipe);
    let outer = finish(child, started);
    assert_eq!(outer.status, 0, "{outer:?}");
    let read = |kind: &str| fs::read_to_string(file.with_extension(kind)).unwrap();
    let numbers = read("numbers");
    let (status, peak) = numbers.split_once(' ').unwrap();
    let run = Run {
        status: status.parse().unwrap(),
        stdout: read("out"),
        stderr: read("err"),
        took: outer.took,
    };
    (run, peak.parse().unwrap())
}

#[test]
#[ignore = "the other half of `run`"]
fn the_command_named_by_a_variable() {
    let command = std::env::var(FILE).expect("started by `run`");
    let mut words = command.split(SEPARATOR);
    let file = std::path::PathBuf::from(words.next().unwrap());
    let output = |kind: &str| Stdio::from(fs::File::create(file.with_extension(kind)).unwrap());
    let status = Command::new(crate::hook_support::PROGRAM)
        .args(words)
        .env_remove(FILE)
        .stdout(output("out"))
        .stderr(output("err"))
        .status()
        .unwrap();
    #[expect(
        unsafe_code,
        reason = "getrusage fills the record it is given, plain numbers"
    )]
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let peak = usage.ru_maxrss * unit;
    let text = format!("{} {peak}", status.code().unwrap_or(-1));
    fs::write(file.with_extension("numbers"), text).unwrap();
}
