//! The environment of a subprocess (§9.1, AP-18): few variables of ours, those of
//! the package over them, and the two that the specification reserves last.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{Off, Resolver};

/// The names of the variables that only a client sets.
pub(super) const ROOT: &str = "PLUGIN_ROOT";
pub(super) const DATA: &str = "PLUGIN_DATA";

/// Where Python keeps what it has compiled; else that goes beside the sources, and
/// the package is another one after its first start.
pub(super) const PYTHON_CACHE: &str = "PYTHONPYCACHEPREFIX";
/// With this, Python keeps nothing.
const PYTHON_NO_CACHE: &str = "PYTHONDONTWRITEBYTECODE";
/// What is inherited on Unix: who and where the user is, and how to find
/// programs. Nothing that is likely to hold a secret.
const UNIX: &[&str] = &[
    "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
];
/// The same on Windows, and what programs there cannot do without.
const WINDOWS: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];
/// Without these a runner such as npx reaches nothing behind a proxy.
const PROXIES: &[&str] = &["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/// The whole environment of a server that configures `env`.
pub(super) fn make(
    resolver: &Resolver<'_>,
    env: &[(String, String)],
) -> Result<BTreeMap<OsString, OsString>, Off> {
    let mut made = base(resolver);
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Off::Unavailable(format!(
                "env sets a variable named {name:?}, which no platform can"
            )));
        }
        if value.contains('\0') {
            return Err(Off::Unavailable(format!(
                "the value of {name} holds a NUL character, which no process can be given"
            )));
        }
        set(resolver, &mut made, name, resolver.expand(value));
    }
    let is_python = |(name, _): &(String, String)| {
        [PYTHON_CACHE, PYTHON_NO_CACHE].iter().any(|known| {
            resolver
                .platform
                .is_same(OsStr::new(name), OsStr::new(known))
        })
    };
    if !env.iter().any(is_python) {
        let cache = Path::new(&resolver.data).join("__pycache__");
        set(resolver, &mut made, PYTHON_CACHE, cache.into());
    }
    set(resolver, &mut made, ROOT, resolver.root.clone());
    set(resolver, &mut made, DATA, resolver.data.clone());
    Ok(made)
}

/// Sets a variable in the place of whatever the platform takes for the same.
fn set(
    resolver: &Resolver<'_>,
    env: &mut BTreeMap<OsString, OsString>,
    name: &str,
    value: OsString,
) {
    let name = OsStr::new(name);
    if resolver.platform.ignores_case {
        env.retain(|known, _| !resolver.platform.is_same(known, name));
    }
    env.insert(name.to_owned(), value);
}

fn base(resolver: &Resolver<'_>) -> BTreeMap<OsString, OsString> {
    let names = if resolver.platform.ignores_case {
        WINDOWS
    } else {
        UNIX
    };
    let is_inherited = |name: &OsStr, value: &OsStr| {
        let is_proxy = PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy));
        if is_proxy {
            // The password of a proxy is nothing for a package.
            let value = value.to_string_lossy();
            return !value.contains('@');
        }
        let is_locale = name.as_encoded_bytes().starts_with(b"LC_");
        is_locale
            || names
                .iter()
                .any(|known| resolver.platform.is_same(name, OsStr::new(known)))
    };
    resolver
        .environment
        .iter()
        .filter(|(name, value)| is_inherited(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
