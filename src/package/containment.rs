//! Containment (§4.1): where a path of the package leads, component by
//! component as the kernel resolves it.
//!
//! Only `lstat` and `readlink` look at anything outside the package, and only
//! because a link led there: nothing outside is opened or listed.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Links followed before a path counts as a loop, as in Linux.
const MAX_LINKS: usize = 40;
/// Parts of a path looked at before it counts as one, so that links to long
/// paths of links do not multiply without end.
const MAX_STEPS: usize = 4096;

/// Where a path leads.
#[derive(Debug)]
pub(crate) enum Resolution {
    /// A regular file inside the package.
    File(PathBuf),
    /// A directory inside the package.
    Directory(PathBuf),
    /// Something else inside the package: a FIFO, a socket, a device.
    Special(&'static str),
    /// Nothing exists there; the place itself, which this is, would be inside the
    /// package.
    Missing(PathBuf),
    /// It leads out of the package.
    Escape,
    /// Its links form a loop.
    Loop,
    /// A directory on the way denies access.
    Unreadable(io::Error),
}

/// Resolves `relative` from `base`, a physical directory inside `root`, which
/// is itself physical.
///
/// A `..` of `relative` itself must not leave the root, even where the path
/// returns by the root's own name; a link may lead out and back in, because only
/// the resolved path is constrained.
pub(crate) fn resolve(root: &Path, base: &Path, relative: &Path) -> Resolution {
    let mut at = base.to_path_buf();
    let mut pending = VecDeque::new();
    push_front(&mut pending, relative, false);
    let mut links = 0;
    let mut steps = 0;
    let mut missing = false;
    // What the last step led to; a directory unless something else was met.
    let mut last: Option<fs::Metadata> = None;
    while let Some((step, from_link)) = pending.pop_front() {
        steps += 1;
        if steps > MAX_STEPS {
            return Resolution::Loop;
        }
        // Behind a file there is nothing, not even its own directory.
        missing |= last.take_if(|last| !last.is_dir()).is_some();
        match step {
            Step::Restart(start) => at = start,
            Step::Stay => {}
            Step::Up => {
                last = None;
                at.pop();
                if !from_link && !at.starts_with(root) {
                    return Resolution::Escape;
                }
            }
            Step::Down(name) => {
                at.push(name);
                if missing {
                    continue;
                }
                match fs::symlink_metadata(&at) {
                    Ok(metadata) if metadata.file_type().is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Resolution::Loop;
                        }
                        match fs::read_link(&at) {
                            Ok(target) => {
                                at.pop();
                                last = None;
                                push_front(&mut pending, &target, true);
                            }
                            Err(error) => return Resolution::Unreadable(error),
                        }
                    }
                    Ok(metadata) => last = Some(metadata),
                    Err(error) => match error.kind() {
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing = true,
                        // A name the file system cannot even hold names nothing.
                        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => {
                            missing = true
                        }
                        _ => return Resolution::Unreadable(error),
                    },
                }
            }
        }
    }
    if !at.starts_with(root) {
        return Resolution::Escape;
    }
    if missing {
        return Resolution::Missing(at);
    }
    // The path ended on `..`, `.` or a link's own `..`: a directory was passed.
    let metadata = match last.map_or_else(|| fs::symlink_metadata(&at), Ok) {
        Ok(metadata) => metadata,
        Err(error) => return Resolution::Unreadable(error),
    };
    let kind = metadata.file_type();
    if kind.is_file() {
        Resolution::File(at)
    } else if kind.is_dir() {
        Resolution::Directory(at)
    } else {
        Resolution::Special(special_kind(kind))
    }
}

/// The same for one entry of the directory `base`, whose kind its listing told:
/// most entries are regular files, and then nothing is left to ask.
pub(super) fn resolve_entry(
    root: &Path,
    base: &Path,
    name: &OsStr,
    kind: Option<fs::FileType>,
) -> Resolution {
    match kind {
        Some(kind) if kind.is_file() => Resolution::File(base.join(name)),
        _ => resolve(root, base, Path::new(name)),
    }
}

/// The noun for something that is neither file nor directory.
fn special_kind(kind: fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    let _ = kind;
    "neither a file nor a directory"
}

enum Step {
    /// An absolute link target begins anew.
    Restart(PathBuf),
    /// A `/` or `/.` at the end of a path: what it follows must be a directory.
    Stay,
    Up,
    Down(OsString),
}

