//! Mending a package: fixes are tried on a copy of its texts, and judged as the
//! whole package is judged, before any of them counts.
//!
//! A change counts if the finding it answers is gone and nothing got worse:
//! whatever loaded still loads, and there is no finding more about it. A file, a
//! skill or a server that did not load may show findings that its first fault hid.

mod judge;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::fixes::{self, Change, File, Fix, Operation, Site};
use super::text::{self, Edit};
use super::write::{self, FileChange, WriteError};
use crate::diagnostic::{Diagnostic, Severity};
use crate::package::{self, Package, Texts};

/// What to mend and how far to go.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'o> {
    /// Also make changes that may change what the author meant.
    pub risky: bool,
    /// Where unknown fields of the manifest go: a reverse-domain name.
    pub namespace: Option<&'o str>,
    /// Apply drafts of the specification, too.
    pub drafts: bool,
}

/// What would be done to a package, and what would be left.
#[derive(Debug)]
pub struct Plan {
    /// The findings that end, each with the fix that ends it, in the order in
    /// which they are mended.
    pub mended: Vec<Mended>,
    /// The files that change, by path.
    pub files: Vec<FileChange>,
    /// What happens to files beside their texts, each with the finding it ends.
    pub operations: Vec<(Operation, Mended)>,
    /// The package as it would be, without the findings that the operations end.
    /// What these bring to light is not in it.
    pub package: Package,
    /// Of the findings that are left, by their place in `package.diagnostics`,
    /// why a fix that there is was not made.
    pub reasons: BTreeMap<usize, String>,
}

/// A finding that a fix ends.
#[derive(Debug, Clone)]
pub struct Mended {
    /// The finding, as it was before.
    pub finding: Diagnostic,
    /// What the fix does.
    pub does: &'static str,
}

