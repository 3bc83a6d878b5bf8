//! From a SOURCE of the command line to the files of an export.

use std::ffi::OsStr;
use std::path::Path;

use apkit::export::{self, Kept, Loss, LossKind, Tree};
use apkit::render::visible;
use apkit::source::Source;

use crate::cli::failure::Failure;
use crate::cli::store::Session;
use crate::cli::target::Target;

/// Reads a directory, the manifest in it, or whatever else a source may be.
/// A path stays a path; it costs nothing to look.
/// What of this machine it was read from is kept, whatever the result replaces.
pub(super) fn read(text: &OsStr, kept: &mut Vec<Kept>) -> Result<export::Source, Failure> {
    let what = format!("the source {}", visible(&shown(text)));
    let mut keep = |path: &Path| {
        kept.push(Kept {
            path: path.to_owned(),
            what: what.clone(),
            closed: true,
        });
    };
    let path = Path::new(text);
    match (Target::of(path), text.to_str()) {
        (Ok(target), _) => directory(&target.root, &mut keep),
        (Err(_), Some(text)) if Source::is_spelt(text) => fetch(text, &mut keep),
        (Err(failure), _) => Err(failure),
    }
}

/// How messages name what the command line names: what lets one in is not shown.
pub(super) fn shown(text: &OsStr) -> String {
    Source::shown(&text.to_string_lossy())
}

fn directory(root: &Path, keep: &mut dyn FnMut(&Path)) -> Result<export::Source, Failure> {
    let physical = root.canonicalize().map_err(|error| Failure::Read {
        path: root.to_owned(),
        error,
    })?;
    keep(&physical);
    let name = physical
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Ok(export::Source {
        name: name.unwrap_or_default(),
        tree: tree(&physical, root)?,
    })
}

fn tree(root: &Path, named: &Path) -> Result<Tree, Failure> {
    Tree::read(root).map_err(|error| Failure::ReadSource {
        path: named.to_owned(),
        error,
    })
}

fn fetch(text: &str, keep: &mut dyn FnMut(&Path)) -> Result<export::Source, Failure> {
    let session = Session::start()?;
    let source = match Source::parse_for_once(text, session.environment())? {
        Source::Directory(path) => return directory(&Target::of(&path)?.root, keep),
        source => source,
    };
    if let Source::ArchiveFile(archive) = &source {
        keep(&archive.path);
    }
    let (_scratch, staged) = session.fetch(&source)?;
    let mut tree = tree(&staged.directory, Path::new(&Source::shown(text)))?;
    for left_out in staged.left_out {
        if left_out.reason.is_loss() {
            let (path, why) = (left_out.path, left_out.reason.to_string());
            tree.losses
                .push(Loss::new(LossKind::FileLeftOut, path.clone(), path, why));
        }
    }
    Ok(export::Source {
        name: source.name().unwrap_or_default(),
        tree,
    })
}
