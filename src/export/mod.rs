//! Writing packages: a plan, which is data, and its application, which either
//! leaves a whole package behind or nothing.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `tree` | the input: a directory's files, read once |
//! | `recognise` | what a source is: a package, skills, a client's plugin |
//! | `offered` | a plugin that a marketplace offers, and what its entry says about it |
//! | `native` | a plugin in a client's format → a package |
//! | `skill`, `skills`, `allowed_tools` | `SKILL.md` and directories of them → `skills/` |
//! | `targets` | a package → what one client needs beside it, one file each |
//! | `marketplace`, `npm`, `descriptor` | what is put around a package, or in the place of a source |
//! | `credentials`, `texts` | files of a source that hold credentials, or a client's placeholders |
//! | `restate` | what the user says about the package, in all its manifests |
//! | `loss` | what an export cannot carry over: the kinds, each declared once |
//! | `report` | the plan as one JSON document |
//! | `apply`, `archive`, `place` | staging, judgement, replacement, and what is never replaced |
//! | [`everos`] | the plan for the everos memory plugin, whose sources are in `package/` |
//!
//! The plan is pure: the same input gives the same plan, and nothing is read or
//! written while it is made.

mod allowed_tools;
mod apply;
mod archive;
mod client;
mod credentials;
mod descriptor;
mod draft;
pub mod everos;
mod identity;
mod json;
mod loss;
mod marketplace;
mod native;
mod npm;
mod offered;
mod paths;
mod place;
mod plan;
mod recognise;
pub mod report;
mod restate;
mod skill;
mod skills;
mod targets;
mod texts;
mod tree;

use std::collections::BTreeSet;

use crate::spec::foreign::MARKETPLACES;

pub use apply::{Accepted, Error, Options, apply, check, deletes, receipt};
pub use archive::{Archive, Format, admit_archive, write_archive};
pub use client::Client;
pub use descriptor::{Descriptor, Launch, Transport};
pub use identity::{Identity, PackageName};
pub use loss::{Loss, LossKind, Weight};
pub use offered::Listed;
pub use place::Kept;
pub use plan::plan;
pub use skill::NameProblem;
pub use targets::Target;
pub use tree::{File, ReadError, Tree};

/// Everything that one export writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The files, each path once.
    pub outputs: Vec<Output>,
    /// Directories that have to pass as packages, relative to the target and
    /// `/`-separated; empty for the target itself.
    pub packages: Vec<String>,
    /// Files that have to pass as a package in the place of `outputs`, where
    /// those make none.
    pub judged: Option<Vec<Output>>,
    /// What could not be carried over, the heaviest first.
    pub losses: Vec<Loss>,
    /// What was changed without loss, for people.
    pub notes: Vec<String>,
    /// Warnings of the rule book that `losses` tell about already, and that
    /// therefore do not stop the export.
    pub announced: BTreeSet<Announced>,
    /// The fields of `plugin.json` that the user gave: what there is to say about
    /// them is said, be it no warning.
    pub given: Vec<&'static str>,
    /// What the source was.
    pub source: &'static str,
    /// `name` of the package.
    pub name: String,
    /// `version` of the package.
    pub version: Option<String>,
}

/// A warning of the rule book that a loss tells about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Announced {
    /// The file, relative to the package.
    pub path: String,
    /// Identifier of the code.
    pub code: &'static str,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Path relative to the target, `/`-separated.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// Whether it is a program (mode 0755 instead of 0644).
    pub executable: bool,
}

impl Output {
    /// A file that is no program.
    pub fn text(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            bytes: text.into().into_bytes(),
            executable: false,
        }
    }
}

/// Everything a plan is made from.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// What is exported: one package or plugin, or any number of directories
    /// with skills. None if there is only a `server`.
    pub sources: Vec<Source>,
    /// The one plugin of the source's marketplace that is exported.
    pub plugin: Option<String>,
    /// Read the source as a plugin of this client, whatever else it is.
    pub from: Option<Client>,
    /// Whom the result is for.
    pub target: Target,
    /// What the user says about the package.
    pub identity: Identity,
    /// The namespace in `extensions` of what this program itself has to say.
    pub namespace: String,
    /// Give skills whose names break the rule the names that would do.
    pub rename: bool,
    /// Put the package into a marketplace.
    pub marketplace: bool,
    /// A server to describe.
    pub server: Option<Descriptor>,
    /// Make the package one of npm, too.
    pub npm: bool,
}

/// One directory to export.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The directory's name, which a skill at its top has.
    pub name: String,
    /// Its files.
    pub tree: Tree,
}

