//! `apkit.toml`: which packages may be installed, which of their servers may be
//! started and connected to, and where the catalogue looks.
//!
//! | module | rules |
//! | --- | --- |
//! | `install`, `condition` | `[[allow]]`, `[[deny]]`: packages |
//! | `server` | `[[stdio.allow]]`, `[[stdio.deny]]`, `[[remote.allow]]`, `[[remote.deny]]`: servers |
//!
//! A rule fits when every condition in it does.

mod condition;
mod install;
mod server;

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) use self::install::{Content, Facts};
pub use self::server::{Outdated, Program, Start};
use crate::source::same_host;
use crate::spec::pattern;
use crate::sys;

/// Largest file of rules that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The JSON Schema (2020-12) of the file, for editors: what can be said of its values
/// without reading them, as ranges of versions have to be, is not in it.
pub const SCHEMA: &str = include_str!("../../schemas/policy.v1.schema.json");

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

/// What a rule forbids. Messages name the rule and its place.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Denied(String);

impl Denied {
    /// By the rule `[[list]] { conditions }`.
    fn by(list: &str, conditions: &str, place: &Place, reason: Option<&str>) -> Self {
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        Self(format!(
            "the rule {} forbids it{reason}",
            written(list, conditions, place)
        ))
    }

    /// As none of these rules, all of one file, fits.
    fn by_none<'r>(list: &str, rules: impl Iterator<Item = (String, &'r Place)>) -> Self {
        let mut path = None;
        let rules: Vec<String> = rules
            .map(|(conditions, place)| {
                path = Some(&place.path);
                format!("line {}: {{ {conditions} }}", place.line)
            })
            .collect();
        let path = path.map_or_else(String::new, |path| path.display().to_string());
        Self(format!(
            "no rule [[{list}]] of {path} fits it ({})",
            rules.join("; ")
        ))
    }
}

/// A rule as messages name it.
fn written(list: &str, conditions: &str, place: &Place) -> String {
    format!("{} at {place}", named(list, conditions))
}

/// The same without its place.
fn named(list: &str, conditions: &str) -> String {
    format!("[[{list}]] {{ {conditions} }}")
}

/// Where a rule stands.
#[derive(Debug, Clone)]
struct Place {
    path: PathBuf,
    /// From 1.
    line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

/// The rules of one file.
#[derive(Debug, Clone)]
struct Rules {
    sources: Vec<PathBuf>,
    install: install::Rules,
    servers: server::Rules,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    sources: Vec<PathBuf>,
    #[serde(default)]
    allow: Vec<Spanned<install::RuleText>>,
    #[serde(default)]
    deny: Vec<Spanned<install::RuleText>>,
    #[serde(default)]
    stdio: server::StdioText,
    #[serde(default)]
    remote: server::RemoteText,
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

    /// These rules and those of `other`: both apply.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.files.extend(other.files.iter().cloned());
        self
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
            file.install.check(facts)?;
        }
        Ok(())
    }
}

impl Rules {
    fn parse(path: &Path, text: &str) -> Result<Self, PolicyError> {
        let error = |span: Option<Range<usize>>, problem: String| PolicyError {
            path: path.to_owned(),
            place: span.map(|span| line_and_column(text, span.start)),
            problem,
        };
        let file: FileText = toml::from_str(text).map_err(|refused| {
            let (span, problem) = match no_list(text) {
                Some((span, problem)) => (Some(span), problem),
                None => (refused.span(), refused.message().to_owned()),
            };
            error(span, problem)
        })?;
        let place = |span: Range<usize>| Place {
            path: path.to_owned(),
            line: line_and_column(text, span.start).0,
        };
        let rule = |rule: Spanned<install::RuleText>| {
            install::Rule::new(place(rule.span()), rule)
                .map_err(|(span, problem)| error(Some(span), problem))
        };
        let base = path.parent().unwrap_or(Path::new(""));
        Ok(Self {
            sources: file
                .sources
                .iter()
                .map(|source| base.join(source))
                .collect(),
            install: install::Rules {
                allow: file.allow.into_iter().map(rule).collect::<Result<_, _>>()?,
                deny: file.deny.into_iter().map(rule).collect::<Result<_, _>>()?,
            },
            servers: server::Rules::new(file.stdio, file.remote, &place)
                .map_err(|(span, problem)| error(Some(span), problem))?,
        })
    }
}

