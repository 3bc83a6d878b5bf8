//! What can go wrong with a repository.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::address::AddressError;
use super::child::shortened;
use crate::archive::Refusal;

/// Why a repository gave no tree. Messages read after "failed to fetch …: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's git configuration replaces the address by one we do not take.
    #[error(
        "git's configuration (url.<base>.insteadOf) makes another address of it, and of that: {0}"
    )]
    Rewritten(AddressError),
    /// The user's git configuration cannot be read.
    #[error("git's configuration {} cannot be read: {reason}", path.display())]
    Configuration {
        /// The file.
        path: PathBuf,
        /// Why, with the line.
        reason: String,
    },
    /// The server could not be talked to.
    #[error(transparent)]
    Connection(#[from] Failure),
    /// There is no repository at a `file://` address.
    #[error("{} is no repository: {reason}", path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
        /// What libgit2 says.
        reason: String,
    },
    /// What is pinned is no commit.
    #[error("the pinned {0:?} is no commit id of 40 digits")]
    Pin(String),
    /// A repository without a commit.
    #[error("the repository is empty; push a commit first")]
    Empty,
    /// A repository with SHA-256 ids.
    #[error(
        "the repository names its objects by SHA-256, which is not supported; use one with SHA-1"
    )]
    Sha256,
    /// `HEAD` of the repository names a branch that is not there.
    #[error("the repository has no default branch; name one with #REF{}", available(.0))]
    NoDefault(Vec<String>),
    /// The reference is not there.
    #[error("it has no branch, tag or commit {wanted:?}{}{}", meant(near.as_deref()), available(there))]
    NoReference {
        /// What was asked for.
        wanted: String,
        /// What was probably meant.
        near: Option<String>,
        /// Names of branches and tags, the first few.
        there: Vec<String>,
    },
    /// A commit that is neither advertised nor below a branch or tag.
    #[error(
        "it has no commit {id}, or none that a branch or tag leads to; it may have been overwritten"
    )]
    NoCommit {
        /// The full id.
        id: String,
    },
    /// A short id of several commits.
    #[error("{prefix} is the beginning of several commits: {}; write more digits", ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The first few.
        ids: Vec<String>,
    },
    /// A tag of something else, or the id of something else.
    #[error("{wanted:?} is a {kind}, not a commit")]
    NotACommit {
        /// What was asked for.
        wanted: String,
        /// `blob` or `tree`.
        kind: String,
    },
    /// The sub-directory is not there.
    #[error("it has no directory {path:?}{}{}", meant(near.as_deref()), holds(above, there))]
    NoDirectory {
        /// The sub-path asked for.
        path: String,
        /// What was probably meant.
        near: Option<String>,
        /// The last directory above that is there; empty for the root.
        above: String,
        /// What that holds, the first few.
        there: Vec<String>,
    },
    /// The sub-directory is a file or a link.
    #[error("{path:?} is a {kind}, not a directory")]
    NotADirectory {
        /// The part of the sub-path in question.
        path: String,
        /// `file`, or `link to …`.
        kind: String,
    },
    /// The sub-directory is, or lies in, another repository.
    #[error(
        "{path:?} is a submodule, a commit of another repository, and those are not fetched; import that repository itself"
    )]
    Submodule {
        /// The part of the sub-path in question.
        path: String,
    },
    /// The tree is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A tree that git itself would not write.
    #[error("the directory {path:?} of the repository is damaged or made up: {what}")]
    Tree {
        /// The directory.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// libgit2 says so.
    #[error("{0}")]
    Git(String),
    /// A rule of the user forbids the host.
    #[error("{0}")]
    Forbidden(String),
    /// To read it takes too much memory.
    #[error(
        "to unpack what the repository sent takes more than {} MiB of memory, or has no end; no repository of packages needs that, and this one may have been made to fill it",
        limit >> 20
    )]
    Memory {
        /// The most that is given, in bytes.
        limit: usize,
    },
    /// The working directory for the fetch cannot be used.
    #[error("no room for the fetch in {}: {error}", path.display())]
    Scratch {
        /// The directory for temporary files.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The user wanted to stop.
    #[error("stopped")]
    Stopped,
}