/// Why there is no plan. Messages read after "failed to export: ".
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Nothing to start from.
    #[error("there is neither a SOURCE nor a --server")]
    NoSource,
    /// The source is nothing that can be exported.
    #[error(
        "it is no package, no directory of skills and no plugin of a known client{}",
        found.as_ref().map(|found| format!("; {found}")).unwrap_or_default()
    )]
    NotRecognised {
        /// What was found instead, if it helps.
        found: Option<String>,
    },
    /// `from` names a client that has no manifest there.
    #[error("there is no manifest for {} ({})", .0.label(), .0.manifests().join(" or "))]
    NoManifest(Client),
    /// A marketplace, of which one plugin has to be chosen.
    #[error("{path} lists plugins; choose one with --plugin: {}", listed(plugins))]
    Marketplace {
        /// The file.
        path: String,
        /// What it lists.
        plugins: Vec<Listed>,
    },
    /// A plugin of a marketplace is asked for, and there is none.
    #[error("there is no marketplace in it ({})", MARKETPLACES.join(", "))]
    NoMarketplace,
    /// The marketplace does not list the plugin.
    #[error("{path} lists no plugin {name:?}{}", nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default())]
    NoSuchPlugin {
        /// The file.
        path: String,
        /// What was asked for.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// The plugin is not in the marketplace's directory.
    #[error("the plugin {name} is not in this directory; {}", place.as_ref().map_or_else(|| "where it is cannot be told".to_owned(), |place| format!("export {place}")))]
    Elsewhere {
        /// Its name.
        name: String,
        /// Where it is, as a SOURCE.
        place: Option<String>,
    },
    /// A plugin is asked for, and there are several sources.
    #[error("a plugin is chosen from one marketplace; name one SOURCE")]
    PluginOfSeveral,
    /// Several sources are not all skills.
    #[error("only directories of skills can be put together; {0:?} is something else")]
    NotSkills(String),
    /// A manifest cannot be read.
    #[error("{path} cannot be read: {message}")]
    Manifest {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// No name was given, and the source has none.
    #[error("the source has no name for the package; give one with --name")]
    NameMissing,
    /// The name breaks the rule.
    #[error("the name {:?} {}{}", .0.name, .0.problem, with_suggestion(.0.suggestion.as_deref()))]
    Name(PackageName),
    /// Names of skills break the rule.
    #[error("names of skills break the rule: {}", names(.0))]
    SkillNames(Vec<NameProblem>),
    /// What describes a server holds a secret.
    #[error(
        "{0} looks like a secret, and whatever is in a package is public: leave it out, the client supplies it"
    )]
    Secret(String),
    /// A server of that name is there already.
    #[error("the package has a server {0:?} already")]
    ServerExists(String),
    /// No client loads a server of the `mcp.json` that is there.
    #[error(
        "clients load no server of the mcp.json that is there: {0}; correct that first (`apkit validate` tells more)"
    )]
    ServersOff(String),
    /// The command of the server is not in the package.
    #[error("{0} is no file of the package: name the directory that holds it as SOURCE")]
    NoCommand(String),
    /// What makes no sense with the skills alone.
    #[error("--target skills writes the skills alone; {0} wants a package")]
    SkillsAlone(&'static str),
    /// Two files that some file systems take for one.
    #[error(
        "{0:?} and {1:?} are one and the same to file systems that take no account of case or composition; rename one"
    )]
    SameFile(String, String),
    /// A package of npm needs a version.
    #[error("a package of npm needs a version; give one with --version")]
    VersionMissing,
}

fn listed(plugins: &[Listed]) -> String {
    let plugins: Vec<String> = plugins
        .iter()
        .map(|plugin| match (&plugin.path, &plugin.elsewhere) {
            (Some(path), _) => format!("{} in {path}", plugin.name),
            (None, Some(source)) => format!("{} (elsewhere: {source})", plugin.name),
            (None, None) => format!("{} (not in this directory)", plugin.name),
        })
        .collect();
    plugins.join(", ")
}

fn with_suggestion(suggestion: Option<&str>) -> String {
    suggestion
        .map(|name| format!("; --name {name} would do"))
        .unwrap_or_default()
}

fn names(problems: &[NameProblem]) -> String {
    let problems: Vec<String> = problems
        .iter()
        .map(|problem| match &problem.suggestion {
            Some(name) => format!("{}: {}; {name} would do", problem.path, problem.problem),
            None => format!("{}: {}", problem.path, problem.problem),
        })
        .collect();
    problems.join("\n  ")
}
