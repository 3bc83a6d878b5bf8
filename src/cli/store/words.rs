//! What is said about packages of a store, in words.

use std::borrow::Cow;
use std::env;
use std::io::{self, Write};
use std::path::Path;

use apkit::archive::LeftOut;
use apkit::diagnostic::Severity;
use apkit::package::{Package, Report};
use apkit::render::{text, visible};
use apkit::source::Resolved;
use apkit::store::{Discarded, Done, Entry, Rejected, Rewritten, shown_version};

use super::super::args::When;
use super::super::failure::show;
use super::super::screen;
use super::args::Place;
use super::copies::{self, Asked};

/// Digits of a commit or digest that are shown.
const SHORT: usize = 12;
/// The most entries of a list that are shown.
const MOST: usize = 20;

/// A command for the same store, as a shell takes it.
pub(super) fn command(place: &Place, words: &[&str]) -> String {
    let mut text = "apkit".to_owned();
    for word in words {
        text.push(' ');
        text.push_str(&quoted(word));
    }
    match &place.root {
        Some(root) => {
            text.push_str(" --root ");
            text.push_str(&quoted(&show(root)));
        }
        None if place.project => text.push_str(" --project"),
        None => {}
    }
    text
}

/// The command that imports a source.
pub(super) fn import(source: &str) -> String {
    format!("apkit import {}", quoted(source))
}

/// The command that judges all packages in a source.
pub(super) fn validate_below(source: &str) -> String {
    format!("apkit validate --recursive {}", quoted(source))
}

/// The beginning of the command that makes a package of something.
pub(super) fn export(source: &str) -> String {
    format!("apkit export {}", quoted(source))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", visible(word).replace('\'', "'\\''")))
}

/// Name and version.
pub(super) fn title(name: &str, entry: &Entry) -> String {
    let version = shown_version(entry.version.as_deref(), &entry.digest);
    format!("{} {}", visible(name), visible(&version))
}

/// Where a package comes from, and which content of it is there.
pub(super) fn origin(entry: &Entry) -> String {
    let source = entry.source.to_string();
    match pin(entry) {
        Some(pin) => format!("{} ({pin})", visible(&source)),
        None => visible(&source).into_owned(),
    }
}

/// Which content of its source it is, if a few words tell.
pub(super) fn pin(entry: &Entry) -> Option<String> {
    match &entry.resolved {
        Resolved::Commit { id, .. } => Some(format!("commit {}", short(id))),
        Resolved::Version { version, .. } => Some(format!("version {}", visible(version))),
        Resolved::Content | Resolved::Archive { .. } => None,
    }
}

/// What tells this content from another.
pub(super) fn content(entry: &Entry) -> String {
    pin(entry).unwrap_or_else(|| {
        let digest = entry.digest.to_string();
        let digits = digest.split(':').next_back().unwrap_or_default();
        format!("content {}", short(digits))
    })
}

fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}

/// Warns of what named one content for good, and names another one now.
pub(super) fn rewritten(
    before: Option<&Entry>,
    after: &Entry,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some((before, what)) =
        before.and_then(|before| Some((before, Rewritten::between(before, after)?)))
    else {
        return Ok(());
    };
    let told = match &what {
        Rewritten::Version(version) => format!(
            "published again under the same version {}",
            visible(version)
        ),
        Rewritten::Tag(tag) => format!(
            "the tag {} was moved from {} to {}",
            visible(tag),
            content(before),
            content(after)
        ),
    };
    if before.digest == after.digest {
        writeln!(
            out,
            "  warning: {told}, with the same content {}",
            after.digest
        )
    } else {
        writeln!(
            out,
            "  warning: {told}; its content was {} and is {}",
            before.digest, after.digest
        )
    }
}

/// What a client gets.
pub(super) fn components(package: &Package) -> String {
    let count = |count: usize, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {what}{plural}")
    };
    format!(
        "{}, {}",
        count(package.skills.loaded.len(), "skill"),
        count(package.mcp.loaded.len(), "server")
    )
}

/// What a user should know of a package that is in place.
pub(super) fn notes(
    done: &Done,
    root: &Path,
    place: &Place,
    asked: Asked,
    out: &mut dyn Write,
) -> io::Result<()> {
    let judged = if asked.dry_run {
        done.entry.source.to_string()
    } else {
        from_here(root)
    };
    rewritten(done.before.as_ref(), &done.entry, out)?;
    if done.is_weak {
        writeln!(
            out,
            "  its registry has only a SHA-1 digest of it, which does not protect from forgery; from now on its SHA-512 is pinned"
        )?;
    }
    findings(&done.package, &judged, out)?;
    left_out(&done.left_out, out)?;
    discarded(&done.discarded, out)?;
    copies::made(done, place, asked, out)?;
    copies::others(&done.folders, asked.dry_run, out)
}

/// What of its source a package lacks.
fn left_out(left_out: &[LeftOut], out: &mut dyn Write) -> io::Result<()> {
    // What git keeps for itself at the top of a directory, nobody misses.
    let is_told = |left: &&LeftOut| left.path != ".git";
    let left_out = left_out.iter().filter(is_told);
    listed("left out", left_out.map(ToString::to_string).collect(), out)
}

/// Why nothing of a package is in place, and what of its source would not be.
pub(super) fn rejected(rejected: Rejected, color: When, out: &mut dyn Write) -> io::Result<()> {
    let report = Report {
        packages: vec![rejected.package],
    };
    let options = text::Options {
        screen: screen::of(color, false),
        quiet: None,
    };
    text::write(&report, &options, out)?;
    left_out(&rejected.left_out, out)
}

/// A path as it is written in the working directory.
fn from_here(path: &Path) -> String {
    let here = env::current_dir().ok();
    let below = here.and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    show(below.as_deref().unwrap_or(path))
}

/// What of a package does not load, and how much else was found.
fn findings(package: &Package, judged: &str, out: &mut dyn Write) -> io::Result<()> {
    let errors = package.diagnostics.iter();
    let errors = errors.filter(|found| found.severity() == Severity::Error);
    let errors = errors.map(|found| {
        format!(
            "{}: {} ({})",
            visible(&found.path),
            visible(&found.message),
            found.code.id
        )
    });
    listed("does not load", errors.collect(), out)?;
    let warnings = package.diagnostics.iter();
    let warnings = warnings.filter(|found| found.severity() == Severity::Warning);
    match warnings.count() {
        0 => Ok(()),
        1 => writeln!(out, "  1 warning: apkit validate {}", quoted(judged)),
        count => writeln!(out, "  {count} warnings: apkit validate {}", quoted(judged)),
    }
}

/// Changes of somebody else that are gone.
pub(super) fn discarded(discarded: &Discarded, out: &mut dyn Write) -> io::Result<()> {
    let changes = discarded.changes.iter().map(ToString::to_string);
    let others = discarded.others.iter();
    let others = others.map(|path| format!("{path:?} was added"));
    let items: Vec<String> = changes.chain(others).collect();
    if !discarded.is_unknown {
        return listed("changed since it was imported, and gone now", items, out);
    }
    writeln!(
        out,
        "  which files were changed since it was imported cannot be told, as apkit's list of them is missing"
    )?;
    listed("other than in the new content, and gone now", items, out)
}

/// One line for each, a few of many.
pub(super) fn listed(what: &str, items: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {what}:")?;
    for item in items.iter().take(MOST) {
        writeln!(out, "    {}", visible(item))?;
    }
    match items.len().saturating_sub(MOST) {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more"),
    }
}
