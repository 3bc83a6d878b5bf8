//! The program that a guard started, and what that one started.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Status;
use super::guard::Event;

/// How long what is left of a program that has ended has between `SIGTERM` and
/// `SIGKILL`.
const GRACE: Duration = Duration::from_millis(500);
/// How long to wait for what `SIGKILL` does not end at once.
const GIVE_UP: Duration = Duration::from_secs(5);
/// Between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(10);

/// A program, the leader of its process group. It is reaped last: until then
/// neither its id nor its group's can be anybody else's, and a signal to them
/// reaches nobody else.
pub(super) struct Tree {
    server: libc::pid_t,
    /// Held while children are reaped, or looked up and signalled.
    reaping: Arc<Mutex<()>>,
}

/// A child of this process.
struct Entry {
    id: libc::pid_t,
    zombie: bool,
}

/// Ends a process group whose guard is gone.
pub(super) fn end_group(leader: libc::pid_t) {
    // 0 and 1 mean other processes than those of a group.
    if leader > 1 {
        send(-leader, libc::SIGKILL);
    }
}

/// Lets a process of ours run on that was stopped.
pub(super) fn wake(id: libc::pid_t) {
    if id > 1 {
        send(id, libc::SIGCONT);
    }
}

impl Tree {
    pub(super) fn new(server: libc::pid_t) -> Self {
        Self {
            server,
            reaping: Arc::default(),
        }
    }

    /// Reaps children, all but the program, until that has ended; says so then.
    pub(super) fn reap(&self, events: Sender<Event>) -> io::Result<()> {
        let server = self.server;
        let reaping = Arc::clone(&self.reaping);
        thread::Builder::new().spawn(move || {
            loop {
                match ended() {
                    Ok((id, status)) if id == server => {
                        let _ = events.send(Event::Exited(status));
                        return;
                    }
                    Ok((id, _)) => {
                        let _held = reaping.lock().unwrap_or_else(PoisonError::into_inner);
                        wait_for(id);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => {
                        let _ = events.send(Event::Exited(Status::Unknown));
                        return;
                    }
                }
            }
        })?;
        Ok(())
    }

    /// Sends a signal to the program's group, and to what came to this process
    /// from elsewhere.
    pub(super) fn signal(&self, signal: libc::c_int) {
        let _held = self.reaping.lock().unwrap_or_else(PoisonError::into_inner);
        send(-self.server, signal);
        for child in children().unwrap_or_default() {
            if child.id != self.server && group(child.id) != self.server {
                send(child.id, signal);
            }
        }
    }

    /// Ends what is left after the program has ended, at once if `kill`, and reaps
    /// it all.
    pub(super) fn clear(self, kill: bool) {
        if children().is_none() {
            // Without /proc nobody but the group can be found, and the program
            // itself would count as a member.
            wait_for(self.server);
        }
        if !kill {
            self.signal(libc::SIGTERM);
        }
        let begun = Instant::now();
        let patience = if kill { Duration::ZERO } else { GRACE };
        while self.something_left() && begun.elapsed() < patience + GIVE_UP {
            if begun.elapsed() >= patience {
                self.signal(libc::SIGKILL);
            }
            thread::sleep(PAUSE);
        }
        wait_for(self.server);
    }

    fn something_left(&self) -> bool {
        let Some(children) = children() else {
            return send(-self.server, 0);
        };
        let mut left = false;
        for child in children {
            if child.id == self.server {
            } else if child.zombie {
                wait_for(child.id);
            } else {
                left = true;
            }
        }
        left
    }
}

/// Waits for a child to end and leaves it unreaped.
fn ended() -> io::Result<(libc::pid_t, Status)> {
    #[expect(unsafe_code, reason = "waitid fills the record it is given")]
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        if libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOWAIT) == -1 {
            return Err(io::Error::last_os_error());
        }
        let status = if info.si_code == libc::CLD_EXITED {
            Status::Code(info.si_status())
        } else {
            Status::Signal(info.si_status())
        };
        Ok((info.si_pid(), status))
    }
}

/// Reaps a child that has ended.
fn wait_for(id: libc::pid_t) {
    #[expect(unsafe_code, reason = "no status is asked for")]
    unsafe {
        libc::waitpid(id, std::ptr::null_mut(), libc::WNOHANG);
    }
}

/// `false` if there is nobody to send it to.
fn send(to: libc::pid_t, signal: libc::c_int) -> bool {
    #[expect(unsafe_code, reason = "kill touches no memory")]
    unsafe {
        libc::kill(to, signal) == 0
    }
}

fn group(id: libc::pid_t) -> libc::pid_t {
    #[expect(unsafe_code, reason = "getpgid touches no memory")]
    unsafe {
        libc::getpgid(id)
    }
}

/// The children of this process; `None` where the system does not say.
///
/// Only children are signalled: unlike other processes they keep their ids until
/// they are reaped here. Whoever stands below one becomes a child when it dies.
fn children() -> Option<Vec<Entry>> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let own = std::process::id();
    let processes = std::fs::read_dir("/proc").ok()?;
    let mut seen = false;
    let mut children = Vec::new();
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(line) = std::fs::read(process.path().join("stat")) else {
            continue;
        };
        seen = true;
        if let Some((state, parent)) = state_and_parent(&String::from_utf8_lossy(&line))
            && parent == own
        {
            children.push(Entry {
                id,
                zombie: matches!(state, "Z" | "X"),
            });
        }
    }
    seen.then_some(children)
}

/// The state and the parent's id in a line of `/proc/…/stat` (proc(5)). The name
/// before them stands in parentheses and may hold any character.
fn state_and_parent(line: &str) -> Option<(&str, u32)> {
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    Some((fields.next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::state_and_parent;

    #[test]
    fn a_name_with_parentheses_hides_nothing() {
        let line = "7 (a) S 1 (b\n) Z 42 7 7 0";
        assert_eq!(state_and_parent(line), Some(("Z", 42)));
        assert_eq!(state_and_parent("7 (a"), None);
    }
}
