//! Which version is meant: as npm chooses it, but for `engines`, since nothing
//! of a package is run with the node that is installed.

use std::cmp::Reverse;

use nodejs_semver::{Range, Version};

use super::packument::Packument;

/// What may stand behind the `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted<'t> {
    /// One version.
    Version(Version),
    /// Any version of these.
    Range(Range),
    /// The version of a tag.
    Tag(&'t str),
}

/// The name of the tag that stands for "the current version".
const LATEST: &str = "latest";

impl<'t> Wanted<'t> {
    fn read(text: &'t str) -> Self {
        let text = text.trim();
        // `v1.2.3` and `=1.2.3` are versions, not ranges that one version fits.
        let bare = text.trim_start_matches(['=', 'v', ' ']);
        if bare.starts_with(|c: char| c.is_ascii_digit())
            && let Ok(version) = Version::parse(bare)
        {
            return Self::Version(version);
        }
        match Range::parse(text) {
            Ok(range) => Self::Range(range),
            Err(_) => Self::Tag(text),
        }
    }
}

/// The version that `wanted` means; without it, the current one.
pub(super) fn pick<'p>(packument: &'p Packument, wanted: Option<&str>) -> Option<&'p str> {
    let known = |version: &str| {
        let entry = packument.versions.get_key_value(version);
        entry.map(|(version, _)| version.as_str())
    };
    let current = packument.tags.get(LATEST).and_then(|tag| tag.text());
    let (range, any) = match wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) {
        None | Some("*") => (Range::any(), true),
        Some(wanted) => match Wanted::read(wanted) {
            Wanted::Tag(tag) => {
                return known(packument.tags.get(tag)?.text()?);
            }
            Wanted::Version(version) => return exactly(packument, &version),
            Wanted::Range(range) => (range, false),
        },
    };
    let fits = |version: &str| {
        let version = Version::parse(version).ok()?;
        range.satisfies(&version).then_some(version)
    };
    // The current version is preferred to a higher one that is not current yet.
    if let Some(current) = current
        && (any || fits(current).is_some())
        && let Some((version, entry)) = packument.versions.get_key_value(current)
        && !entry.is_deprecated()
    {
        return Some(version);
    }
    packument
        .versions
        .iter()
        .filter_map(|(text, entry)| Some((text, entry, fits(text)?)))
        .max_by_key(|(text, entry, version)| {
            // The text decides between two that differ in build metadata only.
            (
                !entry.is_deprecated(),
                version.clone(),
                Reverse(text.len()),
                *text,
            )
        })
        .map(|(text, _, _)| text.as_str())
}

/// The version of exactly this number, whatever build it names.
fn exactly<'p>(packument: &'p Packument, wanted: &Version) -> Option<&'p str> {
    let same = |version: &Version| {
        (
            version.major(),
            version.minor(),
            version.patch(),
            version.pre_release(),
        ) == (
            wanted.major(),
            wanted.minor(),
            wanted.patch(),
            wanted.pre_release(),
        )
    };
    let spelled = wanted.to_string();
    let mut found: Vec<_> = packument
        .versions
        .keys()
        .filter(|text| Version::parse(text).is_ok_and(|version| same(&version)))
        .map(String::as_str)
        .collect();
    found.sort_by_key(|text| (*text != spelled, text.len(), *text));
    found.first().copied()
}

