//! Trees of files from outside, taken in entry by entry: what a package
//! consists of, and archives as one form of it.
//!
//! Whatever a package comes from — a directory, a repository, an archive — its
//! entries pass through a [`Stage`], which refuses every name and link that some
//! system would read differently, holds the [`Limits`], and ends in a [`Tree`].
//! So the same content gives the same bytes, modes and digest wherever it came
//! from. Nothing is ever unpacked by a library.

mod copy;
mod difference;
mod fold;
mod limits;
mod link;
mod path;
mod read;
mod refusal;
mod stage;
mod tree;
mod walk;
mod write;

pub use copy::{copy_directory, digest_of_copy};
pub use difference::{Change, ChangeKind};
pub(crate) use fold::fold;
pub use limits::Limits;
pub(crate) use path::is_git;
pub use path::{EntryPath, PathProblem};
pub use read::{Format, below_top, root_of, unpack};
pub use refusal::{LeftOut, LeftOutReason, LinkProblem, Refusal};
pub use stage::{Count, Links, Stage, Staged};
pub use tree::{Digest, ListingError, Node, Tree};
pub use write::{Content, Item, tgz, zip};