fn push_front(pending: &mut VecDeque<(Step, bool)>, path: &Path, from_link: bool) {
    let mut start: Option<PathBuf> = None;
    let mut steps = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => {
                start.get_or_insert_default().push(component.as_os_str());
            }
            Component::CurDir => {}
            Component::ParentDir => steps.push(Step::Up),
            Component::Normal(name) => steps.push(Step::Down(name.to_owned())),
        }
    }
    // `components` drops what stands at the end.
    let text = path.as_os_str().as_encoded_bytes();
    if !steps.is_empty() && (text.ends_with(b"/") || text.ends_with(b"/.")) {
        steps.push(Step::Stay);
    }
    for step in steps.into_iter().rev() {
        pending.push_front((step, from_link));
    }
    if let Some(start) = start {
        pending.push_front((Step::Restart(start), from_link));
    }
}

/// Whether a path below a directory that exists only at run time stays below
/// it by its text alone.
pub(super) fn stays_below(path: &Path) -> bool {
    let mut depth = 0_usize;
    path.components().all(|component| match component {
        Component::ParentDir => match depth.checked_sub(1) {
            Some(less) => {
                depth = less;
                true
            }
            None => false,
        },
        Component::Normal(_) => {
            depth += 1;
            true
        }
        _ => true,
    })
}

/// A name as text. What is no Unicode is written byte for byte as `\xNN`, so that
/// two names stay two.
pub(super) fn display_name(name: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_resolve_as_the_kernel_does() {
        let top = tempfile::tempdir().expect("a directory");
        let top = top.path().canonicalize().expect("its physical path");
        let root = top.join("pkg");
        fs::create_dir_all(root.join("a/b/c")).expect("directories");
        fs::create_dir_all(top.join("pkg-evil")).expect("a sibling");
        fs::write(root.join("a/f"), "x").expect("a file");
        fs::write(top.join("pkg-evil/f"), "x").expect("a file");
        let link = |target: &str, at: &str| symlink(target, root.join(at)).expect("a link");
        link("a/b/c", "l");
        link("../pkg-evil", "evil");
        link("../pkg/a", "back");
        link("loop2", "loop1");
        link("loop1", "loop2");
        link("nowhere", "dangling");
        link("../nowhere", "outside");
        link("../..", "a/up");
        link("a/f/../f", "behind");
        link("a/f/", "slash");
        link("a/f/.", "dot");
        link("a/b/", "slashed");
        let kind = |path: &str| match resolve(&root, &root, Path::new(path)) {
            Resolution::File(_) => "file",
            Resolution::Directory(_) => "directory",
            Resolution::Special(_) => "special",
            Resolution::Missing(_) => "missing",
            Resolution::Escape => "escape",
            Resolution::Loop => "loop",
            Resolution::Unreadable(_) => "unreadable",
        };
        for (path, wanted) in [
            ("./a/f", "file"),
            (".//a//f", "file"),
            ("./", "directory"),
            ("./a/f/x", "missing"),
            ("./a/f/", "missing"),
            ("./a/f/.", "missing"),
            ("./a/f/..", "missing"),
            ("./a/f/../f", "missing"),
            ("./a/f/../../..", "escape"),
            ("./behind", "missing"),
            ("./slash", "missing"),
            ("./dot", "missing"),
            ("./slashed", "directory"),
            ("./slashed/../b/", "directory"),
            ("./a/..", "directory"),
            ("./l/../..", "directory"),
            ("./l/../../..", "directory"),
            ("./l/../../../..", "escape"),
            ("./..", "escape"),
            ("./../pkg/a/f", "escape"),
            ("./evil", "escape"),
            ("./evil/f", "escape"),
            ("./evil/later", "escape"),
            ("./evil/..", "escape"),
            ("./back/f", "file"),
            ("./loop1", "loop"),
            ("./dangling", "missing"),
            ("./outside", "escape"),
            ("./nothing/here", "missing"),
            ("./nothing/../../x", "escape"),
            ("./a/up", "escape"),
            ("./a/up/pkg/a/f", "file"),
        ] {
            assert_eq!(kind(path), wanted, "{path}");
        }
    }

    #[test]
    fn text_alone_decides_below_the_data_directory() {
        for (path, wanted) in [
            ("a/../b", true),
            ("", true),
            ("..", false),
            ("a/../..", false),
            ("./x/..", true),
        ] {
            assert_eq!(stays_below(Path::new(path)), wanted, "{path}");
        }
    }
}
