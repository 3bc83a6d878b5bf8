//! Why the store did not do what it was asked.

use std::io;
use std::path::{Path, PathBuf};

use super::folders::Problem;
use super::lock_file::LockFileError;
use super::policy::{Denied, PolicyError};
use crate::source::{self, NoSource, Source};

/// Why nothing was changed. Messages read after "failed to import …: ",
/// "failed to update …: " and so on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no source.
    #[error("{0}")]
    NoSource(#[from] NoSource),
    /// The source gave nothing.
    #[error("{0}")]
    Fetch(#[from] source::Error),
    /// A rule forbids it.
    #[error("{0}")]
    Denied(#[from] Denied),
    /// The rules cannot be read.
    #[error("{0}")]
    Policy(#[from] PolicyError),
    /// The lock file cannot be read.
    #[error("{0}")]
    LockFile(#[from] LockFileError),
    /// The source holds no package where it was looked for.
    #[error("there is no plugin.json at {place}{}", found_instead(found))]
    NoPackage {
        /// Where it was looked for.
        place: String,
        /// The packages elsewhere in it.
        found: Vec<Source>,
    },
    /// Another package has the name.
    #[error(
        "a package named {name} is installed from {installed}; --replace puts this one in its place"
    )]
    OtherSource {
        /// The name of both.
        name: String,
        /// Where the installed one comes from.
        installed: String,
    },
    /// Another version, branch, tag or commit of the source is installed.
    #[error("{name} is installed from {installed}; `--to {wanted}` moves it")]
    OtherWanted {
        /// Its name.
        name: String,
        /// Where it comes from.
        installed: String,
        /// What was asked for.
        wanted: String,
    },
    /// The same, while the lock file has to be followed.
    #[error(
        "{} names {installed} instead, and --frozen allows nothing else; `--to {wanted}` of an update moves it",
        lock_file.display()
    )]
    FrozenOther {
        /// The lock file.
        lock_file: PathBuf,
        /// The name of the package there.
        name: String,
        /// Where it comes from.
        installed: String,
        /// What was asked for.
        wanted: String,
    },
    /// Something that we did not put there has the place.
    #[error(
        "{} is there, and apkit has not put it there; move it away first",
        path.display()
    )]
    Foreign {
        /// The place.
        path: PathBuf,
    },
    /// The name is none that a directory can have everywhere.
    #[error("the package is named {name:?}, and {problem}")]
    Name {
        /// Its name.
        name: String,
        /// Why that does not do.
        problem: String,
    },
    /// No package of the name is installed.
    #[error("no package named {name} is installed{}", did_you_mean(similar))]
    NotInstalled {
        /// The name asked for.
        name: String,
        /// Names that are installed and near it.
        similar: Vec<String>,
    },
    /// The package has no such skill.
    #[error(
        "the package {package} has no skill named {name}{}",
        did_you_mean(names)
    )]
    NoSkill {
        /// The package.
        package: String,
        /// The name asked for.
        name: String,
        /// The skills it has.
        names: Vec<String>,
    },
    /// The package has another name than before.
    #[error("the package there is named {found} now; import it by its source, and remove {name}")]
    Renamed {
        /// Its name until now.
        name: String,
        /// Its name there.
        found: String,
    },
    /// Somebody else changed the same package meanwhile.
    #[error("the package {name} was changed by somebody else meanwhile; try again")]
    Meanwhile {
        /// Its name.
        name: String,
    },
    /// Only what the lock file says may be installed.
    #[error("{0}")]
    Frozen(String),
    /// What is there is not what the lock file says, and only that may be installed.
    #[error("{0}")]
    NotAsLocked(String),
    /// Plain skill folders have places that something else has.
    #[error("{}; nothing was changed", listed(problems))]
    Folders {
        /// The package.
        name: String,
        /// The places.
        problems: Vec<Problem>,
        /// The directories that the lock file has its skills copied to.
        recorded: Vec<PathBuf>,
    },
    /// The lock file cannot name a directory that skills are to be copied to.
    #[error(
        "skills cannot be copied to {}: its path is no Unicode, so the lock file cannot name it; nothing was changed",
        path.display()
    )]
    NoUnicode {
        /// The directory.
        path: PathBuf,
    },
    /// Skills are to be copied to where only packages and what apkit knows of them are.
    #[error(
        "skills cannot be copied to {}: the store keeps its own files there; nothing was changed",
        path.display()
    )]
    InStore {
        /// The directory.
        path: PathBuf,
    },
    /// Skills do not belong among the files of git, which runs some of them.
    #[error(
        "skills cannot be copied to {}: git keeps its own files there; nothing was changed",
        path.display()
    )]
    InGit {
        /// The directory.
        path: PathBuf,
    },
    /// Skills are to be copied into the directory that the package comes from.
    #[error(
        "skills cannot be copied to {}: it lies in {}, which the package comes from, so the next update would take the copies for a part of it; name a directory outside of it; nothing was changed",
        path.display(),
        from.display()
    )]
    InSource {
        /// The directory.
        path: PathBuf,
        /// The source.
        from: PathBuf,
    },
    /// The skills of the package are not copied there.
    #[error(
        "skills of {name} are not copied to {}{}",
        directory.display(),
        instead_to(folders)
    )]
    NoFolder {
        /// The package.
        name: String,
        /// The directory asked for.
        directory: PathBuf,
        /// Those they are copied to.
        folders: Vec<PathBuf>,
    },
    /// The source has no versions to choose from.
    #[error("{source_text} has no versions, tags or branches to choose from")]
    NoVersions {
        /// The source.
        source_text: String,
    },
    /// A directory or file of ours is a link.
    #[error(
        "{} is a link, which could lead anywhere; put in its place what it leads to, or remove it",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Another process holds the lock.
    #[error(
        "another apkit has been changing {} for {seconds} seconds; try again when it is done",
        root.display()
    )]
    Busy {
        /// The store.
        root: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
    /// The user asked to stop.
    #[error("interrupted; nothing was changed")]
    Interrupted,
    /// The file system refused.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// What was attempted, a verb.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl Error {
    pub(super) fn io(what: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io {
            what,
            path: path.to_owned(),
            error,
        }
    }

    /// Whether a rule of `apkit.toml` forbids it.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::Denied(_) => true,
            Self::Fetch(error) => error.is_forbidden(),
            _ => false,
        }
    }

    /// Whether the source could not be reached or gave nothing, as opposed to
    /// what it gave being refused.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Fetch(error) => error.is_unreachable(),
            _ => false,
        }
    }
}

fn found_instead(found: &[Source]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let mut text = "; it holds packages, which are imported one by one:".to_owned();
    for source in found {
        text.push_str("\n  ");
        text.push_str(&quoted(&source.to_string()));
    }
    text
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn listed(problems: &[Problem]) -> String {
    let problems = problems
        .iter()
        .map(|found| format!("{} {}", found.path.display(), found.problem));
    problems.collect::<Vec<_>>().join("; ")
}

fn instead_to(folders: &[PathBuf]) -> String {
    if folders.is_empty() {
        return ", nor anywhere else".to_owned();
    }
    let folders = folders.iter().map(|folder| folder.display().to_string());
    format!(", but to {}", folders.collect::<Vec<_>>().join(" and "))
}

fn did_you_mean(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        similar => format!(", did you mean {}?", similar.join(" or ")),
    }
}
