//! Unix: locks, detached processes, the user's name.

use std::ffi::{CStr, CString};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A lock that is held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

/// Takes the lock that the file `path` stands for, creating the file if need
/// be. `None` if somebody else holds it.
///
/// # Errors
///
/// Fails when the file cannot be created or opened, and for a link.
pub fn try_lock(path: &Path) -> io::Result<Option<Lock>> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(path)?;
        // `File::try_lock` exists only since Rust 1.89.
        #[expect(
            unsafe_code,
            reason = "flock on a descriptor that is open; it reads no memory"
        )]
        let taken = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
        if !taken {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock => Ok(None),
                io::ErrorKind::Interrupted => continue,
                _ => Err(error),
            };
        }
        // Whoever tidies up may have removed the file in between; a lock on a
        // file without a name would protect nothing.
        let held = file.metadata()?;
        match std::fs::symlink_metadata(path) {
            Ok(named) if (named.dev(), named.ino()) == (held.dev(), held.ino()) => {
                return Ok(Some(Lock(file)));
            }
            _ => {}
        }
    }
}

/// Creates a directory that only the user can look into, with its parents.
///
/// # Errors
///
/// Fails as `mkdir` does.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens an empty file in `directory` to write and read back that goes away when
/// it is closed, however the process ends.
///
/// # Errors
///
/// Fails when the file cannot be created.
pub fn nameless_file(directory: &Path) -> io::Result<File> {
    let path = directory.join(super::passing_name());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Makes a directory that only the user can look into and that nobody else has
/// made before.
///
/// # Errors
///
/// Fails as `mkdir` does.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes files that `options` creates readable for the user only, and does not
/// wait for the other end of a FIFO that stands in the place of one.
pub fn keep_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600).custom_flags(libc::O_NONBLOCK)
}

/// Opens a file to read, at once or not at all: a FIFO would be waited for, and
/// a device may have no end.
///
/// # Errors
///
/// Fails as `open` does, and for what is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    Ok(file)
}

/// Whether any executable bit is set.
pub fn is_executable(metadata: &Metadata) -> bool {
    metadata.mode() & 0o111 != 0
}

/// Whether the file belongs to the user that this process acts for.
pub fn is_own(metadata: &Metadata) -> bool {
    #[expect(unsafe_code, reason = "it reads a number and cannot fail")]
    let own = unsafe { libc::geteuid() };
    metadata.uid() == own
}

/// Whether nobody but its owner may read or write the file.
pub fn is_private(metadata: &Metadata) -> bool {
    metadata.mode() & 0o077 == 0
}

/// Whether the file was handed to this process as it is: it belongs to this user or to
/// root and lies where nobody can write, or change a mode, through this mount. So container
/// runtimes hand secrets in.
pub fn is_handed_in(file: &File) -> io::Result<bool> {
    let uid = file.metadata()?.uid();
    let mut mount = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    #[expect(
        unsafe_code,
        reason = "the descriptor is open, and what is written to is as large as the type says"
    )]
    let mount = unsafe {
        if libc::fstatvfs(file.as_raw_fd(), mount.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        // It succeeded, and so has written all of it.
        mount.assume_init()
    };
    let is_trusted = uid == 0 || is_own(&file.metadata()?);
    Ok(is_trusted && mount.f_flag & libc::ST_RDONLY != 0)
}

/// A path as programs expect it; here that is every path.
pub fn plain_path(path: &Path) -> PathBuf {
    path.to_owned()
}

/// Prepares `command` to outlive this process and its terminal: a session of its
/// own, and nothing inherited but what the command names.
pub fn detach(command: &mut Command) {
    close_on_exec();
    #[expect(
        unsafe_code,
        reason = "setsid is async-signal-safe and touches no memory"
    )]
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() == -1 {
                Err(io::Error::last_os_error())
            } else {
                Ok(())
            }
        });
    }
}

