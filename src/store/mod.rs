//! Installed packages: where they lie, what the lock file says of them, and how
//! they change.
//!
//! ```text
//! ROOT/
//! ├── plugins/NAME/        the packages; nothing but apkit writes there
//! ├── plugin-data/NAME/    what a package may write (`PLUGIN_DATA`); no update touches it
//! ├── apkit.lock           which content of which source every package is
//! ├── apkit.toml           rules, written by the user
//! └── .apkit/              staging, the journal of a change, listings of the trees
//! ```
//!
//! A [`Store`] imports, updates, verifies and removes. Each change is one package,
//! and happens as a whole or not at all, wherever the process ends (`change`).
//!
//! ```no_run
//! use apkit::source::{Environment, Quiet, Request, Source, Stop};
//! use apkit::store::{Imported, Options, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment {
//!     directory: std::env::current_dir()?,
//!     ..Environment::default()
//! };
//! let stop = Stop::default();
//! let request = Request { environment: &environment, progress: &Quiet, stop: &stop, pinned: None, permit: None };
//! let store = Store::open("/srv/agents")?;
//! let source = Source::parse("./tide-table", &environment)?;
//! if let Imported::Done(done) = store.import(&source, &request, &Options::default())? {
//!     println!("{} {}", done.name, done.entry.digest);
//! }
//! # Ok(())
//! # }
//! ```

mod catalogue;
mod change;
mod discarded;
mod disk;
mod error;
mod fetch;
mod folders;
mod foreseen;
mod former;
mod install;
mod judge;
mod layout;
mod lock_file;
mod policy;
mod remove;
mod restore;
mod staging;
mod state;
mod update;
mod version;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use catalogue::{Available, Catalogue, InstalledSkill, SameName, ShownSkill};
pub use discarded::Discarded;
pub use error::Error;
pub use folders::{Copied, Folders, LeftAlone, Problem, WhyAlone};
pub use foreseen::Foreseen;
pub use install::{Done, Imported, Options, Outcome, Rejected};
pub use lock_file::{Entry, Folder, LockFile, LockFileError, Mode, SCHEMA as LOCK_SCHEMA};
pub use policy::{
    Denied, FILE as POLICY_FILE, Outdated, Policy, PolicyError, Program, SCHEMA as POLICY_SCHEMA,
    Start,
};
pub use remove::Removed;
pub use restore::Restored;
pub use state::{State, Verified};
pub use update::{Update, Updated};
pub use version::{Rewritten, VersionChange, shown_version};

use self::layout::Layout;
use crate::archive::{Digest, EntryPath};
use crate::source::{Kind, Source};

/// How long a change waits for another one by default.
const PATIENCE: Duration = Duration::from_secs(60);

/// The name of the store in a project.
const OF_PROJECT: &str = ".agents";

