//! A small package to begin with: it passes as it is, and says itself what to
//! write in its place.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::json::string;
use super::metadata::{self, Shape, TEXTS};
use crate::document::json;
use crate::package;
use crate::spec::foreign::{NATIVE_MANIFESTS, NODE_MANIFEST};
use crate::spec::url::{self, UrlProblem};
use crate::spec::{credential, name, placeholder, version};

/// What to begin with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'o> {
    /// Name of the plugin; without it that of a manifest that is there already, or
    /// of the directory.
    pub name: Option<&'o str>,
    /// Name of the skill; that of the plugin without it, and none if there are
    /// skills already.
    pub skill: Option<&'o str>,
    /// An MCP server.
    pub server: Option<Server<'o>>,
}

/// An MCP server to begin with.
#[derive(Debug, Clone, Copy)]
pub enum Server<'o> {
    /// A program of the package.
    Stdio,
    /// One at this URL.
    Http(&'o str),
}

/// Why no package was begun. Messages read after "failed to begin a package: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name breaks its grammar.
    #[error("the name {name:?} of the {what} {problem}{way_out}")]
    Name {
        /// `plugin` or `skill`.
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
        /// A name that would be valid, if there is one, with the option for it.
        way_out: String,
    },
    /// The directory has no name that could be the plugin's.
    #[error("the directory's name is not known; give one with --name")]
    NoName,
    /// The URL of the server is not one of an endpoint.
    #[error("the URL {0}")]
    Url(String),
    /// A directory that something would be written to is a link.
    #[error("{0} is a link, and nothing is written through one")]
    Link(String),
    /// Files are there already.
    #[error("{} there already, and nothing is overwritten", occupied(.0))]
    Occupied(Vec<String>),
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

fn occupied(paths: &[String]) -> String {
    let verb = if paths.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", paths.join(", "))
}

/// A file of the new package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Path relative to the package, `/`-separated.
    pub path: String,
    /// Content.
    pub text: String,
}

/// The workflow step that validates a package, which the README shows, too.
pub const WORKFLOW: &str = include_str!("init/workflow.yml");

const SKILL: &str = include_str!("init/SKILL.md");
const SERVER: &str = include_str!("init/server.py");
/// Where the program of a stdio server goes.
const SERVER_PATH: &str = "server/main.py";

/// The files that begin a package in `directory`, which need not be there.
///
/// # Errors
///
/// When a name or the URL is not valid, or one of the files is there already.
pub fn plan(directory: &Path, options: &Options<'_>) -> Result<Vec<Output>, Error> {
    let known = existing(directory);
    let plugin = match (
        options.name,
        known.iter().find(|(field, _)| field == "name"),
    ) {
        (Some(name), _) => name.to_owned(),
        (None, Some((_, name))) if name::plugin_name_problem(name).is_none() => name.clone(),
        (None, _) => directory_name(directory).ok_or(Error::NoName)?,
    };
    let plugin = plugin.as_str();
    if let Some(problem) = name::plugin_name_problem(plugin) {
        return Err(refuse(
            "plugin",
            plugin,
            problem,
            name::plugin_name_suggestion,
            "--name",
        ));
    }
    let has_skills =
        fs::read_dir(directory.join("skills")).is_ok_and(|mut all| all.next().is_some());
    let skill = match options.skill {
        Some(skill) => Some(skill.to_owned()),
        None if has_skills => None,
        // A period is all that a plugin's name may hold and a skill's may not.
        None => Some(name::skill_name_suggestion(plugin).unwrap_or_else(|| plugin.to_owned())),
    };
    let mut outputs = vec![Output {
        path: "plugin.json".to_owned(),
        text: manifest(&known, plugin),
    }];
    if let Some(skill) = &skill {
        if let Some(problem) = name::skill_name_problem(skill) {
            return Err(refuse(
                "skill",
                skill,
                problem,
                name::skill_name_suggestion,
                "--skill",
            ));
        }
        outputs.push(Output {
            path: format!("skills/{skill}/SKILL.md"),
            text: SKILL.replace("@NAME@", skill),
        });
    }
    if let Some(server) = options.server {
        let entry = match server {
            Server::Stdio => {
                outputs.push(Output {
                    path: SERVER_PATH.to_owned(),
                    text: SERVER.replace("@NAME@", plugin),
                });
                format!(
                    "{{\n      \"type\": \"stdio\",\n      \"command\": \"python3\",\n      \"args\": [\"${{PLUGIN_ROOT}}/{SERVER_PATH}\"]\n    }}"
                )
            }
            Server::Http(address) => {
                if let Some(problem) = url::problems(address).into_iter().next() {
                    return Err(Error::Url(match problem {
                        UrlProblem::Invalid(phrase) => phrase,
                        UrlProblem::UserInformation => "holds user information".to_owned(),
                        UrlProblem::Fragment => "holds a fragment".to_owned(),
                        UrlProblem::NotHttps => {
                            "is plain HTTP to a host that is not loopback".to_owned()
                        }
                    }));
                }
                let mut query = url::query_pairs(address);
                if query.any(|(name, value)| credential::held(Some(name), value).is_some())
                    || credential::held(None, address).is_some()
                {
                    return Err(Error::Url(
                        "looks as if it held a secret, and whatever is in a package is public: leave it out, the client supplies it".to_owned(),
                    ));
                }
                if placeholder::find(address).next().is_some() {
                    return Err(Error::Url(
                        "holds a placeholder, and no client expands one there".to_owned(),
                    ));
                }
                format!(
                    "{{\n      \"type\": \"streamable-http\",\n      \"url\": {}\n    }}",
                    string(address)
                )
            }
        };
        outputs.push(Output {
            path: "mcp.json".to_owned(),
            text: format!(
                "{{\n  \"$schema\": {},\n  \"mcpServers\": {{\n    {}: {entry}\n  }}\n}}\n",
                string(version::current().mcp_schema),
                string(plugin)
            ),
        });
    }
    if let Some(link) = outputs.iter().find_map(|output| link(directory, output)) {
        return Err(Error::Link(link));
    }
    let taken: Vec<String> = outputs
        .iter()
        .filter(|output| directory.join(&output.path).symlink_metadata().is_ok())
        .map(|output| output.path.clone())
        .collect();
    if taken.is_empty() {
        Ok(outputs)
    } else {
        Err(Error::Occupied(taken))
    }
}

