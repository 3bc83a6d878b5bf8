//! One skill (§7.1 and the Agent Skills format): its directory and `SKILL.md`.
//!
//! [`frontmatter`] holds the rules about the fields, [`body`] the advice about
//! the Markdown text and [`resources`] that about the other files.

mod body;
mod frontmatter;
mod resources;

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::Loader;
use super::containment::{self, Resolution};
use super::file::{self, Entry, MAX_BYTES, ReadError, Source};
use super::report::{Skill, Skills, SkippedSkill};
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::document::frontmatter as split;
use crate::spec::codes::skill as codes;

/// The file that makes a directory a skill (§7.1).
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// Loads the skill in `directory`, the physical place of the entry `name` of
/// `skills/`; `entries` are that directory's entries, `SKILL.md` among them.
pub(super) fn load(
    loader: &mut Loader<'_>,
    directory: &Path,
    name: &OsStr,
    path: String,
    entries: &[Entry],
    found: &mut Skills,
) {
    let file_path = format!("{path}/{SKILL_FILE}");
    let kind = entries
        .iter()
        .find(|entry| entry.name == SKILL_FILE)
        .map(|entry| entry.kind);
    let file =
        match containment::resolve_entry(loader.root, directory, OsStr::new(SKILL_FILE), kind) {
            Resolution::File(file) => file,
            Resolution::Escape => {
                loader.report(escape(
                    &file_path,
                    "SKILL.md is a link that leads out of the package",
                ));
                found.skipped.push(SkippedSkill { path });
                return;
            }
            Resolution::Unreadable(error) => {
                loader.report(unreadable(&file_path, &error));
                found.skipped.push(SkippedSkill { path });
                return;
            }
            other => {
                let what = match other {
                    Resolution::Directory(_) => "SKILL.md is a directory",
                    Resolution::Special(kind) => &format!("SKILL.md is {kind}"),
                    Resolution::Loop => "SKILL.md is a link that leads back to itself",
                    _ => "SKILL.md is a link to a file that does not exist",
                };
                loader.report(nothing_there(&file_path, what));
                return;
            }
        };
    let skill =
        read(loader, &file, &file_path).and_then(|bytes| judge(loader, &file_path, bytes, name));
    match skill {
        Some((name, description)) => {
            resources::check(loader, directory, &path, entries);
            found.loaded.push(Skill {
                name,
                path,
                description,
            });
        }
        None => found.skipped.push(SkippedSkill { path }),
    }
}

/// The bytes of `SKILL.md`, or a finding.
fn read(loader: &mut Loader<'_>, file: &Path, path: &str) -> Option<Vec<u8>> {
    match loader.read(file) {
        Ok(bytes) => Some(bytes),
        Err(ReadError::TooLarge) => {
            loader.report(
                Diagnostic::new(&codes::TOO_LARGE, path, format!("SKILL.md is larger than {MAX_BYTES} bytes"))
                    .with_help("move reference material into files of its own; clients load all of SKILL.md at once"),
            );
            None
        }
        Err(ReadError::Io(error)) => {
            loader.report(unreadable(path, &error));
            None
        }
    }
}

/// Judges the text of `SKILL.md`; gives name and description of a skill that
/// loads.
fn judge(
    loader: &mut Loader<'_>,
    path: &str,
    bytes: Vec<u8>,
    directory: &OsStr,
) -> Option<(String, String)> {
    let mut findings = Vec::new();
    let skill = judge_text(Some(loader), path, &bytes, directory, &mut findings);
    if skill.is_none() {
        // What is merely worth knowing is said of what loads.
        findings.retain(|finding| finding.severity() != Severity::Info);
    }
    loader.report_text(path, bytes, findings);
    skill
}

/// What the text of a `SKILL.md` says about itself, for a skill in a directory
/// of this name: everything but where its links lead. `path` is how findings
/// name the file.
pub fn findings(path: &str, bytes: &[u8], directory: &str) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    judge_text(None, path, bytes, directory.as_ref(), &mut findings);
    findings
}

fn judge_text(
    loader: Option<&Loader<'_>>,
    path: &str,
    bytes: &[u8],
    directory: &OsStr,
    findings: &mut Vec<Diagnostic>,
) -> Option<(String, String)> {
    let source = Source::new(path, bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let bad = Span::new(at, at + error.error_len().unwrap_or(bytes.len() - at));
            findings.push(
                source
                    .finding(
                        &codes::INVALID_UTF8,
                        bad,
                        "SKILL.md holds a byte sequence that is not UTF-8",
                    )
                    .with_help("save the file as UTF-8"),
            );
            return None;
        }
    };
    let parts = match split::split(text) {
        Ok(parts) => parts,
        Err(_) if file::checked_out_link(bytes).is_some() => {
            let target = file::checked_out_link(bytes).unwrap_or_default();
            findings.push(
                source
                    .finding(
                        &codes::FRONTMATTER_MISSING,
                        Span::new(0, target.len()),
                        file::checked_out_link_message(target),
                    )
                    .with_help(file::CHECKED_OUT_LINK_HELP),
            );
            return None;
        }
        Err(error) => {
            let code = match error.kind {
                split::SplitErrorKind::Missing => &codes::FRONTMATTER_MISSING,
                split::SplitErrorKind::Unclosed => &codes::FRONTMATTER_UNCLOSED,
            };
            findings.push(
                source
                    .finding(code, error.span, error.message)
                    .with_help("begin the file with a line ---, then name: and description:, then another line ---"),
            );
            return None;
        }
    };
    if parts.bom {
        findings.push(
            source
                .finding(
                    &codes::BYTE_ORDER_MARK,
                    Span::new(0, 3),
                    "SKILL.md begins with a byte order mark",
                )
                .with_help("save the file without it; some clients find no frontmatter behind it"),
        );
    }
    let skill = frontmatter::check(&source, text, parts.yaml, directory, findings);
    if skill.is_some() {
        body::check(loader, &source, text, parts.body, path, findings);
    }
    skill
}

/// The skill, or its directory, leads out of the package (§4.1, boundary 3).
pub(super) fn escape(path: &str, message: &str) -> Diagnostic {
    Diagnostic::new(&codes::ESCAPE, path, message)
        .with_help("copy the skill into the package; links may only lead to places inside it")
}

/// `SKILL.md` is there in name only.
pub(super) fn nothing_there(path: &str, message: &str) -> Diagnostic {
    Diagnostic::new(
        &codes::NOT_A_FILE,
        path,
        format!("{message}, so no skill is found here"),
    )
    .with_help("put a regular file SKILL.md there, or remove the entry")
}

/// A file or directory of the skill cannot be read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::new(
        &codes::UNREADABLE,
        path,
        format!("the skill cannot be read: {error}"),
    )
    .with_help("grant read access to the file and search access to its directory")
}

/// The file's name differs in letter case.
pub(super) fn file_case(directory: &str, name: &OsStr) -> Diagnostic {
    let name = containment::display_name(name);
    Diagnostic::new(
        &codes::FILE_CASE,
        format!("{directory}/{name}"),
        format!("the file is named {name}, not {SKILL_FILE}, so no skill is found here"),
    )
    .with_help(format!("rename it to {SKILL_FILE}"))
}
