//! What is different between two trees.

use std::fmt;

use super::EntryPath;
use super::tree::Node;

/// One difference between two trees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The path of the entry.
    pub path: EntryPath,
    /// What became of it.
    pub kind: ChangeKind,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.path.as_str(), self.kind)
    }
}

/// What became of an entry. Messages read after its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum ChangeKind {
    /// It was not there.
    #[error("was added")]
    Added,
    /// It is not there any more.
    #[error("was removed")]
    Removed,
    /// A file with other content.
    #[error("has other content")]
    Content,
    /// A file that became executable, or is so no longer.
    #[error("has another executable bit")]
    Executable,
    /// A link that points elsewhere.
    #[error("points elsewhere")]
    Target,
    /// A link in the place of a file, or the reverse.
    #[error("is of another kind")]
    Kind,
}

pub(super) fn change(before: &Node, after: &Node) -> Option<ChangeKind> {
    match (before, after) {
        (Node::Link { target: one }, Node::Link { target: other }) => {
            (one != other).then_some(ChangeKind::Target)
        }
        (
            Node::File {
                sha256,
                size,
                executable,
            },
            Node::File {
                sha256: other_sha256,
                size: other_size,
                executable: other_executable,
            },
        ) => {
            if (sha256, size) != (other_sha256, other_size) {
                Some(ChangeKind::Content)
            } else if cfg!(unix) && executable != other_executable {
                Some(ChangeKind::Executable)
            } else {
                None
            }
        }
        _ => Some(ChangeKind::Kind),
    }
}
