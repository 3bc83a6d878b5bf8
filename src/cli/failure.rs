//! Failures of the run, as opposed to findings about a package.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use apkit::render::visible;
use apkit::source::Source;

/// Why a run failed. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A path on the command line cannot be used.
    #[error("read {}: {}", show(path), reason(error))]
    Read { path: PathBuf, error: io::Error },

    /// A file that is no manifest was named.
    #[error(
        "validate {}: it is neither a package directory nor a plugin.json",
        show(path)
    )]
    NotAPackage { path: PathBuf },

    /// `--recursive` found nothing.
    #[error(
        "find a package in {}: no directory there holds an Agent Plugins plugin.json{}",
        shown(paths),
        found_instead(instead, *skills)
    )]
    NoPackage {
        paths: Vec<PathBuf>,
        /// Other manifests that stand there, described.
        instead: Vec<String>,
        /// How many `SKILL.md` stand there.
        skills: usize,
    },

    /// `--exclude` is no pattern.
    #[error("read a pattern of --exclude: {0}")]
    Pattern(#[from] apkit::package::discover::PatternError),

    /// The report cannot be written.
    #[error("write to {}: {}", to.as_ref().map_or_else(|| "standard output".to_owned(), |path| show(path)), reason(error))]
    Write {
        to: Option<PathBuf>,
        error: io::Error,
    },

    /// The report would take the place of a file that it is about.
    #[error("write to {}: it is a file of the package that is judged", show(path))]
    OverPackage { path: PathBuf },

    /// `explain` does not know the code.
    #[error(
        "explain `{}`: there is no such code{}",
        visible(code),
        did_you_mean(similar)
    )]
    UnknownCode {
        code: String,
        similar: Vec<&'static str>,
    },

    /// `explain` knows several.
    #[error("explain `{}`: several codes have this name: {}", visible(name), codes.join(", "))]
    AmbiguousCode {
        name: String,
        codes: Vec<&'static str>,
    },

    /// `schema report --spec …`.
    #[error(
        "print the schema: only plugin and mcp depend on the version of the specification; leave out --spec"
    )]
    ReportHasNoSpec,

    /// `export` wrote nothing.
    #[error("export to {}: {error}", show(path))]
    Export {
        path: PathBuf,
        error: apkit::export::Error,
    },

    /// `export` cannot take its source.
    #[error("read {}: {error}", show(path))]
    ReadSource {
        path: PathBuf,
        error: apkit::export::ReadError,
    },

    /// `export` has no plan.
    #[error("export {}: {error}", visible(what))]
    Plan {
        /// The sources, as they were given.
        what: String,
        error: apkit::export::PlanError,
    },

    /// `export --out` names an archive that is none of those that are written.
    #[error("export to {}: archives are written as NAME.tgz or NAME.zip", show(.0))]
    ArchiveKind(PathBuf),

    /// `export --server` without anything to reach it by.
    #[error("describe the server: there is neither --url nor --command")]
    NoLaunch,

    /// `SOURCE_DATE_EPOCH` is no number.
    #[error("read SOURCE_DATE_EPOCH: {:?} is no number of seconds since 1970", visible(.0))]
    Epoch(String),

    /// `export` has no program to put into the package.
    #[error("read the program {}: {}", show(path), reason(error))]
    Program { path: PathBuf, error: io::Error },

    /// `fix` could not change a package.
    #[error("mend {}: {error}", show(path))]
    Fix {
        path: PathBuf,
        error: apkit::edit::fix::Error,
    },

    /// `sync` changed nothing.
    #[error("keep {} in step: {error}", show(path))]
    Sync {
        path: PathBuf,
        error: apkit::edit::sync::Error,
    },

    /// `init` wrote nothing.
    #[error("begin a package in {}: {error}", show(path))]
    Init {
        path: PathBuf,
        error: apkit::edit::init::Error,
    },

    /// `everos search` was given nothing to search for.
    #[error("search: the query is empty")]
    EmptyQuery,

    /// `everos search` got no answer.
    #[error("search EverOS at {url}: {}", reasons.join("; "))]
    Search { url: String, reasons: Vec<String> },

    /// A source that `validate` or `inspect` was given brings nothing.
    #[error("{}", fetched(source_text, error))]
    Fetch {
        source_text: String,
        error: Box<apkit::store::Error>,
    },

    /// What `validate` or `inspect` was given is no source.
    #[error("fetch: {}", visible(&.0.to_string()))]
    NoSource(#[from] apkit::source::NoSource),

    /// `import` was not told what.
    #[error("import: no SOURCE is named")]
    NoSources,

    /// The store did not do what it was asked.
    #[error("{what}: {}", named_once(what, &error.to_string()))]
    Store {
        what: String,
        error: Box<apkit::store::Error>,
        /// What to do about it, if that depends on the command.
        hint: Option<String>,
    },

    /// There is no place for a store.
    #[error("find the store: there is no home directory; name the store with --root or APKIT_HOME")]
    NoHome,

    /// `list --available` has nowhere to look.
    #[error(
        "list packages: no --from is given, and no `sources` are named in {}",
        rules.iter().map(|path| show(path)).collect::<Vec<_>>().join(" or ")
    )]
    NoCatalogue {
        /// The files that could name some.
        rules: Vec<PathBuf>,
    },

    /// `update --to` makes sense for one package only.
    #[error("update: --to moves one package, and several are named")]
    ToOfSeveral,

    /// `skills show` was not given a package and a skill.
    #[error("show the skill {}: {}", visible(text), which_skill(*is_there, known))]
    NoSkillName {
        /// What was given.
        text: String,
        /// Whether there are several of that name, and not none.
        is_there: bool,
        /// The skills that could be meant, as PACKAGE/NAME.
        known: Vec<String>,
    },

    /// What `mcp` was given is nothing that it could mean.
    #[error(
        "find {}: it is neither an installed package, nor a directory, nor a source that can be fetched",
        visible(.0)
    )]
    NoSubject(String),

    /// The file of credentials cannot be used.
    #[error("read the credentials: {0}")]
    Credentials(apkit::mcp::credential::FileError),

    /// A command about servers does not do what it was asked.
    #[error(transparent)]
    Mcp(#[from] super::mcp::Trouble),

    /// `--credential` holds none.
    #[error("read --credential: {0}")]
    NotGiven(#[from] apkit::mcp::credential::NotGiven),

    /// A credential is given to a server that is not there.
    #[error(
        "give a credential to the server {}: {}",
        visible(server),
        servers_there(known)
    )]
    NoServer { server: String, known: Vec<String> },

    /// A credential is given to servers of several packages.
    #[error(
        "give the server {} a credential: several packages have one; {}",
        visible(server),
        either(known, *is_any_left)
    )]
    SeveralServers {
        server: String,
        known: Vec<String>,
        /// One of them has no name that means it alone.
        is_any_left: bool,
    },

    /// There is no temporary directory.
    #[error("make a directory in {}: {}", show(path), reason(error))]
    Scratch { path: PathBuf, error: io::Error },

    /// `man` does not know the command.
    #[error("print the manual of `{}`: there is no such command", visible(.0))]
    UnknownCommand(String),
}

