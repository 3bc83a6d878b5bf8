//! Loading a package the way a conforming client does, with every finding.
//!
//! | module | rules |
//! | --- | --- |
//! | `manifest` | `plugin.json`: codes `manifest::…` |
//! | `skills`, `skill` | `skills/` and each skill in it: codes `skills::…`, `skill::…` |
//! | `mcp` | `mcp.json` and each server in it: codes `mcp::…` |
//! | `advice` | the package as a whole: codes `package::…` |
//! | `containment` | where a path leads (§4.1); the five boundaries are applied by the modules above |
//! | `file`, `json_text` | reading files, and what both JSON texts have in common |
//!
//! Nothing outside the package is opened or listed, nothing is executed, and
//! no schema is fetched.

mod advice;
pub(crate) mod containment;
pub mod discover;
mod file;
mod json_text;
mod manifest;
mod mcp;
mod report;
mod skill;
mod skills;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use report::{
    Mcp, McpState, Package, Report, Server, Skill, Skills, SkillsState, SkippedSkill, Summary,
    Transport, Verdict,
};

pub use self::skill::findings as skill_findings;

use self::containment::Resolution;
use crate::diagnostic::Diagnostic;
use crate::spec::codes::manifest as manifest_codes;
use crate::spec::credential;

/// How to load.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Apply drafts of the specification too (1.1.0); off by default.
    pub drafts: bool,
    /// Keep the texts that findings refer to, for reports that show them.
    pub keep_sources: bool,
}

/// Contents that files would have, by their physical paths. Only regular files
/// that are there already are read from it.
pub type Texts = BTreeMap<PathBuf, Vec<u8>>;

/// Loads the package in the directory `root`. `display` is how reports name it.
///
/// # Errors
///
/// When `root` itself is no directory or cannot be listed: that is a failure of
/// the run. Everything about the package's content is a finding.
pub fn load(root: &Path, display: &str, options: &Options) -> io::Result<Package> {
    load_with(root, display, options, &Texts::new())
}

/// The same as [`load`] for its manifest alone: without skills and servers, and the
/// findings about them.
///
/// # Errors
///
/// As [`load`].
pub fn load_manifest(root: &Path, display: &str, options: &Options) -> io::Result<Package> {
    load_parts(root, display, options, &Texts::new(), false)
}

/// The regular file or directory inside the package that `path`, relative to
/// its `root`, leads to, as a physical path.
pub fn locate(root: &Path, path: &str) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    match containment::resolve(&root, &root, Path::new(path)) {
        Resolution::File(path) | Resolution::Directory(path) => Some(path),
        _ => None,
    }
}

/// The regular file that `path`, relative to the package `root`, leads to:
/// physical path and content. `None` for what a client would not read there, be
/// it missing, outside of the package, too large or unreadable.
pub fn read(root: &Path, path: &str) -> Option<(PathBuf, Vec<u8>)> {
    let path = locate(root, path)?;
    let bytes = file::read(&path).ok()?;
    Some((path, bytes))
}

/// The same as [`load`], as if some files held other `texts`.
///
/// # Errors
///
/// As [`load`].
pub fn load_with(
    root: &Path,
    display: &str,
    options: &Options,
    texts: &Texts,
) -> io::Result<Package> {
    load_parts(root, display, options, texts, true)
}

fn load_parts(
    root: &Path,
    display: &str,
    options: &Options,
    texts: &Texts,
    is_whole: bool,
) -> io::Result<Package> {
    // Containment is judged against the physical root (§4.1 item 3).
    let physical = root.canonicalize()?;
    let entries = file::list(&physical)?;
    let mut loader = Loader {
        root: &physical,
        entries,
        options: *options,
        texts,
        diagnostics: Vec::new(),
        sources: BTreeMap::new(),
    };
    let mut package = Package {
        path: display.to_owned(),
        verdict: Verdict::Rejected,
        name: None,
        version: None,
        spec_version: None,
        skills: Skills::default(),
        mcp: Mcp::default(),
        diagnostics: Vec::new(),
        sources: BTreeMap::new(),
    };
    read_manifest(&mut loader, &mut package);
    if is_whole && package.verdict == Verdict::Loaded {
        if loader.has_entry(skills::DIRECTORY) {
            package.skills = skills::load(&mut loader);
        }
        if loader.has_entry(mcp::FILE)
            && let Some(version) = package.spec_version
        {
            package.mcp = mcp::load(&mut loader, version);
        }
        advice::check(&mut loader, &package);
    }
    package.diagnostics = loader.diagnostics;
    for finding in &mut package.diagnostics {
        tame(&mut finding.message);
        if let Some(help) = &mut finding.help {
            tame(help);
        }
    }
    package.sources = loader.sources;
    package.diagnostics.sort_by(|a, b| {
        let place = |finding: &Diagnostic| finding.location.map_or(0, |location| location.offset);
        (&a.path, place(a), a.code.id).cmp(&(&b.path, place(b), b.code.id))
    });
    Ok(package)
}

