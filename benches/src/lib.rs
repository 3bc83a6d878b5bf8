//! Measuring whole processes in turn, so that a drift of the machine hits all
//! of them alike.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What one run of a process cost, by the operating system's own accounting.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// User and system time, milliseconds.
    pub cpu: f64,
    /// Elapsed time, milliseconds.
    pub wall: f64,
    /// Peak resident memory, MiB. A child starts with the peak of this process,
    /// so nothing large may be held here.
    pub memory: f64,
}

/// Runs the command once and waits for it.
pub fn run(command: &mut Command) -> io::Result<Cost> {
    run_with(command, None)
}

/// Runs the command once with `input` on its standard input and waits for it.
pub fn run_with(command: &mut Command, input: Option<&[u8]>) -> io::Result<Cost> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let start = Instant::now();
    let mut child = command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        pipe.write_all(input)?;
    }
    let mut usage: libc::rusage = unsafe_zeroed();
    let mut status = 0;
    // SAFETY: the pid is that of a child of this process that nobody has waited
    // for, and both pointers are valid for the call.
    let pid = unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    let wall = start.elapsed().as_secs_f64() * 1e3;
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let milliseconds = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    Ok(Cost {
        cpu: milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
        wall,
        memory: usage.ru_maxrss as f64 / 1024.0,
    })
}

fn unsafe_zeroed() -> libc::rusage {
    // SAFETY: rusage is plain numbers, for which all zeroes are valid.
    unsafe { std::mem::zeroed() }
}

/// Something to measure: each call runs it once.
pub type Case<'a> = (&'a str, Box<dyn FnMut() -> io::Result<Cost> + 'a>);

/// A case that runs the same command each time.
pub fn command<'a>(name: &'a str, mut command: Command) -> Case<'a> {
    (name, Box::new(move || run(&mut command)))
}

/// Runs all cases in turn, `rounds` times after one warm-up, and prints the
/// median of each and its ratio to the last one. The medians.
pub fn compare(title: &str, rounds: usize, cases: &mut [Case]) -> io::Result<Vec<Cost>> {
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); cases.len()];
    for round in 0..=rounds {
        for (at, (_, case)) in cases.iter_mut().enumerate() {
            let cost = case()?;
            if round > 0 {
                costs[at].push(cost);
            }
        }
    }
    let median = |at: usize, of: fn(&Cost) -> f64| {
        let mut values: Vec<f64> = costs[at].iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let medians: Vec<Cost> = (0..cases.len())
        .map(|at| Cost { cpu: median(at, |c| c.cpu), wall: median(at, |c| c.wall), memory: median(at, |c| c.memory) })
        .collect();
    println!("\n{title} (median of {rounds}; ratio to the last line)");
    println!("{:<44} {:>16} {:>16} {:>18}", "", "cpu ms", "wall ms", "peak MiB");
    let last = medians[medians.len() - 1];
    for ((name, _), cost) in cases.iter().zip(&medians) {
        let cell = |of: fn(&Cost) -> f64| {
            let ratio = of(cost) / of(&last);
            let digits = if ratio < 0.1 { 3 } else { 2 };
            format!("{:.2} ({ratio:.digits$}x)", of(cost))
        };
        println!("{name:<44} {:>16} {:>16} {:>18}", cell(|c| c.cpu), cell(|c| c.wall), cell(|c| c.memory));
    }
    Ok(medians)
}

/// The apkit to measure: `$APKIT`, or this checkout, built with `profile`.
pub fn apkit(profile: &str) -> io::Result<PathBuf> {
    if let Some(named) = std::env::var_os("APKIT") {
        return Ok(named.into());
    }
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let status = Command::new(cargo)
        .args(["build", "--locked", "--bin", "apkit", "--profile", profile])
        .current_dir(&checkout)
        .status()?;
    if !status.success() {
        return Err(io::Error::other("apkit could not be built"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| checkout.join("target"), PathBuf::from);
    Ok(target.join(profile).join("apkit"))
}

/// How many processes want to run, where the system tells (one, five, fifteen
/// minutes).
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
