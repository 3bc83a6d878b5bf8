//! The guard: starts one program and ends it, and what that one started, when
//! the process that asked for it is gone.
//!
//! The main thread alone decides and signals. Two others wait: one for what the
//! other process says, one for children that ended.

use std::ffi::{CString, OsStr};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Status;
use super::tree::Tree;
use super::wire::{self, Report, Request};

/// How long a program whose client was killed has between `SIGTERM` and
/// `SIGKILL`. Its standard input has ended already.
const GRACE: Duration = Duration::from_millis(700);
/// How long the guard waits for what `SIGKILL` does not end.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How often, and how long apart, a program is tried whose file is still open for
/// writing somewhere, as that of one that was just installed can be.
const BUSY_TRIES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(25);

/// What happens to the guard.
pub(super) enum Event {
    /// The other process wants something.
    Order(u8),
    /// The other process is gone, or wants no more.
    Alone,
    /// The program ended. It is not reaped, so that its id stays its own.
    Exited(Status),
}

/// Runs the guard, to its end. `descriptor` is the number of the descriptor that
/// is its end of the socket.
///
/// # Errors
///
/// When that is no such descriptor, the other process is gone before it has said
/// what to start, or the system has no room for the guard's threads.
pub fn run(descriptor: &OsStr) -> io::Result<()> {
    let control = adopt(descriptor)?;
    close_others(control.as_raw_fd());
    stand_apart();
    let request = wire::decode(&mut &control)?;
    let started = launch(&request);
    // The ends of the program's pipes are the program's alone.
    let _ = std::env::set_current_dir("/");
    let_go_of_standard_streams();
    let server = match started {
        Ok(server) => server,
        Err(report) => return (&control).write_all(&report.encode()),
    };
    // A failure here and below means that the other process is gone, which the
    // listener notices.
    let _ = (&control).write_all(&Report::Started(server).encode());
    let tree = Tree::new(server);
    let (sender, events) = channel();
    let waiting = control
        .try_clone()
        .and_then(|control| listen(control, sender.clone()))
        .and_then(|()| tree.reap(sender));
    if waiting.is_err() {
        tree.signal(libc::SIGKILL);
        return waiting;
    }
    match watch(&tree, &events, &control) {
        End::Own if request.leave => {}
        end => tree.clear(end == End::Killed),
    }
    Ok(())
}

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// By itself.
    Own,
    /// It was asked to.
    Asked,
    /// It was to be killed.
    Killed,
}

/// How far the program's end has come. Nothing leads back: what is to be killed is not
/// asked any more.
#[derive(Debug)]
struct Ending {
    end: End,
    /// When the next step is due; none as long as the other process says what to do.
    until: Option<Instant>,
}

impl Ending {
    /// The program is to end. Gives the signal for it.
    fn ask(&mut self) -> Option<libc::c_int> {
        if self.end == End::Killed {
            return None;
        }
        self.end = End::Asked;
        Some(libc::SIGTERM)
    }

    /// The program is to be killed.
    fn kill(&mut self) -> Option<libc::c_int> {
        self.end = End::Killed;
        Some(libc::SIGKILL)
    }

    /// Nobody says any more what to do.
    fn alone(&mut self, now: Instant) -> Option<libc::c_int> {
        let signal = self.ask();
        let patience = if signal.is_some() { GRACE } else { GIVE_UP };
        self.until = Some(now + patience);
        signal
    }

    /// The time of a step is up. Without a signal there is no further one.
    fn late(&mut self, now: Instant) -> Option<libc::c_int> {
        if self.end == End::Killed {
            return None;
        }
        self.until = Some(now + GIVE_UP);
        self.kill()
    }
}

