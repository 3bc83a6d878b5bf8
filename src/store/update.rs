//! Updating: from what the lock file pins to what the source has now.

use std::path::PathBuf;

use super::install::{Done, FORMER, Options, Rejected};
use super::judge::{Judged, Prepared};
use super::lock_file::Entry;
use super::policy::Facts;
use super::staging::Staging;
use super::state::State;
use super::{Error, Store, entry_of, folders, from_source};
use crate::package::Package;
use crate::source::{self, Request, Resolved, Source, Stop};

/// How to update.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// Only look whether there is something new: fetch and judge into this directory,
    /// and change nothing in the store. It is for the caller to remove.
    pub check: Option<PathBuf>,
    /// Move to this branch, tag, commit or version.
    pub to: Option<String>,
    /// Refuse what has a finding at or above warning, or lacks something that the
    /// source has.
    pub strict: bool,
    /// Apply drafts of the specification too.
    pub drafts: bool,
}

/// What came of it.
#[derive(Debug)]
pub enum Updated {
    /// The source has what is installed.
    Current(Box<Entry>),
    /// The package is in place; [`Done::outcome`] says what was done.
    Done(Box<Done>),
    /// The source has other content; nothing was changed.
    Available {
        /// What is installed.
        before: Box<Entry>,
        /// What would be.
        after: Box<Entry>,
        /// What a client would get of it, with all findings.
        package: Box<Package>,
    },
    /// The source has what is installed, which is not in place as it should be;
    /// nothing was changed.
    Repairable {
        /// What is installed.
        before: Box<Entry>,
        /// What the lock file would say.
        after: Box<Entry>,
        /// Its tree.
        state: Box<State>,
    },
    /// What was found in what the source has forbids it; what is installed stays.
    Rejected(Box<Rejected>),
}

