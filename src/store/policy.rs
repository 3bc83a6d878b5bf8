//! `apkit.toml`: which packages may be installed, and where the catalogue looks.
//!
//! A package is refused when a rule of `deny` fits it, or when there are rules of
//! `allow` and none fits. A rule fits when every condition in it does. What the
//! source itself tells is held against the rules before anything is fetched; what
//! only the package tells (its name, version and digest), before it is installed.

use std::io;
use std::path::{Path, PathBuf};

use nodejs_semver::{Range, Version};
use serde::Deserialize;
use toml::Spanned;

use crate::source::{Kind, Resolved, Source, same_host};
use crate::sys;

/// Largest file of rules that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The name of the file.
pub const FILE: &str = "apkit.toml";

/// The rules of one or several files.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    files: Vec<Rules>,
}

/// Rules that cannot be read. Messages name file, line and column.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", path.display(), place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default())]
pub struct PolicyError {
    /// The file.
    pub path: PathBuf,
    /// Line and column, from 1, if it is about a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub problem: String,
}

/// A package that may not be installed. Messages name the rule and its file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Denied(String);

#[derive(Debug, Clone)]
struct Rules {
    path: PathBuf,
    sources: Vec<PathBuf>,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    line: usize,
    text: RuleText,
    version: Option<Range>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    sources: Vec<PathBuf>,
    #[serde(default)]
    allow: Vec<Spanned<RuleText>>,
    #[serde(default)]
    deny: Vec<Spanned<RuleText>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    kind: Option<KindText>,
    host: Option<String>,
    scope: Option<String>,
    name: Option<String>,
    plugin: Option<String>,
    version: Option<Spanned<String>>,
    integrity: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KindText {
    Directory,
    Git,
    Npm,
    Archive,
    Builtin,
}

impl KindText {
    fn kind(self) -> Kind {
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
pub(super) struct Facts<'a> {
    source: &'a Source,
    /// The host that is about to be asked, if only the configuration names it.
    host: Option<&'a str>,
    /// What came out of fetching it.
    fetched: Option<Content<'a>>,
}

/// What only its content tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content<'a> {
    /// The name in the manifest.
    pub(super) plugin: &'a str,
    /// The version in the manifest.
    pub(super) version: Option<&'a str>,
    /// Which content of the source it is.
    pub(super) resolved: &'a Resolved,
    /// The digest of the tree.
    pub(super) digest: &'a str,
}

impl<'a> Facts<'a> {
    /// Of a source that is not fetched yet.
    pub(super) fn before(source: &'a Source) -> Self {
        Self {
            source,
            host: None,
            fetched: None,
        }
    }

    /// Of a source that is not fetched yet, and for which `host` is to be asked.
    pub(super) fn at(source: &'a Source, host: &'a str) -> Self {
        Self {
            host: Some(host),
            ..Self::before(source)
        }
    }

