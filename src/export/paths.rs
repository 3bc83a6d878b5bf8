//! Paths as manifests write them.

/// A path as manifests write it, relative to the package; `None` if it leads out.
pub(super) fn relative(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" if parts.is_empty() && path.starts_with('/') => return None,
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_manifests() {
        for (path, wanted) in [
            ("./a/b/", Some("a/b")),
            ("a", Some("a")),
            ("./", Some("")),
            ("./a/../b", Some("b")),
            ("../a", None),
            ("/a", None),
        ] {
            assert_eq!(relative(path).as_deref(), wanted, "{path}");
        }
    }
}
