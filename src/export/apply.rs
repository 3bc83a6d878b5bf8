//! Applying a plan: everything is written beside the target, judged there, and
//! only then given the target's name.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

use super::place::{self, Kept};
use super::recognise::MANIFEST;
use super::{Announced, LossKind, Output, Plan};
use crate::diagnostic::Threshold;
use crate::everos::digest;
use crate::package;

/// The list of what was written, in the form `sha256sum --check` reads. It tells
/// a later export that a directory is ours and unchanged.
pub(super) const RECEIPT: &str = "apkit-export.sha256";

/// How to treat what is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Replace a target that an export did not write, or that was changed since.
    pub force: bool,
    /// Write what only warnings speak against.
    pub allow_warnings: bool,
    /// What is left alone even then: the sources, the working directory.
    pub kept: &'a [Kept],
}

/// A finding about the result that did not stop the export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The file, relative to the package.
    pub path: String,
    /// Identifier of the code.
    pub code: &'static str,
    /// What was found.
    pub message: String,
    /// A loss of the plan tells about it; otherwise the user allowed it.
    pub announced: bool,
}

/// Why nothing was written. Messages read after "failed to export: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The target names no directory that could be made.
    #[error("the target has no name of its own")]
    NoName,
    /// The target is somebody else's.
    #[error("the target exists, and {why}")]
    Occupied {
        /// What is there.
        why: &'static str,
        /// How many files would go with it.
        files: usize,
    },
    /// The target is, holds or lies in what is never replaced.
    #[error("the target {0}; name another place")]
    Kept(String),
    /// What would be written does not pass as a package.
    #[error("the result would not pass `apkit validate --strict`: {}", findings.join("; "))]
    NotValid {
        /// What was found, described.
        findings: Vec<String>,
        /// None of it is an error.
        only_warnings: bool,
    },
    /// Texts hold what looks like credentials.
    #[error("there are credentials in it: {}", .0.join("; "))]
    Credentials(Vec<String>),
    /// A path of the plan does not stay below the target.
    #[error("{0:?} is no path below the target")]
    Outside(String),
    /// The file system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Writes everything that `plan` holds to the directory `target`, or nothing.
/// What an earlier export wrote there, and nobody changed, is replaced; so is an
/// empty directory.
///
/// # Errors
///
/// When the target is occupied, the result is not valid with warnings counted as
/// errors, or the file system refuses. The target then is as it was.
pub fn apply(plan: &Plan, target: &Path, options: Options<'_>) -> Result<Vec<Accepted>, Error> {
    let (target, _) = admit(plan, target, options)?;
    let occupied = target.exists();
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let staging = stage(plan, &target)?;
    write(&staging.path, &receipt(plan))?;
    let accepted = judge_all(plan, &staging.path, &target, options)?;
    if occupied {
        replace(staging, &target)?;
    } else {
        staging.rename_to(&target)?;
    }
    Ok(accepted)
}

/// What [`apply`] would delete: the files in `target` that no export wrote, or
/// that were changed since, and that the plan does not have.
///
/// # Errors
///
/// As [`apply`] refuses the target.
pub fn deletes(plan: &Plan, target: &Path, options: Options<'_>) -> Result<Vec<String>, Error> {
    Ok(admit(plan, target, options)?.1)
}

/// The physical target, if it may be replaced, and what would be deleted there.
/// Through a link, the directory it leads to is replaced and the link stays.
fn admit(
    plan: &Plan,
    target: &Path,
    options: Options<'_>,
) -> Result<(PathBuf, Vec<String>), Error> {
    let target = place::physical(target, true)?;
    if target.file_name().is_none() {
        return Err(Error::NoName);
    }
    place::spare(&target, options.kept)?;
    if !target.exists() {
        return Ok((target, Vec::new()));
    }
    if !target.is_dir() {
        return match options.force {
            true => Ok((target, Vec::new())),
            false => Err(Error::Occupied {
                why: "it is no directory",
                files: 1,
            }),
        };
    }
    let found = place::list(&target)?;
    place::spare_repository(&found)?;
    let Some(why) = foreign(&target, &found)? else {
        return Ok((target, Vec::new()));
    };
    if !options.force {
        let files = found.len();
        return Err(Error::Occupied { why, files });
    }
    let mut deleted = found;
    deleted.remove(RECEIPT);
    for output in &plan.outputs {
        deleted.remove(&output.path);
    }
    Ok((target, deleted.into_iter().collect()))
}

/// Judges what `plan` would write, in a directory of its own below `within`,
/// and leaves nothing behind.
///
/// # Errors
///
/// When the result is not valid, or the file system refuses.
pub fn check(plan: &Plan, within: &Path, options: Options<'_>) -> Result<Vec<Accepted>, Error> {
    let place = within.join("apkit-export");
    let staging = stage(plan, &place)?;
    judge_all(plan, &staging.path, &place, options)
}

/// Writes the files of the plan to a new directory beside `target`.
pub(super) fn stage(plan: &Plan, target: &Path) -> Result<Beside, Error> {
    let staging = Beside::create(target, "new")?;
    for output in &plan.outputs {
        write(&staging.path, output)?;
    }
    Ok(staging)
}