/// Why a package was not mended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The package cannot be loaded.
    #[error("read the package: {0}")]
    Read(#[from] io::Error),
    /// Its files cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file cannot be renamed, or its mode not changed.
    #[error("change {path}: {error}")]
    Operation {
        /// The file, for people.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

/// Most rounds of fixes: each ends what the one before has brought to light.
const ROUNDS: usize = 1_000;

/// Finds what can be mended in the package at `root`; writes nothing.
///
/// # Errors
///
/// As [`package::load`].
pub fn plan(root: &Path, display: &str, options: &Options<'_>) -> io::Result<Plan> {
    let physical = root.canonicalize()?;
    let mut run = Run {
        root: physical,
        display,
        options: *options,
        originals: BTreeMap::new(),
        texts: Texts::new(),
        given_up: HashSet::new(),
        mended: Vec::new(),
    };
    let mut package = run.load(&Texts::new())?;
    for _ in 0..ROUNDS {
        let proposals = run.proposals(&package);
        match run.round(&package, proposals)? {
            Some(next) => package = next,
            None => break,
        }
    }
    Ok(run.finish(package))
}

/// Mends the package at `root` and gives what was done; with what is left.
///
/// # Errors
///
/// When the package cannot be loaded, or a file of it not be changed. Texts are
/// then as they were before the round that failed.
pub fn mend(root: &Path, display: &str, options: &Options<'_>) -> Result<Plan, Error> {
    let mut all = plan(root, display, options)?;
    write::write(&all.files)?;
    let mut pending = std::mem::take(&mut all.operations);
    let mut refused = HashSet::new();
    for _ in 0..ROUNDS {
        pending.retain(|(operation, _)| !refused.contains(operation));
        let Some((operation, mended)) = pending.pop() else {
            break;
        };
        operate(&operation)?;
        let next = plan(root, display, options)?;
        // What clients now look at must not be worse than not there.
        if let Operation::Rename { from, to } = &operation
            && errors(&next.package) > errors(&all.package)
        {
            let back = Operation::Rename {
                from: to.clone(),
                to: from.clone(),
            };
            operate(&back)?;
            refused.insert(operation);
            continue;
        }
        write::write(&next.files)?;
        all.operations.push((operation, mended));
        pending = next.operations;
        all.mended.extend(next.mended);
        all.files.extend(next.files);
        all.package = next.package;
        all.reasons = next.reasons;
    }
    if !refused.is_empty() {
        let now = plan(root, display, options)?;
        all.package = now.package;
        all.reasons = now.reasons;
        for (operation, mended) in now.operations {
            // It was tried and taken back.
            all.reasons.insert(
                all.package.diagnostics.len(),
                "the name was tried, and more would fail to load".to_owned(),
            );
            all.package.diagnostics.push(mended.finding);
            drop(operation);
        }
    }
    Ok(all)
}

/// How many findings of a package would be mended without asking. It is found
/// without trying: what hides behind a finding is not counted.
pub fn mendable(root: &Path, package: &Package) -> usize {
    // Asked of each package of a search, most of which have nothing to mend.
    if package.diagnostics.is_empty() {
        return 0;
    }
    let Ok(root) = root.canonicalize() else {
        return 0;
    };
    let run = Run {
        root,
        display: "",
        options: Options::default(),
        originals: BTreeMap::new(),
        texts: Texts::new(),
        given_up: HashSet::new(),
        mended: Vec::new(),
    };
    run.proposals(package).made.len()
}

/// What names a finding from one round to the next.
type Key = (&'static str, String, Option<String>, String);

fn key(finding: &Diagnostic) -> Key {
    (
        finding.code.id,
        finding.path.clone(),
        finding.pointer.clone(),
        finding.message.clone(),
    )
}

fn errors(package: &Package) -> usize {
    let severities = package.diagnostics.iter().map(Diagnostic::severity);
    severities
        .filter(|severity| *severity == Severity::Error)
        .count()
}

struct Run<'r> {
    root: PathBuf,
    display: &'r str,
    options: Options<'r>,
    /// The files that were looked at, as they are on disk.
    originals: BTreeMap<PathBuf, (String, String)>,
    /// What changed files hold by now.
    texts: Texts,
    given_up: HashSet<Key>,
    mended: Vec<Mended>,
}

/// A change and the finding it answers.
struct Proposal {
    finding: Diagnostic,
    fix: &'static Fix,
    change: Change,
}

/// What the fixes say about all findings of a package.
#[derive(Default)]
struct Proposals {
    made: Vec<Proposal>,
    /// Files that are to be edited.
    files: HashMap<PathBuf, (String, String)>,
    /// Why others are not made, by the place of the finding.
    reasons: BTreeMap<usize, String>,
}

impl Run<'_> {
    fn load(&self, texts: &Texts) -> io::Result<Package> {
        let options = package::Options {
            drafts: self.options.drafts,
            keep_sources: true,
        };
        package::load_with(&self.root, self.display, &options, texts)
    }

    /// The file of a finding, as it is by now.
    fn file(&self, path: &str) -> Option<File> {
        let (path, bytes) = package::read(&self.root, path)?;
        let bytes = self.texts.get(&path).cloned().unwrap_or(bytes);
        let text = String::from_utf8(bytes).ok()?;
        Some(File { path, text })
    }

    fn proposals(&self, package: &Package) -> Proposals {
        let mut proposals = Proposals::default();
        let mut files: HashMap<&str, Option<File>> = HashMap::new();
        for (index, finding) in package.diagnostics.iter().enumerate() {
            let mut fixes = fixes::of(finding.code).peekable();
            if fixes.peek().is_none() {
                continue;
            }
            let file = &*files
                .entry(&finding.path)
                .or_insert_with(|| self.file(&finding.path));
            let site = Site {
                root: &self.root,
                package,
                finding,
                file: file.as_ref(),
                namespace: self.options.namespace,
            };
            if let Some(file) = file {
                let named = (finding.path.clone(), file.text.clone());
                proposals.files.entry(file.path.clone()).or_insert(named);
            }
            let (made, reason) = self.decide(fixes, &site);
            match made {
                Some((fix, change)) => proposals.made.push(Proposal {
                    finding: finding.clone(),
                    fix,
                    change,
                }),
                None => {
                    proposals
                        .reasons
                        .extend(reason.map(|reason| (index, reason)));
                }
            }
        }
        proposals
    }

    /// The first fix that has an answer which may be made; otherwise why none is.
    fn decide(
        &self,
        fixes: impl Iterator<Item = &'static Fix>,
        site: &Site<'_>,
    ) -> (Option<(&'static Fix, Change)>, Option<String>) {
        if self.given_up.contains(&key(site.finding)) {
            let reason = "a fix would not end it, or make something else worse";
            return (None, Some(reason.to_owned()));
        }
        let mut said = None;
        for fix in fixes {
            let reason = match fix.answer(site) {
                Ok(mut change) => match change.risk.take().or_else(|| self.shared(site, &change)) {
                    Some(risk) if !self.options.risky => format!("--unsafe mends it: {risk}"),
                    _ => return (Some((fix, change)), None),
                },
                Err(reason) => reason,
            };
            if !reason.is_empty() && said.is_none() {
                said = Some(reason);
            }
        }
        (None, said)
    }

    /// Why an edit of `plugin.json` or `mcp.json` may change what another client
    /// reads: the file is a link, mostly to that client's own.
    fn shared(&self, site: &Site<'_>, change: &Change) -> Option<String> {
        let file = site.file.filter(|_| !change.edits.is_empty())?;
        let path = &site.finding.path;
        if path.contains('/') || file.path == self.root.join(path) {
            return None;
        }
        let target = file.path.strip_prefix(&self.root).ok()?;
        Some(format!(
            "{path} is a link to {}, which others may read by other rules",
            target.display()
        ))
    }

    /// Makes as many changes as go together; the package as it is then, or `None`
    /// if there was nothing to change.
    fn round(&mut self, package: &Package, proposals: Proposals) -> io::Result<Option<Package>> {
        for (path, named) in &proposals.files {
            self.originals
                .entry(path.clone())
                .or_insert_with(|| named.clone());
        }
        let mut edits: Vec<Edit> = Vec::new();
        let mut together: Vec<Proposal> = Vec::new();
        for proposal in proposals.made {
            let own = &proposal.change.edits;
            if own.is_empty() {
                continue;
            }
            // Two findings may ask for the same: the text of a file with two names.
            if own.iter().all(|edit| edits.contains(edit)) {
                together.push(proposal);
            } else if !text::overlap(&edits, own) {
                edits.extend(own.iter().cloned());
                together.push(proposal);
            }
        }
        if together.is_empty() {
            return Ok(None);
        }
        if let Some(next) = self.attempt(package, &together)? {
            return Ok(Some(next));
        }
        // One of them spoils it. What is left over has its turn in the next round.
        let mut fewer = together.as_slice();
        while fewer.len() > 1 {
            fewer = fewer.get(..fewer.len() / 2).unwrap_or_default();
            if let Some(next) = self.attempt(package, fewer)? {
                return Ok(Some(next));
            }
        }
        let spoils = fewer.iter().map(|proposal| key(&proposal.finding));
        self.given_up.extend(spoils);
        self.load(&self.texts).map(Some)
    }

    /// The package with these changes made, if they count.
    fn attempt(&mut self, before: &Package, proposals: &[Proposal]) -> io::Result<Option<Package>> {
        let mut by_file: BTreeMap<&Path, Vec<&Edit>> = BTreeMap::new();
        for edit in proposals.iter().flat_map(|proposal| &proposal.change.edits) {
            let edits = by_file.entry(&edit.path).or_default();
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
        let mut texts = self.texts.clone();
        for (path, edits) in by_file {
            let now = match self.texts.get(path) {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => match self.originals.get(path) {
                    Some((_, text)) => text.clone(),
                    None => return Ok(None),
                },
            };
            let Ok(new) = text::apply(&now, edits) else {
                return Ok(None);
            };
            if judge::reads(path, &now) && !judge::reads(path, &new) {
                return Ok(None);
            }
            texts.insert(path.to_owned(), new.into_bytes());
        }
        let after = self.load(&texts)?;
        let ended = proposals.iter().map(|proposal| &proposal.finding);
        if !judge::counts(before, &after, ended) {
            return Ok(None);
        }
        self.texts = texts;
        self.mended.extend(proposals.iter().map(|proposal| Mended {
            finding: proposal.finding.clone(),
            does: proposal.fix.does,
        }));
        Ok(Some(after))
    }

    fn finish(mut self, mut package: Package) -> Plan {
        let mut operations: Vec<(Operation, Mended)> = Vec::new();
        for proposal in self.proposals(&package).made {
            let Some(operation) = proposal.change.operation else {
                continue;
            };
            package
                .diagnostics
                .retain(|finding| *finding != proposal.finding);
            if !operations.iter().any(|(other, _)| *other == operation) {
                let mended = Mended {
                    finding: proposal.finding,
                    does: proposal.fix.does,
                };
                operations.push((operation, mended));
            }
        }
        let reasons = self.proposals(&package).reasons;
        let mut files = Vec::new();
        for (path, bytes) in self.texts {
            let Some((display, before)) = self.originals.remove(&path) else {
                continue;
            };
            let after = String::from_utf8_lossy(&bytes).into_owned();
            if after != before {
                files.push(FileChange {
                    path,
                    display,
                    before,
                    after,
                });
            }
        }
        files.sort_by(|one, other| one.display.cmp(&other.display));
        Plan {
            mended: self.mended,
            files,
            operations,
            package,
            reasons,
        }
    }
}

fn operate(operation: &Operation) -> Result<(), Error> {
    let (path, result) = match operation {
        Operation::Rename { from, to } => (from, fs::rename(from, to)),
        Operation::MakeExecutable(path) => (path, make_executable(path)),
    };
    result.map_err(|error| Error::Operation {
        path: path.display().to_string(),
        error,
    })
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path)?.permissions().mode();
    // Whoever may read it may run it.
    let runs = mode | ((mode & 0o444) >> 2);
    fs::set_permissions(path, fs::Permissions::from_mode(runs))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