/// Marks every descriptor but the standard three as not to be inherited. Ours
/// are; those the parent process left open may not be, and a pipe that lives on
/// in the child would keep the host waiting.
fn close_on_exec() {
    for descriptor in open_descriptors() {
        if descriptor > 2 {
            #[expect(
                unsafe_code,
                reason = "sets a flag; a descriptor closed meanwhile gives an error and no more"
            )]
            unsafe {
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// The descriptors that are open, and that of the list itself, which no longer is.
/// None where the system has no such list.
pub(super) fn open_descriptors() -> Vec<RawFd> {
    let list = if cfg!(target_os = "linux") {
        "/proc/self/fd"
    } else {
        "/dev/fd"
    };
    let Ok(entries) = std::fs::read_dir(list) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

/// Whether a process with this id exists.
pub fn is_running(id: u32) -> bool {
    let Ok(id) = libc::pid_t::try_from(id) else {
        return false;
    };
    #[expect(unsafe_code, reason = "signal 0 only asks")]
    let asked = unsafe { libc::kill(id, 0) };
    id > 0 && (asked == 0 || io::Error::last_os_error().kind() == io::ErrorKind::PermissionDenied)
}

/// The name of the user this process runs as.
pub fn user_name() -> Option<String> {
    let mut buffer = vec![0_u8; 16 * 1024];
    #[expect(
        unsafe_code,
        reason = "getpwuid_r fills the given record and buffer, whose length it is told"
    )]
    unsafe {
        let mut record: libc::passwd = std::mem::zeroed();
        let mut found = std::ptr::null_mut();
        let status = libc::getpwuid_r(
            libc::geteuid(),
            &raw mut record,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &raw mut found,
        );
        if status != 0 || found.is_null() || record.pw_name.is_null() {
            return None;
        }
        // The name lies in the buffer, which is still alive.
        let name = CStr::from_ptr(record.pw_name).to_str().ok()?;
        (!name.is_empty()).then(|| name.to_owned())
    }
}

/// What tells one file from all others on this machine, whatever its name.
pub fn file_id(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Exchanges what two paths name, in one step. `false` if the system or the file
/// system has no such step; nothing has changed then.
///
/// # Errors
///
/// Fails as `rename` does.
pub fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    let [one, other] = [one, other]
        .map(|path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other));
    let (one, other) = (one?, other?);
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "both are C strings that outlive the call")]
    let status = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    #[cfg(target_os = "macos")]
    #[expect(unsafe_code, reason = "both are C strings that outlive the call")]
    let status = unsafe { libc::renamex_np(one.as_ptr(), other.as_ptr(), libc::RENAME_SWAP) };
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    let status = {
        let _ = (one, other);
        return Ok(false);
    };
    if status == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EINVAL | libc::ENOTSUP) => Ok(false),
        _ => Err(error),
    }
}

/// What the handler sets. It is never freed, as the handler may run at any time.
static INTERRUPTED: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn interrupted(_signal: libc::c_int) {
    let flag = INTERRUPTED.load(Ordering::Acquire);
    #[expect(
        unsafe_code,
        reason = "the pointer is null or of an Arc that was given away for good"
    )]
    if let Some(flag) = unsafe { flag.as_ref() } {
        flag.store(true, Ordering::Relaxed);
    }
}

/// Has `flag` set when the user interrupts the program or it is asked to end. The
/// second time, it ends at once.
pub fn on_interrupt(flag: Arc<AtomicBool>) {
    INTERRUPTED.store(Arc::into_raw(flag).cast_mut(), Ordering::Release);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        #[expect(
            unsafe_code,
            reason = "the handler only stores to an atomic, which is async-signal-safe"
        )]
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            // What is ignored (by nohup, say) stays ignored.
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0
                || action.sa_sigaction == libc::SIG_IGN
            {
                continue;
            }
            action.sa_sigaction = interrupted as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}
