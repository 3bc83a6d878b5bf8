//! One package with its plan: where it may write, what the user's rules and
//! credentials make of its servers.

use std::path::Path;

use apkit::archive::Digest;
use apkit::mcp::content;
use apkit::mcp::credential::{Keys, Kind, Names};
use apkit::mcp::gate::Gate;
use apkit::mcp::plan::{self, Off, Places, Plan};
use apkit::package::{self, Package, Transport, Verdict};
use apkit::render::visible;
use apkit::store::{State, Store};

use super::args::Common;
use super::gate::{self, Rules};
use super::place::Found;
use crate::cli::failure::{Failure, note};
use crate::cli::store::{Scratch, Session};

/// One package.
pub(super) struct Subject {
    /// What tells it from the other packages of the run: its name, or SOURCE as it was
    /// typed where it has none or shares it.
    pub(super) label: String,
    /// SOURCE as messages show it.
    pub(super) source: String,
    /// Whether its name is the SOURCE of another package of the run.
    pub(super) is_taken: bool,
    pub(super) package: Package,
    pub(super) places: Places,
    /// Its content as it is now, or why that has no digest.
    pub(super) digest: Result<Digest, String>,
    pub(super) plan: Plan,
    /// Holds what was fetched.
    _scratch: Option<Scratch>,
}

/// What holds for all packages of a run.
#[derive(Clone, Copy)]
pub(super) struct Terms<'t> {
    pub(super) common: &'t Common,
    pub(super) session: &'t Session,
    pub(super) store: &'t Store,
    pub(super) rules: &'t Rules<'t>,
    pub(super) keys: &'t Keys,
    /// The SOURCE of each package, as messages show it.
    pub(super) sources: &'t [String],
}

/// Loads a package and plans what becomes of its servers.
pub(super) fn planned(found: Found, source: String, terms: Terms<'_>) -> Result<Subject, Failure> {
    let Terms {
        common,
        session,
        store,
        rules,
        keys,
        sources,
    } = terms;
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
    let is_taken = source != plan.package && sources.contains(&plan.package);
    let names = Names {
        package: &plan.package,
        source: &source,
        is_taken,
    };
    // As if everything were allowed: what is missing is said beside what is not.
    let ungated = plan::plan(&package, &places, variables, &Gate::open());
    for (server, ungated) in plan.servers.iter_mut().zip(&ungated.servers) {
        for (kind, name) in keys.unfitting(names, ungated) {
            note(&unfitting(kind, name, &server.name, &plan.package));
        }
        let slots = keys.slots(names, ungated);
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
        source,
        is_taken,
        package,
        places,
        digest,
        plan,
        _scratch: found.scratch,
    })
}

/// That a server is not given a credential, since it takes another kind.
fn unfitting(kind: Kind, name: &str, server: &str, package: &str) -> String {
    let (is, takes) = match kind {
        Kind::Env => (
            "a variable",
            "is connected to and takes headers (headers.NAME)",
        ),
        Kind::Header => ("a header", "is started and takes variables (env.NAME)"),
    };
    format!(
        "the credential {}.{} is not given to the server {} of {}: it is {is}, and the server {takes}",
        kind.table(),
        visible(name),
        visible(server),
        visible(package)
    )
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
    /// The names by which credentials may mean it.
    pub(super) fn names(&self) -> Names<'_> {
        Names {
            package: &self.plan.package,
            source: &self.source,
            is_taken: self.is_taken,
        }
    }

    /// The same plan as if the user let everything be started and connected to.
    pub(super) fn ungated(&self, session: &Session) -> Plan {
        let variables = &session.environment().variables;
        plan::plan(&self.package, &self.places, variables, &Gate::open())
    }
}
