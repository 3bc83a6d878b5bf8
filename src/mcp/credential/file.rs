//! The file of credentials.
//!
//! ```toml
//! [[server]]
//! plugin = "tide-table"                 # the name in plugin.json
//! server = "tides"                      # the name in mcp.json
//! origin = "https://tides.example.com"  # where alone headers are sent
//! headers.Authorization = { prefix = "Bearer ", env = "TIDES_TOKEN" }
//! headers.X-Api-Key = { command = ["pass", "show", "tides"] }
//!
//! [[server]]
//! plugin = "tide-table"
//! server = "almanac"
//! env.API_KEY = { file = "/run/secrets/almanac" }
//! env.API_SECRET = { value = "…" }
//! ```
//!
//! A relative `file` is looked for beside this one: the directory in which a client
//! starts apkit is anybody's guess.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::value::{From, Value, open_private};
use super::{Key, Keys, Kind, origin_of};

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A file that cannot be used. Messages name file and line, and never show what
/// stands there.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1, if it is about one.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    server: Vec<Spanned<ServerText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerText {
    plugin: String,
    server: String,
    origin: Option<Spanned<String>>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<ValueText>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<ValueText>>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table that says where the value comes from, such as { env = \"VARIABLE\" }"
)]
struct ValueText {
    #[serde(default)]
    prefix: String,
    env: Option<String>,
    file: Option<PathBuf>,
    command: Option<Vec<String>>,
    value: Option<String>,
}

impl Keys {
    /// Reads a file of credentials, which nobody but its owner may read.
    ///
    /// # Errors
    ///
    /// When it cannot be read, others may read it, or it holds something that is no credential.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let error = |problem: String| FileError {
            path: path.to_owned(),
            line: None,
            problem,
        };
        let file = open_private(path).map_err(error)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|refused| error(refused.to_string()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(error(format!("it is larger than {MAX_BYTES} bytes")));
        }
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        let error = |span: Option<Range<usize>>, problem: String| FileError {
            path: path.to_owned(),
            line: span.and_then(|span| line_of(text, span.start)),
            problem,
        };
        let file: FileText = toml::from_str(text).map_err(|refused| {
            let (span, mut problem) = (refused.span(), without_content(refused.message()));
            let first = span.as_ref().and_then(|span| same_key(text, span.start));
            if let (Some(first), true) = (first, problem.starts_with("duplicate key")) {
                problem.push_str(&format!("; it stands in line {first} already"));
            }
            error(span, problem)
        })?;
        let base = path.parent().unwrap_or(Path::new(""));
        let mut keys = Self::default();
        let mut known = BTreeMap::new();
        for entry in file.server {
            let place = entry.span();
            let entry = entry.into_inner();
            let origin = match &entry.origin {
                None => None,
                Some(origin) => Some(origin_of(origin.get_ref()).ok_or_else(|| {
                    let problem =
                        "origin is not scheme, host and port, such as https://example.com";
                    error(Some(origin.span()), problem.to_owned())
                })?),
            };
            if origin.is_none() && !entry.headers.is_empty() {
                let problem =
                    "there are headers and no origin, which says where alone they are sent";
                return Err(error(Some(place), problem.to_owned()));
            }
            let headers = entry.headers.into_iter().map(|pair| (Kind::Header, pair));
            let env = entry.env.into_iter().map(|pair| (Kind::Env, pair));
            let mut pairs: Vec<_> = headers.chain(env).collect();
            pairs.sort_by_key(|(_, (_, value))| value.span().start);
            for (kind, (name, value)) in pairs {
                let place = value.span();
                let bound = origin.clone().filter(|_| kind == Kind::Header);
                let (plugin, server) = (entry.plugin.clone(), entry.server.clone());
                let what = (plugin, server, bound.clone(), kind, kind.folded(&name));
                if let Some(first) = known.insert(what, place.start) {
                    let problem = format!(
                        "{}.{name} of this server stands in line {} already, and one of the two \
                         would be ignored; take one out",
                        kind.table(),
                        line_of(text, first).unwrap_or_default()
                    );
                    return Err(error(Some(place), problem));
                }
                if let Some(problem) = kind.problem_of_name(&name) {
                    return Err(error(Some(place), format!("{name}: {problem}")));
                }
                let value = value.into_inner().value(base).ok_or_else(|| {
                    let problem =
                        format!("{name} needs one of env, file, command and value, and that alone");
                    error(Some(place), problem)
                })?;
                keys.0.push(Key {
                    package: Some(entry.plugin.clone()),
                    server: entry.server.clone(),
                    origin: bound,
                    kind: Some(kind),
                    name,
                    value,
                });
            }
        }
        Ok(keys)
    }
}

impl ValueText {
    /// The one source that it names, a file below `base` unless its path is absolute.
    fn value(self, base: &Path) -> Option<Value> {
        let from = match (self.env, self.file, self.command, self.value) {
            (Some(name), None, None, None) => From::Variable(name),
            (None, Some(path), None, None) => From::File(base.join(path)),
            (None, None, Some(command), None) if !command.is_empty() => From::Command(command),
            (None, None, None, Some(value)) => From::Stored(value),
            _ => return None,
        };
        Some(Value {
            prefix: self.prefix,
            from,
        })
    }
}

/// The line of a place, from 1.
fn line_of(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    Some(before.matches('\n').count() + 1)
}

/// The line, from 1, of the same table that begins with the key of the line of `at`.
fn same_key(text: &str, at: usize) -> Option<usize> {
    let begin = text.get(..at)?.rfind('\n')? + 1;
    let (before, line) = text.split_at_checked(begin)?;
    let key = |line: &str| -> Option<String> {
        let (key, _) = line.split_once('=')?;
        Some(key.split_whitespace().collect())
    };
    let wanted = key(line.lines().next()?)?;
    let before: Vec<&str> = before.lines().collect();
    let table = before.iter().enumerate().rev();
    let mut table = table.take_while(|(_, line)| !line.trim_start().starts_with('['));
    let (first, _) = table.find(|(_, line)| key(line).as_ref() == Some(&wanted))?;
    Some(first + 1)
}

/// What the parser says, without what it found in the place of something else.
fn without_content(message: &str) -> String {
    let quotes = message.starts_with("invalid type") || message.starts_with("invalid value");
    match message.rsplit_once(", expected ") {
        Some((_, "a sequence")) if quotes => "expected a list, in brackets".to_owned(),
        Some((_, expected)) if quotes => format!("expected {expected}"),
        _ if quotes => "this is of another type".to_owned(),
        _ => message.lines().next().unwrap_or_default().to_owned(),
    }
}