/// Waits for the program to end, and makes it.
fn watch(tree: &Tree, events: &Receiver<Event>, mut control: &UnixStream) -> End {
    let mut ending = Ending {
        end: End::Own,
        until: None,
    };
    loop {
        let event = match ending.until {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => events.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        let signal = match event {
            Ok(Event::Order(wire::TERMINATE)) => ending.ask(),
            Ok(Event::Order(wire::KILL)) => ending.kill(),
            Ok(Event::Order(_)) => None,
            Ok(Event::Alone) => ending.alone(Instant::now()),
            Ok(Event::Exited(status)) => {
                let _ = control.write_all(&Report::Exited(status).encode());
                return ending.end;
            }
            Err(RecvTimeoutError::Timeout) => match ending.late(Instant::now()) {
                None => return End::Killed,
                signal => signal,
            },
            Err(RecvTimeoutError::Disconnected) => return End::Killed,
        };
        if let Some(signal) = signal {
            tree.signal(signal);
        }
    }
}

/// Hears what the other process says.
fn listen(mut control: UnixStream, events: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        let mut byte = [0];
        loop {
            let event = match io::Read::read(&mut control, &mut byte) {
                Ok(1..) => Event::Order(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => Event::Alone,
            };
            let last = matches!(event, Event::Alone);
            if events.send(event).is_err() || last {
                return;
            }
        }
    })?;
    Ok(())
}

/// Takes over the descriptor that was named.
fn adopt(descriptor: &OsStr) -> io::Result<UnixStream> {
    let number: RawFd = descriptor
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|number| *number > 2)
        .ok_or(io::ErrorKind::InvalidInput)?;
    #[expect(
        unsafe_code,
        reason = "the flag shows that it is open; nothing else in this process, which has \
                  just begun, knows it"
    )]
    let descriptor = unsafe {
        if libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) == -1 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(number)
    };
    Ok(descriptor.into())
}

/// Closes what was inherited and is not meant for the guard, which may live
/// longer than the process that left it open.
fn close_others(control: RawFd) {
    for descriptor in super::super::unix::open_descriptors() {
        if descriptor > 2 && descriptor != control {
            #[expect(
                unsafe_code,
                reason = "nothing in this process, which has just begun, uses them"
            )]
            unsafe {
                libc::close(descriptor);
            }
        }
    }
}

extern "C" fn stay(_signal: libc::c_int) {}

/// A session of its own; the descendants' new parent when theirs dies; and not
/// ended by a signal that is meant for the program before it.
fn stand_apart() {
    #[expect(
        unsafe_code,
        reason = "these calls change flags of this process and copy a name; the handler does \
                  nothing, and is gone again in a program that is executed"
    )]
    unsafe {
        libc::setsid();
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            // Lists of processes would show the name it was executed by, which may
            // be `exe`.
            libc::prctl(libc::PR_SET_NAME, c"apkit-guard".as_ptr());
        }
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            let mut action: libc::sigaction = std::mem::zeroed();
            // What is ignored (by nohup, say) stays ignored.
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0
                || action.sa_sigaction == libc::SIG_IGN
            {
                continue;
            }
            action.sa_sigaction = stay as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Points the standard streams nowhere.
fn let_go_of_standard_streams() {
    let nowhere = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null");
    let nowhere = nowhere.map(IntoRawFd::into_raw_fd);
    for descriptor in 0..=2 {
        #[expect(unsafe_code, reason = "the guard writes and reads none of the three")]
        unsafe {
            match nowhere {
                Ok(nowhere) => libc::dup2(nowhere, descriptor),
                Err(_) => libc::close(descriptor),
            };
        }
    }
}

/// Starts the program, as the first of a process group of its own.
fn launch(request: &Request) -> Result<i32, Report> {
    let number = |error: io::Error| error.raw_os_error().unwrap_or(libc::EINVAL);
    std::env::set_current_dir(&request.cwd).map_err(|error| Report::NoCwd(number(error)))?;
    let mut tries = 0;
    loop {
        tries += 1;
        match spawn(request) {
            Ok(server) => return Ok(server),
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES =>
            {
                thread::sleep(BUSY_PAUSE);
            }
            Err(error) => return Err(Report::NoProgram(number(error))),
        }
    }
}

