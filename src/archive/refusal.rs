//! Why a package was not taken in, and what was left out of one that was.

use std::fmt;
use std::io;

use super::PathProblem;

/// What helps against a path that some system reads differently.
fn way(problem: &PathProblem) -> &'static str {
    match problem {
        // It is there under the one name that git gives it.
        PathProblem::Git => "leave it out",
        _ => "rename it at its source",
    }
}

/// Why nothing was taken in. Messages read after "failed to import …: ".
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A path that some system reads differently.
    #[error("the entry {entry:?} is refused: its path {problem}; {}", way(problem))]
    Path {
        /// The path as it was given.
        entry: String,
        /// What is wrong with it.
        problem: PathProblem,
    },
    /// Two entries of one name.
    #[error("the entry {entry:?} is there twice; pack each file once")]
    Duplicate {
        /// The path of both.
        entry: String,
    },
    /// Two names that are one on some system.
    #[error(
        "the entries {other:?} and {entry:?} are one and the same to file systems that take no account of case or composition; rename one"
    )]
    Collision {
        /// The later one.
        entry: String,
        /// The earlier one.
        other: String,
    },
    /// An entry below another one that is no directory.
    #[error("the entry {entry:?} lies below {file:?}, which is a file")]
    BelowFile {
        /// The entry.
        entry: String,
        /// The file.
        file: String,
    },
    /// An entry whose directory is a link.
    #[error(
        "the entry {entry:?} lies behind the link {link:?}, where it could be written anywhere"
    )]
    BehindLink {
        /// The entry.
        entry: String,
        /// The link.
        link: String,
    },
    /// A file or link where a directory is already, or the reverse.
    #[error("the entry {entry:?} is a directory as well as something else")]
    DirectoryToo {
        /// The path of both.
        entry: String,
    },
    /// A link that is not one of the package's own.
    #[error("the link {entry:?} to {target:?} is refused: {problem}; put a copy in its place")]
    Link {
        /// The link.
        entry: String,
        /// What it points to.
        target: String,
        /// What is wrong with that.
        problem: LinkProblem,
    },
    /// Neither a file, nor a directory, nor a symbolic link.
    #[error(
        "the entry {entry:?} is {kind}; packages hold files, directories and symbolic links only"
    )]
    Kind {
        /// The entry.
        entry: String,
        /// What it is, with its article.
        kind: &'static str,
    },
    /// More entries than [`super::Limits::entries`].
    #[error("it holds more than {limit} files and directories")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// A file larger than [`super::Limits::file`].
    #[error("the file {entry:?} has more than {limit} bytes")]
    FileTooLarge {
        /// The file.
        entry: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// More bytes than [`super::Limits::total`].
    #[error("its files have more than {limit} bytes together (reached with {entry:?})")]
    TotalTooLarge {
        /// The file that exceeded it.
        entry: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// An archive that unpacks to more than it may.
    #[error(
        "the archive unpacks to more than {limit} times its size, which is what archives made to fill a disk do"
    )]
    Ratio {
        /// [`super::Limits::ratio`].
        limit: u64,
    },
    /// Neither of the formats.
    #[error("it is neither a gzip-compressed tar archive nor a zip archive")]
    NotAnArchive,
    /// The archive is cut off or its checksums do not agree.
    #[error("the archive is damaged: {what}; fetch or pack it again")]
    Damaged {
        /// What was found, and where.
        what: String,
    },
    /// Two places of the archive tell different things about one entry, so that
    /// other programs would see another package.
    #[error("the archive contradicts itself about {entry:?}: {what}; pack it again")]
    Disagreement {
        /// The entry.
        entry: String,
        /// What disagrees.
        what: &'static str,
    },
    /// Bytes that belong to no entry.
    #[error(
        "the archive holds something {place} that its list of entries does not name; pack it again"
    )]
    Hidden {
        /// Where.
        place: String,
    },
    /// Entries that share their bytes.
    #[error(
        "the entries {entry:?} and {other:?} of the archive overlap, which is what archives made to fill a disk do"
    )]
    Overlap {
        /// The later one.
        entry: String,
        /// The earlier one.
        other: String,
    },
    /// Encrypted.
    #[error("the entry {entry:?} is encrypted; pack it without a password")]
    Encrypted {
        /// The entry.
        entry: String,
    },
    /// Compressed in a way we do not read.
    #[error("the entry {entry:?} is compressed by method {method}; pack it with deflate")]
    Method {
        /// The entry.
        entry: String,
        /// The number of the method in the zip format.
        method: u16,
    },
    /// Nothing at all.
    #[error("it is empty")]
    Empty,
    /// The directory that was asked for is not there.
    #[error("it holds no directory {path:?}{}", instead(above, there))]
    NoDirectory {
        /// The path asked for.
        path: String,
        /// The directory on the way there that it does hold; `""` is the top.
        above: String,
        /// The directories in that, some of many.
        there: Vec<String>,
    },
    /// Something changed while a directory was copied.
    #[error("{path:?} changed while it was copied; try again when nothing writes there")]
    Changed {
        /// The path inside the source.
        path: String,
    },
    /// The source could not be read.
    #[error("{entry:?} could not be read: {source}")]
    Read {
        /// The entry.
        entry: String,
        /// What the system said.
        source: io::Error,
    },
    /// What was read could not be written, for want of space perhaps.
    #[error("{path:?} could not be written: {source}")]
    Write {
        /// The path inside the package.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Refusal {
    /// The refusal that `error` carries, when a reader further down refused.
    pub(super) fn carried(error: io::Error) -> Result<Self, io::Error> {
        error.downcast::<Self>()
    }
}

