//! What differs between operating systems: when two names of variables are one,
//! and which files are programs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// What differs between operating systems.
#[derive(Debug, Clone)]
pub(super) struct Platform {
    /// Whether `Path` and `PATH` name the same variable.
    pub(super) ignores_case: bool,
    /// The ends of names that make a file a program, if they do.
    pub(super) extensions: Vec<String>,
}

impl Platform {
    pub(super) fn of(environment: &BTreeMap<OsString, OsString>) -> Self {
        if cfg!(windows) {
            Self::windows(environment)
        } else {
            Self {
                ignores_case: false,
                extensions: Vec::new(),
            }
        }
    }

    pub(super) fn windows(environment: &BTreeMap<OsString, OsString>) -> Self {
        const USUAL: &str = ".COM;.EXE;.BAT;.CMD";
        let mut platform = Self {
            ignores_case: true,
            extensions: Vec::new(),
        };
        let set = platform.get(environment, "PATHEXT").and_then(OsStr::to_str);
        platform.extensions = set
            .filter(|set| !set.is_empty())
            .unwrap_or(USUAL)
            .split(';')
            .filter(|extension| extension.starts_with('.'))
            .map(str::to_owned)
            .collect();
        platform
    }

    /// Whether two names are those of the same variable.
    pub(super) fn is_same(&self, one: &OsStr, other: &OsStr) -> bool {
        one == other || self.ignores_case && one.eq_ignore_ascii_case(other)
    }

    pub(super) fn get<'e>(
        &self,
        environment: &'e BTreeMap<OsString, OsString>,
        name: &str,
    ) -> Option<&'e OsStr> {
        environment
            .iter()
            .find(|(known, _)| self.is_same(known, OsStr::new(name)))
            .map(|(_, value)| value.as_os_str())
    }
}