impl Failure {
    /// What to do about it, where the message does not say so.
    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::NotAPackage { .. } => {
                Some("name the directory that holds plugin.json, or that file itself")
            }
            Self::Read { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("name a package directory, or the plugin.json in it")
            }
            Self::Export {
                error: apkit::export::Error::Occupied { files, .. },
                ..
            } => {
                return Some(Cow::Owned(match files {
                    1 => "--force deletes the 1 file that is there".to_owned(),
                    files => format!(
                        "--force deletes the {files} files in it first; with --dry-run it lists them"
                    ),
                }));
            }
            Self::NoSources => Some(
                "`apkit import --help` shows what a SOURCE is; --frozen takes them from the lock file",
            ),
            Self::OverPackage { .. } => Some("name another file for the report"),
            Self::Export {
                error:
                    apkit::export::Error::NotValid {
                        only_warnings: true,
                        ..
                    },
                ..
            } => Some("these are warnings; --allow-warnings writes it all the same"),
            Self::Export {
                error: apkit::export::Error::Credentials(_),
                ..
            } => Some("take them out; if they are none, --allow-warnings writes it all the same"),
            Self::Plan {
                error: apkit::export::PlanError::SkillNames(problems),
                ..
            } if problems.iter().all(|problem| problem.suggestion.is_some()) => {
                Some("--rename gives them these names")
            }
            Self::Plan {
                error: apkit::export::PlanError::Marketplace { .. },
                ..
            } => Some("apkit export SOURCE --plugin NAME --out …"),
            Self::UnknownCode { .. } => Some("`apkit explain` lists all codes"),
            Self::Store { error, .. } => match &**error {
                apkit::store::Error::LockFile(_) => Some(
                    "put back the last good one, from version control or a backup; if there is none, move it away and import the packages again",
                ),
                _ => None,
            },
            _ => None,
        };
        hint.map(Cow::Borrowed)
    }

    /// What it says, without credentials of addresses.
    pub(crate) fn text(&self) -> String {
        Source::shown_in(&format!("failed to {self}"))
    }

    /// Tells the user.
    pub(crate) fn tell(&self) {
        let text = self.text();
        let text = match self {
            // It has lines of its own, and escapes what is in them.
            Self::Mcp(_) => text,
            _ => unbroken(&text),
        };
        let mut text = format!("error: {text}\n");
        let own = match self {
            Self::Store {
                hint: Some(hint), ..
            } => Some(Cow::Borrowed(hint.as_str())),
            _ => self.hint(),
        };
        if let Some(hint) = own {
            text.push_str("hint: ");
            text.push_str(&hint);
            text.push('\n');
        }
        tell(&text);
    }
}

