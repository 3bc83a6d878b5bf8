//! Taking packages in: archives and directories, through the one stage.

mod accepted;
mod compose;
mod copy;
mod hostile;
mod tree;
mod write;

use std::fs;
use std::io::Cursor;
use std::path::Path;

use apkit::archive::{Limits, Links, Refusal, Stage, Staged, root_of, unpack};

use crate::support::Place;

/// Unpacks into `stage` of the place, as an import does.
fn take_in(place: &Place, bytes: &[u8], limits: Limits) -> Result<Staged, Refusal> {
    let mut stage = Stage::new(&place.path().join("stage"), limits, Links::Refuse).unwrap();
    unpack(&mut Cursor::new(bytes), &mut stage)?;
    let root = root_of(&stage, None)?;
    stage.finish(&root)
}

/// The listing of what was taken in, `path=content` (`*` if executable) or
/// `path->target`, and the modes on disk checked on the way.
fn shown(staged: &Staged) -> Vec<String> {
    use apkit::archive::Node;
    staged
        .tree
        .entries
        .iter()
        .map(|(path, node)| {
            let on_disk = staged.directory.join(path.as_str());
            match node {
                Node::Link { target } => {
                    let found = fs::read_link(&on_disk).unwrap();
                    assert_eq!(found.to_str(), Some(&**target));
                    format!("{path}->{target}")
                }
                Node::File {
                    executable, size, ..
                } => {
                    let content = fs::read(&on_disk).unwrap();
                    assert_eq!(content.len() as u64, *size);
                    check_mode(&on_disk, if *executable { 0o755 } else { 0o644 });
                    let mark = if *executable { "*" } else { "" };
                    format!("{path}{mark}={}", String::from_utf8_lossy(&content))
                }
            }
        })
        .collect()
}

fn check_mode(path: &Path, wanted: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::symlink_metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, wanted, "{path:?}");
    }
    let _ = (path, wanted);
}
