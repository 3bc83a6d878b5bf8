//! The packages that one run is about.

use std::ffi::OsString;
use std::path::PathBuf;

use apkit::mcp::credential::{Given, Keys};
use apkit::mcp::http;
use apkit::mcp::plan::{Launch, Off, ServerPlan};
use apkit::net::Egress;
use apkit::render::visible;
use apkit::source::Source;
use apkit::store::{POLICY_FILE, Policy, Store};

use super::args::Common;
use super::gate::{self, Rules};
use super::keys;
use super::place;
use super::subject::{Subject, Terms, planned};
use super::trouble::Trouble;
use crate::cli::failure::{Failure, note, show};
use crate::cli::store::{Session, was_interrupted};

/// The packages that one run is about.
pub(super) struct Subjects {
    pub(super) all: Vec<Subject>,
    pub(super) keys: Keys,
    /// What may be connected to although it is no part of the internet.
    pub(super) private: Vec<String>,
    /// The same as it is judged by.
    pub(super) egress: Egress,
    /// The file of the user's own rules.
    pub(super) rules: PathBuf,
    pub(super) session: Session,
}

impl Subjects {
    /// Finds or fetches the packages and plans what becomes of their servers.
    ///
    /// # Errors
    ///
    /// One of them is not there.
    pub(super) fn open(sources: &[OsString], common: &Common) -> Result<Self, Failure> {
        Self::found(sources, common, false)
    }

    /// The same without those that are not there, of which it tells.
    ///
    /// # Errors
    ///
    /// None of them is there.
    pub(super) fn open_some(sources: &[OsString], common: &Common) -> Result<Self, Failure> {
        Self::found(sources, common, true)
    }

    fn found(sources: &[OsString], common: &Common, some_do: bool) -> Result<Self, Failure> {
        let mut session = Session::start()?;
        let store = session.store(&common.place)?;
        let own = session.own_store(&common.place, &store)?;
        let own = own.store();
        let project = common.place.project.then(|| store.policy());
        let own_file = own.unwrap_or(&store).root().join(POLICY_FILE);
        let rules = Rules {
            allow_stdio: common.allow_stdio,
            own: own.map(Store::policy),
            project,
        };
        let keys = keys::of(common, &session)?;
        let private = own.map(Store::policy).into_iter().flat_map(Policy::private);
        let private: Vec<String> = private.map(str::to_owned).collect();
        let mut egress = Egress::default();
        for entry in &private {
            egress = egress.allow(entry).map_err(Trouble::from)?;
        }
        let mut missing = Vec::new();
        let mut or_missing = |failure| match some_do && !was_interrupted() {
            true => {
                missing.push(failure);
                Ok(())
            }
            false => Err(failure),
        };
        // All of them before the first is planned: what a name means depends on the others.
        let (mut found, mut shown, mut roots) = (Vec::new(), Vec::new(), Vec::new());
        for source in sources {
            match place::find(source, &session, &store, &rules) {
                Ok(package) => {
                    let root = package.root.canonicalize();
                    let root = root.unwrap_or_else(|_| package.root.clone());
                    // The same package by two names.
                    if !roots.contains(&root) {
                        roots.push(root);
                        shown.push(Source::shown(&source.to_string_lossy()));
                        found.push(package);
                    }
                }
                Err(failure) => or_missing(failure)?,
            }
        }
        let terms = Terms {
            common,
            session: &session,
            store: &store,
            rules: &rules,
            keys: &keys,
            sources: &shown,
        };
        let mut all = Vec::new();
        for (package, source) in found.into_iter().zip(&shown) {
            match planned(package, source.clone(), terms) {
                Ok(subject) => all.push(subject),
                Err(failure) => or_missing(failure)?,
            }
        }
        if all.is_empty()
            && let Some(failure) = missing.pop()
        {
            return Err(failure);
        }
        missing.iter().for_each(Failure::tell);
        label(&mut all);
        session.end();
        for server in all
            .iter_mut()
            .flat_map(|subject: &mut Subject| &mut subject.plan.servers)
        {
            let denied = match &server.launch {
                Ok(Launch::StreamableHttp(endpoint) | Launch::Sse(endpoint)) => {
                    http::judge(endpoint, &egress).err()
                }
                _ => None,
            };
            if let Some(denied) = denied {
                server.launch = Err(Off::Unavailable(denied.to_string()));
            }
        }
        let subjects = Self {
            all,
            keys,
            private,
            egress,
            rules: own_file,
            session,
        };
        subjects.check_given()?;
        Ok(subjects)
    }