/// Makes a text of a finding fit to be shown to anyone: no token that a value
/// brought in, and no more of a value than people read.
fn tame(text: &mut String) {
    const LONGEST: usize = 1_000;
    if let Cow::Owned(masked) = credential::masked(text) {
        *text = masked;
    }
    if let Some((cut, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(cut);
        text.push('…');
    }
}

fn read_manifest(loader: &mut Loader<'_>, package: &mut Package) {
    let native = advice::native_manifest(loader);
    if !loader.has_entry(manifest::FILE) {
        let help = match (loader.near_entry(manifest::FILE), native) {
            (Some(near), _) => {
                format!(
                    "rename {} to {}; names are compared exactly",
                    near.to_string_lossy(),
                    manifest::FILE
                )
            }
            (None, Some(native)) => format!(
                "{native} is another client's manifest; add a {} at the root",
                manifest::FILE
            ),
            (None, None) => format!(
                "add a {} at the root, or name the directory that holds it (`apkit validate --recursive` finds it)",
                manifest::FILE
            ),
        };
        loader.report(
            Diagnostic::new(
                &manifest_codes::MISSING,
                manifest::FILE,
                "there is no plugin.json, so this is not an Agent Plugins package",
            )
            .with_help(help),
        );
        return;
    }
    let bytes = match json_text::read(loader, manifest::FILE, &json_text::MANIFEST) {
        Ok(bytes) => bytes,
        Err(finding) => {
            loader.report(*finding);
            return;
        }
    };
    let mut findings = Vec::new();
    let source = file::Source::new(manifest::FILE, &bytes);
    if let Some(document) = json_text::parse(&source, &bytes, &json_text::MANIFEST, &mut findings) {
        let manifest = manifest::check(
            loader.root,
            &source,
            &document,
            native,
            loader.options.drafts,
            &mut findings,
        );
        package.name = manifest.name;
        package.version = manifest.version;
        package.spec_version = manifest.version_of_spec.map(|version| version.id);
        if !manifest.rejected {
            package.verdict = Verdict::Loaded;
        }
    }
    loader.report_text(manifest::FILE, bytes, findings);
}

/// What the modules of the loader share while one package is loaded.
struct Loader<'r> {
    /// The physical package root.
    root: &'r Path,
    /// The entries of the root: names are compared with these, never by opening,
    /// so that a file system that ignores case changes nothing.
    entries: Vec<file::Entry>,
    options: Options,
    /// What some files hold instead.
    texts: &'r Texts,
    diagnostics: Vec<Diagnostic>,
    sources: BTreeMap<String, Arc<str>>,
}

impl Loader<'_> {
    /// Whether the root has an entry of exactly this name.
    fn has_entry(&self, name: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.name == OsStr::new(name))
    }

    /// The content of the regular file at the physical path `path`.
    fn read(&self, path: &Path) -> Result<Vec<u8>, file::ReadError> {
        match self.texts.get(path) {
            Some(text) => Ok(text.clone()),
            None => file::read(path),
        }
    }

    /// Where the entry `name` of the root leads.
    fn resolve_entry(&self, name: &str) -> Resolution {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        containment::resolve_entry(
            self.root,
            self.root,
            OsStr::new(name),
            entry.map(|entry| entry.kind),
        )
    }

    /// The entry of the root whose name differs from `name` in letter case only.
    fn near_entry(&self, name: &str) -> Option<OsString> {
        let near = self
            .entries
            .iter()
            .find(|entry| entry.name.eq_ignore_ascii_case(name));
        near.map(|entry| entry.name.clone())
    }

    /// Adds a finding without text.
    fn report(&mut self, finding: Diagnostic) {
        self.diagnostics.push(finding);
    }

    /// Adds the findings about one file, and keeps its text if there are any.
    fn report_text(&mut self, path: &str, bytes: Vec<u8>, findings: Vec<Diagnostic>) {
        if findings.is_empty() {
            return;
        }
        if self.options.keep_sources {
            // Offsets refer to the bytes; they fit the text only if it is valid.
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            };
            self.sources.insert(path.to_owned(), text.into());
        }
        self.diagnostics.extend(findings);
    }
}
