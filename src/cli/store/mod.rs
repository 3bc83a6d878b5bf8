//! The commands around the store: `apkit import`, `list`, `update`, `verify`,
//! `remove` and `skills`.

mod args;
mod copies;
mod gate;
mod import;
mod json;
mod list;
mod progress;
mod remove;
mod schema;
mod skills;
mod update;
mod verify;
mod words;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use apkit::archive::Staged;
use apkit::source::{Environment, Request, Source, Stop};
use apkit::store::{self, Notice, Policy, Store};
use apkit::sys;
pub(crate) use apkit::sys::Scratch;

use super::args::When;
use super::exit::Exit;
use super::failure::{self, Failure};

pub(crate) use args::{Import, List, Place, Remove, Skills, Update, Verify};
pub(crate) use schema::of as schema;

/// A temporary directory that only the user can look into.
fn temporary() -> Result<Scratch, Failure> {
    let path = env::temp_dir();
    Scratch::new(&path).map_err(|error| Failure::Scratch { path, error })
}

/// `apkit import`.
pub(crate) fn import(arguments: &Import, color: When) -> Result<Exit, Failure> {
    json::or_failure(arguments.shape.is_json(), import::run(arguments, color))
}

/// `apkit list`.
pub(crate) fn list(arguments: &List) -> Result<Exit, Failure> {
    json::or_failure(arguments.shape.is_json(), list::run(arguments))
}

/// `apkit update`.
pub(crate) fn update(arguments: &Update, color: When) -> Result<Exit, Failure> {
    json::or_failure(arguments.shape.is_json(), update::run(arguments, color))
}

/// `apkit verify`.
pub(crate) fn verify(arguments: &Verify) -> Result<Exit, Failure> {
    json::or_failure(arguments.shape.is_json(), verify::run(arguments))
}

/// `apkit remove`.
pub(crate) fn remove(arguments: &Remove) -> Result<Exit, Failure> {
    json::or_failure(arguments.shape.is_json(), remove::run(arguments))
}

/// `apkit skills`.
pub(crate) fn skills(arguments: &Skills) -> Result<Exit, Failure> {
    json::or_failure(arguments.is_json(), skills::run(arguments))
}

/// The command that judges the packages below a directory, or in a source.
pub(crate) fn validate_below(source: &str) -> String {
    words::validate_below(source)
}

/// How long a command waits for another one that changes the same store.
const PATIENCE: Duration = Duration::from_secs(60);

/// Set when the user interrupts this process; one for all sessions.
static STOP: OnceLock<Stop> = OnceLock::new();

/// Whether the user interrupted a session.
pub(crate) fn was_interrupted() -> bool {
    STOP.get().is_some_and(Stop::is_requested)
}

/// The store with the user's own rules.
pub(crate) enum Own<'s> {
    /// The one that the command line names.
    Named(&'s Store),
    /// The user's, where that is a project's.
    User(Box<Store>),
    /// There is no home for one.
    Nowhere,
}

impl Own<'_> {
    pub(crate) fn store(&self) -> Option<&Store> {
        match self {
            Self::Named(store) => Some(store),
            Self::User(store) => Some(store),
            Self::Nowhere => None,
        }
    }
}

/// What a fetch works with, taken from the process.
pub(crate) struct Session {
    environment: Environment,
    stop: Stop,
    progress: progress::Shown,
}

