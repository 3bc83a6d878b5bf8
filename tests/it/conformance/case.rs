//! The format of `case.toml`; `conformance-fixtures/README.md` describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

/// One case, as its `case.toml` states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// `family/name`: where it lies below `conformance-fixtures/`.
    #[serde(skip)]
    pub(super) id: String,
    /// The directory that holds `case.toml`.
    #[serde(skip)]
    pub(super) directory: PathBuf,

    pub(super) title: String,
    pub(super) section: String,
    #[serde(default)]
    pub(super) requirement: Vec<String>,
    #[serde(default)]
    requires: BTreeSet<Feature>,
    #[serde(default)]
    pub(super) options: Options,
    #[serde(default, rename = "dir")]
    pub(super) dirs: Vec<Dir>,
    #[serde(default, rename = "file")]
    pub(super) files: Vec<File>,
    #[serde(default, rename = "link")]
    pub(super) links: Vec<Link>,
    #[serde(default, rename = "fifo")]
    pub(super) fifos: Vec<Fifo>,
    #[serde(default)]
    pub(super) modes: BTreeMap<String, String>,
    pub(super) expect: Expect,
    #[serde(default, rename = "finding")]
    pub(super) findings: Vec<Finding>,
}

/// What a machine must offer for a case to mean anything on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Feature {
    Symlinks,
    Fifo,
    Modes,
    NonRoot,
    #[serde(rename = "non-utf8-names")]
    NonUtf8Names,
    CaseSensitive,
}

/// How the package is named and validated.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// Name of the package's directory; `package` if absent.
    pub(super) root: Option<String>,
    /// What is given to `apkit validate`, beside the package; the root if absent.
    pub(super) path: Option<String>,
    /// `--spec-draft`.
    pub(super) spec_draft: Option<String>,
    /// Further arguments.
    #[serde(default)]
    pub(super) args: Vec<String>,
    /// Exit status, where it does not follow from the findings.
    pub(super) exit: Option<i32>,
}

/// A directory to create.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dir {
    pub(super) path: String,
}

/// A file to write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) path: String,
    text: Option<String>,
    hex: Option<String>,
    #[serde(default)]
    parts: Vec<Part>,
}

/// A piece of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    text: Option<String>,
    hex: Option<String>,
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

/// A symbolic link to create.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub(super) path: String,
    /// The text of the link.
    pub(super) target: String,
    /// Whether the case's absolute directory is put before `target`.
    #[serde(default)]
    pub(super) absolute: bool,
}

/// A FIFO to create.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fifo {
    pub(super) path: String,
}

/// What the report must say about the package, findings aside.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) verdict: String,
    /// Compared where stated.
    pub(super) name: Option<String>,
    /// Compared where stated.
    pub(super) version: Option<String>,
    /// Compared where stated.
    pub(super) spec_version: Option<String>,
    /// Texts that no finding may show.
    #[serde(default)]
    pub(super) hides: Vec<String>,
    #[serde(default)]
    pub(super) skills: Skills,
    #[serde(default)]
    pub(super) mcp: Mcp,
}

/// The skills; absent if not stated.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skills {
    pub(super) state: String,
    /// Names, which are the names of the directories in `skills/`.
    #[serde(default)]
    pub(super) loaded: Vec<String>,
    /// Paths, such as `skills/broken`.
    #[serde(default)]
    pub(super) skipped: Vec<String>,
}

/// The servers; absent if not stated.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mcp {
    pub(super) state: String,
    #[serde(default)]
    pub(super) loaded: Vec<Server>,
    /// Names.
    #[serde(default)]
    pub(super) skipped: Vec<String>,
}

/// A server that loads.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) transport: String,
}

