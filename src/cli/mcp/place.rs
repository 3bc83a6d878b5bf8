//! From a SOURCE of the command line to a package with its plan: where it lies,
//! where it may write, what the user's rules and credentials are.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use apkit::archive::Digest;
use apkit::mcp::content;
use apkit::mcp::credential::Keys;
use apkit::mcp::gate::Gate;
use apkit::mcp::http;
use apkit::mcp::plan::{self, Launch, Off, Places, Plan};
use apkit::net::Egress;
use apkit::package::{self, Package, Transport, Verdict};
use apkit::render::visible;
use apkit::source::Source;
use apkit::spec::name::plugin_name_problem;
use apkit::store::{POLICY_FILE, Policy, State, Store};

use super::args::Common;
use super::gate::{self, Rules};
use super::keys;
use super::trouble::Trouble;
use crate::cli::failure::{Failure, note, show, slashed};
use crate::cli::store::{Place, Scratch, Session, was_interrupted};
use crate::cli::target::Target;

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

/// One package.
pub(super) struct Subject {
    /// What tells it from the other packages of the run: its name, or SOURCE as it was
    /// typed where it has none or shares it.
    pub(super) label: String,
    pub(super) package: Package,
    pub(super) places: Places,
    /// Its content as it is now, or why that has no digest.
    pub(super) digest: Result<Digest, String>,
    pub(super) plan: Plan,
    /// Holds what was fetched.
    _scratch: Option<Scratch>,
}

