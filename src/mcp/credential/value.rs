//! Where the value of a credential comes from, and getting it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::helper::{self, Helpers};
use crate::sys;

/// Longest value, in bytes.
pub(super) const LONGEST: u64 = 64 << 10;

/// A value to be had, and what stands before it.
#[derive(Clone)]
pub(super) struct Value {
    /// Such as `Bearer `.
    pub(super) prefix: String,
    pub(super) from: From,
}

/// Where a value comes from.
#[derive(Clone)]
pub(super) enum From {
    /// A variable of apkit's own environment.
    Variable(String),
    /// A file that only the user can read.
    File(PathBuf),
    /// What a program prints; no shell sees it.
    Command(Vec<String>),
    /// The file of credentials itself.
    Stored(String),
}

impl fmt::Debug for Value {
    /// Where from, and nothing of the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin())
    }
}

impl Value {
    /// Where it comes from, in a few words.
    pub(super) fn origin(&self) -> String {
        match &self.from {
            From::Variable(name) => format!("env {name}"),
            From::File(path) => format!("file {}", path.display()),
            // Its arguments may name a secret.
            From::Command(command) => {
                let program = command.first().map(String::as_str);
                format!("command {}", program.unwrap_or_default())
            }
            From::Stored(_) => "the file of credentials".to_owned(),
        }
    }

    /// Why it cannot be had, as far as that can be told without getting it.
    pub(super) fn problem(&self, environment: &BTreeMap<OsString, OsString>) -> Option<String> {
        match &self.from {
            From::Variable(name) => variable(name, environment).err(),
            From::File(path) => open_private(path)
                .err()
                .map(|problem| named(path, &problem)),
            From::Command(_) | From::Stored(_) => None,
        }
    }

    /// Gets it. A program has to have printed it by `until`.
    pub(super) async fn get(
        &self,
        environment: &BTreeMap<OsString, OsString>,
        helpers: &Helpers,
        until: Instant,
    ) -> Result<String, String> {
        let value = match &self.from {
            From::Variable(name) => variable(name, environment)?.to_owned(),
            From::File(path) => {
                let opened = open_private(path);
                let bytes = opened.and_then(|file| read(file).map_err(|error| error.to_string()));
                let bytes = bytes.map_err(|problem| named(path, &problem))?;
                line(bytes).map_err(|problem| format!("{} {problem}", path.display()))?
            }
            From::Command(command) => {
                let program = command.first().map(String::as_str).unwrap_or_default();
                let printed = helper::run(command, environment, helpers, until).await;
                printed
                    .and_then(line)
                    .map_err(|problem| format!("{program} {problem}"))?
            }
            From::Stored(value) => value.clone(),
        };
        Ok(format!("{}{value}", self.prefix))
    }
}

/// What is wrong with a file.
fn named(path: &Path, problem: &str) -> String {
    format!("{}: {problem}", path.display())
}

fn variable<'e>(
    name: &str,
    environment: &'e BTreeMap<OsString, OsString>,
) -> Result<&'e str, String> {
    match environment.get(OsStr::new(name)) {
        None => Err(format!("the variable {name} is not set")),
        Some(value) if value.is_empty() => Err(format!("the variable {name} is empty")),
        Some(value) => value
            .to_str()
            .ok_or_else(|| format!("the variable {name} is not Unicode")),
    }
}

/// Opens a file that nobody but its owner may read: others may have written what
/// they may read, and a credential that they read is none. What was handed in on a
/// mount that is read-only is as whoever mounted it wants it. What is wrong is said
/// without the file's name.
pub(super) fn open_private(path: &Path) -> Result<File, String> {
    let file = sys::open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => "it is no regular file".to_owned(),
        _ => error.to_string(),
    })?;
    if sys::is_handed_in(&file).map_err(|error| error.to_string())? {
        return Ok(file);
    }
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !sys::is_own(&metadata) {
        return Err("it belongs to another user, who may read it".to_owned());
    }
    if !sys::is_private(&metadata) {
        return Err("other users may read it; chmod 600 keeps them out".to_owned());
    }
    Ok(file)
}

/// All of it, up to the longest value and a little more.
pub(super) fn read(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// One line without its end.
fn line(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > LONGEST {
        return Err(format!("gives more than {LONGEST} bytes"));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| "gives no UTF-8".to_owned())?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.contains('\n') {
        return Err("gives more than one line".to_owned());
    }
    if text.is_empty() {
        return Err("gives nothing".to_owned());
    }
    Ok(text)
}