/// Judges the packages that were staged, or what has to pass in their place.
pub(super) fn judge_all(
    plan: &Plan,
    staged: &Path,
    target: &Path,
    options: Options<'_>,
) -> Result<Vec<Accepted>, Error> {
    let found = plan
        .losses
        .iter()
        .filter(|loss| loss.kind == LossKind::CredentialInText && !options.allow_warnings);
    let found: Vec<String> = found
        .map(|loss| format!("{}: {}", loss.path, loss.why))
        .collect();
    if !found.is_empty() {
        return Err(Error::Credentials(found));
    }
    let Some(outputs) = &plan.judged else {
        return judge(plan, &plan.packages, staged, options);
    };
    let package = Beside::create(target, "package")?;
    for output in outputs {
        write(&package.path, output)?;
    }
    judge(plan, &[String::new()], &package.path, options)
}

/// Why a target is neither empty nor exactly what an export wrote.
fn foreign(target: &Path, found: &BTreeSet<String>) -> Result<Option<&'static str>, Error> {
    const CHANGED: &str = "it was changed since it was exported";
    if found.is_empty() {
        return Ok(None);
    }
    if !found.contains(RECEIPT) {
        return Ok(Some("no export has written it"));
    }
    let Ok(receipt) = fs::read_to_string(target.join(RECEIPT)) else {
        return Ok(Some("its list of files cannot be read"));
    };
    let mut listed = BTreeSet::from([RECEIPT.to_owned()]);
    for line in receipt.lines() {
        let Some((sum, path)) = line.split_once("  ") else {
            return Ok(Some("its list of files is not one of an export"));
        };
        let is_same = found.contains(path)
            && fs::read(target.join(path)).is_ok_and(|bytes| digest::hex(&bytes, 64) == sum);
        if !is_same {
            return Ok(Some(CHANGED));
        }
        listed.insert(path.to_owned());
    }
    Ok((listed != *found).then_some("it holds files that the export did not write"))
}

/// The list of the files of a plan, which an export adds to a directory.
pub fn receipt(plan: &Plan) -> Output {
    let mut lines: Vec<String> = plan
        .outputs
        .iter()
        .map(|output| format!("{}  {}\n", digest::hex(&output.bytes, 64), output.path))
        .collect();
    lines.sort_unstable_by(|a, b| a.get(66..).cmp(&b.get(66..)));
    Output::text(RECEIPT, lines.concat())
}

fn write(root: &Path, output: &Output) -> Result<(), Error> {
    let relative = Path::new(&output.path);
    let is_below = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if output.path.is_empty() || !is_below {
        return Err(Error::Outside(output.path.clone()));
    }
    let path = root.join(relative);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    file.write_all(&output.bytes)?;
    // Whatever the user's mask says: the package is there to be passed on.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = if output.executable { 0o755 } else { 0o644 };
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Judges the packages with warnings counted as errors, but for those that the
/// plan tells about; gives the findings that did not count.
fn judge(
    plan: &Plan,
    packages: &[String],
    root: &Path,
    options: Options<'_>,
) -> Result<Vec<Accepted>, Error> {
    let mut wrong = Vec::new();
    let mut only_warnings = true;
    let mut accepted = Vec::new();
    for path in packages {
        let root = if path.is_empty() {
            root.to_owned()
        } else {
            root.join(path)
        };
        let package = package::load(&root, path, &package::Options::default())?;
        for finding in package.diagnostics {
            if !Threshold::Warning.is_reached_by(finding.code) {
                let field = finding.pointer.as_deref().unwrap_or_default();
                if finding.path == MANIFEST && plan.given.contains(&field.trim_start_matches('/')) {
                    accepted.push(Accepted {
                        path: finding.path,
                        code: finding.code.id,
                        message: finding.message,
                        announced: false,
                    });
                }
                continue;
            }
            let is_error = Threshold::Skipped.is_reached_by(finding.code);
            let announced = !is_error
                && plan.announced.contains(&Announced {
                    path: finding.path.clone(),
                    code: finding.code.id,
                });
            if announced || (!is_error && options.allow_warnings) {
                accepted.push(Accepted {
                    path: finding.path,
                    code: finding.code.id,
                    message: finding.message,
                    announced,
                });
            } else {
                only_warnings &= !is_error;
                wrong.push(format!(
                    "{}: {}: {}",
                    finding.path, finding.code.id, finding.message
                ));
            }
        }
    }
    if wrong.is_empty() {
        Ok(accepted)
    } else {
        Err(Error::NotValid {
            findings: wrong,
            only_warnings,
        })
    }
}

/// Puts what was staged in the place of `target`, which comes back if that fails.
fn replace(staging: Beside, target: &Path) -> Result<(), Error> {
    let mut old = Beside::create(target, "old")?;
    let aside = old.path.join("target");
    fs::rename(target, &aside)?;
    if let Err(error) = staging.rename_to(target) {
        // Kept where it is, rather than deleted, should it not go back.
        if fs::rename(&aside, target).is_err() {
            old.keep = true;
        }
        return Err(error.into());
    }
    Ok(())
}

/// A directory beside the target, in the same file system. It goes away with the
/// value unless it is renamed.
pub(super) struct Beside {
    pub(super) path: PathBuf,
    keep: bool,
}

impl Beside {
    pub(super) fn create(target: &Path, purpose: &str) -> Result<Self, Error> {
        let name = target.file_name().ok_or(Error::NoName)?;
        for attempt in 0_u32.. {
            let mut beside = std::ffi::OsString::from(".");
            beside.push(name);
            beside.push(format!(".{}-{attempt}.{purpose}", std::process::id()));
            let path = target.with_file_name(beside);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, keep: false }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Io(ErrorKind::AlreadyExists.into()))
    }

    fn rename_to(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.keep = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing better can be done about it here.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