impl Session {
    /// Takes it, and has an interrupt end the work instead of the process.
    pub(crate) fn start() -> Result<Self, Failure> {
        let directory = env::current_dir().map_err(|error| Failure::Read {
            path: PathBuf::from("."),
            error,
        })?;
        let stop = STOP.get_or_init(|| {
            let stop = Stop::default();
            sys::on_interrupt(stop.flag());
            stop
        });
        Ok(Self {
            environment: Environment {
                variables: env::vars_os().collect(),
                home: env::home_dir().filter(|home| !home.as_os_str().is_empty()),
                directory,
                program: env::current_exe().ok(),
            },
            stop: stop.clone(),
            progress: progress::Shown::on_terminal(),
        })
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            environment: &self.environment,
            progress: &self.progress,
            stop: &self.stop,
            pinned: None,
            permit: None,
        }
    }

    /// The rules of the user's own store, which bind also what is fetched and not
    /// installed.
    fn own_rules(&self) -> Result<Policy, Failure> {
        let own = self.users_store()?;
        Ok(own.map(|own| own.policy().clone()).unwrap_or_default())
    }

    /// The user's own store, if there is a home for one.
    fn users_store(&self) -> Result<Option<Store>, Failure> {
        match self.store(&Place::default()) {
            Err(Failure::NoHome) => Ok(None),
            own => own.map(Some),
        }
    }

    /// Fetches a source to a place of its own, as the user's rules have it.
    pub(crate) fn fetch(&self, source: &Source) -> Result<(Scratch, Staged), Failure> {
        let rules = match source.is_here() {
            true => Policy::default(),
            false => self.own_rules()?,
        };
        self.fetch_by(&rules, source)
    }

    /// The same as these rules have it.
    pub(crate) fn fetch_by(
        &self,
        rules: &Policy,
        source: &Source,
    ) -> Result<(Scratch, Staged), Failure> {
        let scratch = temporary()?;
        let place = scratch.path().join("fetched");
        match rules.fetch(source, &self.request(), &place) {
            Ok(fetched) => Ok((scratch, fetched.staged)),
            Err(error) => Err(Failure::Fetch {
                source_text: source.to_string(),
                error: Box::new(error),
            }),
        }
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Ends the line that shows how a fetch proceeds, before the results.
    pub(crate) fn end(&mut self) {
        self.progress.end();
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// A path as it is seen from the working directory.
    fn absolute(&self, path: &Path) -> PathBuf {
        // Without `.`, which the lock file would otherwise hold.
        self.environment.directory.join(path).components().collect()
    }

    /// Whose rules are the user's: `named`, the store that the command line names,
    /// unless that is a project's.
    pub(crate) fn own_store<'s>(
        &self,
        place: &args::Place,
        named: &'s Store,
    ) -> Result<Own<'s>, Failure> {
        if !place.project {
            return Ok(Own::Named(named));
        }
        let users = self.users_store()?;
        Ok(users.map_or(Own::Nowhere, |own| Own::User(Box::new(own))))
    }

    /// The store that the command line names.
    pub(crate) fn store(&self, place: &args::Place) -> Result<Store, Failure> {
        let opened = if place.project {
            Store::of_project(&self.environment.directory)
        } else {
            let root = match (&place.root, self.environment.get("APKIT_HOME")) {
                (Some(root), _) => self.absolute(root),
                (None, Some(root)) => self.absolute(Path::new(root)),
                (None, None) => match &self.environment.home {
                    Some(home) => home.join(".agents"),
                    None => return Err(Failure::NoHome),
                },
            };
            Store::open(root)
        };
        let store = opened.map_err(|error| Failure::store("open the store".to_owned(), error))?;
        let note = self.progress.notes();
        let verify = words::command(place, &["verify"]);
        Ok(store.telling(PATIENCE, move |notice| match notice {
            Notice::Waits { root } => note(&format!(
                "another apkit is changing {}; waiting for it",
                failure::show(root)
            )),
            Notice::GivenUp { root, name } => note(&format!(
                "a change of {} was begun elsewhere, and came along unfinished with {}; it is given up here, and {verify} says whether anything is half done",
                name.unwrap_or("a package"),
                failure::show(root)
            )),
        }))
    }
}

impl Failure {
    pub(crate) fn store(what: String, error: store::Error) -> Self {
        Self::Store {
            what,
            error: Box::new(error),
            hint: None,
        }
    }

    /// With the way out, where that is another command for the same store.
    fn with_way_out(self, place: &args::Place) -> Self {
        let Self::Store { what, error, .. } = self else {
            return self;
        };
        let hint = match &*error {
            store::Error::Folders {
                name,
                problems,
                recorded,
            } => Some(copies::ways_out(place, name, problems, recorded)),
            store::Error::OtherWanted { name, wanted, .. }
            | store::Error::FrozenOther { name, wanted, .. } => {
                Some(words::command(place, &["update", name, "--to", wanted]))
            }
            store::Error::NoPackage { found, .. } => found
                .first()
                .map(|source| words::command(place, &["import", &source.to_string()])),
            _ => None,
        };
        Self::Store { what, error, hint }
    }

    /// With this way out, if there is none yet.
    fn or_by(self, way_out: Option<String>) -> Self {
        match self {
            Self::Store { what, error, hint } => Self::Store {
                what,
                error,
                hint: hint.or(way_out),
            },
            other => other,
        }
    }
}
