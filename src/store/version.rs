//! Versions of packages, which are free text to the specification.

use semver::Version;

use super::lock_file::Entry;
use crate::archive::Digest;
use crate::source::Resolved;

/// How far apart two versions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionChange {
    /// The first number, or the first after 0, has grown: things may break.
    Major,
    /// The second number has grown.
    Minor,
    /// The third number or the pre-release has grown.
    Patch,
    /// The later one is lower.
    Downgrade,
}

impl VersionChange {
    /// From one version to another; nothing unless both are semantic versions and
    /// differ in more than build metadata.
    pub fn between(before: Option<&str>, after: Option<&str>) -> Option<Self> {
        let [before, after] = [before?, after?].map(Version::parse);
        let (before, after) = (before.ok()?, after.ok()?);
        let order = before.cmp_precedence(&after);
        if order.is_eq() {
            return None;
        }
        Some(if order.is_gt() {
            Self::Downgrade
        } else if before.major != after.major || (after.major == 0 && before.minor != after.minor) {
            Self::Major
        } else if before.minor != after.minor {
            Self::Minor
        } else {
            Self::Patch
        })
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Major => "major",
            Self::Minor => "minor",
            Self::Patch => "patch",
            Self::Downgrade => "downgrade",
        }
    }
}

/// Something that names one content for good, and names another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewritten {
    /// A version of an npm package, or of what an archive behind an address holds,
    /// which was published again.
    Version(String),
    /// A tag of a repository, which was moved.
    Tag(String),
}

impl Rewritten {
    /// What was rewritten between one content of a package and a later one of the
    /// same source.
    pub fn between(before: &Entry, after: &Entry) -> Option<Self> {
        if before.source.key() != after.source.key() {
            return None;
        }
        match (&before.resolved, &after.resolved) {
            (
                Resolved::Version {
                    version: one,
                    integrity: before,
                    ..
                },
                Resolved::Version {
                    version: other,
                    integrity: after,
                    ..
                },
            ) => (one == other && before != after).then(|| Self::Version(one.clone())),
            (
                Resolved::Commit {
                    id: before,
                    reference: Some(one),
                },
                Resolved::Commit {
                    id: after,
                    reference: Some(other),
                },
            ) if one == other && before != after => one
                .strip_prefix("refs/tags/")
                .map(|tag| Self::Tag(tag.to_owned())),
            // An archive behind an address is published; one on this machine, like a
            // directory, is somebody's work.
            (Resolved::Archive { .. }, Resolved::Archive { .. })
                if !after.source.is_here()
                    && before.digest != after.digest
                    && before.version == after.version =>
            {
                after.version.clone().map(Self::Version)
            }
            _ => None,
        }
    }

    /// The word for what it is.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Version(_) => "version",
            Self::Tag(_) => "tag",
        }
    }
}

/// The version to show for a package: that of its manifest, or one made of its
/// content if that is absent or no semantic version (AP-21).
pub fn shown_version(version: Option<&str>, digest: &Digest) -> String {
    match version {
        Some(version) if is_version(version) => version.to_owned(),
        _ => {
            let digest = digest.to_string();
            let digits = digest.split(':').next_back().unwrap_or_default();
            format!("0.0.0+{}", digits.get(..12).unwrap_or(digits))
        }
    }
}

/// Whether a text is a semantic version.
pub(super) fn is_version(text: &str) -> bool {
    Version::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_size() {
        for (before, after, wanted) in [
            ("1.2.3", "1.2.4", Some("patch")),
            ("1.2.3", "1.3.0", Some("minor")),
            ("1.2.3", "2.0.0", Some("major")),
            ("0.1.0", "0.2.0", Some("major")),
            ("0.1.0", "0.1.1", Some("patch")),
            ("1.0.0-rc.1", "1.0.0", Some("patch")),
            ("2.0.0", "1.9.9", Some("downgrade")),
            ("1.0.0+a", "1.0.0+b", None),
            ("1.0.0", "1.0.0", None),
            ("1.0", "2.0.0", None),
        ] {
            let change = VersionChange::between(Some(before), Some(after));
            assert_eq!(
                change.map(VersionChange::as_str),
                wanted,
                "{before} {after}"
            );
        }
        assert_eq!(VersionChange::between(None, Some("1.0.0")), None);
    }

    #[test]
    fn a_package_without_a_usable_version_shows_its_content() {
        let digest = Digest::of(b"");
        assert_eq!(shown_version(Some("1.2.0"), &digest), "1.2.0");
        for unusable in [None, Some(""), Some("latest"), Some("1.2")] {
            let shown = shown_version(unusable, &digest);
            assert_eq!(shown, "0.0.0+e3b0c44298fc");
            assert!(Version::parse(&shown).is_ok());
        }
    }
}
