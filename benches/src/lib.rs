//! Measuring whole processes in turn, so that a drift of the machine hits all
//! of them alike.

use std::io;
use std::process::{Command, Stdio};

/// What one run of a process cost, by the operating system's own accounting.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// User and system time, milliseconds.
    pub cpu: f64,
    /// Elapsed time, milliseconds.
    pub wall: f64,
    /// Peak resident memory, MiB.
    pub memory: f64,
}

/// Runs the command once and waits for it.
pub fn run(command: &mut Command) -> io::Result<Cost> {
    let start = std::time::Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
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

/// Runs all commands in turn, `rounds` times after one warm-up, and prints the
/// median of each and its ratio to the last one.
pub fn compare(title: &str, rounds: usize, commands: &mut [(&str, Command)]) -> io::Result<()> {
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); commands.len()];
    for round in 0..=rounds {
        for (at, (_, command)) in commands.iter_mut().enumerate() {
            let cost = run(command)?;
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
    println!("\n{title} (median of {rounds}; ratio to the last line)");
    println!("{:<44} {:>16} {:>16} {:>18}", "", "cpu ms", "wall ms", "peak MiB");
    let last = commands.len() - 1;
    for (at, (name, _)) in commands.iter().enumerate() {
        let cell = |of: fn(&Cost) -> f64| format!("{:.2} ({:.2}x)", median(at, of), median(at, of) / median(last, of));
        println!("{name:<44} {:>16} {:>16} {:>18}", cell(|c| c.cpu), cell(|c| c.wall), cell(|c| c.memory));
    }
    Ok(())
}

/// The apkit to measure: `$APKIT`, or the release build of this checkout.
pub fn apkit() -> std::path::PathBuf {
    std::env::var_os("APKIT").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/apkit"),
        Into::into,
    )
}