/// What is wrong with a link. Messages read after "the link … is refused: ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkProblem {
    /// It leads out of the package.
    #[error("it leads out of the package")]
    Outside,
    /// It is absolute, and means another thing on every machine.
    #[error("it is absolute")]
    Absolute,
    /// It comes back to itself, by whatever way.
    #[error("it leads to itself")]
    Loop,
    /// Its target is no path that means the same on every system.
    #[error("its target is no path that all systems read alike")]
    Target,
}

/// Something of the source that is not in the package, or not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// The path inside the package.
    pub path: String,
    /// Why.
    pub reason: LeftOutReason,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.path, self.reason)
    }
}

/// Why something is not in the package. Messages read after the path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum LeftOutReason {
    /// A commit of another repository, in whose place there is nothing.
    #[error("a submodule; its content is not fetched")]
    Submodule,
    /// The file is there, but it only names what is stored elsewhere.
    #[error("a pointer to a file in Git LFS; the pointer is kept, the file is not fetched")]
    LfsPointer,
    /// What git keeps in a working directory.
    #[error("what git keeps for itself")]
    GitDirectory,
    /// A store of ours: packages that others have made, and what is known of them.
    #[error("what apkit keeps for itself; neither are the packages and the lock file beside it")]
    Store,
    /// A link out of the package.
    #[error("a link to {target:?}, which leads out of the package")]
    LinkOutside {
        /// What it points to.
        target: String,
    },
    /// A link that is absolute.
    #[error("a link to {target:?}, which is absolute")]
    LinkAbsolute {
        /// What it points to.
        target: String,
    },
    /// A link to itself.
    #[error("a link to {target:?}, which leads back to it")]
    LinkLoop {
        /// What it points to.
        target: String,
    },
    /// A link whose target systems read differently.
    #[error("a link to {target:?}, which is no path that all systems read alike")]
    LinkTarget {
        /// What it points to.
        target: String,
    },
}

impl LeftOutReason {
    /// Whether the package may lack something for it. What git and apkit keep for
    /// themselves is no part of one.
    pub fn is_loss(&self) -> bool {
        !matches!(self, Self::GitDirectory | Self::Store)
    }

    pub(super) fn of_link(problem: LinkProblem, target: String) -> Self {
        match problem {
            LinkProblem::Outside => Self::LinkOutside { target },
            LinkProblem::Absolute => Self::LinkAbsolute { target },
            LinkProblem::Loop => Self::LinkLoop { target },
            LinkProblem::Target => Self::LinkTarget { target },
        }
    }
}

fn instead(above: &str, there: &[String]) -> String {
    let place = match above {
        "" => "at its top".to_owned(),
        above => format!("in {above:?}"),
    };
    match there {
        [] => format!("; there is none {place}"),
        there => format!("; {place} are {}", there.join(", ")),
    }
}
