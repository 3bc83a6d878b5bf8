//! Windows: locks, detached processes, the user's name.

use std::ffi::c_void;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

const ERROR_SHARING_VIOLATION: i32 = 32;
const GENERIC_READ_AND_WRITE: u32 = 0xC000_0000;
const DELETE: u32 = 0x0001_0000;
const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
const DETACHED_PROCESS: u32 = 0x0000_0008;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
const HANDLE_FLAG_INHERIT: u32 = 1;
const STD_HANDLES: [u32; 3] = [-10_i32 as u32, -11_i32 as u32, -12_i32 as u32];
const PROCESS_QUERY_LIMITED_INFORMATION: u32 = 0x1000;
const STILL_ACTIVE: u32 = 259;

#[expect(
    unsafe_code,
    reason = "functions of kernel32, which every program is linked with"
)]
unsafe extern "system" {
    fn GetStdHandle(which: u32) -> *mut c_void;
    fn SetHandleInformation(handle: *mut c_void, mask: u32, flags: u32) -> i32;
    fn OpenProcess(access: u32, inherit: i32, id: u32) -> *mut c_void;
    fn GetExitCodeProcess(handle: *mut c_void, code: *mut u32) -> i32;
    fn CloseHandle(handle: *mut c_void) -> i32;
    fn SetConsoleCtrlHandler(handler: Option<extern "system" fn(u32) -> i32>, add: i32) -> i32;
}

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
    if path
        .symlink_metadata()
        .is_ok_and(|found| found.is_symlink())
    {
        return Err(io::Error::other("it is a link, and none is followed here"));
    }
    // A file opened without sharing cannot be opened a second time.
    match OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .share_mode(0)
        .open(path)
    {
        Ok(file) => Ok(Some(Lock(file))),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a directory with its parents. Directories below the user's profile
/// are the user's alone.
///
/// # Errors
///
/// Fails as `CreateDirectory` does.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Makes a directory that nobody else has made before. Those below the user's
/// profile are the user's alone.
///
/// # Errors
///
/// Fails as `CreateDirectory` does.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// Opens a file to read.
///
/// # Errors
///
/// Fails as `CreateFile` does, and for what is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    Ok(file)
}

/// Files below the user's profile are the user's alone.
pub fn keep_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Opens an empty file in `directory` to write and read back that goes away when
/// it is closed, however the process ends.
///
/// # Errors
///
/// Fails when the file cannot be created.
pub fn nameless_file(directory: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .access_mode(GENERIC_READ_AND_WRITE | DELETE)
        .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
        .open(directory.join(super::passing_name()))
}

/// Windows knows no executable bit: what a file's name says decides.
pub fn is_executable(_metadata: &Metadata) -> bool {
    true
}

/// Files below the user's profile are the user's alone.
pub fn is_own(_metadata: &Metadata) -> bool {
    true
}

/// See `is_own`.
pub fn is_private(_metadata: &Metadata) -> bool {
    true
}

/// See `is_own`.
pub fn is_handed_in(_file: &File) -> io::Result<bool> {
    Ok(false)
}

/// A path as programs expect it: without the `\\?\` that a resolved one begins
/// with, behind which many take neither `/` nor `..`.
pub fn plain_path(path: &Path) -> PathBuf {
    // Longer ones are understood in that form only.
    const LONGEST: usize = 240;
    let plain = path
        .to_str()
        .and_then(|text| text.strip_prefix(r"\\?\"))
        .filter(|text| text.len() < LONGEST)
        .and_then(|text| match text.strip_prefix(r"UNC\") {
            Some(share) => Some(format!(r"\\{share}")),
            None => (text.as_bytes().get(1) == Some(&b':')).then(|| text.to_owned()),
        });
    plain.map_or_else(|| path.to_owned(), PathBuf::from)
}

/// Prepares `command` to outlive this process and its console, with nothing
/// inherited but what the command names.
pub fn detach(command: &mut Command) {
    for which in STD_HANDLES {
        #[expect(unsafe_code, reason = "changes a flag of our own standard handle")]
        unsafe {
            SetHandleInformation(GetStdHandle(which), HANDLE_FLAG_INHERIT, 0);
        }
    }
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}

/// Whether a process with this id exists.
pub fn is_running(id: u32) -> bool {
    #[expect(unsafe_code, reason = "the handle is checked, used and closed here")]
    unsafe {
        let handle = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, id);
        if handle.is_null() {
            return false;
        }
        let mut code = 0;
        let asked = GetExitCodeProcess(handle, &raw mut code);
        CloseHandle(handle);
        asked != 0 && code == STILL_ACTIVE
    }
}

/// Windows always sets `USERNAME`, which is asked before this.
pub fn user_name() -> Option<String> {
    None
}

/// Windows has such numbers, but not in the standard library.
pub fn file_id(_path: &Path) -> Option<(u64, u64)> {
    None
}

/// Windows exchanges no directories in one step.
///
/// # Errors
///
/// Never.
pub fn exchange(_one: &Path, _other: &Path) -> io::Result<bool> {
    Ok(false)
}

/// What the handler sets. It is never freed, as the handler may run at any time.
static INTERRUPTED: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());

extern "system" fn interrupted(_event: u32) -> i32 {
    let flag = INTERRUPTED.load(Ordering::Acquire);
    #[expect(
        unsafe_code,
        reason = "the pointer is null or of an Arc that was given away for good"
    )]
    match unsafe { flag.as_ref() } {
        // The second time, the default handler ends the program.
        Some(flag) => i32::from(!flag.swap(true, Ordering::Relaxed)),
        None => 0,
    }
}

/// Has `flag` set when the user interrupts the program. The second time, it ends
/// at once.
pub fn on_interrupt(flag: Arc<AtomicBool>) {
    INTERRUPTED.store(Arc::into_raw(flag).cast_mut(), Ordering::Release);
    #[expect(unsafe_code, reason = "the handler only stores to an atomic")]
    unsafe {
        SetConsoleCtrlHandler(Some(interrupted), 1);
    }
}
