//! One source for what several manifests say: `plugin.json`, the manifests of
//! single clients, `package.json`, and the entries of marketplaces that offer the
//! package. A field is kept in step where the source and the other file have it:
//! which fields a file has is its author's choice.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::json::{Layout, string};
use super::metadata::{self, Shape, TEXTS};
use super::text::{self, Edit};
use super::write::{FileChange, WriteError};
use crate::diagnostic::{LineIndex, Location, Span};
use crate::document::{Document, Node, Object, json};
use crate::package::{self, Verdict};
use crate::spec::credential;
use crate::spec::foreign::{MARKETPLACES, NATIVE_MANIFESTS, NODE_MANIFEST};

pub use super::metadata::FIELDS;

/// The portable manifest.
const MANIFEST: &str = "plugin.json";

/// What to keep in step.
#[derive(Debug, Clone, Copy)]
pub struct Options<'o> {
    /// The file that is right, by its path in the package.
    pub from: &'o str,
    /// The fields, of [`FIELDS`]; none for all.
    pub fields: &'o [String],
}

/// A place where a file says something else than the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The file, relative to the package (`../` for what lies above it).
    pub path: String,
    /// Where its value stands.
    pub location: Location,
    /// The field, with a part behind a period: `author.email`.
    pub field: String,
    /// What the file says.
    pub says: String,
    /// What the source says.
    pub source: String,
    /// The file holds no text there but something of this type (`says`), which only
    /// its author can correct.
    pub by_hand: bool,
}

/// What differs, and what would be written.
#[derive(Debug, Default)]
pub struct Plan {
    /// The files that were compared, relative to the package.
    pub compared: Vec<String>,
    /// All differences, file by file.
    pub drifts: Vec<Drift>,
    /// The files with the differences gone.
    pub files: Vec<FileChange>,
    /// Files that cannot be compared, each with the reason.
    pub unread: Vec<(String, String)>,
}

/// Why nothing was compared or written. Messages read after "failed to keep the
/// package in step: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The package directory cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// No client would load it.
    #[error("the package is rejected; `apkit validate` says why")]
    Rejected,
    /// The source is none of the files that are kept in step.
    #[error("{0} is none of {1}")]
    NoSource(String, String),
    /// The source cannot be read.
    #[error("{0} {1}")]
    Source(String, String),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A file that says something about the package.
struct Manifest {
    /// Relative to the package.
    display: String,
    path: PathBuf,
    text: String,
    document: Document,
    shape: Shape,
}

impl Manifest {
    /// The file at `path` below `base`, which nothing of it may leave.
    fn read(
        base: &Path,
        path: &str,
        display: String,
        shape: Shape,
    ) -> Option<Result<Self, String>> {
        base.join(path).symlink_metadata().ok()?;
        let Some((physical, bytes)) = package::read(base, path) else {
            return Some(Err("cannot be read".to_owned()));
        };
        let document = match json::parse(&bytes, json::LIMITS) {
            Ok(document) => document,
            Err(error) => return Some(Err(format!("is not JSON: {error}"))),
        };
        if document.root.as_object().is_none() {
            return Some(Err("is not a JSON object".to_owned()));
        }
        Some(Ok(Self {
            display,
            path: physical,
            text: String::from_utf8(bytes).ok()?,
            document,
            shape,
        }))
    }

    fn object(&self) -> Option<&Object> {
        self.document.root.as_object()
    }
}

