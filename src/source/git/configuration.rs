//! What of the user's git configuration counts: the address to use in place of
//! another one, and the program for ssh. Helpers for credentials are asked by git
//! itself.

use std::path::{Path, PathBuf};

use git2::{Config, ConfigLevel};

use super::super::Environment;
use super::address::Address;
use super::error::Error;

/// The most values that `GIT_CONFIG_COUNT` may announce.
const MAX_VALUES: usize = 1000;

/// Values of the user's configuration, in the order they were read.
#[derive(Debug, Default)]
pub(super) struct Configuration {
    /// What an address may begin with, and what to put there.
    instead: Vec<(String, String)>,
    /// `core.sshCommand`.
    pub ssh_command: Option<String>,
    /// `ssh.variant`.
    pub ssh_variant: Option<String>,
    /// `http.proxy`.
    pub proxy: Option<String>,
    /// `http.sslCAInfo`.
    pub certificates: Option<String>,
    /// `safe.directory`: repositories of others that are read all the same.
    safe: Vec<String>,
}

impl Configuration {
    /// Reads the files git would read outside any repository, and the variables
    /// that stand for lines of them.
    ///
    /// # Errors
    ///
    /// When a file is not legal; git does nothing at all then.
    pub(super) fn read(environment: &Environment) -> Result<Self, Error> {
        let mut read = Self::default();
        for (path, level) in files(environment) {
            if path.is_file() {
                read.file(&path, level)
                    .map_err(|error| Error::Configuration {
                        path,
                        reason: error.message().to_owned(),
                    })?;
            }
        }
        read.variables(environment);
        Ok(read)
    }

    fn file(&mut self, path: &Path, level: ConfigLevel) -> Result<(), git2::Error> {
        let mut config = Config::new()?;
        config.add_file(path, level, true)?;
        let mut entries = config.entries(None)?;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if let (Ok(name), Ok(value)) = (entry.name(), entry.value()) {
                self.value(name, value);
            }
        }
        Ok(())
    }

    fn variables(&mut self, environment: &Environment) {
        let text = |name: &str| environment.get(name).and_then(|value| value.to_str());
        let count = text("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok());
        for at in 0..count.unwrap_or(0_usize).min(MAX_VALUES) {
            let name = text(&format!("GIT_CONFIG_KEY_{at}"));
            let value = text(&format!("GIT_CONFIG_VALUE_{at}"));
            if let (Some(name), Some(value)) = (name, value) {
                self.value(name, value);
            }
        }
    }

    fn value(&mut self, name: &str, value: &str) {
        let (Some((section, rest)), Some((_, last))) =
            (name.split_once('.'), name.rsplit_once('.'))
        else {
            return;
        };
        // An empty value takes an earlier one back.
        let set = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        let name = (section.to_ascii_lowercase(), last.to_ascii_lowercase());
        match (name.0.as_str(), name.1.as_str()) {
            ("url", "insteadof") => {
                let base = rest.rsplit_once('.').map(|(base, _)| base);
                if let Some(base) = base.filter(|_| !value.is_empty()) {
                    self.instead.push((value.to_owned(), base.to_owned()));
                }
            }
            ("core", "sshcommand") => self.ssh_command = set(value),
            ("ssh", "variant") => self.ssh_variant = set(value),
            // Those for some addresses only (`http.<url>.proxy`) are not for all.
            ("safe", "directory") if value.is_empty() => self.safe.clear(),
            ("safe", "directory") => self.safe.push(value.to_owned()),
            ("http", "proxy") if rest == last => self.proxy = set(value),
            ("http", "sslcainfo") if rest == last => self.certificates = set(value),
            _ => {}
        }
    }

    /// Whether the user trusts the repository in `path`, whoever owns it: by its own
    /// name, by `DIR/*` for all below, or by `*` for all.
    pub(super) fn is_safe(&self, path: &Path, home: Option<&Path>) -> bool {
        // A working tree and its `.git` are one.
        let path = if path.ends_with(".git") {
            path.parent().unwrap_or(path)
        } else {
            path
        };
        self.safe.iter().any(|safe| {
            if safe == "*" {
                return true;
            }
            let place = path_of(safe, home);
            match place.to_str().and_then(|place| place.strip_suffix("/*")) {
                Some(above) => path != Path::new(above) && path.starts_with(above),
                None => path == place,
            }
        })
    }

    /// The address to talk to for `address`, with the password the configuration
    /// may hold for it: the longest beginning that fits counts, as with git.
    ///
    /// # Errors
    ///
    /// When the configuration makes something of it that is no address for us.
    pub(super) fn rewrite(&self, address: &Address) -> Result<(Address, Option<String>), Error> {
        let text = address.to_string();
        let longest = self
            .instead
            .iter()
            .filter_map(|(prefix, base)| Some((prefix.len(), base, text.strip_prefix(prefix)?)))
            // The first of equals, as git does.
            .rev()
            .max_by_key(|(length, ..)| *length);
        match longest {
            Some((_, base, rest)) => {
                Address::parse_with_password(&format!("{base}{rest}")).map_err(Error::Rewritten)
            }
            None => Ok((address.clone(), None)),
        }
    }
}

