//! Which packages may be installed: the rules `[[allow]]` and `[[deny]]`.
//!
//! A package is refused when a rule of `deny` fits it, or when there are rules of
//! `allow` and none fits. What the source itself tells is held against the rules
//! before anything is fetched; what only the package tells (its name, version and
//! digest), before it is installed.

use nodejs_semver::{Range, Version};
use serde::Deserialize;
use toml::Spanned;

use super::{Denied, Place, is_host, matches};
use crate::source::{Kind, Resolved, Source};

#[derive(Debug, Clone)]
pub(super) struct Rule {
    place: Place,
    text: RuleText,
    version: Option<Range>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText {
    pub(super) kind: Option<KindText>,
    pub(super) host: Option<Spanned<String>>,
    pub(super) scope: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) plugin: Option<Spanned<String>>,
    pub(super) version: Option<Spanned<String>>,
    pub(super) integrity: Option<Spanned<String>>,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KindText {
    Directory,
    Git,
    Npm,
    Archive,
    Builtin,
}

impl KindText {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Directory => Kind::Directory,
            Self::Git => Kind::Git,
            Self::Npm => Kind::Npm,
            Self::Archive => Kind::Archive,
            Self::Builtin => Kind::Builtin,
        }
    }
}

/// What is known of a package.
#[derive(Debug)]
pub(in crate::store) struct Facts<'a> {
    source: &'a Source,
    /// The host that is about to be asked, if only the configuration names it.
    host: Option<&'a str>,
    /// What came out of fetching it.
    fetched: Option<Content<'a>>,
}

/// What only its content tells.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Content<'a> {
    /// The name in the manifest, if that is one.
    pub(in crate::store) plugin: Option<&'a str>,
    /// The version in the manifest.
    pub(in crate::store) version: Option<&'a str>,
    /// Which content of the source it is.
    pub(in crate::store) resolved: &'a Resolved,
    /// The digest of the tree.
    pub(in crate::store) digest: &'a str,
}

impl<'a> Facts<'a> {
    /// Of a source that is not fetched yet.
    pub(in crate::store) fn before(source: &'a Source) -> Self {
        Self {
            source,
            host: None,
            fetched: None,
        }
    }

    /// Of a source that is not fetched yet, and for which `host` is to be asked.
    pub(in crate::store) fn at(source: &'a Source, host: &'a str) -> Self {
        Self {
            host: Some(host),
            ..Self::before(source)
        }
    }

    /// Of a package that was fetched.
    pub(in crate::store) fn after(source: &'a Source, content: Content<'a>) -> Self {
        Self {
            source,
            host: None,
            fetched: Some(content),
        }
    }

    /// The host, or that it is not known yet: which registry a package comes from
    /// depends on the configuration of npm.
    fn host(&self) -> Known<String> {
        if let Some(host) = self.host {
            return Known::Is(host.to_owned());
        }
        if !matches!(self.source, Source::Npm(_)) {
            return self.source.host().map_or(Known::Nothing, Known::Is);
        }
        match self.fetched.map(|content| content.resolved) {
            None => Known::NotYet,
            Some(Resolved::Version { tarball, .. }) => url::Url::parse(tarball)
                .ok()
                .and_then(|url| url.host_str().map(str::to_owned))
                .map_or(Known::Nothing, Known::Is),
            Some(_) => Known::Nothing,
        }
    }

    /// The version, or that it is not known yet.
    fn version(&self) -> Known<String> {
        if let Source::Npm(npm) = self.source
            && let Some(wanted) = &npm.wanted
            && Version::parse(wanted).is_ok()
        {
            return Known::Is(wanted.clone());
        }
        match self.fetched {
            None => Known::NotYet,
            Some(content) => match content.resolved {
                Resolved::Version { version, .. } => Known::Is(version.clone()),
                _ => content
                    .version
                    .map_or(Known::Nothing, |version| Known::Is(version.to_owned())),
            },
        }
    }
}

/// A fact that may become known later.
enum Known<T> {
    Is(T),
    Nothing,
    NotYet,
}

/// Whether a rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// As far as is known.
    Maybe,
}

/// The rules of one file.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) allow: Vec<Rule>,
    pub(super) deny: Vec<Rule>,
}