/// Compares everything that says something about the package in `root`; writes
/// nothing.
///
/// # Errors
///
/// When the package is rejected or the source cannot be read.
pub fn plan(root: &Path, options: &Options<'_>) -> Result<Plan, Error> {
    let root = root.canonicalize()?;
    if package::load(&root, "", &package::Options::default())?.verdict == Verdict::Rejected {
        return Err(Error::Rejected);
    }
    let known = || {
        [(MANIFEST, Shape::Plugin), (NODE_MANIFEST, Shape::Node)]
            .into_iter()
            .chain(
                NATIVE_MANIFESTS
                    .iter()
                    .map(|(path, _)| (*path, Shape::Plugin)),
            )
    };
    let from = options.from.strip_prefix("./").unwrap_or(options.from);
    let Some((_, shape)) = known().find(|(path, _)| *path == from) else {
        let all: Vec<&str> = known().map(|(path, _)| path).collect();
        return Err(Error::NoSource(from.to_owned(), all.join(", ")));
    };
    let source = match Manifest::read(&root, from, from.to_owned(), shape) {
        Some(Ok(source)) => source,
        Some(Err(error)) => return Err(Error::Source(from.to_owned(), error)),
        None => return Err(Error::Source(from.to_owned(), "is not there".to_owned())),
    };
    let Some(object) = source.object() else {
        return Err(Error::Source(
            from.to_owned(),
            "is not an object".to_owned(),
        ));
    };
    let mut plan = Plan::default();
    for (path, shape) in known().filter(|(path, _)| *path != from) {
        match Manifest::read(&root, path, path.to_owned(), shape) {
            None => {}
            Some(Err(error)) => plan.unread.push((path.to_owned(), error)),
            Some(Ok(other)) => {
                let own = [&other.document.root];
                compare(object, source.shape, &other, &own, options, &mut plan);
            }
        }
    }
    for (marketplace, directory) in marketplaces(&root, &mut plan.unread) {
        let entries = entries(&marketplace, &directory, &root);
        if !entries.is_empty() {
            compare(
                object,
                source.shape,
                &marketplace,
                &entries,
                options,
                &mut plan,
            );
        }
    }
    Ok(plan)
}

/// The marketplaces of the package's directory and of those above it, up to the
/// top of its repository, each with the directory its entries start from.
fn marketplaces(root: &Path, unread: &mut Vec<(String, String)>) -> Vec<(Manifest, PathBuf)> {
    let mut found = Vec::new();
    let mut up = String::new();
    for directory in root.ancestors() {
        for path in MARKETPLACES {
            let display = format!("{up}{path}");
            match Manifest::read(directory, path, display.clone(), Shape::Plugin) {
                None => {}
                Some(Err(error)) => unread.push((display, error)),
                Some(Ok(manifest)) => found.push((manifest, directory.to_owned())),
            }
        }
        if directory.join(".git").exists() {
            break;
        }
        up.push_str("../");
    }
    found
}

/// The entries of a marketplace whose source is the package in `root`.
fn entries<'m>(marketplace: &'m Manifest, directory: &Path, root: &Path) -> Vec<&'m Node> {
    let Some(object) = marketplace.object() else {
        return Vec::new();
    };
    let text = |object: &'m Object, key: &str| object.get(key)?.value.as_text()?.as_str();
    let base = object
        .get("metadata")
        .and_then(|metadata| text(metadata.value.as_object()?, "pluginRoot"));
    let leads_here = |path: &str| {
        let here = |place: PathBuf| place.canonicalize().is_ok_and(|place| place == root);
        here(directory.join(path)) || base.is_some_and(|base| here(directory.join(base).join(path)))
    };
    let plugins = object
        .get("plugins")
        .and_then(|member| member.value.as_array());
    let plugins = plugins.unwrap_or_default().iter();
    plugins
        .filter(|entry| {
            let Some(source) = entry.as_object().and_then(|entry| entry.get("source")) else {
                return false;
            };
            let path = match source.value.as_object() {
                None => source.value.as_text().and_then(|text| text.as_str()),
                Some(source) => text(source, "path")
                    .filter(|_| matches!(text(source, "source"), Some("local" | "directory"))),
            };
            path.is_some_and(leads_here)
        })
        .collect()
}

/// Compares one file's `objects` with the source.
fn compare(
    source: &Object,
    shape: Shape,
    other: &Manifest,
    objects: &[&Node],
    options: &Options<'_>,
    plan: &mut Plan,
) {
    plan.compared.push(other.display.clone());
    let mut comparison = Comparison {
        source,
        shape,
        other,
        layout: Layout::of(&other.text, &other.document.root),
        lines: LineIndex::new(other.text.as_bytes()),
        drifts: Vec::new(),
        edits: Vec::new(),
    };
    for object in objects.iter().filter_map(|node| node.as_object()) {
        for field in FIELDS {
            if options.fields.is_empty() || options.fields.iter().any(|wanted| wanted == field) {
                comparison.field(object, field);
            }
        }
    }
    let Comparison { drifts, edits, .. } = comparison;
    // Two entries of one file never share a value, so their edits fit together.
    if let Ok(after) = text::apply(&other.text, &edits)
        && !edits.is_empty()
        && json::parse(after.as_bytes(), json::LIMITS).is_ok()
    {
        plan.files.push(FileChange {
            path: other.path.clone(),
            display: other.display.clone(),
            before: other.text.clone(),
            after,
        });
    }
    plan.drifts.extend(drifts);
}