/// The link that leads from the package to a file's place.
fn link(directory: &Path, output: &Output) -> Option<String> {
    let ends = output.path.match_indices('/').map(|(end, _)| end);
    let mut above = ends.filter_map(|end| output.path.get(..end));
    above
        .find(|path| directory.join(path).is_symlink())
        .map(str::to_owned)
}

/// Writes the files, all or none. Nothing that is there is touched.
///
/// # Errors
///
/// When the file system refuses; what was written is then removed.
pub fn write(directory: &Path, outputs: &[Output]) -> Result<(), Error> {
    let mut made = Made::default();
    for output in outputs {
        made.write(directory, output).map_err(|error| Error::Io {
            path: output.path.clone(),
            error,
        })?;
    }
    made.keep = true;
    Ok(())
}

/// What was made so far; it goes away with the value unless it is kept.
#[derive(Default)]
struct Made {
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    keep: bool,
}

impl Made {
    fn write(&mut self, directory: &Path, output: &Output) -> io::Result<()> {
        let path = directory.join(&output.path);
        let parent = path.parent().unwrap_or(directory);
        self.directory(parent)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        self.files.push(path);
        file.write_all(output.text.as_bytes())
    }

    /// Makes a directory and those above it.
    fn directory(&mut self, path: &Path) -> io::Result<()> {
        match fs::create_dir(path) {
            Ok(()) => {
                self.directories.push(path.to_owned());
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) else {
                    return Err(error);
                };
                self.directory(parent)?;
                self.directory(path)
            }
            // The current directory is there and cannot be made.
            Err(_) if path.is_dir() || path == Path::new("") => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing better can be done about it here.
            for file in &self.files {
                let _ = fs::remove_file(file);
            }
            for directory in self.directories.iter().rev() {
                let _ = fs::remove_dir(directory);
            }
        }
    }
}

/// The name of a directory that may be given as `.` and may not be there.
fn directory_name(directory: &Path) -> Option<String> {
    let absolute = match directory.canonicalize() {
        Ok(absolute) => absolute,
        Err(_) => std::path::absolute(directory).ok()?,
    };
    Some(absolute.file_name()?.to_string_lossy().into_owned())
}

fn refuse(
    what: &'static str,
    name: &str,
    problem: String,
    suggestion: fn(&str) -> Option<String>,
    option: &str,
) -> Error {
    let way_out = match suggestion(name) {
        Some(better) => format!("; {option} {better} would be valid"),
        None => format!("; give another with {option}: lower-case letters, digits and hyphens"),
    };
    Error::Name {
        what,
        name: name.to_owned(),
        problem,
        way_out,
    }
}

/// The manifest, with what others that are there already say.
fn manifest(known: &[(String, String)], plugin: &str) -> String {
    let mut members = vec![
        (
            "$schema".to_owned(),
            string(version::current().plugin_schema),
        ),
        ("name".to_owned(), string(plugin)),
    ];
    let said = |field: &str| {
        let found = known.iter().find(|(name, _)| name == field);
        found.map(|(_, value)| value.clone())
    };
    members.push((
        "version".to_owned(),
        said("version").unwrap_or_else(|| string("0.1.0")),
    ));
    members.push((
        "description".to_owned(),
        said("description").unwrap_or_else(|| {
            string("Say in one sentence what an agent can do with this plugin.")
        }),
    ));
    for field in ["author", "homepage", "repository", "license", "keywords"] {
        members.extend(said(field).map(|value| (field.to_owned(), value)));
    }
    let lines: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("  {}: {value}", string(key)))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// What a manifest that is there already says: its name, and the rest as JSON
/// values.
fn existing(directory: &Path) -> Vec<(String, String)> {
    let native = NATIVE_MANIFESTS
        .iter()
        .map(|(path, _)| (*path, Shape::Plugin));
    for (path, shape) in native.chain([(NODE_MANIFEST, Shape::Node)]) {
        let document = package::read(directory, path)
            .and_then(|(_, bytes)| json::parse(&bytes, json::LIMITS).ok());
        let Some(object) = document
            .as_ref()
            .and_then(|document| document.root.as_object())
        else {
            continue;
        };
        let mut said = Vec::new();
        for field in TEXTS {
            if let Some(found) = metadata::field(object, shape, field) {
                let value = match field {
                    "name" => found.says,
                    _ => string(&found.says),
                };
                said.push((field.to_owned(), value));
            }
        }
        if let Some((author, _)) = metadata::author(object) {
            let parts: Vec<String> = author
                .parts()
                .map(|(key, value)| format!("{}: {}", string(key), string(value)))
                .collect();
            said.push(("author".to_owned(), format!("{{ {} }}", parts.join(", "))));
        }
        if let Some((words, _)) = metadata::keywords(object) {
            let words: Vec<String> = words.into_iter().map(string).collect();
            said.push(("keywords".to_owned(), format!("[{}]", words.join(", "))));
        }
        return said;
    }
    Vec::new()
}
