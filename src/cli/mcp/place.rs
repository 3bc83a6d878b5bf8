//! Where the package lies that a SOURCE of the command line means.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use apkit::source::Source;
use apkit::spec::name::plugin_name_problem;
use apkit::store::Store;

use super::gate::Rules;
use crate::cli::failure::{Failure, note, slashed};
use crate::cli::store::{Scratch, Session};
use crate::cli::target::Target;

/// Where a package was found.
pub(super) struct Found {
    pub(super) root: PathBuf,
    pub(super) display: String,
    /// The name of an installed one.
    pub(super) installed: Option<String>,
    /// What the place it comes from is told by.
    pub(super) key: Vec<u8>,
    pub(super) scratch: Option<Scratch>,
}

/// What SOURCE means: first an installed package, as a directory of that name may
/// be anybody's; then a path; then something to fetch.
pub(super) fn find(
    source: &OsStr,
    session: &Session,
    store: &Store,
    rules: &Rules<'_>,
) -> Result<Found, Failure> {
    let failed = |error| Failure::store("read the store".to_owned(), error);
    let path = Path::new(source);
    let text = source.to_str();
    let installed = store.installed(session.stop()).map_err(failed)?;
    if let Some(name) = text.filter(|text| plugin_name_problem(text).is_none())
        && installed.packages.contains_key(name)
    {
        if path.join("plugin.json").exists() {
            note(&format!(
                "the installed package {name}; ./{name} is the directory"
            ));
        }
        let root = store.package_root(name);
        return Ok(Found::installed(name, root));
    }
    let directory = |target: Target| {
        let physical = target.root.canonicalize().map_err(|error| Failure::Read {
            path: target.root.clone(),
            error,
        })?;
        let is_it = |name: &&String| {
            let root = store.package_root(name).canonicalize();
            root.is_ok_and(|root| root == physical)
        };
        Ok(match installed.packages.keys().find(is_it) {
            Some(name) => Found::installed(name, physical),
            None => Found {
                key: [b"directory:", physical.as_os_str().as_encoded_bytes()].concat(),
                root: target.root,
                display: target.display,
                installed: None,
                scratch: None,
            },
        })
    };
    match Target::of(path) {
        Ok(target) => return directory(target),
        // There is something, and it is no package.
        Err(failure) if path.symlink_metadata().is_ok() && !text.is_some_and(Source::is_spelt) => {
            return Err(failure);
        }
        Err(_) => {}
    }
    let Some(text) = text.filter(|text| Source::is_spelt(text)) else {
        return Err(Failure::NoSubject(Source::shown(&source.to_string_lossy())));
    };
    match Source::parse_for_once(text, session.environment())? {
        Source::Directory(path) => directory(Target::of(&path)?),
        source => {
            let (scratch, staged) = session.fetch_by(&rules.policy(), &source)?;
            Ok(Found {
                root: staged.directory,
                display: Source::shown(text),
                installed: None,
                key: source.key().into_bytes(),
                scratch: Some(scratch),
            })
        }
    }
}

impl Found {
    fn installed(name: &str, root: PathBuf) -> Self {
        Self {
            display: slashed(&root),
            root,
            installed: Some(name.to_owned()),
            key: Vec::new(),
            scratch: None,
        }
    }
}