struct Comparison<'c> {
    source: &'c Object,
    shape: Shape,
    other: &'c Manifest,
    layout: Layout<'c>,
    lines: LineIndex<'c>,
    drifts: Vec<Drift>,
    edits: Vec<Edit>,
}

impl Comparison<'_> {
    fn field(&mut self, object: &Object, field: &str) {
        if let Some(node) = metadata::odd(object, field) {
            self.odd(field, node);
            return;
        }
        match field {
            "author" => self.author(object),
            "keywords" => self.keywords(object),
            _ if TEXTS.contains(&field) => self.text(object, field),
            _ => {}
        }
    }

    fn drift(&mut self, field: String, span: Span, says: &str, source: &str, new: String) {
        self.drifts.push(Drift {
            path: self.other.display.clone(),
            location: self.lines.locate(span),
            field,
            says: credential::masked(says).into_owned(),
            source: credential::masked(source).into_owned(),
            by_hand: false,
        });
        self.edits.push(Edit {
            path: self.other.path.clone(),
            span,
            replacement: new,
        });
    }

    /// A value of a type that manifests do not have there.
    fn odd(&mut self, field: &str, node: &Node) {
        let ours = match field {
            "author" => metadata::author(self.source).map(|(person, _)| person.line()),
            "keywords" => metadata::keywords(self.source).map(|(words, _)| words.join(", ")),
            _ => metadata::field(self.source, self.shape, field).map(|ours| ours.says),
        };
        let Some(ours) = ours else {
            return;
        };
        self.drifts.push(Drift {
            path: self.other.display.clone(),
            location: self.lines.locate(node.span),
            field: field.to_owned(),
            says: node.type_name().to_owned(),
            source: credential::masked(&ours).into_owned(),
            by_hand: true,
        });
    }

    fn text(&mut self, object: &Object, field: &str) {
        let ours = metadata::field(self.source, self.shape, field);
        let theirs = metadata::field(object, self.other.shape, field);
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return;
        };
        if ours.says != theirs.says {
            let new = metadata::written(&theirs, self.other.shape, field, &ours.says);
            self.drift(
                field.to_owned(),
                theirs.node.span,
                &theirs.says,
                &ours.says,
                string(&new),
            );
        }
    }

    fn author(&mut self, object: &Object) {
        let (Some((ours, _)), Some((theirs, node))) =
            (metadata::author(self.source), metadata::author(object))
        else {
            return;
        };
        let mut merged = theirs.clone();
        let mut differing = Vec::new();
        for (key, value) in ours.parts() {
            match merged.part(key) {
                Some(Some(part)) if part != value => {
                    differing.push((key, part.clone(), value.to_owned()));
                    value.clone_into(part);
                }
                _ => {}
            }
        }
        if differing.is_empty() {
            return;
        }
        let Some(parts) = node.as_object() else {
            let (says, line) = (theirs.line(), merged.line());
            self.drift("author".to_owned(), node.span, &says, &line, string(&line));
            return;
        };
        for (key, says, value) in differing {
            if let Some(member) = parts.get(key) {
                let field = format!("author.{key}");
                self.drift(field, member.value.span, &says, &value, string(&value));
            }
        }
    }

    fn keywords(&mut self, object: &Object) {
        let (Some((ours, _)), Some((theirs, node))) =
            (metadata::keywords(self.source), metadata::keywords(object))
        else {
            return;
        };
        // Their order means nothing.
        let set = |words: &[&str]| -> BTreeSet<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        if set(&ours) != set(&theirs) {
            let new = self.layout.strings(node, &ours);
            self.drift(
                "keywords".to_owned(),
                node.span,
                &theirs.join(", "),
                &ours.join(", "),
                new,
            );
        }
    }
}