fn spawn(request: &Request) -> io::Result<i32> {
    let image = Image::new(request)?;
    let mut command = Command::new(&request.program);
    command.process_group(0);
    #[cfg(target_os = "linux")]
    let guard = std::process::id();
    #[expect(
        unsafe_code,
        reason = "only system calls that are async-signal-safe, with memory made before the fork"
    )]
    unsafe {
        command.pre_exec(move || {
            #[cfg(target_os = "linux")]
            {
                // Bound to the thread that forks: the guard's first, which stays
                // until the end.
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
                    return Err(io::Error::last_os_error());
                }
                if u32::try_from(libc::getppid()) != Ok(guard) {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
            }
            Err(image.execute())
        });
    }
    let child = command.spawn()?;
    i32::try_from(child.id()).map_err(io::Error::other)
}

/// A program with its arguments and environment, as the kernel takes them. The
/// standard library would hand a file that is no program to a shell.
struct Image {
    program: CString,
    _texts: Vec<CString>,
    args: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
}

#[expect(
    unsafe_code,
    reason = "the pointers lead into the texts beside them, which nobody changes"
)]
unsafe impl Send for Image {}
#[expect(unsafe_code, reason = "as above: it is only read")]
unsafe impl Sync for Image {}

impl Image {
    fn new(request: &Request) -> io::Result<Self> {
        let program = CString::new(request.program.as_os_str().as_bytes())?;
        let mut texts = Vec::new();
        let mut args = vec![program.as_ptr()];
        let mut env = Vec::new();
        for arg in &request.args {
            let text = CString::new(arg.as_bytes())?;
            args.push(text.as_ptr());
            texts.push(text);
        }
        for (name, value) in &request.env {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            let text = CString::new(pair.into_vec())?;
            env.push(text.as_ptr());
            texts.push(text);
        }
        args.push(std::ptr::null());
        env.push(std::ptr::null());
        Ok(Self {
            program,
            _texts: texts,
            args,
            env,
        })
    }

    /// Becomes the program; returns only if it cannot.
    fn execute(&self) -> io::Error {
        #[expect(
            unsafe_code,
            reason = "C strings, and lists of them that end with null, all alive"
        )]
        unsafe {
            libc::execve(self.program.as_ptr(), self.args.as_ptr(), self.env.as_ptr());
        }
        io::Error::last_os_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending() -> Ending {
        Ending {
            end: End::Own,
            until: None,
        }
    }

    #[test]
    fn who_is_asked_is_killed_when_the_time_is_up() {
        let now = Instant::now();
        let mut ending = ending();
        assert_eq!(ending.ask(), Some(libc::SIGTERM));
        assert_eq!((ending.end, ending.until), (End::Asked, None));
        assert_eq!(ending.alone(now), Some(libc::SIGTERM));
        assert_eq!((ending.end, ending.until), (End::Asked, Some(now + GRACE)));
        let now = now + GRACE;
        assert_eq!(ending.late(now), Some(libc::SIGKILL));
        assert_eq!(
            (ending.end, ending.until),
            (End::Killed, Some(now + GIVE_UP))
        );
        assert_eq!(ending.late(now + GIVE_UP), None);
    }

    #[test]
    fn who_is_killed_is_not_asked() {
        let now = Instant::now();
        let mut ending = ending();
        assert_eq!(ending.kill(), Some(libc::SIGKILL));
        assert_eq!(ending.ask(), None);
        assert_eq!(ending.end, End::Killed);
        // It is waited for no less than after a kill of the guard's own.
        assert_eq!(ending.alone(now), None);
        assert_eq!(
            (ending.end, ending.until),
            (End::Killed, Some(now + GIVE_UP))
        );
        assert_eq!(ending.late(now + GIVE_UP), None);
        assert_eq!(ending.kill(), Some(libc::SIGKILL));
    }
}