/// Why a server could not be talked to.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What the HTTP client says: no connection, no trusted certificate, silence,
    /// too much, broken off, a redirect that is not followed.
    #[error("{}: {}", .0.address, .0.kind)]
    Http(#[from] crate::net::Error),
    /// A proxy or a certificate of the user's that cannot be used.
    #[error("{0}")]
    Settings(String),
    /// No connection.
    #[error("{host} cannot be reached: {reason}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// Why.
        reason: String,
    },
    /// The answer broke off.
    #[error("the connection to {host} broke off: {reason}")]
    BrokenOff {
        /// Host and port.
        host: String,
        /// Why.
        reason: String,
    },
    /// Silence.
    #[error("{host} has sent nothing for {seconds} seconds")]
    Silent {
        /// Host and port.
        host: String,
        /// For how long.
        seconds: u64,
    },
    /// More than a repository may send.
    #[error(
        "{host} sends more than {limit} bytes; a single commit may be smaller: name a branch or a full commit id"
    )]
    TooMuch {
        /// Host and port.
        host: String,
        /// The limit.
        limit: u64,
    },
    /// It goes on, but too slowly.
    #[error("{host} has not said in {seconds} seconds what was asked; try again later")]
    TooSlow {
        /// Host and port.
        host: String,
        /// How long was waited.
        seconds: u64,
    },
    /// 401, and nothing to answer it with.
    #[error(
        "{host} asks for credentials (there may be no such repository), and neither .netrc nor git's credential helpers have any: sign in with git once (git ls-remote {url}), or use ssh"
    )]
    CredentialsMissing {
        /// Host and port.
        host: String,
        /// The address.
        url: String,
    },
    /// 401 to credentials.
    #[error("{host} does not accept the credentials that {from} has for it")]
    CredentialsRefused {
        /// Host and port.
        host: String,
        /// Where they came from.
        from: &'static str,
    },
    /// 401 after a redirect to another origin.
    #[error(
        "{from} redirects to {to}, which asks for credentials; give that address itself if you trust it"
    )]
    CredentialsElsewhere {
        /// The first origin.
        from: String,
        /// The second.
        to: String,
    },
    /// 403.
    #[error("{host} denies access{}", words(.said))]
    Denied {
        /// Host and port.
        host: String,
        /// The server's words.
        said: String,
    },
    /// 404 or 410.
    #[error("there is no repository at {url}, or none for everybody to see{}", words(.said))]
    NotFound {
        /// The address asked.
        url: String,
        /// The server's words.
        said: String,
    },
    /// Another status.
    #[error("{host} answers with status {status}{}", words(.said))]
    Status {
        /// Host and port.
        host: String,
        /// The status.
        status: u16,
        /// The server's words.
        said: String,
    },
    /// An answer of another protocol.
    #[error(
        "{url} answers with {kind}, not as a git server does (files of a repository behind a plain web server will not do)"
    )]
    NotGit {
        /// The address asked.
        url: String,
        /// The content type.
        kind: String,
    },
    /// A redirect that is not followed.
    #[error("{from} redirects to {to}, which is not followed: {why}")]
    Redirect {
        /// Where.
        from: String,
        /// Where to.
        to: String,
        /// Why not.
        why: &'static str,
    },
    /// The program for ssh does not start.
    #[error("the program for ssh ({program}) cannot be started: {reason}")]
    NoSsh {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// ssh, or the other side of it, says no.
    #[error("{host} over ssh: {said}{}", way_out(.said))]
    Ssh {
        /// The host.
        host: String,
        /// What ssh or the server wrote.
        said: String,
    },
    /// The configured program for ssh cannot be told the port.
    #[error(
        "the configured program for ssh takes no options (variant `simple`), so the port {port} cannot be given to it; set it in its configuration"
    )]
    SshPort {
        /// The port.
        port: u16,
    },
    /// The user wanted to stop.
    #[error("stopped")]
    Stopped,
}

fn words(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}

fn way_out(said: &str) -> &'static str {
    if said.contains("Host key verification failed") {
        "; connect once with ssh yourself and compare the key of the host"
    } else if said.contains("Permission denied") {
        "; is the key loaded (ssh-add -l)? Nothing is asked for here"
    } else {
        ""
    }
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean {near:?}?"))
        .unwrap_or_default()
}

fn available(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        // A branch and a tag may have the same name.
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        format!(" (there are: {})", names.join(", "))
    }
}

fn holds(above: &str, names: &[String]) -> String {
    let place = if above.is_empty() {
        "the repository".to_owned()
    } else {
        format!("{above:?}")
    };
    if names.is_empty() {
        format!(" ({place} holds no directories)")
    } else {
        format!(" ({place} holds: {})", names.join(", "))
    }
}

impl From<git2::Error> for Error {
    fn from(error: git2::Error) -> Self {
        Self::Git(shortened(error.message()))
    }
}