impl Default for Skills {
    fn default() -> Self {
        Self {
            state: "absent".into(),
            loaded: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

impl Default for Mcp {
    fn default() -> Self {
        Self {
            state: "absent".into(),
            loaded: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

/// A finding that must be reported.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Finding {
    pub(super) code: String,
    pub(super) path: String,
    /// Absent: the finding has none.
    pub(super) pointer: Option<String>,
    /// Line of its first byte; compared where stated.
    pub(super) line: Option<usize>,
    /// The text it covers; compared where stated.
    pub(super) text: Option<String>,
    /// A text that its message or its help holds.
    pub(super) says: Option<String>,
}

impl Case {
    /// Everything the machine must offer: what is stated and what follows from
    /// the declarations.
    pub(super) fn needs(&self) -> BTreeSet<Feature> {
        let mut needs = self.requires.clone();
        if !self.links.is_empty() {
            needs.insert(Feature::Symlinks);
        }
        if !self.fifos.is_empty() {
            needs.insert(Feature::Fifo);
        }
        if self.declared_paths().any(|path| decode(path).is_err()) {
            needs.insert(Feature::NonUtf8Names);
        }
        needs
    }

    fn declared_paths(&self) -> impl Iterator<Item = &str> {
        let dirs = self.dirs.iter().map(|dir| dir.path.as_str());
        let files = self.files.iter().map(|file| file.path.as_str());
        let links = self.links.iter().map(|link| link.path.as_str());
        let fifos = self.fifos.iter().map(|fifo| fifo.path.as_str());
        dirs.chain(files).chain(links).chain(fifos)
    }

    /// The exit status that `validate` owes this package.
    pub(super) fn exit(&self) -> i32 {
        self.options.exit.unwrap_or_else(|| {
            let fails = self.findings.iter().any(|finding| {
                apkit::spec::codes::find(&finding.code)
                    .is_some_and(|code| code.severity == apkit::diagnostic::Severity::Error)
            });
            i32::from(fails)
        })
    }

    /// Mistakes in the case itself.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |fine: bool, what: String| {
            if !fine {
                problems.push(format!("{}: {what}", self.id));
            }
        };
        check(!self.title.is_empty(), "the title is empty".into());
        check(
            self.section.starts_with('§') || ["Agent Skills", "apkit"].contains(&&*self.section),
            format!("section {:?} names no text", self.section),
        );
        for requirement in &self.requirement {
            let known = requirement
                .strip_prefix("AP-")
                .and_then(|number| number.parse().ok())
                .is_some_and(|number: u8| (1..=23).contains(&number));
            check(known, format!("{requirement:?} is no requirement"));
        }
        for finding in &self.findings {
            check(
                apkit::spec::codes::find(&finding.code).is_some(),
                format!("there is no code {:?}", finding.code),
            );
        }
        for path in self.declared_paths() {
            check(
                stays_in_the_case(path),
                format!("{path:?} leads out of the directory of the case"),
            );
        }
        for file in &self.files {
            check(
                file.bytes().is_some(),
                format!(
                    "file {:?} needs exactly one of text, hex and parts",
                    file.path
                ),
            );
        }
        for mode in self.modes.values() {
            check(
                parse_mode(mode).is_some(),
                format!("{mode:?} is no octal mode"),
            );
        }
        check(
            self.directory.join("package").is_dir() || self.declared_paths().next().is_some(),
            "there is neither package/ nor a declaration".into(),
        );
        problems
    }
}

impl File {
    /// What the file holds; `None` if it is not stated in exactly one way.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        if !self.parts.is_empty() {
            if self.text.is_some() || self.hex.is_some() {
                return None;
            }
            let mut bytes = Vec::new();
            for part in &self.parts {
                let piece = piece(part.text.as_deref(), part.hex.as_deref())?;
                bytes.extend(piece.repeat(part.times));
            }
            return Some(bytes);
        }
        piece(self.text.as_deref(), self.hex.as_deref())
    }
}

fn piece(text: Option<&str>, hex: Option<&str>) -> Option<Vec<u8>> {
    match (text, hex) {
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(hex)) => {
            let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
            digits
                .chunks(2)
                .map(|pair| u8::from_str_radix(&String::from_iter(pair), 16).ok())
                .collect::<Option<Vec<_>>>()
                .filter(|_| digits.len().is_multiple_of(2))
        }
        _ => None,
    }
}

/// Reads an octal mode such as `755`.
pub(super) fn parse_mode(mode: &str) -> Option<u32> {
    u32::from_str_radix(mode, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
}

/// The name that a declared path stands for: `%` and two hexadecimal digits
/// are a byte. The bytes come back as the error if they are no UTF-8.
pub(super) fn decode(path: &str) -> Result<String, Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = match (first, tail) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        match escape {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).map_err(|error| error.into_bytes())
}

/// [`decode`] as a path; `None` where names are always Unicode.
pub(super) fn decode_path(path: &str) -> Option<PathBuf> {
    match decode(path) {
        Ok(path) => Some(path.into()),
        #[cfg(unix)]
        Err(bytes) => {
            let path: OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
            Some(path.into())
        }
        #[cfg(not(unix))]
        Err(_) => None,
    }
}

/// Whether a path, relative to the package root, stays beside the package.
fn stays_in_the_case(path: &str) -> bool {
    let mut depth = 1;
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return false,
        }
    }
    depth > 0
}

/// All cases, in the order of their names. Panics with every mistake that the
/// `case.toml` files hold.
pub(super) fn all() -> Vec<Case> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance-fixtures");
    let mut cases = Vec::new();
    let mut problems = Vec::new();
    for family in subdirectories(&top) {
        for directory in subdirectories(&family) {
            let id = format!("{}/{}", name_of(&family), name_of(&directory));
            let read = fs::read_to_string(directory.join("case.toml"))
                .map_err(|error| error.to_string())
                .and_then(|text| toml::from_str::<Case>(&text).map_err(|error| error.to_string()));
            match read {
                Ok(mut case) => {
                    case.id = id;
                    case.directory = directory;
                    problems.extend(case.problems());
                    cases.push(case);
                }
                Err(error) => problems.push(format!("{id}: {error}")),
            }
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    cases
}

fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the fixtures are part of the repository");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
