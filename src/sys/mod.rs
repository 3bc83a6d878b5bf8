//! What differs between operating systems and is not in the standard library.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{Lock, create_private_dir, detach, is_running, keep_private, try_lock, user_name};
#[cfg(windows)]
pub use windows::{
    Lock, create_private_dir, detach, is_running, keep_private, try_lock, user_name,
};