/// What is wrong with rules that are written as anything but a list of tables, and
/// where: another place may have been refused before.
fn no_list(text: &str) -> Option<(Range<usize>, String)> {
    let file = DeTable::parse(text).ok()?;
    let lists = [
        (None, "allow"),
        (None, "deny"),
        (Some("stdio"), "allow"),
        (Some("stdio"), "deny"),
        (Some("remote"), "allow"),
        (Some("remote"), "deny"),
    ];
    lists.into_iter().find_map(|(above, list)| {
        let table = match above {
            None => Some(file.get_ref()),
            Some(above) => file.get_ref().get(above)?.get_ref().as_table(),
        };
        let rules = table?.get(list)?;
        let wrong = match rules.get_ref() {
            DeValue::Array(rules) => rules.iter().find(|rule| !rule.get_ref().is_table())?,
            _ => rules,
        };
        let name = above.map_or_else(|| list.to_owned(), |above| format!("{above}.{list}"));
        let problem =
            format!("rules are a list of tables: write `[[{name}]]`, and the conditions below it");
        Some((wrong.span(), problem))
    })
}

/// The conditions of a rule as its file says them.
fn conditions(conditions: &[(&str, Option<&str>)]) -> String {
    let written: Vec<String> = conditions
        .iter()
        .filter_map(|(key, value)| Some(format!("{key} = {:?}", (*value)?)))
        .collect();
    written.join(", ")
}

/// Whether a host fits a pattern, in whatever spelling.
fn is_host(pattern: &str, host: &str) -> bool {
    matches(&same_host(pattern), &same_host(host))
}

/// Whether a name fits a pattern, in which `*` stands for any text. Case does not
/// count.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    pattern::fits(&pattern, &text)
}

/// Whether a pattern of hosts ends in a port; an address of IPv6 is none.
fn has_port(host: &str) -> bool {
    let (name, port) = host.rsplit_once(':').unwrap_or_default();
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_number && !name.is_empty() && (!name.contains(':') || name.ends_with(']'))
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
            (
                "[deny]\nkind = \"npm\"\n",
                "/p/apkit.toml:1:1: rules are a list of tables: write `[[deny]]`",
            ),
            (
                "deny = [\"npm\"]\n",
                "/p/apkit.toml:1:9: rules are a list of tables: write `[[deny]]`",
            ),
            (
                "[stdio]\nallow = true\n",
                "/p/apkit.toml:2:9: rules are a list of tables: write `[[stdio.allow]]`",
            ),
            // Whatever else is wrong before it.
            (
                "colour = 1\n\n[deny]\nkind = \"npm\"\n",
                "/p/apkit.toml:3:1: rules are a list of tables: write `[[deny]]`",
            ),
            (
                "[[deny]]\nhots = \"x\"\n[remote]\n  deny = [{host = \"a\"}, 7]\n",
                "/p/apkit.toml:4:25: rules are a list of tables: write `[[remote.deny]]`",
            ),
            (
                "sources = 1\ndeny.kind = \"npm\"\n",
                "/p/apkit.toml:2:1: rules are a list of tables: write `[[deny]]`",
            ),
            (
                "sources = 1\n[stdio.allow]\nname = \"x\"\n",
                "/p/apkit.toml:2:1: rules are a list of tables: write `[[stdio.allow]]`",
            ),
        ] {
            let error = Rules::parse(Path::new("/p/apkit.toml"), text).expect_err(text);
            assert!(error.to_string().starts_with(wanted), "{error}");
        }
    }
}
