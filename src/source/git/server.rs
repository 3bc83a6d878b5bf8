//! Repositories behind a server: what it says it has, and as little of that as
//! it takes to have one commit.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use git2::{
    AutotagOption, Direction, FetchOptions, Oid, RemoteCallbacks, Repository, RepositoryInitOptions,
};

use super::super::{Environment, Request};
use super::address::Address;
use super::advertisement::{Advertised, Advertisement};
use super::child::shortened;
use super::configuration::Configuration;
use super::error::{Error, Failure};
use super::reference::{Meaning, Wanted, missing};
use super::transport::{self, Context, Findings};
use super::{Found, lookup};
use crate::sys::Scratch;

/// How long a silent server is borne, in seconds, unless
/// `GIT_HTTP_LOW_SPEED_TIME` says otherwise.
const PATIENCE: u64 = 60;
/// What names everything a commit can be found below.
const EVERYTHING: [&str; 3] = [
    "+HEAD:refs/apkit/head",
    "+refs/heads/*:refs/heads/*",
    "+refs/tags/*:refs/tags/*",
];

/// A repository of our own that a server's objects come into. It is gone when
/// this is dropped.
pub(super) struct Server<'a> {
    // Closed before its directory goes.
    repository: Repository,
    context: Arc<Context>,
    request: &'a Request<'a>,
    _scratch: Scratch,
}

/// The connection to a server, after its first answer.
struct Connection<'r> {
    remote: git2::Remote<'r>,
    list: Advertisement,
}

impl<'a> Server<'a> {
    /// Prepares everything; nobody is talked to yet.
    pub(super) fn new(
        address: (Address, Option<String>),
        configuration: Configuration,
        request: &'a Request<'a>,
        limit: u64,
    ) -> Result<Self, Error> {
        let environment = request.environment;
        let place = temporary(environment);
        let scratch = |error| Error::Scratch {
            path: place.clone(),
            error,
        };
        let directory = Scratch::new(&place).map_err(scratch)?;
        let mut options = RepositoryInitOptions::new();
        options.bare(true).external_template(false).no_reinit(true);
        let repository = Repository::init_opts(directory.path(), &options)?;
        let context = Context {
            address: address.0,
            password: address.1,
            environment: environment.clone(),
            configuration,
            git_dir: directory.path().to_owned(),
            stop: request.stop.clone(),
            permit: request.permit.cloned(),
            patience: patience(environment),
            limit,
            found: Findings::default(),
        };
        Ok(Self {
            repository,
            context: Arc::new(context),
            request,
            _scratch: directory,
        })
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Tells what is wanted without fetching it, as far as the server says so by
    /// itself. The beginning of an id means the `known` commit if it fits.
    pub(super) fn meaning(&self, wanted: &Wanted<'_>, known: Option<Oid>) -> Result<Found, Error> {
        let connection = self.connect()?;
        let list = &connection.list;
        Ok(match wanted.meaning(&list.references)? {
            Meaning::Reference(reference) => Found {
                id: reference.commit(),
                reference: Some(list.full_name(reference)),
            },
            Meaning::Commit(id) => Found {
                id,
                reference: None,
            },
            Meaning::Prefix(prefix) => {
                let fits = |id: &Oid| id.to_string().starts_with(&prefix);
                match known.filter(fits) {
                    Some(id) => Found {
                        id,
                        reference: None,
                    },
                    None => return self.bring(wanted),
                }
            }
        })
    }

    /// Brings the commit that is wanted.
    pub(super) fn bring(&self, wanted: &Wanted<'_>) -> Result<Found, Error> {
        let mut connection = self.connect()?;
        let list = std::mem::take(&mut connection.list);
        let text = wanted.text();
        Ok(match wanted.meaning(&list.references)? {
            Meaning::Reference(reference) => {
                self.bring_reference(connection, &list, reference)?;
                Found {
                    id: lookup::commit(&self.repository, reference.id, &text)?,
                    reference: Some(list.full_name(reference)),
                }
            }
            Meaning::Commit(id) => {
                self.bring_commit(connection, &list, id)?;
                Found {
                    id: lookup::commit(&self.repository, id, &text)?,
                    reference: wanted.pinned_reference(),
                }
            }
            Meaning::Prefix(prefix) => {
                // How far it is unambiguous, all of the history must say.
                self.download(connection, &EVERYTHING, 0)?;
                let found = lookup::prefix(&self.repository, &prefix)?;
                Found {
                    id: found.ok_or_else(|| missing(&text, &list.references))?,
                    reference: None,
                }
            }
        })
    }

    fn bring_reference(
        &self,
        connection: Connection<'_>,
        list: &Advertisement,
        reference: &Advertised,
    ) -> Result<(), Error> {
        let refspec = format!("+{}:refs/apkit/in", reference.name);
        if !list.shallow {
            return self.download(connection, &[&refspec], 0);
        }
        match self.download(connection, &[&refspec], 1) {
            Err(error) if is_refusal(&error) => self.download(self.connect()?, &[&refspec], 0),
            done => done,
        }
    }

    /// Brings one commit: as the end of a reference, by its id where the server
    /// allows it, or else with everything.
    fn bring_commit<'s>(
        &'s self,
        mut connection: Connection<'s>,
        list: &Advertisement,
        id: Oid,
    ) -> Result<(), Error> {
        let leads_there = |known: &&Advertised| known.id == id || known.commit() == id;
        if let Some(reference) = list.references.iter().find(leads_there) {
            self.bring_reference(connection, list, reference)?;
            if self.has(id) {
                return Ok(());
            }
            connection = self.connect()?;
        }
        if list.any_commit {
            let refspec = format!("+{id}:refs/apkit/in");
            match self.download(connection, &[&refspec], i32::from(list.shallow)) {
                Ok(()) if self.has(id) => return Ok(()),
                Err(error) if !is_refusal(&error) => return Err(error),
                // Allowed and refused all the same: it is overwritten, perhaps.
                _ => connection = self.connect()?,
            }
        }
        self.download(connection, &EVERYTHING, 0)?;
        if self.has(id) {
            Ok(())
        } else {
            Err(Error::NoCommit { id: id.to_string() })
        }
    }