/// The highest versions, newest first, to show what there is.
pub(super) fn highest(packument: &Packument, count: usize) -> Vec<&str> {
    let mut versions: Vec<_> = packument
        .versions
        .keys()
        .filter_map(|text| Some((Version::parse(text).ok()?, text.as_str())))
        .collect();
    versions.sort_by(|one, other| other.cmp(one));
    versions
        .into_iter()
        .take(count)
        .map(|(_, text)| text)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{highest, pick};
    use crate::source::npm::packument::Packument;

    /// `!` marks a version as deprecated.
    fn packument(tags: &[(&str, &str)], versions: &[&str]) -> Packument {
        let tags: serde_json::Map<String, serde_json::Value> = tags
            .iter()
            .map(|(tag, version)| ((*tag).to_owned(), (*version).into()))
            .collect();
        let versions: serde_json::Map<String, serde_json::Value> = versions
            .iter()
            .map(|version| {
                let deprecated = version.starts_with('!').then_some("old");
                let entry = serde_json::json!({ "deprecated": deprecated });
                (version.trim_start_matches('!').to_owned(), entry)
            })
            .collect();
        let all = serde_json::json!({ "dist-tags": tags, "versions": versions });
        serde_json::from_value(all).unwrap_or_else(|error| unreachable!("{error}"))
    }

    #[test]
    fn versions_ranges_and_tags() {
        let tags = [
            ("latest", "1.2.0"),
            ("next", "2.0.0-rc.1"),
            ("gone", "9.9.9"),
            ("v-one", "1.0.0"),
        ];
        let packument = packument(
            &tags,
            &[
                "0.9.0",
                "1.0.0",
                "1.2.0",
                "1.10.0",
                "!1.11.0",
                "2.0.0-rc.1",
                "2.0.0-rc.2",
                "!3.0.0",
                "4.0.0+b1",
            ],
        );
        for (wanted, version) in [
            // The current version is preferred where it fits, also to higher ones.
            (None, Some("1.2.0")),
            (Some(""), Some("1.2.0")),
            (Some("latest"), Some("1.2.0")),
            (Some("*"), Some("1.2.0")),
            (Some("x"), Some("1.2.0")),
            (Some("^1"), Some("1.2.0")),
            (Some(">=1.0.0 <2"), Some("1.2.0")),
            (Some("1"), Some("1.2.0")),
            // Where it does not fit, the highest that is not deprecated.
            (Some("^1.3.0"), Some("1.10.0")),
            (Some("<1"), Some("0.9.0")),
            (Some("~1.0.0 || ^0.9.0"), Some("1.0.0")),
            (Some("1.0.0 - 1.1.0"), Some("1.0.0")),
            (Some(">=1.11.0 <2"), Some("1.11.0")),
            (Some("^3"), Some("3.0.0")),
            (Some("5"), None),
            // Prereleases only where the range names one of the same version.
            (Some("^2"), None),
            (Some("^2.0.0-rc.0"), Some("2.0.0-rc.2")),
            (Some(">=2.0.0-rc.0 <2.0.0"), Some("2.0.0-rc.2")),
            // One version, however it is spelt.
            (Some("1.0.0"), Some("1.0.0")),
            (Some(" v1.0.0 "), Some("1.0.0")),
            (Some("=1.0.0"), Some("1.0.0")),
            (Some("2.0.0-rc.1"), Some("2.0.0-rc.1")),
            (Some("3.0.0"), Some("3.0.0")),
            (Some("4.0.0"), Some("4.0.0+b1")),
            (Some("1.0.1"), None),
            // Tags.
            (Some("next"), Some("2.0.0-rc.1")),
            (Some("v-one"), Some("1.0.0")),
            (Some("gone"), None),
            (Some("none"), None),
        ] {
            assert_eq!(pick(&packument, wanted), version, "{wanted:?}");
        }
        assert_eq!(highest(&packument, 3), ["4.0.0+b1", "3.0.0", "2.0.0-rc.2"]);
    }

    #[test]
    fn a_current_version_that_is_deprecated_or_a_prerelease() {
        let old = packument(&[("latest", "2.0.0")], &["1.0.0", "!2.0.0"]);
        assert_eq!(pick(&old, None), Some("1.0.0"));
        assert_eq!(pick(&old, Some("latest")), Some("2.0.0"));
        let all = packument(&[("latest", "2.0.0")], &["!1.0.0", "!2.0.0"]);
        assert_eq!(pick(&all, None), Some("2.0.0"));
        let early = packument(
            &[("latest", "1.0.0-beta.2")],
            &["1.0.0-beta.1", "1.0.0-beta.2"],
        );
        assert_eq!(pick(&early, None), Some("1.0.0-beta.2"));
        assert_eq!(pick(&early, Some(">=0")), None);
        assert_eq!(pick(&packument(&[], &[]), None), None);
        assert_eq!(
            pick(&packument(&[], &["1.0.0", "junk"]), None),
            Some("1.0.0")
        );
    }
}