/// A place where packages are installed.
pub struct Store {
    layout: Layout,
    /// What relative paths in the lock file start from.
    base: PathBuf,
    policy: Policy,
    /// Where rules are looked for.
    rules: Vec<PathBuf>,
    patience: Duration,
    tell: Box<dyn Fn(Notice<'_>) + Send + Sync>,
}

/// What a user should know while something is done, or of what was found before.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'n> {
    /// Another process changes the store, and a change waits for it.
    Waits {
        /// The root of the store.
        root: &'n Path,
    },
    /// A change was begun in another directory, which this store of a project is a copy
    /// of. It is not finished here, and may be half done: [`Store::verify`] tells.
    GivenUp {
        /// The root of the store.
        root: &'n Path,
        /// The package that it is about.
        name: Option<&'n str>,
    },
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("root", &self.layout.root)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// The store in the directory `root`, an absolute path, which need not be
    /// there yet. Its rules are those of `apkit.toml` in it. Paths in the lock file
    /// are written from it, or from what it lies in if it is called `.agents`, as
    /// that of a project is.
    ///
    /// # Errors
    ///
    /// When the rules cannot be read.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let layout = Layout {
            root: root.into(),
            project: None,
        };
        Self::with(layout, &[])
    }

    /// The store of the project in the directory `project`: its `.agents`. Paths in
    /// the lock file are written from the project, which may move; the rules are
    /// those of `apkit.toml` in both.
    ///
    /// # Errors
    ///
    /// When the rules cannot be read.
    pub fn of_project(project: impl Into<PathBuf>) -> Result<Self, Error> {
        let project = project.into();
        let rules = project.join(POLICY_FILE);
        let layout = Layout {
            root: project.join(OF_PROJECT),
            project: Some(project),
        };
        Self::with(layout, &[rules])
    }

    fn with(layout: Layout, more_rules: &[PathBuf]) -> Result<Self, Error> {
        let mut rules = vec![layout.policy()];
        rules.extend_from_slice(more_rules);
        Ok(Self {
            policy: Policy::read(&rules)?,
            rules,
            base: layout.base().to_owned(),
            layout,
            patience: PATIENCE,
            tell: Box::new(|_| {}),
        })
    }

    /// Calls `tell` with what the user should know. A change that has to wait for
    /// another one gives up after `patience`.
    #[must_use]
    pub fn telling(
        mut self,
        patience: Duration,
        tell: impl Fn(Notice<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.patience = patience;
        self.tell = Box::new(tell);
        self
    }

    /// The root directory.
    pub fn root(&self) -> &Path {
        &self.layout.root
    }

    /// Where package `name` lies: its `PLUGIN_ROOT`.
    pub fn package_root(&self, name: &str) -> PathBuf {
        self.layout.package(name)
    }

    /// Where package `name` may write: its `PLUGIN_DATA`, which is made by whoever
    /// starts something of it.
    pub fn package_data(&self, name: &str) -> PathBuf {
        self.layout.data(name)
    }

    /// Where a package that is not installed may write: a directory for `name` from
    /// the place that `key` stands for, whatever version of it comes from there.
    pub fn guest_data(&self, name: &str, key: &[u8]) -> PathBuf {
        self.layout.guest_data(name, key)
    }

    /// Refuses a directory of data in whose place, or above it in the store, there
    /// is a link: a project from a stranger must not lead writes elsewhere.
    ///
    /// # Errors
    ///
    /// When there is one.
    pub fn check_data(&self, data: &Path) -> Result<(), Error> {
        let inside = data.ancestors().take_while(|above| *above != self.root());
        for place in inside {
            if place
                .symlink_metadata()
                .is_ok_and(|found| found.is_symlink())
            {
                return Err(Error::Link {
                    path: place.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The files that rules are read from, there or not.
    pub fn policy_files(&self) -> &[PathBuf] {
        &self.rules
    }

    /// The rules.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// The name of a listing: the digest without its algorithm.
fn listing_name(digest: &Digest) -> String {
    digest.to_string().replace(':', "-")
}

/// The package that comes from `source`, however that is spelt. The directory that
/// holds all of an archive may be part of the spelling, and is not recorded.
fn from_source<'l>(installed: &'l LockFile, source: &Source) -> Option<(&'l str, &'l Entry)> {
    let find = |source: &Source| {
        let key = source.key();
        let mut packages = installed.packages.iter();
        let found = packages.find(|(_, entry)| entry.source.key() == key);
        found.map(|(name, entry)| (name.as_str(), entry))
    };
    let without_top = || {
        if !matches!(source.kind(), Kind::Archive | Kind::Npm) {
            return None;
        }
        let path = source.sub_path()?.as_str();
        let below = path.split_once('/').map(|(_, below)| below);
        let below = below.and_then(|below| EntryPath::parse(below.as_bytes()).ok());
        find(&source.with_sub_path(below))
    };
    find(source).or_else(without_top)
}

/// The entry of package `name`.
fn entry_of<'l>(installed: &'l LockFile, name: &str) -> Result<&'l Entry, Error> {
    installed.packages.get(name).ok_or_else(|| {
        let is_near = |known: &&String| known.contains(name) || name.contains(known.as_str());
        Error::NotInstalled {
            // It may be a source that was meant.
            name: crate::source::Source::shown(name),
            similar: installed.packages.keys().filter(is_near).cloned().collect(),
        }
    })
}