/// Where a package was found.
struct Found {
    root: PathBuf,
    display: String,
    /// The name of an installed one.
    installed: Option<String>,
    /// What the place it comes from is told by.
    key: Vec<u8>,
    scratch: Option<Scratch>,
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
        // A project's rules are not the user's.
        let own = match common.place.project {
            true => session.store(&Place::default()).map(Some),
            false => Ok(None),
        };
        let own = match own {
            Err(Failure::NoHome) => None,
            own => own?,
        };
        let (own, project) = if common.place.project {
            (own.as_ref(), Some(store.policy()))
        } else {
            (Some(&store), None)
        };
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
        let (mut all, mut typed, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for source in sources {
            let opened = find(source, &session, &store, &rules)
                .and_then(|found| subject(found, common, &session, &store, &rules, &keys));
            match opened {
                // The same package by two names.
                Ok(subject) if has(&all, &subject) => {}
                Ok(subject) => {
                    all.push(subject);
                    typed.push(source.clone());
                }
                Err(failure) if some_do && !was_interrupted() => missing.push(failure),
                Err(failure) => return Err(failure),
            }
        }
        if all.is_empty()
            && let Some(failure) = missing.pop()
        {
            return Err(failure);
        }
        missing.iter().for_each(Failure::tell);
        label(&mut all, &typed);
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

    /// Says once how programs are allowed, if some are off for want of that.
    pub(super) fn tell_how(&self) {
        let mut plans = self.all.iter().flat_map(|subject| &subject.plan.servers);
        if plans.any(|server| server.launch.as_ref().is_err_and(gate::is_unsaid)) {
            note(&format!(
                "allow programs once: --allow-stdio; for good: the rule that `apkit mcp plan` shows, in {}",
                show(&self.rules)
            ));
        }
    }

    /// A credential for a server that is not there is a slip of the pen, and one for
    /// servers of several packages may be meant for one of them.
    fn check_given(&self) -> Result<(), Failure> {
        let servers = || {
            let plans = self.all.iter().map(|subject| &subject.plan);
            plans.flat_map(|plan| {
                plan.servers
                    .iter()
                    .map(|server| (&plan.package, &server.name))
            })
        };
        let is_there = |given: &str| {
            servers().any(|(package, name)| given == name || given == format!("{package}/{name}"))
        };
        for given in self.keys.servers_given() {
            let mut roots = BTreeMap::new();
            for plan in self.all.iter().map(|subject| &subject.plan) {
                for server in &plan.servers {
                    let whole = format!("{}/{}", plan.package, server.name);
                    if given == server.name || given == whole {
                        roots.insert(&plan.root, whole);
                    }
                }
            }
            if roots.len() > 1 {
                let mut known: Vec<String> = roots.into_values().collect();
                known.sort();
                return Err(Failure::SeveralServers {
                    server: given.to_owned(),
                    known,
                });
            }
        }
        match self.keys.servers_given().find(|given| !is_there(given)) {
            None => Ok(()),
            Some(server) => Err(Failure::NoServer {
                server: server.to_owned(),
                known: servers().map(|(_, name)| name.clone()).collect(),
            }),
        }
    }
}

/// Whether a package is among these already.
fn has(all: &[Subject], subject: &Subject) -> bool {
    all.iter().any(|known| known.plan.root == subject.plan.root)
}

fn subject(
    found: Found,
    common: &Common,
    session: &Session,
    store: &Store,
    rules: &Rules<'_>,
    keys: &Keys,
) -> Result<Subject, Failure> {
    let unreadable = |error| Failure::Read {
        path: found.root.clone(),
        error,
    };
    let options = package::Options {
        drafts: common.draft.applies(),
        keep_sources: false,
    };
    let package = package::load(&found.root, &found.display, &options).map_err(unreadable)?;
    let name = package.name.as_deref();
    let data = match &found.installed {
        Some(name) => store.package_data(name),
        // Only of what loads is the name known to be one.
        None => {
            let name = name.filter(|_| package.verdict == Verdict::Loaded);
            store.guest_data(name.unwrap_or("unnamed"), &found.key)
        }
    };
    let refused = |error| Failure::store("use the store".to_owned(), error);
    store.check_data(&data).map_err(refused)?;
    let places = Places::new(&found.root, &data).map_err(unreadable)?;
    let digest = digest(&package, &found.root);
    let changes = || match &found.installed {
        Some(name) => changes(store, name, session),
        None => Vec::new(),
    };
    let is_installed = found.installed.is_some();
    let changes: Option<&dyn Fn() -> Vec<String>> = is_installed.then_some(&changes);
    let gate = gate::decide(&package, &digest, changes, rules);
    let variables = &session.environment().variables;
    let mut plan = plan::plan(&package, &places, variables, &gate);
    let mut strangers: Vec<&str> = keys.servers_of(&plan.package).collect();
    strangers.retain(|name| !plan.servers.iter().any(|server| server.name == *name));
    strangers.dedup();
    for name in strangers {
        let package = &plan.package;
        note(&format!(
            "the credentials are for a server {} that {} does not have",
            visible(name),
            visible(package)
        ));
    }
    // As if everything were allowed: what is missing is said beside what is not.
    let ungated = plan::plan(&package, &places, variables, &Gate::open());
    for (server, ungated) in plan.servers.iter_mut().zip(&ungated.servers) {
        let slots = keys.slots(&plan.package, ungated);
        let problem = slots.iter().find_map(|slot| {
            let problem = slot.problem(variables)?;
            Some(format!("the credential {}: {problem}", slot.name()))
        });
        match (problem, &mut server.launch) {
            (None, _) | (_, Err(Off::Invalid(_))) => {}
            (Some(problem), Err(Off::Policy(why))) => {
                why.push_str("; besides, ");
                why.push_str(&problem);
            }
            (Some(problem), launch) => *launch = Err(Off::Unavailable(problem)),
        }
    }
    Ok(Subject {
        label: String::new(),
        package,
        places,
        digest,
        plan,
        _scratch: found.scratch,
    })
}

fn label(subjects: &mut [Subject], sources: &[OsString]) {
    let names: Vec<String> = subjects
        .iter()
        .map(|subject| subject.plan.package.clone())
        .collect();
    for (subject, source) in subjects.iter_mut().zip(sources) {
        let name = &subject.plan.package;
        let is_alone = names.iter().filter(|other| *other == name).count() == 1;
        subject.label = match is_alone && !name.is_empty() {
            true => name.clone(),
            false => source.to_string_lossy().into_owned(),
        };
    }
}

/// What was changed in an installed package since it was installed.
fn changes(store: &Store, name: &str, session: &Session) -> Vec<String> {
    let verified = store.verify(&[name.to_owned()], session.stop());
    let found = verified.unwrap_or_default().into_iter();
    let changes = found.flat_map(|found| match found.state {
        State::Changed(changes) => changes,
        _ => Vec::new(),
    });
    changes.map(|change| change.to_string()).collect()
}

/// The digest that a rule may name. Only rules about programs do.
fn digest(package: &Package, root: &Path) -> Result<Digest, String> {
    let is_program = |transport: &Transport| matches!(transport, Transport::Stdio { .. });
    let servers = &package.mcp.loaded;
    if !servers.iter().any(|server| is_program(&server.transport)) {
        return Err("it has no programs".to_owned());
    }
    content::digest(root)
}

impl Subject {
    /// The same plan as if the user let everything be started and connected to.
    pub(super) fn ungated(&self, session: &Session) -> Plan {
        let variables = &session.environment().variables;
        plan::plan(&self.package, &self.places, variables, &Gate::open())
    }
}

/// What SOURCE means: first an installed package, as a directory of that name may
/// be anybody's; then a path; then something to fetch.
fn find(
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
    match Source::parse(text, session.environment())? {
        Source::Directory(path) => directory(Target::of(&path)?),
        source => {
            let (scratch, staged) = session.fetch_by(&rules.policy(), &source)?;
            Ok(Found {
                root: staged.directory,
                display: text.to_owned(),
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
