//! From a PATH or SOURCE of the command line to a package directory.

use std::io;
use std::path::{Path, PathBuf};

use apkit::archive::LeftOut;
use apkit::package::{Package, discover};
use apkit::render::visible;
use apkit::source::Source;
use apkit::spec::codes::manifest;

use super::failure::{self, Failure, slashed};
use super::store::{self, Scratch, Session};

/// The name of the manifest.
const MANIFEST: &str = "plugin.json";

/// A package directory to load.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    /// The directory.
    pub(crate) root: PathBuf,
    /// How reports name it.
    pub(crate) display: String,
}

/// What was fetched to find targets. It goes away with the value.
#[derive(Default)]
pub(crate) struct Fetched {
    places: Vec<Scratch>,
    /// What of the sources is not there, each with how reports name its source.
    left_out: Vec<(String, LeftOut)>,
}

impl Fetched {
    /// Whether a source has something that its package lacks.
    pub(crate) fn lacks_something(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// Tells what packages lack, which no finding about the rest says.
    pub(crate) fn tell_left_out(&self) {
        for (source, left) in &self.left_out {
            failure::note(&format!(
                "left out of {}: {}",
                visible(source),
                visible(&left.to_string())
            ));
        }
    }
}

impl Target {
    /// Tells of packages below a directory that is none itself.
    pub(crate) fn tell_below(&self, package: &Package) {
        if !(package.diagnostics.iter()).any(|found| found.code == &manifest::MISSING) {
            return;
        }
        let Ok(found) = discover::discover(&self.root, &[]) else {
            return;
        };
        let below: Vec<String> = (found.packages.iter())
            .filter_map(|path| Some(slashed(path.strip_prefix(&self.root).ok()?)))
            .filter(|path| !path.is_empty())
            .collect();
        let Some(first) = below.first() else {
            return;
        };
        failure::note(&format!(
            "there are packages further down ({}): {} judges them",
            match below.len() {
                1 => visible(first).into_owned(),
                count => format!("{count}, the first is {}", visible(first)),
            },
            store::validate_below(&self.display)
        ));
    }

    /// The package that `path` names: a directory, or the manifest in it. The
    /// manifest need not be a regular file: what is wrong with it is a finding.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        let failure = |error: io::Error| Failure::Read {
            path: path.to_owned(),
            error,
        };
        let is_directory = match path.metadata() {
            Ok(metadata) => metadata.is_dir(),
            // A link that leads nowhere is there all the same.
            Err(error) => match path.symlink_metadata() {
                Ok(_) => false,
                Err(_) => return Err(failure(error)),
            },
        };
        if is_directory {
            return Ok(Self::new(path.to_owned()));
        }
        if path.file_name().is_none_or(|name| name != MANIFEST) {
            return Err(Failure::NotAPackage {
                path: path.to_owned(),
            });
        }
        Ok(Self::new(match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }))
    }

    /// The package that `path` names, or if nothing of that name is there, the
    /// source. What is fetched is kept in `fetched`.
    pub(crate) fn of_source(path: &Path, fetched: &mut Fetched) -> Result<Self, Failure> {
        // A path stays a path; it costs nothing to look.
        Self::of(path).or_else(|failure| match path.to_str() {
            Some(text) if Source::is_spelt(text) => Self::fetch(text, fetched),
            _ => Err(failure),
        })
    }

    fn fetch(text: &str, fetched: &mut Fetched) -> Result<Self, Failure> {
        let session = Session::start()?;
        let source = match Source::parse_for_once(text, session.environment())? {
            Source::Directory(path) => return Self::of(&path),
            source => source,
        };
        let (scratch, staged) = session.fetch(&source)?;
        let display = Source::shown(text);
        fetched.places.push(scratch);
        let left_out = staged.left_out.into_iter();
        let lost = left_out.filter(|left| left.reason.is_loss());
        let lost = lost.map(|left| (display.clone(), left));
        fetched.left_out.extend(lost);
        Ok(Self {
            root: staged.directory,
            display,
        })
    }

    /// How reports name the directory `below` of this one.
    pub(crate) fn named(&self, below: &Path) -> String {
        match below.strip_prefix(&self.root) {
            Ok(rest) if rest.as_os_str().is_empty() => self.display.clone(),
            Ok(rest) => format!("{}/{}", self.display, slashed(rest)),
            Err(_) => slashed(below),
        }
    }

    /// Whether it was fetched, so that its path tells nobody anything.
    pub(crate) fn is_fetched(&self) -> bool {
        self.display != slashed(&self.root)
    }

    /// The package in the directory `root`.
    pub(crate) fn new(root: PathBuf) -> Self {
        let display = slashed(&root);
        Self { root, display }
    }
}