    /// Of a package that was fetched.
    pub(super) fn after(source: &'a Source, content: Content<'a>) -> Self {
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

impl Policy {
    /// Reads the rules of those of the files that are there. All of them apply.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read or holds something that is no rule.
    pub fn read(paths: &[PathBuf]) -> Result<Self, PolicyError> {
        let mut files = Vec::new();
        for path in paths {
            let text = sys::read_regular(path, MAX_BYTES)
                .and_then(|text| String::from_utf8(text).map_err(io::Error::other));
            match text {
                Ok(text) => files.push(Rules::parse(path, &text)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(PolicyError {
                        path: path.clone(),
                        place: None,
                        problem: error.to_string(),
                    });
                }
            }
        }
        Ok(Self { files })
    }

    /// The directories that the catalogue looks into.
    pub fn sources(&self) -> impl Iterator<Item = &Path> {
        self.files
            .iter()
            .flat_map(|file| file.sources.iter().map(PathBuf::as_path))
    }

    /// Whether a package may be installed, as far as is known.
    pub(super) fn check(&self, facts: &Facts<'_>) -> Result<(), Denied> {
        for file in &self.files {
            file.check(facts)?;
        }
        Ok(())
    }
}

impl Rules {
    fn parse(path: &Path, text: &str) -> Result<Self, PolicyError> {
        let error = |span: Option<std::ops::Range<usize>>, problem: String| PolicyError {
            path: path.to_owned(),
            place: span.map(|span| line_and_column(text, span.start)),
            problem,
        };
        let file: FileText = toml::from_str(text)
            .map_err(|refused| error(refused.span(), refused.message().to_owned()))?;
        let rule = |rule: Spanned<RuleText>| {
            let (line, _) = line_and_column(text, rule.span().start);
            let rule = rule.into_inner();
            let version = match &rule.version {
                None => None,
                Some(range) => Some(Range::parse(range.get_ref()).map_err(|_| {
                    let problem = format!("{:?} is no range of versions", range.get_ref());
                    error(Some(range.span()), problem)
                })?),
            };
            Ok(Rule {
                line,
                text: rule,
                version,
            })
        };
        let base = path.parent().unwrap_or(Path::new(""));
        Ok(Self {
            path: path.to_owned(),
            sources: file
                .sources
                .iter()
                .map(|source| base.join(source))
                .collect(),
            allow: file.allow.into_iter().map(rule).collect::<Result<_, _>>()?,
            deny: file.deny.into_iter().map(rule).collect::<Result<_, _>>()?,
        })
    }

    fn check(&self, facts: &Facts<'_>) -> Result<(), Denied> {
        let denying = self.deny.iter().find(|rule| rule.fit(facts) == Fit::Yes);
        if let Some(rule) = denying {
            let reason = match &rule.text.reason {
                Some(reason) => format!(": {reason}"),
                None => String::new(),
            };
            return Err(Denied(format!(
                "the rule [[deny]] {{ {} }} at {}:{} forbids it{reason}",
                rule.conditions(),
                self.path.display(),
                rule.line
            )));
        }
        if self.allow.is_empty() || self.allow.iter().any(|rule| rule.fit(facts) != Fit::No) {
            return Ok(());
        }
        let rules: Vec<String> = self
            .allow
            .iter()
            .map(|rule| format!("line {}: {{ {} }}", rule.line, rule.conditions()))
            .collect();
        Err(Denied(format!(
            "no rule [[allow]] of {} fits it ({})",
            self.path.display(),
            rules.join("; ")
        )))
    }
}

impl Rule {
    fn fit(&self, facts: &Facts<'_>) -> Fit {
        let source = facts.source;
        let text = &self.text;
        let content = facts.fetched;
        let known = |pattern: &Option<String>, value: Option<String>| match (pattern, value) {
            (None, _) => Fit::Yes,
            (Some(_), None) => Fit::No,
            (Some(pattern), Some(value)) => is(matches(pattern, &value)),
        };
        let conditions = [
            text.kind
                .map_or(Fit::Yes, |kind| is(kind.kind() == source.kind())),
            match (&text.host, facts.host()) {
                (None, _) => Fit::Yes,
                (Some(_), Known::NotYet) => Fit::Maybe,
                (Some(_), Known::Nothing) => Fit::No,
                (Some(pattern), Known::Is(host)) => {
                    is(matches(&same_host(pattern), &same_host(&host)))
                }
            },
            known(&text.scope, source.scope()),
            known(&text.name, source.name()),
            match (&text.plugin, content) {
                (None, _) => Fit::Yes,
                (Some(_), None) => Fit::Maybe,
                (Some(pattern), Some(content)) => is(matches(pattern, content.plugin)),
            },
            match (&self.version, facts.version()) {
                (None, _) => Fit::Yes,
                (Some(_), Known::NotYet) => Fit::Maybe,
                (Some(_), Known::Nothing) => Fit::No,
                (Some(range), Known::Is(version)) => is(Version::parse(version)
                    .is_ok_and(|version| range.satisfies_with_prerelease(&version, true))),
            },
            match (&text.integrity, content) {
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
        let kind = text.kind.map(|kind| kind.kind().as_str().to_owned());
        let version = text.version.as_ref().map(|range| range.get_ref().clone());
        let conditions = [
            ("kind", &kind),
            ("host", &text.host),
            ("scope", &text.scope),
            ("name", &text.name),
            ("plugin", &text.plugin),
            ("version", &version),
            ("integrity", &text.integrity),
        ];
        let written: Vec<String> = conditions
            .into_iter()
            .filter_map(|(key, value)| Some(format!("{key} = {:?}", value.as_ref()?)))
            .collect();
        written.join(", ")
    }
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

/// Whether a name fits a pattern, in which `*` stands for any text. Case does not
/// count.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*.example.com", "git.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "evil-example.com", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("ab*b", "ab", false),
            ("GitHub.com", "github.COM", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_no_rule_is_named_with_its_place() {
        for (text, wanted) in [
            ("colour = 1\n", "/p/apkit.toml:1:1: unknown field `colour`"),
            (
                "\n[[deny]]\nkind = \"git\"\nhots = \"x\"\n",
                "/p/apkit.toml:4:1: unknown field `hots`",
            ),
            (
                "[[deny]]\nkind = \"svn\"\n",
                "/p/apkit.toml:2:8: unknown variant `svn`",
            ),
            (
                "[[deny]]\nversion = \"newest one\"\n",
                "/p/apkit.toml:2:11: \"newest one\" is no range of versions",
            ),
            ("[[deny]\n", "/p/apkit.toml:1:"),
        ] {
            let error = Rules::parse(Path::new("/p/apkit.toml"), text).expect_err(text);
            assert!(error.to_string().starts_with(wanted), "{error}");
        }
    }
}