impl Store {
    /// The name of the installed package that `text` names: by its name, or by any
    /// spelling of its source.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn name_of(
        &self,
        text: &str,
        environment: &source::Environment,
        stop: &Stop,
    ) -> Result<String, Error> {
        let installed = self.installed(stop)?;
        if installed.packages.contains_key(text) {
            return Ok(text.to_owned());
        }
        if let Ok(source) = Source::parse(text, environment)
            && let Some((name, _)) = from_source(&installed, &source)
        {
            return Ok(name.to_owned());
        }
        entry_of(&installed, text).map(|_| text.to_owned())
    }

    /// The same, unless the source asks for another version, branch, tag or commit than
    /// the installed one: an update does not move there by itself.
    ///
    /// # Errors
    ///
    /// When there is none, or only another one.
    pub fn name_to_update(
        &self,
        text: &str,
        environment: &source::Environment,
        stop: &Stop,
    ) -> Result<String, Error> {
        let name = self.name_of(text, environment, stop)?;
        let installed = self.installed(stop)?;
        if name != text
            && let Some(entry) = installed.packages.get(&name)
            && let Ok(source) = Source::parse(text, environment)
            && let Some(wanted) = entry.other_wanted(&source)
        {
            return Err(Error::OtherWanted {
                installed: entry.source.to_string(),
                wanted: wanted.to_owned(),
                name,
            });
        }
        Ok(name)
    }

    /// Brings package `name` to what its source has now, by content: a commit or
    /// version that brings the same files is recorded, and nothing is swapped.
    ///
    /// # Errors
    ///
    /// When it is not installed, a rule forbids it, the source cannot be reached
    /// ([`Error::is_unreachable`]) or the store cannot be changed. The package then
    /// is as it was.
    pub fn update(
        &self,
        name: &str,
        request: &Request<'_>,
        update: &Update,
    ) -> Result<Updated, Error> {
        let installed = self.installed(request.stop)?;
        let before = entry_of(&installed, name)?.clone();
        let source = match &update.to {
            None => before.source.clone(),
            Some(reference) => self.moved(&before, reference, request)?,
        };
        self.policy.check(&Facts::before(&source))?;
        let is_moved = source != before.source;
        if !is_moved && self.is_as_it_should_be(name, &before)? {
            let permit = self.policy.permit(&source);
            let asking = Request {
                permit: Some(&permit),
                ..*request
            };
            let latest = source::latest(&source, &asking)?;
            if latest.is_some_and(|latest| is_same(&latest, &before.resolved)) {
                return Ok(Updated::Current(Box::new(before)));
            }
        }
        let options = Options {
            strict: update.strict,
            drafts: update.drafts,
            ..Options::default()
        };
        let staging = match &update.check {
            Some(_) => None,
            None => Some(Staging::create(&self.layout)?),
        };
        let directory = match (&staging, &update.check) {
            (Some(staging), _) => staging.fetched(),
            (None, scratch) => scratch.clone().unwrap_or_default().join("fetched"),
        };
        let mut prepared = match self.prepare(&source, request, &options, &directory)? {
            Judged::Good(prepared) => *prepared,
            Judged::Bad(rejected) => return Ok(Updated::Rejected(rejected)),
        };
        if prepared.name != name {
            return Err(Error::Renamed {
                name: name.to_owned(),
                found: prepared.name,
            });
        }
        let Some(staging) = staging else {
            return self.check(name, before, prepared);
        };
        let former = directory.with_file_name(FORMER);
        prepared.former = self.former(&installed, &prepared, request, &former)?;
        let done = self.commit(prepared, staging, request, &options, |now| {
            if now.packages.get(name) == Some(&before) {
                Ok(())
            } else {
                Err(Error::Meanwhile {
                    name: name.to_owned(),
                })
            }
        })?;
        Ok(match done.outcome {
            super::Outcome::Unchanged => Updated::Current(Box::new(before)),
            _ => Updated::Done(Box::new(done)),
        })
    }

    fn moved(
        &self,
        before: &Entry,
        reference: &str,
        request: &Request<'_>,
    ) -> Result<Source, Error> {
        let moved = before.source.moved_to(reference);
        let moved = moved.ok_or_else(|| Error::NoVersions {
            source_text: before.source.to_string(),
        })?;
        // What the user wrote has to be one, and no more than one.
        let read = Source::parse(&moved.to_string(), request.environment)?;
        if read == moved {
            Ok(moved)
        } else {
            Err(Error::NoSource(source::NoSource {
                text: reference.to_owned(),
                understood: "it is no branch, tag, commit or version".to_owned(),
                spellings: Vec::new(),
            }))
        }
    }

    /// Whether its tree, what is recorded of it and its plain skill folders are as they
    /// should be.
    fn is_as_it_should_be(&self, name: &str, entry: &Entry) -> Result<bool, Error> {
        Ok(matches!(self.recorded_state(name, entry), State::Intact)
            && folders::verify(&self.layout, name)?.is_empty())
    }

    fn check(&self, name: &str, before: Entry, prepared: Prepared) -> Result<Updated, Error> {
        if prepared.entry.digest == before.digest {
            if self.is_as_it_should_be(name, &before)? {
                return Ok(Updated::Current(Box::new(before)));
            }
            return Ok(Updated::Repairable {
                state: Box::new(self.recorded_state(name, &before)),
                before: Box::new(before),
                after: Box::new(prepared.entry),
            });
        }
        Ok(Updated::Available {
            before: Box::new(before),
            after: Box::new(prepared.entry),
            package: Box::new(prepared.package),
        })
    }
}

/// Whether two pins name the same content; the way there does not count.
fn is_same(one: &Resolved, other: &Resolved) -> bool {
    match (one, other) {
        (Resolved::Commit { id: one, .. }, Resolved::Commit { id: other, .. }) => one == other,
        (
            Resolved::Version {
                version: one,
                integrity: one_integrity,
                ..
            },
            Resolved::Version {
                version: other,
                integrity: other_integrity,
                ..
            },
        ) => one == other && one_integrity == other_integrity,
        _ => one == other,
    }
}