    /// Every server with its package.
    pub(super) fn servers(&self) -> impl Iterator<Item = (&Subject, &ServerPlan)> {
        self.all.iter().flat_map(|subject| {
            let servers = subject.plan.servers.iter();
            servers.map(move |server| (subject, server))
        })
    }

    /// Says once how programs are allowed, if some of those that are meant are off for
    /// want of that.
    pub(super) fn tell_how(&self, is_meant: impl Fn(&ServerPlan) -> bool) {
        if let Some(how) = self.how(is_meant) {
            note(&how);
        }
    }

    /// How programs are allowed, if some of those that are meant are off for want of that.
    pub(super) fn how(&self, is_meant: impl Fn(&ServerPlan) -> bool) -> Option<String> {
        let is_kept_off = |server: &ServerPlan| server.launch.as_ref().is_err_and(gate::is_unsaid);
        let servers = self.servers();
        let off: Vec<_> = servers
            .filter(|(_, server)| is_meant(server) && is_kept_off(server))
            .collect();
        let once = "allow programs once: --allow-stdio";
        // No rule can name what has no digest, and `plan` shows none.
        match off.iter().any(|(subject, _)| subject.digest.is_ok()) {
            _ if off.is_empty() => None,
            true => Some(format!(
                "{once}; for good: the rule that `apkit mcp plan` shows, in {}",
                show(&self.rules)
            )),
            false => Some(once.to_owned()),
        }
    }

    /// A credential for a server that is not there is a slip of the pen, and one for
    /// servers of several packages may be meant for one of them.
    fn check_given(&self) -> Result<(), Failure> {
        for given in self.keys.servers_given() {
            let meant: Vec<_> = self.meant(given).collect();
            let is_one = |(first, _): &(&Subject, &ServerPlan)| {
                meant.iter().all(|(other, _)| std::ptr::eq(*first, *other))
            };
            match meant.first() {
                Some(first) if is_one(first) => {}
                Some(_) => {
                    let ways = meant.iter().filter_map(|found| self.way(found));
                    let mut known: Vec<String> = ways.collect();
                    known.sort();
                    return Err(Failure::SeveralServers {
                        server: given.to_owned(),
                        is_any_left: known.len() < meant.len(),
                        known,
                    });
                }
                None => {
                    let mut known: Vec<String> = Vec::new();
                    for (_, server) in self.servers() {
                        if !known.contains(&server.name) {
                            known.push(server.name.clone());
                        }
                    }
                    return Err(Failure::NoServer {
                        server: given.to_owned(),
                        known,
                    });
                }
            }
        }
        Ok(())
    }

    /// The servers that a credential of the command line is for.
    fn meant(&self, given: &str) -> impl Iterator<Item = (&Subject, &ServerPlan)> {
        let servers = self.servers();
        servers.filter(move |(subject, server)| subject.names().is_meant(given, &server.name))
    }

    /// What means this server and no other one.
    fn way(&self, (subject, server): &(&Subject, &ServerPlan)) -> Option<String> {
        let mut ways = subject.names().whole(&server.name);
        // What is shown in another spelling than it has cannot be written as it is shown.
        let is_written = |way: &String| Given::can_name(way) && visible(way) == way.as_str();
        ways.find(|way| is_written(way) && self.meant(way).count() == 1)
    }
}

fn label(subjects: &mut [Subject]) {
    let names: Vec<String> = subjects
        .iter()
        .map(|subject| subject.plan.package.clone())
        .collect();
    for subject in subjects {
        let name = &subject.plan.package;
        let is_alone = names.iter().filter(|other| *other == name).count() == 1;
        subject.label = match is_alone && !name.is_empty() {
            true => name.clone(),
            false => subject.source.clone(),
        };
    }
}