    fn has(&self, id: Oid) -> bool {
        // What came since the last look is only seen after another one.
        self.repository.odb().is_ok_and(|odb| {
            let _ = odb.refresh();
            odb.exists(id)
        })
    }

    fn connect(&self) -> Result<Connection<'_>, Error> {
        let mut remote = self.repository.remote_anonymous(transport::URL)?;
        let connected = transport::within(&self.context, || remote.connect(Direction::Fetch));
        let list = std::mem::take(&mut *self.context.advertisement());
        if list.foreign_ids {
            return Err(Error::Sha256);
        }
        self.checked(connected, "")?;
        Ok(Connection { remote, list })
    }

    fn download(
        &self,
        mut connection: Connection<'_>,
        refspecs: &[&str],
        depth: i32,
    ) -> Result<(), Error> {
        let said = RefCell::new(Vec::new());
        let mut callbacks = RemoteCallbacks::new();
        callbacks.sideband_progress(|text| {
            keep_end(&mut said.borrow_mut(), text);
            !self.request.stop.is_requested()
        });
        callbacks.transfer_progress(|seen| {
            let progress = self.request.progress;
            let count = |number: usize| number as u64;
            progress.advance("bytes", count(seen.received_bytes()), 0);
            let objects = count(seen.indexed_objects() + seen.indexed_deltas());
            let all = count(seen.total_objects() + seen.total_deltas());
            progress.advance("objects", objects, all);
            !self.request.stop.is_requested()
        });
        let mut options = FetchOptions::new();
        options
            .remote_callbacks(callbacks)
            .download_tags(AutotagOption::None)
            .update_fetchhead(false)
            .depth(depth);
        let done = transport::within(&self.context, || {
            let done = connection.remote.download(refspecs, Some(&mut options));
            let _ = connection.remote.disconnect();
            done
        });
        drop(options);
        let said = String::from_utf8_lossy(&said.into_inner()).into_owned();
        self.checked(done, &self.context.hidden(&said))
    }

    /// The failure behind libgit2's, with what the server `said` before.
    fn checked<T>(&self, done: Result<T, git2::Error>, said: &str) -> Result<T, Error> {
        done.map_err(|error| {
            if self.request.stop.is_requested() {
                return Error::Stopped;
            }
            match self.context.take_failure() {
                Some(Failure::Stopped) => Error::Stopped,
                Some(Failure::BrokenOff { host, reason }) => {
                    let reason = reason + &complaint(said);
                    Error::Connection(Failure::BrokenOff { host, reason })
                }
                Some(failure) => Error::Connection(failure),
                None => {
                    let text = shortened(&self.context.hidden(error.message()));
                    Error::Git(text + &complaint(said))
                }
            }
        })
    }
}

