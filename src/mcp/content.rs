//! The content of a package as the user's rules name it (AP-19).

use std::path::Path;

use crate::archive::{Digest, Limits, Node, Tree};

/// The digest of what stands in the directory `root` now.
///
/// # Errors
///
/// Why it has none: something can be no part of a package or cannot be read, or a
/// link leads out of it or nowhere, so that what is behind it could change and the
/// digest would not.
pub fn digest(root: &Path) -> Result<Digest, String> {
    let tree = Tree::of_directory(root, &Limits::default()).map_err(|error| error.to_string())?;
    let physical = root.canonicalize().map_err(|error| error.to_string())?;
    let is_link = |node: &Node| matches!(node, Node::Link { .. });
    for (path, _) in tree.entries.iter().filter(|(_, node)| is_link(node)) {
        // A link that leads nowhere may lead outside tomorrow.
        let target = physical.join(path.as_str()).canonicalize();
        if !target.is_ok_and(|target| target.starts_with(&physical)) {
            return Err(format!(
                "the link {:?} leads out of the package or nowhere, and what is there is no part of its content",
                path.as_str()
            ));
        }
    }
    Ok(tree.digest())
}
