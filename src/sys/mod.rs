//! What differs between operating systems and is not in the standard library;
//! and files that are whole or not there.

pub mod child;
mod read;
mod replace;
mod scratch;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use read::{read_regular, read_unlinked};
pub use replace::Staged;
pub use scratch::Scratch;
#[cfg(unix)]
pub use unix::{
    Lock, create_private_dir, detach, exchange, file_id, is_executable, is_handed_in, is_own,
    is_private, is_running, keep_private, make_private_dir, nameless_file, on_interrupt,
    open_regular, plain_path, try_lock, user_name,
};
#[cfg(windows)]
pub use windows::{
    Lock, create_private_dir, detach, exchange, file_id, is_executable, is_handed_in, is_own,
    is_private, is_running, keep_private, make_private_dir, nameless_file, on_interrupt,
    open_regular, plain_path, try_lock, user_name,
};

/// A name for something that is there for a moment only, unlike those that
/// other processes and threads choose at the same time.
fn passing_name() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(".passing-{}-{count}~", std::process::id())
}
