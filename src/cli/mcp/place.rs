//! From a SOURCE of the command line to a package with its plan: where it lies,
//! where it may write, what the user's rules and credentials are.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use apkit::archive::Digest;
use apkit::mcp::content;
use apkit::mcp::credential::Keys;
use apkit::mcp::gate::Gate;
use apkit::mcp::plan::{self, Off, Places, Plan};
use apkit::package::{self, Package, Transport, Verdict};
use apkit::source::Source;
use apkit::spec::name::plugin_name_problem;
use apkit::store::{POLICY_FILE, Policy, Store};

use super::args::Common;
use super::gate::{self, Rules};
use crate::cli::failure::{Failure, slashed};
use crate::cli::store::{Place, Scratch, Session};
use crate::cli::target::Target;

/// The packages that one run is about.
pub(super) struct Subjects {
    pub(super) all: Vec<Subject>,
    pub(super) keys: Keys,
    /// What may be connected to although it is no part of the internet.
    pub(super) private: Vec<String>,
    /// The file of the user's own rules.
    pub(super) rules: PathBuf,
    pub(super) session: Session,
}

/// One package.
pub(super) struct Subject {
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
    pub(super) fn open(sources: &[OsString], common: &Common) -> Result<Self, Failure> {
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
            own_file: &own_file,
            project,
        };
        let keys = keys(common, &session)?;
        let mut all: Vec<Subject> = Vec::new();
        for source in sources {
            let found = find(source, &session, &store)?;
            let subject = subject(found, common, &session, &store, &rules, &keys)?;
            // The same package by two names.
            let is_same = |known: &Subject| known.plan.root == subject.plan.root;
            if !all.iter().any(is_same) {
                all.push(subject);
            }
        }
        let private = own.map(Store::policy).into_iter().flat_map(Policy::private);
        let private = private.map(str::to_owned).collect();
        session.end();
        let subjects = Self {
            all,
            keys,
            private,
            rules: own_file,
            session,
        };
        subjects.check_given()?;
        Ok(subjects)
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
    let gate = gate::decide(&package, &digest, found.installed.is_some(), rules);
    let variables = &session.environment().variables;
    let mut plan = plan::plan(&package, &places, variables, &gate);
    for index in 0..plan.servers.len() {
        let Some(server) = plan.servers.get_mut(index) else {
            continue;
        };
        let slots = keys.slots(&plan.package, server);
        let problem = slots.iter().find_map(|slot| {
            let problem = slot.problem(variables)?;
            Some(format!("the credential {}: {problem}", slot.name()))
        });
        if let Some(problem) = problem {
            server.launch = Err(Off::Unavailable(problem));
        }
    }
    Ok(Subject {
        package,
        places,
        digest,
        plan,
        _scratch: found.scratch,
    })
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
fn find(source: &OsStr, session: &Session, store: &Store) -> Result<Found, Failure> {
    let failed = |error| Failure::store("read the store".to_owned(), error);
    let path = Path::new(source);
    let text = source.to_str();
    let installed = store.installed(session.stop()).map_err(failed)?;
    if let Some(name) = text.filter(|text| plugin_name_problem(text).is_none())
        && installed.packages.contains_key(name)
    {
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
        return Err(Failure::NoSubject(source.to_string_lossy().into_owned()));
    };
    match Source::parse(text, session.environment())? {
        Source::Directory(path) => directory(Target::of(&path)?),
        source => {
            let (scratch, staged) = session.fetch(&source)?;
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

/// The user's credentials: those of the file, and over them those of the command
/// line.
fn keys(common: &Common, session: &Session) -> Result<Keys, Failure> {
    let file = match &common.credentials {
        Some(file) => Some(file.clone()),
        None => usual_file(session).filter(|file| file.symlink_metadata().is_ok()),
    };
    let mut keys = match file {
        Some(file) => Keys::read(&file).map_err(Failure::Credentials)?,
        None => Keys::default(),
    };
    for given in &common.given {
        // Not by clap, which would show what it refuses.
        keys.give(given.parse()?);
    }
    Ok(keys)
}

/// `apkit/credentials.toml` where programs of the user have their configuration.
fn usual_file(session: &Session) -> Option<PathBuf> {
    let environment = session.environment();
    let variable = if cfg!(windows) {
        "APPDATA"
    } else {
        "XDG_CONFIG_HOME"
    };
    let directory = environment.get(variable).map(PathBuf::from);
    let directory = directory.filter(|directory| directory.is_absolute());
    let directory = directory.or_else(|| Some(environment.home.as_ref()?.join(".config")))?;
    Some(directory.join("apkit").join("credentials.toml"))
}