/// Adds to what a server said, of which the end is kept: it may say anything.
fn keep_end(said: &mut Vec<u8>, text: &[u8]) {
    const MOST: usize = 4096;
    said.extend_from_slice(text);
    said.drain(..said.len().saturating_sub(MOST));
}

/// What a server complained of, to read after a reason; empty if it only counted.
fn complaint(said: &str) -> String {
    let lines: Vec<&str> = said.split(['\n', '\r']).collect();
    let is_complaint = |line: &&str| {
        ["fatal:", "error:"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    match lines.iter().position(is_complaint) {
        Some(first) => {
            let words = lines.get(first..).unwrap_or_default().join("\n");
            format!("; it said: {}", shortened(&words))
        }
        None => String::new(),
    }
}

/// Whether the server may have refused how it was asked, not what for. Where it
/// could not be talked to, a second try would not help.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Git(_)
            | Error::Connection(
                Failure::Status { .. }
                    | Failure::Ssh { .. }
                    | Failure::BrokenOff { .. }
                    | Failure::NotGit { .. }
            )
    )
}

/// Where temporary files go.
fn temporary(environment: &Environment) -> PathBuf {
    let names: &[&str] = if cfg!(windows) {
        &["TEMP", "TMP"]
    } else {
        &["TMPDIR"]
    };
    names
        .iter()
        .find_map(|name| environment.get(name))
        .map_or_else(
            || {
                PathBuf::from(if cfg!(windows) {
                    "C:/Windows/Temp"
                } else {
                    "/tmp"
                })
            },
            |path| environment.directory.join(path),
        )
}

fn patience(environment: &Environment) -> Duration {
    let said = environment
        .get("GIT_HTTP_LOW_SPEED_TIME")
        .and_then(|value| value.to_str()?.parse().ok())
        .filter(|seconds| *seconds > 0);
    Duration::from_secs(said.unwrap_or(PATIENCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_where_and_how_long() {
        let mut environment = Environment {
            directory: PathBuf::from("/d"),
            ..Environment::default()
        };
        assert_eq!(patience(&environment), Duration::from_secs(60));
        for (text, seconds) in [("3", 3), ("0", 60), ("x", 60)] {
            let variables = &mut environment.variables;
            variables.insert("GIT_HTTP_LOW_SPEED_TIME".into(), text.into());
            assert_eq!(patience(&environment), Duration::from_secs(seconds));
        }
        if cfg!(unix) {
            assert_eq!(temporary(&environment), PathBuf::from("/tmp"));
            environment.variables.insert("TMPDIR".into(), "t".into());
            assert_eq!(temporary(&environment), PathBuf::from("/d/t"));
        }
    }

    #[test]
    fn only_a_refusal_is_worth_asking_otherwise() {
        assert!(is_refusal(&Error::Git("x".to_owned())));
        assert!(!is_refusal(&Error::Connection(Failure::Stopped)));
    }
}