impl Rules {
    pub(super) fn check(&self, facts: &Facts<'_>) -> Result<(), Denied> {
        let denying = self.deny.iter().find(|rule| rule.fit(facts) == Fit::Yes);
        if let Some(rule) = denying {
            return Err(Denied::by(
                "deny",
                &rule.conditions(),
                &rule.place,
                rule.text.reason.as_deref(),
            ));
        }
        if self.allow.is_empty() || self.allow.iter().any(|rule| rule.fit(facts) != Fit::No) {
            return Ok(());
        }
        let allow = self
            .allow
            .iter()
            .map(|rule| (rule.conditions(), &rule.place));
        Err(Denied::by_none("allow", allow))
    }
}

impl Rule {
    /// Reads one; the error is about a place in it.
    pub(super) fn new(
        place: Place,
        text: Spanned<RuleText>,
    ) -> Result<Self, (std::ops::Range<usize>, String)> {
        let rule = text.span();
        let text = text.into_inner();
        text.check(rule)?;
        let version = match &text.version {
            None => None,
            Some(range) => Some(Range::parse(range.get_ref()).map_err(|_| {
                let problem = format!("{:?} is no range of versions", range.get_ref());
                (range.span(), problem)
            })?),
        };
        Ok(Self {
            place,
            text,
            version,
        })
    }

    fn fit(&self, facts: &Facts<'_>) -> Fit {
        let source = facts.source;
        let text = &self.text;
        let content = facts.fetched;
        let known = |pattern, value: Option<String>| match (written(pattern), value) {
            (None, _) => Fit::Yes,
            (Some(_), None) => Fit::No,
            (Some(pattern), Some(value)) => is(matches(pattern, &value)),
        };
        let conditions = [
            text.kind
                .map_or(Fit::Yes, |kind| is(kind.kind() == source.kind())),
            match (written(&text.host), facts.host()) {
                (None, _) => Fit::Yes,
                (Some(_), Known::NotYet) => Fit::Maybe,
                (Some(_), Known::Nothing) => Fit::No,
                (Some(pattern), Known::Is(host)) => is(is_host(pattern, &host)),
            },
            known(&text.scope, source.scope()),
            known(&text.name, source.name()),
            match (
                written(&text.plugin),
                content.and_then(|content| content.plugin),
            ) {
                (None, _) => Fit::Yes,
                (Some(_), None) => Fit::Maybe,
                (Some(pattern), Some(plugin)) => is(matches(pattern, plugin)),
            },
            match (&self.version, facts.version()) {
                (None, _) => Fit::Yes,
                (Some(_), Known::NotYet) => Fit::Maybe,
                (Some(_), Known::Nothing) => Fit::No,
                (Some(range), Known::Is(version)) => is(Version::parse(version)
                    .is_ok_and(|version| range.satisfies_with_prerelease(&version, true))),
            },
            match (written(&text.integrity), content) {
                (None, _) => Fit::Yes,
                (Some(_), None) => Fit::Maybe,
                (Some(wanted), Some(content)) => is(has_integrity(&content, wanted)),
            },
        ];
        if conditions.contains(&Fit::No) {
            Fit::No
        } else if conditions.contains(&Fit::Maybe) {
            Fit::Maybe
        } else {
            Fit::Yes
        }
    }

    /// The rule as its file says it.
    fn conditions(&self) -> String {
        let text = &self.text;
        super::conditions(&[
            ("kind", text.kind.map(|kind| kind.kind().as_str())),
            ("host", written(&text.host)),
            ("scope", written(&text.scope)),
            ("name", written(&text.name)),
            ("plugin", written(&text.plugin)),
            ("version", written(&text.version)),
            ("integrity", written(&text.integrity)),
        ])
    }
}

/// A condition as its file says it.
pub(super) fn written(text: &Option<Spanned<String>>) -> Option<&str> {
    text.as_ref().map(|text| text.get_ref().as_str())
}

fn is(fits: bool) -> Fit {
    if fits { Fit::Yes } else { Fit::No }
}

/// Whether `wanted` is the digest of the tree, or what the source pins: the
/// integrity of a tarball or archive, or a commit.
fn has_integrity(content: &Content<'_>, wanted: &str) -> bool {
    let pinned = match content.resolved {
        Resolved::Content => None,
        Resolved::Commit { id, .. } => Some(id),
        Resolved::Version { integrity, .. } | Resolved::Archive { integrity } => Some(integrity),
    };
    content.digest == wanted || pinned.is_some_and(|pinned| pinned == wanted)
}