/// The files for all users and for this one, the last counts most.
fn files(environment: &Environment) -> Vec<(PathBuf, ConfigLevel)> {
    let mut files = Vec::new();
    let set = |name| environment.get(name).map(PathBuf::from);
    let skip = environment
        .get("GIT_CONFIG_NOSYSTEM")
        .is_some_and(|value| !(value == "0" || value == "false"));
    if !skip {
        let system = set("GIT_CONFIG_SYSTEM").unwrap_or_else(|| PathBuf::from("/etc/gitconfig"));
        files.push((system, ConfigLevel::System));
    }
    if let Some(global) = set("GIT_CONFIG_GLOBAL") {
        files.push((global, ConfigLevel::Global));
        return files;
    }
    let home = environment.home.as_deref();
    let xdg = set("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    files.extend(xdg.map(|xdg| (xdg.join("git/config"), ConfigLevel::XDG)));
    files.extend(home.map(|home| (home.join(".gitconfig"), ConfigLevel::Global)));
    files
}

/// A path as git's configuration writes it: `~/` is the user's home.
pub(super) fn path_of(text: &str, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(home: &Path, variables: &[(&str, &str)]) -> Environment {
        let mut environment = Environment {
            home: Some(home.to_owned()),
            ..Environment::default()
        };
        let variables = variables.iter().chain(&[("GIT_CONFIG_NOSYSTEM", "1")]);
        environment
            .variables
            .extend(variables.map(|(name, value)| (name.into(), value.into())));
        environment
    }

    #[test]
    fn the_users_files_and_variables_count_in_gits_order() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(home.path().join(".config/git")).expect("a directory");
        std::fs::write(
            home.path().join(".config/git/config"),
            "[core]\n\tsshCommand = first\n[URL \"https://mirror.example/\"]\n\tinsteadOf = https://host.example/\n",
        )
        .expect("a file");
        std::fs::write(
            home.path().join(".gitconfig"),
            "[core]\n\tsshcommand = \"ssh -i 'k y'\"\n[url \"https://me:secret@deep.example/x.y/\"]\n\tinsteadOf = https://host.example/deep/\n[url \"/srv/\"]\n\tinsteadOf = https://local.example/\n",
        )
        .expect("a file");
        let read = Configuration::read(&environment(
            home.path(),
            &[
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "url.git@ssh.example:.insteadOf"),
                ("GIT_CONFIG_VALUE_0", "https://other.example/"),
            ],
        ))
        .expect("legal files");
        assert_eq!(read.ssh_command.as_deref(), Some("ssh -i 'k y'"));
        let rewrite = |text: &str| {
            let address = Address::parse(text).expect("an address");
            read.rewrite(&address)
                .map(|(address, password)| (address.to_string(), password))
        };
        for (text, wanted, password) in [
            (
                "https://host.example/o/r",
                "https://mirror.example/o/r",
                None,
            ),
            (
                "https://host.example/deep/r",
                "https://me@deep.example/x.y/r",
                Some("secret"),
            ),
            ("https://other.example/o/r", "git@ssh.example:o/r", None),
            ("https://else.example/o/r", "https://else.example/o/r", None),
        ] {
            let (address, found) = rewrite(text).expect("an address");
            assert_eq!((address.as_str(), found.as_deref()), (wanted, password));
        }
        let error = rewrite("https://local.example/r").expect_err("a plain path");
        assert!(error.to_string().contains("insteadOf"), "{error}");
    }

    #[test]
    fn a_broken_file_is_named() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join(".gitconfig"), "[core\n").expect("a file");
        let error = Configuration::read(&environment(home.path(), &[])).expect_err("broken");
        assert!(error.to_string().contains(".gitconfig"), "{error}");
    }

    #[test]
    fn what_is_safe_is_named() {
        let mut read = Configuration::default();
        for value in ["/gone", "", "/srv/r", "/all/*", "~/mine"] {
            read.value("safe.directory", value);
        }
        for (path, safe) in [
            ("/srv/r", true),
            ("/srv/r/.git", true),
            ("/srv/r/sub", false),
            ("/all/a/b", true),
            ("/all", false),
            ("/home/ada/mine", true),
            ("/gone", false),
        ] {
            let home = Some(Path::new("/home/ada"));
            assert_eq!(read.is_safe(Path::new(path), home), safe, "{path}");
        }
        read.value("safe.directory", "*");
        assert!(read.is_safe(Path::new("/x"), None));
    }
}
