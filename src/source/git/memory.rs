//! What libgit2 may take of the memory. A pack of a few kilobytes can hold an object
//! of gigabytes, and one whose resolution never ends; libgit2 bounds neither, and
//! asks nobody meanwhile. It does ask for memory, so that is where it is stopped.
//!
//! Its memory comes from the same functions as before and is only counted, so that
//! what was allocated earlier can be freed by these. Where they say no, libgit2
//! ends what it was doing with an error.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};

use super::super::Stop;

/// The most that one fetch may hold at a time, in bytes.
pub(super) const MOST: usize = 768 << 20;
/// The most that it may ask for at once, in bytes: twice the largest file of a
/// package.
const MOST_AT_ONCE: usize = 256 << 20;
/// How many times memory is given to who should stop: to end in good order takes
/// some, too.
const TIMES_MORE: u32 = 10_000;

/// What is counted for the thread that fetches.
struct Watch {
    is_on: Cell<bool>,
    /// May fall below what it began with: others' memory is freed, too.
    held: Cell<isize>,
    was_refused: Cell<bool>,
    /// How many times memory is given yet after the wish to stop.
    times_more: Cell<u32>,
    stop: RefCell<Option<Stop>>,
}

thread_local! {
    static WATCH: Watch = const {
        Watch {
            is_on: Cell::new(false),
            held: Cell::new(0),
            was_refused: Cell::new(false),
            times_more: Cell::new(0),
            stop: RefCell::new(None),
        }
    };
}

/// Does something with libgit2, which gets no more than [`MOST`], and soon nothing
/// once `stop` is requested. Tells whether memory was refused for its amount.
pub(super) fn bounded<T>(stop: &Stop, work: impl FnOnce() -> T) -> (T, bool) {
    WATCH.with(|watch| {
        watch.held.set(0);
        watch.was_refused.set(false);
        watch.times_more.set(TIMES_MORE);
        watch.stop.replace(Some(stop.clone()));
        watch.is_on.set(true);
    });
    let result = work();
    let was_refused = WATCH.with(|watch| {
        watch.is_on.set(false);
        watch.stop.replace(None);
        watch.was_refused.get()
    });
    (result, was_refused)
}

/// Whether `size` bytes more may be had.
fn may_have(size: usize) -> bool {
    let asked = WATCH.try_with(|watch| {
        if !watch.is_on.get() {
            return true;
        }
        let stop = watch.stop.try_borrow();
        if stop.is_ok_and(|stop| stop.as_ref().is_some_and(Stop::is_requested)) {
            let left = watch.times_more.get();
            watch.times_more.set(left.saturating_sub(1));
            if left == 0 {
                return false;
            }
        }
        let held = usize::try_from(watch.held.get()).unwrap_or(0);
        let fits = size <= MOST_AT_ONCE && held.saturating_add(size) <= MOST;
        if !fits {
            watch.was_refused.set(true);
        }
        fits
    });
    asked.unwrap_or(true)
}

/// Counts what was given, or taken back.
fn count(change: isize) {
    let _ = WATCH.try_with(|watch| {
        if watch.is_on.get() {
            watch.held.set(watch.held.get().saturating_add(change));
        }
    });
}

/// `git_allocator` of libgit2's `git2/sys/alloc.h`.
#[repr(C)]
struct Allocator {
    malloc: extern "C" fn(usize, *const c_char, c_int) -> *mut c_void,
    realloc: extern "C" fn(*mut c_void, usize, *const c_char, c_int) -> *mut c_void,
    free: extern "C" fn(*mut c_void),
}

#[expect(
    unsafe_code,
    reason = "the functions of the C library that libgit2 is linked with, too"
)]
unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    #[cfg_attr(target_vendor = "apple", link_name = "malloc_size")]
    #[cfg_attr(windows, link_name = "_msize")]
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

#[expect(unsafe_code, reason = "each is given blocks that came from `malloc`")]
fn size_of(block: *mut c_void) -> isize {
    if block.is_null() {
        return 0;
    }
    isize::try_from(unsafe { malloc_usable_size(block) }).unwrap_or(isize::MAX)
}

#[expect(unsafe_code, reason = "`malloc` takes any size")]
extern "C" fn give(size: usize, _file: *const c_char, _line: c_int) -> *mut c_void {
    if !may_have(size) {
        return std::ptr::null_mut();
    }
    let block = unsafe { malloc(size) };
    count(size_of(block));
    block
}

#[expect(
    unsafe_code,
    reason = "the block came from `malloc`, here or before this was set up"
)]
extern "C" fn resize(
    block: *mut c_void,
    size: usize,
    _file: *const c_char,
    _line: c_int,
) -> *mut c_void {
    if !may_have(size) {
        return std::ptr::null_mut();
    }
    let before = size_of(block);
    let resized = unsafe { realloc(block, size) };
    if !resized.is_null() {
        count(size_of(resized).saturating_sub(before));
    }
    resized
}

#[expect(
    unsafe_code,
    reason = "the block came from `malloc`, here or before this was set up"
)]
extern "C" fn take_back(block: *mut c_void) {
    count(size_of(block).saturating_neg());
    unsafe { free(block) }
}

/// Has libgit2 ask here. To be called once, before anything else here uses it.
#[expect(
    unsafe_code,
    reason = "the structure is copied, and its functions live as long as the program"
)]
pub(super) fn set_up() -> Result<(), git2::Error> {
    let allocator = Allocator {
        malloc: give,
        realloc: resize,
        free: take_back,
    };
    let option = libgit2_sys::GIT_OPT_SET_ALLOCATOR as c_int;
    let done = unsafe { libgit2_sys::git_libgit2_opts(option, &raw const allocator) };
    if done == 0 {
        Ok(())
    } else {
        Err(git2::Error::from_str("libgit2 takes no allocator"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(size: usize) -> bool {
        let block = give(size, std::ptr::null(), 0);
        take_back(block);
        !block.is_null()
    }

    #[test]
    fn too_much_is_refused_and_told() {
        let stop = Stop::default();
        assert_eq!(bounded(&stop, || asked(MOST_AT_ONCE)), (true, false));
        assert_eq!(bounded(&stop, || asked(MOST_AT_ONCE + 1)), (false, true));
        // What is given back does not count.
        assert_eq!(
            bounded(&stop, || (0..10).all(|_| asked(MOST_AT_ONCE))),
            (true, false)
        );
        let (blocks, was_refused) = bounded(&stop, || {
            let blocks: Vec<_> = (0..4)
                .map(|_| give(MOST_AT_ONCE, std::ptr::null(), 0))
                .collect();
            let given = blocks.iter().filter(|block| !block.is_null()).count();
            blocks.into_iter().for_each(|block| take_back(block));
            given
        });
        assert!(blocks < 4 && was_refused);
        // Elsewhere, nothing is counted.
        assert!(asked(MOST_AT_ONCE + 1));
    }

    #[test]
    fn who_should_stop_soon_gets_nothing() {
        let stop = Stop::default();
        stop.request();
        let (given, was_refused) = bounded(&stop, || (0..20_000).filter(|_| asked(1)).count());
        assert_eq!((given, was_refused), (10_000, false));
    }
}