fn fetched(source: &str, error: &apkit::store::Error) -> String {
    let what = format!("fetch {}", visible(source));
    let reason = named_once(&what, &error.to_string());
    format!("{what}: {reason}")
}

/// A reason as it follows what it is about, which it need not name once more.
fn named_once(what: &str, reason: &str) -> String {
    let is_named = |name: &str| {
        let before = what.strip_suffix(name).filter(|_| !name.is_empty());
        before.is_some_and(|before| {
            [" ", " git+", " file:", " dir:"]
                .iter()
                .any(|start| before.ends_with(start))
        })
    };
    let quoted = reason.strip_prefix('`');
    if let Some((name, rest)) = quoted.and_then(|quoted| quoted.split_once("` is "))
        && is_named(name)
    {
        return format!("it is {rest}");
    }
    let place = reason.strip_prefix("failed to reach ").unwrap_or(reason);
    match place.split_once(": ") {
        Some((name, rest)) if is_named(name) => rest.to_owned(),
        _ => reason.to_owned(),
    }
}

/// A message with the line breaks written out that are not of its own: those have
/// an indented line behind them.
fn unbroken(text: &str) -> String {
    let lines: Vec<_> = text.split("\n  ").map(visible).collect();
    lines.join("\n  ")
}

/// Tells the user something beside the report.
pub(crate) fn note(text: &str) {
    tell(&format!("note: {text}\n"));
}

/// Says how a run went, beside its report.
pub(crate) fn say(text: &str) {
    tell(&format!("{text}\n"));
}

/// The one way to standard error for messages: whatever of them comes from outside
/// is made harmless here, unless it was before. Lines of ours stay lines.
fn tell(text: &str) {
    let lines = text.lines().map(visible);
    let text: String = lines.flat_map(|line| [line, "\n".into()]).collect();
    // Whoever closed standard error does not want to know.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A path for people: harmless, without credentials, with `/` on every platform.
pub(crate) fn show(path: &Path) -> String {
    // It may be an address that was taken for a path.
    visible(&Source::shown(&slashed(path))).into_owned()
}

/// A path as reports name it: with `/` on every platform, bytes that are no
/// Unicode as U+FFFD.
pub(crate) fn slashed(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}

/// What the system says, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text,
    }
}

fn shown(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| show(path)).collect();
    shown.join(", ")
}

fn found_instead(manifests: &[String], skills: usize) -> String {
    let mut found = manifests.to_vec();
    match skills {
        0 => {}
        1 => found.push("1 SKILL.md; a plugin.json beside skills/ makes it a package".to_owned()),
        skills => found.push(format!(
            "{skills} SKILL.md; a plugin.json beside skills/ makes them a package"
        )),
    }
    match &found[..] {
        [] => "; what .gitignore names is left out".to_owned(),
        found => format!("; found instead:\n  {}", found.join("\n  ")),
    }
}

/// How to say which server is meant, where some may have no name that means it alone.
fn either(known: &[String], is_any_left: bool) -> String {
    let alone = "ask for one of the packages at a time";
    match (known, is_any_left) {
        ([], _) => alone.to_owned(),
        (known, false) => format!("write {}", known.join(" or ")),
        (known, true) => format!("write {}, or {alone}", known.join(" or ")),
    }
}

/// Which skills may be meant by a text that names none or several.
fn which_skill(is_there: bool, known: &[String]) -> String {
    let known_of = visible(&known.join(" or ")).into_owned();
    match known {
        [] => "no installed package has one of that name; `apkit skills` lists them".to_owned(),
        _ if is_there => format!("several packages have one; write {known_of}"),
        _ => format!("no installed package has one of that name; did you mean {known_of}?"),
    }
}

fn servers_there(known: &[String]) -> String {
    match known {
        [] => "there are no servers".to_owned(),
        known => format!("there are only {}", visible(&known.join(", "))),
    }
}

fn did_you_mean(similar: &[&str]) -> String {
    match similar {
        [] => String::new(),
        similar => format!(", did you mean {}?", similar.join(" or ")),
    }
}
